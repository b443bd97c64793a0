"""The table of model families: how their models are recognised, the languages they know, what they take."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from livetrans.languages import AUTO, LANGUAGES, Language
from livetrans.lm import forms
from livetrans.lm.port import LanguageModel


@dataclass(frozen=True, slots=True)
class Traits:
    """What a family is recognised by."""

    architecture: str
    """`general.architecture`, in small letters."""
    identity: str
    """Letters and digits of the model's names in its metadata, in small letters."""
    chat_template: str | None
    is_marked: bool
    """Whether the vocabulary has the embedded translators' control tokens."""


def traits_of(metadata: Callable[[str], str | None], *, is_marked: bool) -> Traits:
    """The traits in a model's metadata, by key."""
    names = (metadata(f"general.{key}") or "" for key in ("name", "basename", "finetune"))
    return Traits(
        architecture=(metadata("general.architecture") or "").lower(),
        identity="".join(filter(str.isalnum, "".join(names).lower())),
        chat_template=metadata("tokenizer.chat_template"),
        is_marked=is_marked,
    )


@dataclass(frozen=True, slots=True)
class Template:
    """A family of models, and how its prompt is written."""

    render: Callable[[LanguageModel, forms.Request], str]
    recognises: Callable[[Traits], bool]
    languages: Mapping[str, str] | None = None
    """Names in prompts by code, for a family that knows these languages only; None for any language."""
    history: bool = True
    """Whether it takes the sentences before; not where a model was tuned to texts that stand alone."""
    terms: bool = True
    """Whether it follows instructions about terms."""

    def spelling(self, language: Language) -> str | None:
        """The language's name in a prompt; None where the family does not know it. A variant is known with its base."""
        if self.languages is None or language.code == AUTO:
            return language.name
        base = language.code.partition("-")[0]
        return self.languages.get(language.code) or (language.name if base in self.languages else None)


def known(codes: str, **other_names: str) -> dict[str, str]:
    """The languages of these codes by our names, but for `other_names` (`zh_Hant` stands for `zh-Hant`)."""
    names = {code: LANGUAGES[code.lower()].name for code in codes.split()}
    return names | {code.replace("_", "-"): name for code, name in other_names.items()}


_HY = known(
    "zh en fr pt es ja tr ru ar ko th it de vi ms id tl hi zh-Hant pl cs nl km my fa gu ur te mr he bn ta uk bo kk mn "
    "ug yue",
    tl="Filipino", zh_Hans="Chinese", pt_BR="Portuguese", pt_PT="Portuguese",
)  # fmt: skip
"""The table "Supported Languages" of the README of github.com/Tencent-Hunyuan/Hy-MT2, which tells no variants of
Portuguese apart."""
_TOWER = known(
    "en de es fr it ko nl ru pt zh zh-Hant cs uk hi is ja pl sv hu ro da no nn fi",
    pt="Portuguese (Portugal)", pt_PT="Portuguese (Portugal)", pt_BR="Portuguese (Brazilian)",
    zh="Chinese (Simplified)", zh_Hans="Chinese (Simplified)", zh_Hant="Chinese (Traditional)",
    no="Norwegian (Bokmål)", nn="Norwegian (Nynorsk)",
)  # fmt: skip
"""Languages and their spelling: the model card of Unbabel/Tower-Plus-2B."""
_EURO = known(
    "en de es fr it pt pl nl tr sv cs el hu ro fi uk sl sk da lt lv et bg no ca hr ga mt gl zh ru ko ja ar hi"
)
"""The model card of utter-project/EuroLLM-9B-Instruct."""
_TRANSLATEGEMMA = known(
    "en ar bg bn ca cs da de el es et fa fi tl fr gu he hi hr hu id is it ja kn ko lt lv ml mr nl no pa pl pt pt-BR "
    "pt-PT ro ru sk sl sr sv sw ta te th tr uk ur vi zh zh-Hant zu",
    tl="Filipino", zh_Hans="Chinese", zh_Hant="Chinese", pt_BR="Portuguese", pt_PT="Portuguese",
)  # fmt: skip
"""The languages of its evaluation (arXiv 2601.09012): the targets of WMT24++ (arXiv 2502.12404), and English.

Its chat template names about 160 languages, without figures of their quality (discussion 1 of
huggingface.co/google/translategemma-27b-it). The template itself was not seen: that it writes variants by one name is
known for zh-Hans and pt-BR, from a public copy of a part of it, and assumed for zh-Hant and pt-PT.
"""
_QWEN3 = known(
    "en zh yue fr pt de ro sv da bg ru cs el uk es nl sk hr pl lt no nn fa sl gu lv it oc ne mr be sr lb as cy sd ga "
    "fo hi pa bn or tg yi gl ca is sq af mk si ur bs hy my ar he mt id ms tl ceb jw su ta te kn ml tr az uz kk ba tt "
    "th lo fi et hu vi km ja ko ka eu ht sw"
)
"""Of its 119 languages and dialects (qwenlm.github.io/blog/qwen3, "Multilingual Support") those that livetrans has."""
_LLAMA3 = known("en de fr it pt hi es th")
"""Supported languages (github.com/meta-llama/llama-models, models/llama3_1/MODEL_CARD.md)."""

TEMPLATES = {
    "plain": Template(forms.plain, lambda traits: traits.is_marked, history=False, terms=False),
    "tower": Template(
        forms.tower, lambda traits: "tower" in traits.identity and traits.architecture.startswith("gemma"), _TOWER
    ),
    "translategemma": Template(
        forms.translategemma,
        lambda traits: "translategemma" in traits.identity or "source_lang_code" in (traits.chat_template or ""),
        _TRANSLATEGEMMA,
        history=False,
        terms=False,
    ),
    "hymt": Template(forms.hymt, lambda traits: bool(re.search("(hy|hunyuan)mt", traits.identity)), _HY),
    "eurollm": Template(forms.eurollm, lambda traits: "eurollm" in traits.identity, _EURO),
    "qwen3": Template(
        forms.qwen3,
        lambda traits: (
            traits.architecture.startswith("qwen3") and "<|im_start|>" in (traits.chat_template or "<|im_start|>")
        ),
        _QWEN3,
    ),
    "gemma3": Template(
        forms.gemma3,
        lambda traits: (
            traits.architecture == "gemma3" and "<start_of_turn>" in (traits.chat_template or "<start_of_turn>")
        ),
    ),
    "llama3": Template(
        forms.llama3,
        lambda traits: traits.architecture == "llama" and "<|start_header_id|>" in (traits.chat_template or ""),
        _LLAMA3,
    ),
    "chat": Template(forms.chat, lambda traits: True),
}
"""By name, in the order in which they are tried; `chat` fits every model that brings a chat template."""


def family_of(traits: Traits) -> str:
    """The name of the first template that recognises the traits."""
    return next(name for name, template in TEMPLATES.items() if template.recognises(traits))
