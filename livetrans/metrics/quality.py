"""Quality of finished translations, and the tokens in which erasure is counted: everything that uses sacrebleu.

Nothing here downloads: sacrebleu and unbabel-comet would fetch models that are not on disk, so these are refused
before the libraries are called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from livetrans.base.errors import ModelError, UsageError, sentence
from livetrans.base.installation import install_command
from livetrans.base.languages import parse_language
from livetrans.base.text import unknown

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sacrebleu.metrics.base import Metric

SUBWORD_UNITS = ("flores200", "flores101")
"""Units of sacrebleu's SentencePiece models, the same for every language: what the authors count erasure in."""
UNITS = (*SUBWORD_UNITS, "13a", "zh", "ja-mecab", "char", "word")
"""sacrebleu's tokenizers by their own names, and `word`: words with their punctuation, split at spaces."""

_WORD_MARKER = "\N{LOWER ONE EIGHTH BLOCK}"


RESAMPLES = 1000
"""Number of resamples of the sentences in a bootstrap."""
COMET_SEED = 12345
"""sacrebleu's, which `SACREBLEU_SEED` changes for BLEU and chrF."""


class Interval(NamedTuple):
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Score:
    """A corpus figure, that of each resample of the sentences, and its signature."""

    value: float
    """0..100 for BLEU and chrF; COMET's own scale."""
    signature: str
    """sacrebleu's, with the metric's name in front; for COMET the model, the resamples and the version."""
    samples: NDArray[np.float64] = field(repr=False, compare=False)
    """One a resample; every system of a corpus gets the same resamples."""

    @property
    def interval(self) -> Interval:
        """The figure with the 2.5th and 97.5th percentiles of the resamples (bootstrap)."""
        return _interval(self.value, self.samples)

    def less(self, other: Score) -> Interval:
        """Return the difference to `other` on the same sentences, by a paired bootstrap."""
        return _interval(self.value - other.value, self.samples - other.samples)


def _interval(value: float, samples: NDArray[np.float64]) -> Interval:
    low, high = np.percentile(samples, (2.5, 97.5))
    return Interval(value, float(low), float(high))


def bleu(hypotheses: Sequence[str], references: Sequence[str], target_language: str) -> Score:
    """Return corpus BLEU by sacrebleu, tokenized with the `language_unit` of the language."""
    _require_sacrebleu()
    from sacrebleu.metrics import BLEU

    # `force`: hypotheses that end in a lone full stop are no reason for a warning.
    return _scored("BLEU", BLEU(tokenize=language_unit(target_language), force=True), hypotheses, references)


def chrf(hypotheses: Sequence[str], references: Sequence[str], sentences: Sequence[int] | None = None) -> Score:
    """Return corpus chrF2 by sacrebleu; `sentences` numbers the sentence of each hypothesis, if one has several."""
    _require_sacrebleu()
    from sacrebleu.metrics import CHRF

    return _scored("chrF2", CHRF(), hypotheses, references, sentences)


def _scored(
    name: str,
    metric: Metric,
    hypotheses: Sequence[str],
    references: Sequence[str],
    sentences: Sequence[int] | None = None,
) -> Score:
    _check_paired(hypotheses, references)
    # sacrebleu's own paired test says how likely a difference is, not how large: its samples are used instead.
    from sacrebleu.significance import _bootstrap_resample

    each = np.array(metric._extract_corpus_statistics(list(hypotheses), [list(references)]), dtype=np.float64)
    if sentences is not None:
        _, places = np.unique(np.array(sentences), return_inverse=True)
        summed = np.zeros((int(places.max()) + 1, each.shape[1]))
        np.add.at(summed, places, each)
        each = summed
    metric.n_bootstrap = RESAMPLES
    metric.seed, samples = _bootstrap_resample(each.tolist(), metric, RESAMPLES)
    return Score(
        metric._compute_score_from_stats(each.sum(axis=0)).score,
        f"{name}|{metric.get_signature()}",
        np.array([sample.score for sample in samples]),
    )


def comet(sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str], model: Path | None) -> Score:
    """Return corpus COMET by unbabel-comet with a model on disk: a checkpoint, or the folder of `checkpoints/`.

    Raises:
        UsageError: no sentences, or another number of sources or references than hypotheses.
        ModelError: no model, unbabel-comet is not installed, or the model cannot be loaded without a download.
    """
    _check_paired(hypotheses, references)
    _check_paired(hypotheses, sources, "sources")
    if model is None:
        raise ModelError("COMET needs a model, which livetrans does not include; download one and give it with --comet")
    checkpoint = model / "checkpoints" / "model.ckpt" if model.is_dir() else model
    if not checkpoint.is_file():
        raise ModelError(f"there is no COMET model {checkpoint}; give the path of a downloaded one with --comet")
    try:
        library = import_module("comet")
    except ModuleNotFoundError:
        raise ModelError(f"unbabel-comet is not installed; run {install_command('comet')}") from None
    try:
        scorer = library.load_from_checkpoint(str(checkpoint), local_files_only=True)
    except Exception as error:  # A model file can fail in any way that a pickle can.
        raise ModelError(
            f"the COMET model {checkpoint} cannot be loaded ({sentence(error)}); download it again, with its encoder"
        ) from error
    columns = zip(sources, hypotheses, references, strict=True)
    samples = [{"src": source, "mt": hypothesis, "ref": reference} for source, hypothesis, reference in columns]
    result = scorer.predict(samples, batch_size=8, gpus=0, progress_bar=False)
    drawn = np.random.default_rng(COMET_SEED).choice(len(samples), (RESAMPLES, len(samples)))
    signature = (
        f"COMET|model:{_comet_name(checkpoint)}|bs:{RESAMPLES}|seed:{COMET_SEED}|version:{version('unbabel-comet')}"
    )
    return Score(float(result.system_score), signature, np.array(result.scores)[drawn].mean(axis=1))


