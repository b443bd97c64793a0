"""A reader's connection: one request, answered by a file or by the stream for as long as the reader stays."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
import time
from collections.abc import Callable
from http import HTTPStatus

import h11

from livetrans.serve.address import ServeAddress, parse_address
from livetrans.serve.lines import ReaderPosition, SharedLines, StreamQuery
from livetrans.serve.requests import SAFE_HEADERS, PageFile, Refusal, answer_to

MOST_READERS = 500
MOST_CONNECTIONS = 600
MOST_OF_ONE_ADDRESS = 64
"""Most connections from one address of another machine."""
FILES_OF_A_RUN = 128
"""Files that a run can have open besides connections."""
LONGEST_HEAD = 8192
"""Most bytes of a request's first line and headers together."""
OPEN_SECONDS = 10.0
"""Time limit for a request to arrive, and for an answer other than the stream to be taken."""
STALLED_SECONDS = 30.0
"""Time without taking anything after which a reader is disconnected."""
LAST_SECONDS = 1.0
"""Time that slow readers have at the end of a run to take the last captions."""
QUIET_SECONDS = 15.0
"""Time without captions after which the state is sent again, so that both sides notice a lost connection."""
BATCH = 16_384
"""About how many bytes wait for a slow reader. The rest is read from the lines once it can take more."""

_CONNECTION_DROP_TIME = 0x80
"""`TCP_RXT_CONNDROPTIME` of macOS (netinet/tcp.h); Python has no name for it."""


