"""A GGUF model over llama.cpp's low-level C API, which hides how the cache is rewound.

The high-level `Llama` class is not used: it cannot ask for chosen rows of logits, copies them, and ignores failed
rewinds. This module owns the weights and the vocabulary, `livetrans.lm.llama.cells` the context.
"""

from __future__ import annotations

import ctypes
import os
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

import llama_cpp

from livetrans.base.clock import Clock, SystemClock
from livetrans.base.errors import ModelError
from livetrans.config import LanguageModelSettings
from livetrans.lm.llama.cells import LlamaCells
from livetrans.lm.port import Counts, Evaluation

# When ggml aborts, it starts a debugger that writes to the terminal, unless this is set by then.
os.environ.setdefault("GGML_NO_BACKTRACE", "1")

_OTHER_KINDS = {"livetrans.first_tail": "double"}
"""Keys of models that one method alone can use, which brings a subclass of `LlamaModel`; and the method."""
_HY_ENDS = ("<|eos|>", "<|extra_5|>")
"""Tokens with which Hy-MT2 7B ends; its GGUF files name another one."""
_LOG_ERROR = 4
"""ggml_log_level; the binding does not name its values, and its comment on them is out of date."""
_log: deque[str] = deque(maxlen=8)
"""llama.cpp's last errors: kept to explain a failed load, never printed (they would tear the screen)."""


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _keep_log(level: int, text: bytes, _user_data: ctypes.c_void_p) -> None:
    if level == _LOG_ERROR and text.strip():
        _log.append(text.decode("utf-8", "replace").strip())


