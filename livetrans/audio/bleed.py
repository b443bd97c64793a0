"""Sound of the loudspeaker in the microphone, which must not be heard a second time as the user's speech.

The levels of a few bands, 50 times a second, rise and fall in the microphone as they did in what was played, if that is
what the microphone hears: their correlation does not depend on loudness, and little on the room. Where they correlate
and the microphone is no louder than the learned gain of the room explains, its sound is replaced by silence. The
user's own speech does not correlate, and is louder than the bleed where both come together: that sound is kept, less
what an echo canceller can subtract (`livetrans.audio.echo`).

The rule is this project's own. Its thresholds come from recordings of the tree and real ones in synthetic rooms
(docs/design.md, "Sound").
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import log10

import numpy as np
from numpy.typing import NDArray

from livetrans.audio.echo import EchoCanceller
from livetrans.events import FULL_SCALE, SAMPLE_RATE, AudioChunk

FRAME_SAMPLES = 320
"""Samples of a frame of levels: 20 ms."""
TRANSFORM_SAMPLES = 512
"""Samples of its Fourier transform: the next power of two."""
BANDS = 16
LOWEST_HERTZ, HIGHEST_HERTZ = 150.0, 5000.0
"""Hertz of the bands: what loudspeakers of computers play and microphones hear of speech."""
FLOOR_POWER = 4.2e-8
"""Power, of full scale, that is added to each band: what is below it is no speech."""
SILENCE_DECIBELS = 10 * log10(FLOOR_POWER)
"""Decibels of a band without sound."""
BACK_FRAMES, AHEAD_FRAMES = 20, 8
"""Frames before and after a frame, over which levels are compared."""
SHORTEST_FRAMES = 5
"""Frames that the user's speech lasts at least."""
BEFORE_FRAMES, AFTER_FRAMES = 8, 15
"""Frames before and after it, which pass too: the weak beginnings and ends of words."""
SMOOTH_FRAMES = 6
"""Frames on each side over which the power of bleed is averaged."""
EARLIEST_FRAMES, LATEST_FRAMES = -6, 26
"""Frames by which bleed may follow what was played: the two capture devices have latencies of their own."""
ECHO_DECAY = 0.6
"""Share of the power of a room's echo that is left a frame later: a reverberation of half a second."""
CORRELATED = 0.5
"""Correlation from which sound in the microphone is what was played."""
UNKNOWN_PENALTY = 0.05
"""Correlation that an unusual delay needs in addition."""
LOUDER_DECIBELS = 6.0
"""Decibels above the expected bleed from which a level is the user's."""
USER_SHARE = 0.17
"""Share of such levels around a frame in which the user speaks."""
TRUSTED = 0.3
"""Mean correlation from which what the microphone hears is expected to be bleed."""
AUDIBLE_DECIBELS = 10.0
"""Decibels above the floor from which something was played."""
AUDIBLE_LEVEL = SILENCE_DECIBELS + AUDIBLE_DECIBELS
UNSURE_FRAMES = 25
"""Frames of the first sound that is played, in which nothing is known of the room: the microphone is silenced."""
NEAR_FRAMES = 2
"""Frames by which a delay may differ from the usual one: the levels of a frame are compared at whole frames."""
LEARNING = 0.03
"""Weight of a frame in the learned delay and gains: a mean over some 0.7 s of sound."""
LONGEST_GAP_SAMPLES = 60 * SAMPLE_RATE
"""Samples of lost sound that are filled with silence; before a longer gap all is forgotten."""
KEPT_FRAMES = LONGEST_GAP_SAMPLES // FRAME_SAMPLES
"""Most frames of what was played that wait for the microphone, which may have gone."""


