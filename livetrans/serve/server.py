"""The server of captions: a socket, a thread with an event loop, and the limits for all connections together."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import os
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import replace

from livetrans.base.errors import LivetransError
from livetrans.base.text import counted
from livetrans.serve.address import ServeAddress, token_for
from livetrans.serve.connection import Connections, OnRead, ReaderConnection
from livetrans.serve.lines import SharedLines

_WAITING = 64
"""Connections that wait in the system to be accepted."""
_SENT_AHEAD = 32_768
"""Bytes that the system buffers for a reader. A newer state cannot replace what waits there."""
_CHECK_SECONDS = 1.0
_THREAD_SECONDS = 2.0
"""Time limit for the thread to start, and to end."""


class CaptionServer:
    """Serves the captions of a run at an address, from `start` to `stop`.

    Raises:
        LivetransError: there is no such address, or no token can be kept for it.
    """

    def __init__(self, place: ServeAddress, lines: SharedLines | None = None) -> None:
        self._place = place.located()
        self.lines = lines or SharedLines()
        """The sink of the run."""
        self._token = token_for(place)
        self.on_read: OnRead = lambda languages: None
        """Called in the server's thread; set before the run starts."""
        self._connections = Connections(self._place, self._token, self.lines, lambda read: self.on_read(read))
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
        return self._connections.readers

    @property
    def status(self) -> str:
        return f"{self.address} · {self.who_can_read} · {counted(self.readers, 'reader')}"

    def start(self) -> None:
        """Open the place, and serve in a thread.

        Raises:
            LivetransError: the place cannot be opened.
        """
        listening = self._open()
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

    def _open(self) -> socket.socket:
        address, port = self._place.address, self._place.port
        family = socket.AF_INET6 if address and address.version == 6 else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            if sys.platform != "win32":  # There two programs could then share a port.
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Connections inherit this.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SENT_AHEAD)
            listening.bind((str(address), port))
            listening.listen(_WAITING)
        except OSError as fault:
            listening.close()
            raise LivetransError(_cannot_open(f"{address}:{port}" if port else str(address), fault)) from None
        listening.setblocking(False)
        self._place = replace(self._place, port=listening.getsockname()[1])
        return listening

    def _announce(self) -> None:
        """Wake the loop, once for all changes until it runs."""
        if not self._has_news and self._loop:
            self._has_news = True
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._send_news)

    def _send_news(self) -> None:
        self._has_news = False
        self._connections.send_news()

    def _run(self, loop: asyncio.AbstractEventLoop, listening: socket.socket, ready: Callable[[], None]) -> None:
        connections = self._connections

        def check() -> None:
            connections.drop_stalled()
            loop.call_later(_CHECK_SECONDS, check)

        # Faults of connections (one that vanished, no more files) concern nobody else, and the screen has the terminal.
        loop.set_exception_handler(lambda loop, context: None)
        server = loop.run_until_complete(
            loop.create_server(lambda: ReaderConnection(connections), sock=listening, backlog=_WAITING)
        )
        check()
        ready()
        try:
            loop.run_forever()
        finally:
            server.close()
            loop.run_until_complete(connections.end())
            loop.run_until_complete(asyncio.sleep(0))
            loop.close()


def _cannot_open(place: str, fault: OSError) -> str:
    if fault.errno == errno.EADDRINUSE:
        return f"{place} is in use by another program: name another port with --serve, or none for a free one."
    if fault.errno in (errno.EACCES, errno.EPERM):
        return f"{place} may not be opened by this user: name a port from 1024 on with --serve."
    if fault.errno == errno.EADDRNOTAVAIL:
        return f"{place} is not an address of this machine: write --serve lan, and it is found."
    return f"{place} cannot be opened ({os.strerror(fault.errno or 0)}): name another with --serve."
