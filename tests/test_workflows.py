"""The forge's workflows run what anybody can run from the tree, with no more rights than they need."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
workflows = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def jobs(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return found


@workflows
def test_every_action_is_a_commit_whose_release_is_named(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert used and all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one) for one in used)


@workflows
def test_every_script_is_a_target_of_make_or_a_file_of_the_tree(path: Path) -> None:
    targets = re.findall(r"^\.PHONY:(.*)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[0].split()
    scripts = [step["run"] for job in jobs(path).values() for step in job["steps"] if "run" in step]
    for script in scripts:
        program, argument, *_ = *script.split(), ""
        known = program == "make" and argument in targets
        assert known or (ROOT / program).is_file() or script == 'cat real/REPORT.md >>"$GITHUB_STEP_SUMMARY"', script
        assert "${{" not in script, "a name that a stranger chose could be part of the script"


def test_every_machine_is_one_that_the_forge_hosts() -> None:
    """As actions/runner-images announces: macos-14 ended on 2 November 2026, and ubuntu-22.04 ends in April 2027."""
    hosted = {"ubuntu-22.04", "ubuntu-22.04-arm", "ubuntu-24.04", "ubuntu-24.04-arm", "macos-15", "macos-26"}
    for job in (job for path in WORKFLOWS for job in jobs(path).values()):
        assert set(job.get("strategy", {}).get("matrix", {}).get("os", [job["runs-on"]])) <= hosted


def test_a_package_that_a_system_does_not_have_costs_no_other_one(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    programs = {
        "apt-get": f'echo "$@" >>{asked}; case "$*" in *chromium*) exit 100; esac',
        "dpkg": "exit 1", "id": "echo 0", "uname": "echo Linux", "make": "exit 0",
    }  # fmt: skip
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    for name in ("bash", "env", "dirname"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    done = subprocess.run([ROOT / ".ci/run"], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=True)
    installs = [line for line in asked.read_text().splitlines() if "install" in line]
    assert [install.split()[-1] for install in installs] == ["libportaudio2", "nginx", "openssl", "chromium"]
    assert done.stderr == "apt-get could not install chromium: the tests that need it are skipped.\n"


def test_the_forge_may_write_only_to_publish_and_knows_no_secret() -> None:
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
        assert "secrets." not in text and "pull_request_target" not in text
        writing = [name for name, job in jobs(path).items() if "permissions" in job]
        assert writing == (["publish"] if path.stem == "release" else [])


def test_a_release_is_installed_from_files_of_known_digest_on_the_machines_that_they_are_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / ".ci")
    import manifest  # type: ignore[import-not-found]

    for tag in ("any", "manylinux_2_35_aarch64", "macosx_14_0_arm64"):
        (tmp_path / f"one_two-1.0-py3-none-{tag}.whl").write_bytes(b"")
    monkeypatch.setattr(sys, "argv", ["manifest.py", "http://here/", str(tmp_path)])
    manifest.main()
    manifest.main()  # as for a second place, with the files of the first there
    pins, plain, mac, linux = (tmp_path / "install.txt").read_text().splitlines()
    assert pins == "-c http://here/constraints.txt"
    assert re.fullmatch(r"one-two @ http://here/one_two-1.0-py3-none-any.whl#sha256=[0-9a-f]{64}", plain)
    assert mac.endswith(" ; sys_platform == 'darwin' and platform_machine == 'arm64'")
    assert linux.endswith(" ; sys_platform == 'linux' and platform_machine == 'aarch64'")
    named = {line.split()[1] for line in (tmp_path / "SHA256SUMS").read_text().splitlines()}
    assert named == {path.name for path in tmp_path.iterdir()} - {"SHA256SUMS"}
