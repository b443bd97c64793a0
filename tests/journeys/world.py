"""What a new user has: a copy of the tree, an empty home, a shell in a terminal, a microphone, a hub to pull from."""

from __future__ import annotations

import os
import re
import shutil
import site
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import numpy as np
import pexpect
import pyte
from numpy.typing import NDArray

from livetrans.audio.file import AudioFile
from livetrans.base.clock import SystemClock
from tests.lm.families import FAMILIES, write_family
from tests.models.hub import COMMIT, Hub
from tests.speech.random_whisper import PHRASE, Shape, write_random_whisper

ROOT = Path(__file__).parents[2]
PATIENCE = 90.0
"""Seconds until something that does not happen is called a failure."""
KEPT = ("LANG", "LC_ALL", "OMP_NUM_THREADS", "TERM_PROGRAM")
"""Variables of this process that the user has too; besides pip's."""


class Terminal:
    """A shell in a terminal of 100 columns and 30 rows, and what stands on its screen."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._shell = pexpect.spawn(
            "bash",
            ["--norc", "--noprofile", "-i"],
            cwd=str(folder),
            env={**environment, "TERM": "xterm-256color", "PS1": "user$ "},
            dimensions=(30, 100),
            encoding="utf-8",
            codec_errors="replace",
        )
        self._screen = pyte.Screen(100, 30)
        self._stream = pyte.Stream(self._screen)
        self.wait_for("user$")

    def text(self) -> str:
        """Return the screen's rows as they stand now."""
        self._read(0.05)
        return "\n".join(row.rstrip() for row in self._screen.display)

    def _read(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while True:
            try:
                text = self._shell.read_nonblocking(65536, timeout=max(0.0, end - time.monotonic()))
                # pyte has no second screen: entering and leaving it clear the one that there is.
                self._stream.feed(re.sub(r"\x1b\[\?1049[hl]", "\x1bc", text))
            except (pexpect.TIMEOUT, pexpect.EOF):
                return

    def wait_for(self, wanted: str | Callable[[str], bool]) -> str:
        """Return the screen as soon as it has the text, or fulfils the condition."""
        end = time.monotonic() + PATIENCE
        while True:
            text = self.text()
            if wanted(text) if callable(wanted) else wanted in text:
                return text
            assert time.monotonic() < end, f"never came: {wanted}\n{text}"

    def type(self, keys: str) -> None:
        self._shell.send(keys)

    def run(self, command: str) -> None:
        """Type the command on a clear screen."""
        self._screen.reset()
        self.type(command + "\r")

    def finish(self) -> str:
        """Wait for the shell's prompt; return what stands above it."""
        return self.wait_for(lambda text: text.rstrip().endswith("user$")).rstrip().removesuffix("user$")

    def exit_code(self) -> int:
        self.run("echo code=$?")
        return int(re.search(r"code=(\d+)", self.wait_for(lambda text: bool(re.search(r"code=\d", text))))[1])  # type: ignore[index]

    def close(self) -> None:
        self._shell.close(force=True)


class World:
    """A new user's machine; `tree` is the folder that the README's commands run in."""

    def __init__(self, folder: Path, hub: Hub) -> None:
        self.hub = hub
        self.home = folder / "home"
        self.tree = folder / "livetrans"
        self.home.mkdir()
        _copy_tree(self.tree)
        self._microphone = folder / "microphone.pcm"
        self.hear(0.0, 0.0)
        variables = {name: value for name, value in os.environ.items() if name in KEPT or name.startswith("PIP_")}
        self.environment = variables | {
            "HOME": str(self.home),
            "PATH": os.pathsep.join((*_of_tests("PATH"), "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")),
            "HF_ENDPOINT": hub.url,
            "STUB_MICROPHONE": str(self._microphone),
            "PYTHONPATH": os.pathsep.join((str(Path(__file__).parent / "stubs"), *_of_tests("PYTHONPATH"))),
        }
        self._fill_hub(folder)

    def hear(self, begin: float, end: float) -> None:
        """Make the microphone's next listener hear these seconds of the demo recording."""
        self._microphone.write_bytes(demo_sound(begin, end).tobytes())

    def run(self, command: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a line as a shell does, in the tree with its environment active; standard input is empty."""
        done = subprocess.run(
            ["bash", "-c", f"[ ! -d .venv ] || . .venv/bin/activate; {command}"],
            cwd=self.tree, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            timeout=10 * PATIENCE,
        )  # fmt: skip
        assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        assert "Traceback" not in done.stderr and "internal error" not in done.stderr
        return done

    @contextmanager
    def terminal(self) -> Iterator[Terminal]:
        terminal = Terminal(self.tree, self.environment)
        try:
            if (self.tree / ".venv").exists():
                terminal.run(". .venv/bin/activate")
                terminal.finish()
            yield terminal
        finally:
            terminal.close()

    def lend_packages(self) -> None:
        """Let `.venv` see the packages of this interpreter, in place of a download of all of them.

        But for the extra `metal`, which would choose other models on a Mac.
        """
        (packages,) = (self.tree / ".venv/lib").glob("python*/site-packages")
        lent = self.tree / ".venv/lent"
        lent.mkdir()
        for path in (path for folder in site.getsitepackages() for path in Path(folder).iterdir()):
            if "pywhispercpp" not in path.name and not (lent / path.name).exists():
                (lent / path.name).symlink_to(path)
        (packages / "lent.pth").write_text(f"{lent}\n", encoding="utf-8")

    def _fill_hub(self, folder: Path) -> None:
        """Give the catalogue's small pair weights that cost nothing, with the real vocabularies and templates.

        It also stands in for what a measured laptop takes: a transducer of random weights writes no words.
        """
        recogniser = write_random_whisper(folder / "whisper", shape=Shape(), spoken="en", phrase=PHRASE)
        translator = write_family(folder / "hymt.gguf", FAMILIES["hymt-1.8B"])
        self.hub.files = {
            "Systran/faster-whisper-small": {path.name: path.read_bytes() for path in recogniser.iterdir()},
            "tencent/Hy-MT2-1.8B-GGUF": {"Hy-MT2-1.8B-Q4_K_M.gguf": translator.read_bytes()},
        }
        catalogue = self.tree / "models/catalogue.toml"
        text = catalogue.read_text(encoding="utf-8")
        weights = {"whisper-small": recogniser / "model.bin", "hy-mt2-1.8b": translator}
        text = re.sub(r'recognisers = \["parakeet.*', 'recognisers = ["whisper-small"]', text, count=1)
        for name, path in weights.items():
            text = _with_weights(text, name, path.read_bytes())
        catalogue.write_text(text, encoding="utf-8")


def demo_sound(begin: float, end: float) -> NDArray[np.int16]:
    """Return these seconds of the demo recording: mono, 16 kHz, shape (n,)."""
    sound = AudioFile(ROOT / "recordings/demo.flac", SystemClock(), real_time=False)
    samples = np.concatenate([chunk.samples for chunk in sound])
    return samples[int(begin * 16_000) : int(end * 16_000)]


def _of_tests(variable: str) -> list[str]:
    """Return the folders of the tests in this variable: under a rehearsal of a Mac, what makes processes behave so."""
    folders = os.environ.get(variable, "").split(os.pathsep)
    return [folder for folder in folders if Path(folder).is_relative_to(ROOT / "tests")]


def _with_weights(catalogue: str, name: str, data: bytes) -> str:
    """Return the catalogue with these bytes as the model's weights."""
    start = catalogue.index(f'name = "{name}"\n')
    end = catalogue.find("[[models]]", start)
    entry = catalogue[start : end if end > 0 else None]
    changed = re.sub(r'revision = "[0-9a-f]{40}"', f'revision = "{COMMIT}"', entry)
    changed = re.sub(r"\nsize = [\d_]+", "", changed)
    changed = re.sub(r'sha256 = "[0-9a-f]{64}"', f'sha256 = "{sha256(data).hexdigest()}"', changed)
    return catalogue.replace(entry, changed)


def _copy_tree(target: Path) -> None:
    """Copy what git tracks, as it is now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)


def python() -> str:
    """Return the interpreter that the user's `python3.12` stands for."""
    return str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}")
