"""Which other pair the doctor names: the preferred one of those that should keep up and fit in memory."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.bench.cost import Cost
from livetrans.config import LanguageModelSettings, RecogniserSettings, Settings
from livetrans.doctor.better import Candidate, Predicted, candidates, choose, predict_loads
from livetrans.doctor.machine import OK, WARNING
from livetrans.doctor.measuring import MeasuredRecogniser, MeasuredTranslator
from livetrans.doctor.prediction import Costs, Load
from livetrans.models.catalogue import RECOGNISER, TRANSLATOR, Catalogue, Entry, Purpose
from livetrans.models.find import FoundModel, known_models

GB = 10**9
RECOGNISERS = [Candidate(name, RECOGNISER, size, size, False) for name, size in (("big", 3 * GB), ("small", GB // 2))]
TRANSLATORS = [Candidate(name, TRANSLATOR, size, size, False) for name, size in (("7b", 5 * GB), ("2b", GB))]
FAST, SLOW = Load(0.2, 0.2, 0.5, 1.2), Load(3.0, 0.2, 3.0, 5.0)


def pairs(able: set[tuple[str, str]]) -> list[Predicted]:
    return [
        Predicted(first, second, FAST if (first.name, second.name) in able else SLOW)
        for first, second in product(RECOGNISERS, TRANSLATORS)
    ]


def chosen(able: set[tuple[str, str]], in_use: tuple[str | None, str | None], load: Load = FAST, memory: int = 99 * GB):
    return choose(pairs(able), (RECOGNISERS, TRANSLATORS), in_use, load, memory)


def test_the_embedded_pair_has_a_better_one() -> None:
    found = chosen({("small", "2b"), ("big", "2b")}, (None, None))
    assert found is not None and found.state == OK
    assert "big with 2b should keep up" in found.text and "`livetrans models pull big`" in (found.advice or "")


def test_a_pair_that_does_not_keep_up_has_a_lighter_one() -> None:
    found = chosen({("small", "2b")}, ("big", "7b"), SLOW)
    assert found is not None and found.state == WARNING and "small with 2b" in found.text


def test_the_best_pair_that_keeps_up_needs_no_other() -> None:
    assert chosen({("big", "7b")}, ("big", "7b")) is None
    assert chosen({("small", "2b")}, ("big", "2b")) is None, "what keeps up is not exchanged for less"
    better = chosen({("big", "2b"), ("small", "2b")}, ("small", "2b"))
    assert better is not None and "big with 2b" in better.text


def test_memory_limits_the_choice() -> None:
    found = chosen({("big", "7b"), ("small", "2b")}, (None, None), memory=3 * GB)
    assert found is not None and "small with 2b" in found.text


def test_where_none_keeps_up_the_lightest_is_named_with_what_helps() -> None:
    found = chosen(set(), (None, None))
    assert found is not None and found.state == WARNING
    assert "no known pair of models" in found.text and "--window partials" in (found.advice or "")
    one = [replace(pair, with_step=(2.0, FAST)) for pair in pairs(set())]
    found = choose(one, (RECOGNISERS, TRANSLATORS), (None, None), FAST, 99 * GB)
    assert found is not None and "should with --step 2" in found.text and "--step 2" in (found.advice or "")


def test_people_are_promised_a_pair_or_told_that_there_is_none() -> None:
    found = chosen({("big", "7b")}, (None, None), memory=1)
    assert found is not None and found.state == WARNING and "fits in the free memory" in found.text
    assert chosen({("big", "7b")}, ("big", "7b"), memory=1) is None


def test_candidates_know_the_languages_and_are_free_to_use_or_here(tmp_path: Path) -> None:
    catalogue = known_models()
    settings = Settings(RecogniserSettings(tmp_path), LanguageModelSettings(tmp_path), sources=("de",), targets=("ja",))
    recognisers, translators = candidates(settings, catalogue, [])
    assert recognisers and translators
    assert all(not one.name.endswith(".en") for one in recognisers)
    entries = {entry.name: entry for entry in catalogue.entries}
    assert all(entries[one.name].restriction is None for one in (*recognisers, *translators))
    best = list(catalogue.purposes.values())[-1]
    assert recognisers[0].name == best.recognisers[0]
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(b"GGUF")
    _, with_mine = candidates(settings, catalogue, [FoundModel(mine, TRANSLATOR, "user data")])
    assert [one.command for one in with_mine if one.here] == ["--mt mine.gguf"]


def test_a_restricted_model_is_named_only_where_it_is_here(tmp_path: Path) -> None:
    entry = Entry("r", TRANSLATOR, "a/r", "r.gguf", size=GB, restriction="research only", prompt=None)
    catalogue = Catalogue((entry,), {"small": Purpose((), ("r",))})
    settings = Settings(RecogniserSettings(tmp_path), LanguageModelSettings(tmp_path))
    assert candidates(settings, catalogue, [])[1] == []
    found = FoundModel(tmp_path / "r.gguf", TRANSLATOR, "user data", entry=entry)
    assert [one.name for one in candidates(settings, catalogue, [found])[1]] == ["r"]


@given(st.floats(0.01, 2), st.floats(0.001, 2), st.floats(1, 50))
def test_larger_models_are_predicted_to_be_slower(
    tmp_path_factory: pytest.TempPathFactory, pass_seconds: float, update_seconds: float, growth: float
) -> None:
    folder = tmp_path_factory.mktemp("models")
    for name in ("asr", "mt.gguf"):
        (folder / name).write_bytes(bytes(1000))
    settings = Settings(RecogniserSettings(folder / "asr"), LanguageModelSettings(folder / "mt.gguf"))
    same, larger = (
        (Candidate("x", RECOGNISER, size, 1, True), Candidate("x", TRANSLATOR, size, 1, True))
        for size in (1000, round(1000 * growth))
    )
    passes = tuple((length, pass_seconds) for length in (1.0, 4.0, 12.0))
    recogniser = MeasuredRecogniser(passes, pass_seconds, 1)
    cost = Cost(1, 0.01, 1.0, 0.01, 1.0, 0.01)
    translator = MeasuredTranslator((cost,), Costs(update_seconds, update_seconds), 0)
    one, other = predict_loads(settings, recogniser, translator, [same, larger])
    assert one.load.recogniser == pytest.approx(pass_seconds / 0.8)
    for pair in (one, other):
        assert pair.with_step is None or (pair.with_step[0] > 0.8 and pair.with_step[1].keeps_up)
    assert other.load.recogniser >= one.load.recogniser and other.load.lag >= one.load.lag
