"""The parts of every run, and the run in one plain loop.

A run has threads that it may abandon while they load; it ends once, and publishes why.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass

from livetrans.base.clock import Clock
from livetrans.base.errors import SessionError, UsageError, sentence
from livetrans.config import UNNAMED, Settings, Term, with_field
from livetrans.events import Event, GlossaryRead, NameCorrected, Notice, RunEnded, RunStarted, Transcript
from livetrans.metrics.monitor import Monitor
from livetrans.names.file import changed_at, read_terms
from livetrans.names.repair import NameRepairs, with_correction
from livetrans.run.listening import Listening, OnAudio, Source
from livetrans.run.publisher import Publish, Publisher, SinkTooSlow
from livetrans.run.translating import Translating
from livetrans.session.recorder import SessionRecorder
from livetrans.session.sinks import OutputClosed, Sink, kept_in

OpenListening = Callable[[Publish, OnAudio], Listening]
"""Loads the listening side, on the thread that will own it; the sound goes to the second argument too."""
OpenTranslating = Callable[[Publish], Translating]
"""Loads the translating side, on the thread that will own it."""


class RecordIncomplete(SessionError):
    """All captions were shown, but not all were recorded."""


@dataclass(eq=False, repr=False)
class Run(ABC):
    """A run: its sinks, its threads, and its end.

    A failure on either side, or of a sink, ends the run: the speech so far is still finished and shown, and `join`
    raises the failure.
    """

    settings: Settings
    """Those that hold now: one object, which is replaced as a whole. Read by any thread."""
    _open_listening: OpenListening
    _open_translating: OpenTranslating
    _clock: Clock
    sinks: InitVar[Sequence[Sink]]
    records: InitVar[Sequence[Sink]] = ()
    """Sinks that the run can do without: captions continue if the disk is full."""
    capturing: Sequence[Source] = ()
    """What is heard while models load."""

    def __post_init__(self, sinks: Sequence[Sink], records: Sequence[Sink]) -> None:
        self._publisher = Publisher(self._clock, self._sink_failed)
        self._records = tuple(records)
        self.monitor = Monitor(self.settings)
        """Measures of the run, for its panel and its end."""
        for sink in (self.monitor, *records, *sinks):
            self._publisher.add(sink)
        self._repaired = NameRepairs(lambda: self.settings)
        self._corrected: list[NameCorrected] = []
        self._glossary_changed: tuple[int, int] | None = None
        self._change = threading.Condition()
        self._listening: Listening | None = None
        self.is_started = False
        self._is_stopping = False
        self._loading: set[str] = set()
        self._working: set[str] = set()
        self._failure: BaseException | None = None
        self._record_failure: BaseException | None = None
        self._ended = threading.Event()

    def add(self, sink: Sink) -> None:
        self._publisher.add(sink)

    def start(self, *sinks: Sink) -> None:
        """Start the threads, with further sinks; returns at once."""
        for sink in sinks:
            self.add(sink)
        work = self._work()
        self.is_started = True
        self._loading, self._working = set(work), set(work)
        for name, function in work.items():
            threading.Thread(target=self._guard, args=(name, function), name=name, daemon=True).start()
        threading.Thread(target=self._finish, name="ending", daemon=True).start()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end, or `timeout` seconds; return whether the run has ended.

        Raises:
            BaseException: what made the run fail, after its end was published.
            RecordIncomplete: the run went well, but for its record.
        """
        if not self.is_started:
            self._publisher.close()
            return True
        if not self._ended.wait(timeout):
            return False
        if self._failure:
            raise self._failure
        if self._record_failure:
            raise RecordIncomplete(f"The record of this run is incomplete. {self._record_failure}")
        return True

    def stop(self) -> None:
        """Stop listening, finish the speech so far, then end; a run that still loads ends at once. Returns at once.

        From any thread and any number of times, but not from a signal handler: it takes locks.
        """
        with self._change:
            self._is_stopping = True
            listening = self._listening
            self._change.notify_all()
        if listening:
            listening.close()

    def publish(self, event: Event) -> None:
        self._publisher(event)

    @abstractmethod
    def _work(self) -> dict[str, Callable[[], None]]:
        """Return the function of each thread, by the thread's name; each calls `_loaded` once, when it has loaded."""

    def _take_terms(self, terms: tuple[Term, ...]) -> None:
        self.settings = with_field(self.settings, "prompt.glossary", terms)
        if self._listening:
            self._listening.expect_words(tuple(term.text for term in terms))

    def _read_glossary(self) -> None:
        """Read the file of the glossary if it was changed, and say what is wrong with its lines."""
        path = self.settings.prompt.glossary_file
        changed = None if path == UNNAMED else changed_at(path)
        if changed in (None, self._glossary_changed):
            return
        self._glossary_changed = changed
        try:
            terms, faults = read_terms(path)
        except UsageError as error:
            self.publish(Notice("warning", f"{error}; the terms before are kept."))
            return
        for fault in faults:
            self.publish(Notice("warning", f"{fault}."))
        with self._change:
            for name in self._corrected:
                terms = with_correction(terms, name)
            if terms == self.settings.prompt.glossary:
                return
            self._take_terms(terms)
            self.publish(GlossaryRead(terms))

    @property
    def _is_abandoned(self) -> bool:
        """Whether the run was stopped while models load: a native call cannot be ended, so it is not waited for."""
        return self._is_stopping and bool(self._loading)

    def _loaded(self) -> bool:
        """Record that the calling thread has loaded its models; return whether the run goes on."""
        with self._change:
            if self._is_abandoned:
                return False
            self._loading.discard(threading.current_thread().name)
            self._change.notify_all()
            return True

    def _guard(self, name: str, work: Callable[[], None]) -> None:
        failure: BaseException | None = None
        try:
            work()
        except BaseException as error:
            failure = error
        with self._change:
            self._loading.discard(name)
        if failure:
            self._fail(failure)
        with self._change:
            self._working.discard(name)
            self._change.notify_all()

    def _finish(self) -> None:
        with self._change:
            self._change.wait_for(lambda: not self._working or self._is_abandoned)
        try:
            self._publish_end()
        except Exception as error:
            self._fail(error)
        self._publisher.close(lambda: self._is_stopping)
        self._ended.set()

    def _publish_end(self) -> None:
        for event in self._last_events():
            self._publisher(event)
        self._publisher.flush()  # A sink that fails at the last captions still gives the run its reason.
        reason = "failed" if self._failure else "stopped" if self._was_cut_off else "end of source"
        shown = self.monitor.measures(self.settings.target_language)
        self._publisher(
            RunEnded(
                self.monitor.heard,
                reason,
                shown.speedup.updates,
                shown.speedup.ratio,
                shown.screen.ratio,
                shown.speedup.ne_screen_retranslation,
                shown.speedup.ne_screen,
                shown.estimated_speedup.ratio,
            )
        )

    @property
    def _was_cut_off(self) -> bool:
        """Whether the user ended the run before all of its source was heard and translated."""
        return self._is_stopping and not (self._listening and self._listening.came_to_the_end)

    def _last_events(self) -> list[Event]:
        """Return the events to publish before the end, after the threads have ended."""
        return []

    def _sink_failed(self, sink: Sink, error: BaseException) -> None:
        if isinstance(error, OutputClosed):
            self.stop()  # The output has no reader: the run ends well, and its record is finished.
            return
        is_record = any(sink is record for record in self._records)
        if isinstance(error, SinkTooSlow):
            self.publish(Notice("warning", f"{error}."))
            self._record_failure = self._record_failure or (error if error.loses else None)
            return
        if not (is_record and isinstance(error, SessionError)):
            self._fail(error)
        else:
            with self._change:
                if not (isinstance(sink, SessionRecorder) and sink.kept):  # A session goes on without its sound.
                    self._records = tuple(one for one in self._records if one is not sink)
                kept = [name for one in self._records for name in kept_in(one)] or ["nothing else"]
            still = f"{' and '.join(kept)} {'is' if len(kept) == 1 else 'are'} still written"
            self.publish(Notice("warning", f"{str(error).rstrip('.')}; captions continue, and {still}."))
        if is_record and self._record_failure is None:
            self._record_failure = error

    def _fail(self, error: BaseException) -> None:
        """End the run; the first failure is published, and raised by `join`."""
        with self._change:
            is_first = self._failure is None
            if is_first:
                self._failure = error
        self.stop()
        if is_first:
            self.publish(Notice("error", sentence(error)))


class PlainLoop(Run):
    """A run in one loop, as fast as it goes: the same input gives the same events, apart from measured times.

    It has a thread of its own, so that the main thread can stop it even while it waits.
    """

    _translating: Translating | None = None

    def stop(self) -> None:
        super().stop()
        if self._translating:
            self._translating.ending.set()

    def _work(self) -> dict[str, Callable[[], None]]:
        return {"plain loop": self._run}

    def _run(self) -> None:
        listening = self._open_listening(self.publish, self._publisher.record_sound)
        translating: Translating | None = None
        try:
            translating = self._translating = self._open_translating(self.publish)
            self._listening = listening
            if not self._loaded():
                return
            self.publish(RunStarted(translating.signature, self.settings, listening.origin, time.time()))
            listening.repair_names(self._repaired)
            self._read_glossary()
            for transcript in map(self._repaired, listening.transcripts):
                self._take(transcript, translating)
        finally:
            listening.close()
            if translating:
                translating.close()

    def _take(self, transcript: Transcript, translating: Translating) -> None:
        self.publish(transcript)
        translating.translate(transcript, self.settings, self.publish)
