"""Plots from table rows: the same bytes for the same rows, readable colours, nothing overwritten."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from livetrans.bench import plot as plotting
from livetrans.bench.measures import Row
from livetrans.bench.plot import COLOURS, INK, PALE_INK, SHEET, calm_over_speed, curves_of, over_latency, plot
from livetrans.bench.viewer import Latency, Screen
from livetrans.errors import UsageError
from livetrans.metrics.latency import Spread
from livetrans.metrics.meanwhile import Meanwhile
from livetrans.metrics.quality import Interval
from tests.bench.runs import corpus_of, header_of

pytest.importorskip("matplotlib", reason="comes with livetrans[bench]")

DATE = "2026-11-21"


class Measured(SimpleNamespace):
    """What a plot asks of a method of a run."""

    def score(self, metric: str) -> float | None:
        return self.bleu if metric == "BLEU" else None

    def difference(self, metric: str) -> Interval | None:
        return Interval(0.0, -1.0, 1.0) if self.score(metric) and self.label != "rt" else None

    def ratio(self, figure: object, *, inverse: bool) -> Spread | None:
        return None if self.speedup is None else Spread(self.speedup, 0.9 * self.speedup, 1.1 * self.speedup)


def row(method: str, bias: float | None = None, *, model: str = "tower-2b-Q4_K_M", pair: str = "en-de",
        corpus: str = "flores200.devtest", **figures: Any) -> Any:  # fmt: skip
    known: dict[str, Any] = {"ne": None, "accepted": None, "speedup": None, "bleu": None, "screen": None}
    known |= {"lags": (), "drafted": False, "meanwhile": Meanwhile(), **figures}
    target = pair.partition("-")[2]
    about = replace(HEADER.corpus, name=corpus, target_language=target)
    header = replace(HEADER, model=replace(HEADER.model, file=f"{model}.gguf"), corpus=about)
    file = SimpleNamespace(header=header, path=Path("run.jsonl"), model_name=model)
    baseline = SimpleNamespace(score=lambda metric: 20.0 if metric == "BLEU" else None)
    of = Measured(
        label=method,
        decoder=method.partition("@")[0].rstrip("0123456789"),
        bias=bias,
        run=SimpleNamespace(file=file, unit="13a", baseline=baseline),
        acceptance=SimpleNamespace(per_draft=known["accepted"]),
        latencies=[Latency(lags=known["lags"])],
        screen=Screen(known["screen"], None, None, 0.0, None, known["meanwhile"]),
        **{name: known[name] for name in ("speedup", "bleu", "drafted")},
    )
    return SimpleNamespace(of=of, label=method, mask="none", erasure=SimpleNamespace(mean_per_utterance=known["ne"]))


def without_quality(rows: list[Row]) -> list[Any]:
    return [SimpleNamespace(**{**vars(one), "of": Measured(**{**vars(one.of), "bleu": None})}) for one in rows]


@pytest.fixture
def pictures() -> None:
    """For a test that looks at the pictures themselves."""


@pytest.fixture(autouse=True)
def _undrawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write what is on a figure instead of drawing it, which takes most of the time, but for tests of pictures."""

    def described(figure: Any, kind: str) -> bytes:
        lines = [line.get_xydata().tolist() for panel in figure.axes for line in panel.lines]
        return f"{lines} {[text.get_text() for text in figure.texts]}".encode()

    if "pictures" not in request.fixturenames:
        monkeypatch.setattr(plotting, "rendered", described)


HEADER = header_of(corpus_of(Path(tempfile.mkdtemp())))


def sweep(**shared: Any) -> list[Row]:
    """Rows as a sweep of the bias gives them, beside `rt` and `cd`."""
    biased = [
        row(f"ssbd@{bias:g}", bias, ne=1 - bias, accepted=bias, speedup=1 + bias, bleu=20 - bias, **shared)
        for bias in (0.4, 0.0, 0.2)
    ]
    return [row("rt", ne=1.4, speedup=1.0, bleu=20.0, **shared), *biased, row("cd", ne=0.0, **shared)]


def lagging(**shared: Any) -> list[Row]:
    return [row(*method, lags=(0.5, 1.0, 3.0), **shared) for method in (("rt",), ("ssbd@0.2", 0.2))]


def windowed(**shared: Any) -> list[Row]:
    fast = row("window3@0.2+worth", 0.2, ne=0.1, speedup=1.7, screen=0.0, **shared)
    return [row("rt", ne=1.4, speedup=1.0, screen=2.3, **shared), fast]


def drafted(*, speed: float = 1.0, better: float = 0.0, **shared: Any) -> list[Row]:
    points = (("bild@0.5,1", 1.2, 20.4), ("bild@0.5,4", 1.8, 19.1), ("spec@4", 1.4, 20.0))
    rows = [row(name, speedup=speed * fast, bleu=bleu, drafted=True, **shared) for name, fast, bleu in points]
    return [row("rt", speedup=1.0, bleu=20.0 + better, **shared), *rows]


def names(paths: list[Path]) -> set[str]:
    return {path.name for path in paths}


def both(*stems: str) -> set[str]:
    return {f"{stem}.{kind}" for stem in stems for kind in ("png", "svg")}


