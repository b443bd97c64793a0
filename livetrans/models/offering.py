"""Which models a live run offers to fetch, and what the user answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from livetrans.base.errors import ModelError, UsageError
from livetrans.config import UNNAMED, Settings
from livetrans.models.catalogue import Entry
from livetrans.models.chosen import choose_recogniser, choose_translators, fetchable_pair
from livetrans.models.find import FoundModel, pull_folder

OFFERED = "small"
"""The purpose that a live run offers to fetch."""
_DECLINED = ".declined"
"""The file with the names of models that the user did not want, one line per question."""


def lacking(settings: Settings) -> Mapping[Entry, FoundModel | None]:
    """Return those of the small pair that a run lacks: no model, or only an embedded one, knows the languages.

    Each has the embedded model that runs without it. Nothing takes the place of a model that an option or the
    configuration names; if that is an embedded one, nothing is lacking.
    """
    assert settings.recogniser is not None
    try:
        recogniser, translator = fetchable_pair(OFFERED, settings, settings.recogniser.engine)
    except UsageError:
        return {}  # The run says what is missing for these languages.
    wanted: dict[Entry, FoundModel | None] = {}
    for entry, choose, named in (
        (recogniser, lambda given: [choose_recogniser(given)], settings.recogniser.model != UNNAMED),
        (translator, choose_translators, settings.language_model.model != UNNAMED),
    ):
        model = None
        with suppress(ModelError):
            model, *_ = choose(settings)
        if named and model and model.embedded:
            return {}
        if not named and (model is None or model.embedded):
            wanted[entry] = model
    return wanted


def was_declined(entries: Iterable[Entry]) -> bool:
    """Return whether the user did not want to fetch these models."""
    with suppress(OSError, ValueError):
        return _line(entries) in (pull_folder() / _DECLINED).read_text(encoding="utf-8").splitlines(keepends=True)
    return False


def decline(entries: Iterable[Entry]) -> None:
    """Remember that the user does not want to fetch these models, as far as that can be written."""
    with suppress(OSError):
        pull_folder().mkdir(parents=True, exist_ok=True)
        with (pull_folder() / _DECLINED).open("a", encoding="utf-8") as stream:
            stream.write(_line(entries))


def _line(entries: Iterable[Entry]) -> str:
    return " and ".join(entry.name for entry in entries) + "\n"
