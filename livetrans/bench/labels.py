"""What to call the runs of one table or plot, so that no two have one name."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from livetrans.bench.runfile import Run

Origin = tuple[str, ...]
"""Settings, then the file's name and its path."""
_FILE_PARTS = 2


def origin_of(run: Run) -> Origin:
    """What may tell a run apart from others, the most distinctive first."""
    header = run.header
    model, corpus = header.model, header.corpus
    return (
        f"{corpus.source_language}-{corpus.target_language}",
        run.model_name,
        corpus.name,
        model.quantisation,
        header.draft_model.file if header.draft_model else "no draft model",
        header.double_model.file if header.double_model else "no double-token model",
        f"prompt {model.prompt}",
        f"threads {model.threads}",
        "quick" if header.quick else "whole",
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
    """A short name for each origin: the first setting that differs among all, else as many parts as it takes.

    The name of a single one is empty.
    """
    different = list(dict.fromkeys(origins))
    names: dict[Origin, tuple[str, ...]] = dict.fromkeys(different, ())
    parts = range(len(different[0])) if different else range(0)
    telling = [part for part in parts if len({origin[part] for origin in different}) > 1]
    # Not a file's name, where settings say it in a few words.
    settings = [part for part in telling if part < len(parts) - _FILE_PARTS]
    enough = [part for part in settings if _apart(origin[part] for origin in different)]
    for part in enough[:1] or telling:
        if not _apart(names.values()):
            names = {origin: (*name, origin[part]) for origin, name in names.items()}
    return {origin: " ".join(name) for origin, name in names.items()}


def row_labels(runs: Iterable[Run]) -> list[str]:
    """What stands before a method of each run in a table: its name and a space, where there are several runs."""
    origins = [origin_of(run) for run in runs]
    names = tell_apart(origins)
    return [f"{names[origin]} " if names[origin] else "" for origin in origins]


def _apart(names: Iterable[Hashable]) -> bool:
    known = list(names)
    return len(set(known)) == len(known)
