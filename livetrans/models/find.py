"""The models on this machine, and which of them a run takes. Nothing is loaded, and nothing is fetched here.

A model that is named, by its path or as `livetrans models` lists it, is taken wherever it is. Otherwise the first that
fits the languages is taken, of

1. the folders in the environment variable LIVETRANS_MODELS;
2. `models/` of the source tree, or of the installed package, without the embedded models;
3. `livetrans/models` in the user's data folder: what was pulled last, then the others;
4. models of the catalogue file in the caches of the Hugging Face hub and of llama.cpp, which are never written to;
5. the embedded models.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from livetrans.errors import ModelError
from livetrans.installation import data_folder, user_folder
from livetrans.models.catalogue import (
    RECOGNISER,
    STATEFUL_ADVICE,
    TRANSLATOR,
    WEIGHTS,
    Catalogue,
    Entry,
    knows_pair,
    names_of,
    read_catalogue,
)
from livetrans.models.engines import WHISPER_CPP, engine_of, engines_of, is_whisper_cpp
from livetrans.models.gguf import family, is_gguf, is_stateful, is_translator
from livetrans.models.hub import cached_files
from livetrans.models.pulls import Receipt, read_receipt, receipt_path

MODELS_VARIABLE = "LIVETRANS_MODELS"
RECOGNISER_VARIABLE = "LIVETRANS_ASR_MODEL"
TRANSLATOR_VARIABLE = "LIVETRANS_MT_MODEL"

_PATHS = {
    RECOGNISER: "give the path of a faster-whisper folder (it holds model.bin) or of a whisper.cpp file with --asr",
    TRANSLATOR: "give the path of a GGUF file with --mt",
}
_DOUBLE = "double"
"""The folder of double-token models."""
_EMBEDDED_PREFIX = "livetrans-"


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model on disk."""

    path: Path
    """A GGUF file, or the folder or file of a recogniser."""
    kind: str
    """`recogniser` or `translator`."""
    place: str
    """Where it was found: the name of a search folder, or another program's cache."""
    called: str | None = None
    """Its name where that is not the file's: in another program's cache."""
    entry: Entry | None = None
    """Its entry in the catalogue file."""
    receipt: Receipt | None = None
    """Of a model that was pulled; None also where the receipt is damaged."""

    @property
    def name(self) -> str:
        return self.called or self.path.name

    @property
    def pulled(self) -> bool:
        """Whether it was fetched by livetrans."""
        return receipt_path(self.path).exists()

    @property
    def engine(self) -> str:
        """The engine that computes a recogniser."""
        return engine_of(self.path)

    @property
    def embedded(self) -> bool:
        """Whether it ships with livetrans."""
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
        """The family of a translator's prompt, where the catalogue says it; else the model's metadata decide."""
        return self.entry.prompt if self.entry else None

    @property
    def family(self) -> str | None:
        """The family of a translator's prompt; None if unknown."""
        return None if self.kind != TRANSLATOR or self.embedded else self.prompt or family(self.path)

    def is_called(self, name: str) -> bool:
        """Return whether a name means this model: its file's or folder's, its name elsewhere, or any of its entry's."""
        names = [self.name, *names_of(self.path.name), *([self.receipt.name] if self.receipt else [])]
        called = name.casefold() in {known.casefold() for known in names}
        return called or (self.entry is not None and self.entry.is_called(name))

    def fits(self, *codes: str | None) -> bool:
        """Return whether the model may serve these languages, the spoken one first; None is any language."""
        if self.kind == TRANSLATOR and not self.embedded:
            return knows_pair(self.family, *codes) and is_gguf(self.path) and not is_stateful(self.path)
        if self.entry is not None:
            return self.entry.knows(*codes)
        known = self.languages
        return not known or (
            len(codes) <= len(known) and all(wanted in (None, code) for code, wanted in zip(known, codes, strict=False))
        )


def size_on_disk(model: Path) -> int:
    """Return the bytes of a GGUF file, or of the files in a recogniser's folder."""
    files = model.iterdir() if model.is_dir() else [model]
    return sum(file.stat().st_size for file in files if file.is_file())


def is_embedded(path: Path) -> bool:
    """Return whether a model ships with livetrans, by its name."""
    return path.name.startswith(_EMBEDDED_PREFIX)


def known_models() -> Catalogue:
    """Return the catalogue that ships with livetrans."""
    return read_catalogue(data_folder("models") / "catalogue.toml")


def pull_folder() -> Path:
    """Return the folder that models are fetched to; it need not exist."""
    return user_folder("data") / "models"


