"""`livetrans doctor`: the report, a line a finding as it is found, or all of it as JSON."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from typing import Any

import click

from livetrans import doctor
from livetrans.audio.portaudio import ON_A_MAC
from livetrans.cli.messages import say, warn
from livetrans.cli.options import run_command
from livetrans.clock import SystemClock
from livetrans.config import Settings
from livetrans.doctor import BROKEN, OK, WARNING, Finding
from livetrans.errors import LivetransError, ModelError, SourceError
from livetrans.installation import as_started, install_command
from livetrans.models.chosen import (
    EMBEDDED,
    GPU_UNUSED,
    choose_models,
    embedded_notice,
    on_apple_silicon,
    with_other_engine,
)
from livetrans.text import file_size, visible

WIDTH = 80
_INDENT = 22
ZEROS_SECONDS = 30 if ON_A_MAC else 3
"""Seconds of nothing but zeros after which a microphone counts as silent: macOS gives them while it asks the user."""


# All options are taken, so that the command line of a run can be kept; those of the output change nothing here.
@run_command("doctor", hides="Output")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
def command(settings: Settings, as_json: bool) -> int:
    """Check whether captions will run on this machine, and say how far behind the speech they will be.

    Checks versions, builds, the microphone, the output, memory and disk, then plays half a minute of speech through the
    models that `mic` would take with the same options. Nothing is fetched. If something that every run needs is broken,
    the exit code is 1.
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
    """Yield every finding in turn; put what was measured into `measured`.

    Raises:
        UsageError: a wrong option, before the first finding.
    """
    import psutil  # type: ignore[import-untyped]

    from livetrans.audio.portaudio import portaudio_version
    from livetrans.lm.llama.cells import runs_on_cpu
    from livetrans.lm.llama.model import engine as llama_engine
    from livetrans.models.find import size_on_disk
    from livetrans.models.gguf import context_bytes
    from livetrans.session.store import sessions_folder
    from livetrans.speech.whisper import engine as recogniser_engine
    from livetrans.speech.whisper_cpp import engine as gpu_engine

    missing: ModelError | None = None
    try:
        settings = choose_models(settings, warn)
    except ModelError as error:
        missing = error
    yield doctor.check_versions(portaudio_version())
    with _quiet():
        llama, recogniser = llama_engine(), recogniser_engine()
    yield doctor.check_llama(llama, not runs_on_cpu(), doctor.processor_flags(), platform.system())
    yield doctor.check_ctranslate2(*recogniser)
    if finding := doctor.check_whisper_cpp(gpu_engine(), on_apple_silicon(), install_command("metal")):
        yield finding
    _show_progress("listening to the microphone …")
    yield doctor.check_microphone(_listen)
    yield doctor.check_output(_open_output)
    yield doctor.check_disk(sessions_folder())
    if missing:
        yield Finding("models", BROKEN, str(missing))
        return
    assert settings.recogniser is not None
    paths = [settings.recogniser.model, settings.language_model.model]
    named = ", ".join(f"{path.name} ({file_size(size_on_disk(path))})" for path in paths)
    if embedded := embedded_notice(settings):
        advice = f"{embedded.text.rpartition('; ')[2]} Then run the doctor again."
        yield Finding("models", WARNING, f"{named}; {EMBEDDED}", advice)
    else:
        yield Finding("models", OK, named)
    # Each language has a context; the speedup takes two more, of which `livetrans.run.speedup` says why.
    contexts = len(settings.targets) + 2 * settings.output.speedup
    cells = [context_bytes(paths[1], settings.language_model.context_tokens)] * contexts
    memory = doctor.check_memory(sum(map(size_on_disk, paths)), psutil.virtual_memory().available, cells)
    yield memory
    if busy := doctor.check_load_average(psutil.getloadavg()[0], os.cpu_count() or 1):
        yield busy
    if memory.state == BROKEN:
        return
    names = f"{paths[0].name} and {paths[1].name}"
    try:
        trial = _tried(settings, f"playing {doctor.SPEECH_SECONDS:.0f} s of speech through {names} …")
    except LivetransError as error:
        yield Finding("captions", BROKEN, str(error))
        return
    measured |= asdict(trial) | {"keeps_up": trial.keeps_up}
    if trial.gpu_unused:
        yield Finding("GPU", WARNING, GPU_UNUSED.rstrip("."))
    yield doctor.trial_finding(trial)
    other = with_other_engine(settings)
    if other is None or other.recogniser is None:
        return
    name = other.recogniser.model.name
    try:
        trial = _tried(other, f"playing it through {name}, with the other engine …")
    except LivetransError as error:
        yield Finding("other engine", WARNING, str(error))
        return
    measured["other"] = asdict(trial) | {"recogniser_model": name, "keeps_up": trial.keeps_up}
    if trial.gpu_unused:
        yield Finding("GPU", WARNING, GPU_UNUSED.rstrip("."))
    yield doctor.other_finding(name, trial)


def _tried(settings: Settings, progress: str) -> doctor.Trial:
    """Show the progress, and return what a trial run measured."""
    _show_progress(progress)
    with _quiet():
        return doctor.run_trial(settings, SystemClock())


def _listen() -> tuple[str, float]:
    """Return the default microphone's name, and the level of its loudest moment.

    Listens for a second from the first sound that is not zero. The capture itself gives up where none comes.

    Raises:
        SourceError: there is none, or it gives no sound.
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
    """Return the name of what `listen` would listen to, and release it.

    Raises:
        SourceError: there is nothing.
    """
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
    wrapped = [textwrap.wrap(visible(as_started(line)), WIDTH - _INDENT, break_on_hyphens=False) for line in lines]
    first = f"{finding.state:<8}{finding.name:<{_INDENT - 8}}"
    click.echo(first + f"\n{' ' * _INDENT}".join(chain.from_iterable(wrapped)))


def _conclusion(findings: list[Finding]) -> str:
    for state, conclusion in ((BROKEN, "Not ready"), (WARNING, "Ready, with warnings")):
        if names := [finding.name for finding in findings if finding.state == state]:
            return f"\n{conclusion}: {', '.join(names)}."
    return "\nReady."
