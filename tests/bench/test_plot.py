"""Plots from table rows: the same bytes for the same rows, readable colours, nothing overwritten."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from livetrans.bench import plot as plotting
from livetrans.bench.plot import calm_over_speed, over_latency, plot
from livetrans.bench.rows import Drafting, Quality, Speed, TableRow
from livetrans.bench.sheet import COLOURS, INK, PALE_INK, SHEET, curves_of
from livetrans.bench.viewing import Latency, Screen
from livetrans.errors import UsageError
from livetrans.metrics.latency import Spread

pytest.importorskip("matplotlib", reason="comes with livetrans[bench]")

DATE = "2026-11-21"
COMMON = {
    "model": "tower-2b-Q4_K_M",
    "pair": "en-de",
    "corpus": "flores200.devtest",
    "mask": "none",
    "ne_unit": "13a",
}


def row(method: str, bias: float | None = None, **figures: Any) -> TableRow:
    empty = {field.name: None for field in fields(TableRow)}
    speedup = figures.pop("speedup", None)
    figures["speed"] = Speed(speedup=None if speedup is None else Spread(speedup, speedup, speedup))
    figures["latencies"] = (Latency(lags=figures.pop("lags", ())),)
    figures["quality"] = Quality(bleu=figures.pop("bleu", None))
    figures["screen"] = Screen(erasure=figures.pop("screen", None))
    named = {"method": method, "decoder": method.partition("@")[0].rstrip("0123456789"), "bias": bias}
    values = {**empty, **COMMON, **named, **figures}
    return TableRow(**values | {"origin": tuple(values[name] for name in ("pair", "model", "corpus"))})


def sweep(**shared: Any) -> list[TableRow]:
    """Rows as a sweep of the bias gives them, beside `rt` and `cd`."""
    biased = [
        row(
            f"ssbd@{bias:g}",
            bias,
            ne_mean=1 - bias,
            accepted_per_draft=bias,
            speedup=1 + bias,
            bleu=20 - bias,
            **shared,
        )
        for bias in (0.4, 0.0, 0.2)
    ]
    return [row("rt", ne_mean=1.4, speedup=1.0, bleu=20.0, **shared), *biased, row("cd", ne_mean=0.0, **shared)]


def lagging(**shared: Any) -> list[TableRow]:
    return [row(*method, lags=(0.5, 1.0, 3.0), **shared) for method in (("rt",), ("ssbd@0.2", 0.2))]


def windowed(**shared: Any) -> list[TableRow]:
    fast = row("window3@0.2+worth", 0.2, ne_mean=0.1, speedup=1.7, screen=0.0, **shared)
    return [row("rt", ne_mean=1.4, speedup=1.0, screen=2.3, **shared), fast]


def drafted(**shared: Any) -> list[TableRow]:
    figures = Drafting(0.8, 2.5, None, 0.2, 0.05, 1.1, 0.1)
    points = (("bild@0.5,1", 1.2, 20.4), ("bild@0.5,4", 1.8, 19.1), ("spec@4", 1.4, 20.0))
    own = [row(name, speedup=speedup, bleu=bleu, drafting=figures, **shared) for name, speedup, bleu in points]
    return [row("rt", speedup=1.0, bleu=20.0, **shared), *own]


def names(paths: list[Path]) -> set[str]:
    return {path.name for path in paths}


def both(*stems: str) -> set[str]:
    return {f"{stem}.{kind}" for stem in stems for kind in ("png", "svg")}


def test_only_what_was_measured_is_plotted(tmp_path: Path) -> None:
    assert names(plot(sweep(), tmp_path / "text", date=DATE)) == both("bias", "quality")
    assert names(plot(lagging(), tmp_path / "recorded", date=DATE)) == both("lag")
    # A curve over the bias takes two biases.
    assert names(plot(windowed(), tmp_path / "window", date=DATE)) == both("calm")
    assert names(plot(drafted(), tmp_path / "drafts", date=DATE)) == both("drafts")
    unscored = [replace(row, quality=Quality()) for row in sweep()]
    assert names(plot(unscored, tmp_path / "unscored", date=DATE)) == both("bias")
    assert names(list((tmp_path / "text").iterdir())) == both("bias", "quality")


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [row("rt", ne_mean=1.0)],
        [row("rt", ne_mean=1.0, speedup=1.0), row("ssbd@0.2", 0.2, ne_mean=1.0, speedup=1.0)],
        # Different methods at one bias are no curve over the bias.
        [row(name, 0.2, ne_mean=1.0, speedup=1.0) for name in ("ssbd@0.2", "ssbd@0.2+exact", "ssbd@0.2+draft")],
        [row("ssbd@0.2", 0.2, ne_mean=1.0), row("ssbd@0.4+exact", 0.4, ne_mean=1.0)],
    ],
)
def test_nothing_to_plot_is_a_sentence(rows: list[TableRow], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to plot"):
        plot(rows, tmp_path / "new", date=DATE)
    assert not (tmp_path / "new").exists()


def test_the_same_rows_give_the_same_bytes_whatever_the_users_style(tmp_path: Path) -> None:
    import matplotlib

    first = plot(sweep() + lagging(pair="en-ja"), tmp_path / "one", date=DATE)
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black", "svg.hashsalt": "other"}):
        second = plot(sweep() + lagging(pair="en-ja"), tmp_path / "two", date=DATE)
        assert matplotlib.rcParams["font.size"] == 30
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert not any(b"dc:date" in path.read_bytes() for path in first)


def test_a_title_names_model_corpus_and_date(tmp_path: Path) -> None:
    for path in plot(sweep() + lagging(), tmp_path, date=DATE):
        if path.suffix == ".svg":  # which has every text as a comment beside its outline
            text = path.read_text(encoding="utf-8")
            assert all(part in text for part in ("tower-2b-Q4_K_M", "flores200.devtest", DATE))


def test_the_calm_plot_names_erasure_once_and_its_scale() -> None:
    for rows in (windowed(), [*windowed(), *windowed(corpus="tatoeba")]):
        figure = calm_over_speed(rows, DATE)
        assert figure is not None
        for panel in figure.axes:
            said = [text.get_text() for text in (panel.title, panel._left_title, *panel.texts)]
            assert sum(text.count("NE of the screen") for text in said) == 1
            assert panel.get_ylabel() == "linear to 0.1, logarithmic above"


def test_a_legend_names_only_what_was_run() -> None:
    rows = [*sweep(), *sweep(pair="en-ja"), row("window3@0.2", 0.2, pair="en-ja")]
    assert list(curves_of(rows, by_method=True)) == ["ssbd en-de", "ssbd en-ja", "window3 en-ja"]


def test_masked_rows_have_no_place_on_a_line_over_the_bias(tmp_path: Path) -> None:
    masked = [replace(row, mask="display", mask_k=3, ne_mean=0.1) for row in sweep()]
    plain = plot(sweep(), tmp_path / "plain", date=DATE)
    more = plot(sweep() + masked, tmp_path / "more", date=DATE)
    assert [path.read_bytes() for path in plain] == [path.read_bytes() for path in more]


def test_one_existing_file_keeps_all_from_being_written(tmp_path: Path) -> None:
    (tmp_path / "quality.svg").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="--force"):
        plot(sweep(), tmp_path, date=DATE)
    assert [path.name for path in tmp_path.iterdir()] == ["quality.svg"]
    assert (tmp_path / "quality.svg").read_text(encoding="utf-8") == "mine"
    assert names(plot(sweep(), tmp_path, date=DATE, force=True)) == both("bias", "quality")
    assert (tmp_path / "quality.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        plot(sweep(), tmp_path / "file", date=DATE)


def test_without_matplotlib_the_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install .*\[bench\]|pip install .*matplotlib"):
        plot(sweep(), tmp_path, date=DATE)


def test_a_plot_of_drafts_has_the_whole_cross_and_explains_its_lines() -> None:
    slow = [replace(row, speed=Speed(speedup=Spread(4.0, 4.0, 4.0))) if row.drafting else row for row in drafted()]
    for rows in (drafted(), slow):
        figure = over_latency(rows, DATE)
        assert figure is not None
        for panel in figure.axes:
            low, high = panel.get_xlim()
            assert 0.05 <= (1.0 - low) / (high - low) <= 0.95
        explained = {text.get_text() for own in figure.legends for text in own.get_texts()}
        assert explained == {"bild", "spec", "rt (the cross) and its quality", "1 point less"}


def test_what_has_no_quality_is_not_plotted_and_every_baseline_is() -> None:
    unscored = [replace(row, quality=Quality()) for row in drafted(model="unscored")]
    figure = over_latency([*drafted(), *unscored], DATE)
    assert figure is not None
    for panel in figure.axes:
        assert panel.get_ylim()[0] > 0.0
    better = [replace(row, quality=replace(row.quality, bleu=30.0)) for row in drafted(model="better")]
    figure = over_latency([*drafted(), *better], DATE)
    assert figure is not None
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert [float(cross.get_ydata()[0]) for cross in crosses] == [20.0, 30.0]


LONG = "EuroLLM-1.7B-Instruct-unreasonably-long-name.Q4_K_M"


@pytest.mark.parametrize(
    "rows",
    [
        sweep() + lagging(),
        drafted(),
        sweep(model=LONG) + lagging(model=LONG),
        [row for corpus in ("flores", "tatoeba") for row in windowed(corpus=corpus)],
        [row for pair in ("en-de", "en-ja", "en-zh") for row in sweep(pair=pair) + lagging(pair=pair)],
        [row for number in range(6) for row in sweep(model=f"{LONG}-{number}")],
        sweep() + [replace(row, quality=Quality(), ne_mean=None) for row in sweep(pair="en-ja")],
    ],
    ids=["one", "drafts", "long", "calm", "three", "six long", "one unscored"],
)
def test_every_text_is_on_the_sheet(rows: list[TableRow], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    rendered: Callable[..., bytes] = plotting.rendered

    def checked(figure: Any, kind: str) -> bytes:
        picture = rendered(figure, kind)
        if kind == "png":
            FigureCanvasAgg(figure).draw()
            sheet = figure.bbox
            for text in figure.findobj(lambda artist: hasattr(artist, "get_text") and artist.get_text().strip()):
                box = text.get_window_extent()
                inside = box.x0 >= 0 and box.x1 <= sheet.x1 and box.y0 >= 0 and box.y1 <= sheet.y1
                assert inside or not text.get_visible() or text.get_text() in hidden_ticks(figure), text.get_text()
        return picture

    monkeypatch.setattr(plotting, "rendered", checked)
    plot(rows, tmp_path, date=DATE)


def hidden_ticks(figure: Any) -> set[str]:
    """Labels of scale steps outside the panels, which are not drawn."""
    axes = [(panel.xaxis, panel.get_xlim()) for panel in figure.axes]
    axes += [(panel.yaxis, sorted(panel.get_ylim())) for panel in figure.axes]
    return {
        tick.label1.get_text()
        for axis, (low, high) in axes
        for tick in axis.get_major_ticks()
        if not low <= tick.get_loc() <= high
    }


def linear(colour: str) -> NDArray[np.float64]:
    """Linear red, green and blue of `#rrggbb`."""
    values = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(colour: str, other: str) -> float:
    """WCAG's ratio, 1 to 21."""
    dark, light = sorted(float(linear(each) @ [0.2126, 0.7152, 0.0722]) for each in (colour, other))
    return (light + 0.05) / (dark + 0.05)


def test_text_and_lines_stand_out_from_a_sheet_that_no_page_shines_through(tmp_path: Path) -> None:
    from matplotlib.image import imread

    assert all(contrast(ink, SHEET) >= 4.5 for ink in (INK, PALE_INK))
    assert all(contrast(colour, SHEET) >= 3 for colour in COLOURS)
    for path in plot(sweep() + lagging(), tmp_path, date=DATE):
        if path.suffix == ".png":
            pixels = imread(path)
            assert np.all(pixels[0, 0] == 1.0)
            assert np.all(pixels[..., 3:] == 1.0)


# Machado et al. 2009, severity 1: what is left of linear red, green and blue.
BLINDNESS = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def lab(colour: NDArray[np.float64]) -> NDArray[np.float64]:
    """CIELAB of linear red, green and blue, white D65."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ colour / np.array([0.9505, 1.0, 1.089])
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("blindness", BLINDNESS)
def test_a_colour_blind_reader_tells_the_curves_apart(blindness: str) -> None:
    seen = [lab(np.clip(np.array(BLINDNESS[blindness]) @ linear(colour), 0, 1)) for colour in COLOURS]
    assert min(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2)) >= 20
