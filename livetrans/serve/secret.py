"""Addresses elsewhere that captions go to, and their secrets: from a file or the environment, as others can see a
command line.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import ssl
from contextlib import suppress
from io import FileIO
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from livetrans.base.errors import LivetransError, UsageError
from livetrans.base.files import lock, private_folder, read_text, write_all
from livetrans.base.installation import user_folder
from livetrans.serve.address import parse_address


def check_secret_place(place: str) -> str:
    """Return the place of a secret: `@FILE`, or the name of an environment variable. No message quotes it.

    Raises:
        UsageError: it is the secret itself, or nothing.
    """
    if re.fullmatch("@.+|[A-Za-z_][A-Za-z0-9_]*", place):
        return place
    raise UsageError(
        "a caption link is not given itself, as other users of this machine see command lines: write it into a file of "
        "yours (chmod 600) and give @FILE, or give the name of an environment variable that holds it"
    )


def read_secret(place: str) -> str:
    """Return the secret that a place holds, without spaces around.

    Raises:
        LivetransError: there is none, or others can read its file.
    """
    if not place.startswith("@"):
        text = os.environ.get(place, "")
        if not text:
            raise LivetransError(f"There is no environment variable {place}: set it, or give @FILE.")
    else:
        path = Path(place[1:]).expanduser()
        try:
            if os.name != "nt" and path.stat().st_mode & 0o077:
                raise LivetransError(f"{path} holds a secret that others can read: run chmod 600 {path}.")
            text = read_text(path)
        except OSError as fault:
            raise LivetransError(f"{path} cannot be read ({fault.strerror}): check its name.") from None
    text = text.strip()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise LivetransError(f"{place.removeprefix('@')} holds no single link or secret: put it there, on one line.")
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


def connection_to(
    parts: SplitResult, seconds: float, trusted: ssl.SSLContext | None = None
) -> http.client.HTTPConnection:
    """Return a connection, not yet open, whose steps have a time limit.

    Certificates are checked by `trusted`; without it by the system's, which takes 20 ms to read.
    """
    host = parts.hostname or ""
    if parts.scheme == "https":
        return http.client.HTTPSConnection(host, parts.port, timeout=seconds, context=trusted)
    return http.client.HTTPConnection(host, parts.port, timeout=seconds)


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


class Claim:
    """What this user keeps of an address, in a file that one run at a time can use.

    Raises:
        LivetransError: another run has it, which `refusal` says, or the file cannot be written.
    """

    def __init__(self, folder: str, address: str, refusal: str) -> None:
        place = user_folder("data") / folder
        self.fingerprint = hashlib.sha256(address.encode()).hexdigest()[:12]
        """Tells addresses apart where they are not to be read."""
        try:
            private_folder(place)
            self._file = FileIO(os.open(place / self.fingerprint, os.O_RDWR | os.O_CREAT, 0o600), "rb+")
            self.text = self._file.read(20).decode("ascii", "replace").strip()
        except OSError as fault:
            raise LivetransError(f"{place} cannot be written ({fault.strerror}): check its permissions.") from None
        if not lock(self._file):
            self.close()
            raise LivetransError(refusal)

    def keep(self, text: str) -> None:
        with suppress(OSError, ValueError):  # On a full disk captions continue; at the end of the run it may be closed.
            self._file.seek(0)
            write_all(self._file, f"{text:19}\n".encode())

    def close(self) -> None:
        self._file.close()
