"""A language model on a server, with the port's face as far as the decoders ask for it.

An evaluation asks the server to go on from the context. What it writes further is kept: the next evaluation that only
adds the server's own choice takes it from there, without a request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import count, islice
from pathlib import PurePath
from typing import Self

import numpy as np

from livetrans.base.clock import Clock
from livetrans.base.errors import ContextError, ModelError, UsageError
from livetrans.base.text import UNSPACED
from livetrans.config import LanguageModelSettings
from livetrans.lm.families import family_of
from livetrans.lm.port import Evaluation
from livetrans.lm.rows import Rows
from livetrans.lm.server.dialects import VLLM, Completions, Ollama, Row, ServerRows, SGLang, Text, Tokens
from livetrans.lm.server.transport import Connection, ServerFault, ServerLoading

_PIECE = re.compile(f"\\s*(?:[{UNSPACED}]|[^\\s{UNSPACED}]+)")
_CONTROL = re.compile(r"([<\[])(?=\S)")
"""Where control tokens begin: a server recognises them in what people said too, so that a space breaks them."""
_WORD_TOKENS = 1.5
"""Tokens of a word: settings are in tokens, and the ids of a text server stand for words."""
_CONTEXT_TOKENS = 4096
"""Assumed where a server does not tell."""
_THOUGHT, _THOUGHT_ENDS = "<think>", "</think>"
_END = 0
COUNTING = "1 2 3 4 5 6 7 8 9"
"""A text that every translator can begin to translate."""
_EMBEDDED = re.compile(r"livetrans-([a-z]{2})-([a-z]{2})\b")
_ARCHITECTURES = ("qwen3", "gemma4", "gemma3", "gemma", "tower", "hunyuan", "llama")


class Pieces:
    """Words, each with the space before it, and characters of scripts without spaces, as ids."""

    def __init__(self) -> None:
        self._new = count(1)
        self._ids: dict[str, int] = {}
        self._texts: dict[int, str] = {0: ""}

    def number(self, text: str) -> int:
        """Return the id of a text, which is one piece; from any thread."""
        found = self._ids.get(text) or self._ids.setdefault(text, next(self._new))
        self._texts[found] = text
        return found

    def of(self, text: str) -> list[int]:
        return [self.number(piece) for piece in _PIECE.findall(text)]

    def text(self, tokens: Sequence[int]) -> str:
        return "".join(self._texts[token] for token in tokens)


class OfText:
    """A server of text: its ids are pieces, and it says what it would write, but not what it thinks of other words."""

    is_exact = False
    """Whether the server scores drafts."""
    unit_tokens = _WORD_TOKENS
    beginning: tuple[int, ...] = ()

    def __init__(self, dialect: Text) -> None:
        self.dialect = dialect
        self.pieces = Pieces()
        self.drops_space = False
        """Whether an output begins without the space that the server writes first, because its tokenizer adds one."""
        self._templates: set[int] = set()

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        if not special:
            return self.pieces.of(_CONTROL.sub(r"\1 ", text))
        token = self.pieces.number(text)
        self._templates.add(token)
        return [token] if text else []

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        return self.pieces.text(tokens).encode()

    def metadata(self, key: str) -> str | None:
        return None

    def rows(self, context: Sequence[int], start: int, most: int, ends: set[int]) -> Iterator[Row]:
        """Yield the pieces that the server writes, up to the end of a line; asking for scores is an error."""
        if start < len(context):
            raise ModelError(f"{self.dialect.name} gives no log-probabilities of a text; choose --method prefix")
        ends.add(_END)
        held, is_first, has_begun = "", context[-1] in self._templates, False
        for part in _without_thought(self.dialect.text(self.pieces.text(context), round(most * _WORD_TOKENS))):
            held += part
            if is_first and self.drops_space and not has_begun:
                held = held.lstrip(" ")
            found = [*_PIECE.finditer(held)]
            for piece in found[:-1]:
                if has_begun and "\n" in piece.group():
                    yield Row(_END)
                    return
                has_begun = True
                yield Row(self.pieces.number(piece.group()))
            held = held[found[-1].start() :] if found else held
        if held.strip() and not (has_begun and "\n" in held.rstrip()):
            yield Row(self.pieces.number(held.rstrip()))
        yield Row(_END)

    def learn_seam(self, prompt: list[int], most: int) -> None:
        """Find out how the server goes on from a text that ends with a part of its own answer.

        Raises:
            ModelError: it begins anew.
        """
        for self.drops_space in (False, True):
            first = [row.choice for row in self.rows(prompt, len(prompt), most, set())][:-1]
            for at in {len(first) // 2, len(first) // 3} - {0}:
                if next(self.rows([*prompt, *first[:at]], len(prompt) + at, most, set())).choice == first[at]:
                    return
        if len(first) > 1:
            raise ModelError(
                "the server starts each translation again instead of continuing it; use a server that continues one, "
                "such as llama-server"
            )


class OfTokens:
    """A server of token ids, which scores a draft."""

    is_exact = True
    unit_tokens = 1.0

    def __init__(self, dialect: Tokens) -> None:
        self.dialect = dialect
        self._tokenize = lru_cache(4096)(dialect.tokenize)
        self._detokenize = lru_cache(65536)(lambda token: self._text([token]))
        self.rows = dialect.rows

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        return [*self._tokenize(text if special else _CONTROL.sub(r"\1 ", text))] if text else []

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        text = "".join(map(self._detokenize, tokens))
        if "\ufffd" in text:  # A part of a character: the whole shows which.
            text = self._text(tokens).rstrip("\ufffd")
        return text.encode()

    def metadata(self, key: str) -> str | None:
        if key == "tokenizer.ggml.model":  # Such tokenizers put a space before every text.
            return "llama" if len(self.dialect.tokenize(" a")) > len(self.dialect.tokenize("a")) else None
        return str(self.beginning[0]) if key == "tokenizer.ggml.bos_token_id" and self.beginning else None

    @cached_property
    def beginning(self) -> tuple[int, ...]:
        plain, whole = self.dialect.tokenize("a"), self.dialect.tokenize("a", whole=True)
        return tuple(whole[: next((at for at in range(len(whole)) if whole[at : at + len(plain)] == plain), 0)])

    @cached_property
    def _anchor(self) -> tuple[list[int], int]:
        tokens = self.dialect.tokenize("a")
        return tokens, len(self.dialect.detokenize(tokens))

    def _text(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens, with the space before it, which a tokenizer leaves out at the start of a text."""
        anchor, length = self._anchor
        return self.dialect.detokenize([*anchor, *tokens])[length:]


