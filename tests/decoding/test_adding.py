"""The decoder of docs/adding.md: it works, and a row of the table is all that the program needs to know of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from livetrans.config import DecodingSettings
from livetrans.decoding import DECODERS, Decoded, Decoder, Decoding, Draft
from livetrans.lm.scripted import BEGIN, SOURCE, TARGET, ScriptedModel, hashed_rule, word_by_word_rule

DOCUMENT = Path(__file__).parents[2] / "docs" / "adding.md"
EXAMPLE = re.search(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


def example() -> Decoder:
    assert EXAMPLE
    names: dict[str, object] = {}
    exec(EXAMPLE[1], names)
    decoder = names["TWICE"]
    assert isinstance(decoder, Decoder)
    return decoder


TWICE = example()


def decode(decoder: Decoder, model: ScriptedModel, source: list[int], draft: tuple[int, ...], bias: float) -> Decoded:
    prompt = [BEGIN, SOURCE, *source, TARGET]
    return decoder.decode(Decoding(model, prompt, 24), Draft(draft), DecodingSettings(bias=bias))


@given(st.lists(st.integers(4, 20), min_size=1, max_size=8), st.integers(0, 99))
def test_without_bias_it_writes_what_retranslation_writes(source: list[int], seed: int) -> None:
    plain = ScriptedModel(hashed_rule(seed), vocabulary_size=24)
    twice = ScriptedModel(hashed_rule(seed), vocabulary_size=24)
    draft: tuple[int, ...] = ()
    for length in range(1, len(source) + 1):
        expected = decode(DECODERS["rt"], plain, source[:length], (), 0.0)
        written = decode(TWICE, twice, source[:length], draft, 0.0)
        assert written.tokens == expected.tokens
        draft = written.tokens


def test_it_accepts_the_draft_behind_a_replaced_token() -> None:
    model = ScriptedModel(word_by_word_rule(unsure_of_last=False))
    source = model.tokenize("one two three four")
    draft = tuple(model.tokenize("ONE (TWO) THREE FOUR"))
    decoded = decode(TWICE, model, source, draft, 0.2)
    assert model.detokenize(decoded.tokens) == b" ONE TWO THREE FOUR"
    assert [(span.begin, span.end) for span in decoded.accepted] == [(0, 1), (2, 4)]
    assert decoded.stats.forward_passes == 2


def test_a_row_of_the_table_is_all_that_the_program_needs() -> None:
    assert EXAMPLE
    program = f"""{EXAMPLE[1]}
from livetrans.decoding import DECODERS
DECODERS[TWICE.name] = TWICE
from livetrans.bench.methods import parse_methods
from livetrans.cli import run
print(parse_methods("rt,twice@0.2"))
raise SystemExit(run(["replay", "--help"]))
"""
    environment = {**os.environ, "COLUMNS": "200"}
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    ).stdout
    assert "twice" in output.splitlines()[0]
    assert TWICE.summary in " ".join(output.split())
