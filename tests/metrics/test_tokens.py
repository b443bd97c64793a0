"""Units of counting: sacrebleu's own tokens, chosen by what is on this machine, never downloaded."""

from __future__ import annotations

import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.errors import ModelError, UsageError
from livetrans.metrics import quality
from livetrans.metrics.quality import default_unit, tokenizer

pytest.importorskip("sacrebleu", reason="comes with livetrans[bench]")

ALWAYS_THERE = ("13a", "zh", "char", "word")
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=40)


class FakeSentencePiece(types.ModuleType):
    """A model of one piece a word; its first line must say so."""

    def __init__(self) -> None:
        super().__init__("sentencepiece")
        self.__spec__ = ModuleSpec("sentencepiece", None)

    def SentencePieceProcessor(self) -> FakeSentencePiece:
        return self

    def Load(self, path: str) -> None:
        if Path(path).read_bytes() != b"pieces":
            raise RuntimeError("no SentencePiece model")

    def EncodeAsPieces(self, text: str) -> list[str]:
        return ["▁", *text.replace(" ", " ▁").split(" ")]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """sacrebleu's cache folder, empty, beside an installed sentencepiece; a download fails the test."""
    from sacrebleu.tokenizers import tokenizer_spm

    def download(*_: object) -> None:
        raise AssertionError("sacrebleu would download")

    monkeypatch.setattr(tokenizer_spm, "SACREBLEU_DIR", str(tmp_path))
    monkeypatch.setattr(tokenizer_spm, "download_file", download)
    monkeypatch.setitem(sys.modules, "sentencepiece", FakeSentencePiece())
    return tmp_path


def put_model(unit: str, content: bytes = b"pieces") -> None:
    path = quality.subword_model(unit)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


@pytest.mark.parametrize("unit", ALWAYS_THERE)
def test_tokens_are_never_empty_and_never_have_a_space(unit: str) -> None:
    tokenize = tokenizer(unit)

    @given(TEXTS)
    def check(text: str) -> None:
        tokens = tokenize(text)
        assert all(token and not token.isspace() and " " not in token for token in tokens)
        assert "".join("".join(tokens).split()) or not text.strip()

    check()


@pytest.mark.parametrize(
    ("unit", "text", "tokens"),
    [
        ("word", "Ja, das Haus.", ["Ja,", "das", "Haus."]),
        ("13a", "Ja, das Haus.", ["Ja", ",", "das", "Haus", "."]),
        ("char", "a b", ["a", "b"]),
        ("zh", "你好 Haus", ["你", "好", "Haus"]),
    ],
)
def test_each_unit_cuts_as_its_name_says(unit: str, text: str, tokens: list[str]) -> None:
    assert tokenizer(unit)(text) == tokenizer(unit)(f"  {text} ") == tokens


def test_an_unknown_unit_is_refused_with_a_list_of_units() -> None:
    with pytest.raises(UsageError, match=r"flores200.*word"):
        tokenizer("bpe")


@pytest.mark.parametrize("unit", quality.SUBWORD_UNITS)
def test_a_missing_subword_model_is_not_downloaded(cache: Path, unit: str) -> None:
    with pytest.raises(ModelError, match=unit):
        tokenizer(unit)
    assert list(cache.iterdir()) == []


def test_a_cut_subword_model_is_one_sentence(cache: Path) -> None:
    put_model("flores200", b"pie")
    with pytest.raises(ModelError, match="cannot be read"):
        tokenizer("flores200")


def test_the_first_words_marker_is_not_a_token(cache: Path) -> None:
    put_model("flores200")
    tokenize = tokenizer("flores200")
    assert tokenize(" das Haus ") == ["das", "▁Haus"]
    assert tokenize("") == []


def test_subwords_are_the_default_where_their_model_is(cache: Path) -> None:
    assert default_unit("de") == "13a"
    put_model("flores101")
    assert default_unit("de") == default_unit("zh") == "flores101"
    put_model("flores200")
    assert default_unit("de") == "flores200"


def test_without_sentencepiece_subwords_are_not_the_default(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_model("flores200")
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    assert default_unit("de") == "13a"
    with pytest.raises(ModelError, match=r"needs sentencepiece; run .*pip install"):
        tokenizer("flores200")


def test_japanese_tokens_without_mecab_are_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "_mecab_installed", lambda: False)
    with pytest.raises(ModelError, match="ja-mecab"):
        tokenizer("ja-mecab")


def test_japanese_tokens_are_words() -> None:
    pytest.importorskip("MeCab", reason="comes with sacrebleu[ja]")
    pytest.importorskip("ipadic", reason="comes with sacrebleu[ja]")
    assert tokenizer("ja-mecab")("家は古い。") == ["家", "は", "古い", "。"]
