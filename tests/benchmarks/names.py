"""How many misheard names are repaired, how often something else is, and how long an update takes.

    python tests/benchmarks/names.py [--show] [--spoken SENTENCES] [--captions]

Twenty names are spoken by six voices of espeak-ng and flite, each in two sentences to choose on and in two that are
only reported, and the embedded recogniser writes them. `spelled` has what was heard in the first half as spellings
(without single common words), `names` has the names alone, `both` has the spellings and repairs what sounds alike too.
False corrections are counted with these names and others, on the English texts beside this checkout (LIVETRANS_SHARED
names another folder): as they are written, where no recogniser can be asked, and as it hears some of their sentences.
NE is that of whole runs of the program. Captions are counted beside the sources that have a name right, as the embedded
translator makes them without and with the glossary, and so are those of written sentences (`names_in_captions.py`);
`--captions` prints these alone.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import cycle
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

import numpy as np

from livetrans.audio.file import AudioFile
from livetrans.base.clock import SystemClock
from livetrans.base.installation import data_folder
from livetrans.config import RecogniserSettings, Term
from livetrans.events import FULL_SCALE, Repair, Transcript
from livetrans.names.repair import SpellingRepairer, Verdicts, tokens_of
from livetrans.names.sounds import common_words
from livetrans.speech.recogniser import Hypothesis
from livetrans.speech.whisper import WhisperRecogniser
from livetrans.speech.words import words_text

sys.path.insert(0, str(Path(__file__).parent))  # Imported by a check, it finds the module beside it too.
from names_in_captions import SHARED, Sentence, open_translator, print_captions, read

LIVETRANS = str(Path(sys.executable).with_name("livetrans"))
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
"""Sentences to choose on, and held out, with the names where speakers pause and where they do not."""
VOICES = ("en-us", "flite rms", "en-us+f3", "flite slt", "en-us+m7", "en-us+f2")
CHOSEN_ON = ("mcif.dev.eng", "flores200.devtest.eng", "newstest2021.en-deu.eng", "wmt22.en-deu.eng", "wmt24.eng")
ONLY_REPORTED = ("newstest2020.en-deu.eng", "ntrex128.eng", "ami.test.eng", "acl6060.dev.eng", "cocoa.test.en-deu.eng")


def speak(sentence: str, voice: str, folder: Path) -> Path:
    """Return a file with a sentence, the same for each."""
    file = folder / "spoken.wav"
    program, _, name = voice.rpartition(" ")
    told = ["flite", "-voice", name, "-t", sentence, "-o"] if program else ["espeak-ng", "-v", name, "-s", "145", "-w"]
    order = [*told, str(file)] if program else [*told, str(file), sentence]
    subprocess.run(order, check=True, capture_output=True)
    return file


def heard(recogniser: WhisperRecogniser, sentence: str, voice: str, folder: Path) -> Hypothesis:
    """Return what the recogniser makes of a sentence."""
    sound = AudioFile(speak(sentence, voice, folder), SystemClock(), False, lambda event: None)
    samples = np.concatenate([chunk.samples for chunk in sound]).astype(np.float32) / np.float32(FULL_SCALE)
    return recogniser.recognise(samples, final=True)


def repair(repairer: SpellingRepairer, hypothesis: Hypothesis) -> tuple[str, tuple[Repair, ...]]:
    """Return a repaired hypothesis, and what was repaired in it."""
    text, verdicts = words_text(hypothesis.words), Verdicts()
    if hypothesis.likelihood:
        repairer.judge(text, hypothesis.likelihood, verdicts, growing=False)
    return repairer.repair(text, verdicts=verdicts)


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


class Spoken(NamedTuple):
    """A name in a sentence, as the recogniser heard it."""

    name: str
    hypothesis: Hypothesis
    in_its_place: str


def spoken(recogniser: WhisperRecogniser, sentences: Sequence[str]) -> list[Spoken]:
    """Return each name by each voice."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(NAMES):
            sentence = sentences[number % len(sentences)]
            for voice in VOICES:
                hypothesis = heard(recogniser, sentence.format(name), voice, Path(folder))
                there = in_place_of_the_name(sentence, words_text(hypothesis.words))
                found.append(Spoken(name, hypothesis, there))
    return found


