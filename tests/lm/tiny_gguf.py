"""Writes tiny random-weight GGUFs of kinds that the embedded model is not: a sliding window, and a recurrent state."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

VOCABULARY = 96
WIDTH = 64
WINDOW = 32


def _writer(path: Path, architecture: str) -> gguf.GGUFWriter:
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(1024)
    writer.add_embedding_length(WIDTH)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCABULARY)
    tokens = [b"<unk>", b"<s>", b"</s>", *(f"w{number}".encode() for number in range(VOCABULARY - 3))]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * VOCABULARY)
    writer.add_token_types([2, 3, 3, *[1] * (VOCABULARY - 3)])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    return writer


def _finish(writer: gguf.GGUFWriter, shapes: dict[str, tuple[int, ...]]) -> None:
    random = np.random.default_rng(0)
    for name, shape in shapes.items():
        scale = 1.0 if name.endswith("norm.weight") else 0.3
        writer.add_tensor(name, (random.normal(size=shape) * scale).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_sliding_window(path: Path) -> None:
    """A gemma3 of six layers, five of which attend to the last `WINDOW` positions only."""
    heads, size, layers, inner = 2, 32, 6, 128
    writer = _writer(path, "gemma3")
    writer.add_block_count(layers)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_key_length(size)
    writer.add_value_length(size)
    writer.add_sliding_window(WINDOW)
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (VOCABULARY, WIDTH), "output_norm.weight": (WIDTH,)}
    for layer in range(layers):
        block = {
            "attn_norm": (WIDTH,),
            "attn_q": (heads * size, WIDTH),
            "attn_k": (heads * size, WIDTH),
            "attn_v": (heads * size, WIDTH),
            "attn_output": (WIDTH, heads * size),
            "attn_q_norm": (size,),
            "attn_k_norm": (size,),
            "post_attention_norm": (WIDTH,),
            "ffn_norm": (WIDTH,),
            "ffn_gate": (inner, WIDTH),
            "ffn_up": (inner, WIDTH),
            "ffn_down": (WIDTH, inner),
            "post_ffw_norm": (WIDTH,),
        }
        shapes |= {f"blk.{layer}.{name}.weight": shape for name, shape in block.items()}
    _finish(writer, shapes)


def write_recurrent(path: Path) -> None:
    """A mamba of two layers."""
    inner, state, rank, kernel, layers = 128, 16, 4, 4, 2
    writer = _writer(path, "mamba")
    writer.add_block_count(layers)
    writer.add_feed_forward_length(0)
    writer.add_head_count(0)
    writer.add_ssm_conv_kernel(kernel)
    writer.add_ssm_inner_size(inner)
    writer.add_ssm_state_size(state)
    writer.add_ssm_time_step_rank(rank)
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (VOCABULARY, WIDTH), "output_norm.weight": (WIDTH,)}
    for layer in range(layers):
        block = {
            "attn_norm.weight": (WIDTH,),
            "ssm_in.weight": (2 * inner, WIDTH),
            "ssm_conv1d.weight": (inner, kernel),
            "ssm_conv1d.bias": (inner,),
            "ssm_x.weight": (rank + 2 * state, inner),
            "ssm_dt.weight": (inner, rank),
            "ssm_dt.bias": (inner,),
            "ssm_a": (inner, state),
            "ssm_d": (inner,),
            "ssm_out.weight": (WIDTH, inner),
        }
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in block.items()}
    _finish(writer, shapes)
