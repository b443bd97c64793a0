"""`livetrans models`: the models here, those of other programs, those that can be fetched; pull, rm, path, verify."""

from __future__ import annotations

import json
import re
from functools import partial
from itertools import chain
from typing import Any

import click

from livetrans.cli.declarations import AdvisingGroup, Languages, complete_language
from livetrans.cli.messages import say
from livetrans.config import ENGINES, Settings
from livetrans.errors import ModelError, UsageError
from livetrans.installation import started_as
from livetrans.languages import require_two_languages
from livetrans.models.catalogue import RECOGNISER, Entry
from livetrans.models.chosen import fetched_pair
from livetrans.models.engines import engines_of
from livetrans.models.find import (
    FoundModel,
    find_elsewhere,
    find_models,
    find_named,
    find_recogniser,
    find_translator,
    known_models,
    pull_folder,
    search_folders,
    size_on_disk,
)
from livetrans.models.pulls import receipt_path, remove, remove_unfinished, unfinished_pulls, verify
from livetrans.session.codec import encode
from livetrans.text import file_size, visible

_USABLE = 0.8
"""Part of the memory that a model may take: the rest is for the system and the other model."""

_language = partial(click.option, metavar="LANGUAGES", show_default=True, shell_complete=complete_language)


@click.group(cls=AdvisingGroup, invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print the list as one JSON object.")
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List the models, or fetch, check and remove them.

    Only pull opens a connection, and `livetrans mic` and `listen` after a yes.
    """
    if context.invoked_subcommand is None:
        context.invoke(list_command, as_json=as_json)
    elif as_json:
        raise UsageError("--json is for the list; write it after `livetrans models` or `livetrans models list` alone")


@command.command("list", short_help="List the models here, elsewhere, and to fetch.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_command(as_json: bool) -> None:
    """List the models here, in other programs' folders, and those that can be fetched.

    * marks those that run by default (English to German).
    """
    import psutil  # type: ignore[import-untyped]

    memory = psutil.virtual_memory().total
    here, elsewhere, defaults = find_models(), find_elsewhere(), _defaults()
    listed = {model.path for model in (*here, *elsewhere)}
    here += [model for model in defaults if model.path not in listed]
    default_paths = {model.path for model in defaults}
    if as_json:
        values = {
            "memory": memory,
            "here": [_as_json(model, model.path in default_paths) for model in here],
            "elsewhere": [_as_json(model, model.path in default_paths) for model in elsewhere],
            "catalogue": [
                {**encode(entry), "languages": entry.codes, "memory": entry.memory} for entry in known_models().models
            ],
            "searched": [str(folder) for folder in search_folders()],
        }
        click.echo(json.dumps(values, indent=2))
        return
    # What is here and what to do next come last: the list is longer than a screen.
    _print_fetchable([*here, *elsewhere], memory)
    if elsewhere:
        click.echo("\nIn other programs' folders, used from there and never changed:")
        for model in elsewhere:
            _print_found(model, model.path in default_paths)
    click.echo("\nHere (* runs by default, English to German):")
    for model in here:
        _print_found(model, model.path in default_paths)
    for name, size in unfinished_pulls(pull_folder()).items():
        click.echo(f"  unfinished {file_size(size):>8}  {visible(name)}")
        click.echo(f"    pull it again to go on, or remove it with `{started_as()} models rm`")
    click.echo("\nSearched, first to last:")
    for folder, place in search_folders().items():
        click.echo(f"  {visible(f'{place}: {folder}')}" + ("" if folder.is_dir() else " (not there)"))
    click.echo("\nOthers: --asr FOLDER, --mt FILE.gguf, or their folder in LIVETRANS_MODELS.")


@command.command("pull", short_help="Fetch a model, or a pair for a purpose.")
@click.argument("name", metavar="NAME")
@_language("--from", "sources", type=Languages(auto=True), default="en", help="For a purpose: spoken.")
@_language("--to", "targets", type=Languages(), default="de", help="For a purpose: captions.")
@click.option("--engine", type=click.Choice(ENGINES), default=ENGINES[0], help="For a purpose: as in `livetrans mic`.")
@click.option("--yes", is_flag=True, help="Fetch without asking, also where the licence restricts the use.")
def pull_command(name: str, sources: tuple[str, ...], targets: tuple[str, ...], engine: str, yes: bool) -> None:
    """Fetch NAME: small, good or best, which are a recogniser and a translator for --from and --to; or one model.

    A model is a name of the list, owner/repository:file.gguf or owner/repository:Q4_K_M (a translator),
    owner/repository (a recogniser in faster-whisper's format), owner/repository:file.bin (in whisper.cpp's), or the
    address of its page on the hub. A fetch that was cut goes on where it was cut when it is run again.
    """
    from livetrans.cli.fetch import pull_all

    catalogue = known_models()
    wanted: tuple[Entry, ...]
    if name in catalogue.purposes:
        require_two_languages(sources[0], targets[0])
        settings = Settings(sources=sources, targets=targets)
        wanted = fetched_pair(name, settings, engine)
    else:
        wanted = (catalogue.wanted(name),)
    if not pull_all(wanted, yes=yes):
        raise click.Abort
    if name in catalogue.purposes:
        say(f"Ready: {started_as()} mic --from {','.join(sources)} --to {','.join(targets)}")


@command.command("rm", short_help="Remove a model that was fetched.")
@click.argument("name", metavar="NAME")
def rm_command(name: str) -> None:
    """Remove a model that was fetched with pull, or what arrived of it before the fetch was cut."""
    cut = unfinished_pulls(pull_folder())
    entry = known_models().entry(name)
    local_name = entry.local_name if entry else re.split("[/:]", name)[-1]
    if local_name in cut:
        remove_unfinished(pull_folder(), local_name)
        say(f"removed what had arrived of {local_name} ({file_size(cut[local_name])})")
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
    if name and not models[0].pulled:
        raise UsageError(f"{models[0].path} was not fetched by livetrans: there are no hashes to compare with")
    if not models:
        say("no model was fetched yet; `livetrans models` lists those that can be")
    damaged = False
    for model in models:
        if model.receipt is None:
            faults = [f"{receipt_path(model.path).name} cannot be read"]
        else:
            faults = [f"{file} differs or is missing" for file in verify(model.path, model.receipt)]
        damaged = damaged or bool(faults)
        click.echo(
            visible(f"{model.name}: {'; '.join([*faults, 'remove it and pull it again']) if faults else 'whole'}")
        )
    return int(damaged)


def _found(name: str) -> FoundModel:
    """Return a model on this machine by its name.

    Raises:
        UsageError: there is none.
    """
    model = find_named(name, chain(find_models(), find_elsewhere()))
    if model is None:
        raise UsageError(f"there is no model {name!r} on this machine; `livetrans models` lists them")
    return model


def _print_fetchable(found: list[FoundModel], memory: int) -> None:
    """Print the models of the catalogue that are not on this machine, and the pairs for a purpose."""
    catalogue, here = known_models(), [model.entry for model in found]
    click.echo(f"Models to fetch, with `{started_as()} models pull NAME`:")
    click.echo(f"  {'name':<23}{'size':>8}  {'memory':>7}  {'languages':<12} licence")
    for entry in catalogue.models:
        if entry in here:
            continue
        size = file_size(entry.size) if entry.size else "unknown"
        needed = f"~{entry.memory / 1e9:.1f} GB" if entry.memory else "unknown"
        click.echo(f"  {entry.name:<23}{size:>8}  {needed:>7}  {_languages(entry):<12} {entry.licence}")
        click.echo(f"    {entry.kind}: {entry.why}")
        if entry.restriction:
            click.echo(f"    {entry.restriction}")
        if entry.memory and entry.memory > memory * _USABLE:
            click.echo("    needs more memory than this machine has to spare")
    click.echo(f"This machine has {file_size(memory)} of memory.")
    click.echo(f"\nPairs to fetch, with `{started_as()} models pull small --from en --to de`:")
    for purpose in catalogue.purposes:
        recogniser, translator = catalogue.pair(purpose, "en", "de", engines=engines_of("auto"))
        size = file_size((recogniser.size or 0) + (translator.size or 0))
        click.echo(f"  {purpose:<5} {size:>8}  {recogniser.name} and {translator.name}")


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
    for find in (partial(find_recogniser, language="en"), partial(find_translator, source="en", targets=["de"])):
        try:
            defaults.append(find())
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
