"""Whisper models of OpenAI's shapes with random weights, in either engine's format: no training, no download, no torch.

A pass costs what one of a real model of that shape does. What it writes does not depend on the sound: a phrase, or
letters without sense. The vocabulary has Whisper's sizes and special tokens, but byte pairs are not merged: the package
that carries Whisper's merges (openai-whisper) needs torch.
"""

from __future__ import annotations

import json
import runpy
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from ctranslate2.specs import WhisperSpec
from faster_whisper.feature_extractor import FeatureExtractor
from faster_whisper.tokenizer import _LANGUAGE_CODES
from tokenizers import AddedToken, decoders, models, pre_tokenizers

from livetrans.events import SAMPLE_RATE

LETTERS = "abcdefghijklmnopqrstuvwxyz ,."
PHRASE = tuple(
    "my brother lives in a small house near the river and we have been waiting for so long that nobody came".split()
)
"""21 words, all different: what is said in 8 s."""


def hiss(seconds: float) -> np.ndarray:
    """Sound for models that write the same of any."""
    return np.random.default_rng(3).normal(0, 0.1, round(seconds * SAMPLE_RATE)).astype(np.float32)


@dataclass(frozen=True)
class Shape:
    """Sizes of a Whisper model; the encoder has as many layers as the decoder unless stated."""

    width: int = 32
    heads: int = 2
    layers: int = 1
    decoder_layers: int | None = None


SHAPES = {
    "tiny": Shape(384, 6, 4),
    "base": Shape(512, 8, 6),
    "small": Shape(768, 12, 12),
    "medium": Shape(1024, 16, 24),
    "large": Shape(1280, 20, 32),
    "turbo": Shape(1280, 20, 32, 4),
}
"""OpenAI's, from the models' config.json."""


def special_tokens(languages: int) -> list[str]:
    """Whisper's special tokens in their order; 99 languages up to v2, 100 since v3."""
    # faster-whisper sorts its codes; `yue` came last, with v3.
    codes = [code for code in _LANGUAGE_CODES if code != "yue"] + ["yue"]
    tasks = ["translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps"]
    times = [f"{step / 50:.2f}" for step in range(1501)]
    names = ["endoftext", "startoftranscript", *codes[:languages], *tasks, *times]
    return [f"<|{name}|>" for name in names]


def write_random_whisper(
    folder: Path,
    *,
    shape: Shape = Shape(),
    english: bool = False,
    languages: int = 99,
    bands: int = 80,
    ends: bool = True,
    seed: int = 3,
    spoken: str = "de",
    phrase: Sequence[str] = (),
    quantization: str = "float32",
) -> Path:
    """A folder that faster-whisper loads; it detects `spoken`, and writes letters without sense, or `phrase`.

    With `ends` the end of text is likelier than any letter, without it the model writes until it is stopped. A model
    that is `english` only has one piece less, and its special tokens are one place earlier.
    """
    folder.mkdir(parents=True, exist_ok=True)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = [f"Ġ{word}" for word in dict.fromkeys(phrase)]
    # CTranslate2 takes the empty piece for the mark of a multilingual model.
    last = [] if english else [""]
    unused = 50_256 - len(alphabet) - len(words)
    pieces = [*alphabet, *words, *(f"unused{number}" for number in range(unused)), *last]
    text_pieces = len(pieces)
    special = special_tokens(languages)
    tokenizer = tokenizers.Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    listing = pieces + special
    bias = np.zeros(len(listing), dtype=np.float32)
    # Few times, because there are 1,501 of them, and Whisper's rules force one where they are likelier together.
    bias[-1501:] = -6.0
    if not phrase:
        bias[[tokenizer.encode(letter).ids[0] for letter in LETTERS]] = 16.0
        bias[text_pieces] = 18.0 if ends else 0.0
    bias[listing.index(f"<|{spoken}|>")] = 11.0
    spec = _specification(shape, len(listing), bands, bias, np.random.default_rng(seed), quiet=bool(phrase))
    if phrase:
        starts = [listing.index(f"<|{name}|>") for name in ("startoftranscript", "transcribe", "0.00")]
        phrase_pieces = [listing.index(f"Ġ{word}") for word in phrase]
        _chain(spec.decoder, [*starts[1:], *phrase_pieces, listing.index("<|8.00|>"), text_pieces])
        if english:  # Its prompt has neither language nor task.
            _chain(spec.decoder, [starts[0], starts[2]])
    spec.config.lang_ids = list(range(listing.index("<|startoftranscript|>") + 1, listing.index("<|translate|>")))
    decoder_layers = shape.decoder_layers or shape.layers
    spec.config.alignment_heads = [
        (layer, head) for layer in range(decoder_layers // 2, decoder_layers) for head in (0, 1)
    ]
    spec.config.suppress_ids, spec.config.suppress_ids_begin = [], [text_pieces]
    spec.register_vocabulary(listing)
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))
    frontend = {"feature_size": bands, "sampling_rate": 16000, "hop_length": 160, "chunk_length": 30, "n_fft": 400}
    (folder / "preprocessor_config.json").write_text(json.dumps(frontend), encoding="utf-8")
    return folder


