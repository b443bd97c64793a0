"""Our figures against other people's scorers, in their units and on their own formats.

simulstream and SimulEval name dependencies that a scorer does not need (torch, pandas): they are installed with
`pip install --no-deps`, and of SimulEval only the latency module is loaded.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from livetrans.metrics.captions import NormalizedErasure, erasure
from livetrans.metrics.latency import average_lagging, length_adaptive_average_lagging, stable_delays
from livetrans.metrics.quality import bleu, chrf, tokenizer

WORDS = st.lists(st.sampled_from(["das", "Haus,", "alt", "die", "Häuser"]), max_size=5).map(" ".join)
STREAMS = st.lists(st.lists(WORDS, min_size=1, max_size=5), min_size=1, max_size=3)
FILES = settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


class Simulstream:
    """simulstream's reader and its statistics, on a log of ours."""

    def __init__(self, folder: Path) -> None:
        self._stats = pytest.importorskip("simulstream.metrics.stats", reason="pip install --no-deps simulstream")
        config = importlib.import_module("simulstream.config")
        evaluation = folder / "evaluation.yaml"
        evaluation.write_text("detokenizer_type: simuleval\nlatency_unit: word\n", encoding="utf-8")
        self._config = config.yaml_config(str(evaluation))
        self._log = folder / "log.jsonl"

    def read(self, streams: Sequence[Sequence[str]], unit: str) -> Any:
        """Read the log of a run in which every update came two seconds after the one before and took 1/8 s."""
        cut, lines = tokenizer(unit), []
        for number, stream in enumerate(streams):
            lines.append({"id": number, "metadata": {"wav_name": f"{number}.wav"}})
            previous: list[str] = []
            for index, text in enumerate(stream, 1):
                tokens = cut(text)
                kept = len(previous) - erasure(previous, tokens)
                delays = {"total_audio_processed": 2.0 * index, "computation_time": 0.125}
                changes = {"generated_tokens": tokens[kept:], "deleted_tokens": previous[kept:]}
                lines.append({"id": number, **delays, **changes})
                previous = tokens
        self._log.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        return self._stats.LogReader(self._config, str(self._log), latency_unit="word")

    def normalized_erasure(self, streams: Sequence[Sequence[str]], unit: str) -> float:
        return float(self._stats.NormalizedErasure().compute(self.read(streams, unit)))


@pytest.fixture
def simulstream(tmp_path: Path) -> Simulstream:
    return Simulstream(tmp_path)


@pytest.mark.parametrize("unit", ["word", "13a", "char"])
def test_normalized_erasure_is_simulstreams(simulstream: Simulstream, unit: str) -> None:
    @FILES
    @given(STREAMS)
    def check(streams: list[list[str]]) -> None:
        assume(any(stream[-1] for stream in streams))
        cut = tokenizer(unit)
        ours = NormalizedErasure()
        for number, stream in enumerate(streams):
            for index, text in enumerate(stream, 1):
                ours.add(number, cut(text), final=index == len(stream))
        assert simulstream.normalized_erasure(streams, unit) == pytest.approx(ours.ratio_of_sums)

    check()


def test_the_delays_of_retranslated_units_are_simulstreams(simulstream: Simulstream) -> None:
    @FILES
    @given(STREAMS)
    def check(streams: list[list[str]]) -> None:
        outputs = simulstream.read(streams, "word").final_outputs_and_latencies()
        assert len(outputs) == len(streams)
        for theirs, stream in zip(outputs.values(), streams, strict=True):
            heard = [2.0 * index for index in range(1, len(stream) + 1)]
            texts = [text.split() for text in stream]
            assert theirs.final_text.split() == texts[-1]
            assert theirs.ideal_delays == stable_delays(heard, texts)
            aware = [reach + 0.125 for reach in heard]
            assert theirs.computational_aware_delays == stable_delays(aware, texts)

    check()


@pytest.fixture(scope="module")
def simuleval() -> Iterator[ModuleType]:
    """SimulEval's latency scorers, without the packages around them, which load pandas and a web server."""
    package = pytest.importorskip("simuleval", reason="pip install --no-deps simuleval")
    folder = Path(package.__path__[0])
    before = dict(sys.modules)
    try:
        for name, place in (("evaluator", "evaluator"), ("evaluator.scorers", "evaluator/scorers")):
            bare = ModuleType(f"simuleval.{name}")
            bare.__path__ = [str(folder / place)]
            sys.modules[bare.__name__] = bare
        if importlib.util.find_spec("textgrid") is None:
            sys.modules["textgrid"] = ModuleType("textgrid")  # asked only for spoken output
        yield importlib.import_module("simuleval.evaluator.scorers.latency_scorer")
    finally:
        for name in sys.modules.keys() - before.keys():
            del sys.modules[name]


DELAYS = st.lists(st.integers(1, 30), min_size=1, max_size=15).map(sorted)


@pytest.mark.parametrize("aware", [False, True])
@pytest.mark.parametrize(
    ("scorer", "ours"), [("AL", average_lagging), ("LAAL", length_adaptive_average_lagging)], ids=["AL", "LAAL"]
)
def test_lagging_is_simulevals(simuleval: ModuleType, scorer: str, ours: Any, aware: bool) -> None:
    theirs = simuleval.LATENCY_SCORERS_DICT[scorer](computation_aware=aware)

    @given(DELAYS, st.floats(0, 5), st.integers(1, 30), st.integers(1, 30))
    def check(delays: list[int], computation: float, source_length: int, reference_length: int) -> None:
        elapsed = [delay + computation for delay in delays]
        sentence = SimpleNamespace(
            delays=delays,
            elapsed=elapsed,
            reference="reference",
            reference_length=reference_length,
            source_length=source_length,
            metrics={},
        )
        assert ours(elapsed if aware else delays, source_length, reference_length) == pytest.approx(
            theirs({0: sentence})
        )

    check()


SENTENCES = [
    ("Das Haus ist sehr alt.", "Das Haus ist alt."),
    ("Wir gehen heute in den Wald, sagte sie.", "„Wir gehen heute in den Wald“, sagte sie."),
    ("", "Ja."),
]


def test_bleu_and_chrf_are_sacrebleus() -> None:
    sacrebleu = pytest.importorskip("sacrebleu", reason="comes with livetrans[bench]")
    hypotheses, references = map(list, zip(*SENTENCES, strict=True))
    assert bleu(hypotheses, references, "de").value == sacrebleu.corpus_bleu(hypotheses, [references]).score
    assert chrf(hypotheses, references).value == sacrebleu.corpus_chrf(hypotheses, [references]).score
    chinese = ["我们今天去森林。"], ["我们今天去那片森林。"]
    expected = sacrebleu.corpus_bleu(chinese[0], [chinese[1]], tokenize="zh").score
    assert bleu(*chinese, "zh").value == expected
    assert bleu(*chinese, "de").value != expected
