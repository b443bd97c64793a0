"""The recogniser's vocabulary: byte-level BPE of 600 pieces, Whisper's special tokens, and a token per 0.02 s.

Few pieces because a piece must be heard often to be learned: with 2,000 the prototype's decoder did not learn to
listen at all in the time that made it spell with 600.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers, trainers

PIECES = 600
SPECIAL = (
    "<|endoftext|>",
    "<|startoftranscript|>",
    "<|en|>",
    "<|translate|>",
    "<|transcribe|>",
    "<|startoflm|>",
    "<|startofprev|>",
    "<|nospeech|>",
    "<|notimestamps|>",
)
"""In Whisper's order: faster-whisper takes ids below the first as text and those above the last as times."""
TIMES = tuple(f"<|{hundredths / 50:.2f}|>" for hundredths in range(1501))

CHARACTERS = " 'abcdefghijklmnopqrstuvwxyz"
"""What CTC spells; class 0 is its blank."""


SPACE = "Ġ"
"""How byte-level BPE writes a space."""
OPENINGS = ("-", "'", "â")
"""What must be one piece with the space before it: faster-whisper never lets a text piece begin like " -", " '" or
a note sign, and where those are spelled with a lone space, it would forbid the space."""


def train_pieces(sentences: Iterable[str], path: Path) -> None:
    """Write `tokenizer.json` of PIECES + special + time tokens."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES - len(OPENINGS), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator((" " + sentence for sentence in sentences), trainer)
    described = json.loads(tokenizer.to_str())
    vocabulary, merges = described["model"]["vocab"], described["model"]["merges"]
    for second in OPENINGS:
        if SPACE + second in vocabulary:
            raise ValueError(f"The space and {second} are one piece already; take it out of OPENINGS.")
        vocabulary[SPACE + second] = len(vocabulary)
        merges.append([SPACE, second])
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(described))
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in (*SPECIAL, *TIMES)])
    tokenizer.save(str(path), pretty=False)


class Pieces:
    """A trained vocabulary and the ids of its special tokens."""

    def __init__(self, path: Path) -> None:
        self.tokenizer = tokenizers.Tokenizer.from_file(str(path))
        (
            self.end,
            self.start,
            self.english,
            self.translate,
            self.transcribe,
            self.start_of_lm,
            self.previous,
            self.no_speech,
            self.no_times,
        ) = (self.tokenizer.token_to_id(token) for token in SPECIAL)
        self.first_time = self.no_times + 1
        self.size = self.tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """Ids of a text as Whisper writes it, with a space in front."""
        ids: list[int] = self.tokenizer.encode(" " + text, add_special_tokens=False).ids
        return ids

    def time(self, seconds: float) -> int:
        """Token of a time in the window, rounded to 0.02 s."""
        return self.first_time + min(1500, max(0, round(seconds * 50)))

    def listing(self) -> list[str]:
        """All tokens by id, for CTranslate2's vocabulary.json."""
        vocabulary: dict[str, int] = json.loads(self.tokenizer.to_str())["model"]["vocab"]
        tokens = sorted(vocabulary, key=lambda token: vocabulary[token])
        return [*tokens, *SPECIAL, *TIMES]


def spell(words: list[str]) -> list[int]:
    """CTC classes of lower-case words joined by spaces."""
    return [1 + CHARACTERS.index(character) for character in " ".join(words)]
