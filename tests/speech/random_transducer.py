"""NeMo's TDT transducers (Parakeet) in their shapes with random weights, in both published layouts: no download.

A pass costs what one of a real model of that shape does. What it writes does not depend on the sound: tokens without
sense, or a phrase at a steady pace. Left out of the encoder is what costs nothing: dropout, dither, and the batch
normalisation, which exports fold into the convolution before it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SUBSAMPLING = 8
DURATIONS = 5
"""TDT's heads: a token lasts 0 to 4 frames of 0.08 s."""
PACE = 4
"""Frames of a token of a phrase: 0.32 s."""
POSITIONS = 1000
"""Frames that the encoder takes: 80 s."""
FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64
Value = tuple[int, Sequence[int | str]]
"""Type and sizes of an input or output; a size that varies has a name."""
EXTERNAL_BYTES = 1 << 30
"""Weights of this size on are in a file beside the graph, as published: no graph holds 2 GB."""


@dataclass(frozen=True)
class Shape:
    """Sizes of a FastConformer with a TDT decoder."""

    width: int = 16
    layers: int = 1
    heads: int = 2
    bands: int = 80
    pieces: int = 64
    predictor_layers: int = 1
    predictor: int = 65
    joint: int = 65
    channels: int = 16
    kernel: int = 9


SHAPES = {
    "tiny": Shape(),
    "110m": Shape(512, 17, 8, 80, 1024, 1, 640, 640, 256),
    "0.6b": Shape(1024, 24, 8, 128, 8192, 2, 640, 640, 256),
}
"""Those of parakeet-tdt_ctc-110m and of parakeet-tdt-0.6b, and one for tests: its predictor has room for a phrase."""


def write_random_transducer(
    folder: Path,
    *,
    shape: Shape = Shape(),
    layout: str = "onnx-asr",
    quantization: str | None = None,
    phrase: Sequence[str] = (),
    seed: int = 3,
) -> Path:
    """Write a folder in the layout of `onnx-asr` (decoder and joint in one file) or of `sherpa` (in two).

    `quantization`: None; `int8`, all operators as published; or `matmul`, the encoder's matrix products alone, by
    channel. With a `phrase`, the model writes it word by word at a steady pace whatever it hears, and then nothing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    pieces = [f"▁{word}" for word in phrase]
    pieces += [f"▁w{number}" if number % 2 else f"x{number}" for number in range(len(pieces), shape.pieces)]
    decoder = _Decoder(shape, len(phrase), rng)
    if layout == "onnx-asr":
        names = ("encoder-model", "decoder_joint-model")
        graphs = [_encoder(shape, rng), decoder.both()]
        vocabulary = "vocab.txt"
        config = {"model_type": "nemo-conformer-tdt", "features_size": shape.bands, "subsampling_factor": SUBSAMPLING}
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    else:
        names = ("encoder", "decoder", "joiner")
        graphs = [_encoder(shape, rng), decoder.predictor_alone(), decoder.joint_alone()]
        vocabulary = "tokens.txt"
        stated = {
            "vocab_size": shape.pieces,
            "normalize_type": "per_feature",
            "pred_rnn_layers": shape.predictor_layers,
            "pred_hidden": shape.predictor,
            "subsampling_factor": SUBSAMPLING,
            "model_type": "EncDecRNNTBPEModel",
            "version": "2",
            "feat_dim": shape.bands,
        }
        helper.set_model_props(graphs[0], {key: str(value) for key, value in stated.items()})
    (folder / vocabulary).write_text(
        "".join(f"{piece} {number}\n" for number, piece in enumerate([*pieces, "<blk>"])), encoding="utf-8"
    )
    for name, graph in zip(names, graphs, strict=True):
        path = folder / f"{name}.onnx"
        external = {"save_as_external_data": True, "location": f"{name}.onnx.data"}
        onnx.save(graph, str(path), **(external if _bytes(graph) >= EXTERNAL_BYTES else {}))
        if quantization:
            _quantize(path, quantization)
    return folder


def _bytes(graph: onnx.ModelProto) -> int:
    return sum(len(weights.raw_data) for weights in graph.graph.initializer)


def _quantize(path: Path, quantization: str) -> None:
    """Write the quantised file in place of the one in float32. With `matmul` only the encoder is changed."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    encoder = path.name.startswith("encoder")
    if quantization == "matmul" and not encoder:
        return
    output = path.with_suffix(".int8.onnx")
    logging.disable(logging.WARNING)  # It asks for a preparation of the graph that costs more memory.
    if quantization == "matmul":
        quantize_dynamic(path, output, weight_type=QuantType.QInt8, per_channel=True, op_types_to_quantize=["MatMul"])
    else:
        quantize_dynamic(path, output, weight_type=QuantType.QUInt8 if encoder else QuantType.QInt8)
    logging.disable(logging.NOTSET)
    path.unlink()
    path.with_name(f"{path.name}.data").unlink(missing_ok=True)


