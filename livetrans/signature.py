"""The signature of a run, live or of a benchmark: the translator, the versions and the machine."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from livetrans import __version__
from livetrans.lm.port import LanguageModel
from livetrans.lm.prompts import Prompt

QUANTISATIONS = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M",
    13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS",
    21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S",
    29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4",
}  # fmt: skip
"""llama.cpp's `llama_ftype`, as GGUF files carry it in `general.file_type`."""

Setting = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """The translator, its context and its threads."""

    file: str
    """File name, without its folder."""
    size_bytes: int
    """0 on a server."""
    name: str
    architecture: str
    quantisation: str
    """The file's `general.file_type`, by name."""
    prompt: str
    context_tokens: int
    threads: int


def identify(model: LanguageModel, file: Path, prompt: Prompt, threads: int) -> ModelIdentity:
    return ModelIdentity(
        file=file.name,
        size_bytes=file.stat().st_size if file.is_file() else 0,
        name=model.name,
        architecture=model.metadata("general.architecture") or "unknown",
        quantisation=quantisation(model),
        prompt=prompt.name,
        context_tokens=model.context_tokens,
        threads=threads,
    )


def sign(translator: ModelIdentity, *packages: str) -> dict[str, Setting]:
    """Return the signature of a `run_started` event, with the versions of `packages`."""
    here = machine()
    return {
        "translator": translator.file,
        "translator_name": translator.name,
        "quantisation": translator.quantisation,
        "prompt": translator.prompt,
        "context_tokens": translator.context_tokens,
        "translator_threads": translator.threads,
        **versions(*packages),
        "machine": f"{here['system']} {here['architecture']}",
        "processor": here["processor"],
        "cores": int(here["cores"]),
    }


def quantisation(model: LanguageModel) -> str:
    """Return llama.cpp's name of the type of most of the model's weights."""
    file_type = model.metadata("general.file_type") or ""
    return QUANTISATIONS.get(int(file_type), f"type {file_type}") if file_type.isdigit() else "unknown"


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of livetrans, of the packages that every run uses, of those named, and of Python."""
    names = ("llama-cpp-python", "numpy", *packages)
    return {
        "livetrans": __version__,
        **{name.replace("-", "_"): version(name) for name in names},
        "python": platform.python_version(),
    }


def machine() -> dict[str, str]:
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": str(os.cpu_count() or 0),
    }


def _processor() -> str:
    """Return the processor's trade name, if the system has it."""
    name = ""
    with suppress(OSError, subprocess.SubprocessError):
        if sys.platform == "darwin":
            command = ["sysctl", "-n", "machdep.cpu.brand_string"]
            name = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
        else:
            lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
            name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return name or platform.processor() or "unknown"
