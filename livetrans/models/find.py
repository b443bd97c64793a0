"""The models on this machine, the preferred ones first. Nothing is loaded, and nothing is fetched here.

The order is

1. the folders in the environment variable LIVETRANS_MODELS;
2. `models/` of the source tree, or of the installed package, without the embedded models;
3. `livetrans/models` in the user's data folder: pulled models, the newest first, then the others;
4. the caches of the Hugging Face hub and of llama.cpp, which are never written to: models of the catalogue first;
5. the embedded models.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from livetrans.base.errors import ModelError
from livetrans.base.files import begins_with
from livetrans.base.installation import data_folder, user_folder
from livetrans.base.languages import AUTO, parse_language
from livetrans.models.catalogue import (
    ENCODER,
    FASTER_WHISPER,
    ONNX,
    RECOGNISER,
    TRANSLATOR,
    WEIGHTS,
    WHISPER_CPP,
    Entry,
    RunLanguages,
    family_knows,
    known_models,
    names_of,
)
from livetrans.models.gguf import family, is_gguf, is_stateful, is_translator
from livetrans.models.hub import cached_files
from livetrans.models.pulls import Receipt, read_receipt, receipt_path

MODELS_VARIABLE = "LIVETRANS_MODELS"

_HUB_CACHE, _LLAMA_CACHE = "Hugging Face cache", "llama.cpp cache"
_EMBEDDED_PREFIX = "livetrans-"


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model on disk."""

    path: Path
    """A GGUF file, or the folder or file of a recogniser."""
    kind: str
    """`recogniser` or `translator`."""
    place: str
    """Name of the search folder or of the other program's cache in which it was found."""
    display_name: str | None = None
    """Its name, if that is not the file's: in another program's cache."""
    entry: Entry | None = None
    receipt: Receipt | None = None
    """The receipt of a pulled model; None also if the receipt is damaged."""

    @property
    def name(self) -> str:
        return self.display_name or self.path.name

    @property
    def pulled(self) -> bool:
        return receipt_path(self.path).exists()

    @property
    def elsewhere(self) -> bool:
        return self.place in (_HUB_CACHE, _LLAMA_CACHE)

    @property
    def engine(self) -> str:
        return engine_of(self.path)

    @property
    def embedded(self) -> bool:
        return is_embedded(self.path)

    @property
    def languages(self) -> tuple[str, ...]:
        """The language of an embedded recogniser, or the pair of an embedded translator; empty for any other model.

        It is at the end of the name: `livetrans-recogniser-en`, `livetrans-en-de.q8_0.gguf`.
        """
        if not self.embedded:
            return ()
        parts = self.name.split(".")[0].split("-")
        return tuple(parts[-1:] if self.kind == RECOGNISER else parts[-2:])

    @property
    def prompt(self) -> str | None:
        """The family of a translator's prompt, if the catalogue states it; otherwise the model's metadata decide."""
        return self.entry.prompt if self.entry else None

    @property
    def family(self) -> str | None:
        """The family of a translator's prompt; None if unknown."""
        return None if self.kind != TRANSLATOR or self.embedded else self.prompt or family(self.path)

    def is_called(self, name: str) -> bool:
        """Return whether a name means this model: its file's or folder's, the one it was pulled by, or its entry's."""
        names = {self.name, *names_of(self.path.name)}
        if self.receipt:
            names |= {self.receipt.name, f"{self.receipt.repository}:{self.path.name}"}
        called = name.casefold() in {known.casefold() for known in names}
        return called or (self.entry is not None and self.entry.is_called(name))

    def fits(self, languages: RunLanguages) -> bool:
        """Return whether the model can begin a run in these languages. An embedded recogniser may stand for `auto`."""
        if self.embedded and self.kind == RECOGNISER:
            return all(code == AUTO or parse_language(code).whisper_code in self.languages for code in languages.spoken)
        if self.embedded:
            known, into = self.languages
            return all(source in (AUTO, known) and target == into for source, target in languages.directions)
        if self.kind == TRANSLATOR:
            codes = chain(*languages.directions)
            return family_knows(self.family, codes) and is_gguf(self.path) and not is_stateful(self.path)
        return self.entry is None or self.entry.fits(languages)


def engine_of(model: Path) -> str:
    """Return the engine that computes a recogniser: one for whisper.cpp is a file, others are folders."""
    if model.is_file():
        return WHISPER_CPP
    return ONNX if _is_transducer(model) and not (model / WEIGHTS).is_file() else FASTER_WHISPER


def size_on_disk(model: Path) -> int:
    """Return the bytes of a GGUF file, or of the files in a recogniser's folder."""
    files = model.iterdir() if model.is_dir() else [model]
    return sum(file.stat().st_size for file in files if file.is_file())


