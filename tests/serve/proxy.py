"""A network between a page and the server, which can be cut: nothing comes through then, and nothing is closed.

A short cut delays what was on its way; after a long one the system has given it up.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from urllib.parse import urlsplit

from livetrans.serve.server import CaptionServer


class Proxy:
    """Forwards connections, in a thread."""

    def __init__(self, server: CaptionServer) -> None:
        self._target = urlsplit(server.address)
        self._loop = asyncio.new_event_loop()
        self._is_whole = asyncio.Event()
        self._loses = False
        self.address = ""

    def __enter__(self) -> Proxy:
        listening = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(listening,), daemon=True)
        self._thread.start()
        listening.wait()
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def cut(self, *, loses: bool) -> None:
        self._loses = loses
        self._loop.call_soon_threadsafe(self._is_whole.clear)

    def mend(self) -> None:
        self._loop.call_soon_threadsafe(self._is_whole.set)

    def _run(self, listening: threading.Event) -> None:
        self._is_whole.set()
        server = self._loop.run_until_complete(asyncio.start_server(self._connect, "127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        listening.set()
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        server.close()
        self._loop.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._is_whole.wait()
        there = await asyncio.open_connection(self._target.hostname, self._target.port)
        await asyncio.gather(self._forward(reader, there[1]), self._forward(there[0], writer))

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if not self._is_whole.is_set() and self._loses:
                    await asyncio.Event().wait()
                await self._is_whole.wait()
                writer.write(data)
        writer.close()
