"""The doctor: what this machine has, and how late captions are in a trial run with the models that would run.

The trial plays the recording in the tree through the pipeline of a live run, at the pace of speech.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from livetrans import __version__
from livetrans.audio.capture import decibels
from livetrans.audio.portaudio import zeros_advice
from livetrans.audio.source import Part
from livetrans.clock import Clock
from livetrans.config import Settings
from livetrans.errors import ModelError, SourceError, UsageError
from livetrans.events import BackPressure, Caption, Notice, Record, RunStarted, Transcript, Translation
from livetrans.installation import data_folder
from livetrans.languages import AUTO
from livetrans.metrics.monitor import Monitor
from livetrans.models.chosen import GPU_UNUSED
from livetrans.run.backpressure import LEVELS
from livetrans.run.listening import Listening, OnAudio
from livetrans.run.opening import open_audio, open_translating
from livetrans.run.pipeline import Pipeline
from livetrans.run.publisher import Publish
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
because llama.cpp crashes there (docs/design.md)."""
REBUILD = "pip install --force-reinstall --no-deps --no-cache-dir --no-binary llama-cpp-python llama-cpp-python=="
"""The command that builds llama-cpp-python again, without its version."""

QUIET = 0.001
"""Root mean square of full scale below which a microphone gives silence rather than the noise of a room."""
SESSION_BYTES_AN_HOUR = 130_000_000
"""With --keep-audio: 115 MB of sound, and the events."""
LITTLE_DISK, NO_DISK = 1_000_000_000, 20_000_000

SPEECH_SECONDS = 24.0
"""Seconds of the recording that are played: seven sentences."""
LOADING_SECONDS = 180.0
"""Longest time that the models may take to load."""
CATCH_UP_SECONDS = 15.0
"""Seconds after the end of the speech within which its captions have to be done."""
FULL = 0.8
"""Share of the time from which a stage has little room for other programs and longer sentences."""


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


def check_whisper_cpp(info: str | None, on_apple_silicon: bool, install: str) -> Finding | None:
    """Check the other engine of recognition; `info` is what it says of its build, None where it is not installed."""
    if info is None:
        text = "not installed: the recogniser uses the processor alone"
        return Finding("whisper.cpp", WARNING, text, f"it uses the GPU: {install}") if on_apple_silicon else None
    # Each library of devices stands with its features; Metal's is called MTL.
    names = [name.replace("MTL", "Metal") for name in re.findall(r"(\w+) : ", info)]
    if devices := [name for name in names if name not in ("WHISPER", "CPU", "BLAS")]:
        return Finding("whisper.cpp", OK, f"built for {', '.join(devices)}")
    return Finding("whisper.cpp", OK, "runs on the processor, where it is slower: taken only with --engine whisper.cpp")


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


def check_output(open_output: Callable[[], str]) -> Finding:
    """Check what `listen` takes. `open_output` returns the name of what it would listen to, or raises SourceError."""
    try:
        return Finding("output", OK, f"what {open_output()} plays can be heard by `livetrans listen`")
    except SourceError as error:
        return Finding("output", WARNING, str(error))


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


def check_memory(files: int, free: int, contexts: Sequence[int] = ()) -> Finding:
    """Compare the bytes of the models' files and of the translator's contexts with the free memory.

    A run needs more than these.
    """
    cells = f", the translator's {len(contexts)} contexts {file_size(sum(contexts))}" if sum(contexts) else ""
    text = f"{file_size(free)} is free; the models' files have {file_size(files)}{cells}, and a run needs more"
    if files + sum(contexts) > free:
        return Finding("memory", BROKEN, text, "close other programs, or choose smaller models with --asr and --mt")
    return Finding("memory", OK, text)


def check_load_average(load: float, cores: int) -> Finding | None:
    """Warn of other programs that keep the cores busy; None if the machine is quiet enough to measure on."""
    if load < cores / 2:
        return None
    text = f"other programs keep {min(load, cores):.1f} of {cores} cores busy: captions come later than they would"
    return Finding("other load", WARNING, text, "close them, and try again")


@dataclass(frozen=True, slots=True)
class Trial:
    """What a trial run measured."""

    finished: bool
    """Whether everything was translated `CATCH_UP_SECONDS` after the end of the speech."""
    heard: float
    """Seconds of speech that were recognised."""
    lag: float | None
    """Median seconds from the end of a spoken word to the caption that shows it; None without captions."""
    lag_95: float | None
    """The same, for 95 of 100 words at most."""
    recogniser: float
    translator: float
    """Share of the time that a stage was busy."""
    languages: dict[str, float]
    """The translator's share for each language of the captions; empty with one."""
    left_out: str
    """The level of back-pressure that left out most, see `livetrans.run.backpressure`; `normal` if nothing was."""
    behind: float
    """Seconds by which the run was behind at most."""
    gpu_unused: bool = False
    """Whether whisper.cpp is built for a GPU, and could not start it."""

    @property
    def keeps_up(self) -> bool:
        return self.finished and self.left_out == LEVELS[0].name


