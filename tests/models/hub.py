"""A server of this machine that speaks as much of the Hugging Face hub's protocol as a pull needs, and its faults."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LARGE = 100
"""Bytes from which a file counts as large: the hub publishes its SHA-256."""
COMMIT = "c0ffee" + "0" * 34


@dataclass
class Hub:
    """What is served, and how the server misbehaves."""

    url: str = ""
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """By repository and path."""
    commit: str = COMMIT
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    """Paths asked for, with their ranges."""
    authorised: list[str] = field(default_factory=list)
    """Paths asked for with a token."""
    storage: str = ""
    """Address that the bytes of files come from, as the real hub's come from another host than its pages."""
    refusal: tuple[int, dict[str, str]] | None = None
    """Status and headers of every answer."""
    failures: dict[str, list[int]] = field(default_factory=dict)
    """By a part of the path: status codes that are answered first, one each."""
    cuts: int = 0
    """Bodies that are still to be cut off."""
    cut_after: int = 40_000
    """Bytes of a body that is cut off."""
    left: int = 1 << 40
    """Bytes of files that the line still carries before it is dead."""
    bodies: dict[str, bytes] = field(default_factory=dict)
    """By path: what is served in place of the listed bytes."""
    ignores_ranges: bool = False
    wrong_hash: bool = False
    """Publish another hash than that of the bytes."""
    while_serving: Callable[[], None] | None = None
    """Called between the halves of a body."""

    def info(self, repository: str) -> dict[str, Any]:
        return {
            "id": repository,
            "sha": self.commit,
            "siblings": [self._sibling(path, data) for path, data in self.files[repository].items()],
        }

    def _sibling(self, path: str, data: bytes) -> dict[str, Any]:
        sha256 = hashlib.sha256(data + b"?" if self.wrong_hash else data).hexdigest()
        lfs = {"sha256": sha256, "size": len(data), "pointerSize": 134} if len(data) >= LARGE else None
        git = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        return {"rfilename": path, "size": len(data), "blobId": git, **({"lfs": lfs} if lfs else {})}


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """The hub on a port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hub.requests.append((self.path, self.headers["Range"]))
            if self.headers["Authorization"]:
                hub.authorised.append(self.path)
            failing = next((codes for part, codes in hub.failures.items() if part in self.path and codes), None)
            if hub.refusal or failing:
                self._answer(*(hub.refusal or (failing.pop(0), {})), b"{}")  # type: ignore[union-attr]
            elif found := re.match(r"/api/models/([^/]+/[^/]+)/revision/", self.path):
                self._info(found[1])
            elif re.match(r"/[^/]+/[^/]+/resolve/[0-9a-f]+/", self.path):
                self._answer(302, {"Location": hub.storage + self.path.replace("/resolve/", "/bytes/")}, b"")
            elif found := re.match(r"/([^/]+/[^/]+)/bytes/([0-9a-f]+)/(.+)", self.path):
                self._file(hub.bodies.get(found[3], hub.files[found[1]][found[3]]))
            else:
                self._answer(404, {}, b"")

        def _info(self, repository: str) -> None:
            if repository not in hub.files:
                self._answer(404, {"X-Error-Code": "RepoNotFound"}, b"{}")
            else:
                self._answer(200, {}, json.dumps(hub.info(repository)).encode())

        def _file(self, data: bytes) -> None:
            begun = re.match(r"bytes=(\d+)-", self.headers["Range"] or "")
            start = int(begun[1]) if begun and not hub.ignores_ranges else 0
            if start >= len(data) > 0:
                self._answer(416, {"Content-Range": f"bytes */{len(data)}"}, b"")
                return
            headers = {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"} if start else {}
            self._answer(206 if start else 200, headers, data[start:])

        def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            is_file = "/bytes/" in self.path and status in (200, 206)
            first = body[: min(hub.cut_after, hub.left)] if is_file else body
            self.wfile.write(first)
            if is_file and hub.while_serving:
                hub.while_serving()
            if is_file and len(first) < len(body) and (hub.cuts or hub.left < len(body)):
                hub.cuts, hub.left = max(hub.cuts - 1, 0), hub.left - len(first)
                self.close_connection = True
                self.wfile.flush()
                self.connection.shutdown(2)
                return
            self.wfile.write(body[len(first) :])

        def log_message(self, *arguments: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that goes away in the middle is what some tests want."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
