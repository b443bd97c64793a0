"""`livetrans doctor`: whether captions will run on this machine, and how late they will be.

The trial plays the recording in the tree through the pipeline of a live run, at the pace of speech.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from itertools import chain
from typing import Any

import click

from livetrans import __version__
from livetrans.audio.capture import decibels
from livetrans.audio.portaudio import ON_A_MAC, portaudio_version, zeros_advice
from livetrans.audio.source import Part
from livetrans.base.clock import Clock, SystemClock
from livetrans.base.errors import LivetransError, ModelError, SourceError
from livetrans.base.installation import build_command, data_folder, install_command
from livetrans.base.languages import AUTO
from livetrans.base.text import file_size, visible
from livetrans.cli.messages import say, warn
from livetrans.cli.options import run_command
from livetrans.config import Settings
from livetrans.events import BackPressure, Notice, Record, RunStarted, Translation
from livetrans.models.chosen import (
    EMBEDDED,
    GPU,
    GPU_UNUSED,
    choose_models,
    embedded_notice,
    has_gpu_engine,
    has_whisper_cpp,
    on_apple_silicon,
    with_other_engine,
)
from livetrans.models.find import size_on_disk
from livetrans.run.backpressure import LEVELS
from livetrans.run.listening import Listening, OnAudio
from livetrans.run.opening import open_audio, open_translating
from livetrans.run.pipeline import Pipeline
from livetrans.run.publisher import Publish

OK, WARNING, BROKEN = "ok", "warning", "broken"
PACKAGES = ("llama-cpp-python", "ctranslate2", "faster-whisper", "sounddevice")
QUIET = 0.001
"""Root mean square of full scale below which a microphone gives silence rather than the noise of a room."""
ZEROS_SECONDS = 30 if ON_A_MAC else 3
"""Seconds of zeros after which a microphone counts as silent: macOS gives zeros while it asks the user."""
SPEECH_SECONDS = 24.0
"""Seconds of the recording that are played: seven sentences."""
LOADING_SECONDS = 180.0
"""Longest time that the models may take to load."""
CATCH_UP_SECONDS = 15.0
"""Seconds after the end of the speech within which its captions have to be done."""

_WIDTH, _INDENT = 80, 22


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    name: str
    state: str
    """`ok`; `warning`: captions run, but not as well as they could, or not from every source; `broken`: they do not."""
    text: str
    advice: str | None = None
    """What to do about it, if anything."""


# All options are taken, so that the command line of a run can be kept; those of the output change nothing here.
@run_command("doctor", hides="Output")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
def command(settings: Settings, as_json: bool) -> int:
    """Check whether captions will run on this machine, and measure how far behind the speech they will be.

    Checks versions, the microphone, the output and the models, then plays half a minute of speech through the models
    that `mic` would take with the same options, for --between in each direction. Nothing is fetched. The exit code is 1
    if something that every run needs is broken.
    """
    findings: list[Finding] = []
    measured: dict[str, Any] = {}
    for finding in _examine(settings, measured):
        findings.append(finding)
        if not as_json:
            _show(finding)
    broken = any(finding.state == BROKEN for finding in findings)
    if as_json:
        values = {"ok": not broken, "findings": [asdict(finding) for finding in findings], "measured": measured}
        click.echo(json.dumps(values, ensure_ascii=False))
    else:
        click.echo(_conclusion(findings))
    return int(broken)


def _examine(settings: Settings, measured: dict[str, Any]) -> Iterator[Finding]:
    """Yield every finding in turn; put the measurements into `measured`."""
    missing: ModelError | None = None
    try:
        settings = choose_models(settings, warn)
    except ModelError as error:
        missing = error
    with _quiet():
        first = [check_versions(), check_translation(), check_recognition()]
    yield from first
    _show_progress("listening to the microphone …")
    yield check_microphone(_listen)
    yield check_output(_open_output)
    models = Finding("models", BROKEN, str(missing)) if missing else check_models(settings)
    yield models
    if models.state != BROKEN:
        for way in settings.directions:
            name = f"{way.source_language} to {way.target_language}" if settings.between else "captions"
            found = measured.setdefault(name, {}) if settings.between else measured
            yield from _tried(name, way, found)
        if other := with_other_engine(settings):
            measured["other"] = {}
            yield from _tried("other engine", other, measured["other"])


def _tried(name: str, settings: Settings, measured: dict[str, Any]) -> Iterator[Finding]:
    """Yield what a trial run finds; only those of the chosen models can be broken."""
    assert settings.recogniser is not None
    recogniser = settings.recogniser.model.name
    _show_progress(f"playing {SPEECH_SECONDS:.0f} s of speech through {recogniser} …")
    try:
        with _quiet():
            trial = run_trial(settings, SystemClock())
    except LivetransError as error:
        yield Finding(name, WARNING if name == "other engine" else BROKEN, str(error))
        return
    measured |= asdict(trial) | {"recogniser_model": recogniser, "keeps_up": trial.keeps_up}
    if trial.gpu_unused:
        yield Finding("GPU", WARNING, GPU_UNUSED.rstrip("."))
    finding = trial_finding(trial)
    if name == "other engine":
        finding = Finding(name, OK, f"with {recogniser} {finding.text}")
    yield replace(finding, name=name)


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


def check_output(open_output: Callable[[], str]) -> Finding:
    """Check what `listen` would hear. `open_output` returns its name, or raises SourceError."""
    try:
        return Finding("output", OK, f"what {open_output()} plays can be heard by `livetrans listen`")
    except SourceError as error:
        return Finding("output", WARNING, str(error))


def check_models(settings: Settings) -> Finding:
    """Name the models of the run, and compare their size with the free memory: a run needs more than their files."""
    import psutil  # type: ignore[import-untyped]

    assert settings.recogniser is not None
    translators = [way.language_model.model for way in settings.directions]
    sizes = {path: size_on_disk(path) for path in (settings.recogniser.model, *translators)}
    free = psutil.virtual_memory().available
    text = ", ".join(f"{path.name} ({file_size(size)})" for path, size in sizes.items())
    text += f"; {file_size(free)} of memory is free"
    if sum(sizes.values()) > free:
        return Finding("models", BROKEN, text, "close other programs, or choose smaller models with --asr and --mt")
    if embedded := embedded_notice(settings):
        advice = f"{embedded.text.rpartition('; ')[2]} Then run the doctor again."
        return Finding("models", WARNING, f"{text}; {EMBEDDED}", advice)
    return Finding("models", OK, text)


@dataclass(frozen=True, slots=True)
class Trial:
    """The measurements of a trial run."""

    finished: bool
    """Whether everything was translated `CATCH_UP_SECONDS` after the end of the speech."""
    heard: float
    """Seconds of speech that were recognised."""
    lag: float | None
    """Median seconds from the end of a spoken word to the caption that shows it; None without captions."""
    lag_95: float | None
    """The 95th percentile of the same."""
    recognising: float
    translating: float
    """Seconds that the stage computed."""
    left_out: str
    """The level of back-pressure that left out most, see `livetrans.run.backpressure`; `normal` if nothing was."""
    gpu_unused: bool = False
    """Whether whisper.cpp is built for a GPU and could not start it."""

    @property
    def keeps_up(self) -> bool:
        return self.finished and self.left_out == LEVELS[0].name


class _Load:
    """A sink that keeps what a trial needs besides the run's figures."""

    def __init__(self) -> None:
        self.began_at: float | None = None
        self.level = 0
        """The highest of `LEVELS`."""
        self.translating = 0.0
        """Seconds."""
        self.gpu_unused = False

    def write(self, record: Record) -> None:
        match record.event:
            case RunStarted():
                self.began_at = record.at
            case Notice(about=subject) if subject == GPU:
                self.gpu_unused = True
            case Translation(stats=stats):
                self.translating += stats.total_seconds
            case BackPressure(level=name):
                self.level = max(self.level, [level.name for level in LEVELS].index(name))

    def close(self) -> None:
        """Do nothing: the values stay readable."""


