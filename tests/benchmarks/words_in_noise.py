"""Words that the gate and the embedded recogniser write where nobody speaks.

    python tests/benchmarks/words_in_noise.py [--minutes 60] [--gate silero|webrtcvad] [KIND ...]

Silence, a room, a fan, hum, music and a keyboard are synthetic, each from its own seed, so every run hears the same.
Passes fall on the interval, whatever the machine. Prints for each kind: the seconds that the gate let through and its
processor time, passes, and the words of finals and of any update.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from time import process_time
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from livetrans.base.clock import SystemClock
from livetrans.base.installation import data_folder
from livetrans.config import GateSettings, RecogniserSettings, TranscriberSettings
from livetrans.events import SAMPLE_RATE, AudioChunk, SpeechChunk
from livetrans.speech.gate import VoiceActivityGate
from livetrans.speech.recogniser import Recogniser
from livetrans.speech.transcriber import Transcriber

Sound = NDArray[np.float64]
"""In -1..1."""
PIECE = 10
"""Seconds that are made at a time."""


def level(sound: Sound, decibels: float) -> Sound:
    """Return the sound with this root mean square, relative to full scale."""
    return sound * 10 ** (decibels / 20) / max(float(np.sqrt(np.mean(sound**2))), 1e-9)


def pink(frames: int, generator: np.random.Generator) -> Sound:
    """Return noise whose power falls as 1 / frequency."""
    spectrum = np.fft.rfft(generator.standard_normal(frames))
    return np.fft.irfft(spectrum / np.sqrt(np.maximum(np.arange(len(spectrum)), 20.0)), frames)


def seconds_of(frames: int) -> Sound:
    return np.arange(frames) / SAMPLE_RATE


def silence(frames: int, generator: np.random.Generator) -> Sound:
    return np.zeros(frames)


def room(frames: int, generator: np.random.Generator) -> Sound:
    """The noise of a quiet room, which a microphone gives at all times."""
    return level(pink(frames, generator), -62.0)


def fan(frames: int, generator: np.random.Generator) -> Sound:
    """A loud fan that speeds up and slows down."""
    return level(pink(frames, generator) * (1.0 + 0.2 * np.sin(2 * np.pi * 0.3 * seconds_of(frames))), -32.0)


def hum(frames: int, generator: np.random.Generator) -> Sound:
    """Mains hum with its harmonics, which beats a little."""
    times = seconds_of(frames)
    tones = sum(np.sin(2 * np.pi * 50.0 * order * times + order) / order for order in (1, 2, 3, 5, 7, 9))
    return level(tones * (1.0 + 0.1 * np.sin(2 * np.pi * 0.7 * times)), -30.0) + room(frames, generator)


def music(frames: int, generator: np.random.Generator) -> Sound:
    """A melody over chords, plucked, with drums: in level it rises and falls as speech does."""
    total, beat = np.zeros(frames), round(SAMPLE_RATE * 60 / generator.integers(90, 130))
    root = 110.0 * 2 ** (generator.integers(0, 12) / 12)
    for start in range(0, frames, beat // 2):
        degrees = (0, 4, 7) if start // (beat * 4) % 2 else (5, 9, 12)
        notes = [(degree, 0.3) for degree in degrees] if start % beat == 0 else []
        if generator.random() < 0.7:
            notes.append((12 + int(generator.choice((0, 2, 4, 5, 7, 9, 11, 12))), 0.8))
        length = min(beat * 2, frames - start)
        times = seconds_of(length)
        for degree, loudness in notes:
            pitch = root * 2 ** (degree / 12) * (1.0 + 0.004 * np.sin(2 * np.pi * 5.5 * times))
            phase = 2 * np.pi * np.cumsum(pitch) / SAMPLE_RATE
            tone = sum(np.sin(order * phase) / order**1.3 for order in range(1, 9))
            total[start : start + length] += loudness * tone * np.exp(-3.0 * times) * np.minimum(times / 0.01, 1.0)
        drum = np.exp(-40.0 * times[:4000]) * generator.standard_normal(len(times[:4000]))
        total[start : start + len(drum)] += (0.6 if start % (2 * beat) == 0 else 0.2) * drum
    return level(total, -20.0)


def keyboard(frames: int, generator: np.random.Generator) -> Sound:
    """Typing in bursts: each key goes down and up, with a click and a thud of the table."""
    total, at = room(frames, generator), 0.5
    while at < frames / SAMPLE_RATE - 0.3:
        loudness = 0.05 * generator.uniform(0.4, 1.6)
        for delay, share in ((0.0, 1.0), (generator.uniform(0.06, 0.12), 0.5)):
            start = round((at + delay) * SAMPLE_RATE)
            times = seconds_of(960)
            click = generator.standard_normal(960) * np.exp(-500.0 * times)
            thud = np.sin(2 * np.pi * generator.uniform(120, 260) * times) * np.exp(-120.0 * times)
            total[start : start + 960] += share * loudness * (click + thud)
        at += generator.uniform(0.09, 0.25) if generator.random() < 0.92 else generator.uniform(0.5, 3.0)
    return total


KINDS: dict[str, Callable[[int, np.random.Generator], Sound]] = {
    kind.__name__: kind for kind in (silence, room, fan, hum, music, keyboard)
}


def chunks(kind: str, minutes: float) -> Iterator[AudioChunk]:
    """Yield the sound, another piece each time; the same in every run."""
    generator = np.random.default_rng(crc32(kind.encode()))
    for start in range(0, round(minutes * 60), PIECE):
        sound = KINDS[kind](PIECE * SAMPLE_RATE, generator)
        samples = (sound.clip(-1, 1) * 32_767).astype(np.int16)
        for begin in range(0, len(samples), SAMPLE_RATE // 10):
            yield AudioChunk(samples[begin : begin + SAMPLE_RATE // 10], start * SAMPLE_RATE + begin)


@dataclass
class Written:
    """What came of the sound."""

    passed_seconds: float = 0.0
    gate_seconds: float = 0.0
    """Processor time."""
    passes: int = 0
    shown: int = 0
    """Words of the longest hypothesis of each segment."""
    finals: tuple[str, ...] = ()

    @property
    def words(self) -> int:
        return sum(len(final.split()) for final in self.finals)


def listen(kind: str, minutes: float, recogniser: Recogniser, settings: GateSettings) -> Written:
    """Pass the sound through the gate and the transcriber, as a run does, at full speed."""
    gate = VoiceActivityGate(settings)
    transcriber = Transcriber(recogniser, replace(TranscriberSettings(), adaptive=False), SystemClock())
    written, longest = Written(), dict[int, int]()

    def fed(chunk: AudioChunk) -> list[SpeechChunk]:
        start = process_time()
        passed = gate.feed(chunk)
        written.gate_seconds += process_time() - start
        return passed

    speech = (piece for chunk in chunks(kind, minutes) for piece in fed(chunk))
    for piece in (*speech, *gate.flush()):
        written.passed_seconds += len(piece.samples) / SAMPLE_RATE
        for transcript in transcriber.feed(piece):
            words = len(transcript.text.split())
            longest[transcript.segment_id] = max(longest.get(transcript.segment_id, 0), words)
            if transcript.final:
                written.finals += (transcript.text,)
    written.passes, written.shown = transcriber.passes, sum(longest.values())
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--gate", choices=("silero", "webrtcvad"), default="silero")
    parser.add_argument("kinds", nargs="*", default=list(KINDS), metavar="KIND")
    options = parser.parse_args()
    from livetrans.speech.whisper import WhisperRecogniser

    recogniser = WhisperRecogniser(RecogniserSettings(data_folder("models") / "livetrans-recogniser-en"))
    for kind in options.kinds:
        written = listen(kind, options.minutes, recogniser, GateSettings(options.gate))
        print(
            f"{kind:9} {options.minutes:.0f} min: gate {written.passed_seconds:6.0f} s "
            f"({written.gate_seconds / options.minutes:.2f} s of processor time a minute), {written.passes:5} passes, "
            f"{written.words:4} words in {len(written.finals)} finals, {written.shown} shown; {written.finals[:5]}",
            flush=True,
        )


if __name__ == "__main__":
    main()
