"""A hall in trouble: the speaker's network is cut, the hub is killed, readers are away, the run is started again.

After each of them the page of real Chromium has to show every line of the run once, in order, in its newest form.
"""

from __future__ import annotations

import json
import random
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from livetrans.events import Caption, Record, Transcript
from livetrans.serve.hub import HubPublisher
from livetrans.serve.lines import LINES_KEPT, SharedLines
from tests.serve.browser import Browser, Page
from tests.serve.nginx import Nginx

PATIENCE = 30.0
STEP = 1 / 8
"""Seconds between two changes: twice as fast as real captions."""


class Network(threading.Thread):
    """The speaker's network: what goes to the hub passes it, and while it is cut nothing is answered."""

    def __init__(self, hub: Nginx) -> None:
        super().__init__(daemon=True)
        self._hub, self.is_cut = hub, False
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.start()

    def run(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
                far = socket.create_connection(("127.0.0.1", self._hub.port))
            except OSError:
                if self._listening.fileno() < 0:
                    return
                near.close()
                continue
            threading.Thread(target=self._pass_on, args=(near, far), daemon=True).start()

    def _pass_on(self, near: socket.socket, far: socket.socket) -> None:
        other = {near: far, far: near}
        with near, far:
            while True:
                if self.is_cut:
                    time.sleep(0.05)
                    continue
                try:
                    for ready in select.select([near, far], [], [], 0.1)[0]:
                        data = ready.recv(65536)
                        if not data:
                            return
                        other[ready].sendall(data)
                except OSError:
                    return

    def close(self) -> None:
        self._listening.close()


class Talk(threading.Thread):
    """Somebody who speaks: each line grows twice and is final."""

    def __init__(self, name: str) -> None:
        super().__init__(daemon=True)
        self.lines, self._name = SharedLines(), name
        self.speaks, self.has_ended = threading.Event(), False
        self.speaks.set()
        self.start()

    def run(self) -> None:
        number = 0
        while not self.has_ended:
            self.speaks.wait()
            segment, step = divmod(number, 3)
            text = f"{self._name} {segment} " + "wort " * step + ("ende." if step == 2 else "")
            spoken = Transcript(segment, step, "said", "" if step == 2 else "more", step == 2, 0.0, 1.0)
            self.lines.write(Record(0.0, Caption(spoken, text=text)))
            number += 1
            time.sleep(STEP)

    @property
    def texts(self) -> list[str]:
        frames = self.lines.latest(LINES_KEPT)[2].decode().split("\n\n")
        values = [json.loads(frame.partition("data: ")[2]) for frame in frames if frame]
        return [" ".join(one["text"].split()) for one in sorted(values, key=lambda one: one["line"])]


@contextmanager
def _publishing(network: Network, room: str, talk: Talk) -> Iterator[HubPublisher]:
    publisher = HubPublisher(f"http://127.0.0.1:{network.port}/pub/{room}", talk.lines, lambda notice: None)
    publisher.start()
    yield publisher
    talk.speaks.set()
    publisher.stop()


def trouble(hub: Nginx, browser: Browser, seed: int, scale: float) -> list[str]:
    """Go through every kind of trouble once, in the order that `seed` gives; return what a page then lacked.

    `scale`: 1 cuts a network for 25 s.
    """
    chance, room, broken = random.Random(seed), f"chaos-{seed}-{time.time_ns()}", []
    network = Network(hub)

    def compare(page: Page, talk: Talk, what: str) -> None:
        time.sleep(0.3)
        talk.speaks.clear()
        time.sleep(2 * STEP)
        wanted, limit = talk.texts, time.monotonic() + PATIENCE
        while (found := shown(page, talk)) != wanted and time.monotonic() < limit:
            time.sleep(0.1)
        if found != wanted:
            lacks = [text for text in wanted if text not in found][:3]
            broken.append(f"{what}: {len(found)} lines of {len(wanted)}, without {lacks}")
        print(f"  {what}: {len(wanted)} lines, the same after {time.monotonic() - limit + PATIENCE:.1f} s")
        talk.speaks.set()

    def shown(page: Page, talk: Talk) -> list[str]:
        return [text for text in (" ".join(one.split()) for one in page.texts) if text.startswith(talk._name + " ")]

    def wait(seconds: float) -> None:
        time.sleep(seconds * scale * chance.uniform(0.8, 1.2))

    def cut_off(page: Page, talk: Talk) -> None:
        network.is_cut = True
        wait(25)
        network.is_cut = False

    def kill_hub(page: Page, talk: Talk) -> None:
        hub.process.kill()
        hub.process.wait()
        hub.kill_workers()
        wait(5)
        hub.start()

    def reader_away(page: Page, talk: Talk) -> None:
        page.slow_down(offline=True)
        wait(25)
        page.slow_down()

    kinds = [cut_off, kill_hub, reader_away]
    chance.shuffle(kinds)
    talk = Talk("eins")
    with browser.page(f"http://{hub.host}/{room}/") as page:
        with _publishing(network, room, talk) as publisher:
            wait(5)
            compare(page, talk, "start")
            for kind in kinds:
                kind(page, talk)
                compare(page, talk, kind.__name__)
            talk.has_ended = True
            publisher._ending.set()  # Killed: nothing says that it has ended.
            publisher._thread.join(PATIENCE)
        time.sleep(3)  # The page has what the first run has put.
        before, talk = finished(page, "eins"), Talk("zwei")
        with _publishing(network, room, talk):
            wait(5)
            compare(page, talk, "run started again")
            talk.has_ended = True
        if finished(page, "eins") != before:
            broken.append("the lines of the first run have changed")
        if scale >= 1:  # Now nobody publishes: the page says so 40 s after the last sign of life.
            time.sleep(25)
            page.until(lambda: "No connection" in page.run("document.getElementById('state').textContent"))
        broken += page.complaints
    network.close()
    return broken


def finished(page: Page, name: str) -> list[str]:
    return [text for text in page.texts if text.startswith(f"{name} ") and text.endswith("ende.")]
