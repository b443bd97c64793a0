"""Whisper models of OpenAI's shapes with random weights, in CTranslate2's format: small and without any training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from ctranslate2.specs import WhisperSpec
from faster_whisper.tokenizer import _LANGUAGE_CODES
from tokenizers import AddedToken, decoders, models, pre_tokenizers

WIDTH, HEADS, TEXT_PIECES = 32, 2, 50_257
LETTERS = "abcdefghijklmnopqrstuvwxyz ,."


def special_tokens(languages: int) -> list[str]:
    """Whisper's special tokens in their order; 99 languages up to v2, 100 since v3."""
    # faster-whisper sorts its codes; `yue` came last, with v3.
    codes = [code for code in _LANGUAGE_CODES if code != "yue"] + ["yue"]
    tasks = ["translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps"]
    times = [f"{step / 50:.2f}" for step in range(1501)]
    names = ["endoftext", "startoftranscript", *codes[:languages], *tasks, *times]
    return [f"<|{name}|>" for name in names]


def write_random_whisper(
    folder: Path, *, languages: int = 99, bands: int = 80, ends: bool = True, seed: int = 3, spoken: str = "de"
) -> Path:
    """A folder that faster-whisper loads; it detects `spoken`, and writes letters without sense.

    With `ends` the end of text is likelier than any letter, without it the model writes until it is stopped.
    """
    folder.mkdir(parents=True, exist_ok=True)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    # CTranslate2 takes the empty piece for the mark of a multilingual model.
    pieces = [*alphabet, *(f"unused{number}" for number in range(TEXT_PIECES - len(alphabet) - 1)), ""]
    special = special_tokens(languages)
    tokenizer = tokenizers.Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    listing = pieces + special
    likely = [tokenizer.encode(letter).ids[0] for letter in LETTERS]
    bias = np.zeros(len(listing), dtype=np.float32)
    bias[likely] = 16.0
    # Few times, because there are 1,501 of them, and Whisper's rules force one where they are likelier together.
    bias[-1501:] = -6.0
    bias[TEXT_PIECES] = 18.0 if ends else 0.0
    bias[listing.index(f"<|{spoken}|>")] = 11.0
    spec = _specification(len(listing), bands, bias, np.random.default_rng(seed))
    first, last = listing.index("<|startoftranscript|>") + 1, listing.index("<|translate|>")
    spec.config.lang_ids = list(range(first, last))
    spec.config.alignment_heads = [(0, 0), (0, 1)]
    spec.config.suppress_ids, spec.config.suppress_ids_begin = [], [TEXT_PIECES]
    spec.register_vocabulary(listing)
    spec.validate()
    spec.optimize(quantization="float32")
    spec.save(str(folder))
    frontend = {"feature_size": bands, "sampling_rate": 16000, "hop_length": 160, "chunk_length": 30, "n_fft": 400}
    (folder / "preprocessor_config.json").write_text(json.dumps(frontend), encoding="utf-8")
    return folder


def _specification(pieces: int, bands: int, bias: np.ndarray, rng: np.random.Generator) -> WhisperSpec:
    def weights(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.4, shape).astype(np.float32)

    def linear(spec: Any, rows: int, columns: int, *kernel: int) -> None:
        spec.weight, spec.bias = weights(rows, columns, *kernel), np.zeros(rows, dtype=np.float32)

    def norm(spec: Any) -> None:
        spec.gamma, spec.beta = np.ones(WIDTH, dtype=np.float32), np.zeros(WIDTH, dtype=np.float32)

    def attention(spec: Any, *rows: int) -> None:
        norm(spec.layer_norm)
        for layer, count in zip(spec.linear, rows, strict=True):
            linear(layer, count, WIDTH)

    spec = WhisperSpec(1, HEADS, 1, HEADS)
    linear(spec.encoder.conv1, WIDTH, bands, 3)
    linear(spec.encoder.conv2, WIDTH, WIDTH, 3)
    spec.encoder.position_encodings.encodings = weights(1500, WIDTH)
    spec.decoder.position_encodings.encodings = 3 * weights(448, WIDTH)
    spec.decoder.embeddings.weight = weights(pieces, WIDTH)
    spec.decoder.projection.weight, spec.decoder.projection.bias = weights(pieces, WIDTH), bias
    for side in (spec.encoder, spec.decoder):
        norm(side.layer_norm)
        (block,) = side.layer
        attention(block.self_attention, 3 * WIDTH, WIDTH)
        if side is spec.decoder:
            attention(block.attention, WIDTH, 2 * WIDTH, WIDTH)
        norm(block.ffn.layer_norm)
        linear(block.ffn.linear_0, 4 * WIDTH, WIDTH)
        linear(block.ffn.linear_1, WIDTH, 4 * WIDTH)
    return spec