def print_spoken_captions(repairer: SpellingRepairer, found: dict[str, Sequence[Sequence[Spoken]]]) -> None:
    """Print how many captions have the name of a source that has it, without and with a glossary of the names."""
    model, settings = open_translator()
    for number, half in enumerate(("to choose on", "held out")):
        for place, halves in found.items():
            sources = [(one.name, repair(repairer, one.hypothesis)[0]) for one in halves[number]]
            right = [Sentence(text, "", {name: name}) for name, text in sources if has(name, text)]
            without, with_names = (
                read(model, settings, right, terms) for terms in ((), [Term(name, name) for name in NAMES])
            )
            captions = f"{without.kept()[0]:3} and {with_names.kept()[0]:3}"
            print(f"  {half:13} {place:7} sources {len(right):3} of {len(sources)}, captions {captions}")
    model.close()


def with_spellings(found: Iterable[Spoken]) -> list[Term]:
    """Return the names with what was heard for them, as a careful user would write it down."""
    owner: dict[str, str] = {}
    for name, hypothesis, spelling in found:
        if spelling and spelling not in common_words("en") and not has(name, words_text(hypothesis.words)):
            owner.setdefault(spelling, name)
    return [Term(name, name, tuple((one, "") for one in sorted(owner) if owner[one] == name)) for name in NAMES]


def per_10_000(count: int, repairs: Sequence[tuple[str, str]], show: bool) -> str:
    return f"{1e4 * len(repairs) / count:.1f}" + (f" {list(repairs)}" if show and repairs else "")


def false_in_text(repairer: SpellingRepairer, lines: Sequence[str]) -> tuple[int, list[tuple[str, str]]]:
    """Return the number of words, and what was repaired in lines as they are written."""
    found = []
    for line in lines:
        text, repairs = repairer.repair(line)
        found += [(one.heard, text[one.begin : one.end]) for one in repairs]
    return sum(len(tokens_of(line)) for line in lines), found


def false_in_speech(
    repairer: SpellingRepairer, lines: Sequence[str], hypotheses: Sequence[Hypothesis]
) -> tuple[int, list[tuple[str, str]]]:
    """Return the number of words that were heard, and what was repaired in them that the lines do not have."""
    count, found = 0, []
    for line, hypothesis in zip(lines, hypotheses, strict=True):
        text, repairs = repair(repairer, hypothesis)
        count += len(hypothesis.words)
        written = [(one.heard, text[one.begin : one.end]) for one in repairs]
        found += [one for one in written if one[1].casefold() not in line.casefold()]
    return count, found


