"""Pulls from a hub on this machine: whole, cut, refused, and two at once."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from huggingface_hub import constants

from livetrans.cli import run
from livetrans.errors import LivetransError, ModelError
from livetrans.models.catalogue import Entry, entry_of
from livetrans.models.find import find_recogniser
from livetrans.models.pulls import Receipt, pull, read_receipt, unfinished_pulls, verify
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
    def progress(done: int, total: int) -> None:
        if steps is not None:
            steps.append((done, total))

    return pull(entry, folder, progress, lambda: None)


def test_a_translator_arrives_byte_for_byte_with_its_receipt(hub: Hub, folder: Path) -> None:
    steps: list[tuple[int, int]] = []
    path = fetch(TRANSLATOR, folder, steps)
    assert path == folder / "Small-Q4.gguf" and path.read_bytes() == GGUF
    receipt = read_receipt(path)
    assert receipt is not None and (receipt.repository, receipt.commit) == ("owner/small", COMMIT)
    assert receipt.files["Small-Q4.gguf"].sha256 == hashlib.sha256(GGUF).hexdigest()
    assert steps[0] == (0, len(GGUF)) and steps[-1] == (len(GGUF), len(GGUF))
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert verify(path, receipt) == []


def test_a_recogniser_arrives_without_what_it_does_not_need(folder: Path) -> None:
    path = fetch(entry_of("owner/whisper"), folder)
    arrived = {file.name: file.read_bytes() for file in path.iterdir()}
    assert arrived == {name: data for name, data in RECOGNISER.items() if name != "README.md"}
    assert not (folder / ".unfinished" / "whisper").exists()


def test_a_pull_that_was_cut_for_good_goes_on_where_it_was_cut_or_is_removed(
    hub: Hub, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for again in (False, True):
        hub.left = 50_000
        with pytest.raises(ModelError, match=r"cut; run the same command again: it goes on after the \d"):
            fetch(TRANSLATOR, folder)
        assert list(unfinished_pulls(folder)) == ["Small-Q4.gguf"] and run(["models"]) == 0
        assert "unfinished" in capsys.readouterr().out
        if not again:
            assert run(["models", "rm", "owner/small:Small-Q4.gguf"]) == 0 and unfinished_pulls(folder) == {}
            assert "removed what had arrived of Small-Q4.gguf" in capsys.readouterr().err
    [unfinished] = [path for path in folder.rglob("*.gguf") if path.is_file()]
    kept = unfinished.stat().st_size
    assert 0 < kept < len(GGUF) and not (folder / "Small-Q4.gguf").exists()
    hub.left = 1 << 40
    hub.requests.clear()
    assert fetch(TRANSLATOR, folder).read_bytes() == GGUF
    assert [asked for path, asked in hub.requests if "/bytes/" in path] == [f"bytes={kept}-"]


def test_a_line_that_is_cut_again_and_again_gets_on_as_long_as_bytes_arrive(hub: Hub, folder: Path) -> None:
    hub.cuts, hub.cut_after = 100, 6000
    steps: list[tuple[int, int]] = []
    assert fetch(TRANSLATOR, folder, steps).read_bytes() == GGUF
    done, ranges = [done for done, _ in steps], [asked for path, asked in hub.requests if "/bytes/" in path]
    assert ranges[0] is None and all(ranges[1:]) and len(ranges) > len(GGUF) // 6000
    assert done == sorted(done) and max(after - before for before, after in pairwise(done)) <= 6000


@pytest.mark.parametrize(
    "failures",
    [
        {"/bytes/": [403]},
        {"/bytes/": [500, 503, 502], "/resolve/": [504]},
        {"/api/": [500, 503]},
    ],
    ids=["an expired link", "busy storage", "a busy hub"],
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


@pytest.mark.parametrize(("body", "kept"), [(GGUF + b"more", 0), (GGUF[:60_000], 50_000), (GGUF[:40_000], 50_000)])
def test_a_body_of_another_length_than_listed_is_refused(hub: Hub, folder: Path, body: bytes, kept: int) -> None:
    if kept:
        hub.left = kept
        with pytest.raises(ModelError):
            fetch(TRANSLATOR, folder)
    hub.left, hub.bodies = 1 << 40, {"Small-Q4.gguf": body}
    with pytest.raises(ModelError, match=f"has {len(body):,} bytes at localhost, and {len(GGUF):,} are listed"):
        fetch(TRANSLATOR, folder)


def test_bytes_beyond_the_listed_ones_are_not_read_and_too_few_are_noticed(hub: Hub, folder: Path) -> None:
    """From a server that states no lengths."""
    hub.states_lengths, hub.bodies = False, {"Small-Q4.gguf": GGUF[:60_000]}
    with pytest.raises(ModelError, match="has 60,000 bytes"):
        fetch(TRANSLATOR, folder)
    shutil.rmtree(folder / ".unfinished")
    hub.bodies = {"Small-Q4.gguf": GGUF + bytes(1000)}
    steps: list[tuple[int, int]] = []
    assert fetch(TRANSLATOR, folder, steps).read_bytes() == GGUF
    assert all(done <= total for done, total in steps)


def test_a_server_that_ignores_ranges_sends_all_again(hub: Hub, folder: Path) -> None:
    hub.cuts, hub.ignores_ranges = 2, True
    steps: list[tuple[int, int]] = []
    assert fetch(TRANSLATOR, folder, steps).read_bytes() == GGUF
    assert (0, len(GGUF)) in steps[1:] and all(done <= total for done, total in steps)


def test_a_new_commit_is_fetched_from_the_beginning(hub: Hub, folder: Path) -> None:
    hub.left = 50_000
    with pytest.raises(ModelError):
        fetch(TRANSLATOR, folder)
    hub.left, hub.commit = 1 << 40, "f" * 40
    hub.files["owner/small"]["Small-Q4.gguf"] = GGUF[::-1]
    assert fetch(TRANSLATOR, folder).read_bytes() == GGUF[::-1]


@pytest.mark.parametrize("repository", ["owner/small:Small-Q4.gguf", "owner/small:Other.gguf"])
def test_bytes_with_another_hash_are_refused_and_deleted(hub: Hub, folder: Path, repository: str) -> None:
    """The second file is small: the hub publishes git's hash for it."""
    hub.wrong_hash = repository.endswith("Small-Q4.gguf")
    entry = entry_of(repository)
    if not hub.wrong_hash:
        info = hub.info
        hub.info = lambda name: json.loads(json.dumps(info(name)).replace('"blobId": "', '"blobId": "0'))  # type: ignore[method-assign]
    with pytest.raises(ModelError, match="another hash"):
        fetch(entry, folder)
    assert not any(path.is_file() for path in folder.rglob("*.gguf"))


