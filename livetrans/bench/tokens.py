"""The unit in which target text is counted, for erasure, delays and exports: it stands in every table."""

from __future__ import annotations

from collections.abc import Callable

from livetrans.errors import UsageError
from livetrans.metrics import quality

UNITS = ("flores200", "flores101", "13a", "zh", "ja-mecab", "char", "word")
"""sacrebleu's tokenizers by their own names, and `word`: what stands between spaces, with its punctuation."""


def tokenizer(unit: str) -> Callable[[str], list[str]]:
    """What cuts a text into tokens of the unit. No token is empty or has a space in it.

    Raises:
        UsageError: no such unit.
        ModelError: a package or a model that the unit needs is not on this machine; nothing is downloaded.
    """
    if unit not in UNITS:
        raise UsageError(f"there is no unit {unit!r}; choose one of {', '.join(UNITS)}")
    if unit == "word":
        return str.split
    return quality.subword_tokenizer(unit) if unit in quality.SUBWORD_UNITS else quality.line_tokenizer(unit)


def default_unit(target_language: str) -> str:
    """The unit that comes nearest to the authors' on this machine.

    `flores200` or `flores101` where sacrebleu's model is on disk already. Else `zh` for Chinese, `ja-mecab` for
    Japanese where its extra is installed, `13a` for languages written with spaces and `char` for those written without.

    Raises:
        UsageError: no such language.
        ModelError: sacrebleu is not installed.
    """
    ready = (unit for unit in quality.SUBWORD_UNITS if quality.subwords_ready(unit))
    return next(ready, None) or quality.language_unit(target_language)
