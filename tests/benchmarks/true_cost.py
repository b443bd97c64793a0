"""The whole pipeline at the cost of models for people, on a machine that has none of them.

    python tests/benchmarks/true_cost.py whisper-small 1.4b [--file recordings/talk.flac] [--seconds 40] [-- OPTION ...]
    python tests/benchmarks/true_cost.py --table > table.md

A recording is replayed at the pace of speech by the embedded recogniser, and in each of its passes a model of random
weights in the shape of the one that is named also hears the same sound, writes as many tokens, and has its result
thrown away. So the text is the embedded recogniser's, and processor time, memory, threads and contention are real. The
cost of the embedded recogniser comes on top, 0.05 s of processor time for a second of sound.

RECOGNISER: none; whisper-SHAPE[:WINDOW][@whisper.cpp], with SHAPE tiny, base, small, medium, large or turbo and WINDOW
one of --encode-window (without it livetrans chooses); parakeet-110m or parakeet-0.6b[:int8 or :float], by default with
matrix products alone in int8. TRANSLATOR: embedded, or a number of parameters (1.4b, 0.7b): the embedded one grown to
that size, which writes the same text. What follows `--` are options of `livetrans replay`, but `--encode-window` names
the embedded recogniser's window. One thread for each side, unless `--threads` says otherwise. Random models are built
once, into the cache folder (LIVETRANS_TRUE_COST names another); those in NeMo's shapes need `onnx`.

Lag is the lag that livetrans reports. Finals: seconds from the end of a sentence to its final. Unshown: the longest
that a word waited for a caption of its own sentence. Left out: growing captions replaced by newer ones before they were
translated. Behind: seconds that the run spent above the normal level of back-pressure. Processor time of each side is
per second of sound, with the engines' threads; memory is what loading and a pass of 8 s add for the recogniser, and the
peak of the whole process.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psutil

from livetrans.base.installation import started_processes, user_folder
from livetrans.config import RecogniserSettings
from livetrans.events import SAMPLE_RATE, BackPressure, Caption, Coalesced, Record, RunEnded, SourceProgress
from livetrans.metrics.captions import CaptionMeasures
from livetrans.session.codec import read_records

TREE = Path(__file__).parents[2]
sys.path.insert(0, str(TREE / "tests" / "speech"))
CACHE = Path(os.environ.get("LIVETRANS_TRUE_COST") or user_folder("cache") / "true-cost")
RECOGNISERS = (
    "none",
    "parakeet-110m",
    "parakeet-0.6b",
    "parakeet-0.6b:int8",
    "whisper-tiny:full",
    "whisper-base:full",
    "whisper-base:partials",
    "whisper-base:always",
    "whisper-small",
    "whisper-small:full",
    "whisper-small:partials",
    "whisper-small:always",
    "whisper-turbo:always",
    "whisper-tiny:always@whisper.cpp",
)
TRANSLATORS = ("embedded", "1.4b")
CHARACTERS_PER_TOKEN = 4
FRAMES_PER_TOKEN = 2
"""Encoded frames of 0.08 s, which is 6.25 steps of the decoder for a second of sound."""
PARAMETERS_PER_LAYER, PARAMETERS = 50_300_000, 1_400_000_000
WARM_UP = 8 * SAMPLE_RATE
BUILD = "--build"
TEXT = 64
"""A token of text in every vocabulary."""


def paced(name: str, threads: int) -> Any:
    """Return a recogniser of random weights that takes the time of a real one."""
    return (paced_whisper if name.startswith("whisper") else paced_transducer)(name, threads)


def paced_whisper(name: str, threads: int) -> Any:
    """Return a Whisper recogniser that writes as many tokens as its attribute `tokens` says."""
    from random_whisper import SHAPES, write_random_ggml, write_random_whisper

    from livetrans.speech.whisper import WhisperRecogniser
    from livetrans.speech.whisper_cpp import WhisperCppRecogniser

    model, _, engine = name.partition("@")
    shape, _, window = model.removeprefix("whisper-").partition(":")
    kind: Any = WhisperCppRecogniser if engine else WhisperRecogniser

    class Paced(kind):  # type: ignore[misc]
        tokens = 1

        def _decode(self, encoded: Any, tokenizer: Any, previous: Any, limit: int) -> tuple[list[int], float]:
            super()._decode(encoded, tokenizer, [TEXT] * (len(previous) // CHARACTERS_PER_TOKEN), self.tokens)
            self._ends = [0.02 * (number + 1) for number in range(self.tokens)]  # whisper.cpp's come with the tokens
            return [tokenizer.timestamp_begin, *[TEXT] * self.tokens, tokenizer.timestamp_begin + 1], 0.0

    if engine:
        path = built(f"ggml-{shape}.bin", lambda path: write_random_ggml(path, shape=SHAPES[shape], spoken="en"))
    else:
        v3 = {"bands": 128, "languages": 100} if shape in ("large", "turbo") else {}
        given = {"shape": SHAPES[shape], "ends": False, "quantization": "int8", "spoken": "en", **v3}
        path = built(f"whisper-{shape}", lambda path: write_random_whisper(path, **given))
    return Paced(RecogniserSettings(path, "en", threads=threads, window=window or "auto"))


def paced_transducer(name: str, threads: int) -> Any:
    """Return a transducer that writes a token at every second frame."""
    from livetrans.speech import transducer

    class Paced(transducer.Transducer):
        def _join(self, frame: Any, expected: Any) -> Any:
            logits, state = super()._join(frame, expected)
            logits = np.zeros_like(logits)
            logits[[TEXT, len(self.pieces) + FRAMES_PER_TOKEN]] = 1
            return logits, state

    shape, _, quantization = name.removeprefix("parakeet-").partition(":")
    quantization = quantization or "matmul"

    def write(path: Path) -> None:
        from random_transducer import SHAPES, write_random_transducer

        chosen = None if quantization == "float" else quantization
        write_random_transducer(path, shape=SHAPES[shape], quantization=chosen)

    transducer.Transducer = Paced  # type: ignore[misc]
    path = built(f"parakeet-{shape}-{quantization}", write)
    return transducer.TransducerRecogniser(RecogniserSettings(path, "en", threads=threads))


def built(name: str, write: Callable[[Path], object]) -> Path:
    """Return the model of that name in the cache, which is written first if it is not there."""
    path = CACHE / name
    if not path.exists() and BUILD not in sys.argv:  # In a process of its own: the memory of this one is measured.
        subprocess.run([sys.executable, __file__, *sys.argv[1:3], BUILD], check=True)
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        print(f"building {path} …", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            write(Path(folder) / name)
            (Path(folder) / name).rename(path)
    return path


def translator(name: str) -> list[str]:
    """Return the options that choose a translator."""
    if name == "embedded":
        return []

    def write(path: Path) -> None:
        wanted = float(name.removesuffix("b")) * 1e9
        layers = 28 + round((wanted - PARAMETERS) / PARAMETERS_PER_LAYER)
        command = ["-m", "models.recipes.translator.grow", "--output", str(path), "--layers", str(layers)]
        subprocess.run([sys.executable, *command], check=True, cwd=TREE, stdout=sys.stderr)

    return ["--mt", str(built(f"grown-{name}.gguf", write))]


class Cost:
    """The processor time of the listening and the translating side, and the memory of the recogniser.

    Linux gives a thread the name of the one that started it, so that the engines' own threads count with their side.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.memory = 0
        self.passes: list[float] = []
        run = threading.Thread.run

        def counted(thread: threading.Thread) -> None:
            self._name(thread.name)
            try:
                run(thread)
            finally:
                self.seconds[thread.name] = self._seconds_of(thread.name)
                if thread.name == "listening":
                    children = [psutil.Process(process).cpu_times() for process in started_processes()]
                    self.seconds[thread.name] += sum(times.user + times.system for times in children)

        threading.Thread.run = counted  # type: ignore[method-assign]

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Count what is loaded as the recogniser's."""
        before = psutil.Process().memory_info().rss
        self._name("listening")
        yield
        self._name("main")
        processes = [psutil.Process(process) for process in started_processes()]
        self.memory = psutil.Process().memory_info().rss - before + sum(one.memory_info().rss for one in processes)

    def _name(self, name: str) -> None:
        if sys.platform == "linux":
            Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(name[:15])

    def _seconds_of(self, name: str) -> float:
        """Return the seconds of the threads with a name; those of the calling one on other systems."""
        if sys.platform != "linux":
            return time.thread_time()
        named = set()
        for task in Path("/proc/self/task").iterdir():
            with suppress(OSError):  # It has ended.
                if (task / "comm").read_text()[:-1] == name[:15]:
                    named.add(int(task.name))
        return sum(one.user_time + one.system_time for one in psutil.Process().threads() if one.id in named)

    def add_to(self, opening: Any, shadow: Any) -> None:
        """Have every recogniser that is opened also run the shadow, in each pass."""
        opened = opening.open_recogniser

        def open_both(*given: Any, **named: Any) -> Any:
            recogniser = opened(*given, **named)
            kind = type(recogniser)

            def recognise(self: Any, samples: Any, *given: Any, **named: Any) -> Any:
                hypothesis = kind.recognise(self, samples, *given, **named)
                began = time.perf_counter()
                text = " ".join(word.text for word in hypothesis.words)
                shadow.tokens = max(round(len(text) / CHARACTERS_PER_TOKEN), 1)
                shadow.recognise(samples, *given, **named)
                self_passes.append(time.perf_counter() - began)
                return hypothesis

            self_passes = self.passes
            recogniser.__class__ = type("Costly", (kind,), {"recognise": recognise})
            for limit in ("maximum_length", "trim_after"):
                setattr(recogniser, limit, min(getattr(recogniser, limit), getattr(shadow, limit)))
            recogniser.left_context = shadow.left_context
            return recogniser

        opening.open_recogniser = open_both


