"""Names that the recogniser is asked about: what is asked, what follows, and that no committed word changes."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.clock import ManualClock
from livetrans.config import BetweenSettings, PromptSettings, Settings, Term, TranscriberSettings
from livetrans.events import SAMPLE_RATE, Transcript, Word
from livetrans.names.repair import NameRepairs, SpellingRepairer, Verdicts
from livetrans.names.sounds import LEAST_OF_SPELLING, LEAST_OF_TERM
from livetrans.speech.recogniser import Hypothesis
from livetrans.speech.transcriber import Transcriber
from tests.speech.scripted import ScriptedRecogniser, speak
from tests.speech.test_transcriber import gaps, sizes, some_settings, speech_chunks

GLOSSARY = (
    Term("Thorsten", "", (("thorestan", ""),)),
    Term("Grimnir", "", (("grimm near", ""),)),
    Term("Kubernetes", ""),
    Term("Postgres", "", (("post girs", ""),)),
)
VOCABULARY = (
    "thorseen thorsten's grimm nears griman here gring near cuborn eat eats kuber nets post girls poster the is we. "
    "post, girs Thorestan postgres a"
).split()

WRITTEN = -5.0
"""Log-probability of what the recogniser wrote."""


def ask(heard: str, answers: dict[str, float], *, sounds: bool = True, language: str = "en") -> tuple[str, list[str]]:
    """Return a text repaired by the log-odds of some texts, and all texts that the recogniser was asked about."""
    asked: list[str] = []

    def likelihood(text: str) -> float:
        asked.append(text)
        return WRITTEN if text == heard else answers.get(text, -100.0)

    repairer, verdicts = SpellingRepairer(GLOSSARY, language, sounds=sounds), Verdicts()
    repairer.judge(heard, likelihood, verdicts, growing=False)
    return repairer.repair(heard, verdicts=verdicts)[0], asked


def test_a_word_that_is_near_a_name_is_repaired_if_the_recogniser_finds_the_name_likely_enough() -> None:
    heard, right = "the thorseen's cluster", "the Thorsten's cluster"
    for other, least in (
        (right, LEAST_OF_TERM),
        (right.lower(), LEAST_OF_TERM),
        ("the thorestan's cluster", LEAST_OF_SPELLING),
    ):
        assert ask(heard, {other: WRITTEN + least})[0] == right
        assert ask(heard, {other: WRITTEN + least - 0.1})[0] == heard


def test_without_names_by_sound_only_spellings_are_asked_about() -> None:
    heard = "ask thorseen about kuberneds"
    likely = {
        "ask thorestan about kuberneds": -6.0,
        "ask Thorsten about kuberneds": -6.0,
        "ask thorseen about Kubernetes": -6.0,
    }
    text, asked = ask(heard, likely, sounds=False)
    assert text == "ask Thorsten about kuberneds"
    assert set(asked) == {heard, "ask thorestan about kuberneds"}
    assert ask(heard, likely)[0] == "ask Thorsten about Kubernetes"


@pytest.mark.parametrize(
    "heard", ["we posted the letters", "poster", "Thorsten and Postgres", "thorestan", "post. Girs", "the a is we"]
)
def test_a_common_word_and_what_is_right_already_are_not_asked_about(heard: str) -> None:
    assert ask(heard, {})[1] == []


def test_a_language_without_a_rule_asks_nothing() -> None:
    assert ask("thorseen", {}, language="de")[1] == []


@given(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=30), sizes, some_settings, st.data())
def test_no_committed_word_changes_whatever_the_recogniser_answers(
    spoken: list[str], chunking: list[int], options: TranscriberSettings, data: st.DataObject
) -> None:
    unstable, seed = data.draw(st.sampled_from([0.0, 0.7])), data.draw(st.integers(0, 9))
    repair = data.draw(st.sampled_from(["names", "spelled"]))
    gap = random.Random(seed).choice([0.0, 0.1])
    words = [Word(text, round((0.3 + gap) * at, 3), round((0.3 + gap) * at + 0.3, 3)) for at, text in enumerate(spoken)]
    recogniser = ScriptedRecogniser(words, unstable=unstable)
    recogniser.likelihood = lambda text: -float(crc32(f"{seed}{text}".encode()) % 25)
    saves = data.draw(st.booleans())
    glossary = GLOSSARY
    repairs = NameRepairs(lambda: Settings(prompt=PromptSettings(glossary=glossary, repair=repair)))
    transcriber = Transcriber(recogniser, options, ManualClock(), names=repairs.of_track(None))
    places = gaps(words)
    pauses = data.draw(st.lists(st.sampled_from(places), max_size=3)) if places else []
    updates: defaultdict[int, list[tuple[Transcript, Transcript]]] = defaultdict(list)

    def take(transcripts: list[Transcript]) -> None:
        for heard in transcripts:
            updates[heard.segment_id].append((heard, repairs(heard)))

    for number, chunk in enumerate(speech_chunks(speak(words), chunking, pauses)):
        take(transcriber.feed(chunk))
        if saves:
            glossary = GLOSSARY[number % len(GLOSSARY) :]
    take(transcriber.flush())
    for pairs in updates.values():
        for (before, earlier), (after, later) in pairwise(pairs):
            assert later.text.startswith(earlier.committed)
            assert saves or not earlier.ended or before.text != after.text or earlier.text == later.text
        for heard, repaired in pairs:
            back = repaired.text
            for one in reversed(repaired.repairs):
                back = back[: one.begin] + one.heard + back[one.end :]
            assert back == heard.text


def test_a_name_in_the_prompt_is_still_judged_where_it_is_heard() -> None:
    repairs = NameRepairs(lambda: Settings(prompt=PromptSettings(glossary=GLOSSARY)))
    for revision, heard in enumerate(("the is", "the is thorseen")):
        assert repairs.of_track(None).respelled("thorseen", "en") == "thorseen"
        repairs.of_track(None).judge(heard, lambda text: 0.0, "en", growing=False, anew=not revision)
        repaired = repairs(Transcript(0, revision, heard, "", bool(revision), 0.0, 1.0))
    assert repaired.text == "the is Thorsten"


def test_a_new_stretch_of_speech_is_judged_anew() -> None:
    repairs = NameRepairs(lambda: Settings(prompt=PromptSettings(glossary=GLOSSARY)))
    for segment, likely, text in ((0, -30.0, "thorseen"), (1, -1.0, "Thorsten"), (2, -30.0, "thorseen")):
        repairs.of_track(None).judge(
            "thorseen", lambda text, odds=likely: 0.0 if text == "thorseen" else odds, "en", growing=False, anew=True
        )
        assert repairs(Transcript(segment, 0, "", "thorseen", False, 0.0, 1.0, ended=True)).text == text
        repairs.of_track(None).judge("thorseen", lambda text: 0.0, "en", growing=False, anew=False)
        repairs.of_track(None).judge("now", lambda text: 0.0, "en", growing=False, anew=True)
        last = repairs(Transcript(segment, 1, "thorseen", "", True, 0.0, 1.0))
        assert last.text == text, "one answer for a stretch, although the next one has begun in the same chunk"
    assert repairs.of_track(None).respelled("thorseen", "en") == "Thorsten", "a prompt is older than the silence"


class DeafOnce(ScriptedRecogniser):
    """Writes nothing in its second pass, as Whisper sometimes does."""

    def recognise(self, samples: np.ndarray, **options: Any) -> Hypothesis:
        heard = super().recognise(samples, **options)
        return Hypothesis(()) if len(self.passes) == 2 else heard


@pytest.mark.parametrize("kind", [ScriptedRecogniser, DeafOnce])
def test_a_name_is_judged_after_a_pass_that_wrote_nothing(kind: type[ScriptedRecogniser]) -> None:
    spoken = "so far the thorseen went home".split()
    words = [Word(text, 0.5 * at, 0.5 * at + 0.4) for at, text in enumerate(spoken)]
    recogniser = kind(words)
    recogniser.likelihood = lambda text: WRITTEN + (0.0 if "thorestan" in text else -1.0)
    repairs = NameRepairs(lambda: Settings(prompt=PromptSettings(glossary=GLOSSARY)))
    transcriber = Transcriber(
        recogniser, TranscriberSettings(step=0.5, adaptive=False), ManualClock(), names=repairs.of_track(None)
    )
    chunks = speech_chunks(speak(words, 3.0), [SAMPLE_RATE // 2], [])
    updates = [repairs(heard) for chunk in chunks for heard in transcriber.feed(chunk)]
    assert [*updates, *map(repairs, transcriber.flush())][-1].text == "so far the Thorsten went home"


def test_a_glossary_that_changes_takes_no_committed_word_back() -> None:
    settings = Settings(prompt=PromptSettings(glossary=GLOSSARY))
    repairs = NameRepairs(lambda: settings)
    repairs.of_track(None).judge("thorseen said", lambda text: 0.0, "en", growing=False, anew=True)
    assert repairs(Transcript(0, 0, "thorseen said", "", False, 0.0, 1.0)).committed == "Thorsten said"
    settings = replace(settings, prompt=PromptSettings(glossary=(*GLOSSARY, Term("Zanzibar", ""))))
    repairs.of_track(None).judge("so he", lambda text: 0.0, "en", growing=False, anew=False)
    assert repairs(Transcript(0, 1, "thorseen said so he", "", False, 0.0, 1.0)).text == "Thorsten said so he"
    settings = replace(settings, prompt=PromptSettings(glossary=GLOSSARY[1:]))
    heard = Transcript(0, 2, "thorseen said so he", "", True, 0.0, 1.0)
    assert repairs(heard).text == "Thorsten said so he"
    assert repairs(replace(heard, segment_id=1)).text == "thorseen said so he"


def test_in_a_conversation_what_each_says_is_judged() -> None:
    settings = Settings(
        prompt=PromptSettings(glossary=GLOSSARY), between=BetweenSettings(("en", "de"), ("English", "German"))
    )
    repairs = NameRepairs(lambda: settings)
    repairs.of_track(None).judge("thorseen said", lambda text: 0.0, "en", growing=False, anew=True)
    heard = Transcript(0, 0, "thorseen said", "", True, 0.0, 1.0, language="en", track="English")
    assert repairs(heard).text == "Thorsten said"


def test_a_spelling_with_a_possessive_replaces_that_of_the_words() -> None:
    asked: list[str] = []
    repairer = SpellingRepairer((Term("Grimnir's Hall", "", (("grimnear's hall", ""), ("grimnear's", ""))),), "en")
    repairer.judge("the greemnear's door", lambda text: float(asked.append(text) or 0), {}, growing=False)
    assert "the grimnear's door" in asked
    assert not [text for text in asked if "'s's" in text]
