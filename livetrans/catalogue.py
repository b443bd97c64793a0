"""Which models there are, and where. Only names and sizes are read: nothing is loaded, and nothing is ever downloaded.

A model is searched by the path or name that was given, then in these folders:

1. the folders in the environment variable LIVETRANS_MODELS;
2. `models/` of the source tree, or of the installed package;
3. `livetrans/models` in the user's data folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from livetrans.errors import ModelError

MODELS_VARIABLE = "LIVETRANS_MODELS"
RECOGNISER_VARIABLE = "LIVETRANS_ASR_MODEL"
TRANSLATOR_VARIABLE = "LIVETRANS_MT_MODEL"

RECOGNISER = "recogniser"
TRANSLATOR = "translator"

_HOW_TO_POINT = {
    RECOGNISER: "point to a faster-whisper folder (one that holds model.bin) with --asr",
    TRANSLATOR: "point to a GGUF file with --mt",
}
_OWN_PREFIX = "livetrans-"


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder that may hold models."""

    path: Path
    place: str
    """How it is called in listings: an environment variable, `livetrans` or `user data`."""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model on disk."""

    path: Path
    """A GGUF file, or the folder of a recogniser."""
    kind: str
    """`recogniser` or `translator`."""
    place: str

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def size_bytes(self) -> int:
        files = self.path.iterdir() if self.path.is_dir() else [self.path]
        return sum(file.stat().st_size for file in files if file.is_file())

    @property
    def languages(self) -> tuple[str, ...]:
        """The one language of an embedded recogniser, or the one pair of an embedded translator.

        Empty for any other model. Their names end in it: `livetrans-recogniser-en`, `livetrans-en-de.q8_0.gguf`.
        """
        if not self.name.startswith(_OWN_PREFIX):
            return ()
        parts = self.name.split(".")[0].split("-")
        return tuple(parts[-1:] if self.kind == RECOGNISER else parts[-2:])

    def fits(self, source: str | None, target: str | None) -> bool:
        """Whether the model may serve these languages; None stands for any."""
        return all(
            wanted is None or wanted == known for known, wanted in zip(self.languages, (source, target), strict=False)
        )


def source_tree() -> Path | None:
    """The checkout that this package runs from; None for an installed one."""
    tree = Path(__file__).resolve().parent.parent
    return tree if (tree / "pyproject.toml").is_file() else None


def data_folder(name: str) -> Path:
    """`models` or `recordings` of the source tree or of the installed package; it need not exist."""
    tree = source_tree()
    return tree / name if tree else Path(__file__).resolve().parent / "data" / name


def search_folders() -> list[ModelFolder]:
    """The folders searched, first to last; each need not exist."""
    import platformdirs

    named = os.environ.get(MODELS_VARIABLE, "")
    folders = [ModelFolder(Path(part), MODELS_VARIABLE) for part in named.split(os.pathsep) if part]
    folders.append(ModelFolder(data_folder("models"), "livetrans"))
    folders.append(ModelFolder(platformdirs.user_data_path("livetrans", appauthor=False) / "models", "user data"))
    return folders


def find_models(kind: str | None = None) -> list[FoundModel]:
    """Every model in the search folders, in the order in which they are preferred."""
    found = [model for folder in search_folders() for model in _models_in(folder) if kind in (None, model.kind)]
    # The embedded models come first wherever they are: a download must not change what runs by default.
    return sorted(found, key=lambda model: not model.name.startswith(_OWN_PREFIX))


def find_recogniser(name: str | None = None, *, language: str | None = None) -> FoundModel:
    """The recogniser `name` (path or name), else that of LIVETRANS_ASR_MODEL, else the first for `language`.

    Raises:
        ModelError: there is none; the sentence lists what was found.
    """
    return _find(RECOGNISER, name or os.environ.get(RECOGNISER_VARIABLE), language, None)


def find_translator(name: str | None = None, *, source: str | None = None, target: str | None = None) -> FoundModel:
    """The translator `name` (path or name), else that of LIVETRANS_MT_MODEL, else the first for the pair.

    Raises:
        ModelError: there is none; the sentence lists what was found.
    """
    return _find(TRANSLATOR, name or os.environ.get(TRANSLATOR_VARIABLE), source, target)


def find_draft_model(name: str) -> Path:
    """The draft model `name`: a path, a translator's name, or a name in a folder `drafts` beside the translators.

    Raises:
        ModelError: there is none; the sentence lists what was found.
    """
    path = Path(name).expanduser()
    if _is_gguf(path):
        return path
    drafts = [replace(folder, path=folder.path / "drafts") for folder in search_folders()]
    found = [*find_models(TRANSLATOR), *(model for folder in drafts for model in _models_in(folder))]
    for model in found:
        if name in (model.name, model.path.stem, model.name.split(".")[0]):
            return model.path
    names = ", ".join(dict.fromkeys(model.name for model in found)) or "none"
    raise ModelError(f"there is no draft model {name!r}; found: {names}; point to a GGUF file with --draft-model")


def _find(kind: str, name: str | None, source: str | None, target: str | None) -> FoundModel:
    found = find_models(kind)
    if name:
        path = Path(name).expanduser()
        if _is_gguf(path) if kind == TRANSLATOR else _kind_of(path) == kind:
            return FoundModel(path, kind, "named")
        for model in found:
            if name in (model.name, model.path.stem, model.name.split(".")[0]):
                return model
        raise ModelError(f"{_fault_of(kind, name, path)}; {_advice(kind, found)}")
    for model in found:
        if model.fits(source, target):
            return model
    wanted = f"for {source or 'any language'}" + (f" to {target}" if target else "")
    raise ModelError(f"no {kind} {wanted if source or target else 'at all'} was found; {_advice(kind, found)}")


def _fault_of(kind: str, name: str, path: Path) -> str:
    if not path.exists():
        return f"there is no {kind} {name!r}"
    if kind == RECOGNISER:
        return f"{name!r} is not a recogniser: there is no model.bin in it"
    return f"{name!r} is not a translator: it is not a GGUF file"


def _advice(kind: str, found: list[FoundModel]) -> str:
    names = ", ".join(dict.fromkeys(model.name for model in found)) or "none"
    return f"found: {names}; {_HOW_TO_POINT[kind]}, or put one into a folder named by {MODELS_VARIABLE}"


def _models_in(folder: ModelFolder) -> Iterator[FoundModel]:
    try:
        entries = sorted(folder.path.iterdir())
    except OSError:  # a folder that is not there holds no models
        return
    for path in entries:
        kind = _kind_of(path)
        if kind:
            yield FoundModel(path, kind, folder.place)


def _is_gguf(path: Path) -> bool:
    """Whether a file begins like a GGUF, whatever its name is."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"GGUF"
    except OSError:
        return False


def _kind_of(path: Path) -> str | None:
    """The kind of model at a path, by its name and files alone."""
    if path.suffix == ".gguf" and path.is_file():
        return TRANSLATOR
    if (path / "model.bin").is_file():
        return RECOGNISER
    return None
