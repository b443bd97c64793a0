"""The head of a Whisper model in whisper.cpp's format."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from livetrans.errors import ModelError

MAGIC = 0x67676D6C
"""First four bytes of the format: `ggml`, least byte first."""
MULTILINGUAL = 51_865
"""Size of the vocabulary from which a model has languages: one token more than an English one, and one for each."""
_HEADS = {
    (4, 4): "TINY",
    (6, 6): "BASE",
    (12, 12): "SMALL",
    (24, 24): "MEDIUM",
    (32, 32): "LARGE_V2",
    (32, 4): "LARGE_V3_TURBO",
}
"""whisper.cpp's names of the heads that give word times, by the layers of OpenAI's encoders and decoders."""


@dataclass(frozen=True, slots=True)
class WhisperFile:
    """The head of a model's file."""

    vocabulary: int
    """Tokens, those of times and tasks included."""
    encoder_layers: int
    decoder_layers: int
    bands: int
    pieces: tuple[bytes, ...]
    """Text by its token."""

    @property
    def languages(self) -> int:
        """How many languages have a token, used or not."""
        return max(self.vocabulary - MULTILINGUAL, 0) + 99

    @property
    def heads(self) -> str | None:
        """whisper.cpp's name of the model's heads for word times; None for the upper half of all layers."""
        name = _HEADS.get((self.encoder_layers, self.decoder_layers))
        if name == "LARGE_V2" and self.vocabulary > MULTILINGUAL:
            return "LARGE_V3"
        return name and (name if self.vocabulary >= MULTILINGUAL else f"{name}_EN")


def read_head(path: Path) -> WhisperFile:
    """Read the head of a model in whisper.cpp's format.

    Raises:
        ModelError: the file is not there, or no such model.
    """
    try:
        with path.open("rb") as file:
            magic, vocabulary, _, _, _, encoder, _, _, _, decoder, bands, _ = struct.unpack("<12i", file.read(48))
            rows, columns, *_ = struct.unpack("<2i", file.read(8))
            if magic != MAGIC or not 0 < rows * columns < 1 << 20:
                raise ValueError
            file.seek(4 * rows * columns, io.SEEK_CUR)
            pieces = tuple(_piece(file) for _ in range(*struct.unpack("<i", file.read(4))))
            if not pieces:
                raise ValueError
    except FileNotFoundError:
        raise ModelError(f"There is no recogniser at {path}; give a Whisper model in whisper.cpp's format.") from None
    except (OSError, ValueError, struct.error) as error:
        raise ModelError(f"{path} is no Whisper model in whisper.cpp's format; copy or fetch it again.") from error
    return WhisperFile(vocabulary, encoder, decoder, bands, pieces)


def _piece(file: IO[bytes]) -> bytes:
    (length,) = struct.unpack("<i", file.read(4))
    if not 0 <= length < 1 << 10:
        raise ValueError
    return file.read(length)
