"""Pulled models: fetched into one folder, each with a receipt beside it, by which it is verified and removed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from livetrans.errors import ModelError, UsageError
from livetrans.models.catalogue import TRANSLATOR, WEIGHTS, Entry
from livetrans.models.hub import RemoteFile, Revision, check, fetch, look_up, sha256_of
from livetrans.session.codec import decode, encode

_RECEIPT_SUFFIX = ".pull.json"
_UNFINISHED = ".unfinished"
_SPARE_BYTES = 200_000_000
"""Left free on the disk, so that sessions can still be written."""

_PLAIN_NAME = re.compile(r"\w[\w.-]*")

Progress = Callable[[int, int], None]
"""Called with the bytes that are here, and the bytes of the whole model."""


@dataclass(frozen=True, slots=True)
class PulledFile:
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """The files of a pulled model, with what verifies them without the network."""

    name: str
    kind: str
    repository: str
    commit: str
    licence: str
    pulled_at: str
    """ISO 8601, UTC."""
    files: dict[str, PulledFile]
    """By the path within a recogniser's folder; the file's name for a translator."""

    @property
    def address(self) -> str:
        """The name of the model on the hub, for a file in the repository's top folder."""
        return f"{self.repository}:{next(iter(self.files), '')}" if self.kind == TRANSLATOR else self.repository

    @property
    def sha256(self) -> str | None:
        """The hash of the weights."""
        weights = self.files.get(WEIGHTS) if self.kind != TRANSLATOR else next(iter(self.files.values()), None)
        return weights.sha256 if weights else None


def receipt_path(model: Path) -> Path:
    """Return the path of a model's receipt."""
    return model.with_name(model.name + _RECEIPT_SUFFIX)


def read_receipt(model: Path) -> Receipt | None:
    """Read the receipt of a model; None if it has none.

    Raises:
        ModelError: the receipt cannot be read.
    """
    path = receipt_path(model)
    try:
        return decode(Receipt, json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path} cannot be read ({error}); remove the model and pull it again") from error


