"""The server of captions: a socket, a thread with an event loop, and the limits for all connections together."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import os
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable

from livetrans.errors import LivetransError
from livetrans.serve.address import Place, parse_address
from livetrans.serve.connection import ReaderConnection
from livetrans.serve.lines import SharedLines

MOST_READERS = 500
MOST_CONNECTIONS = 600
MOST_OF_ONE_ADDRESS = 64
"""Connections of one address that is not this machine's."""
FILES_OF_A_RUN = 128
"""Files that a run may have open besides connections."""
_WAITING = 64
"""Connections that the system keeps until they are taken."""
_SENT_AHEAD = 32_768
"""Bytes that the system keeps for a reader: what waits there cannot be replaced by a newer state."""
_LOOK_SECONDS = 1.0
_THREAD_SECONDS = 2.0
"""Time for the thread to take connections, and to end."""


OnRead = Callable[[frozenset[str]], None]
"""Takes the languages that are read, whenever they change."""


class Serving:
    """What all connections share, in the server's loop."""

    def __init__(self, place: Place, token: str, lines: SharedLines, on_read: OnRead) -> None:
        self.place, self.token, self.lines = place, token, lines
        self._on_read = on_read
        self._read: frozenset[str] = frozenset()
        self.now = time.monotonic
        self.readers = 0
        """How many read the stream; any thread may look."""
        self._connections: dict[ReaderConnection, str] = {}
        self._most = _most_connections()

    @property
    def has_room_for_a_reader(self) -> bool:
        return self.readers < MOST_READERS

    def admit(self, connection: ReaderConnection, address: str) -> bool:
        """Take a connection; return whether there is room for it."""
        self._connections[connection] = address
        of_one = 0 if _is_here(address) else list(self._connections.values()).count(address)
        return len(self._connections) <= self._most and of_one <= MOST_OF_ONE_ADDRESS

    def forget(self, connection: ReaderConnection) -> None:
        del self._connections[connection]
        self.count_readers()

    def count_readers(self) -> None:
        wanted = [connection.wanted for connection in self._connections if connection.wanted]
        self.readers = len(wanted)
        read = frozenset(code for code in self.lines.targets if any(one.takes(code) for one in wanted))
        if read != self._read:
            self._read = read
            self._on_read(read)

    def send_news(self) -> None:
        self.count_readers()  # The languages are known only once the run has started.
        for connection in tuple(self._connections):
            connection.send_news()

    def look(self) -> None:
        now = self.now()
        for connection in tuple(self._connections):
            connection.look(now)

    def end(self) -> None:
        for connection in tuple(self._connections):
            connection.abort()


class CaptionServer:
    """Serves the captions of a run at a place, from `start` to `stop`; it can be started again."""

    def __init__(self, place: Place) -> None:
        self._place = place.located()
        self.lines = SharedLines()
        """The sink of the run; it outlives a stop."""
        self._token = secrets.token_urlsafe(16) if place.lan else ""
        self.on_read: OnRead = lambda languages: None
        """Called in the server's thread; set before the run starts."""
        self._serving = self._new_serving()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._has_news = False

    @property
    def address(self) -> str:
        """The address of the page, with the token where it needs one."""
        host = str(self._place.address)
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{self._place.port}/" + (f"{self._token}/" if self._token else "")

    @property
    def who_can_read(self) -> str:
        return self._place.readers

    @property
    def is_open_to_others(self) -> bool:
        return self._place.lan

    @property
    def readers(self) -> int:
        return self._serving.readers

    def start(self) -> None:
        """Open the place, and serve in a thread.

        Raises:
            LivetransError: the place cannot be opened.
        """
        listening = self._open()
        self._serving = self._new_serving()
        self._loop = asyncio.new_event_loop()
        takes = threading.Event()
        serve = functools.partial(self._run, self._loop, listening, takes.set)
        self._thread = threading.Thread(target=serve, name="serving", daemon=True)
        self.lines.on_change = self._announce
        self._thread.start()
        takes.wait(_THREAD_SECONDS)

    def stop(self) -> None:
        """End all connections and close the place."""
        self.lines.on_change = lambda: None
        if self._loop and self._thread:
            with contextlib.suppress(RuntimeError):  # It has ended.
                self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_THREAD_SECONDS)
        self._loop = self._thread = None

    def _new_serving(self) -> Serving:
        return Serving(self._place, self._token, self.lines, lambda languages: self.on_read(languages))

    def _open(self) -> socket.socket:
        address, port = self._place.address, self._place.port
        family = socket.AF_INET6 if address and address.version == 6 else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            if sys.platform != "win32":  # Where it means that two programs may have one port.
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Connections inherit it.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SENT_AHEAD)
            listening.bind((str(address), port))
            listening.listen(_WAITING)
        except OSError as fault:
            listening.close()
            raise LivetransError(_cannot_open(f"{address}:{port}" if port else str(address), fault)) from None
        listening.setblocking(False)
        self._place = Place(address, listening.getsockname()[1], self._place.lan)
        return listening

    def _announce(self) -> None:
        """Wake the loop, once for all that is new until it comes to it."""
        if not self._has_news and self._loop:
            self._has_news = True
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._send_news)

    def _send_news(self) -> None:
        self._has_news = False
        self._serving.send_news()

    def _run(self, loop: asyncio.AbstractEventLoop, listening: socket.socket, ready: Callable[[], None]) -> None:
        serving = self._serving

        def look() -> None:
            serving.look()
            loop.call_later(_LOOK_SECONDS, look)

        # Faults of connections (one that vanished, no more files) concern nobody else, and the screen has the terminal.
        loop.set_exception_handler(lambda loop, context: None)
        server = loop.run_until_complete(
            loop.create_server(lambda: ReaderConnection(serving), sock=listening, backlog=_WAITING)
        )
        look()
        ready()
        try:
            loop.run_forever()
        finally:
            server.close()
            serving.end()
            loop.run_until_complete(asyncio.sleep(0))
            loop.close()


def _most_connections() -> int:
    """Return how many connections there may be, with files left for the run; the limit of files is raised for them."""
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


def _cannot_open(place: str, fault: OSError) -> str:
    if fault.errno == errno.EADDRINUSE:
        return f"{place} is in use by another program: name another port with --serve, or none for a free one."
    if fault.errno in (errno.EACCES, errno.EPERM):
        return f"{place} may not be opened by this user: name a port from 1024 on with --serve."
    if fault.errno == errno.EADDRNOTAVAIL:
        return f"{place} is no address of this machine: write --serve lan, and it is found."
    return f"{place} cannot be opened ({os.strerror(fault.errno or 0)}): name another with --serve."