class LlamaModel:
    """A GGUF model and one context of it; every method belongs to the thread that made it.

    Raises:
        ModelError: the file is missing, no GGUF, damaged, or of a kind whose cache cannot drop a tail.
        ContextError: the context is too small to be of use.
    """

    def __init__(
        self,
        settings: LanguageModelSettings,
        *,
        maximum_rows: int = 161,
        clock: Clock | None = None,
        on_progress: Callable[[float], None] | None = None,
        _weights: Any = None,
    ) -> None:
        self.clock: Clock = clock or SystemClock()
        self._settings = settings
        self._path = settings.model
        self._cells: LlamaCells | None = None
        self._pieces: dict[int, bytes] = {}
        self._wanted_rows = maximum_rows
        self._others: list[Self] = []
        self._owns_model = _weights is None
        self._open(_weights or _load(self._path, on_progress))

    def _open(self, weights: Any) -> None:
        self._model: Any = weights
        try:
            if llama_cpp.llama_model_has_encoder(self._model):
                raise ModelError(f"{self._path} is an encoder-decoder model; livetrans needs a decoder-only GGUF")
            self.vocabulary = llama_cpp.llama_model_get_vocab(self._model)
            self.vocabulary_size: int = llama_cpp.llama_vocab_n_tokens(self.vocabulary)
            self._ends = self._corrected_ends()
            self.threads = self._settings.threads or max(1, (os.cpu_count() or 2) // 2)
            self._check_kind()
            cells = self._cells = self._open_cells(self._wanted_rows)
            if not cells.can_rewind():
                raise ModelError(
                    f"{self._path} keeps a recurrent state that cannot drop a rejected draft; "
                    "choose a pure attention model (Llama, Qwen3, Gemma, Hunyuan ...)"
                )
        except BaseException:
            self.close()
            raise
        self.context_tokens, self.maximum_rows = cells.context_tokens, cells.maximum_rows

    def another_context(self) -> Self:
        other = type(self)(self._settings, maximum_rows=self._wanted_rows, clock=self.clock, _weights=self._model)
        self._others = [*(one for one in self._others if one._cells), other]
        return other

    def _corrected_ends(self) -> dict[int, bool]:
        """Return the true ends of a file that names a piece of text as its end, as Hy-MT2 7B's files name "$"."""
        end = llama_cpp.llama_vocab_eos(self.vocabulary)
        if end < 0 or llama_cpp.llama_vocab_is_control(self.vocabulary, end):
            return {}
        marks = (self.tokenize(mark, special=True) for mark in _HY_ENDS)
        ends = {tokens[0]: True for tokens in marks if len(tokens) == 1}
        return {**ends, end: False} if ends else {}

    def _check_kind(self) -> None:
        """Raise ModelError if the model is of a kind that this class cannot use."""
        for key, method in _OTHER_KINDS.items():
            if self.metadata(key) is not None:
                raise ModelError(f"only --method {method} can use {self._path}; choose it or another model")

    def _open_cells(self, maximum_rows: int) -> LlamaCells:
        return LlamaCells(self._model, self._settings, self.threads, maximum_rows)

    @property
    def name(self) -> str:
        return self.metadata("general.name") or self._path.stem

    @property
    def beginning_tokens(self) -> tuple[int, ...]:
        if not llama_cpp.llama_vocab_get_add_bos(self.vocabulary):
            return ()
        return (llama_cpp.llama_vocab_bos(self.vocabulary),)

    def metadata(self, key: str) -> str | None:
        length = llama_cpp.llama_model_meta_val_str(self._model, key.encode(), None, 0)
        if length < 0:
            return None
        buffer = ctypes.create_string_buffer(length + 1)
        llama_cpp.llama_model_meta_val_str(self._model, key.encode(), buffer, length + 1)
        return buffer.value.decode("utf-8", "replace")

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        if self._model is None:
            raise ModelError(f"{self._path} is closed")
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        tokens = (llama_cpp.llama_token * room)()
        count = llama_cpp.llama_tokenize(self.vocabulary, data, len(data), tokens, room, False, special)
        if count < 0:
            raise ModelError(f"{self._path}'s tokenizer failed on a text of {len(data)} bytes; choose another model")
        return list(tokens[:count])

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        return b"".join(self._piece(token) for token in tokens)

    def _piece(self, token: int) -> bytes:
        piece = self._pieces.get(token)
        if piece is None:
            size = -llama_cpp.llama_token_to_piece(self.vocabulary, token, None, 0, 0, False)
            buffer = ctypes.create_string_buffer(size)
            llama_cpp.llama_token_to_piece(self.vocabulary, token, buffer, size, 0, False)
            piece = self._pieces[token] = buffer.raw
        return piece

    def is_end_of_generation(self, token: int) -> bool:
        end = self._ends.get(token)
        if end is None:
            end = self._ends[token] = bool(llama_cpp.llama_vocab_is_eog(self.vocabulary, token))
        return end

    def evaluate(self, context: Sequence[int], last_rows: int = 1) -> Evaluation:
        return self._cells_in_use().evaluate(context, last_rows)

    def move(self, context: Sequence[int], held: Sequence[int], count: int) -> Counts | None:
        return self._cells_in_use().move(context, held, count)

    def _cells_in_use(self) -> LlamaCells:
        if self._cells is None:
            raise ModelError(f"{self._path} is closed")
        return self._cells

    def reload(self) -> None:
        others = [other for other in self._others if other._cells]
        self.close()
        self._open(_load(self._path, None))
        for other in others:
            other._open(self._model)
        self._others = others

    def close(self) -> None:
        for other in self._others:
            other.close()
        if self._cells:
            self._cells.close()
            self._cells = None
        if self._model and self._owns_model:
            llama_cpp.llama_model_free(self._model)
        self._model = None


def _load(path: Path, on_progress: Callable[[float], None] | None) -> Any:
    """Return llama.cpp's model of the file."""
    check_file(path)
    _redirect_log()
    params = llama_cpp.llama_model_default_params()
    params.n_gpu_layers = -1  # all that fit
    # llama.cpp crashes in passes of several tokens over weights packed for AMX (its issue 20824; so did 0.3.36).
    params.use_extra_bufts = b"AMX_INT8 = 1" not in llama_cpp.llama_print_system_info()
    raised: list[BaseException] = []

    @llama_cpp.llama_progress_callback  # type: ignore[untyped-decorator]
    def progress(fraction: float, _user_data: ctypes.c_void_p) -> bool:
        try:
            if on_progress:
                on_progress(fraction)
        except BaseException as error:  # ctypes would print it and go on
            raised.append(error)
        return not raised

    params.progress_callback = progress
    _log.clear()
    model = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
    if raised:
        raise raised[0]
    if not model:
        # The first line names the fault, the later ones only that loading failed.
        reason = f" ({' '.join(_log[0].split())})" if _log else ""
        raise ModelError(f"{path} cannot be loaded as a GGUF model{reason}; download or convert it again")
    return model


@cache
def _redirect_log() -> None:
    """Send llama.cpp's errors to `_log`; importing the binding installed a callback that prints."""
    llama_cpp.llama_log_set(_keep_log, ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()


def check_file(path: Path) -> None:
    """Raise ModelError if there is no GGUF file at the path."""
    if path.is_dir():
        raise ModelError(f"{path} is a folder; name the .gguf file in it")
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except FileNotFoundError:
        raise ModelError(f"there is no model file {path}; `livetrans models` lists what was found") from None
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror}); check its permissions") from None
    if magic != b"GGUF":
        raise ModelError(f"{path} is not a GGUF model; convert it with llama.cpp's converter or name another file")