class _Graph:
    """A graph that grows by one operation at a time."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        # Weights are pieces of one random block: drawing 600 million of them takes longer than a pass.
        self._block = rng.standard_normal(1 << 20).astype(np.float32)
        self._nodes: list[Any] = []
        self._weights: list[Any] = []

    def constant(self, value: Any) -> str:
        self._weights.append(numpy_helper.from_array(np.asarray(value), f"c{len(self._weights)}"))
        return f"c{len(self._weights) - 1}"

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def random(self, *sizes: int, inputs: int) -> str:
        """Weights whose products with `inputs` values of unit variance have unit variance."""
        offset = int(self._rng.integers(0, len(self._block) // 2))
        weights = np.resize(self._block[offset:], int(np.prod(sizes))).reshape(sizes)
        return self.constant(weights / np.float32(np.sqrt(inputs)))

    def add(self, operator: str, *inputs: str, outputs: Sequence[str] = (), **attributes: Any) -> str:
        """Add an operation and return its first output."""
        number = len(self._nodes)
        names = list(outputs) or [f"n{number}"]
        node = helper.make_node(operator, list(inputs), names, name=f"{operator}{number}", **attributes)
        self._nodes.append(node)
        return names[0]

    def linear(self, x: str, inputs: int, outputs: int) -> str:
        return self.add("MatMul", x, self.random(inputs, outputs, inputs=inputs))

    def model(self, inputs: Mapping[str, Value], outputs: Mapping[str, Value]) -> onnx.ModelProto:
        sides = [[helper.make_tensor_value_info(name, *of) for name, of in side.items()] for side in (inputs, outputs)]
        graph = helper.make_graph(self._nodes, "graph", *sides, self._weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def _encoder(shape: Shape, rng: np.random.Generator) -> onnx.ModelProto:
    """A FastConformer: `audio_signal` (1, bands, frames) and `length` to `outputs` (1, width, frames / 8)."""
    graph, width, heads = _Graph(rng), shape.width, shape.heads
    add, integers, linear = graph.add, graph.integers, graph.linear
    head = width // heads
    ones, zeros = graph.constant(np.ones(width, np.float32)), graph.constant(np.zeros(width, np.float32))
    half, root = graph.constant(np.float32(0.5)), graph.constant(np.float32(np.sqrt(head)))
    never, nothing = graph.constant(np.float32(-1e4)), graph.constant(np.float32(0))
    one, zero = graph.constant(np.array(1, np.int64)), graph.constant(np.array(0, np.int64))

    def norm(x: str) -> str:
        return add("LayerNormalization", x, ones, zeros, axis=-1, epsilon=1e-5)

    def swish(x: str) -> str:
        return add("Mul", x, add("Sigmoid", x))

    def image(x: str, outputs: int, inputs: int, size: int, groups: int = 1, stride: int = 1) -> str:
        weights = graph.random(outputs, inputs, size, size, inputs=inputs * size * size)
        pads = [size // 2] * 4
        return add("Conv", x, weights, kernel_shape=[size] * 2, strides=[stride] * 2, pads=pads, group=groups)

    channels = shape.channels
    x = add("Unsqueeze", add("Transpose", "audio_signal", perm=[0, 2, 1]), integers(1))
    x = add("Relu", image(x, channels, 1, 3, stride=2))
    for _ in range(2):
        x = image(x, channels, 1, 3, groups=channels, stride=2)
        x = add("Relu", image(x, channels, channels, 1))
    x = add("Reshape", add("Transpose", x, perm=[0, 2, 1, 3]), integers(0, 0, -1))
    x = linear(x, channels * shape.bands // SUBSAMPLING, width)
    whole = add("Div", add("Sub", "length", integers(1)), integers(SUBSAMPLING))
    add("Add", whole, integers(1), outputs=["encoded_lengths"])

    frames = add("Gather", add("Shape", x), one, axis=0)
    count = add("Unsqueeze", frames, integers(0))
    table = np.zeros((2 * POSITIONS - 1, width), np.float32)
    angles = np.arange(POSITIONS - 1, -POSITIONS, -1)[:, None] * np.exp(np.arange(0, width, 2) * -np.log(1e4) / width)
    table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
    middle = graph.constant(np.array(POSITIONS, np.int64))
    first = add("Unsqueeze", add("Sub", middle, frames), integers(0))
    last = add("Unsqueeze", add("Sub", add("Add", frames, middle), one), integers(0))
    positions = add("Unsqueeze", add("Slice", graph.constant(table), first, last, integers(0)), integers(0))
    places = add("Unsqueeze", add("Range", zero, frames, one), integers(0))
    sound = add("Less", places, add("Unsqueeze", "encoded_lengths", integers(1)))
    silence = add("Not", add("Unsqueeze", sound, integers(1, 2)))
    heard = add("Cast", add("Unsqueeze", sound, integers(1)), to=TensorProto.FLOAT)

    def feed_forward(x: str) -> str:
        inner = swish(linear(norm(x), width, 4 * width))
        return add("Add", x, add("Mul", linear(inner, 4 * width, width), half))

    def attention(x: str) -> str:
        """With relative positions, as Transformer-XL: row t of `by_place` is shifted by t."""
        y, split = norm(x), integers(0, 0, heads, head)
        query, key, value = (add("Reshape", linear(y, width, width), split) for _ in range(3))
        place = add("Transpose", add("Reshape", linear(positions, width, width), split), perm=[0, 2, 3, 1])
        of_content, of_place = (
            add("Transpose", add("Add", query, graph.random(heads, head, inputs=head)), perm=[0, 2, 1, 3])
            for _ in range(2)
        )
        by_content = add("MatMul", of_content, add("Transpose", key, perm=[0, 2, 3, 1]))
        by_place = add("Pad", add("MatMul", of_place, place), integers(0, 0, 0, 1, 0, 0, 0, 0))
        rows = add("Concat", integers(0), integers(heads), integers(-1), count, axis=0)
        by_place = add("Slice", add("Reshape", by_place, rows), integers(1), integers(1 << 40), integers(2))
        columns = add("Concat", integers(0), integers(heads), count, integers(-1), axis=0)
        by_place = add("Slice", add("Reshape", by_place, columns), integers(0), count, integers(3))
        scores = add("Where", silence, never, add("Div", add("Add", by_content, by_place), root))
        weights = add("Where", silence, nothing, add("Softmax", scores, axis=-1))
        y = add("MatMul", weights, add("Transpose", value, perm=[0, 2, 1, 3]))
        y = add("Reshape", add("Transpose", y, perm=[0, 2, 1, 3]), integers(0, 0, width))
        return add("Add", x, linear(y, width, width))

    def convolution(x: str) -> str:
        def sequence(y: str, outputs: int, inputs: int, size: int = 1, groups: int = 1) -> str:
            weights = graph.random(outputs, inputs, size, inputs=inputs * size)
            return add("Conv", y, weights, kernel_shape=[size], pads=[size // 2] * 2, group=groups)

        y = sequence(add("Transpose", norm(x), perm=[0, 2, 1]), 2 * width, width)
        add("Split", y, outputs=[f"{y}a", f"{y}b"], axis=1, num_outputs=2)
        y = add("Mul", add("Mul", f"{y}a", add("Sigmoid", f"{y}b")), heard)
        y = sequence(swish(sequence(y, width, 1, shape.kernel, width)), width, width)
        return add("Add", x, add("Transpose", y, perm=[0, 2, 1]))

    for _ in range(shape.layers):
        x = norm(feed_forward(convolution(attention(feed_forward(x)))))
    add("Transpose", x, outputs=["outputs"], perm=[0, 2, 1])
    return graph.model(
        {"audio_signal": (FLOAT, [1, shape.bands, "frames"]), "length": (INT64, [1])},
        {"outputs": (FLOAT, [1, width, "encoded"]), "encoded_lengths": (INT64, [1])},
    )


class _Decoder:
    """The predictor, an LSTM over tokens, and the joint, which gives logits of tokens and of durations."""

    def __init__(self, shape: Shape, phrase: int, rng: np.random.Generator) -> None:
        """`phrase`: the first pieces are written one after the other; 0 leaves the weights random."""
        self._shape, self._phrase, self._rng = shape, phrase, rng

    def both(self) -> onnx.ModelProto:
        graph = _Graph(self._rng)
        predicted = self._predict(graph, ("input_states_1", "input_states_2"), ("output_states_1", "output_states_2"))
        self._join(graph, graph.add("Transpose", predicted, perm=[1, 0, 2]))
        return graph.model(
            self._encoded | self._tokens | self._states("input_states_1", "input_states_2"),
            self._outputs | self._counts | self._states("output_states_1", "output_states_2"),
        )

    def predictor_alone(self) -> onnx.ModelProto:
        """Names are those of NeMo's export, which numbers some of them by its graph."""
        graph = _Graph(self._rng)
        predicted = self._predict(graph, ("states.1", "onnx::Slice_3"), ("states", "162"))
        graph.add("Transpose", predicted, outputs=["outputs"], perm=[1, 2, 0])
        outputs = {"outputs": (FLOAT, [1, self._shape.predictor, "tokens"])}
        states = self._states("states.1", "onnx::Slice_3"), self._states("states", "162")
        return graph.model(self._tokens | states[0], outputs | self._counts | states[1])

    def joint_alone(self) -> onnx.ModelProto:
        graph = _Graph(self._rng)
        self._join(graph, graph.add("Transpose", "decoder_outputs", perm=[0, 2, 1]))
        decoded = {"decoder_outputs": (FLOAT, [1, self._shape.predictor, "tokens"])}
        return graph.model(self._encoded | decoded, self._outputs)

    def _predict(self, graph: _Graph, before: Sequence[str], after: Sequence[str]) -> str:
        """Return the predictor's outputs, (tokens, 1, predictor)."""
        shape, size = self._shape, self._shape.predictor
        states: tuple[list[str], list[str]] = [], []
        embedded = graph.random(shape.pieces + 1, size, inputs=1)
        if self._phrase:
            embedded = graph.constant(np.eye(shape.pieces + 1, size, dtype=np.float32))
        x = graph.add("Transpose", graph.add("Gather", embedded, "targets"), perm=[1, 0, 2])
        for layer in range(shape.predictor_layers):
            place = [graph.integers(layer), graph.integers(layer + 1), graph.integers(0)]
            memories = [graph.add("Slice", name, *place) for name in before]
            weights = [graph.random(1, 4 * size, size, inputs=size) for _ in range(2)]
            bias = np.zeros((1, 8 * size), np.float32)
            if self._phrase:  # Each token is taken as it is, and the one before it forgotten.
                taken = np.zeros((1, 4 * size, size), np.float32)
                taken[0, 3 * size :] = 5 * np.eye(size)
                weights = [graph.constant(taken), graph.constant(np.zeros_like(taken))]
                bias[0, : 3 * size] = np.repeat([9, 9, -9], size)  # input, output and forget gates
            names = [f"top{layer}", f"hidden{layer}", f"cell{layer}"]
            graph.add("LSTM", x, *weights, graph.constant(bias), "", *memories, outputs=names, hidden_size=size)
            x = graph.add("Squeeze", names[0], graph.integers(1))
            for state, name in zip(states, names[1:], strict=True):
                state.append(name)
        for state, name in zip(states, after, strict=True):
            graph.add("Concat", *state, outputs=[name], axis=0)
        graph.add("Identity", "target_length", outputs=["prednet_lengths"])
        return x

    def _join(self, graph: _Graph, predicted: str) -> None:
        """Add `outputs`, (1, frames, tokens, pieces + blank + durations), from (1, tokens, predictor)."""
        shape, size = self._shape, self._shape.joint
        heard = graph.add("Transpose", "encoder_outputs", perm=[0, 2, 1])
        results = shape.pieces + 1 + DURATIONS
        if self._phrase:
            heard = graph.add("MatMul", heard, graph.constant(np.zeros((shape.width, size), np.float32)))
            expected = graph.add("MatMul", predicted, graph.constant(np.eye(shape.predictor, size, dtype=np.float32)))
            weights, bias = np.zeros((size, results), np.float32), np.zeros(results, np.float32)
            chain = [
                shape.pieces,
                *range(self._phrase),
                shape.pieces,
            ]  # from the blank that begins to the one that ends
            for token, following in pairwise(chain):
                weights[token, following] = 20
            bias[shape.pieces + 1 + PACE] = 20
            projection, shift = graph.constant(weights), graph.constant(bias)
        else:
            heard = graph.linear(heard, shape.width, size)
            expected = graph.linear(predicted, shape.predictor, size)
            projection = graph.random(size, results, inputs=size)
            shift = graph.constant(np.zeros(results, np.float32))
        both = graph.add(
            "Add", *(graph.add("Unsqueeze", x, graph.integers(at)) for x, at in ((heard, 2), (expected, 1)))
        )
        graph.add("Add", graph.add("MatMul", graph.add("Relu", both), projection), shift, outputs=["outputs"])

    @property
    def _encoded(self) -> dict[str, Value]:
        return {"encoder_outputs": (FLOAT, [1, self._shape.width, "frames"])}

    @property
    def _tokens(self) -> dict[str, Value]:
        return {"targets": (INT32, [1, "tokens"]), "target_length": (INT32, [1])}

    @property
    def _counts(self) -> dict[str, Value]:
        return {"prednet_lengths": (INT32, [1])}

    @property
    def _outputs(self) -> dict[str, Value]:
        return {"outputs": (FLOAT, [1, "frames", "tokens", self._shape.pieces + 1 + DURATIONS])}

    def _states(self, *names: str) -> dict[str, Value]:
        return {name: (FLOAT, [self._shape.predictor_layers, 1, self._shape.predictor]) for name in names}
