"""Two tracks in one run: each word under the name of who spoke it, and neither track waits for the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import pytest

from livetrans.base.clock import Clock, SystemClock
from livetrans.base.errors import SourceError
from livetrans.config import MeetingSettings, OutputSettings, Settings
from livetrans.events import AudioChunk, Caption, Gap, Notice, Origin, SourceProgress, Transcript, Word
from livetrans.run.listening import OnAudio
from livetrans.run.opening import from_live
from livetrans.run.pipeline import Pipeline
from livetrans.run.postponed import Postponed
from livetrans.run.publisher import Publish
from livetrans.run.translating import Translating
from livetrans.session.sinks import Sink
from tests.lm.scripted import ScriptedModel, word_by_word_rule
from tests.speech.scripted import ScriptedRecogniser

from .faults import FaultyModel, FaultyRecogniser, FaultySource, Raise, ScaledClock, Schedule, Slow
from .scripted_run import (
    PROMPT,
    SPEED,
    Collected,
    SilenceGate,
    Spoken,
    finals_of,
    no_thread_left,
    scripted_lane,
    sentences,
)

SETTINGS = Settings(meeting=MeetingSettings(target="none"), output=OutputSettings(record_session=False))


class OneOfTwo(Spoken):
    """A speaker whose words are those of the recogniser from number `first` on."""

    def __init__(self, words: list[Word], first: int, clock: Clock) -> None:
        super().__init__(words, clock)
        self._samples[self._samples > 0] += first


class Meeting:
    """A live run of two scripted speakers."""

    def __init__(
        self,
        them: list[Word],
        me: list[Word],
        monkeypatch: pytest.MonkeyPatch,
        faults: Mapping[str, Callable[[Clock], Schedule]] = MappingProxyType({}),
        records: Sequence[Sink] = (),
    ) -> None:
        """`faults`: of `recogniser`, `translator`, or the source `them` or `me`."""
        self.clock = ScaledClock(SystemClock(), SPEED)
        self._schedules = {name: make(self.clock) for name, make in faults.items()}
        recogniser = ScriptedRecogniser([*them, *me])
        monkeypatch.setattr(
            "livetrans.run.opening.open_recogniser",
            lambda settings, publish: FaultyRecogniser(recogniser, self._schedule("recogniser")),
        )
        monkeypatch.setattr("livetrans.speech.gate.VoiceActivityGate", lambda settings: SilenceGate())
        speakers = [OneOfTwo(them, 0, self.clock), OneOfTwo(me, len(them), self.clock)]
        self.notices = Postponed[Notice | Gap](), Postponed[Notice | Gap]()
        sources = [
            (FaultySource(speaker, self._schedule(name)), notices)
            for name, speaker, notices in zip(("them", "me"), speakers, self.notices, strict=True)
        ]
        self.collected = Collected()
        self.sound: list[AudioChunk] = []
        opened = from_live(sources, Origin("a meeting"), SETTINGS, self.clock)
        self.pipeline = Pipeline(
            SETTINGS,
            lambda publish, on_audio: opened(publish, partial(self._record, on_audio)),
            self.translating,
            self.clock,
            [self.collected],
            records,
        )

    def _schedule(self, name: str) -> Schedule:
        return self._schedules.get(name) or Schedule(self.clock)

    def _record(self, on_audio: OnAudio, chunk: AudioChunk) -> None:
        self.sound.append(chunk)
        on_audio(chunk)

    def translating(self, publish: Publish) -> Translating:
        model, schedule = ScriptedModel(word_by_word_rule(unsure_of_last=False)), self._schedule("translator")
        lanes = [replace(scripted_lane(FaultyModel(model, schedule), PROMPT), track=track) for track in ("them", "me")]
        return Translating(lanes, {}, model.close)

    def run(self) -> None:
        self.pipeline.start()
        assert self.pipeline.join(60), "the run did not end"
        assert no_thread_left()

    def finals(self, track: str, kind: type = Caption) -> list[str]:
        return [event.text.upper() for event in self.collected.of(kind) if event.final and event.track == track]


def late(words: Sequence[Word], seconds: float) -> list[Word]:
    return [Word(f"m{word.text}", word.start + seconds, word.end + seconds) for word in words]


THEM, ME = sentences(4), late(sentences(3, words=3), 1.1)


def test_each_word_of_double_talk_is_under_the_name_of_who_spoke_it(monkeypatch: pytest.MonkeyPatch) -> None:
    meeting = Meeting(THEM, ME, monkeypatch)
    meeting.run()
    for kind in (Transcript, Caption):
        assert meeting.finals("them", kind) == finals_of(THEM)
        assert meeting.finals("me", kind) == finals_of(ME)
    transcripts: list[Transcript] = meeting.collected.of(Transcript)
    begun = {one.segment_id: one.track for one in transcripts}
    assert sorted(begun) == list(range(len(finals_of(THEM)) + len(finals_of(ME))))
    assert set(begun.values()) == {"me", "them"}
    assert all(one.track == begun[one.segment_id] for one in transcripts)
    assert {(one.track, one.language) for one in transcripts} == {("them", None), ("me", "de")}
    assert {chunk.track for chunk in meeting.sound} == {"me", "them"}
    assert {event.track for event in meeting.collected.of(SourceProgress)} == {"me", "them"}


@pytest.mark.parametrize("stage", ["translator", "recogniser"])
def test_no_track_starves_behind_a_slow_stage(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both tracks have all their finals, and the last final of the one that speaks less does not come last."""
    slow = Slow(seconds=0.7)
    meeting = Meeting(sentences(8), ME, monkeypatch, {stage: lambda clock: Schedule(clock, always=slow)})
    meeting.run()
    assert meeting.finals("them") == finals_of(sentences(8))
    assert meeting.finals("me") == finals_of(ME)
    order = [event.track for event in meeting.collected.of(Caption) if event.final]
    assert order.index("me") <= 2
    assert len(order) - order[::-1].index("me") <= len(order) - 2


def test_a_track_whose_source_fails_leaves_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    fault = Raise(SourceError("the microphone is gone; plug it in."))
    meeting = Meeting(THEM, ME, monkeypatch, {"me": lambda clock: Schedule(clock, {25: fault})})
    with pytest.raises(SourceError, match="plug it in"):
        meeting.run()
    assert meeting.finals("them") == finals_of(THEM)
    assert meeting.finals("me")
    warnings = [event.text for event in meeting.collected.of(Notice) if event.level == "warning"]
    assert warnings == ["Nothing more is heard of me: the microphone is gone; plug it in."]


def test_chunks_without_sound_take_their_turns_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source says by a chunk without sound that there is none."""

    def interrupted(speaker: Spoken) -> Iterator[AudioChunk]:
        for chunk in Spoken.__iter__(speaker):
            yield chunk
            yield AudioChunk(chunk.samples[:0], chunk.start_sample + len(chunk.samples), chunk.captured_at)

    monkeypatch.setattr(OneOfTwo, "__iter__", interrupted)
    meeting = Meeting(THEM, ME, monkeypatch)
    meeting.run()
    assert meeting.finals("them") == finals_of(THEM)
    assert meeting.finals("me") == finals_of(ME)


def test_a_gap_is_of_its_track(monkeypatch: pytest.MonkeyPatch) -> None:
    meeting = Meeting(THEM, ME, monkeypatch)
    meeting.notices[1](Gap(2.0, 3.0, "microphone"))
    meeting.run()
    (gap,) = meeting.collected.of(Gap)
    assert gap.track == gap.mark(-1).track == "me"
