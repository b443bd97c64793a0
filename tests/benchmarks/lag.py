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
from livetrans.metrics.captions import CaptionMeasures
from livetrans.session.codec import from_dict

LIVETRANS = str(Path(sys.executable).with_name("livetrans"))


def main() -> None:
    file, *options = sys.argv[1:] or ["recordings/demo.flac"]
    command = [LIVETRANS, "replay", file, "--no-session", "--jsonl=-", *options]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    events = [json.loads(line) for line in output.splitlines()]
    measures = CaptionMeasures()
    for record in (from_dict(event) for event in events if event["event"] == "caption"):
        assert isinstance(record.event, Caption)
        measures.add_caption(record.event, record.at)
    for kind, lags in (("all", measures.lags), ("growing", measures.lags_growing), ("finals", measures.lags_finals)):
        median, p95, worst = (lags.percentile(share) or 0.0 for share in (0.5, 0.95, 1.0))
        print(f"{kind:8} n {lags.count:4}  median {median:.2f} s  p95 {p95:.2f} s  worst {worst:.2f} s")
    progress = [event for event in events if event["event"] == "source_progress"][-1]
    print(
        f"recogniser: {progress['passes']} passes, real-time factor "
        f"{progress['recognition_seconds'] / progress['heard']:.3f}; "
        f"NE of the screen {measures.screen.ratio or 0.0:.2f}; "
        f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )


if __name__ == "__main__":
    main()
