"""A llama.cpp context: evaluates tokens, keeps the cells of what it has evaluated, drops and moves them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from livetrans.base.errors import ContextError, ModelError
from livetrans.base.sequences import common_prefix_length
from livetrans.config import LanguageModelSettings
from livetrans.lm.port import Counts, Evaluation

_BATCH_TOKENS = 512
_CPU_PASS_TOKENS = 32
"""From 64 tokens on llama.cpp's CPU attention uses another kernel and rounds differently (docs/design.md).
Below that a Q8_0 model gives bit-identical logits in any batch: SSBD without bias is re-translation token for token."""
_CONTEXT, _MOVING = 0, 1
"""llama.cpp's sequences: the context, and the cells that are being moved within it."""


def runs_on_cpu() -> bool:
    return not llama_cpp.llama_supports_gpu_offload()


class LlamaCells:
    """One context over loaded weights, and the tokens whose cells (keys and values) it holds, at positions 0, 1, 2, ...

    Raises:
        ContextError: the context is too small to be of use.
        ModelError: it does not fit in memory.
    """

    def __init__(self, model: Any, settings: LanguageModelSettings, threads: int, maximum_rows: int) -> None:
        self._tokens: list[int] = []
        self._path = settings.model
        self._vocabulary_size: int = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
        params = llama_cpp.llama_context_default_params()
        # Beyond the length that it was trained on, a model writes nonsense without a warning.
        trained: int = llama_cpp.llama_model_n_ctx_train(model)
        params.n_ctx = min(settings.context_tokens, trained) if trained > 0 else settings.context_tokens
        if params.n_ctx < maximum_rows + 32:
            raise ContextError(
                f"a context of {params.n_ctx} tokens is too small for prompt and translation; "
                f"give --context at least {2 * (maximum_rows + 32)}"
            )
        params.n_batch = min(_BATCH_TOKENS, params.n_ctx)
        params.n_ubatch = min(_CPU_PASS_TOKENS, params.n_batch) if runs_on_cpu() else params.n_batch
        # A second sequence over the same cells: llama.cpp evaluates only after a sequence's last position, so moved
        # cells wait in it while the tokens before them are evaluated.
        params.n_seq_max = 2
        params.kv_unified = True
        # llama.cpp aborts with fewer outputs than sequences.
        params.n_outputs_max = max(min(maximum_rows, params.n_batch), params.n_seq_max)
        # Different counts for single and batched passes cost a fifth of the speed (OpenMP).
        params.n_threads = params.n_threads_batch = threads
        # With a partial sliding-window cache a rewind succeeds and later logits are silently wrong.
        params.swa_full = True
        params.no_perf = True
        self._context: Any = llama_cpp.llama_init_from_model(model, params)
        if not self._context:
            raise ModelError(f"no context of {settings.context_tokens} tokens fits in memory; give a smaller --context")
        self.context_tokens: int = llama_cpp.llama_n_ctx(self._context)
        self._batch_tokens: int = llama_cpp.llama_n_batch(self._context)
        self.maximum_rows = min(maximum_rows, self._batch_tokens)
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._pass_tokens = self._batch_tokens
        self.can_move = bool(llama_cpp.llama_memory_can_shift(self._memory)) and llama_cpp.llama_model_n_swa(model) == 0
        self._batch = llama_cpp.llama_batch_init(self._batch_tokens, 0, 1)
        view = np.ctypeslib.as_array
        self._token_view = view(self._batch.token, shape=(self._batch_tokens,))
        self._position_view = view(self._batch.pos, shape=(self._batch_tokens,))
        self._wanted_view = view(self._batch.logits, shape=(self._batch_tokens,))
        view(self._batch.n_seq_id, shape=(self._batch_tokens,))[:] = 1
        for index in range(self._batch_tokens):
            self._batch.seq_id[index][0] = _CONTEXT

    def can_rewind(self) -> bool:
        """Decode two tokens and drop one: the only reliable test that the cache can be truncated."""
        self.evaluate([min(1, self._vocabulary_size - 1)] * 2)
        can: bool = llama_cpp.llama_memory_seq_rm(self._memory, _CONTEXT, 1, -1)
        self._forget()
        return can

    def evaluate(self, context: Sequence[int], last_rows: int = 1) -> Evaluation:
        """See `livetrans.lm.port.LanguageModel.evaluate`."""
        context = context if isinstance(context, list) else list(context)
        length = len(context)
        self._check_length(length)
        # llama.cpp aborts the process on more outputs than it reserved, so refuse here.
        if not 0 < last_rows <= min(self.maximum_rows, length):
            raise ContextError(
                f"{last_rows} rows of logits cannot be read of {length} tokens; at most {self.maximum_rows}"
            )
        kept = min(common_prefix_length(self._tokens, context), length - last_rows)
        if self._is_joined(context, kept) or self._is_joined(self._tokens, kept):
            kept -= 1
        kept = self._keep(kept)
        logits, passes = self._evaluate_rest(context, last_rows)
        if np.isnan(logits.max()):  # The maximum is nan if any element is.
            raise ModelError(f"{self._path} gave logits that are not numbers; choose another model")
        return Evaluation(kept, length - kept, passes, logits)

    def move(self, context: Sequence[int], held: Sequence[int], count: int) -> Counts | None:
        """See `livetrans.lm.port.LanguageModel.move`."""
        context, held = list(context), list(held)
        if not self.can_move or self._tokens[: len(held)] != held:
            return None
        begin, end, block = len(held) - count, len(held), held[len(held) - count :]
        self._check_length(len(context) + count)
        kept = common_prefix_length(self._tokens[:begin], context)
        llama_cpp.llama_memory_seq_cp(self._memory, _CONTEXT, _MOVING, begin, end)
        llama_cpp.llama_memory_seq_rm(self._memory, _CONTEXT, kept, -1)
        llama_cpp.llama_memory_seq_add(self._memory, _MOVING, begin, end, len(context) - begin)
        del self._tokens[kept:]
        _, passes = self._evaluate_rest(context, 0)
        llama_cpp.llama_memory_seq_cp(self._memory, _MOVING, _CONTEXT, -1, -1)
        llama_cpp.llama_memory_seq_rm(self._memory, _MOVING, -1, -1)
        self._tokens.extend(block)
        return Counts(kept, len(context) - kept, passes)

    def _check_length(self, length: int) -> None:
        if length > self.context_tokens:
            raise ContextError(
                f"{length} tokens do not fit in the context of {self.context_tokens}; "
                "give a larger --context, or choose a model that was trained with a longer one"
            )

    def _evaluate_rest(self, context: list[int], last_rows: int) -> tuple[NDArray[np.float32], int]:
        """Evaluate the tokens that the cache lacks; return logits (last_rows, vocabulary) and the number of passes."""
        length = len(context)
        parts: list[NDArray[np.float32]] = []
        passes = 0
        while (begin := len(self._tokens)) < length:
            end = min(begin + self._pass_tokens, length)
            if self._is_joined(context, end):
                end -= 1
            rows = min(max(end - (length - last_rows), 0), end - begin)
            self._decode(context, begin, end, rows)
            passes += 1
            if rows:
                pointer = llama_cpp.llama_get_logits(self._context)
                view = np.ctypeslib.as_array(pointer, shape=(rows, self._vocabulary_size))
                parts.append(view if end == length else view.copy())
        if not parts:
            return np.empty((0, self._vocabulary_size), np.float32), passes
        return parts[0] if len(parts) == 1 else np.concatenate(parts), passes

    def _decode(self, context: list[int], begin: int, end: int, rows: int) -> None:
        count = end - begin
        self._token_view[:count] = context[begin:end]
        self._position_view[:count] = self._positions(context, begin, end)
        self._wanted_view[: count - rows] = 0
        self._wanted_view[count - rows : count] = 1
        self._batch.n_tokens = count
        result = llama_cpp.llama_decode(self._context, self._batch)
        if result != 0:
            self._forget()
            raise ModelError(
                f"llama.cpp could not evaluate {count} tokens of {self._path} (code {result}); "
                "give a smaller --context, or choose another model"
            )
        self._tokens.extend(context[begin:end])

    def _keep(self, kept: int) -> int:
        """Drop all cells but the first `kept`; return the number that is truly kept."""
        if kept == len(self._tokens):
            return kept
        position = self._positions(self._tokens, kept, kept + 1)[0]
        if not llama_cpp.llama_memory_seq_rm(self._memory, _CONTEXT, position, -1):
            self._forget()
            return 0
        del self._tokens[kept:]
        return kept

    def _positions(self, tokens: Sequence[int], begin: int, end: int) -> Sequence[int]:
        return range(begin, end)

    def _is_joined(self, tokens: Sequence[int], at: int) -> bool:
        """Return whether the token at `at` has to be evaluated together with the one before it."""
        return False

    def _forget(self) -> None:
        llama_cpp.llama_memory_clear(self._memory, True)
        self._tokens.clear()

    def close(self) -> None:
        llama_cpp.llama_batch_free(self._batch)
        llama_cpp.llama_free(self._context)
