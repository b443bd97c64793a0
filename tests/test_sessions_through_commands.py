"""Every kind of session goes through every command: what it holds comes out of each, and nothing else.

Sessions are recorded by the commands themselves, over scripted transcripts and a scripted translator that marks each
word with the language of the captions. The expected captions follow from the transcripts alone.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from livetrans.cli import run
from livetrans.events import Gap, Record, SourceProgress, Transcript
from livetrans.lm.families import TEMPLATES
from livetrans.models import chosen
from livetrans.run.listening import Listening
from livetrans.run.pipeline import Pipeline
from livetrans.serve.server import CaptionServer
from livetrans.session.codec import to_line
from tests.audio.sound_server import wait_until
from tests.lm.scripted import SOURCE, ScriptedModel, word_by_word_rule
from tests.serve.reader import Reader

Spoken = tuple[str | None, str | None, str]
"""Track, language that the recogniser detected, and text of a segment."""


@dataclass(frozen=True)
class Kind:
    """How a session is recorded, and with which languages."""

    command: tuple[str, ...]
    spoken: Sequence[Spoken]
    languages: tuple[str, ...] = ("--from", "en", "--to", "de")
    """Options of the session, and of commands that translate it again."""
    gap: bool = False
    keys: tuple[tuple[str, str], ...] = ()
    """Settings that keys on the screen change after two sentences."""
    seconds: float = 0.04
    """Length of a word."""

    @property
    def sources(self) -> list[str]:
        return self.languages[1].split(",")

    @property
    def targets(self) -> list[str]:
        return self.languages[3].split(",")

    @property
    def is_meeting(self) -> bool:
        return "--with-mic" in self.command

    def caption(self, spoken: Spoken, target: str) -> str:
        """The final caption of a text for a reader of `target`."""
        track, language, text = spoken
        source = self.sources[0]
        if track == "me":
            mine = dict(zip(self.command, self.command[1:]))
            source, target = mine["--me"], mine.get("--me-to", source)
        heard = target in ("none", language or source)
        return " ".join(text.split() if heard else (f"{word}~{target}" for word in text.split()))


def sentences(count: int, *marked: tuple[str | None, str | None]) -> list[Spoken]:
    """Different sentences of up to four words, in turn of each track and language."""
    marked = marked or ((None, None),)
    texts = (" ".join(f"{chr(97 + place)}{number // 12**place % 12}" for place in range(4)) for number in range(count))
    return [(*marked[number % len(marked)], f"{text} end.") for number, text in enumerate(texts)]


MEETING = sentences(6, ("them", None), ("me", "de"), ("me", "de"))
KINDS = {
    "microphone": Kind(("mic",), sentences(3)),
    "named": Kind(("mic", "--name", "weekly talk"), sentences(2)),
    "computer": Kind(("listen",), sentences(3), gap=True),
    "recording": Kind(("replay", "STREAM", "--speed", "max"), sentences(3)),
    "recording, live": Kind(("replay", "STREAM", "--plain"), sentences(2)),
    "several languages": Kind(("mic",), sentences(3), ("--from", "en", "--to", "de,fr")),
    "spoken language too": Kind(("replay", "STREAM", "--offline"), sentences(3), ("--from", "en", "--to", "de,en")),
    "auto": Kind(("mic",), sentences(5, (None, "en"), (None, "de"), (None, "fr")), ("--from", "auto", "--to", "de")),
    "languages changed": Kind(
        ("mic",),
        [*sentences(2), *sentences(2, (None, "de"))],
        ("--from", "en,de", "--to", "de,fr"),
        keys=(("to", "fr"), ("from", "de")),
    ),
    "meeting": Kind(("listen", "--with-mic", "--me", "de"), MEETING),
    "meeting, not translated": Kind(("listen", "--with-mic", "--me", "de", "--me-to", "none"), MEETING, gap=True),
    "meeting, several": Kind(("listen", "--with-mic", "--me", "de"), MEETING, ("--from", "en", "--to", "de,fr")),
    "glossary": Kind(("mic", "--glossary", "TERMS"), sentences(2)),
    "three hours": Kind(("replay", "STREAM", "--offline"), sentences(20), seconds=108.0),
}
LONG_KINDS = {"three hours, spoken": Kind(("replay", "STREAM", "--offline"), sentences(900), seconds=2.4)}


def updates(kind: Kind) -> Iterator[Transcript | Gap]:
    start = 0.0
    for segment, (track, language, text) in enumerate(kind.spoken):
        words = text.split()
        for count in range(1, len(words) + 2):
            end = start + min(count, len(words)) * kind.seconds
            is_final = count > len(words)
            committed = text if is_final else " ".join(words[: count - 1])
            partial = "" if is_final else words[count - 1]
            yield Transcript(segment, count - 1, committed, partial, is_final, start, end, None, None, language, track)
        start = end + kind.seconds
        if kind.gap and segment == 0:
            yield Gap(start, start + 0.6, "microphone", track)
            start += 0.6


class Marking(ScriptedModel):
    """Translates into the language that stands before the text in its prompt."""

    threads = 1

    def __init__(self, *_: object, **__: object) -> None:
        super().__init__(self._translate, seconds_per_pass=0.01, seconds_per_token=0.001)

    @staticmethod
    def _translate(model: ScriptedModel, context: Sequence[int]) -> NDArray[np.float32]:
        code = model.word(context[context.index(SOURCE) - 1])
        rule = word_by_word_rule(lambda word: f"{word}~{code}", certainty=12.0, unsure_of_last=False)
        return rule(model, context)


@dataclass
class World:
    """The commands, over scripted stages."""

    folder: Path
    patch: pytest.MonkeyPatch
    capture: pytest.CaptureFixture[str]
    kind: Kind = KINDS["microphone"]
    name: str = ""
    pipelines: list[Pipeline] = field(default_factory=list)
    said: str = field(default="", init=False)
    """Standard error of the last command."""

    @property
    def session(self) -> Path:
        return self.folder / "data" / "sessions" / self.name

    @property
    def events(self) -> list[dict[str, Any]]:
        lines = (self.session / "events.jsonl").read_bytes().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith(b"\n")]

    @property
    def finals(self) -> list[dict[str, Any]]:
        return [one for one in self.events if one["event"] == "caption" and one["final"] and one["text"]]

    def write(self, *lines: bytes) -> None:
        """Let the session hold these lines."""
        (self.session / "events.jsonl").write_bytes(b"".join(lines))

    def do(self, *words: str | Path, code: int = 0) -> str:
        """Run a command; return its standard output."""
        self.capture.readouterr()
        ended = run([str(word) for word in words])
        printed = self.capture.readouterr()
        self.said = printed.err
        assert "Traceback" not in printed.err and "internal error" not in printed.err
        assert ended == code, (words, printed)
        return printed.out

    def press_keys(self) -> None:
        """Change settings of the live run as keys do, once what was said before is shown."""
        [session] = (self.folder / "data" / "sessions").iterdir()
        self.name = session.name
        wait_until(lambda: len(self.finals) == 2 * len(self.kind.targets))
        for key, value in self.kind.keys:
            self.pipelines[-1].change(key, value)

    def record(self, kind: Kind) -> str:
        """Record a session by a command; return the lines that it printed."""
        self.kind = kind
        stream, terms = self.folder / "stream.jsonl", self.folder / "terms.csv"
        lines = (to_line(Record(0.0, one)) for one in updates(kind) if isinstance(one, Transcript))
        stream.write_text("".join(f"{line}\n" for line in lines))
        terms.write_text("".join(f"term{number},Begriff{number}\n" for number in range(5000)))
        places = {"STREAM": stream, "TERMS": terms}
        printed = self.do(*(places.get(word, word) for word in kind.command), *kind.languages)
        [session] = (self.folder / "data" / "sessions").iterdir()
        self.name = session.name
        return printed

    def heard(self) -> list[Spoken]:
        """What the session's events say that was heard, in the order of its segments."""
        last = {one["segment_id"]: one for one in self.events if one["event"] == "transcript"}
        texts = ((one, f"{one['committed']} {one['partial']}".strip()) for _, one in sorted(last.items()))
        return [(one["track"], one["language"], text) for one, text in texts if text]

    def shown(self, target: str) -> Counter[tuple[str | None, str]]:
        """What the session's events say that was shown last for a reader of `target`."""
        return Counter(self.last(target).values())

    def last(self, target: str) -> dict[int, tuple[str | None, str]]:
        """The last caption of each segment for a reader of `target`."""
        last = {}
        for one in self.events:
            if one["event"] == "caption" and (one["language"] == target or one["track"] == "me"):
                last[one["segment_id"]] = one["track"], one["text"]
        return {segment: one for segment, one in last.items() if one[1]}

    def expected(self, target: str) -> Counter[tuple[str | None, str]]:
        """What has to be shown of what was heard."""
        return Counter((one[0], self.kind.caption(one, target)) for one in self.heard())


