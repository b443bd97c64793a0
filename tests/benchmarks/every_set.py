"""Measures the default against the paper's method on every set of sentences that is here, and prints one table.

    python tests/benchmarks/every_set.py FOLDER [--mt-ja en-ja.gguf] [--sets flores,ja] [--methods LIST] [--sentences N]

FOLDER gets a run file for each set; the same command again continues them. Sentences come from the corpora beside this
checkout (LIVETRANS_SHARED names another folder). A set whose name ends in `+` is held apart: no setting was chosen on
its sentences.
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
METHODS = "rt,ssbd@0.2,window:early_stop=0,window"


class Corpus(NamedTuple):
    """Lines `first` to `last` (counted from 1) of a pair of files that have `least` to `most` words."""

    source: str
    reference: str
    least: int = 1
    most: int = 999
    first: int = 1
    last: int = 9999


SETS = {
    "flores": Corpus("flores200.devtest.eng", "flores200.devtest.deu", last=100),
    "flores+": Corpus("flores200.devtest.eng", "flores200.devtest.deu", first=407, last=467),
    "tatoeba": Corpus("tatoeba.test.eng", "tatoeba.test.deu", least=9, last=99999),
    "tatoeba+": Corpus("tatoeba.test.eng", "tatoeba.test.deu", least=8, most=8),
    "cocoa+": Corpus("cocoa.test.en-deu.eng", "cocoa.test.en-deu.deu.formal", last=80),
    "ja": Corpus("tatoeba-jpn.test.eng", "tatoeba-jpn.test.jpn", least=8, last=99999),
    "ja+": Corpus("tatoeba-jpn.test.eng", "tatoeba-jpn.test.jpn", least=7, most=7),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--mt-ja", type=Path, default=SHARED / "instruments" / "en-ja.plain.q8_0.gguf")
    parser.add_argument("--mt", type=Path, help="another translator of English into German")
    parser.add_argument("--sets", default=",".join([*SETS, "recordings"]))
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--sentences", type=int, default=400)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    runs = []
    for name in arguments.sets.split(","):
        run = arguments.output / f"{name}.jsonl"
        japanese = name.startswith("ja")
        model = arguments.mt_ja if japanese else arguments.mt
        options = ["--mt", str(model)] if model else []
        if name == "recordings":
            options += ["--recorded", str(ROOT / "recordings")]
        else:
            options += chosen(SETS[name], arguments.output / name, arguments.sentences)
            options += ["--to", "ja"] if japanese else []
        options += ["--methods", arguments.methods, "--time", "cpu", "--repeats", "1", "-o", str(run)]
        subprocess.run([LIVETRANS, "bench", "run", *options], check=True)
        runs.append(str(run))
    subprocess.run([LIVETRANS, "bench", "table", *runs, "--table", "calm", "--unit", "model"], check=True)


def chosen(corpus: Corpus, folder: Path, sentences: int) -> list[str]:
    """Write the corpus's sentences into a folder, and return the options that name them."""
    sources, references = (
        (SHARED / "corpora" / name).read_text(encoding="utf-8").splitlines()[corpus.first - 1 : corpus.last]
        for name in (corpus.source, corpus.reference)
    )
    pairs = [
        pair for pair in zip(sources, references, strict=True) if corpus.least <= len(pair[0].split()) <= corpus.most
    ]
    folder.mkdir(exist_ok=True)
    files = folder / corpus.source, folder / corpus.reference
    for file, lines in zip(files, zip(*pairs[:sentences], strict=True), strict=True):
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return ["--source", str(files[0]), "--reference", str(files[1])]


if __name__ == "__main__":
    main()
