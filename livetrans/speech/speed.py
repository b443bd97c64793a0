"""How fast this machine recognises: a pass of a model of random weights in a known shape."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

WIDTH, HEADS, LAYERS, BANDS = 512, 8, 6, 80
"""Whisper base's encoder (OpenAI)."""
PASSES = 3
"""Of which the fastest counts."""


def pass_seconds(threads: int) -> float:
    """Return the seconds in which such an encoder encodes 30 s in int8 on so many threads of the processor.

    They are processor time, so that what else runs while models are chosen does not choose them.
    """
    import ctranslate2

    with TemporaryDirectory(prefix="livetrans-") as folder:
        _write(Path(folder))
        model = ctranslate2.models.Whisper(folder, device="cpu", compute_type="int8", intra_threads=threads)
        features = ctranslate2.StorageView.from_array(np.zeros((1, BANDS, 3000), np.float32))
        taken = []
        for _ in range(PASSES):
            began = time.process_time()
            model.encode(features)
            taken.append((time.process_time() - began) / threads)
    return min(taken)


def _write(folder: Path) -> None:
    """Write the model; its decoder is as small as CTranslate2 allows."""
    from ctranslate2.specs import WhisperSpec

    generator = np.random.default_rng(3)

    def weights(*sizes: int) -> Any:
        return generator.normal(0, 0.05, sizes).astype(np.float32)

    def linear(layer: Any, rows: int, columns: int, *kernel: int) -> None:
        layer.weight, layer.bias = weights(rows, columns, *kernel), np.zeros(rows, np.float32)

    def norm(layer: Any) -> None:
        layer.gamma, layer.beta = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)

    spec, pieces = WhisperSpec(LAYERS, HEADS, 1, HEADS), ["<|endoftext|>", "<|startoftranscript|>", "<|nospeech|>"]
    linear(spec.encoder.conv1, WIDTH, BANDS, 3)
    linear(spec.encoder.conv2, WIDTH, WIDTH, 3)
    spec.encoder.position_encodings.encodings = weights(1500, WIDTH)
    spec.decoder.position_encodings.encodings = weights(8, WIDTH)
    spec.decoder.embeddings.weight = weights(len(pieces), WIDTH)
    linear(spec.decoder.projection, len(pieces), WIDTH)
    for side in (spec.encoder, spec.decoder):
        norm(side.layer_norm)
        for block in side.layer:
            attentions: dict[Any, tuple[int, ...]] = {block.self_attention: (3 * WIDTH, WIDTH)}
            if side is spec.decoder:
                attentions[block.attention] = (WIDTH, 2 * WIDTH, WIDTH)
            for attention, rows in attentions.items():
                norm(attention.layer_norm)
                for layer, count in zip(attention.linear, rows, strict=True):
                    linear(layer, count, WIDTH)
            norm(block.ffn.layer_norm)
            linear(block.ffn.linear_0, 4 * WIDTH, WIDTH)
            linear(block.ffn.linear_1, WIDTH, 4 * WIDTH)
    spec.register_vocabulary(pieces)
    spec.validate()
    spec.optimize(quantization="int8")
    spec.save(str(folder))
