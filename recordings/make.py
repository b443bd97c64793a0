"""Make demo.flac from demo.txt: one synthetic voice, one sentence a line, a pause after each, 16 kHz mono.

Needs espeak-ng and sox on the PATH. Run it from anywhere: `python recordings/make.py`.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
VOICE = "en-us"
WORDS_PER_MINUTE = 150
PAUSE_SECONDS = 1.0


def main() -> None:
    """Speak every line of demo.txt, join them with pauses and write demo.flac."""
    sentences = (FOLDER / "demo.txt").read_text(encoding="utf-8").splitlines()
    with tempfile.TemporaryDirectory() as folder:
        spoken = [speak(sentence, Path(folder) / f"{number:02}.wav") for number, sentence in enumerate(sentences)]
        # -R makes sox's dither the same every time, so that the same text gives the same file.
        subprocess.run(
            ["sox", "-R", *spoken, "--channels", "1", "--bits", "16", FOLDER / "demo.flac"],
            check=True,
        )


def speak(sentence: str, path: Path) -> Path:
    """One sentence and the pause after it, as a WAV of 16 kHz."""
    raw = path.with_suffix(".raw.wav")
    subprocess.run(["espeak-ng", "-v", VOICE, "-s", str(WORDS_PER_MINUTE), "-w", raw, sentence], check=True)
    subprocess.run(["sox", "-R", raw, path, "gain", "-3", "rate", "16000", "pad", "0", str(PAUSE_SECONDS)], check=True)
    return path


if __name__ == "__main__":
    main()
