"""The recogniser's cost and words by engine: seconds of processor time for a second of sound.

    python tests/benchmarks/recognisers.py recordings [NAME ...]
    python tests/benchmarks/recognisers.py shapes [SHAPE ...]

`recordings` streams those of the tree through the embedded recogniser, converted for whisper.cpp, by both engines in
turn: word error rate, cost, and how far the last shown word is behind the sound. `shapes` times single passes of
random weights in OpenAI's shapes: full windows and short ones, five tokens for a second of sound, words timed.
One thread everywhere. What short windows cost a model in words: `make real ARGS="--only windows"`.
"""

from __future__ import annotations

import re
import runpy
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from livetrans.audio.file import AudioFile
from livetrans.base.installation import started_processes
from livetrans.config import GateSettings, RecogniserSettings, TranscriberSettings
from livetrans.run.opening import open_recogniser
from livetrans.speech.gate import VoiceActivityGate
from livetrans.speech.transcriber import Transcriber
from livetrans.speech.whisper import WhisperRecogniser
from livetrans.speech.whisper_cpp import WhisperCppRecogniser

TREE = Path(__file__).parents[2]
sys.path.insert(0, str(TREE / "tests" / "speech"))
TOKENS_PER_SECOND = 5
LENGTHS = (2.0, 5.0, 10.0, 28.0)
REPEATS = 3


class ProcessClock:
    """Processor time of this process and of those that it started."""

    def now(self) -> float:
        times = [psutil.Process(process).cpu_times() for process in (psutil.Process().pid, *started_processes())]
        return float(sum(time.user + time.system for time in times))

    def sleep(self, seconds: float) -> None:
        """Waiting takes no processor time."""


def errors(reference: list[str], heard: list[str]) -> int:
    """The least number of words to replace, add or remove."""
    row = list(range(len(heard) + 1))
    for at, word in enumerate(reference):
        before, row = row, [at + 1]
        for place, other in enumerate(heard):
            row.append(min(before[place] + (word != other), before[place + 1] + 1, row[place] + 1))
    return row[-1]


def words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)*", text.lower().replace("’", "'"))


def stream(
    recogniser: Any, file: Path, clock: Any = None, step: float = 0.8
) -> tuple[list[str], list[str], list[float], float, float]:
    """Updates, finals, seconds from each shown update's last word to the sound, seconds of recognition by the clock
    (processor time without one), seconds of sound.
    """
    clock = clock or ProcessClock()
    transcriber = Transcriber(recogniser, TranscriberSettings(step=step, adaptive=False), clock)
    gate, source = VoiceActivityGate(GateSettings()), AudioFile(file, clock, real_time=False)
    updates, finals, behind = [], [], []
    for audio in source:
        for chunk in gate.feed(audio):
            for transcript in transcriber.feed(chunk):
                updates.append(transcript.text)
                if transcript.final:
                    finals.append(transcript.text)
                else:
                    behind.append(chunk.end - transcript.end)
    for chunk in gate.flush():
        finals += [transcript.text for transcript in transcriber.feed(chunk) if transcript.final]
    finals += [transcript.text for transcript in transcriber.flush() if transcript.final]
    return updates, finals, behind, transcriber.recognition_seconds, source.duration or 0.0


def report(name: str, runs: list[tuple[list[str], Any]]) -> None:
    """Print the row of a configuration; `runs` are pairs of a reference and what `stream` returned."""
    wrong = sum(errors(reference, words(" ".join(run[1]))) for reference, run in runs)
    spoken = sum(len(reference) for reference, _ in runs)
    seconds, sound = (sum(run[at] for _, run in runs) for at in (3, 4))
    behind = statistics.mean(second for _, run in runs for second in run[2])
    print(f"{name:28}{100 * wrong / spoken:8.2f}{seconds / sound:12.3f}{behind:10.2f}", flush=True)


