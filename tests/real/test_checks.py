"""Every check can pass and can fail: on a scripted machine, with one fault each."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from livetrans.base.errors import SourceError
from livetrans.lm.families import TEMPLATES
from tests.benchmarks.sure_words import Curve
from tests.real import checks
from tests.real.checks import CHECKS, SERVERS, _run, address_of
from tests.real.here import ROOT, Clip, Failed, Heard, Here
from tests.real.runner import outcome

PULL = """
import os, pathlib, time
folder = pathlib.Path(os.environ["HOME"], ".local/share/livetrans/models/.unfinished/model/sha")
folder.mkdir(parents=True, exist_ok=True)
again = (folder / "model.bin").exists()
with (folder / "model.bin").open("MODE", buffering=0) as stream:
    for _ in range(3):
        stream.write(bytes(1000 if again else 3000))
        time.sleep(0.05 if again else 60)
"""


def program(code: str) -> list[str]:
    """Return a command that takes the place of livetrans."""
    return [sys.executable, "-S", "-c", code]


def pulls(mode: str) -> list[str]:
    """Return a pull that hangs the first time, and the second time writes on with this mode."""
    return program(PULL.replace("MODE", mode))


def hears(*captions: str) -> list[str]:
    """Return a run that writes captions into the file of its last argument."""
    events = [{"event": "caption", "final": True, "source": "Hello.", "text": text} for text in captions]
    return program(f"import sys; open(sys.argv[-1], 'w').write({chr(10).join(map(json.dumps, events))!r})")


@dataclass
class Scripted(Here):
    """A machine on which everything is as the documents say, but for what a test changes."""

    printed: dict[str, str] = field(default_factory=dict)
    """What commands print, by their first words."""
    wrong: float = 10.0
    transducer_wrong: float = 9.0
    erased: float = 0.1
    """Words that a transducer retracts, for each that stays."""
    right: dict[int, int] = field(default_factory=lambda: {3: 12, 9: 28})
    """Of 30 words with a tenth of certainty, those that are right."""
    costs: float = 0.5
    wrong_by_window: dict[str | None, float] = field(default_factory=dict)
    words_by_kind: dict[str, int] = field(default_factory=dict)
    german: Callable[[list[str]], list[str]] = list
    """What becomes of the references, which a perfect translator writes."""
    truncated: bool = False
    terms: str = "Lehrkraft, Parkbank"
    names: str = ""
    """What is heard besides with a list of names."""
    repairs: list[str] = field(default_factory=list)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    drafted: list[int] = field(default_factory=lambda: [1, 2])
    told: list[str] = field(default_factory=list)

    def require_reachable(self, address: str) -> None:
        pass

    def livetrans(self, *words: object, env: dict[str, str] | None = None, may_fail: bool = False) -> str:
        begun = [text for start, text in self.printed.items() if " ".join(map(str, words)).startswith(start)]
        if begun and begun[0] == "fault":
            raise Failed("`livetrans` ended with exit code 1: no")
        return begun[0] if begun else ""

    def recogniser(self, *, engine: str | None = None, language: str = "en") -> Path:
        return Path("a-transducer" if engine == "onnx" else "a-recogniser")

    def translator(self, family: str | None = None) -> Path:
        return Path("a-translator.gguf")

    def embedded_translator(self) -> Path:
        return Path("livetrans-en-de.q8_0.gguf")

    def hear(self, model: Path, clips: Any, **settings: Any) -> Heard:
        if model.name == "a-transducer":
            return Heard(self.transducer_wrong, self.costs / 5, 0.8)
        return Heard(self.wrong_by_window.get(settings.get("window"), self.wrong), self.costs, 0.8)

    def rewritten(self, model: Path, clips: Any) -> float:
        return self.erased if model.name == "a-transducer" else 0.2

    def sureness(self, model: Path, clips: Any) -> tuple[float, Curve]:
        curve = Curve()
        curve.bins.update({tenth: [True] * right + [False] * (30 - right) for tenth, right in self.right.items()})
        return 0.5, curve

    def invented(self, model: Path, kind: str, minutes: float = 1.0) -> int:
        return self.words_by_kind.get(kind, 0)

    def events(self, *words: object) -> list[dict[str, Any]]:
        lines = map(json.loads, (ROOT / "recordings/demo.jsonl").read_text(encoding="utf-8").splitlines())
        finals = [line["text"] for line in lines if line["event"] == "caption" and line["final"]]
        stats = {"truncated": self.truncated}
        texts = [*self.german(finals), self.terms]
        kinds = ("caption", "translation")
        heard = self.names if "--glossary" in words else ""
        transcript = {"event": "transcript", "final": True, "committed": heard, "repairs": self.repairs}
        shown = [{"event": kind, "final": True, "text": text, "stats": stats} for text in texts for kind in kinds]
        return [transcript, *shown]

    def bench(self, name: str, *words: object) -> tuple[list[dict[str, Any]], Path]:
        if name == "bias":
            tokens = {"rt": [1, 2], "ssbd@0": self.drafted}
            return [{"method": method, "tokens": one} for method, one in tokens.items()], self.folder
        if name == "sentences":
            reference = Path(str(words[words.index("--reference") + 1]))
            texts = self.german(reference.read_text(encoding="utf-8").splitlines())
            return [{"text": text, "stats": {"truncated": self.truncated}} for text in texts], self.folder
        return [{}] * 8, self.folder

    def table(self, file: Path, name: str, *words: object) -> dict[str, dict[str, Any]]:
        figures = {"COMET": 0.8, "COMET - rt high": 0.1, "speedup": 1.0, "NE screen": 0.3, "chrF": 50.0, "passes": 1.2}
        ours = {"speedup": 1.4, "NE screen": 0.03, "chrF - rt": 0.1, "chrF - rt low": -1.0, "chrF - rt high": 1.0}
        return {"rt": figures, **{name: figures | ours | self.rows.get(name, {}) for name in ("window", "prefix")}}

    def require_sound(self, kind: str) -> None:
        pass

    def tell(self, text: str) -> None:
        self.told.append(text)

    def ask(self, request: str) -> str:
        return "yes"


DOCTOR = {
    "findings": [{"name": "captions", "state": "ok", "text": "this machine does not keep up"}],
    "measured": {"keeps_up": True, "lag": 1.0, "lag_95": 2.0, "recogniser_model": "a-recogniser"},
}
LATE = {**DOCTOR, "measured": {**DOCTOR["measured"], "keeps_up": False}}  # type: ignore[dict-item]
UNLOADED = {"findings": [{"name": "models", "state": "broken", "text": "no such model"}], "measured": {}}
COST = {"tables": [{"rows": [{"new tokens": 8, "to one": 1.5}]}]}
GOOD = {
    "models verify": "whisper-tiny: whole",
    "replay": "Danke.",
    "doctor": json.dumps(DOCTOR),
    "bench cost": json.dumps(COST),
}


def turns(counts: str) -> SimpleNamespace:
    """A benchmark of spoken languages with these counts."""
    return SimpleNamespace(errors=lambda clips, asr: {"de as en": counts})


Fault = dict[str, Any]
FAULTS: dict[str, list[tuple[Fault, str] | tuple[Fault, str, str]]] = {
    "pull": [
        ({"printed": {**GOOD, "models verify": "whisper-tiny: model.bin differs"}}, "model.bin differs"),
        ({"printed": {**GOOD, "models pull": "fault"}}, "exit code 1"),
    ],
    "cut pull": [({"LIVETRANS": pulls("wb")}, "began again")],
    "offline": [({"printed": {**GOOD, "replay": ""}}, "no caption")],
    "faster-whisper on the processor": [({"wrong": 80.0}, "80 of 100 words")],
    "faster-whisper on a GPU": [({"wrong": 80.0}, "80 of 100 words")],
    "whisper.cpp on the processor": [({"wrong": 80.0}, "80 of 100 words")],
    "whisper.cpp on a GPU": [({"wrong": 80.0}, "80 of 100 words")],
    "transducer": [
        ({"transducer_wrong": 80.0}, "80 of 100 words"),
        ({"wrong": 5.0}, "9.0 of 100 words wrong, a-recogniser 5.0"),
        ({"costs": 0.0}, "takes as long as a-recogniser"),
    ],
    "transducer rewrites": [({"erased": 0.4}, "retracts 0.40 of its words, 0.30 is few")],
    "language of a transducer": [({"transducer_wrong": 95.0}, "95 of 100 German words")],
    "another language": [({"wrong": 95.0}, "95 of 100 German words")],
    "language of a turn": [
        ({"spoken_languages": turns("1 s: 1 of 2, 3 s: 1 of 2")}, "taken for others"),
    ],
    "windows": [({"wrong_by_window": {"full": 20.0}}, "should be the default")],
    "unsure words": [
        ({"right": {3: 12, 9: 12}}, "right in 0.40 of what is shown, 0.40 of the rest"),
        ({"right": {3: 12}}, "sure of no word"),
    ],
    "step": [({"costs": 1.5}, "1.5 s for a second", "SLOW")],
    "invented words": [
        ({"words_by_kind": {"silence": 1}}, "into a minute of silence"), ({"words_by_kind": {"music": 9}}, "of music"),
    ],
    "names": [({"names": "Siobhan " * 40}, "hear worse"), ({"repairs": ["Nabil"]}, "that nobody said")],
    **{
        f"prompt {family}": [
            ({"german": lambda texts: [f"<think>\n{text}" for text in texts]}, "belongs to the prompt"),
            ({"german": lambda texts: [f"{text}<|im_end|>" for text in texts]}, "belongs to the prompt"),
            ({"german": lambda texts: ["Here is the translation." for _ in texts]}, "chrF|German"),
            ({"truncated": True}, "did not stop"),
            *([({"terms": "Lehrer, Bank"}, "none of the terms")] if TEMPLATES[family].terms else []),
        ]
        for family in TEMPLATES
    },
    "translation on a GPU": [({"german": lambda texts: ["x" for _ in texts]}, "only 0 of 12")],
    "table": [
        ({"rows": {"window": {"NE screen": 0.4}}}, "takes as many words back"),
        ({"rows": {"window": {"speedup": 0.9}}}, "slower"),
        ({"rows": {"window": {"chrF - rt high": -0.5}}}, "worse"),
        ({"rows": {"window": {"chrF": 1.2}}}, "does not translate"),
    ],
    "table of people": [
        ({"rows": {"window": {"chrF - rt high": None}}}, "no reference"),
        ({"rows": {"window": {"speedup": 0.9}}}, "slower"),
        ({"rows": {"window": {"chrF - rt high": -0.5}}}, "worse"),
        ({"rows": {"window": {"chrF": 1.2}}}, "does not translate"),
    ],
    "bias 0": [({"drafted": [1, 3]}, "differs from rt in 1 of 1")],
    "bias 0 on a GPU": [({"drafted": [1, 3]}, "differs from rt in 1 of 1")],
    "COMET": [({"rows": {"window": {"COMET - rt high": -0.1}}}, "worse by COMET")],
    "doctor": [
        ({"printed": {"doctor": json.dumps(LATE)}}, "does not keep up", "SLOW"),
        ({"printed": {"doctor": json.dumps(UNLOADED)}}, "no such model"),
    ],
    "microphone": [({"LIVETRANS": hears()}, "no caption"), ({"ask": lambda _: "n"}, "wrong")],
    "what this computer plays": [({"LIVETRANS": program("raise SystemExit(2)")}, "exit code 2")],
    "one program of a Mac": [({"LIVETRANS": program("raise SystemExit(2)")}, "exit code 2")],
    **{
        f"translator on {kind}": [
            ({"rows": {method: {"NE screen": 0.4}}}, "as many words are retracted"),
            ({"rows": {method: {"chrF - rt high": -0.5}}}, "translates worse"),
        ]
        for kind, method in SERVERS
    },
    "read aloud": [({"ask": lambda _: "n"}, "did not hear"), ({"LIVETRANS": program("1/0")}, "ZeroDivisionError")],
    **{
        name: [({"ask": lambda _: "n"}, "did not see"), ({"LIVETRANS": program("raise SystemExit(1)")}, "not sent")]
        for name in ("YouTube", "Zoom", "Teams")
    },
    "hub": [({"ask": lambda _: "n"}, "did not see"), ({"LIVETRANS": program("1/0")}, "ZeroDivisionError")],
    "ready wheels": [({"_run": partial(_run, "false")}, "exit code 1")],
    "power": [({"_processor_seconds": iter((0.0, 1e6)).__next__}, "% of the processor", "SLOW")],
    "tests on a Mac": [({"sys": SimpleNamespace(platform="darwin", executable="false")}, "pytest printed nothing")],
}  # fmt: skip
IN_LONG_TESTS = {"screen", "served captions", "killed run"}
"""Checks of whole programs, whose faults are in `test_whole.py`."""


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process seem to have a GPU, COMET and a Mac, and commands that do their work at once."""
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)  # of .ci/run
    monkeypatch.setattr("livetrans.speech.whisper.cuda_devices", lambda: 1)
    monkeypatch.setattr("livetrans.models.chosen.has_whisper_cpp", lambda: True)
    found = importlib.util.find_spec
    monkeypatch.setattr(
        checks, "find_spec", lambda name: found("json" if name in ("comet", "ScreenCaptureKit") else name)
    )
    monkeypatch.setattr("livetrans.metrics.quality.RESAMPLES", 2)
    monkeypatch.setattr(checks, "sys", SimpleNamespace(platform="darwin", executable="true"))
    monkeypatch.setattr(checks, "spoken_languages", turns("1 s: 1 of 2, 3 s: 0 of 2"))


