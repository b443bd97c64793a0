"""What this machine can run: measured in seconds, to choose models before there are any."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache

from livetrans.base.text import file_size
from livetrans.config import ENGINES, Settings
from livetrans.models.catalogue import ONNX, Entry
from livetrans.models.chosen import fetchable_pair, has_gpu_engine

LAPTOP, WITH_GPU = "laptop", "small"
"""The purposes of machines without a GPU, and with one."""
REFERENCE_SECONDS = 0.63
"""`pass_seconds` on one thread of the AMD EPYC with AVX-512 on which the catalogue's `pass_seconds` were measured."""
LEAST_LAG, LAG_PER_PASS, LAG_PER_BYTE = 1.0, 1.0, 0.6e-9
"""Median lag in seconds: its part that models do not change, for a second of a pass, for a byte of a translator. Of
`tests/benchmarks/true_cost.py` on that processor, one thread each: good to about half a second."""
GOOD_LAG = 2.0
"""Median lag in seconds up to which a machine keeps up with models."""
MOST_OF_MEMORY = 0.6
"""Part of the memory that both models together may take."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What decides which models keep up."""

    cores: int
    memory: int
    """Bytes."""
    gpu: str | None
    """The engine that computes the recogniser on a GPU, if one does."""
    slowness: float
    """Seconds of a pass here, on the threads of a run, for a second on the reference; 1 where a GPU computes."""

    def lag(self, recogniser: Entry, translator: Entry) -> float | None:
        """Return the predicted median lag in seconds; None with a GPU, and for models that need one."""
        if self.gpu or recogniser.pass_seconds is None or translator.size is None:
            return None
        return LEAST_LAG + self.slowness * (LAG_PER_PASS * recogniser.pass_seconds + LAG_PER_BYTE * translator.size)

    def keeps_up(self, recogniser: Entry, translator: Entry) -> bool:
        """Return whether captions are in time by the prediction, and the models fit the memory."""
        needed = (recogniser.memory or 0) + (translator.memory or 0)
        lag = self.lag(recogniser, translator)
        return needed <= MOST_OF_MEMORY * self.memory and (bool(self.gpu) if lag is None else lag <= GOOD_LAG)

    def pair(self, settings: Settings, engine: str = ENGINES[0]) -> tuple[Entry, Entry]:
        """Return the recogniser and the translator of the catalogue for this machine and a run."""
        if self.gpu and engine != ONNX:
            found = fetchable_pair(WITH_GPU, settings, engine)
            if self.keeps_up(*found):
                return found
        return fetchable_pair(LAPTOP, settings, engine, self.keeps_up)

    def described(self, recogniser: Entry, translator: Entry) -> str:
        """Return the names of both, with what is predicted for them if anything is."""
        lag = self.lag(recogniser, translator)
        expected = f", with half of the words shown within about {lag:.1f} s" if lag else ""
        return f"{recogniser.name} and {translator.name}{expected}"

    def __str__(self) -> str:
        gpu = f"a GPU for {self.gpu}" if self.gpu else f"no GPU, {self.slowness * REFERENCE_SECONDS:.2f} s a trial pass"
        return f"{self.cores} cores, {file_size(self.memory)} of memory, {gpu}"


@cache
def this_machine() -> Machine:
    """Measure this machine; a few seconds."""
    import psutil  # type: ignore[import-untyped]

    from livetrans.speech.speed import pass_seconds
    from livetrans.speech.whisper import cuda_devices
    from livetrans.speech.whisper_pass import shared_threads

    gpu = "whisper.cpp" if has_gpu_engine() else "faster-whisper" if cuda_devices() else None
    slowness = 1.0 if gpu else pass_seconds(shared_threads()) / REFERENCE_SECONDS
    return Machine(os.cpu_count() or 1, psutil.virtual_memory().total, gpu, slowness)
