"""The command: `python -m tests.real --help`, or `make real`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from tests.real.here import LIVETRANS, ROOT
from tests.real.report import PAGE, as_page, read_reports
from tests.real.runner import Options, ended_by_signals, fetch, run_all

HERE = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(prog="make real", description="Check what the documents say about real machines.")
    parser.add_argument("--unattended", action="store_true", help="ask nothing, and leave out what needs a person")
    parser.add_argument("--models", metavar="PURPOSE", help="first fetch these models: small, good or best")
    parser.add_argument("--minutes", type=float, default=1.0, help="length of the run whose power is measured (1)")
    parser.add_argument("--comet", metavar="FILE", help="a model of COMET on this disk")
    parser.add_argument(
        "--speech", metavar="FOLDER", default=str(HERE / "speech"), help="recordings with a manifest.tsv"
    )
    parser.add_argument(
        "--output", metavar="FOLDER", type=Path, default=ROOT / "real", help="where the report goes (real)"
    )
    parser.add_argument("--checks", metavar="MODULE", default="tests.real.checks", help=argparse.SUPPRESS)
    parser.add_argument("--only", metavar="CHECK", action="append", default=[], help="make this check; several times")
    parser.add_argument("--page", action="store_true", help="only write docs/real.md from the reports in docs/real")
    given = parser.parse_args()
    checks = import_module(given.checks).CHECKS
    if given.page:
        PAGE.write_text(as_page(read_reports(), {check.name: check.claim for check in checks}), encoding="utf-8")
        return 0
    if unknown := set(given.only) - {check.name for check in checks}:
        parser.error(f"there is no check {unknown.pop()!r}; they are {', '.join(check.name for check in checks)}")
    checks = [check for check in checks if check.name in (given.only or [check.name])]
    attended = not given.unattended and sys.stdin.isatty() and sys.stderr.isatty()
    options = Options(given.checks, given.speech, given.minutes, attended, given.comet, given.only)
    try:
        purpose = given.models or ("small" if attended and _wants_models() else None)
        fetched = fetch(purpose) if purpose else None
        with ended_by_signals():
            passed = run_all(checks, options, given.output, fetched=fetched)
    except KeyboardInterrupt:
        print("\nInterrupted. Finished checks are kept; the same command goes on with the others.", file=sys.stderr)
        return 130
    except OSError as error:
        place, fault = error.filename or given.output, error.strerror or error
        advice = "free some space, or name other folders with --output and TMPDIR; finished checks are kept"
        print(f"{place} cannot be written ({fault}): {advice}.", file=sys.stderr)
        return 1
    print(f"\nThe report is in {given.output / 'REPORT.md'}. Please send it, and report.json beside it, as an issue.")
    return int(not passed)


def _wants_models() -> bool:
    """Ask whether to fetch models if none but the embedded ones are here."""
    done = subprocess.run([*LIVETRANS, "models", "--json"], cwd=ROOT, capture_output=True, text=True, check=True)
    listed = json.loads(done.stdout)
    if {model["kind"] for place in ("here", "elsewhere") for model in listed[place] if not model["embedded"]} >= {
        "recogniser",
        "translator",
    }:
        return False
    question = "There are no models for people here. Fetch those of `small` (1.6 GB) into your folder of models? [y/N] "
    return input(question).strip().casefold().startswith("y")


if __name__ == "__main__":
    sys.exit(main())
