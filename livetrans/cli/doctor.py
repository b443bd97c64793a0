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
from typing import TYPE_CHECKING, Any

import click

from livetrans.cli.common import GroupedCommand, GroupedOption, say, warn
from livetrans.cli.run_options import run_options
from livetrans.clock import SystemClock
from livetrans.config import Settings
from livetrans.doctor.machine import BROKEN, OK, WARNING, Finding
from livetrans.errors import LivetransError, ModelError, SourceError
from livetrans.installation import as_started
from livetrans.models.chosen import EMBEDDED, choose_models, embedded_notice
from livetrans.text import file_size, visible

if TYPE_CHECKING:
    from livetrans.audio.capture import LevelMeter

WIDTH = 80
_INDENT = 22
_MEASURED = (
    "from",
    "to",
    "asr",
    "mt",
    "prompt",
    "context",
    "threads",
    "asr_threads",
    "step",
    "pause",
    "window",
    "config",
)
"""The shared options that change what the doctor measures."""
MICROPHONE_SECONDS = 10
"""Longest wait for the first sound: there is none where the sound server hangs."""
_MARKS = {OK: "ok", WARNING: "look", BROKEN: "broken"}


@click.command(cls=GroupedCommand)
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@run_options
def command(settings: Settings, as_json: bool) -> int:
    """Check whether captions will run on this machine, and say how far behind the speech they will be.

    Checks versions, builds, the microphone, memory and disk, and measures the models that `mic` would take with the
    same options. Nothing is fetched. The exit code is 1 where something that every run needs is broken.
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


for _parameter in command.params:
    # All options are taken, so that the command line of a run can be kept; help lists those that matter here.
    if isinstance(_parameter, GroupedOption) and _parameter.name not in _MEASURED:
        _parameter.hidden = True


def _examine(settings: Settings, measured: dict[str, Any]) -> Iterator[Finding]:
    """Every finding in turn; what was measured goes into `measured`.

    Raises:
        UsageError: a wrong option, before the first finding.
    """
    import psutil  # type: ignore[import-untyped]

    from livetrans.audio.portaudio import portaudio_version
    from livetrans.doctor import machine
    from livetrans.lm.llama.model import engine
    from livetrans.session.recorder import sessions_folder
    from livetrans.speech.whisper import compute_types, cuda_devices

    missing: ModelError | None = None
    try:
        settings = choose_models(settings, warn)
    except ModelError as error:
        missing = error
    yield machine.check_versions(portaudio_version())
    with _quiet():
        llama, types, devices = engine(), compute_types(), cuda_devices()
    yield machine.check_llama(llama.info, llama.offloads, machine.processor_flags(), platform.system())
    yield machine.check_ctranslate2(types, devices)
    _tell("listening to the microphone …")
    yield machine.check_microphone(_listen)
    yield machine.check_disk(sessions_folder())
    if missing:
        yield machine.fault("models", missing)
        return
    assert settings.recogniser is not None
    from livetrans.models.find import size_on_disk

    paths = [settings.recogniser.model, settings.language_model.model]
    named = ", ".join(f"{path.name} ({file_size(size_on_disk(path))})" for path in paths)
    embedded = embedded_notice(settings) is not None
    yield Finding("models", WARNING if embedded else OK, f"{named}; {EMBEDDED}" if embedded else named)
    memory = machine.check_memory(sum(map(size_on_disk, paths)), psutil.virtual_memory().available)
    yield memory
    busy = machine.check_load_average(psutil.getloadavg()[0], os.cpu_count() or 1)
    if busy:
        yield busy
    if memory.state != BROKEN:
        yield from _measure(settings, measured, suggests=busy is None)


def _measure(settings: Settings, measured: dict[str, Any], *, suggests: bool) -> Iterator[Finding]:
    """The pair's findings: each model by itself, then both together; `suggests`: then a pair that suits better."""
    import psutil

    from livetrans.doctor import measuring
    from livetrans.doctor.better import better_pair
    from livetrans.doctor.machine import fault

    assert settings.recogniser is not None
    clock = SystemClock()
    _tell(f"measuring the recogniser {settings.recogniser.model.name} …")
    try:
        with _quiet():
            recogniser = measuring.measure_recogniser(settings.recogniser, clock)
    except LivetransError as error:
        yield fault("recogniser", error)
        return
    measured["recogniser"] = asdict(recogniser)
    yield measuring.recogniser_finding(recogniser, settings.transcriber.step)
    _tell(f"measuring the translator {settings.language_model.model.name} …")
    try:
        with _quiet():
            translator = measuring.measure_translator(settings, clock)
    except LivetransError as error:
        yield fault("translator", error)
        return
    measured["translator"] = asdict(translator)
    yield measuring.translator_finding(translator)
    load = measuring.predict(recogniser, translator, settings)
    measured["predicted"] = {"step": settings.transcriber.step, **asdict(load), "keeps_up": load.keeps_up}
    yield measuring.captions_finding(load, settings.mask)
    if suggests:
        another = better_pair(settings, recogniser, translator, load, psutil.virtual_memory().available)
        if another:
            yield another


def _listen() -> tuple[str, float]:
    """The default microphone's name, and the level of its loudest moment.

    Raises:
        SourceError: there is none, or it gives no sound.
    """
    from livetrans.audio.capture import LevelMeter

    meter = LevelMeter(None)
    try:
        _wait_for_sound(meter)
    finally:
        meter.close()
    if meter.loudest is None:
        raise SourceError(meter.fault or "The microphone gives no sound.")
    return meter.name, meter.loudest


def _wait_for_sound(meter: LevelMeter) -> None:
    """Until a second after its first sound, or until it is clear that none comes."""
    for _ in range(MICROPHONE_SECONDS):
        ended, heard = meter.wait(1.0), meter.loudest is not None
        if ended or heard:
            return


def _tell(text: str) -> None:
    """Say on a terminal what is being measured."""
    if sys.stderr.isatty():
        say(text)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Send what native libraries write to standard error to nowhere."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _show(finding: Finding) -> None:
    first = f"{_MARKS[finding.state]:<8}{finding.name:<{_INDENT - 8}}"
    lines = textwrap.wrap(visible(finding.text), WIDTH - _INDENT, break_on_hyphens=False)
    if finding.advice:
        lines += textwrap.wrap(f"-> {visible(as_started(finding.advice))}", WIDTH - _INDENT, break_on_hyphens=False)
    click.echo(first + f"\n{' ' * _INDENT}".join(lines))


def _conclusion(findings: list[Finding]) -> str:
    broken = [finding.name for finding in findings if finding.state == BROKEN]
    if broken:
        return f"\nNot ready: {', '.join(broken)}."
    looks = [finding.name for finding in findings if finding.state == WARNING]
    return f"\nReady; worth a look: {', '.join(looks)}." if looks else "\nReady."