def run_trial(settings: Settings, clock: Clock) -> Trial:
    """Play the English recording through the models of `settings` and measure.

    Raises:
        ModelError: a model cannot be loaded, fails, or takes too long to load.
        UsageError: a model does not know the languages.
    """
    from livetrans.audio.file import AudioFile

    assert settings.recogniser is not None
    if settings.source_language not in ("en", AUTO) and settings.target_language != "en":
        settings = replace(settings, sources=("en",), recogniser=replace(settings.recogniser, language="en"))
    recording, part = data_folder("recordings") / "demo.flac", Part(0.0, SPEECH_SECONDS)

    def open_listening(publish: Publish, on_audio: OnAudio) -> Listening:
        return open_audio(AudioFile(recording, clock, True, part=part), settings, clock, publish, on_audio)

    load = _Load()
    pipeline = Pipeline(settings, open_listening, partial(open_translating, settings, clock), clock, [load])
    end = clock.now() + LOADING_SECONDS
    pipeline.start()
    try:
        while not (finished := pipeline.join(0.1)) and clock.now() < end:
            if load.began_at is not None:
                end = load.began_at + SPEECH_SECONDS + CATCH_UP_SECONDS
    finally:
        pipeline.stop()
    if load.began_at is None:
        raise ModelError(f"The models were not loaded after {LOADING_SECONDS:.0f} s: choose smaller ones.")
    figures = pipeline.monitor.snapshot()
    return Trial(
        finished=finished,
        heard=figures.heard,
        lag=figures.lag_median,
        lag_95=figures.lag_p95,
        recognising=(figures.real_time_factor or 0.0) * figures.heard,
        translating=load.translating,
        left_out=LEVELS[load.level].name,
        gpu_unused=load.gpu_unused,
    )


