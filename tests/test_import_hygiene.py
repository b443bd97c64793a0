"""`livetrans --help` loads no heavy library, and each of them has one owner."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import livetrans

HEAVY = {
    "av",
    "ctranslate2",
    "faster_whisper",
    "h11",
    "huggingface_hub",
    "jinja2",
    "langcodes",
    "language_data",
    "llama_cpp",
    "matplotlib",
    "numpy",
    "psutil",
    "rich",
    "sacrebleu",
    "segno",
    "sounddevice",
    "textual",
    "onnxruntime",
}
OWNERS: dict[str, str | tuple[str, ...]] = {
    "CoreMedia": "livetrans.audio.screencapture",
    "Foundation": "livetrans.audio.screencapture",
    "ScreenCaptureKit": "livetrans.audio.screencapture",
    "_pywhispercpp": "livetrans.speech.whisper_cpp_process",
    "av": "livetrans.audio",
    "click": "livetrans.cli",
    "ctranslate2": ("livetrans.speech.speed", "livetrans.speech.whisper"),
    "faster_whisper": "livetrans.speech",
    "h11": "livetrans.serve.connection",
    "httpx2": ("livetrans.lm.server.transport", "livetrans.models.hub"),
    "huggingface_hub": "livetrans.models.hub",
    "langcodes": "livetrans.base.languages",
    "language_data": "livetrans.base.languages",
    "llama_cpp": "livetrans.lm.llama",
    "matplotlib": "livetrans.bench.plot",
    "msgspec": "livetrans.session.codec",
    "pulsectl": "livetrans.audio.pulse",
    "queue": ("livetrans.audio", "livetrans.run.publisher"),
    "sacrebleu": "livetrans.metrics.quality",
    "segno": "livetrans.tui.readers",
    "sounddevice": "livetrans.audio.portaudio",
    "textual": "livetrans.tui",
    "threading": (
        "livetrans.audio",
        "livetrans.cli",
        "livetrans.lm.server.transport",
        "livetrans.metrics.monitor",
        "livetrans.run",
        "livetrans.serve",
    ),
    "objc": "livetrans.audio.screencapture",
    "onnxruntime": ("livetrans.speech.detectors", "livetrans.speech.transducer"),
    "webrtcvad": "livetrans.speech.detectors",
}
"""Where a library may be imported: a module, or a package with its modules. The only such list."""
PACKAGE = Path(livetrans.__file__).parent


LIGHT = [["--help"], ["--version"], ["completion", "bash"], ["models"]]


def test_light_commands_load_no_heavy_library() -> None:
    # `models` says how much memory there is, and where the hub's cache is: its package imports its parts when used.
    program = (
        "import sys, livetrans.cli as cli\n"
        f"for arguments in {LIGHT!r}:\n"
        "    assert cli.run(arguments) == 0\n"
        "    allowed = {'psutil', 'huggingface_hub'} if arguments == ['models'] else set()\n"
        f"    loaded = {HEAVY!r} & set(sys.modules) - allowed\n"
        "    assert not loaded, f'{arguments} load {loaded}'\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_help_reads_no_settings() -> None:
    program = (
        "import sys, livetrans.cli as cli\n"
        "assert cli.run(['--help']) == 0\n"
        "assert 'livetrans.config' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_numpy_starts_no_threads_that_spin() -> None:
    program = "import os, livetrans.cli, numpy; print(len(os.listdir('/proc/self/task')))"
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, timeout=60, check=True)
    assert int(done.stdout) == 1


def test_a_heavy_library_is_imported_by_its_owner_only() -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        module = ".".join(part for part in parts if part != "__init__")
        # Wherever in a module an import stands.
        imported = re.findall(r"^\s*(?:import|from) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        for library in OWNERS.keys() & set(imported):
            owners = OWNERS[library]
            allowed = tuple(f"{owner}." for owner in ((owners,) if isinstance(owners, str) else owners))
            assert f"{module}.".startswith(allowed), f"{module} imports {library}"
