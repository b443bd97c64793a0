"""Write a recogniser's folder as one file for whisper.cpp (ggml, float16), with the same weights.

whisper.cpp knows the tokens after the text by their numbers in OpenAI's vocabulary. So the pieces keep their numbers,
the special tokens and times move to OpenAI's English ones, and what lies between never is the likeliest: the input of
the output layer is normalised, so a row in the direction 1/gamma gives the same score for every input.

It also takes a decoder of two layers for an early distilled model without times. So the decoder gets a third one in
front that changes nothing.
"""

from __future__ import annotations

import argparse
import shutil
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import tokenizers
from faster_whisper.feature_extractor import FeatureExtractor

ENGLISH_TEXT, ENGLISH_VOCABULARY = 50_256, 51_864
"""Text pieces and all tokens of OpenAI's English models."""
ENGLISH_TASKS = 50_357
"""The first token after OpenAI's languages, translate; the others of `pieces.SPECIAL` and the times follow."""
NEVER = -30.0
"""Score of what is no token."""
_TYPES = (np.float32, np.int8, np.int16, np.int32, np.float16)
"""CTranslate2's, by number."""


def read_weights(path: Path) -> dict[str, np.ndarray]:
    """Return the variables of CTranslate2's `model.bin`, version 6; int8 ones as float32."""
    content, at = path.read_bytes(), 0

    def take(form: str) -> int:
        nonlocal at
        (value,) = struct.unpack_from("<" + form, content, at)
        at += struct.calcsize("<" + form)
        return int(value)

    def name() -> str:
        nonlocal at
        length = take("H")
        at += length
        return content[at - length : at - 1].decode()

    take("I"), name(), take("I")
    stored: dict[str, np.ndarray] = {}
    for _ in range(take("I")):
        key, shape = name(), [take("I") for _ in range(take("B"))]
        kind, length = _TYPES[take("B")], take("I")
        stored[key] = np.frombuffer(content, kind, length // np.dtype(kind).itemsize, at).reshape(shape)
        at += length
    scales = {key.removesuffix("_scale"): scale for key, scale in stored.items() if key.endswith("_scale")}
    return {
        key: value / scales[key].reshape(-1, *[1] * (value.ndim - 1)) if key in scales else value
        for key, value in stored.items()
    }


def write_file(
    path: Path, sizes: Sequence[int], filters: np.ndarray, pieces: Sequence[bytes], weights: Mapping[str, np.ndarray]
) -> None:
    """Write whisper.cpp's format. `sizes`: vocabulary; encoder's positions, width, heads, layers; decoder's; bands."""
    with path.open("wb") as file:
        file.write(struct.pack("<12i", 0x67676D6C, *sizes, 1))
        file.write(struct.pack("<2i", *filters.shape) + filters.astype("<f4").tobytes())
        file.write(struct.pack("<i", len(pieces)))
        for piece in pieces:
            file.write(struct.pack("<i", len(piece)) + piece)
        for name, weight in weights.items():
            _write_weight(file, name, weight)


def _write_weight(file: BinaryIO, name: str, weight: np.ndarray) -> None:
    is_half = weight.ndim > 1 and not name.endswith((".bias", "positional_embedding"))
    encoded = name.encode()
    file.write(struct.pack("<3i", weight.ndim, len(encoded), is_half))
    file.write(struct.pack(f"<{weight.ndim}i", *reversed(weight.shape)) + encoded)
    file.write(weight.astype("<f2" if is_half else "<f4").tobytes())


def named_as_openai(stored: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the weights under the names of OpenAI's model, attention's split, which CTranslate2 fuses."""
    weights = {
        "encoder.positional_embedding": stored["encoder/position_encodings/encodings"],
        "decoder.positional_embedding": stored["decoder/position_encodings/encodings"],
        "decoder.token_embedding.weight": stored["decoder/embeddings/weight"],
    }
    for conv in ("conv1", "conv2"):
        weights[f"encoder.{conv}.weight"] = stored[f"encoder/{conv}/weight"]
        weights[f"encoder.{conv}.bias"] = stored[f"encoder/{conv}/bias"][:, None]

    def norm(to: str, source: str) -> None:
        weights[f"{to}.weight"], weights[f"{to}.bias"] = stored[f"{source}/gamma"], stored[f"{source}/beta"]

    def linear(to: str, source: str, part: slice = slice(None)) -> None:
        weights[f"{to}.weight"] = stored[f"{source}/weight"][part]
        if not to.endswith(".key"):
            weights[f"{to}.bias"] = stored[f"{source}/bias"][part]

    def attention(to: str, source: str, queries: str, pairs: str, out: str) -> None:
        width, first = len(stored[f"{source}/{out}/weight"]), 0
        for name, layer in (("query", queries), ("key", pairs), ("value", pairs)):
            first = 0 if name == "query" or (name == "key" and pairs != queries) else first + width
            linear(f"{to}.{name}", f"{source}/{layer}", slice(first, first + width))
        linear(f"{to}.out", f"{source}/{out}")

    for side, last in (("encoder", "ln_post"), ("decoder", "ln")):
        norm(f"{side}.{last}", f"{side}/layer_norm")
        for layer in range(layers_of(stored, side)):
            to, source = f"{side}.blocks.{layer}", f"{side}/layer_{layer}"
            norm(f"{to}.attn_ln", f"{source}/self_attention/layer_norm")
            attention(f"{to}.attn", f"{source}/self_attention", "linear_0", "linear_0", "linear_1")
            if side == "decoder":
                norm(f"{to}.cross_attn_ln", f"{source}/attention/layer_norm")
                attention(f"{to}.cross_attn", f"{source}/attention", "linear_0", "linear_1", "linear_2")
            norm(f"{to}.mlp_ln", f"{source}/ffn/layer_norm")
            linear(f"{to}.mlp.0", f"{source}/ffn/linear_0")
            linear(f"{to}.mlp.2", f"{source}/ffn/linear_1")
    return weights


def layers_of(stored: Mapping[str, np.ndarray], side: str) -> int:
    """Return the number of layers of the encoder or the decoder."""
    return sum(name.startswith(f"{side}/layer_") and name.endswith("ffn/linear_0/weight") for name in stored)


def with_idle_layer(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the weights with a first decoder layer whose outputs are all zero."""
    moved: dict[str, np.ndarray] = {}
    for name, weight in weights.items():
        parts = name.split(".")
        if parts[:2] == ["decoder", "blocks"]:
            idle = np.zeros_like(weight) if parts[-2] in ("out", "2") else weight
            if parts[2] == "0":
                moved[name] = idle
            parts[2] = str(int(parts[2]) + 1)
        moved[".".join(parts)] = weight
    return moved


def as_english(rows: np.ndarray, end: int, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Return the embeddings, shape (vocabulary, width), at the numbers of OpenAI's English tokens.

    `end` is the number of the end of text, after which come the start, one language and the others in Whisper's order;
    `gamma` and `beta` are the decoder's last normalisation.
    """
    never = NEVER / float((beta / gamma).sum()) / gamma
    moved = np.tile(never.astype(np.float32), (ENGLISH_VOCABULARY, 1))
    moved[:end] = rows[:end]
    moved[ENGLISH_TEXT : ENGLISH_TEXT + 2] = rows[end : end + 2]
    moved[ENGLISH_TASKS:] = rows[end + 3 :]
    return moved


def convert(folder: Path, output: Path) -> None:
    """Write `output`, and beside it a .json file with the traits that the folder's config.json states."""
    stored = read_weights(folder / "model.bin")
    weights = named_as_openai(stored)
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    end = tokenizer.token_to_id("<|endoftext|>")
    weights["decoder.token_embedding.weight"] = as_english(
        weights["decoder.token_embedding.weight"], end, weights["decoder.ln.weight"], weights["decoder.ln.bias"]
    )
    layers = layers_of(stored, "decoder")
    if layers == 2:
        weights, layers = with_idle_layer(weights), 3
    heads, bands = int(stored["encoder/num_heads"]), stored["encoder/conv1/weight"].shape[1]
    positions, width = weights["encoder.positional_embedding"].shape
    encoder = (positions, width, heads, layers_of(stored, "encoder"))
    decoder = (len(weights["decoder.positional_embedding"]), width, heads, layers)
    sizes = (ENGLISH_VOCABULARY, *encoder, *decoder, bands)
    letters = _letters()
    pieces = [bytes(letters[letter] for letter in tokenizer.id_to_token(number)) for number in range(end)]
    pieces += [b"[no token %d]" % number for number in range(end, ENGLISH_TEXT)]
    write_file(output, sizes, FeatureExtractor(feature_size=bands).mel_filters, pieces, weights)
    shutil.copyfile(folder / "config.json", output.with_suffix(".json"))


def _letters() -> dict[str, int]:
    """Return the byte of each letter in which byte-level BPE writes it."""
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + place): byte for place, byte in enumerate(hidden)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder that export.py wrote")
    parser.add_argument("--output", type=Path, required=True, help="file to write, NAME.bin")
    options = parser.parse_args()
    convert(options.model, options.output)


if __name__ == "__main__":
    main()
