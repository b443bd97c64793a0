"""Where captions are served: what `--serve` takes, the address that it means, who can reach it, and its secret part."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
import socket
from dataclasses import dataclass, replace
from pathlib import Path

from livetrans.base.errors import LivetransError, UsageError
from livetrans.base.files import replacing
from livetrans.base.installation import user_folder

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

LAN = "lan"
"""The word without which nothing can be reached from outside this machine."""
NEW = "new"
"""The word that replaces the kept token."""

TOKEN_BYTES = 16
_TOKEN = re.compile("[A-Za-z0-9_-]{22}")
_LOOPBACK = ipaddress.IPv4Address("127.0.0.1")
_ELSEWHERE = ("192.0.2.1", 9)
"""An address that no machine has (RFC 5737): the system says which of ours it would send from; nothing is sent."""


@dataclass(frozen=True, slots=True)
class ServeAddress:
    """What `--serve` names: where captions are served."""

    address: IPAddress | None
    """`None` means this machine's own address on the local network."""
    port: int
    """0 means a free one."""
    lan: bool
    """Whether others than this machine can read."""
    renews: bool = False
    """Whether a kept token is replaced, so that addresses given out before stop working."""

    def located(self) -> ServeAddress:
        """Return this with its address found.

        Raises:
            LivetransError: this machine is in no local network.
        """
        return self if self.address else replace(self, address=_lan_address())

    def allows(self, host: str) -> bool:
        """Return whether a request may name `host`: another name could be one that its owner points here.

        A page of another site cannot read captions by such a name (DNS rebinding).
        """
        if not self.lan and host.lower() == "localhost":
            return True
        address = parse_address(host)
        return address is not None and (address == self.address if self.lan else address.is_loopback)

    @property
    def readers(self) -> str:
        """Where readers can be."""
        if not self.lan:
            return "this machine"
        return "the internet" if self.address is not None and self.address.is_global else "your network"


def parse_serve_address(text: str) -> ServeAddress:
    """Return the address of `HOST:PORT`, `HOST`, `:PORT`, `PORT`, or of `lan` with such a text after a colon.

    `lan:PORT:new` replaces the token that is kept for fixed ports.

    Raises:
        UsageError: no such address, or one that others can reach without the word `lan`.
    """
    first, _, rest = text.partition(":")
    is_lan = first == LAN
    renews = is_lan and rest.endswith(f":{NEW}")
    host, port = _split(rest.removesuffix(f":{NEW}") if is_lan else text)
    address: IPAddress | None
    if not host:
        address = None if is_lan else _LOOPBACK
    elif host == "localhost" and not is_lan:
        address = _LOOPBACK
    else:
        address = parse_address(host)
        if address is None:
            raise UsageError(
                f"--serve took {text!r} for an address; write --serve, --serve localhost:8765, --serve lan, "
                "or --serve after the files"
            )
    if address and (address.is_unspecified or address.is_multicast):
        raise UsageError(f"{host} is not the address of one machine; write --serve {LAN} to use this machine's own")
    if address and is_lan and address.is_loopback:
        raise UsageError(f"others cannot reach {host}; write --serve {LAN}, or --serve {host} for this machine alone")
    if address and not is_lan and not address.is_loopback:
        raise UsageError(
            f"{address} can be reached from outside of this machine; write --serve {LAN}:{host} if others are to read"
        )
    return ServeAddress(address, port, is_lan, renews)


def parse_address(host: str) -> IPAddress | None:
    """Return the address that `host` is, with or without brackets; None for a name."""
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        if ":" not in host:
            return None
    if "%" in host:
        return None  # No `Host` of a request names a zone.
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def split_port(text: str) -> tuple[str, str]:
    """Split `HOST:PORT`, `[HOST]:PORT` or `HOST` into host and port, each possibly empty."""
    host, colon, port = text.rpartition(":")
    if not colon or port.endswith("]"):
        return text, ""
    return host, port


def _split(text: str) -> tuple[str, int]:
    if text.isascii() and text.isdecimal():
        host, port = "", text
    elif parse_address(text):
        host, port = text, ""
    else:
        host, port = split_port(text)
    if not port:
        return host, 0
    if not (port.isascii() and port.isdecimal()) or int(port) > 65535:
        raise UsageError(f"--serve took {port!r} for a port; write a number up to 65535, as in --serve localhost:8765")
    return host, int(port)


def _lan_address() -> IPAddress:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
            address = ipaddress.ip_address(probe.getsockname()[0])
        except OSError:
            address = _LOOPBACK
    if address.is_loopback or address.is_unspecified:
        raise LivetransError(
            f"This machine is in no network that --serve {LAN} could serve: join one, or name its address as in "
            f"--serve {LAN}:192.168.1.20."
        )
    if address.is_global:
        raise LivetransError(
            f"This machine's address {address} is on the internet: --serve {LAN}:{address} serves captions there."
        )
    return address


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
    path = user_folder("data") / "serve-token"
    kept = "" if place.renews else _read_token(path)
    return kept or _write_token(path, secrets.token_urlsafe(TOKEN_BYTES))


def _read_token(path: Path) -> str:
    """Return the kept token; empty if there is none, or others could read or have written it."""
    try:
        with path.open(encoding="ascii") as file:
            status = os.fstat(file.fileno())
            text = file.read(100)
    except (OSError, UnicodeDecodeError):
        return ""
    is_private = os.name == "nt" or (status.st_uid == os.getuid() and not status.st_mode & 0o077)
    return text if is_private and _TOKEN.fullmatch(text) else ""


def _write_token(path: Path, token: str) -> str:
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
