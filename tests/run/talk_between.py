"""A scripted conversation of two people at one microphone, and a run of it without a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from random import Random

from livetrans.base.clock import ManualClock
from livetrans.config import BetweenSettings, MaskSettings, Settings, TranscriberSettings
from livetrans.events import Event, Record, RunStarted, SourceProgress, Transcript, Word
from livetrans.metrics.monitor import Monitor
from livetrans.run.listening import ListeningState, Stages, TrackStages, listen, sound_of
from livetrans.run.translating import Translating
from livetrans.speech.between import Conversation
from livetrans.speech.transcriber import Transcriber
from tests.lm.scripted import ScriptedModel
from tests.speech.scripted import ScriptedRecogniser, speak

from .scripted_run import Played, SilenceGate, into_languages, scripted_lanes

PAIR = ("en", "de")
COUGH = "ahem"
SETTINGS = Settings(
    None, sources=PAIR, targets=PAIR, between=BetweenSettings(PAIR, ("Ana", "Ben")), mask=MaskSettings("none")
)
WORD_SECONDS = 0.35


@dataclass(frozen=True)
class Turn:
    """One speaker's words, in one language."""

    language: str
    seconds: float
    before: float
    """Seconds of silence before it; with fewer than the gate's pause it goes on in the same stretch of speech."""
    coughs: bool = False


def spoken(turns: Sequence[Turn]) -> tuple[list[Word], list[int]]:
    """Return the words, each with its language in its text, and the turn of each."""
    words, of, at = [], [], 0.0
    for number, turn in enumerate(turns):
        at += turn.before
        if turn.coughs:
            words.append(Word(COUGH, at, at + 0.3))
            of.append(number)
            at += 0.4
        count = round(turn.seconds / WORD_SECONDS)
        for place in range(count):
            end = "." if place == count - 1 or place % 7 == 6 else ""
            words.append(Word(f"{turn.language}{number}w{place}{end}", at, at + 0.3))
            of.append(number)
            at += WORD_SECONDS
    return words, of


def heard_odds(turns: Sequence[Turn], words: Sequence[Word], of: Sequence[int], seed: int) -> ScriptedRecogniser:
    """Return a recogniser that is unsure of the first words, wild at a cough, and hears the newest four."""
    recogniser, chance = ScriptedRecogniser(words, unstable=0.5), Random(seed)

    def odds(numbers: Sequence[int], final: bool) -> Mapping[str, float]:
        newest = [turns[of[number - 1]].language for number in numbers[-4:]]
        if numbers and words[numbers[-1] - 1].text == COUGH:
            return {"en": 0.98, "de": 0.02} if chance.random() < 0.5 else {"en": 0.02, "de": 0.98}
        thirds = sum(code not in PAIR for code in newest)
        outside = 0.93 if newest and thirds == len(newest) else 0.1
        lead = (newest.count("en") - newest.count("de")) / max(len(newest), 1)
        logit = chance.uniform(-0.8, 0.8) + (lead if len(numbers) < 3 else chance.uniform(2, 4) * lead)
        first = (1 - outside) / (1 + exp(-logit))
        return {"en": first, "de": 1 - outside - first, "fr": outside}

    recogniser.odds = odds
    return recogniser


def run_of(
    turns: Sequence[Turn], seed: int = 0, settings: Settings = SETTINGS, misread_probability: float = 1.0
) -> Iterator[tuple[float, Event]]:
    """Yield the seconds heard and the events of a run; without `between` in the settings, of one in one direction."""
    words, of = spoken(turns)
    recogniser = heard_odds(turns, words, of, seed)
    recogniser.misread_probability = misread_probability
    conversation = Conversation(PAIR) if settings.between else None
    transcriber = Transcriber(recogniser, TranscriberSettings(adaptive=False), ManualClock(), conversation=conversation)
    speakers = settings.between.speakers if settings.between else {}
    stages = Stages(SilenceGate(), transcriber, recogniser, speakers=speakers)  # type: ignore[arg-type]
    found: list[Event] = []
    source = Played(speak(words, words[-1].end + 2.0))
    track = TrackStages(source, stages, found.append)
    model = ScriptedModel(into_languages, vocabulary_size=4096)
    lanes = scripted_lanes(model, settings.targets[::-1])
    translating = Translating(lanes, {}, model.close)
    yield 0.0, RunStarted({}, settings)
    for transcript in listen(sound_of(source, track), [track], ListeningState(ManualClock())):  # type: ignore[arg-type]
        found.append(transcript)
        translating.translate(transcript, settings, found.append)
        yield from ((track._heard, event) for event in found if not isinstance(event, SourceProgress))
        found.clear()


def transcripts_of(
    words: Sequence[Word], odds: Callable[[Sequence[int], bool], Mapping[str, float]]
) -> list[Transcript]:
    """Return the transcripts of words of which each pass tells these probabilities of languages."""
    recogniser, conversation = ScriptedRecogniser(words), Conversation(PAIR)
    recogniser.odds = odds
    transcriber = Transcriber(recogniser, TranscriberSettings(adaptive=False), ManualClock(), conversation=conversation)
    source = Played(speak(words, words[-1].end + 2.0))
    track = TrackStages(source, Stages(SilenceGate(), transcriber, recogniser), lambda event: None)  # type: ignore[arg-type]
    return list(listen(sound_of(source, track), [track], ListeningState(ManualClock())))  # type: ignore[arg-type]


def one_way(source: str) -> Settings:
    """Return the settings of a run of one half of the conversation alone."""
    return replace(SETTINGS, between=None, sources=(source,), targets=tuple(code for code in PAIR if code != source))


def twenty_turns(seed: int) -> list[Turn]:
    """Turns of 2 to 8 s with quick changes: two begin with a cough, one is in French, three follow without a pause."""
    chance, turns, language = Random(seed), [], "en"
    for number in range(20):
        if number and chance.random() < 0.7:
            language = next(code for code in PAIR if code != language)
        before = 0.4 if number in (4, 11, 16) else chance.choice([0.9, 1.2, 3.0])
        spoken_in = "fr" if number == 7 else language
        turns.append(Turn(spoken_in, chance.uniform(2, 8), before, coughs=number in (5, 13)))
    return turns


def turns_without_pauses(seed: int, turns_a_stretch: int = 20) -> list[Turn]:
    """20 turns of 2 to 8 s, each in the other language, with the gaps of people who answer each other.

    A pause that ends the stretch comes after so many of them.
    """
    chance = Random(seed)
    return [
        Turn(
            PAIR[number % 2],
            chance.uniform(2, 8),
            chance.uniform(0.26, 0.55) if number % turns_a_stretch else chance.uniform(1.0, 1.5),
        )
        for number in range(20)
    ]


def screen_units(events: Iterable[Event]) -> tuple[int, int]:
    """Return the units of the screen that were erased, and those shown at last."""
    monitor = Monitor(memory=lambda: None)
    for event in events:
        monitor.write(Record(0.0, event))
    screen = monitor.measures(None).screen
    return screen.erased_units, screen.units