class ReaderConnection(asyncio.Protocol):
    """One connection. All its methods run in the server's loop.

    A reader of the stream has no queue. Nothing is written while the system takes no more bytes for it. Then it gets
    what has changed since.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._http = h11.Connection(h11.SERVER)
        self._taken = 0
        """Bytes of the request received so far."""
        self._transport: asyncio.Transport
        self._since = connections.now()
        """Start of the current wait: for the request, for the reader, or for a caption."""
        self._method = b""
        self._is_answered = False
        self.is_blocked = False
        """Whether the system takes no more bytes for it."""
        self.wanted: StreamQuery | None = None
        """The query, if this is a reader of the stream."""
        self._reached = ReaderPosition(0, 0)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(0)
        end_if_vanished(transport.get_extra_info("socket"), STALLED_SECONDS)
        if not self._connections.admit(self, str(transport.get_extra_info("peername", ("",))[0])):
            transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._is_answered:
            self._transport.abort()  # A reader sends one request and nothing after it.
            return
        self._taken += len(data)
        try:
            if self._taken > LONGEST_HEAD:
                raise Refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The request is too long.")
            self._http.receive_data(data)
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                return
            if not isinstance(event, h11.Request) or event.http_version not in (b"1.0", b"1.1"):
                raise Refusal(HTTPStatus.BAD_REQUEST, "This is no request.")
            self._is_answered, self._method = True, event.method
            shared = self._connections
            self._answer(answer_to(event.method, event.target, event.headers, shared.place, shared.token))
        except h11.RemoteProtocolError:
            self._refuse(Refusal(HTTPStatus.BAD_REQUEST, "The request cannot be read."))
        except Refusal as refusal:
            self._refuse(refusal)

    def pause_writing(self) -> None:
        self.is_blocked, self._since = True, self._connections.now()

    def resume_writing(self) -> None:
        self.is_blocked, self._since = False, self._connections.now()
        self.send_news()

    def connection_lost(self, error: Exception | None) -> None:
        self._connections.forget(self)

    def send_news(self) -> None:
        """Send a reader of the stream as many changes as it can take."""
        while self.wanted and not self.is_blocked and not self._transport.is_closing():
            data, self._reached = self._connections.lines.since(self._reached, self.wanted, BATCH)
            if not data:
                return
            self._since = self._connections.now()
            self._send(h11.Data(data))

    def drop_stalled(self, now: float) -> None:
        """Drop the connection if it takes too long. Send the state to readers of a quiet run. Called every second."""
        waited = now - self._since
        if not self.wanted or self.is_blocked:
            if waited > (STALLED_SECONDS if self.wanted else OPEN_SECONDS):
                self._transport.abort()
        elif waited > QUIET_SECONDS:
            self._since = now
            self._send(h11.Data(self._connections.lines.state_frame))

    def end(self) -> None:
        """End the answer. Browsers may drop the last captions of one that is cut."""
        if self.wanted and not self.is_blocked and not self._transport.is_closing():
            self._send(h11.EndOfMessage())
        self._transport.abort()

    def _answer(self, answer: PageFile | StreamQuery) -> None:
        if isinstance(answer, PageFile):
            self._send_whole(HTTPStatus.OK, {"Content-Type": answer.content_type}, answer.content)
            return
        if not self._connections.has_room_for_a_reader:
            raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "There are too many readers.")
        self._send(_head(HTTPStatus.OK, {"Content-Type": "text/event-stream; charset=utf-8"}))
        self._reached = self._connections.lines.position_of(answer)
        self._send(h11.Data(b"retry: 1000\n\n" + self._connections.lines.state_frame))
        self.wanted, self._since = answer, self._connections.now()
        self._connections.count_readers()
        self.send_news()

    def _refuse(self, refusal: Refusal) -> None:
        self._is_answered = True
        headers = {"Content-Type": "text/plain; charset=utf-8", **refusal.headers}
        self._send_whole(refusal.status, headers, f"{refusal}\n".encode())

    def _send_whole(self, status: HTTPStatus, headers: dict[str, str], content: bytes) -> None:
        self._send(_head(status, {**headers, "Content-Length": str(len(content))}))
        if self._method != b"HEAD":
            self._send(h11.Data(content))
        self._send(h11.EndOfMessage())
        self._transport.close()

    def _send(self, event: h11.Event) -> None:
        if data := self._http.send(event):
            self._transport.write(data)


def end_if_vanished(connection: socket.socket, seconds: float) -> None:
    """Let the system end a connection if the other side confirms nothing for `seconds`."""
    with contextlib.suppress(OSError):  # A Mac refuses this if the other side has left.
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(1000 * seconds))
        elif sys.platform == "darwin":
            connection.setsockopt(socket.IPPROTO_TCP, _CONNECTION_DROP_TIME, round(seconds))


def _head(status: HTTPStatus, headers: dict[str, str]) -> h11.Response:
    fields = list({**headers, **SAFE_HEADERS}.items())
    return h11.Response(status_code=status, headers=fields, reason=status.phrase)


OnRead = Callable[[frozenset[str]], None]
"""Called with the languages that somebody reads, whenever they change."""


class Connections:
    """State that all connections share, in the server's loop."""

    def __init__(self, place: ServeAddress, token: str, lines: SharedLines, on_read: OnRead) -> None:
        self.place, self.token, self.lines = place, token, lines
        self._on_read = on_read
        self._read: frozenset[str] = frozenset()
        self.now = time.monotonic
        self.readers = 0
        """Number of readers of the stream. Any thread may read it."""
        self._open: dict[ReaderConnection, str] = {}
        """All connections, each with its remote address."""
        self._most = _most_connections()

    @property
    def has_room_for_a_reader(self) -> bool:
        return self.readers < MOST_READERS

    def admit(self, connection: ReaderConnection, address: str) -> bool:
        """Note a connection. Return whether there is room for it."""
        self._open[connection] = address
        of_one = 0 if _is_here(address) else list(self._open.values()).count(address)
        return len(self._open) <= self._most and of_one <= MOST_OF_ONE_ADDRESS

    def forget(self, connection: ReaderConnection) -> None:
        del self._open[connection]
        self.count_readers()

    def count_readers(self) -> None:
        wanted = [connection.wanted for connection in self._open if connection.wanted]
        self.readers = len(wanted)
        read = frozenset(code for code in self.lines.targets if any(one.takes(code) for one in wanted))
        if read != self._read:
            self._read = read
            self._on_read(read)

    def send_news(self) -> None:
        self.count_readers()  # The languages are known only once the run has started.
        for connection in tuple(self._open):
            connection.send_news()

    def drop_stalled(self) -> None:
        now = self.now()
        for connection in tuple(self._open):
            connection.drop_stalled(now)

    async def end(self) -> None:
        """End all connections, once slow readers have the last captions or take too long."""
        limit = self.now() + LAST_SECONDS
        while any(one.wanted and one.is_blocked for one in self._open) and self.now() < limit:
            await asyncio.sleep(0.02)
        for connection in tuple(self._open):
            connection.end()


def _most_connections() -> int:
    """Return the most connections that leave the run enough files; raise the limit of open files for them."""
    try:
        import resource
    except ImportError:
        return MOST_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + FILES_OF_A_RUN
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return MOST_CONNECTIONS
    more = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
        soft = more
    return max(soft - FILES_OF_A_RUN, 1)


def _is_here(address: str) -> bool:
    parsed = parse_address(address.partition("%")[0])
    return parsed is not None and parsed.is_loopback
