"""Sound from a pipe: raw PCM (16-bit signed little-endian, mono, 16 kHz), or a file of sound."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from livetrans.audio.file import Piped, begins_like_a_recording, decoded
from livetrans.audio.source import Pause
from livetrans.base.clock import Clock
from livetrans.base.errors import SourceError
from livetrans.events import SAMPLE_RATE, AudioChunk

READ_BYTES = 3840
"""120 ms: small enough for captions, large enough for a file that comes at full speed."""
AHEAD_SECONDS = 1.0
"""Sound that is this much ahead of the clock was recorded earlier: its lag would mean nothing."""
WAIT_SECONDS = 0.02
"""A read that takes this long has waited for sound; others find it in the pipe."""

_JSON_LINES = "Standard input holds JSON lines, no sound: write them to a file, then `livetrans replay FILE.jsonl`."
_TEXT = "Standard input holds text, no sound: pipe 16-bit mono 16 kHz PCM or a recording into it, or name a file."
_TWO_FRAMES = 4096
"""Bytes in which two frames of any MP3 or AAC begin."""
_LEAST_TEXT = 16
"""Bytes that tell text from sound: read as samples, text is loud and above zero throughout, which no sound is."""


class PcmStream:
    """Sound from a binary stream, read in the thread that iterates; a listener that stops reading stops the program
    at the other end of the pipe.

    Live sound has its instants: sound for which the stream made the reader wait, unless it then came faster than the
    clock. What was in the pipe before that (while models were loaded) and a recording that is piped have none.
    """

    def __init__(self, stream: BinaryIO, clock: Clock, on_sound: Callable[[], None] | None = None) -> None:
        """`stream` stays open: the caller closes it. `on_sound` is called before the first sound is given."""
        self.duration = None
        self.skipped = 0.0  # The program at the other end of the pipe waits.
        self._on_sound = on_sound
        self._stream = stream
        self._clock = clock
        self._pause = Pause()
        self._has_waited = False

    def __iter__(self) -> Iterator[AudioChunk]:
        position, began_at = 0, 0.0
        try:
            for samples in self._samples():
                if not len(samples):
                    continue
                if position == 0 and self._on_sound is not None:
                    self._on_sound()
                now, end = self._clock.now(), position + len(samples)
                if not self._has_waited:
                    began_at = now - end / SAMPLE_RATE
                is_live = self._has_waited and end / SAMPLE_RATE <= now - began_at + AHEAD_SECONDS
                yield AudioChunk(samples, position, now if is_live else None)
                position = end
                if not self._pause.wait():
                    return
        except (OSError, ValueError) as error:
            raise SourceError(f"Standard input broke off ({error}): start the program that feeds it again.") from error
        if position == 0 and not self._pause.closed:
            raise SourceError(
                "Standard input gave no sound: pipe a recording into it, or raw PCM (16 kHz, mono, 16 bits)."
            )

    def pause(self, paused: bool) -> None:
        self._pause.set(paused)

    def close(self) -> None:
        self._pause.close()

    def _read(self, count: int) -> bytes:
        began_at = self._clock.now()
        data = self._stream.read(count)
        self._has_waited = self._has_waited or self._clock.now() - began_at >= WAIT_SECONDS
        return data

    def _samples(self) -> Iterator[NDArray[np.int16]]:
        read = self._read
        beginning = b""
        # What may be a frame of MP3 or AAC is known by the next one.
        while len(beginning) < (_TWO_FRAMES if beginning[:1] == b"\xff" else _LEAST_TEXT) and (
            data := read(READ_BYTES)
        ):
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
