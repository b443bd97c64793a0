"""Sound from a pipe: raw PCM (16-bit signed little-endian, mono, 16 kHz), or a file of sound."""

from __future__ import annotations

import codecs
import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from livetrans.audio.file import Piped, begins_like_a_recording, decoded
from livetrans.audio.source import AudioChannel, Block, Pause
from livetrans.clock import Clock
from livetrans.errors import SourceError
from livetrans.events import SAMPLE_RATE, AudioChunk

if TYPE_CHECKING:
    from numpy.typing import NDArray

READ_BYTES = 3840
"""120 ms: small enough for captions, large enough for a file that comes at full speed."""
BUFFERED_SECONDS = 10
AHEAD_SECONDS = 1.0
"""Audio that is this much ahead of the clock was recorded earlier: its lag would mean nothing."""

_JSON_LINES = "Standard input holds JSON lines, no sound: write them to a file, then `livetrans replay FILE.jsonl`."
_TEXT = "Standard input holds text, no sound: pipe 16-bit mono 16 kHz PCM or a recording into it, or name a file."
_LEAST_TEXT = 16
"""Bytes that tell text from sound: read as samples, text is loud and above zero throughout, which no sound is."""


class PcmStream:
    """Audio from a binary stream, read by a thread of its own into a bounded channel.

    A full channel stops the reading, and with it the program at the other end of the pipe; so does a pause. After
    `close` the iterator still returns what was read.
    """

    def __init__(self, stream: BinaryIO, clock: Clock, on_sound: Callable[[], None] | None = None) -> None:
        """`stream` stays open: the caller closes it. `on_sound` is called before the first sound is given."""
        self.duration = None
        self.skipped = 0.0  # The program at the other end of the pipe waits.
        self._on_sound = on_sound
        self._stream = stream
        self._clock = clock
        self._channel = AudioChannel(BUFFERED_SECONDS * SAMPLE_RATE)
        self._pause = Pause()
        self._began = clock.now()

    def __iter__(self) -> Iterator[AudioChunk]:
        # A daemon: a thread that waits for a silent pipe cannot be woken.
        threading.Thread(target=self._read, name="livetrans-pcm", daemon=True).start()
        position = 0
        while (blocks := self._channel.take()) is not None:
            self._pause.wait()
            if not blocks:
                continue
            if position == 0 and self._on_sound is not None:
                self._on_sound()
            samples = np.concatenate([block.samples for block in blocks])
            end = (position + len(samples)) / SAMPLE_RATE
            captured_at = blocks[-1].captured_at
            spoken_now = end <= captured_at - self._began + AHEAD_SECONDS
            yield AudioChunk(samples, position, captured_at if spoken_now else None)
            position += len(samples)
        if position == 0 and not self._pause.closed:
            raise SourceError("Standard input gave no sound: pipe 16-bit mono 16 kHz PCM into it.")

    def pause(self, paused: bool) -> None:
        self._pause.set(paused)

    def close(self) -> None:
        self._pause.close()
        self._channel.end()

    def _read(self) -> None:
        frame = 0
        try:
            for samples in self._samples():
                if len(samples) and not self._channel.put(Block(samples, frame, self._clock.now())):
                    return
                frame += len(samples)
        except SourceError as error:
            self._channel.end(error)
        except (OSError, ValueError) as error:
            self._channel.end(SourceError(f"Standard input broke off ({error}): start the program before it again."))
        else:
            self._channel.end()

    def _samples(self) -> Iterator[NDArray[np.int16]]:
        read = self._stream.read
        beginning = b""
        while len(beginning) < _LEAST_TEXT and (data := read(READ_BYTES)):
            beginning += data
        if fault := _fault_of_text(beginning):
            raise SourceError(fault)
        if begins_like_a_recording(beginning):
            yield from decoded(Piped(beginning, read), "Standard input")
            return
        odd = b""
        for data in chain([beginning], iter(partial(read, READ_BYTES), b"")):
            data = odd + data
            whole = len(data) // 2 * 2
            data, odd = data[:whole], data[whole:]
            yield np.frombuffer(data, dtype="<i2").astype(np.int16)


def _fault_of_text(beginning: bytes) -> str | None:
    """Return the error message for a stream that begins like text; None for sound."""
    if len(beginning) < _LEAST_TEXT:
        return None
    try:
        # A letter may be cut at the end of what was read.
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(beginning)
    except UnicodeDecodeError:
        return None
    if not all(character.isprintable() or character.isspace() for character in text):
        return None
    return _JSON_LINES if text.lstrip().startswith("{") else _TEXT