def search_folders() -> dict[Path, str]:
    """Return the folders to search, first to last, with their names in listings; they need not exist."""
    named = os.environ.get(MODELS_VARIABLE, "")
    folders = {Path(part): MODELS_VARIABLE for part in named.split(os.pathsep) if part}
    return folders | {data_folder("models"): "livetrans", pull_folder(): "user data"}


def find_models(kind: str | None = None) -> list[FoundModel]:
    """Return every model in the search folders, the preferred ones first."""
    found = chain.from_iterable(_models_in(folder, place) for folder, place in search_folders().items())
    return sorted((model for model in found if kind in (None, model.kind)), key=lambda model: model.embedded)


def find_elsewhere(kind: str | None = None) -> list[FoundModel]:
    """Return models in other programs' caches, in no search folder and each once; those of the catalogue first."""
    searched = [folder.resolve() for folder in search_folders()]
    found = {
        model.path.resolve(): model
        for model in _cached_models()
        if kind in (None, model.kind) and model.path.resolve().parent not in searched
    }
    return sorted(found.values(), key=lambda model: model.entry is None)


def find_named(name: str, models: Iterable[FoundModel]) -> FoundModel | None:
    """Return the first of the models that a name means."""
    return next((model for model in models if model.is_called(name)), None)


def find_recogniser(
    name: str | None = None, *, language: str | None = None, engine: str = "auto", pair: tuple[str, str] | None = None
) -> FoundModel:
    """Return the recogniser `name` (path or name), else that of LIVETRANS_ASR_MODEL, else the first for `language`.

    `engine` is one of `livetrans.config.ENGINES`: the engines whose models are looked at where none is named. `pair`
    has --from and --to of the `models pull` that is advised, where a run has more languages than this.

    Raises:
        ModelError: there is none; the sentence lists what was found.
    """
    name = name or os.environ.get(RECOGNISER_VARIABLE)
    return _find(RECOGNISER, name, language, engines=engines_of(engine), pair=pair)


def find_translator(
    name: str | None = None,
    *,
    source: str | None = None,
    targets: Sequence[str] = (),
    pair: tuple[str, str] | None = None,
) -> FoundModel:
    """Return the translator `name` (path or name), else that of LIVETRANS_MT_MODEL, else the first for the languages.

    `pair` is that of `find_recogniser`.

    Raises:
        ModelError: there is none; the sentence lists what was found.
    """
    return _find(TRANSLATOR, name or os.environ.get(TRANSLATOR_VARIABLE), source, *targets, pair=pair)


def find_draft_model(name: str) -> Path:
    """Return the draft model `name`: a path, a translator's name, or a name in a folder `drafts` beside translators.

    Raises:
        ModelError: there is none; the sentence lists what was found.
    """
    return _named("draft model", name, [*find_models(TRANSLATOR), *_models_apart("drafts")]).path


def find_double_model(name: str) -> Path:
    """Return the double-token model `name`: a path, or a name in a folder `double` beside translators.

    Raises:
        ModelError: there is none; the sentence lists what was found.
    """
    return _named("double-token model", name, _models_apart(_DOUBLE)).path


def _models_apart(name: str) -> list[FoundModel]:
    """Return the models in folders of that name beside translators: no run takes them unless it names them."""
    return [model for folder, place in search_folders().items() for model in _models_in(folder / name, place)]


def _find(
    kind: str,
    name: str | None,
    source: str | None,
    *targets: str,
    engines: tuple[str, ...] = (),
    pair: tuple[str, str] | None = None,
) -> FoundModel:
    found = find_models(kind)
    if name:
        return _named(kind, name, found + (_models_apart(_DOUBLE) if kind == TRANSLATOR else []))
    others = [model for model in found if not model.embedded]
    # The caches are searched only if nothing before them fits.
    fitting = (
        model
        for model in chain(others, _known_elsewhere(kind), found[len(others) :])
        if (not engines or model.engine in engines) and model.fits(source, *targets)
    )
    if best := _first(fitting, engines):
        return best
    if source or targets:
        shown = [target for target in targets if target != source]
        into = f" to {' and '.join(shown)}" if shown else ""
        back = " and back" if shown and source in targets else ""
        of = f" of {' or '.join(engines)}" if any(engines and model.engine not in engines for model in found) else ""
        fault = f"no {kind}{of} here knows {source or 'any language'}{into}{back}"
    else:
        fault = f"there is no {kind} here"
    spoken, read = pair or (source or "en", ",".join(targets) or ("en" if source == "de" else "de"))
    fetch = f"small --from {spoken} --to {read}"
    raise _missing(kind, fault, found, f"{fetch} --engine {WHISPER_CPP}" if engines == (WHISPER_CPP,) else fetch)


