"""The families of models: how each is recognised, the languages it knows, and the form of its prompt.

A form is text in which marks stand for everything that people said: the speech, earlier sentences, terms.
`livetrans.lm.prompts` makes the marks, and tokenises what they stand for without control tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from livetrans.base.errors import ModelError, UsageError
from livetrans.base.languages import AUTO, LANGUAGES, Language
from livetrans.lm.port import LanguageModel
from livetrans.lm.rendering import TemplateFault, Turn, render_chat

BEGIN, END = "\ue000", "\ue001"
"""Marks in rendered text for the model's begin-of-sequence and end-of-sequence tokens. No template contains private-use
characters."""

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Request:
    """Languages and contents of a prompt."""

    source: str
    """Name of the spoken language, as the family writes it."""
    target: str
    source_code: str
    target_code: str
    speech: str
    """The mark of the text to translate."""
    pairs: Pairs = ()
    """Marks of the sentences before and of their translations, oldest first."""
    terms: Pairs = ()
    """Marks of the terms that occur in the speech, and of their translations."""


def _instruction(request: Request) -> str:
    """Return the paper's instruction (arXiv 2509.21740v2, Table 5)."""
    return (
        f"Translate the {request.source} source text to {request.target}. "
        "Return only the translation, without any additional explanations or commentary."
    )


def _turns(request: Request, ask: Callable[[str, str], str], answer: str = "") -> list[Turn]:
    """Return earlier sentences as a conversation that ends with the open question.

    `ask` takes a sentence and the lines about terms. Only the last question has terms, so that the text before it stays
    the same until a segment ends. `answer` begins each translation.
    """
    turns: list[Turn] = []
    for sentence, translated in request.pairs:
        turns += [("user", ask(sentence, "")), ("assistant", answer + translated)]
    terms = "".join(f'"{term}" is translated as "{wanted}".\n' for term, wanted in request.terms)
    return [*turns, ("user", ask(request.speech, terms))]


def _gemma(turns: Sequence[Turn], begin: str = "<start_of_turn>", end: str = "<end_of_turn>") -> str:
    """Return Gemma's turns (ai.google.dev/gemma/docs/core/prompt-structure), in which the assistant is `model`."""
    names = {"user": "user", "assistant": "model"}
    return "".join(f"{begin}{names[role]}\n{content}{end}\n" for role, content in turns) + f"{begin}model\n"


def _chatml(turns: Sequence[Turn]) -> str:
    return "".join(f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in turns) + "<|im_start|>assistant\n"


def plain(model: LanguageModel, request: Request) -> str:
    """The bare form of the embedded translators, which know one language pair."""
    pair = (model.metadata("livetrans.source_language") or "en", model.metadata("livetrans.target_language") or "de")
    if (request.source_code, request.target_code) != pair:
        raise UsageError(
            f"{model.name} translates {pair[0]} to {pair[1]} only, not {request.source_code} to {request.target_code}; "
            "choose those languages, another translator with --mt, or fetch one with `livetrans models pull "
            f"--from {request.source_code} --to {request.target_code}`"
        )
    return f"<|src|>{request.speech}<|tgt|>"


def tower(_model: LanguageModel, request: Request) -> str:
    """Tower+ (Gemma 2), paper Table 5. The model card has a shorter instruction and no terms."""
    instruction = _instruction(request)
    return _gemma(
        _turns(request, lambda text, terms: f"{instruction}\n{terms}{request.source}: {text}\n{request.target}: ")
    )


def qwen3(model: LanguageModel, request: Request) -> str:
    """Qwen3, paper Table 5: the think block is empty. The later instruct models know no block, and get none."""
    block = "<think>\n\n</think>\n\n" if "<think>" in (_chat_template(model) or "<think>") else ""
    turns = _turns(request, lambda text, terms: f"{terms}{request.source}: {text}", f"{request.target}: ")
    return f"{_chatml([('system', _instruction(request)), *turns])}{block}{request.target}:"


