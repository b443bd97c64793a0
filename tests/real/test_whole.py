"""The whole command on a rehearsed machine: a hub with models of our own behind the catalogue's names, and faults."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from livetrans.audio.portaudio import ON_A_MAC
from tests.audio.sound_server import write_wav
from tests.endurance import kills
from tests.journeys import world
from tests.journeys.world import ROOT
from tests.models.hub import Hub, serving
from tests.real import checks
from tests.real.checks import CHECKS
from tests.real.here import Here
from tests.real.runner import outcome
from tests.real.scripted import is_running
from tests.speech.random_whisper import PHRASE, Shape, write_random_whisper

pytestmark = [pytest.mark.long, pytest.mark.skipif(not (ROOT / ".git").exists(), reason="the tree is copied by git")]

LAST_WORDS = "<|src|>{{ messages[-1].content.split('\n\n')[-1] }}<|tgt|>"
"""A chat template that leaves out every instruction: what the embedded translator needs to understand a prompt."""


@dataclass
class Machine:
    """A copy of the tree, an empty home, and the hub."""

    tree: Path
    home: Path
    hub: Hub

    def real(self, *arguments: object, code: int) -> dict[str, dict[str, Any]]:
        """Run the command; return the rows of its report by name."""
        self.run("tests.real", "--unattended", *arguments, code=code)
        text = (self.tree / "real/report.json").read_text(encoding="utf-8")
        assert not [name for name in (self.home, self.tree) if str(name) in text]
        return {row["name"]: row for row in json.loads(text)["checks"]}

    def run(self, module: str, *arguments: object, code: int = 0) -> None:
        environment = {**os.environ, "HOME": str(self.home), "HF_ENDPOINT": self.hub.url}
        environment.pop("HF_HUB_OFFLINE", None)  # of .ci/run
        done = subprocess.run(
            [sys.executable, "-m", module, *map(str, arguments)],
            cwd=self.tree, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout[-4000:] + done.stderr[-4000:]

    def offer(self, name: str, repository: str, files: dict[str, bytes], weights: str) -> None:
        """Serve these files under a name of the catalogue."""
        self.hub.files[repository] = files
        catalogue = self.tree / "models/catalogue.toml"
        text = catalogue.read_text(encoding="utf-8")
        catalogue.write_text(world._with_weights(text, name, files[weights]), encoding="utf-8")


@pytest.fixture
def machine(tmp_path: Path, recogniser_path: Path) -> Iterator[Machine]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-c", "-o", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / "tree" / name)
    (tmp_path / "home").mkdir()
    with serving(Hub(cut_after=400_000)) as hub:

        def give_time_to_kill() -> None:
            """After the first part of the weights, of which the next answer has less."""
            if hub.requests[-1][0].endswith("model.bin"):
                hub.cut_after = max(hub.cut_after // 2, 1)
                time.sleep(1.0)

        hub.while_serving = give_time_to_kill
        rehearsed = Machine(tmp_path / "tree", tmp_path / "home", hub)
        whisper = {path.name: path.read_bytes() for path in recogniser_path.iterdir()}
        for size in ("tiny", "small"):
            rehearsed.offer(f"whisper-{size}", f"Systran/faster-whisper-{size}", whisper, "model.bin")
        yield rehearsed


SENTENCES = 3


@pytest.fixture
def speech(tmp_path: Path) -> Path:
    """Sentences of the demo in place of people, who the embedded recogniser does not understand."""
    folder = tmp_path / "speech"
    folder.mkdir()
    events = map(json.loads, (ROOT / "recordings/demo.jsonl").read_text(encoding="utf-8").splitlines())
    ends = [event["end"] for event in events if event["event"] == "caption" and event["final"]]
    words, german = (
        (ROOT / f"recordings/demo{ending}").read_text(encoding="utf-8").splitlines() for ending in (".txt", ".de.txt")
    )
    rows = ["file\tlanguage\treference\tgerman"]
    for number, (begin, end) in enumerate(pairwise([-0.5, *ends[:SENTENCES]])):
        write_wav(folder / f"{number}.wav", world.demo_sound(begin + 0.5, end + 0.5))
        rows += [f"{number}.wav\t{code}\t{words[number]}\t{german[number]}" for code in ("en", "de")]
    (folder / "manifest.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


WITH_MODELS = (
    "pull", "cut pull", "offline", "faster-whisper on the processor", "whisper.cpp on the processor",
    "another language", "windows", "step", "invented words", "table of people",
)  # fmt: skip


def _only(*names: str) -> list[str]:
    return [part for name in names for part in ("--only", name)]


def test_with_models_the_checks_pass(
    machine: Machine, speech: Path, translator_path: Path, cpp_recogniser_path: Path, tmp_path: Path
) -> None:
    """The translator understands Hy-MT2's prompt by its template, but not what stands before the sentence."""
    hy = tmp_path / "hy.gguf"
    change = [sys.executable, "-m", "gguf.scripts.gguf_new_metadata", "--chat-template", LAST_WORDS]
    subprocess.run([*change, translator_path, hy], check=True, capture_output=True)
    file = "Hy-MT2-1.8B-Q4_K_M.gguf"
    machine.offer("hy-mt2-1.8b", "tencent/Hy-MT2-1.8B-GGUF", {file: hy.read_bytes()}, file)
    file = "ggml-small.bin"
    machine.offer("ggml-small", "ggerganov/whisper.cpp", {file: cpp_recogniser_path.read_bytes()}, file)
    for name in ("ggml-small", "whisper-small"):  # What was fetched last is taken.
        machine.run("livetrans", "models", "pull", name, "--yes")
    given = ("--models", "small", "--speech", speech)
    rows = machine.real(*given, *_only(*WITH_MODELS, "prompt hymt", "prompt tower"), code=1)
    found = {name: (row["verdict"], row["reason"]) for name, row in rows.items()}
    # On a rehearsed Mac, whisper.cpp seems to be built with a GPU.
    passing = {"fetch small", *WITH_MODELS} - ({"whisper.cpp on the processor"} if ON_A_MAC else set())
    assert {name: found[name] for name in passing} == dict.fromkeys(passing, ("PASS", ""))
    assert found["prompt hymt"][0] == "FAIL"
    assert found["prompt tower"] == ("SKIPPED", "no translator of the family tower is here")


