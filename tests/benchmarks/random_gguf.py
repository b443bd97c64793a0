"""Write a GGUF of random Q4_0 weights in the shape of a 1-2B model: real cost, no real text.

    python tests/benchmarks/random_gguf.py OUTPUT.gguf [--layers 28]
    livetrans bench cost OUTPUT.gguf

The shape is Qwen3-1.7B's as a Llama: 28 layers of width 2048, 16 heads over 8 keys and values, feed-forward 6144,
151936 tokens, embeddings tied. Whole it has 1.7 billion weights and takes about 1 GB; fewer layers make a smaller file.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

WIDTH, FEED_FORWARD, HEADS, KEY_HEADS, VOCABULARY = 2048, 6144, 16, 8, 151_936
BLOCK, BLOCK_BYTES = 32, 18
"""Q4_0: 32 weights of 4 bits and one float16 scale."""

Shape = tuple[int, ...]


def shapes(layers: int) -> Iterator[tuple[str, Shape]]:
    """Tensor names and shapes, rows first, in the order of the file; one dimension means float32."""
    key_width = WIDTH // HEADS * KEY_HEADS
    yield "token_embd.weight", (VOCABULARY, WIDTH)
    for layer in range(layers):
        yield f"blk.{layer}.attn_norm.weight", (WIDTH,)
        yield f"blk.{layer}.attn_q.weight", (WIDTH, WIDTH)
        yield f"blk.{layer}.attn_k.weight", (key_width, WIDTH)
        yield f"blk.{layer}.attn_v.weight", (key_width, WIDTH)
        yield f"blk.{layer}.attn_output.weight", (WIDTH, WIDTH)
        yield f"blk.{layer}.ffn_norm.weight", (WIDTH,)
        yield f"blk.{layer}.ffn_gate.weight", (FEED_FORWARD, WIDTH)
        yield f"blk.{layer}.ffn_up.weight", (FEED_FORWARD, WIDTH)
        yield f"blk.{layer}.ffn_down.weight", (WIDTH, FEED_FORWARD)
    yield "output_norm.weight", (WIDTH,)


def weights(shape: Shape, random: np.random.Generator) -> NDArray[np.float32] | NDArray[np.uint8]:
    """Ones for a norm; for a matrix random 4-bit blocks, scaled so that activations keep their size."""
    if len(shape) == 1:
        return np.ones(shape, dtype=np.float32)
    rows, columns = shape
    blocks = random.integers(0, 256, (rows * columns // BLOCK, BLOCK_BYTES), dtype=np.uint8)
    # 4-bit weights have a standard deviation of 4.6 steps.
    blocks[:, :2] = np.frombuffer(np.float16(1 / (4.6 * columns**0.5)).tobytes(), dtype=np.uint8)
    return blocks.reshape(rows, columns // BLOCK * BLOCK_BYTES)


def describe(writer: gguf.GGUFWriter, layers: int) -> None:
    writer.add_name(f"random-{layers}x{WIDTH}")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)
    writer.add_context_length(4096)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(VOCABULARY)
    special = ["<unk>", "<s>", "</s>"]
    letters = [f"<0x{byte:02X}>" for byte in range(256)]
    words = [f"\N{LOWER ONE EIGHTH BLOCK}w{number}" for number in range(VOCABULARY - len(special) - len(letters))]
    kinds = gguf.TokenType
    writer.add_tokenizer_model("llama")
    writer.add_token_list([*special, *letters, *words])
    writer.add_token_scores([0.0] * VOCABULARY)
    writer.add_token_types(
        [kinds.UNKNOWN, kinds.CONTROL, kinds.CONTROL, *[kinds.BYTE] * len(letters), *[kinds.NORMAL] * len(words)]
    )
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--layers", type=int, default=28)
    arguments = parser.parse_args()
    if arguments.output.exists():
        parser.error(f"{arguments.output} exists already; name another file")
    random = np.random.default_rng(0)
    writer = gguf.GGUFWriter(arguments.output, "llama")
    describe(writer, arguments.layers)
    for name, shape in shapes(arguments.layers):
        if len(shape) == 1:
            writer.add_tensor_info(name, shape, np.dtype(np.float32), 4 * shape[0])
        else:
            stored = (shape[0], shape[1] // BLOCK * BLOCK_BYTES)
            writer.add_tensor_info(
                name, stored, np.dtype(np.uint8), stored[0] * stored[1], gguf.GGMLQuantizationType.Q4_0
            )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for _, shape in shapes(arguments.layers):
        writer.write_tensor_data(weights(shape, random))
    writer.close()
    print(f"{arguments.output}: {arguments.output.stat().st_size / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
