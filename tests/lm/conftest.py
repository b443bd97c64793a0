"""The embedded translator, loaded once, and what it writes for sentences that grow word by word."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from livetrans.base.clock import SystemClock
from livetrans.base.languages import parse_language
from livetrans.config import DecodingSettings, DraftModelSettings, LanguageModelSettings, Settings
from livetrans.decoding import DECODERS, Decoded, Decoding, Draft, DraftModel
from livetrans.lm.llama.model import LlamaModel
from livetrans.lm.prompts import Prompt, build_prompt
from livetrans.run.opening import open_translating
from livetrans.run.publisher import Publish
from livetrans.run.translating import Translating

_SENTENCES = """
Two young men in red shirts are standing in front of a large building and talking to an old woman.
The children are playing with a small brown dog in the garden behind the house while it is raining.
A woman in a blue dress is sitting on a bench and reading a book about the history of her town.
Yesterday evening I met my brother at the station, but he did not want to come home with me.
If you want to learn a new language, you should speak with other people as often as you can.
A group of people is waiting for the bus on a busy street on a cold morning in the winter.
He has never been so happy in his life, because his daughter has finally found a good job.
Please tell me what time the next train to Berlin leaves, and whether I have to change on the way.
A little girl in a yellow coat is throwing stones into the river and laughing very loudly.
We were surprised to hear that the meeting had been moved to the first Monday of next month.
The man with the grey beard is repairing an old bicycle in front of his shop near the market.
""".strip().splitlines()


def open_run(
    target: Path, draft: Path | None, decoding: DecodingSettings, publish: Publish = lambda event: None
) -> Translating:
    """Open the translating part of a run."""
    model = LanguageModelSettings(target, threads=1)
    settings = Settings(None, model, DraftModelSettings(draft) if draft else None, decoding=decoding)
    return open_translating(settings, SystemClock(), publish)


Stream = Callable[..., list[Decoded]]
"""Takes a sentence, the settings of decoding, and a draft model if there is one."""


@pytest.fixture(params=[3, pytest.param(len(_SENTENCES), marks=pytest.mark.long)])
def sentences(request: pytest.FixtureRequest) -> list[str]:
    """The first sentences; all of them in the long form of a test."""
    return _SENTENCES[: request.param]


@pytest.fixture(scope="session")
def model(translator_path: Path) -> Iterator[LlamaModel]:
    """The embedded translator."""
    model = LlamaModel(LanguageModelSettings(translator_path, context_tokens=512, threads=1))
    yield model
    model.close()


@pytest.fixture(scope="session")
def prompt(model: LlamaModel) -> Prompt:
    """The prompt of the embedded translator."""
    return build_prompt(model, None, parse_language("en"), parse_language("de"))


@pytest.fixture(scope="session")
def stream(model: LlamaModel, prompt: Prompt) -> Stream:
    """What decodes every growing prefix of a sentence with the output before as the draft; each stream once."""

    @cache
    def decode(sentence: str, settings: DecodingSettings, draft_model: DraftModel | None = None) -> list[Decoded]:
        words, draft, outputs = sentence.split(), Draft(), []
        for length in range(1, len(words) + 1):
            source = tuple(prompt.source_tokens(model, " ".join(words[:length])))
            tokens = (*prompt.before, *source, *prompt.after)
            decoding = Decoding(model, tokens, 80, source=source, draft_model=draft_model)
            outputs.append(DECODERS[settings.method].decode(decoding, draft, settings))
            draft = Draft(outputs[-1].tokens, tokens, source)
        return outputs

    return decode
