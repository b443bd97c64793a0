"""Whisper's architecture (Radford et al. 2022), small, with a CTC head on the encoder that only training uses."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Shape:
    """Sizes of a model; heads are 64 wide, the feed-forward is four times as wide as the model."""

    pieces: int
    characters: int
    width: int = 256
    encoder_layers: int = 4
    decoder_layers: int = 2
    bands: int = 80
    encoder_positions: int = 1500
    decoder_positions: int = 448

    @property
    def heads(self) -> int:
        return self.width // 64


def sinusoids(length: int, width: int) -> Tensor:
    """Whisper's fixed positions [length, width]: sines in the first half, cosines in the second."""
    scales = torch.exp(-torch.arange(width // 2) * (torch.log(torch.tensor(10000.0)) / (width // 2 - 1)))
    angles = torch.arange(length)[:, None] * scales[None]
    return torch.cat([angles.sin(), angles.cos()], dim=1)


class Attention(nn.Module):
    """Multi-head attention; keys without bias, as in Whisper."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.query = nn.Linear(shape.width, shape.width)
        self.key = nn.Linear(shape.width, shape.width, bias=False)
        self.value = nn.Linear(shape.width, shape.width)
        self.out = nn.Linear(shape.width, shape.width)

    def forward(self, x: Tensor, memory: Tensor, causal: bool = False) -> Tensor:
        """x [batch, length, width] attends to memory [batch, length of memory, width]."""

        def split(y: Tensor) -> Tensor:
            return y.view(y.shape[0], y.shape[1], self.heads, -1).transpose(1, 2)

        # Written out, because on CPUs this is two to four times faster in bfloat16 than PyTorch's fused attention.
        scores = split(self.query(x)) * (x.shape[-1] // self.heads) ** -0.5 @ split(self.key(memory)).transpose(-1, -2)
        if causal:
            later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
            scores = scores.masked_fill(later, float("-inf"))
        mixed = scores.softmax(-1) @ split(self.value(memory))
        out: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return out


class Block(nn.Module):
    """Pre-norm transformer block; with cross-attention in the decoder."""

    def __init__(self, shape: Shape, cross: bool) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(shape.width)
        self.attention = Attention(shape)
        self.cross_norm = nn.LayerNorm(shape.width) if cross else None
        self.cross = Attention(shape) if cross else None
        self.feed_norm = nn.LayerNorm(shape.width)
        self.expand = nn.Linear(shape.width, 4 * shape.width)
        self.contract = nn.Linear(4 * shape.width, shape.width)

    def forward(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        y = self.attention_norm(x)
        x = x + self.attention(y, y, causal=self.cross is not None)
        if self.cross is not None and self.cross_norm is not None and memory is not None:
            x = x + self.cross(self.cross_norm(x), memory)
        out: Tensor = x + self.contract(F.gelu(self.expand(self.feed_norm(x))))
        return out


class Recogniser(nn.Module):
    """Encoder, decoder with tied output embeddings, and the character head for CTC."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.conv1 = nn.Conv1d(shape.bands, shape.width, 3, padding=1)
        self.conv2 = nn.Conv1d(shape.width, shape.width, 3, stride=2, padding=1)
        self.register_buffer("encoder_positions", sinusoids(shape.encoder_positions, shape.width), persistent=False)
        self.encoder = nn.ModuleList(Block(shape, cross=False) for _ in range(shape.encoder_layers))
        self.encoder_norm = nn.LayerNorm(shape.width)
        self.characters = nn.Linear(shape.width, shape.characters)
        self.embedding = nn.Embedding(shape.pieces, shape.width)
        self.decoder_positions = nn.Parameter(torch.randn(shape.decoder_positions, shape.width) * 0.01)
        self.decoder = nn.ModuleList(Block(shape, cross=True) for _ in range(shape.decoder_layers))
        self.decoder_norm = nn.LayerNorm(shape.width)
        nn.init.normal_(self.embedding.weight, std=0.02)

    def encode(self, features: Tensor) -> Tensor:
        """Features [batch, frames, bands] to states [batch, frames / 2, width]."""
        x = F.gelu(self.conv1(features.transpose(1, 2)))
        x = F.gelu(self.conv2(x)).transpose(1, 2)
        x = x + self.encoder_positions[: x.shape[1]]
        for block in self.encoder:
            x = block(x)
        states: Tensor = self.encoder_norm(x)
        return states

    def decode(self, tokens: Tensor, states: Tensor) -> Tensor:
        """Hidden states [batch, length, width] after each token [batch, length]; `logits` turns them into scores."""
        x = self.embedding(tokens) + self.decoder_positions[: tokens.shape[1]]
        for block in self.decoder:
            x = block(x, states)
        hidden: Tensor = self.decoder_norm(x)
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden, self.embedding.weight)
