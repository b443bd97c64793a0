"""The caption inputs of YouTube, Zoom and Teams, as their documents describe them, with faults."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from urllib.parse import parse_qs, urlsplit

KEYS = {"YouTube": "/closedcaption?cid=abcd-efgh", "Zoom": "/closedcaption?id=1&signature=abcd", "Teams":
        "/cartcaption?meetingid=1&token=abcd"}  # fmt: skip
SECRETS = ("abcd",)


class StandIn:
    """A platform. `shown` is what its viewers see."""

    def __init__(self, name: str, *, clock_error: float = 0.0) -> None:
        self.name, self._clock_error = name, clock_error
        self.shown: list[str] = []
        self.times: list[datetime] = []
        self.last = 0
        self.codes: set[str] = set()
        self.faults: list[str] = []
        """What happens to the next texts, first to last: 500, 403, `silence`, `lost` (taken, and the answer lost)
        or `cut` (taken, and half of the answer lost)."""
        self.on_text: Callable[[], object] = lambda: None
        """Called when a text was taken, before it is answered."""
        self._over = Event()
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                assert stand_in.name == "Zoom" and urlsplit(self.path).path.endswith("/seq")
                self._answer(200, str(stand_in.last))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                assert self.headers["Content-Type"] == "text/plain" + ("; charset=utf-8" * (stand_in.name != "YouTube"))
                fault = stand_in.faults.pop(0) if stand_in.faults else ""
                if fault == "silence":
                    stand_in._over.wait(2)
                elif fault.isdecimal():
                    self._answer(int(fault), "no")
                else:
                    status = stand_in._take(parse_qs(urlsplit(self.path).query), body)
                    if fault != "lost":
                        self._answer(status, stand_in._now().isoformat()[:-3], claimed=500 if fault == "cut" else 0)
                self.close_connection = True

            def _answer(self, status: int, text: str, claimed: int = 0) -> None:
                with suppress(OSError):  # A killed run takes no answer.
                    self.send_response(status)
                    self.send_header("Content-Length", str(claimed or len(text)))
                    self.end_headers()
                    self.wfile.write(text.encode())

            def log_message(self, *words: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.link = f"http://127.0.0.1:{self._server.server_port}{KEYS[name]}"

    def _now(self) -> datetime:
        return datetime.fromtimestamp(time.time() + self._clock_error, UTC).replace(tzinfo=None)

    def _take(self, query: dict[str, list[str]], body: str) -> int:
        if not body:
            return 200
        self.codes |= {*query.get("lang", [])}
        if self.name != "Teams":
            number = int(query["seq"][0])
            if number == self.last and self.name == "YouTube":
                return 200  # Tried again.
            if number != self.last + 1:
                return 403
            self.last = number
        if self.name == "YouTube":
            instant, _, body = body.partition("\n")
            self.times.append(datetime.fromisoformat(instant))
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}", instant) and body.endswith("\n")
            if abs(self.times[-1] - self._now()) > timedelta(seconds=60):
                return 200  # It says nothing of a text that it drops.
        self.shown.append(body.strip("\n").replace("<br>", "\n"))
        self.on_text()
        return 200

    @property
    def text(self) -> str:
        """What was shown, without its line ends."""
        return " ".join(" ".join(self.shown).split())

    def secret_in(self, folder: Path) -> str:
        """Return a place of the link, as --captions-to takes it."""
        file = folder / f"{self.name}.txt"
        file.touch(0o600)
        file.write_text(self.link + "\n")
        return f"@{file}"

    def close(self) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def standing_in(name: str, *, clock_error: float = 0.0) -> Iterator[StandIn]:
    found = StandIn(name, clock_error=clock_error)
    try:
        yield found
    finally:
        found.close()
