"""Text to token ids and back: the prompt template around the text to translate, and the text of output tokens.

The template's own words are tokenised with control tokens, the speech without them, so that no speech can end the
user's turn. A template is chosen by the model's metadata; `LanguageModelSettings.prompt` overrides.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from livetrans.errors import ModelError, UsageError
from livetrans.languages import Language
from livetrans.lm.port import LanguageModel
from livetrans.text import one_line

_PLACE = "\ue000"
"""Stands for the speech while a template is rendered: a private-use character that no template contains."""
_INSTRUCTION = (
    "Translate the {source} source text to {target}. "
    "Return only the translation, without any additional explanations or commentary."
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A template rendered for one model and one language pair."""

    name: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    leading_space: bool
    """Whether the speech follows a word of the template and must bring its own space."""

    def tokens(self, model: LanguageModel, text: str) -> list[int]:
        """The whole prompt for a source text; equal texts share a token prefix as far as the tokenizer lets them."""
        text = " ".join(text.split())
        speech = f" {text}" if self.leading_space else text
        return [*self.before, *model.tokenize(speech), *self.after]


Template = Callable[[LanguageModel, Language, Language], str]
"""Gives the prompt's text with `_PLACE` where the speech goes."""


def _tower(_model: LanguageModel, source: Language, target: Language) -> str:
    """Tower+ (Gemma 2), paper Table 5."""
    instruction = _INSTRUCTION.format(source=source.name, target=target.name)
    return (
        f"<start_of_turn>user\n{instruction}\n{source.name}: {_PLACE}\n{target.name}: <end_of_turn>\n"
        "<start_of_turn>model\n"
    )


def _qwen3(_model: LanguageModel, source: Language, target: Language) -> str:
    """Qwen3 with an empty think block, paper Table 5."""
    instruction = _INSTRUCTION.format(source=source.name, target=target.name)
    return (
        f"<|im_start|>system\n{instruction}<|im_end|>\n<|im_start|>user\n{source.name}: {_PLACE}<|im_end|>\n"
        f"<|im_start|>assistant\n<think>\n\n</think>\n\n{target.name}:"
    )


def _plain(model: LanguageModel, source: Language, target: Language) -> str:
    """The bare form of the embedded translators, which know one language pair."""
    pair = (
        model.metadata("livetrans.source_language") or "en",
        model.metadata("livetrans.target_language") or "de",
    )
    if (source.code, target.code) != pair:
        raise UsageError(
            f"{model.name} translates {pair[0]} to {pair[1]} only, not {source.code} to {target.code}; "
            "choose those languages or another translator with --mt"
        )
    return f"<|src|>{_PLACE}<|tgt|>"


def _chat(model: LanguageModel, source: Language, target: Language) -> str:
    """The model's own chat template around the paper's instruction."""
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    template = model.metadata("tokenizer.chat_template")
    if not template:
        raise ModelError(f"{model.name} carries no chat template; choose one with --prompt ({', '.join(TEMPLATES)})")
    instruction = _INSTRUCTION.format(source=source.name, target=target.name)
    message = {"role": "user", "content": f"{instruction}\n{source.name}: {_PLACE}"}
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)

    def refuse(reason: str) -> None:
        raise TemplateError(reason)

    environment.globals["raise_exception"] = refuse
    try:
        # Beginning tokens are added by us, so that they are not there twice.
        return environment.from_string(template).render(
            messages=[message], add_generation_prompt=True, enable_thinking=False, bos_token="", eos_token=""
        )
    except TemplateError as error:
        raise ModelError(
            f"{model.name}'s chat template cannot be rendered ({error}); choose one with --prompt"
        ) from None


TEMPLATES: dict[str, Template] = {"tower": _tower, "qwen3": _qwen3, "plain": _plain, "chat": _chat}


def choose_template(model: LanguageModel) -> str:
    """The name of the template that fits the model's metadata."""
    if len(model.tokenize("<|src|>", special=True)) == 1 and len(model.tokenize("<|tgt|>", special=True)) == 1:
        return "plain"
    architecture = (model.metadata("general.architecture") or "").lower()
    identity = f"{model.metadata('general.name') or ''} {model.metadata('general.basename') or ''}".lower()
    if "tower" in identity and architecture.startswith("gemma"):
        return "tower"
    if architecture == "qwen3" and "<think>" in (model.metadata("tokenizer.chat_template") or "<think>"):
        return "qwen3"
    return "chat"


def build_prompt(model: LanguageModel, name: str | None, source: Language, target: Language) -> Prompt:
    """Render a template once; only the speech is tokenised at each update.

    Raises:
        UsageError: unknown template, or a language pair the model does not have.
        ModelError: the model's own chat template is absent or broken.
    """
    name = name or choose_template(model)
    if name not in TEMPLATES:
        raise UsageError(f"there is no prompt template {name!r}; choose one of {', '.join(TEMPLATES)}")
    rendered = TEMPLATES[name](model, source, target)
    if rendered.count(_PLACE) != 1:
        raise ModelError(f"{model.name}'s chat template does not show the user's text once; choose one with --prompt")
    before, after = rendered.split(_PLACE)
    if after.rfind("<think>") > after.rfind("</think>"):
        after += "\n\n</think>\n\n"  # A template that opens the block itself would spend the output on reasoning.
    spaced = before.endswith(" ")
    tokens = (*model.beginning_tokens, *model.tokenize(before.removesuffix(" "), special=True))
    leading_space = spaced and not _adds_space(model)
    return Prompt(name, tokens, tuple(model.tokenize(after, special=True)), leading_space)


def _adds_space(model: LanguageModel) -> bool:
    """Whether the tokenizer itself puts a space before every text (SentencePiece models, by default)."""
    if model.metadata("tokenizer.ggml.model") != "llama":
        return False
    return (model.metadata("tokenizer.ggml.add_space_prefix") or "true") == "true"


_THINKING = re.compile(r"<think>.*?(?:</think>|\Z)|\A.*</think>", re.DOTALL)
_OPENING = re.compile(r"<(?:t(?:h(?:i(?:n(?:k)?)?)?)?)?\Z")


def without_thinking(text: str) -> str:
    """The text without reasoning: whole blocks, one left open, one begun in the prompt, a tag cut off at the end."""
    return _OPENING.sub("", _THINKING.sub("", text))


Render = Callable[[Sequence[int]], str]
"""Text of output tokens; the text of a token prefix is a prefix of the text, once both are cut to whole characters."""


def renderer(model: LanguageModel) -> Render:
    """What turns the model's output tokens into text."""
    return lambda tokens: render_bytes(model.detokenize(tokens))


def render_bytes(data: bytes) -> str:
    """Decode and tidy: an incomplete character at the end, reasoning and control characters are left out."""
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data)
    return one_line(without_thinking(text))
