"""Grow the embedded translator into a large model's shape: a GGUF that writes the same text at the large model's cost.

    python -m models.recipes.translator.grow --output grown.gguf --check SENTENCES.txt

With it the speed, the calm and the quality of a large model's run are measured end to end on any machine, without a
large model's weights. The default shape has 1.4 billion parameters: 28 layers of width 2048, feed-forward 6144,
queries 2048 and keys 1024 wide. It has the small model's vocabulary: the cost of a large output layer is not in it.

What keeps the text the same, to the last bit of every logit on a CPU:

- The residual stream is the small one, repeated. So RMSNorm divides by the same mean, and needs no other weights.
- Every matrix reads the first copy alone and, if it writes to the stream, writes all copies. The rest of it is zero.
- Weights are copied as whole blocks of Q8_0: none is rounded again.
- Heads keep their width, and with it rotation and scale; there are more of them, which no output matrix reads.
- The added layers (Q4_0) have random weights, but output matrices of zero: they add nothing to the stream.

`--check` translates the first lines of a file greedily with both models and compares them token for token; the exit
status is 1 if any line differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from livetrans.base.installation import install_command

try:
    from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter
except ModuleNotFoundError:
    sys.exit(f"gguf is not installed; run {install_command('bench')}")

from .runner import Runner

Bytes = NDArray[np.uint8]
BLOCK = 32
"""Weights in a block of Q8_0 and of Q4_0."""
Q8_0_BYTES, Q4_0_BYTES = 34, 18
"""A block: a float16 scale, then 32 weights of 8 or 4 bits."""


@dataclass(frozen=True)
class Shape:
    """Sizes of a Llama; `queries` and `keys` are the widths of all heads together, multiples of the small model's."""

    width: int = 2048
    layers: int = 28
    feed_forward: int = 6144
    queries: int = 2048
    keys: int = 1024

    def metadata(self, head_width: int) -> dict[str, int]:
        """The keys of a GGUF that state this shape."""
        return {
            "llama.embedding_length": self.width,
            "llama.block_count": self.layers,
            "llama.feed_forward_length": self.feed_forward,
            "llama.attention.head_count": self.queries // head_width,
            "llama.attention.head_count_kv": self.keys // head_width,
            "llama.attention.key_length": head_width,
            "llama.attention.value_length": head_width,
        }


def read_shape(reader: GGUFReader) -> tuple[Shape, int]:
    """The shape and the head width of a Llama without grouped queries, as export.py writes it."""
    width, layers, feed_forward, heads = (
        int(reader.fields[f"llama.{key}"].contents())
        for key in ("embedding_length", "block_count", "feed_forward_length", "attention.head_count")
    )
    return Shape(width, layers, feed_forward, width, width), width // heads