@dataclass(frozen=True, slots=True, eq=False)
class ServerEvaluation(Evaluation):
    """What a server sent; its logits have shape (last_rows, 0). A forward pass is a request."""

    scored: ServerRows

    @property
    def rows(self) -> Rows:
        return self.scored


class ServerModel:
    """A context on a server; see `livetrans.lm.port.LanguageModel`, whose `evaluate` gives no logits here."""

    threads = 0
    is_parallel = False
    """Whether it answers several requests at once."""

    def __init__(
        self,
        connection: Connection,
        of: OfText | OfTokens,
        name: str,
        template: str,
        context_tokens: int,
        maximum_rows: int,
        clock: Clock,
    ) -> None:
        self.connection, self.name, self.maximum_rows, self.clock = connection, name, maximum_rows, clock
        self.context_tokens = round(context_tokens / of.unit_tokens)
        self.kind, self.is_exact, self.unit_tokens = of.dialect.name, of.is_exact, of.unit_tokens
        self._of, self._template = of, template
        self._ends: set[int] = set()
        self._answer: Iterator[Row] | None = None
        self._known: list[int] = []
        """The context of the answer's next row."""
        self._accepted: list[int] = []
        """A context that the server takes unless it takes none."""

    @property
    def beginning_tokens(self) -> tuple[int, ...]:
        return self._of.beginning

    def metadata(self, key: str) -> str | None:
        """Return what families are recognised by; a server tells names, and some a chat template."""
        made_for, low = _EMBEDDED.search(self.name), "".join(filter(str.isalnum, self.name.lower()))
        known = {
            "general.name": self.name,
            "general.architecture": next((one for one in _ARCHITECTURES if one in low), "").replace("tower", "gemma"),
            "tokenizer.chat_template": self._template or None,
            "livetrans.source_language": made_for and made_for[1],
            "livetrans.target_language": made_for and made_for[2],
        }
        return known[key] if key in known else self._of.metadata(key)

    @property
    def family(self) -> str:
        """The template of prompts that fits the model."""
        return family_of(self.metadata, is_marked=_EMBEDDED.search(self.name) is not None)

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        with self.connection.faults():
            return self._of.tokenize(text, special=special)

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        with self.connection.faults():
            return self._of.detokenize(tokens)

    def is_end_of_generation(self, token: int) -> bool:
        return token in self._ends

    def evaluate(self, context: Sequence[int], last_rows: int = 1) -> ServerEvaluation:
        """Return what the server predicts after each of the last tokens of the context, as the port says.

        Raises:
            ContextError: the server refuses the context.
            ServerFault: it cannot be used now.
        """
        try:
            return self._asked([*context], last_rows)
        except ContextError as error:
            if self._accepted:
                try:
                    self._asked(self._accepted, 1)
                except ContextError:
                    raise ServerFault(f"{error}, as all others; look at what it printed") from None
            raise

    def _asked(self, context: list[int], last_rows: int) -> ServerEvaluation:
        before, rows = self.connection.requests, list[Row]()
        with self.connection.faults():
            if last_rows == 1 and self._answer and context == self._known:
                rows = [*islice(self._answer, 1)]
            if not rows:
                self._drop()
                self._answer = self._of.rows(context, len(context) - last_rows + 1, self.maximum_rows, self._ends)
                rows = [*islice(self._answer, last_rows)]
            if len(rows) < last_rows:
                self._drop()
                raise ServerFault(f"{self.connection.url} broke off in its answer; look at what it printed")
            if self._answer and rows[-1].choice in self._ends:
                for _ in self._answer:  # What is read to its end leaves the connection open for the next request.
                    pass
        self._known = [*context, rows[-1].choice]
        requests = self.connection.requests - before
        nothing = np.empty((last_rows, 0), np.float32)
        return ServerEvaluation(len(context) - last_rows, last_rows, requests, nothing, ServerRows(rows))

    def learn(self, prompt: Sequence[int]) -> None:
        """Learn from two requests how the server goes on; its first answer may take as long as it loads."""
        self._accepted = [*prompt]
        with self.connection.faults():
            if isinstance(self._of, OfText):
                self._of.learn_seam([*prompt], self.maximum_rows)
            else:
                for _ in self._of.rows(prompt, len(prompt) - 1, self.maximum_rows, self._ends):
                    pass

    def move(self, context: Sequence[int], held: Sequence[int], count: int) -> None:
        """Move nothing: the cells are the server's."""

    def another_context(self) -> Self:
        """Return a second context, whose requests are the same server's."""
        made = copy(self)
        made._drop()
        return made

    def reload(self) -> None:
        """Drop what the server has begun."""
        self._drop()

    def close(self) -> None:
        self._drop()
        self.connection.close()

    def _drop(self) -> None:
        self._answer, self._known = None, []  # Without a reader, the answer's connection is closed.


