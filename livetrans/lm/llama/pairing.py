"""A second model that proposes tokens to the first: another file, room in memory for both, and the same vocabulary."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import llama_cpp

from livetrans.clock import Clock
from livetrans.config import LanguageModelSettings
from livetrans.errors import ModelError, UsageError
from livetrans.lm.llama.cells import runs_on_cpu
from livetrans.lm.llama.model import LlamaModel
from livetrans.lm.llama.probe import check_model


def load_draft_model(path: Path, target: LanguageModelSettings, clock: Clock) -> LlamaModel:
    """Load a model that proposes tokens to the target.

    Raises:
        UsageError: it is the target's own file.
        ModelError: it cannot be used, or does not fit in the memory that is free.
    """
    import psutil  # type: ignore[import-untyped]

    check_model(path)
    if path.samefile(target.model):
        raise UsageError(
            f"{path.name} is the translator itself, which would propose what it has to verify; "
            "name a smaller model of the same vocabulary with --draft-model"
        )
    needed, free = path.stat().st_size, psutil.virtual_memory().available
    if runs_on_cpu() and needed > free:
        raise ModelError(
            f"the draft model {path.name} needs {needed / 1e9:.1f} GB of memory beside the translator, and "
            f"{free / 1e9:.1f} GB are free; name a smaller one with --draft-model, or go without"
        )
    return LlamaModel(replace(target, model=path), maximum_rows=1, clock=clock)


def shared_vocabulary(target: LlamaModel, draft: LlamaModel) -> int:
    """Return how many leading tokens both have, compared piece by piece; one may have unused pieces behind them.

    Raises:
        ModelError: their vocabularies differ.
    """
    sizes = target.vocabulary_size, draft.vocabulary_size
    shared = min(sizes)
    different = next((token for token in range(shared) if _piece(target, token) != _piece(draft, token)), None)
    longer = target if sizes[0] > sizes[1] else draft
    if different is None:
        used = (token for token in range(shared, max(sizes)) if not _is_unused(longer, token))
        different = next(used, None)
    if different is not None:
        raise ModelError(
            f"the draft model {draft.name} has another vocabulary than {target.name} (they differ at token {different} "
            f"of {sizes[0]} and {sizes[1]}); name a model of the same family with --draft-model"
        )
    return shared


def _piece(model: LlamaModel, token: int) -> tuple[bytes, bool]:
    text: bytes = llama_cpp.llama_vocab_get_text(model.vocabulary, token)
    return text, model.is_end_of_generation(token)


def _is_unused(model: LlamaModel, token: int) -> bool:
    """Return whether it is padding, which converters add so that sizes are round."""
    return bool(llama_cpp.llama_vocab_get_attr(model.vocabulary, token) & llama_cpp.LLAMA_TOKEN_ATTR_UNUSED)
