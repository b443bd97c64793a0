"""Sentences before and terms in the prompt: what is in it, for how long, and that the cache is used again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.errors import ModelError
from livetrans.base.languages import parse_language
from livetrans.config import DecodingSettings, LanguageModelSettings, MaskSettings, Term
from livetrans.events import Notice, Transcript
from livetrans.lm.llama.model import LlamaModel
from livetrans.lm.prompts import build_prompt
from livetrans.translation import prompting
from livetrans.translation.prompting import Prompts
from livetrans.translation.translator import Translator
from tests.lm.families import FAMILIES, Spelled, write_family

PAIR = (parse_language("en"), parse_language("de"))
PAIRS = (("bridge", "Steg"), ("Bridge Street", "Brückenstraße"), ("city council", "Rat"))
TERMS = tuple(Term(*pair) for pair in PAIRS)


def make(model: Spelled, **settings: object) -> tuple[Prompts, list[Notice]]:
    notices: list[Notice] = []
    prompt = build_prompt(model, None, *PAIR)
    return Prompts(model, prompt, PAIR, notify=notices.append, **{"room": 320, **settings}), notices  # type: ignore[arg-type]


def update(segment_id: int, text: str, *, final: bool = False, revision: int = 0, language: str | None = None):  # type: ignore[no-untyped-def]
    return Transcript(segment_id, revision, text, "", final, 0.0, 1.0, language=language)


def text_of(model: Spelled, prompts: Prompts, transcript: Transcript) -> str:
    return model.spelled(prompts.choose(transcript).tokens(model, transcript.text))


@given(st.lists(st.text("ab ", min_size=1, max_size=30), max_size=8), st.integers(0, 4))
def test_the_last_sentences_stand_in_their_order_before_the_speech(finals: list[str], history: int) -> None:
    model = Spelled(FAMILIES["chat"])
    prompts, _ = make(model, history=history)
    for number, text in enumerate(finals):
        prompts.choose(update(number, text, final=True))
        prompts.remember(f"said {number}:{text}", f"written {number}:{text}")
    prompt = text_of(model, prompts, update(99, "the speech"))
    kept = range(len(finals))[len(finals) - min(history, len(finals)) :]
    places = [prompt.find(f"{word} {number}:") for number in kept for word in ("said", "written")]
    assert -1 not in places
    assert places == sorted(places)
    assert prompt.count("said ") == len(kept)


def test_a_prompt_never_outgrows_the_context_and_the_oldest_sentence_goes_first() -> None:
    model = Spelled(FAMILIES["chat"])
    model.context_tokens = 800
    prompts, _ = make(model, history=20, terms=TERMS)
    for number in range(20):
        prompts.remember(f"sentence number {number}", f"Satz Nummer {number}")
        prompt = prompts.choose(update(number, "The bridge in Bridge Street."))
        assert len(prompt.before) + len(prompt.after) + 320 <= 800
    text = text_of(model, prompts, update(20, "The bridge."))
    assert "sentence number 19" in text
    assert "sentence number 1\n" not in text


def test_a_prompt_without_room_for_all_terms_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Spelled(FAMILIES["chat"])
    prompts, _ = make(model, history=2, terms=TERMS)
    model.context_tokens = 0
    built = Mock(wraps=prompting.build_prompt)
    monkeypatch.setattr(prompting, "build_prompt", built)
    first = prompts.choose(update(0, "The bridge in Bridge Street"))
    count = built.call_count
    assert prompts.choose(update(0, "The bridge in Bridge Street is")) is first
    assert prompts.terms == () and built.call_count == count > 1


def test_a_prompt_changes_only_when_a_segment_ends_or_a_term_comes() -> None:
    model = Spelled(FAMILIES["chat"])
    prompts, notices = make(model, history=2, terms=TERMS)
    prompts.remember("Hello.", "Hallo.")
    first = prompts.choose(update(0, "We"))
    assert prompts.choose(update(0, "We cross")) is first
    with_term = prompts.choose(update(0, "We cross the bridge"))
    shared = model.spelled(first.before)
    assert model.spelled(with_term.before).startswith(shared[: shared.rindex("English:")])
    assert prompts.terms == ("bridge",)
    assert prompts.choose(update(0, "We cross the bridge at noon")) is with_term
    assert [notice.text for notice in notices] == ["glossary: bridge → Steg"]


def test_a_model_for_single_sentences_says_so_once_and_gets_none() -> None:
    model = Spelled(FAMILIES["translategemma"])
    prompts, notices = make(model, history=3, terms=TERMS)
    prompts.remember("Hello.", "Hallo.")
    assert text_of(model, prompts, update(1, "The bridge.")) == text_of(model, make(model)[0], update(1, "The bridge."))
    assert [notice.level for notice in notices] == ["warning", "warning"]
    assert "--history" in notices[0].text and "terms" in notices[1].text


def test_a_template_that_refuses_earlier_sentences_is_refused_before_the_first() -> None:
    template = "{{ raise_exception('one turn only') if messages | length > 1 }}[{{ messages[0].content }}]"
    model = Spelled(replace(FAMILIES["chat"], chat_template=template))
    make(model)
    with pytest.raises(ModelError, match="one turn only"):
        make(model, history=2)


def test_a_detected_language_that_the_family_does_not_know_is_told_once() -> None:
    model = Spelled(FAMILIES["hymt-1.8B"])
    prompts, notices = make(model)
    assert "Note that you should" in text_of(model, prompts, update(0, "Hej", language="sv"))
    text_of(model, prompts, update(0, "Hej alla", language="sv"))
    assert len(notices) == 1 and "does not know Swedish" in notices[0].text
    assert "将以下文本翻译为德语" not in text_of(model, prompts, update(1, "Hej"))
    prompts.choose(update(2, "你好", language="zh"))
    assert len(notices) == 1


def test_a_language_that_nobody_knows_is_told_and_changes_nothing() -> None:
    model = Spelled(FAMILIES["chat"])
    prompts, notices = make(model)
    assert "English" in text_of(model, prompts, update(0, "Hello", language="\x1bxx"))
    assert [notice.level for notice in notices] == ["warning"]


def test_the_cache_of_the_sentences_before_is_used_again(tmp_path: Path) -> None:
    """On llama.cpp: within a segment every update but its first finds all that stands before the speech."""
    settings = LanguageModelSettings(
        write_family(tmp_path / "chat.gguf", FAMILIES["chat"]), threads=1, context_tokens=900
    )
    model = LlamaModel(settings)
    try:
        prompts = Prompts(model, build_prompt(model, None, *PAIR), PAIR, room=320, history=2)
        decoding = DecodingSettings("ssbd", final="partial", maximum_output_tokens=24)
        translator = Translator(model)
        words = "good morning and welcome to the council".split()
        lengths: list[int] = []
        for segment_id in range(4):
            for revision in range(1, len(words) + 1):
                text = " ".join(words[:revision])
                last = update(segment_id, text, final=revision == len(words), revision=revision - 1)
                prompt = prompts.choose(last)
                translation = translator.translate(last, prompt, decoding, MaskSettings())
                if revision > 1:
                    assert translation.stats.reused_tokens >= len(prompt.before)
            prompts.remember(last.text, "guten Morgen")
            lengths.append(len(prompt.before))
        assert lengths[0] < lengths[1] < lengths[2] == lengths[3]
    finally:
        model.close()


def test_terms_that_stay_as_they_are_are_in_prompts_into_every_language_and_others_into_the_first() -> None:
    model = Spelled(FAMILIES["chat"])
    terms = (Term("bridge", "Steg"), Term("OpenRouter", "OpenRouter"), Term("Siobhan"))
    spoken = update(0, "Siobhan saw the bridge and OpenRouter")
    names = ("Siobhan", "OpenRouter")
    for first, expected in ((PAIR, ("Siobhan", "bridge", "OpenRouter")), ((PAIR[0], parse_language("fr")), names)):
        prompts, _ = make(model, terms=terms, first=first)
        prompts.choose(spoken)
        assert prompts.terms == expected
    prompts.choose(update(1, "the bridge"), (Term("bridge", "bridge"),))
    assert prompts.terms == ("bridge",), "terms can change while a run goes on"
