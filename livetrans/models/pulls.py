"""Pulled models: fetched into one folder, each with a receipt beside it that verifies it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath

from livetrans.base.errors import ModelError, UsageError
from livetrans.models.catalogue import ENCODER, TRANSLATOR, WEIGHTS, Entry
from livetrans.models.hub import RemoteFile, Revision, fetch, look_up, sha256_of, verify_hash
from livetrans.session.codec import decode, encode

_RECEIPT_SUFFIX = ".pull.json"
_UNFINISHED = ".unfinished"
_SPARE_BYTES = 200_000_000
"""Left free on the disk, so that sessions can still be written."""

_OF_RECOGNISER = re.compile(r"(config|preprocessor_config|tokenizer)\.json|model\.bin|vocabulary\.\w+")
"""The files that faster-whisper reads."""
_OF_TRANSDUCER = re.compile(r"(encoder|decoder(?:_joint)?|joiner)(?:-model)?(?:\.(\w+))?\.onnx(\.data)?")
"""The models of a transducer, with their part and quantisation."""
_BESIDE_TRANSDUCER = ("config.json", "vocab.txt", "tokens.txt")

_OF_ONE_FILE = re.compile(r"\.gguf$|(^|/)ggml[^/]*\.bin$")

Progress = Callable[[int, int], None]
"""Called with the bytes that are here, and the bytes of the whole model."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Origin of a pulled model, and the hashes that verify it without the network."""

    name: str
    """The name that it was pulled by."""
    repository: str
    commit: str
    pulled_at: str
    """ISO 8601, UTC."""
    files: dict[str, str]
    """SHA-256 by file name."""

    @property
    def sha256(self) -> str | None:
        weights = (sha256 for name, sha256 in self.files.items() if name == WEIGHTS or ENCODER.fullmatch(name))
        return next(chain(weights, self.files.values()), None)


def receipt_path(model: Path) -> Path:
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
                came = f"from {receipt.repository}" if receipt else "not from a pull"
                raise UsageError(f"{target} exists, and came {came}; move it away, and run the same command again")
            revision = look_up(entry.repository, entry.revision)
            # In a folder of their commit, so that two commits never mix.
            source = unfinished / revision.sha
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
            f"another livetrans is fetching {entry.name}; run the same command again after it has ended"
        ) from None


def completed(entry: Entry) -> Entry:
    """Return the entry with what only the hub knows: the file that a quantisation stands for, and the size."""
    files = _chosen(look_up(entry.repository, entry.revision), entry)
    if entry.kind == TRANSLATOR:
        entry = replace(entry, file=files[0].rfilename)
    return replace(entry, size=sum(file.size for file in files))


def verify(model: Path) -> list[str] | None:
    """Return what is wrong with the files of a pulled model, by its receipt; None if it was not pulled."""
    try:
        receipt = read_receipt(model)
    except ModelError:
        return [f"{receipt_path(model).name} cannot be read"]
    if receipt is None:
        return None
    paths = {model / name if model.is_dir() else model: sha256 for name, sha256 in receipt.files.items()}
    return [
        f"{path.name} differs or is missing"
        for path, sha256 in paths.items()
        if not path.is_file() or sha256_of(path) != sha256
    ]


def remove(model: Path) -> None:
    shutil.rmtree(model) if model.is_dir() else model.unlink()
    receipt_path(model).unlink(missing_ok=True)


def unfinished_pulls(folder: Path) -> dict[str, int]:
    """Return the bytes that arrived before a fetch was cut, by model name."""
    found = (folder / _UNFINISHED).glob("*/*")
    sizes = {path.parent.name: sum(file.stat().st_size for file in path.iterdir()) for path in found if path.is_dir()}
    return {name: size for name, size in sorted(sizes.items()) if size}


def remove_unfinished(folder: Path, name: str) -> None:
    """Delete the files of a fetch that was cut."""
    shutil.rmtree(folder / _UNFINISHED / name)


def _chosen(revision: Revision, entry: Entry) -> list[RemoteFile]:
    if not entry.is_one_file:
        files = [file for file in revision.siblings if _OF_RECOGNISER.fullmatch(file.rfilename)]
        files = files if any(file.rfilename == WEIGHTS for file in files) else _of_transducer(revision, entry.file)
    else:
        files = [file for file in revision.siblings if file.rfilename == entry.file] or _quantised(revision, entry.file)
    if files:
        return files
    single = [file.rfilename for file in revision.siblings if _OF_ONE_FILE.search(file.rfilename)]
    if single:
        listed = ", ".join(single[:12]) + (" ..." if len(single) > 12 else "")
        raise UsageError(f"name a file of {entry.repository}, as {entry.repository}:FILE; it has {listed}")
    raise UsageError(f"{entry.repository} has no model that livetrans can use; choose another from `livetrans models`")


def _of_transducer(revision: Revision, encoder: str) -> list[RemoteFile]:
    """Return the files of a transducer in the quantisation of its encoder, by default int8; and of a part that has no
    such file, those that are not quantised. They are in the folder of the encoder, the vocabulary may be above it."""
    folder, _, name = encoder.rpartition("/")
    parts: dict[str, dict[str, list[RemoteFile]]] = {}
    for file in revision.siblings:
        if found := _OF_TRANSDUCER.fullmatch(file.rfilename.removeprefix(f"{folder}/")):
            parts.setdefault(found[1], {}).setdefault(found[2] or "", []).append(file)
    named = _OF_TRANSDUCER.fullmatch(name)
    wanted = (named[2] or "") if named else "int8"
    models = [file for files in parts.values() for file in files.get(wanted) or files.get("") or []]
    return [*models, *(file for file in revision.siblings if models and file.rfilename in _BESIDE_TRANSDUCER)]


def _quantised(revision: Revision, quantisation: str) -> list[RemoteFile]:
    """Return the GGUF file whose name ends in the quantisation: of Q8_0 and UD-Q8_0 the shorter is meant."""
    endings = tuple(mark + quantisation.casefold() for mark in "-._")
    named = [
        file
        for file in sorted(revision.siblings, key=lambda file: len(file.rfilename))
        if (path := PurePosixPath(file.rfilename)).suffix == ".gguf"
        and path.stem.casefold().endswith(endings)
        and not path.name.startswith("mmproj")
    ]
    return named[:1] if len(named) == 1 or (named and len(named[0].rfilename) < len(named[1].rfilename)) else []


def _fetch_all(entry: Entry, revision: Revision, folder: Path, progress: Progress) -> Receipt:
    """Fetch the files of a model into a folder, which may hold some of them."""
    files = {folder / Path(file.rfilename).name: file for file in _chosen(revision, entry)}
    total = sum(file.size for file in files.values())
    needed = total - sum(path.stat().st_size for path in files if path.exists())
    free = shutil.disk_usage(folder).free
    if needed > 0 and needed + _SPARE_BYTES > free:
        raise ModelError(
            f"{entry.name} needs {(needed + _SPARE_BYTES) / 1e9:.1f} GB on the disk of {folder}, which has only "
            f"{free / 1e9:.1f} GB free; free some space, or choose a smaller model"
        )
    before, hashes = 0, {}

    def arrived(before: int, size: int) -> None:
        progress(before + size, total)

    for path, file in files.items():
        fetch(entry.repository, revision.sha, file, path, partial(arrived, before))
        hashes[path.name] = verify_hash(path, file, entry.sha256 if file.rfilename == entry.file else None)
        before += file.size
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Receipt(entry.name, entry.repository, revision.sha, now, hashes)