def tokenizer(unit: str) -> Callable[[str], list[str]]:
    """Return the function that splits a text into tokens of the unit, in which erasure and delays are counted.

    Tokens are not empty and have no spaces.

    Raises:
        UsageError: no such unit.
        ModelError: a package or a model that the unit needs is not on this machine; nothing is downloaded.
    """
    if unit not in UNITS:
        raise UsageError(unknown("unit", unit, UNITS))
    if unit == "word":
        return str.split
    _require_sacrebleu()
    from sacrebleu.metrics import BLEU
    from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS

    if unit == "ja-mecab" and not _mecab_installed():
        raise ModelError(f"the unit ja-mecab needs MeCab; run {install_command('ja')} or choose the unit char")
    is_subword = unit in SUBWORD_UNITS
    if is_subword and find_spec("sentencepiece") is None:
        raise ModelError(f"the unit {unit} needs sentencepiece; run {install_command('bench')} or choose another unit")
    if is_subword and not subwords_ready(unit):
        raise ModelError(
            f"the unit {unit} needs sacrebleu's model, which livetrans does not download; save "
            f"{SPM_MODELS[unit]['url']} as {subword_model(unit)}, or choose another unit"
        )
    try:
        tokenize = BLEU(tokenize=unit).tokenizer
    except (OSError, RuntimeError):
        raise ModelError(
            f"{subword_model(unit)} cannot be read as a SentencePiece model; put sacrebleu's there again"
        ) from None
    # A marker of its own before the first word would count as a token in some outputs and not in others.
    marker = _WORD_MARKER if is_subword else ""
    return lambda text: str(tokenize(text.strip())).lstrip(marker).split()


def default_unit(target_language: str) -> str:
    """Return the unit on this machine that is nearest to the authors'.

    `flores200` or `flores101` if sacrebleu's model is on disk, else the `language_unit`.
    """
    return next((unit for unit in SUBWORD_UNITS if subwords_ready(unit)), None) or language_unit(target_language)


def language_unit(target_language: str) -> str:
    """Return sacrebleu's tokenizer for a language: `zh`, `ja-mecab` if its extra is installed, `char`, or `13a`.

    `char` is for Japanese without MeCab and for other languages written without spaces.

    Raises:
        UsageError: no such language.
    """
    language = parse_language(target_language)
    if language.whisper_code in ("zh", "yue"):
        return "zh"
    if language.whisper_code == "ja" and _mecab_installed():
        return "ja-mecab"
    return "13a" if language.spaced else "char"


def subword_model(unit: str) -> Path:
    """Return the path of the SentencePiece model that sacrebleu uses for a subword unit; it need not exist."""
    _require_sacrebleu()
    from sacrebleu.tokenizers import tokenizer_spm

    return Path(tokenizer_spm.SACREBLEU_DIR, "models", Path(tokenizer_spm.SPM_MODELS[unit]["url"]).name)


def subwords_ready(unit: str) -> bool:
    return find_spec("sentencepiece") is not None and subword_model(unit).is_file()


def _check_paired(hypotheses: Sequence[str], others: Sequence[str], name: str = "references") -> None:
    if not hypotheses:
        raise UsageError("there is no finished translation to score; run the benchmark first")
    if len(hypotheses) != len(others):
        raise UsageError(f"{len(hypotheses)} translations cannot be scored against {len(others)} {name}; pair them")


def _require_sacrebleu() -> None:
    if find_spec("sacrebleu") is None:
        raise ModelError(f"sacrebleu is not installed; run {install_command('bench')}")


def _mecab_installed() -> bool:
    return find_spec("MeCab") is not None and find_spec("ipadic") is not None


def _comet_name(checkpoint: Path) -> str:
    """Return the model's name: its repository in a hub snapshot, the folder above `checkpoints`, or the file's name."""
    hub = [part.rpartition("--")[2] for part in checkpoint.parts if part.startswith("models--")]
    folder = checkpoint.parent
    return hub[-1] if hub else folder.parent.name if folder.name == "checkpoints" else checkpoint.stem
