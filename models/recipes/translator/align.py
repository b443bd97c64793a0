"""Write a calibration set: a large model's own translations of the training's examples.

A small model that is trained on it is *aligned* with the large one (*Speculative Decoding with Big Little Decoder*,
arXiv 2302.07863, section 3.5.1). Interrupted, the same command goes on behind the last line.
"""

import argparse
import random
import time
from pathlib import Path

from ..common.corpus import read_sources, split_development
from .data import VARIANTS, examples
from .runner import Runner


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="the large model, a GGUF")
    parser.add_argument("--output", type=Path, required=True, help="the set to write: source, tab, translation")
    parser.add_argument("--examples", type=int, default=100_000)
    parser.add_argument("--variant", choices=("prefix", "plain"), default="prefix")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    runner = Runner(options.model, options.threads)
    training, _ = split_development(read_sources())
    rng = random.Random(options.seed)
    rng.shuffle(training)
    pairs = list(examples(training[: options.examples], VARIANTS[options.variant], rng))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with options.output.open("a+", encoding="utf-8") as file:
        file.seek(0)
        done = sum(1 for _ in file)
        started = time.monotonic()
        for index, (source, _) in enumerate(pairs[done:], start=done + 1):
            file.write(f"{source}\t{runner.text(runner.translate(source))}\n")
            if index % 1000 == 0:
                file.flush()
                print(f"{index} of {len(pairs)}, {(time.monotonic() - started) / 60:.1f} minutes", flush=True)


if __name__ == "__main__":
    main()
