"""The spoken language: kept against single passes, changed by several that agree, or by the user."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.clock import ManualClock
from livetrans.config import TranscriberSettings
from livetrans.events import SpeechChunk, Word
from livetrans.speech.transcriber import Transcriber
from livetrans.speech.whisper_model import AGREEING_PASSES, CERTAIN, SpokenLanguage
from tests.speech.scripted import ScriptedRecogniser, speak

PASSES = st.lists(st.tuples(st.sampled_from(["de", "fr", "en"]), st.floats(0, 1)), max_size=30)


@given(PASSES)
def test_a_change_needs_passes_in_a_row_that_agree(passes: list[tuple[str, float]]) -> None:
    spoken = SpokenLanguage(None)
    for number, (detected, probability) in enumerate(passes):
        before = spoken.code
        language = spoken.choose(detected, probability)
        spoken.found_words(language, probability)
        if before is None:
            assert language == detected
            assert (spoken.code == detected) == (probability >= CERTAIN)
        elif spoken.code != before:
            agreeing = passes[number + 1 - AGREEING_PASSES : number + 1]
            assert len(agreeing) == AGREEING_PASSES
            assert all(one == language and certain >= CERTAIN for one, certain in agreeing)
        else:
            assert language == before


@pytest.mark.parametrize("step", [0.5, 1.0])
def test_another_language_ends_the_segment_with_its_committed_words_and_loses_none(step: float) -> None:
    words = [Word(f"w{number}", number * 0.5, number * 0.5 + 0.4) for number in range(16)]
    recogniser = ScriptedRecogniser(words)
    recogniser.expect_language("en")
    settings = TranscriberSettings(step=step, adaptive=False)
    transcriber = Transcriber(recogniser, settings, ManualClock())
    samples = speak(words, 8.0)
    found = transcriber.feed(SpeechChunk(samples[: 16_000 * 4], 0))
    assert {one.language for one in found} == {"en"}
    recogniser.expect_language("fr")
    found += transcriber.feed(SpeechChunk(samples[16_000 * 4 :], 16_000 * 4))
    found += transcriber.flush()
    finals = [one for one in found if one.final]
    assert [one.language for one in finals] == ["en", "fr"]
    assert " ".join(one.text for one in finals).split() == [word.text for word in words]
    assert all(one.language == finals[one.segment_id].language for one in found)


def test_without_a_report_a_transcript_has_no_language() -> None:
    words = [Word("one", 0.0, 0.4), Word("two", 0.5, 0.9)]
    transcriber = Transcriber(ScriptedRecogniser(words), TranscriberSettings(), ManualClock())
    found = transcriber.feed(SpeechChunk(speak(words, 2.0), 0, pause=True))
    assert found and all(one.language is None for one in found)
