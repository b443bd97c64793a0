"""Live sound: a microphone, or what the computer plays. A lost capture is opened again; gaps are marked."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from itertools import chain, count, repeat
from queue import Empty, SimpleQueue

import numpy as np
from numpy.typing import NDArray

from livetrans.audio.capture import DEAD_SECONDS, OUTPUT, Capture
from livetrans.audio.file import Resampler
from livetrans.audio.portaudio import ON_A_MAC, is_system_sound, zeros_advice
from livetrans.audio.pulse import NO_PROGRAM, NO_SERVER, QUIET_SECONDS, list_played
from livetrans.base.clock import Clock
from livetrans.base.errors import LivetransError
from livetrans.events import SAMPLE_RATE, AudioChunk, Gap, GapReason, Notice

RETRY_SECONDS = (0.5, 1.0, 2.0, 3.0)
"""Seconds between attempts to open a lost capture; the last one repeats."""
SHORTEST_GAP = 0.5
"""Seconds. A shorter gap costs at most a word and is filled with zeros."""
SHORTEST_PAUSE = 1.0
"""Seconds. A shorter pause of the user's is not marked."""
LATE_SECONDS = 0.04
"""From this delay on, a block is either late (the machine was busy) or comes after a pause."""
HOLD_SECONDS = 0.25
"""Sound at its pace after a late block that decides: a machine that was busy gives what it owes faster than that, at
once or in parts, and a program that paused gives sound as it plays it."""
LONGEST_HOLD_SECONDS = 1.0
"""Time after a late block that decides in any case: some sound has no pace."""
NEAR_SECONDS = 0.02
"""Sound this near to its place by the clock follows what came before, unchanged."""
EARLY_SECONDS = 1.0
"""Sound that would begin earlier than this is cut. It comes of a device with a wrong rate."""
SLOWER, FASTER = 0.001, 0.02
"""Largest share of a block by which it is stretched or shortened to follow the clock. Device clocks differ by less than
the first; the second corrects a delay that was taken for a pause."""
FORGET = 0.002
"""Rate, in seconds a second, at which the smallest delay rises if no block comes with it: faster than clocks drift
apart, and slow enough that a busy machine's delays leave the sound as it is."""
EMPTY_DELAY_SECONDS = 1.0
"""Empty chunks are placed this long before now: the sound that follows may have been captured that early."""


class SourceTime:
    """Places captured sound in source time, which is the clock's since `began_at`.

    The position of a block follows from the instant of its capture, so that pauses, lost frames, sleep of the machine
    and a device whose clock runs fast or slow need no account of their own. A block can be late, but never early.
    """

    def __init__(self, began_at: float) -> None:
        """`began_at`: the clock's time at source time 0."""
        self._began_at = began_at
        self.position = 0
        """Sample at which the next sound starts at the earliest."""
        self._held: list[tuple[NDArray[np.int16], float]] = []
        self._fed = 0
        self._pace = self._paced = 0
        """How late a recent block came, in samples by those fed, and how many came as late since then."""
        self._delay = 0.0
        """Smallest recent delay of a block, in samples by its place; negative if the places are too late."""
        self._owed = 0.0
        """Samples to add (or to remove, if negative) that are not a whole one yet."""

    def feed(self, samples: NDArray[np.int16], captured_at: float) -> list[AudioChunk]:
        """Take a block whose last sample was captured at `captured_at`; return the chunks that are placed."""
        if len(samples):
            self._held.append((samples, captured_at))
            self._fed += len(samples)
            late = round((captured_at - self._began_at) * SAMPLE_RATE) - self._fed
            self._paced += len(samples)
            if abs(late - self._pace) > NEAR_SECONDS * SAMPLE_RATE:
                self._pace, self._paced = late, 0
        return self._decided()

    def flush(self) -> list[AudioChunk]:
        return self._decided(at_once=True)

    def _decided(self, *, at_once: bool = False) -> list[AudioChunk]:
        """Place the held blocks in order, up to a late one after which too little came to decide."""
        chunks = []
        while self._held:
            late = self._late()
            if late > LATE_SECONDS * SAMPLE_RATE:
                has_pace = self._paced >= HOLD_SECONDS * SAMPLE_RATE
                if not (at_once or has_pace or self._held[-1][1] - self._held[0][1] >= LONGEST_HOLD_SECONDS):
                    break
                self._move_to(self.position + late)
                late = 0
            chunks.append(self._placed(self._held.pop(0)[0], late))
        return chunks

    def skip_to(self, instant: float) -> AudioChunk:
        """Return an empty chunk at `instant`: no sound from before it comes any more."""
        self._move_to(max(self.position, round((instant - self._began_at) * SAMPLE_RATE)))
        return self._chunk(np.zeros(0, np.int16))

    def _move_to(self, position: int) -> None:
        if position > self.position:
            self.position, self._delay = position, 0.0

    def _late(self) -> int:
        """Return by how many samples the held blocks are late, by the one that is least late."""
        end, least = self.position, None
        for samples, captured_at in self._held:
            end += len(samples)
            late = round((captured_at - self._began_at) * SAMPLE_RATE) - end
            least = late if least is None else min(least, late)
        return least or 0

    def _placed(self, samples: NDArray[np.int16], late: int) -> AudioChunk:
        """Return the chunk of a block that is late by as many samples."""
        if late < -EARLY_SECONDS * SAMPLE_RATE:
            samples, late, self._delay = samples[-late:], 0, 0.0
        self._delay = min(self._delay + FORGET * len(samples), late)
        drift = self._delay - np.clip(self._delay, -NEAR_SECONDS * SAMPLE_RATE, NEAR_SECONDS * SAMPLE_RATE)
        self._owed += float(np.clip(drift, -FASTER * len(samples), SLOWER * len(samples)))
        change, self._owed = int(self._owed), math.fmod(self._owed, 1.0)
        samples = _resized(samples, len(samples) + change)
        self._delay -= change
        chunk = self._chunk(samples)
        self.position += len(samples)
        return chunk

    def _chunk(self, samples: NDArray[np.int16]) -> AudioChunk:
        end = self.position + len(samples)
        return AudioChunk(samples, self.position, self._began_at + end / SAMPLE_RATE)