def _instructed_first(request: Request) -> list[Turn]:
    """Return turns with the paper's instruction at the start of the first, for models without a system turn."""
    turns = _turns(request, lambda text, terms: terms + text)
    return [("user", f"{_instruction(request)}\n\n{turns[0][1]}"), *turns[1:]]


def gemma3(_model: LanguageModel, request: Request) -> str:
    """Gemma 3, which has no system turn."""
    return _gemma(_instructed_first(request))


def gemma4(model: LanguageModel, request: Request) -> str:
    """Gemma 4: Gemma 3's turns between other tokens. The larger models' templates add an empty channel of thought."""
    channel = "<|channel>thought\n<channel|>"
    thought = channel if channel.replace("\n", "\\n") in _chat_template(model) else ""
    return BEGIN + _gemma(_instructed_first(request), "<|turn>", "<turn|>") + thought


def translategemma(_model: LanguageModel, request: Request) -> str:
    """TranslateGemma, as its chat template, which llama.cpp cannot parse, writes structured content
    (ollama.com/library/translategemma).
    """
    source, target = request.source, request.target
    codes = ["fil" if code == "tl" else code for code in (request.source_code, request.target_code)]
    task = (
        f"You are a professional {source} ({codes[0]}) to {target} ({codes[1]}) translator. Your goal is to accurately "
        f"convey the meaning and nuances of the original {source} text while adhering to {target} grammar, vocabulary, "
        f"and cultural sensitivities.\nProduce only the {target} translation, without any additional explanations or "
        f"commentary. Please translate the following {source} text into {target}:\n\n\n"
    )
    return _gemma([("user", task + request.speech)])


def eurollm(model: LanguageModel, request: Request) -> str:
    """EuroLLM, the examples of its model cards: ChatML, with an empty system turn for 1.7B, and a sentence for 9B."""
    about = "an AI assistant specialized in European languages that provides safe, educational and helpful answers."
    system = "" if "1.7b" in model.name.lower() else f"You are EuroLLM --- {about}"
    task = f"Translate the following {request.source} source text to {request.target}:\n"
    turns = _turns(request, lambda text, terms: f"{terms}{task}{request.source}: {text}\n{request.target}: ")
    return _chatml([("system", system), *turns])


def llama3(_model: LanguageModel, request: Request) -> str:
    """Llama 3 and later (llama.com, "Model Cards and Prompt formats"); the instruction is the system turn."""
    turns = [("system", _instruction(request)), *_turns(request, lambda text, terms: terms + text), ("assistant", "")]
    text = "".join(f"<|start_header_id|>{role}<|end_header_id|>\n\n{content}<|eot_id|>" for role, content in turns)
    return BEGIN + text.removesuffix("<|eot_id|>")


def hymt(model: LanguageModel, request: Request) -> str:
    """Hy-MT2: the instructions of its README (github.com/Tencent-Hunyuan/Hy-MT2) in the model's own turn.

    Pairs with Chinese get the Chinese instructions, with which it also answers in the wanted language where a general
    prompt makes it answer in Chinese. The sentences before are its background information. The README shows background
    and terms apart; both in one prompt are put together here.
    """
    in_chinese = any(code.startswith("zh") for code in (request.source_code, request.target_code))
    before = "\n".join(text for pair in request.pairs for text in pair)
    if in_chinese:
        target = HY_CHINESE_NAMES[request.target_code.partition("-")[0]]
        target = "繁体中文" if request.target_code == "zh-Hant" else target
        terms = "".join(f"{term} 翻译成 {wanted}\n" for term, wanted in request.terms)
        task = f"将以下文本翻译为{target}，注意只需要输出翻译后的结果，不要额外解释：\n\n{request.speech}"
        if before:
            task = f"请结合背景信息将以下文本翻译为{target}。\n\n【待翻译文本】\n{request.speech}"
            task = f"【背景信息】\n{before}\n\n{task}"
        return _hy_turn(model, f"参考下面的翻译：\n{terms}{task}" if terms else task)
    terms = "".join(f"{term} translates to {wanted}\n" for term, wanted in request.terms)
    task = (
        f"Translate the following text into {request.target}. Note that you {'must ONLY' if terms else 'should only'} "
        f"output the translated result without any additional explanation:\n\n{request.speech}"
    )
    if before:
        task = (
            f"[Background Information]\n{before}\n\nPlease translate the following text into {request.target}, taking "
            f"the provided background information into consideration.\n\n[Source Text]\n{request.speech}"
        )
    return _hy_turn(model, f"Reference the following translations:\n{terms}\n{task}" if terms else task)


