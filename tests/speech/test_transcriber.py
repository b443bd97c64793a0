"""Properties of streaming recognition, whatever is said, wherever the chunks and pauses fall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.clock import ManualClock
from livetrans.config import TranscriberSettings
from livetrans.events import SAMPLE_RATE, SpeechChunk, Transcript, Word
from livetrans.speech.recogniser import Hypothesis
from livetrans.speech.transcriber import Transcriber
from tests.speech.scripted import ScriptedRecogniser, speak

STEADY = TranscriberSettings(step=1.0, adaptive=False)
SILENCE = round(0.3 * SAMPLE_RATE)
LIMIT = ScriptedRecogniser.maximum_length
VOCABULARY = ["so", "very", "Berlin,", "goes", "on", "well.", "Now", "it", "is"]


@st.composite
def speeches(draw: st.DrawFn, maximum_words: int = 60) -> list[Word]:
    """Random words with random gaps, each numbered so that loss, repetition and order can be seen."""
    words: list[Word] = []
    now = 0.0
    for number in range(draw(st.integers(1, maximum_words))):
        now += draw(st.sampled_from([0.0, 0.02, 0.1, 0.4]))
        end = now + draw(st.sampled_from([0.12, 0.3, 0.5]))
        words.append(Word(f"{number}{draw(st.sampled_from(VOCABULARY))}", round(now, 3), round(end, 3)))
        now = end
    return words


def speech_chunks(samples: np.ndarray, sizes: Sequence[int], pauses: Sequence[int] = ()) -> list[SpeechChunk]:
    """The sound cut into chunks of those sizes, in turn, with a pause at each of those samples."""
    chunks: list[SpeechChunk] = []
    position, turn = 0, 0
    for stop in [*sorted(p for p in set(pauses) if 0 < p < len(samples)), len(samples)]:
        while position < stop:
            size = min(sizes[turn % len(sizes)], stop - position)
            turn += 1
            end = position + size
            may_end = end == stop or not samples[max(end - SILENCE, 0) : end].any()
            chunks.append(SpeechChunk(samples[position:end], position, end == stop, end / SAMPLE_RATE, may_end))
            position = end
    return chunks


def run(
    words: Sequence[Word],
    chunks: Sequence[SpeechChunk],
    options: TranscriberSettings,
    unstable: float = 0.0,
    left_context: float = 0.0,
) -> list[Transcript]:
    recogniser = ScriptedRecogniser(words, unstable=unstable)
    recogniser.left_context = left_context
    transcriber = Transcriber(recogniser, options, ManualClock())
    transcripts = [t for chunk in chunks for t in transcriber.feed(chunk)]
    return transcripts + transcriber.flush()


def final_text(transcripts: Sequence[Transcript]) -> list[str]:
    return [word for t in transcripts if t.final for word in t.text.split()]


def gaps(words: Sequence[Word]) -> list[int]:
    """Samples between words, where a real pause falls."""
    return [round(a.end * SAMPLE_RATE) + 160 for a, b in pairwise(words) if b.start - a.end > 0.05]


sizes = st.lists(st.sampled_from([160, 960, 4000, 16_000, 50_000, 480_000]), min_size=1, max_size=4)
some_settings = st.builds(
    TranscriberSettings,
    step=st.sampled_from([0.5, 1.0, 3.0]),
    adaptive=st.booleans(),
    trim_after=st.sampled_from([3.0, 8.0, 15.0]),
    maximum_words=st.sampled_from([5, 40]),
    maximum_length=st.sampled_from([4.0, 20.0]),
)


@given(speeches(), sizes, some_settings, st.sampled_from([0.0, 0.7]), st.sampled_from([0.0, 2.5]), st.data())
def test_every_word_becomes_final_once_and_in_order(
    words: list[Word],
    chunking: list[int],
    options: TranscriberSettings,
    unstable: float,
    context: float,
    data: st.DataObject,
) -> None:
    places = gaps(words)
    pauses = data.draw(st.lists(st.sampled_from(places), max_size=4)) if places else []
    chunks = speech_chunks(speak(words), chunking, pauses)
    assert final_text(run(words, chunks, options, unstable, context)) == [word.text for word in words]


@given(speeches(), sizes, some_settings, st.sampled_from([0.0, 0.7]))
def test_updates_keep_the_rules_of_their_segment(
    words: list[Word], chunking: list[int], options: TranscriberSettings, unstable: float
) -> None:
    transcripts = run(words, speech_chunks(speak(words), chunking), options, unstable)
    segments: dict[int, list[Transcript]] = {}
    for transcript in transcripts:
        segments.setdefault(transcript.segment_id, []).append(transcript)
    assert list(segments) == list(range(len(segments)))
    assert [t.segment_id for t in transcripts if t.final] == list(segments)
    for updates in segments.values():
        assert [t.revision for t in updates] == list(range(len(updates)))
        assert [t.final for t in updates] == [False] * (len(updates) - 1) + [True]
        assert updates[-1].partial == ""
        assert len(updates[-1].text.split()) <= options.maximum_words
        for earlier, later in pairwise(updates):
            assert later.committed.startswith(earlier.committed)
            assert later.final or later.text != earlier.text or later.ended != earlier.ended
        for update in updates:
            assert update.start < update.end
            # Every chunk says when its end was heard, at the pace of source time.
            assert not update.text or (update.captured_at and abs(update.captured_at - update.end) < 1e-6)
            assert update.recognition is not None and update.recognition.audio_seconds_in_pass <= LIMIT


@given(speeches(), sizes, sizes, st.sampled_from([0.0, 0.7]), st.data())
def test_chunking_changes_nothing_where_passes_do_not_follow_the_machine(
    words: list[Word], one: list[int], other: list[int], unstable: float, data: st.DataObject
) -> None:
    places = gaps(words)
    pauses = data.draw(st.lists(st.sampled_from(places), max_size=4)) if places else []
    results = []
    for chunking in (one, other):
        transcripts = run(words, speech_chunks(speak(words), chunking, pauses), STEADY, unstable)
        results.append([replace(t, captured_at=None) for t in transcripts])
    assert results[0] == results[1]


def steady_words(count: int, text: str = "word", length: float = 0.4, start: float = 0.0) -> list[Word]:
    return [Word(f"{text}{i}", start + i * length, start + i * length + 0.3) for i in range(count)]


def test_the_buffer_is_trimmed_and_the_prompt_is_what_left_it() -> None:
    words = steady_words(200)
    recogniser = ScriptedRecogniser(words)
    transcriber = Transcriber(recogniser, STEADY, ManualClock())
    for chunk in speech_chunks(speak(words), [8000]):
        transcriber.feed(chunk)
    lengths = [seconds for seconds, _, _ in recogniser.passes]
    assert max(lengths) <= recogniser.trim_after + STEADY.step
    recogniser.left_context, whole = 2.5, len(recogniser.passes)
    transcriber = Transcriber(recogniser, STEADY, ManualClock())
    for chunk in speech_chunks(speak(words), [8000]):
        transcriber.feed(chunk)
    with_context = [seconds for seconds, _, _ in recogniser.passes[whole:]]
    assert max(with_context) <= recogniser.trim_after + STEADY.step
    assert min(with_context[20:]) >= min(lengths[20:]) + 2.5 - 0.4  # a word's length
    everything = " ".join(word.text for word in words)
    prompts = [prompt for _, prompt, _ in recogniser.passes]
    assert prompts[0] == "" and prompts[-1] != ""
    assert all(prompt in everything and len(prompt) <= STEADY.prompt_characters for prompt in prompts)


def test_a_long_silence_empties_the_prompt_and_a_short_one_does_not() -> None:
    for silence, expected in ((1.0, "word0 word1 word2"), (8.0, "")):
        words = [*steady_words(3), *steady_words(3, "more", start=3 * 0.4 + silence)]
        samples = speak(words)
        cut, resume = round(1.2 * SAMPLE_RATE), round((1.2 + silence) * SAMPLE_RATE)
        recogniser = ScriptedRecogniser(words)
        transcriber = Transcriber(recogniser, STEADY, ManualClock())
        transcriber.feed(SpeechChunk(samples[:cut], 0, pause=True))
        transcriber.feed(SpeechChunk(samples[resume:], resume, pause=True))
        assert recogniser.passes[-1][1] == expected


class Answering:
    """Answers each pass with the next of the given hypotheses, then always with the last, and takes its time.

    A hypothesis is a text, or words with their probabilities.
    """

    trim_after, left_context = 15.0, 0.0

    def __init__(
        self,
        *answers: str | Sequence[tuple[str, float]],
        clock: ManualClock | None = None,
        seconds: float = 0.0,
        maximum_length: float = LIMIT,
        sure: float = 0.5,
    ) -> None:
        self.maximum_length, self.sure = maximum_length, sure
        self._answers = [[(word, 1.0) for word in one.split()] if isinstance(one, str) else one for one in answers]
        self._clock, self._seconds = clock, seconds
        self.lengths: list[float] = []
        self.prompts: list[str] = []

    def recognise(
        self, samples: np.ndarray, *, prompt: str = "", final: bool = False, language: str | None = None
    ) -> Hypothesis:
        if self._clock is not None:
            self._clock.advance(self._seconds)
        self.lengths.append(len(samples) / SAMPLE_RATE)
        self.prompts.append(prompt)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return Hypothesis(words_of(answer))


def words_of(heard: Sequence[tuple[str, float]]) -> tuple[Word, ...]:
    return tuple(Word(text, 0.1 * at, 0.1 * at + 0.1, chance) for at, (text, chance) in enumerate(heard))


def hear(
    transcriber: Transcriber, seconds: float, start: float = 0.0, pause: bool = False, *, may_end: bool = False
) -> list[Transcript]:
    samples = np.zeros(round(seconds * SAMPLE_RATE), dtype=np.int16)
    return transcriber.feed(SpeechChunk(samples, round(start * SAMPLE_RATE), pause, None, may_end))


@pytest.mark.parametrize(("cost", "step"), [(0.01, 0.4), (0.12, 0.6), (0.3, 0.8)])
def test_the_step_follows_the_cost_of_passes_unless_it_is_set(cost: float, step: float) -> None:
    for options, expected in (
        (TranscriberSettings(), step),
        (TranscriberSettings(step=1.5), 1.5),
        (TranscriberSettings(adaptive=False), 0.8),
    ):
        clock = ManualClock()
        recogniser = Answering("one", clock=clock, seconds=cost)
        transcriber = Transcriber(recogniser, options, clock)
        for number in range(100):
            hear(transcriber, 0.1, number * 0.1)
        assert transcriber.step == pytest.approx(expected)
        assert np.diff(recogniser.lengths)[5:] == pytest.approx(expected, abs=0.101)


def test_a_pass_at_a_silence_shows_a_complete_sentence_whole_and_gives_the_final_its_words() -> None:
    recogniser = Answering("It rains.")
    transcriber = Transcriber(recogniser, TranscriberSettings(), ManualClock())
    [shown] = hear(transcriber, 0.3, may_end=True)
    assert (shown.text, shown.ended, shown.final) == ("It rains.", True, False)
    [final] = hear(transcriber, 0.0, 0.3, pause=True)
    assert (final.text, final.final, final.recognition) == ("It rains.", True, shown.recognition)
    assert transcriber.passes == len(recogniser.lengths) == 1


def test_speech_goes_on_after_a_silence_as_if_there_were_none() -> None:
    recogniser = Answering("It rains.", "It rains in town")
    transcriber = Transcriber(recogniser, TranscriberSettings(), ManualClock())
    hear(transcriber, 0.3, may_end=True)
    [goes_on] = hear(transcriber, 0.8, 0.3)
    assert (goes_on.text, goes_on.ended, goes_on.segment_id) == ("It rains in town", False, 0)
    [final] = hear(transcriber, 0.2, 1.1, pause=True)
    assert (final.text, transcriber.passes) == ("It rains in town", 3)


@pytest.mark.parametrize(("text", "adaptive", "passes"), [("It rains", True, 1), ("It rains.", False, 0)])
def test_nothing_ends_at_a_silence_in_a_sentence_or_at_full_speed(text: str, adaptive: bool, passes: int) -> None:
    transcriber = Transcriber(Answering(text), TranscriberSettings(adaptive=adaptive), ManualClock())
    assert not any(shown.ended for shown in hear(transcriber, 0.3, may_end=True))
    assert transcriber.passes == passes


def test_a_slow_machine_makes_fewer_passes() -> None:
    clock = ManualClock()
    recogniser = Answering("one", clock=clock, seconds=2.5)
    transcriber = Transcriber(recogniser, TranscriberSettings(step=1.0, trim_after=99), clock)
    for i in range(80):
        hear(transcriber, 0.1, i * 0.1)
    assert [round(length, 6) for length in recogniser.lengths] == [1.0, 3.5, 6.0]


def test_words_that_disappear_at_the_end_stay_shown_until_others_come() -> None:
    transcriber = Transcriber(Answering("one two", "one two three", "", "one two tree"), STEADY, ManualClock())
    hear(transcriber, 1.0)
    assert hear(transcriber, 1.0, 1.0)[-1].partial == "three"
    assert hear(transcriber, 1.0, 2.0) == []
    assert hear(transcriber, 1.0, 3.0)[-1].text == "one two tree"
    gone = Transcriber(Answering("one two", "one two three", ""), STEADY, ManualClock())
    hear(gone, 3.0)
    assert [t.text for t in gone.flush()] == ["one two"], "what nobody heard again is not in the final"
    shown = Transcriber(Answering("one two", ""), STEADY, ManualClock())
    assert [t.text for t in hear(shown, 1.0)] == ["one two"]
    finals = hear(shown, 0.5, 1.0, pause=True)
    assert [(t.text, t.final, t.revision) for t in finals] == [("one two", True, 1)], "what was shown has a final"


LONG = " ".join(f"w{number}" for number in range(22))


@pytest.mark.parametrize(
    "answers", [(LONG, "la"), (LONG, ""), (LONG, "la", "lo", "", "la la"), (LONG, f"{LONG} x", "la")]
)
def test_a_pass_that_comes_back_nearly_empty_takes_no_shown_word_back(answers: tuple[str, ...]) -> None:
    transcriber = Transcriber(Answering(*answers), STEADY, ManualClock())
    shown = [one for place in range(len(answers)) for one in hear(transcriber, 1.0, float(place))]
    assert all(one.text.startswith(LONG) for one in shown)
    finals = [one for one in hear(transcriber, 0.5, float(len(answers)), pause=True) if one.final]
    assert " ".join(one.text for one in finals).removesuffix(" x") == LONG


def test_words_that_others_replace_are_replaced() -> None:
    transcriber = Transcriber(Answering(LONG, "a b c d e f g h"), STEADY, ManualClock())
    assert hear(transcriber, 3.0, pause=True)[-1].text == "a b c d e f g h"


def test_a_pass_that_lost_its_words_is_made_again_without_the_prompt() -> None:
    class Confused(Answering):
        def recognise(
            self, samples: np.ndarray, *, prompt: str = "", final: bool = False, language: str | None = None
        ) -> Hypothesis:
            heard = super().recognise(samples, prompt=prompt, final=final)
            return replace(heard, words=heard.words[:1]) if prompt and len(samples) > SAMPLE_RATE else heard

    recogniser = Confused("so it was", "so it was", LONG, f"{LONG} and")
    transcriber = Transcriber(recogniser, STEADY, ManualClock())
    hear(transcriber, 1.0, pause=True)
    assert [one.text for one in hear(transcriber, 1.0, 1.5)] == [LONG]
    assert hear(transcriber, 1.0, 2.5)[-1].text == f"{LONG} and"
    assert recogniser.prompts[-2:] == ["so it was", ""]


def test_speech_after_words_that_every_pass_loses_is_heard() -> None:
    class Loses(ScriptedRecogniser):
        def recognise(
            self, samples: np.ndarray, *, prompt: str = "", final: bool = False, language: str | None = None
        ) -> Hypothesis:
            heard = super().recognise(samples, prompt=prompt, final=final)
            return replace(heard, words=heard.words[-1:]) if len(samples) > 10 * SAMPLE_RATE and not final else heard

    words = steady_words(100)
    transcriber = Transcriber(Loses(words), STEADY, ManualClock())
    transcripts = [t for chunk in speech_chunks(speak(words), [8000]) for t in transcriber.feed(chunk)]
    assert final_text(transcripts) == [word.text for word in words]


def told(transcripts: list[Transcript]) -> list[tuple[int, str, str, bool, bool]]:
    return [(t.segment_id, t.committed, t.partial, t.ended, t.final) for t in transcripts]


def test_a_sentence_has_a_segment_of_its_own_as_soon_as_the_next_one_has_a_word() -> None:
    transcriber = Transcriber(
        Answering("It rains.", "It rains. We", "It rained. We stay", "It rained. We stay in"), STEADY, ManualClock()
    )
    assert told(hear(transcriber, 1.0)) == [(0, "", "It rains.", False, False)]
    # The words are the same, but the caption need hide nothing any more; "We" is not known by two passes yet.
    assert told(hear(transcriber, 1.0, 1.0)) == [(0, "It rains.", "", False, True), (1, "", "We", False, False)]


def test_a_sentence_that_has_ended_waits_for_its_final() -> None:
    answers = ("It reigns. We", "It rains. We stay", "It pours. We stay here", "It pours. We stay here now")
    transcriber = Transcriber(Answering(*answers), STEADY, ManualClock())
    assert told(hear(transcriber, 1.0)) == [(0, "", "It reigns.", True, False), (1, "", "We", False, False)]
    assert told(hear(transcriber, 1.0, 1.0)) == [(1, "", "We stay", False, False)]
    assert told(hear(transcriber, 1.0, 2.0)) == [(1, "", "We stay here", False, False)]
    final, following = hear(transcriber, 1.0, 3.0)
    assert (final.segment_id, final.text, final.final) == (0, "It pours.", True)
    assert (following.segment_id, following.text) == (1, "We stay here now")


def test_the_words_behind_a_sentence_end_that_was_none_go_back() -> None:
    answers = ("By bus. Every", "By the bus every day", "By the bus every day. Then", "By the bus every day. Then we")
    transcriber = Transcriber(Answering(*answers), STEADY, ManualClock())
    assert told(hear(transcriber, 1.0)) == [(0, "", "By bus.", True, False), (1, "", "Every", False, False)]
    assert told(hear(transcriber, 1.0, 1.0)) == [
        (1, "", "", False, False),
        (0, "By", "the bus every day", False, False),
    ]
    assert told(hear(transcriber, 1.0, 2.0))[-1] == (1, "", "Then", False, False)


def test_a_segment_whose_words_went_to_another_gets_an_empty_final() -> None:
    transcriber = Transcriber(Answering("By bus. Every", "By the bus every day"), STEADY, ManualClock())
    hear(transcriber, 1.0)
    assert told(hear(transcriber, 1.0, 1.0, pause=True))[-2:] == [
        (0, "By the bus every day", "", False, True),
        (1, "", "", False, True),
    ]


def test_a_segment_that_lost_its_words_keeps_its_times() -> None:
    answers = "By bus. Every", "By the bus every", "By the bus every day"
    transcriber = Transcriber(Answering(*answers), STEADY, ManualClock())
    shown, *emptied = [
        one for start in (3.0, 4.0, 5.0) for one in hear(transcriber, 1.0, start, pause=start == 5.0) if one.segment_id
    ]
    assert [(one.text, one.start, one.end) for one in emptied] == [("", shown.start, shown.end)] * 2


def test_sound_without_words_gives_nothing_and_uses_no_id() -> None:
    transcriber = Transcriber(Answering("", "", "", "", "now"), STEADY, ManualClock())
    assert hear(transcriber, 3.2, pause=True) == []
    assert [t.segment_id for t in hear(transcriber, 0.5, 4.0, pause=True)] == [0]
    assert transcriber.flush() == []


def test_loops_reach_neither_captions_nor_prompts() -> None:
    loop = "so " + "thank you " * 10
    recogniser = Answering(loop)
    transcriber = Transcriber(recogniser, replace(STEADY, trim_after=2.0), ManualClock())
    transcripts = hear(transcriber, 6.0, pause=True)
    assert {t.text for t in transcripts} == {"so thank you"}
    hear(transcriber, 2.0, 6.5, pause=True)
    assert all("you thank" not in prompt for prompt in recogniser.prompts)


def test_recognised_escapes_are_not_passed_on() -> None:
    transcriber = Transcriber(Answering("\x1b[2Jhello \u202e \x07there"), STEADY, ManualClock())
    assert hear(transcriber, 0.5, pause=True)[-1].text == "hello there"


@pytest.mark.parametrize("limit", [LIMIT, 10.0])
def test_the_buffer_never_outgrows_the_recogniser_even_if_nothing_is_ever_agreed_on(limit: float) -> None:
    answers = [f"a{i} b{i} c{i}" for i in range(200)]
    for recogniser in (Answering(*answers, maximum_length=limit), Answering("", maximum_length=limit)):
        transcriber = Transcriber(recogniser, TranscriberSettings(), ManualClock())
        for i in range(40):
            hear(transcriber, 3.0, 3.0 * i)
        assert max(recogniser.lengths) <= limit
        hear(transcriber, 300.0, 120.0)
        assert max(recogniser.lengths) <= limit


def test_a_recogniser_that_stops_early_reads_on_from_where_it_stopped() -> None:
    class StopsEarly(ScriptedRecogniser):
        def recognise(
            self, samples: np.ndarray, *, prompt: str = "", final: bool = False, language: str | None = None
        ) -> Hypothesis:
            words = super().recognise(samples, prompt=prompt, final=final).words
            return Hypothesis(tuple(word for word in words if word.end < 5.0))

    words = steady_words(60)
    transcriber = Transcriber(StopsEarly(words), STEADY, ManualClock())
    transcripts = [t for chunk in speech_chunks(speak(words), [8000]) for t in transcriber.feed(chunk)]
    assert final_text(transcripts) == [word.text for word in words]


def test_a_hole_in_the_sound_ends_the_segment() -> None:
    transcriber = Transcriber(Answering("one", "two"), STEADY, ManualClock())
    hear(transcriber, 1.0)
    assert [(t.segment_id, t.text, t.final) for t in hear(transcriber, 1.0, 5.0)] == [
        (0, "two", True),
        (1, "two", False),
    ]


def test_lag_has_no_meaning_without_instants() -> None:
    transcriber = Transcriber(Answering("one"), STEADY, ManualClock())
    assert all(t.captured_at is None for t in hear(transcriber, 2.0, pause=True))
