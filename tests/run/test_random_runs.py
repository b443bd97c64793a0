"""A run driven at random: keys, pauses, faults, slow stages, lost devices, sleep of the machine, the end, a kill.

Its threads take turns (`tests.run.turns`). When all wait, its events are compared with an account of their own.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck
from hypothesis import settings as profile
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)  # fmt: skip

from livetrans.audio.live import Microphone
from livetrans.config import DecodingSettings, MaskSettings, MeetingSettings, Settings, TranscriberSettings
from livetrans.events import (
    AudioChunk,
    Caption,
    Gap,
    Notice,
    Origin,
    RunEnded,
    RunStarted,
    Transcript,
)  # fmt: skip
from livetrans.run.listening import Listening, OnAudio
from livetrans.run.opening import from_file, from_live, reloading_once
from livetrans.run.pipeline import Pipeline
from livetrans.run.postponed import Postponed
from livetrans.run.publisher import Publish
from livetrans.run.resuming import Resuming, open_rest, unheard_sound
from livetrans.run.runner import PlainLoop
from livetrans.run.speedup import SpeedupSampler
from livetrans.run.translating import Lane, Translating
from livetrans.session.codec import read_records
from livetrans.session.recorded import read_unfinished
from livetrans.session.recorder import AUDIO_FILE, MICROPHONE_FILE, SessionRecorder
from tests.lm.scripted import ScriptedModel
from tests.speech.scripted import ScriptedRecogniser

from .account import Account
from .faults import Fault, FaultyModel, FaultyRecogniser, Garbage, Raise, Schedule, Slow
from .scripted_run import Collected, SilenceGate, into_languages, scripted_lanes
from .speakers import WORDS, Held, Pipe, Speaker, numbers_in, numbers_of
from .turns import Turns

STAGES = st.sampled_from(["recogniser", "translator", "sampler"])


class RandomRun(RuleBasedStateMachine):
    """A run that is being driven."""

    @initialize(
        seed=st.integers(0, 10**6),
        is_live=st.sampled_from([True, True, False]),
        mine=st.sampled_from(["no track", None, "none"]),
        into=st.sampled_from([("de",), ("de", "fr"), ("fr", "en")]),
        method=st.sampled_from(["window", "ssbd", "rt"]),
        mask=st.builds(MaskSettings, st.sampled_from(["display", "output"]), st.integers(0, 3)),
        is_killed=st.booleans(),
    )
    def begin(
        self, seed: int, is_live: bool, mine: str | None, into: tuple[str, ...], method: str, mask: Any, is_killed: bool
    ) -> None:
        self.is_killed, self.is_sound, self.failure = is_killed, True, None
        self.chance, self.turns, self.folder = Random(seed), Turns(seed), Path(tempfile.mkdtemp())
        meeting = MeetingSettings(target=mine) if is_live and mine != "no track" else None
        transcriber, decoding = TranscriberSettings(adaptive=is_live), DecodingSettings(method, bias=0.2)
        self.settings = Settings(None, sources=("es", "de", "auto"), targets=into, meeting=meeting,
                                 transcriber=transcriber, decoding=decoding, mask=mask)  # fmt: skip
        self.places = {"them": into, "me": ("me",)} if meeting else {None: into}
        self.faults = {stage: Schedule(self.turns, {}) for stage in ("recogniser", "translator", "sampler")}
        self.patch = pytest.MonkeyPatch()
        self.turns.patch(self.patch)
        recogniser = FaultyRecogniser(ScriptedRecogniser(WORDS, unstable=0.7), self.faults["recogniser"])
        for name, stage in {
            "run.opening._recogniser_of": lambda settings, publish: recogniser,
            "speech.gate.VoiceActivityGate": lambda settings: SilenceGate(),
            "run.opening.Played": Held,
            "run.opening.BleedFilter": Held,
            "run.resuming.BleedFilter": Held,
        }.items():
            self.patch.setattr(f"livetrans.{name}", stage)
        self.speakers = [Speaker(self.turns, Random(seed + n), 15_000 * n) for n in range(len(self.places))]
        self.sound: dict[str | None, list[Any]] = defaultdict(list)
        self.account, self.collected = Account(self.settings), Collected()
        self.sampler: SpeedupSampler | None = None
        self.lanes: list[Lane] = []
        notices = [Postponed[Notice | Gap]() for _ in self.speakers]
        recorder, origin = SessionRecorder(self.folder / "session", keep_audio=True), Origin("scripted")
        if is_live:
            devices = [
                Microphone(None, self.turns, notify, speaker.open)  # type: ignore[arg-type]
                for notify, speaker in zip(notices, self.speakers, strict=True)
            ]
            opened = from_live([*zip(devices, notices, strict=True)], origin, self.settings, self.turns)
        else:
            self.pipe = Pipe(self.speakers[0])
            opened = from_file(self.pipe, origin, self.settings, self.turns, notices[0])

        def open_listening(publish: Publish, on_audio: OnAudio) -> Listening:
            def hear(chunk: AudioChunk) -> None:
                self.sound[chunk.track].append(chunk.samples)
                on_audio(chunk)

            return opened(publish, hear)

        kind: Any = Pipeline if is_live else PlainLoop
        self.run = kind(self.settings, open_listening, self.open_translating, self.turns, [self.collected], [recorder])
        self.run.start()

    def open_translating(self, publish: Publish) -> Translating:
        scripted = ScriptedModel(partial(into_languages, unsure_of_last=True), vocabulary_size=8192)
        model = FaultyModel(scripted, self.faults["translator"])
        self.lanes = scripted_lanes(model, self.settings.targets)
        if self.settings.meeting:
            mine = self.settings.for_microphone()
            [lane] = scripted_lanes(model.another_context(), mine.targets)
            lane = Lane(None, mine.target_language) if mine.sources == mine.targets else lane
            self.lanes = [*(replace(one, track="them") for one in self.lanes), replace(lane, track="me")]
        if self.is_live:
            open_context = lambda: FaultyModel(scripted.another_context(), self.faults["sampler"])  # noqa: E731
            self.sampler = SpeedupSampler(open_context, self.turns, publish)
        return Translating(self.lanes, {}, model.close, self.sampler, reloading_once("translator", [model], publish))

    @property
    def is_live(self) -> bool:
        return self.settings.transcriber.adaptive

    @rule(seconds=st.floats(0.05, 8.0))
    def wait(self, seconds: float) -> None:
        self.turns.sleep(seconds)

    @rule(stage=STAGES, fault=st.sampled_from([Raise(RuntimeError("broken")), Garbage()]), later=st.integers(0, 9))
    def fail(self, stage: str, fault: Fault, later: int) -> None:
        schedule: Any = self.faults[stage]
        schedule.faults[schedule.calls + later] = fault

    @rule(stage=STAGES, seconds=st.sampled_from([0.0, 0.01, 0.1, 0.5]))
    def slow(self, stage: str, seconds: float) -> None:
        self.faults[stage].always = Slow(seconds=seconds)

    @precondition(lambda self: self.is_live)
    @rule(change=st.one_of(
        st.tuples(st.just("calm"), st.sampled_from(["still", "balanced", "faithful"])),
        st.tuples(st.just("bias"), st.sampled_from([0.0, 0.2, 0.6])),
        st.tuples(st.just("mask-k"), st.integers(0, 5)),
        st.tuples(st.just("from"), st.sampled_from(["es", "de", "auto"])),
        st.tuples(st.just("to"), st.integers(0, 1)),
    ))  # fmt: skip
    def change(self, change: tuple[str, Any]) -> None:
        key, value = change
        self.run.change(key, self.settings.targets[value % len(self.settings.targets)] if key == "to" else value)

    @precondition(lambda self: self.is_live)
    @rule(languages=st.sets(st.sampled_from(["de", "fr", "en"])))
    def read(self, languages: set[str]) -> None:
        self.run.readers(languages)

    @precondition(lambda self: self.is_live)
    @rule(paused=st.booleans())
    def pause(self, paused: bool) -> None:
        self.run.pause(paused)

    @precondition(lambda self: self.is_live)
    @rule(seconds=st.sampled_from([0.4, 7.0, 60.0]))
    def sleep(self, seconds: float) -> None:
        self.turns.jump(seconds)

    @precondition(lambda self: self.is_live)
    @rule(who=st.integers(0, 1), seconds=st.sampled_from([0.1, 2.0, 9.0]))
    def unplug(self, who: int, seconds: float) -> None:
        self.speakers[who % len(self.speakers)].gone_until = self.turns.now() + seconds

    @invariant()
    def is_right(self) -> None:
        if not hasattr(self, "run"):
            return
        self.is_sound = False
        self.turns.sleep(self.chance.choice((0.0, 0.1, 1.0, 4.0)))
        self.turns.settle()
        for record in self.collected.records[len(self.account.events) :]:
            self.account.add(record)
        self.account.check_order()
        self.account.check_figures(self.run.monitor)
        self.check_memory()
        self.is_sound = True

    def check_memory(self) -> None:
        """Nothing is kept of a segment after its final."""
        growing = {place: self.account.growing(place) for places in self.places.values() for place in places}
        if self.is_live:
            assert {*self.run._backlog._latest} <= set().union(*growing.values())
        for lane in self.lanes:
            place = "me" if lane.track == "me" else lane.language
            kept: list[Iterable[int]] = []
            if lane.stages:
                kept += [lane.stages[0]._drafts, lane.stages[2]._shown]
            if lane.track != "me":
                measures = self.run.monitor.measures(lane.language)
                kept += [measures.output_erasure._open, measures.caption_erasure._open, measures._lag._growing]
                if self.sampler:
                    kept.append([segment for language, segment in self.sampler._growing if language == place])
            assert set().union(*kept) <= growing[place]

    def teardown(self) -> None:
        if not hasattr(self, "run"):
            return
        try:
            if self.is_sound and self.is_killed:
                self.turns.sleep(self.chance.random())
                self.kill_and_resume()
            elif self.is_sound:
                self.end()
                self.is_right()
                self.check_end()
        finally:
            self.turns.kill()
            self.patch.undo()
            shutil.rmtree(self.folder)

    def end(self) -> None:
        for schedule in self.faults.values():
            schedule.always = None
        (self.run.stop if self.is_live else self.pipe.close)()
        try:
            has_ended = self.run.join(1000.0)
        except Exception as error:
            self.failure = error
        else:
            assert has_ended

    def check_end(self) -> None:
        self.turns.sleep(10.0)
        account = self.account
        notices = " ".join(notice.text for notice in account.of(Notice))
        lacking, hangs = account.lacking(self.places), "has not answered" in notices
        assert isinstance(account.events[-1], RunEnded)
        reason = "failed" if self.failure else "stopped" if self.is_live else "end of source"
        assert account.events[-1].reason == reason
        assert account.events[-1].ne_screen == self.run.monitor.snapshot().ne_screen
        assert hangs or not self.turns.others()
        assert not self.failure or "is loaded again" in notices
        assert all(updates[-1].final for updates in account.transcripts.values()) or self.failure
        if lacking:
            assert self.failure or hangs
            assert f"{len(lacking)} sentence" in notices or not self.is_live
        elif not self.failure:
            shown = {(one.segment_id, one.revision) for captions in account.captions.values() for _, one in captions}
            made = {(one.segment_id, one.revision) for updates in account.transcripts.values() for one in updates}
            assert shown | account.coalesced == made
        for track, sound in self.sound.items():
            whole, parts = numbers_in(sound)
            heard = numbers_of(final.text for final in account.finals if final.track == track)
            shown_whole = [number for number in heard if number in whole]
            assert parts.issuperset(heard)
            assert shown_whole == (whole[: len(shown_whole)] if self.failure or hangs else whole)
        recorded = [type(record.event) for record in read_records(self.folder / "session")]
        assert recorded == [type(event) for event in account.events]

    def kill_and_resume(self) -> None:
        """What a session holds after a kill, it holds after it is resumed; and all its sound is in finals."""
        folder = self.folder / "killed"
        shutil.copytree(self.folder / "session", folder)
        self.turns.kill()
        self.turns = Turns(self.chance.randint(0, 10**6))
        self.turns.patch(self.patch)
        before = [record.event for record in read_records(folder)]
        if not any(isinstance(event, RunStarted) for event in before):
            return
        for schedule in self.faults.values():
            schedule.clock, schedule.faults, schedule.always = self.turns, {}, None
        recorder = SessionRecorder(folder, append=True)
        has_failed = any(isinstance(event, Notice) and event.level == "error" for event in before)
        unfinished = read_unfinished(folder)
        rests = unheard_sound(unfinished, None, pytest.fail)
        listening = partial(open_rest, self.settings, self.turns, unfinished, rests)
        run = Resuming(self.settings, listening, self.open_translating, self.turns, [], [recorder])
        run.unfinished = unfinished
        run.start()
        assert run.join(1000.0)
        events = [record.event for record in read_records(folder)]
        assert events[: len(before)] == before
        finals = {event.segment_id: event for event in events if isinstance(event, Transcript) and event.final}
        shown = Counter(
            (event.segment_id, "me" if event.track == "me" else event.language)
            for event in events
            if isinstance(event, Caption) and event.final
        )
        for track, places in self.places.items():
            file = folder / (MICROPHONE_FILE if track == "me" else AUDIO_FILE)
            sound = np.frombuffer(file.read_bytes()[44:], "<i2") if file.exists() else np.zeros(0, np.int16)
            whole, parts = numbers_in([sound])
            heard = numbers_of(final.text for final in finals.values() if final.track == track)
            assert parts.issuperset(heard)
            said = [number for number in heard if number in whole]
            # The failure of a recogniser ends a final within a word.
            assert len(said) == len(set(said)) and len(set(whole) - set(said)) <= has_failed
            ids = [final.segment_id for final in finals.values() if final.track == track]
            assert all(shown[segment, place] == 1 for segment in ids for place in places)


def test_a_run_driven_at_random_is_right_at_every_step() -> None:
    few = profile(max_examples=8, stateful_step_count=20, deadline=None, derandomize=True, database=None)
    run_state_machine_as_test(RandomRun, settings=few)  # type: ignore[no-untyped-call]


@pytest.mark.long
def test_many_runs_driven_at_random() -> None:
    many = profile(max_examples=100, stateful_step_count=40, deadline=None, suppress_health_check=[*HealthCheck])
    run_state_machine_as_test(RandomRun, settings=many)  # type: ignore[no-untyped-call]
