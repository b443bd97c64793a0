"""Methods are read as the user writes them, and what does not exist is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.bench.methods import METHOD_SETS, parse_method, parse_methods, settings_of
from livetrans.config import DecodingSettings
from livetrans.errors import UsageError


@pytest.mark.parametrize("name", METHOD_SETS)
def test_a_named_set_stands_for_its_methods_in_their_usual_spelling(name: str) -> None:
    assert tuple(method.label for method in parse_methods(name)) == METHOD_SETS[name]


def test_the_baseline_is_always_there_and_doubles_are_not() -> None:
    assert [method.label for method in parse_methods("ssbd@0.2, ssbd, ssbd@0.20,cd")] == ["rt", "ssbd@0.2", "cd"]


@pytest.mark.parametrize("name", METHOD_SETS)
def test_a_live_runs_finals_change_no_method_that_is_written_out(name: str) -> None:
    live = DecodingSettings(final="careful", bias=0.3, window=5)
    assert tuple(method.label for method in parse_methods(name, live)) == METHOD_SETS[name]
    labels = [method.label for method in parse_methods("window,window@0.1,window8,ssbd", live)]
    assert labels == ["rt", "window5@0.3+careful", "window5@0.1", "window8@0.3", "ssbd@0.3"]


def test_a_display_only_mask_is_run_plain() -> None:
    assert parse_method("ssbd@0.3+display3") == parse_method("ssbd@0.3")


@given(st.floats(0, 1), st.integers(1, 99))
def test_any_bias_and_mask_reach_the_decoder(bias: float, k: int) -> None:
    bias = round(bias, 6)
    method = parse_method(f"ssbd@{bias!r}+mask{k}")
    decoding, mask = settings_of(method, 80)
    assert (decoding.method, decoding.bias, decoding.final) == ("ssbd", bias, "partial")
    assert (mask.mode, mask.k) == ("output", k)
    assert parse_method(method.label) == method


def test_methods_with_a_draft_model_are_written_with_their_numbers() -> None:
    written = "rt,spec@4,spec@auto,bild@0.6,3,bild@0.9,0.5,ssbd@0.2+draft,window3@0.2+careful+draft8,cd+draftauto"
    methods = parse_methods(written)
    assert ",".join(method.label for method in methods) == written
    assert [method.drafted for method in methods] == [False, *[True] * 7]
    assert [method.gamma for method in methods] == [None, 4, 0, None, None, 4, 8, 0]
    assert [parse_method(short).label for short in ("spec", "bild")] == ["spec@4", "bild@0.6,3"]
    decoding, _ = settings_of(methods[4], 80)
    assert (decoding.method, decoding.fallback, decoding.rollback) == ("bild", 0.9, 0.5)


@pytest.mark.parametrize(
    "text",
    ["", "beam", "ssbd@", "ssbd@2", "ssbd@-0.1", "ssbd@nan", "ssbd@x", "rt@0.2", "cd@0", "ssbd+mask", "ssbd+mask0",
     "ssbd@0.2+hide3", "ssbd@0.2+mask3+mask5", "RT", "spec@0", "spec@17", "spec@x", "spec@", "bild@0.6", "bild@2,3",
     "bild@0.6,-1", "bild@nan,3", "bild@x,3", "rt+draft", "spec@4+draft", "cd+draft99", "spec@4+careful", "rt,paper"],
)  # fmt: skip
def test_what_does_not_exist_is_one_sentence(text: str) -> None:
    with pytest.raises(UsageError) as fault:
        parse_methods(text)
    assert "\n" not in str(fault.value)
