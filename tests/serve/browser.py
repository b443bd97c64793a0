"""Headless Chromium, driven by its debugging protocol over a pipe (`--remote-debugging-pipe`): no library is needed."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

from livetrans.serve.hub import HubPublisher
from livetrans.serve.server import CaptionServer

PATIENCE = 30.0
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")

LAUNCH = """
import fcntl, os, sys
for place, pipe in zip((3, 4), [fcntl.fcntl(int(pipe), fcntl.F_DUPFD_CLOEXEC, 10) for pipe in sys.argv[1:3]]):
    os.dup2(pipe, place)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Puts the pipes where the browser expects them."""

T = TypeVar("T")
Outlet = CaptionServer | HubPublisher
"""What gives captions to a page."""


def find_browser() -> str | None:
    """Return the path of a browser with the protocol; None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One process of the browser."""

    def __init__(self, program: str) -> None:
        self._folder = tempfile.mkdtemp(prefix="livetrans-browser-")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        command = [sys.executable, "-c", LAUNCH, str(to_browser), str(from_browser), program, "--headless"]
        command += ["--remote-debugging-pipe", "--disable-gpu", "--no-first-run", f"--user-data-dir={self._folder}"]
        command += ["--hide-scrollbars", "--disable-background-networking", "--disable-component-update"]
        if os.geteuid() == 0:
            command.append("--no-sandbox")  # It refuses to run as root with it.
        self._process = subprocess.Popen(
            [*command, "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._rest = b""
        self._number = 0
        self.events: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        """Of each session: names and parameters, in the order in which they came."""

    def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._take()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result

    def _take(self) -> dict[str, Any]:
        """Return the next message, events being noted."""
        while b"\0" not in self._rest:
            assert select.select([self._read], [], [], PATIENCE)[0], "the browser does not answer"
            part = os.read(self._read, 1 << 20)
            assert part, "the browser has ended"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        values: dict[str, Any] = json.loads(message)
        if "method" in values:
            self.events.setdefault(values.get("sessionId", ""), []).append((values["method"], values["params"]))
        return values

    @contextmanager
    def page(self, address: str, *, width: int = 1280, height: int = 720, before: str = "") -> Iterator[Page]:
        """Open an address in a window of its own; `before` is a script that runs before those of the page."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        page.resize(width, height)
        page.call("Page.addScriptToEvaluateOnNewDocument", source=before)
        page.open(address)
        try:
            yield page
        finally:
            self.call("Target.disposeBrowserContext", browserContextId=context)

    def close(self) -> None:
        with contextlib.suppress(AssertionError, OSError):
            self.call("Browser.close")
        self._process.kill()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)
        shutil.rmtree(self._folder, ignore_errors=True)


class Page:
    """A page in the browser."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **parameters)

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)
        self.until(lambda: self.run("document.readyState") == "complete" and self.run("location.href") != "about:blank")

    def resize(self, width: int, height: int, scale: float = 1.0) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )

    def run(self, script: str) -> Any:
        """Return the value of an expression; promises are awaited."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, found: Callable[[], T]) -> T:
        """Return the first true value."""
        limit = time.monotonic() + PATIENCE
        while True:
            value = found()
            if value:
                return value
            assert time.monotonic() < limit, f"the page shows {self.run('document.body.innerText')!r}"
            time.sleep(0.005)

    def press(self, key: str) -> None:
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key if len(key) == 1 else "")
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def slow_down(self, seconds: float = 0.0, *, offline: bool = False) -> None:
        """Let each answer take so long, or none come."""
        values = {"offline": offline, "latency": 1000 * seconds, "downloadThroughput": -1, "uploadThroughput": -1}
        self.call("Network.emulateNetworkConditions", **values)

    def picture(self) -> bytes:
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    @property
    def texts(self) -> list[str]:
        """The lines that are shown, without labels and sources."""
        found: list[str] = self.run("[...document.querySelectorAll('.line .text')].map((text) => text.textContent)")
        return found

    def shows(self, *texts: str) -> None:
        """Wait until the lines are these."""
        self.until(lambda: self.texts == list(texts))

    @property
    def requests(self) -> list[str]:
        """The addresses of all requests so far."""
        events = self._browser.events[self._session]
        return [values["request"]["url"] for name, values in events if name == "Network.requestWillBeSent"]

    @property
    def complaints(self) -> list[str]:
        """What a script or the browser has complained about, such as refused content; but no lost connection."""
        found = []
        for name, values in self._browser.events[self._session]:
            if name == "Runtime.exceptionThrown":
                found.append(str(values["exceptionDetails"]))
            elif name == "Log.entryAdded" and values["entry"]["source"] != "network":
                found.append(values["entry"]["text"])
        return found


@contextmanager
def reading(
    browser: Browser,
    server: Outlet,
    query: str = "",
    *,
    size: tuple[int, int] = (1280, 720),
    before: str = "",
    address: str = "",
) -> Iterator[Page]:
    """A page that reads along. It asks nobody else for anything, and nothing in it fails."""
    address = address or server.address
    width, height = size
    with browser.page(address + query, width=width, height=height, before=before) as page:
        yield page
        assert {urlsplit(request).netloc for request in page.requests} <= {urlsplit(address).netloc, ""}
        assert page.complaints == []
