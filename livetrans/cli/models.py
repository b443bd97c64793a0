"""`livetrans models`: lists, fetches, checks and removes models; and the offer of a run to fetch what it lacks."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import click

from livetrans.base.errors import ModelError, UsageError
from livetrans.base.languages import AUTO, parse_language, require_two_languages
from livetrans.base.text import file_size, visible
from livetrans.cli.declarations import LANGUAGE_PAIR, LANGUAGES, LANGUAGES_OR_AUTO, AdvisingGroup, list_alone, was_given
from livetrans.cli.messages import confirmed, progress_bar, say
from livetrans.config import ENGINES, UNNAMED, BetweenSettings, Settings
from livetrans.doctor.machine import this_machine
from livetrans.lm.server.transport import Connection, parse_server
from livetrans.models.catalogue import RECOGNISER, Entry, entry_of, known_models
from livetrans.models.chosen import (
    choose_recogniser,
    choose_translators,
    decline,
    fetchable_pair,
    find_named,
    lacking,
    languages_of,
    was_declined,
)
from livetrans.models.find import FoundModel, find_models, pull_folder, search_folders, size_on_disk
from livetrans.models.hub import is_offline
from livetrans.models.pulls import completed, pull, read_receipt, remove, remove_unfinished, unfinished_pulls, verify
from livetrans.session.codec import encode

_USABLE = 0.8
"""Part of the memory that one model may take: the rest is for the system and the other model."""

_OF_PAIRS = {"from": "sources", "to": "targets", "between": "between", "engine": "engine"}
"""The options that choose among pairs, with the names of their values."""
_language = partial(click.option, metavar="LANGUAGES", show_default=True)


@click.group(cls=AdvisingGroup, invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print the list as one JSON object.")
@click.option("--mt-server", metavar="URL", help="List the models of this server instead.")
@click.option("--mt-key-file", metavar="FILE", default=UNNAMED, type=click.Path(path_type=Path), help="Its key.")
@click.pass_context
def command(context: click.Context, as_json: bool, mt_server: str | None, mt_key_file: Path) -> None:
    """List the models, or fetch, check and remove them.

    Only pull and --mt-server open a connection, and `livetrans mic` and `listen` after a yes.
    """
    if mt_server is not None and (as_json or context.invoked_subcommand):
        raise UsageError("--mt-server lists the server's models, a line each; give it alone")
    if mt_server is None and mt_key_file != UNNAMED:
        raise UsageError("--mt-key-file has no effect without --mt-server; drop it or add --mt-server URL")
    if mt_server is not None:
        from livetrans.lm.server.model import served_models

        with closing(Connection(parse_server(mt_server), mt_key_file)) as connection:
            click.echo("\n".join(map(visible, served_models(connection))) or "The server lists no models.")
        return
    list_alone(context, list_command, as_json=as_json)


@command.command("list", short_help="List the models here, elsewhere, and to fetch.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_command(as_json: bool) -> None:
    """List the models here, those in other programs' folders, and those that can be fetched.

    * marks the default models (English to German).
    """
    import psutil  # type: ignore[import-untyped]

    memory, found, defaults = psutil.virtual_memory().total, list(find_models()), _defaults()
    found += [model for model in defaults if model not in found]
    here, elsewhere = ([model for model in found if model.elsewhere == apart] for apart in (False, True))
    if as_json:
        values = {
            "memory": memory,
            "here": [_as_json(model, model in defaults) for model in here],
            "elsewhere": [_as_json(model, model in defaults) for model in elsewhere],
            "catalogue": [
                {**encode(entry), "languages": entry.codes, "memory": entry.memory} for entry in known_models().models
            ],
            "searched": [str(folder) for folder in search_folders()],
        }
        click.echo(json.dumps(values, indent=2))
        return
    # What is here and what to do next come last: the list is longer than a screen.
    _print_fetchable(found, memory)
    if elsewhere:
        click.echo("\nIn other programs' folders, used from there and never changed:")
        for model in elsewhere:
            _print_found(model, model in defaults)
    click.echo("\nHere (* is the default, English to German):")
    for model in here:
        _print_found(model, model in defaults)
    for name, size in unfinished_pulls(pull_folder()).items():
        click.echo(f"  unfinished {file_size(size):>8}  {visible(name)}")
        click.echo("    pull it again to continue, or remove it with `livetrans models rm`")
    click.echo("\nSearched, first to last:")
    for folder, place in search_folders().items():
        click.echo(f"  {visible(f'{place}: {folder}')}" + ("" if folder.is_dir() else " (not there)"))
    click.echo("\nOthers: --asr FOLDER, --mt FILE.gguf, or their folder in LIVETRANS_MODELS.")


@command.command("pull", short_help="Fetch the models that fit this machine, or others by name.")
@click.argument("name", metavar="[NAME]", required=False)
@_language("--from", "sources", type=LANGUAGES_OR_AUTO, default="en", help="For a pair: spoken languages.")
@_language("--to", "targets", type=LANGUAGES, default="de", help="For a pair: caption languages.")
@click.option("--between", metavar="LANGUAGES", type=LANGUAGE_PAIR, help="For a pair: both ways between two languages.")
@click.option("--engine", type=click.Choice(ENGINES), default=ENGINES[0], help="For a pair: as in `livetrans mic`.")
@click.option("--yes", is_flag=True, help="Fetch without asking, even if the licence restricts the use.")
def pull_command(
    name: str | None,
    sources: tuple[str, ...],
    targets: tuple[str, ...],
    between: tuple[str, ...] | None,
    engine: str,
    yes: bool,
) -> None:
    """Fetch a model, or a recogniser and a translator.

    Without NAME, this machine is measured for a few seconds, and a pair that keeps up here is proposed. NAME is a pair
    that knows --from and --to, or both ways of --between: laptop, small, good or best. Or it is one model: a name from
    the list, owner/repository:file.gguf or owner/repository:Q4_K_M (a translator), owner/repository (a
    recogniser in faster-whisper's format), owner/repository:file.bin (in whisper.cpp's), or the address of its page on
    the hub. Run the same command again to continue a fetch that was cut.
    """
    catalogue, settings = known_models(), Settings(sources=sources, targets=targets)
    if between:
        if was_given("sources") or was_given("targets"):
            raise UsageError("--between replaces --from and --to; drop them, or drop --between")
        settings = Settings(sources=between, targets=between, between=BetweenSettings(between))
    wanted: tuple[Entry, ...]
    if name is None or name in catalogue.purposes:
        if between is None:
            require_two_languages(sources[0], targets[0])
        wanted = (
            fetchable_pair(name, settings, engine, lambda *pair: this_machine().keeps_up(*pair))
            if name
            else _proposed(settings, engine)
        )
    elif given := [f"--{option}" for option, value in _OF_PAIRS.items() if was_given(value)]:
        raise UsageError(f"{' and '.join(given)} choose a pair; drop them to fetch {name}")
    else:
        wanted = (catalogue.wanted(name),)
    if not _pull_all(wanted, yes=yes):
        raise click.Abort
    if name is None or name in catalogue.purposes:
        both = f"--between {','.join(between)}" if between else ""
        languages = both or f"--from {','.join(sources)} --to {','.join(targets)}"
        say(f"Ready: livetrans mic {languages}")


@command.command("rm", short_help="Remove a model that was fetched.")
@click.argument("name", metavar="NAME")
def rm_command(name: str) -> None:
    """Remove a model that was fetched with pull, or the parts of one whose fetch was cut."""
    cut = unfinished_pulls(pull_folder())
    entry = known_models().entry(name)
    local_name = entry.local_name if entry else re.split("[/:]", name)[-1]
    if local_name in cut:
        remove_unfinished(pull_folder(), local_name)
        say(f"removed the {file_size(cut[local_name])} of {local_name} that had arrived")
        return
    model = _found(name)
    if not model.pulled or model.path.parent != pull_folder():
        raise UsageError(f"{model.path} was not fetched by livetrans; remove it where it came from")
    size = size_on_disk(model.path)
    remove(model.path)
    say(f"removed {model.path} ({file_size(size)})")


@command.command("path", short_help="Print where a model is, or where they are fetched to.")
@click.argument("name", metavar="[NAME]", required=False)
def path_command(name: str | None) -> None:
    """Print the file or folder of a model on this machine; without NAME, the folder that models are fetched to."""
    click.echo(visible(str(_found(name).path if name else pull_folder())))


@command.command("verify", short_help="Compare fetched models with their hashes.")
@click.argument("name", metavar="[NAME]", required=False)
def verify_command(name: str | None) -> int:
    """Compare the files of a fetched model, or of all of them, with the hashes written down when they were fetched."""
    models = [_found(name)] if name else [model for model in find_models() if model.pulled]
    if not models:
        say("no model was fetched yet; `livetrans models` lists those that can be")
    damaged = False
    for model in models:
        faults = verify(model.path)
        if faults is None:
            raise UsageError(f"{model.path} was not fetched by livetrans: there are no hashes to compare with")
        damaged = damaged or bool(faults)
        verdict = "; ".join([*faults, "remove it and pull it again"]) if faults else "whole"
        click.echo(visible(f"{model.name}: {verdict}"))
    return int(damaged)


def offer_models(settings: Settings, *, yes: bool) -> None:
    """Offer to fetch the models of `lacking`. A no is remembered: they are offered again only where nothing else runs.

    Raises:
        LivetransError: the models cannot be fetched.
        click.Abort: the question was left with Ctrl-C.
    """
    assert settings.recogniser is not None
    wanted = lacking(settings)
    can_go_on = all(wanted.values())
    asks = _is_at_a_terminal() and not is_offline() and not (can_go_on and was_declined(wanted))
    if not wanted or not (yes or asks):
        return
    try:
        entries = [entry for entry in _proposed(settings, settings.recogniser.engine) if entry.kind in wanted]
    except UsageError:
        return  # The run says what is missing for these languages.
    if yes:
        _pull_all(entries, yes=True)
        return
    spoken = ["any language" if code == AUTO else parse_language(code).name for code in languages_of(settings).spoken]
    say(f"Captions for people who speak {' and '.join(spoken)} need models that are not on this machine.")
    if not _pull_all(entries, yes=False, offered=True) and can_go_on:
        decline(wanted)
        instead = " and ".join(model.name for model in wanted.values() if model)
        names = " and ".join(entry.name for entry in entries)
        say(f"Continuing with {instead}. This is not asked again; `livetrans models pull NAME` fetches {names}.")


def _proposed(settings: Settings, engine: str) -> tuple[Entry, Entry]:
    """Measure this machine; return the recogniser and the translator that it would run."""
    say("measuring this machine …")
    machine = this_machine()
    recogniser, translator = machine.pair(settings, engine)
    fit = recogniser.name if settings.language_model.server else machine.described(recogniser, translator)
    say(f"This machine: {machine}. For it: {fit}.")
    return recogniser, translator


def _pull_all(entries: Iterable[Entry], *, yes: bool, offered: bool = False) -> bool:
    """Fetch the models that are not here, after a yes if a terminal can give one; return False after a no.

    `offered`: the user did not ask for them, so that Enter alone is a no.

    Raises:
        UsageError: a restricted licence, without a terminal or --yes to accept it; or no such model.
        ModelError: a model cannot be fetched.
        click.Abort: the question was left with Ctrl-C.
    """
    missing: list[Entry] = []
    for entry in entries:
        model = find_named(entry.name, find_models(entry.kind))
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
        say(
            f"{entry.name} from {entry.repository}: {file_size(entry.size or 0)}, licence: {entry.licence}{restriction}"
        )
    if not yes and _is_at_a_terminal():
        question = f"Fetch {file_size(sum(entry.size or 0 for entry in missing))} into {pull_folder()}?"
        if not confirmed(question, default=not offered and not restricted):
            return False
    for entry in missing:
        _pull_one(entry)
    if not offered:
        say("`livetrans doctor` measures whether this machine keeps up.")
    return True


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
            say("what arrived is kept; the same command continues from there")
            raise
    receipt = read_receipt(path)
    assert receipt is not None
    say(f"{entry.name} is in {path} ({file_size(size_on_disk(path))}, commit {receipt.commit[:8]}, hashes checked)")
    if entry.kind == RECOGNISER and entry.codes == ("en",):
        say(f"{entry.name} understands English only")


def _is_at_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _found(name: str) -> FoundModel:
    """Return a model on this machine by its name, or by one that `models pull` takes."""
    model = find_named(entry_of(name).name if "/" in name else name, find_models())
    if model is None:
        raise UsageError(f"there is no model {name!r} on this machine; `livetrans models` lists them")
    return model


def _print_fetchable(found: list[FoundModel], memory: int) -> None:
    """Print the models of the catalogue that are not on this machine, and the pairs for a purpose."""
    catalogue, here = known_models(), [model.entry for model in found]
    click.echo("Models to fetch, with `livetrans models pull NAME`:")
    click.echo(f"  {'name':<23} {'size':>8}  {'memory':>7}  {'languages':<12} licence")
    for entry in catalogue.models:
        if entry in here:
            continue
        size = file_size(entry.size) if entry.size else "unknown"
        needed = f"~{entry.memory / 1e9:.1f} GB" if entry.memory else "unknown"
        click.echo(f"  {entry.name:<23} {size:>8}  {needed:>7}  {_languages(entry):<12} {entry.licence}")
        click.echo(f"    {entry.kind}: {entry.why}")
        if entry.restriction:
            click.echo(f"    {entry.restriction}")
        if entry.memory and entry.memory > memory * _USABLE:
            click.echo("    needs more memory than this machine has to spare")
    click.echo(f"This machine has {file_size(memory)} of memory.")
    click.echo("\nPairs to fetch, by `livetrans models pull --from en --to de` for this machine,")
    click.echo("or with one of these names after `pull`:")
    for name, purpose in catalogue.purposes.items():
        recogniser, translator = fetchable_pair(name, Settings(), ENGINES[0])
        size = file_size((recogniser.size or 0) + (translator.size or 0))
        click.echo(f"  {name:<6} {size:>8}  {recogniser.name} and {translator.name}")
        click.echo(f"    {purpose.needs}")


def _print_found(model: FoundModel, is_default: bool) -> None:
    size = file_size(size_on_disk(model.path))
    click.echo(f"{'*' if is_default else ' '} {model.kind:<10} {size:>8}  {visible(model.name)}")
    for line in (_about(model), f"{model.place}: {model.path}"):
        if line:
            click.echo(f"    {visible(line)}")


def _about(model: FoundModel) -> str:
    if model.embedded:
        what = "synthetic English voices only" if model.kind == RECOGNISER else "everyday sentences only"
        return f"{what}: for trying, not for a meeting; CC-BY 2.0 FR"
    if model.entry is not None:
        restriction = f"; {model.entry.restriction}" if model.entry.restriction else ""
        return f"{model.entry.name}: languages: {_languages(model.entry)}; {model.entry.licence}{restriction}"
    family = "" if model.family in (None, "chat") else f"prompted as {model.family}"
    return "; ".join(filter(None, (f"from {model.receipt.repository}" if model.receipt else "", family)))


def _languages(entry: Entry) -> str:
    if entry.codes == ("en",):
        return "English only"
    return str(len({code.partition("-")[0] for code in entry.codes}) or "no list")


def _defaults() -> list[FoundModel]:
    """Return what `livetrans mic` loads without any option; print what keeps it from doing so."""
    defaults: list[FoundModel] = []
    for choose in (lambda given: [choose_recogniser(given)], choose_translators):
        try:
            defaults += choose(Settings())
        except ModelError as fault:
            say(f"livetrans: {fault}")
    return defaults


def _as_json(model: FoundModel, is_default: bool) -> dict[str, Any]:
    return {
        "name": model.name,
        "kind": model.kind,
        "path": str(model.path),
        "place": model.place,
        "size": size_on_disk(model.path),
        "default": is_default,
        "embedded": model.embedded,
        "prompt": model.family,
        "catalogue": model.entry.name if model.entry else None,
        "commit": model.receipt.commit if model.receipt else None,
    }
