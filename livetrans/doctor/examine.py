"""The examination: every check, then a trial of the models, in each direction and with the other engine.

A trial plays the recording in the tree through the pipeline of a live run, at the pace of speech.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from livetrans.audio.source import Part
from livetrans.base.clock import Clock, SystemClock
from livetrans.base.errors import LivetransError, ModelError
from livetrans.base.installation import data_folder
from livetrans.base.languages import AUTO
from livetrans.config import Settings
from livetrans.doctor import checks
from livetrans.doctor.checks import BROKEN, OK, WARNING, Finding
from livetrans.events import BackPressure, Notice, Record, RunStarted, Translation
from livetrans.models.chosen import GPU, GPU_UNUSED, choose_models, with_other_engines
from livetrans.models.find import engine_of
from livetrans.run.backpressure import LEVELS
from livetrans.run.listening import Listening, OnAudio
from livetrans.run.opening import open_audio, open_translating
from livetrans.run.pipeline import Pipeline
from livetrans.run.publisher import Publish

SPEECH_SECONDS = 24.0
"""Seconds of the recording that are played: seven sentences."""
LOADING_SECONDS = 180.0
"""Longest time that the models may take to load."""
CATCH_UP_SECONDS = 15.0
"""Seconds after the end of the speech within which its captions have to be done."""


def examine(
    settings: Settings, measured: dict[str, Any], say: Callable[[str], None], warn: Callable[[Notice], None]
) -> Iterator[Finding]:
    """Yield every finding in turn; put the measurements into `measured`.

    `say` is told what is being measured, `warn` what is wrong with the choice of models.
    """
    wanted = settings
    missing: ModelError | None = None
    try:
        settings = choose_models(settings, warn)
    except ModelError as error:
        missing = error
    with _quiet():
        first = [checks.check_versions(), checks.check_translation(), checks.check_recognition()]
    yield from first
    say("listening to the microphone …")
    yield checks.check_microphone(partial(checks.hear_microphone, say))
    yield checks.check_output()
    say("measuring this machine …")
    yield checks.check_machine(wanted)
    models = Finding("models", BROKEN, str(missing)) if missing else checks.check_models(settings)
    yield models
    if models.state != BROKEN:
        for way in settings.directions:
            name = f"{way.source_language} to {way.target_language}" if settings.between else "captions"
            found = measured.setdefault(name, {}) if settings.between else measured
            yield from _tried(name, way, found, say)
        for other in with_other_engines(settings):
            assert other.recogniser is not None
            found = measured.setdefault("others", {}).setdefault(engine_of(other.recogniser.model), {})
            yield from _tried("other engine", other, found, say)


def _tried(name: str, settings: Settings, measured: dict[str, Any], say: Callable[[str], None]) -> Iterator[Finding]:
    """Yield what a trial run finds; only those of the chosen models can be broken."""
    assert settings.recogniser is not None
    recogniser = settings.recogniser.model.name
    say(f"playing {SPEECH_SECONDS:.0f} s of speech through {recogniser} …")
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
        advice = "fetch what keeps up here with `livetrans models pull`, or choose a smaller recogniser with --asr"
    return Finding("captions", state, text, advice)