def pull(entry: Entry, folder: Path, progress: Progress, wait: Callable[[], None]) -> Path:
    """Fetch a model into a folder, or continue a fetch that was cut; return the path of its file or folder.

    The files are moved to their place once all are complete. If another process fetches the same model, `wait` is
    called once, and this process waits for the other.

    Raises:
        UsageError: there is no such model, or another of its name is here.
        ModelError: it cannot be fetched; the sentence says what to do.
    """
    from filelock import FileLock, Timeout

    target = folder / entry.local_name
    unfinished = folder / _UNFINISHED
    unfinished.mkdir(parents=True, exist_ok=True)
    lock = FileLock(unfinished / f"{entry.local_name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        wait()
        lock.acquire()
    with lock:
        if target.exists():
            return _already(target, entry)
        revision = look_up(entry.repository, entry.revision)
        files = _chosen(revision, entry)
        receipt = _fetch_all(entry, revision, files, unfinished / entry.local_name, progress)
        receipt_path(target).write_text(json.dumps(encode(receipt), indent=2) + "\n", encoding="utf-8")
        source = unfinished / entry.local_name / revision.commit
        (source / target.name if entry.kind == TRANSLATOR else source).rename(target)
        shutil.rmtree(unfinished / entry.local_name, ignore_errors=True)
        return target


def completed(entry: Entry) -> Entry:
    """Ask the hub for what an entry leaves open: the file that a quantisation stands for, and the size.

    Raises:
        UsageError, ModelError: as `pull`.
    """
    files = _chosen(look_up(entry.repository, entry.revision), entry)
    file = files[0].path if entry.kind == TRANSLATOR else entry.file
    return replace(entry, file=file, size=sum(file.size for file in files))


def verify(model: Path, receipt: Receipt) -> list[str]:
    """Return the files of a model that are missing or differ from the receipt."""
    paths = {name: model / name if model.is_dir() else model for name in receipt.files}
    return [
        name
        for name, path in paths.items()
        if not path.is_file()
        or path.stat().st_size != receipt.files[name].size
        or sha256_of(path) != receipt.files[name].sha256
    ]


def remove(model: Path) -> None:
    """Delete a pulled model and its receipt."""
    shutil.rmtree(model) if model.is_dir() else model.unlink()
    receipt_path(model).unlink(missing_ok=True)


def unfinished_pulls(folder: Path) -> dict[str, int]:
    """Return the names of models whose fetch was cut, with the bytes that arrived."""
    found = (folder / _UNFINISHED).glob("*/*")
    sizes = {path.parent.name: sum(file.stat().st_size for file in path.iterdir()) for path in found if path.is_dir()}
    return {name: size for name, size in sorted(sizes.items()) if size}


def remove_unfinished(folder: Path, name: str) -> None:
    """Delete the files of a fetch that was cut."""
    shutil.rmtree(folder / _UNFINISHED / name)


def _already(target: Path, entry: Entry) -> Path:
    receipt = read_receipt(target)
    if receipt is None:
        raise UsageError(f"{target} exists, but was not fetched by livetrans; move it away, and run the command again")
    if receipt.repository != entry.repository:
        raise UsageError(
            f"another {target.name} was fetched from {receipt.repository}; "
            f"remove it first: `livetrans models rm {target.name}`"
        )
    return target


def _chosen(revision: Revision, entry: Entry) -> list[RemoteFile]:
    """Return the files of the repository that belong to the model.

    Raises:
        UsageError: there are none, or a quantisation stands for several.
    """
    ggufs = [file for file in revision.files if file.path.endswith(".gguf")]
    if entry.kind == TRANSLATOR:
        endings = tuple(mark + entry.file.casefold() for mark in "-._")
        named = [file for file in ggufs if file.path == entry.file] or [
            file
            for file in sorted(ggufs, key=lambda file: len(file.path))
            if Path(file.path).stem.casefold().endswith(endings) and not Path(file.path).name.startswith("mmproj")
        ]
        # Of Q8_0 and UD-Q8_0, which both end in Q8_0, the first is meant.
        if len(named) == 1 or (named and len(named[0].path) < len(named[1].path)):
            return named[:1]
    else:
        plain = [file for file in revision.files if _PLAIN_NAME.fullmatch(file.path)]
        if any(file.path == WEIGHTS for file in plain):
            return [file for file in plain if any(fnmatchcase(file.path, pattern) for pattern in entry.files)]
    if ggufs:
        listed = ", ".join(file.path for file in ggufs[:12]) + (" ..." if len(ggufs) > 12 else "")
        raise UsageError(f"name a file of {entry.repository}, as {entry.repository}:FILE; it has {listed}")
    lacking = "no GGUF file" if entry.kind == TRANSLATOR else f"no {WEIGHTS}, as faster-whisper's recognisers have"
    raise UsageError(f"{entry.repository} has {lacking}; choose another from `livetrans models`")


def _fetch_all(
    entry: Entry, revision: Revision, files: list[RemoteFile], unfinished: Path, progress: Progress
) -> Receipt:
    """Fetch the files into a folder of their commit, so that two commits never mix."""
    folder = unfinished / revision.commit
    for other in unfinished.glob("*"):
        if other != folder:
            shutil.rmtree(other)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {file.path: folder / Path(file.path).name for file in files}
    total = sum(file.size for file in files)
    before = 0
    _check_room(total - sum(path.stat().st_size for path in paths.values() if path.exists()), folder, entry)
    pulled: dict[str, PulledFile] = {}
    for file in files:
        path = paths[file.path]
        if path.exists() and path.stat().st_size > file.size:
            path.unlink()
        fetch(revision, file, path, lambda arrived, before=before: progress(before + arrived, total))  # type: ignore[misc]
        sha256 = check(path, file, entry.sha256 if file.path == entry.file else None)
        pulled[path.name] = PulledFile(file.size, sha256)
        before += file.size
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Receipt(entry.name, entry.kind, entry.repository, revision.commit, entry.licence, now, pulled)


def _check_room(needed: int, folder: Path, entry: Entry) -> None:
    free = shutil.disk_usage(folder).free
    if needed > 0 and needed + _SPARE_BYTES > free:
        raise ModelError(
            f"{entry.name} needs {(needed + _SPARE_BYTES) / 1e9:.1f} GB on the disk of {folder}, and only "
            f"{free / 1e9:.1f} GB are free; free some space, or choose a smaller model"
        )
