"""Models in the folders of other programs, in made-up homes of macOS and Linux."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.cli import run
from livetrans.models import find, programs
from livetrans.models.gguf import is_translator, read_metadata
from livetrans.models.programs import ModelElsewhere, models_elsewhere

HY_MT2 = "dc5f44fcf1fa496ee7ad725982c0c8c553a4de00259b53af84c4b89fb0c06699"


def gguf(architecture: str, **more: str) -> bytes:
    """The header of a GGUF of that architecture, without a vocabulary or tensors."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    pairs = {"general.architecture": architecture, **{name.replace("_", "."): value for name, value in more.items()}}
    body = b"".join(text(key) + struct.pack("<I", 8) + text(value) for key, value in pairs.items())
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + body


def write(path: Path, data: bytes = b"") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def hub_repository(folder: Path, name: str, files: dict[str, bytes]) -> Path:
    """A repository as huggingface_hub keeps it: blobs, and snapshots of links to them."""
    repository = folder / f"models--{name.replace('/', '--')}"
    for commit in ("old", "new"):
        for file, data in files.items():
            blob = write(repository / "blobs" / f"{commit}-{file.replace('/', '-')}", data)
            link = repository / "snapshots" / commit / file
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(blob)
    write(repository / "refs/main", b"new")
    return repository / "snapshots/new"


def ollama_model(folder: Path, name: str, tag: str, digest: str, data: bytes) -> Path:
    layers = [
        {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:00"},
        {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"},
    ]
    write(folder / f"manifests/registry.ollama.ai/library/{name}/{tag}", json.dumps({"layers": layers}).encode())
    return write(folder / f"blobs/sha256-{digest}", data)


RECOGNISER_FILES = {"model.bin": b"1", "config.json": b"{}", "tokenizer.json": b"{}", "vocabulary.txt": b"a"}


@pytest.fixture(params=["darwin", "linux"])
def fetched(request: pytest.FixtureRequest, home: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """A home in which all four programs have fetched models; the paths that should be found, by name."""
    monkeypatch.setattr(programs, "sys", SimpleNamespace(platform=request.param))
    hub, llama = home / ".cache/huggingface/hub", home / ".cache/llama.cpp"
    if request.param == "darwin":
        llama = home / "Library/Caches/llama.cpp"
    lm_studio = home / "LM models"
    write(home / ".lmstudio/settings.json", json.dumps({"downloadsFolder": str(lm_studio)}).encode())
    found = {
        "Systran/faster-whisper-small": hub_repository(hub, "Systran/faster-whisper-small", RECOGNISER_FILES),
        "Q4/deep.gguf": hub_repository(hub, "owner/deep", {"Q4/deep.gguf": gguf("llama")}) / "Q4/deep.gguf",
        "owner_old_layout.gguf": write(llama / "owner_old_layout.gguf", gguf("gemma3")),
        "new-layout.gguf": hub_repository(llama, "owner/new", {"new-layout.gguf": gguf("qwen3")}) / "new-layout.gguf",
        "studio.gguf": write(lm_studio / "publisher/repository/studio.gguf", gguf("llama")),
        "second.gguf": write(home / ".cache/lm-studio/models/a/b/second.gguf", gguf("llama")),
        "hy-mt2:1.8b": ollama_model(home / ".ollama/models", "hy-mt2", "1.8b", HY_MT2, gguf("hunyuan-dense")),
    }
    # What is there and is not to be listed: other kinds, half files, and a folder without weights.
    write(lm_studio / "publisher/repository/mmproj.gguf", gguf("clip"))
    write(lm_studio / "publisher/repository/lora.gguf", gguf("llama", general_type="adapter"))
    write(lm_studio / "publisher/repository/embed.gguf", gguf("nomic-bert"))
    write(lm_studio / "publisher/repository/hybrid.gguf", gguf("lfm2"))
    write(lm_studio / "publisher/repository/half.gguf", gguf("llama")[:12])
    write(lm_studio / "publisher/repository/page.gguf", b"<!doctype html>")
    hub_repository(hub, "openai/whisper-small", {"config.json": b"{}", "model.safetensors": b"1"})
    ollama_model(home / ".ollama/models", "llava", "7b", "ab" * 32, b"no GGUF")
    write(home / ".ollama/models/manifests/registry.ollama.ai/library/broken/1", b"[not JSON")
    return {name.rpartition("/")[2] if name.endswith(".gguf") else name: path for name, path in found.items()}


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def test_the_models_of_the_four_programs_are_found_and_left_as_they_are(
    fetched: dict[str, Path], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(home)
    found = {model.name: model for model in models_elsewhere()}
    assert {name: model.path for name, model in found.items()} == fetched
    assert {model.program for model in found.values()} == {
        "Hugging Face cache", "llama.cpp cache", "LM Studio", "Ollama",
    }  # fmt: skip
    assert found["hy-mt2:1.8b"].sha256 == HY_MT2
    assert run(["models"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in fetched)
    assert contents(home) == before


def test_a_model_of_the_catalogue_is_used_from_where_it_is(
    fetched: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """By default those that are known to translate, others by name; and a pull fetches nothing."""
    assert find.find_recogniser(language="en").path == fetched["Systran/faster-whisper-small"]
    assert find.find_translator(source="en", target="de").path == fetched["hy-mt2:1.8b"]
    assert find.find_translator("studio").path == fetched["studio.gguf"]
    assert find.find_translator(source="en", target="de").entry is not None
    assert run(["models", "pull", "small"]) == 0
    assert capsys.readouterr().err.count("is here already") == 2
    assert run(["models", "rm", "studio.gguf"]) == 2
    assert fetched["studio.gguf"].exists()


@pytest.mark.parametrize(
    ("variable", "folder"),
    [("HF_HOME", "hub"), ("HF_HUB_CACHE", ""), ("XDG_CACHE_HOME", "huggingface/hub"), ("LLAMA_CACHE", "")],
)
def test_the_variables_of_the_programs_hold(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, folder: str
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "own"))
    snapshot = hub_repository(tmp_path / "own" / folder, "owner/name", {"model.gguf": gguf("llama")})
    assert [model.path for model in models_elsewhere()] == [snapshot / "model.gguf"]


def test_ollama_s_variable_holds(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "own"))
    blob = ollama_model(tmp_path / "own", "qwen3", "4b", "cd" * 32, gguf("qwen3"))
    assert models_elsewhere() == [ModelElsewhere(blob, "translator", "qwen3:4b", "Ollama", "cd" * 32)]


def test_a_translator_of_the_user_s_is_taken_for_the_languages_of_its_family(home: Path) -> None:
    folder = find.pull_folder()
    write(folder / "a.gguf", gguf("hunyuan-dense", general_name="Hy-MT2-1.8B finetuned"))
    general = write(folder / "b.gguf", gguf("gemma3", general_name="Anything"))
    assert find.find_translator(source="en", target="de").family == "hymt"
    assert find.find_translator(source="en", target="sv").path == general


def test_the_embedded_translator_is_one(translator_path: Path) -> None:
    assert read_metadata(translator_path)["general.architecture"] == "llama"
    assert is_translator(translator_path)


@given(st.binary(max_size=200), st.integers(0, 200))
def test_any_bytes_are_read_without_an_error(tmp_path_factory: pytest.TempPathFactory, data: bytes, cut: int) -> None:
    path = tmp_path_factory.getbasetemp() / "any.gguf"
    for content in (data, b"GGUF" + data, gguf("llama", general_name="x" * 50)[:cut] + data):
        path.write_bytes(content)
        read_metadata(path)
        is_translator(path)
