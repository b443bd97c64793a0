"""Time of a plain decoding step through the engine against the bare llama.cpp loop over the same tokens.

    python tests/benchmarks/engine_overhead.py [MODEL.gguf]

Both loops run the same token sequence in turns within one run, in processor time, so that a drifting or busy machine
moves both; the median of the rounds' ratios is printed. The bare loop only fills one batch entry, decodes, and reads
the logits' address and argmax. `move`, which shifts the positions of frozen cells, is timed apart: the same tokens
moved by one position against the same tokens evaluated again.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from time import thread_time

import llama_cpp
import numpy as np

from livetrans.config import LanguageModelSettings
from livetrans.lm.llama.model import LlamaModel
from livetrans.models.catalogue import TRANSLATOR
from livetrans.models.chosen import find_model

STEPS = 48
START = 16
ROUNDS = 200


def bare_loop(model: LlamaModel, tokens: list[int]) -> float:
    """Seconds of STEPS single-token decodes through the C API alone."""
    cells = model._cells_in_use()
    context, batch = cells._context, cells._batch
    vocabulary = model.vocabulary_size
    model.evaluate(tokens[:START])
    started = thread_time()
    for position in range(START, START + STEPS):
        batch.n_tokens = 1
        batch.token[0] = tokens[position]
        batch.pos[0] = position
        batch.logits[0] = 1
        if llama_cpp.llama_decode(context, batch) != 0:
            raise RuntimeError("llama_decode failed")
        np.ctypeslib.as_array(llama_cpp.llama_get_logits(context), shape=(vocabulary,)).argmax()
    seconds = thread_time() - started
    cells._forget()
    return seconds


def engine_loop(model: LlamaModel, tokens: list[int]) -> float:
    """Seconds of the same steps as a decoder makes them: a growing context, evaluated whole each time."""
    context = tokens[:START]
    model.evaluate(context)
    started = thread_time()
    for position in range(START, START + STEPS):
        context.append(tokens[position])
        int(model.evaluate(context).logits[-1].argmax())
    seconds = thread_time() - started
    model._cells_in_use()._forget()
    return seconds


def move_ratio(model: LlamaModel, tokens: list[int]) -> float:
    """Seconds to move all but the first START tokens by one position / seconds to evaluate them there again."""
    grown = [*tokens[:START], tokens[-1]]
    seconds = []
    for move in (True, False):
        model.evaluate(tokens)
        started = thread_time()
        if move:
            model.move(grown, tokens, len(tokens) - START)
            model.evaluate([*grown, *tokens[START:], tokens[0]])
        else:
            model.evaluate([*grown, *tokens[START:], tokens[0]])
        seconds.append(thread_time() - started)
        model._cells_in_use()._forget()
    return seconds[0] / seconds[1]


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else find_model(TRANSLATOR).path
    model = LlamaModel(LanguageModelSettings(path, context_tokens=512, threads=1))
    tokens = [int(token) for token in np.random.default_rng(0).integers(5, model.vocabulary_size - 300, START + STEPS)]
    ratios, steps, moves = [], [], []
    for turn in range(ROUNDS):
        order = (bare_loop, engine_loop) if turn % 2 else (engine_loop, bare_loop)
        seconds = {loop.__name__: loop(model, tokens) for loop in order}
        ratios.append(seconds["engine_loop"] / seconds["bare_loop"])
        steps.append(seconds["bare_loop"] / STEPS)
        moves.append(move_ratio(model, tokens))
    model.close()
    print(
        f"{path.name}: bare step {statistics.median(steps) * 1e6:.0f} us, "
        f"engine / bare {statistics.median(ratios):.3f} (median of {ROUNDS} rounds of {STEPS} steps, 1 thread); "
        f"{STEPS} tokens moved and one evaluated / all evaluated {statistics.median(moves):.3f}"
    )


if __name__ == "__main__":
    main()
