"""What produced the numbers of a run, for its header."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

from livetrans import __version__
from livetrans.bench.records import FORMAT, CorpusRecord, Header, MethodRecord, ModelRecord
from livetrans.lm.port import LanguageModel
from livetrans.lm.prompts import Prompt

QUANTISATIONS = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M",
    13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS",
    21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S",
    29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4",
}  # fmt: skip
"""llama.cpp's `llama_ftype`, as GGUF files carry it in `general.file_type`."""


def quantisation(model: LanguageModel) -> str:
    """How most of the model's weights are stored, by llama.cpp's name."""
    file_type = model.metadata("general.file_type") or ""
    return QUANTISATIONS.get(int(file_type), f"type {file_type}") if file_type.isdigit() else "unknown"


def model_record(model: LanguageModel, file: Path, prompt: Prompt, threads: int) -> ModelRecord:
    return ModelRecord(
        file=file.name,
        size_bytes=file.stat().st_size,
        name=model.name,
        architecture=model.metadata("general.architecture") or "unknown",
        quantisation=quantisation(model),
        prompt=prompt.name,
        context_tokens=model.context_tokens,
        threads=threads,
    )


def make_header(
    methods: tuple[MethodRecord, ...],
    repeats: int,
    model: ModelRecord,
    corpus: CorpusRecord,
    maximum_output_tokens: int,
    time: str,
) -> Header:
    """The header of a run on this machine; `time` is one of `livetrans.bench.timing.TIMES`."""
    return Header(FORMAT, methods, repeats, model, corpus, maximum_output_tokens, time, versions(), machine())


def versions() -> dict[str, str]:
    return {
        "livetrans": __version__,
        "llama_cpp_python": version("llama-cpp-python"),
        "numpy": version("numpy"),
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
    """The processor's trade name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or "unknown")
