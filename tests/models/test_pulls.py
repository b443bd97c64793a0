"""Pulls from a hub on this machine: whole, cut, refused, and two at once."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import constants

from livetrans.base.errors import LivetransError, ModelError, UsageError
from livetrans.cli import run
from livetrans.models.catalogue import Entry, entry_of
from livetrans.models.chosen import find_model
from livetrans.models.hub import _client
from livetrans.models.pulls import completed, pull, read_receipt, unfinished_pulls, verify
from tests.models.hub import COMMIT, Hub

GGUF = b"GGUF" + bytes(range(256)) * 400
RECOGNISER = {
    "README.md": b"card",
    "config.json": b"{}",
    "model.bin": bytes(range(255)) * 300,
    "tokenizer.json": b'{"model": 1}',
    "vocabulary.txt": b"a\nb\n",
}
Fault = Callable[[Hub, pytest.MonkeyPatch], None]
TRANSLATOR = entry_of("owner/small:Small-Q4.gguf")


@pytest.fixture(autouse=True)
def repositories(hub: Hub) -> None:
    hub.files = {"owner/small": {"Small-Q4.gguf": GGUF, "Other.gguf": b"GGUF"}, "owner/whisper": RECOGNISER}


@pytest.fixture
def folder(home: Path) -> Path:
    return home / "data/livetrans/models"


def fetch(entry: Entry, folder: Path, steps: list[tuple[int, int]] | None = None) -> Path:
    return pull(entry, folder, lambda *step: None if steps is None else steps.append(step))


def ranges(hub: Hub) -> list[str | None]:
    """The ranges of bytes that were requested."""
    return [wanted for path, wanted in hub.requests if "/bytes/" in path]


def test_a_translator_arrives_byte_for_byte_with_its_receipt(folder: Path) -> None:
    steps: list[tuple[int, int]] = []
    path = fetch(TRANSLATOR, folder, steps)
    assert path == folder / "Small-Q4.gguf" and path.read_bytes() == GGUF
    receipt = read_receipt(path)
    assert receipt is not None and (receipt.repository, receipt.commit) == ("owner/small", COMMIT)
    assert receipt.files["Small-Q4.gguf"] == hashlib.sha256(GGUF).hexdigest()
    assert steps[0] == (0, len(GGUF)) and steps[-1] == (len(GGUF), len(GGUF)) and steps == sorted(steps)
    assert verify(path) == []


def test_a_recogniser_arrives_without_what_it_does_not_need_and_nothing_is_written_elsewhere(
    hub: Hub, folder: Path
) -> None:
    hub.files["owner/whisper"] = RECOGNISER | {"vocabulary.x/../../../../evil": b"evil", "../config.json": b"evil"}
    path = fetch(entry_of("owner/whisper"), folder)
    arrived = {file.name: file.read_bytes() for file in path.iterdir()}
    assert arrived == {name: data for name, data in RECOGNISER.items() if name != "README.md"}
    others = {file.name for file in folder.parent.rglob("*") if file.is_file() and file.parent != path}
    assert others <= {"whisper.pull.json", "whisper.lock"}


def test_a_recogniser_of_one_file_arrives_alone(hub: Hub, folder: Path) -> None:
    hub.files["owner/whisper"] = {"ggml-small.bin": b"lmgg1", "ggml-base.bin": b"lmgg2", "config.json": b"{}"}
    entry = entry_of("owner/whisper:ggml-small.bin")
    path = fetch(entry, folder)
    assert (path, path.read_bytes()) == (folder / "ggml-small.bin", b"lmgg1")
    receipt = read_receipt(path)
    assert receipt is not None and list(receipt.files) == ["ggml-small.bin"] and verify(path) == []
    found = find_model("recogniser", "ggml-small")
    assert (found.path, found.engine, found.receipt) == (path, "whisper.cpp", receipt)
    with pytest.raises(UsageError, match=r"it has ggml-small\.bin, ggml-base\.bin"):
        fetch(entry_of("owner/whisper:ggml-none.bin"), folder)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("owner/parakeet", {"encoder-model.int8.onnx", "decoder_joint-model.int8.onnx"}),
        ("owner/parakeet:encoder-model.int8.onnx", {"encoder-model.int8.onnx", "decoder_joint-model.int8.onnx"}),
        (
            "owner/parakeet:encoder-model.onnx",
            {"encoder-model.onnx", "encoder-model.onnx.data", "decoder_joint-model.onnx"},
        ),
        ("owner/parakeet:encoder-model.nb8.onnx", {"encoder-model.nb8.onnx", "decoder_joint-model.onnx"}),
    ],
)
def test_of_a_transducer_one_quantisation_arrives(hub: Hub, folder: Path, name: str, wanted: set[str]) -> None:
    encoders = ("encoder-model.onnx", "encoder-model.onnx.data", "encoder-model.int8.onnx", "encoder-model.nb8.onnx")
    files = {*encoders, "decoder_joint-model.onnx", "decoder_joint-model.int8.onnx", "vocab.txt", "config.json"}
    hub.files["owner/parakeet"] = {file: file.encode() * 20 for file in sorted({*files, "nemo128.onnx", "README.md"})}
    path = fetch(entry_of(name), folder)
    assert (path.name, {file.name for file in path.iterdir()}) == ("parakeet", wanted | {"vocab.txt", "config.json"})
    found = find_model("recogniser", "parakeet")
    assert (found.path, found.engine, verify(path)) == (path, "onnx", [])
    [encoder] = path.glob("encoder*.onnx")
    assert found.receipt and found.receipt.sha256 == hashlib.sha256(encoder.read_bytes()).hexdigest()


def test_a_pull_that_was_cut_for_good_goes_on_where_it_was_cut_or_is_removed(
    hub: Hub, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for again in (False, True):
        hub.left = 50_000
        with pytest.raises(ModelError, match=r"failed .*run the same command again: it continues after the 0\.1 MB"):
            fetch(TRANSLATOR, folder)
        assert unfinished_pulls(folder) == {"Small-Q4.gguf": 50_000}
        if not again:
            assert run(["models"]) == 0 and "unfinished" in capsys.readouterr().out
            assert run(["models", "rm", "owner/small:Small-Q4.gguf"]) == 0 and unfinished_pulls(folder) == {}
            assert "of Small-Q4.gguf that had arrived" in capsys.readouterr().err
    assert not (folder / "Small-Q4.gguf").exists()
    hub.left = 1 << 40
    hub.requests.clear()
    assert fetch(TRANSLATOR, folder).read_bytes() == GGUF
    assert ranges(hub) == ["bytes=50000-"]


def test_a_line_that_is_cut_again_and_again_gets_on_as_long_as_bytes_arrive(hub: Hub, folder: Path) -> None:
    hub.cuts, hub.cut_after = 100, 6000
    steps: list[tuple[int, int]] = []
    assert fetch(TRANSLATOR, folder, steps).read_bytes() == GGUF
    first, *others = ranges(hub)
    assert first is None and all(others) and len(others) >= len(GGUF) // 6000
    assert steps == sorted(steps) and max(after - before for (before, _), (after, _) in pairwise(steps)) <= 6000


@pytest.mark.parametrize(
    "failures",
    [{"/bytes/": [403]}, {"/bytes/": [500, 503, 502], "/resolve/": [504]}, {"/api/": [500, 503]}],
    ids=["an expired address", "busy storage", "a busy hub"],
)
def test_what_may_pass_is_tried_again(hub: Hub, folder: Path, failures: dict[str, list[int]]) -> None:
    """An address that has expired is asked for at the hub again."""
    hub.failures = failures
    assert fetch(TRANSLATOR, folder).read_bytes() == GGUF
    assert not any(failures.values())
    if "/bytes/" in failures:
        assert sum("/resolve/" in path for path, _ in hub.requests) > 1


@pytest.mark.parametrize("status", [403, 503])
def test_a_file_server_that_goes_on_refusing_is_given_up(hub: Hub, folder: Path, status: int) -> None:
    hub.failures = {"/bytes/": [status] * 100}
    with pytest.raises(ModelError, match=rf"localhost answered with an error \({status}\) .*again later"):
        fetch(TRANSLATOR, folder)
    assert len(hub.failures["/bytes/"]) > 90


@pytest.mark.parametrize("kept", [0, 50_000])
@pytest.mark.parametrize(
    ("body", "sentence"),
    [(GGUF + b"more", None), (GGUF[:-1] + b"?more", "published hash"), (GGUF[:60_000], "is shorter")],
    ids=["longer", "longer and another", "shorter"],
)
def test_a_body_of_another_length_than_listed_never_passes_the_hash(
    hub: Hub, folder: Path, body: bytes, sentence: str | None, kept: int
) -> None:
    if kept:
        hub.left = kept
        with pytest.raises(ModelError):
            fetch(TRANSLATOR, folder)
    hub.left, hub.bodies = 1 << 40, {"Small-Q4.gguf": body}
    steps: list[tuple[int, int]] = []
    if sentence:
        with pytest.raises(ModelError, match=sentence):
            fetch(TRANSLATOR, folder, steps)
    else:
        assert fetch(TRANSLATOR, folder, steps).read_bytes() == GGUF
    assert all(done <= total for done, total in steps)


def test_a_server_that_ignores_ranges_sends_all_again(hub: Hub, folder: Path) -> None:
    hub.cuts, hub.ignores_ranges = 2, True
    steps: list[tuple[int, int]] = []
    assert fetch(TRANSLATOR, folder, steps).read_bytes() == GGUF
    assert all(done <= total for done, total in steps)


def test_a_new_commit_is_fetched_from_the_beginning(hub: Hub, folder: Path) -> None:
    for left, commit in ((50_000, COMMIT), (20_000, "f" * 40)):
        hub.left, hub.commit = left, commit
        with pytest.raises(ModelError):
            fetch(TRANSLATOR, folder)
        assert unfinished_pulls(folder) == {"Small-Q4.gguf": left}
    hub.left = 1 << 40
    hub.files["owner/small"]["Small-Q4.gguf"] = GGUF[:20_000] + GGUF[20_000:][::-1]
    assert fetch(TRANSLATOR, folder).read_bytes() == hub.files["owner/small"]["Small-Q4.gguf"]


@pytest.mark.parametrize("published", ["sha256", "git", "catalogue"])
def test_bytes_with_another_hash_are_refused_and_deleted(hub: Hub, folder: Path, published: str) -> None:
    """For a small file the hub publishes git's hash."""
    entry = entry_of("owner/small:Other.gguf") if published == "git" else TRANSLATOR
    hub.wrong_hash = published == "sha256"
    if published == "git":
        info = hub.info
        hub.info = lambda name: json.loads(json.dumps(info(name)).replace('"blobId": "', '"blobId": "0'))  # type: ignore[method-assign]
    if published == "catalogue":
        entry = replace(entry, sha256="0" * 64)
    with pytest.raises(ModelError, match="published hash"):
        fetch(entry, folder)
    assert not any(path.is_file() for path in folder.rglob("*.gguf"))


