"""Word error rates through faster-whisper, and through livetrans' own transcriber as it streams. Prints JSON lines.

The sentences are those that both recipes hold out. Words are compared without case and punctuation.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import tempfile
import time
import wave
from collections.abc import Iterator
from pathlib import Path

import jiwer
import numpy as np
from numpy.typing import NDArray

from livetrans.audio.file import AudioFile
from livetrans.config import GateSettings, RecogniserSettings, TranscriberSettings
from livetrans.speech.gate import VoiceActivityGate
from livetrans.speech.transcriber import Transcriber
from livetrans.speech.whisper import WhisperRecogniser

from ..common.corpus import shared_folder
from .prepare import delivery
from .sentences import read_sentences, words_of
from .voices import HELD_OUT_VOICES, SAMPLE_RATE, Delivery, speak

Sound = NDArray[np.float32]
STREAM_SENTENCES = 10
PAUSE = 0.9


class ProcessClock:
    """Processor time of all threads: with one thread, what a recording takes on one quiet core."""

    def now(self) -> float:
        return time.process_time()

    def sleep(self, seconds: float) -> None:
        """Waiting takes no processor time."""


def error_rate(pairs: list[tuple[str, str]]) -> float:
    """Word error rate in percent over all (reference, hypothesis) pairs; an empty reference counts insertions only."""
    references = [" ".join(words_of(reference)) for reference, _ in pairs]
    hypotheses = [" ".join(words_of(hypothesis)) for _, hypothesis in pairs]
    return round(100 * jiwer.wer(references, hypotheses), 2)


def recognise(recogniser: WhisperRecogniser, samples: Sound) -> str:
    """The whole sound in one pass, as livetrans makes it."""
    return " ".join(word.text for word in recogniser.recognise(samples, final=True).words)


def spoken(sentences: list[str], voice: str | None, rng: random.Random) -> Iterator[tuple[str, str, Sound]]:
    """(voice, text, samples): deliveries as in training, or one voice at its own pace; 0.3 s of silence around."""
    for text in sentences:
        how = Delivery(voice) if voice else delivery(rng)
        quiet = np.zeros(SAMPLE_RATE * 3 // 10, dtype=np.float32)
        yield how.voice, text, np.concatenate([quiet, speak(text, how).samples, quiet])


def score_sentences(recogniser: WhisperRecogniser, sentences: list[str], voice: str | None) -> dict[str, object]:
    """WER of single sentences."""
    results = [
        (name, text, recognise(recogniser, samples))
        for name, text, samples in spoken(sentences, voice, random.Random(5))
    ]
    names = sorted({name for name, _, _ in results})
    by_voice = {
        name: error_rate([(text, hypothesis) for other, text, hypothesis in results if other == name]) for name in names
    }
    score = error_rate([(text, hypothesis) for _, text, hypothesis in results])
    examples = [f"{text} -> {hypothesis}" for _, text, hypothesis in results[:5]]
    return {"voice": voice or "training voices", "sentences": len(results), "wer": score} | (
        {"examples": examples} if voice else {"by_voice": by_voice, "examples": examples}
    )


def write_wave(path: Path, samples: Sound) -> None:
    """16 kHz mono 16 bit."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE)
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())


def stream(recogniser: WhisperRecogniser, path: Path, trim_after: float) -> tuple[str, float, float]:
    """Final transcripts of a file read in steps of 1 s, processor seconds of recognition, and seconds of sound."""
    clock = ProcessClock()
    settings = TranscriberSettings(step=1.0, adaptive=False, trim_after=trim_after)
    transcriber = Transcriber(recogniser, settings, clock)
    source = AudioFile(path, clock, False, lambda notice: None)
    gate = VoiceActivityGate(GateSettings())
    speech = [part for chunk in source for part in gate.feed(chunk)] + gate.flush()
    transcripts = [transcript for part in speech for transcript in transcriber.feed(part)] + transcriber.flush()
    text = " ".join(transcript.text for transcript in transcripts if transcript.final)
    return text, transcriber.recognition_seconds, source.duration or 0.0


def score_streams(
    recogniser: WhisperRecogniser, sentences: list[str], voice: str | None, trim_after: float
) -> dict[str, object]:
    """The same sentences, ten a file with pauses: WER of the stream, and of the single sentences for comparison."""
    pause = np.zeros(round(SAMPLE_RATE * PAUSE), dtype=np.float32)
    parts = list(spoken(sentences, voice, random.Random(6)))
    offline = [(text, recognise(recogniser, samples)) for _, text, samples in parts]
    streamed, seconds, length = [], 0.0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, len(parts), STREAM_SENTENCES):
            group = parts[first : first + STREAM_SENTENCES]
            path = Path(folder) / "stream.wav"
            write_wave(path, np.concatenate([sound for _, _, samples in group for sound in (samples, pause)]))
            text, processor, duration = stream(recogniser, path, trim_after)
            streamed.append((" ".join(text for _, text, _ in group), text))
            seconds, length = seconds + processor, length + duration
    return {
        "streams": voice or "training voices",
        "files": len(streamed),
        "seconds": round(length),
        "wer_streamed": error_rate(streamed),
        "wer_sentences": error_rate(offline),
        "real_time_factor": round(seconds / length, 3),
    }


def score_people(recogniser: WhisperRecogniser, trim_after: float) -> dict[str, object]:
    """Human speech, for which this model is not made, and the file in which nobody speaks."""
    folder = shared_folder() / "speech"
    with open(folder / "manifest.tsv", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["file"].startswith("en_")]
    pairs = [(row["reference"], stream(recogniser, folder / row["file"], trim_after)[0]) for row in rows]
    return {
        "people": len(pairs),
        "wer_streamed": error_rate(pairs),
        "nobody": stream(recogniser, folder / "none_empty.wav", trim_after)[0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder of the model")
    parser.add_argument("--sentences", type=int, default=300, help="unseen sentences of the training voices")
    parser.add_argument("--trim-after", type=float, default=15.0, help="seconds of buffer that the transcriber keeps")
    parser.add_argument("--window", choices=("full", "partials", "always"), help="instead of what the model states")
    parser.add_argument("--beam-size", type=int, help="instead of what the model states")
    options = parser.parse_args()
    recogniser = WhisperRecogniser(
        RecogniserSettings(options.model, beam_size=options.beam_size, threads=1, window=options.window)
    )
    _, unseen = read_sentences()
    chosen = unseen[: options.sentences]
    for voice in (None, *HELD_OUT_VOICES):
        print(json.dumps(score_sentences(recogniser, chosen if voice is None else chosen[:150], voice)), flush=True)
    for voice in (None, HELD_OUT_VOICES[0]):
        print(json.dumps(score_streams(recogniser, chosen[:100], voice, options.trim_after)), flush=True)
    print(json.dumps(score_people(recogniser, options.trim_after)), flush=True)


if __name__ == "__main__":
    main()
