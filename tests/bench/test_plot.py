"""Plots from table rows: the same bytes for the same rows, readable colours, nothing overwritten."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from livetrans.base.errors import UsageError
from livetrans.bench import plot as plotting
from livetrans.bench.plot import plot
from livetrans.bench.run import parse_method
from livetrans.metrics.latency import Spread
from livetrans.metrics.quality import Interval
from tests.bench.runs import corpus_of, header_of

pytest.importorskip("matplotlib", reason="comes with livetrans[bench]")

DATE = "2026-11-21"
HEADER = header_of(corpus_of(Path(tempfile.mkdtemp())))
NAME = "tower-2b-Q4_K_M-flores200.devtest"
Row = dict[str, Any]


class Measured(SimpleNamespace):
    """What a plot needs of a method of a run."""

    def score(self, metric: str) -> float | None:
        return self.bleu if metric == "BLEU" else None

    def difference(self, metric: str) -> Interval | None:
        return Interval(0.0, -1.0, 1.0) if self.score(metric) and self.label != "rt" else None

    def against_baseline(self, figure: object, *, inverse: bool) -> Spread | None:
        return None if self.speedup is None else Spread(self.speedup, 0.9 * self.speedup, 1.1 * self.speedup)


def run_of(rows: list[Row], *, model: str = "tower-2b-Q4_K_M", corpus: str = "flores200.devtest", pair: str = "en-de",
           quick: bool = False) -> Any:  # fmt: skip
    """A measured run of rows, the first of them the baseline; a row is a label and its figures."""
    about = replace(HEADER.corpus, name=corpus, target_language=pair.partition("-")[2])
    header = replace(HEADER, model=replace(HEADER.model, file=f"{model}.gguf"), corpus=about, quick=quick)
    file = SimpleNamespace(header=header, path=Path(f"{model}-{corpus}-{pair}.jsonl"))
    run = SimpleNamespace(file=file, unit="13a", rows=[])
    for values in rows:
        known = dict.fromkeys(("ne", "accepted", "speedup", "bleu", "screen", "meanwhile", "has_proposals")) | values
        bias = known["label"].partition("@")[2].partition(":")[0]
        of = Measured(
            decoder=parse_method(known["label"].partition(":display")[0]).decoder,
            bias=float(bias) if bias and not known["has_proposals"] else None,
            run=run,
            counts=SimpleNamespace(rates=SimpleNamespace(per_draft=known["accepted"])),
            measures=[SimpleNamespace(screen=SimpleNamespace(ratio=known["screen"]))],
            **{name: known[name] for name in ("label", "speedup", "bleu", "has_proposals", "meanwhile")},
        )
        erasure = SimpleNamespace(mean_per_utterance=known["ne"])
        run.rows.append(SimpleNamespace(method=of, label=of.label, mask=known.get("mask", "none"), erasure=erasure))
    run.baseline = run.rows[0].method if run.rows else None
    return run


SWEEP: list[Row] = [
    {"label": "rt", "ne": 1.4, "speedup": 1.0, "bleu": 20.0},
    *(
        {"label": f"ssbd@{bias:g}", "ne": 1 - bias, "accepted": bias, "speedup": 1 + bias, "bleu": 20 - bias}
        for bias in (0.4, 0.0, 0.2)
    ),
    {"label": "cd", "ne": 0.0},
]
WINDOWED: list[Row] = [
    {"label": "rt", "speedup": 1.0, "screen": 2.3},
    {"label": "window@0.2:window=3", "speedup": 1.7, "screen": 0.0},
]
DRAFTED: list[Row] = [
    {"label": "rt", "speedup": 1.0, "bleu": 20.0},
    *(
        {"label": name, "speedup": speedup, "bleu": bleu, "has_proposals": True}
        for name, speedup, bleu in (
            ("bild:fallback=0.5:rollback=1", 1.2, 20.4),
            ("bild:fallback=0.5:rollback=4", 1.8, 19.1),
            ("spec:gamma=4", 1.4, 20.0),
        )
    ),
]


def without_quality(rows: list[Row]) -> list[Row]:
    return [{**row, "bleu": None} for row in rows]


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The figures by their titles; drawing them takes most of the time, and only tests of pictures look at these."""
    made: dict[str, Any] = {}

    def kept(figure: Any, kind: str) -> bytes:
        made[figure.get_suptitle().partition("\n")[0]] = figure
        return b"picture"

    monkeypatch.setattr(plotting, "rendered", kept)
    return made


