"""Training examples: read and clean the pairs, then make an endless, seeded stream of token batches from them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import sentencepiece

from ..common.corpus import EN_DE, Pair, Sources, tidy
from .pairs import Tails, in_pairs
from .text import cut_pair, open_end, speech_like

MAX_TOKENS = 160
CHUNK_SOURCES = 16_000


@dataclass(frozen=True)
class Mixture:
    """Shares of the kinds of example; the two twins differ in `prefix` alone."""

    prefix: float
    prefix_from: float = 0.4
    """Before this share of the run no prefixes: what words mean is learned sooner from sentences that are whole."""
    joined: float = 0.12
    speech: float = 0.3

    def at(self, share: float) -> Mixture:
        """The mixture when this share (0..1) of the run has passed."""
        return self if share >= self.prefix_from else replace(self, prefix=0.0)


VARIANTS = {
    "prefix": Mixture(prefix=0.5),
    "plain": Mixture(prefix=0.0),
    "aligned": Mixture(prefix=0.0, joined=0.0, speech=0.0),
}
"""`aligned` learns pairs of a calibration set as they are: align.py has made the mixture."""


def read_calibration(path: Path) -> Sources:
    """The sources of a calibration set, each with the large model's output."""
    pairs = (line.rstrip("\n").split("\t") for line in path.open(encoding="utf-8"))
    return [(source, [target]) for source, target in pairs if target]


def example(items: list[tuple[str, str]], mixture: Mixture, rng: random.Random, pair: Pair = EN_DE) -> tuple[str, str]:
    """One training pair of one sentence, or of several that were joined.

    Of joined sentences only the last is cut for a prefix pair: the finished ones are translated in full. The
    target's end is open exactly when the source's is, so that the model never has to guess whether to close.
    """
    *finished, (source, target) = items
    is_prefix = rng.random() < mixture.prefix
    is_speech = rng.random() < mixture.speech
    if is_prefix:
        source, target = cut_pair(source, target, rng, pair)
    source = " ".join([first for first, _ in finished] + [source])
    target = pair.joined([second for _, second in finished] + [target])
    if is_speech:
        source, target = speech_like(source, pair.source, rng), open_end(target)
    return tidy(source), tidy(target)


def examples(sources: Sources, mixture: Mixture, rng: random.Random, pair: Pair = EN_DE) -> Iterator[tuple[str, str]]:
    """One example per source in the given order; a share of them with one to three more sentences in front."""
    for source, targets in sources:
        items = [(source, rng.choice(targets))]
        if rng.random() < mixture.joined:
            for other, other_targets in rng.choices(sources, k=rng.choice((1, 1, 2, 3))):
                items.insert(0, (other, rng.choice(other_targets)))
        yield example(items, mixture, rng, pair)


@dataclass(frozen=True)
class Batch:
    """Token ids and their places [rows, length], right-padded, and the flat positions with the labels learnt there."""

    inputs: np.ndarray
    places: np.ndarray
    positions: np.ndarray
    labels: np.ndarray
    source_tokens: int
    tokens: int


def pack(sequences: list[tuple[list[int], int]], step: int) -> Batch:
    """Batch of (token ids, index of `<|tgt|>`): the loss covers what is written behind it, `step` tokens at a time.

    What the model writes in one step shares a place.
    """
    length = max(len(ids) for ids, _ in sequences) - step
    inputs = np.zeros((len(sequences), length), dtype=np.int64)
    places = np.tile(np.arange(length), (len(sequences), 1))
    positions: list[int] = []
    labels: list[int] = []
    for row, (ids, target_mark) in enumerate(sequences):
        inputs[row, : len(ids) - step] = ids[:-step]
        places[row, target_mark:] = target_mark + np.arange(length - target_mark) // step
        positions.extend(row * length + column for column in range(target_mark, len(ids) - step))
        labels.extend(ids[target_mark + step :])
    tokens = sum(len(ids) for ids, _ in sequences)
    return Batch(inputs, places, np.array(positions), np.array(labels), tokens - len(labels), tokens)


def encode(
    pairs: list[tuple[str, str]], tokenizer: sentencepiece.SentencePieceProcessor, tails: Tails | None
) -> list[tuple[list[int], int]]:
    """Token ids `<s><|src|>SOURCE<|tgt|>TARGET</s>` of each pair, and the index of `<|tgt|>`.

    With `tails` all from `<|tgt|>` on is in double-token order; a target that needs a piece they lack is left out.
    """
    source_mark, target_mark = tokenizer.piece_to_id("<|src|>"), tokenizer.piece_to_id("<|tgt|>")
    begin, end = tokenizer.bos_id(), tokenizer.eos_id()
    sequences = []
    sources, targets = tokenizer.encode([pair[0] for pair in pairs]), tokenizer.encode([pair[1] for pair in pairs])
    for source, target in zip(sources, targets, strict=True):
        if source and target and len(source) + len(target) < MAX_TOKENS:
            written = [target_mark, *target, end] if tails is None else in_pairs(target, target_mark, end, tails)
            if written:
                sequences.append(([begin, source_mark, *source, *written], len(source) + 2))
    return sequences


def batches_of(sequences: list[tuple[list[int], int]], batch_tokens: int, step: int, rng: random.Random) -> list[Batch]:
    """Sequences of about equal length together, so that padding wastes next to nothing; batches in random order."""
    rng.shuffle(sequences)
    sequences.sort(key=lambda sequence: len(sequence[0]))
    batches, rows = [], []
    for sequence in sequences:
        if rows and len(sequence[0]) * (len(rows) + 1) > batch_tokens:
            batches.append(pack(rows, step))
            rows = []
        rows.append(sequence)
    batches.append(pack(rows, step))
    rng.shuffle(batches)
    return batches


def training_chunk(
    sources: Sources,
    tokenizer: sentencepiece.SentencePieceProcessor,
    tails: Tails | None,
    mixture: Mixture,
    batch_tokens: int,
    seed: int,
    chunk: int,
    pair: Pair = EN_DE,
) -> list[Batch]:
    """Batches of one chunk of the endless stream; a function of its arguments alone, which makes runs resumable."""
    chunks_per_epoch = math.ceil(len(sources) / CHUNK_SOURCES)
    epoch, index = divmod(chunk, chunks_per_epoch)
    order = list(range(len(sources)))
    random.Random(f"{seed}-epoch-{epoch}").shuffle(order)
    chosen = [sources[i] for i in order[index * CHUNK_SOURCES : (index + 1) * CHUNK_SOURCES]]
    rng = random.Random(f"{seed}-chunk-{chunk}")
    sequences = encode(list(examples(chosen, mixture, rng, pair)), tokenizer, tails)
    return batches_of(sequences, batch_tokens, 2 if tails else 1, rng)