GAP = re.compile(r"\[\d+ s without sound\]")


def captions(lines: Sequence[str]) -> Counter[tuple[str | None, str]]:
    """Lines by track, without the mark of what was not translated."""
    found: Counter[tuple[str | None, str]] = Counter()
    for line in lines:
        track, text = re.fullmatch(r"(?:> )?(?:(me|them): )?(.*)", line).groups()  # type: ignore[union-attr]
        if text and not GAP.fullmatch(text):
            found[track, text] += 1
    return found


def words_of(found: Counter[tuple[str | None, str]]) -> Counter[tuple[str | None, str]]:
    return Counter((track, word) for (track, text), count in found.items() for word in text.split() * count)


def cue_words(text: str) -> Counter[tuple[str | None, str]]:
    """The words of all cues of SRT or WebVTT, by track."""
    found: Counter[tuple[str | None, str]] = Counter()
    for cue in text.split("\n\n"):
        _, times, rest = cue.partition(" --> ")
        head, _, body = rest.partition("\n")
        track, said = re.fullmatch(r"(?:(?:<v )?(me|them)(?:>|: ))?(.*)", body, re.S).groups()  # type: ignore[union-attr]
        if times and not GAP.fullmatch(said.strip()):
            found += Counter((track, word) for word in said.split())
    return found