class _Load:
    """A sink that sums up what a trial needs beside the monitor's figures."""

    def __init__(self) -> None:
        self.began_at: float | None = None
        self._targets: tuple[str, ...] = ()
        self.seconds: defaultdict[str, float] = defaultdict(float)
        """Of translation, by language."""
        self._translated_at = 0.0
        self._waiting: set[tuple[int, str]] = set()
        """Segments whose final is not shown yet, with the language."""
        self.left_out, self.behind = 0, 0.0
        self.gpu_unused = False

    def write(self, record: Record) -> None:
        match record.event:
            case RunStarted(settings=settings):
                self.began_at = self._translated_at = record.at
                self._targets = settings.targets
            case Transcript(segment_id=segment, final=True):
                self._waiting |= {(segment, code) for code in self._targets}
            case Translation(language=code) as translation:
                self.seconds[str(code)] += translation.stats.total_seconds
                self._translated_at = record.at
            case Caption(segment_id=segment, final=True, language=code):
                self._waiting.discard((segment, str(code)))
            case Notice(text=text) if text == GPU_UNUSED:
                self.gpu_unused = True
            case BackPressure(level=name, behind_seconds=behind):
                self.left_out = max(self.left_out, [level.name for level in LEVELS].index(name))
                self.behind = max(self.behind, behind)

    def translating_seconds(self, now: float) -> float:
        """Return the time that updates took, with the one that is being made while finals wait."""
        return sum(self.seconds.values()) + (now - self._translated_at if self._waiting else 0.0)

    def close(self) -> None:
        """Do nothing: the sums stay readable."""


def run_trial(settings: Settings, clock: Clock) -> Trial:
    """Play the recording through the models of `settings`, and measure; it is English, and the run expects that.

    Raises:
        ModelError: a model cannot be loaded, fails, or takes too long to load.
        UsageError: a model does not know the languages.
    """
    english = _expecting_english(settings)
    try:
        return _run(english, clock)
    except UsageError:
        if english == settings:
            raise
    return _run(settings, clock)


def _run(settings: Settings, clock: Clock) -> Trial:
    from livetrans.audio.file import AudioFile

    recording, part = data_folder("recordings") / "demo.flac", Part(0.0, SPEECH_SECONDS)

    def open_listening(publish: Publish, on_audio: OnAudio) -> Listening:
        return open_audio(AudioFile(recording, clock, True, part=part), settings, clock, publish, on_audio)

    monitor, load = Monitor(settings, memory=lambda: None), _Load()
    pipeline = Pipeline(settings, open_listening, partial(open_translating, settings, clock), clock, [monitor, load])
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
    now, figures = clock.now(), monitor.snapshot()
    seconds = now - load.began_at
    heard = max(figures.heard, 0.1)
    return Trial(
        finished=finished,
        heard=figures.heard,
        lag=figures.seen_lag_median,
        lag_95=figures.seen_lag_p95,
        recogniser=(figures.real_time_factor or 0.0) * heard / seconds,
        translator=load.translating_seconds(now) / seconds,
        languages={code: load.seconds[code] / seconds for code in settings.targets} if settings.targets[1:] else {},
        left_out=LEVELS[load.left_out].name,
        behind=load.behind,
        gpu_unused=load.gpu_unused,
    )


def _expecting_english(settings: Settings) -> Settings:
    """Return the settings for English speech, unless that is the captions' language or may be detected."""
    assert settings.recogniser is not None
    if settings.source_language in ("en", AUTO) or settings.target_language == "en":
        return settings
    return replace(settings, sources=("en",), recogniser=replace(settings.recogniser, language="en"))


def trial_finding(trial: Trial) -> Finding:
    """Return whether the machine keeps up and how late captions are, with advice."""
    busy = _busy(trial)
    lag = "no word of the recording was recognised, so how late captions are is unknown"
    if trial.lag is not None and trial.lag_95 is not None:
        lag = f"half of the words are shown within {trial.lag:.1f} s, 95 of 100 within {trial.lag_95:.1f} s"
    if not trial.finished:
        text = f"this machine does not keep up: {trial.heard:.0f} of {SPEECH_SECONDS:.0f} s of speech were recognised"
        text += f" {CATCH_UP_SECONDS:.0f} s after their end; captions come later and later"
        return Finding("captions", BROKEN if trial.lag is None else WARNING, f"{text}; {busy}", _advice(trial))
    if not trial.keeps_up:
        text = f"this machine keeps up only by leaving out growing captions ({trial.left_out}): it was up to "
        return Finding("captions", WARNING, f"{text}{trial.behind:.0f} s behind; {lag}; {busy}", _advice(trial))
    if max(trial.recogniser, trial.translator) > FULL:
        return Finding("captions", WARNING, f"this machine just keeps up: {lag}; {busy}", _advice(trial))
    state = OK if trial.lag is not None else WARNING
    return Finding("captions", state, f"this machine keeps up: {lag}; {busy}")


def other_finding(model: str, trial: Trial) -> Finding:
    """Return whether the machine keeps up with another recogniser, which was not chosen."""
    verdict = "keeps up" if trial.keeps_up else "does not keep up"
    return Finding("other engine", OK, f"with {model} this machine {verdict}; {_busy(trial)}")


def _busy(trial: Trial) -> str:
    shares = ", ".join(f"{code} {share:.0%}" for code, share in trial.languages.items())
    busy = f"the recogniser is busy {trial.recogniser:.0%} of the time, the translator {trial.translator:.0%}"
    return f"{busy} ({shares})" if shares else busy


def _advice(trial: Trial) -> str:
    if trial.recogniser >= trial.translator:
        return "choose a smaller recogniser with --asr, give it --window partials, or a longer --step"
    fewer = "fewer languages with --to, " if trial.languages else ""
    return f"choose a smaller translator with --mt, {fewer}or give a longer --step"
