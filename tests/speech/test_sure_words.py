"""Unsure words wait: committed words are shown, and shown ones are hidden for other sure or committed words alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.clock import ManualClock
from livetrans.config import CALM, PAPER, TranscriberSettings, with_preset
from livetrans.events import SAMPLE_RATE, RecognitionStats, SpeechChunk, Transcript, Word
from livetrans.speech.transcriber import Transcriber
from livetrans.speech.words import OpenSegments, sure_length
from tests.speech.test_transcriber import STEADY, Answering, words_of

STATS = RecognitionStats(1.0, 0.1)
HEARD = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0.3, 0.6, 0.8, 1.0])), min_size=1, max_size=7)


def transcriber_of(*answers: Sequence[tuple[str, float]], sure: float = 0.5, **changes: float) -> Transcriber:
    recogniser = Answering(*answers, sure=sure)
    return Transcriber(recogniser, replace(STEADY, **changes), ManualClock())  # type: ignore[arg-type]


def hear(transcriber: Transcriber, at: int, *, may_end: bool = False, pause: bool = False) -> list[Transcript]:
    samples = np.zeros(SAMPLE_RATE, dtype=np.int16)
    return transcriber.feed(SpeechChunk(samples, at * SAMPLE_RATE, pause, None, may_end))


def texts(transcripts: Sequence[Transcript]) -> list[str]:
    return [one.text for one in transcripts]


@given(
    st.lists(st.tuples(HEARD, st.integers(0, 2), st.booleans()), min_size=1, max_size=12),
    st.sampled_from([0.0, 0.5, 1.0, 2.0]),
)
def test_shown_words_are_hidden_for_other_sure_or_committed_words_alone(
    passes: list[tuple[list[tuple[str, float]], int, bool]], caution: float
) -> None:
    segments = OpenSegments(count(), TranscriberSettings())
    shown: list[str] = []
    for heard, newly, is_silent in passes:
        tail = words_of(heard)
        segments.take(tail[:newly], tail[newly:], STATS, None if is_silent else sure_length(tail[newly:], 0.5, caution))
        before = shown
        for update in segments.update(final=False, may_end=is_silent):
            shown = update.text.split()
        committed, rest = ([word.text for word in words] for words in (segments.committed, tail[newly:]))
        assert shown[: len(committed)] == committed
        if is_silent:
            assert shown[: len(committed) + len(rest)] == [*committed, *rest], "at a silence nothing waits"
            continue
        differs = next((at for at, word in enumerate(before) if shown[at : at + 1] != [word]), None)
        if differs is not None:
            chances = [word.probability for word in tail[newly:]][: max(differs + 1 - len(committed), 0)]
            assert differs < len(shown)
            assert prod(chances) ** caution >= 0.5


@given(st.lists(HEARD, min_size=1, max_size=10), st.booleans())
def test_with_a_threshold_of_nothing_every_update_is_as_if_all_words_were_sure(
    answers: list[list[tuple[str, float]]], by_caution: bool
) -> None:
    off = transcriber_of(*answers, caution=0.0) if by_caution else transcriber_of(*answers, sure=0.0)
    certain = transcriber_of(*([(text, 1.0) for text, _ in answer] for answer in answers))
    for at in range(len(answers) + 1):
        assert hear(off, at, pause=at == len(answers)) == hear(certain, at, pause=at == len(answers))


@given(st.lists(HEARD, min_size=2, max_size=10))
def test_finals_have_the_same_words(answers: list[list[tuple[str, float]]]) -> None:
    waiting, showing = transcriber_of(*answers), transcriber_of(*answers, sure=0.0)
    for at in range(len(answers)):
        is_last = at == len(answers) - 1
        finals = [
            [one.text for one in hear(transcriber, at, pause=is_last) if one.final]
            for transcriber in (waiting, showing)
        ]
        assert finals[0] == finals[1]


def test_at_a_silence_a_word_that_waited_is_shown() -> None:
    answer = [("she", 0.9), ("dries", 0.4)]
    transcriber = transcriber_of(answer, answer, adaptive=True)
    assert texts(hear(transcriber, 0)) == ["she"]
    recogniser = transcriber_of(answer, [*answer, ("her", 0.1)], step=1.5, adaptive=True)
    assert texts(hear(recogniser, 0)) == []
    assert texts(hear(recogniser, 1, may_end=True)) == ["she", "she dries her"]


@pytest.mark.parametrize(
    ("answers", "shown"),
    [
        (("she", "she dries? her", "she dries? it", "she dries it"), [["she"], [], ["she dries it"], []]),
        (("she dries", "she dyes? her", "she dries her", "she dries her"), [["she dries"], [], ["she dries her"], []]),
        (("she dries", "she dyes? her", "she dyes? her", "she dyes her"), [["she dries"], [], ["she dyes her"], []]),
    ],
    ids=["new", "kept", "rewritten"],
)
def test_unsure_words_wait_until_passes_agree_on_them(answers: tuple[str, ...], shown: list[list[str]]) -> None:
    chances = [[(word.rstrip("?"), 0.4 if word.endswith("?") else 0.9) for word in one.split()] for one in answers]
    transcriber = transcriber_of(*chances)
    assert [texts(hear(transcriber, at)) for at in range(4)] == shown


def test_words_that_wait_are_final_where_the_recogniser_fails() -> None:
    transcriber = transcriber_of([("she", 0.9), ("dries", 0.4), ("her", 0.9)])
    assert texts(hear(transcriber, 0)) == ["she"]
    assert texts(transcriber.flush(recognise=False)) == ["she dries her"]


def test_what_is_shown_before_the_language_is_known_is_not_hidden_when_it_is() -> None:
    segments = OpenSegments(count(), TranscriberSettings())
    segments.take((), words_of([("she", 0.9), ("dries", 0.9)]), STATS, 2)
    assert texts(segments.update(final=False)) == ["she dries"]
    segments.language = "en"
    segments.take((), words_of([("she", 0.9), ("dyes", 0.2)]), STATS, 1)
    assert texts(segments.update(final=False)) == ["she dyes"]


def test_a_word_that_is_shown_ends_the_sentence_before_it_though_it_is_unsure_now() -> None:
    segments = OpenSegments(count(), TranscriberSettings())
    first = words_of([("It", 0.9), ("rains.", 0.9), ("Every", 0.9)])
    segments.take((), first, STATS, 3)
    assert texts(segments.update(final=False)) == ["It rains.", "Every"]
    segments.take(first[:2], words_of([("Every", 0.2), ("day", 0.9)]), STATS, 0)
    assert [(one.text, one.final) for one in segments.update(final=False)] == [("It rains.", True)]


def test_caution_can_change_between_passes() -> None:
    answer = [("she", 0.6), ("dries", 0.4)]
    transcriber = transcriber_of(answer, [*answer, ("her", 0.9)], caution=2.0)
    assert texts(hear(transcriber, 0)) == []
    transcriber = transcriber_of(answer, caution=2.0)
    transcriber.caution = 0.0
    assert texts(hear(transcriber, 0)) == ["she dries"]


def test_letters_of_a_script_without_spaces_are_parts_of_a_word() -> None:
    letters = [Word(letter, at, at + 1, 0.8) for at, letter in enumerate("今日は良い天気")]
    words = [Word(text, at, at + 1, 0.8) for at, text in enumerate(("a", "b", "c", "d", "e"))]
    assert (sure_length(words, 0.5, 1.0), sure_length(letters, 0.5, 1.0)) == (3, 7)
    assert sure_length(letters, 0.5, 2.0) == 4


def test_a_calm_setting_chooses_the_caution_and_leaves_the_rest() -> None:
    chosen = {name: with_preset(CALM["balanced"], preset).transcriber for name, preset in CALM.items()}
    assert {name: one.caution for name, one in chosen.items()} == {"still": 2.0, "balanced": 1.0, "faithful": 0.0}
    slow = replace(CALM["balanced"], transcriber=TranscriberSettings(step=3.0))
    assert with_preset(slow, PAPER).transcriber == TranscriberSettings(step=3.0, caution=0.0)