def is_embedded(model: Path) -> bool:
    """Return whether the model of this path ships with livetrans, which its name tells."""
    return model.name.startswith(_EMBEDDED_PREFIX)


def pull_folder() -> Path:
    """Return the folder that models are fetched to; it need not exist."""
    return user_folder("data") / "models"


def search_folders() -> dict[Path, str]:
    """Return the folders to search, first to last, with their names in listings; they need not exist."""
    named = os.environ.get(MODELS_VARIABLE, "")
    folders = {Path(part): MODELS_VARIABLE for part in named.split(os.pathsep) if part}
    return folders | {data_folder("models"): "livetrans", pull_folder(): "user data"}


def find_models(kind: str | None = None) -> Iterator[FoundModel]:
    """Yield every model on this machine once; other programs' caches are read when their turn comes."""
    folders = search_folders()
    here = [model for folder, place in folders.items() for model in _models_in(folder, place)]
    yield from (model for model in here if kind in (None, model.kind) and not model.embedded)
    searched = [folder.resolve() for folder in folders]
    cached = {model.path.resolve(): model for model in _cached_models()}
    others = [model for path, model in cached.items() if path.parent not in searched and kind in (None, model.kind)]
    yield from sorted(others, key=lambda model: model.entry is None)
    yield from (model for model in here if kind in (None, model.kind) and model.embedded)


def find_models_apart(name: str) -> list[FoundModel]:
    """Return the models in folders of that name beside translators, which a run takes only if it names them."""
    return [model for folder, place in search_folders().items() for model in _models_in(folder / name, place)]


def describe(
    path: Path, kind: str, place: str, display_name: str | None = None, sha256: str | None = None
) -> FoundModel:
    """Return a model with its receipt and its entry in the catalogue: by the hash of its weights, else by its name."""
    try:
        receipt = read_receipt(path)
    except ModelError:  # `livetrans models verify` names it
        receipt = None
    name = (display_name or path.name).rpartition("/")[2]
    entry = known_models().entry(name, sha256 or (receipt.sha256 if receipt else None))
    return FoundModel(path, kind, place, display_name, entry if entry and entry.kind == kind else None, receipt)


def kind_of(path: Path) -> str | None:
    """Return the kind of the model at a path, by its name and files alone; None if there is no model."""
    if path.suffix == ".gguf" and path.is_file():
        return TRANSLATOR
    if (path / WEIGHTS).is_file() or _is_whisper_cpp(path) or _is_transducer(path):
        return RECOGNISER
    return None


def _is_transducer(path: Path) -> bool:
    return any(ENCODER.fullmatch(file.name) for file in path.glob("encoder*.onnx"))


def _is_whisper_cpp(path: Path) -> bool:
    """Return whether a file is a model of whisper.cpp, by its name and first bytes."""
    return path.suffix == ".bin" and begins_with(path, b"lmgg")


def _models_in(folder: Path, place: str) -> list[FoundModel]:
    """Return the models of a folder: pulled ones, the newest first, then those without a receipt, by name."""
    try:
        paths = sorted(folder.iterdir())
    except OSError:  # a folder that is not there holds no models
        return []
    found = [describe(path, kind, place) for path in paths if (kind := kind_of(path))]
    return sorted(found, key=lambda model: model.receipt.pulled_at if model.receipt else "", reverse=True)


def _cached_models() -> Iterator[FoundModel]:
    """Yield the models that the hub's library and llama.cpp keep; both name repositories' files by their hashes.

    llama.cpp's cache also has files named `owner_repository_file.gguf`, written by versions before 2026.
    """
    import platformdirs

    usual = platformdirs.user_cache_path("llama.cpp", appauthor=False)
    llama = Path(os.environ.get("LLAMA_CACHE") or usual).expanduser()
    for folder, place in ((None, _HUB_CACHE), (llama, _LLAMA_CACHE)):
        for repository, file, sha256 in cached_files(folder):
            if file.name == WEIGHTS and (file.parent / "config.json").is_file():
                yield describe(file.parent, RECOGNISER, place, repository, sha256)
            elif ENCODER.fullmatch(file.name):
                yield describe(file.parent, RECOGNISER, place, repository, sha256)
            elif _is_whisper_cpp(file):
                yield describe(file, RECOGNISER, place, sha256=sha256)
            elif file.suffix == ".gguf" and is_translator(file):
                yield describe(file, TRANSLATOR, place, sha256=sha256)
    for file in sorted(llama.glob("*.gguf")):
        if is_translator(file):
            yield describe(file, TRANSLATOR, _LLAMA_CACHE)
