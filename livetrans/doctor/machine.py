"""The doctor's checks that load no model: versions, builds, microphone, memory, disk."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from livetrans import __version__
from livetrans.audio.capture import decibels
from livetrans.audio.portaudio import zeros_advice
from livetrans.errors import SourceError
from livetrans.text import file_size

OK, WARNING, BROKEN = "ok", "warning", "broken"

PACKAGES = ("llama-cpp-python", "ctranslate2", "faster-whisper", "sounddevice")
CPU_FEATURES = {
    "AVX2": "avx2",
    "FMA": "fma",
    "F16C": "f16c",
    "AVX512": "avx512f",
    "AVX512_VNNI": "avx512_vnni",
    "DOTPROD": "asimddp",
    "MATMUL_INT8": "i8mm",
}
"""Instructions that make llama.cpp fast, by its names and by Linux's. AMX is left out: livetrans does not use it,
because llama.cpp crashes there (docs/LOG.md#amx)."""
REBUILD = "pip install --force-reinstall --no-deps --no-cache-dir --no-binary llama-cpp-python llama-cpp-python=="
"""The command that builds llama-cpp-python again, without its version."""

QUIET = 0.001
"""Root mean square of full scale below which a microphone gives silence rather than the noise of a room."""
SESSION_BYTES_AN_HOUR = 130_000_000
"""With --keep-audio: 115 MB of sound, and the events."""
LITTLE_DISK, NO_DISK = 1_000_000_000, 20_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    name: str
    state: str
    """`ok`; `warning`: captions run, but not as well as they could, or not from every source; `broken`: they do not."""
    text: str
    advice: str | None = None
    """What to do about it, if anything."""


def check_versions(portaudio: str | None) -> Finding:
    """Report the versions of livetrans and of its main packages; `portaudio` is None if it is missing."""
    named = [f"livetrans {__version__}", f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            named.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            return Finding("versions", BROKEN, f"{package} is not installed", "install livetrans again")
    return Finding("versions", OK, ", ".join([*named, portaudio or "no PortAudio"]))


def processor_flags(path: Path = Path("/proc/cpuinfo")) -> frozenset[str] | None:
    """Return Linux's names of the processor's features; None on other systems."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    flags = (line.partition(":")[2] for line in lines if line.startswith(("flags", "Features")))
    return frozenset(next(flags, "").split()) or None


def check_llama(info: str, offloads: bool, flags: frozenset[str] | None, system: str) -> Finding:
    """Check the translator's engine. `info` is llama.cpp's system info, `offloads` whether it uses a GPU."""
    built = set(re.findall(r"(\w+) = 1", info))
    fast = [name for name in CPU_FEATURES if name in built]
    where = "runs on the GPU" if offloads else "runs on the processor"
    text = f"{where}, built with {', '.join(fast) or 'no vector instructions'}"
    rebuild = REBUILD + version("llama-cpp-python")
    missing = [name for name, flag in CPU_FEATURES.items() if flags and flag in flags and name not in built]
    if system == "Darwin" and not offloads:
        return Finding("llama.cpp", WARNING, f"{text}, without Metal", f"build it again: {rebuild}")
    if missing and not offloads:
        could = f"{text}, without {', '.join(missing)}, which this processor has"
        return Finding("llama.cpp", WARNING, could, f"build it on this machine: {rebuild}")
    return Finding("llama.cpp", OK, text)


def check_ctranslate2(types: Sequence[str], cuda_devices: int) -> Finding:
    """Check the recogniser's engine; `types` are the types that it computes with on this processor."""
    where = "runs on CUDA" if cuda_devices else "runs on the processor"
    text = f"{where}, computes with {', '.join(sorted(types))}"
    if not any(name.startswith("int8") for name in types):
        return Finding("CTranslate2", WARNING, text, "pip install --upgrade ctranslate2: int8 is missing")
    return Finding("CTranslate2", OK, text)


def check_microphone(listen: Callable[[], tuple[str, float]]) -> Finding:
    """Check the microphone. `listen` returns its name and its highest level, 0..1, or raises SourceError.

    A microphone that fails is a warning only: recordings and piped sound need none.
    """
    try:
        device, level = listen()
    except SourceError as error:
        return Finding("microphone", WARNING, str(error))
    if level == 0:
        return Finding("microphone", WARNING, f"{device} gives only silence", zeros_advice())
    text = f"{device}, loudest moment {decibels(level):.0f} dB"
    if level < QUIET:
        return Finding("microphone", WARNING, f"{text}: very quiet", "speak while the doctor runs, or turn it up")
    return Finding("microphone", OK, text)


def check_disk(folder: Path) -> Finding:
    """Check the room for sessions on the disk of `folder`, which need not exist."""
    there = next((parent for parent in (folder, *folder.parents) if parent.is_dir()), Path("/"))
    free = shutil.disk_usage(there).free
    hour = file_size(SESSION_BYTES_AN_HOUR)
    text = f"{file_size(free)} free for sessions in {folder}; an hour with --keep-audio takes {hour}"
    if not os.access(there, os.W_OK):
        advice = "change its permissions, or give --session FOLDER or --no-session"
        return Finding("disk", BROKEN, f"{there} cannot be written", advice)
    if free < LITTLE_DISK:
        advice = "free some space, or give --session FOLDER on another disk"
        return Finding("disk", BROKEN if free < NO_DISK else WARNING, text, advice)
    return Finding("disk", OK, text)


def check_memory(needed: int, free: int) -> Finding:
    """Compare the bytes of the models' files, which are less than a run needs, with the free memory."""
    text = f"{file_size(free)} is free; the models' files have {file_size(needed)}, and a run needs more than that"
    if needed > free:
        return Finding("memory", BROKEN, text, "close other programs, or choose smaller models with --asr and --mt")
    return Finding("memory", OK, text)


def check_load_average(load: float, cores: int) -> Finding | None:
    """Warn of other programs that keep the cores busy; None if the machine is quiet enough to measure on."""
    if load < cores / 2:
        return None
    text = f"other programs keep {min(load, cores):.1f} of {cores} cores busy: captions come later than they would"
    return Finding("other load", WARNING, text, "close them, and try again")