def _hy_turn(model: LanguageModel, text: str) -> str:
    """Return a user's turn as the templates of Hy-MT2 write it, with the marks that are tokens of the file."""
    for beginning, user, assistant in _HY_MARKS:
        if all(len(model.tokenize(mark, special=True)) == 1 for mark in (beginning, user, assistant) if mark):
            return f"{beginning}{user}{text}{assistant}"
    return _in_chat_template(model, [("user", text)])


def chat(model: LanguageModel, request: Request) -> str:
    """The model's own chat template around the paper's instruction.

    The instruction is in the system turn if the template would write a default one there (Ministral 3).
    """
    instruction = _instruction(request)
    system = [("system", instruction)] if "default_system_message" in _chat_template(model) else []
    before = "" if system else f"{instruction}\n"
    turns = _turns(request, lambda text, terms: f"{before}{terms}{request.source}: {text}")
    return _in_chat_template(model, [*system, *turns])


def _chat_template(model: LanguageModel) -> str:
    return model.metadata("tokenizer.chat_template") or ""


def _in_chat_template(model: LanguageModel, turns: Sequence[Turn]) -> str:
    template = _chat_template(model)
    if not template:
        raise ModelError(f"{model.name} has no chat template; choose a prompt with --prompt")
    try:
        return render_chat(template, turns, BEGIN, END)
    except TemplateFault as error:
        raise ModelError(
            f"{model.name}'s chat template cannot be rendered ({error}); choose one with --prompt"
        ) from None


_HY_MARKS = (
    ("<｜hy_begin▁of▁sentence｜>", "<｜hy_User｜>", "<｜hy_Assistant｜>"),
    ("<|hy_begin▁of▁sentence|>", "<|hy_User|>", "<|hy_Assistant|>"),
    ("<|startoftext|>", "", "<|extra_0|>"),
)
"""Marks before a user's turn, at its beginning and after it: of 1.8B, the same with other bars, and of 7B."""
HY_CHINESE_NAMES = {
    "ar": "阿拉伯语", "bn": "孟加拉语", "bo": "藏语", "cs": "捷克语", "de": "德语", "en": "英语",
    "es": "西班牙语", "fa": "波斯语", "fr": "法语", "gu": "古吉拉特语", "he": "希伯来语", "hi": "印地语",
    "id": "印尼语", "it": "意大利语", "ja": "日语", "kk": "哈萨克语", "km": "高棉语", "ko": "韩语",
    "mn": "蒙古语", "mr": "马拉地语", "ms": "马来语", "my": "缅甸语", "nl": "荷兰语", "pl": "波兰语",
    "pt": "葡萄牙语", "ru": "俄语", "ta": "泰米尔语", "te": "泰卢固语", "th": "泰语", "tl": "菲律宾语",
    "tr": "土耳其语", "ug": "维吾尔语", "uk": "乌克兰语", "ur": "乌尔都语", "vi": "越南语", "yue": "粤语",
    "zh": "中文",
}  # fmt: skip
"""From the README's table "Supported Languages": the languages in Chinese prompts, by code."""


@dataclass(frozen=True, slots=True)
class Traits:
    """Metadata by which a family is recognised."""

    architecture: str
    """`general.architecture`, in small letters."""
    identity: str
    """Letters and digits of the model's names in its metadata, in small letters."""
    chat_template: str
    """Empty if the file has none, or it was not read."""
    is_marked: bool
    """Whether the vocabulary has the embedded translators' control tokens."""


