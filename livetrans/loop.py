"""The stages in one plain loop, without threads: the same input gives the same events, apart from measured times."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from livetrans.clock import Clock
from livetrans.errors import sentence
from livetrans.events import Event, Notice, RunEnded, RunStarted, SourceProgress
from livetrans.publisher import Publisher
from livetrans.session.plain import OutputClosed
from livetrans.session.sink import Sink
from livetrans.sides import Hearing, TranslatingSide
from livetrans.stages import Publish, translate


class PlainLoop:
    """A run that takes what time it needs: `start` does nothing, `join` does everything, `stop` ends it from a
    signal.
    """

    def __init__(
        self,
        hear: Callable[[Publish], Hearing],
        speak: Callable[[Publish], TranslatingSide],
        clock: Clock,
        sinks: Sequence[Sink],
    ) -> None:
        self._hear = hear
        self._speak = speak
        self._publish = Publisher(clock, sinks, self._fail)
        self._hearing: Hearing | None = None
        self._stopping = False
        self._heard = 0.0
        self._failure: BaseException | None = None

    def start(self) -> None:
        """Nothing: there is no thread to start."""

    def stop(self) -> None:
        self._stopping = True
        if self._hearing:
            self._hearing.close()

    def join(self) -> None:
        """Hear, translate and show everything; raises what made the run fail, after the end was published."""
        try:
            self._run()
        except Exception as error:
            self._fail(error)
        reason = "failed" if self._failure else "stopped" if self._stopping else "end of source"
        self._publish(RunEnded(self._heard, reason))
        self._publish.close()
        if self._failure:
            raise self._failure

    def _run(self) -> None:
        self._hearing = hearing = self._hear(self._publish)
        try:
            if self._was_stopped():
                return
            side = self._speak(self._publish)
            try:
                if self._was_stopped():
                    return
                self._publish(RunStarted(side.signature))
                for transcript in hearing.transcripts(self._watch):
                    self._publish(transcript)
                    translate(side.translator, side.presenter, transcript, self._publish)
            finally:
                side.close()
        finally:
            hearing.close()

    def _was_stopped(self) -> bool:
        """Asked anew each time: a signal may come while models load."""
        return self._stopping

    def _watch(self, event: Event) -> None:
        if isinstance(event, SourceProgress):
            self._heard = event.heard
        self._publish(event)

    def _fail(self, error: BaseException) -> None:
        first = self._failure is None
        self.stop()
        if isinstance(error, OutputClosed):
            return
        if first:
            self._failure = error
            self._publish(Notice("error", sentence(error)))