def test_the_catalogue_s_hash_is_checked_too(folder: Path) -> None:
    entry = Entry("small", "translator", "owner/small", "Small-Q4.gguf", sha256="0" * 64)
    with pytest.raises(ModelError, match="another hash"):
        fetch(entry, folder)


def answer(status: int, **headers: str) -> Fault:
    return lambda hub, patch: setattr(hub, "refusal", (status, {k.replace("_", "-"): v for k, v in headers.items()}))


def endpoint(address: str) -> Fault:
    return lambda hub, patch: patch.setattr(constants, "ENDPOINT", address)


def proxy(address: str) -> Fault:
    return lambda hub, patch: patch.setenv("ALL_PROXY", address)


def full(hub: Hub, patch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    patch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9, 1000))


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (answer(404, X_Error_Code="RepoNotFound"), r"there is no http://127\S+/owner/small, or it is private"),
        (answer(404, X_Error_Code="RevisionNotFound"), "does not have the commit"),
        (answer(401), "check HF_TOKEN"),
        (answer(403, X_Error_Code="GatedRepo"), r"accept them at http://127\S+/owner/small"),
        (answer(429, Retry_After="42"), "again in 42 seconds"),
        (answer(429, RateLimit='"api";r=0;t=55'), "again in 55 seconds"),
        (answer(503), r"127\.0\.0\.1 answered with an error \(503\) for owner/small; .*later"),
        (answer(200, Content_Type="text/html"), "did not answer as a model hub does"),
        (endpoint("http://127.0.0.1:9"), "cannot be reached"),
        (endpoint("http://hub.invalid"), "not encrypted"),
        (lambda hub, patch: setattr(hub, "storage", "http://storage.invalid"), "not encrypted"),
        (proxy("socks5://127.0.0.1:9"), "ALL_PROXY .*socksio"),
        (proxy("ftp://127.0.0.1:9"), "ALL_PROXY"),
        (lambda hub, patch: patch.setattr(constants, "HF_HUB_OFFLINE", True), "HF_HUB_OFFLINE"),
        (full, r"needs 0\.2 GB on the disk"),
    ],
)
def test_a_refusal_says_what_to_do(
    hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault, sentence: str
) -> None:
    fault(hub, monkeypatch)
    with pytest.raises(LivetransError, match=sentence):
        fetch(TRANSLATOR, folder)
    assert not any("/bytes/" in path for path, _ in hub.requests)


