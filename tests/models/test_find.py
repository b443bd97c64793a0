"""Which models are found, in livetrans's own folders and in the caches of other programs, and which is taken."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from platformdirs import user_cache_path

from livetrans import config
from livetrans.base.errors import ModelError, UsageError
from livetrans.cli import run
from livetrans.config import BetweenSettings, LanguageModelSettings, MeetingSettings, RecogniserSettings, Settings
from livetrans.models import chosen, find
from livetrans.models.catalogue import RECOGNISER, TRANSLATOR, read_catalogue
from livetrans.models.chosen import DOUBLE_MODEL, DRAFT_MODEL, choose_models, find_model, has_gpu_engine
from livetrans.models.gguf import is_translator
from livetrans.models.pulls import Receipt, receipt_path
from livetrans.session.codec import encode

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


def hub_repository(folder: Path, name: str, files: dict[str, bytes], sha256: str = "") -> Path:
    """A repository as huggingface_hub keeps it: blobs, named by their hashes, and snapshots of links to them."""
    repository = folder / f"models--{name.replace('/', '--')}"
    for commit in ("old", "new"):
        for file, data in files.items():
            blob = write(repository / "blobs" / (sha256 or f"{commit}-{file.replace('/', '-')}"), data)
            link = repository / "snapshots" / commit / file
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(blob)
    write(repository / "refs/main", b"new")
    return repository / "snapshots/new"


def taken(source: str = "en", *targets: str, asr: str = "", mt: str = "", engine: str = "auto") -> tuple[Path, Path]:
    """Return the recogniser and the translator of a run, by default from English to German."""
    recogniser = RecogniserSettings(Path(asr), engine=engine)
    settings = Settings(recogniser, LanguageModelSettings(Path(mt)), sources=(source,), targets=targets or ("de",))
    chosen = choose_models(settings)
    assert chosen.recogniser is not None
    return chosen.recogniser.model, chosen.language_model.model


def translator(source: str = "en", *targets: str, name: str = "") -> Path:
    return taken(source, *targets, asr="livetrans-recogniser-en", mt=name)[1]


def recogniser(source: str = "en", *, name: str = "", engine: str = "auto") -> Path:
    return taken(source, mt="livetrans-en-de", asr=name, engine=engine)[0]


def test_without_models_the_sentence_says_how_to_point_to_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "search_folders", lambda: {home: "home"})
    write(home / "page.gguf", b"<!doctype html>")
    with pytest.raises(ModelError, match=r"no installed translator covers en to de; found: page\.gguf; .*--mt"):
        taken()
    with pytest.raises(ModelError, match="covers both en to de and de to en; "):
        choose_models(Settings(meeting=MeetingSettings("de", "en")))
    write(home / "any.gguf", gguf("llama"))
    with pytest.raises(ModelError, match=r"no installed recogniser understands en; found: none; .*--asr"):
        taken()


def test_earlier_folders_win_and_the_embedded_model_comes_last(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert translator().name == "livetrans-en-de.q8_0.gguf" and is_translator(translator())
    monkeypatch.setenv(find.MODELS_VARIABLE, os.pathsep.join((str(home / "first"), str(home / "second"))))
    for path in (find.pull_folder() / "a.gguf", home / "second/b.gguf", home / "first/c.gguf"):
        assert write(path, b"GGUF") == translator()
    write(home / "first/livetrans-en-de.q8_0.gguf", b"GGUF")
    assert translator() == home / "first/c.gguf"
    assert translator(name="livetrans-en-de") == home / "first/livetrans-en-de.q8_0.gguf"
    monkeypatch.setenv(config.TRANSLATOR_VARIABLE, str(home / "second/b.gguf"))
    assert translator() == home / "second/b.gguf"


def test_a_model_is_taken_for_the_languages_that_it_knows(home: Path) -> None:
    """By the catalogue, by the family that its metadata tell, or by the name of an embedded one."""
    folder = find.pull_folder()
    write(folder / "a.gguf", gguf("hunyuan-dense", general_name="Hy-MT2-1.8B finetuned"))
    assert find_model(TRANSLATOR).family == "hymt"
    write(folder / "Hy-MT2-1.8B-Q4_K_M.gguf", b"GGUF")
    general = write(folder / "z.gguf", gguf("gemma3", general_name="Anything"))
    assert translator().name == "Hy-MT2-1.8B-Q4_K_M.gguf"
    assert translator("en", "sv") == translator("en", "de", "sv") == general
    general.unlink()
    with pytest.raises(ModelError, match="`livetrans models pull --from en --to de,sv`"):
        translator("en", "de", "sv")
    with pytest.raises(ModelError, match=r"no translator 'z'; .*`livetrans models pull --from fr --to ar`"):
        translator("fr", "ar", name="z")
    assert recogniser().name == "livetrans-recogniser-en"
    write(folder / "faster-whisper-small.en/model.bin")
    with pytest.raises(ModelError, match=r"no installed recogniser understands fr; .*`livetrans models pull --from"):
        recogniser("fr")


@pytest.mark.parametrize(
    ("sources", "targets", "meeting", "fits"),
    [
        (("en",), ("de", "en"), None, True),
        (("en",), ("de",), MeetingSettings("en", "de"), True),
        (("en",), ("de",), MeetingSettings("en", "none"), True),
        (("auto", "en"), ("de",), MeetingSettings("de", "none"), True),
        (("en",), ("de",), MeetingSettings("de", "en"), False),
        (("en", "fr"), ("de",), None, True),
        (("en",), ("de", "fr"), None, False),
    ],
)
def test_a_translator_of_one_direction_serves_a_run_that_needs_no_other(
    sources: tuple[str, ...], targets: tuple[str, ...], meeting: MeetingSettings | None, fits: bool, home: Path
) -> None:
    """What is in the language of the captions already is shown as heard."""
    settings = Settings(None, sources=sources, targets=targets, meeting=meeting)
    if fits:
        assert choose_models(settings).language_model.model.name == "livetrans-en-de.q8_0.gguf"
    else:
        with pytest.raises(ModelError, match="no installed translator covers both en to de and"):
            choose_models(settings)


def test_a_model_is_found_by_name_and_by_path_whatever_its_name(home: Path) -> None:
    path = write(find.pull_folder() / "big.q4.gguf", b"GGUF")
    for wanted in ("big.q4.gguf", "big.q4", "big", "Big.Q4"):
        assert translator(name=wanted) == path
    assert translator(name=str(path.rename(home / "blob"))) == home / "blob"


def test_what_is_not_a_model_is_reported_as_such(home: Path) -> None:
    write(find.pull_folder() / "known.gguf", b"GGUF")
    fake = str(write(home / "fake.gguf", b"not a model"))
    with pytest.raises(ModelError, match=r"no translator 'absent'; found: known\.gguf"):
        translator(name="absent")
    with pytest.raises(ModelError, match=r"no translator 'hy-mt2-7b'; .*`livetrans models pull hy-mt2-7b`"):
        translator(name="hy-mt2-7b")
    for kind in (TRANSLATOR, DRAFT_MODEL, DOUBLE_MODEL):
        with pytest.raises(ModelError, match=rf"is not a {kind}: it is not a GGUF file.*give"):
            find_model(kind, fake)
        with pytest.raises(ModelError, match=r"there is no file 'absent\.gguf'.*give the path of a GGUF file"):
            find_model(kind, "absent.gguf")
    with pytest.raises(ModelError, match=r"no model\.bin"):
        find_model(RECOGNISER, str(home))


def test_the_engine_decides_between_models_of_two_formats(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(find.pull_folder() / "faster-whisper-small/model.bin").parent
    file = write(find.pull_folder() / "ggml-small.bin", b"lmgg")
    write(find.pull_folder() / "other.bin", b"no model")
    assert {model.name: model.engine for model in find.find_models(RECOGNISER) if not model.embedded} == {
        "faster-whisper-small": "faster-whisper",
        "ggml-small.bin": "whisper.cpp",
    }
    for engine, has_gpu, expected in (
        ("auto", False, folder),
        ("auto", True, file),
        ("whisper.cpp", False, file),
        ("faster-whisper", True, folder),
    ):
        monkeypatch.setattr(chosen, "has_gpu_engine", lambda has_gpu=has_gpu: has_gpu)
        assert recogniser(engine=engine) == expected
    file.unlink()
    assert recogniser() == folder
    with pytest.raises(ModelError, match=r"recogniser of whisper\.cpp understands en; .* --engine whisper\.cpp`"):
        recogniser(engine="whisper.cpp")
    with pytest.raises(UsageError, match=r"is a model of faster-whisper; drop --engine"):
        recogniser(name="faster-whisper-small", engine="whisper.cpp")


@pytest.mark.parametrize("encoder", ["encoder-model.int8.onnx", "encoder.onnx"])
def test_a_transducer_is_taken_where_languages_are_named(
    home: Path, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chosen, "has_gpu_engine", lambda: False)
    folder = write(find.pull_folder() / "parakeet" / encoder).parent
    write(find.pull_folder() / "page" / "model.onnx")
    [found] = [model for model in find.find_models(RECOGNISER) if not model.embedded]
    assert (found.path, found.engine) == (folder, "onnx")
    assert recogniser() == recogniser(engine="onnx") == recogniser("de", name="parakeet") == folder
    assert recogniser("auto") != folder  # it does not detect them
    for choose, mistake in (
        (partial(recogniser, "auto", engine="onnx"), "--from auto"),
        (partial(recogniser, "auto", name=str(folder)), "--from auto"),
        (partial(between, "parakeet"), "--between"),
    ):
        with pytest.raises(UsageError, match=f"does not tell languages apart, as {mistake} needs; name the spoken"):
            choose()
    whisper = write(find.pull_folder() / "a/model.bin").parent
    assert recogniser() == whisper and recogniser(engine="onnx") == folder
    shutil.rmtree(folder)
    with pytest.raises(ModelError, match=r"no installed recogniser of onnx understands en; .* --engine onnx`"):
        recogniser(engine="onnx")
    known = write(find.pull_folder() / "parakeet-tdt-0.6b-v3-ultra-onnx" / encoder).parent
    assert recogniser() == recogniser("de") == known, "what keeps up on a processor comes first"
    assert recogniser("ja") == recogniser("auto") == whisper
    for gpu in ("has_nvidia", "has_gpu_engine"):
        with monkeypatch.context() as patched:
            patched.setattr(chosen, gpu, lambda: True)
            assert recogniser() == whisper


def between(asr: str) -> Settings:
    translator = LanguageModelSettings(write(find.pull_folder() / "any.gguf", gguf("llama")))
    pair = ("en", "de")
    return choose_models(
        Settings(RecogniserSettings(Path(asr)), translator, None, pair, pair, between=BetweenSettings(pair))
    )


@pytest.mark.parametrize(
    ("system", "machine", "library", "expected"),
    [("Darwin", "arm64", "", True), ("Linux", "x86_64", "", False), ("Linux", "x86_64", "libggml-vulkan.so", True)],
)
def test_a_gpu_build_is_known_by_the_machine_or_its_libraries(
    system: str, machine: str, library: str, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chosen, "platform", SimpleNamespace(system=lambda: system, machine=lambda: machine))
    for name in ("libggml-cpu.so", *([library] if library else [])):
        write(tmp_path / name)
    monkeypatch.setattr(chosen, "find_spec", lambda name: SimpleNamespace(origin=str(tmp_path / "_pywhispercpp.so")))
    assert has_gpu_engine() == expected
    monkeypatch.setattr(chosen, "find_spec", lambda name: None)
    assert not has_gpu_engine()


def test_a_double_token_model_is_taken_only_where_it_is_named(home: Path) -> None:
    path = write(find.pull_folder() / "double/other-double.gguf", b"GGUF")
    assert translator() != path and path not in [model.path for model in find.find_models()]
    assert translator(name="other-double") == path == find_model(DOUBLE_MODEL, "other-double").path


def test_without_a_catalogue_nothing_is_offered(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="small has no recogniser"):
        read_catalogue(tmp_path / "absent.toml").pair("small", chosen.languages_of(Settings()))


RECOGNISER_FILES = {"model.bin": b"1", "config.json": b"{}", "tokenizer.json": b"{}", "vocabulary.txt": b"a"}


@pytest.fixture
def fetched(home: Path) -> dict[str, Path]:
    """A home in which both programs have fetched models; the paths that should be found, by name."""
    hub = home / ".cache/huggingface/hub"
    llama = user_cache_path("llama.cpp", appauthor=False)
    found = {
        "ggml-base.bin": hub_repository(hub, "ggerganov/whisper.cpp", {"ggml-base.bin": b"lmgg"}) / "ggml-base.bin",
        "Systran/faster-whisper-small": hub_repository(hub, "Systran/faster-whisper-small", RECOGNISER_FILES),
        "deep.gguf": hub_repository(hub, "owner/deep", {"Q4/deep.gguf": gguf("llama")}) / "Q4/deep.gguf",
        "renamed.gguf": hub_repository(hub, "owner/copy", {"renamed.gguf": gguf("hunyuan-dense")}, HY_MT2)
        / "renamed.gguf",
        "owner_old_layout.gguf": write(llama / "owner_old_layout.gguf", gguf("gemma3")),
        "new-layout.gguf": hub_repository(llama, "owner/new", {"new-layout.gguf": gguf("qwen3")}) / "new-layout.gguf",
    }
    # What is there and is not to be listed: other kinds, half files, and a folder without weights.
    others = {"mmproj": gguf("clip"), "lora": gguf("llama", general_type="adapter"), "embed": gguf("nomic-bert")}
    others |= {"hybrid": gguf("lfm2"), "half": gguf("llama")[:12], "page": b"<!doctype html>"}
    hub_repository(hub, "owner/others", {f"{name}.gguf": data for name, data in others.items()})
    hub_repository(hub, "openai/whisper-small", {"config.json": b"{}", "model.safetensors": b"1"})
    write(hub / "models--owner--broken/refs/main", b"lost")
    return found


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def test_the_models_of_both_programs_are_found_and_left_as_they_are(
    fetched: dict[str, Path], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(home)
    found = {model.name: model for model in find.find_models() if model.elsewhere}
    assert {name: model.path for name, model in found.items()} == fetched
    assert {model.place for model in found.values()} == {"Hugging Face cache", "llama.cpp cache"}
    assert run(["models"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in fetched)
    assert contents(home) == before


def test_a_model_of_the_catalogue_is_used_from_where_it_is(
    fetched: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """By default those that are known to translate, by their hash whatever their name is; others by name."""
    assert recogniser() == fetched["Systran/faster-whisper-small"]
    assert translator() == fetched["renamed.gguf"] and find_model(TRANSLATOR).prompt == "hymt"
    assert translator(name="deep") == fetched["deep.gguf"]
    assert run(["models", "pull", "small"]) == 0
    assert capsys.readouterr().err.count("is here already") == 2
    assert run(["models", "rm", "deep.gguf"]) == 2
    assert fetched["deep.gguf"].exists()


def test_the_variables_of_the_programs_hold(home: Path, tmp_path: Path) -> None:
    """In a process of its own: the hub's library reads them when it is imported."""
    variables = {name: str(tmp_path / name) for name in ("HF_HUB_CACHE", "LLAMA_CACHE")}
    paths = [
        hub_repository(Path(folder), "owner/name", {f"{name}.gguf": gguf("llama")}) / f"{name}.gguf"
        for name, folder in variables.items()
    ]
    command = "from livetrans.models.find import find_models; print(*(m.path for m in find_models() if m.elsewhere))"
    environment = {**os.environ, **variables}
    done = subprocess.run([sys.executable, "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(path) for path in paths]


def test_a_model_with_a_recurrent_state_is_refused_by_name_and_never_a_default(home: Path) -> None:
    path = write(find.pull_folder() / "Qwen3.5-4B-Q4_K_M.gguf", gguf("qwen35"))
    assert find_model(TRANSLATOR).embedded
    for name in (path.stem, str(path)):
        with pytest.raises(ModelError, match=r"cannot be rewound, as Qwen3\.5"):
            find_model(TRANSLATOR, name)


@pytest.mark.parametrize("name", ["Hy-MT2-1.8B-Q4_K_M.gguf", "another.gguf"])
def test_the_catalogue_says_the_prompt_of_its_models_by_name_or_hash(home: Path, name: str) -> None:
    """Not a name within the file, which may be any."""
    path = write(find.pull_folder() / name, gguf("hunyuan-dense", general_name="Anything"))
    if name == "another.gguf":
        assert find_model(TRANSLATOR, name).prompt is None
        receipt = Receipt("a", "owner/a", "0" * 40, "2026-11-22T00:00:00+00:00", {name: HY_MT2})
        receipt_path(path).write_text(json.dumps(encode(receipt)))
    found = find_model(TRANSLATOR, name)
    assert (found.prompt, found.family) == ("hymt", "hymt")
    settings = Settings(None, LanguageModelSettings(Path(name)))
    assert choose_models(settings).language_model.prompt == "hymt"
    named = replace(settings, language_model=LanguageModelSettings(Path(name), prompt="chat"))
    assert choose_models(named).language_model.prompt == "chat"


@given(
    st.sampled_from((b"", b"GGUF", gguf("llama", general_name="x" * 50))), st.integers(0, 200), st.binary(max_size=200)
)
def test_any_bytes_are_read_without_an_error(
    tmp_path_factory: pytest.TempPathFactory, beginning: bytes, cut: int, data: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.gguf"
    path.write_bytes(beginning[:cut] + data)
    is_translator(path)
