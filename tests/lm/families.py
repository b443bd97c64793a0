"""Models of each family without their weights: metadata, chat template and control tokens; as a tiny GGUF, too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import gguf
import numpy as np

from livetrans.base.clock import ManualClock
from livetrans.lm.port import Evaluation

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
THINKING = CHATML.replace(
    "assistant\n{%", "assistant\n{% if not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{%"
)
GEMMA = (
    "{{ bos_token }}{% for message in messages %}<start_of_turn>{{ message.role }}\n{{ message.content }}"
    "<end_of_turn>\n{% endfor %}<start_of_turn>model\n"
)
TRANSLATEGEMMA = "{{ messages[0].content[0].source_lang_code }}"
GEMMA4 = (
    "{{ bos_token }}{% for message in messages %}<|turn>{{ message.role }}\n{{ message.content | trim }}<turn|>\n"
    "{% endfor %}<|turn>model\n"
)
MINISTRAL = (
    "{%- set default_system_message = 'You are Ministral, and so on at length.' %}{{ bos_token }}"
    "{%- if messages[0].role == 'system' %}[SYSTEM_PROMPT]{{ messages[0].content }}[/SYSTEM_PROMPT]"
    "{%- set messages = messages[1:] %}{%- else %}[SYSTEM_PROMPT]{{ default_system_message }}[/SYSTEM_PROMPT]"
    "{%- endif %}{%- for message in messages %}{%- if message.role == 'user' %}[INST]{{ message.content }}[/INST]"
    "{%- else %}{{ message.content }}{{ eos_token }}{%- endif %}{%- endfor %}"
)
LLAMA3 = (
    "{{ bos_token }}{% for message in messages %}<|start_header_id|>{{ message.role }}<|end_header_id|>\n\n"
    "{{ message.content }}<|eot_id|>{% endfor %}<|start_header_id|>assistant<|end_header_id|>\n\n"
)
HY_SMALL = (
    "<｜hy_begin▁of▁sentence｜>{% for message in messages %}{% if message.role == 'user' %}<｜hy_User｜>"
    "{{ message.content }}{% else %}<｜hy_Assistant｜>{{ message.content }}<｜hy_place▁holder▁no▁2｜>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<｜hy_Assistant｜>{% endif %}"
)
HY_LARGE = (
    "<|startoftext|>{% for message in messages %}{% if message.role == 'user' %}{{ message.content }}<|extra_0|>"
    "{% else %}{{ message.content }}<|eos|>{% endif %}{% endfor %}"
)


@dataclass(frozen=True)
class Family:
    """What a model file of the family says of itself."""

    template: str
    """The name in `TEMPLATES`."""
    architecture: str
    name: str
    chat_template: str
    control: tuple[str, ...]
    """Control tokens; the first begins a sequence, the second ends one."""
    adds_begin: bool = True
    norms: tuple[str, ...] = ()
    """Norms of a block beside `attn_norm` and `ffn_norm`."""
    named_end: str = ""
    """What the file names as its end, where that is another token than the second."""


_GEMMA_TOKENS = ("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>")
_CHATML_TOKENS = ("<s>", "<|im_end|>", "<|im_start|>")
_QWEN_TOKENS = ("<|endoftext|>", "<|im_end|>", "<|im_start|>")
_GEMMA2 = ("post_attention_norm", "post_ffw_norm")
_GEMMA3 = (*_GEMMA2, "attn_q_norm", "attn_k_norm")
_HEAD_NORMS = ("attn_q_norm", "attn_k_norm")
FAMILIES = {
    "plain": Family("plain", "llama", "embedded", "", ("<s>", "</s>", "<|src|>", "<|tgt|>")),
    "tower": Family("tower", "gemma2", "Tower Plus 2B", GEMMA, _GEMMA_TOKENS, norms=_GEMMA2),
    "translategemma": Family(
        "translategemma", "gemma3", "Translategemma 4b It", TRANSLATEGEMMA, _GEMMA_TOKENS, norms=_GEMMA3
    ),
    "gemma4": Family("gemma4", "gemma4", "Gemma 4 E2B It", GEMMA4, ("<bos>", "<turn|>", "<|turn>"), norms=_GEMMA3),
    "gemma3": Family("gemma3", "gemma3", "Gemma 3 4b It", GEMMA, _GEMMA_TOKENS, norms=_GEMMA3),
    "hymt-1.8B": Family(
        "hymt",
        "hunyuan-dense",
        "Hy MT2 1.8B",
        HY_SMALL,
        ("<｜hy_begin▁of▁sentence｜>", "<｜hy_place▁holder▁no▁2｜>", "<｜hy_User｜>", "<｜hy_Assistant｜>"),
        adds_begin=False,
        norms=_HEAD_NORMS,
    ),
    "hymt-7B": Family(
        "hymt",
        "hunyuan-dense",
        "Hy-MT2-7B",
        HY_LARGE,
        ("<|startoftext|>", "<|eos|>", "<|extra_0|>", "<|extra_5|>"),
        adds_begin=False,
        named_end="$",
        norms=_HEAD_NORMS,
    ),
    "eurollm-1.7B": Family("eurollm", "llama", "EuroLLM 1.7B Instruct", CHATML, _CHATML_TOKENS),
    "eurollm-9B": Family("eurollm", "llama", "EuroLLM 9B Instruct", CHATML, _CHATML_TOKENS),
    "qwen3": Family("qwen3", "qwen3", "Qwen3 4B", THINKING, (*_QWEN_TOKENS, "<think>", "</think>"), False, _HEAD_NORMS),
    "qwen3-2507": Family("qwen3", "qwen3", "Qwen3 4B Instruct 2507", CHATML, _QWEN_TOKENS, False, _HEAD_NORMS),
    "llama3": Family(
        "llama3",
        "llama",
        "Llama 3.2 3B Instruct",
        LLAMA3,
        ("<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>"),
    ),
    "ministral3": Family(
        "chat",
        "llama",
        "Ministral 3 8B Instruct 2512",
        MINISTRAL,
        ("<s>", "</s>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
    ),
    "chat": Family("chat", "llama", "Some Chat Model", CHATML, _CHATML_TOKENS),
}


class Spelled:
    """A language model that writes nothing: control tokens count from 0, every other token is a character."""

    context_tokens, maximum_rows = 4096, 161
    _FIRST = 100

    def __init__(self, family: Family) -> None:
        self._family = family
        self.name = family.name
        self.clock = ManualClock()
        self.beginning_tokens = (0,) if family.adds_begin else ()

    def metadata(self, key: str) -> str | None:
        return {
            "general.architecture": self._family.architecture,
            "general.name": self._family.name,
            "tokenizer.chat_template": self._family.chat_template,
            "tokenizer.ggml.bos_token_id": "0",
            "tokenizer.ggml.eos_token_id": "1",
        }.get(key)

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        control = self._family.control
        pieces = re.split(f"({'|'.join(map(re.escape, control))})", text) if special else [text]
        marks = {mark: [token] for token, mark in enumerate(control)} if special else {}
        return [token for piece in pieces for token in marks.get(piece, [self._FIRST + ord(one) for one in piece])]

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        return "".join(chr(token - self._FIRST) for token in tokens if token >= self._FIRST).encode()

    def spelled(self, tokens: Sequence[int]) -> str:
        """The text with its control tokens."""
        control = self._family.control
        return "".join(control[token] if token < len(control) else chr(token - self._FIRST) for token in tokens)

    def is_end_of_generation(self, token: int) -> bool:
        return token == 1

    def evaluate(self, context: Sequence[int], last_rows: int = 1) -> Evaluation:
        return Evaluation(0, len(context), 1, np.zeros((last_rows, 1), np.float32))

    def close(self) -> None: ...


@dataclass(frozen=True)
class Vocabulary:
    """Byte-pair encoding as llama.cpp reads it; a family's control tokens follow the pieces."""

    pieces: Sequence[str]
    """In the letters of `byte_letters`."""
    merges: Sequence[str]
    """Two pieces with a space between, the first to be merged first."""
    split: str
    """llama.cpp's name of the rule that cuts a text into words."""


