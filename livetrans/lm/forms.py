"""How the prompt of each model family is written, each in the form that its authors publish.

A form is text in which marks stand for everything that people said: the speech, earlier sentences, terms.
`livetrans.lm.prompts` makes the marks, and tokenises what they stand for without control tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from livetrans.errors import ModelError, UsageError
from livetrans.lm.port import LanguageModel
from livetrans.lm.rendering import TemplateFault, Turn, render_chat

BEGIN, END = "\ue000", "\ue001"
"""In a rendered text: the model's begin-of-sequence and end-of-sequence tokens. No template contains private-use
characters."""

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Request:
    """What a template renders."""

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
    """The paper's instruction (arXiv 2509.21740v2, Table 5)."""
    return (
        f"Translate the {request.source} source text to {request.target}. "
        "Return only the translation, without any additional explanations or commentary."
    )


def _turns(
    request: Request, ask: Callable[[str, str], str], answer: Callable[[str], str] = lambda translated: translated
) -> list[Turn]:
    """The sentences before as a conversation, and the question that is open.

    `ask` gets a sentence and the lines about terms, which only the last question has: what stands before it stays the
    same until a segment ends.
    """
    turns: list[Turn] = []
    for said, translated in request.pairs:
        turns += [("user", ask(said, "")), ("assistant", answer(translated))]
    terms = "".join(f'"{term}" is translated as "{wanted}".\n' for term, wanted in request.terms)
    return [*turns, ("user", ask(request.speech, terms))]


def _gemma(turns: Sequence[Turn]) -> str:
    """Gemma's turns (ai.google.dev/gemma/docs/core/prompt-structure): no system role, the assistant is `model`."""
    names = {"user": "user", "assistant": "model"}
    return "".join(f"<start_of_turn>{names[role]}\n{said}<end_of_turn>\n" for role, said in turns) + (
        "<start_of_turn>model\n"
    )


def _chatml(turns: Sequence[Turn]) -> str:
    return "".join(f"<|im_start|>{role}\n{said}<|im_end|>\n" for role, said in turns) + "<|im_start|>assistant\n"


def plain(model: LanguageModel, request: Request) -> str:
    """The bare form of the embedded translators, which know one language pair."""
    pair = (model.metadata("livetrans.source_language") or "en", model.metadata("livetrans.target_language") or "de")
    if (request.source_code, request.target_code) != pair:
        raise UsageError(
            f"{model.name} translates {pair[0]} to {pair[1]} only, not {request.source_code} to {request.target_code}; "
            "choose those languages, another translator with --mt, or fetch one with `livetrans models pull small "
            f"--from {request.source_code} --to {request.target_code}`"
        )
    # A double-token model begins with a pair, as the paper's begins with BOS and EOS.
    return f"<|src|>{request.speech}<|tgt|>" + ("<|tail|><|tgt|>" if model.tail_pieces else "")


def tower(_model: LanguageModel, request: Request) -> str:
    """Tower+ (Gemma 2), paper Table 5. The model card has a shorter instruction and no terms."""
    instruction = _instruction(request)
    return _gemma(
        _turns(request, lambda text, terms: f"{instruction}\n{terms}{request.source}: {text}\n{request.target}: ")
    )


def qwen3(model: LanguageModel, request: Request) -> str:
    """Qwen3, paper Table 5: the think block is empty. The later instruct models know no block, and get none."""
    block = "<think>\n\n</think>\n\n" if "<think>" in (_chat_template(model) or "<think>") else ""
    turns = _turns(
        request,
        lambda text, terms: f"{terms}{request.source}: {text}",
        lambda translated: f"{request.target}: {translated}",
    )
    return f"{_chatml([('system', _instruction(request)), *turns])}{block}{request.target}:"


def gemma3(_model: LanguageModel, request: Request) -> str:
    """Gemma 3: the paper's instruction at the start of the first turn, as Gemma has no system turn."""
    turns = _turns(request, lambda text, terms: terms + text)
    return _gemma([("user", f"{_instruction(request)}\n\n{turns[0][1]}"), *turns[1:]])


def translategemma(_model: LanguageModel, request: Request) -> str:
    """TranslateGemma, as its chat template writes structured content (ollama.com/library/translategemma).

    llama.cpp cannot parse that template (its issue 20305), so the text is written here.
    """
    source, target = request.source, request.target
    codes = ["fil" if code == "tl" else code for code in (request.source_code, request.target_code)]
    return _gemma(
        [
            (
                "user",
                f"You are a professional {source} ({codes[0]}) to {target} ({codes[1]}) translator. Your goal is to "
                f"accurately convey the meaning and nuances of the original {source} text while adhering to {target} "
                f"grammar, vocabulary, and cultural sensitivities.\nProduce only the {target} translation, without any "
                f"additional explanations or commentary. Please translate the following {source} text into {target}:"
                f"\n\n\n{request.speech}",
            )
        ]
    )


def eurollm(_model: LanguageModel, request: Request) -> str:
    """EuroLLM, the example of its model card (utter-project/EuroLLM-1.7B-Instruct): ChatML, an empty system turn."""
    task = f"Translate the following {request.source} source text to {request.target}:\n"
    turns = _turns(request, lambda text, terms: f"{terms}{task}{request.source}: {text}\n{request.target}: ")
    return _chatml([("system", ""), *turns])


def llama3(_model: LanguageModel, request: Request) -> str:
    """Llama 3 and later (llama.com, "Model Cards and Prompt formats"); the instruction is the system turn."""
    turns = [("system", _instruction(request)), *_turns(request, lambda text, terms: terms + text), ("assistant", "")]
    text = "".join(f"<|start_header_id|>{role}<|end_header_id|>\n\n{said}<|eot_id|>" for role, said in turns)
    return BEGIN + text.removesuffix("<|eot_id|>")


def hymt(model: LanguageModel, request: Request) -> str:
    """Hy-MT2: the instructions of its README (github.com/Tencent-Hunyuan/Hy-MT2) in the model's own chat template.

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
        return _in_chat_template(model, [("user", f"参考下面的翻译：\n{terms}{task}" if terms else task)])
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
    return _in_chat_template(
        model, [("user", f"Reference the following translations:\n{terms}\n{task}" if terms else task)]
    )


def chat(model: LanguageModel, request: Request) -> str:
    """The model's own chat template around the paper's instruction."""
    turns = _turns(request, lambda text, terms: f"{_instruction(request)}\n{terms}{request.source}: {text}")
    return _in_chat_template(model, turns)


def _chat_template(model: LanguageModel) -> str | None:
    return model.metadata("tokenizer.chat_template")


def _in_chat_template(model: LanguageModel, turns: Sequence[Turn]) -> str:
    """The turns in the chat template that the file brings."""
    template = _chat_template(model)
    if not template:
        raise ModelError(f"{model.name} has no chat template; choose a prompt with --prompt")
    try:
        return render_chat(template, turns, BEGIN, END)
    except TemplateFault as error:
        raise ModelError(
            f"{model.name}'s chat template cannot be rendered ({error}); choose one with --prompt"
        ) from None


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
