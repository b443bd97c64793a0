"""What hangs or crashes is a FAIL, and the next check runs; finished ones are kept; a report is whole and public."""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.environment import MODELS, SETTINGS
from tests.real import __main__ as command
from tests.real import report as reports
from tests.real import runner
from tests.real.checks import CHECKS, Check
from tests.real.here import ROOT
from tests.real.runner import Options, Result, run_all, run_check
from tests.real.scripted import CHECKS as SCRIPTED
from tests.real.scripted import is_running

OPTIONS = Options("tests.real.scripted", str(ROOT / "recordings"), 1.0, False)


def test_a_check_that_crashes_is_a_fail_with_its_log(tmp_path: Path) -> None:
    crashing = next(check for check in SCRIPTED if check.name == "crashes")
    result, models = run_check(crashing, OPTIONS, tmp_path / "crashes.log")
    assert result.verdict == "FAIL" and "exit code -11" in result.reason and "about to crash" in result.reason
    assert "about to crash" in (tmp_path / "crashes.log").read_text(encoding="utf-8") and not models


def test_a_check_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    hanging = next(check for check in SCRIPTED if check.name == "hangs")
    # Long enough for the check to begin, however busy the machine is.
    result, _ = run_check(replace(hanging, minutes=0.015), OPTIONS, tmp_path / "hangs.log")
    assert result.verdict == "FAIL" and "did not end within" in result.reason
    for line in (tmp_path / "hangs.log").read_text(encoding="utf-8").split():
        end = time.monotonic() + 5
        while is_running(int(line)):
            assert time.monotonic() < end, "a process of the check outlived it"
            time.sleep(0.01)


@pytest.mark.long
def test_all_endings_together_and_nothing_private(tmp_path: Path) -> None:
    assert not run_all(SCRIPTED, OPTIONS, tmp_path)
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    verdicts = {row["name"]: row["verdict"] for row in report["checks"]}
    assert verdicts == {"passes": "PASS", "skips": "SKIPPED", "fails": "FAIL", "crashes": "FAIL", "hangs": "FAIL"}
    text = (tmp_path / "report.json").read_text(encoding="utf-8") + (tmp_path / "REPORT.md").read_text(encoding="utf-8")
    assert not [name for name in (str(Path.home()), str(ROOT), platform.node(), str(tmp_path)) if name in text]
    assert "the tape is torn" in text and "1 PASS, 0 SLOW, 3 FAIL, 1 SKIPPED" in text


def test_a_report_names_no_user_machine_or_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields keep their names, also if a user is called like one."""
    monkeypatch.setenv("HOME", "/home/jürgen")
    monkeypatch.setattr(getpass, "getuser", lambda: "name")
    monkeypatch.setattr(platform, "node", lambda: "Jürgens-Mac.local")
    text = f"/home/jürgen/x of Name on jürgens-mac, {ROOT}/real, /tmp/a/b"
    found = reports.public({"name": [text]}, [Path("/tmp/a")])
    assert found == {"name": ["~/x of USER on HOST, ./real, WORK/b"]}


class Interrupted(Exception):
    pass


def _scripted(monkeypatch: pytest.MonkeyPatch, verdicts: dict[str, str], stop: str | None = None) -> list[str]:
    """Let checks end with these verdicts, without processes; return the names of those that are made."""
    made: list[str] = []

    def run(check: Check, options: Options, log: Path) -> tuple[Result, dict[str, str]]:
        if check.name == stop:
            raise Interrupted
        made.append(check.name)
        reason = "" if verdicts[check.name] == "PASS" else "because"
        return Result(check.name, check.claim, verdicts[check.name], {"n": "1"}, reason), {"model": "abc"}

    monkeypatch.setattr(runner, "run_check", run)
    return made


VERDICTS = {"passes": "PASS", "crashes": "FAIL", "hangs": "SKIPPED", "skips": "PASS", "fails": "PASS"}


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _scripted(monkeypatch, VERDICTS, stop="skips")
    with pytest.raises(Interrupted):
        run_all(SCRIPTED, OPTIONS, tmp_path)
    assert "not complete" in (tmp_path / "REPORT.md").read_text(encoding="utf-8")
    made = _scripted(monkeypatch, VERDICTS)
    assert not run_all(SCRIPTED, OPTIONS, tmp_path)
    assert made == ["hangs", "skips", "fails"]  # What was skipped may be possible now.
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in report["checks"]] == [check.name for check in SCRIPTED]
    assert report["models"] == {"model": "abc"}


@pytest.mark.parametrize("complete", [True, False])
def test_nothing_is_kept_of_a_complete_run_or_of_other_options(
    complete: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _scripted(monkeypatch, VERDICTS, stop=None if complete else "skips")
    try:
        run_all(SCRIPTED, OPTIONS, tmp_path)
    except Interrupted:
        pass
    made = _scripted(monkeypatch, VERDICTS)
    run_all(SCRIPTED, OPTIONS if complete else replace(OPTIONS, minutes=9.0), tmp_path)
    assert made == list(VERDICTS)


def test_a_full_disk_is_one_sentence_and_leaves_the_last_report_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _scripted(monkeypatch, VERDICTS)
    arguments = ["real", "--unattended", "--checks", "tests.real.scripted", "--output", str(tmp_path)]
    monkeypatch.setattr("sys.argv", arguments)
    assert command.main() == 1  # a check failed
    before = (tmp_path / "report.json").read_bytes()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limit[1]))
    try:
        assert command.main() == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert (tmp_path / "report.json").read_bytes() == before
    (said,) = capsys.readouterr().err.splitlines()
    assert "cannot be written" in said and "--output" in said


def test_a_signal_is_no_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(check: Check, *_: object) -> tuple[Result, dict[str, str]]:
        os.kill(os.getpid(), 15)
        return Result(check.name, check.claim, "FAIL"), {}

    monkeypatch.setattr(runner, "run_check", run)
    monkeypatch.setattr("sys.argv", ["real", "--unattended", "--output", str(tmp_path)])
    assert command.main() == 130
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["checks"] == []


def test_neither_tests_nor_checks_have_what_the_user_has_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "livetrans").rglob("*.py")]
    assert set(re.findall(r'"(LIVETRANS_\w+)"', "".join(sources))) <= {*SETTINGS, *MODELS}
    for name in (*SETTINGS, *MODELS):
        monkeypatch.setenv(name, "theirs")
    assert not runner.environment(tmp_path / "home").keys() & set(SETTINGS)
    code = "import os, tests.conftest; print([name for name in os.environ if os.environ[name] == 'theirs'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_page_is_made_from_the_reports_and_has_every_check() -> None:
    claims = {check.name: check.claim for check in CHECKS}
    sent = reports.read_reports()
    assert reports.PAGE.read_text(encoding="utf-8") == reports.as_page(sent, claims), "run: make real ARGS=--page"
    assert sent and {row["name"] for row in sent[0]["checks"]} == claims.keys()
    assert not [report for report in sent if json.dumps(report) != reports.without_private(json.dumps(report))]


def test_no_other_document_has_a_list_of_its_own() -> None:
    for document in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        lines = document.read_text(encoding="utf-8").splitlines()
        own = [line for line in lines if "ntried" in line and "real.md#untried" not in line]
        assert document == reports.PAGE or not own, own
