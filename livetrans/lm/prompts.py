"""Text to token ids and back: the prompt around the text to translate, and the text of output tokens.

Control tokens are recognised in the template's own words and not in what people said, so that no speech can end the
user's turn. A template is chosen by the model's metadata; `LanguageModelSettings.prompt` overrides.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from livetrans.base.errors import ModelError, UsageError
from livetrans.base.languages import Language
from livetrans.base.text import one_line
from livetrans.lm.families import BEGIN, END, TEMPLATES, Pairs, Request, family_of
from livetrans.lm.port import LanguageModel

_SPEECH = "\ue002"
_FIRST_MARK, _LAST_MARK = 0xE003, 0xF8FF
"""Private-use characters: no template contains them."""
_MARKS = re.compile(f"([{BEGIN}-{chr(_LAST_MARK)}])")
_SHOWN_LANGUAGES = 12


@dataclass(frozen=True, slots=True)
class Prompt:
    """A form written for one model, one language pair and one context."""

    name: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    leading_space: bool
    """Whether the speech follows a word of the template and must bring its own space."""

    def source_tokens(self, model: LanguageModel, text: str) -> list[int]:
        """Return the tokens of a source text; equal texts share tokens as far as the tokenizer lets them."""
        return _speech_tokens(model, text, self.leading_space)

    def tokens(self, model: LanguageModel, text: str) -> list[int]:
        return [*self.before, *self.source_tokens(model, text), *self.after]


def choose_template(model: LanguageModel) -> str:
    if family := getattr(model, "family", None):  # A server tells no metadata.
        return str(family)
    is_marked = all(len(model.tokenize(mark, special=True)) == 1 for mark in ("<|src|>", "<|tgt|>"))
    return family_of(model.metadata, is_marked=is_marked)


def build_prompt(
    model: LanguageModel, name: str | None, source: Language, target: Language, pairs: Pairs = (), terms: Pairs = ()
) -> Prompt:
    """Write a form once; only the speech is tokenised at each update.

    `pairs` are earlier sentences and their translations, oldest first, `terms` those that occur in the speech, with
    their translations. A template may leave them out.

    Raises:
        UsageError: unknown template, or a language pair the model does not have.
        ModelError: the model's own chat template is absent or broken.
    """
    name = name or choose_template(model)
    if name not in TEMPLATES:
        raise UsageError(f"there is no prompt template {name!r}; choose one of {', '.join(TEMPLATES)}")
    contents: dict[str, str] = {}
    written = TEMPLATES[name].write(model, _request(name, model, (source, target), pairs, terms, contents))
    if any(written.count(mark) != 1 for mark in (_SPEECH, *contents)):
        raise ModelError(
            f"{model.name}'s chat template does not contain the user's text once; choose one with --prompt"
        )
    before, after = written.split(_SPEECH)
    if after.rfind("<think>") > after.rfind("</think>"):
        after += "\n\n</think>\n\n"  # A template that opens the block itself would spend the output on reasoning.
    tokens = _tokens(model, before + _SPEECH, contents)
    beginning = model.beginning_tokens
    if tuple(tokens[: len(beginning)]) != beginning:
        tokens = [*beginning, *tokens]
    return Prompt(name, tuple(tokens), tuple(_tokens(model, after, contents)), _brings_space(model, before))


def _request(
    name: str,
    model: LanguageModel,
    languages: tuple[Language, Language],
    pairs: Pairs,
    terms: Pairs,
    contents: dict[str, str],
) -> Request:
    """Return the languages and marks for a form; put the texts of the marks into `contents`."""
    template = TEMPLATES[name]
    source, target = languages
    unknown = [language for language in languages if template.spelling(language) is None]
    if unknown:
        names = " and ".join(f"{language.name} ({language.code})" for language in unknown)
        codes = list(template.languages or ())
        more = f" and {len(codes) - _SHOWN_LANGUAGES} more" if len(codes) > _SHOWN_LANGUAGES else ""
        raise UsageError(
            f"{model.name} does not know {names}, only {', '.join(codes[:_SHOWN_LANGUAGES])}{more}; choose another "
            "language, another translator with --mt, or try it all the same with --prompt chat"
        )

    def mark(text: str) -> str:
        character = chr(_FIRST_MARK + len(contents))
        contents[character] = text
        return character

    def marks(pairs: Pairs) -> Pairs:
        return tuple((mark(one), mark(other)) for one, other in pairs)

    return Request(
        source=template.spelling(source) or source.name,
        target=template.spelling(target) or target.name,
        source_code=source.code,
        target_code=target.code,
        speech=_SPEECH,
        pairs=marks(pairs) if template.history else (),
        terms=marks(terms) if template.terms else (),
    )


def _tokens(model: LanguageModel, text: str, contents: dict[str, str]) -> list[int]:
    """Return tokens of a part of a written form: marks become what they stand for, or a control token of the model."""
    tokens: list[int] = []
    pieces = _MARKS.split(text)
    for piece, mark in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        before_speech = mark in contents or mark == _SPEECH
        tokens += model.tokenize(piece.removesuffix(" ") if before_speech else piece, special=True)
        if mark in contents:
            tokens += _speech_tokens(model, contents[mark], _brings_space(model, piece))
        elif mark in _CONTROL:
            token = model.metadata(f"tokenizer.ggml.{_CONTROL[mark]}_token_id")
            tokens += [int(token)] if token is not None and token.isdigit() else []
    return tokens


_CONTROL = {BEGIN: "bos", END: "eos"}


def _speech_tokens(model: LanguageModel, text: str, leading_space: bool) -> list[int]:
    text = " ".join(text.split())
    return model.tokenize(f" {text}" if leading_space else text)


def _brings_space(model: LanguageModel, before: str) -> bool:
    """Return whether speech after `before` has to bring the space that ends it: a word's token includes its space.

    SentencePiece models themselves put a space before every text, by default.
    """
    adds_space = (
        model.metadata("tokenizer.ggml.model") == "llama"
        and model.metadata("tokenizer.ggml.add_space_prefix") != "false"
    )
    return before.endswith(" ") and not adds_space


_THINKING = re.compile(r"<think>.*?(?:</think>|\Z)|\A.*</think>", re.DOTALL)
_MARK = re.compile(r"<[|｜].*|<?[|｜]?hy_(?:begin|place|User|Assistant).*", re.DOTALL)
_OPENING = re.compile(r"<(?:t(?:h(?:i(?:n(?:k)?)?)?)?)?\Z")


TextOf = Callable[[Sequence[int]], str]
"""Text of output tokens; the text of a token prefix is a prefix of the text, once both are cut to whole characters."""


def text_of_tokens(model: LanguageModel) -> TextOf:
    return lambda tokens: text_of_bytes(model.detokenize(tokens))


def text_of_bytes(data: bytes) -> str:
    """Decode and tidy: an incomplete character at the end and control characters are left out, and so is reasoning.

    Reasoning is a whole block, one left open, one begun in the prompt, or a tag cut off at the end. The text ends where
    a control token is spelled in ordinary ones (`<|`, `hy_User`), as by models that go on past their end.
    """
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data)
    return one_line(_OPENING.sub("", _MARK.sub("", _THINKING.sub("", text))))
