"""A damaged model file gives a sentence, whatever llama.cpp does with it; a good one is tried once."""

from __future__ import annotations

import ctypes
import os
import platform
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gguf
import llama_cpp
import pytest

from livetrans.base.errors import ModelError
from livetrans.lm.llama import checks
from livetrans.lm.llama.checks import check_engine, check_model


@pytest.fixture(autouse=True)
def cache_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "cache" / "checked-models.json"
    monkeypatch.setattr(checks, "_cache_file", lambda: file)
    return file


def test_a_good_file_is_tried_once_until_it_changes(
    translator_path: Path, tmp_path: Path, cache_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[str] = []

    def start(module: str, path: str, **pipes: int) -> subprocess.Popen[bytes]:
        tries.append(path)
        return subprocess.Popen(["true"], **pipes)

    monkeypatch.setattr(checks, "start_python", start)
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(translator_path.read_bytes())
    check_model(copy)
    check_model(copy)
    assert tries == [str(copy)]
    os.utime(copy, (1, 1))
    check_model(copy)
    assert len(tries) == 2
    cache_file.write_text("\x00 [")
    check_model(copy)
    assert len(tries) == 3
    assert [path.name for path in cache_file.parent.iterdir()] == [cache_file.name]


def test_a_path_that_is_not_utf8_is_no_damage(translator_path: Path, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"mod\xe8le.gguf")
    try:
        path.symlink_to(translator_path)
    except OSError:
        pytest.skip("the file system takes names in UTF-8 only")
    check_model(path)


def test_an_abort_in_the_teardown_of_a_process_changes_nothing(
    translator_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ggml's Metal backend aborts where a model is open: neither is a good file damaged, nor has a run crashed."""
    abort = "import atexit, os\natexit.register(os.abort)\n"
    (tmp_path / "sitecustomize.py").write_text(abort)
    monkeypatch.syspath_prepend(tmp_path)
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(translator_path.read_bytes())
    check_model(copy)
    run = f"{abort}import llama_cpp\nfrom livetrans.cli import main\nmain(['--version'])"
    assert subprocess.run([sys.executable, "-c", run], capture_output=True, check=False).returncode == 0


ILLEGAL = {"x86_64": b"\x0f\x0b", "aarch64": bytes(4)}
"""An instruction that no processor has."""
LIBRARIES = Path(llama_cpp.__file__).parent / "lib"


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in ILLEGAL, reason="a changed library has to be signed on a Mac"
)
def test_a_library_for_another_processor_is_a_sentence_and_no_damage(
    translator_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(LIBRARIES, tmp_path / "lib")
    engine = ctypes.CDLL(str(LIBRARIES / "libggml-cpu.so"))
    code = ctypes.string_at(ctypes.cast(engine.ggml_backend_cpu_reg, ctypes.c_void_p).value, 64)
    illegal = ILLEGAL[platform.machine()]
    for library in tmp_path.glob("lib/libggml-cpu.so*"):
        data = library.read_bytes()
        assert data.count(code) == 1
        library.write_bytes(data.replace(code, illegal + code[len(illegal) :]))
    monkeypatch.setenv("LLAMA_CPP_LIB_PATH", str(tmp_path / "lib"))
    for check in (check_engine, lambda: check_model(translator_path)):
        with pytest.raises(ModelError, match=r"newer processor.* -m pip install .*--no-binary llama-cpp-python"):
            check()


def test_a_library_that_does_not_load_is_a_sentence(tmp_path: Path) -> None:
    run = "from livetrans.doctor.checks import check_translation\nprint(check_translation())"
    environment = os.environ | {"LLAMA_CPP_LIB_PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", run], env=environment, capture_output=True, text=True, check=True)
    assert "state='broken'" in done.stdout and "llama-cpp-python does not load here" in done.stdout


def boundaries(path: Path) -> list[int]:
    """Where each part of the header and each tensor's data begins."""
    reader = gguf.GGUFReader(path)
    fields = [offset for field in reader.fields.values() for offset in (field.offset, field.offset + 8)]
    tensors = [part for tensor in reader.tensors for part in (tensor.field.offset, tensor.data_offset)]
    return sorted({0, 3, 4, 8, 16, 24, *fields, *tensors})


def damaged(path: Path) -> Iterator[bytes]:
    """The file truncated at every boundary, and with bytes of the header that make llama.cpp fail in different ways."""
    whole = path.read_bytes()
    yield from (whole[:end] for end in boundaries(path))
    fields = gguf.GGUFReader(path).fields
    for name in ("tokenizer.ggml.tokens", "tokenizer.ggml.scores", "tokenizer.ggml.token_type", "general.architecture"):
        begin = fields[name].offset
        for offset in (0, 8, 8 + len(name), 12 + len(name), 16 + len(name)):
            yield whole[: begin + offset] + b"\xff\xff\xff\x7f" + whole[begin + offset + 4 :]


def answer(path: Path) -> str:
    """What is said of the file; no text where it loads."""
    try:
        check_model(path)
    except ModelError as fault:
        return str(fault)
    return ""


def test_llama_cpp_ending_the_process_is_a_sentence(
    translator_path: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Here it aborts, because the number of token types is not the number of tokens."""
    whole = translator_path.read_bytes()
    field = gguf.GGUFReader(translator_path).fields["tokenizer.ggml.token_type"]
    count = field.offset + 8 + len("tokenizer.ggml.token_type") + 8
    path = tmp_path / "bad.gguf"
    path.write_bytes(whole[:count] + (1).to_bytes(8, "little") + whole[count + 8 :])
    assert str(path) in answer(path)
    assert capfd.readouterr() == ("", "")


@pytest.mark.long
def test_a_file_cut_anywhere_or_changed_in_its_header_is_a_sentence(
    translator_path: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.gguf"
    files = list(damaged(translator_path))
    for data in random.Random(0).sample(files, 40):
        path.write_bytes(data)
        text = answer(path)
        assert str(path) in text or (not text and len(data) == translator_path.stat().st_size)
        assert "\n" not in text
    assert capfd.readouterr() == ("", "")
