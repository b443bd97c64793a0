"""Commands that add an extra name the checkout or real packages, for the interpreter that runs."""

from __future__ import annotations

import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from livetrans.base import installation
from tests import newest

TREE = Path(__file__).parents[1]
EXTRAS = tomllib.loads((TREE / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


@pytest.mark.parametrize("extra", ["bench", "comet", "ja", "train"])
def test_a_checkout_is_named_by_its_path(extra: str) -> None:
    pip = [sys.executable, "-m", "pip", "install"]
    assert shlex.split(installation.install_command(extra)) == [*pip, "-e", f"{TREE}[{extra}]"]


@pytest.mark.parametrize("extra", ["bench", "comet", "ja", "train"])
def test_an_installed_package_names_the_packages_of_the_extra(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No index has livetrans, so its name could be registered by anybody."""
    monkeypatch.setattr(installation, "source_tree", lambda: None)
    declared = [f"{package}; extra == '{name}'" for name, packages in EXTRAS.items() for package in packages]
    monkeypatch.setattr("importlib.metadata.requires", lambda name: ["numpy>=2", *declared])
    assert shlex.split(installation.install_command(extra))[4:] == EXTRAS[extra]


def test_a_package_of_an_extra_for_one_system_is_named_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "source_tree", lambda: None)
    (package, marker) = EXTRAS["mac-sound"][0].split(";")
    declared = [f'{package}; ({marker.strip()}) and extra == "mac-sound"', "numpy>=2; sys_platform == 'darwin'"]
    monkeypatch.setattr("importlib.metadata.requires", lambda name: declared)
    assert shlex.split(installation.install_command("mac-sound"))[4:] == [package]


def test_an_environment_without_pip_is_given_to_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    assert installation.build_command("llama-cpp-python").startswith(f"{sys.executable} -m pip install ")
    monkeypatch.setattr(installation, "is_installed", lambda module: module != "pip")
    words = shlex.split(installation.build_command("llama-cpp-python"))
    assert words[:5] == ["uv", "pip", "install", "-p", sys.executable] and words[-1].startswith("llama-cpp-python==")


def test_the_newest_releases_are_tried_without_upper_bounds_and_named_where_they_are_newer() -> None:
    with (TREE / "pyproject.toml").open("rb") as stream:
        wanted = newest.lifted(tomllib.load(stream)["project"])
    assert {"click>=8.2", "sacrebleu>=2.5", "pytest>=8.3"} <= set(wanted) and not any("<" in one for one in wanted)
    assert newest.newer(["Click==9.0", "rich==15"], ["# tested", "click==8.5.1", "rich==15"]) == ["click 8.5.1 -> 9.0"]
