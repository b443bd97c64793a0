"""A source of live sound, which opens a lost capture again and marks what was not heard; and the microphone."""

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
from livetrans.audio.source import AudioChannel, Block
from livetrans.clock import Clock, seconds_asleep
from livetrans.errors import LivetransError
from livetrans.events import SAMPLE_RATE, AudioChunk, Gap, Notice

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUFFERED_SECONDS = 60
RETRY_SECONDS = (0.5, 1.0, 2.0, 3.0)
"""Seconds between attempts to open a lost capture; the last one repeats."""
SHORTEST_GAP = 0.5
"""Seconds; a shorter gap costs at most a word, and is counted in `skipped` only."""
_TICK = 0.5
SHORTEST_SLEEP = 1.0
"""Seconds: a longer sleep of the machine is a gap."""


class LiveSource:
    """Sound that is captured as it is heard, by a capture that is opened again when it is lost.

    A thread of its own opens the capture, takes its sound and resamples it; the rest runs in the thread that iterates.
    `start_sample` also counts the sound that was not heard (a lost device, a pause, a sleep of the machine, a
    suspension, sound dropped because the listener was a minute behind), so source time stays true. All of these but
    pauses are gaps. A subclass has the sentences, with `{}` for the name of what is captured.
    """

    gap_reason: str
    """Of a gap in which nothing could be captured."""
    now: str
    """Says what is captured since the system's choice changed."""
    lost: str
    """Says what to do while nothing can be captured."""
    back: str
    """Says that there is sound again, followed by how long there was none."""

    def __init__(
        self,
        capture: Capture,
        open_again: Callable[[], Capture],
        clock: Clock,
        notify: Callable[[Notice | Gap], None],
        asleep: Callable[[], float] = seconds_asleep,
    ) -> None:
        """`asleep`: seconds that the machine has slept, which `clock` does not count."""
        self.duration = None
        self.skipped = 0.0
        self._clock, self._asleep = clock, asleep
        self._notify = notify
        self._capture, self._open = capture, open_again
        self._channel = AudioChannel(BUFFERED_SECONDS * SAMPLE_RATE)
        self._paused = False
        self._closed = False
        self._woken: SimpleQueue[None] = SimpleQueue()
        self._position = 0
        self._heard_at: float | None = None
        self._asleep_before = asleep()
        self._lost: tuple[int, float, str] | None = None
        """Position and instant at which the sound was lost, and the reason of the gap."""
        self._loss_is_reported = False

    @property
    def name(self) -> str:
        """The name of what is captured, as the system lists it."""
        return self._capture.device

    def __iter__(self) -> Iterator[AudioChunk]:
        """Start listening. While the device is gone, empty chunks carry the source time."""
        threading.Thread(target=self._keep, name="livetrans-capture", daemon=True).start()
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
        """Capture and open again until closed; runs in the source's own thread."""
        while True:
            self._take_all()
            if self._closed:
                return
            ending = self._capture.ending()
            if self._lost is None:
                reason = SUSPENDED if ending == SUSPENDED else self.gap_reason
                self._lost = self._position, self._heard_at or self._now(), reason
                if ending is None:
                    self._report_loss()
            self._capture.close()
            if not self._open_again(at_once=ending is not None):
                return
            if ending == CHANGED:
                self._say("info", self.now)

    def _take_all(self) -> None:
        """Put sound into the channel until the capture ends."""
        rate, begun_at = self._capture.rate, self._now()
        resampler = None if rate == SAMPLE_RATE else Resampler()
        for captured in self._capture.blocks():
            if captured.absence is not None:
                self._lost = self._lost or (self._position, self._heard_at or begun_at, self.gap_reason)
                self._on_absence(captured.absence)
                continue
            gap = self._gap_before(captured, rate)
            samples = captured.samples if resampler is None else resampler.feed_samples(captured.samples, rate)
            captured_at = self._clock.now() - captured.age
            if not self._paused:
                self._on_sound(samples)
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
                self._say("info", f"{self.back} after {missing:.0f} s.")
            self._loss_is_reported = False
            return "sleep" if has_slept else reason
        lost = round(captured.lost_frames * SAMPLE_RATE / rate)
        self._position += lost
        self.skipped += lost / SAMPLE_RATE
        return "overflow" if lost else None

    def _on_sound(self, samples: NDArray[np.int16]) -> None:
        """Look at sound before it is passed on."""

    def _on_absence(self, absence: str) -> None:
        """Take note that the capture has nothing to capture now: `absence` is why."""

    def _say(self, level: str, template: str) -> None:
        self._notify(Notice(level, template.format(self._capture.device), self.gap_reason))

    def _report_loss(self) -> None:
        if not self._loss_is_reported:
            self._loss_is_reported = True
            self._say("warning", self.lost)

    def _open_again(self, *, at_once: bool) -> bool:
        """Try to open the capture until that succeeds; return False if the source was closed."""
        waits = (0.0, *RETRY_SECONDS) if at_once else RETRY_SECONDS
        for wait in chain(waits, repeat(waits[-1])):
            with suppress(Empty):
                self._woken.get(timeout=wait)
            if self._closed:
                break
            try:
                self._capture = self._open()
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
