"""What each `--encode-window` costs in lag with Whisper's shapes, in virtual time: whatever else the machine does.

    python tests/benchmarks/windows.py [--file recordings/talk.flac] [--seconds 60] [SHAPE:WINDOW ...]

A recording is replayed at the pace of speech by the embedded recogniser, and each pass takes as much longer as a model
of that shape would take with that window: a line through the times of `recognisers.py shapes` over 2 to 15 s of sound,
on one thread of an AMD EPYC with AVX-512. Recogniser and translator take turns, as on one core.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

TREE = Path(__file__).parents[2]
sys.path.insert(0, str(TREE))
sys.path.insert(0, str(TREE / "tests" / "benchmarks"))

from true_cost import figures_of  # noqa: E402
from virtual_time import VirtualClock  # noqa: E402

from livetrans import cli  # noqa: E402
from livetrans.cli import replay  # noqa: E402
from livetrans.run import opening  # noqa: E402
from livetrans.session.codec import read_records  # noqa: E402
from livetrans.speech import whisper_pass  # noqa: E402

COSTS = {"tiny": (0.45, 0.026, 0.037), "base": (1.0, 0.055, 0.07), "small": (3.55, 0.12, 0.2)}
"""Seconds of a pass with a full window without sound, for each second of sound, and for each with a short window."""
WINDOWS = ("full", "partials", "always", "auto")


@dataclass
class Costly:
    """Makes passes of the embedded recogniser as dear as those of a shape, with a window policy."""

    clock: VirtualClock
    shape: str
    window: str
    passes: int = 0

    def open(self, *given: Any, **named: Any) -> Any:
        recogniser = OPENED(*given, **named)
        kind, costly = type(recogniser), self

        def window_frames(self: Any, frames: int, final: bool, language: str | None) -> int:
            self._window = costly.window
            wanted: int = kind._window_frames(self, frames, final, language)
            costly.wait(frames * whisper_pass.FRAME, wanted == whisper_pass.FULL_WINDOW)
            self._window, self.wanted = "always", wanted
            return int(kind._window_frames(self, frames, final, language))

        def recognise(self: Any, *given: Any, **named: Any) -> Any:
            began = costly.clock.now()
            hypothesis = kind.recognise(self, *given, **named)
            self._full_seconds[-1] = (costly.clock.now() - began) * whisper_pass.FULL_WINDOW / self.wanted
            return hypothesis

        recogniser.__class__ = type("Costly", (kind,), {"_window_frames": window_frames, "recognise": recognise})
        return recogniser

    def wait(self, sound: float, full: bool) -> None:
        fixed, of_full, of_short = COSTS[self.shape]
        self.passes += 1
        self.clock.sleep(fixed + of_full * sound if full else of_short * sound)


OPENED = opening.open_recogniser


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=[f"{shape}:{window}" for shape in COSTS for window in WINDOWS])
    parser.add_argument("--file", type=Path, default=TREE / "recordings" / "talk.flac")
    parser.add_argument("--seconds", type=float, default=60.0)
    chosen = parser.parse_args()
    replay.ReplayClock = lambda clock: clock  # type: ignore[assignment, misc]
    replay.run_live = replay.run_at_once  # type: ignore[assignment]
    print("shape:window       lag, median and 90 %  latest final  passes")
    for case in chosen.cases:
        shape, _, window = case.partition(":")
        clock = VirtualClock()
        costly = Costly(clock, shape, window)
        replay.SystemClock = lambda clock=clock: clock  # type: ignore[assignment, misc]
        opening.open_recogniser = costly.open  # type: ignore[assignment]
        with tempfile.TemporaryDirectory() as folder:
            events = Path(folder) / "events.jsonl"
            options = ["--plain", "--no-session", "--no-speedup", "--jsonl", str(events)]
            with redirect_stdout(StringIO()):
                code = cli.run(["replay", str(chosen.file), "--end", str(chosen.seconds), *options])
            if code:
                raise SystemExit(code)
            found = figures_of(read_records(events))
        print(f"{case:<18} {found['lag']:>6.2f} {found['p90']:>6.2f}  {found['latest']:>14.2f}  {costly.passes:>6}")


if __name__ == "__main__":
    main()
