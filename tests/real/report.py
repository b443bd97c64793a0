"""The report of a machine (`report.json`, `REPORT.md`), and the page of all reports (`docs/real.md`).

Reports hold nothing private: no name of a user, of a machine or of a folder.
"""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from livetrans.signature import machine, versions
from tests.real.here import ROOT

REPORTS = ROOT / "docs" / "real"
"""Reports that were sent."""
PAGE = ROOT / "docs" / "real.md"
PASS, SLOW, FAIL, SKIPPED = "PASS", "SLOW", "FAIL", "SKIPPED"
_HEAD = """\
# Real machines

livetrans was built without a Mac, a GPU, a network, or models for people. `make real` checks on your machine what the
documents say about them. It asks whether it may fetch the models of `small` (1.6 GB) if there are none, and then asks
you to speak a sentence, to play something, and to take a phone; `s` skips each. The rest computes for three minutes
with the models of the tree, and for about an hour with those of `small` on four cores without a GPU (estimated).

```sh
make real                                       # in a copy of the source tree
make real ARGS="--models good"                  # with larger models, fetched without a question
make real ARGS="--unattended --minutes 10"      # no questions; processor time of ten minutes of speech
```

Each check ends as PASS, SLOW, FAIL or SKIPPED, and has a log in `real/logs`. SLOW is no failure: the machine does not
keep up, and the figures say by how much. If you interrupt it, the same command continues.
Please send `real/REPORT.md` and `real/report.json` as an issue: they hold figures, versions, and the hashes of models,
but no name of you, your machine or your folders. The checks need recordings, texts and tests that only the source tree
has, so there is no such command in an installed package.

This page is made from the reports in `docs/real` by `make real ARGS=--page`.
"""


def machine_of_report() -> dict[str, Any]:
    packages = ("ctranslate2", "faster-whisper", "textual")
    release = platform.mac_ver()[0] or platform.release()
    return {**machine(), "release": release, "versions": versions(*packages)}


def without_private(text: str, folders: Iterable[Path] = ()) -> str:
    """Return a sentence without the user's folders, and without the names of the user and of the machine."""
    home = Path(os.path.expanduser("~"))
    for folder, name in (*((folder, "WORK") for folder in folders), (ROOT, "."), (home, "~")):
        if len(folder.parts) > 1:
            text = text.replace(str(folder), name)
    for name, mark in ((platform.node(), "HOST"), (platform.node().partition(".")[0], "HOST"), (_user(), "USER")):
        if name:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", mark, text, flags=re.IGNORECASE)
    return text


def public(values: Any, folders: Iterable[Path] = ()) -> Any:
    """Return values as JSON has them, with `without_private` on every text, but not on names of fields."""
    if isinstance(values, Mapping):
        return {name: public(value, folders) for name, value in values.items()}
    if isinstance(values, list | tuple):
        return [public(value, folders) for value in values]
    return without_private(values, folders) if isinstance(values, str) else values


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def as_markdown(report: Mapping[str, Any]) -> str:
    """Return the page of one report."""
    rows = [(row["name"], row["claim"], row["verdict"], told(row)) for row in report["checks"]]
    models = [f"- `{name}`: SHA-256 {sha256}" for name, sha256 in sorted(report["models"].items())]
    found = report["machine"]
    parts = [
        "# What livetrans does on a real machine",
        f"{_machine(report)}, {report['date']}: {_counts(report)}" + ("." if report["complete"] else "; not complete."),
        "Versions: " + ", ".join(f"{name} {number}" for name, number in found["versions"].items()) + ".",
        _table(("Check", "Claim", "Verdict", "Figures, or the reason"), rows),
        "\n".join(["## Models", "", *(models or ["None but those of the tree."])]),
    ]
    return "\n\n".join(parts) + "\n"


def as_page(reports: Sequence[Mapping[str, Any]], claims: Mapping[str, str]) -> str:
    """Return docs/real.md; `claims` are those of the checks, by name. Untried is what every report skipped."""
    tried: list[tuple[str, ...]] = []
    untried: list[str] = []
    for name, claim in claims.items():
        rows = [(report, row) for report in reports for row in report["checks"] if row["name"] == name]
        made = [(report, row) for report, row in rows if row["verdict"] != SKIPPED]
        tried += [(name, _machine(report), row["verdict"], told(row)) for report, row in made]
        if not made:
            untried.append(f"- **{name}**: {claim}")
    when = ", ".join(f"{_machine(report)} ({report['date']})" for report in reports)
    sections = (
        _HEAD,
        "## Untried\n\nThese are the checks that no machine could make yet:\n\n" + "\n".join(untried) + "\n",
        f"## Tried\n\nMachines: {when}.\n\n" + _table(("Check", "Machine", "Verdict", "Figures"), tried) + "\n",
    )
    return "\n".join(sections)


def read_reports() -> list[dict[str, Any]]:
    """Return the reports that were sent."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(REPORTS.glob("*.json"))]


def _machine(report: Mapping[str, Any]) -> str:
    found = report["machine"]
    return f"{found['system']} {found['architecture']}, {found['processor']}, {found['cores']} cores"


def _counts(report: Mapping[str, Any]) -> str:
    verdicts = [row["verdict"] for row in report["checks"]]
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in (PASS, SLOW, FAIL, SKIPPED))


def told(row: Mapping[str, Any]) -> str:
    """Return the reason and the figures of a row of the report."""
    return "; ".join(filter(None, (row["reason"], *(f"{name} {value}" for name, value in row["figures"].items()))))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |" for line in lines
    )