def byte_letters() -> dict[int, str]:
    """GPT-2's letters for the 256 bytes: printable bytes stand for themselves, the others for letters from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(0x100 + index) for index, byte in enumerate(others)}


_LETTERS = tuple(byte_letters().values())
BYTES = Vocabulary((*_LETTERS, _LETTERS[0] + _LETTERS[1]), (f"{_LETTERS[0]} {_LETTERS[1]}",), "gpt-2")


_WIDTH = 64
WINDOW = 32
"""Positions to which a layer of `write_sliding_window` attends."""


def _writer(path: Path, family: Family, vocabulary: Vocabulary, layers: int) -> gguf.GGUFWriter:
    """What writes a GGUF: the metadata that every architecture has."""
    tokens = [*vocabulary.pieces, *family.control]
    writer = gguf.GGUFWriter(path, family.architecture)
    writer.add_name(family.name)
    writer.add_context_length(1024)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(layers)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(vocabulary.split)
    writer.add_token_list(tokens)
    writer.add_token_types([1] * (len(tokens) - len(family.control)) + [3] * len(family.control))
    writer.add_token_merges(vocabulary.merges)
    writer.add_bos_token_id(tokens.index(family.control[0]))
    writer.add_eos_token_id(tokens.index(family.named_end or family.control[1]))
    writer.add_add_bos_token(family.adds_begin)
    writer.add_chat_template(family.chat_template)
    writer.add_tensor("token_embd.weight", _weights((len(tokens), _WIDTH)))
    writer.add_tensor("output_norm.weight", _weights((_WIDTH,)))
    return writer


def _weights(shape: tuple[int, ...]) -> np.ndarray:
    return (np.random.default_rng(len(shape)).normal(size=shape) * 0.3).astype(np.float32)


def _finish(writer: gguf.GGUFWriter, block: dict[str, tuple[int, ...]], layers: int) -> None:
    """Write the tensors of a block, by name, for each layer."""
    for layer in range(layers):
        for name, shape in block.items():
            writer.add_tensor(f"blk.{layer}.{name}", _weights(shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_family(
    path: Path, family: Family, vocabulary: Vocabulary = BYTES, *, layers: int = 1, window: int = 512
) -> Path:
    """Write a GGUF of the family with random weights; Gemma 4 needs two layers, and Gemma's attend to a window."""
    layers = 2 if family.architecture == "gemma4" else layers
    heads, inner = 2, 128
    size = _WIDTH // heads
    writer = _writer(path, family, vocabulary, layers)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_key_length(size)
    writer.add_value_length(size)
    writer.add_rope_dimension_count(size)
    if family.architecture.startswith("gemma"):
        writer.add_sliding_window(window)
    if family.architecture == "gemma4":
        writer.add_array("gemma4.attention.sliding_window_pattern", [True, False])
        writer.add_uint32("gemma4.embedding_length_per_layer_input", 0)
        writer.add_uint32("gemma4.attention.key_length_swa", size)
        writer.add_uint32("gemma4.attention.value_length_swa", size)
        writer.add_tensor("rope_freqs.weight", _weights((size // 2,)))
    block: dict[str, tuple[int, ...]] = {
        **{f"attn_{name}.weight": (_WIDTH, _WIDTH) for name in ("q", "k", "v", "output")},
        "ffn_gate.weight": (inner, _WIDTH),
        "ffn_up.weight": (inner, _WIDTH),
        "ffn_down.weight": (_WIDTH, inner),
        **{f"{name}.weight": (_WIDTH,) for name in ("attn_norm", "ffn_norm")},
        **{f"{name}.weight": (size if name in _HEAD_NORMS else _WIDTH,) for name in family.norms},
    }
    _finish(writer, block, layers)
    return path


def write_sliding_window(path: Path) -> Path:
    """Write a Gemma 3 of six layers, five of which attend to the last `WINDOW` positions only."""
    return write_family(path, FAMILIES["gemma3"], layers=6, window=WINDOW)


def write_recurrent(path: Path) -> Path:
    """Write a Mamba of one layer, which keeps a recurrent state."""
    inner, state, rank, kernel = 128, 16, 4, 4
    writer = _writer(path, replace(FAMILIES["chat"], architecture="mamba"), BYTES, 1)
    writer.add_feed_forward_length(0)
    writer.add_head_count(0)
    writer.add_ssm_conv_kernel(kernel)
    writer.add_ssm_inner_size(inner)
    writer.add_ssm_state_size(state)
    writer.add_ssm_time_step_rank(rank)
    block: dict[str, tuple[int, ...]] = {
        "attn_norm.weight": (_WIDTH,),
        "ssm_in.weight": (2 * inner, _WIDTH),
        "ssm_conv1d.weight": (inner, kernel),
        "ssm_conv1d.bias": (inner,),
        "ssm_x.weight": (rank + 2 * state, inner),
        "ssm_dt.weight": (inner, rank),
        "ssm_dt.bias": (inner,),
        "ssm_a": (inner, state),
        "ssm_d": (inner,),
        "ssm_out.weight": (_WIDTH, inner),
    }
    _finish(writer, block, 1)
    return path
