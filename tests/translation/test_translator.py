"""The translating stage: whose draft is used, what caps an output, and which bias a final gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from livetrans.base.errors import ContextError
from livetrans.config import FINALS, DecodingSettings, MaskSettings, Settings, Term
from livetrans.events import Caption, Event, Notice, Transcript, Translation
from livetrans.lm.prompts import Prompt
from livetrans.run.translating import Translating
from livetrans.translation.translator import Translator
from tests.lm.scripted import BEGIN, END, SOURCE, TARGET, ScriptedModel, word_by_word_rule
from tests.run.scripted_run import PROMPT, scripted_lane

if TYPE_CHECKING:
    from numpy.typing import NDArray


class _Run:
    """A translator over a scripted model, whose settings may change between updates."""

    def __init__(
        self, *, mask: MaskSettings | None = None, context: int = 1024, certainty: float = 6.0, **decoding: object
    ) -> None:
        self.model = ScriptedModel(word_by_word_rule(certainty=certainty), context_tokens=context)
        self.translator = Translator(self.model)
        self.prompt = PROMPT
        self.decoding = DecodingSettings(**decoding)  # type: ignore[arg-type]
        self.mask = mask or MaskSettings()

    def feed(self, *updates: Transcript) -> list[Translation]:
        return [self.translator.translate(update, self.prompt, self.decoding, self.mask) for update in updates]


def _update(text: str, segment: int = 0, revision: int = 0, final: bool = False) -> Transcript:
    return Transcript(segment, revision, text if final else "", "" if final else text, final, 0.0, 1.0)


def test_the_draft_is_the_previous_output_also_where_the_source_was_rewritten() -> None:
    first, rewritten = _Run().feed(_update("one two three"), _update("one two tree house", revision=1))
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
    together = _Run().feed(*updates)
    apart = [_Run().feed(*(one for one in updates if one.segment_id == segment)) for segment in (0, 1)]
    assert [one.text for one in together] == [one.text for pair in zip(*apart, strict=True) for one in pair]
    assert [one.stats.draft_tokens for one in together] == [0, 0, 3, 2]


@pytest.mark.parametrize("final", ["careful", "fresh"])
def test_a_sentence_that_has_ended_is_shown_whole_and_its_final_changes_nothing(final: str) -> None:
    grown = _update("one two three four")
    ended = replace(_update("one two three four five.", revision=1), ended=True)
    whole = _update("one two three four five.", revision=2, final=True)
    run = _Run(final=final, **({} if final == "fresh" else {"method": "window"}))
    captions = _captions(run, grown, ended, _update("six", segment=1), whole, k=2)
    assert len(captions[0].text.split()) == 2
    assert captions[1].text == captions[3].text == "ONE TWO THREE FOUR FIVE."


def test_words_that_an_update_showed_by_ending_its_sentence_are_no_longer_hidden() -> None:
    """Also if its text did not change: a final then takes none of them back, as the margin says."""
    for texts in (("one two three", "one two three four"), ("one two three four", "one two three four")):
        run = _Run(method="window", margin=100.0, bias=0.0, mask=MaskSettings("display", 3))
        growing, ending = (_update(text, revision=revision) for revision, text in enumerate(texts))
        run.feed(growing)
        [shown] = run.feed(replace(ending, ended=True))
        [final] = run.feed(_update("one two three four.", revision=2, final=True))
        assert final.tokens[: len(shown.tokens)] == shown.tokens


@pytest.mark.parametrize("text", ["", "- .", "word " * 1100])
@pytest.mark.parametrize("language", [None, "de"])
def test_a_finished_segment_leaves_nothing_behind(text: str, language: str | None) -> None:
    """Also one whose final has no words, does not fit, or is in the language of the captions."""
    lane = scripted_lane(_Run().model, PROMPT, "de")
    assert lane.stages

    def sizes() -> list[int]:
        held = [value for stage in lane.stages or () for value in vars(stage).values()]
        return [len(one) for one in held if isinstance(one, dict | set | list)]

    before = sizes()
    for segment in range(10):
        lane.translate(_update("one two", segment), Settings(), lambda event: None)
        last = replace(_update(text, segment, 1, final=True), language=language)
        lane.translate(last, Settings(), lambda event: None)
    assert sizes() == before


def test_a_draft_stays_in_a_prompt_whose_earlier_sentences_changed() -> None:
    """The sentence before becomes final while the next one grows: no reason to verify the whole draft."""
    words = [f"w{number}" for number in range(24)]
    run = _Run(method="window", window=3, bias=0.0, margin=0.0)
    [before] = run.feed(_update(" ".join(words[:20])))
    run.prompt = Prompt("plain", (BEGIN, *run.model.tokenize("another sentence before"), SOURCE), (TARGET,), False)
    [after] = run.feed(_update(" ".join(words), revision=1))
    assert after.tokens[:17] == before.tokens[:17]
    assert after.stats.frozen_tokens == 17


def test_an_output_mask_takes_tokens_from_the_draft_and_comes_back() -> None:
    run = _Run(mask=MaskSettings("output", 0))
    updates = [_update("one two three four five", revision=revision) for revision in range(4)]
    run.feed(updates[0])
    assert run.feed(updates[1])[0].stats.draft_tokens == 5
    run.mask = MaskSettings("output", 2)
    run.feed(updates[2])
    assert run.feed(updates[3])[0].stats.draft_tokens == 3


def test_a_display_mask_leaves_the_draft_whole() -> None:
    run = _Run(mask=MaskSettings("display", 2))
    _, second = run.feed(_update("one two three"), _update("one two three four", revision=1))
    assert second.stats.draft_tokens == 3


@pytest.mark.parametrize(("final", "kept"), [("fresh", False), ("partial", True)])
def test_a_fresh_final_is_what_retranslation_writes(final: str, kept: bool) -> None:
    """A wrong guess that the bias holds on to survives into the final only where finals are decoded like partials."""
    run = _Run(bias=0.5, final=final)
    _, final = run.feed(_update("one two"), _update("one two three.", revision=1, final=True))
    assert final.text == ("ONE (TWO) THREE." if kept else "ONE TWO THREE.")


@pytest.mark.parametrize("final", FINALS)
def test_every_pass_of_an_update_is_in_its_counts(final: str) -> None:
    """The scripted model takes time in passes only, so nothing is left for what is done beside them."""
    run = _Run(final=final)
    run.model = ScriptedModel(word_by_word_rule(), seconds_per_pass=0.02, seconds_per_token=0.002)
    run.translator = Translator(run.model)
    texts = [" ".join("abcdefghijklmnop"[:count]) for count in range(2, 15)]
    for revision, text in enumerate(texts):
        started = run.model.clock.now()
        [translation] = run.feed(_update(text, revision=revision, final=text is texts[-1]))
        assert translation.stats.other_seconds == pytest.approx(0.0)
        assert translation.stats.total_seconds == pytest.approx(run.model.clock.now() - started)


def test_the_output_takes_no_more_than_the_context_has_left() -> None:
    [translation] = _Run(context=16).feed(_update("a b c d e f g h."))
    assert len(translation.tokens) == 16 - 11
    assert translation.stats.truncated


def test_a_final_that_was_decoded_again_for_a_term_has_the_counts_of_its_text() -> None:
    """And the cost of both; expected lengths are learnt of the first."""

    def rule(model: ScriptedModel, context: Sequence[int]) -> NDArray[np.float32]:
        wish = [model.token(word) for word in "only a WUNSCH".split()]
        at = len(context) - 1 - list(context).index(TARGET)
        row = np.zeros(model.vocabulary_size, dtype=np.float32)
        row[[*wish, END][min(at, 3)]] = 9.0
        return row if model.token("TERM") in context else word_by_word_rule()(model, context)

    model = ScriptedModel(rule)
    lane = scripted_lane(model, PROMPT)
    assert lane.stages
    prompts = lane.stages[1]
    prompts.expect((Term("wish", "WUNSCH"),))
    prompts.beside = lambda terms: Prompt("chat", (BEGIN, model.token("TERM"), SOURCE), (TARGET,), False)  # type: ignore[method-assign]
    events: list[Event] = []
    text = "the only wish that I have is a quiet evening"
    for update in (_update(text), _update(text, revision=1, final=True)):
        lane.translate(update, Settings(), events.append)
    *_, final = (event for event in events if isinstance(event, Translation))
    assert final.text == "only a WUNSCH" and final.kept_terms == 1
    assert final.stats.output_tokens == len(final.tokens) == 3
    assert final.stats.accepted_tokens == sum(span.end - span.begin for span in final.accepted) == 0
    assert final.stats.forward_passes > 3


def test_a_final_that_does_not_fit_is_shown_in_its_source() -> None:
    run, text = _Run(context=16), " ".join(["word"] * 30)
    with pytest.raises(ContextError, match="--context"):
        run.feed(_update(text))
    translating = Translating([scripted_lane(run.model, PROMPT)], {}, run.model.close)
    events: list[Event] = []
    for update in (_update(text), _update(text, revision=1, final=True), _update("short one.", segment=1, final=True)):
        translating.translate(update, Settings(), events.append)
    shown = [event for event in events if isinstance(event, Caption)]
    assert [caption.segment_id for caption in shown] == [0, 1]
    assert shown[0].text == text
    assert [event.level for event in events if isinstance(event, Notice)] == ["warning"]


@pytest.mark.parametrize("text", ["", ".", "…", "- -"])
def test_a_source_without_words_is_not_translated(text: str) -> None:
    run = _Run()
    run.feed(_update("one two"))
    [nothing] = run.feed(_update(text, revision=1))
    assert (nothing.text, nothing.tokens, nothing.stats.forward_passes) == ("", (), 0)
    assert run.feed(_update("one two three", revision=2))[0].stats.draft_tokens == 2


def _captions(run: _Run, *updates: Transcript, k: int = 1) -> list[Caption]:
    """The captions of a run over the updates."""
    events: list[Event] = []
    lane = scripted_lane(run.model, PROMPT)
    settings = Settings(decoding=run.decoding, mask=MaskSettings(k=k))
    for update in updates:
        lane.translate(update, settings, events.append)
    return [event for event in events if isinstance(event, Caption)]


def test_settings_hold_from_the_next_update_on() -> None:
    run = _Run(method="ssbd", bias=0.5, final="partial")
    run.feed(_update("one two"))
    run.decoding = DecodingSettings(method="rt")
    [other] = run.feed(_update("one two three", revision=1))
    assert (other.method, other.stats.draft_tokens) == ("rt", 0)
