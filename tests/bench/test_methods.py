"""Methods are read as the user writes them, and what does not exist is refused."""

from __future__ import annotations

from collections.abc import Callable

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.errors import UsageError
from livetrans.bench.run import METHOD_SETS, parse_method, parse_methods
from livetrans.cli.options import OPTIONS
from livetrans.config import DecodingSettings


@pytest.mark.parametrize("name", METHOD_SETS)
def test_a_named_set_stands_for_its_methods_in_their_usual_spelling(name: str) -> None:
    assert tuple(method.label for method in parse_methods(name)) == METHOD_SETS[name]


def test_the_baseline_is_always_there_and_duplicates_are_not() -> None:
    assert [method.label for method in parse_methods("ssbd@0.2, ssbd, ssbd@0.20,cd")] == ["rt", "ssbd@0.2", "cd"]


def test_the_window_is_a_live_runs_and_the_others_are_the_papers() -> None:
    assert parse_method("window").decoding == DecodingSettings()
    assert (parse_method("ssbd").decoding.bias, parse_method("ssbd").decoding.final) == (0.2, "partial")


@given(st.floats(0, 1), st.integers(1, 99), st.sampled_from(["ssbd", "window", "double"]))
def test_any_bias_and_mask_reach_the_decoder(bias: float, k: int, decoder: str) -> None:
    bias = round(bias, 6)
    method = parse_method(f"{decoder}@{bias!r}:mask={k}")
    assert (method.decoding.method, method.decoding.bias) == (decoder, bias)
    assert method.mask_k == k
    assert parse_method(method.label) == method


def test_every_setting_reaches_the_decoder_and_stands_in_the_label() -> None:
    written = (
        "rt,spec:gamma=4,bild:fallback=0.9:rollback=0.5,ssbd@0.2:gamma=4,window@0.1:window=3:margin=2:final_window=9"
        ":final=fresh:gamma=8:mask=2,cd:gamma=1"
    )
    methods = parse_methods(written)
    assert ",".join(method.label for method in methods) == written
    assert [method.uses_draft_model for method in methods] == [False, *[True] * 5]
    assert [method.gamma for method in methods] == [None, 4, None, 4, 8, 1]
    assert (methods[2].decoding.fallback, methods[2].decoding.rollback) == (0.9, 0.5)
    window = methods[4].decoding
    assert (window.bias, window.window, window.margin, window.final_window) == (0.1, 3, 2, 9)
    assert parse_method("spec").gamma == 4


@pytest.mark.parametrize(
    "text",
    ["", "beam", "ssbd@", "ssbd@2", "ssbd@-0.1", "ssbd@nan", "ssbd@x", "rt@0.2", "cd@0", "ssbd:mask",
     "ssbd@0.2:hide=3", "ssbd:final=careful", "RT", "spec:gamma=0", "spec:gamma=17", "spec:gamma=x", "bild:fallback=2",
     "bild:rollback=-1", "rt:gamma=4", "double:gamma=4", "window:window=2.5", "window:final=best", "rt,paper"],
)  # fmt: skip
def test_what_does_not_exist_is_one_sentence(text: str) -> None:
    with pytest.raises(UsageError) as fault:
        parse_methods(text)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize(
    ("key", "option", "method"),
    [("window", "--live-window", "window"), ("mask", "--mask-k", "ssbd"), ("gamma", "--gamma", "spec")],
)
@pytest.mark.parametrize("value", ["-1", "0", "1", "16", "17", "1000", "1.5"])
def test_what_a_run_takes_can_be_compared(key: str, option: str, method: str, value: str) -> None:
    takes = OPTIONS[option[2:]].type

    def refuses(read: Callable[[], object]) -> bool:
        try:
            read()
        except (UsageError, click.BadParameter):
            return True
        return False

    assert refuses(lambda: takes.convert(value, None, None)) == refuses(lambda: parse_method(f"{method}:{key}={value}"))