def test_only_what_was_measured_is_plotted(tmp_path: Path) -> None:
    assert names(plot(sweep(), tmp_path / "text", date=DATE)) == both("bias", "quality")
    assert names(plot(lagging(), tmp_path / "recorded", date=DATE)) == both("lag")
    # A curve over the bias takes two biases.
    assert names(plot(windowed(), tmp_path / "window", date=DATE)) == both("calm")
    read = Meanwhile()
    read.add("der Plan", "Das ist der Plan.", 0.5)
    assert names(plot(windowed(meanwhile=read), tmp_path / "read", date=DATE)) == both("calm", "meanwhile")
    assert names(plot(drafted(), tmp_path / "drafts", date=DATE)) == both("drafts")
    unscored = without_quality(sweep())
    assert names(plot(unscored, tmp_path / "unscored", date=DATE)) == both("bias")
    assert names(list((tmp_path / "text").iterdir())) == both("bias", "quality")


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [row("rt", ne=1.0)],
        [row("rt", ne=1.0, speedup=1.0), row("ssbd@0.2", 0.2, ne=1.0, speedup=1.0)],
        # Different methods at one bias are no curve over the bias.
        [row(name, 0.2, ne=1.0, speedup=1.0) for name in ("ssbd@0.2", "ssbd@0.2+exact", "ssbd@0.2+draft")],
        [row("ssbd@0.2", 0.2, ne=1.0), row("ssbd@0.4+exact", 0.4, ne=1.0)],
    ],
)
def test_nothing_to_plot_is_a_sentence(rows: list[Row], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to plot"):
        plot(rows, tmp_path / "new", date=DATE)
    assert not (tmp_path / "new").exists()


@pytest.mark.usefixtures("pictures")
def test_the_same_rows_give_the_same_bytes_whatever_the_users_style(tmp_path: Path) -> None:
    import matplotlib

    first = plot(lagging(pair="en-ja"), tmp_path / "one", date=DATE)
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black", "svg.hashsalt": "other"}):
        second = plot(lagging(pair="en-ja"), tmp_path / "two", date=DATE)
        assert matplotlib.rcParams["font.size"] == 30
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert not any(b"dc:date" in path.read_bytes() for path in first)


def test_a_title_names_model_corpus_and_date(tmp_path: Path) -> None:
    for path in plot(sweep() + lagging(), tmp_path, date=DATE):
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
    masked = [SimpleNamespace(**{**vars(one), "mask": "display"}) for one in sweep()]
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
    assert (tmp_path / "quality.svg").read_text(encoding="utf-8") != "mine"


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        plot(sweep(), tmp_path / "file", date=DATE)


def test_without_matplotlib_the_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install .*\[bench\]|pip install .*matplotlib"):
        plot(sweep(), tmp_path, date=DATE)


def test_a_plot_of_drafts_has_the_whole_cross_and_explains_its_lines() -> None:
    for rows in (drafted(), drafted(speed=4.0)):
        figure = over_latency(rows, DATE)
        assert figure is not None
        for panel in figure.axes:
            low, high = panel.get_xlim()
            assert 0.05 <= (1.0 - low) / (high - low) <= 0.95
        explained = {text.get_text() for own in figure.legends for text in own.get_texts()}
        assert explained == {"bild", "spec", "rt (the cross) and its quality", "1 point less"}


def test_what_has_no_quality_is_not_plotted_and_every_baseline_is() -> None:
    unscored = without_quality(drafted(model="unscored"))
    figure = over_latency([*drafted(), *unscored], DATE)
    assert figure is not None
    for panel in figure.axes:
        assert panel.get_ylim()[0] > 0.0
    figure = over_latency([*drafted(), *drafted(better=10.0, model="better")], DATE)
    assert figure is not None
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert [float(cross.get_ydata()[0]) for cross in crosses] == [20.0, 30.0]


LONG = "EuroLLM-1.7B-Instruct-unreasonably-long-name.Q4_K_M"


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(sweep() + lagging(), marks=pytest.mark.long),
        drafted(),
        sweep(model=LONG) + lagging(model=LONG),
        [row for corpus in ("flores", "tatoeba") for row in windowed(corpus=corpus)],
        pytest.param(
            [row for pair in ("en-de", "en-ja", "en-zh") for row in sweep(pair=pair) + lagging(pair=pair)],
            marks=pytest.mark.long,
        ),
        [row for number in range(6) for row in sweep(model=f"{LONG}-{number}")],
        pytest.param(sweep() + without_quality(sweep(pair="en-ja")), marks=pytest.mark.long),
    ],
    ids=["one", "drafts", "long", "calm", "three", "six long", "one unscored"],
)
def test_every_text_is_on_the_sheet(rows: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    def checked(figure: Any, kind: str) -> bytes:
        if kind == "png":
            FigureCanvasAgg(figure).draw()
            sheet = figure.bbox
            for legend in figure.legends:
                assert not any(legend.get_window_extent().overlaps(text.get_window_extent()) for text in figure.texts)
            for text in figure.findobj(lambda artist: hasattr(artist, "get_text") and artist.get_text().strip()):
                box = text.get_window_extent()
                inside = box.x0 >= 0 and box.x1 <= sheet.x1 and box.y0 >= 0 and box.y1 <= sheet.y1
                assert inside or not text.get_visible() or text.get_text() in hidden_ticks(figure), text.get_text()
        return b""

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


@pytest.mark.usefixtures("pictures")
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


def test_a_point_has_its_interval_and_a_level_has_none(tmp_path: Path) -> None:
    figure = plotting._over_bias(sweep(), DATE, (plotting.BLEU, plotting.SPEEDUP), "bars")
    assert figure is not None
    for panel, bounds in zip(figure.axes, ([19.0, 21.0], [0.9, 1.1]), strict=True):
        bars = [line for line in panel.lines if line.get_linewidth() == 1.0]
        assert len(bars) == 3 and list(bars[0].get_ydata()) == pytest.approx(bounds)
