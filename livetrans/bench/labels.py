"""What to call the runs of one table or plot, so that no two have one name."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from livetrans.bench.runfile import Run

Origin = tuple[str, ...]


def origin_of(run: Run) -> Origin:
    """What may tell a run apart from others, the most telling first; the file's path is its own."""
    header = run.header
    model, corpus = header.model, header.corpus
    return (
        f"{corpus.source_language}-{corpus.target_language}",
        run.model_name,
        corpus.name,
        model.quantisation,
        f"prompt {model.prompt}",
        f"threads {model.threads}",
        f"segments {corpus.segments}",
        f"step {corpus.step}",
        f"minimum {corpus.minimum_words}",
        f"{header.time} time",
        f"livetrans {header.versions.get('livetrans', '?')}",
        str(header.machine.get("processor", "")),
        run.path.name,
        str(run.path),
    )


def tell_apart(origins: Iterable[Origin]) -> dict[Origin, str]:
    """A short name for each origin: the first part that differs among all, else as many as it takes; empty for one."""
    different = list(dict.fromkeys(origins))
    names: dict[Origin, tuple[str, ...]] = dict.fromkeys(different, ())
    parts = range(len(different[0])) if different else ()
    telling = [part for part in parts if len({origin[part] for origin in different}) > 1]
    enough = [part for part in telling if _apart(origin[part] for origin in different)]
    for part in enough[:1] or telling:
        if not _apart(names.values()):
            names = {origin: (*name, origin[part]) for origin, name in names.items()}
    return {origin: " ".join(name) for origin, name in names.items()}


def _apart(names: Iterable[Hashable]) -> bool:
    known = list(names)
    return len(set(known)) == len(known)
