"""Train the SentencePiece vocabulary: BPE with byte fallback, exactly what llama.cpp's "llama" tokenizer reproduces."""

import random
from collections.abc import Iterator
from pathlib import Path

import sentencepiece

from ..common.corpus import Pair, Sources
from .text import speech_like


def sentences(sources: Sources, pair: Pair, seed: int) -> Iterator[str]:
    """Both languages as written, and a third of the sources once more as unpunctuated speech."""
    rng = random.Random(seed)
    for source, targets in sources:
        yield source
        yield targets[0]
        if rng.random() < 0.33:
            yield speech_like(source, pair.source, rng)


def train_vocabulary(sources: Sources, pair: Pair, prefix: Path, size: int, seed: int) -> None:
    """Write `prefix`.model. No normalisation and no space removal, because llama.cpp does neither."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=sentences(sources, pair, seed),
        model_prefix=str(prefix),
        model_type="bpe",
        vocab_size=size,
        byte_fallback=True,
        character_coverage=0.9998,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=True,
        split_digits=True,
        control_symbols=["<|src|>", "<|tgt|>"],
        unk_id=0,
        bos_id=1,
        eos_id=2,
        pad_id=-1,
        num_threads=2,
        minloglevel=1,
    )