def test_with_the_embedded_models_no_check_fails(machine: Machine) -> None:
    names = [check.name for check in CHECKS if check.name not in WITH_MODELS]
    rows = machine.real("--minutes", 0.2, *_only(*names), code=0)
    passed = {name for name, row in rows.items() if row["verdict"] == "PASS"}
    assert passed == {"prompt plain", "table", "bias 0", "doctor", "screen", "served captions", "killed run", "power"}
    assert all(row["reason"] for name, row in rows.items() if name not in passed)


def test_faults_of_the_hub_and_of_models_are_found(machine: Machine, speech: Path, tmp_path: Path) -> None:
    pulls = _only("pull", "cut pull", "offline")
    machine.hub.ignores_ranges = True
    rows = machine.real(*pulls, code=1)
    assert "began again" in rows["cut pull"]["reason"] and rows["pull"]["verdict"] == "PASS"
    machine.hub.wrong_hash = True
    rows = machine.real(*pulls, code=1)
    assert {row["verdict"] for row in rows.values()} == {"FAIL"} and "published hash" in rows["pull"]["reason"]
    machine.hub.url = "http://127.0.0.1:9"
    rows = machine.real(*pulls, code=0)
    assert {row["verdict"] for row in rows.values()} == {"SKIPPED"}
    babbling = write_random_whisper(tmp_path / "whisper", shape=Shape(), spoken="en", phrase=PHRASE)
    models = machine.home / "models"
    shutil.copytree(babbling, models / "whisper-tiny")
    os.environ["LIVETRANS_MODELS"] = str(models)
    try:
        rows = machine.real(*_only("faster-whisper on the processor"), "--speech", speech, code=1)
    finally:
        del os.environ["LIVETRANS_MODELS"]
    assert "of 100 words of people wrong" in rows["faster-whisper on the processor"]["reason"]


FAULTS = {
    "screen": ("print('no screen')", "never came"),
    "served captions": ("print('Hallo.')", "named no address"),
    "killed run": ("import sys, time; print('{}', flush=True); time.sleep(60 * ('replay' in sys.argv))", "no session"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_of_whole_runs_are_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, sentence = FAULTS[name]
    for module in (checks, kills):
        monkeypatch.setattr(module, "LIVETRANS", [sys.executable, "-c", f'"{code}"' if name == "screen" else code])
    monkeypatch.setattr(world, "PATIENCE", 2.0)
    (check,) = (check for check in CHECKS if check.name == name)
    found = outcome(check, Here(tmp_path, tmp_path))
    assert found["verdict"] == "FAIL" and sentence in found["reason"], found


def test_a_run_that_is_interrupted_ends_its_check_and_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.real", "--unattended", "--checks", "tests.real.scripted"]
    first = subprocess.Popen([*command, "--output", tmp_path], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert first.stdout
    printed = first.stdout.readline() + first.stdout.readline()
    log = tmp_path / "logs" / "hangs.log"
    while not (log.exists() and log.read_text(encoding="utf-8").strip()):
        time.sleep(0.01)
    first.send_signal(signal.SIGINT)
    assert first.wait() == 130 and "crashes" in printed
    assert not is_running(int(log.read_text(encoding="utf-8")))
    second = subprocess.run([*command, "--output", tmp_path], cwd=ROOT, capture_output=True, text=True, check=False)
    assert second.returncode == 1 and second.stdout.count("(kept)") == 2
