"""The models on this machine, and which of them a run takes. Nothing is loaded, and nothing is fetched here.

A model that is named, by its path or as `livetrans models` lists it, is taken wherever it is. Otherwise the first that
fits the languages is taken, of

1. the folders in the environment variable LIVETRANS_MODELS;
2. `models/` of the source tree, or of the installed package, without the embedded models;
3. `livetrans/models` in the user's data folder: what was pulled last, then the others;
4. models of the catalogue file that another program has fetched;
5. the embedded models.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from livetrans.errors import ModelError
from livetrans.installation import data_folder
from livetrans.models.catalogue import RECOGNISER, TRANSLATOR, WEIGHTS, Catalogue, Entry, knows_pair, read_catalogue
from livetrans.models.gguf import MAGIC, family
from livetrans.models.programs import models_elsewhere
from livetrans.models.pulls import PullRecord, read_record

MODELS_VARIABLE = "LIVETRANS_MODELS"
RECOGNISER_VARIABLE = "LIVETRANS_ASR_MODEL"
TRANSLATOR_VARIABLE = "LIVETRANS_MT_MODEL"

_PATHS = {
    RECOGNISER: "give the path of a faster-whisper folder (it holds model.bin) with --asr",
    TRANSLATOR: "give the path of a GGUF file with --mt",
}
_DOUBLE = "double"
"""The folder of double-token models."""
_OWN_PREFIX = "livetrans-"


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder that may hold models."""

    path: Path
    place: str
    """Its name in listings: an environment variable, `livetrans` or `user data`."""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model on disk."""

    path: Path
    """A GGUF file, or the folder of a recogniser."""
    kind: str
    """`recogniser` or `translator`."""
    place: str
    called: str | None = None
    """Its name where that is not the file's: in another program's folder."""
    entry: Entry | None = None
    """Its entry in the catalogue file."""
    record: PullRecord | None = None
    """Of a model that was pulled."""

    @property
    def name(self) -> str:
        return self.called or self.path.name

    @property
    def embedded(self) -> bool:
        """Whether it ships with livetrans."""
        return is_embedded(self.path)

    @property
    def size_bytes(self) -> int:
        return size_on_disk(self.path)

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
    def family(self) -> str | None:
        """The family of a translator's prompt; None if unknown."""
        if self.kind != TRANSLATOR or self.embedded:
            return None
        return self.entry.prompt if self.entry and self.entry.prompt else family(self.path)

    def is_called(self, name: str) -> bool:
        """Return whether the name means this model: its file, with or without endings, or its entry."""
        names = (self.name, self.path.stem, self.name.split(".")[0], self.entry.name if self.entry else None)
        return name in names

    def fits(self, source: str | None, target: str | None) -> bool:
        """Return whether the model may serve these languages; None is any language."""
        if self.kind == TRANSLATOR and not self.embedded:
            return knows_pair(self.family, source, target)
        if self.entry is not None:
            return self.entry.knows(source)
        return all(
            wanted is None or wanted == known for known, wanted in zip(self.languages, (source, target), strict=False)
        )


def size_on_disk(model: Path) -> int:
    """Return the bytes of a GGUF file, or of the files in a recogniser's folder."""
    files = model.iterdir() if model.is_dir() else [model]
    return sum(file.stat().st_size for file in files if file.is_file())


def is_embedded(path: Path) -> bool:
    """Return whether a model ships with livetrans, by its name."""
    return path.name.startswith(_OWN_PREFIX)


def known_models() -> Catalogue:
    """Return the catalogue that ships with livetrans."""
    return read_catalogue(data_folder("models") / "catalogue.toml")


def pull_folder() -> Path:
    """Return the folder that models are fetched to; it need not exist."""
    import platformdirs

    return platformdirs.user_data_path("livetrans", appauthor=False) / "models"


def search_folders() -> list[ModelFolder]:
    """Return the folders to search, first to last; they need not exist."""
    named = os.environ.get(MODELS_VARIABLE, "")
    folders = [ModelFolder(Path(part), MODELS_VARIABLE) for part in named.split(os.pathsep) if part]
    folders.append(ModelFolder(data_folder("models"), "livetrans"))
    folders.append(ModelFolder(pull_folder(), "user data"))
    return folders


def find_models(kind: str | None = None) -> list[FoundModel]:
    """Return every model in the search folders, the preferred ones first."""
    found = [model for folder in search_folders() for model in _models_in(folder) if kind in (None, model.kind)]
    return sorted(found, key=lambda model: model.embedded)


def find_elsewhere(kind: str | None = None) -> list[FoundModel]:
    """Return models that other programs have fetched, in no search folder; those of the catalogue first."""
    catalogue, searched = known_models(), [folder.path.resolve() for folder in search_folders()]
    found = [
        FoundModel(
            model.path,
            model.kind,
            model.program,
            called=model.name,
            entry=catalogue.resembling(model.name.rpartition("/")[2], model.sha256),
        )
        for model in models_elsewhere()
        if kind in (None, model.kind) and model.path.resolve().parent not in searched
    ]
    return sorted(found, key=lambda model: model.entry is None)


