"""The microphone: a source that opens a lost device again, and marks what was not heard."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain, repeat
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

import numpy as np

from livetrans.audio.capture import CHANGED, SUSPENDED, Capture, Captured
from livetrans.audio.file import Resampler
from livetrans.audio.portaudio import is_system_sound, zeros_advice
from livetrans.audio.source import AudioChannel, Block
from livetrans.clock import Clock, seconds_asleep
from livetrans.errors import LivetransError
from livetrans.events import SAMPLE_RATE, AudioChunk, Gap, Notice

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUFFERED_SECONDS = 60
RETRY_SECONDS = (0.5, 1.0, 2.0, 3.0)
"""Seconds between attempts to open a lost device; the last one repeats."""
SHORTEST_GAP = 0.5
"""Seconds; a shorter gap costs at most a word, and is counted in `skipped` only."""
_TICK = 0.5
_LOST = "The microphone '{}' gives no sound: plug it in, or restart the sound system; captions go on when it is back."
SHORTEST_SLEEP = 1.0
"""Seconds: a longer sleep of the machine is a gap."""

_UNNAMED = ("default", "pulse", "pipewire", "sysdefault")
"""Names of ALSA's ways to the sound server, which say nothing of a microphone."""
ZEROS_SECONDS = 5.0
"""Seconds of samples that are exactly 0 after which the user is warned: a room is never that quiet."""