@pytest.fixture
def world(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    translator_path: Path,
    recogniser_path: Path,
) -> World:
    made = World(tmp_path, monkeypatch, capfd)

    def write(model: object, request: Any) -> str:
        return f"{request.target_code} <|src|> {request.speech} <|tgt|>"

    def from_live(sources: object, origin: Any, settings: object, clock: object) -> Callable[..., Listening]:
        def open_listening(publish: Callable[[object], None], on_audio: object) -> Listening:
            def transcripts() -> Iterator[Transcript]:
                for one in updates(made.kind):
                    if made.kind.keys and isinstance(one, Transcript) and (one.segment_id, one.revision) == (2, 0):
                        made.press_keys()
                    publish(one if isinstance(one, Gap) else SourceProgress(one.end, None, not one.final))
                    if isinstance(one, Transcript):
                        yield one

            return Listening(transcripts(), lambda paused: None, lambda: None, origin=origin)

        return open_listening

    def any_recogniser(settings: Any) -> Any:
        return SimpleNamespace(path=recogniser_path, languages=())

    class Run(Pipeline):
        def start(self, *sinks: Any) -> None:
            made.pipelines.append(self)
            super().start(*sinks)

    device = SimpleNamespace(name="Studio", close=lambda: None)
    monkeypatch.setattr("platformdirs.user_data_path", lambda *names, **settings: tmp_path / "data")
    monkeypatch.setenv("LIVETRANS_MT_MODEL", str(translator_path))
    monkeypatch.setitem(TEMPLATES, "plain", replace(TEMPLATES["plain"], write=write))
    monkeypatch.setattr("livetrans.lm.llama.model.LlamaModel", Marking)
    monkeypatch.setattr(chosen, "choose_recogniser", any_recogniser)
    monkeypatch.setattr("livetrans.cli.live.from_live", from_live)
    monkeypatch.setattr("livetrans.cli.running.Pipeline", Run)
    monkeypatch.setattr("livetrans.cli.live.offer_models", lambda settings, yes: None)
    for source in ("Microphone", "Playback"):
        monkeypatch.setattr(f"livetrans.audio.live.{source}", lambda *_: device)
    return made


@pytest.mark.parametrize("name", [*KINDS, *(pytest.param(name, marks=pytest.mark.long) for name in LONG_KINDS)])
def test_every_command_has_what_a_session_holds(name: str, world: World) -> None:
    kind = {**KINDS, **LONG_KINDS}[name]
    printed = world.record(kind)
    assert Counter(world.heard()) == Counter(kind.spoken), "nothing is lost on the way"
    for target in kind.targets:
        assert world.shown(target) == world.expected(target)
    assert captions(printed.splitlines()) == world.expected(kind.targets[0])
    look_at(world)
    translate_again(world)
    before = world.events
    world.do("resume", world.name)
    assert "Nothing to resume" in world.said and world.events == before
    rename_and_remove(world)