def run_one(name: str, given: str, file: Path, seconds: float, threads: int, options: list[str]) -> dict[str, Any]:
    """Replay a recording at the cost of a recogniser and a translator, in this process; return the figures."""
    from livetrans import cli
    from livetrans.run import opening

    cost = Cost()
    if name != "none":
        with cost.loading():
            shadow = paced(name, threads)
            shadow.tokens = 40
            shadow.recognise(np.random.default_rng(3).normal(0, 0.1, WARM_UP).astype(np.float32))
        cost.add_to(opening, shadow)
    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder) / "events.jsonl"
        sides = ["--asr-threads", str(threads), "--threads", str(threads)]
        command = ["replay", str(file), "--end", str(seconds), *translator(given), *sides, *options]
        began = time.process_time()
        code = cli.run([*command, "--plain", "--no-session", "--no-speedup", "--jsonl", str(events)])
        whole = time.process_time() - began
        if code:
            raise SystemExit(code)
        records = list(read_records(events))
    sound = max((record.event.heard for record in records if isinstance(record.event, SourceProgress)), default=seconds)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return figures_of(records) | {
        "passes": len(cost.passes),
        "pass": float(np.mean(cost.passes)) if cost.passes else None,
        "listening": cost.seconds.get("listening", 0.0) / sound,
        "translating": cost.seconds.get("translating", 0.0) / sound,
        "whole": whole / sound,
        "recogniser": cost.memory / 2**20,
        "peak": memory / 2**20,
    }