def _resized(samples: NDArray[np.int16], length: int) -> NDArray[np.int16]:
    """Return sound stretched or shortened to `length` samples, by linear interpolation."""
    if length == len(samples):
        return samples
    places = np.linspace(0, len(samples) - 1, length)
    return np.rint(np.interp(places, np.arange(len(samples)), samples)).astype(np.int16)


class LiveSource:
    """Sound captured as it is heard, by a capture that is opened again when it is lost.

    `start_sample` follows the clock (`SourceTime`), also while nothing is heard. What was not heard is a gap.
    Subclasses have the sentences, with `{}` for the name of what is captured.
    """

    gap_reason: GapReason
    """Reason of a gap in which nothing could be captured."""
    shortest_pause = SHORTEST_GAP
    """Seconds without sound from which a gap is marked although the capture reported nothing."""
    lost: str
    """Says what to do while nothing can be captured."""
    back: str
    """Says that there is sound again. It is followed by how long there was none."""

    def __init__(
        self, capture: Capture, open_again: Callable[[], Capture], clock: Clock, notify: Callable[[Notice | Gap], None]
    ) -> None:
        self.duration = None
        self.skipped = 0.0
        self._clock = clock
        self._notify = notify
        self._capture, self._open = capture, open_again
        self._time = SourceTime(clock.now())
        self._paused = False
        self._closed = False
        self._is_opening = False
        self._ends = count()
        self._woken: SimpleQueue[None] = SimpleQueue()
        self._has_heard = False
        self._heard_until = 0
        """Sample at which the last sound ended."""
        self._silent_because: GapReason | None = None
        """Reason of the gap that is open; None while sound comes."""
        self._absence: str | None = None
        self._captured_until = 0
        """Sample at which the last sound ended that was captured, also while the user has paused."""
        self._lost_from: int | None = None
        """Sample from which the loss counts that was reported and has no end yet."""

    @property
    def device(self) -> str:
        """The name of what is captured, as the system lists it."""
        return self._capture.device

    @property
    def name(self) -> str:
        return self.device

    def __iter__(self) -> Iterator[AudioChunk]:
        """Start listening; source time begins now. Empty chunks carry source time while nothing is captured."""
        self._time = SourceTime(self._clock.now())
        while True:
            yield from self._read_capture()
            was_suspended = self._capture.was_suspended()
            if was_suspended:
                self._silent_because = GapReason.SUSPENDED
            if self._closed:
                break
            self._silent_because = self._silent_because or self.gap_reason
            if not was_suspended:
                self._report_loss()
            self._capture.close()
            if not (yield from self._open_again(at_once=was_suspended)):
                break
        self._report_end()

    def pause(self, paused: bool) -> None:
        """Stop or resume listening; sound is discarded meanwhile, and source time goes on."""
        self._paused = paused

    def close(self) -> None:
        self._closed = True
        self._woken.put(None)
        self._capture.close()
        if self._is_opening:
            self._report_end()  # Opening may take seconds, and the run does not wait for it.

    def _report_end(self) -> None:
        """Report, once, the gap that is open at the end."""
        if next(self._ends) == 0 and self._silent_because and self._has_heard:
            self._report_gap(self._time.skip_to(self._clock.now()).start_sample)

    def _read_capture(self) -> Iterator[AudioChunk]:
        rate = self._capture.rate
        resampler = None if rate == SAMPLE_RATE else Resampler()
        for captured in self._capture.blocks():
            if captured.absence is not None:
                yield from self._passed(self._time.flush())
                self._silent_because = self._silent_because or self.gap_reason
                if captured.absence != self._absence:
                    self._absence = captured.absence
                    self._on_absence(captured.absence)
                yield self._empty()
                continue
            self._absence = None
            captured_at = self._clock.now() - captured.age
            samples = captured.samples if resampler is None else resampler.feed_samples(captured.samples, rate)
            yield from self._passed(self._time.feed(samples, captured_at))
        yield from self._passed(self._time.flush())

    def _passed(self, chunks: list[AudioChunk]) -> Iterator[AudioChunk]:
        """Yield the chunks that are heard, after a gap or zeros for what is missing before each."""
        for chunk in chunks:
            if self._lost_from is not None:
                gone = (chunk.start_sample - self._lost_from) / SAMPLE_RATE
                self._say("info", f"{self.back} after {gone:.{0 if gone >= 1 else 1}f} s.")
                self._lost_from = None
            self._captured_until = chunk.start_sample + len(chunk.samples)
            if self._paused:
                self._silent_because = self._silent_because or GapReason.PAUSED
                continue
            missing = (chunk.start_sample - self._heard_until) / SAMPLE_RATE
            if self._silent_because or missing >= self.shortest_pause:
                self._on_sound_after(missing, chunk.start_sample)
            elif missing > 0:
                zeros = np.zeros(chunk.start_sample - self._heard_until, np.int16)
                chunk = AudioChunk(np.concatenate([zeros, chunk.samples]), self._heard_until, chunk.captured_at)
            self._heard_until = chunk.start_sample + len(chunk.samples)
            self._on_sound(chunk.samples)
            self._has_heard = True
            yield chunk

    def _on_sound_after(self, missing: float, start_sample: int) -> None:
        """Report a gap of `missing` seconds before the sample at which sound starts again."""
        reason = self._silent_because
        if reason is None:
            # A capture without sound for longer has ended: the machine slept.
            reason = self._silent_because = GapReason.OVERFLOW if missing < DEAD_SECONDS else GapReason.SLEEP
        if self._has_heard and reason == GapReason.OVERFLOW:
            self.skipped += missing
        if reason == GapReason.SUSPENDED:
            self._notify(Notice("info", f"livetrans was suspended; {missing:.0f} s were not heard."))
        if self._has_heard:
            self._report_gap(start_sample)
        self._silent_because = None

    def _report_gap(self, end: int) -> None:
        """Publish the gap from the last sound to the sample `end`."""
        shortest = SHORTEST_PAUSE if self._silent_because == GapReason.PAUSED else SHORTEST_GAP
        if self._silent_because and end - self._heard_until >= shortest * SAMPLE_RATE:
            self._notify(Gap(self._heard_until / SAMPLE_RATE, end / SAMPLE_RATE, self._silent_because))

    def _empty(self) -> AudioChunk:
        return self._time.skip_to(self._clock.now() - EMPTY_DELAY_SECONDS)

    def _on_sound(self, samples: NDArray[np.int16]) -> None:
        """Look at sound before it is passed on."""

    def _on_absence(self, absence: str) -> None:
        """Note that the capture has nothing to capture now; `absence` says why."""

    def _say(self, level: str, template: str) -> None:
        self._notify(Notice(level, template.format(self._capture.device), self.gap_reason))

    def _report_loss(self) -> None:
        if self._lost_from is None:
            self._lost_from = self._captured_until
            self._say("warning", self.lost)

    def _open_again(self, *, at_once: bool) -> Generator[AudioChunk, None, bool]:
        """Try to open the capture until that succeeds, with an empty chunk per attempt; return False once closed."""
        waits = (0.0, *RETRY_SECONDS) if at_once else RETRY_SECONDS
        for wait in chain(waits, repeat(waits[-1])):
            with suppress(Empty):
                self._woken.get(timeout=wait)
            self._is_opening = True
            if self._closed:
                break
            try:
                self._capture = self._open()
                break
            except LivetransError:
                self._report_loss()
            finally:
                self._is_opening = False
            yield self._empty()
        if self._closed:  # perhaps while it was opened
            self._capture.close()
        return not self._closed


