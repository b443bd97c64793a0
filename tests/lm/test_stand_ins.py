"""Names as tokens of a vocabulary: what decoders write with them, and that nothing changes without them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from livetrans.base.languages import parse_language
from livetrans.config import (
    BetweenSettings,
    DecodingSettings,
    LanguageModelSettings,
    MaskSettings,
    PromptSettings,
    SamplingSettings,
    Settings,
    Term,
    with_field,
)
from livetrans.decoding import DECODERS, DraftModel
from livetrans.decoding.verification import Sampler
from livetrans.events import Caption, Event, Notice, Transcript, Translation
from livetrans.lm.llama.model import LlamaModel
from livetrans.lm.port import Evaluation
from livetrans.lm.prompts import Prompt, build_prompt, text_of_tokens
from livetrans.lm.stand_ins import GAIN, LOSS, NameTokens, WithNames
from livetrans.names.wanted import Glossary, Wanted
from livetrans.run.translating import languages, open_lanes, prepare_prompt
from livetrans.translation.translator import Translator
from tests.lm.scripted import BEGIN, END, SOURCE, TARGET, ScriptedModel, hashed_rule, noisy_rule, word_by_word_rule

PROMPT = Prompt("plain", (BEGIN, SOURCE), (TARGET,), False)
NAMES = ("Siobhan", "Kathmandu", "New York", "é", "Ann", "Annabel")
WORDS = "the water came up to our house before midnight Siobhan Kathmandu New York é Ann Annabel Ann's".split()
GREEDY = [name for name, row in DECODERS.items() if row.draft_model != "must" and not row.has_own_model]
_texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)
_plain_texts = st.lists(st.sampled_from(WORDS[:9]), min_size=1, max_size=9).map(" ".join)


class Breaking(ScriptedModel):
    """A vocabulary that lacks names, and writes each word of one as two tokens."""

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        words = (f"{word}~ ~" if word in " ".join(NAMES).split() else word for word in text.split())
        return super().tokenize(" ".join(words), special=special)


def scripted(rule=None, names: Sequence[str] = NAMES) -> WithNames:  # type: ignore[no-untyped-def]
    model = Breaking(rule or hashed_rule(), vocabulary_size=64)
    model.tokenize("Tom Boston London")
    named = WithNames(model, NameTokens(model, 64, [(name, name) for name in ("Tom", "Boston", "London")]))
    named.glossary = Glossary(Wanted(name, name, True) for name in names)
    return named


def bare(rule=None) -> ScriptedModel:  # type: ignore[no-untyped-def]
    named = scripted(rule)._wrapped
    assert isinstance(named, ScriptedModel)
    return named


def growing(text: str, *, finals: bool = True) -> list[Transcript]:
    words = text.split()
    updates = [Transcript(0, end, "", " ".join(words[:end]), False, 0.0, 1.0) for end in range(1, len(words))]
    return [*updates, Transcript(0, len(words), text, "", finals, 0.0, 1.0)]


def translated(translator: Translator, text: str, method: str, mask: int = 0, **settings: object) -> list[Translation]:
    decoding = DecodingSettings(method, maximum_output_tokens=24, **settings)  # type: ignore[arg-type]
    masked = MaskSettings("display", mask) if mask else MaskSettings()
    return [translator.translate(one, PROMPT, decoding, masked, 1.0) for one in growing(text)]


@given(_plain_texts, st.sampled_from(GREEDY), st.integers(0, 9))
def test_a_source_without_names_is_translated_as_without_a_glossary(text: str, method: str, seed: int) -> None:
    named = translated(Translator(scripted(hashed_rule(seed))), text, method, 3)
    assert named == translated(Translator(bare(hashed_rule(seed))), text, method, 3)


@given(_texts, st.integers(0, 9))
def test_without_a_glossary_the_models_own_rows_are_passed_on(text: str, seed: int) -> None:
    model = scripted(hashed_rule(seed), names=())
    model._wrapped.evaluate = lambda context, last_rows=1: given_rows  # type: ignore[method-assign]
    given_rows = Evaluation(0, 1, 1, np.zeros((1, 64), np.float32))
    assert model.evaluate(PROMPT.tokens(model, text)) is given_rows


@given(_texts, st.integers(0, 9))
def test_the_same_text_by_retranslation_by_drafts_and_by_a_draft_model(text: str, seed: int) -> None:
    rule = hashed_rule(seed)
    expected = [one.tokens for one in translated(Translator(scripted(rule)), text, "rt", margin=0.0)]
    assert [
        one.tokens for one in translated(Translator(scripted(rule)), text, "ssbd", bias=0.0, margin=0.0)
    ] == expected
    whole = {"window": 99, "margin": 0.0, "early_stop": False}
    assert [one.tokens for one in translated(Translator(scripted(rule)), text, "window", **whole)] == expected
    model = scripted(rule)
    small = Breaking(noisy_rule(rule, 0.3), vocabulary_size=64)
    draft = DraftModel(WithNames(small, model._names, 60), 3)
    assert [one.tokens for one in translated(Translator(model, draft), text, "spec", margin=0.0)] == expected


@given(_texts, st.lists(st.integers(4, 63), max_size=6), st.integers(0, 9))
def test_rows_of_one_pass_are_those_of_single_passes_and_the_models_own_stay(
    text: str, output: list[int], seed: int
) -> None:
    own: list[NDArray[np.float32]] = []

    def rule(model: ScriptedModel, context: Sequence[int]) -> NDArray[np.float32]:
        own.append(hashed_rule(seed)(model, context))
        return own[-1]

    model = scripted(rule)
    prompt = PROMPT.tokens(model, text)
    output = [*output, *(one for name in model._in(prompt) for one in name.written), *output]
    rows = model.evaluate([*prompt, *output], len(output) + 1).logits
    assert np.isfinite(rows).all()
    passed = [one.copy() for one in own]
    for at in range(len(output) + 1):
        assert (model.evaluate([*prompt, *output[:at]]).logits[0] == rows[at]).all()
        for name in model._in(prompt):
            is_due = sum(one in name.written for one in output[:at]) < prompt.count(name.said)
            gained = rows[at][list(name.written)] - own[-1][list(name.stand_in.written)]
            assert np.allclose(gained, GAIN if is_due else -LOSS, atol=1e-5)
    assert all((one == before).all() for one, before in zip(own, passed, strict=False))


@given(_texts, st.sampled_from(GREEDY), st.integers(0, 9), st.integers(0, 4))
def test_a_name_is_shown_whole_or_not_at_all(text: str, method: str, seed: int, mask: int) -> None:
    model = scripted(hashed_rule(seed))
    text_of = text_of_tokens(model)
    parts = {one.text[:length] for one in model.glossary.due(text) for length in range(1, len(one.text))} - {*WORDS}
    for one in translated(Translator(model), text, method, mask):
        texts = [text_of(one.tokens[:end]) for end in range(len(one.tokens) + 1)]
        for before, after in pairwise(texts):
            assert after.startswith(before)
            assert after[len(before) :].strip() not in parts


@given(st.lists(_texts, min_size=2, max_size=5), st.sampled_from(GREEDY), st.integers(0, 4))
def test_a_name_that_the_recogniser_takes_back_leaves_the_output(texts: list[str], method: str, mask: int) -> None:
    model = scripted(word_by_word_rule(str))
    translator = Translator(model)
    decoding, masked = DecodingSettings(method, bias=0.0, maximum_output_tokens=24), MaskSettings("display", mask)
    for number, text in enumerate(texts):
        final = number == len(texts) - 1
        update = Transcript(0, number, text if final else "", "" if final else text, final, 0.0, 1.0)
        written = translator.translate(update, PROMPT, decoding, masked, 1.0).tokens
        if method in ("rt", "ssbd"):
            names = {token for name in model._in(PROMPT.tokens(model, text)) for token in name.written}
            assert {token for token in written if token >= model._names.size} <= names


@given(_texts, st.integers(0, 9))
def test_a_stand_in_is_not_written_for_itself(text: str, seed: int) -> None:
    model = scripted(hashed_rule(seed))
    for update, one in zip(growing(text), translated(Translator(model), text, "rt"), strict=True):
        names = model._in(PROMPT.tokens(model, update.text))
        assert not {name.stand_in.text for name in names} & set(one.text.split())


@given(_texts, st.integers(0, 99))
def test_names_are_drawn_like_other_tokens(text: str, seed: int) -> None:
    model = scripted(hashed_rule(seed))
    translator = Translator(model, sampler=Sampler(SamplingSettings(temperature=1.0, seed=seed)))
    for update, one in zip(growing(text), translated(translator, text, "rt"), strict=True):
        names = {token for name in model._in(PROMPT.tokens(model, update.text)) for token in name.written}
        assert {token for token in one.tokens if token >= model._names.size} <= names


@given(_texts)
def test_a_draft_with_its_names_is_kept_whole_where_the_model_would_write_it(text: str) -> None:
    translator = Translator(scripted(word_by_word_rule(str, unsure_of_last=False)))
    decoding = DecodingSettings("ssbd", bias=0.0, maximum_output_tokens=24)
    before, after = (
        translator.translate(Transcript(0, 0, "", said, False, 0.0, 1.0), PROMPT, decoding, MaskSettings())
        for said in (text, f"{text} house")
    )
    assert after.stats.accepted_tokens == len(before.tokens) == len(after.tokens) - 1


@given(_texts, st.sampled_from(["rt", "ssbd", "window"]), st.integers(0, 30))
def test_a_second_decoding_of_a_final_has_more_names_and_is_no_loop(text: str, method: str, seed: int) -> None:
    rule = hashed_rule(seed)
    once, twice = scripted(rule), scripted(rule)
    first = translated(Translator(twice), text, method)[-1]
    model = once
    model.missing = lambda context, output: []  # type: ignore[method-assign]
    without = translated(Translator(model), text, method)[-1]
    prompt = PROMPT.tokens(twice, text)
    lacking, lacked = len(twice.missing(prompt, first.tokens)), len(twice.missing(prompt, without.tokens))
    assert lacking < lacked or first.tokens == without.tokens
    assert not first.stats.truncated or without.stats.truncated
    assert first.stats.forward_passes >= without.stats.forward_passes


@given(_texts, st.integers(0, 30))
def test_what_only_appends_takes_nothing_back_for_a_name(text: str, seed: int) -> None:
    outputs = [one.tokens for one in translated(Translator(scripted(hashed_rule(seed))), text, "cd")]
    assert all(after[: len(before)] == before for before, after in pairwise(outputs))


@given(st.lists(st.sampled_from([*WORDS[:-1], "Tom", "Boston", "London"]), max_size=12).map(" ".join))
def test_a_source_reads_as_before_and_no_name_takes_a_stand_in_that_is_in_it(text: str) -> None:
    model = scripted()
    tokens = model.tokenize(text)
    assert model.detokenize(tokens).decode().replace("~", "").split() == text.split()
    for name in model._in(tokens):
        assert name.stand_in.text not in text


def shown(model: LlamaModel, terms: Sequence[Term], text: str, **settings: object) -> list[Caption]:
    """Return the captions of a sentence that grows word by word, by the whole lane of a run."""
    run = Settings(prompt=PromptSettings(glossary=tuple(terms)), **settings)  # type: ignore[arg-type]
    pair = (parse_language("en"), parse_language("de"))
    (lane,) = open_lanes(run, model, prepare_prompt(model, run, pair), None, lambda event: None)
    events: list[Event] = []
    for update in growing(text):
        lane.translate(update, run, events.append)
    return [event for event in events if isinstance(event, Caption)]


def test_a_translator_of_the_tree_keeps_names_that_it_does_not_know(model: LlamaModel) -> None:
    text = "I met Siobhan in Kathmandu because Siobhan has a house there."
    terms = [Term("Siobhan", "Siobhan"), Term("Kathmandu")]
    captions = shown(model, terms, text)
    assert (captions[-1].text.count("Siobhan"), captions[-1].text.count("Kathmandu")) == (2, 1)
    for caption in captions:
        assert not any(name.startswith(caption.text.split(" ")[-1]) for name in ("Siobha", "Kathmand") if caption.text)
    assert "Kathmandu" not in shown(model, [], text)[-1].text


def test_a_name_that_is_corrected_during_a_sentence_is_in_its_final(model: LlamaModel) -> None:
    run = Settings(prompt=PromptSettings(glossary=(Term("Kathmandu"),)))
    pair = (parse_language("en"), parse_language("de"))
    (lane,) = open_lanes(run, model, prepare_prompt(model, run, pair), None, lambda event: None)
    events: list[Event] = []
    updates = growing("I met Shiv on in Kathmandu."), growing("I met Siobhan in Kathmandu.")
    for update in updates[0][:-1]:
        lane.translate(update, run, events.append)
    corrected = with_field(run, "prompt.glossary", (Term("Kathmandu"), Term("Siobhan", "Siobhan", (("shiv on", ""),))))
    for update in updates[1][-2:]:
        lane.translate(update, corrected, events.append)
    final = [event for event in events if isinstance(event, Caption)][-1]
    assert "Siobhan" in final.text and "Kathmandu" in final.text


def test_a_conversation_has_names_both_ways_and_every_language_its_own_translations() -> None:
    terms = (Term("Munich", "München | fr: Munich la belle"), Term("Siobhan", "Siobhan"), Term("city council", "Rat"))
    prompt, instructed = PromptSettings(glossary=terms), LanguageModelSettings(prompt="tower")

    def wanted(settings: Settings, text: str) -> list[list[str]]:
        model = Breaking(hashed_rule(), context_tokens=1024)
        lanes = open_lanes(settings, model, prepare_prompt(model, settings, languages(settings)), None, notices.append)  # type: ignore[arg-type]
        return [[one.text for one in lane.stages[1].glossary.due(text)] for lane in lanes if lane.stages]

    notices: list[Event] = []
    text = "Siobhan from Munich and München met the city council and the Rat."
    both = Settings(between=BetweenSettings(("en", "de"), prompt="tower"), prompt=prompt, language_model=instructed)
    assert wanted(both, text) == [["Siobhan", "München", "Rat"], ["Siobhan", "Munich", "city council"]]
    assert not notices
    several = Settings(targets=("de", "fr"), prompt=prompt, language_model=instructed)
    assert wanted(several, text) == [["Siobhan", "München", "Rat"], ["Siobhan", "Munich la belle"]]
    assert [event.text for event in notices if isinstance(event, Notice)] == [
        "The glossary has no French for some terms; captions in French are made without them."
    ]


def test_a_name_of_several_words_and_with_a_translation_is_written_as_the_glossary_has_it(model: LlamaModel) -> None:
    terms = [Term("Royal Aldridge Society", "Aldridge-Gesellschaft"), Term("Aldridge", "Aldridge")]
    final = shown(model, terms, "We visited the Royal Aldridge Society with Aldridge.")[-1].text
    assert final.count("Aldridge-Gesellschaft") == 1 and final.count("Aldridge") == 2


@given(st.text(alphabet=st.sampled_from("Tom Siobhan's \"(-,.!?é\n「トム"), max_size=40))
def test_any_text_keeps_its_letters_as_tokens(model: LlamaModel, text: str) -> None:
    tokens = NameTokens(model, model.vocabulary_size, [("Tom", "Tom"), ("Boston", "Boston")])
    named = WithNames(model, tokens)
    named.glossary = Glossary([Wanted("Siobhan", "Siobhan", True)])
    said = f"{text} Siobhan {text}"
    plain = model.detokenize(model.tokenize(said)).decode("utf-8", "ignore")
    again = named.detokenize(named.tokenize(said)).decode("utf-8", "ignore")
    assert again.replace(" ", "") == plain.replace(" ", "")


def test_a_prompt_of_the_tree_has_one_token_for_a_name(model: LlamaModel) -> None:
    named = WithNames(model, NameTokens(model, model.vocabulary_size, [("Tom", "Tom")]))
    named.glossary = Glossary([Wanted("Siobhan", "Siobhan", True)])
    prompt = build_prompt(named, None, parse_language("en"), parse_language("de"))
    assert len(prompt.source_tokens(named, "I met Siobhan")) == len(prompt.source_tokens(named, "I met Tom"))
    assert not named.is_end_of_generation(prompt.source_tokens(named, "Siobhan")[-1])
    assert END not in prompt.source_tokens(named, "Siobhan")
