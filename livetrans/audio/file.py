"""Audio files, decoded while they are read, and the resampler; the only user of PyAV."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from livetrans.audio.source import WHOLE, Part, Pause
from livetrans.base.clock import Clock, Pace
from livetrans.base.errors import SourceError, UsageError
from livetrans.base.files import beginning_of, missing
from livetrans.base.text import duration
from livetrans.events import SAMPLE_RATE, AudioChunk, Notice

CHUNK_SAMPLES = 960
"""Samples of a chunk: 60 ms, two windows of the gate."""
MOST_SAMPLES = 160 * CHUNK_SAMPLES
"""Most samples at once, about ten seconds: after a wait minutes are due, and back-pressure is looked at by chunk."""
_MISSING_SECONDS = 0.25
_MISSING_SHARE = 0.02
"""A file that ends this much before the length in its header is cut off; MP3 headers hold estimates this precise."""
_JUMP_SECONDS = 0.1
"""A longer hole in a file's time stamps is filled with zeros, as players do."""
_LONGEST_JUMP = 3600.0
"""Seconds. A longer jump in the time stamps of a file that states no length is no hole in its sound."""
_FORMATS = (
    "aac,ac3,aiff,amr,ape,asf,au,avi,caf,dsf,eac3,flac,flv,gsm,matroska,mov,mp3,mpeg,mpegts,ogg,tta,voc,w64,wav,wv"
)
"""FFmpeg's names of containers that hold their sound themselves; playlists and scripts name other files."""
_PIPE_SECONDS = 8.0
"""Longest wait for the writer of a named pipe to begin."""
_LOWEST_RATE, _HIGHEST_RATE = 1_000, 1_000_000
"""Hz; the resampler's buffers grow with the rate, and a damaged header may state any."""


_MAGIC = (
    *(b"RIFF", b"RF64", b"riff", b"FORM", b"fLaC", b"OggS", b"ID3", b"caff", b".snd", b"wvpk", b"MAC ", b"TTA1"),
    *(b"FLV", b"#!AMR", b"ADIF", b"\x1aE\xdf\xa3", b"\x30\x26\xb2\x75"),
)
"""First bytes of files of sound and video."""
_FIRST_KILOBITS = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_SECOND_KILOBITS = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
"""Bit rates of MP3, of MPEG-1 and of the later versions, by their index in a frame's head less 1 (ISO 11172-3)."""