def _chain(decoder: Any, tokens: Sequence[int]) -> None:
    """Make each token the likeliest after the one before it: its row of the projection gets that one's embedding."""
    width = decoder.embeddings.weight.shape[1]
    for token, following in pairwise(tokens):
        decoder.projection.weight[following] += decoder.embeddings.weight[token] * 60 / width


def _specification(
    shape: Shape, pieces: int, bands: int, bias: np.ndarray, rng: np.random.Generator, *, quiet: bool
) -> WhisperSpec:
    """`quiet`: layers add little to the stream, so that it is a token's embedding that decides what follows."""
    width = shape.width
    deviation = 0.02 if quiet else 0.4

    def weights(*sizes: int, scale: float = deviation) -> np.ndarray:
        return rng.normal(0, scale, sizes).astype(np.float32)

    def linear(spec: Any, rows: int, columns: int, *kernel: int) -> None:
        spec.weight, spec.bias = weights(rows, columns, *kernel), np.zeros(rows, dtype=np.float32)

    def norm(spec: Any) -> None:
        spec.gamma, spec.beta = np.ones(width, dtype=np.float32), np.zeros(width, dtype=np.float32)

    def attention(spec: Any, *rows: int) -> None:
        norm(spec.layer_norm)
        for layer, count in zip(spec.linear, rows, strict=True):
            linear(layer, count, width)

    spec = WhisperSpec(shape.layers, shape.heads, shape.decoder_layers or shape.layers, shape.heads)
    linear(spec.encoder.conv1, width, bands, 3)
    linear(spec.encoder.conv2, width, width, 3)
    spec.encoder.position_encodings.encodings = weights(1500, width)
    spec.decoder.position_encodings.encodings = 3 * weights(448, width)
    spec.decoder.embeddings.weight = weights(pieces, width, scale=1.0 if quiet else deviation)
    spec.decoder.projection.weight, spec.decoder.projection.bias = weights(pieces, width), bias
    for side in (spec.encoder, spec.decoder):
        norm(side.layer_norm)
        for block in side.layer:
            attention(block.self_attention, 3 * width, width)
            if side is spec.decoder:
                attention(block.attention, width, 2 * width, width)
            norm(block.ffn.layer_norm)
            linear(block.ffn.linear_0, 4 * width, width)
            linear(block.ffn.linear_1, width, 4 * width)
    return spec


def write_random_ggml(path: Path, *, shape: Shape = Shape(), spoken: str = "de", seed: int = 3) -> Path:
    """A multilingual model in whisper.cpp's format: it detects `spoken`, and writes letters until it is stopped.

    The output layer has the embeddings' weights, so what is likely is said by the last normalisation: its mean is 1,
    and rows that are larger by `NUMBER / width` give a score that is higher by the number.
    """
    tokens, first = 51_865, 50_257
    recipe = runpy.run_path(str(Path(__file__).parents[2] / "models/recipes/recogniser/ggml.py"))
    rng, width = np.random.default_rng(seed), shape.width

    def weights(*sizes: int) -> np.ndarray:
        return rng.normal(0, 0.02, sizes).astype(np.float32)

    rows = weights(tokens, width)
    rows -= rows.mean(axis=1, keepdims=True)
    rows[:256] += 8 / width
    rows[first:] -= 8 / width
    # OpenAI's order of the languages begins so.
    rows[first + 2 + ["en", "zh", "de", "es"].index(spoken)] += 40 / width
    named = {"encoder.positional_embedding": weights(1500, width), "decoder.positional_embedding": weights(448, width)}
    named["decoder.token_embedding.weight"] = rows

    def norm(name: str, mean: float = 0.0) -> None:
        named[f"{name}.weight"], named[f"{name}.bias"] = np.ones(width), np.full(width, mean)

    def linear(name: str, outputs: int, inputs: int) -> None:
        named[f"{name}.weight"] = weights(outputs, inputs)
        if not name.endswith("key"):
            named[f"{name}.bias"] = np.zeros(outputs)

    for conv, inputs in (("encoder.conv1", 80), ("encoder.conv2", width)):
        named[f"{conv}.weight"], named[f"{conv}.bias"] = weights(width, inputs, 3), np.zeros((width, 1))
    norm("encoder.ln_post")
    norm("decoder.ln", 1.0)
    decoder_layers = shape.decoder_layers or shape.layers
    for side, layers in (("encoder", shape.layers), ("decoder", decoder_layers)):
        for block in (f"{side}.blocks.{layer}" for layer in range(layers)):
            for attention in ("attn", "cross_attn")[: 1 + (side == "decoder")]:
                norm(f"{block}.{attention}_ln")
                for part in ("query", "key", "value", "out"):
                    linear(f"{block}.{attention}.{part}", width, width)
            norm(f"{block}.mlp_ln")
            linear(f"{block}.mlp.0", 4 * width, width)
            linear(f"{block}.mlp.2", width, 4 * width)
    sizes = (tokens, 1500, width, shape.heads, shape.layers, 448, width, shape.heads, decoder_layers, 80)
    pieces = [bytes([byte]) for byte in range(256)] + [b"[unused %d]" % number for number in range(256, first)]
    recipe["write_file"](path, sizes, FeatureExtractor().mel_filters, pieces, named)
    return path
