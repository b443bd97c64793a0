"""How late captions reach thousands of readers through a hub, and what that costs.

    python -m tests.benchmarks.hall --readers 5000 --seconds 20

A real nginx with the files of `livetrans hub`, the publisher of `--publish`, and readers that ask once a second, as the
page does, all on this machine and on loopback. Four changes a second, twice the real rate. The lag of a change is the
time from `SharedLines.write` to the reader that has it; what is replaced within a reader's second is never read.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import os
import random
import re
import resource
import select
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil

from livetrans import names
from livetrans.events import Caption, Record, Transcript
from livetrans.serve import hub as module
from livetrans.serve.hub import HubPublisher
from livetrans.serve.lines import SharedLines
from tests.serve.nginx import SECRET, running_hub

ADDRESSES = 8
"""Addresses of this machine that readers come from: a hub limits the connections of each."""
COMMON = Path(names.__file__).with_name("common.en.txt")


class Readers:
    """Connections that ask for the tail once a second, each at its own moment."""

    def __init__(self, port: int, room: str, count: int, written: dict[int, float]) -> None:
        self._written = written
        request = f"GET /{room}/tail HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\n\r\n"
        self._request = request.encode()
        self._poll = select.epoll()
        self._of: dict[int, socket.socket] = {}
        for number in range(count):
            one = socket.socket()
            one.bind((f"127.0.0.{2 + number % ADDRESSES}", 0))
            one.connect(("127.0.0.1", port))
            one.setblocking(False)
            self._of[one.fileno()] = one
            self._poll.register(one, select.EPOLLIN)
        self._reached = dict.fromkeys(self._of, 0)
        self._known: dict[bytes, list[int]] = {}
        self.lags: Counter[int] = Counter()
        """Reads of a change by its lag in hundredths of a second."""
        self.answers = self.bytes = self.faults = 0

    def read(self, seconds: float, *, counts: bool) -> None:
        begin = time.monotonic()
        turns = sorted((begin + random.random(), number) for number in self._of)
        place, rest = 0, dict.fromkeys(self._of, b"")
        while (now := time.monotonic()) < begin + seconds:
            while place < len(turns) and turns[place][0] <= now:
                self._of[turns[place][1]].send(self._request)
                place += 1
            if place == len(turns):
                turns, place = [(at + 1.0, number) for at, number in turns], 0
            for number, _ in self._poll.poll(0.005):
                rest[number] += self._of[number].recv(65536)
                rest[number] = self._take(number, rest[number], counts)

    def _take(self, number: int, data: bytes, counts: bool) -> bytes:
        head, mark, body = data.partition(b"\r\n\r\n")
        length = int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0] or -1) if mark else -1
        if length < 0 or len(body) < length:
            return data
        self.answers += 1
        self.bytes += len(data)
        if not head.startswith(b"HTTP/1.1 200"):
            self.faults += 1
            return b""
        if body not in self._known:
            self._known[body] = [
                int(one) for one in re.findall(rb"^id: [0-9a-f]+-([0-9]+)$", gzip.decompress(body), re.M)
            ]
        now, reached = time.monotonic(), self._reached[number]
        for version in reversed(self._known[body]):
            if version <= reached:
                break
            if counts and reached:
                self.lags[round(100 * (now - self._written[version]))] += 1
        self._reached[number] = max(self._known[body], default=0)
        return b""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readers", type=int, default=1000)
    parser.add_argument("--before", type=int, default=0, help="lines that were said before (0)")
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    os.environ[module.SECRET] = SECRET
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(files, 4 * options.readers + 1000), files))
    lines, written, ends = SharedLines(), {}, threading.Event()

    words = [line for line in COMMON.read_text("utf-8").splitlines() if line.isalpha()]
    shares = [1 / (3 + place) for place in range(len(words))]

    def say(segment: int) -> Iterator[Record]:
        """A sentence that grows five times and is final, in words as frequent as in a language."""
        said, shown = (random.choices(words, shares, k=12) for _ in range(2))
        for step in range(1, 7):
            source, text = " ".join(said[: 2 * step]), " ".join(shown[: 2 * step])
            spoken = Transcript(
                segment, step, source if step == 6 else "", "" if step == 6 else source, step == 6, 0, 1
            )
            yield Record(0.0, Caption(spoken, text=text, language="de"))

    def talk() -> None:
        for record in itertools.chain.from_iterable(map(say, itertools.count(options.before))):
            if ends.wait(0.25):
                return
            written[lines.version[0] + 1] = time.monotonic()
            lines.write(record)

    for segment in range(options.before):
        lines.write([*say(segment)][-1])
    with running_hub(connections=2 * options.readers + 500) as hub:
        publisher = HubPublisher(hub.address("hall-of-many"), lines, print)
        ask, sent = publisher._hub.ask, [0]

        def count(method: str, path: str, body: bytes = b"") -> object:
            sent.append(sent[-1] + len(body))
            return ask(method, path, body or None)

        publisher._hub.ask = count  # type: ignore[assignment, method-assign]
        publisher.start()
        threading.Thread(target=talk, daemon=True).start()
        time.sleep(14 if options.before else 2)  # The first tail has all that was said before.
        readers = Readers(hub.port, "hall-of-many", options.readers, written)
        readers.read(4, counts=False)
        workers = psutil.Process(hub.process.pid).children()
        before, of_publisher, bytes_up = _seconds(workers), _seconds_of(publisher._thread), sent[-1]
        readers.answers = readers.bytes = readers.faults = 0
        readers.read(options.seconds, counts=True)
        used, length = _seconds(workers) - before, options.seconds
        own, bytes_up = _seconds_of(publisher._thread) - of_publisher, sent[-1] - bytes_up
        ends.set()
        publisher.stop()
    print(
        f"{options.readers} readers, {length:.0f} s, {readers.answers / length:.0f} answers a second, "
        f"{readers.faults} refused, {readers.bytes / readers.answers:.0f} bytes each\n"
        f"lag: p50 {_share(readers.lags, 0.5)} s, p95 {_share(readers.lags, 0.95)} s, "
        f"most {_share(readers.lags, 1)} s\n"
        f"nginx: {100 * used / length:.1f} % of a core; publisher: {100 * own / length:.2f} % of a core, "
        f"{bytes_up / length / 1000:.2f} kB/s"
    )


def _seconds(processes: list[psutil.Process]) -> float:
    return sum(sum(one.cpu_times()[:2]) for one in processes)


def _seconds_of(thread: threading.Thread) -> float:
    return int(Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text().split()[0]) / 1e9


def _share(lags: Counter[int], share: float) -> float:
    wanted, passed = share * lags.total(), 0
    for lag in sorted(lags):
        passed += lags[lag]
        if passed >= wanted:
            return lag / 100
    return 0.0


if __name__ == "__main__":
    main()
