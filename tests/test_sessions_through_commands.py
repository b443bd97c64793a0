"""Sessions of every kind go through every command: what they hold comes out of each, once, and nothing else.

Commands record them over scripted transcripts, and a scripted translator marks each word with the language of the
captions. What has to be shown follows from what was heard.
"""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from livetrans.base.installation import data_folder
from livetrans.cli import run
from livetrans.events import Gap, Origin, Record, SourceProgress, Transcript
from livetrans.lm.families import TEMPLATES
from livetrans.run.listening import Listening
from livetrans.run.pipeline import Pipeline
from livetrans.serve import sending
from livetrans.serve.server import CaptionServer
from livetrans.session.codec import to_line
from livetrans.session.recorder import SessionRecorder
from tests.audio.sound_server import wait_until
from tests.lm.scripted import SOURCE, ScriptedModel, word_by_word_rule
from tests.serve.reader import Reader
from tests.serve.stand_in import standing_in

Said = tuple[str | None, str | None, str]
"""Track, language that the recogniser reports, and text of a segment."""
Shown = list[tuple[str | None, str]]
"""Track and text of captions."""


def sentences(count: int, *marks: tuple[str | None, str | None]) -> list[Said]:
    """Different sentences, in turn of each track and language."""
    marks = marks or ((None, None),)
    texts = (f"a{number // 40} b{number % 40} c{number % 7} the end." for number in range(count))
    return [(*marks[number % len(marks)], text) for number, text in enumerate(texts)]


def _translated(text: str, into: str) -> str:
    return " ".join(f"{word}~{into}" for word in text.split())


@dataclass
class Kind:
    """How a session comes to be."""

    command: str
    said: Sequence[Said]
    languages: str = "--from en --to de"
    """Options of this command, and of those that translate the session again."""
    seconds: float = 0.04
    """Length of a word."""

    def __post_init__(self) -> None:
        sources, targets = self.languages.split()[1::2] if not self.between else [self.languages.split()[1]] * 2
        self.spoken, self.targets = sources.split(",")[0], targets.split(",")

    @property
    def between(self) -> bool:
        return self.languages.startswith("--between")

    def captions(self, said: Iterable[Said], target: str | None = None) -> Shown:
        """What a reader of `target` gets of it; None: what the command prints."""
        if self.between:
            mine, theirs = self.targets
            shown = [(one, target or (theirs if one[1] == mine else mine)) for one in said]
            return [
                (track, text if into == language or language not in self.targets else _translated(text, into))
                for (track, language, text), into in shown
            ]
        target = target or self.targets[0]
        mine = "none" if "none" in self.command else self.spoken
        shown: Shown = []
        for track, language, text in said:
            into = mine if track == "me" else target
            is_heard = into in ("none", language or self.spoken)
            shown.append((track, text if is_heard else _translated(text, into)))
        return shown

    def transcripts(self) -> Iterator[Transcript]:
        """Two updates and a final of each sentence."""
        for segment, (track, language, text) in enumerate(self.said):
            text = text.replace("c", "q") if "NAMES" in self.command else text
            words, start = text.split(), segment * 6 * self.seconds
            for revision, count in enumerate((2, 4, 5)):
                texts = (text, "") if count == 5 else (" ".join(words[: count - 1]), words[count - 1])
                end = start + count * self.seconds
                yield Transcript(segment, revision, *texts, count == 5, start, end, language=language, track=track)


MEETING = sentences(6, ("them", None), ("me", "de"), ("me", "de"))
CONVERSATION = sentences(5, ("me", "en"), ("them", "de"), ("French", "fr"))
TWO = "--from en --to de,fr"
KINDS = {
    "microphone": Kind("mic", sentences(3)),
    "computer": Kind("listen", sentences(3)),
    "recording": Kind("replay STREAM --speed max --name talk", sentences(3)),
    "recording, live": Kind("replay STREAM --plain", sentences(2)),
    "several languages": Kind("mic", sentences(3), TWO),
    "spoken language too": Kind("replay STREAM --offline", sentences(3), "--from en --to de,en"),
    "auto": Kind("mic", sentences(5, (None, "en"), (None, "de"), (None, "fr")), "--from auto --to de"),
    "languages changed": Kind("mic", [*sentences(2), *sentences(2, (None, "de"))], "--from en,de --to de,fr"),
    "meeting": Kind("listen --with-mic --me de", MEETING),
    "meeting, not translated": Kind("listen --with-mic --me de --me-to none", MEETING),
    "meeting, several": Kind("listen --with-mic --me de", MEETING, TWO),
    "conversation": Kind("mic --names me,them", CONVERSATION, "--between en,de"),
    "names": Kind("mic --glossary NAMES", sentences(4)),
    "glossary": Kind("mic --glossary TERMS", sentences(2)),
    "three hours": Kind("replay STREAM --offline", sentences(20), seconds=108.0),
    "three hours, spoken": Kind("replay STREAM --offline", sentences(900), seconds=2.4),
}
long = pytest.mark.long


