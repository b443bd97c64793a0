"""Measures the default against the papers' methods on every set of sentences that is here, and prints one table.

    python tests/benchmarks/every_set.py FOLDER [--models FOLDER] [--sets flores,ja] [--methods LIST] [--sentences N]

FOLDER gets a run file for each set; the same command again continues them. Sentences come from the corpora beside this
checkout (LIVETRANS_SHARED names another folder). A set whose name ends in `+` is held out: no setting was chosen on
its sentences. The models of other pairs are NAME.plain.q8_0.gguf in the folder of `--models`; a set whose model is not
there is left out, and named. `unbroken` is spoken by espeak-ng and flite, without pauses, and recognised here.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("LIVETRANS_SHARED", ROOT.parent / "shared"))
LIVETRANS = str(Path(sys.executable).with_name("livetrans"))


class Corpus(NamedTuple):
    """Lines `first` to `last` (counted from 1) of a pair of files whose sources have `least` to `most` words."""

    source: str
    reference: str
    least: int = 1
    most: int = 999
    first: int = 1
    last: int = 9999
    pair: str = "en-de"


SETS = {
    "flores": Corpus("flores200.devtest.eng", "flores200.devtest.deu", last=100),
    "flores+": Corpus("flores200.devtest.eng", "flores200.devtest.deu", first=407, last=467),
    "tatoeba": Corpus("tatoeba.test.eng", "tatoeba.test.deu", least=9, last=99999),
    "tatoeba+": Corpus("tatoeba.test.eng", "tatoeba.test.deu", least=8, most=8),
    "cocoa+": Corpus("cocoa.test.en-deu.eng", "cocoa.test.en-deu.deu.formal", last=80),
    "ja": Corpus("tatoeba-jpn.test.eng", "tatoeba-jpn.test.jpn", least=8, last=99999, pair="en-ja"),
    "ja+": Corpus("tatoeba-jpn.test.eng", "tatoeba-jpn.test.jpn", least=7, most=7, pair="en-ja"),
    "de": Corpus("tatoeba.test.deu", "tatoeba.test.eng", least=8, last=99999, pair="de-en"),
    "de+": Corpus("flores200.devtest.deu", "flores200.devtest.eng", first=407, last=467, pair="de-en"),
    "zh+": Corpus("tatoeba-zho.test.eng", "tatoeba-zho.test.zho", least=8, pair="en-zh"),
}
SPOKEN = {"recordings": "en-de", "unbroken+": "en-de", "unbroken-ja+": "en-ja"}
UNBROKEN = Corpus("tatoeba-spa.test.eng", "tatoeba-spa.test.spa", least=10, most=14)
VOICES = (("espeak-ng", "en-us"), ("espeak-ng", "en+f2"), ("espeak-ng", "en-us+f4"), ("flite", "slt"), ("flite", "rms"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--models", type=Path, default=SHARED / "instruments")
    parser.add_argument("--sets", default=",".join([*SETS, *SPOKEN]))
    parser.add_argument("--methods", default="calm")
    parser.add_argument("--sentences", type=int, default=400)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    runs = []
    for name in arguments.sets.split(","):
        pair = SPOKEN.get(name) or SETS[name].pair
        source, target = pair.split("-")
        options = ["--from", source, "--to", target]
        if pair != "en-de":
            model = arguments.models / f"{pair}.plain.q8_0.gguf"
            if not model.exists():
                print(f"{name} is left out: there is no {model}", file=sys.stderr)
                continue
            options += ["--mt", str(model)]
        if name == "recordings":
            options += ["--recorded", str(ROOT / "recordings")]
        elif name in SPOKEN:
            options += ["--recorded", str(spoken(arguments.output / "unbroken"))]
        else:
            options += chosen(SETS[name], arguments.output / name, arguments.sentences)
        run = arguments.output / f"{name}.jsonl"
        options += ["--methods", arguments.methods, "--time", "cpu", "--repeats", "1", "-o", str(run)]
        subprocess.run([LIVETRANS, "bench", "run", *options], check=True)
        runs.append(str(run))
    subprocess.run([LIVETRANS, "bench", "table", *runs, "--table", "calm", "--unit", "model"], check=True)


def spoken(folder: Path) -> Path:
    """Have twelve sentences spoken by each voice without a pause, and return the folder of their sessions."""
    if folder.exists():
        return folder
    sentences = [source.rstrip(".?!") for source, _ in pairs(UNBROKEN)[:12]]
    text = " ".join("".join(mark for mark in one if mark.isalnum() or mark in " '") for one in sentences)
    sounds = folder.with_name("sounds")
    sounds.mkdir(exist_ok=True)
    for program, voice in VOICES:
        sound = sounds / f"{voice}.wav"
        speak = (
            ["flite", "-voice", voice, "-t", text, "-o"]
            if program == "flite"
            else ["espeak-ng", "-v", voice, text, "-w"]
        )
        subprocess.run([*speak, str(sound)], check=True)
        session = folder.with_name("recognising") / voice
        subprocess.run([LIVETRANS, "replay", str(sound), "--speed", "max", "--session", str(session)], check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
    return folder.with_name("recognising").rename(folder)


def pairs(corpus: Corpus) -> list[tuple[str, str]]:
    """The corpus's sentences with their references."""
    sources, references = (
        (SHARED / "corpora" / name).read_text(encoding="utf-8").splitlines()[corpus.first - 1 : corpus.last]
        for name in (corpus.source, corpus.reference)
    )
    return [
        pair for pair in zip(sources, references, strict=True) if corpus.least <= len(pair[0].split()) <= corpus.most
    ]


def chosen(corpus: Corpus, folder: Path, sentences: int) -> list[str]:
    """Write the corpus's sentences into a folder, and return the options that name them."""
    folder.mkdir(exist_ok=True)
    files = folder / corpus.source, folder / corpus.reference
    for file, lines in zip(files, zip(*pairs(corpus)[:sentences], strict=True), strict=True):
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return ["--source", str(files[0]), "--reference", str(files[1])]


if __name__ == "__main__":
    main()
