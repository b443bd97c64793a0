"""The translating stage: whose draft is used, what caps an output, and which bias a final gets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from livetrans.config import DecodingSettings, MaskSettings, Settings
from livetrans.errors import ContextError
from livetrans.events import Caption, Event, Notice, Transcript, Translation
from livetrans.lm.prompts import Prompt, text_of_tokens
from livetrans.run.translating import Lane, Translating
from livetrans.translation.presenter import Presenter
from livetrans.translation.translator import Translator
from tests.lm.scripted import BEGIN, SOURCE, TARGET, ScriptedModel, word_by_word_rule

PROMPT = Prompt("plain", (BEGIN, SOURCE), (TARGET,), False)


def _translator(
    *, mask: MaskSettings | None = None, context: int = 1024, certainty: float = 6.0, **decoding: object
) -> Translator:
    model = ScriptedModel(word_by_word_rule(certainty=certainty), context_tokens=context)
    return Translator(model, PROMPT, DecodingSettings(**decoding), mask or MaskSettings())  # type: ignore[arg-type]


def _update(text: str, segment: int = 0, revision: int = 0, final: bool = False) -> Transcript:
    return Transcript(segment, revision, text if final else "", "" if final else text, final, 0.0, 1.0)


def _feed(translator: Translator, *updates: Transcript) -> list[Translation]:
    return [translator.translate(update) for update in updates]


def test_the_draft_is_the_previous_output_also_where_the_source_was_rewritten() -> None:
    first, rewritten = _feed(_translator(), _update("one two three"), _update("one two tree house", revision=1))
    assert first.stats.draft_tokens == 0
    assert rewritten.stats.draft_tokens == len(first.tokens) == 3
    assert rewritten.stats.accepted_tokens == 2


def test_two_segments_grow_in_turn_each_from_its_own_draft() -> None:
    updates = (
        _update("one two three."),
        _update("four five", segment=1),
        _update("one too three.", revision=1, final=True),
        _update("four five six", segment=1, revision=1),
    )
    together = _feed(_translator(), *updates)
    apart = [_feed(_translator(), *(one for one in updates if one.segment_id == segment)) for segment in (0, 1)]
    assert [one.text for one in together] == [one.text for pair in zip(*apart, strict=True) for one in pair]
    assert [one.stats.draft_tokens for one in together] == [0, 0, 3, 2]


@pytest.mark.parametrize("final", ["careful", "fresh"])
def test_a_sentence_that_has_ended_is_shown_whole_and_its_final_changes_nothing(final: str) -> None:
    grown = _update("one two three four")
    ended = replace(_update("one two three four five.", revision=1), ended=True)
    whole = _update("one two three four five.", revision=2, final=True)
    translator = _translator(final=final, **({} if final == "fresh" else {"method": "window"}))
    captions = _run(translator, grown, ended, _update("six", segment=1), whole, k=2)
    assert len(captions[0].text.split()) == 2
    assert captions[1].text == captions[3].text == "ONE TWO THREE FOUR FIVE."


def test_the_draft_ends_with_its_segment() -> None:
    _, other = _feed(_translator(), _update("one two three."), _update("one two three.", segment=1))
    assert other.stats.draft_tokens == 0
    assert other.text == "ONE TWO THREE."


def test_an_output_mask_takes_tokens_from_the_draft_and_comes_back() -> None:
    translator = _translator(mask=MaskSettings("output", 0))
    updates = [_update("one two three four five", revision=revision) for revision in range(4)]
    _feed(translator, updates[0])
    assert _feed(translator, updates[1])[0].stats.draft_tokens == 5
    translator.mask = MaskSettings("output", 2)
    _feed(translator, updates[2])
    assert _feed(translator, updates[3])[0].stats.draft_tokens == 3


def test_a_display_mask_leaves_the_draft_whole() -> None:
    translator = _translator(mask=MaskSettings("display", 2))
    _, second = _feed(translator, _update("one two three"), _update("one two three four", revision=1))
    assert second.stats.draft_tokens == 3


@pytest.mark.parametrize(("final", "kept"), [("fresh", False), ("partial", True)])
def test_a_fresh_final_is_what_retranslation_writes(final: str, kept: bool) -> None:
    """A wrong guess that the bias holds on to survives into the final only where finals are decoded like partials."""
    translator = _translator(bias=0.5, final=final)
    _, final = _feed(translator, _update("one two"), _update("one two three.", revision=1, final=True))
    assert final.text == ("ONE (TWO) THREE." if kept else "ONE TWO THREE.")


def test_the_output_takes_no_more_than_the_context_has_left() -> None:
    [translation] = _feed(_translator(context=16), _update("a b c d e f g h."))
    assert len(translation.tokens) == 16 - 11
    assert translation.stats.truncated


def test_a_final_that_does_not_fit_is_shown_in_its_source() -> None:
    translator = _translator(context=16)
    model = ScriptedModel(word_by_word_rule())
    presenter = Presenter(text_of_tokens(model), MaskSettings())
    events: list[Event] = []
    text = " ".join(["word"] * 30)
    with pytest.raises(ContextError, match="--context"):
        translator.translate(_update(text))
    translating = Translating([Lane(translator, presenter)], {}, model.close)
    for update in (_update(text), _update(text, revision=1, final=True), _update("short one.", segment=1, final=True)):
        translating.translate(update, Settings(), events.append)
    shown = [event for event in events if isinstance(event, Caption)]
    assert [caption.segment_id for caption in shown] == [0, 1]
    assert shown[0].text == text
    assert [event.level for event in events if isinstance(event, Notice)] == ["warning"]


@pytest.mark.parametrize("text", ["", ".", "…", "- -"])
def test_a_source_without_words_is_not_translated(text: str) -> None:
    translator = _translator()
    _feed(translator, _update("one two"))
    [nothing] = _feed(translator, _update(text, revision=1))
    assert (nothing.text, nothing.tokens, nothing.stats.forward_passes) == ("", (), 0)
    assert _feed(translator, _update("one two three", revision=2))[0].stats.draft_tokens == 2


def _run(translator: Translator, *updates: Transcript, k: int = 1) -> list[Caption]:
    """The captions of a run over the updates."""
    events: list[Event] = []
    presenter = Presenter(text_of_tokens(translator._model), MaskSettings(k=k))
    settings = Settings(decoding=translator.settings, mask=MaskSettings(k=k))
    for update in updates:
        Lane(translator, presenter).translate(update, settings, events.append)
    return [event for event in events if isinstance(event, Caption)]


def test_settings_hold_from_the_next_update_on() -> None:
    translator = _translator(method="ssbd", bias=0.5, final="partial")
    _feed(translator, _update("one two"))
    translator.settings = DecodingSettings(method="rt")
    [other] = _feed(translator, _update("one two three", revision=1))
    assert (other.method, other.stats.draft_tokens) == ("rt", 0)