def both(*stems: str) -> set[str]:
    return {f"{stem}.{kind}" for stem in stems for kind in ("png", "svg")}


@pytest.mark.usefixtures("figures")
def test_only_what_was_measured_is_plotted(tmp_path: Path) -> None:
    cases = [
        (SWEEP, {"bias", "quality"}),
        (without_quality(SWEEP), {"bias"}),
        (WINDOWED, {"calm"}),  # a curve over the bias takes two biases
        ([{**row, "meanwhile": 0.4} for row in WINDOWED], {"calm", "meanwhile"}),
        (DRAFTED, {"drafts"}),
    ]
    for number, (rows, stems) in enumerate(cases):
        paths = plot([run_of(rows)], tmp_path / str(number), date=DATE)
        assert {path.name for path in paths} == both(*stems) == {path.name for path in paths[0].parent.iterdir()}


@pytest.mark.parametrize(
    "labels",
    [
        [],
        ["rt"],
        ["rt", "ssbd@0.2"],
        # Different methods at one bias are no curve over the bias.
        ["ssbd@0.2", "ssbd@0.2:final=fresh", "ssbd@0.2:gamma=4"],
        ["ssbd@0.2", "ssbd@0.4:final=fresh"],
    ],
)
def test_nothing_to_plot_is_a_sentence(labels: list[str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to plot"):
        plot([run_of([{"label": label, "ne": 1.0, "speedup": 1.0} for label in labels])], tmp_path / "new", date=DATE)
    assert not (tmp_path / "new").exists()


def test_the_same_rows_give_the_same_bytes_whatever_the_users_style_and_a_solid_sheet(tmp_path: Path) -> None:
    import matplotlib
    from matplotlib.image import imread

    runs = [run_of(DRAFTED)]
    first = plot(runs, tmp_path / "one", date=DATE)
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black", "svg.hashsalt": "other"}):
        second = plot(runs, tmp_path / "two", date=DATE)
        assert matplotlib.rcParams["font.size"] == 30
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert not any(b"dc:date" in path.read_bytes() for path in first)
    for path in first:
        if path.suffix == ".png":
            pixels = imread(path)
            assert np.all(pixels[0, 0] == 1.0) and np.all(pixels[..., 3:] == 1.0)


def legend_of(figure: Any) -> set[str]:
    return {text.get_text() for legend in figure.legends for text in legend.get_texts()}


def test_a_legend_names_only_what_was_run(figures: dict[str, Any], tmp_path: Path) -> None:
    rows = [{**row, "ne": None} if row["label"] == "cd" else row for row in SWEEP]
    masked = [{**row, "mask": "display", "label": f"{row['label']}:display=3"} for row in SWEEP]
    plot(
        [
            run_of([*rows, *masked]),
            run_of([*rows, {"label": "window@0.2:window=3:final=partial", "ne": 0.1}], pair="en-ja"),
        ],
        tmp_path,
        date=DATE,
    )
    assert legend_of(figures["What the bias does"]) == {
        f"{method} {NAME}-{pair}"
        for method, pair in product(("rt", "ssbd", "window:window=3:final=partial"), ("en-de", "en-ja"))
        if (method, pair) != ("window:window=3:final=partial", "en-de")
    }


def test_points_have_their_names_beside_them_and_ours_stands_out(figures: dict[str, Any], tmp_path: Path) -> None:
    plot([run_of(WINDOWED)], tmp_path, date=DATE)
    figure = figures["Calm and fast"]
    named = {text.get_text(): text.get_color() for axes in figure.axes for text in axes.texts}
    assert named == {"rt": plotting.OTHERS, "window@0.2:window=3": plotting.OURS} and not figure.legends


def test_names_of_points_cover_neither_each_other_nor_the_next_panel() -> None:
    from matplotlib.text import Text

    points = {
        "rt": (1.0, 0.15), "ssbd@0.2:final=fresh": (1.002, 0.16), "window:early_stop=0": (1.14, 0.009),
        "faithful": (1.11, 0.009), "window": (1.26, 0.01), "still": (1.34, 0.006), "cd": (1.38, 0.0),
    }  # fmt: skip
    series = [plotting.Series(name, [(x, y, None)]) for name, (x, y) in points.items()]
    panels = [plotting.Panel(title, "speedup", "NE screen", series) for title in ("one", "two", "three")]
    figure = plotting.figure_of("title", "subtitle", panels)
    plotting.rendered(figure, "png")
    for axes in figure.axes:
        boxes = [Text.get_window_extent(text) for text in axes.texts]  # without the lines to the points
        assert len(boxes) == len(points)
        assert not [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])]
        assert all(box.x1 < axes.get_window_extent().x1 + 20 for box in boxes)