def trial_finding(trial: Trial) -> Finding:
    """Return whether the machine keeps up and how late captions are, with advice."""
    lag = "no word of the recording was recognised, so the delay of captions is unknown"
    if trial.lag is not None and trial.lag_95 is not None:
        lag = f"half of the words are shown within {trial.lag:.1f} s, 95 of 100 within {trial.lag_95:.1f} s"
    if trial.keeps_up:
        return Finding("captions", OK if trial.lag is not None else WARNING, f"this machine keeps up: {lag}")
    state = WARNING
    text = f"this machine keeps up only by leaving out growing captions ({trial.left_out}): {lag}"
    if not trial.finished:
        state = BROKEN if trial.lag is None else WARNING
        text = (
            f"this machine does not keep up: {trial.heard:.0f} of {SPEECH_SECONDS:.0f} s of speech were recognised "
            f"{CATCH_UP_SECONDS:.0f} s after their end; captions come later and later"
        )
    advice = "choose a smaller translator with --mt, fewer languages with --to, or a longer --step"
    if trial.recognising > trial.translating:
        advice = "choose a smaller recogniser with --asr, give it --encode-window partials, or a longer --step"
    return Finding("captions", state, text, advice)


def _listen() -> tuple[str, float]:
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
                _show_progress("the microphone is silent so far; if the system asks whether it may be used, allow it")
    finally:
        meter.close()
    if meter.loudest is None:
        raise SourceError(meter.fault or "The microphone gives no sound.")
    return meter.name, meter.loudest


def _open_output() -> str:
    """Return the name of what `listen` would listen to, and release it."""
    from livetrans.audio.capture import OUTPUT, Capture

    capture = Capture(None, None, OUTPUT)
    capture.close()
    return capture.device


def _show_progress(text: str) -> None:
    """Print on a terminal what is being measured."""
    if sys.stderr.isatty():
        say(text)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Discard what native libraries write to standard error."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _show(finding: Finding) -> None:
    lines = [finding.text, *([f"-> {finding.advice}"] if finding.advice else [])]
    wrapped = [textwrap.wrap(visible(line), _WIDTH - _INDENT, break_on_hyphens=False) for line in lines]
    first = f"{finding.state:<8}{finding.name:<{_INDENT - 8}}"
    click.echo(first + f"\n{' ' * _INDENT}".join(chain.from_iterable(wrapped)))


def _conclusion(findings: list[Finding]) -> str:
    for state, conclusion in ((BROKEN, "Not ready"), (WARNING, "Ready, with warnings")):
        if names := [finding.name for finding in findings if finding.state == state]:
            return f"\n{conclusion}: {', '.join(names)}."
    return "\nReady."