def print_calm(spelled: Sequence[Term], alone: Sequence[Term]) -> None:
    """Print NE of the screen of runs of speech without a pause, in which each name comes in its held-apart sentence."""
    sentences = SENTENCES["middle"][1]
    said = [sentences[number % len(sentences)].format(name).rstrip(".") for number, name in enumerate(NAMES)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "names.tsv"
        for rule, terms, repaired in (
            ("none", alone, "none"),
            ("spelled", spelled, "spelled"),
            ("names", alone, "names"),
        ):
            lines = (f"{one.text}\t=\t{' | '.join(spelling for spelling, _ in one.heard)}\n" for one in terms)
            file.write_text("".join(lines), encoding="utf-8")
            figures = []
            for voice in VOICES:
                for first in range(0, len(said), 5):
                    sound = speak(" and ".join(said[first : first + 5]) + ".", voice, Path(folder))
                    command = ["replay", str(sound), "--from", "en", "--to", "de", "--speed", "max", "--no-session"]
                    command += ["--glossary", str(file), "--repair", repaired, "--jsonl", "-"]
                    events = subprocess.run([LIVETRANS, *command], check=True, capture_output=True, text=True).stdout
                    figures.append(json.loads(events.splitlines()[-1])["ne_screen"])
            print(f"  {rule:8} mean {mean(figures):.3f}, median {median(figures):.3f}")


def print_times(repairer: SpellingRepairer) -> None:
    """Print the time of an update of sentences that grow to 40 words, and how often a recogniser is asked."""
    words = (SHARED / "corpora" / ONLY_REPORTED[2]).read_text(encoding="utf-8").split()[:4000]
    asked: list[str] = []

    def likelihood(text: str) -> float:
        asked.append(text)
        return -20.0 * len(asked)

    for judges in (False, True):
        times = []
        for begin in range(0, len(words), 40):
            verdicts = Verdicts() if judges else None
            for count in range(3, 41, 3):
                agreed, rest = words[begin : begin + count - 3], words[begin + count - 3 : begin + count]
                update = Transcript(0, 0, " ".join(agreed), " ".join(rest), False, 0.0, 1.0)
                start = time.perf_counter()
                if verdicts is not None:
                    repairer.judge(update.text, likelihood, verdicts, growing=True)
                repairer.repaired(update, verdicts)
                times.append(time.perf_counter() - start)
        times.sort()
        middle, slow = times[len(times) // 2], times[len(times) * 99 // 100]
        print(f"  median {1e3 * middle:.2f} ms, 99 of 100 under {1e3 * slow:.2f} ms", "with questions" * judges)
    print(f"  texts of which a recogniser is asked, in 100 words: {1e2 * len(asked) / len(words):.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="Print every sentence and every false correction.")
    parser.add_argument("--captions", action="store_true", help="Print only what becomes of names in captions.")
    parser.add_argument("--spoken", type=int, default=400, help="Sentences of each text that are spoken too.")
    told = parser.parse_args()
    recogniser = WhisperRecogniser(RecogniserSettings(data_folder("models") / "livetrans-recogniser-en"))
    halves = {place: [spoken(recogniser, half) for half in sentences] for place, sentences in SENTENCES.items()}
    spelled = with_spellings(one for chosen_on, _ in halves.values() for one in chosen_on)
    alone = [Term(name, name) for name in NAMES]
    others = [Term(name, name) for name in OTHERS]
    print("captions that have a name, of spoken sources that have it, without and with a glossary")
    print_spoken_captions(SpellingRepairer(spelled, "en"), halves)
    print_captions()
    if told.captions:
        return
    print("names that are right, of 20 (each by the next voice), and by all voices")
    rules = {
        "none": SpellingRepairer(()),
        "spelled": SpellingRepairer(spelled, "en"),
        "names": SpellingRepairer(alone, "en", sounds=True),
    }
    rules["both"] = SpellingRepairer(spelled, "en", sounds=True)
    for number, half in enumerate(("to choose on", "held out")):
        for place, found in halves.items():
            for rule, repairer in rules.items():
                right = [has(one.name, repair(repairer, one.hypothesis)[0]) for one in found[number]]
                turns = [right[len(VOICES) * name + name % len(VOICES)] for name in range(len(NAMES))]
                print(f"  {half:13} {place:7} {rule:8} {sum(turns):3} of {len(turns)}   {sum(right):4} of {len(right)}")
                if told.show:
                    wrong = [
                        (one.name, words_text(one.hypothesis.words))
                        for ok, one in zip(right, found[number], strict=True)
                        if not ok
                    ]
                    print("   ", wrong)
    print(f"false corrections per 10,000 words, with {len(NAMES) + len(OTHERS)} names: as written, as heard")
    rules = {
        "spelled": SpellingRepairer([*spelled, *others], "en"),
        "names": SpellingRepairer([*alone, *others], "en", sounds=True),
    }
    rules["both"] = SpellingRepairer([*spelled, *others], "en", sounds=True)
    for group, files in {"chosen on": CHOSEN_ON, "only reported": ONLY_REPORTED}.items():
        for path in filter(Path.exists, (SHARED / "corpora" / file for file in files)):
            lines = path.read_text(encoding="utf-8").splitlines()
            said = [line for line in lines if 4 <= len(line.split()) <= 30][:: max(len(lines) // told.spoken, 1)]
            with tempfile.TemporaryDirectory() as folder:
                voices = zip(said, cycle(VOICES))
                hypotheses = [heard(recogniser, line.replace("-", " "), voice, Path(folder)) for line, voice in voices]
            for rule, repairer in rules.items():
                as_written = per_10_000(*false_in_text(repairer, lines), told.show)
                as_heard = per_10_000(*false_in_speech(repairer, said, hypotheses), told.show)
                print(f"  {group:13} {path.name:26} {rule:8} {as_written}   {as_heard}")
    print("NE of the screen in unbroken speech, 24 runs")
    print_calm(spelled, alone)
    words = sorted(common_words("en"))
    many = [
        Term(f"{words[31 * number]}{words[7 * number][:4]}", "", ((f"{words[13 * number]} {words[5 * number]}", ""),))
        for number in range(500)
    ]
    for rule in ("spelled", "names"):
        print(f"an update with 500 terms, {rule}:")
        print_times(SpellingRepairer(many, "en", sounds=rule == "names"))


if __name__ == "__main__":
    main()
