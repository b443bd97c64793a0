"""`livetrans hub`: the files that make nginx a hub for captions, and how to install them."""

from __future__ import annotations

from pathlib import Path

import click

from livetrans.base.errors import LivetransError, SessionError, UsageError
from livetrans.base.files import private_file, private_folder, write_all
from livetrans.cli.messages import say
from livetrans.serve.hub import Hub, hub_files, secret_file


@click.command()
@click.argument("host", required=False)
@click.option("--folder", "place", default="/srv/livetrans", show_default=True, help="Where the files lie on the hub.")
@click.option("-o", "output", metavar="FOLDER", type=click.Path(path_type=Path), help="Where they are written here.")
@click.option("--clear", metavar="ADDRESS", help="Remove the captions of a room: https://HOST/pub/ROOM.")
def command(host: str | None, place: str, output: Path | None, clear: str | None) -> None:
    """Write what a web server HOST needs to show captions to thousands of readers, and say how to install it.

    The secret for --publish is kept on this machine, for you alone. The hub gets a hash of it.
    """
    if clear:
        hub = Hub(clear)
        try:
            hub.clear()
        except OSError as fault:
            raise LivetransError(f"The hub {hub.host} cannot be cleared ({fault}); try again.") from None
        click.echo(f"Readers of {hub.address} get no captions any more.")
        return
    if not host:
        raise UsageError("name the server, as in livetrans hub captions.example.org")
    if not place.startswith("/") or not place.isprintable() or set(place) & set(" ;{}'\"$\\"):
        raise UsageError(f"--folder {place} is not an absolute path of simple letters; name another")
    folder = output or Path(host.replace(":", "-"))
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise UsageError(f"{folder} exists already; name another folder with -o")
    try:
        files = hub_files(host, place)
        private_folder(folder / "page")
        for name, content in files.items():
            with private_file(folder / name, "xb") as file:
                write_all(file, content)
            (folder / name).chmod(0o600 if name == "publishers" else 0o644)
        (folder / "page").chmod(0o755)
    except OSError as fault:
        raise SessionError(f"{folder} cannot be written ({fault.strerror}); choose another place with -o") from None
    say(f"The files of the hub are in {folder}.")
    click.echo(files["INSTALL"].decode(), nl=False)
    say(f"The secret is in {secret_file(host)}. On another machine, put it there or set LIVETRANS_HUB_SECRET to @FILE.")
