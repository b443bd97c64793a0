"""A small Llama in PyTorch as llama.cpp's `llama` architecture expects it: interleaved RoPE, tied embeddings."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Shape:
    """Sizes of the model; widths must be multiples of 32, the block length of Q8_0."""

    vocabulary: int = 8000
    tails: int = 0
    """Tail pieces (pairs.py) of a double-token model, numbered behind the vocabulary; 0 for any other."""
    width: int = 256
    layers: int = 4
    heads: int = 8
    feed_forward: int = 704
    rope_base: float = 10000.0
    norm_epsilon: float = 1e-5
    context: int = 1024


def rotation(length: int, head_width: int, base: float) -> tuple[Tensor, Tensor]:
    """Cosines and signed sines [length, head_width], each value twice because pairs are interleaved."""
    frequency = base ** (-torch.arange(0, head_width, 2).float() / head_width)
    angle = torch.outer(torch.arange(length).float(), frequency)
    sine = torch.stack((-angle.sin(), angle.sin()), dim=-1).flatten(1)
    return angle.cos().repeat_interleave(2, dim=-1), sine


def rotate(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotate each pair (2i, 2i+1) of [..., length, head_width]: llama.cpp's NORM type of RoPE."""
    swapped = x.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
    return x * cosine + swapped * sine


class Block(nn.Module):
    """Pre-norm attention and SwiGLU feed-forward."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads, self.epsilon = shape.heads, shape.norm_epsilon
        self.attention_norm = nn.Parameter(torch.ones(shape.width))
        self.feed_norm = nn.Parameter(torch.ones(shape.width))
        self.query_key_value = nn.Linear(shape.width, 3 * shape.width, bias=False)
        self.attention_output = nn.Linear(shape.width, shape.width, bias=False)
        self.gate_up = nn.Linear(shape.width, 2 * shape.feed_forward, bias=False)
        self.down = nn.Linear(shape.feed_forward, shape.width, bias=False)

    def forward(self, x: Tensor, cosine: Tensor, sine: Tensor, later: Tensor) -> Tensor:
        """[rows, length, width] to the same; no attention where `later` [rows, 1, length, length] is true."""
        rows, length, width = x.shape
        normed = F.rms_norm(x, (width,), self.attention_norm, self.epsilon)
        mixed = self.query_key_value(normed).view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        query, key = rotate(mixed[:2], cosine, sine)
        # Written out, because on CPUs this is faster in bfloat16 than PyTorch's fused attention on short sequences.
        scores = (query * query.shape[-1] ** -0.5 @ key.transpose(-1, -2)).masked_fill(later, float("-inf"))
        attended = scores.softmax(-1) @ mixed[2]
        x = x + self.attention_output(attended.transpose(1, 2).reshape(rows, length, width))
        gate, up = self.gate_up(F.rms_norm(x, (width,), self.feed_norm, self.epsilon)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


class Llama(nn.Module):
    """Decoder-only translator; its output weights are its embeddings."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        if shape.tails:
            self.marker = nn.Parameter(torch.zeros(shape.width))
            self.register_buffer("pieces_of_tails", torch.zeros(shape.tails, dtype=torch.long), persistent=False)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.output_norm = nn.Parameter(torch.ones(shape.width))
        cosine, sine = rotation(shape.context, shape.width // shape.heads, shape.rope_base)
        self.register_buffer("cosine", cosine, persistent=False)
        self.register_buffer("sine", sine, persistent=False)
        if shape.tails:
            nn.init.normal_(self.marker, std=0.04)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                residual = name.endswith(("attention_output.weight", "down.weight"))
                nn.init.normal_(parameter, std=0.04 / (2 * shape.layers) ** 0.5 if residual else 0.04)

    def forward(self, inputs: Tensor, places: Tensor, chosen: Tensor) -> Tensor:
        """Hidden states [n, width] at the `chosen` of the flattened [rows, length] inputs, for `logits`.

        A token attends to those whose place is not behind its own: two that share a place see each other. Rows are
        right-padded, so that this is the only mask needed.
        """
        x = F.embedding(inputs, self.token_weights())
        cosine, sine = self.cosine[places].unsqueeze(1), self.sine[places].unsqueeze(1)
        later = (places[:, None, :] > places[:, :, None]).unsqueeze(1)
        for block in self.blocks:
            x = block(x, cosine, sine, later)
        return F.rms_norm(x.flatten(0, 1)[chosen], (self.shape.width,), self.output_norm, self.shape.norm_epsilon)

    def logits(self, hidden: Tensor) -> tuple[Tensor, ...]:
        """Logits of the pieces, [n, vocabulary]; of a double-token model [n / 2, vocabulary] and [n / 2, tails].

        There the hidden states are those of the two tokens of a pair in turn. Only where something is learnt, because
        the vocabulary projection is the dearest layer and source tokens carry no loss.
        """
        weights = self.token_weights()
        if not self.shape.tails:
            return (F.linear(hidden, weights),)
        pieces, tails = weights[: self.shape.vocabulary], weights[self.shape.vocabulary :]
        return F.linear(hidden[0::2], pieces), F.linear(hidden[1::2], tails)

    def token_weights(self) -> Tensor:
        """Embeddings [vocabulary + tails, width]; a tail piece's is its piece's and the marker, one for all."""
        weights = self.embedding.weight
        if not self.shape.tails:
            return weights
        return torch.cat((weights, weights[self.pieces_of_tails] + self.marker))

    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())