def look_at(world: World, state: str = "whole") -> None:
    """List, show and export the session."""
    kind, count = world.kind, len({one for target in world.kind.targets for one in world.last(target)})
    [facts] = map(json.loads, world.do("sessions", "--json").splitlines())
    assert (facts["session"], facts["captions"], facts["state"]) == (world.name, count, state)
    assert facts["target_languages"] == kind.targets
    assert world.name in world.do("sessions")
    heard = Counter((track, text) for track, _, text in world.heard())
    for target in kind.targets:
        shown, to = world.shown(target), ("--to", target)
        rows = world.do("sessions", "show", world.name, *to).partition("\n\n")[2].splitlines()
        assert captions([row[9:] for row in rows]) == shown
        for place in (world.name, world.session, world.session / "events.jsonl"):
            assert captions(world.do("export", place, *to).splitlines()) == shown
        for format_ in ("srt", "vtt"):
            assert cue_words(world.do("export", world.name, *to, "--format", format_)) == words_of(shown)
        for which in ("target", "source"):
            options = world.name, *to, "--format", "jsonl", "--text", which
            lines = map(json.loads, world.do("export", *options).splitlines())
            texts = Counter((one["track"], one[which]) for one in lines if one["segment_id"] >= 0)
            assert texts == shown if which == "target" else texts <= heard or state != "whole"
    place = world.folder / "out.srt"
    world.do("export", world.name, "-o", place)
    names = [place.with_suffix(f".{code}.srt") for code in kind.targets] if len(kind.targets) > 1 else [place]
    for target, path in zip(kind.targets, names, strict=True):
        assert cue_words(path.read_text()) == words_of(world.shown(target))
        path.unlink()
    world.do("export", world.name, "--to", "ja", code=2)


CUTS = [0.2, 0.45, 0.7, 0.97]


KILLED = ["microphone", "several languages", "languages changed", "auto", "meeting", "glossary"]


