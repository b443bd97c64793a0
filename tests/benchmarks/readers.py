"""Caption lag of a run that 200 readers read along, against the same run without a server, in turns.

    python tests/benchmarks/readers.py [PAIRS] [FILE] [OPTION ...]

Further options go to `livetrans replay`. The readers are a process of their own on the same machine, over loopback; 10
of them never read. It takes PAIRS (3) times twice the length of FILE (recordings/demo.flac).
"""

from __future__ import annotations

import json
import os
import re
import resource
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

import psutil

from livetrans.events import Caption
from livetrans.metrics.latency import percentile
from livetrans.session.codec import from_dict

READERS, NEVER_READ = 200, 10


def main() -> None:
    pairs, file, *options = [*sys.argv[1:], *["3", "recordings/demo.flac"][len(sys.argv[1:3]) :]]
    lags: dict[bool, list[float]] = {False: [], True: []}
    for turn in range(2 * int(pairs)):
        is_served = turn % 4 in (1, 2)  # Either order, so that what drifts is in both.
        found, memory, processor, got = measure(file, options, is_served)
        lags[is_served] += found
        print(
            f"{'readers' if is_served else 'nobody ':7}  n {len(found):3}  median {percentile(found, 0.5):.3f} s  "
            f"p95 {percentile(found, 0.95):.3f} s  processor {processor:.1f} s  memory {memory / 1e6:.0f} MB{got}",
            flush=True,
        )
    alone, served = (percentile(sorted(lags[is_served]), 0.95) for is_served in (False, True))
    print(
        f"p95 over all: {alone:.3f} s alone, {served:.3f} s with {READERS} readers, ratio {served / alone:.3f}; "
        f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )


def measure(file: str, options: list[str], is_served: bool) -> tuple[list[float], int, float, str]:
    """Return the sorted lags of a run, the most memory that it took, its processor time, and what its readers got."""
    command = [sys.executable, "-m", "livetrans", "replay", file, "--no-session", "--no-speedup", "--jsonl=-", *options]
    command += ["--serve"] if is_served else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stderr
        readers = None
        if is_served:
            address = re.findall(r"http://\S+", process.stderr.readline())[0]
            readers = subprocess.Popen([sys.executable, __file__, "--read", address], stdout=subprocess.PIPE, text=True)
        memory = [0]

        def look() -> None:
            while process.poll() is None:
                try:
                    memory[0] = max(memory[0], psutil.Process(process.pid).memory_info().rss)
                except psutil.Error:
                    return
                time.sleep(0.5)

        threading.Thread(target=look, daemon=True).start()
        events = [json.loads(line) for line in process.stdout]
        assert process.wait() == 0, process.stderr.read()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        got = f"  {readers.communicate()[0].strip()}" if readers else ""
    records = (from_dict(event) for event in events if event["event"] == "caption")
    lags = [
        record.at - record.event.captured_at
        for record in records
        if isinstance(record.event, Caption) and record.event.captured_at is not None
    ]
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return sorted(lag for lag in lags if lag is not None), memory[0], processor, got


def read(address: str) -> None:
    """Read along until the server ends, and print how many events the readers got."""
    import selectors

    place = urlsplit(address)
    assert place.hostname and place.port and place.hostname.startswith("127."), "only loopback"
    request = f"GET {place.path}captions HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode()
    readers = []
    selector = selectors.DefaultSelector()
    for number in range(READERS):
        reader = socket.create_connection((place.hostname, place.port))
        reader.sendall(request)
        readers.append(reader)
        if number >= NEVER_READ:
            selector.register(reader, selectors.EVENT_READ)
    counts = dict.fromkeys(readers[NEVER_READ:], 0)
    left = len(counts)
    while left:
        for key, _ in selector.select():
            reader = key.fileobj
            assert isinstance(reader, socket.socket)
            try:
                data = reader.recv(65536)
            except ConnectionError:
                data = b""
            counts[reader] += data.count(b"event: caption")
            if not data:
                selector.unregister(reader)
                left -= 1
    print(f"captions a reader: {min(counts.values())} to {max(counts.values())}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        read(sys.argv[2])
    else:
        main()