def compare_recordings(names: list[str], folder: Path) -> None:
    embedded = TREE / "models" / "livetrans-recogniser-en"
    converted = folder / f"{embedded.name}.bin"
    runpy.run_path(str(TREE / "models/recipes/recogniser/ggml.py"))["convert"](embedded, converted)
    recognisers = {
        "faster-whisper": open_recogniser(RecogniserSettings(embedded, threads=1)),
        "whisper.cpp": open_recogniser(RecogniserSettings(converted, threads=1)),
    }
    runs: dict[str, list[Any]] = {name: [] for name in recognisers}
    files = sorted((TREE / "recordings").glob("*.flac"))
    print(f"{'':28}{'WER %':>8}{'s per s':>12}{'behind s':>10}")
    for file in files:
        if names and file.stem not in names:
            continue
        reference = words(file.with_suffix(".txt").read_text(encoding="utf-8"))
        for engine, recogniser in recognisers.items():
            runs[engine].append((reference, stream(recogniser, file)))
            report(f"{file.stem}, {engine}", runs[engine][-1:])
    for engine, found in runs.items():
        report(f"all, {engine}", found)
    pairs = zip(*runs.values(), strict=True)
    updates = [(one, two) for (_, first), (_, second) in pairs for one, two in zip(first[0], second[0], strict=False)]
    same = sum(one == two for one, two in updates)
    print(f"equal updates, one by one: {same} of {len(updates)}")


def passes(shape: str, folder: Path) -> Iterator[tuple[str, str, float, Callable[[], object]]]:
    """Yield engine, window, seconds of sound and a pass for each configuration of a shape."""
    from random_whisper import SHAPES, write_random_ggml, write_random_whisper

    whole = write_random_whisper(folder / shape, shape=SHAPES[shape], ends=False, quantization="int8", spoken="en")
    file = write_random_ggml(folder / f"ggml-{shape}.bin", shape=SHAPES[shape], spoken="en")
    first = WhisperRecogniser(RecogniserSettings(whole, "en", threads=1))
    second = WhisperCppRecogniser(RecogniserSettings(file, "en", threads=1))

    def with_times(features: np.ndarray, window: int, count: int) -> None:
        tokenizer = first._tokenizer("en")
        encoded = first._encode(features, window)
        first._decode(encoded, tokenizer, [], count)
        first._model.model.align(encoded, tokenizer.sot_sequence, [[64] * count], features.shape[-1])

    def whisper_cpp(features: np.ndarray, window: int, count: int) -> None:
        # Its times of tokens come with the tokens.
        second._decode(second._encode(features, window), second._tokenizer("en"), [], count)

    for length in LENGTHS:
        features = np.random.default_rng(3).normal(0, 0.5, (80, round(100 * length))).astype(np.float32)
        windows = {"full": 3000} | ({"short": round(100 * length / 50) * 50 + 300} if length < 20 else {})
        for name, window in windows.items():
            given = (features, window, round(TOKENS_PER_SECOND * length))
            yield "faster-whisper, int8", name, length, lambda given=given: with_times(*given)  # type: ignore[misc]
            yield "whisper.cpp, float16", name, length, lambda given=given: whisper_cpp(*given)  # type: ignore[misc]


def time_shapes(shapes: list[str], folder: Path) -> None:
    clock = ProcessClock()
    print(f"{'shape':8}{'engine':24}{'window':8}{'sound s':>8}{'pass s':>9}{'s per s':>9}")
    for shape in shapes or ["tiny", "base", "small"]:
        configurations = list(passes(shape, folder))
        times: dict[int, list[float]] = {}
        for _ in range(1 if shape == "small" else REPEATS):
            for number, (*_, run) in enumerate(configurations):
                before = clock.now()
                run()
                times.setdefault(number, []).append(clock.now() - before)
        for number, (engine, window, length, _) in enumerate(configurations):
            seconds = statistics.median(times[number])
            print(f"{shape:8}{engine:24}{window:8}{length:8.0f}{seconds:9.3f}{seconds / length:9.3f}", flush=True)


def main() -> None:
    command, *names = sys.argv[1:] or ["recordings"]
    commands = {"recordings": compare_recordings, "shapes": time_shapes}
    with tempfile.TemporaryDirectory() as folder:
        commands[command](names, Path(folder))


if __name__ == "__main__":
    main()
