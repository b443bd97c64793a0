"""Which models a live run offers to fetch, and what the user answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from livetrans.base.errors import ModelError
from livetrans.config import UNNAMED, Settings
from livetrans.models.catalogue import RECOGNISER, TRANSLATOR
from livetrans.models.chosen import choose_recogniser, choose_translators
from livetrans.models.find import FoundModel, pull_folder

_DECLINED = ".declined"
"""The file with the kinds of models that the user did not want, one line per question."""


def lacking(settings: Settings) -> Mapping[str, FoundModel | None]:
    """Return the kinds of models that a run lacks: no model, or only an embedded one, knows the languages.

    Each has the embedded model that runs without it. Nothing takes the place of a model that an option or the
    configuration names; if that is an embedded one, nothing is lacking.
    """
    assert settings.recogniser is not None
    wanted: dict[str, FoundModel | None] = {}
    needed = [(RECOGNISER, _recognisers, settings.recogniser.model != UNNAMED)]
    if not settings.language_model.server:
        needed.append((TRANSLATOR, choose_translators, settings.language_model.model != UNNAMED))
    for kind, choose, named in needed:
        model = None
        with suppress(ModelError):
            model, *_ = choose(settings)
        if named and model and model.embedded:
            return {}
        if not named and (model is None or model.embedded):
            wanted[kind] = model
    return wanted


def _recognisers(settings: Settings) -> list[FoundModel]:
    return [choose_recogniser(settings)]


def was_declined(kinds: Iterable[str]) -> bool:
    """Return whether the user did not want to fetch models of these kinds."""
    with suppress(OSError, ValueError):
        return _line(kinds) in (pull_folder() / _DECLINED).read_text(encoding="utf-8").splitlines(keepends=True)
    return False


def decline(kinds: Iterable[str]) -> None:
    """Remember that the user does not want to fetch models of these kinds, as far as that can be written."""
    with suppress(OSError):
        pull_folder().mkdir(parents=True, exist_ok=True)
        with (pull_folder() / _DECLINED).open("a", encoding="utf-8") as stream:
            stream.write(_line(kinds))


def _line(kinds: Iterable[str]) -> str:
    return " and ".join(kinds) + "\n"
