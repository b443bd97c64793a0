"""The paper's own figures, for `--paper`.

*Self-Speculative Biased Decoding for Faster Re-translation* (arXiv 2509.21740v2), Tables 2, 3, 4 and 6; Q4_K_M, NE as
a mean per utterance.
"""

from __future__ import annotations

from dataclasses import dataclass

TOWER, QWEN = "Tower+ 2B", "Qwen3 4B"
FLORES, ACL_60_60 = "FLORES", "ACL 60/60"
"""Corpora of Table 2 and Table 6 (section 4.1)."""
SWEEP = f"{FLORES} en-zh, {TOWER}"
"""What Tables 3 and 4 are of."""
NE_UNIT = "Flores-101 tokens"
"""In which the paper counts NE (A.1): sacrebleu's tokenizer `flores101`."""
PAPER_MACHINE = "Apple M2 Pro"
"""With Metal (A.1)."""


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A method's line; shares in percent as printed, None where the paper prints nothing."""

    comet: float
    ne: float
    accepted_per_draft: float | None = None
    accepted_per_output: float | None = None
    tokens_per_second: float | None = None
    tps_ratio: float = 1.0
    """What the paper calls speedup: the ratio of tokens per second."""


TABLE_2: dict[tuple[str, str, str], PaperRow] = {
    ("en-de", "rt", TOWER): PaperRow(0.877, 1.17, tokens_per_second=60),
    ("en-de", "rt", QWEN): PaperRow(0.843, 1.26, tokens_per_second=48),
    ("en-de", "ssbd@0.2", TOWER): PaperRow(0.877, 0.77, 79.0, 63.1, 101, 1.69),
    ("en-de", "ssbd@0.2", QWEN): PaperRow(0.843, 0.82, 74.7, 58.9, 74, 1.53),
    ("en-zh", "rt", TOWER): PaperRow(0.882, 1.72, tokens_per_second=59),
    ("en-zh", "rt", QWEN): PaperRow(0.882, 1.54, tokens_per_second=46),
    ("en-zh", "ssbd@0.2", TOWER): PaperRow(0.880, 1.01, 71.7, 57.0, 87, 1.48),
    ("en-zh", "ssbd@0.2", QWEN): PaperRow(0.882, 1.20, 65.4, 51.8, 65, 1.43),
    ("en-ja", "rt", TOWER): PaperRow(0.912, 2.06, tokens_per_second=60),
    ("en-ja", "rt", QWEN): PaperRow(0.889, 1.96, tokens_per_second=48),
    ("en-ja", "ssbd@0.2", TOWER): PaperRow(0.911, 1.49, 60.4, 48.5, 82, 1.36),
    ("en-ja", "ssbd@0.2", QWEN): PaperRow(0.888, 1.49, 57.7, 45.9, 64, 1.33),
}
"""By pair, method and model, on FLORES."""

TABLE_6: dict[tuple[str, str, str], PaperRow] = {
    ("en-de", "rt", TOWER): PaperRow(0.796, 2.53, tokens_per_second=60),
    ("en-de", "rt", QWEN): PaperRow(0.766, 2.22, tokens_per_second=48),
    ("en-de", "ssbd@0.2", TOWER): PaperRow(0.796, 1.82, 76.3, 55.3, 90, 1.50),
    ("en-de", "ssbd@0.2", QWEN): PaperRow(0.766, 1.79, 73.1, 52.1, 70, 1.46),
    ("en-zh", "rt", TOWER): PaperRow(0.824, 2.34, tokens_per_second=59),
    ("en-zh", "rt", QWEN): PaperRow(0.833, 2.15, tokens_per_second=46),
    ("en-zh", "ssbd@0.2", TOWER): PaperRow(0.824, 1.71, 74.5, 53.8, 84, 1.42),
    ("en-zh", "ssbd@0.2", QWEN): PaperRow(0.833, 1.84, 67.5, 48.5, 59, 1.28),
    ("en-ja", "rt", TOWER): PaperRow(0.854, 3.05, tokens_per_second=59),
    ("en-ja", "rt", QWEN): PaperRow(0.841, 2.91, tokens_per_second=44),
    ("en-ja", "ssbd@0.2", TOWER): PaperRow(0.854, 2.39, 60.9, 42.5, 78, 1.31),
    ("en-ja", "ssbd@0.2", QWEN): PaperRow(0.841, 2.46, 56.3, 40.8, 61, 1.39),
}
"""By pair, method and model, on ACL 60/60."""

TABLE_3: dict[str, PaperRow] = {
    "rt": PaperRow(0.882, 1.72),
    "ssbd@0": PaperRow(0.882, 1.53, 53.8, 42.7, tps_ratio=1.28),
    "ssbd@0.1": PaperRow(0.881, 1.19, 66.2, 52.6, tps_ratio=1.40),
    "ssbd@0.2": PaperRow(0.880, 1.01, 71.7, 57.0, tps_ratio=1.48),
    "ssbd@0.3": PaperRow(0.870, 0.83, 77.3, 61.4, tps_ratio=1.58),
    "ssbd@0.4": PaperRow(0.842, 0.57, 85.0, 67.4, tps_ratio=1.70),
    "ssbd@0.5": PaperRow(0.742, 0.0, 100.0, 77.5, tps_ratio=2.10),
    "ssbd@1": PaperRow(0.742, 0.0, 100.0, 77.5, tps_ratio=2.10),
    "cd": PaperRow(0.742, 0.0, 100.0, 77.5, tps_ratio=2.60),
}
"""By method."""

TABLE_4: dict[str, PaperRow] = {
    "ssbd@0.2": PaperRow(0.880, 1.01, 71.7, 57.0, tps_ratio=1.48),
    "ssbd@0.2+mask3": PaperRow(0.880, 0.52, 80.6, 52.3, tps_ratio=1.42),
    "ssbd@0.2+mask5": PaperRow(0.881, 0.34, 84.5, 47.2, tps_ratio=1.39),
    "ssbd@0.2+display3": PaperRow(0.880, 0.53, 71.7, 57.0, tps_ratio=1.48),
    "ssbd@0.2+display5": PaperRow(0.880, 0.35, 71.7, 57.0, tps_ratio=1.48),
}
"""By method."""