class AudioFile:
    """Any file that PyAV decodes, as mono 16 kHz int16, in real time or as fast as it is read.

    In real time a chunk is due when the clock reaches the end of its audio; everything that is due comes as one chunk,
    which ends on the 60 ms grid. `captured_at` is the time at which it was due, however late it is read.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        real_time: bool,
        notify: Callable[[Notice], None] = lambda notice: None,
        part: Part = WHOLE,
    ) -> None:
        """Open the file and decode it up to its `part`, so that every fault of the file is a SourceError here."""
        self._path = path
        self._first = round(part.start * SAMPLE_RATE)
        self._left = None if part.end is None else max(round(part.end * SAMPLE_RATE) - self._first, 0)
        self._real_time = real_time
        self._notify = notify
        self._clock, self._pace = clock, Pace(clock)
        self._pause = Pause()
        self.damage = ""
        """After the last sample: the sentence that says how much could be read; empty for a whole file."""
        self._decoder = _SoundDecoder(path)
        self.duration = min(filter(None, (self._decoder.duration, part.end)), default=None)
        """Length in seconds up to the end of the part."""
        self.skipped = 0.0  # A file waits until it is read.
        skipped = self._decoder.skip(self._first)
        self._pending = self._read(CHUNK_SAMPLES)
        if not len(self._pending):
            self._decoder.close()
            if self._first > skipped > 0:
                length = duration(skipped / SAMPLE_RATE)
                raise UsageError(f"{path} has no sound after {duration(part.start)}: it is {length} long")
            if self._decoder.damaged:
                raise SourceError(
                    f"{path} cannot be decoded: it is damaged, or of an unusual kind; choose another copy."
                )
            raise SourceError(f"{path} has no sound in it: choose a recording that is not empty.")

    def __iter__(self) -> Iterator[AudioChunk]:
        """Read the file, once."""
        played = 0
        try:
            self._pace.start()
            while len(self._pending) and self._pause.wait():
                wanted = self._due_samples(played)
                if wanted == 0:
                    continue
                # One chunk ahead, so that the end is known when the last chunk is due.
                self._pending = np.concatenate([self._pending, self._read(wanted + CHUNK_SAMPLES - len(self._pending))])
                samples, self._pending = self._pending[:wanted], self._pending[wanted:]
                start, played = self._first + played, played + len(samples)
                yield AudioChunk(samples, start, self._pace.instant(played / SAMPLE_RATE) if self._real_time else None)
            if not self._pause.closed and self._left != 0:
                self._report_missing((self._first + played) / SAMPLE_RATE)
        finally:
            self._decoder.close()

    def pause(self, paused: bool) -> None:
        """Stop or resume reading; nothing of the file is lost."""
        self._pace.pause(paused)
        self._pause.set(paused)

    def close(self) -> None:
        self._pause.close()

    def _read(self, count: int) -> NDArray[np.int16]:
        samples = self._decoder.read(count if self._left is None else min(count, self._left))
        if self._left is not None:
            self._left -= len(samples)
        return samples

    def _due_samples(self, position: int) -> int:
        """Return the number of samples due: whole chunks, or the rest; 0 after a wait, as a pause may have begun."""
        if not self._real_time:
            return CHUNK_SAMPLES
        due = int(self._pace.elapsed() * SAMPLE_RATE + 0.5) // CHUNK_SAMPLES * CHUNK_SAMPLES - position
        if due > 0:
            return min(due, MOST_SAMPLES)
        available = min(CHUNK_SAMPLES, len(self._pending))
        end = (position + available) / SAMPLE_RATE
        # Half a sample early counts as due: seconds are floats, and a wait below their resolution would never end.
        if available < CHUNK_SAMPLES and self._pace.elapsed() + 0.5 / SAMPLE_RATE >= end:
            return available
        self._clock.sleep(end - self._pace.elapsed())
        return 0

    def _report_missing(self, read: float) -> None:
        """Report damage after `read` seconds of the file."""
        expected = self._decoder.sound_ends
        missing = expected is not None and expected - read > max(_MISSING_SECONDS, _MISSING_SHARE * expected)
        if missing or self._decoder.damaged:
            length = f" of {expected:.1f} s" if missing and expected is not None else ""
            self.damage = f"{self._path} is damaged or cut off: only {read:.1f} s{length} could be read."
            self._notify(Notice("warning", self.damage))


class Resampler:
    """A resampler of blocks of any rate and layout to mono 16 kHz int16."""

    def __init__(self) -> None:
        import av

        self._resampler = av.AudioResampler(format="s16", layout="mono", rate=SAMPLE_RATE)

    def feed(self, frame: Any) -> NDArray[np.int16]:
        """Resample `frame`, an `av.AudioFrame`, or return the buffered rest if it is None."""
        if frame is not None:
            frame.pts = None  # The decoder places frames by their time stamps.
        parts = [part.to_ndarray()[0] for part in self._resampler.resample(frame)]
        return np.concatenate(parts).astype(np.int16, copy=False) if parts else np.zeros(0, dtype=np.int16)

    def feed_samples(self, samples: NDArray[np.int16], rate: int) -> NDArray[np.int16]:
        """Resample mono `samples`, shape (n,), of `rate` per second."""
        import av

        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples)[None, :], format="s16", layout="mono")
        frame.sample_rate = rate
        return self.feed(frame)


class Piped:
    """A stream that cannot seek, whose first bytes were read already."""

    def __init__(self, beginning: bytes, read: Callable[[int], bytes]) -> None:
        self._beginning, self._read = beginning, read

    def read(self, count: int) -> bytes:
        if self._beginning:
            data, self._beginning = self._beginning[:count], self._beginning[count:]
            return data
        return self._read(count)


def decoded(stream: Piped, name: str) -> Iterator[NDArray[np.int16]]:
    """Yield the sound of a file that comes through a pipe.

    Raises:
        SourceError: it is not a file of sound, or it is damaged, after all that could be read.
    """
    decoder = _SoundDecoder(Path(name), stream)
    try:
        while len(samples := decoder.read(CHUNK_SAMPLES)):
            yield samples
    finally:
        decoder.close()
    if decoder.damaged:
        raise SourceError(f"{name} is damaged or cut off: its end could not be read.")


class _SoundDecoder:
    """The sound of a file, or of a `stream` that messages call by the path, decoded step by step as it is read."""

    def __init__(self, path: Path, stream: Piped | None = None) -> None:
        self._container, self._stream = _open(path, stream)
        self.damaged = stream is None and _riff_is_cut_off(path)
        self._begins = (self._container.start_time or 0) / 1_000_000
        """The file's time stamp at source time 0, in seconds."""
        self._decoded = 0
        self._stamp_end = self._begins
        """The time stamp at which the last frame ended."""
        self._rate = 0
        """That of the first frame: some stamps count the samples of any rate by it."""
        self._surplus = 0
        """Samples to drop, because there are more than the time stamps say."""
        self._is_in_doubt = False
        """Whether the decoder has refused what came last."""
        self._is_wav = self._container.format.name == "wav"
        self._blocks = self._decode()
        self._rest = np.zeros(0, dtype=np.int16)
        stated = None if self._container.duration is None else self._container.duration / 1_000_000
        self.sound_ends = self._stated_end()
        """Source time in seconds at which the sound ends by the file's header, if that states it."""
        self.duration = self.sound_ends or stated

    def read(self, count: int) -> NDArray[np.int16]:
        """Return the next `count` samples, fewer at the end of the file, none after it."""
        parts, length = [self._rest], len(self._rest)
        while length < count:
            block = next(self._blocks, None)
            if block is None:
                break
            parts.append(block)
            length += len(block)
        joined = np.concatenate(parts)
        self._rest = joined[count:]
        return joined[:count]

    def skip(self, count: int) -> int:
        """Decode the next samples and drop them: a seek is not exact in every file. Return how many there were."""
        skipped = 0
        while skipped < count and len(samples := self.read(min(count - skipped, SAMPLE_RATE))):
            skipped += len(samples)
        return skipped

    def close(self) -> None:
        self._container.close()

    def _decode(self) -> Iterator[NDArray[np.int16]]:
        """Yield the sound of all frames at the places that their time stamps give."""
        import av

        try:
            for block in self._sound():
                self._decoded += len(block)
                yield block
        except av.error.FFmpegError:  # such as a layout that cannot be resampled
            self.damaged = True

    def _sound(self) -> Iterator[NDArray[np.int16]]:
        form, resampler = None, Resampler()
        for frame in self._frames():
            if form not in (None, (frame.sample_rate, frame.layout.name, frame.format.name)):
                yield resampler.feed(None)
                resampler = Resampler()
            form = frame.sample_rate, frame.layout.name, frame.format.name
            yield from self._hole_before(frame)
            block = resampler.feed(frame)
            dropped, self._surplus = self._surplus, max(self._surplus - len(block), 0)
            yield block[dropped:]
        self.damaged = self.damaged or self._is_in_doubt
        if form:
            yield resampler.feed(None)

    def _hole_before(self, frame: Any) -> Iterator[NDArray[np.int16]]:
        """Yield zeros for a hole in the time stamps before a frame; what the decoder refused there is damage.

        Sound that runs faster than its stamps, as of a recorder with two clocks, has samples to drop.
        """
        is_in_doubt, self._is_in_doubt = self._is_in_doubt, False
        self._rate, length = self._rate or frame.sample_rate, frame.samples / frame.sample_rate
        before, self._stamp_end = self._stamp_end, self._stamp_end + length
        if frame.time is None:
            return
        self._stamp_end = frame.time + length
        hole = frame.time - self._begins - self._decoded / SAMPLE_RATE
        starts_again = frame.time - before < -_JUMP_SECONDS  # as in joined files
        has_no_clock = hole < -_JUMP_SECONDS and frame.sample_rate != self._rate
        if hole > (self.duration or _LONGEST_JUMP) or starts_again or has_no_clock:
            self._begins += hole
        elif hole < -_JUMP_SECONDS:
            self._surplus = round(-hole * SAMPLE_RATE)
        elif hole > _JUMP_SECONDS:
            self.damaged = self.damaged or is_in_doubt
            for left in range(round(hole * SAMPLE_RATE), 0, -SAMPLE_RATE):
                yield np.zeros(min(left, SAMPLE_RATE), dtype=np.int16)

    def _frames(self) -> Iterator[Any]:
        import av

        packets = self._container.demux(self._stream)
        while True:
            try:
                packet = next(packets, None)
                if packet is None:
                    return
                frames = packet.decode()
            except av.error.EOFError:
                return
            except av.error.InvalidDataError:
                self._is_in_doubt = True
                continue  # One bad packet, or a tag between joined files: the next may be whole.
            yield from frames
            if self._is_wav and packet.pts is not None and self._stream.duration is not None:
                # After its sound the demuxer looks for more chunks, through gigabytes that a recorder reserved.
                if packet.pts + (packet.duration or 0) >= self._stream.duration:
                    return

    def _stated_end(self) -> float | None:
        stream = self._stream
        # In Matroska it is that of the pictures, and in AAC alone an estimate by the first frames.
        if (
            self._container.format.name.startswith(("matroska", "aac"))
            or stream.duration is None
            or stream.time_base is None
        ):
            return None
        begins = (stream.start_time or 0) * stream.time_base
        return max(float(begins) - self._begins, 0.0) + float(stream.duration * stream.time_base)


