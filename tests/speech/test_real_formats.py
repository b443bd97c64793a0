"""The formats in which Whisper models are published, through `open_recogniser`: shapes, vocabularies, missing files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from random_whisper import PHRASE, SHAPES, Shape, hiss, write_random_whisper

from livetrans.base.errors import ModelError, UsageError
from livetrans.config import RecogniserSettings
from livetrans.run.opening import open_recogniser
from livetrans.speech.whisper import WhisperRecogniser

FORMATS = {"multilingual": {}, "english": {"english": True}, "v3": {"bands": 128, "languages": 100}}
"""OpenAI's three: 51,865 pieces and 80 mel bands; one piece less; 51,866 pieces and 128 bands."""


@pytest.fixture(scope="module")
def write_format(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Write a folder of a format, named by it, stored in float16 as published models are."""

    @cache
    def write(name: str) -> Path:
        folder = tmp_path_factory.mktemp("formats") / name
        return write_random_whisper(
            folder, **FORMATS[name], spoken="en", phrase=PHRASE, quantization="float16", shape=Shape(64, 2, 1)
        )

    return write


@pytest.fixture(params=FORMATS)
def published(request: pytest.FixtureRequest, write_format: Callable[[str], Path]) -> Path:
    return write_format(request.param)


@pytest.fixture
def copied(write_format: Callable[[str], Path], tmp_path: Path) -> Path:
    """A multilingual model that a test may damage."""
    return Path(shutil.copytree(write_format("multilingual"), tmp_path / "copied"))


def opened(folder: Path, language: str | None = "en", **settings: object) -> WhisperRecogniser:
    recogniser = open_recogniser(RecogniserSettings(folder, language, threads=1, **settings))  # type: ignore[arg-type]
    assert isinstance(recogniser, WhisperRecogniser)
    return recogniser


@pytest.mark.parametrize("window", [pytest.param("full", marks=pytest.mark.long), "always"])
def test_words_and_times_with_and_without_previous_text(published: Path, window: str) -> None:
    recogniser = opened(published, window=window)
    for prompt in ("", "what was said before. " * 9):
        words = recogniser.recognise(hiss(6.0), prompt=prompt).words
        assert tuple(word.text for word in words) == PHRASE
        assert all(0 <= word.start <= word.end <= 6.0 for word in words)
        assert [word.start for word in words] == sorted(word.start for word in words)


def test_the_languages_are_those_of_the_vocabulary(published: Path, capfd: pytest.CaptureFixture[str]) -> None:
    recogniser = opened(published, None)
    assert capfd.readouterr() == ("", ""), "CTranslate2 says nothing of float16"
    counts = {"multilingual": 99, "english": 1, "v3": 100}
    assert len(recogniser.languages) == counts[published.name]
    assert ("yue" in recogniser.languages) == (published.name == "v3")
    assert recogniser.recognise(hiss(4.0)).words
    assert recogniser.language == "en"
    if published.name == "english":
        with pytest.raises(UsageError, match="only: en"):
            opened(published, "de")


@pytest.mark.parametrize("name", ["model.bin", "config.json", "tokenizer.json", "vocabulary.json"])
def test_a_missing_file_is_named(copied: Path, name: str) -> None:
    (copied / name).unlink()
    with pytest.raises(ModelError, match=name.replace(".", r"\.")):
        opened(copied)


def test_without_preprocessor_config_only_80_bands_can_be_meant(published: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(published, tmp_path / "copied"))
    (copied / "preprocessor_config.json").unlink()
    if published.name == "v3":
        with pytest.raises(ModelError, match=r"preprocessor_config.*128 mel bands"):
            opened(copied)
    else:
        assert opened(copied).recognise(hiss(4.0)).words


def test_an_older_vocabulary_is_read(copied: Path) -> None:
    pieces = json.loads((copied / "vocabulary.json").read_text(encoding="utf-8"))
    (copied / "vocabulary.json").unlink()
    (copied / "vocabulary.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    assert opened(copied).recognise(hiss(4.0)).words


@pytest.mark.parametrize("share", [0.0, 0.00001, 0.5, 0.999])
def test_a_truncated_model_is_one_sentence(copied: Path, share: float) -> None:
    model = (copied / "model.bin").read_bytes()
    (copied / "model.bin").write_bytes(model[: int(len(model) * share)])
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        opened(copied)
    assert "\n" not in str(caught.value)


def test_a_newer_version_of_the_format_is_one_sentence(copied: Path) -> None:
    model = bytearray((copied / "model.bin").read_bytes())
    model[0] = 99
    (copied / "model.bin").write_bytes(model)
    with pytest.raises(ModelError, match="version"):
        opened(copied)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"added_tokens": 1}'])
def test_a_damaged_tokenizer_is_one_sentence(copied: Path, content: str) -> None:
    (copied / "tokenizer.json").write_text(content)
    with pytest.raises(ModelError, match="tokenizer"):
        opened(copied)


@pytest.mark.long
@pytest.mark.parametrize(
    ("shape", "format_name"), [("tiny", "multilingual"), ("tiny", "english"), ("base", "multilingual"), ("turbo", "v3")]
)
def test_real_shapes(tmp_path: Path, shape: str, format_name: str) -> None:
    sizes = SHAPES[shape] if shape != "turbo" else Shape(SHAPES[shape].width, SHAPES[shape].heads, 2)
    folder = write_random_whisper(
        tmp_path, **FORMATS[format_name], shape=sizes, spoken="en", phrase=PHRASE, quantization="int8"
    )
    for window in ("full", "always"):
        words = opened(folder, window=window).recognise(hiss(6.0), prompt="what was said before").words
        assert tuple(word.text for word in words) == PHRASE
