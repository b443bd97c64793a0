"""The live run, in two threads.

    main thread            starts, stops and waits; owns the screen, if there is one
    listening thread       owns the source and the recogniser
    translating thread     owns the language model
    watching thread        measures how far the run is behind, and sets what it leaves out
    a thread for each sink writes to a file, a pipe or the screen, see `livetrans.run.publisher`

Listening and translating share the coalescer and the publisher, and nothing else. Ending is closing: the source ends,
the speech so far becomes captions, the threads end.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from livetrans.base.clock import STANDSTILL_SECONDS
from livetrans.base.text import counted
from livetrans.captions import corrected_caption
from livetrans.config import Settings, after_key
from livetrans.events import (
    AudioChunk,
    BackPressure,
    Caption,
    Event,
    Gap,
    NameCorrected,
    Notice,
    RunStarted,
    SettingChanged,
    SourceProgress,
    Transcript,
)
from livetrans.lm.server.transport import SERVER
from livetrans.models.chosen import spoken_code
from livetrans.names.repair import with_correction
from livetrans.run.backpressure import (
    FINALS_FIRST,
    LEVELS,
    PARTIAL_SECONDS,
    SOUND_WAITS,
    Backlog,
    Ladder,
    LatestPerSegment,
)
from livetrans.run.listening import Listening
from livetrans.run.postponed import Postponed
from livetrans.run.runner import Run
from livetrans.run.translating import Translating
from livetrans.session.sinks import Sink

WATCH_SECONDS = 0.25
"""Seconds between two checks of how far the run is behind."""
HUNG_SECONDS = 30.0
"""A native call that takes longer may never return: a warning is published, and the end does not wait for it."""
AWAY_SECONDS = 8.0
"""A server that has been away for so long is not waited for at the end of a run."""
FINALS_IN_HAND = 1
"""Finals that may wait while the recogniser goes on, in the last level of back-pressure."""


class Pipeline(Run):
    """A live run in two threads, with controls that may move from the main thread."""

    def __post_init__(self, sinks: Sequence[Sink], records: Sequence[Sink]) -> None:
        super().__post_init__(sinks, records)
        self._waiting = LatestPerSegment()
        self._sound = Postponed[AudioChunk]()
        """What is to be recorded: a session begins with the settings of its run."""
        self._translating: Translating | None = None
        self._source_has_ended = False
        self._is_paused = False
        self._sources_at_first = self.settings.sources
        self._read: frozenset[str] = frozenset()
        self._ladder = Ladder()
        self._backlog = Backlog()
        self._has_advised = self._has_given_up = self._server_is_away = False
        self._hung: set[str] = set()
        self._sampling_since: float | None = None
        self._partial_at = -math.inf
        """Clock time at which the translator began with the last partial."""

    def pause(self, paused: bool) -> None:
        with self._change:
            self._is_paused = paused
            for source in (self._listening,) if self._listening else self.capturing:
                source.pause(paused)
        self.publish(SettingChanged("paused", paused))

    def change(self, key: str, value: str | float) -> Settings:
        """Set the setting of `key` as a key on the screen does; return the settings that hold from then on.

        Calm, bias and mask-k hold from the next update on, which language is shown at once, and the spoken language
        from the next pass on.
        """
        with self._change:
            self.settings = settings = after_key(self.settings, key, value)
            if key == "from" and self._listening:
                self._listening.expect_language(spoken_code(settings.source_language))
            if key == "calm" and self._listening:
                self._listening.be_cautious(settings.transcriber.caution)
            self.publish(SettingChanged(key, value))  # Here, so that events have the order of changes.
        return settings

    def force(self) -> str | None:
        """Force the other language of a conversation on the running stretch of speech, or take that back.

        Return the forced one, None without.
        """
        with self._change:
            language = self._listening.force() if self._listening else None
            self.publish(SettingChanged("forced", language or ""))
        return language

    def correct(self, name: NameCorrected) -> None:
        """Write a name as the reader says: in each update from now on, and in the captions so far."""
        with self._change:
            self._corrected.append(name)
            self._take_terms(with_correction(self.settings.prompt.glossary, name))
            self._repaired.correct()
            self.publish(name)

    def readers(self, languages: Iterable[str]) -> None:
        """Set the languages that are read besides the one that is shown; from any thread, whenever that changes.

        Growing captions in other languages come only while the run keeps up and no update waits. Finals always come.
        """
        self._read = frozenset(languages)

    def start(self, *sinks: Sink) -> None:
        super().start(*sinks)
        threading.Thread(target=self._guard, args=("watching", self._watch), name="watching", daemon=True).start()

    def _work(self) -> dict[str, Callable[[], None]]:
        return {"listening": self._listen, "translating": self._translate}

    def _listen(self) -> None:
        listening: Listening | None = None
        try:
            listening = self._open_listening(self.publish, self._sound)
            if not self._loaded():
                return
            with self._change:
                self._change.wait_for(lambda: self._translating or self._is_stopping)
                if self._is_stopping or not self._translating:
                    return
                self._listening = listening
                if self._is_paused:
                    listening.pause(True)
                if self.settings.sources != self._sources_at_first:
                    listening.expect_language(spoken_code(self.settings.source_language))
                listening.be_cautious(self.settings.transcriber.caution)
                signature = self._translating.signature
                self.publish(RunStarted(signature, self.settings, listening.origin, time.time()))
            self._sound.pass_to(self._publisher.record_sound)
            listening.repair_names(self._repaired)
            for transcript in map(self._repaired, listening.transcripts):
                self._hand_over(transcript)
        finally:
            with self._change:
                self._source_has_ended = True
                self._change.notify_all()
            if listening:
                listening.close()

    def publish(self, event: Event) -> None:
        """Publish an event; a gap waits among the updates, so that it follows the captions of the sound before it.

        The caption of an update that was heard before the reader corrected a name has the name too. Of a hung pass that
        came back, the progress is left out as its words are: resuming hears that sound again.
        """
        if isinstance(event, Notice) and event.about == SERVER:
            self._server_is_away = event.level == "warning"
        if not isinstance(event, Gap | Caption | SourceProgress):
            super().publish(event)
            return
        with self._change:  # No correction comes between the look at them and the caption.
            if isinstance(event, SourceProgress):
                if not self._source_has_ended:
                    super().publish(event)
                return
            if isinstance(event, Gap):
                self._waiting.put(event)
                self._change.notify_all()
                return
            for name in self._corrected:
                event = corrected_caption(event, name) or event
            super().publish(event)

    def _hand_over(self, transcript: Transcript) -> None:
        with self._change:
            if self._source_has_ended:
                return  # A hung pass that came back: its segment has its final already.
            self.publish(transcript)
            self._backlog.put(transcript, self._clock.now() - self._sound_behind())
            replaced = self._waiting.put(transcript)
            if replaced:
                self.publish(replaced)
            self._change.notify_all()

    def _translate(self) -> None:
        translating = self._open_translating(self.publish)
        try:
            if not self._loaded():
                return
            with self._change:
                self._translating = translating
                self._change.notify_all()
            while (update := self._next()) is not None:
                if isinstance(update, Gap):
                    super().publish(update)
                    continue
                translating.translate(update, self.settings, self.publish, read=self._read, has_time=self._keeps_up)
                with self._change:
                    self._backlog.done(self._clock.now())
        finally:
            translating.close()

    def _next(self) -> Transcript | Gap | None:
        """Wait for the next update or gap, and return it; None at the end.

        In a run that keeps up, the time until then is used to measure the speedup.
        """
        sampler = self._translating.sampler if self._translating else None
        while True:
            with self._change:
                rest = sampler.rest() if sampler and not self._ladder.level else None
                if self._change.wait_for(self._has_work, rest):
                    update = self._waiting.take(partials=self._takes_partials())
                    if isinstance(update, Transcript):
                        self._backlog.take(update, self._clock.now())
                        self._partial_at = self._partial_at if update.final else self._clock.now()
                    return update
            if sampler and not self._ladder.level:
                self._sampling_since = self._clock.now()
                sampler.work(self._interrupts_sampling)
                self._sampling_since = None

    def _keeps_up(self) -> bool:
        with self._change:
            return not self._ladder.level and self._waiting.first() is None

    def _has_work(self) -> bool:
        is_due = self._waiting.first(partials=self._takes_partials()) is not None
        return is_due or self._source_has_ended or self._is_abandoned

    def _interrupts_sampling(self) -> bool:
        with self._change:
            return self._has_work() or self._ladder.level > 0

    def _takes_partials(self) -> bool:
        if self._ladder.level < FINALS_FIRST or self._source_has_ended or self._is_abandoned:
            return True
        is_due = self._clock.now() - self._partial_at >= PARTIAL_SECONDS and not self._backlog.finals
        return is_due and self._ladder.level < SOUND_WAITS

    def _watch(self) -> None:
        """Check a few times a second how far the run is behind, and whether a native call hangs."""
        shown, now, woke_at, has_begun = 0, self._clock.now(), -math.inf, False
        while not self._ended.is_set():
            self._clock.sleep(WATCH_SECONDS)
            before, now = now, self._clock.now()
            if now - before > STANDSTILL_SECONDS:
                woke_at = now  # Delays are counted from then on.
            with self._change:
                listener = self._listening.listener if self._listening else None
                if listener and not has_begun:
                    has_begun, woke_at = True, now + listener.behind  # as long as models loaded, to catch up
                behind = min(max(self._backlog.behind(now), self._sound_behind()), max(now - woke_at, 0.0))
                has_changed = self._ladder.update(behind, now)
                level = self._ladder.level
                holds = level >= SOUND_WAITS and self._backlog.finals > FINALS_IN_HAND and not self._is_stopping
                holds = holds and not self.settings.language_model.server  # Which takes no time of this machine.
                self._change.notify_all()  # Partials may be taken again.
            if listener:
                listener.pass_factor = LEVELS[level].pass_factor
                listener.hold(holds)
            if has_changed or (level and round(behind) != shown):
                shown = round(behind)
                self.publish(BackPressure(LEVELS[level].name, behind))
            if has_changed and level == FINALS_FIRST and not (self._has_advised or self._server_is_away):
                self._has_advised = True
                self.publish(Notice("warning", self._advice()))
            self._look_for_hangs(now, woke_at)
            if self._listening:
                self._read_glossary()

    def _sound_behind(self) -> float:
        listener = self._listening.listener if self._listening else None
        return listener.behind if listener else 0.0

    def _advice(self) -> str:
        if server := self.settings.language_model.server:
            return f"The translator at {server} is too slow; take a smaller model or a faster machine there."
        cost = self._backlog.real_time_factor
        if self._backlog.finals <= FINALS_IN_HAND:
            return "This machine is too slow for the recogniser; `livetrans models pull` finds one that keeps up."
        needs = f" (it takes {cost:.1f} s for a second of speech)" if cost and cost > 1 else ""
        return f"This machine is too slow for the translator{needs}; try a smaller one with --mt."

    def _look_for_hangs(self, now: float, woke_at: float) -> None:
        """Report calls that do not return; a stopped run does not wait for them."""
        translating_since = self._sampling_since if self._backlog.began is None else self._backlog.began
        calls = {
            "listening": ("recogniser", self._listening.pass_began if self._listening else None),
            "translating": ("translator", translating_since),
        }
        for thread, (stage, began) in calls.items():
            gives_up_soon = thread == "translating" and self._server_is_away and self._is_stopping
            if began is None or now - max(began, woke_at) < (AWAY_SECONDS if gives_up_soon else HUNG_SECONDS):
                self._hung.discard(thread)
                continue
            if thread not in self._hung:
                self._hung.add(thread)
                if thread == "translating" and self.settings.language_model.server:
                    continue  # Of a server that is away this is said already, and only while it is.
                silent = f"The {stage} has not answered for {now - began:.0f} s"
                self.publish(Notice("warning", f"{silent}; ending the run keeps all that was heard."))
            if self._is_stopping:
                self._give_up(thread)

    def _give_up(self, thread: str) -> None:
        """End the run without a thread whose native call does not return; the speech so far becomes a final."""
        with self._change:
            if thread not in self._working:
                return
            for last in self._backlog.unfinished if thread == "listening" and not self._source_has_ended else ():
                self._hand_over(last.as_final())
            self._source_has_ended = self._source_has_ended or thread == "listening"
            self._has_given_up = True
            self._working.discard(thread)
            self._change.notify_all()

    @property
    def _was_cut_off(self) -> bool:
        return super()._was_cut_off or self._has_given_up

    def _last_events(self) -> list[Event]:
        """Return the gaps that a failed or hanging translator left, and a notice of its untranslated sentences.

        The sound of a run that ended before its models were loaded is recorded first, for `resume`.
        """
        if self._listening is None and self._publisher.records_sound:
            self.publish(RunStarted({}, self.settings, None, time.time()))
            self._sound.pass_to(self._publisher.record_sound)
        with self._change:
            waiting = list(self._waiting)
            left = self._backlog.finals
        events: list[Event] = [item for item in waiting if isinstance(item, Gap)]
        if left:
            count = f"{counted(left, 'sentence')} {'was' if left == 1 else 'were'}"
            text = f"{count} not translated: `livetrans resume` translates them from the session."
            events.append(Notice("warning", text))
        return events
