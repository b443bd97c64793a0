"""Check that llama.cpp tokenises as the vocabulary that the model was trained with, on whole prompts."""

import argparse
import random
from pathlib import Path

import sentencepiece

from ..common.corpus import EN_DE, PAIRS, read_sources, shared_folder, split_development
from .data import VARIANTS, examples
from .runner import Runner

TRICKY = (
    "I'll pay €19.99 (plus tax) at 10:30 – okay?",
    "naïve café, Zürich; Łódź, Ελλάδα, Москва, 東京 and 😀",
    "HELLO there   how  are you",
    "a",
    "…",
    "it's “quoted” and 'single' 1,234,567 times",
    "uh so um well you know",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="folder of the run, with vocabulary.model")
    parser.add_argument("--model", type=Path, required=True, help="the exported GGUF")
    parser.add_argument("--pair", choices=PAIRS, default=str(EN_DE), help="its languages")
    options = parser.parse_args()
    runner = Runner(options.model)
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(options.work / "vocabulary.model"))
    source_mark, target_mark = tokenizer.piece_to_id("<|src|>"), tokenizer.piece_to_id("<|tgt|>")
    corpora = shared_folder() / "corpora"
    pair = PAIRS[options.pair]
    training, development = split_development(read_sources(pair=pair))
    mixture = VARIANTS["prefix"]
    texts = list(TRICKY)
    for sources in (development, training[::200]):
        texts += [part for sides in examples(sources, mixture, random.Random(3), pair) for part in sides]
    texts += (corpora / f"flores200.devtest.{pair.sides[0]}").read_text(encoding="utf-8").splitlines()
    different = 0
    for text in texts:
        expected = [tokenizer.bos_id(), source_mark, *tokenizer.encode(text), target_mark]
        actual = runner.prompt(text)
        if actual != expected:
            different += 1
            print(f"differs: {text!r}\n  training  {expected}\n  llama.cpp {actual}")
    print(f"{len(texts)} prompts, {different} different")
    raise SystemExit(1 if different else 0)


if __name__ == "__main__":
    main()
