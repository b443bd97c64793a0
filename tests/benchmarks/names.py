"""How many misheard names are repaired, how often something else is, and how long an update takes.

    python tests/benchmarks/names.py [--show]

Twenty names are spoken by six voices of espeak-ng and flite, each in a sentence to choose on and in one that is only
reported, and the embedded recogniser writes them. `spelled` has what was heard in the first half as spellings (without
single common words), `names` has the names alone, `both` has the spellings and repairs what sounds alike too. False
corrections are counted with these names and others, on the English texts beside this checkout (LIVETRANS_SHARED names
another folder).
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np

from livetrans.audio.file import AudioFile
from livetrans.clock import SystemClock
from livetrans.config import RecogniserSettings, Term
from livetrans.events import FULL_SCALE, Transcript
from livetrans.installation import data_folder
from livetrans.names.repair import Repairer, tokens_of
from livetrans.names.sounds import common_words
from livetrans.speech.whisper import WhisperRecogniser
from livetrans.speech.words import words_text

SHARED = Path(os.environ.get("LIVETRANS_SHARED", Path(__file__).parents[3] / "shared"))
NAMES = (
    "Siobhan Vineela OpenRouter Kubernetes Grafana Okonkwo Frigade Delphine Thorsten Ljubljana Cloudflare Postgres "
    "Grimnir Nabil Kowalski Terraform Jürgen BriteCore Hashimoto Ximena"
).split()
OTHERS = (
    "Frostbeak nextMessage Broker EnviousWispr Siegrid Anya livetrans Geert Thanh Matthieu Priya Nguyen Xiaoming Ana "
    "Bjarne Lena Mark York Hugh Harper Matt Schröder Tübingen Kafka Whisper Textual Zurich Denis Pascal Ruben Ingrid"
).split()
SENTENCES = {
    "end": (
        ("Do you know {}?", "I wrote a letter to {}.", "We waited for {}, but nobody came.", "The train goes to {}."),
        (
            "Yesterday I talked to {}.",
            "The other one is {}.",
            "My sister likes {}, and so do I.",
            "Here is a book by {}.",
        ),
    ),
    "middle": (
        (
            "I met {} at the station yesterday.",
            "We talked about {} for an hour.",
            "Do you know where {} is now?",
            "The people at {} were very kind.",
        ),
        (
            "Yesterday {} gave a talk about music.",
            "My friend told {} the whole story.",
            "We will visit {} in the summer.",
            "In the end {} made a good choice.",
        ),
    ),
}
"""Sentences to choose on, and held apart, with the names where speakers pause and where they do not."""
VOICES = ("en-us", "flite rms", "en-us+f3", "flite slt", "en-us+m7", "en-us+f2")
CHOSEN_ON = ("mcif.dev.eng", "flores200.devtest.eng", "newstest2021.en-deu.eng", "wmt22.en-deu.eng", "wmt24.eng")
ONLY_REPORTED = ("newstest2020.en-deu.eng", "ntrex128.eng", "ami.test.eng", "acl6060.dev.eng", "cocoa.test.en-deu.eng")


def heard(recogniser: WhisperRecogniser, sentence: str, voice: str, folder: Path) -> str:
    """Return what the recogniser writes for a sentence."""
    file = folder / "spoken.wav"
    program, _, name = voice.rpartition(" ")
    told = ["flite", "-voice", name, "-t", sentence, "-o"] if program else ["espeak-ng", "-v", name, "-s", "145", "-w"]
    order = [*told, str(file)] if program else [*told, str(file), sentence]
    subprocess.run(order, check=True, capture_output=True)
    sound = AudioFile(file, SystemClock(), False, lambda event: None)
    samples = np.concatenate([chunk.samples for chunk in sound]).astype(np.float32) / FULL_SCALE
    return words_text(recogniser.recognise(samples, final=True).words)


def in_place_of_the_name(sentence: str, written: str) -> str:
    """Return what stands in a hypothesis where the sentence has its name."""
    before, after = (re.findall(r"\w+", part.lower()) for part in sentence.split("{}"))
    words = [token.form for token in tokens_of(written)]
    for _, begin, end, first, last in SequenceMatcher(None, [*before, "", *after], words, False).get_opcodes():
        if begin <= len(before) < end:
            return " ".join(words[first:last])
    return ""


def has(name: str, text: str) -> bool:
    return name.casefold() in [token.owner for token in tokens_of(text)]


def spoken(recogniser: WhisperRecogniser, sentences: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return each name by each voice: the name, what was written, and what stands there for the name."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(NAMES):
            sentence = sentences[number % len(sentences)]
            for voice in VOICES:
                written = heard(recogniser, sentence.format(name), voice, Path(folder))
                found.append((name, written, in_place_of_the_name(sentence, written)))
    return found


def with_spellings(found: Sequence[tuple[str, str, str]]) -> list[Term]:
    """Return the names with what was heard for them, as a careful user would write it down."""
    owner: dict[str, str] = {}
    for name, written, spelling in found:
        if spelling and spelling not in common_words("en") and not has(name, written):
            owner.setdefault(spelling, name)
    return [Term(name, name, tuple((one, "") for one in sorted(owner) if owner[one] == name)) for name in NAMES]


def per_10_000(repairer: Repairer, file: Path, show: bool) -> str:
    words, found = 0, []
    for line in file.read_text(encoding="utf-8").splitlines():
        words += len(tokens_of(line))
        text, repairs = repairer.repair(line)
        found += [(repair.heard, text[repair.begin : repair.end]) for repair in repairs]
    return f"{1e4 * len(found) / words:.1f}" + (f" {found}" if show and found else "")


def print_times(repairer: Repairer) -> None:
    """Print the time of an update of sentences that grow to 40 words."""
    words = (SHARED / "corpora" / ONLY_REPORTED[2]).read_text(encoding="utf-8").split()[:4000]
    times = []
    for begin in range(0, len(words), 40):
        for count in range(3, 41, 3):
            update = Transcript(
                0, 0, " ".join(words[begin : begin + count - 3]), " ".join(words[begin + count - 3 : begin + count]),
                False, 0.0, 1.0,
            )  # fmt: skip
            start = time.perf_counter()
            repairer.repaired(update)
            times.append(time.perf_counter() - start)
    times.sort()
    print(
        f"  median {1e3 * times[len(times) // 2]:.2f} ms, 99 of 100 under {1e3 * times[len(times) * 99 // 100]:.2f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="Print every sentence and every false correction.")
    show = parser.parse_args().show
    recogniser = WhisperRecogniser(RecogniserSettings(data_folder("models") / "livetrans-recogniser-en"))
    alone = [Term(name, name) for name in NAMES]
    others = [Term(name, name) for name in OTHERS]
    print("names that are right, of 20 (each by the next voice), and by all voices")
    for place, sentences in SENTENCES.items():
        halves = [spoken(recogniser, half) for half in sentences]
        spelled = with_spellings(halves[0])
        rules = {"none": Repairer(()), "spelled": Repairer(spelled, "en"), "names": Repairer(alone, "en", sounds=True)}
        rules["both"] = Repairer(spelled, "en", sounds=True)
        for half, found in zip(("to choose on", "held apart"), halves, strict=True):
            for rule, repairer in rules.items():
                right = [has(name, repairer.repair(written)[0]) for name, written, _ in found]
                turns = [right[len(VOICES) * number + number % len(VOICES)] for number in range(len(NAMES))]
                print(f"  {place:7} {half:13} {rule:8} {sum(turns):3} of {len(turns)}   {sum(right):4} of {len(right)}")
                if show:
                    print("   ", [item[:2] for ok, item in zip(right, found, strict=True) if not ok])
    print(f"false corrections per 10,000 words, with {len(NAMES) + len(OTHERS)} names")
    rules = {"spelled": Repairer([*spelled, *others], "en"), "names": Repairer([*alone, *others], "en", sounds=True)}
    rules["both"] = Repairer([*spelled, *others], "en", sounds=True)
    for group, files in {"chosen on": CHOSEN_ON, "only reported": ONLY_REPORTED}.items():
        for file in files:
            path = SHARED / "corpora" / file
            if path.exists():
                figures = "   ".join(f"{rule} {per_10_000(repairer, path, show)}" for rule, repairer in rules.items())
                print(f"  {group:13} {file:26} {figures}")
    words = sorted(common_words("en"))
    many = [
        Term(f"{words[31 * number]}{words[7 * number][:4]}", "", ((f"{words[13 * number]} {words[5 * number]}", ""),))
        for number in range(500)
    ]
    for rule in ("spelled", "names"):
        print(f"an update with 500 terms, {rule}:")
        print_times(Repairer(many, "en", sounds=rule == "names"))


if __name__ == "__main__":
    main()
