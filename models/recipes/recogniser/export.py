"""Write the trained recogniser as a folder that faster-whisper loads: CTranslate2's Whisper, int8."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ctranslate2.converters import utils
from ctranslate2.specs import WhisperSpec, common_spec
from torch import nn

from .features import BANDS
from .network import Attention, Block, Recogniser, Shape
from .pieces import Pieces


def load_model(work: Path) -> Recogniser:
    """The model of a run's last checkpoint."""
    state = torch.load(work / "checkpoint.pt", map_location="cpu")
    model = Recogniser(Shape(**state["shape"]))
    model.load_state_dict(state["model"])
    return model


def array(tensor: torch.Tensor | None) -> np.ndarray | None:
    return None if tensor is None else tensor.detach().float().numpy()


def set_linear(spec: Any, layer: nn.Linear | nn.Conv1d) -> None:
    spec.weight = array(layer.weight)
    spec.bias = array(layer.bias)


def set_norm(spec: Any, layer: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = array(layer.weight), array(layer.bias)


def set_attention(spec: Any, attention: Attention, is_cross: bool) -> None:
    """CTranslate2 keeps query, key and value in one matrix; the missing bias of the keys becomes zero there."""
    layers = []
    for layer in (attention.query, attention.key, attention.value):
        linear = common_spec.LinearSpec()
        linear.weight = array(layer.weight)
        linear.bias = np.zeros(layer.out_features, dtype=np.float32) if layer.bias is None else array(layer.bias)
        layers.append(linear)
    if is_cross:
        utils.fuse_linear(spec.linear[0], layers[:1])
        utils.fuse_linear(spec.linear[1], layers[1:])
    else:
        utils.fuse_linear(spec.linear[0], layers)
    set_linear(spec.linear[-1], attention.out)


def set_block(spec: Any, block: Block) -> None:
    set_norm(spec.self_attention.layer_norm, block.attention_norm)
    set_attention(spec.self_attention, block.attention, is_cross=False)
    if block.cross is not None and block.cross_norm is not None:
        set_norm(spec.attention.layer_norm, block.cross_norm)
        set_attention(spec.attention, block.cross, is_cross=True)
    set_norm(spec.ffn.layer_norm, block.feed_norm)
    set_linear(spec.ffn.linear_0, block.expand)
    set_linear(spec.ffn.linear_1, block.contract)


def specification(model: Recogniser, pieces: Pieces) -> WhisperSpec:
    """The model as CTranslate2 describes Whisper; without the character head, which only training needs."""
    shape = model.shape
    spec = WhisperSpec(shape.encoder_layers, shape.heads, shape.decoder_layers, shape.heads)
    set_linear(spec.encoder.conv1, model.conv1)
    set_linear(spec.encoder.conv2, model.conv2)
    spec.encoder.position_encodings.encodings = array(model.encoder_positions)
    set_norm(spec.encoder.layer_norm, model.encoder_norm)
    spec.decoder.embeddings.weight = array(model.embedding.weight)
    spec.decoder.position_encodings.encodings = array(model.decoder_positions)
    set_norm(spec.decoder.layer_norm, model.decoder_norm)
    spec.decoder.projection.weight = array(model.embedding.weight)
    for specs, blocks in ((spec.encoder.layer, model.encoder), (spec.decoder.layer, model.decoder)):
        for block_spec, block in zip(specs, blocks, strict=True):
            set_block(block_spec, block)
    last = shape.decoder_layers - 1
    spec.config.alignment_heads = [(last, head) for head in range(shape.heads)]
    spec.config.lang_ids = [pieces.english]
    spec.config.suppress_ids_begin = [*pieces.encode(""), pieces.end]
    spec.config.suppress_ids = [
        pieces.start,
        pieces.english,
        pieces.translate,
        pieces.transcribe,
        pieces.start_of_lm,
        pieces.previous,
        pieces.no_speech,
    ]
    spec.register_vocabulary(pieces.listing())
    return spec


def export(work: Path, output: Path, quantization: str) -> None:
    """Write model.bin, config.json, vocabulary.json, tokenizer.json and preprocessor_config.json."""
    model, pieces = load_model(work), Pieces(work / "tokenizer.json")
    spec = specification(model, pieces)
    spec.validate()
    spec.optimize(quantization=quantization)
    output.mkdir(parents=True, exist_ok=True)
    spec.save(str(output))
    # What livetrans cannot see in the weights (`livetrans.speech.whisper_model.ModelTraits`).
    config = json.loads((output / "config.json").read_text(encoding="utf-8"))
    # Long buffers are those in which nothing is agreed on, as with people's voices: 18 s keep their passes short.
    # The next two keep it from writing to music and noise: it heard speech alone (tests/benchmarks/words_in_noise.py).
    # The last is by the curve of tests/benchmarks/sure_words.py.
    config["livetrans"] = {
        "previous_text": True,
        "short_window_rest": 0.5,
        "beam_size": 5,
        "maximum_length": 18,
        "no_speech": 0.00025,
        "unlikely": -0.5,
        "sure": 0.5,
    }
    (output / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    shutil.copyfile(work / "tokenizer.json", output / "tokenizer.json")
    frontend = {"feature_size": BANDS, "sampling_rate": 16000, "hop_length": 160, "chunk_length": 30, "n_fft": 400}
    (output / "preprocessor_config.json").write_text(json.dumps(frontend) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder of the run")
    parser.add_argument("--output", type=Path, required=True, help="folder of the model")
    parser.add_argument("--quantization", default="int8")
    options = parser.parse_args()
    export(options.work, options.output, options.quantization)


if __name__ == "__main__":
    main()