def _riff_is_cut_off(path: Path) -> bool:
    """Return whether a WAV is shorter than its header says: FFmpeg uses the file's size then and reports nothing."""
    header = beginning_of(path, 12)
    stated = int.from_bytes(header[4:8], "little")
    # Programs that write into a pipe cannot know the size and state 0 or the largest number.
    known = header[:4] == b"RIFF" and header[8:] == b"WAVE" and 0 < stated < 0x7FFF_FFFF
    return known and path.stat().st_size < stated + 8


def _open_pipe(path: Path) -> BinaryIO:
    """Open a named pipe once something was written into it; FFmpeg would wait for a writer for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    readable, _, _ = select.select([descriptor], [], [], _PIPE_SECONDS)
    if not readable:
        os.close(descriptor)
        raise SourceError(f"Nothing was written into {path} for {_PIPE_SECONDS:.0f} s: start the other program first.")
    os.set_blocking(descriptor, True)
    return open(descriptor, "rb", buffering=0)


def _source(path: Path) -> BinaryIO | str:
    if path.is_dir():
        raise SourceError(f"{path} is a folder: name an audio file in it.")
    # The beginning of a pipe is not read here: FFmpeg would not get it again.
    if path.is_file() and path.stat().st_size == 0:
        raise SourceError(f"{path} is empty: choose a recording with sound in it.")
    # The prefix keeps a name like "http:/x" from being an address.
    return _open_pipe(path) if path.is_fifo() else f"file:{path}"


def begins_like_a_recording(beginning: bytes) -> bool:
    """Return whether these are the first bytes of a common file of sound or video; some kinds need 4 kB."""
    if beginning.startswith(_MAGIC) or beginning[4:8] == b"ftyp":
        return True
    length = _frame_bytes(beginning)
    return length is not None and _frame_bytes(beginning[length:]) is not None


def _frame_bytes(data: bytes) -> int | None:
    """Return the length of the MPEG frame (MP3, or AAC in ADTS) that `data` starts with; None without."""
    if len(data) < 6 or data[0] != 0xFF or data[1] & 0xE0 != 0xE0:
        return None
    version, layer, rate_index, bit_index = data[1] >> 3 & 3, data[1] >> 1 & 3, data[2] >> 2 & 3, data[2] >> 4
    if data[1] & 0xF6 == 0xF0:  # ADTS: layer 0
        length = (data[3] & 3) << 11 | data[4] << 3 | data[5] >> 5
        return length if length > 7 else None
    if version == 1 or layer != 1 or rate_index == 3 or not 0 < bit_index < 15:
        return None
    is_first = version == 3
    kilobits = (_FIRST_KILOBITS if is_first else _SECOND_KILOBITS)[bit_index - 1]
    rate = (44_100, 48_000, 32_000)[rate_index] // {3: 1, 2: 2, 0: 4}[version]
    return (144 if is_first else 72) * kilobits * 1000 // rate + (data[2] >> 1 & 1)


def _open(path: Path, piped: Piped | None) -> tuple[Any, Any]:
    import av

    try:
        source = piped or _source(path)
        # The list keeps playlists from being followed.
        options = {"format_whitelist": _FORMATS, "protocol_whitelist": "file"}
        if piped is None and beginning_of(path, 4) in (b"RIFF", b"RF64"):
            options["seekable"] = "0"  # Nothing is looked for after the sound.
        container = av.open(source, options=options)
    except FileNotFoundError as error:
        raise SourceError(missing(path)) from error
    except PermissionError as error:
        raise SourceError(f"{path} may not be read: allow it with chmod, or choose a copy that is yours.") from error
    except (av.error.FFmpegError, ValueError) as error:
        if piped:
            raise SourceError(
                f"{path} cannot be decoded: it is cut off, or of a kind whose end is read first; name the file itself."
            ) from error
        if begins_like_a_recording(beginning_of(path, 4096)):
            raise SourceError(
                f"{path} is cut off or damaged, and nothing of it can be decoded: choose another copy."
            ) from error
        raise SourceError(
            f"{path} is not an audio file that livetrans reads: choose wav, flac, mp3, m4a, ogg or a video."
        ) from error
    except OSError as error:
        raise SourceError(f"{path} cannot be opened ({error.strerror}): choose another file.") from error
    stream: Any = container.streams.best("audio")
    if stream is None:
        fault = "has no audio stream: choose a file with sound"
    elif getattr(stream, "codec_context", None) is None:  # PyAV's types say that it never is
        fault = "holds sound of a kind that cannot be decoded: choose wav, flac, mp3, m4a or ogg"
    elif stream.rate and not _LOWEST_RATE <= stream.rate <= _HIGHEST_RATE:
        fault = f"states a rate of {stream.rate} Hz, which no recording has: its header is damaged, choose another copy"
    else:
        return container, stream
    container.close()
    raise SourceError(f"{path} {fault}.")
