"""Reading, exporting and replaying long sessions: processor time and memory, each in a process of its own.

python tests/benchmarks/long_sessions.py [--captions 10000 100000]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from livetrans.clock import ManualClock
from livetrans.events import Caption, Record, RunStarted, Transcript, Translation
from livetrans.session.codec import read_records
from livetrans.session.export import export
from livetrans.session.recorded import RecordedTranscripts
from livetrans.session.recorder import SessionRecorder
from livetrans.stats import DecodingStats

UPDATES = 4
"""Of each segment, the final included."""
USES = ("read", "srt", "txt", "replay")


def record(folder: Path, captions: int) -> None:
    recorder = SessionRecorder(folder)
    recorder.write(Record(0.0, RunStarted({})))
    for segment in range(captions):
        begin = 3.0 * segment
        for revision in range(UPDATES):
            final = revision == UPDATES - 1
            partial = "" if final else "this long talk about nothing"
            update = Transcript(segment, revision, "Good morning and welcome to", partial, final, begin, begin + 2.9)
            text = "Guten Morgen und willkommen zu diesem langen Vortrag"
            recorder.write(Record(begin, update))
            recorder.write(Record(begin, Translation(update, text, tuple(range(20)), DecodingStats())))
            recorder.write(Record(begin, Caption(update, text, tuple(range(20)))))
    recorder.close()


def use(folder: Path, how: str) -> None:
    began = time.process_time()
    match how:
        case "read":
            count = sum(1 for _ in read_records(folder))
        case "replay":
            count = sum(1 for _ in RecordedTranscripts(folder, ManualClock(), real_time=False))
        case _:
            count = sum(1 for _ in export(folder, how))  # type: ignore[arg-type]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{how}: {count} pieces, {time.process_time() - began:.1f} s of processor time, {memory:.0f} MiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--captions", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--use", nargs=2, metavar=("FOLDER", "HOW"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.use:
        use(Path(options.use[0]), options.use[1])
        return
    for captions in options.captions:
        with tempfile.TemporaryDirectory() as name:
            record(Path(name) / "session", captions)
            print(f"{captions} captions, {UPDATES} updates each:", flush=True)
            for how in USES:
                subprocess.run([sys.executable, __file__, "--use", f"{name}/session", how], check=True)


if __name__ == "__main__":
    main()