def _first(models: Iterator[FoundModel], engines: tuple[str, ...]) -> FoundModel | None:
    """Return the first model of the first engine that has one; an embedded one only where there is no other."""
    first = next(models, None)
    if first is None or len(engines) < 2 or first.engine == engines[0]:
        return first
    return next((model for model in models if model.engine == engines[0] and not model.embedded), first)


def _known_elsewhere(kind: str) -> Iterator[FoundModel]:
    """Yield the catalogue's models in other programs' caches."""
    yield from (model for model in find_elsewhere(kind) if model.entry is not None)


def _named(kind: str, name: str, found: list[FoundModel]) -> FoundModel:
    """Return the model of a kind, which may be a draft or double-token model too, at a path or of a name."""
    path = Path(name).expanduser()
    if _kind_of(path) == kind if kind == RECOGNISER else is_gguf(path):
        model: FoundModel | None = _describe(path, kind, "named")
    else:
        model = find_named(name, found) or find_named(name, find_elsewhere(kind))
    if model is None:
        if path.exists():
            lacking = "there is no model.bin in it" if kind == RECOGNISER else "it is not a GGUF file"
            fault = f"{name!r} is not a {kind}: {lacking}"
        else:
            fault = f"there is no {'file' if os.sep in name or path.suffix == '.gguf' else kind} {name!r}"
        entry = known_models().entry(name)
        raise _missing(kind, fault, found, entry.name if entry and entry.kind == kind else "small --from en --to de")
    if kind == TRANSLATOR and is_stateful(model.path):
        raise ModelError(f"{model.name} {STATEFUL_ADVICE}")
    return model


def _missing(kind: str, fault: str, found: list[FoundModel], fetch: str) -> ModelError:
    names = ", ".join(dict.fromkeys(model.name for model in found)) or "none"
    if kind in _PATHS:
        advice = f"fetch one with `livetrans models pull {fetch}`, or {_PATHS[kind]}"
    else:
        advice = "give the path of a GGUF file"
    return ModelError(f"{fault}; found: {names}; {advice}")


def _describe(path: Path, kind: str, place: str, called: str | None = None, sha256: str | None = None) -> FoundModel:
    """Return a model with its receipt and its entry in the catalogue: by the hash of its weights, else by its name."""
    try:
        receipt = read_receipt(path)
    except ModelError:  # `livetrans models verify` names it
        receipt = None
    name = (called or path.name).rpartition("/")[2]
    entry = known_models().entry(name, sha256 or (receipt.sha256 if receipt else None))
    return FoundModel(path, kind, place, called, entry if entry and entry.kind == kind else None, receipt)


def _models_in(folder: Path, place: str) -> list[FoundModel]:
    """Return the models of a folder: pulled ones, the last pulled first, then those without a receipt, by name."""
    try:
        paths = sorted(folder.iterdir())
    except OSError:  # a folder that is not there holds no models
        return []
    found = [_describe(path, kind, place) for path in paths if (kind := _kind_of(path))]
    return sorted(found, key=lambda model: model.receipt.pulled_at if model.receipt else "", reverse=True)


def _cached_models() -> Iterator[FoundModel]:
    """Yield the models that the hub's library and llama.cpp keep; both name repositories' files by their hashes.

    llama.cpp's cache also has files named `owner_repository_file.gguf`, of versions before 2026.
    """
    import platformdirs

    usual = platformdirs.user_cache_path("llama.cpp", appauthor=False)
    llama = Path(os.environ.get("LLAMA_CACHE") or usual).expanduser()
    for folder, place in ((None, "Hugging Face cache"), (llama, "llama.cpp cache")):
        for repository, file, sha256 in cached_files(folder):
            if file.name == WEIGHTS and (file.parent / "config.json").is_file():
                yield _describe(file.parent, RECOGNISER, place, repository, sha256)
            elif is_whisper_cpp(file):
                yield _describe(file, RECOGNISER, place, sha256=sha256)
            elif file.suffix == ".gguf" and is_translator(file):
                yield _describe(file, TRANSLATOR, place, sha256=sha256)
    for file in sorted(llama.glob("*.gguf")):
        if is_translator(file):
            yield _describe(file, TRANSLATOR, "llama.cpp cache")


def _kind_of(path: Path) -> str | None:
    """Return the kind of the model at a path, by its name and files alone; None if there is no model."""
    if path.suffix == ".gguf" and path.is_file():
        return TRANSLATOR
    if (path / WEIGHTS).is_file() or is_whisper_cpp(path):
        return RECOGNISER
    return None