class _Levels:
    """Levels of bands in decibels, a row for each frame of source time."""

    def __init__(self) -> None:
        edges = np.geomspace(LOWEST_HERTZ, HIGHEST_HERTZ, BANDS + 1)
        frequencies = np.fft.rfftfreq(TRANSFORM_SAMPLES, 1 / SAMPLE_RATE)
        self._bands = np.stack([(frequencies >= low) & (frequencies < high) for low, high in pairwise(edges)]).astype(
            np.float64
        )
        self._window = np.hanning(FRAME_SAMPLES)
        self._rest = np.zeros(0, np.int16)
        self._rows = np.zeros((0, BANDS))
        self._frames = np.zeros((0, FRAME_SAMPLES), np.int16)
        self.first = 0
        """Number of the first frame that is kept."""

    @property
    def next(self) -> int:
        """The number of the frame that comes next."""
        return self.first + len(self._rows)

    def feed(self, chunk: AudioChunk) -> None:
        """Take sound; what was lost before it counts as silence."""
        begin = self.next * FRAME_SAMPLES + len(self._rest)
        samples = chunk.samples
        if chunk.start_sample > begin:
            silence = min(chunk.start_sample - begin, LONGEST_GAP_SAMPLES)
            if silence < chunk.start_sample - begin:
                self.first = (chunk.start_sample - silence) // FRAME_SAMPLES
                self._rows, self._frames, self._rest = self._rows[:0], self._frames[:0], self._rest[:0]
                silence = chunk.start_sample - self.first * FRAME_SAMPLES
            samples = np.concatenate([np.zeros(silence, np.int16), samples])
        samples = np.concatenate([self._rest, samples])
        count = len(samples) // FRAME_SAMPLES
        frames = samples[: count * FRAME_SAMPLES].reshape(count, FRAME_SAMPLES)
        # Parseval: each bin but the first and the last stands for two, and the window takes a part of the power.
        power = 2 * np.abs(np.fft.rfft(frames / FULL_SCALE * self._window, TRANSFORM_SAMPLES)) ** 2
        power /= TRANSFORM_SAMPLES * (self._window**2).sum()
        self._frames = np.concatenate([self._frames, frames])
        self._rows = np.concatenate([self._rows, 10 * np.log10(power @ self._bands.T + FLOOR_POWER)])
        self._rest = samples[count * FRAME_SAMPLES :]

    def rows(self, begin: int, end: int) -> NDArray[np.float64]:
        """Return the levels of frames; silence where there are none."""
        rows = np.full((end - begin, BANDS), SILENCE_DECIBELS)
        low, high = max(begin, self.first), min(end, self.next)
        if high > low:
            rows[low - begin : high - begin] = self._rows[low - self.first : high - self.first]
        return rows

    def sound(self, frame: int) -> NDArray[np.float64]:
        """Return the sound of a frame, -1..1; silence where there is none."""
        is_kept = self.first <= frame < self.next
        return self._frames[frame - self.first] / FULL_SCALE if is_kept else np.zeros(FRAME_SAMPLES)

    def forget(self, before: int) -> None:
        """Drop the frames before the one with this number."""
        if before > self.first:
            cut = min(before, self.next)
            self._rows, self._frames = self._rows[cut - self.first :], self._frames[cut - self.first :]
            self.first = cut


