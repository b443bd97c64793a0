"""The engines of recognition: which of them a run takes, and the format of whisper.cpp's models."""

from __future__ import annotations

import platform
from importlib.util import find_spec
from pathlib import Path

from livetrans.config import ENGINES
from livetrans.files import begins_with

_, FASTER_WHISPER, WHISPER_CPP = ENGINES
LIBRARY = "_pywhispercpp"
GPU_UNUSED = (
    "whisper.cpp could not start the GPU, so recognition runs on the processor, "
    "where --engine faster-whisper is the faster one."
)
_GPU_LIBRARIES = ("cuda", "vulkan", "hip", "sycl", "metal")


def engines_of(wanted: str) -> tuple[str, ...]:
    """Return the engines that a run may take, the preferred one first; `wanted` is `auto` or one of them.

    By itself a run takes whisper.cpp only where that computes on a GPU: on processors it is the slower one.
    """
    if wanted != "auto":
        return (wanted,)
    return (WHISPER_CPP, FASTER_WHISPER) if has_gpu_engine() else (FASTER_WHISPER,)


def engine_of(model: Path) -> str:
    """Return the engine that computes a recogniser, by its path: one for whisper.cpp is a file, others are folders."""
    return WHISPER_CPP if model.is_file() else FASTER_WHISPER


def has_gpu_engine() -> bool:
    """Return whether whisper.cpp is installed in a build for GPUs.

    Every one for Apple Silicon is; elsewhere its libraries tell.
    """
    found = find_spec(LIBRARY)
    if found is None or found.origin is None:
        return False
    if on_apple_silicon():
        return True
    folder = Path(found.origin).parent
    libraries = [path.name for place in (folder, folder / "pywhispercpp.libs") for path in place.glob("libggml-*")]
    return any(library.startswith(f"libggml-{name}") for library in libraries for name in _GPU_LIBRARIES)


def on_apple_silicon() -> bool:
    """Return whether this is a Mac whose GPU whisper.cpp computes on."""
    return (platform.system(), platform.machine()) == ("Darwin", "arm64")


def is_whisper_cpp(path: Path) -> bool:
    """Return whether a file is a model of whisper.cpp, by its name and first bytes."""
    return path.suffix == ".bin" and begins_with(path, b"lmgg")
