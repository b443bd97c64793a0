"""Fetching models for a user: what is missing, what it costs, a yes, a progress bar; and what to do without them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Mapping
from itertools import chain

import click

from livetrans.cli.messages import confirmed, progress_bar, say
from livetrans.config import UNNAMED, Settings
from livetrans.errors import LivetransError, ModelError, UsageError
from livetrans.models.catalogue import RECOGNISER, Entry
from livetrans.models.chosen import chosen_recogniser, chosen_translator, fetched_pair, pair_of
from livetrans.models.engines import on_apple_silicon
from livetrans.models.find import (
    FoundModel,
    find_elsewhere,
    find_models,
    find_named,
    pull_folder,
    size_on_disk,
)
from livetrans.models.hub import is_offline
from livetrans.models.pulls import completed, pull, read_receipt
from livetrans.text import file_size

OFFERED = "small"
"""The purpose that `mic` offers to fetch."""
_DECLINED = ".declined"
"""The file with the names of models that the user did not want, a line for each question."""


def pull_all(entries: tuple[Entry, ...], *, yes: bool, offered: bool = False) -> bool:
    """Fetch the models that are not here, after a yes where a terminal can give one; False after a no.

    `offered`: the user did not ask for them, so that Enter alone is a no.

    Raises:
        UsageError: a restricted licence, without a terminal or --yes to accept it; or no such model.
        ModelError: a model cannot be fetched.
        click.Abort: the question was left with Ctrl-C.
    """
    missing: list[Entry] = []
    for entry in entries:
        model = find_named(entry.name, chain(find_models(entry.kind), find_elsewhere(entry.kind)))
        if model is None:
            missing.append(entry)
        else:
            say(f"{entry.name} is here already: {model.path} ({model.place})")
    if not missing:
        return True
    restricted = [entry for entry in missing if entry.restriction]
    if restricted and not yes and not _is_at_a_terminal():
        raise UsageError(f"{restricted[0].name}: {restricted[0].restriction}; add --yes if you accept this")
    missing = [entry if entry.size else completed(entry) for entry in missing]
    for entry in missing:
        restriction = f" ({entry.restriction})" if entry.restriction else ""
        size = file_size(entry.size or 0)
        say(f"{entry.name} from {entry.repository}: {size}, licence: {entry.licence}{restriction}")
        if entry.mac_speed and on_apple_silicon():
            say(f"  published speed: {entry.mac_speed}")
    if not yes and _is_at_a_terminal():
        question = f"Fetch {file_size(sum(entry.size or 0 for entry in missing))} into {pull_folder()}?"
        if not confirmed(question, default=not offered and not restricted):
            return False
    for entry in missing:
        _pull_one(entry)
    if not offered:
        say("`livetrans doctor` measures whether this machine keeps up.")
    return True


def offer_models(settings: Settings, *, yes: bool) -> None:
    """Offer what is missing of the small pair: where only an embedded model, or none, knows the languages.

    Models that an option or the configuration names are never replaced. If an embedded one is named, nothing is
    offered.
    """
    assert settings.recogniser is not None
    try:
        recogniser, translator = fetched_pair(OFFERED, settings, settings.recogniser.engine)
    except UsageError:
        return  # Nothing is known for these languages; what is missing is said when the models are searched.
    wanted: dict[Entry, FoundModel | None] = {}
    wants_embedded = False
    for entry, path in ((recogniser, settings.recogniser.model), (translator, settings.language_model.model)):
        model: FoundModel | None = None
        with contextlib.suppress(ModelError):  # a name that is not known is refused when the run begins
            if entry is recogniser:
                model = chosen_recogniser(settings, settings.recogniser)
            else:
                model = chosen_translator(settings)
        if path != UNNAMED:
            wants_embedded = wants_embedded or (model is not None and model.embedded)
        elif model is None or model.embedded:
            wanted[entry] = model
    if not wanted:
        return
    if yes:
        pull_all(tuple(wanted), yes=True)
    elif _is_at_a_terminal() and not wants_embedded and not is_offline() and _names(wanted) not in _declined():
        say(f"Captions of people, {' to '.join(pair_of(settings))}, need models that are not on this machine.")
        _ask(wanted)


def _ask(wanted: Mapping[Entry, FoundModel | None]) -> None:
    """Fetch models after a yes; after a no, or where they cannot be fetched, go on with what is here.

    A no is remembered: the same models are not offered again.

    Raises:
        LivetransError: the models cannot be fetched, and there are no others.
        click.Abort: after a fetch that failed, the user does not want to go on.
    """
    can_go_on = all(wanted.values())
    try:
        if pull_all(tuple(wanted), yes=False, offered=True) or not can_go_on:
            return
    except LivetransError as fault:
        if not can_go_on:
            raise
        say(f"livetrans: {fault}")
        if not confirmed("Go on with the models that are here?", default=True):
            raise click.Abort from None
        return
    with contextlib.suppress(OSError):
        pull_folder().mkdir(parents=True, exist_ok=True)
        with (pull_folder() / _DECLINED).open("a", encoding="utf-8") as stream:
            stream.write(_names(wanted) + "\n")
    instead = " and ".join(model.name for model in wanted.values() if model is not None)
    say(f"Going on with {instead}. This is not asked again; `livetrans models pull NAME` fetches {_names(wanted)}.")


def _declined() -> list[str]:
    with contextlib.suppress(OSError, ValueError):
        return (pull_folder() / _DECLINED).read_text(encoding="utf-8").splitlines()
    return []


def _names(entries: Iterable[Entry]) -> str:
    return " and ".join(entry.name for entry in entries)


def _is_at_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _pull_one(entry: Entry) -> None:
    with progress_bar() as progress:
        task = progress.add_task(entry.name, total=entry.size)

        def show(arrived: int, total: int) -> None:
            description = f"{entry.name}: {file_size(arrived)} of {file_size(total)}"
            progress.update(task, description=description, completed=arrived, total=total)

        try:
            path = pull(entry, pull_folder(), show)
        except KeyboardInterrupt:
            progress.stop()
            say("what arrived is kept; the same command goes on from there")
            raise
    receipt = read_receipt(path)
    assert receipt is not None
    say(f"{entry.name} is in {path} ({file_size(size_on_disk(path))}, commit {receipt.commit[:8]}, hashes checked)")
    if entry.kind == RECOGNISER and entry.codes == ("en",):
        say(f"{entry.name} understands English only")