def figures_of(records: Iterable[Record]) -> dict[str, Any]:
    """Return what a viewer had of a run."""
    measures, unshown, left_out, behind = CaptionMeasures(), 0.0, 0, 0.0
    since: float | None = None
    heard: dict[int, float] = {}
    finals: list[float] = []
    for record in records:
        event = record.event
        left_out += isinstance(event, Coalesced)
        if isinstance(event, BackPressure | RunEnded):
            behind += record.at - since if since is not None else 0.0
            since = record.at if isinstance(event, BackPressure) and event.level != "normal" else None
        if isinstance(event, Caption):
            measures.add_caption(event, record.at)
            finals += [measures.delay] if event.final and event.text and measures.delay is not None else []
            first = heard.get(event.segment_id, event.start)
            if event.text and event.captured_at is not None and event.end > first:
                unshown = max(unshown, record.at - event.captured_at + event.end - first)
                heard[event.segment_id] = event.end
    return {
        "lag": measures.lags.median,
        "p90": measures.lags.percentile(0.9),
        "finals": median(finals) if finals else None,
        "latest": max(finals, default=None),
        "unshown": unshown,
        "left out": left_out,
        "behind": behind,
    }


COLUMNS = {
    "lag, median": ("lag", "{:.2f} s"),
    "90 %": ("p90", "{:.2f}"),
    "finals": ("finals", "{:.2f}"),
    "latest final": ("latest", "{:.2f}"),
    "unshown": ("unshown", "{:.1f}"),
    "left out": ("left out", "{}"),
    "behind": ("behind", "{:.0f} s"),
    "passes": ("passes", "{}"),
    "a pass": ("pass", "{:.2f} s"),
    "listening": ("listening", "{:.2f}"),
    "translating": ("translating", "{:.2f}"),
    "recogniser MiB": ("recogniser", "{:.0f}"),
    "all MiB": ("peak", "{:.0f}"),
}


