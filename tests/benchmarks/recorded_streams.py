"""Makes recorded transcript streams for Table 6: sentences spoken by espeak-ng, recognised by the real recogniser.

    python tests/benchmarks/recorded_streams.py FOLDER --source a.txt --reference b.txt [--streams 24] [--lines 3]

Stream NN says `lines` consecutive lines with pauses between them; FOLDER then holds NN.jsonl, the events of
`livetrans replay --speed max`, rewrites of the recogniser included, and NN.LANGUAGE.txt, the reference.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

LIVETRANS = str(Path(sys.executable).with_name("livetrans"))
VOICES = ("en-us", "en-gb")
PAUSE = ' <break time="1200ms"/> '


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--language", default="de")
    parser.add_argument("--streams", type=int, default=24)
    parser.add_argument("--lines", type=int, default=3)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True)
    sources = arguments.source.read_text(encoding="utf-8").splitlines()
    references = arguments.reference.read_text(encoding="utf-8").splitlines()
    for number in range(arguments.streams):
        lines = slice(number * arguments.lines, (number + 1) * arguments.lines)
        with tempfile.NamedTemporaryFile(suffix=".wav") as sound:
            voice = VOICES[number % len(VOICES)]
            spoken = f"<speak>{PAUSE.join(sources[lines])}</speak>"
            subprocess.run(["espeak-ng", "-m", "-v", voice, "-s", "150", "-w", sound.name, spoken], check=True)
            stream = arguments.output / f"{number:02}.jsonl"
            command = [LIVETRANS, "replay", sound.name, "--speed", "max", "--no-session", "--jsonl", str(stream)]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        reference = arguments.output / f"{number:02}.{arguments.language}.txt"
        reference.write_text("\n".join(references[lines]) + "\n", encoding="utf-8")
        print(f"{stream.name}: {' '.join(sources[lines])}\n    {' '.join(said.split())}", flush=True)


if __name__ == "__main__":
    main()