class Marking(ScriptedModel):
    """Marks words with the language that stands before the text in its prompt."""

    threads = 1

    def __init__(self, *_: object, **__: object) -> None:
        super().__init__(self._mark, seconds_per_pass=0.01, seconds_per_token=0.001)

    @staticmethod
    def _mark(model: ScriptedModel, context: Sequence[int]) -> Any:
        code = model.word(context[context.index(SOURCE) - 1])
        return word_by_word_rule(lambda word: f"{word}~{code}", certainty=12.0, unsure_of_last=False)(model, context)


class World:
    """The commands, an empty folder for sessions, and one session."""

    kind: Kind
    pipeline: Pipeline
    """The last live run."""
    said: str
    """Standard error of the last command."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capture = folder, capture
        self.reading: list[threading.Thread] = []
        self.read: dict[str, list[str]] = {}
        """What readers in each language had at the end of a served run."""

    @property
    def session(self) -> Path:
        [session] = (self.folder / "data" / "sessions").iterdir()
        return session

    @property
    def lines(self) -> list[bytes]:
        return (self.session / "events.jsonl").read_bytes().splitlines(keepends=True)

    @lines.setter
    def lines(self, lines: Iterable[bytes]) -> None:
        (self.session / "events.jsonl").write_bytes(b"".join(lines))

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        found = (json.loads(line) for line in self.lines if line.endswith(b"\n"))
        return [one for one in found if one["event"] in kinds]

    def do(self, command: str, *words: str | Path, code: int = 0) -> str:
        """Run a command; return its standard output."""
        self.capture.readouterr()
        ended = run([*command.split(), *map(str, words)])
        out, self.said = self.capture.readouterr()
        assert "Traceback" not in self.said and "internal error" not in self.said
        assert ended == code, (command, words, out, self.said)
        return out

    def record(self, kind: Kind) -> Shown:
        """Record a session; return the captions that the command printed."""
        self.kind = kind
        places = {"STREAM": self.folder / "stream.jsonl", "TERMS": self.folder / "terms.csv"}
        places["NAMES"] = self.folder / "names.csv"
        lines = (to_line(Record(0.0, one)) for one in kind.transcripts())
        places["STREAM"].write_text("\n".join(lines))
        places["NAMES"].write_text("\n".join(f"c{number},=,q{number}" for number in range(7)))
        places["TERMS"].write_text("\n".join(f"term{number},Begriff{number}" for number in range(2000)))
        words = (str(places.get(word, word)) for word in kind.command.split())
        return captions(self.do(" ".join(words), *kind.languages.split()))

    def hear(self) -> Iterator[Transcript]:
        """What live sources give; with pauses and changes of languages by keys."""
        for one in self.kind.transcripts():
            if (one.segment_id, one.revision) == (1, 0) and "listen" in self.kind.command:
                self.pipeline.publish(Gap(one.start - 0.02, one.start, "microphone", one.track))
            if (one.segment_id, one.revision) == (2, 0) and "--from en,de" in self.kind.languages:
                wait_until(lambda: len(self.finals) == 2 * len(self.kind.targets))
                self.pipeline.change("to", "fr")
                self.pipeline.change("from", "de")
            self.pipeline.publish(SourceProgress(one.end, None, not one.final))
            yield replace(one, captured_at=0.0)

    def read_along(self, server: CaptionServer, language: str) -> None:
        with Reader(server, f"?to={language}") as reader:
            reader.until_state("ended")
        self.read[language] = [text for text in reader.texts if text != "(gap)"]

    @property
    def finals(self) -> list[dict[str, Any]]:
        return [one for one in self.events("caption") if one["final"] and one["text"]]

    def heard(self) -> list[Said]:
        last = {one["segment_id"]: one for one in self.events("transcript")}
        texts = ((one, f"{one['committed']} {one['partial']}".strip()) for _, one in sorted(last.items()))
        return [(one["track"], one["language"], text) for one, text in texts if text]

    def expected(self, target: str | None = None) -> Shown:
        return self.kind.captions(self.heard(), target)

    def shown(self, target: str) -> Shown:
        """The last captions in the session for a reader of `target`."""
        is_for_all = "me" if not self.kind.between else ""
        mine = (one for one in self.events("caption") if one["language"] == target or one["track"] == is_for_all)
        last = {one["segment_id"]: (one["track"], one["text"]) for one in mine}
        return [one for _, one in sorted(last.items()) if one[1]]


def captions(lines: str) -> Shown:
    """Lines by track, without gaps and the mark of what was not translated."""
    found = (re.fullmatch(r"(?:> )?(?:(me|them|French): )?(.*)", line) for line in lines.splitlines())
    return [one.groups() for one in found if one and one[2] and "without sound" not in one[2]]


def words_of(shown: Shown) -> Counter[str]:
    return Counter(f"{track} {word}" for track, text in shown for word in text.split())


def cue_words(text: str) -> Counter[str]:
    """The words of the cues of SRT or WebVTT, with their track."""
    bodies = (cue.partition(" --> ")[2].partition("\n")[2] for cue in text.split("\n\n"))
    return words_of(captions("\n".join(re.sub(r"<v (\w+)>", r"\1: ", body).replace("\n", " ") for body in bodies)))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> World:
    made = World(tmp_path, capfd)

    def open_listening(publish: Any, on_audio: object) -> Listening:
        made.pipeline = publish.__self__
        return Listening(made.hear(), origin=Origin("Studio"))

    start = CaptionServer.start

    def start_with_readers(server: CaptionServer) -> None:
        start(server)
        made.reading += [threading.Thread(target=made.read_along, args=(server, code)) for code in made.kind.targets]
        for thread in made.reading:
            thread.start()
        wait_until(lambda: server.readers >= len(made.kind.targets))

    def write(model: object, request: Any) -> str:
        return f"{request.target_code} <|src|> {request.speech} <|tgt|>"

    device = Mock(close=lambda: None, hears_output=lambda output: False)
    device.name = "Studio"
    recogniser = SimpleNamespace(path=data_folder("models") / "livetrans-recogniser-en", languages=())
    monkeypatch.setattr("platformdirs.user_data_path", lambda *names, **settings: tmp_path / "data")
    monkeypatch.setenv("LIVETRANS_MT_MODEL", str(data_folder("models") / "livetrans-en-de.q8_0.gguf"))
    monkeypatch.setitem(TEMPLATES, "plain", replace(TEMPLATES["plain"], write=write))
    monkeypatch.setattr("livetrans.lm.llama.model.LlamaModel", Marking)
    monkeypatch.setattr("livetrans.models.chosen.choose_recogniser", lambda settings: recogniser)
    monkeypatch.setattr("livetrans.run.opening.from_live", lambda *_: open_listening)
    monkeypatch.setattr("livetrans.cli.models.offer_models", lambda settings, yes: None)
    monkeypatch.setattr(CaptionServer, "start", start_with_readers)
    for source in ("Microphone", "Playback"):
        monkeypatch.setattr(f"livetrans.audio.live.{source}", lambda *_: device)
    return made


@pytest.mark.parametrize("name", [pytest.param(name, marks=long if "spoken" == name[-6:] else ()) for name in KINDS])
def test_every_command_has_what_a_session_holds(name: str, world: World) -> None:
    kind = KINDS[name]
    assert world.record(kind) == kind.captions(kind.said)
    for target in kind.targets:
        assert world.shown(target) == kind.captions(kind.said, target)
    look_at(world)
    translate_again(world)
    before = world.lines
    world.do("resume", world.session.name)
    assert "Nothing to resume" in world.said and world.lines == before
    rename_and_remove(world)


KILLED = [
    "microphone",
    "several languages",
    "languages changed",
    "auto",
    "meeting",
    pytest.param("glossary", marks=pytest.mark.long),
    "conversation",
    "names",
]


@pytest.mark.parametrize("name", KILLED)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=long)])
def test_a_session_that_was_killed_at_any_event_is_whole_after_a_resume(name: str, every: bool, world: World) -> None:
    world.record(KINDS[name])
    lines = world.lines
    first = next(number for number, line in enumerate(lines, 1) if b'"run_started"' in line)
    step = 1 if every else (len(lines) - first) // 3
    for cut in sorted({*range(first, len(lines), step), len(lines) - 1}):
        world.lines = [*lines[:cut], lines[cut][: len(lines[cut]) // 2]]
        if all(world.shown(target) for target in world.kind.targets):
            look_at(world, "unfinished")
        resume(world)
        world.lines = world.lines[: (cut + len(world.lines)) // 2]  # The second run is killed too.
        resume(world)
    translate_again(world)


@pytest.mark.parametrize("after", [1, pytest.param(2, marks=long), pytest.param(3, marks=long)])
@pytest.mark.parametrize("name", ["several languages", "meeting, several", "conversation"])
def test_platforms_get_each_final_of_their_language_once_also_of_a_run_that_was_killed(
    name: str, after: int, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "LAST_SECONDS", 0.5)
    data, kept, once = world.folder / "data", world.folder / "kept", threading.Lock()
    with ExitStack() as opened:
        platforms = {code: opened.enter_context(standing_in("Zoom")) for code in KINDS[name].targets}
        places = []
        for code, platform in platforms.items():
            (world.folder / code).mkdir()
            places += ["--captions-to", f"{code}={platform.secret_in(world.folder / code)}"]

        def kill() -> None:
            """Leave everything as it is when a platform has taken a text and not yet answered."""
            if sum(len(one.shown) for one in platforms.values()) >= after and once.acquire(blocking=False):
                for one in platforms.values():
                    one.faults = ["500"] * 1000
                shutil.copytree(data, kept)

        for platform in platforms.values():
            platform.on_text = kill
        world.record(replace(KINDS[name], command=" ".join([KINDS[name].command, *places])))
        assert "lacks the last" in world.said
        shutil.rmtree(data)
        kept.rename(data)
        for platform in platforms.values():
            platform.faults = []
        world.do("resume", world.session.name, *places)
        for code, platform in platforms.items():
            wanted = [f"{track}: {text}" if track else text for track, text in world.expected(code)]
            assert platform.text == " ".join(wanted)


def resume(world: World) -> None:
    before = world.finals
    printed = captions(world.do("resume", world.session.name))
    assert set(printed) <= {one for target in world.kind.targets for one in world.expected(target)}
    assert world.finals[: len(before)] == before, "what was shown stays"
    assert {one["captured_at"] for one in world.finals[len(before) :]} <= {None}, "no lag counts the time between"
    final = Counter((one["segment_id"], one["language"]) for one in world.finals)
    assert set(final.values()) <= {1}, "nothing is shown twice"
    for target in world.kind.targets:
        assert world.shown(target) == world.expected(target), "nothing is lost"
    if before:
        look_at(world)
    world.do("resume", world.session.name)
    assert "Nothing to resume" in world.said


def look_at(world: World, state: str = "whole") -> None:
    """List, show and export the session."""
    name, targets, place = world.session.name, world.kind.targets, world.folder / "out.srt"
    [facts] = map(json.loads, world.do("sessions --json").splitlines())
    count = max(len(world.shown(target)) for target in targets)
    assert (facts["session"], facts["captions"], facts["state"]) == (name, count, state)
    assert facts["target_languages"] == targets and name in world.do("sessions")
    world.do("export -o", place, name)
    for target in targets:
        shown, to = world.shown(target), ("--to", target)
        rows = world.do("sessions show", name, *to).partition("\n\n")[2]
        assert captions("\n".join(row[9:] for row in rows.splitlines())) == shown
        for session in (name, world.session, world.session / "events.jsonl"):
            assert captions(world.do("export", session, *to)) == shown
        objects = map(json.loads, world.do("export --format jsonl", name, *to).splitlines())
        assert [(one["track"], one["target"]) for one in objects if one["segment_id"] >= 0] == shown
        file = place if len(targets) == 1 else place.with_suffix(f".{target}.srt")
        for cues in (file.read_text(), world.do("export --format vtt", name, *to)):
            assert cue_words(cues) == words_of(shown)
        file.unlink()
    world.do("export --to ja", name, code=2)


def translate_again(world: World) -> None:
    """Replay the session at both speeds, once with readers, and measure methods on it."""
    kind, name, run_file = world.kind, world.session.name, world.folder / "run.jsonl"
    again = ("--no-session", *(() if kind.between else kind.languages.split()))
    assert captions(world.do("replay --speed max", name, *again)) == world.expected()
    if kind.seconds < 1:
        world.reading.clear()
        assert captions(world.do("replay --serve --plain", name, *again)) == world.expected()
        for thread in world.reading:
            thread.join(20)
        assert world.read == {target: [text for _, text in world.expected(target)] for target in kind.targets}
    pair = ("--from", kind.spoken, "--to", kind.targets[1 if kind.between else 0])
    [table] = json.loads(world.do("replay --compare rt,cd --format json", name, *pair))["tables"]
    assert [row["method"] for row in table["rows"]] == ["rt", "cd"]
    is_auto = kind.spoken == "auto"
    world.do("bench run --methods rt,cd --repeats 1 --recorded", name, *pair, "-o", run_file, code=2 if is_auto else 0)
    if not is_auto:
        world.do("bench table", run_file)
        segments = [one["source"] for one in map(json.loads, run_file.open()) if "reference" in one]
        assert segments == [text for _, language, text in world.heard() if language in (None, kind.spoken)]
        run_file.unlink()


def rename_and_remove(world: World) -> None:
    name, exported = world.session.name, world.do("export last")
    with closing(SessionRecorder(world.session, append=True)):
        for command in (f"resume {name}", f"sessions rm {name} --yes", f"sessions rename {name} new"):
            world.do(command, code=1)
            assert "is being recorded" in world.said and world.do("export", name) == exported
    world.do("sessions rename", name, "new talk")
    assert world.do("export new") == exported
    world.do("sessions rm new --yes", code=1)
    world.do("sessions rm --yes", "new talk")
    world.do("export new", code=1)


POOR = {
    "never began": (["notice"], "", "loading"),
    "no word": (["notice", "run_started"], "", "unfinished"),
    "silence": (["run_started", "source_progress", "run_ended"], "", "whole"),
    "no JSON": (["run_started", "transcript", "caption"], '{"event": "cap\n', "damaged"),
    "no number": (["run_started", "transcript"], '{"event": "transcript", "segment_id": "x"}\n', "damaged"),
}
"""Events that are left of a session, a line amid them, and its state."""


@pytest.mark.parametrize("name", POOR)
def test_what_a_session_cannot_give_is_one_sentence(name: str, world: World) -> None:
    world.record(KINDS["meeting"])
    kinds, line, state = POOR[name]
    left = [f"{json.dumps(one)}\n".encode() for one in world.events(*kinds)]
    world.lines = [*left[:2], line.encode(), *left[2:]]
    before, session, place = world.lines, world.session.name, world.folder / "none"
    commands = ["export", f"export -o {place}.srt", "replay --speed max", "replay --serve --plain"]
    commands += ["replay --compare rt,cd", f"bench run -o {place}.jsonl --recorded", "sessions show", "resume"]
    answers = {"damaged": [], "loading": ["sessions show"]}.get(state, ["sessions show", "resume"])
    for command in commands:
        world.do(command, session, code=0 if command in answers else 1)
        assert world.said.count("\n") == (0 if command in answers and "show" in command else 1)
        assert state != "damaged" or "line 3 of" in world.said
        [facts] = map(json.loads, world.do("sessions --json").splitlines())
        assert facts["state"] == ("whole" if command == "resume" and name == "no word" else state)
    assert not list(world.folder.glob("none*")) and world.lines[: len(before)] == before
    world.do("sessions rm --empty --yes")
    world.do("sessions rm --yes", session, code=0 if state == "damaged" else 1)
    assert world.do("sessions --json") == ""
