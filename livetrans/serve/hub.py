"""Captions for a hall: files that livetrans puts on a web server, and pages that fetch them (docs/event.md).

No file is a queue: each is made of the lines as they are then, and says which change it follows.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import http.client
import json
import os
import re
import secrets
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from pathlib import Path

from livetrans.base.errors import LivetransError, UsageError
from livetrans.base.files import private_file, private_folder, write_all
from livetrans.base.installation import user_folder
from livetrans.events import Notice, Record, RunEnded
from livetrans.serve.lines import LINES_AT_FIRST, LINES_KEPT, SharedLines
from livetrans.serve.requests import FILES, SAFE_HEADERS
from livetrans.serve.secret import Claim, connection_to, is_here, parse_publish_address, read_secret, split_address

SECRET = "LIVETRANS_HUB_SECRET"
"""Environment variable with the secret, or `@FILE`; without it the secret is that which `livetrans hub` has kept."""
USER = "livetrans"
TAIL_SECONDS = 12.0
"""Time whose changes the file has that every reader fetches each second."""
EVERY = {"all": 600.0, "now": 10.0, "tail": 0.5}
"""Least times between two versions of a file. `now` is for new readers, `all` for those who were away for long. A file
is put sooner where the next one leaves out more than it has: `all`, which is large, once in 50 finished lines.
"""
BEFORE = {"tail": "now", "now": "all"}
"""The file that has what a file leaves out, and is put before it."""
BEAT_SECONDS = 10.0
"""Time without changes after which the tail is put again: it shows that the run still reaches the hub."""
DEAD_SECONDS = 30.0
"""Age of a tail whose run has ended without saying so."""
ANSWER_SECONDS = 10.0
LONGEST_PAUSE = 5.0
LAST_SECONDS = 5.0
"""Time at the end of a run to put the last files."""


class Hub:
    """A room on a web server, over one kept connection."""

    def __init__(self, address: str) -> None:
        """Raises:
        UsageError: this is no address of a room.
        LivetransError: there is no secret for it.
        """
        self._parts = parse_publish_address(address)
        self.host, self.room = self._parts.netloc, self._parts.path.removeprefix("/pub/")
        self.address = f"{self._parts.scheme}://{self.host}/{self.room}/"
        """Of the page."""
        login = f"{USER}:{secret_of(self.host)}"
        self._login = {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}
        self._link: http.client.HTTPConnection | None = None

    def put(self, name: str, body: bytes) -> None:
        """Put a file. Raises as `ask`."""
        self.ask("PUT", f"/pub/{self.room}/{name}", gzip.compress(body, 6, mtime=0))

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[bytes, http.client.HTTPMessage]:
        """Return content and headers of an answer, also where a GET finds nothing.

        Raises:
            OSError: the hub does not answer as it should.
            LivetransError: it refuses the secret, or its certificate or name is wrong.
        """
        is_kept = self._link is not None
        link = self._link = self._link or connection_to(self._parts, ANSWER_SECONDS)
        try:
            link.request(method, path, body, self._login if path.startswith("/pub/") else {})
            answer = link.getresponse()
            content = answer.read(4_000_000)
        except (OSError, http.client.HTTPException) as fault:
            self.close()
            if is_kept:  # It was closed meanwhile, perhaps.
                return self.ask(method, path, body)
            if isinstance(fault, ssl.SSLCertVerificationError):
                why = fault.verify_message.rstrip(".")
                sentence = f"The certificate of {self.host} is not valid ({why}): nothing was sent."
                raise LivetransError(sentence) from None
            if isinstance(fault, socket.gaierror) and fault.errno == socket.EAI_NONAME:
                raise LivetransError(f"There is no hub {self.host}: check its name in --publish.") from None
            said = "" if isinstance(fault, TimeoutError) else getattr(fault, "strerror", None) or str(fault)
            raise OSError(said or "no answer") from None
        if answer.status in (401, 403):
            raise LivetransError(f"The hub {self.host} refuses the secret: set {SECRET}, or run `livetrans hub` again.")
        if answer.status >= 300 and (answer.status != 404 or method == "PUT"):
            raise OSError(f"answer {answer.status}")
        return content, answer.headers

    def close(self) -> None:
        if self._link:
            self._link.close()
        self._link = None

    def clear(self) -> None:
        """Replace what readers get by a run that has ended without a line. Raises as `ask`."""
        nothing = SharedLines()
        nothing.write(Record(0.0, RunEnded(0.0, "stopped")))
        for name in EVERY:
            self.put(name, _head(nothing.run, 0, 0, "") + nothing.state_frame)


class HubPublisher:
    """Puts the lines of a run into the three files of a room, as long as it lasts."""

    is_open_to_others = True

    def __init__(self, address: str, lines: SharedLines, notify: Callable[[Notice], object]) -> None:
        self._hub, self.lines, self.notify = Hub(address), lines, notify
        self.address = self._hub.address
        self._past: deque[tuple[float, int]] = deque([(0.0, 0)])
        """Instants, and the number of the last change at each; the first one begins the tail."""
        self._put: dict[str, tuple[float, tuple[int, int]]] = {}
        """Of each file: when it was put, and its last changes."""
        self._ending, self._ends_at = threading.Event(), 0.0
        self._thread = threading.Thread(target=self._run, name="publishing", daemon=True)
        self._is_away = False
        self.readers = 0
        """Connections that the hub has besides this one, of all its rooms."""

    @property
    def who_can_read(self) -> str:
        return "not reached" if self._is_away else "the internet"

    def start(self) -> None:
        """Begin to publish. A hub that does not answer is only reported.

        Raises:
            LivetransError: the hub refuses the secret, has another run in the room, or cannot be trusted.
        """
        refusal = f"Another run publishes to {self.address}: end it first, or name another room."
        self._claim = Claim("publish", self.address, refusal)
        try:
            self._publisher = self._claim.text or secrets.token_hex(4)  # It tells what is ours of what lies there.
            self._claim.keep(self._publisher)
            self._refuse_another_run()
            self._send("all")
            self._send("now")
        except OSError as fault:
            self._fail(fault)
        except LivetransError:
            self._claim.close()
            raise
        self._thread.start()

    def stop(self) -> bool:
        """Put the last files, for `LAST_SECONDS` at most, and return whether the hub has every caption."""
        self._ends_at = time.monotonic() + LAST_SECONDS
        self._ending.set()
        if self._thread.ident:
            self._thread.join(LAST_SECONDS)
        self._claim.close()
        return self._put.get("tail", (0.0, (0, 0)))[1][0] >= self.lines.version[0]

    def _refuse_another_run(self) -> None:
        content, headers = self._hub.ask("GET", f"/{self._hub.room}/tail")
        try:
            head = json.loads(content.partition(b"data: ")[2].partition(b"\n")[0])
            at, now = (parsedate_to_datetime(headers[name]) for name in ("last-modified", "date"))
            is_alive = b'"state": "ended"' not in content and (now - at).total_seconds() < DEAD_SECONDS
            is_ours = head["publisher"] in ("", self._publisher)
        except (ValueError, KeyError, TypeError):
            return  # Nothing of ours lies there.
        if is_alive and not is_ours:
            raise LivetransError(
                f"Another machine publishes to {self.address}: end its run, or name another room (after a crash, wait "
                f"{DEAD_SECONDS:.0f} s)."
            )

    def _run(self) -> None:
        pause = EVERY["tail"]
        while True:
            is_last = self._ending.is_set()
            try:
                self._send_due("tail", is_last)
                pause = EVERY["tail"]
                if self._is_away:
                    self._is_away = False
                    self.notify(Notice("info", f"Captions reach the hub {self._hub.host} again.", "hub"))
                if is_last:
                    break
            except (OSError, LivetransError) as fault:
                self._fail(fault)
                pause = min(2 * pause, LONGEST_PAUSE)
            if not is_last:
                self._ending.wait(pause)
            elif time.monotonic() < self._ends_at:
                time.sleep(EVERY["tail"])
            else:
                break
        self._hub.close()

    def _send_due(self, name: str, is_last: bool) -> None:
        """Put a file if it is due, and those before it."""
        at, had = self._put.get(name, (-1e9, (-1, -1)))
        waited, has_changed = time.monotonic() - at, had != self.lines.version
        if (has_changed and (is_last or waited >= EVERY[name])) or (name == "tail" and waited >= BEAT_SECONDS):
            self._send(name)
        if before := BEFORE.get(name):
            self._send_due(before, is_last)

    def _send(self, name: str) -> None:
        now, version = time.monotonic(), self.lines.version
        if name == "tail":
            self._past.append((now, version[0]))
            while len(self._past) > 1 and self._past[1][0] < now - TAIL_SECONDS:
                self._past.popleft()
            after, upto, frames = self.lines.changed(self._past[0][1])
        else:
            after, upto, frames = self.lines.latest(LINES_AT_FIRST if name == "now" else LINES_KEPT)
        before = BEFORE.get(name)
        if before and after > self._put.get(before, (0.0, (-1, -1)))[1][0]:
            self._send(before)
        body = _head(self.lines.run, after, upto, self._publisher) + self.lines.state_frame + frames
        self._hub.put(name, body)
        self._put[name] = now, version
        if name == "now":
            words = self._hub.ask("GET", f"/pub/{self._hub.room}/status")[0].split()
            self.readers = int(words[2]) - 1 if words[:2] == [b"Active", b"connections:"] else 0

    def _fail(self, fault: Exception) -> None:
        if not self._is_away:
            text = f"Captions do not reach the hub {self._hub.host} ({str(fault).rstrip('.')}); readers get them later."
            self.notify(Notice("warning", text, "hub"))
        self._is_away = True


def _head(run: str, after: int, upto: int, publisher: str) -> bytes:
    batch = {"run": run, "after": after, "upto": upto, "beat": time.time_ns() // 1_000_000, "publisher": publisher}
    return f"event: batch\ndata: {json.dumps(batch)}\n\n".encode()


def secret_file(host: str) -> Path:
    """Return where the secret of a hub is kept on this machine."""
    return user_folder("config") / "hubs" / re.sub("[^A-Za-z0-9.-]", "_", host)


def secret_of(host: str) -> str:
    """Return the secret of a hub, from the environment or from its file.

    Raises:
        LivetransError: there is none, or others can read it.
    """
    if named := os.environ.get(SECRET):
        return read_secret(named if named.startswith("@") else SECRET)
    if not secret_file(host).exists():
        raise LivetransError(f"There is no secret for {host}: run `livetrans hub {host}`, or set {SECRET} to it.")
    return read_secret(f"@{secret_file(host)}")


def new_secret(host: str) -> str:
    """Return the secret of a hub that is kept here, or a new one of 256 bits, which is kept."""
    path = secret_file(host)
    if not path.exists():
        private_folder(path.parent)
        with private_file(path, "xb") as file:
            write_all(file, f"{secrets.token_urlsafe(32)}\n".encode())
    return read_secret(f"@{path}")


def hub_files(host: str, folder: str, secret: Callable[[str], str] = new_secret) -> dict[str, bytes]:
    """Return the files of a hub by their paths: how to install it, nginx's settings, who may publish, and the page.

    `folder`: where they will lie on the hub. The server gets a hash: what is compared tells nobody the secret.
    """
    parts = split_address(f"https://{host}")
    if not parts or parts.path or not re.fullmatch(r"[A-Za-z0-9\[][A-Za-z0-9.:\[\]-]*", host):
        raise UsageError(f"{host!r} is not the name of a server; write it as captions.example.org")
    kinds = ["HERE"] if is_here(parts) else ["TLS"] if parts.port else ["TLS", "WEB"]
    values = {"HOST": host, "NAME": parts.hostname, "PORT": parts.port or 443, "FOLDER": folder}
    values |= {"FILES": "|".join(re.escape(name) for name in FILES if name), "ROOM": secrets.token_urlsafe(16)}
    values["POLICY"] = SAFE_HEADERS["Content-Security-Policy"]

    def filled(name: str) -> bytes:
        text = Path(__file__).with_name(name).read_text("utf-8")
        text = re.sub("@(HERE|TLS|WEB)@(.*\n)", lambda line: line[2] if line[1] in kinds else "", text)
        return re.sub("@([A-Z]+)@", lambda mark: str(values[mark[1]]), text).encode()

    salt = secrets.token_bytes(8)
    digest = base64.b64encode(hashlib.sha1(secret(host).encode() + salt).digest() + salt).decode()
    page = {f"page/{name or 'index.html'}": file.content for name, file in FILES.items()}
    page["page/index.html"] = page["page/index.html"].replace(b"<html ", b'<html data-hub="files" ', 1)
    publishers = f"{USER}:{{SSHA}}{digest}\n".encode()
    return {"INSTALL": filled("hub.txt"), "livetrans-hub.conf": filled("hub.conf"), "publishers": publishers, **page}