def open_server(
    settings: LanguageModelSettings, maximum_rows: int, clock: Clock, notify: Callable[[str], None] = lambda text: None
) -> ServerModel:
    """Recognise the server, and choose its model and the class of its answers by what it does.

    `notify` is that of `Connection`. A server that is loading its model is waited for.

    Raises:
        UsageError: the model is not there, or has to be named.
        ServerFault: the server cannot be used, or the key is wrong.
    """
    connection = Connection(settings.server, settings.key_file, notify)
    try:
        while True:
            try:
                with connection.faults():
                    model = _recognised(connection, settings, maximum_rows, clock)
                connection.say("")
                return model
            except ServerLoading as fault:
                connection.wait_for(fault)
    except BaseException:
        connection.close()
        raise


def _recognised(
    connection: Connection, settings: LanguageModelSettings, maximum_rows: int, clock: Clock
) -> ServerModel:
    names = served_models(connection)
    name = settings.server_model or (names[0] if len(names) == 1 else "")
    if not name or (names and name not in names):
        if not names:
            raise UsageError(
                f"{settings.server} lists no models; check that a translation server is at this address, or name its "
                "model with --mt-model"
            )
        fault = f"{settings.server} has no model {name!r}" if name else f"{settings.server} has {len(names)} models"
        raise UsageError(f"{fault}; name one with --mt-model: {', '.join(names[:12])}")
    shown = PurePath(name.replace("\\", "/")).name.removesuffix(".gguf")
    properties, version = connection.get("/props") or {}, (connection.get("/version") or {}).get("version")
    context = (properties.get("default_generation_settings") or {}).get("n_ctx")

    def model(of: OfText | OfTokens) -> ServerModel:
        template = str(properties.get("chat_template") or "")
        tokens = context if isinstance(context, int) and context > 0 else _CONTEXT_TOKENS
        made = ServerModel(connection, of, shown, template, tokens, maximum_rows, clock)
        made.is_parallel = of.is_exact or bool(version) or int(properties.get("total_slots") or 1) > 1
        return made

    is_sglang = (connection.get("/get_model_info") or {}).get("model_path")
    exact: type[SGLang | VLLM] | None = SGLang if is_sglang else VLLM if version else None
    if exact:
        found = model(OfTokens(exact(connection, name)))
        try:
            found.learn(found.tokenize(COUNTING))
        except ModelError:
            pass  # A version that scores nothing, or not all: it still writes.
        else:
            return found
    is_ollama = (connection.get("/api/version") or {}).get("version")
    return model(OfText((Ollama if is_ollama else Completions)(connection, name)))


def served_models(connection: Connection) -> list[str]:
    """Return the models that a server lists."""
    listed = (connection.get("/v1/models") or {}).get("data") or []
    return [str(one["id"]) for one in listed if isinstance(one, dict) and one.get("id")]


def _without_thought(parts: Iterator[str]) -> Iterator[str]:
    """Yield what is written after a block of reasoning.

    Raises:
        ServerFault: there is nothing else.
    """
    held, has_begun = "", False
    for part in parts:
        held += part
        text = held.lstrip()
        thinks = text.startswith(_THOUGHT)
        if thinks and _THOUGHT_ENDS in text:
            held, thinks = text.partition(_THOUGHT_ENDS)[2].lstrip(), False
            has_begun = True
        if has_begun or not (thinks or _THOUGHT.startswith(text)):
            has_begun = True
            yield held
            held = ""
    if held.lstrip().startswith(_THOUGHT):
        raise ServerFault(
            "the server's model thinks aloud and writes no translation; take one that does not, or switch it off there"
        )
    yield held
