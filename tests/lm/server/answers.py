"""What real servers answered to a few requests, in `answers/`; `make servers ARGS=--record` writes them.

The tests of the fakes compare each fake with them: what it invents is no test of a client.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

ANSWERS = Path(__file__).with_name("answers")
MODEL = "livetrans-en-de"
PROMPT = "<|src|>I live here.<|tgt|>"
READ = {"object", "created", "id"}
"""Keys of a list of models that are kept: others tell of the machine."""


class Asked(NamedTuple):
    """A request, with its body if it posts one, and what it was answered: JSON values, one for each part."""

    path: str
    body: dict[str, Any] | None
    status: int
    parts: list[Any]


def recorded(name: str) -> list[Asked]:
    """Return what a real server answered."""
    return [Asked(**line) for line in json.loads((ANSWERS / f"{name}.json").read_text(encoding="utf-8"))]


def ask(url: str, path: str, body: dict[str, Any] | None) -> Asked:
    """Send one request."""
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(url + path, data, {"Content-Type": "application/json"}), timeout=60) as answer:
            status, text = answer.status, answer.read().decode()
    except HTTPError as error:
        status, text = error.code, error.read().decode()
    lines = [line.removeprefix("data:").strip() for line in text.splitlines()]
    return Asked(path, body, status, [json.loads(line) for line in lines if line.startswith("{")])


def record(name: str, url: str) -> None:
    """Write what a server answers to the requests of the client, and to wrong ones."""
    listed = ask(url, "/v1/models", None)
    model = listed.parts[0]["data"][0]["id"]
    models = {"data": [{key: one[key] for key in READ & one.keys()} | {"id": MODEL} for one in listed.parts[0]["data"]]}
    found = [listed._replace(parts=[models])]
    text = {"model": model, "prompt": PROMPT, "max_tokens": 3, "temperature": 0, "stream": True}
    asked: list[tuple[str, dict[str, Any] | None]] = [
        *((page, None) for page in ("/props", "/version", "/api/version", "/get_model_info")),
        ("/v1/completions", text),
        ("/v1/completions", text | {"max_tokens": 40}),
        ("/v1/completions", text | {"prompt": "live " * 600}),
    ]
    if name == "vLLM":
        context = ask(url, "/tokenize", {"model": model, "prompt": PROMPT, "add_special_tokens": True})
        tokens = context.parts[0]["tokens"]
        scores = {"prompt": tokens, "logprobs": 1, "echo": True, "return_tokens_as_token_ids": True}
        asked += [
            (context.path, context.body),
            ("/detokenize", {"model": model, "tokens": tokens[-4:-1]}),
            ("/v1/completions", text | scores),
            ("/v1/completions", text | scores | {"echo": False, "max_tokens": 40}),
            ("/v1/completions", text | {"model": "another"}),
        ]
    for path, body in asked:
        one = ask(url, path, body)
        if path == "/props" and one.status == 200:
            [every] = one.parts
            kept = {key: every[key] for key in ("total_slots", "chat_template")}
            context_tokens = every["default_generation_settings"]["n_ctx"]
            one = one._replace(parts=[kept | {"default_generation_settings": {"n_ctx": context_tokens}}])
        found.append(one)
    plain = json.dumps([one._asdict() for one in found], ensure_ascii=False).replace(json.dumps(model)[1:-1], MODEL)
    ANSWERS.mkdir(exist_ok=True)
    lines = [json.dumps(one, ensure_ascii=False) for one in json.loads(plain)]
    (ANSWERS / f"{name}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
