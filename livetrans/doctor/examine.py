"""The examination: every check, then a trial of the models, in each direction and with the other engine."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from livetrans.base.clock import SystemClock
from livetrans.base.errors import LivetransError, ModelError
from livetrans.config import Settings
from livetrans.doctor.checks import (
    BROKEN,
    OK,
    WARNING,
    Finding,
    check_machine,
    check_microphone,
    check_models,
    check_output,
    check_recognition,
    check_translation,
    check_versions,
    hear_microphone,
    open_output,
)
from livetrans.doctor.trial import SPEECH_SECONDS, run_trial, trial_finding
from livetrans.events import Notice
from livetrans.models.chosen import GPU_UNUSED, choose_models, with_other_engines
from livetrans.models.find import engine_of


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
        first = [check_versions(), check_translation(), check_recognition()]
    yield from first
    say("listening to the microphone …")
    yield check_microphone(partial(hear_microphone, say))
    yield check_output(open_output)
    say("measuring this machine …")
    yield check_machine(wanted)
    models = Finding("models", BROKEN, str(missing)) if missing else check_models(settings)
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