class Microphone:
    """A microphone that is opened again when it is lost.

    A thread of its own opens the device, takes the sound from the capture and resamples it; the rest runs in the thread
    that iterates. `start_sample` also counts the sound that was not heard (a lost device, a pause, a sleep of the
    machine, a suspension, sound dropped because the listener was a minute behind), so source time stays true. All of
    these but pauses are gaps.
    """

    def __init__(
        self,
        device: str | int | None,
        clock: Clock,
        notify: Callable[[Notice | Gap], None],
        open_capture: Callable[[str | int | None, int | None], Capture] = Capture,
        asleep: Callable[[], float] = seconds_asleep,
    ) -> None:
        """`device`: a number, a part of a name, or None for the system's choice. Device errors are raised here.

        `asleep`: seconds that the machine has slept, which `clock` does not count.
        """
        self.duration = None
        self.skipped = 0.0
        self._clock, self._asleep = clock, asleep
        self._notify = notify
        self._open = open_capture
        self._capture = open_capture(device, None)
        # Its name, because numbers change when devices come and go.
        self._wanted = (None, None) if device is None else (self._capture.device, self._capture.number)
        self._channel = AudioChannel(BUFFERED_SECONDS * SAMPLE_RATE)
        self._paused = False
        self._closed = False
        self._woken: SimpleQueue[None] = SimpleQueue()
        self._position = 0
        self._heard_at: float | None = None
        self._asleep_before = asleep()
        self._lost: tuple[int, float, str] | None = None
        """Position and instant at which the device was lost, and the reason of the gap."""
        self._loss_is_reported = False
        self._zeros = 0
        """Frames since the last sample that was not 0."""

    @property
    def name(self) -> str:
        """The device's name, as the system lists it."""
        device = self._capture.device
        return f"microphone ({device})" if device in _UNNAMED else device

    def __iter__(self) -> Iterator[AudioChunk]:
        """Start listening. While the device is gone, empty chunks carry the source time."""
        threading.Thread(target=self._keep, name="livetrans-microphone", daemon=True).start()
        expected = 0
        while (blocks := self._channel.take(_TICK)) is not None:
            dropped = self._report_dropped()
            run: list[Block] = []
            for block in blocks:
                if block.start_frame != expected:
                    yield from _chunk(run)
                    run = []
                    reason = block.gap or ("too slow" if dropped else None)
                    if reason:
                        self._report(expected, block.start_frame, reason)
                run.append(block)
                expected = block.start_frame + len(block.samples)
            yield from _chunk(run)
            lost = self._lost
            if not blocks and lost is not None:
                # A second late: the device's first sound must not begin before this chunk.
                now = max(expected, self._position_now(*lost[:2]) - SAMPLE_RATE)
                yield AudioChunk(np.zeros(0, dtype=np.int16), now, self._clock.now())
        if lost := self._lost:
            self._report(expected, self._position_now(*lost[:2]), lost[2])

    def pause(self, paused: bool) -> None:
        """Stop or resume listening; audio is discarded meanwhile, and source time goes on."""
        self._paused = paused

    def close(self) -> None:
        self._closed = True
        self._channel.end()
        self._woken.put(None)
        self._capture.close()

    def _keep(self) -> None:
        """Capture and open again until closed; runs in the microphone's thread."""
        while True:
            self._take_all()
            if self._closed:
                return
            ending = self._capture.ending()
            if self._lost is None:
                reason = SUSPENDED if ending == SUSPENDED else "microphone"
                self._lost = self._position, self._heard_at or self._now(), reason
                if ending is None:
                    self._report_loss()
            self._capture.close()
            if not self._open_again(at_once=ending is not None):
                return
            if ending == CHANGED:
                self._notify(Notice("info", f"The microphone is now '{self._capture.device}'."))

    def _take_all(self) -> None:
        """Put sound into the channel until the device ends."""
        rate = self._capture.rate
        resampler = None if rate == SAMPLE_RATE else Resampler()
        for captured in self._capture.blocks():
            gap = self._gap_before(captured, rate)
            samples = captured.samples if resampler is None else resampler.feed_samples(captured.samples, rate)
            captured_at = self._clock.now() - captured.age
            if not self._paused:
                self._look_for_zeros(samples)
                self._channel.offer(Block(samples, self._position, captured_at, gap))
            self._position += len(samples)
            self._heard_at, self._asleep_before = captured_at + self._asleep(), self._asleep()

    def _gap_before(self, captured: Captured, rate: int) -> str | None:
        """Advance the position by the sound missing before a block; return the reason of the gap, if any."""
        has_slept = self._asleep() - self._asleep_before > SHORTEST_SLEEP
        if self._lost is not None or (has_slept and self._heard_at is not None):
            position, lost_at, reason = self._lost or (self._position, self._heard_at or 0.0, "sleep")
            missing = self._now() - captured.age - lost_at - len(captured.samples) / rate
            self._position = position + max(0, round(missing * SAMPLE_RATE))
            self._lost = None
            if reason == SUSPENDED:
                self._notify(Notice("info", f"livetrans was suspended; {missing:.0f} s were not heard."))
            elif self._loss_is_reported:
                self._notify(Notice("info", f"The microphone '{self._capture.device}' is back after {missing:.0f} s."))
            self._loss_is_reported = False
            return "sleep" if has_slept else reason
        lost = round(captured.lost_frames * SAMPLE_RATE / rate)
        self._position += lost
        self.skipped += lost / SAMPLE_RATE
        return "overflow" if lost else None

    def _look_for_zeros(self, samples: NDArray[np.int16]) -> None:
        """Report once that the device gives nothing but zeros, and once that it gives sound again."""
        before, limit = self._zeros, ZEROS_SECONDS * SAMPLE_RATE
        self._zeros = 0 if samples.any() else before + len(samples)
        device = f"The microphone '{self._capture.device}' gives"
        if is_system_sound(self._capture.device):
            return  # Zeros are a pause of what is played.
        if before < limit <= self._zeros:
            self._notify(Notice("warning", f"{device} nothing but zeros: {zeros_advice()}."))
        elif self._zeros < limit <= before:
            self._notify(Notice("info", f"{device} sound."))

    def _report_loss(self) -> None:
        if not self._loss_is_reported:
            self._loss_is_reported = True
            self._notify(Notice("warning", _LOST.format(self._capture.device)))

    def _open_again(self, *, at_once: bool) -> bool:
        """Try to open the device until it is back; return False if the microphone was closed."""
        waits = (0.0, *RETRY_SECONDS) if at_once else RETRY_SECONDS
        for wait in chain(waits, repeat(waits[-1])):
            with suppress(Empty):
                self._woken.get(timeout=wait)
            if self._closed:
                break
            try:
                self._capture = self._open(*self._wanted)
                self._zeros = 0
                break
            except LivetransError:
                self._report_loss()
        if self._closed:  # perhaps while it was opened
            self._capture.close()
        return not self._closed

    def _position_now(self, position: int, lost_at: float) -> int:
        """Return the position that a device would have reached that was lost at this position and instant."""
        return position + int((self._now() - lost_at) * SAMPLE_RATE)

    def _now(self) -> float:
        """Return the clock's time plus the time that the machine has slept."""
        return self._clock.now() + self._asleep()

    def _report_dropped(self) -> bool:
        dropped = self._channel.take_dropped_frames()
        if dropped:
            seconds = dropped / SAMPLE_RATE
            self.skipped += seconds
            self._notify(Notice("warning", f"Skipped {seconds:.1f} s of sound: this machine cannot keep up."))
        return dropped > 0

    def _report(self, begin: int, end: int, reason: str) -> None:
        if end - begin >= SHORTEST_GAP * SAMPLE_RATE:
            self._notify(Gap(begin / SAMPLE_RATE, end / SAMPLE_RATE, reason))


def _chunk(run: list[Block]) -> Iterator[AudioChunk]:
    """Join consecutive blocks into one chunk."""
    samples = np.concatenate([block.samples for block in run]) if run else ()
    if len(samples):
        yield AudioChunk(np.asarray(samples), run[0].start_frame, run[-1].captured_at)