def test_a_rate_limit_in_the_middle_is_reported_at_once(hub: Hub, folder: Path) -> None:
    def limit() -> None:
        hub.refusal, hub.cuts = (429, {"Retry-After": "300"}), 1

    hub.while_serving = limit
    with pytest.raises(ModelError, match="again in 300 seconds"):
        fetch(TRANSLATOR, folder)


@pytest.mark.parametrize(
    "commit", ["/home/someone/precious", "../../../../evil", "c0ffee", "", None, 7, "C0FFEE" + "0" * 34]
)
def test_a_commit_that_is_no_hash_is_refused(hub: Hub, folder: Path, commit: str) -> None:
    """It would become a path."""
    hub.commit = commit
    with pytest.raises(ModelError, match="did not answer as a model hub does"):
        fetch(TRANSLATOR, folder)
    assert not any(path.is_file() for path in folder.rglob("*.gguf"))


@pytest.mark.parametrize(
    "change",
    [{"siblings": "abc"}, {"siblings": [{"rfilename": "model.bin", "size": "x"}]}, {"siblings": [{"rfilename": 7}]}],
)
def test_a_list_of_files_that_is_none_is_refused(hub: Hub, folder: Path, change: dict[str, object]) -> None:
    info = hub.info
    hub.info = lambda name: info(name) | change  # type: ignore[method-assign]
    with pytest.raises(ModelError, match="did not answer as a model hub does"):
        fetch(TRANSLATOR, folder)


def test_another_commit_than_the_pinned_one_is_refused(folder: Path) -> None:
    entry = Entry("small", "translator", "owner/small", "Small-Q4.gguf", revision="a" * 40)
    with pytest.raises(ModelError, match=f"answers with commit {COMMIT[:8]} of owner/small in place of aaaaaaaa"):
        fetch(entry, folder)
    assert fetch(replace(entry, revision=COMMIT), folder).read_bytes() == GGUF


