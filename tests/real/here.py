"""What a check works with: the commands of livetrans, the models of this machine, and recordings of people."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from livetrans.models.catalogue import ONNX
from livetrans.models.find import engine_of

if TYPE_CHECKING:
    from tests.benchmarks.sure_words import Curve

ROOT = Path(__file__).parents[2]
LIVETRANS = [sys.executable, "-m", "livetrans"]
NOWHERE = {
    "HF_ENDPOINT": "http://127.0.0.1:9",
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9"),
}
"""An environment in which every connection fails."""


class Skipped(Exception):
    """The check cannot be made on this machine; the text says why."""


class Slow(Exception):
    """The claim holds, but this machine is too slow for it; the figures say by how much."""

    def __init__(self, sentence: str, figures: Mapping[str, str]) -> None:
        super().__init__(sentence)
        self.figures = dict(figures)


class Failed(Exception):
    """The claim does not hold here, as the text says."""


def require(holds: object, sentence: str) -> None:
    """Raise Failed with the sentence unless the condition holds."""
    if not holds:
        raise Failed(sentence)


class Clip(NamedTuple):
    """A recording with its words."""

    file: Path
    language: str
    reference: str
    german: str
    """Its translation, made for these checks; empty for a recording in German."""


class Heard(NamedTuple):
    """What a recogniser made of recordings."""

    wrong: float
    """Word error rate, in percent."""
    cost: float
    """Seconds of recognition for a second of sound, by the clock on the wall."""
    behind: float
    """Mean seconds from the last shown word to the sound."""

    def figures(self, name: str = "") -> dict[str, str]:
        values = {
            "WER": f"{self.wrong:.1f} %",
            "real-time factor": f"{self.cost:.2f}",
            "behind": f"{self.behind:.2f} s",
        }
        return {name: ", ".join(f"{key} {value}" for key, value in values.items())} if name else values


@dataclass
class Here:
    """The machine as it is. Commands run with an empty home, and with the user's models."""

    folder: Path
    """Empty; deleted after the check."""
    speech: Path
    """Recordings with their `manifest.tsv`."""
    attended: bool = False
    minutes: float = 1.0
    """Length of the run whose processor time is measured."""
    comet: Path | None = None
    terminal: int = 2
    """File descriptor on which the person is asked."""
    used: dict[str, Path] = field(default_factory=dict)
    """The models that the check has used, by name."""

    def livetrans(self, *words: object, env: dict[str, str] | None = None, may_fail: bool = False) -> str:
        """Return the standard output of a command, which has to succeed unless it `may_fail` with an output.

        Everything that it prints goes into the log.
        """
        command = [*LIVETRANS, *map(str, words)]
        print("$ livetrans", *words, flush=True)
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, capture_output=True,
            encoding="utf-8", errors="replace", check=False,
        )  # fmt: skip
        print(done.stdout[-20_000:], done.stderr[-20_000:], flush=True)
        said = (done.stderr.strip() or done.stdout.strip() or "it printed nothing").splitlines()
        is_answer = not done.returncode or (may_fail and done.stdout)
        require(is_answer, f"`livetrans {words[0]}` ended with exit code {done.returncode}: {said[-1]}")
        return done.stdout

    def events(self, *words: object) -> list[dict[str, Any]]:
        """Return the events of a replay at full speed."""
        printed = self.livetrans("replay", *words, "--speed", "max", "--no-session", "--jsonl=-")
        return [json.loads(line) for line in printed.splitlines()]

    def require_hub(self) -> None:
        """Raise Skipped if the hub cannot be reached."""
        if os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0"):
            raise Skipped("HF_HUB_OFFLINE forbids the network")
        self.require_reachable(os.environ.get("HF_ENDPOINT", "https://huggingface.co"))

    def require_reachable(self, address: str) -> None:
        """Raise Skipped if a host does not answer; any answer counts."""
        try:
            urlopen(address, timeout=20).close()
        except HTTPError:
            pass
        except (URLError, OSError) as error:
            raise Skipped(f"{address} cannot be reached from here ({getattr(error, 'reason', error)})") from None

    @cached_property
    def models(self) -> list[dict[str, Any]]:
        """The models on this machine without those in the tree, as `livetrans models --json` lists them."""
        listed = json.loads(self.livetrans("models", "--json"))
        languages = {entry["name"]: entry["languages"] for entry in listed["catalogue"]}
        found = [model for place in ("here", "elsewhere") for model in listed[place] if not model["embedded"]]
        return [{**model, "languages": languages.get(model["catalogue"], [])} for model in found]

    def recogniser(self, *, engine: str | None = None, language: str = "en") -> Path:
        """Return a recogniser that knows the language and was trained on people; Whisper unless an engine is named."""
        for model in self.models:
            found = engine_of(Path(model["path"]))
            is_wanted = found == engine if engine else found != ONNX
            knows = not model["languages"] or language in model["languages"]
            if model["kind"] == "recogniser" and is_wanted and knows:
                return self._use(model["name"], model["path"])
        of = f" for {engine}" if engine else ""
        if engine == ONNX:
            raise Skipped(f"no recogniser{of} is here; `livetrans models pull parakeet-110m-en` fetches one")
        fetched = "ggml-small" if engine == "whisper.cpp" else "whisper-small"
        raise Skipped(f"no recogniser of people{of} is here; `livetrans models pull {fetched}` fetches one")

    def translator(self, family: str | None = None) -> Path:
        """Return a translator that is not embedded; one of the family, if that is given."""
        for model in self.models:
            if model["kind"] == "translator" and family in (None, model["prompt"]):
                return self._use(model["name"], model["path"])
        raise Skipped(f"no translator{f' of the family {family}' if family else ' but the embedded one'} is here")

    def embedded_translator(self) -> Path:
        return self._use("livetrans-en-de.q8_0.gguf", ROOT / "models/livetrans-en-de.q8_0.gguf")

    def _use(self, name: str, path: str | Path) -> Path:
        self.used[name] = Path(path)
        return Path(path)

    def clips(self, language: str = "en") -> list[Clip]:
        """Return the recordings of people who speak a language."""
        lines = (self.speech / "manifest.tsv").read_text(encoding="utf-8").splitlines()
        names, *rows = [line.split("\t") for line in lines]
        known = [dict(zip(names, row, strict=True)) for row in rows]
        found = [
            Clip(self.speech / row["file"], language, row["reference"], row["german"])
            for row in known
            if row["language"] == language
        ]
        if not found:
            raise Skipped(f"{self.speech.name} has no recording in the language {language}")
        return found

    def hear(
        self,
        model: Path,
        clips: Sequence[Clip],
        *,
        language: str | None = "en",
        window: str | None = None,
        step: float = 0.8,
        on_gpu: bool = False,
    ) -> Heard:
        """Stream recordings through a recogniser as a run does, at full speed."""
        from livetrans.base.clock import SystemClock
        from livetrans.config import RecogniserSettings
        from livetrans.models.chosen import GPU_UNUSED
        from livetrans.run.opening import open_recogniser
        from tests.benchmarks.recognisers import errors, stream, words

        recogniser = open_recogniser(RecogniserSettings(model, language, window=window))
        require(not on_gpu or getattr(recogniser, "gpu", True), GPU_UNUSED)
        wrong, spoken, seconds, sound = 0, 0, 0.0, 0.0
        behind: list[float] = []
        for clip in clips:
            _, finals, late, took, length = stream(recogniser, clip.file, SystemClock(), step)
            reference, heard = words(clip.reference), words(" ".join(finals))
            print(f"{clip.file.name}, window {window}, step {step}: {' '.join(finals)}", flush=True)
            wrong, spoken = wrong + errors(reference, heard), spoken + len(reference)
            seconds, sound, behind = seconds + took, sound + length, behind + late
        return Heard(100 * wrong / spoken, seconds / sound, sum(behind) / max(len(behind), 1))

    def rewritten(self, model: Path, clips: Sequence[Clip]) -> float:
        """Return the normalized erasure, in words, of the transcripts that a recogniser makes of recordings."""
        from livetrans.metrics.captions import NormalizedErasure

        measure, segments = NormalizedErasure(), count()
        for clip in clips:
            numbers: dict[int, int] = {}
            for event in self.events(clip.file, "--asr", model, "--mt", self.embedded_translator()):
                if event["event"] == "transcript":
                    number = numbers.setdefault(event["segment_id"], next(segments))
                    words = f"{event['committed']} {event['partial']}".split()
                    measure.add(number, words, final=event["final"])
        require(measure.segments, f"{model.name} wrote no sentence")
        return measure.ratio_of_sums or 0.0

    def sureness(self, model: Path, clips: Sequence[Clip]) -> tuple[float, Curve]:
        """Return the probability from which a recogniser's words are shown, and how often they are right by it."""
        from livetrans.base.clock import SystemClock
        from livetrans.config import RecogniserSettings
        from livetrans.run.opening import open_recogniser
        from tests.benchmarks.recognisers import stream
        from tests.benchmarks.sure_words import Curve

        recogniser, curve = open_recogniser(RecogniserSettings(model, "en")), Curve()
        for clip in clips:
            with curve.watching():
                stream(recogniser, clip.file, SystemClock(), 0.8)
        print(curve, flush=True)
        return recogniser.sure, curve

    def invented(self, model: Path, kind: str, minutes: float = 1.0) -> int:
        """Return the words that a recogniser writes where nobody speaks."""
        from livetrans.config import GateSettings, RecogniserSettings
        from livetrans.run.opening import open_recogniser
        from tests.benchmarks.words_in_noise import listen

        written = listen(kind, minutes, open_recogniser(RecogniserSettings(model, "en")), GateSettings())
        print(f"{kind}: {written}", flush=True)
        return written.words

    def bench(self, name: str, *words: object) -> tuple[list[dict[str, Any]], Path]:
        """Run a bench; return its updates and its run file."""
        file = self.folder / f"{name}.jsonl"
        self.livetrans("bench", "run", *words, "--repeats", 1, "-o", file, "--force")
        lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        return [line for line in lines if line["line"] == "update"], file

    def table(self, file: Path, name: str, *words: object) -> dict[str, dict[str, Any]]:
        """Return a table of a run file: its rows by method."""
        printed = self.livetrans("bench", "table", file, "--table", name, "--format", "json", *words)
        return {row["method"]: row for row in json.loads(printed)["tables"][0]["rows"]}

    def require_person(self) -> None:
        """Raise Skipped if nobody is there."""
        if not self.attended:
            raise Skipped("it needs a person, and none was asked (--unattended, or no terminal)")

    def require_sound(self, kind: str) -> None:
        """Raise Skipped if there is no microphone, or nothing through which the computer's output can be heard.

        Nothing is opened where nobody is there, who could be asked whether the terminal may listen.
        """
        self.require_person()
        from livetrans.audio.capture import OUTPUT, Capture
        from livetrans.audio.portaudio import NO_MICROPHONE, list_devices
        from livetrans.base.errors import SourceError

        try:
            if kind == OUTPUT:
                Capture(None, None, OUTPUT).close()
            elif not list_devices():
                raise SourceError(NO_MICROPHONE)
        except SourceError as error:
            raise Skipped(str(error)) from None

    def tell(self, text: str) -> None:
        """Show the person something; raise Skipped if nobody is there."""
        self.require_person()
        os.write(self.terminal, f"\n{text} ".encode())

    def ask(self, request: str) -> str:
        """Ask the person something; raise Skipped if nobody is there, or wants to."""
        self.tell(f"{request} (s skips this check)")
        answer = sys.stdin.readline()
        if not answer or answer.strip().casefold() == "s":
            raise Skipped("the person skipped it")
        return answer.strip()