def row(figures: dict[str, Any]) -> str:
    shown = ("–" if figures[key] is None else form.format(figures[key]) for key, form in COLUMNS.values())
    return " | ".join(shown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recogniser", nargs="?", default="none")
    parser.add_argument("translator", nargs="?", default="embedded")
    parser.add_argument("--file", type=Path, default=TREE / "recordings" / "talk.flac")
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="every recogniser with every translator")
    parser.add_argument(BUILD, action="store_true", help=argparse.SUPPRESS)  # only the models of one case
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)  # one case, as JSON
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    chosen, options = parser.parse_args(sys.argv[1:end]), sys.argv[end + 1 :]
    if chosen.build:
        paced(chosen.recogniser, 1)
        return
    if chosen.alone:
        cell = run_one(chosen.recogniser, chosen.translator, chosen.file, chosen.seconds, chosen.threads, options)
        print(f"\n{json.dumps(cell)}")
        return
    cells = [(one, other) for other in TRANSLATORS for one in RECOGNISERS]
    print(f"| recogniser's cost | translator | {' | '.join(COLUMNS)} |\n|---|---{'|---:' * len(COLUMNS)}|", flush=True)
    for names in cells if chosen.table else [(chosen.recogniser, chosen.translator)]:
        same = ["--file", str(chosen.file), "--seconds", str(chosen.seconds), "--threads", str(chosen.threads)]
        command = [sys.executable, __file__, *names, *same, "--alone", "--", *options]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        print(f"| {' | '.join(names)} | {row(json.loads(done.stdout.splitlines()[-1]))} |", flush=True)
    print(
        f"\n{chosen.file.stem}, {chosen.seconds:g} s at the pace of speech, {chosen.threads} thread(s) each side"
        f"{f', {chr(32).join(options)}' if options else ''}; {os.cpu_count()} cores, {processor()}; others' load "
        f"{os.getloadavg()[2]:.1f} (15 minutes); {time.strftime('%Y-%m-%d')}"
    )


def processor() -> str:
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())
    return platform.machine()


if __name__ == "__main__":
    main()