def answer(status: int, **headers: str) -> Fault:
    return lambda hub, patch: setattr(hub, "refusal", (status, {k.replace("_", "-"): v for k, v in headers.items()}))


def endpoint(address: str) -> Fault:
    return lambda hub, patch: patch.setattr(constants, "ENDPOINT", address)


def imported_with(variable: str, value: str) -> Fault:
    """The library reads its variables when it is imported."""

    def fault(hub: Hub, patch: pytest.MonkeyPatch) -> None:
        patch.setenv(variable, value)
        patch.delitem(sys.modules, "huggingface_hub.constants")
        patch.delattr(huggingface_hub, "constants")

    return fault


def proxy(address: str) -> Fault:
    def fault(hub: Hub, patch: pytest.MonkeyPatch) -> None:
        patch.setenv("ALL_PROXY", address)
        patch.setattr("livetrans.models.hub._client", _client.__wrapped__)

    return fault


def full(hub: Hub, patch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    patch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9, 1000))


def answers(**changes: object) -> Fault:
    """The hub's page of a repository with other values."""

    def fault(hub: Hub, patch: pytest.MonkeyPatch) -> None:
        info = hub.info
        hub.info = lambda name: info(name) | changes  # type: ignore[method-assign]

    return fault


NO_HUB = "did not answer as a model hub does"


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        *((answer(status), rf"http://127\S+/owner/small cannot be read \({status}\)") for status in (401, 403, 404)),
        (answer(429, Retry_After="42"), r"error \(429\) .* set HF_TOKEN"),
        (answer(503), r"127\.0\.0\.1 answered with an error \(503\) for owner/small; .*later"),
        (answer(200, Content_Type="text/html"), NO_HUB),
        (endpoint("http://127.0.0.1:9"), "connection to .* failed"),
        (endpoint("http://hub.invalid"), "not an encrypted address"),
        (imported_with("HF_ENDPOINT", "https://[::1"), "HF_ENDPOINT.* is malformed"),
        (lambda hub, patch: setattr(hub, "storage", "http://storage.invalid"), "not an encrypted address"),
        (proxy("socks5://127.0.0.1:9"), "ALL_PROXY.* socksio"),
        (lambda hub, patch: patch.setattr(constants, "HF_HUB_OFFLINE", True), "HF_HUB_OFFLINE"),
        (full, r"needs 0\.2 GB on the disk"),
        # A commit becomes the name of a folder.
        *((answers(sha=commit), NO_HUB) for commit in ("../../evil", None)),
        (answers(siblings=[{"rfilename": "Small-Q4.gguf", "size": "x"}]), NO_HUB),
    ],
)
def test_a_refusal_says_what_to_do(
    hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault, sentence: str
) -> None:
    fault(hub, monkeypatch)
    with pytest.raises(LivetransError, match=sentence):
        fetch(TRANSLATOR, folder)
    assert ranges(hub) == []


