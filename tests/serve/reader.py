"""A reader of the stream: a socket, its requests, and the events that came."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from livetrans.config import MeetingSettings, Settings
from livetrans.events import Caption, Record, RunStarted, Transcript
from livetrans.serve.address import parse_serve_address
from livetrans.serve.lines import SharedLines
from livetrans.serve.server import CaptionServer

PATIENCE = 20.0


@contextmanager
def served(place: str = "localhost", lines: SharedLines | None = None) -> Iterator[CaptionServer]:
    """A server, on a free port if none is named."""
    server = CaptionServer(parse_serve_address(place), lines)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def started(*targets: str, meeting: MeetingSettings | None = None) -> Record:
    return Record(0.0, RunStarted({}, Settings(sources=("en",), targets=targets, meeting=meeting)))


def caption(
    segment: int,
    text: str,
    *,
    final: bool = False,
    language: str | None = "de",
    revision: int = 0,
    track: str | None = None,
) -> Record:
    partial = "" if final else "morning"
    transcript = Transcript(segment, revision, "good", partial, final, segment, segment + 1.0, track=track)
    return Record(segment + 1.5, Caption(transcript, text, language=language))


def connect(server: CaptionServer, *, patience: float = PATIENCE) -> socket.socket:
    address = urlsplit(server.address)
    return socket.create_connection((address.hostname, address.port), timeout=patience)


def request(
    server: CaptionServer, path: str = "", headers: Mapping[str, str] | None = None, *, method: str = "GET"
) -> bytes:
    """Return a request below the page's address, with the headers that are given in place of the usual ones."""
    address = urlsplit(server.address)
    named = {"Host": address.netloc, **(headers or {})}
    lines = [f"{method} {address.path}{path} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items() if value)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def exchange(server: CaptionServer, data: bytes) -> bytes:
    """Send bytes, and return all that comes until the server closes; nothing where it only closes."""
    received = b""
    with connect(server) as connection:
        try:
            connection.sendall(data)
            while part := connection.recv(65536):
                received += part
        except (ConnectionResetError, BrokenPipeError):
            pass
    return received


def status_of(answer: bytes) -> int:
    """Return the status of an answer; 0 where the connection was only closed."""
    return int(answer.split(None, 2)[1]) if answer else 0


class Reader:
    """Reads the stream as a browser does: it keeps the lines by number, and the last id."""

    def __init__(self, server: CaptionServer, query: str = "", last_id: str = "") -> None:
        self.lines: dict[tuple[str, int], dict[str, Any]] = {}
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.state: dict[str, Any] = {}
        self.last_id = last_id
        self.open(server, query)

    def open(self, server: CaptionServer, query: str = "") -> None:
        address = urlsplit(server.address)
        self._connection = HTTPConnection(address.hostname or "", address.port, timeout=PATIENCE)
        headers = {"Last-Event-ID": self.last_id} if self.last_id else {}
        self._connection.request("GET", f"{address.path}captions{query}", headers=headers)
        self._stream = self._connection.getresponse()
        assert self._stream.status == 200

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._stream.close()
        self._connection.close()

    @property
    def texts(self) -> list[str]:
        """What a page shows: lines in the order of their numbers, of this run."""
        run = self.state["run"]
        return [values["text"] for (of, _), values in sorted(self.lines.items()) if of == run and values["text"]]

    def until(self, text: str) -> Reader:
        """Read until a line has the text."""
        while not any(values["text"] == text for values in self.lines.values()):
            self.read_event()
        return self

    def until_state(self, state: str) -> Reader:
        while self.state.get("state") != state:
            self.read_event()
        return self

    def read_event(self) -> None:
        """Take one event. A line that the reader has as final already must not come again."""
        fields = self._fields()
        if "data" not in fields:
            return
        kind, values = fields["event"], json.loads(fields["data"])
        self.events.append((kind, values))
        self.last_id = fields.get("id", self.last_id)
        if kind == "state":
            self.state = values
            return
        key = self.state["run"], values["line"]
        assert not self.lines.get(key, {}).get("final"), f"line {key} came again"
        self.lines[key] = {"text": "(gap)", "final": True, **values}

    def _fields(self) -> dict[str, str]:
        fields = {}
        while line := self._stream.readline().decode().removesuffix("\n"):
            name, _, value = line.partition(": ")
            fields[name] = value
        return fields
