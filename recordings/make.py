"""Make the recordings: NAME.flac out of NAME.txt with synthetic voices, as the table `RECORDINGS` says.

`python recordings/make.py` makes them all, `python recordings/make.py talk pauses` these two, from any folder. Needs
sox, and of espeak-ng and flite those that the voices need. The same texts, table and programs give the same bytes.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

FOLDER = Path(__file__).parent


class MakeError(Exception):
    """A recording cannot be made; the message says why, and what to do about it."""


@dataclass(frozen=True, slots=True)
class Espeak:
    """A voice of espeak-ng, which makes speech by rule."""

    name: str
    words_per_minute: int
    program: ClassVar[str] = "espeak-ng"

    def command(self, text: str, path: Path) -> list[str]:
        """The command that speaks `text` into the WAV file `path`."""
        return [self.program, "-v", self.name, "-s", str(self.words_per_minute), "-w", str(path), text]


@dataclass(frozen=True, slots=True)
class Flite:
    """A voice of flite, which was made from a speaker's recordings and has that speaker's pace."""

    name: str
    program: ClassVar[str] = "flite"

    def command(self, text: str, path: Path) -> list[str]:
        """The command that speaks `text` into the WAV file `path`."""
        return [self.program, "-voice", self.name, "-t", text, "-o", str(path)]


Voice = Espeak | Flite


@dataclass(frozen=True, slots=True)
class Recording:
    """How a text is spoken."""

    voices: tuple[Voice, ...]
    """They take turns, line by line."""
    pause: float = 1.0
    """Seconds of silence after every line."""
    pauses: tuple[tuple[float, ...], ...] = ()
    """In place of `pause`, for each line: the seconds after each of its commas, then those after the line.

    0 after a comma is no cut there, as at every comma without such a plan.
    """


RECORDINGS = {
    "demo": Recording((Espeak("en-us", 150),)),
    "talk": Recording((Flite("rms"),)),
    "dialogue": Recording((Flite("slt"), Espeak("en-us+m3", 155))),
    "conversation/en-de": Recording((Flite("slt"), Espeak("de", 150)), pause=1.2),
    "questions": Recording((Espeak("en-us+f2", 145),), pause=1.2),
    "numbers": Recording((Espeak("en-us+f3", 140),)),
    "long": Recording((Flite("slt"),)),
    "pauses": Recording(
        (Espeak("en-us+m7", 140),),
        pauses=(
            (2.0,),
            (4.5, 2.0),
            (1.5, 2.0, 2.5),
            (0.0, 2.0),
            (5.0, 1.5),
            (6.0,),
            (1.0, 3.0),
            (1.0,),
            (2.5, 1.5, 2.0),
            (4.0, 1.2, 2.0),
            (2.0,),
            (0.0, 1.0),
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class Phrase:
    """What is spoken without a break, and the seconds of silence after it."""

    voice: Voice
    text: str
    silence: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the recordings named, or all; returns the exit code."""
    parser = argparse.ArgumentParser(description="Make the recordings: NAME.flac out of NAME.txt.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(RECORDINGS)}; all if none is named")
    names: list[str] = parser.parse_args(arguments).names
    for name in names:
        if name not in RECORDINGS:
            print(f"There is no recording {name}: choose from {', '.join(RECORDINGS)}.", file=sys.stderr)
            return 2
    try:
        for name in names or RECORDINGS:
            make(name)
    except MakeError as fault:
        print(fault, file=sys.stderr)
        return 1
    return 0


def make(name: str) -> None:
    """Speak every line of NAME.txt, join the lines with their pauses and write NAME.flac.

    Raises:
        MakeError: a program is missing or failed, the text cannot be read, or its pauses do not fit it.
    """
    recording, text, target = RECORDINGS[name], FOLDER / f"{name}.txt", FOLDER / f"{name}.flac"
    require("sox", *(voice.program for voice in recording.voices))
    try:
        lines = text.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise MakeError(f"{text} cannot be read ({error.strerror}): it must hold the text to speak.") from error
    try:
        spoken = list(phrases_of(recording, lines))
    except ValueError as error:
        raise MakeError(f"The pauses of {name} do not fit {text}: {error}.") from error
    with tempfile.TemporaryDirectory() as folder:
        parts = [speak(phrase, Path(folder) / f"{number:03}.wav") for number, phrase in enumerate(spoken)]
        # -R makes sox's dither the same every time, so that the same text gives the same file.
        run(["sox", "-R", *map(str, parts), "--channels", "1", "--bits", "16", str(target)])
    print(target)


def phrases_of(recording: Recording, lines: Sequence[str]) -> Iterator[Phrase]:
    """The lines, cut after those commas at which the recording pauses.

    Raises:
        ValueError: the recording has a plan of pauses that does not fit the lines.
    """
    if recording.pauses and len(recording.pauses) != len(lines):
        raise ValueError(f"{len(recording.pauses)} plans for {len(lines)} lines")
    for number, line in enumerate(lines):
        parts = re.split("(?<=,) ", line)
        silences = recording.pauses[number] if recording.pauses else (0.0,) * (len(parts) - 1) + (recording.pause,)
        if len(silences) != len(parts):
            raise ValueError(f"line {number + 1} has {len(parts) - 1} commas and {len(silences)} pauses")
        voice = recording.voices[number % len(recording.voices)]
        words: list[str] = []
        for part, silence in zip(parts, silences, strict=True):
            words.append(part)
            if silence:
                yield Phrase(voice, " ".join(words), silence)
                words.clear()
        if words:
            yield Phrase(voice, " ".join(words), 0.0)


def speak(phrase: Phrase, path: Path) -> Path:
    """The phrase and the silence after it, as a WAV of 16 kHz at `path`."""
    raw = path.with_suffix(".raw.wav")
    run(phrase.voice.command(phrase.text, raw))
    run(["sox", "-R", str(raw), str(path), "gain", "-3", "rate", "16000", "pad", "0", str(phrase.silence)])
    return path


def require(*programs: str) -> None:
    """Make sure that the programs can be started.

    Raises:
        MakeError: a program is missing.
    """
    missing = " ".join(dict.fromkeys(program for program in programs if shutil.which(program) is None))
    if missing:
        raise MakeError(f"Not found on the PATH: {missing}; on Debian, `apt install {missing}` installs them.")


def run(command: Sequence[str]) -> None:
    """Run the command without its output.

    Raises:
        MakeError: it failed.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        complaint = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise MakeError(f"{command[0]} failed, so the recording was not made: {complaint}")


if __name__ == "__main__":
    sys.exit(main())
