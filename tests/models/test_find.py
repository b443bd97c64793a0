"""Which models are found, and which is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from livetrans.errors import ModelError, UsageError
from livetrans.models import find
from livetrans.models.catalogue import read_catalogue


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Empty search folders in place of the real ones, by the name of their place."""
    monkeypatch.setenv(find.MODELS_VARIABLE, str(tmp_path / "named"))
    monkeypatch.setattr("platformdirs.user_data_path", lambda *names, **settings: tmp_path / "data")
    monkeypatch.setattr(find, "data_folder", lambda name: tmp_path / "tree" / name)
    catalogue_file = Path(__file__).parents[2] / "models/catalogue.toml"
    monkeypatch.setattr(find, "known_models", lambda: read_catalogue(catalogue_file))
    for variable in (find.RECOGNISER_VARIABLE, find.TRANSLATOR_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    return {"named": tmp_path / "named", "tree": tmp_path / "tree/models", "user": tmp_path / "data/models"}


def translator(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"GGUF....")
    return folder / name


def recogniser(folder: Path, name: str) -> Path:
    (folder / name).mkdir(parents=True)
    (folder / name / "model.bin").write_bytes(b"12345678")
    return folder / name


def test_without_models_the_sentence_says_how_to_point_to_one(folders: dict[str, Path]) -> None:
    assert find.find_models() == []
    with pytest.raises(ModelError, match="--asr"):
        find.find_recogniser()
    with pytest.raises(ModelError, match="--mt"):
        find.find_translator()


def test_earlier_folders_win_and_the_embedded_model_comes_last(folders: dict[str, Path]) -> None:
    embedded = translator(folders["named"], "livetrans-en-de.q8_0.gguf")
    for place, name in (("user", "a.gguf"), ("tree", "b.gguf"), ("named", "c.gguf")):
        first = translator(folders[place], name)
        assert find.find_translator(source="en", target="de").path == first
    assert find.find_translator("livetrans-en-de").path == embedded


def test_a_file_that_is_no_gguf_is_never_a_default(folders: dict[str, Path]) -> None:
    translator(folders["user"], "cut.gguf").write_bytes(b"")
    with pytest.raises(ModelError, match=r"no translator here knows en to de; found: cut\.gguf"):
        find.find_translator(source="en", target="de")


def test_a_model_of_the_catalogue_is_taken_for_the_languages_that_it_knows(folders: dict[str, Path]) -> None:
    translator(folders["user"], "Hy-MT2-1.8B-Q4_K_M.gguf")
    general = translator(folders["user"], "Z.gguf")
    assert find.find_translator(source="en", target="de").name == "Hy-MT2-1.8B-Q4_K_M.gguf"
    assert find.find_translator(source="en", target="sv").path == general
    recogniser(folders["user"], "faster-whisper-small.en")
    with pytest.raises(ModelError, match=r"no recogniser here knows fr; .*`livetrans models pull small --from fr"):
        find.find_recogniser(language="fr")


def test_a_model_of_the_catalogue_that_is_not_here_is_named_in_the_advice(folders: dict[str, Path]) -> None:
    with pytest.raises(ModelError, match=r"no translator 'hy-mt2-7b'; .*`livetrans models pull hy-mt2-7b`"):
        find.find_translator("hy-mt2-7b")


def test_a_recogniser_of_one_language_is_taken_for_that_one_only(folders: dict[str, Path]) -> None:
    recogniser(folders["tree"], "livetrans-recogniser-en")
    assert find.find_recogniser(language="en").languages == ("en",)
    with pytest.raises(ModelError, match="livetrans-recogniser-en"):
        find.find_recogniser(language="de")


def test_a_model_is_found_by_name_and_by_path_whatever_its_name(folders: dict[str, Path], tmp_path: Path) -> None:
    path = translator(folders["tree"], "big.q4.gguf")
    for wanted in ("big.q4.gguf", "big.q4", "big", "Big.Q4"):
        assert find.find_translator(wanted).path == path
    blob = translator(tmp_path, "blob")
    assert find.find_translator(str(blob)).path == blob


def test_the_environment_names_a_model(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator(folders["tree"], "livetrans-en-de.q8_0.gguf")
    path = translator(tmp_path, "mine.gguf")
    monkeypatch.setenv(find.TRANSLATOR_VARIABLE, str(path))
    assert find.find_translator().path == path


def test_a_file_that_is_not_a_model_is_reported_as_such(folders: dict[str, Path], tmp_path: Path) -> None:
    translator(folders["tree"], "known.gguf")
    (tmp_path / "fake.gguf").write_text("not a model")
    with pytest.raises(ModelError, match=r"no translator 'absent'; found: known\.gguf"):
        find.find_translator("absent")
    for search in (find.find_translator, find.find_draft_model, find.find_double_model):
        with pytest.raises(
            ModelError, match=r"is not a (translator|draft model|double-token model): it is not a GGUF file.*give"
        ):
            search(str(tmp_path / "fake.gguf"))
        with pytest.raises(ModelError, match=r"there is no file 'absent\.gguf'.*give the path of a GGUF file"):
            search("absent.gguf")
    with pytest.raises(ModelError, match=r"no model\.bin"):
        find.find_recogniser(str(tmp_path))


def test_a_double_token_model_is_taken_only_where_it_is_named(folders: dict[str, Path]) -> None:
    apart = folders["tree"] / "double"
    apart.mkdir(parents=True)
    path = translator(apart, "livetrans-double-en-de.q8_0.gguf")
    with pytest.raises(ModelError, match="no translator here"):
        find.find_translator(source="en", target="de")
    assert find.find_translator("livetrans-double-en-de").path == path
    assert find.find_double_model("livetrans-double-en-de") == path
    assert path not in [model.path for model in find.find_models()]


def test_without_a_catalogue_nothing_is_offered(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="small has no recogniser"):
        read_catalogue(tmp_path / "absent.toml").pair("small", "en", "de")
    (tmp_path / "damaged.toml").write_text("[[models]]\nname = 1\n")
    with pytest.raises(ModelError, match="install livetrans again"):
        read_catalogue(tmp_path / "damaged.toml")