_UNNAMED = ("default", "pulse", "pipewire", "sysdefault")
"""ALSA's names for the sound server, which do not identify a microphone."""
ZEROS_SECONDS, LATER_ZEROS_SECONDS = 5.0, 60.0
"""Seconds of samples that are exactly 0 after which the user is warned, before any sound and after some: no room is
that quiet, but some microphones give zeros between words."""


class Microphone(LiveSource):
    """A microphone, or another device that records."""

    gap_reason = GapReason.MICROPHONE
    lost = "The microphone '{}' gives no sound: plug it in, or restart the sound system. Captions continue afterwards."
    back = "The microphone '{}' is back"

    def __init__(
        self,
        device: str | int | None,
        clock: Clock,
        notify: Callable[[Notice | Gap], None],
        open_capture: Callable[[str | int | None, int | None], Capture] = Capture,
    ) -> None:
        """`device`: a number, a part of a name, or None for the system's choice. Device errors are raised here."""
        capture = open_capture(device, None)
        # Its name, because numbers change when devices come and go.
        wanted = (None, None) if device is None else (capture.device, capture.number)
        self._zeros = 0
        """Frames since the last sample that was not 0."""
        self._gave_sound = False

        def open_again() -> Capture:
            self._zeros, self._gave_sound = 0, False
            return open_capture(*wanted)

        super().__init__(capture, open_again, clock, notify)

    @property
    def name(self) -> str:
        device = self._capture.device
        return f"microphone ({device})" if device in _UNNAMED else device

    def hears_output(self, output: str) -> bool:
        """Return whether it gives the sound of the output of this name, or of the default one."""
        device = self._capture.device
        is_unnamed = device in _UNNAMED and not ON_A_MAC
        return (
            device in (output, f"Monitor of {output}")
            or (ON_A_MAC and is_system_sound(device))
            or (is_unnamed and any(one.default and one.is_microphone for one in list_played()[0]))
        )

    def _on_sound(self, samples: NDArray[np.int16]) -> None:
        """Report once that the device gives only zeros, and once that it gives sound again."""
        before, limit = self._zeros, (LATER_ZEROS_SECONDS if self._gave_sound else ZEROS_SECONDS) * SAMPLE_RATE
        self._zeros = 0 if samples.any() else before + len(samples)
        self._gave_sound = self._gave_sound or self._zeros == 0
        device = f"The microphone '{self._capture.device}' gives"
        if is_system_sound(self._capture.device):
            return  # Zeros are a pause in what is played.
        if before < limit <= self._zeros:
            self._notify(Notice("warning", f"{device} nothing but zeros: {zeros_advice()}.", "zeros"))
        elif self._zeros < limit <= before:
            self._notify(Notice("info", f"{device} sound.", "zeros"))


