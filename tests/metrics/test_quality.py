"""Quality figures carry their signatures, and nothing is ever downloaded for them."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from livetrans.base.errors import ModelError, UsageError
from livetrans.metrics import quality
from livetrans.metrics.quality import bleu, chrf, comet, language_unit

pytest.importorskip("sacrebleu", reason="comes with livetrans[bench]")

GOOD = ["Das Haus ist sehr alt.", "Wir gehen heute in den Wald."]
WORSE = ["Das Haus ist alt.", "Wir gehen morgen nicht in einen Wald."]


def test_a_perfect_translation_scores_full_and_a_worse_one_less() -> None:
    for score in (lambda texts: bleu(texts, GOOD, "de"), lambda texts: chrf(texts, GOOD)):
        assert score(GOOD).value == pytest.approx(100)
        assert 0 < score(WORSE).value < 100


def test_a_signature_names_the_metric_the_tokenizer_and_the_version() -> None:
    assert bleu(GOOD, GOOD, "de").signature.startswith("BLEU|nrefs:1|")
    assert "|tok:13a|" in bleu(GOOD, GOOD, "de").signature
    assert "|tok:zh|" in bleu(["你好"], ["你好"], "zh").signature
    assert chrf(GOOD, GOOD).signature.startswith("chrF2|nrefs:1|")
    assert all("|version:" in score.signature for score in (bleu(GOOD, GOOD, "de"), chrf(GOOD, GOOD)))


def test_a_difference_is_paired_and_its_interval_repeats() -> None:
    """A system that is a little worse on every sentence is worse in every resample."""
    references = [f"{number} dogs sleep on the warm floor of house {'very ' * number} old" for number in range(20)]
    worse = [reference.replace("warm", "cold") for reference in references]
    for score in (lambda texts: bleu(texts, references, "de"), lambda texts: chrf(texts, references)):
        difference = score(worse).less(score(references))
        assert difference.value == pytest.approx(score(worse).value - score(references).value)
        assert difference.low <= difference.value <= difference.high < 0
        assert score(worse).less(score(references)) == difference


@pytest.mark.parametrize(
    ("language", "unit"), [("de", "13a"), ("German", "13a"), ("zh-TW", "zh"), ("yue", "zh"), ("th", "char")]
)
def test_the_unit_follows_how_a_language_is_written(language: str, unit: str) -> None:
    assert language_unit(language) == unit


@pytest.mark.parametrize(("mecab", "unit"), [(True, "ja-mecab"), (False, "char")])
def test_japanese_without_mecab_is_counted_in_characters(
    monkeypatch: pytest.MonkeyPatch, mecab: bool, unit: str
) -> None:
    monkeypatch.setattr(quality, "_mecab_installed", lambda: mecab)
    assert language_unit("ja") == unit


@pytest.mark.parametrize(("hypotheses", "references"), [([], []), (GOOD, GOOD[:1]), ([], GOOD)])
def test_what_cannot_be_paired_is_refused_in_a_sentence(hypotheses: list[str], references: list[str]) -> None:
    with pytest.raises(UsageError):
        bleu(hypotheses, references, "de")
    with pytest.raises(UsageError):
        chrf(hypotheses, references)
    with pytest.raises(UsageError):
        comet(hypotheses, hypotheses, references, None)


def test_without_sacrebleu_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    for score in (lambda: bleu(GOOD, GOOD, "de"), lambda: chrf(GOOD, GOOD)):
        with pytest.raises(ModelError, match=r"pip install .*\[bench\]|pip install .*sacrebleu"):
            score()


def test_comet_without_a_model_or_its_package_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="download one"):
        comet(GOOD, GOOD, GOOD, None)
    with pytest.raises(ModelError, match="there is no COMET model"):
        comet(GOOD, GOOD, GOOD, tmp_path)
    checkpoint = tmp_path / "model.ckpt"
    checkpoint.touch()
    monkeypatch.setitem(sys.modules, "comet", None)
    with pytest.raises(ModelError, match=r"pip install .*comet"):
        comet(GOOD, GOOD, GOOD, checkpoint)


class FakeComet(types.ModuleType):
    """unbabel-comet's two calls; scores by how many translations equal their reference."""

    def __init__(self, *, broken: bool = False) -> None:
        super().__init__("comet")
        self.broken = broken
        self.loaded: list[tuple[str, bool]] = []

    def load_from_checkpoint(self, path: str, *, local_files_only: bool = False) -> FakeComet:
        self.loaded.append((path, local_files_only))
        if self.broken:
            raise KeyError("state_dict")
        return self

    def predict(self, samples: list[dict[str, str]], **_: object) -> types.SimpleNamespace:
        equal = [sample["mt"] == sample["ref"] and sample["src"].startswith("source") for sample in samples]
        return types.SimpleNamespace(system_score=sum(equal) / len(equal), scores=list(map(float, equal)))


@pytest.fixture
def snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model's folder as the hub's cache lays it out."""
    folder = tmp_path / "models--Unbabel--wmt22-comet-da" / "snapshots" / "0123"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "checkpoints" / "model.ckpt").touch()
    monkeypatch.setattr(quality, "version", lambda package: "2.2.7")
    return folder


def test_comet_is_loaded_without_the_network(snapshot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = FakeComet()
    monkeypatch.setitem(sys.modules, "comet", library)
    score = comet(["source 1", "source 2"], ["a", "b"], ["a", "c"], snapshot)
    assert (score.value, score.signature) == (0.5, "COMET|model:wmt22-comet-da|bs:1000|seed:12345|version:2.2.7")
    # Of two sentences, one right: a resample has none, one or both right.
    assert set(score.samples) == {0.0, 0.5, 1.0} and score.less(score) == (0.0, 0.0, 0.0)
    assert library.loaded == [(str(snapshot / "checkpoints" / "model.ckpt"), True)]


def test_a_broken_comet_model_is_one_sentence(snapshot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "comet", FakeComet(broken=True))
    with pytest.raises(ModelError, match="cannot be loaded"):
        comet(GOOD, GOOD, GOOD, snapshot)
