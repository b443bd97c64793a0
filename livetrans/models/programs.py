"""Models that other programs have fetched: found in their folders and read there, never written to.

The Hugging Face hub's cache, llama.cpp, LM Studio and Ollama keep them in the user's home folder, on macOS and Linux.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from livetrans.models.catalogue import RECOGNISER, TRANSLATOR
from livetrans.models.gguf import is_translator

_OLLAMA_MODEL = "application/vnd.ollama.image.model"
_MOST_FILES = 10_000
"""Files looked at in one folder tree, so that a wrong setting does not search a whole disk."""


@dataclass(frozen=True, slots=True)
class ModelElsewhere:
    """A model in another program's folder."""

    path: Path
    kind: str
    name: str
    """Its name in that program."""
    program: str
    sha256: str | None = None
    """Where the program names the file by its hash."""


def models_elsewhere() -> list[ModelElsewhere]:
    """Return every model in those folders that could run here, as far as its metadata says; each file once."""
    found = [*_hub_cache(), *_llama_cpp(), *_lm_studio(), *_ollama()]
    return list({model.path.resolve(): model for model in reversed(found)}.values())[::-1]


def _home(*parts: str) -> Path:
    return Path.home().joinpath(*parts)


def _named(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(os.path.expandvars(value)).expanduser() if value else None


def _cache(*parts: str) -> Path:
    return (_named("XDG_CACHE_HOME") or _home(".cache")).joinpath(*parts)


def _hub_cache() -> Iterator[ModelElsewhere]:
    home = _named("HF_HOME") or _cache("huggingface")
    folder = _named("HF_HUB_CACHE") or _named("HUGGINGFACE_HUB_CACHE") or home / "hub"
    yield from _hub_layout(folder, "Hugging Face cache")


def _llama_cpp() -> Iterator[ModelElsewhere]:
    """Files named `owner_repository_file.gguf`, or since 2026 the layout of the hub's cache."""
    usual = _home("Library", "Caches", "llama.cpp") if sys.platform == "darwin" else _cache("llama.cpp")
    folder = _named("LLAMA_CACHE") or usual
    yield from _ggufs(_entries(folder), "llama.cpp cache")
    yield from _hub_layout(folder, "llama.cpp cache")


def _lm_studio() -> Iterator[ModelElsewhere]:
    folders = [_home(".lmstudio", "models"), _home(".cache", "lm-studio", "models")]
    for settings in (_home(".lmstudio", "settings.json"), _home(".cache", "lm-studio", "settings.json")):
        chosen = _json(settings).get("downloadsFolder")
        if isinstance(chosen, str) and chosen:
            folders.insert(0, Path(chosen).expanduser())
    for folder in folders:
        yield from _ggufs(_walk(folder), "LM Studio")


def _ollama() -> Iterator[ModelElsewhere]:
    """Manifests `registry/namespace/model/tag`, whose layers name blobs by their hash."""
    usual = (_home(".ollama", "models"), Path("/usr/share/ollama/.ollama/models"))
    named = _named("OLLAMA_MODELS")
    for folder in (named,) if named else usual:
        for manifest in _walk(folder / "manifests"):
            layers = _json(manifest).get("layers")
            for layer in layers if isinstance(layers, list) else ():
                if not isinstance(layer, dict) or layer.get("mediaType") != _OLLAMA_MODEL:
                    continue
                algorithm, _, digest = str(layer.get("digest")).partition(":")
                blob = folder / "blobs" / f"{algorithm}-{digest}"
                if digest.isalnum() and is_translator(blob):
                    name = f"{manifest.parent.name}:{manifest.name}"
                    yield ModelElsewhere(blob, TRANSLATOR, name, "Ollama", digest if algorithm == "sha256" else None)


def _hub_layout(folder: Path, program: str) -> Iterator[ModelElsewhere]:
    """`models--owner--repository/snapshots/commit/...`: the commit of `main`, or the last one written."""
    for repository in _entries(folder):
        if not repository.name.startswith("models--"):
            continue
        snapshots = sorted(_entries(repository / "snapshots"), key=lambda path: path.stat().st_mtime)
        main = _text(repository / "refs" / "main")
        snapshot = next((path for path in snapshots if path.name == main), snapshots[-1] if snapshots else None)
        if snapshot is None:
            continue
        name = repository.name.removeprefix("models--").replace("--", "/", 1)
        if (snapshot / "model.bin").is_file() and (snapshot / "config.json").is_file():
            if any(snapshot.glob("vocabulary.*")):
                yield ModelElsewhere(snapshot, RECOGNISER, name, program)
        yield from _ggufs(_walk(snapshot), program)


def _ggufs(paths: Iterator[Path], program: str) -> Iterator[ModelElsewhere]:
    for path in paths:
        if path.suffix == ".gguf" and is_translator(path):
            yield ModelElsewhere(path, TRANSLATOR, path.name, program)


def _entries(folder: Path) -> Iterator[Path]:
    """Yield the entries of a folder, sorted; none if it cannot be read."""
    try:
        yield from sorted(folder.iterdir())
    except OSError:
        return


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, in the order of their paths."""
    count = 0
    for root, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            count += 1
            if count > _MOST_FILES:
                return
            yield Path(root, name)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""


def _json(path: Path) -> dict[str, object]:
    """Return the object in a JSON file; an empty one if there is none."""
    try:
        content = json.loads(_text(path) or "{}")
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