class Playback(LiveSource):
    """What the default output plays, or one program of it. A program that does not play yet is waited for."""

    gap_reason = GapReason.OUTPUT
    shortest_pause = QUIET_SECONDS
    lost = (
        "What this computer plays cannot be heard: "
        f"{'`livetrans doctor` says why' if ON_A_MAC else 'restart the sound server'}. Captions continue afterwards."
    )
    back = "What this computer plays is heard again"

    def __init__(
        self,
        program: str | None,
        clock: Clock,
        notify: Callable[[Notice | Gap], None],
        open_capture: Callable[[str | None, None, str], Capture] = Capture,
    ) -> None:
        """`program`: a part of its name, or None for all that is played."""
        capture = open_capture(program, None, OUTPUT)
        self._program = None if program is None else capture.device
        self._is_awaited = False
        super().__init__(capture, lambda: open_capture(self._program, None, OUTPUT), clock, notify)

    @property
    def name(self) -> str:
        return self._program or f"output ({self._capture.device})"

    def _on_sound(self, samples: NDArray[np.int16]) -> None:
        if self._is_awaited:
            self._is_awaited = False
            self._notify(Notice("info", f"'{self._program}' is playing now.", self.gap_reason))

    def _on_absence(self, absence: str) -> None:
        """Report a sound server that is gone, and a program that does not play."""
        if absence == NO_SERVER or (absence == NO_PROGRAM and self._program is None):
            self._report_loss()
        elif absence == NO_PROGRAM and self._has_heard:
            self._notify(Notice("info", f"'{self._program}' has stopped playing. Captions continue with it."))
        elif absence == NO_PROGRAM:
            self._is_awaited = True
            waiting = f"'{self._program}' plays nothing yet: captions begin when it does"
            self._notify(Notice("warning", f"{waiting}; `livetrans devices` lists what plays now.", self.gap_reason))
