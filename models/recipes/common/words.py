"""Write the common words of a language, which are never taken for a misheard name (livetrans/names).

    python -m models.recipes.common.words CORPORA > livetrans/names/common.en.txt

They are the words of four letters or more that come three times or more in the distinct English sentences of the
training files `CORPORA/train/en-??.tsv.xz`, without marks, in alphabetical order.
"""

from __future__ import annotations

import argparse
import collections
import lzma
import re
import unicodedata
from pathlib import Path

LEAST_LETTERS, LEAST_TIMES = 4, 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path, help="Folder of the corpora.")
    sentences: set[str] = set()
    for file in sorted((parser.parse_args().corpora / "train").glob("en-??.tsv.xz")):
        with lzma.open(file, "rt", encoding="utf-8") as lines:
            sentences.update(line.split("\t")[0] for line in lines)
    counts: collections.Counter[str] = collections.Counter()
    for sentence in sentences:
        folded = unicodedata.normalize("NFKD", sentence.casefold())
        counts.update(re.findall("[a-z]+", "".join(one for one in folded if not unicodedata.combining(one))))
    for word in sorted(counts):
        if counts[word] >= LEAST_TIMES and len(word) >= LEAST_LETTERS:
            print(word)


if __name__ == "__main__":
    main()