def test_the_token_stays_with_the_hub(hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    fetch(TRANSLATOR, folder)
    assert [path.split("/")[3] for path in hub.authorised] == ["owner", "resolve"]
    assert any("/bytes/" in path for path, _ in hub.requests)


def test_a_disk_that_fills_up_keeps_what_arrived(hub: Hub, folder: Path) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        with pytest.raises(ModelError, match=r"is full; free some space, and run the same command again"):
            fetch(TRANSLATOR, folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert fetch(TRANSLATOR, folder).read_bytes() == GGUF


def test_the_second_of_two_pulls_waits_and_fetches_nothing(hub: Hub, folder: Path) -> None:
    serving, waiting = threading.Event(), threading.Event()

    def hold() -> None:
        serving.set()
        assert waiting.wait(10)

    hub.while_serving = hold
    first = threading.Thread(target=fetch, args=(TRANSLATOR, folder))
    first.start()
    assert serving.wait(10)
    path = pull(TRANSLATOR, folder, lambda done, total: None, waiting.set)
    first.join()
    assert path.read_bytes() == GGUF
    assert sum("/bytes/" in path for path, _ in hub.requests) == 1


def test_a_repository_of_ggufs_asks_for_one_of_them(folder: Path) -> None:
    with pytest.raises(LivetransError, match=r"owner/small:FILE; it has Small-Q4\.gguf, Other\.gguf"):
        fetch(entry_of("owner/small"), folder)
    with pytest.raises(LivetransError, match=r"owner/small:FILE; it has"):
        fetch(entry_of("owner/small:Absent.gguf"), folder)


def test_what_has_the_name_already_is_never_overwritten(
    hub: Hub, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.files["other/small"] = {"Small-Q4.gguf": GGUF[::-1]}
    path = fetch(TRANSLATOR, folder)
    assert run(["models", "pull", "other/small:Small-Q4.gguf", "--yes"]) == 2
    assert "remove it first: `livetrans models rm Small-Q4.gguf`" in capsys.readouterr().err
    assert path.read_bytes() == GGUF
    (folder / "whisper").mkdir()
    assert run(["models", "pull", "owner/whisper", "--yes"]) == 2
    assert "move it away" in capsys.readouterr().err


def test_a_repository_cannot_write_outside_its_folder(hub: Hub, folder: Path) -> None:
    hub.files["owner/whisper"] = RECOGNISER | {"vocabulary.x/../../../../evil": b"evil", "../config.json": b"evil"}
    fetch(entry_of("owner/whisper"), folder)
    assert not any(path.read_bytes() == b"evil" for path in folder.parent.rglob("*") if path.is_file())


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


def test_a_model_that_livetrans_did_not_fetch_is_not_removed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["models", "rm", "livetrans-en-de.q8_0.gguf"]) == 2
    assert "was not fetched by livetrans" in capsys.readouterr().err


def test_a_damaged_receipt_stops_nothing_but_its_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = fetch(entry_of("owner/whisper"), folder)
    assert isinstance(read_receipt(path), Receipt)
    fetch(TRANSLATOR, folder)
    (folder / "whisper.pull.json").write_text("{}")
    embedded = Path(__file__).parents[2] / "models/livetrans-recogniser-en"
    assert find_recogniser(str(embedded)).path == embedded and run(["models"]) == 0
    capsys.readouterr()
    assert run(["models", "verify"]) == 1
    assert "whisper: whisper.pull.json cannot be read; remove it and pull it again\n" in capsys.readouterr().out
    assert run(["models", "pull", "owner/whisper", "--yes"]) == 1
    assert "remove the model and pull it again" in capsys.readouterr().err
    assert run(["models", "rm", "whisper"]) == 0
    assert sorted(file.name for file in folder.iterdir()) == [".unfinished", "Small-Q4.gguf", "Small-Q4.gguf.pull.json"]


@pytest.mark.parametrize(
    "name",
    [
        "owner/small:Q4",
        "hf.co/owner/small:q4",
        "https://huggingface.co/owner/small/blob/main/Small-Q4.gguf",
        f"https://huggingface.co/owner/small/resolve/{COMMIT}/Small-Q4.gguf?download=true",
    ],
)
def test_a_model_is_fetched_by_quantisation_and_by_its_page(folder: Path, name: str) -> None:
    assert run(["models", "pull", name, "--yes"]) == 0
    assert (folder / "Small-Q4.gguf").read_bytes() == GGUF
    assert run(["models", "verify", "owner/small:Small-Q4.gguf"]) == 0


@pytest.mark.parametrize(
    ("quantisation", "file"), [("q8_0", "A-Q8_0.gguf"), ("UD-Q8_0", "A-UD-Q8_0.gguf"), ("Q6_K", None), ("F16", None)]
)
def test_a_quantisation_stands_for_one_file(hub: Hub, folder: Path, quantisation: str, file: str | None) -> None:
    names = ("A-UD-Q8_0.gguf", "A-Q8_0.gguf", "A-Q6_K.gguf", "B-Q6_K.gguf", "mmproj-F16.gguf")
    hub.files["owner/many"] = dict.fromkeys(names, b"GGUF")
    assert run(["models", "pull", f"owner/many:{quantisation}", "--yes"]) == (0 if file else 2)
    assert [path.name for path in folder.glob("*.gguf")] == ([file] if file else [])
