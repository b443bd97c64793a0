"""The secret part of an address that others can reach: kept where the address stays the same, otherwise a new one."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from livetrans.errors import LivetransError
from livetrans.files import replacing
from livetrans.installation import user_folder
from livetrans.serve.address import ServeAddress

TOKEN_BYTES = 16
_TOKEN = re.compile("[A-Za-z0-9_-]{22}")


def token_file() -> Path:
    return user_folder("data") / "serve-token"


def token_for(place: ServeAddress) -> str:
    """Return the token of the page at this address; empty if only this machine can read.

    With a port that is named, the token is the user's own and survives a restart, so that readers need not scan again.

    Raises:
        LivetransError: the token cannot be kept.
    """
    if not place.lan:
        return ""
    if not place.port:
        return secrets.token_urlsafe(TOKEN_BYTES)
    path = token_file()
    kept = "" if place.renews else _read(path)
    return kept or _write(path, secrets.token_urlsafe(TOKEN_BYTES))


def _read(path: Path) -> str:
    """Return the kept token; empty if there is none, or others could read or have written it."""
    try:
        with path.open(encoding="ascii") as file:
            status = os.fstat(file.fileno())
            text = file.read(100)
    except (OSError, UnicodeDecodeError):
        return ""
    is_private = os.name == "nt" or (status.st_uid == os.getuid() and not status.st_mode & 0o077)
    return text if is_private and _TOKEN.fullmatch(text) else ""


def _write(path: Path, token: str) -> str:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, private=True) as file:
            file.write(token)
    except OSError as fault:
        reason = fault.strerror or fault
        raise LivetransError(
            f"The token of --serve cannot be kept in {path} ({reason}): use --serve lan without a port."
        ) from None
    return token
