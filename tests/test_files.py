"""Output files: never written over by accident, and every fault one sentence."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from livetrans.base import files
from livetrans.base.errors import SessionError, UsageError
from livetrans.base.files import create, missing, read_text, write_new


def test_a_file_is_overwritten_only_by_force(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_new(path, ["1\n"], "--output", force=False)
    with pytest.raises(UsageError, match="another name for --output, or --force"):
        write_new(path, ["2\n"], "--output", force=False)
    assert path.read_bytes() == b"1\n"
    write_new(path, ["2\n"], "--output", force=True)
    assert path.read_bytes() == b"2\n"
    with pytest.raises(UsageError, match=r"another name for --jsonl$"):
        create(path, "--jsonl")


def test_pieces_that_cannot_be_made_leave_the_place_as_it_was(tmp_path: Path) -> None:
    def broken() -> Iterator[str]:
        yield "1\n"
        raise SessionError("cut")

    old, new = tmp_path / "old.txt", tmp_path / "new.txt"
    old.write_text("0\n")
    for path, force in ((old, True), (new, False)):
        with pytest.raises(SessionError, match="cut"):
            write_new(path, broken(), "--output", force=force)
    assert old.read_text() == "0\n"
    assert list(tmp_path.iterdir()) == [old]


FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this machine has no /dev/full")


@needs_full
def test_a_full_device_is_a_failure() -> None:
    with pytest.raises(SessionError, match="/dev/full cannot be written"):
        write_new(FULL, ["text"], "--output", force=True)


def test_a_folder_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match=r"cannot be written .*another place for --jsonl"):
        create(tmp_path / "missing" / "a.jsonl", "--jsonl")


@pytest.mark.parametrize("before", [None, "0\n"])
def test_a_file_that_does_not_fit_leaves_the_one_before(tmp_path: Path, before: str | None) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    path = tmp_path / "a.txt"
    if before is not None:
        path.write_text(before)
    program = f"""
from pathlib import Path
from livetrans.base.files import write_new
write_new(Path({str(path)!r}), ["x" * 200_000], "--output", force=True)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, preexec_fn=limited)
    assert "cannot be written" in ended.stderr
    assert [(file, file.read_text()) for file in tmp_path.iterdir()] == ([] if before is None else [(path, before)])


def test_a_file_that_is_overwritten_keeps_its_links_and_permissions(tmp_path: Path) -> None:
    path, link = tmp_path / "a.txt", tmp_path / "link.txt"
    path.touch(mode=0o640)
    link.symlink_to(path)
    write_new(link, ["1\n"], "--output", force=True)
    assert link.is_symlink() and path.read_text() == "1\n" and path.stat().st_mode & 0o777 == 0o640


@needs_full
def test_a_text_file_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST_TEXT", 1000)
    with pytest.raises(UsageError, match=f"{FULL} is larger than"):
        read_text(FULL)


def test_a_text_is_read_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for data in ("ü\n".encode(), b"\xef\xbb\xbf" + "ü\n".encode()):
        path.write_bytes(data)
        assert read_text(path) == "ü\n"
    path.write_bytes("ü".encode("latin-1"))
    with pytest.raises(UsageError, match="save it as UTF-8"):
        read_text(path)


def test_a_missing_file_is_named_with_the_nearest_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "demo.flac").touch()
    assert missing(tmp_path / "demo.fla") == f"There is no file {tmp_path}/demo.fla: did you mean {tmp_path}/demo.flac?"
    assert missing(tmp_path / "other.wav").endswith("check the name.")
    assert missing(tmp_path / "absent" / "demo.flac").endswith("check the name.")


def test_outputs_are_apart_from_each_other_and_from_what_is_read(tmp_path: Path) -> None:
    read, folder = tmp_path / "talk.jsonl", tmp_path / "model"
    folder.mkdir()
    for path in (read, folder / "vocabulary.txt"):
        path.write_text("mine")
    (tmp_path / "link.jsonl").symlink_to(read)
    inputs = [read, folder]
    files.require_apart([("-o", tmp_path / "a.srt"), ("--jsonl", tmp_path / "a.jsonl"), ("-o", folder / "new")], inputs)
    files.require_apart([("-o", Path("/dev/null")), ("--jsonl", Path("/dev/null"))], inputs)
    for path in (read, tmp_path / "link.jsonl", tmp_path / "model" / ".." / "talk.jsonl", folder / "vocabulary.txt"):
        with pytest.raises(UsageError, match="written over what is read"):
            files.require_apart([("-o", path)], inputs)
    (tmp_path / "other").symlink_to(tmp_path)
    with pytest.raises(UsageError, match="--jsonl and --caption-file would both be"):
        files.require_apart([("--jsonl", tmp_path / "y"), ("--caption-file", tmp_path / "other" / "y")], [])
