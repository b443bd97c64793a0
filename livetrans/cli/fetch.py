"""Fetching models for a user: what is missing, what it costs, a yes, a progress bar; and what to do without them."""

from __future__ import annotations

import contextlib
import platform
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import chain
from pathlib import Path

import click

from livetrans.cli.common import confirmed, progress_bar, say, say_above
from livetrans.config import Settings
from livetrans.errors import LivetransError, ModelError, UsageError
from livetrans.languages import AUTO
from livetrans.models.catalogue import RECOGNISER, Entry
from livetrans.models.chosen import hardest, model_name, spoken_code
from livetrans.models.find import (
    FoundModel,
    find_elsewhere,
    find_models,
    find_named,
    find_recogniser,
    find_translator,
    known_models,
    pull_folder,
)
from livetrans.models.hub import is_offline
from livetrans.models.pulls import completed, pull, read_receipt
from livetrans.text import file_size

OFFERED = "small"
"""The purpose that `mic` offers to fetch."""


def on_this_machine(entry: Entry) -> FoundModel | None:
    """Return the model of the entry on this machine, in our folders or in another program's cache."""
    return find_named(entry.name, chain(find_models(entry.kind), find_elsewhere(entry.kind)))


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
        model = on_this_machine(entry)
        if model is None:
            missing.append(entry)
        else:
            say(f"{entry.name} is here already: {model.path} ({model.place})")
    if not missing:
        return True
    asked = not yes and _is_asked_on_a_terminal()
    restricted = [entry for entry in missing if entry.restriction]
    if restricted and not yes and not asked:
        raise UsageError(f"{restricted[0].name}: {restricted[0].restriction}; add --yes if you accept this")
    total = 0
    missing = [entry if entry.size else completed(entry) for entry in missing]
    for entry in missing:
        size = entry.size or 0
        restriction = f" ({entry.restriction})" if entry.restriction else ""
        say(f"{entry.name} from {entry.repository}: {file_size(size)}, licence: {entry.licence}{restriction}")
        if speed := known_models().speed(entry, f"{platform.system()} {platform.machine()}"):
            say(f"  published speed: {speed.figure} ({speed.source})")
        total += size
    if asked:
        question = f"Fetch {file_size(total)} into {pull_folder()}?"
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
    asr, mt = model_name(settings.recogniser.model), model_name(settings.language_model.model)
    source = None if settings.source_language == AUTO else settings.source_language
    try:
        spoken = hardest([spoken_code(code) for code in settings.sources])
        recogniser, translator = known_models().pair(OFFERED, spoken, *settings.targets)
    except UsageError:
        return  # Nothing is known for these languages; what is missing is said when the models are searched.
    here: dict[Entry, FoundModel | None] = {}
    if not asr:
        here[recogniser] = _found(partial(find_recogniser, language=spoken))
    if not mt:
        target, *others = settings.targets
        here[translator] = _found(partial(find_translator, source=source, target=target, others=others))
    wanted = {entry: model for entry, model in here.items() if model is None or model.embedded}
    if not wanted:
        return
    if yes:
        pull_all(tuple(wanted), yes=True)
    elif _is_asked_on_a_terminal() and not _names_embedded(asr, mt) and not is_offline() and not _is_declined(wanted):
        pair = f"{','.join(settings.sources)} to {','.join(settings.targets)}"
        say(f"Captions of people, {pair}, need models that are not on this machine.")
        _ask(wanted)


def _ask(wanted: Mapping[Entry, FoundModel | None]) -> None:
    """Fetch models after a yes; after a no, or where they cannot be fetched, go on with what is here.

    A no is remembered: the same models are not offered again.

    Raises:
        LivetransError: the models cannot be fetched, and there are no others.
        click.Abort: after a fetch that failed, the user does not want to go on.
    """
    instead = " and ".join(model.name for model in wanted.values() if model is not None)
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
        _declined().parent.mkdir(parents=True, exist_ok=True)
        with _declined().open("a", encoding="utf-8") as stream:
            stream.write(_names(wanted) + "\n")
    say(f"Going on with {instead}. This is not asked again; `livetrans models pull NAME` fetches {_names(wanted)}.")


def _declined() -> Path:
    """Return the file with the names of models that the user did not want, a line for each question."""
    return pull_folder() / ".declined"


def _is_declined(wanted: Iterable[Entry]) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return _names(wanted) in _declined().read_text(encoding="utf-8").splitlines()
    return False


def _names(entries: Iterable[Entry]) -> str:
    return " and ".join(entry.name for entry in entries)


def _found(find: Callable[[], FoundModel]) -> FoundModel | None:
    try:
        return find()
    except ModelError:
        return None


def _names_embedded(asr: str | None, mt: str | None) -> bool:
    """Return whether one of the named models is embedded; a name that is not known is refused when the run begins."""
    with contextlib.suppress(ModelError):
        return bool((asr and find_recogniser(asr).embedded) or (mt and find_translator(mt).embedded))
    return False


def _is_asked_on_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _pull_one(entry: Entry) -> None:
    try:
        path = _pull_with_progress(entry)
    except KeyboardInterrupt:
        say("what arrived is kept; the same command goes on from there")
        raise
    receipt = read_receipt(path)
    assert receipt is not None
    size = file_size(sum(file.size for file in receipt.files.values()))
    say(f"{entry.name} is in {path} ({size}, commit {receipt.commit[:8]}, hashes checked)")
    if entry.kind == RECOGNISER and entry.codes == ("en",):
        say(f"{entry.name} understands English only")


def _pull_with_progress(entry: Entry) -> Path:
    with progress_bar() as progress:
        task = progress.add_task(entry.name, total=entry.size)

        def show(arrived: int, total: int) -> None:
            description = f"{entry.name}: {file_size(arrived)} of {file_size(total)}"
            progress.update(task, description=description, completed=arrived, total=total)

        waiting = f"another livetrans fetches {entry.name}; waiting until it has ended"
        return pull(entry, pull_folder(), show, lambda: say_above(progress, waiting))
