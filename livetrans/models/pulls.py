"""Pulled models: fetched into one folder, each with a receipt beside it, by which it is verified and removed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from livetrans.errors import ModelError, UsageError
from livetrans.models.catalogue import TRANSLATOR, WEIGHTS, Entry
from livetrans.models.hub import RemoteFile, Revision, check, fetch, look_up, sha256_of
from livetrans.session.codec import decode, encode

_RECEIPT_SUFFIX = ".pull.json"
_UNFINISHED = ".unfinished"
_SPARE_BYTES = 200_000_000
"""Left free on the disk, so that sessions can still be written."""

_OF_RECOGNISER = re.compile(r"(config|preprocessor_config|tokenizer)\.json|model\.bin|vocabulary\.\w+")
"""The files that faster-whisper reads."""

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
    def sha256(self) -> str | None:
        """The hash of the weights."""
        weights = self.files.get(WEIGHTS) or next(iter(self.files.values()), None)
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


def pull(entry: Entry, folder: Path, progress: Progress) -> Path:
    """Fetch a model into a folder, or continue a fetch that was cut; return the path of its file or folder.

    The files are moved to their place once all are complete.

    Raises:
        UsageError: there is no such model, or another of its name is here.
        ModelError: it cannot be fetched, or another process fetches it; the sentence says what to do.
    """
    from filelock import FileLock, Timeout

    target, unfinished = folder / entry.local_name, folder / _UNFINISHED / entry.local_name
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(f"{unfinished}.lock", timeout=0):
            if target.exists():
                receipt = read_receipt(target)
                if receipt and receipt.repository == entry.repository:
                    return target
                if receipt:
                    advice = (
                        f"was fetched from {receipt.repository}; remove it with `livetrans models rm {target.name}`"
                    )
                else:
                    advice = "was not fetched by livetrans; move it away"
                raise UsageError(f"{target} exists, and {advice}, and run the same command again")
            revision = look_up(entry.repository, entry.revision)
            # In a folder of their commit, so that two commits never mix.
            source = unfinished / revision.commit
            for other in unfinished.glob("*"):
                if other != source:
                    shutil.rmtree(other)
            source.mkdir(parents=True, exist_ok=True)
            receipt = _fetch_all(entry, revision, source, progress)
            receipt_path(target).write_text(json.dumps(encode(receipt), indent=2) + "\n", encoding="utf-8")
            (source / target.name if entry.is_one_file else source).rename(target)
            shutil.rmtree(unfinished, ignore_errors=True)
            return target
    except Timeout:
        raise ModelError(
            f"another livetrans is fetching {entry.name}; run the same command again when it has ended"
        ) from None


def completed(entry: Entry) -> Entry:
    """Return the entry with what only the hub knows: the file that a quantisation stands for, and the size.

    Raises:
        UsageError, ModelError: as `pull`.
    """
    files = _chosen(look_up(entry.repository, entry.revision), entry)
    if entry.kind == TRANSLATOR:
        entry = replace(entry, file=files[0].path)
    return replace(entry, size=sum(file.size for file in files))


def verify(model: Path, receipt: Receipt) -> list[str]:
    """Return the files of a model that are missing or differ from the receipt."""
    paths = {name: model / name if model.is_dir() else model for name in receipt.files}
    return [name for name, path in paths.items() if not path.is_file() or sha256_of(path) != receipt.files[name].sha256]


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
    elif entry.is_one_file:
        if files := [file for file in revision.files if file.path == entry.file]:
            return files
        raise UsageError(f"{entry.repository} has no {entry.file}; choose another from `livetrans models`")
    else:
        files = [file for file in revision.files if _OF_RECOGNISER.fullmatch(file.path)]
        if any(file.path == WEIGHTS for file in files):
            return files
    if ggufs:
        listed = ", ".join(file.path for file in ggufs[:12]) + (" ..." if len(ggufs) > 12 else "")
        raise UsageError(f"name a file of {entry.repository}, as {entry.repository}:FILE; it has {listed}")
    lacking = "no GGUF file" if entry.kind == TRANSLATOR else f"no {WEIGHTS}, as faster-whisper's recognisers have"
    raise UsageError(f"{entry.repository} has {lacking}; choose another from `livetrans models`")


def _fetch_all(entry: Entry, revision: Revision, folder: Path, progress: Progress) -> Receipt:
    """Fetch the files of a model into a folder, which may hold some of them.

    Raises:
        UsageError, ModelError: as `pull`, or the disk has not enough room.
    """
    files = {folder / Path(file.path).name: file for file in _chosen(revision, entry)}
    total = sum(file.size for file in files.values())
    needed = total - sum(path.stat().st_size for path in files if path.exists())
    free = shutil.disk_usage(folder).free
    if needed > 0 and needed + _SPARE_BYTES > free:
        raise ModelError(
            f"{entry.name} needs {(needed + _SPARE_BYTES) / 1e9:.1f} GB on the disk of {folder}, and only "
            f"{free / 1e9:.1f} GB are free; free some space, or choose a smaller model"
        )
    before, pulled = 0, {}
    for path, file in files.items():
        fetch(revision, file, path, lambda size, before=before: progress(before + size, total))  # type: ignore[misc]
        sha256 = check(path, file, entry.sha256 if file.path == entry.file else None)
        pulled[path.name] = PulledFile(file.size, sha256)
        before += file.size
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Receipt(entry.name, entry.kind, entry.repository, revision.commit, entry.licence, now, pulled)
