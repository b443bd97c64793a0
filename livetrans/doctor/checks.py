"""What a run needs of this machine: packages, engines, devices, models and memory."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product

from livetrans import __version__
from livetrans.audio.capture import decibels
from livetrans.audio.portaudio import ON_A_MAC, portaudio_version, zeros_advice
from livetrans.base.errors import ModelError, SourceError, UsageError
from livetrans.base.installation import build_command, install_command
from livetrans.base.text import file_size
from livetrans.config import Settings
from livetrans.doctor.machine import this_machine
from livetrans.lm.server.transport import privacy
from livetrans.models.catalogue import RECOGNISER, TRANSLATOR
from livetrans.models.chosen import (
    EMBEDDED,
    embedded_notice,
    has_gpu_engine,
    has_whisper_cpp,
    languages_of,
    on_apple_silicon,
)
from livetrans.models.find import find_models, size_on_disk

OK, WARNING, BROKEN = "ok", "warning", "broken"
PACKAGES = ("llama-cpp-python", "ctranslate2", "faster-whisper", "sounddevice")
QUIET = 0.001
"""Root mean square of full scale below which a microphone gives silence rather than the noise of a room."""
ZEROS_SECONDS = 30 if ON_A_MAC else 3
"""Seconds of zeros after which a microphone counts as silent: macOS gives zeros while it asks the user."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    name: str
    state: str
    """`ok`; `warning`: captions run, but not as well as they could, or not from every source; `broken`: they do not."""
    text: str
    advice: str | None = None
    """What to do about it, if anything."""


def check_versions() -> Finding:
    """Report the versions of livetrans, of the system and of the main packages."""
    packages = [f"{package} {version(package)}" for package in PACKAGES]
    named = [f"livetrans {__version__}", platform.platform(), f"Python {platform.python_version()}", *packages]
    return Finding("versions", OK, ", ".join([*named, portaudio_version() or "no PortAudio"]))


def check_translation() -> Finding:
    """Report what computes the translator; on a Mac that is the GPU."""
    try:
        from livetrans.lm.llama import ENGINE
        from livetrans.lm.llama.cells import runs_on_cpu
        from livetrans.lm.llama.checks import check_engine

        check_engine()
    except ModelError as error:
        return Finding("translation", BROKEN, str(error))
    if not runs_on_cpu():
        return Finding("translation", OK, "on the GPU, by llama.cpp")
    if not ON_A_MAC:
        return Finding("translation", OK, "on the processor, by llama.cpp")
    advice = f"compile it again: {build_command(ENGINE)}"
    return Finding("translation", WARNING, "on the processor: llama.cpp was built without Metal", advice)


def check_recognition() -> Finding:
    """Report what computes the recogniser."""
    from livetrans.speech.whisper import cuda_devices

    text = f"on {'CUDA' if cuda_devices() else 'the processor'}, by faster-whisper"
    if has_gpu_engine():
        text += "; on the GPU, by whisper.cpp"
    elif on_apple_silicon():
        return Finding("recognition", WARNING, text, f"whisper.cpp uses the GPU: {install_command('metal')}")
    elif has_whisper_cpp():
        text += "; whisper.cpp runs on the processor too, where it is slower, and only with --engine whisper.cpp"
    return Finding("recognition", OK, text)


def check_microphone(listen: Callable[[], tuple[str, float]]) -> Finding:
    """Check the microphone. `listen` returns its name and its highest level (0 to 1), or raises SourceError.

    A microphone that fails is only a warning: recordings and piped sound need none.
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


def check_output() -> Finding:
    try:
        return Finding("output", OK, f"what {open_output()} plays can be heard by `livetrans listen`")
    except SourceError as error:
        return Finding("output", WARNING, str(error))


def check_machine(settings: Settings) -> Finding:
    """Say how late words would be, by the catalogue's costs, with the models here and with those to fetch."""
    assert settings.recogniser is not None
    machine, languages = this_machine(), languages_of(settings)
    try:
        best = machine.pair(settings, settings.recogniser.engine)
    except UsageError as error:
        return Finding("machine", WARNING, f"{machine}; {error}")
    found = [model.entry for model in find_models() if model.entry and model.entry.fits(languages)]
    if settings.language_model.server:  # What translates there is not of this machine.
        name = best[0].name
        return Finding("machine", OK, str(machine), None if best[0] in found else f"`livetrans models pull {name}`")
    pairs = [pair for pair in product(found, found) if (pair[0].kind, pair[1].kind) == (RECOGNISER, TRANSLATOR)]
    text = "; ".join([str(machine), *(f"here: {machine.described(*pair)}" for pair in pairs if machine.lag(*pair))])
    if best in pairs:
        return Finding("machine", OK, text)
    advice = f"`livetrans models pull {languages.pull_options}` fetches {machine.described(*best)}"
    return Finding("machine", OK, text, advice)


def check_models(settings: Settings) -> Finding:
    """Name the models of the run, and compare their size with the free memory: a run needs more than their files."""
    import psutil  # type: ignore[import-untyped]

    assert settings.recogniser is not None
    server = settings.language_model.server
    translators = [] if server else [way.language_model.model for way in settings.directions]
    sizes = {path: size_on_disk(path) for path in (settings.recogniser.model, *translators)}
    free = psutil.virtual_memory().available
    text = ", ".join(f"{path.name} ({file_size(size)})" for path, size in sizes.items())
    text += f"; {file_size(free)} of memory is free"
    if server:
        way = "by log-probabilities" if settings.decoding.method != "prefix" else "behind kept prefixes"
        text += f"; {settings.language_model.model} at {server} translates {way}"
        text += f", and {leaves}" if (leaves := privacy(server)) else ""
    if sum(sizes.values()) > free:
        return Finding("models", BROKEN, text, "close other programs, or choose smaller models with --asr and --mt")
    if embedded := embedded_notice(settings):
        advice = f"{embedded.text.rpartition('; ')[2]} Then run the doctor again."
        return Finding("models", WARNING, f"{text}; {EMBEDDED}", advice)
    return Finding("models", OK, text)


def hear_microphone(say: Callable[[str], None]) -> tuple[str, float]:
    """Return the default microphone's name, and the level of its loudest moment.

    Listens for a second from the first sound that is not zero. The capture itself gives up if none comes.
    """
    from livetrans.audio.capture import LevelMeter

    meter = LevelMeter(None)
    try:
        silent = 0
        while not meter.wait(1.0) and not meter.loudest and silent < ZEROS_SECONDS:
            silent += meter.loudest is not None
            if ON_A_MAC and silent == 2:
                say("the microphone is silent so far; if the system asks whether it may be used, allow it")
    finally:
        meter.close()
    if meter.loudest is None:
        raise SourceError(meter.fault or "The microphone gives no sound.")
    return meter.name, meter.loudest


def open_output() -> str:
    """Return the name of what `listen` would listen to, and release it."""
    from livetrans.audio.capture import OUTPUT, Capture

    capture = Capture(None, None, OUTPUT)
    capture.close()
    return capture.device
