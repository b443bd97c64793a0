"""Lag from the end of a spoken word to its translation on screen, in a real-time replay.

    python tests/benchmarks/lag.py [FILE] [OPTION ...]

Further options go to `livetrans replay`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from livetrans.events import Caption
from livetrans.metrics.latency import SeenLag, caption_lag, percentile
from livetrans.metrics.rates import ScreenErasure
from livetrans.session.codec import from_dict

LIVETRANS = str(Path(sys.executable).with_name("livetrans"))


def main() -> None:
    file, *options = sys.argv[1:] or ["recordings/demo.flac"]
    command = [LIVETRANS, "replay", file, "--no-session", "--jsonl=-", *options]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    events = [json.loads(line) for line in output.splitlines()]
    screen, seen_lag, seen, updates, finals = ScreenErasure(), SeenLag(), [], [], []
    for record in (from_dict(event) for event in events if event["event"] == "caption"):
        assert isinstance(record.event, Caption)
        screen.add(record.event)
        seen += seen_lag.add(record.event, record.at)
        lag = caption_lag(record)
        updates += [] if lag is None else [lag]
        finals += [lag] if lag is not None and record.event.final else []
    for kind, lags in (("seen", sorted(seen)), ("all captions", sorted(updates)), ("finals", sorted(finals))):
        print(
            f"{kind:12} n {len(lags):4}  median {percentile(lags, 0.5):.2f} s  p95 {percentile(lags, 0.95):.2f} s  "
            f"worst {lags[-1]:.2f} s"
        )
    progress = [event for event in events if event["event"] == "source_progress"][-1]
    print(
        f"recogniser: {progress['passes']} passes, real-time factor "
        f"{progress['recognition_seconds'] / progress['heard']:.3f}; NE of the screen {screen.ratio or 0.0:.2f}; "
        f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )


if __name__ == "__main__":
    main()
