"""Prompts in a family's real vocabulary, without its weights: our tokens against those of tiktoken.

    python tests/benchmarks/real_tokenizer.py qwen3 qwen.tiktoken
    python tests/benchmarks/real_tokenizer.py llama3 tokenizer.model

The file comes out of a wheel that is unpacked and not installed (`pip download --no-deps dashscope`, `llama-models`):
`dashscope/resources/qwen.tiktoken` or `llama_models/llama3/tokenizer.model`. Needs `pip install tiktoken`.
"""

from __future__ import annotations

import argparse
import base64
import tempfile
from itertools import product
from pathlib import Path

import tiktoken

from livetrans.config import LanguageModelSettings
from livetrans.languages import parse_language
from livetrans.lm.llama.model import LlamaModel
from livetrans.lm.prompts import NO_CONTEXT, Context, build_prompt
from tests.lm.families import FAMILIES, Vocabulary, byte_letters, write_family

_SPLITS = {
    "qwen3": ("qwen2", r"\p{N}"),
    "llama3": ("llama-bpe", r"\p{N}{1,3}"),
}
"""By family: llama.cpp's name of how it cuts a text into words, and how numbers are cut; the rest is the same."""
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|NUMBERS| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_SPEECH = (
    ("en", "Good morning."),
    ("en", "It costs 1,234.50 euros — don't ask, we'll see…"),
    ("en", "a  b"),
    ("en", "👋🏽 ok"),
    ("de", "Über die Brücke läuft's"),
    ("fr", "L’été, c’est “beau”"),
    ("hi", "नमस्ते दुनिया"),
    ("th", "สวัสดีครับ"),
)
_CONTEXTS = (NO_CONTEXT, Context((("First one.", "Das Erste."),), (("bridge", "Steg"),)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("family", choices=_SPLITS)
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    family = FAMILIES[arguments.family]
    split, numbers = _SPLITS[arguments.family]
    lines = arguments.file.read_bytes().splitlines()
    ranks = {base64.b64decode(piece): int(rank) for piece, rank in (line.split() for line in lines if line)}
    control = {mark: len(ranks) + index for index, mark in enumerate(family.control)}
    encoding = tiktoken.Encoding(
        arguments.family, pat_str=_WORDS.replace("NUMBERS", numbers), mergeable_ranks=ranks, special_tokens=control
    )
    prompts = different = 0
    with tempfile.TemporaryDirectory() as folder:
        model = LlamaModel(
            LanguageModelSettings(
                write_family(Path(folder) / "model.gguf", family, _vocabulary(ranks, split)), threads=1
            )
        )
        for (source, speech), context in product(_SPEECH, _CONTEXTS):
            languages = parse_language(source), parse_language("es")
            tokens = build_prompt(model, None, *languages, context).tokens(model, speech)
            text = b"".join(map(encoding.decode_single_token_bytes, tokens)).decode()
            prompts += 1
            if tokens != encoding.encode(text, allowed_special="all"):
                different += 1
                print(f"differs: {text!r}")
        model.close()
    print(f"{arguments.family}: {len(ranks)} pieces, {prompts} prompts, {different} with other tokens than tiktoken's")
    return int(different > 0)


def _vocabulary(ranks: dict[bytes, int], split: str) -> Vocabulary:
    """tiktoken merges any two pieces whose join is a piece, the lowest rank first; llama.cpp needs the pairs listed."""
    letters = byte_letters()
    pieces = {piece: "".join(letters[byte] for byte in piece) for piece in sorted(ranks, key=ranks.__getitem__)}
    merges = [
        f"{pieces[piece[:cut]]} {pieces[piece[cut:]]}"
        for piece in pieces
        for cut in range(1, len(piece))
        if piece[:cut] in pieces and piece[cut:] in pieces
    ]
    return Vocabulary(list(pieces.values()), merges, split)


if __name__ == "__main__":
    raise SystemExit(main())
