"""The files that a run writes: different from each other, and from everything that it reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from livetrans.base.files import require_apart
from livetrans.config import UNNAMED, Settings
from livetrans.models.find import search_folders
from livetrans.session.codec import EVENTS_FILE


def check_places(settings: Settings, inputs: Iterable[Path] = (), outputs: Iterable[tuple[str, Path]] = ()) -> None:
    """Check where a run writes, before anything is opened.

    `inputs` and `outputs`: what the command reads and writes besides, the latter with the options that name them.

    Raises:
        UsageError: two outputs are one file, or one is what is read.
    """
    output = settings.output
    named = [
        ("--jsonl", Path(output.jsonl) if output.jsonl not in (None, "-") else None),
        ("--caption-file", output.caption_file),
        ("--session", output.session / EVENTS_FILE if output.session else None),
    ]
    models = [
        settings.language_model.model,
        *([settings.recogniser.model] if settings.recogniser else []),
        *([settings.draft_model.model] if settings.draft_model else []),
        *([settings.between.model] if settings.between else []),
    ]
    read = [path for path in (*inputs, *models, settings.prompt.glossary_file) if path != UNNAMED]
    require_apart([*((option, path) for option, path in named if path), *outputs], [*read, *search_folders()])
