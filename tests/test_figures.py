"""A figure is the same wherever it stands, and it is what somebody counts who sees the captions alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median_low

import pyte
import pytest

from livetrans.cli import run
from livetrans.config import MeetingSettings, Settings
from livetrans.events import Caption, Event, Record, RunEnded, RunStarted, Transcript
from livetrans.metrics.monitor import Monitor, Snapshot
from livetrans.session.codec import read_records
from livetrans.tui import panel
from tests.audio.sound_server import wait_until
from tests.cli.test_endings import Terminal
from tests.moved_rows import erasure_of
from tests.run.account import erased, lags_of
from tests.session.examples import write_session

pytestmark = pytest.mark.usefixtures("translator_path")

RECORDINGS = Path(__file__).parents[1] / "recordings"
THEM = MeetingSettings("de", "none")
RESTLESS = ("--method", "rt", "--mask", "none")
"""Options with which much of what was shown is retracted."""


def transcripts(name: str, segments: int = 1000) -> list[Transcript]:
    """What was recognised in a recording, up to so many segments."""
    events = [record.event for record in read_records(RECORDINGS / f"{name}.jsonl")]
    return [event for event in events if isinstance(event, Transcript) and event.segment_id < segments]


def overlapping(updates: Sequence[Transcript]) -> Iterator[Transcript]:
    """Yield them with each final after two updates of the next segment, as where a sentence begins within a pass."""
    waiting: list[tuple[int, Transcript]] = []
    for number, update in enumerate(updates):
        yield from (final for until, final in waiting if until == number)
        if update.final and number + 2 < len(updates):
            waiting.append((number + 3, update))
            yield replace(update, final=False, ended=True)
        else:
            yield replace(update, revision=update.revision + 1)
    yield from (final for until, final in waiting if until >= len(updates))


def meeting(them: Sequence[Transcript], me: Sequence[Transcript]) -> Iterator[Transcript]:
    """Yield the updates of two tracks in turns."""
    for number in range(max(len(them), len(me))):
        for track, language, updates in (("them", "en", them), ("me", "de", me)):
            if number < len(updates):
                one = updates[number]
                identity = 2 * one.segment_id + (track == "me")
                yield replace(one, segment_id=identity, track=track, language=language)


def stream(kind: str, segments: int) -> list[Event]:
    if kind == "overlapping":
        return [RunStarted({}), *overlapping(transcripts("long", segments))]
    if kind == "two tracks":
        updates = meeting(transcripts("long", segments), transcripts("talk", segments))
        return [RunStarted({}, Settings(meeting=THEM)), *updates]
    return [RunStarted({}), *transcripts(kind, segments)]


def watched(records: Sequence[Record]) -> Snapshot:
    """What the panel of this run shows at its end."""
    monitor = Monitor(memory=lambda: None)
    for record in records:
        monitor.write(record)
    return monitor.snapshot()


def captions(records: Sequence[Record], track: str = "them") -> list[tuple[float, Caption]]:
    """The captions of a run of one track, or of one of two, each with the time at which it was shown.

    There are figures of those of `them` only.
    """
    return [(record.at, record.event) for record in records
            if isinstance(record.event, Caption) and record.event.track in (None, track)]  # fmt: skip


def seen(records: Sequence[Record], track: str = "them") -> list[list[str]]:
    """All captions of a track one below the other, as each of them changed."""
    lines: dict[int, str] = {}
    screens = []
    for _, caption in captions(records, track):
        lines[caption.segment_id] = caption.text
        screens.append([lines[segment] for segment in sorted(lines)])
    return screens


def words(screens: Sequence[Sequence[str]]) -> set[str]:
    """The forms of a screen, without its line breaks."""
    return {*map(joined, screens)} - {""}


def joined(texts: Sequence[str]) -> str:
    return " ".join(" ".join(texts).split())


def row_of(table: str, method: str) -> dict[str, float]:
    """The figures of a method in a table that was printed as JSON."""
    [one] = json.loads(table)["tables"]
    found: dict[str, float] = next(row for row in one["rows"] if row["method"].split()[-1] == method)
    return found


def on_panel(metric: panel.Metric, snapshot: Snapshot) -> str:
    return panel.row(metric, snapshot, 22).plain


def long(*cases: tuple[object, ...]) -> list[object]:
    return [pytest.param(*case, marks=pytest.mark.long) for case in cases]


ALL = 1000
STREAMS = [*(path.stem for path in sorted(RECORDINGS.glob("*.jsonl"))), "overlapping", "two tracks"]


@pytest.mark.parametrize(
    ("kind", "segments", "method"),
    [
        *((kind, segments, "window") for kind, segments in (("overlapping", 3), ("two tracks", 2))),
        *long(*((kind, ALL, "window") for kind in STREAMS), ("overlapping", ALL, "ssbd@0.2")),
    ],
)
def test_every_place_has_the_same_figures(
    kind: str, segments: int, method: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Session, JSON lines, the run's last line, panel, `bench table` and `--compare`."""
    source = str(write_session(tmp_path / "stream.jsonl", *stream(kind, segments)))
    session, file = str(tmp_path / "session"), str(tmp_path / "run.jsonl")
    chosen = [] if method == "window" else ["--method", "paper"]
    once = ["replay", source, "--threads", "1", "--speed", "max"]
    assert run([*once, *chosen, "--session", session, "--jsonl"]) == 0
    printed, said = capfd.readouterr()
    records = list(read_records(Path(session)))
    end, shown = records[-1].event, watched(records)
    assert isinstance(end, RunEnded) and json.loads(printed.splitlines()[-1])["ne_screen"] == end.ne_screen
    assert end.ne_screen == pytest.approx(erasure_of(seen(records)), abs=1e-6)
    assert shown.ne_screen == pytest.approx(end.ne_screen, abs=1e-6)
    assert shown.speedup_estimate == pytest.approx(end.speedup_estimate, rel=0.01)
    assert (
        said.splitlines()[-1]
        == f"Figures: NE of the screen {end.ne_screen:.2f}; speedup {shown.speedup_text}, estimated"
    )
    assert on_panel(panel.NE, shown).split()[-1] == f"{end.ne_screen:.2f}"
    assert on_panel(panel.SPEEDUP, shown).split()[-1] == shown.speedup_text

    options = ["--methods", method, "--threads", "1", "--repeats", "1", "-o", file]
    assert run(["bench", "run", "--recorded", session, *options]) == 0
    capfd.readouterr()
    assert run(["bench", "table", file, "--table", "calm", "--unit", "model", "--format", "json"]) == 0
    bench = row_of(capfd.readouterr().out, method)
    assert run([*once, "--compare", method, "--format", "json"]) == 0
    compared = row_of(capfd.readouterr().out, method)
    for figures in (bench, compared):
        assert figures["NE screen"] == pytest.approx(end.ne_screen, abs=1e-6)
        assert figures["A/D %"] == pytest.approx(100 * (shown.accepted_per_draft or 0.0))
        assert figures["NE sums"] == pytest.approx(shown.ne_raw)


