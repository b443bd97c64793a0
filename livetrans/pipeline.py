"""Threads, channels, shutdown: the only module that starts threads for stages.

Listening owns the source and the recogniser, translating owns the language model; they share the coalescer and
`publish`, and nothing else. Ending is closing: the source ends, what was heard flows to the last caption, the threads
join.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from livetrans.clock import Clock
from livetrans.events import RunStarted, SettingChanged
from livetrans.publisher import Run
from livetrans.session.sink import Sink
from livetrans.sides import Hearing, TranslatingSide
from livetrans.stages import Publish, translate
from livetrans.translation.coalescing import LatestPerSegment


class Pipeline(Run):
    """A run in two threads. `start` returns at once; models load on the threads that will own them.

    `hear` and `speak` build the two sides and are called on their threads. A failure on either side ends the run: what
    was heard is still finished and shown, and `join` raises it.
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
        self._waiting = LatestPerSegment()
        self._change = threading.Condition()
        self._hearing: Hearing | None = None
        self._translation: TranslatingSide | None = None
        self._heard_all = False
        self._paused = False
        self._wanted: dict[str, float] = {}
        self._threads = [
            threading.Thread(target=self._guard, args=(self._listen,), name="listening", daemon=True),
            threading.Thread(target=self._guard, args=(self._translate,), name="translating", daemon=True),
        ]
        self._ended = threading.Event()

    def start(self, *sinks: Sink) -> None:
        """Start both threads, with further sinks; returns at once."""
        for sink in sinks:
            self._publish.add(sink)
        for thread in self._threads:
            thread.start()
        threading.Thread(target=self._finish, name="ending", daemon=True).start()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end, or `timeout` seconds; raises what made the run fail."""
        if timeout is None:
            # Waiting in slices keeps the main thread open to signals.
            while not self._ended.wait(0.1):
                pass
        else:
            self._ended.wait(timeout)
        if self._failure:
            raise self._failure

    def stop(self) -> None:
        with self._change:
            self._stopping = True
            hearing = self._hearing
            self._change.notify_all()
        if hearing:
            hearing.close()

    def pause(self, paused: bool) -> None:
        with self._change:
            self._paused = paused
            if self._hearing:
                self._hearing.pause(paused)
        self._publish(SettingChanged("paused", paused))

    def set_bias(self, bias: float) -> None:
        self._set("bias", bias)

    def set_mask_k(self, k: int) -> None:
        self._set("mask_k", k)

    def _set(self, name: str, value: float) -> None:
        with self._change:
            self._wanted[name] = value
            translation = self._translation
        if translation:
            self._apply(translation)
        self._publish(SettingChanged(name, value))

    def _apply(self, translation: TranslatingSide) -> None:
        if "bias" in self._wanted:
            translation.translator.bias = self._wanted["bias"]
        if "mask_k" in self._wanted:
            translation.presenter.k = int(self._wanted["mask_k"])
            translation.translator.set_mask_k(int(self._wanted["mask_k"]))

    def _listen(self) -> None:
        try:
            hearing = self._hear(self._publish)
            with self._change:
                self._hearing = hearing
                self._change.notify_all()
                self._change.wait_for(lambda: self._translation or self._stopping)
                if self._stopping:
                    return
                translation = self._translation
                if self._paused:
                    hearing.pause(True)
                # Controls that moved while models loaded hold from the start.
                wanted = dict(self._wanted)
            if translation:
                self._publish(RunStarted({**translation.signature, **wanted}))
            for transcript in hearing.transcripts(self._watch):
                self._publish(transcript)
                with self._change:
                    replaced = self._waiting.put(transcript)
                    self._change.notify_all()
                if replaced:
                    self._publish(replaced)
        finally:
            with self._change:
                self._heard_all = True
                self._change.notify_all()
            if self._hearing:
                self._hearing.close()

    def _translate(self) -> None:
        translation = self._speak(self._publish)
        try:
            with self._change:
                self._translation = translation
                self._apply(translation)
                self._change.notify_all()
            while True:
                with self._change:
                    self._change.wait_for(lambda: self._waiting or self._heard_all)
                    if not self._waiting:
                        return
                    transcript = self._waiting.take()
                translate(translation.translator, translation.presenter, transcript, self._publish)
        finally:
            translation.close()

    def _guard(self, run: Callable[[], None]) -> None:
        try:
            run()
        except BaseException as error:
            self._fail(error)

    def _finish(self) -> None:
        for thread in self._threads:
            thread.join()
        self._end()
        self._ended.set()
