"""`livetrans doctor`: whether captions will run on this machine, and how late they will be."""

from __future__ import annotations

import json
import sys
import textwrap
from dataclasses import asdict
from itertools import chain
from typing import Any

import click

from livetrans.base.text import visible
from livetrans.cli.messages import say, warn
from livetrans.cli.options import run_command
from livetrans.config import Settings
from livetrans.doctor.checks import BROKEN, WARNING, Finding

_WIDTH, _INDENT = 80, 22


# All options are taken, so that the command line of a run can be kept; those of the output change nothing here.
@run_command("doctor", hides="Output")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
def command(settings: Settings, as_json: bool) -> int:
    """Check whether captions will run on this machine, and measure how far behind the speech they will be.

    Checks versions, the microphone, the output and the models, then plays half a minute of speech through the models
    that `mic` would take with the same options, for --between in each direction. Nothing is fetched. The exit code is 1
    if something that every run needs is broken.
    """
    from livetrans.doctor.examine import examine

    findings: list[Finding] = []
    measured: dict[str, Any] = {}
    progress = say if sys.stderr.isatty() else lambda text: None
    for finding in examine(settings, measured, progress, warn):
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