@pytest.mark.parametrize("mask", ["k=1", *long(("k=6",), ("none",))])
def test_a_comparison_has_the_mask_of_the_run(mask: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It decides where the early stop is, so a table under another mask has no captions of what stopped."""
    options = ["--mask-k", mask[2:]] if mask[:2] == "k=" else ["--mask", mask]
    source = write_session(tmp_path / "stream.jsonl", *stream("long", 4))
    once = ["replay", str(source), "--threads", "1", "--speed", "max", *options]
    assert run([*once, "--no-session", "--jsonl", "-"]) == 0
    end = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert run([*once, "--compare", "window,rt", "--format", "json"]) == 0
    table = capfd.readouterr().out
    assert end["ne_screen"] == pytest.approx(row_of(table, "window")["NE screen"], abs=1e-6)
    assert end["ne_screen"] < row_of(table, "rt")["NE screen"]


@pytest.mark.parametrize("name", ["dialogue", *long(*((stem,) for stem in STREAMS[:-2] if stem != "dialogue"))])
def test_the_default_takes_back_at_most_half_of_the_words_that_retranslation_takes_back(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Words as somebody sees them, with the marks that belong to them, whatever our own measure calls a change."""
    taken_back = []
    for method in ([], ["--method", "rt"]):
        once = ["replay", str(RECORDINGS / f"{name}.jsonl"), "--from", "en", "--to", "de", "--speed", "max"]
        assert run([*once, "--no-session", "--jsonl", "-", *method]) == 0
        screen: list[str] = []
        lines: dict[int, list[str]] = {}
        count = 0
        for event in map(json.loads, capfd.readouterr().out.splitlines()):
            if event["event"] == "caption":
                lines[event["segment_id"]] = event["text"].split()
                now = [word for segment in sorted(lines) for word in lines[segment]]
                count += erased(screen, now)
                screen = now
        taken_back.append(count)
    assert 2 * taken_back[0] <= taken_back[1]


COLUMNS, LINES = 104, 110
PACE = 0.02
"""Seconds from one update to the next, if the screen has drawn the one before."""

WAITING = """
import os
from livetrans import cli
from livetrans.session.recorded import RecordedTranscripts

def when_drawn(transcripts, plain=RecordedTranscripts.__iter__, turns=os.open(os.environ["TURNS"], os.O_RDONLY)):
    for transcript in plain(transcripts):
        os.read(turns, 1)
        yield transcript

RecordedTranscripts.__iter__ = when_drawn
cli.main()
"""
"""A livetrans that takes a turn for each update of a recorded stream, so that the next one waits for the screen."""


class Drawn:
    """What stands on a terminal, and each form of the captions of each track that stood there, oldest first."""

    def __init__(self, *tracks: str) -> None:
        """`tracks`: as they stand before captions, in a run of two."""
        self._screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.ByteStream(self._screen)
        self._taken = 0
        self.captions: dict[str, list[list[str]]] = {track: [[]] for track in tracks or ("",)}

    def take(self, output: bytes) -> None:
        """Take what was drawn since, in whole frames: each ends with the end of a synchronised update."""
        *frames, rest = output[self._taken :].split(b"\x1b[?2026l")
        self._taken = len(output) - len(rest)
        for frame in frames:
            self._stream.feed(frame)
            if "loading" in self._screen.display[0]:
                continue
            rows = [row.split("│")[0].strip(" ▌") for row in self._screen.display[1:-2]]
            for track, texts in self._texts(rows).items():
                if texts != self.captions[track][-1]:
                    self.captions[track].append(texts)

    def _texts(self, rows: Sequence[str]) -> dict[str, list[str]]:
        """The rows of each track: one that has a name, and those below it up to one without letters."""
        texts: dict[str, list[str]] = {track: [] for track in self.captions}
        current = ""
        for row in rows:
            named = next((track for track in texts if track and row.removeprefix("> ").startswith(f"{track}: ")), "")
            current = named or (current if any(map(str.isalnum, row)) else "")
            text = row.removeprefix("> ").removeprefix(f"{named}: " if named else "")
            if current in texts and any(map(str.isalnum, text)) and text != "listening …":
                texts[current].append(text)
        return texts

    def figure(self, label: str) -> str:
        """The value beside a label of the panel; empty while that is not drawn."""
        rows = [row.partition("│")[2].strip() for row in self._screen.display]
        return next((row.removeprefix(label).strip() for row in rows if row.startswith(f"{label} ")), "")


@pytest.mark.parametrize(
    ("kind", "segments", "options"),
    [
        ("overlapping", 2, RESTLESS),
        *long(*((kind, ALL, RESTLESS) for kind in STREAMS[:-1]), ("overlapping", ALL, ()), ("two tracks", 2, RESTLESS)),
    ],
)
def test_the_panel_says_what_is_seen_on_its_terminal(
    kind: str, segments: int, options: Sequence[str], tmp_path: Path
) -> None:
    """What is known of the captions is what the rows say, of two tracks in each pane; lags are of the recorded events.

    The figures are those of what the computer plays.
    """
    tracks = ("them", "me") if kind == "two tracks" else ("",)
    paced = [
        replace(one, captured_at=PACE * number) if isinstance(one, Transcript) else one
        for number, one in enumerate(stream(kind, segments))
    ]
    source, session = write_session(tmp_path / "stream.jsonl", *paced, step=PACE), tmp_path / "session"
    os.mkfifo(tmp_path / "turns")
    turns = os.open(tmp_path / "turns", os.O_RDWR)
    arguments: list[str | Path] = [source, "--session", session, "--hide-source", *options]
    variables = {"COLUMNS": str(COLUMNS), "LINES": str(LINES), "TURNS": str(tmp_path / "turns")}
    terminal, drawn = Terminal(*arguments, script=WAITING, **variables), Drawn(*tracks)
    terminal.type(b"\x1b[?2026;2$y")  # The answer of a terminal that has synchronised updates.

    def has_drawn() -> bool:
        terminal.read()
        drawn.take(terminal.screen)
        return b"end of file" in terminal.screen

    for count in range(1, sum(isinstance(one, Transcript) for one in paced) + 1):
        os.write(turns, b".")

        def is_drawn(count: int = count) -> bool:
            has_drawn()
            records = list(read_records(session)) if (session / "events.jsonl").exists() else []
            return sum(isinstance(record.event, Caption) for record in records) == count and all(
                joined(drawn.captions[one][-1]) == joined([[], *seen(records, one or "them")][-1]) for one in tracks
            )

        wait_until(is_drawn)
    wait_until(has_drawn)
    os.close(turns)
    records = list(read_records(session))
    end, shown = records[-1].event, watched(records)
    assert isinstance(end, RunEnded)
    wanted = {metric.label: metric.write(shown) for metric in panel.PEOPLE.metrics}
    wait_until(lambda: has_drawn() and {label: drawn.figure(label) for label in wanted} == wanted)
    assert shown.lag_median == pytest.approx(median_low(lags_of(captions(records))), abs=1e-5)
    terminal.type(b"q")
    assert terminal.wait() == 0
    terminal.close()
    assert drawn.captions[tracks[0]][-1] and bool(end.ne_screen) >= bool(options)
    assert all(words(seen(records, one or "them")) == words(drawn.captions[one]) for one in tracks)
    assert erasure_of(drawn.captions[tracks[0]]) == pytest.approx(end.ne_screen, abs=1e-6)
    assert all(erasure_of(drawn.captions[one]) == erasure_of(seen(records, one or "them")) for one in tracks)