def test_one_existing_file_keeps_all_from_being_written(tmp_path: Path, figures: dict[str, Any]) -> None:
    (tmp_path / "quality.svg").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="--force"):
        plot([run_of(SWEEP)], tmp_path, date=DATE)
    assert [path.name for path in tmp_path.iterdir()] == ["quality.svg"]
    assert (tmp_path / "quality.svg").read_text(encoding="utf-8") == "mine"
    plot([run_of(SWEEP)], tmp_path, date=DATE, force=True)
    assert (tmp_path / "quality.svg").read_text(encoding="utf-8") == "picture"
    with pytest.raises(UsageError, match="cannot be written"):
        plot([run_of(SWEEP)], tmp_path / "quality.svg", date=DATE)


def test_without_matplotlib_the_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install .*\[bench\]|pip install .*matplotlib"):
        plot([run_of(SWEEP)], tmp_path, date=DATE)


LONG = "EuroLLM-1.7B-Instruct-unreasonably-long-name.Q4_K_M"


@pytest.mark.parametrize(
    "runs",
    [
        [run_of(DRAFTED)],
        [run_of(WINDOWED, corpus=corpus) for corpus in ("flores", "tatoeba")],
        [run_of(SWEEP, model=f"{LONG}-{number}") for number in range(6)],
        pytest.param([run_of(SWEEP)], marks=pytest.mark.long),
        pytest.param([run_of(SWEEP, pair=pair) for pair in ("en-de", "en-ja", "en-zh")], marks=pytest.mark.long),
    ],
    ids=["drafts", "calm", "six long", "one", "three"],
)
def test_every_text_is_on_the_sheet(runs: list[Any], tmp_path: Path, figures: dict[str, Any]) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    plot(runs, tmp_path, date=DATE)
    for figure in figures.values():
        FigureCanvasAgg(figure).draw()
        boxes = [figure._suptitle.get_window_extent(), *(legend.get_window_extent() for legend in figure.legends)]
        for axes in figure.axes:
            boxes += [axes.xaxis.label.get_window_extent(), axes.yaxis.label.get_window_extent()]
            boxes += [axes._left_title.get_window_extent()]
        for box in boxes:
            assert box.x0 >= 0 and box.x1 <= figure.bbox.x1 and box.y0 >= 0 and box.y1 <= figure.bbox.y1


def test_a_point_has_its_interval_and_a_level_has_none(tmp_path: Path, figures: dict[str, Any]) -> None:
    plot([run_of(SWEEP)], tmp_path, date=DATE)
    quality, speedup = figures["What the bias costs"].axes[0], figures["What the bias does"].axes[2]
    for panel, bounds in ((quality, [19.0, 21.0]), (speedup, [0.9, 1.1])):
        bars = [bar.get_segments()[0][:, 1].tolist() for bar in panel.collections]
        assert len(bars) == 3 and bars[0] == pytest.approx(bounds)
