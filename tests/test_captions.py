"""The one fold from events to captions, and that all its readers show the same; no other module folds them."""

from __future__ import annotations

import ast
import io
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import livetrans
from livetrans.captions import Captions, corrected_transcript
from livetrans.config import Settings
from livetrans.events import Caption, Event, Gap, NameCorrected, Record, Repair, RunStarted, Transcript
from livetrans.metrics.monitor import Monitor
from livetrans.serve.lines import SharedLines, StreamQuery
from livetrans.session.export import LastCaptions
from livetrans.session.sinks import CaptionFile, PlainOutput
from livetrans.tui.board import Boards
from tests.serve.test_lines import texts

NAME = NameCorrected("jon", "John", "Joan")
SETTINGS = Settings()


def caption(segment: int, source: str, text: str, *, final: bool = True, repairs: tuple[Repair, ...] = ()) -> Caption:
    committed, partial = (source, "") if final else ("", source)
    transcript = Transcript(segment, 0, committed, partial, final, segment, segment + 1.0, repairs=repairs)
    return Caption(transcript, text, language=SETTINGS.target_language)


WORDS = st.lists(st.sampled_from(["John", "jon", "mai", "came", "Haus"]), min_size=1, max_size=3).map(" ".join)
CAPTIONS = st.builds(caption, st.integers(0, 4), WORDS, WORDS, final=st.booleans())
NAMES = st.builds(lambda name: NameCorrected(name, name, "Joan"), st.sampled_from(["John", "jon", "mai"]))
EVENTS = st.lists(st.one_of(CAPTIONS, NAMES, st.just(Gap(1.0, 2.0, "sleep"))), max_size=20)


@given(EVENTS)
def test_screen_page_exports_and_file_show_the_newest_form_of_each_caption(events: list[Event]) -> None:
    newest, boards, lines, last = Captions(), Boards(SETTINGS), SharedLines(), LastCaptions(SETTINGS)
    for event in (RunStarted({}, SETTINGS), *events):
        newest.feed(event)
        lines.write(Record(0.0, event))
        last.write(Record(0.0, event))
        if isinstance(event, NameCorrected):
            boards.correct(event)
        elif isinstance(event, Caption | Gap):
            boards.feed(event)
    wanted = sorted(one.text for one in newest)
    assert sorted(one.text for one in (*boards.history, *boards.captions)) == wanted
    assert sorted(item.caption.text for item in last.spoken()) == wanted
    marks = [one.text for one in newest if one.segment_id < 0]
    assert sorted([*map(str, texts(lines, StreamQuery(last=99))), *marks]) == wanted


@given(EVENTS)
def test_a_final_stands_but_for_a_correction_and_memory_is_bounded(events: list[Event]) -> None:
    newest, few = Captions(), Captions(kept=2)
    finals: dict[int, Caption] = {}
    for event in events:
        changed = newest.feed(event)
        few.feed(event)
        assert len({one.segment_id for one in few}) <= 2
        if isinstance(event, Caption) and event.segment_id in finals:
            assert changed == []
        finals |= {one.segment_id: one for one in changed if one.final}
    assert finals == {one.segment_id: one for one in newest if one.final}


def test_the_file_for_other_programs_and_a_line_without_a_final_have_the_corrected_name(tmp_path: Path) -> None:
    file, stream = CaptionFile(tmp_path / "now.txt"), io.StringIO()
    plain = PlainOutput(stream, SETTINGS, notices=io.StringIO())
    for event in (caption(0, "we met jon today", "Wir trafen jon", final=False), NameCorrected("jon", "jon", "Joan")):
        file.write(Record(0.0, event))
        plain.write(Record(0.0, event))
    plain.close()
    assert (tmp_path / "now.txt").read_text(encoding="utf-8") == stream.getvalue() == "Wir trafen Joan\n"


def test_the_panel_counts_no_correction_that_the_screen_does_not_make() -> None:
    """The translation has a word like the name, its source has not: the caption stays as it is, everywhere."""
    monitor = Monitor(memory=lambda: None)
    said = "the month of spring is here today"
    events = (
        caption(0, said, "Der mai ist da", final=False),
        NameCorrected("mai", "mai", "May"),
        caption(0, f"{said} now", "Der mai ist da jetzt", final=False),
    )
    for event in events:
        monitor.write(Record(0.0, event))
    assert (monitor.snapshot().corrections, monitor.snapshot().ne_screen) == (0, 0.0)


def test_only_what_was_heard_as_the_corrected_name_is_changed_where_it_was_repaired() -> None:
    repaired = Transcript(0, 0, "we met John", "", True, 0.0, 1.0, repairs=(Repair(7, 11, "jon"),))
    said = Transcript(1, 0, "John Wayne came", "", True, 1.0, 2.0)
    right = corrected_transcript(repaired, NAME)
    assert right == replace(repaired, committed="we met Joan", repairs=(Repair(7, 11, "jon"),))
    assert corrected_transcript(said, NAME) is None


PACKAGE = Path(livetrans.__file__).parent
FOLDS = {
    "captions": "the fold",
    "metrics.monitor": "counts what came, which the fold gives it; nothing that it keeps is shown",
    "run.backpressure": "updates that wait for the translator, not captions",
    "run.pipeline": "passes captions on",
    "run.resuming": "passes on those that the session lacks",
    "serve.lines": "reads the fold",
    "serve.sending": "sends finals on, each once",
    "session.recorded": "transcripts again, and which finals were shown",
    "session.sinks": "reads the fold",
    "session.store": "counts segments for a list of sessions",
    "tui.app": "passes captions on",
    "tui.board": "reads the fold; a message that waits is replaced by a newer one of its segment",
    "run.summary": "tells whether anything came",
}
"""The modules that look whether an event is a caption or a transcript, with what they do. What keeps captions by their
segment reads `Captions`: seven folds of this kind had come to differ before there was one."""
CORRECT = {
    "captions", "metrics.monitor", "names.repair", "run.pipeline", "run.runner", "serve.lines", "serve.sending",
    "session.recorded", "session.sinks", "tui.app", "tui.board", "tui.keys", "tui.names",
}  # fmt: skip
"""The modules that look at a correction. Only the first writes the name into a caption: nine places
and three rules had come to differ before."""


def names_in(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def classes_asked_for(tree: ast.AST) -> set[str]:
    """Return the names of all classes in patterns and in `isinstance`."""
    asked: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.MatchClass):
            asked |= names_in(node.cls)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            asked |= names_in(node.args[1])
    return asked


def test_events_become_captions_and_names_are_corrected_where_it_is_known() -> None:
    folds, correct = set(), set()
    for path in PACKAGE.rglob("*.py"):
        module, tree = ".".join(path.relative_to(PACKAGE).with_suffix("").parts), ast.parse(path.read_text("utf-8"))
        if classes_asked_for(tree) & {"Caption", "Transcript"}:
            folds.add(module)
        if "NameCorrected" in names_in(tree):
            correct.add(module)
    assert folds == set(FOLDS), "a module that reads captions reads them from livetrans.captions"
    assert correct - {"events"} == CORRECT, "a corrected name is written by livetrans.captions"
