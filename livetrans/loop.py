"""The stages in one plain loop, without threads: the same input gives the same events, apart from measured times."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from livetrans.clock import Clock
from livetrans.events import RunStarted
from livetrans.publisher import Run
from livetrans.session.sink import Sink
from livetrans.sides import Hearing, TranslatingSide
from livetrans.stages import Publish, translate


class PlainLoop(Run):
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
        super().__init__(clock, sinks)
        self._hear = hear
        self._speak = speak
        self._hearing: Hearing | None = None

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
        self._end()
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
