"""Who speaks the captions' language is not translated, but shown as heard."""

from __future__ import annotations

import io

import pytest

from livetrans.config import Settings
from livetrans.events import Caption, Event, Record, Transcript, Translation
from livetrans.languages import are_same
from livetrans.session.sinks import PlainOutput
from livetrans.session.subtitles import texts_of
from livetrans.tui.captions import caption_content
from tests.lm.scripted import ScriptedModel, word_by_word_rule

from .scripted_run import scripted_translating


def translated(settings: Settings, *languages: str | None) -> list[Event]:
    """What is published of a final in each language, `language` being what was detected."""
    translating = scripted_translating(ScriptedModel(word_by_word_rule()), "de")
    events: list[Event] = []
    for number, language in enumerate(languages):
        final = Transcript(number, 0, "one two.", "", True, 0.0, 1.0, language=language)
        translating.translate(final, settings, events.append)
    return events


def test_a_detected_language_of_the_captions_is_shown_as_heard_and_others_are_translated() -> None:
    events = translated(Settings(sources=("auto",)), "en", "de", "fr")
    assert [event.segment_id for event in events if isinstance(event, Translation)] == [0, 2]
    captions = [event for event in events if isinstance(event, Caption)]
    assert [(caption.text, caption.untranslated) for caption in captions] == [
        ("ONE TWO.", False), ("one two.", True), ("ONE TWO.", False),
    ]  # fmt: skip


@pytest.mark.parametrize(("source", "is_heard"), [("de", True), ("en", False), ("auto", False)])
def test_without_detection_the_language_of_the_run_decides(source: str, is_heard: bool) -> None:
    [*_, caption] = translated(Settings(sources=(source,)), None)
    assert isinstance(caption, Caption) and caption.untranslated == is_heard


def test_what_was_heard_is_marked_once_wherever_it_is_shown() -> None:
    [caption] = translated(Settings(sources=("auto",)), "de")
    assert isinstance(caption, Caption)
    lines = io.StringIO()
    output = PlainOutput(lines, show_source=True)
    output.write(Record(0.0, caption))
    assert lines.getvalue() == "> one two.\n"
    assert caption_content(caption, "").plain == "> one two."
    assert texts_of(caption, "both") == ("one two.",)


def test_regions_are_the_same_language_and_scripts_are_not() -> None:
    assert are_same("pt", "pt-BR") and are_same("pt-PT", "pt-BR") and are_same("de", "de")
    assert not are_same("zh", "zh-Hant") and not are_same("auto", "de")
