"""The files that a run writes: different from each other, and from everything that it reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from livetrans.base.files import require_apart
from livetrans.config import SETTINGS, UNNAMED, Settings
from livetrans.models.find import search_folders
from livetrans.session.codec import EVENTS_FILE


def check_places(settings: Settings, inputs: Iterable[Path] = (), outputs: Iterable[tuple[str, Path]] = ()) -> None:
    """Check where a run writes, before anything is opened.

    `inputs` and `outputs`: what the command reads and writes besides, the latter with the options that name them.
    """
    places = [(setting, setting.of(settings)) for setting in SETTINGS.values()]
    named = [
        (f"--{setting.key}", Path(place))
        for setting, place in places
        if setting.option.kind in ("file", "jsonl") and place not in (None, "-")
    ]
    if settings.output.session:
        named.append(("--session", settings.output.session / EVENTS_FILE))
    # Models, and the glossary.
    read = [place for setting, place in places if setting.type == "Path" and place != UNNAMED]
    require_apart([*named, *outputs], [*inputs, *read, *search_folders()])