def _outcome(name: str, fault: Fault, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what a check finds on the scripted machine with a fault: of the machine, or of the checks' module."""
    monkeypatch.setattr("livetrans.models.chosen.has_gpu_engine", lambda: name == "whisper.cpp on a GPU")
    on_gpu = name in ("translation on a GPU", "bias 0 on a GPU")
    monkeypatch.setattr("livetrans.lm.llama.cells.runs_on_cpu", lambda: not on_gpu)
    monkeypatch.setattr(checks, "_run", partial(_run, "true"))
    serves = program("import sys; print('at http://x/', file=sys.stderr)")
    sends = program("import sys; print('Zoom (de): 3 texts sent.', file=sys.stderr)")
    programs = {"cut pull": pulls("ab"), **dict.fromkeys(("read aloud", "hub"), serves)}
    programs |= dict.fromkeys(("YouTube", "Zoom", "Teams"), sends)
    monkeypatch.setattr(checks, "LIVETRANS", programs.get(name, hears("Hallo.")))
    for kind, _ in SERVERS:
        monkeypatch.setenv(address_of(kind), "http://localhost:1")
    here = Scripted(folder, ROOT / "tests/real/speech", comet=folder, printed=GOOD)
    for attribute, value in fault.items():
        monkeypatch.setattr(here if hasattr(here, attribute) else checks, attribute, value)
    return found_by(name, here)


def found_by(name: str, here: Here) -> dict[str, Any]:
    (check,) = (check for check in CHECKS if check.name == name)
    return outcome(check, here)


FAST = [check.name for check in CHECKS if not check.name.startswith("prompt ")] + ["prompt hymt"]
NAMES = [
    pytest.param(check.name, marks=[] if check.name in FAST else [pytest.mark.long])
    for check in CHECKS if check.name not in IN_LONG_TESTS
]  # fmt: skip


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("name", NAMES)
def test_a_check_passes_where_all_is_as_claimed_and_fails_by_each_fault(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = (tmp_path / str(number) for number in range(9))
    for fault, sentence, *other in (({}, ""), *FAULTS[name]):
        folder = next(folders)
        folder.mkdir()
        with monkeypatch.context() as patched:
            found = _outcome(name, fault, folder, patched)
        assert found["verdict"] == (*other, "FAIL" if sentence else "PASS")[0], found
        assert re.search(sentence, found["reason"]), found
        assert bool(found["figures"]) == (found["verdict"] != "FAIL")


def test_every_check_has_its_fault() -> None:
    assert {check.name for check in CHECKS} == FAULTS.keys() | IN_LONG_TESTS


def test_what_people_said_has_references(
    tmp_path: Path, translator_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the bench itself: a stream has figures of quality only by its reference."""

    class Bench(Scripted):
        """Recognises what people said without a fault; everything else is livetrans itself."""

        livetrans, bench, table = Here.livetrans, Here.bench, Here.table

        def translator(self, family: str | None = None) -> Path:
            return translator_path

        def events(self, *words: object) -> list[dict[str, Any]]:
            text = next(clip.reference for clip in self.clips() if clip.file == words[0])
            line = {
                "at": 1.0,
                "segment_id": 0,
                "revision": 0,
                "committed": text,
                "partial": "",
                "start": 0.0,
                "end": 1.0,
            }
            return [{"event": "transcript", "final": True, **line}]

        def clips(self, language: str = "en") -> list[Clip]:
            return super().clips(language)[:5]

    monkeypatch.setattr(checks, "LEAST_CHRF_OF_PEOPLE", 0.0)
    found = found_by("table of people", Bench(tmp_path, ROOT / "tests/real/speech"))
    assert re.search(r"chrF - rt -?\d", str(found)), found


def test_nothing_to_try_is_skipped_and_so_is_what_the_person_declines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Here(tmp_path, tmp_path, attended=True, terminal=os.open(tmp_path / "terminal", os.O_CREAT | os.O_RDWR))
    monkeypatch.setattr("livetrans.audio.portaudio.list_devices", list)
    assert found_by("microphone", here)["verdict"] == "SKIPPED"
    monkeypatch.setattr("livetrans.audio.capture.Capture.__init__", raising_source_error)
    assert found_by("what this computer plays", here)["reason"] == "No output."
    for answer in ("s\n", ""):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        assert found_by("read aloud", here)["reason"] == "the person skipped it"
    assert "s skips" in (tmp_path / "terminal").read_text(encoding="utf-8")


def raising_source_error(*_: object) -> None:
    raise SourceError("No output.")


def test_the_person_with_the_phone_sees_a_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "LIVETRANS", program("import sys; print('at http://x/', file=sys.stderr)"))
    here = Scripted(tmp_path, tmp_path)
    assert found_by("read aloud", here)["verdict"] == "PASS"
    assert "▀" in here.told[0] and "http://x/" in here.told[0]