@pytest.mark.parametrize("name", KILLED)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_session_that_was_killed_at_any_event_is_whole_after_a_resume(name: str, every: bool, world: World) -> None:
    world.record(KINDS[name])
    lines = (world.session / "events.jsonl").read_bytes().splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines, 1) if b'"run_started"' in line)
    cuts = range(first, len(lines)) if every else [first + round(one * (len(lines) - first)) for one in CUTS]
    for cut in cuts:
        world.write(*lines[:cut], lines[cut][: len(lines[cut]) // 2])
        if all(world.shown(target) for target in world.kind.targets):
            look_at(world, "unfinished")
        finish(world)
        resumed = (world.session / "events.jsonl").read_bytes().splitlines(keepends=True)
        world.write(*resumed[: (cut + len(resumed)) // 2])  # The second run is killed too.
        finish(world)
    translate_again(world)


def finish(world: World) -> None:
    """Resume the session, which lacks nothing of what was heard after that."""
    before = world.finals
    printed = world.do("resume", world.name)
    wanted = sum((world.expected(target) for target in world.kind.targets), Counter())
    assert not captions(printed.splitlines()) - wanted
    assert world.finals[: len(before)] == before, "what was shown stays"
    shown = Counter((one["segment_id"], one["language"]) for one in world.finals)
    assert set(shown.values()) <= {1}, "nothing is shown twice"
    for target in world.kind.targets:
        assert world.shown(target) == world.expected(target)
    if before:
        look_at(world)
    world.do("resume", world.name)
    assert "Nothing to resume" in world.said


def translate_again(world: World) -> None:
    """Replay the session at both speeds, with readers, and measure methods on it."""
    kind, first = world.kind, world.kind.targets[0]
    expected = world.expected(first)
    again = ("replay", world.name, "--no-session", *kind.languages)
    assert captions(world.do(*again, "--speed", "max").splitlines()) == expected
    if kind.seconds < 1:
        with readers(world.patch, kind.targets) as texts:
            assert captions(world.do(*again, "--plain", "--serve").splitlines()) == expected
        for target in kind.targets:
            assert texts[target] == Counter(text for _, text in world.expected(target).elements())
    said = [text for track, language, text in world.heard() if language in (None, kind.sources[0])]
    one_pair = "--from", kind.sources[0], "--to", first
    table = world.do("replay", world.name, *one_pair, "--compare", "rt,cd", "--format", "json")
    [made] = json.loads(table)["tables"]
    assert [row["method"] for row in made["rows"]] == ["rt", "cd"]
    if kind.sources[0] != "auto":
        file = world.folder / "run.jsonl"
        world.do(
            "bench", "run", "--recorded", world.name, *one_pair, "--methods", "rt,cd", "--repeats", "1", "-o", file
        )
        segments = [one["source"] for one in map(json.loads, file.read_text().splitlines()) if "reference" in one]
        assert Counter(segments) == Counter(said)
        world.do("bench", "table", file)
        file.unlink()


def rename_and_remove(world: World) -> None:
    exported = world.do("export", world.name)
    beginning = world.name[:5]
    world.do("sessions", "rename", beginning, "renamed one", code=1)
    world.do("sessions", "rename", world.name, "renamed one")
    world.name = "renamed one"
    assert world.do("export", "renam") == world.do("export", "last") == exported
    world.do("sessions", "rm", "renam", "--yes", code=1)
    assert world.session.exists()
    world.do("sessions", "rm", world.name, "--yes")
    assert not world.session.exists()
    assert "no session" in world.do("sessions")
    for words in (("export",), ("sessions", "show"), ("resume",), ("replay",)):
        world.do(*words, "renamed one", code=1)
        assert world.said.count("\n") == 1


@contextmanager
def readers(patch: pytest.MonkeyPatch, languages: Sequence[str]) -> Iterator[dict[str, Counter[str]]]:
    """Read what the next run serves to the end, in each language."""
    found: dict[str, Counter[str]] = {}
    start, threads = CaptionServer.start, []

    def read(server: CaptionServer, language: str) -> None:
        with Reader(server, f"?to={language}") as reader:
            reader.until_state("ended")
        found[language] = Counter(text for text in reader.texts if text != "(gap)")

    def start_with_readers(server: CaptionServer) -> None:
        start(server)
        for language in languages:
            threads.append(threading.Thread(target=read, args=(server, language)))
            threads[-1].start()

    with patch.context() as patched:
        patched.setattr(CaptionServer, "start", start_with_readers)
        yield found
    for thread in threads:
        thread.join(20)


def of_kinds(events: Sequence[dict[str, Any]], *kinds: str) -> list[bytes]:
    return [f"{json.dumps(one)}\n".encode() for one in events if one["event"] in kinds]


POOR = {
    "never began": (("notice",), b"", "loading", {"show": 0}),
    "no word": (("notice", "run_started"), b"", "unfinished", {"resume": 0, "show": 0}),
    "silence": (("notice", "run_started", "source_progress", "run_ended"), b"", "whole", {"resume": 0, "show": 0}),
    "a line that is no JSON": (
        ("run_started", "transcript", "caption", "run_ended"),
        b'{"event": "cap\n',
        "damaged",
        {},
    ),
    "a number of another type": (
        ("run_started", "transcript", "caption", "run_ended"),
        b'{"event": "transcript", "at": 9.0, "segment_id": "x"}\n',
        "damaged",
        {},
    ),
}
"""Kinds of events that a session has, a line amid them, its state, and the commands that need not refuse it."""


@pytest.mark.parametrize("name", POOR)
def test_what_a_session_cannot_give_is_one_sentence(name: str, world: World) -> None:
    kinds, line, state, codes = POOR[name]
    world.record(KINDS["meeting"])
    kept = of_kinds(world.events, *kinds)
    world.write(*kept[: len(kept) // 2], line, *kept[len(kept) // 2 :])
    before = (world.session / "events.jsonl").read_bytes()
    [facts] = map(json.loads, world.do("sessions", "--json").splitlines())
    assert facts["state"] == state
    assert state in world.do("sessions") or state in ("loading", "whole")
    commands = {
        "show": ("sessions", "show", world.name),
        "export": ("export", world.name),
        "subtitles": ("export", world.name, "-o", world.folder / "none.srt"),
        "max": ("replay", world.name, "--speed", "max"),
        "live": ("replay", world.name, "--plain", "--serve"),
        "compare": ("replay", world.name, "--compare", "rt,cd"),
        "bench": ("bench", "run", "--recorded", world.name, "-o", world.folder / "none.jsonl"),
        "resume": ("resume", world.name),
    }
    for called, words in commands.items():
        world.do(*words, code=codes.get(called, 1))
        assert world.said.count("\n") <= 1 and (world.said or called == "show"), (called, world.said)
        assert state != "damaged" or "line" in world.said
    assert world.do("sessions", "--json").count("\n") == 1, "no other session was begun"
    assert not list(world.folder.glob("none*"))
    after = (world.session / "events.jsonl").read_bytes()
    assert after.startswith(before) and (after == before or name == "no word")
    world.do("sessions", "rename", world.name, "poor")
    world.do("sessions", "rm", "--empty", "--yes")
    world.do("sessions", "rm", "poor", "--yes", code=0 if state == "damaged" else 1)
    assert world.do("sessions", "--json") == ""