@dataclass(frozen=True, slots=True)
class Template:
    """A family of models, and how its prompt is written."""

    write: Callable[[LanguageModel, Request], str]
    recognises: Callable[[Traits], bool]
    languages: Mapping[str, str] | None = None
    """Names in prompts by code, for a family that knows these languages only; None for any language."""
    history: bool = True
    """Whether the prompt may hold earlier sentences: not for a model that was tuned to single texts."""
    terms: bool = True
    """Whether it follows instructions about terms."""
    breaks_names: bool = False
    """Whether its models were trained on few texts, so that stand-ins are better than names that they do not know."""

    def spelling(self, language: Language) -> str | None:
        """Return the language's name in a prompt; None for an unknown one. A variant is known with its base."""
        if self.languages is None or language.code == AUTO:
            return language.name
        base = language.code.partition("-")[0]
        return self.languages.get(language.code) or (language.name if base in self.languages else None)


def known(codes: str, **other_names: str) -> dict[str, str]:
    """Return the languages of these codes by our names, but for `other_names` (`zh_Hant` stands for `zh-Hant`)."""
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

That its chat template writes variants by one name is known for zh-Hans and pt-BR, and assumed for zh-Hant and pt-PT.
"""
_QWEN3 = known(
    "en zh yue fr pt de ro sv da bg ru cs el uk es nl sk hr pl lt no nn fa sl gu lv it oc ne mr be sr lb as cy sd ga "
    "fo hi pa bn or tg yi gl ca is sq af mk si ur bs hy my ar he mt id ms tl ceb jw su ta te kn ml tr az uz kk ba tt "
    "th lo fi et hu vi km ja ko ka eu ht sw"
)
"""Of its 119 languages and dialects (qwenlm.github.io/blog/qwen3, "Multilingual Support") those that livetrans has."""
_LLAMA3 = known("en de fr it pt hi es th")
"""Supported languages (github.com/meta-llama/llama-models, models/llama3_1/MODEL_CARD.md)."""


def _writes(traits: Traits, mark: str) -> bool:
    """Return whether the chat template writes the mark, if the file has one."""
    return mark in (traits.chat_template or mark)


TEMPLATES = {
    "plain": Template(plain, lambda traits: traits.is_marked, history=False, terms=False, breaks_names=True),
    "tower": Template(
        tower, lambda traits: "tower" in traits.identity and traits.architecture.startswith("gemma"), _TOWER
    ),
    "translategemma": Template(
        translategemma,
        lambda traits: "translategemma" in traits.identity or "source_lang_code" in traits.chat_template,
        _TRANSLATEGEMMA,
        history=False,
        terms=False,
    ),
    "hymt": Template(
        hymt,
        lambda traits: bool(
            re.search("(hy|hunyuan)mt", traits.identity)
            or (traits.architecture.startswith("hunyuan") and re.search("hy_User|extra_0", traits.chat_template or ""))
        ),
        _HY,
    ),
    "eurollm": Template(eurollm, lambda traits: "eurollm" in traits.identity, _EURO),
    "qwen3": Template(
        qwen3, lambda traits: traits.architecture.startswith("qwen3") and _writes(traits, "<|im_start|>"), _QWEN3
    ),
    "gemma3": Template(gemma3, lambda traits: traits.architecture == "gemma3" and _writes(traits, "<start_of_turn>")),
    "gemma4": Template(gemma4, lambda traits: traits.architecture == "gemma4"),
    "llama3": Template(
        llama3, lambda traits: traits.architecture == "llama" and "<|start_header_id|>" in traits.chat_template, _LLAMA3
    ),
    "chat": Template(chat, lambda traits: True),
}
"""By name, in the order in which they are tried; `chat` fits every model that brings a chat template."""


def family_of(metadata: Callable[[str], str | None], *, is_marked: bool = False) -> str:
    """Return the name of the first template that recognises a model by its metadata."""
    names = (metadata(f"general.{key}") or "" for key in ("name", "basename", "finetune"))
    traits = Traits(
        architecture=(metadata("general.architecture") or "").lower(),
        identity="".join(filter(str.isalnum, "".join(names).lower())),
        chat_template=metadata("tokenizer.chat_template") or "",
        is_marked=is_marked,
    )
    return next(name for name, template in TEMPLATES.items() if template.recognises(traits))
