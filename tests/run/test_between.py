"""A conversation in two languages: each turn is translated into the other one, and shown as heard in its own."""

from __future__ import annotations

import io
from dataclasses import replace

from livetrans.config import BetweenSettings, Settings
from livetrans.events import Caption, Event, Record, RunStarted, Transcript, Translation
from livetrans.metrics.monitor import Monitor
from livetrans.run.listening import with_speaker
from livetrans.run.translating import Translating
from livetrans.session.export import LastCaptions, export
from livetrans.session.sinks import PlainOutput
from livetrans.tui.board import Boards
from tests.lm.scripted import ScriptedModel

from .scripted_run import into_languages, scripted_lanes, updates

PAIR = ("en", "de")
BETWEEN = BetweenSettings(PAIR, ("Ana", "Ben"))
SPEAKERS, SETTINGS = BETWEEN.speakers, Settings(sources=PAIR, targets=PAIR, between=BETWEEN)
TURNS = [("en", "good morning"), ("de", "guten tag"), ("fr", "bonjour")]


def conversation() -> list[Transcript]:
    """Turns whose language is known from the second word on."""
    heard = updates([text for _, text in TURNS])
    languages = {number: language for number, (language, _) in enumerate(TURNS)}
    known = [replace(one, language=languages[one.segment_id] if one.revision else None) for one in heard]
    return [with_speaker(one, SPEAKERS) for one in known]


def events_of(settings: Settings = SETTINGS) -> list[Event]:
    """The events of the conversation in a run with a scripted translator."""
    found: list[Event] = [RunStarted({}, settings)]
    model = ScriptedModel(into_languages)
    translating = Translating(scripted_lanes(model, ["de", "en"]), {}, model.close)
    for transcript in conversation():
        found.append(transcript)
        translating.translate(transcript, settings, found.append, has_time=lambda: False)
    return found


def captions_of(language: str) -> dict[int, Caption]:
    return {one.segment_id: one for one in events_of() if isinstance(one, Caption) and one.language == language}


def test_a_reader_of_a_language_reads_everything_in_it_and_own_turns_as_heard() -> None:
    for mine, other in (PAIR, PAIR[::-1]):
        read = captions_of(mine)
        for segment, (spoken, text) in enumerate(TURNS):
            is_translated = spoken == other
            expected = " ".join(f"{word.upper()}~{mine.upper()}" for word in text.split()) if is_translated else text
            assert read[segment].text.upper() == expected.upper()
            assert read[segment].untranslated is not is_translated
        assert [caption.track for caption in read.values()] == ["Ana", "Ben", "French"]


def test_nothing_is_shown_before_the_language_is_known() -> None:
    undecided = [one for one in events_of() if isinstance(one, Translation | Caption) and one.revision == 0]
    assert undecided == []


def test_lines_and_exports_have_each_turn_once_and_each_language_whole() -> None:
    stream, kept, monitor = io.StringIO(), LastCaptions(), Monitor(memory=lambda: None)
    plain = PlainOutput(stream, SETTINGS)
    for event in events_of():
        for sink in (plain, kept, monitor):
            sink.write(Record(0.0, event))
    lines = stream.getvalue().splitlines()
    assert [line.split(":")[0] for line in lines] == ["Ana", "Ben", "> French"]
    assert [line.casefold().count("~") for line in lines] == [2, 2, 0]
    for language in PAIR:
        text = "".join(export(kept, "txt", language=language)).splitlines()
        assert len(text) == 3 and [line.count("~") for line in text].count(2) == 1
    assert '"language": "de"' in "".join(export(kept, "jsonl", language="de"))
    assert monitor.snapshot().segments == 3 and monitor.snapshot("de") == monitor.snapshot("en")


def test_each_speaker_has_a_pane_and_undecided_words_stand_in_both() -> None:
    boards = Boards(SETTINGS)
    shown: dict[tuple[int, int], list[list[str]]] = {}
    for event in events_of():
        if isinstance(event, Caption | Transcript):
            boards.feed(event)
            panes = [[caption.track or "" for caption in board.captions] for board in boards.shown]
            shown[event.segment_id, event.transcript.revision if isinstance(event, Caption) else event.revision] = panes
            if isinstance(event, Transcript) and event.language is None:
                assert all("".join(board.source()[:2]).endswith(event.text) for board in boards.shown)
    # A turn that has ended goes to the history with the first words of the next one, whoever speaks.
    assert shown[0, 2] == [[], ["Ana"]] and shown[1, 2] == [["Ben"], []] and shown[2, 1] == [["French"], []]
    assert [caption.track for caption in boards.history] == ["Ana", "Ben"]
