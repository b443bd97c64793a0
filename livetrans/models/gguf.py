"""The first metadata of a GGUF file, enough to tell whether a language model of a usable kind is in it.

The header is little-endian: magic, version (uint32), number of tensors and of key-value pairs (uint64), then the pairs:
key (a string: uint64 length and UTF-8), type (uint32) and value (docs/gguf.md of ggml). The general keys come first in
every file that llama.cpp's converter writes, then the architecture's; reading stops at the tokenizer's long arrays.
The `gguf` package is not used, because it parses the whole vocabulary first (docs/design.md).
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from livetrans.base.files import begins_with
from livetrans.lm.families import family_of

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_MOST_ELEMENTS = 1000
"""Longest array that is skipped over: a model has fewer tags and languages, and more pieces."""
_LONGEST = 1 << 20
_MOST_PAIRS = 1000

_OTHER_KINDS = tuple("bert nomic-bert jina-bert roberta clip whisper t5encoder wavtokenizer embedding".split())
"""Beginnings or endings of architectures that are not language models."""
_STATEFUL = tuple(
    "mamba rwkv arwkv jamba lfm2 falcon-h1 granitehybrid nemotron_h nemotron-h plamo2 qwen3next qwen35 "
    "kimi-linear".split()
)
"""Beginnings of architectures with a recurrent state, which cannot be rewound. llama.cpp has the last word."""


def is_gguf(path: Path) -> bool:
    """Return whether a file begins like a GGUF, whatever its name is."""
    return begins_with(path, b"GGUF")


def read_metadata(path: Path) -> dict[str, object]:
    """Return the scalar and string values before the first long array; none if the file is no GGUF."""
    metadata: dict[str, object] = {}
    if not is_gguf(path):
        return metadata
    try:
        with path.open("rb") as stream:
            _, _, _, pairs = struct.unpack("<4sIQQ", stream.read(24))
            for _ in range(min(pairs, _MOST_PAIRS)):
                key = _string(stream)
                (kind,) = struct.unpack("<I", stream.read(4))
                if kind == _ARRAY:
                    kind, count = struct.unpack("<IQ", stream.read(12))
                    if count > _MOST_ELEMENTS:
                        break
                    for _ in range(count):
                        _value(stream, kind)
                else:
                    metadata[key] = _value(stream, kind)
    except (OSError, ValueError, struct.error):
        pass  # what came before the fault
    return metadata


def is_translator(path: Path) -> bool:
    """Return whether the model may translate: a language model without recurrent state, by its architecture alone."""
    metadata = read_metadata(path)
    architecture = _architecture(metadata)
    if not architecture or metadata.get("general.type", "model") != "model":
        return False
    return not architecture.startswith((*_OTHER_KINDS, *_STATEFUL)) and not architecture.endswith(_OTHER_KINDS)


def is_stateful(path: Path) -> bool:
    return _architecture(read_metadata(path)).startswith(_STATEFUL)


def _architecture(metadata: dict[str, object]) -> str:
    return str(metadata.get("general.architecture", "")).lower()


def family(path: Path) -> str | None:
    """Return the family of a translator's prompt, as far as the first metadata tells; None if the file is no GGUF."""
    metadata = {key: value for key, value in read_metadata(path).items() if isinstance(value, str)}
    return family_of(metadata.get) if metadata else None


def _value(stream: BinaryIO, kind: int) -> object:
    if kind == _STRING:
        return _string(stream)
    if kind not in _SCALARS:
        raise ValueError("a type that is unknown")
    form = f"<{_SCALARS[kind]}"
    value: object = struct.unpack(form, stream.read(struct.calcsize(form)))[0]
    return value


def _string(stream: BinaryIO) -> str:
    (length,) = struct.unpack("<Q", stream.read(8))
    if length > _LONGEST:
        raise ValueError("a string that is too long")
    return stream.read(length).decode("utf-8", "replace")
