"""Links and secrets for places elsewhere: from a file or the environment, as others can see a command line."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from livetrans.base.errors import LivetransError, UsageError
from livetrans.base.files import read_text
from livetrans.serve.address import parse_address

_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def check_secret_place(place: str, option: str) -> str:
    """Return the place of a secret: `@FILE`, or the name of an environment variable. No message quotes it.

    Raises:
        UsageError: it is the secret itself, or nothing.
    """
    if (place.startswith("@") and len(place) > 1) or _NAME.fullmatch(place):
        return place
    raise UsageError(
        f"{option} takes no link itself, as other users of this machine see command lines: write the link into a file "
        "of yours (chmod 600) and give @FILE, or give the name of an environment variable that holds it"
    )


def read_secret(place: str, option: str) -> str:
    """Return the secret that a place holds, without spaces around.

    Raises:
        LivetransError: there is none, or others can read its file.
    """
    if not place.startswith("@"):
        text = os.environ.get(place, "")
        if not text:
            raise LivetransError(f"There is no environment variable {place}: set it, or give @FILE to {option}.")
    else:
        path = Path(place[1:]).expanduser()
        try:
            if os.name != "nt" and path.stat().st_mode & 0o077:
                raise LivetransError(f"{path} holds a secret that others can read: run chmod 600 {path}.")
            text = read_text(path)
        except OSError as fault:
            raise LivetransError(f"{path} of {option} cannot be read ({fault.strerror}): check its name.") from None
    text = text.strip()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise LivetransError(f"What {option} names holds no single link or secret: put it there, on one line.")
    return text


def split_address(text: str) -> SplitResult | None:
    """Return the parts of an http or https address; None for anything else."""
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_address and not parts.username else None


def is_here(parts: SplitResult) -> bool:
    """Return whether an address is on this machine."""
    host = parts.hostname or ""
    address = parse_address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def parse_publish_address(text: str) -> SplitResult:
    """Return the parts of a room's address.

    Raises:
        UsageError: it is none, or what is sent there could be read on its way.
    """
    parts = split_address(text)
    if not parts or not re.fullmatch("/pub/[A-Za-z0-9_-]{4,64}", parts.path) or parts.query or parts.fragment:
        raise UsageError(f"--publish took {text!r} for the address of a room; write https://HOST/pub/ROOM")
    if parts.scheme == "http" and not is_here(parts):
        raise UsageError(f"--publish {text} would send the secret unencrypted; write https://")
    return parts