class BleedFilter:
    """A filter of the microphone that silences what it hears of the loudspeaker."""

    def __init__(self) -> None:
        self._canceller = EchoCanceller(FRAME_SAMPLES)
        self._played = _Levels()
        self._heard = _Levels()
        self._held = np.zeros(0, np.int16)
        self._next_sample = 0
        self._last: AudioChunk | None = None
        self._gains = np.zeros(BANDS)
        """Decibels of the bleed less those of what was played."""
        self._is_known = False
        self._delays = np.zeros(LATEST_FRAMES - EARLIEST_FRAMES)
        """Mean correlation at each delay, the latest first."""
        self._compared = 0
        """Frames in which something was played."""
        self._first_judged = 0
        self._judged: list[bool] = []
        """Whether the user is heard, for each frame from `_first_judged` on."""

    def feed_played(self, chunk: AudioChunk) -> None:
        """Take what the computer plays, before what the microphone hears at the same time."""
        self._played.feed(chunk)
        self._played.forget(self._played.next - KEPT_FRAMES)

    def feed(self, chunk: AudioChunk) -> Iterator[AudioChunk]:
        """Take sound of the microphone; yield what is ready of it, some 0.3 s later."""
        if chunk.start_sample != self._next_sample or not len(chunk.samples):
            yield from self.flush()
            self._next_sample = chunk.start_sample
        self._last = chunk
        self._heard.feed(chunk)
        self._held = np.concatenate([self._held, chunk.samples])
        self._next_sample += len(chunk.samples)
        if not len(chunk.samples):
            yield chunk
            return
        yield from self._give(self._heard.next - AHEAD_FRAMES)

    def flush(self) -> Iterator[AudioChunk]:
        """Yield what is held back, at the end of the sound or at a gap in it."""
        if len(self._held):
            yield from self._give(self._heard.next + 1 + SHORTEST_FRAMES + BEFORE_FRAMES)
        self._judged.clear()  # The frames of a gap need no judgement, and there may be hours of them.
        self._heard.forget(self._heard.next - BACK_FRAMES)
        self._canceller.forget_sound()

    def _give(self, judged: int) -> Iterator[AudioChunk]:
        """Judge the frames before `judged`; yield the held sound that they decide about."""
        begin = self._next_sample - len(self._held)
        if not self._judged:
            self._first_judged = begin // FRAME_SAMPLES
        for frame in range(self._first_judged + len(self._judged), judged):
            self._judged.append(self._is_user(frame))
        count = min((judged - SHORTEST_FRAMES - BEFORE_FRAMES) * FRAME_SAMPLES - begin, len(self._held))
        if count <= 0:
            return
        samples, self._held = self._held[:count].copy(), self._held[count:]
        frames = range(begin // FRAME_SAMPLES, -(-(begin + count) // FRAME_SAMPLES))
        passed = self._passed()
        for frame in frames:
            low, high = max(frame * FRAME_SAMPLES - begin, 0), min((frame + 1) * FRAME_SAMPLES - begin, count)
            if high - low == FRAME_SAMPLES:
                samples[low:high] = self._cancelled(frame, samples[low:high])
            if not passed[frame - self._first_judged]:
                samples[low:high] = 0
        self._forget(frames[-1])
        assert self._last is not None
        at = self._last.captured_at
        at = None if at is None else at - (self._last.end - (begin + count) / SAMPLE_RATE)
        yield AudioChunk(samples, begin, at, self._last.track)

    def _cancelled(self, frame: int, heard: NDArray[np.int16]) -> NDArray[np.int16]:
        """Return a frame of the microphone without the echo of what was played up to `EARLIEST_FRAMES` before it."""
        if self._played.rows(frame - LATEST_FRAMES, frame - EARLIEST_FRAMES + 1).max() < AUDIBLE_LEVEL:
            self._canceller.forget_sound()
            return heard
        rest = self._canceller.cancel(self._played.sound(frame - EARLIEST_FRAMES), heard / FULL_SCALE)
        return np.clip(np.rint(rest * FULL_SCALE), -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)

    def _passed(self) -> NDArray[np.bool_]:
        """Return which judged frames pass: those of the user's speech, with a few frames around it."""
        judged = np.array(self._judged)
        lasting = np.convolve(judged, np.ones(SHORTEST_FRAMES), "valid") == SHORTEST_FRAMES
        inside = np.convolve(lasting, np.ones(SHORTEST_FRAMES)) > 0
        around = np.convolve(inside, np.ones(BEFORE_FRAMES + AFTER_FRAMES + 1)) > 0
        return around[BEFORE_FRAMES : BEFORE_FRAMES + len(judged)]

    def _forget(self, last: int) -> None:
        """Drop what later frames than `last` do not need."""
        kept = max(last - AFTER_FRAMES - SHORTEST_FRAMES - BEFORE_FRAMES, self._first_judged)
        del self._judged[: kept - self._first_judged]
        self._first_judged = kept
        self._heard.forget(kept - BACK_FRAMES)
        self._played.forget(kept - BACK_FRAMES - LATEST_FRAMES - 1)

    def _is_user(self, frame: int) -> bool:
        """Return whether the user is heard in a frame; learn delay and gains from it."""
        heard = self._heard.rows(frame - BACK_FRAMES, frame + AHEAD_FRAMES + 1)
        played = self._played.rows(frame - BACK_FRAMES - LATEST_FRAMES, frame + AHEAD_FRAMES + 1 - EARLIEST_FRAMES)
        if played.max() < AUDIBLE_LEVEL:
            return True
        power = 10 ** (played / 10)
        for row in range(1, len(power)):
            power[row] = np.maximum(power[row], ECHO_DECAY * power[row - 1])
        played = 10 * np.log10(power)
        # Window l is what was played LATEST_FRAMES - l frames before; shape (delay, frame, band).
        windows = np.lib.stride_tricks.sliding_window_view(played, BACK_FRAMES + AHEAD_FRAMES + 1, axis=0).transpose(
            0, 2, 1
        )
        heard_change = heard - heard.mean(axis=0)
        played_change = windows - windows.mean(axis=1, keepdims=True)
        # Pearson's correlation over all bands; a constant level has none.
        scale = np.sqrt((heard_change**2).sum() * (played_change**2).sum(axis=(1, 2))) + 1e-9
        correlation = ((played_change * heard_change).sum(axis=(1, 2)) / scale)[: len(self._delays)]
        usual = int(self._delays.argmax())
        now = windows[:, BACK_FRAMES] > AUDIBLE_LEVEL
        if now.any() and heard[BACK_FRAMES].max() > AUDIBLE_LEVEL:
            self._delays += LEARNING * (correlation - self._delays)
        self._compared += bool(now.any())
        near = abs(np.arange(len(correlation)) - usual) <= NEAR_FRAMES
        best = int(np.where(near, correlation + UNKNOWN_PENALTY, correlation).argmax())
        threshold = CORRELATED if near[best] else CORRELATED + UNKNOWN_PENALTY
        is_correlated = bool(now[best].any()) and correlation[best] >= threshold
        if is_correlated:
            self._learn(heard[BACK_FRAMES] - windows[best, BACK_FRAMES], now[best])
        if self._compared < UNSURE_FRAMES:
            return False
        if self._delays.max() < TRUSTED:
            return not is_correlated
        around = slice(BACK_FRAMES - SMOOTH_FRAMES, BACK_FRAMES + SMOOTH_FRAMES + 1)
        # The loudest of three delays, as what is heard may begin anywhere in a frame.
        expected = windows[max(usual - 1, 0) : usual + 2, around].max(axis=0) + self._gains
        excess = heard[around] - np.maximum(expected, SILENCE_DECIBELS)
        audible = heard[around] > SILENCE_DECIBELS + AUDIBLE_DECIBELS / 2
        share = float((excess[audible] > LOUDER_DECIBELS).mean()) if audible.any() else 0.0
        return share > USER_SHARE

    def _learn(self, difference: NDArray[np.float64], is_audible: NDArray[np.bool_]) -> None:
        """Learn the gains of the bands that are audible; bands never heard have the first frame's mean."""
        if not self._is_known:
            self._gains = np.where(is_audible, difference, difference[is_audible].mean())
            self._is_known = True
        self._gains = np.where(is_audible, self._gains + LEARNING * (difference - self._gains), self._gains)


class Played:
    """The filter of the loudspeaker's track: it passes the sound on unchanged, and shows it to the bleed filter."""

    def __init__(self, bleed: BleedFilter) -> None:
        self._bleed = bleed

    def feed(self, chunk: AudioChunk) -> tuple[AudioChunk]:
        """Take what is played before what the microphone hears at the same time; return it."""
        self._bleed.feed_played(chunk)
        return (chunk,)

    def flush(self) -> tuple[()]:
        """Return nothing: no sound is held."""
        return ()
