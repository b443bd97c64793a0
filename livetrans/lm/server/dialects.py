"""What each kind of server is asked, and how it answers.

A dialect yields `Row`s: of the context's tokens from a place on, and then of the tokens that the server writes. Those
of text know only what the server writes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from math import exp
from typing import Any, NamedTuple

from livetrans.lm.server.transport import Connection, Json, ServerFault

NO_PENALTY = {"temperature": 0, "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
"""Stated, because vLLM takes defaults from the model's files."""


class Row(NamedTuple):
    """What is known of one prediction."""

    choice: int
    choice_log: float = 0.0
    token: int | None = None
    """The context's token at this place; None for one that the server writes."""
    token_log: float = 0.0


class ServerRows:
    """The face `livetrans.lm.rows.Rows` of what a server sent."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows

    def choice(self, row: int) -> int:
        return self._rows[row].choice

    def regret(self, row: int, token: int) -> float:
        found = self._rows[row]
        if token == found.choice:
            return 0.0
        if token != found.token:
            raise KeyError(f"token {token} was not scored")
        return found.choice_log - found.token_log

    def confidence(self, row: int) -> float:
        return exp(self._rows[row].choice_log)


class Dialect:
    """What a kind of server is asked for a model."""

    name: str

    def __init__(self, connection: Connection, model: str) -> None:
        self._connection, self._model = connection, model

    def _ask(self, path: str, **body: Any) -> Iterator[Json]:
        """Yield the parts of an answer of the model."""
        return self._connection.stream(path, {"model": self._model, "stream": True, **body})


class Tokens(Dialect):
    """A dialect of token ids, which scores a context."""

    _text: str
    """The key of a text in the answer of `/detokenize`."""

    def tokenize(self, text: str, *, whole: bool = False) -> list[int]:
        """Return the ids of a text; with `whole`, with those that begin and end a text."""
        body = {"model": self._model, "prompt": text, "add_special_tokens": whole}
        return [int(token) for token in self._connection.post("/tokenize", body)["tokens"]]

    def detokenize(self, tokens: Sequence[int]) -> str:
        body = {"model": self._model, "tokens": [*tokens]}
        return str(self._connection.post("/detokenize", body)[self._text])

    @abstractmethod
    def rows(self, context: Sequence[int], start: int, most: int, ends: set[int]) -> Iterator[Row]:
        """Yield the rows that predict the context's tokens from `start` on, then those of up to `most` further ones.

        Tokens that end a generation are added to `ends`.

        Raises:
            ServerFault: the server scored other tokens than it was sent, or fewer.
        """

    def _check_scored(self, scored: Sequence[int], sent: Sequence[int]) -> None:
        if [*scored] != [*sent]:
            raise ServerFault(f"{self.name} scored other tokens than it was sent; restart it, or take another server")


class Text(Dialect):
    """A dialect of text."""

    def text(self, prompt: str, most: int) -> Iterator[str]:
        """Yield what the server writes after the prompt, as it comes; raise ServerFault if it breaks off."""
        has_ended = False
        for text, is_last in self._parts(prompt, most):
            has_ended = is_last
            yield text
        if not has_ended:
            raise ServerFault(f"{self._connection.url} broke off in its answer; look at what it printed")

    @abstractmethod
    def _parts(self, prompt: str, most: int) -> Iterator[tuple[str, bool]]:
        """Yield the parts of the answer, and whether each is its last."""


class VLLM(Tokens):
    """vLLM's completions with token ids: an echo scores the draft, and the same answer goes on behind it.

    `skip_reading_prefix_cache` is never sent: with it, 0.32 ends itself.
    """

    name, _text = "vLLM", "prompt"

    def rows(self, context: Sequence[int], start: int, most: int, ends: set[int]) -> Iterator[Row]:
        before = len(context) if start < len(context) else 0
        asked = {"prompt": [*context], "max_tokens": most, "logprobs": 1, "return_tokens_as_token_ids": True}
        for part in self._ask("/v1/completions", echo=before > 0, **asked, **NO_PENALTY):
            for choice in part.get("choices", ()):
                logs = choice.get("logprobs") or {"tokens": (), "token_logprobs": (), "top_logprobs": ()}
                tokens = [_id(token) for token in logs["tokens"]]
                self._check_scored(tokens[:before], context[:before])
                scored = [*zip(tokens, logs["token_logprobs"], logs["top_logprobs"], strict=True)]
                for token, log, top in scored[start:before]:
                    best = max(top, key=top.__getitem__)
                    yield Row(_id(best) if top[best] > log else token, top[best], token, log)
                if choice.get("finish_reason") == "stop" and tokens:
                    ends.add(tokens[-1])
                yield from (Row(token, log) for token, log, _ in scored[before:])
                before = 0


def _id(token: str) -> int:
    return int(token.removeprefix("token_id:"))


class SGLang(Tokens):
    """SGLang's `/generate`: one request scores the draft, keeps the cache of what stands before it, and goes on."""

    name, _text = "SGLang", "text"

    def rows(self, context: Sequence[int], start: int, most: int, ends: set[int]) -> Iterator[Row]:
        asked = {
            "input_ids": [*context],
            "return_logprob": True,
            "logprob_start_len": start - 1,  # The first place has no value. Before it the cache is kept.
            "top_logprobs_num": 1,
            "sampling_params": NO_PENALTY | {"max_new_tokens": most},
        }
        written, is_first = 0, True
        for part in self._ask("/generate", **asked):
            found = part["meta_info"]
            if is_first:
                is_first = False
                own, top = found["input_token_logprobs"][1:], found["input_top_logprobs"][1:]
                self._check_scored([int(one[1]) for one in own], context[start:])
                for (log, token, *_), ((best_log, best, *_), *_) in zip(own, top, strict=True):
                    yield Row(int(token) if log >= best_log else int(best), max(log, best_log), int(token), log)
            new = found["output_token_logprobs"][written:]
            written += len(new)
            reason = found.get("finish_reason") or {}
            if reason.get("type") == "stop" and isinstance(reason.get("matched"), int):
                ends.add(reason["matched"])
            for log, token, *_ in new:
                yield Row(int(token), float(log))


class Completions(Text):
    """`/v1/completions` as llama-server, vLLM, LM Studio, mlx_lm.server and llama_cpp.server have it."""

    name = "completions"

    def _parts(self, prompt: str, most: int) -> Iterator[tuple[str, bool]]:
        for part in self._ask("/v1/completions", prompt=prompt, max_tokens=most, temperature=0):
            for choice in part["choices"]:
                yield choice.get("text") or "", choice.get("finish_reason") is not None


class Ollama(Text):
    """Ollama's own `/api/generate`, without a template."""

    name = "Ollama"

    def _parts(self, prompt: str, most: int) -> Iterator[tuple[str, bool]]:
        options = {"temperature": 0, "num_predict": most, "repeat_penalty": 1.0}
        asked = {"prompt": prompt, "raw": True, "think": False, "keep_alive": "30m", "options": options}
        for part in self._ask("/api/generate", **asked):
            yield part["response"], bool(part.get("done"))