def find_recogniser(name: str | None = None, *, language: str | None = None) -> FoundModel:
    """Return the recogniser `name` (path or name), else that of LIVETRANS_ASR_MODEL, else the first for `language`.

    Raises:
        ModelError: there is none; the sentence lists what was found.
    """
    return _find(RECOGNISER, name or os.environ.get(RECOGNISER_VARIABLE), language, None)


def find_translator(name: str | None = None, *, source: str | None = None, target: str | None = None) -> FoundModel:
    """Return the translator `name` (path or name), else that of LIVETRANS_MT_MODEL, else the first for the pair.

    Raises:
        ModelError: there is none; the sentence lists what was found.
    """
    return _find(TRANSLATOR, name or os.environ.get(TRANSLATOR_VARIABLE), source, target)


def find_draft_model(name: str) -> Path:
    """Return the draft model `name`: a path, a translator's name, or a name in a folder `drafts` beside translators.

    Raises:
        ModelError: there is none; the sentence lists what was found.
    """
    return _find_apart("draft model", name, [*find_models(TRANSLATOR), *_models_apart("drafts")])


def find_double_model(name: str) -> Path:
    """Return the double-token model `name`: a path, or a name in a folder `double` beside translators.

    Raises:
        ModelError: there is none; the sentence lists what was found.
    """
    return _find_apart("double-token model", name, _models_apart(_DOUBLE))


def _find_apart(kind: str, name: str, found: list[FoundModel]) -> Path:
    path = Path(name).expanduser()
    if _is_gguf(path):
        return path
    for model in found:
        if model.is_called(name):
            return model.path
    names = ", ".join(dict.fromkeys(model.name for model in found)) or "none"
    raise ModelError(f"{_fault_of(kind, name, path)}; found: {names}; give the path of a GGUF file")


def _models_apart(folder: str) -> list[FoundModel]:
    """Return the models in folders of that name beside translators: no run takes them unless it names them."""
    apart = [replace(one, path=one.path / folder) for one in search_folders()]
    return [model for one in apart for model in _models_in(one)]


def _find(kind: str, name: str | None, source: str | None, target: str | None) -> FoundModel:
    found = find_models(kind)
    if name:
        return _named(kind, name, found)
    own = (model for model in found if not model.embedded)
    embedded = (model for model in found if model.embedded)
    for model in chain(own, _known_elsewhere(kind), embedded):
        if model.fits(source, target):
            return model
    raise ModelError(f"{_nothing_fits(kind, source, target)}; {_advice(kind, found, source, target)}")


def _known_elsewhere(kind: str) -> Iterator[FoundModel]:
    """Yield the catalogue's models in other programs' folders, which are searched only if nothing before them fits."""
    yield from (model for model in find_elsewhere(kind) if model.entry is not None)


def _named(kind: str, name: str, found: list[FoundModel]) -> FoundModel:
    path = Path(name).expanduser()
    if _is_gguf(path) if kind == TRANSLATOR else _kind_of(path) == kind:
        return FoundModel(path, kind, "named", entry=known_models().resembling(path.name))
    apart = _models_apart(_DOUBLE) if kind == TRANSLATOR else []
    for models in (found, apart, find_elsewhere(kind)):
        for model in models:
            if model.is_called(name):
                return model
    raise ModelError(f"{_fault_of(kind, name, path)}; {_advice(kind, found)}")


def _nothing_fits(kind: str, source: str | None, target: str | None) -> str:
    if not source and not target:
        return f"there is no {kind} here"
    return f"no {kind} here knows {source or 'any language'}" + (f" to {target}" if target else "")


def _fault_of(kind: str, name: str, path: Path) -> str:
    if not path.exists():
        is_path = os.sep in name or path.suffix == ".gguf"
        return f"there is no {'file' if is_path else kind} {name!r}"
    if kind == RECOGNISER:
        return f"{name!r} is not a recogniser: there is no model.bin in it"
    return f"{name!r} is not a {kind}: it is not a GGUF file"


def _advice(kind: str, found: list[FoundModel], source: str | None = None, target: str | None = None) -> str:
    names = ", ".join(dict.fromkeys(model.name for model in found)) or "none"
    pull = f"livetrans models pull small --from {source or 'en'} --to {target or 'de'}"
    return f"found: {names}; fetch one with `{pull}`, or {_PATHS[kind]}"


def _models_in(folder: ModelFolder) -> Iterator[FoundModel]:
    """Yield the models of a folder: pulled ones, the last pulled first, then those without a record, by name."""
    try:
        entries = sorted(folder.path.iterdir())
    except OSError:  # a folder that is not there holds no models
        return
    catalogue = known_models()
    found = [
        FoundModel(path, kind, folder.place, entry=catalogue.resembling(path.name), record=read_record(path))
        for path in entries
        if (kind := _kind_of(path))
    ]
    yield from sorted(found, key=lambda model: model.record.pulled_at if model.record else "", reverse=True)


def _is_gguf(path: Path) -> bool:
    """Return whether a file begins like a GGUF, whatever its name is."""
    try:
        with path.open("rb") as file:
            return file.read(4) == MAGIC
    except OSError:
        return False


def _kind_of(path: Path) -> str | None:
    """Return the kind of the model at a path, by its name and files alone; None if there is no model."""
    if path.suffix == ".gguf" and path.is_file():
        return TRANSLATOR
    if (path / WEIGHTS).is_file():
        return RECOGNISER
    return None