def placed(
    weights: Bytes, shape: tuple[int, int], *, columns: NDArray[np.int64] | None = None, copies: int = 1
) -> Bytes:
    """Q8_0 `weights` in the upper left of a matrix of zeros, [rows, columns].

    `columns` says which blocks of columns they take instead, and `copies` repeats them downwards.
    """
    large = np.zeros((shape[0], shape[1] // BLOCK, Q8_0_BYTES), np.uint8)
    blocks = weights.reshape(len(weights), -1, Q8_0_BYTES)
    taken = np.arange(blocks.shape[1]) if columns is None else columns
    for copy in range(copies):
        large[copy * len(blocks) : (copy + 1) * len(blocks), taken] = blocks
    return large.reshape(shape[0], -1)


def spread(weights: Bytes, head_width: int, group: int, shape: tuple[int, int]) -> Bytes:
    """Query rows of head h at head h * `group`, where the large model reads the keys of head h."""
    large = np.zeros((shape[0] // head_width, head_width, shape[1] // BLOCK * Q8_0_BYTES), np.uint8)
    heads = weights.reshape(-1, head_width, weights.shape[1])
    large[: len(heads) * group : group, :, : weights.shape[1]] = heads
    return large.reshape(shape[0], -1)


def real_layer(tensors: dict[str, Bytes], prefix: str, small: Shape, large: Shape, head_width: int) -> dict[str, Bytes]:
    """The Q8_0 matrices of one real layer in the large shape."""
    group, copies = large.queries // large.keys, large.width // small.width
    per_head = head_width // BLOCK
    output_blocks = np.concatenate(
        [np.arange(per_head) + head * group * per_head for head in range(small.queries // head_width)]
    )
    reading = {
        "attn_k": (large.keys, large.width),
        "attn_v": (large.keys, large.width),
        "ffn_gate": (large.feed_forward, large.width),
        "ffn_up": (large.feed_forward, large.width),
    }
    matrices = {name: placed(tensors[f"{prefix}{name}.weight"], shape) for name, shape in reading.items()}
    query, output, down = (tensors[f"{prefix}{name}.weight"] for name in ("attn_q", "attn_output", "ffn_down"))
    return matrices | {
        "attn_q": spread(query, head_width, group, (large.queries, large.width)),
        "attn_output": placed(output, (large.width, large.queries), columns=output_blocks, copies=copies),
        "ffn_down": placed(down, (large.width, large.feed_forward), copies=copies),
    }


def added_layer(shape: Shape) -> dict[str, Bytes]:
    """Q4_0 matrices of a layer that adds nothing: random inputs of unit variance, output matrices of zero.

    The scale matters although the output is zero: an input that overflows would make it infinity times zero.
    """
    rng = np.random.default_rng(0)

    def random(rows: int, columns: int, scale: float) -> Bytes:
        blocks = rng.integers(0, 256, (rows * columns // BLOCK, Q4_0_BYTES), dtype=np.uint8)
        blocks[:, :2] = np.frombuffer(np.float16(scale).tobytes(), np.uint8)
        return blocks.reshape(rows, -1)

    unit = 1 / (4.6 * shape.width**0.5)  # 4.6: the standard deviation of uniform weights from -8 to 7
    return {
        "attn_q": random(shape.queries, shape.width, unit),
        "attn_k": random(shape.keys, shape.width, unit),
        "attn_v": random(shape.keys, shape.width, unit),
        "attn_output": random(shape.width, shape.queries, 0.0),
        "ffn_gate": random(shape.feed_forward, shape.width, unit),
        "ffn_up": random(shape.feed_forward, shape.width, unit),
        "ffn_down": random(shape.width, shape.feed_forward, 0.0),
    }


def copy_metadata(reader: GGUFReader, writer: GGUFWriter, shape: dict[str, int]) -> None:
    """Everything that the small model says of itself, but for its name and its shape."""
    for key, field in reader.fields.items():
        value = field.contents()
        if key.startswith("GGUF.") or key == "general.architecture" or key in shape:
            continue
        if field.types[0] == GGUFValueType.ARRAY:
            writer.add_array(key, value)
        else:
            writer.add_key_value(key, f"grown {value}" if key == "general.name" else value, field.types[0])
    for key, size in shape.items():
        writer.add_uint32(key, size)


def grow(model: Path, output: Path, large: Shape) -> None:
    """Write the grown model of `model`, a Llama in Q8_0 with tied embeddings.

    Raises:
        ValueError: the small model does not fit into the shape a whole number of times.
    """
    reader = GGUFReader(model)
    small, head_width = read_shape(reader)
    if large.width % small.width or large.queries % large.keys or large.keys % small.keys or head_width % BLOCK:
        raise ValueError(f"{large} is not a multiple of the model's {small} with heads of {head_width}")
    if large.feed_forward < small.feed_forward or large.layers < small.layers:
        raise ValueError(f"{large} is smaller than the model's {small}")
    tensors = {tensor.name: tensor.data for tensor in reader.tensors}
    copies = large.width // small.width
    embeddings = tensors["token_embd.weight"]
    writer = GGUFWriter(output, "llama")
    copy_metadata(reader, writer, large.metadata(head_width))
    q8_0, q4_0 = GGMLQuantizationType.Q8_0, GGMLQuantizationType.Q4_0
    writer.add_tensor("token_embd.weight", np.tile(embeddings, copies), raw_dtype=q8_0)
    writer.add_tensor("output_norm.weight", np.tile(tensors["output_norm.weight"], copies))
    writer.add_tensor("output.weight", placed(embeddings, (len(embeddings), large.width)), raw_dtype=q8_0)
    # One set of arrays for all added layers: the file has copies, this process needs one.
    added, added_norm = added_layer(large), np.ones(large.width, np.float32)
    for number in range(large.layers):
        prefix, is_real = f"blk.{number}.", number < small.layers
        for name in ("attn_norm", "ffn_norm"):
            weight = f"{prefix}{name}.weight"
            writer.add_tensor(weight, np.tile(tensors[weight], copies) if is_real else added_norm)
        matrices = real_layer(tensors, prefix, small, large, head_width) if is_real else added
        quantized = q8_0 if is_real else q4_0
        for name, matrix in matrices.items():
            writer.add_tensor(f"{prefix}{name}.weight", matrix, raw_dtype=quantized)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def check(model: Path, grown: Path, sentences: Sequence[str], threads: int) -> bool:
    """Compare both models' greedy translations, in turns; print every difference, and the seconds a step of each."""
    runners = (Runner(model, threads), Runner(grown, threads))
    seconds, steps, different = [0.0, 0.0], [0, 0], 0
    for sentence in sentences:
        outputs = []
        for number, runner in enumerate(runners):
            started = time.perf_counter()
            outputs.append(runner.translate(sentence))
            seconds[number] += time.perf_counter() - started
            steps[number] += len(runner.prompt(sentence)) + len(outputs[-1])
        if outputs[0] != outputs[1]:
            different += 1
            print(f"differs: {sentence}\n  {runners[0].text(outputs[0])}\n  {runners[1].text(outputs[1])}")
    small_step, grown_step = (total / count for total, count in zip(seconds, steps, strict=True))
    print(
        f"{len(sentences)} sentences, {different} different; a step of one token: {small_step * 1000:.2f} ms small, "
        f"{grown_step * 1000:.1f} ms grown, {grown_step / small_step:.0f} times ({threads} thread(s))"
    )
    return different == 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Grow the embedded translator into a large model's shape that writes the same text.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--model", type=Path, default=Path("models/livetrans-en-de.q8_0.gguf"), help="the GGUF to grow")
    parser.add_argument("--output", type=Path, required=True, help="the GGUF to write")
    parser.add_argument("--layers", type=int, default=Shape.layers, help="layers; the cost is about linear in them")
    parser.add_argument("--check", type=Path, metavar="FILE", help="compare both models on the lines of this file")
    parser.add_argument("--sentences", type=int, default=10, help="lines that --check translates")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    started = time.monotonic()
    grow(options.model, options.output, Shape(layers=options.layers))
    size = options.output.stat().st_size
    print(f"{options.output}: {size:,} bytes, written in {time.monotonic() - started:.0f} s", flush=True)
    if options.check:
        lines = options.check.read_text(encoding="utf-8").splitlines()[: options.sentences]
        raise SystemExit(0 if check(options.model, options.output, lines, options.threads) else 1)


if __name__ == "__main__":
    main()
