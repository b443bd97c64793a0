"""The live run, in two threads.

    main thread            starts, stops and waits; owns the screen, if there is one
    listening thread       owns the source and the recogniser
    translating thread     owns the language model
    a thread for each sink writes to a file, a pipe or the screen, see `livetrans.run.publisher`

Listening and translating share the coalescer and the publisher, and nothing else. Ending is closing: the source ends,
the speech so far becomes captions, the threads end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from livetrans.clock import Clock
from livetrans.events import RunStarted, SettingChanged, Transcript
from livetrans.run.listening import Listening
from livetrans.run.runner import OpenListening, OpenTranslating, Run
from livetrans.run.translating import Translating, translate
from livetrans.session.outputs import Sink
from livetrans.translation.translator import LatestPerSegment


class Pipeline(Run):
    """A live run in two threads, with controls that may move from the main thread."""

    _threaded_sinks = True

    def __init__(
        self,
        open_listening: OpenListening,
        open_translating: OpenTranslating,
        clock: Clock,
        sinks: Sequence[Sink],
        records: Sequence[Sink] = (),
    ) -> None:
        super().__init__(open_listening, open_translating, clock, sinks, records)
        self._waiting = LatestPerSegment()
        self._translating: Translating | None = None
        self._source_has_ended = False
        self._is_paused = False
        self._settings: dict[str, str | float] = {}

    def pause(self, paused: bool) -> None:
        with self._change:
            self._is_paused = paused
            if self._listening:
                self._listening.pause(paused)
        self.publish(SettingChanged("paused", paused))

    def set_calm(self, name: str) -> None:
        """Take the settings of `livetrans.config.CALM[name]` from the next update on."""
        self._set("calm", name)

    def set_bias(self, bias: float) -> None:
        """Set the bias, 0..1, from the next update on."""
        self._set("bias", bias)

    def set_mask_k(self, k: int) -> None:
        """Set k of mask-k, k >= 0, from the next update on."""
        self._set("mask_k", k)

    def _set(self, name: str, value: str | float) -> None:
        with self._change:
            # Last, as it was moved last: a calm setting replaces the bias that was set before it.
            self._settings.pop(name, None)
            self._settings[name] = value
            if self._translating:
                self._translating.set(name, value)
        self.publish(SettingChanged(name, value))

    def _work(self) -> dict[str, Callable[[], None]]:
        return {"listening": self._listen, "translating": self._translate}

    def _listen(self) -> None:
        listening: Listening | None = None
        try:
            listening = self._open_listening(self.publish, self._publisher.record_sound)
            if not self._loaded():
                return
            with self._change:
                self._change.wait_for(lambda: self._translating or self._is_stopping)
                if self._is_stopping or not self._translating:
                    return
                self._listening = listening
                if self._is_paused:
                    listening.pause(True)
                signature = dict(self._translating.signature)
            self.publish(RunStarted(signature))
            for transcript in listening.transcripts:
                self._hand_over(transcript)
        finally:
            with self._change:
                self._source_has_ended = True
                self._change.notify_all()
            if listening:
                listening.close()

    def _hand_over(self, transcript: Transcript) -> None:
        self.publish(transcript)
        with self._change:
            replaced = self._waiting.put(transcript)
            self._change.notify_all()
        if replaced:
            self.publish(replaced)

    def _translate(self) -> None:
        translating = self._open_translating(self.publish)
        try:
            if not self._loaded():
                return
            with self._change:
                self._translating = translating
                for name, value in self._settings.items():  # Moved while models loaded.
                    translating.set(name, value)
                self._change.notify_all()
            while True:
                with self._change:
                    self._change.wait_for(lambda: self._waiting or self._source_has_ended or self._is_abandoned)
                    if not self._waiting:
                        return
                    transcript = self._waiting.take()
                translate(translating.translator, translating.presenter, transcript, self.publish)
        finally:
            translating.close()
