"""Lag from the end of a spoken word to its translation on screen, in a real-time replay.

    python tests/benchmarks/lag.py [FILE] [OPTION ...]

Further options go to `livetrans replay`. Lag is that of a caption behind the newest word of its source. Seen lag runs
on to the first caption of the segment in which as many tokens are shown as the update's output had: then nothing of
that output is hidden by mask-k any more. NE is that of the screen: words taken back by captions / words of finals.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from livetrans.metrics.latency import percentile
from livetrans.sequences import common_prefix_length

LIVETRANS = str(Path(sys.executable).with_name("livetrans"))


def main() -> None:
    file, *options = sys.argv[1:] or ["recordings/demo.flac"]
    command = [LIVETRANS, "replay", file, "--no-session", "--jsonl=-", *options]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    events = [json.loads(line) for line in output.splitlines()]
    captions = [event for event in events if event["event"] == "caption" and event["captured_at"] is not None]
    finals = [caption for caption in captions if caption["final"]]
    for kind, lags in (
        ("all captions", [caption["at"] - caption["captured_at"] for caption in captions]),
        ("finals", [caption["at"] - caption["captured_at"] for caption in finals]),
        ("seen", seen_lags(captions)),
    ):
        lags.sort()
        print(
            f"{kind:12} n {len(lags):4}  median {percentile(lags, 0.5):.2f} s  p95 {percentile(lags, 0.95):.2f} s  "
            f"worst {lags[-1]:.2f} s"
        )
    progress = [event for event in events if event["event"] == "source_progress"][-1]
    print(
        f"recogniser: {progress['passes']} passes, real-time factor "
        f"{progress['recognition_seconds'] / progress['heard']:.3f}; NE of the screen {screen_erasure(captions):.2f}; "
        f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )


def seen_lags(captions: list[dict[str, Any]]) -> list[float]:
    """Seconds from each newest word's end to the first caption that hides nothing of the output that it led to."""
    lags: list[float] = []
    waiting: dict[int, list[tuple[int, float]]] = defaultdict(list)
    ends: dict[int, float] = defaultdict(float)
    for caption in captions:
        segment, shown = caption["segment_id"], len(caption["tokens"])
        if caption["end"] > ends[segment]:
            ends[segment] = caption["end"]
            waiting[segment].append((shown + caption["masked_tokens"], caption["captured_at"]))
        seen = [caption["final"] or tokens <= shown for tokens, _ in waiting[segment]]
        lags += [caption["at"] - at for (_, at), is_seen in zip(waiting[segment], seen, strict=True) if is_seen]
        waiting[segment] = [one for one, is_seen in zip(waiting[segment], seen, strict=True) if not is_seen]
    return lags


def screen_erasure(captions: list[dict[str, Any]]) -> float:
    """Words taken back on the screen / words of the finals, over the whole run."""
    shown: dict[int, list[str]] = {}
    erased = total = 0
    for caption in captions:
        words, before = caption["text"].split(), shown.get(caption["segment_id"], [])
        erased += len(before) - common_prefix_length(before, words)
        shown[caption["segment_id"]] = words
        total += len(words) if caption["final"] else 0
    return erased / total if total else 0.0


if __name__ == "__main__":
    main()
