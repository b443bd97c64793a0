"""How often `--between` takes one of two languages for the other, after 1, 2 and 3 seconds of speech.

    python -m tests.benchmarks.spoken_languages FOLDER [--asr MODEL]

FOLDER holds a folder for each language, named by its code or name, with clips of sound. Each clip is heard as
`--between` hears the first stretch of speech, once against each of the other languages.
"""

from __future__ import annotations

import argparse
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from livetrans.base.clock import SystemClock
from livetrans.base.errors import SourceError, UsageError
from livetrans.base.languages import parse_language
from livetrans.config import GateSettings, RecogniserSettings
from livetrans.events import FULL_SCALE, SAMPLE_RATE
from livetrans.models.catalogue import RECOGNISER, RunLanguages
from livetrans.models.chosen import engines_of, find_model, spoken_code
from livetrans.run.opening import open_recogniser
from livetrans.speech.between import Conversation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from livetrans.speech.recogniser import Recogniser

SECONDS = (1, 2, 3)
"""Seconds of speech after which passes are made, one after the other, and errors are counted."""


def errors(folder: Path, asr: str | None) -> dict[str, str]:
    """Return the counts of wrong languages by `de as en`, each of the clips that are long enough."""
    folders = [place for place in sorted(folder.iterdir()) if place.is_dir() and not place.name.startswith(".")]
    clips: dict[str, list[Path]] = {}
    for place in folders:
        clips.setdefault(parse_language(place.name).code, []).extend(sorted(place.glob("[!.]*")))
    if len(clips) < 2:
        raise UsageError(f"{folder} holds folders of fewer than two languages; name them as en and de")
    codes = {name: spoken_code(name) or "" for name in clips}
    model = find_model(RECOGNISER, asr, RunLanguages(tuple(clips)), engines_of("auto"))
    recogniser = open_recogniser(RecogniserSettings(model.path, None))
    speech = {name: [speech_in(file) for file in files] for name, files in clips.items()}
    counts = {}
    for spoken, other in permutations(clips, 2):
        pair = codes[spoken], codes[other]
        heard = [languages_heard(recogniser, samples, pair) for samples in speech[spoken]]
        found = [[one[place] != pair[0] for one in heard if place < len(one)] for place in range(len(SECONDS))]
        figures = (f"{seconds} s: {sum(wrong)} of {len(wrong)}" for seconds, wrong in zip(SECONDS, found, strict=True))
        counts[f"{spoken} as {other}"] = ", ".join(figures)
    return counts


def languages_heard(recogniser: Recogniser, samples: NDArray[np.float32], pair: tuple[str, str]) -> list[str]:
    """Return the likelier language of the pair after each of `SECONDS` that the speech is long."""
    conversation, found = Conversation(pair), []
    conversation.begin(0.0, 0.0)
    for seconds in SECONDS:
        if len(samples) >= seconds * SAMPLE_RATE:
            heard = recogniser.recognise(samples[: seconds * SAMPLE_RATE], language=conversation.likelier)
            conversation.hear(heard.languages, float(seconds))
            found.append(conversation.decided or conversation.likelier)
    return found


def speech_in(clip: Path) -> NDArray[np.float32]:
    """Return the speech of a clip from its first word on, in -1..1.

    Raises:
        SourceError: it holds no sound that can be read, or no speech.
    """
    from livetrans.audio.file import AudioFile
    from livetrans.speech.gate import VoiceActivityGate

    gate = VoiceActivityGate(GateSettings())
    chunks = [passed for chunk in AudioFile(clip, SystemClock(), False) for passed in gate.feed(chunk)]
    parts = [chunk.samples for chunk in (*chunks, *gate.flush())]
    if not sum(map(len, parts)):
        raise SourceError(f"{clip} holds no speech; remove it from the folder.")
    return np.concatenate(parts).astype(np.float32) / np.float32(FULL_SCALE)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--asr")
    for name, figures in errors(**vars(parser.parse_args())).items():
        print(f"{name}: {figures}")
