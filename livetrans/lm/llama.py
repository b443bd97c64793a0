"""The llama.cpp adapter: the low-level C API behind the language-model port, cache rewinds hidden.

The high-level `Llama` class is not used: it cannot ask for chosen rows of logits, copies them, and ignores failed
rewinds.
"""

from __future__ import annotations

import ctypes
import os
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llama_cpp
import numpy as np

from livetrans.clock import Clock, SystemClock
from livetrans.config import LanguageModelSettings
from livetrans.errors import ContextError, ModelError
from livetrans.lm.port import Evaluation
from livetrans.sequences import common_prefix_length

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BATCH_TOKENS = 512
_CPU_PASS_TOKENS = 32
"""llama.cpp's CPU attention changes its kernel, hence its rounding, from 64 tokens on (measured, docs/LOG.md). Below
that a Q8_0 model gives bit-identical logits in any batch, and SSBD without bias is re-translation token for token."""
_SEQUENCE = 0
_LOG_ERROR = 4
"""ggml_log_level; the binding does not name its values, and its comment on them is out of date."""
_complaints: deque[str] = deque(maxlen=8)
"""llama.cpp's last errors: kept to explain a failed load, never printed (they would tear the screen)."""


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _keep_log(level: int, text: bytes, _user_data: ctypes.c_void_p) -> None:
    if level == _LOG_ERROR and text.strip():
        _complaints.append(text.decode("utf-8", "replace").strip())


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
        _weights: LlamaModel | None = None,
    ) -> None:
        self.clock: Clock = clock or SystemClock()
        self._settings = settings
        self._path = settings.model
        self._model: Any = None
        self._owns_model = True
        self._context: Any = None
        self._batch: Any = None
        self._cached: list[int] = []
        self._pieces: dict[int, bytes] = {}
        self._ends: dict[int, bool] = {}
        self.maximum_rows = maximum_rows
        self._wanted_rows = maximum_rows
        if _weights is not None:
            self._model, self._owns_model = _weights._model, False
            self._describe()
        else:
            _check_file(self._path)
            _quieten()
        try:
            if self._owns_model:
                self._load_model(settings, on_progress)
            self._create_context(settings)
            self._require_rewind()
        except BaseException:
            self.close()
            raise

    def another_context(self) -> LlamaModel:
        """A second, empty context over the same weights; close it before this one."""
        return LlamaModel(self._settings, maximum_rows=self._wanted_rows, clock=self.clock, _weights=self)

    def _load_model(self, settings: LanguageModelSettings, on_progress: Callable[[float], None] | None) -> None:
        params = llama_cpp.llama_model_default_params()
        params.n_gpu_layers = settings.gpu_layers
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
        _complaints.clear()
        self._model = llama_cpp.llama_model_load_from_file(str(self._path).encode(), params)
        if raised:
            raise raised[0]
        if not self._model:
            # The first complaint names the fault, the later ones only that loading failed.
            reason = f" ({' '.join(_complaints[0].split())})" if _complaints else ""
            raise ModelError(f"{self._path} cannot be loaded as a GGUF model{reason}; download or convert it again")
        self._describe()
        if llama_cpp.llama_model_has_encoder(self._model):
            raise ModelError(f"{self._path} is an encoder-decoder model; livetrans needs a decoder-only GGUF")
        if llama_cpp.llama_model_is_recurrent(self._model) or llama_cpp.llama_model_is_hybrid(self._model):
            raise self._cannot_rewind()

    def _describe(self) -> None:
        self._vocabulary = llama_cpp.llama_model_get_vocab(self._model)
        self.vocabulary_size: int = llama_cpp.llama_vocab_n_tokens(self._vocabulary)
        self._window: int = llama_cpp.llama_model_n_swa(self._model)

    def _create_context(self, settings: LanguageModelSettings) -> None:
        params = llama_cpp.llama_context_default_params()
        # Beyond the length it was trained on a model writes nonsense without a word of warning.
        trained: int = llama_cpp.llama_model_n_ctx_train(self._model)
        params.n_ctx = min(settings.context_tokens, trained) if trained > 0 else settings.context_tokens
        if params.n_ctx < self.maximum_rows + 32:
            raise ContextError(
                f"a context of {params.n_ctx} tokens is too small for prompt and translation; "
                f"give --context at least {2 * (self.maximum_rows + 32)}"
            )
        params.n_batch = min(_BATCH_TOKENS, params.n_ctx)
        on_cpu = settings.gpu_layers == 0 or not llama_cpp.llama_supports_gpu_offload()
        params.n_ubatch = min(_CPU_PASS_TOKENS, params.n_batch) if on_cpu else params.n_batch
        params.n_seq_max = 1
        params.n_outputs_max = min(self.maximum_rows, params.n_batch)
        self.threads = settings.threads or max(1, (os.cpu_count() or 2) // 2)
        params.n_threads = params.n_threads_batch = self.threads
        # With a partial sliding-window cache a rewind succeeds and later logits are silently wrong.
        params.swa_full = True
        params.no_perf = True
        self._context = llama_cpp.llama_init_from_model(self._model, params)
        if not self._context:
            raise ModelError(f"no context of {settings.context_tokens} tokens fits in memory; give a smaller --context")
        self.context_tokens: int = llama_cpp.llama_n_ctx(self._context)
        self._batch_tokens: int = llama_cpp.llama_n_batch(self._context)
        self.maximum_rows = min(self.maximum_rows, self._batch_tokens)
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._batch = llama_cpp.llama_batch_init(self._batch_tokens, 0, 1)
        view = np.ctypeslib.as_array
        self._token_view = view(self._batch.token, shape=(self._batch_tokens,))
        self._position_view = view(self._batch.pos, shape=(self._batch_tokens,))
        self._wanted_view = view(self._batch.logits, shape=(self._batch_tokens,))
        view(self._batch.n_seq_id, shape=(self._batch_tokens,))[:] = 1
        for index in range(self._batch_tokens):
            self._batch.seq_id[index][0] = _SEQUENCE

    def _require_rewind(self) -> None:
        """Decode two tokens and drop one: the only proof that this cache can lose a tail."""
        probe = [min(1, self.vocabulary_size - 1)] * 2
        self.evaluate(probe)
        if not llama_cpp.llama_memory_seq_rm(self._memory, _SEQUENCE, 1, -1):
            raise self._cannot_rewind()
        self._forget()

    def _cannot_rewind(self) -> ModelError:
        return ModelError(
            f"{self._path} keeps a recurrent state that cannot drop a rejected draft; "
            "choose a pure attention model (Llama, Qwen3, Gemma, Hunyuan ...)"
        )

    @property
    def name(self) -> str:
        return self.metadata("general.name") or self._path.stem

    @property
    def beginning_tokens(self) -> tuple[int, ...]:
        if not llama_cpp.llama_vocab_get_add_bos(self._vocabulary):
            return ()
        return (llama_cpp.llama_vocab_bos(self._vocabulary),)

    def metadata(self, key: str) -> str | None:
        size = 256
        while True:
            buffer = ctypes.create_string_buffer(size)
            length = llama_cpp.llama_model_meta_val_str(self._model, key.encode(), buffer, size)
            if length < 0:
                return None
            if length < size:
                return buffer.value.decode("utf-8", "replace")
            size = length + 1

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        tokens = (llama_cpp.llama_token * room)()
        count = llama_cpp.llama_tokenize(self._vocabulary, data, len(data), tokens, room, False, special)
        if count < 0:
            raise ModelError(f"{self._path}'s tokenizer failed on a text of {len(data)} bytes")
        return list(tokens[:count])

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        return b"".join(self._piece(token) for token in tokens)

    def _piece(self, token: int) -> bytes:
        piece = self._pieces.get(token)
        if piece is None:
            size = 64
            while True:
                buffer = ctypes.create_string_buffer(size)
                length = llama_cpp.llama_token_to_piece(self._vocabulary, token, buffer, size, 0, False)
                if length >= 0:
                    break
                size = -length
            piece = self._pieces[token] = buffer.raw[:length]
        return piece

    def is_end_of_generation(self, token: int) -> bool:
        end = self._ends.get(token)
        if end is None:
            end = self._ends[token] = bool(llama_cpp.llama_vocab_is_eog(self._vocabulary, token))
        return end

    def evaluate(self, context: Sequence[int], last_rows: int = 1) -> Evaluation:
        context = context if isinstance(context, list) else list(context)
        length = len(context)
        if length > self.context_tokens:
            raise ContextError(
                f"{length} tokens do not fit in the context of {self.context_tokens}; "
                "give a larger --context, or choose a model that was trained with a longer one"
            )
        # llama.cpp aborts the process on more outputs than it reserved, so refuse here.
        if not 0 < last_rows <= min(self.maximum_rows, length):
            raise ContextError(f"{last_rows} rows of logits asked of {length} tokens; at most {self.maximum_rows}")
        kept = self._keep(min(common_prefix_length(self._cached, context), length - last_rows))
        parts: list[NDArray[np.float32]] = []
        passes = 0
        for begin in range(kept, length, self._batch_tokens):
            end = min(begin + self._batch_tokens, length)
            rows = min(max(end - (length - last_rows), 0), end - begin)
            self._decode(context, begin, end, rows)
            passes += 1
            if rows:
                pointer = llama_cpp.llama_get_logits(self._context)
                view = np.ctypeslib.as_array(pointer, shape=(rows, self.vocabulary_size))
                parts.append(view if end == length else view.copy())
        logits = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return Evaluation(logits, kept, length - kept, passes)

    def _decode(self, context: list[int], begin: int, end: int, rows: int) -> None:
        count = end - begin
        self._token_view[:count] = context[begin:end]
        self._position_view[:count] = range(begin, end) if count == 1 else np.arange(begin, end)
        self._wanted_view[: count - rows] = 0
        self._wanted_view[count - rows : count] = 1
        self._batch.n_tokens = count
        result = llama_cpp.llama_decode(self._context, self._batch)
        if result != 0:
            self._forget()
            raise ModelError(f"llama.cpp could not evaluate {count} tokens of {self._path} (code {result})")
        self._cached.extend(context[begin:end])

    def _keep(self, kept: int) -> int:
        """Drop the cache's tail after `kept` tokens; returns how many are truly kept."""
        if kept == len(self._cached):
            return kept
        removed = llama_cpp.llama_memory_seq_rm(self._memory, _SEQUENCE, kept, -1)
        if not removed or not self._window_is_whole(kept):
            self._forget()
            return 0
        del self._cached[kept:]
        return kept

    def _window_is_whole(self, kept: int) -> bool:
        """Whether every position that the next token attends to is still there.

        A successful removal is no proof for sliding-window caches: cells outside the window may have been reused.
        """
        if self._window == 0 or kept == 0:
            return True
        first: int = llama_cpp.llama_memory_seq_pos_min(self._memory, _SEQUENCE)
        return first == 0 or first <= kept - self._window

    def _forget(self) -> None:
        llama_cpp.llama_memory_clear(self._memory, True)
        self._cached.clear()

    def close(self) -> None:
        if self._batch is not None:
            llama_cpp.llama_batch_free(self._batch)
            self._batch = None
        if self._context:
            llama_cpp.llama_free(self._context)
            self._context = None
        if self._model and self._owns_model:
            llama_cpp.llama_model_free(self._model)
        self._model = None


_is_quiet = False


def _quieten() -> None:
    """Send llama.cpp's errors to `_complaints`; importing the binding installed one that prints."""
    global _is_quiet
    if not _is_quiet:
        llama_cpp.llama_log_set(_keep_log, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        _is_quiet = True


def _check_file(path: Path) -> None:
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