def test_another_commit_than_the_pinned_one_is_refused(folder: Path) -> None:
    with pytest.raises(ModelError, match=f"commit {COMMIT} in place of aaaaaaaa"):
        fetch(replace(TRANSLATOR, revision="a" * 40), folder)
    assert fetch(replace(TRANSLATOR, revision=COMMIT), folder).read_bytes() == GGUF


def test_the_token_stays_with_the_hub(hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    fetch(TRANSLATOR, folder)
    assert [path.split("/")[3] for path in hub.authorised] == ["owner", "resolve"] and ranges(hub)


def test_a_disk_that_fills_up_keeps_what_arrived(hub: Hub, folder: Path) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        with pytest.raises(ModelError, match=r"is full; free some space, and run the same command again"):
            fetch(TRANSLATOR, folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert unfinished_pulls(folder) == {"Small-Q4.gguf": 50_000}
    assert fetch(TRANSLATOR, folder).read_bytes() == GGUF


def test_the_second_of_two_pulls_is_refused_and_leaves_the_first_alone(hub: Hub, folder: Path) -> None:
    def second() -> None:
        with pytest.raises(ModelError, match="another livetrans is fetching"):
            fetch(TRANSLATOR, folder)

    hub.while_serving = second
    assert fetch(TRANSLATOR, folder).read_bytes() == GGUF
    assert len(ranges(hub)) == 1


def test_what_has_the_name_already_is_never_overwritten(
    hub: Hub, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.files["other/small"] = {"Small-Q4.gguf": GGUF[::-1]}
    path = fetch(TRANSLATOR, folder)
    assert run(["models", "pull", "other/small:Small-Q4.gguf", "--yes"]) == 2
    assert "came from owner/small; move it away" in capsys.readouterr().err
    assert path.read_bytes() == GGUF
    (folder / "whisper").mkdir()
    assert run(["models", "pull", "owner/whisper", "--yes"]) == 2
    assert "came not from a pull; move it away" in capsys.readouterr().err


def test_damage_is_found_and_removed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = fetch(TRANSLATOR, folder)
    assert run(["models", "verify"]) == 0
    assert capsys.readouterr().out == "Small-Q4.gguf: whole\n"
    path.write_bytes(GGUF[:-1] + b"?")
    assert run(["models", "verify", "Small-Q4"]) == 1
    assert "remove it and pull it again" in capsys.readouterr().out
    assert run(["models", "rm", "Small-Q4.gguf"]) == 0
    assert [path for path in folder.iterdir() if path.name != ".unfinished"] == []
    assert run(["models", "path", "Small-Q4.gguf"]) == 2


def test_a_damaged_receipt_stops_nothing_but_its_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fetch(entry_of("owner/whisper"), folder)
    fetch(TRANSLATOR, folder)
    (folder / "whisper.pull.json").write_text("{}")
    embedded = Path(__file__).parents[2] / "models/livetrans-recogniser-en"
    assert find_model("recogniser", embedded).path == embedded and run(["models"]) == 0
    capsys.readouterr()
    assert run(["models", "verify"]) == 1
    assert "whisper: whisper.pull.json cannot be read; remove it and pull it again\n" in capsys.readouterr().out
    assert run(["models", "pull", "owner/whisper", "--yes"]) == 1
    assert "remove the model and pull it again" in capsys.readouterr().err
    assert run(["models", "rm", "whisper"]) == 0
    assert sorted(file.name for file in folder.iterdir()) == [".unfinished", "Small-Q4.gguf", "Small-Q4.gguf.pull.json"]


def test_a_model_that_was_pulled_by_its_quantisation_is_known_by_it(
    hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "pull", "hf.co/owner/small:q4", "--yes"]) == 0
    assert (folder / "Small-Q4.gguf").read_bytes() == GGUF
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    hub.requests.clear()
    for name in ("owner/small:Q4", "owner/small:Small-Q4.gguf"):
        assert run(["models", "pull", name]) == 0
        assert "is here already" in capsys.readouterr().err
        assert run(["models", "verify", name]) == 0
    assert hub.requests == []
    assert run(["models", "rm", "https://huggingface.co/owner/small:q4"]) == 0
    assert not (folder / "Small-Q4.gguf").exists()


@pytest.mark.parametrize(
    ("named", "file"),
    [
        ("many:q8_0", "A-Q8_0.gguf"),
        ("many:UD-Q8_0", "A-UD-Q8_0.gguf"),
        ("many:Q6_K", None),
        ("many:F16", None),
        ("many", None),
    ],
)
def test_a_quantisation_stands_for_one_file_else_the_files_are_named(hub: Hub, named: str, file: str | None) -> None:
    names = ("A-UD-Q8_0.gguf", "A-Q8_0.gguf", "A-Q6_K.gguf", "B-Q6_K.gguf", "mmproj-F16.gguf")
    hub.files["owner/many"] = dict.fromkeys(names, b"GGUF")
    if file:
        assert completed(entry_of(f"owner/{named}")).file == file
    else:
        with pytest.raises(UsageError, match=r"owner/many:FILE; it has A-UD-Q8_0\.gguf, A-Q8_0"):
            completed(entry_of(f"owner/{named}"))
