"""What CTranslate2, the recogniser's engine, can do on this machine."""

from __future__ import annotations

import ctranslate2


def compute_types() -> tuple[str, ...]:
    """Names of the arithmetics that it has on this processor."""
    return tuple(sorted(ctranslate2.get_supported_compute_types("cpu")))


def cuda_devices() -> int:
    """How many CUDA devices it can use."""
    count: int = ctranslate2.get_cuda_device_count()
    return count
