"""Converts the tree's translator from GGUF to a folder of Hugging Face, for vLLM: `python weights.py GGUF FOLDER`.

For models of the Llama architecture with a SentencePiece vocabulary and tied embeddings. It runs in vLLM's environment,
which has gguf, safetensors and sentencepiece, and not the project's packages.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

LAYER = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip
"""Names of a layer's tensors in GGUF and in Hugging Face."""
OUTSIDE = {"token_embd": "embed_tokens", "output_norm": "norm"}
BYTE_PAIRS = 2
"""The kind of a SentencePiece model whose pieces are merged by their scores, as llama.cpp does it."""


def convert(source: Path, folder: Path) -> None:
    """Write weights in float32, configuration and tokenizer."""
    import gguf
    import numpy as np
    from safetensors.numpy import save_file

    reader = gguf.GGUFReader(source)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    heads = fields["llama.attention.head_count"]
    weights = {}
    for tensor in reader.tensors:
        weight = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        name = tensor.name.removesuffix(".weight")
        if name.startswith("blk."):
            _, layer, part = name.split(".")
            name = f"layers.{layer}.{LAYER[part]}"
            if part in ("attn_q", "attn_k"):  # GGUF rotates neighbours, Hugging Face the two halves of a head.
                pairs = weight.reshape(heads, -1, 2, weight.shape[-1])
                weight = pairs.swapaxes(1, 2).reshape(weight.shape)
        else:
            name = OUTSIDE[name]
        weights[f"model.{name}.weight"] = np.ascontiguousarray(weight)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "tokenizer.model").write_bytes(_vocabulary(fields))
    ends = {
        "bos_token_id": fields["tokenizer.ggml.bos_token_id"],
        "eos_token_id": fields["tokenizer.ggml.eos_token_id"],
    }
    pieces, kinds = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]
    control = [piece for piece, kind in zip(pieces, kinds, strict=True) if kind == gguf.TokenType.CONTROL]
    _write(folder / "generation_config.json", ends)
    _write(
        folder / "config.json",
        {
            **ends,
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_act": "silu",
            "tie_word_embeddings": True,
            "torch_dtype": "float32",
            "hidden_size": fields["llama.embedding_length"],
            "intermediate_size": fields["llama.feed_forward_length"],
            "max_position_embeddings": fields["llama.context_length"],
            "num_attention_heads": heads,
            "num_hidden_layers": fields["llama.block_count"],
            "num_key_value_heads": fields["llama.attention.head_count_kv"],
            "rms_norm_eps": fields["llama.attention.layer_norm_rms_epsilon"],
            "rope_theta": fields["llama.rope.freq_base"],
            "vocab_size": fields["llama.vocab_size"],
        },
    )
    _write(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "LlamaTokenizer",
            "legacy": True,  # As llama.cpp does, put a space before what follows a control token.
            "add_bos_token": fields["tokenizer.ggml.add_bos_token"],
            "bos_token": pieces[ends["bos_token_id"]],
            "eos_token": pieces[ends["eos_token_id"]],
            "unk_token": pieces[fields["tokenizer.ggml.unknown_token_id"]],
            "additional_special_tokens": control[2:],
            "clean_up_tokenization_spaces": False,
        },
    )


def _vocabulary(fields: dict[str, Any]) -> bytes:
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()
    names = ("tokens", "scores", "token_type")
    for piece, score, kind in zip(*(fields[f"tokenizer.ggml.{name}"] for name in names), strict=True):
        model.pieces.add(piece=piece, score=score, type=kind)
    trained, normal = model.trainer_spec, model.normalizer_spec
    trained.model_type, trained.vocab_size, trained.byte_fallback = BYTE_PAIRS, len(model.pieces), True
    trained.unk_id = fields["tokenizer.ggml.unknown_token_id"]
    trained.bos_id, trained.eos_id = fields["tokenizer.ggml.bos_token_id"], fields["tokenizer.ggml.eos_token_id"]
    normal.name, normal.escape_whitespaces, normal.remove_extra_whitespaces = "identity", True, False
    normal.add_dummy_prefix = fields["tokenizer.ggml.add_space_prefix"]
    return bytes(model.SerializeToString())


def _write(file: Path, content: dict[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=1), encoding="utf-8")


if __name__ == "__main__":
    convert(*map(Path, sys.argv[1:]))
