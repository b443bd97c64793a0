"""The fakes answer what real servers answered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from livetrans.lm.llama.model import LlamaModel
from tests.lm.server.answers import Asked, ask, recorded
from tests.lm.server.fake import FakeServer

FAKES = {"llama-server": "llama-server", "llama_cpp.server": "completions", "vLLM": "vllm"}


@pytest.mark.parametrize("name", FAKES)
def test_a_fake_answers_as_the_real_server_did(model: LlamaModel, name: str) -> None:
    """With the same status, the same text or tokens, and no key or type that the real one does not have."""
    server = FakeServer(model.another_context(), FAKES[name])
    try:
        answers = recorded(name)
        for real in answers:
            fake = ask(server.url, real.path, real.body)
            known = {place for one in answers if one[::2] == real[::2] for place in shape(one.parts)}
            assert fake.status == real.status, real.path
            assert {*shape(fake.parts)} <= known, real.path
            assert written(fake) == written(real), real.path
    finally:
        server.stop()


def shape(value: Any, place: str = "") -> Iterator[str]:
    """Yield the places in JSON values, each with its type; the numbers of ids and of items are left out."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from shape(one, f"{place}.{re.sub('[0-9]+', 'N', key)}")
    elif isinstance(value, list):
        yield f"{place}[]"
        for one in value:
            yield from shape(one, f"{place}[]")
    else:
        yield f"{place}: {'number' if isinstance(value, float | int) else type(value).__name__}"


def written(answer: Asked) -> list[Any]:
    """Return what a client reads of an answer, in however many parts: its text or tokens, and why it ended."""
    found: list[Any] = [part.get(key) for part in answer.parts for key in ("tokens", "prompt") if key in part]
    choices = [choice for part in answer.parts for choice in part.get("choices", ())]
    logs = [choice["logprobs"] or {} for choice in choices]
    found += [token for log in logs for token in log.get("tokens", ())]
    found += [top and max(top, key=top.__getitem__) for log in logs for top in log.get("top_logprobs", ())]
    text = "".join(choice["text"] for choice in choices if not choice["logprobs"])
    return [*found, text, *(choice["finish_reason"] for choice in choices[-1:])]
