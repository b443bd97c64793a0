"""A hub: nginx with the files that `livetrans hub` writes, on a free port of this machine, in a folder of its own."""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from livetrans.serve.hub import hub_files
from tests.certificates import new_certificate

NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
SECRET = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I"
KINDS = ("proxy", "fastcgi", "uwsgi", "scgi")


class Nginx:
    def __init__(self, *, connections: int = 512, encrypted: bool = False) -> None:
        """`encrypted`: as for a name in the internet, with a certificate for `localhost` that vouches for itself."""
        if not Path(NGINX).exists():
            pytest.skip("no nginx here: apt-get install nginx")
        self.folder = Path(tempfile.mkdtemp(prefix="livetrans-hub-"))
        self.folder.chmod(0o755)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.certificate = new_certificate(self.folder) if encrypted else None
        self.host = f"{'localhost' if encrypted else '127.0.0.1'}:{self.port}"
        name = f"captions.example.org:{self.port}" if encrypted else self.host
        for path, content in hub_files(name, str(self.folder), lambda host: SECRET).items():
            (self.folder / path).parent.mkdir(exist_ok=True)
            content = content.replace(b"/etc/letsencrypt/live/captions.example.org", bytes(self.folder))
            (self.folder / path).write_bytes(content)
        user = ""
        for name in ("rooms", "put"):
            (self.folder / name).mkdir(mode=0o700)
        if os.geteuid() == 0:  # Else it runs as who tests.
            user = "user www-data;"
            for name in ("rooms", "put"):
                shutil.chown(self.folder / name, "www-data", "www-data")
            shutil.chown(self.folder / "publishers", "root", "www-data")
        (self.folder / "publishers").chmod(0o640)
        folder = self.folder
        paths = "".join(f"{kind}_temp_path {folder}/t-{kind};" for kind in KINDS)
        (folder / "nginx.conf").write_text(
            f"{user} daemon off; worker_processes 2; worker_rlimit_nofile {2 * connections}; pid {folder}/pid;"
            f"error_log {folder}/error.log; events {{ worker_connections {connections}; }}"
            f"http {{ {paths} include {folder}/livetrans-hub.conf; }}"
        )
        self.start()

    def start(self) -> None:
        command = [NGINX, "-c", str(self.folder / "nginx.conf"), "-e", str(self.folder / "error.log")]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        limit = time.monotonic() + 10
        while time.monotonic() < limit:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise AssertionError((self.folder / "error.log").read_text())

    def kill_workers(self) -> None:
        """End what a killed master leaves, so that its port is free."""
        for one in psutil.process_iter():
            with suppress(psutil.Error):
                if one.name() == "nginx" and one.net_connections("tcp") and self._is_ours(one):
                    one.kill()
                    one.wait(5)

    def _is_ours(self, process: psutil.Process) -> bool:
        places = [place.laddr for place in process.net_connections("tcp") if place.status == psutil.CONN_LISTEN]
        return any(place.port == self.port for place in places)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)

    def link(self) -> http.client.HTTPConnection:
        if not self.certificate:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        context = ssl.create_default_context(cafile=self.certificate)
        return http.client.HTTPSConnection("localhost", self.port, timeout=5, context=context)

    def ask(
        self, method: str, path: str, link: http.client.HTTPConnection | None = None, **headers: str
    ) -> tuple[int, bytes, dict[str, str]]:
        link = link or self.link()
        link.request(method, path, b"x" if method in ("PUT", "POST") else None, headers)
        answer = link.getresponse()
        return answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}

    def address(self, room: str) -> str:
        return f"http{'s' if self.certificate else ''}://{self.host}/pub/{room}"

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def running_hub(*, connections: int = 512, encrypted: bool = False) -> Iterator[Nginx]:
    opened = Nginx(connections=connections, encrypted=encrypted)
    try:
        yield opened
    finally:
        opened.close()
