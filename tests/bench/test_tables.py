"""Tables hold the paper's rows, the same in every format, and refuse runs that do not belong together."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pylatexenc import latex2text, latexwalker

from livetrans.bench.figures import FIGURES, names_of
from livetrans.bench.measures import MeasuredRun, MeasureSettings
from livetrans.bench.runfile import RunFile, Update, read_run
from livetrans.bench.table import NOTHING, Column, Table, as_csv, as_json, as_latex, as_markdown, as_text
from livetrans.bench.tables import comparison_table, kinds_of, make_table
from livetrans.errors import UsageError
from livetrans.metrics.latency import Spread
from livetrans.metrics.quality import Interval
from tests.bench.runs import METHODS, SCRIPTED, corpus_of, header_of, run_to


def changed(run: MeasuredRun, **changes: Any) -> MeasuredRun:
    """The run with another model's `file`, a `unit`, `quick`, or else another corpus."""
    header = run.file.header
    if "file" in changes:
        header = replace(header, model=replace(SCRIPTED, **changes))
    elif "quick" in changes:
        header = replace(header, **changes)
    elif "unit" not in changes:
        header = replace(header, corpus=replace(header.corpus, **changes))
    settings = replace(run.settings, unit=changes.get("unit", "word"))
    return MeasuredRun(replace(run.file, header=header), settings)


def test_table_3_sweeps_the_bias(measured: MeasuredRun) -> None:
    table = make_table("3", [measured])
    assert [row[0] for row in table.rows] == ["rt", "ssbd@0", "ssbd@0.2", "ssbd@0.5", "cd"]


def test_table_4_sets_output_masks_against_display_only_ones(measured: MeasuredRun) -> None:
    assert [row[0] for row in make_table("4", [measured]).rows] == [
        "ssbd@0.2",
        "ssbd@0.2+mask3",
        "ssbd@0.2+display3",
        "ssbd@0.2+display5",
    ]


def test_rows_of_several_runs_are_named_by_their_files(measured: MeasuredRun) -> None:
    other = MeasuredRun(replace(measured.file, path=Path("other.jsonl")), measured.settings)
    for table in ("2", "3", "4"):
        rows, both = (make_table(table, runs).rows for runs in ([measured], [measured, other]))
        assert [row[0] for row in both] == [f"{name} {row[0]}" for name in ("run", "other") for row in rows]


def test_the_papers_figures_stand_beside_ours(measured: MeasuredRun) -> None:
    for name in "234":
        table = make_table(name, [measured], paper=True)
        beside = [index for index, column in enumerate(table.columns) if column.group.startswith("paper")]
        assert beside
        ssbd = next(row for row in table.rows if str(row[0]).endswith("ssbd@0.2"))
        assert all(ssbd[index] is not None for index in beside if table.columns[index].name != "TPS")


def test_text_and_recorded_runs_have_their_own_tables(measured: MeasuredRun) -> None:
    recorded = changed(measured, kind="recorded")
    for name, wrong in (("2", recorded), ("6", measured)):
        with pytest.raises(UsageError):
            make_table(name, [wrong])
    with pytest.raises(UsageError):
        make_table("latency", [measured])
    assert make_table("6", [recorded]).rows
    assert make_table("latency", [recorded]).rows
    assert kinds_of(recorded) == {"recorded"} and kinds_of(measured) == {"text"}


def test_a_bias_that_was_not_run_is_refused_with_those_that_were(measured: MeasuredRun) -> None:
    for name in "24":
        with pytest.raises(UsageError, match=r"0, 0\.2, 0\.5"):
            make_table(name, [measured], bias=0.7)


def test_by_length_every_segment_is_in_one_group(run: RunFile, measured: MeasuredRun) -> None:
    table = make_table("lengths", [measured])
    names = [column.name for column in table.columns]
    rows = [dict(zip(names, cells, strict=True)) for cells in table.rows]
    lengths = [len(segment.source.split()) for segment in run.segments]
    for row in rows:
        begin, _, end = str(row["words"]).rstrip("+").partition("-")
        assert row["segments"] == sum(int(begin) <= length <= int(end or 10**6) for length in lengths)
        # Resamples of one sentence are all the same: their interval would claim certainty.
        assert (row["chrF - rt"] is None) == (row["method"] == "rt" or row["segments"] == 1)
    assert sum(row["segments"] for row in rows if row["method"] == "cd") == len(lengths)


def test_every_table_names_the_unit_and_what_produced_it(measured: MeasuredRun) -> None:
    table = make_table("3", [measured])
    signature = " ".join(table.signature)
    for part in ("scripted.gguf", "run.jsonl", "repeats 3", "BLEU|", "COMET was not computed"):
        assert part in signature
    assert table.filled().about() == "4 sentences of source.en, en-de, scripted.gguf. NE, NE sums in word tokens."
    assert table.only(["speedup"]).about().endswith("scripted.gguf.") and table.every_caveat() == []
    for page in (as_text(table), as_markdown(table), as_json([table]), as_latex(table)):
        assert table.filled().about() in page
    calm = make_table("calm", [measured])
    assert calm.about().endswith("NE sums in word tokens; NE screen in words.")
    assert calm.only(["NE screen"]).about().endswith("scripted.gguf. NE screen in words.")
    japanese = changed(changed(measured, target_language="ja", sha256="x"), unit="char")
    both = make_table("calm", [measured, japanese]).about()
    assert "NE sums in word tokens (de) and char tokens (ja); " in both
    assert both.endswith("NE screen in words (de) and characters (ja).")
    compared = comparison_table(measured, "").about()
    assert "NE raw in word tokens; NE shown in the model's own tokens; NE screen in words." in compared
    two = make_table("3", [measured, changed(measured, name="b.en", sha256="x")]).about()
    assert two.startswith("4 sentences of source.en, en-de, scripted.gguf; 4 sentences of b.en, en-de, scripted.gguf. ")


def test_the_papers_erasure_is_not_compared_in_another_unit(measured: MeasuredRun) -> None:
    for name, groups in (("2", ("FLORES, Tower+ 2B", "FLORES, Qwen3 4B")), ("3", ("FLORES en-zh, Tower+ 2B",))):
        table = make_table(name, [measured], paper=True)
        for page in (as_text(table, table.every_caveat()), as_json([table]), as_latex(table)):
            assert "--unit flores101" in " ".join(page.split()) and "Flores-101 tokens" in page
            assert all(f"paper: {group}" in page for group in groups)
        assert ("The paper's TPS is of an Apple M2 Pro." in table.filled().every_caveat()) == (name == "2")
        assert table.only(["COMET", "A/D %"]).every_caveat() == []
    [document] = json.loads(as_json([make_table("3", [measured], paper=True)]))["tables"]
    assert document["units"] == {
        "NE (ours)": "word tokens",
        "NE sums (ours)": "word tokens",
        "NE (paper: FLORES en-zh, Tower+ 2B)": "Flores-101 tokens",
    }


def recorded(measured: MeasuredRun, streams: str, *, live: str = "", whole: bool = False) -> MeasuredRun:
    """The run as of recorded streams, one a segment in the order of the letters, those in `live` in real time."""

    def timed(update: Update) -> Update:
        moment = 1.0 + update.update
        if streams[update.segment_id] in live:
            return replace(update, end=moment, due=moment + 1.0, captured=moment + 0.5)
        return replace(update, end=moment, due=moment)

    segments = [replace(one, stream=name, start=0.0) for one, name in zip(measured.segments, streams, strict=True)]
    if whole:
        segments = [replace(one, reference=None) for one in segments]
        segments[-1] = replace(segments[-1], stream_reference="x")
    units = {unit: [timed(update) for update in updates] for unit, updates in measured.file.units.items()}
    file = replace(changed(measured, kind="recorded").file, segments=tuple(segments), units=units)
    return MeasuredRun(file, MeasureSettings("word"))


def test_delays_without_the_recognisers_time_are_named(measured: MeasuredRun) -> None:
    table = make_table("latency", [recorded(measured, "aabc", live="b")])
    [caveat] = table.every_caveat()
    assert "2 of 3 streams were recorded at full speed" in caveat
    assert table.filled().about().startswith("4 segments of 3 streams in source.en, ")
    assert table.only(["AL s"]).every_caveat() == []
    assert make_table("latency", [recorded(measured, "aabc", live="abc")]).every_caveat() == []


def test_what_part_has_a_reference_is_said_beside_quality(measured: MeasuredRun) -> None:
    first, second, third, last = measured.file.segments
    some = (first, replace(second, reference=None), replace(third, reference=None), last)
    table = make_table("3", [MeasuredRun(replace(measured.file, segments=some), measured.settings)])
    assert table.every_caveat() == ["run.jsonl: quality is computed on what has a reference, 2 of 4 segments."]
    assert table.only(["speedup"]).every_caveat() == []
    assert "1 of 2 streams as wholes" in make_table("6", [recorded(measured, "aabb", whole=True)]).every_caveat()[0]


def test_comet_without_a_reference_is_said(measured: MeasuredRun, tmp_path: Path) -> None:
    segments = tuple(replace(one, reference=None) for one in measured.file.segments)
    settings = replace(measured.settings, comet=tmp_path)
    table = make_table("3", [MeasuredRun(replace(measured.file, segments=segments), settings)])
    assert table.every_caveat() == ["run.jsonl: COMET was not computed: the run has no reference."]


def test_one_file_gives_one_table_byte_by_byte(run: RunFile) -> None:
    before = run.path.read_bytes()

    def texts() -> list[str]:
        measured = MeasuredRun(read_run(run.path), MeasureSettings("13a", (3, 5)))
        tables = [make_table(name, [measured], paper=True) for name in "234"]
        pages = as_text, as_markdown, as_latex, as_csv
        return [page(table) for table in tables for page in pages] + [as_json(tables)]

    assert texts() == texts() and run.path.read_bytes() == before


def test_every_table_of_a_quick_run_says_so(measured: MeasuredRun) -> None:
    quick = changed(measured, quick=True)
    for table in (make_table(name, [quick]) for name in ("2", "3", "4", "calm")):
        assert table.name.endswith(", quick")
    for page in (as_text(table), as_markdown(table), as_csv(table), as_json([table]), as_latex(table)):
        assert "quick" in page


def test_a_comparison_has_the_benchs_own_figures(run: RunFile) -> None:
    measured = MeasuredRun(run, MeasureSettings("model"))
    table = comparison_table(measured, "A signature.")
    rows = {str(row[0]): dict(zip((column.name for column in table.columns), row, strict=True)) for row in table.rows}
    assert list(rows) == METHODS.split(",")
    for label, row in rows.items():
        measure = measured.row(label)
        assert measure and row.pop("method") == label
        assert row == {name: FIGURES[name].of(measure) for name in row}
    assert rows["ssbd@0"]["finals as rt"] == "4/4"


def test_the_calm_table_is_made_of_runs_with_a_live_window(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path)
    run_to(tmp_path / "run.jsonl", corpus, header_of(corpus, "rt,ssbd@0.2,window3@0.2+careful", 1))
    windowed = MeasuredRun(read_run(tmp_path / "run.jsonl"), MeasureSettings("word"))
    assert kinds_of(windowed) == {"text", "windowed"}
    assert kinds_of(changed(windowed, kind="recorded")) == {"recorded", "windowed"}


def test_every_run_has_a_name_of_its_own(measured: MeasuredRun) -> None:
    def names(*paths: str) -> list[str]:
        return names_of([MeasuredRun(replace(measured.file, path=Path(path)), measured.settings) for path in paths])

    assert names("a/run.jsonl") == [""]
    assert names("a/one.jsonl", "a/two.jsonl") == ["one", "two"]
    assert names("a/run.jsonl", "b/run.jsonl") == ["a/run.jsonl", "b/run.jsonl"]


TABLE = Table(
    "table 9",
    "formats",
    (
        Column("method", "what was run"),
        Column("NE", "erased / final", 2),
        Column("COMET", "", 3),
        Column("paper | NE", "", 1, group="a|b"),
    ),
    (("rt", 1.256, None, None), ("犬 ssbd", None, None, 12)),
    ("A caveat.",),
    ("A signature.",),
)
MEASURED = Table(
    "",
    "intervals & spreads",
    (Column("method"), Column("chrF - rt", decimals=1), Column("speed_up", decimals=2)),
    (
        ("rt", None, Spread(1.0, 1.0, 1.0)),
        ("ssbd_1 50%", Interval(-0.51, -1.25, 0.04), Spread(1.5, 1.25, 1.75)),
    ),
)


def test_text_lines_up_and_leaves_empty_columns_out() -> None:
    lines = as_text(TABLE, ["A note."]).splitlines()
    assert lines[0] == "Table 9: formats"
    assert lines[2:10] == [
        "method     NE",
        "rt       1.26",
        "犬 ssbd     –",
        "",
        "a|b",
        "method   paper | NE",
        "rt                –",
        "犬 ssbd          12",
    ]
    assert lines[-1] == "A note."


@given(st.integers(10, 200))
def test_in_a_narrow_terminal_a_table_goes_on_below_itself(width: int) -> None:
    columns = (Column("method"), *(Column(f"figure {number}", decimals=2) for number in range(8)))
    table = Table("table 9", "wide", columns, (("ssbd@0.2+display3", *map(float, range(8))),))
    words = "a note of_some_words that_may_not_be_broken"
    _, *blocks, notes = as_text(table, [words], width).split("\n\n")
    names, cells = [], []
    for heading, row in (block.splitlines() for block in blocks):
        names += heading.split("figure ")[1:]
        cells += row.split()[1:]
        assert row.startswith("ssbd@0.2+display3") and (len(heading) <= width or heading.count("figure") == 1)
    assert [name.strip() for name in names] == [str(number) for number in range(8)]
    assert [float(cell) for cell in cells] == list(range(8))
    assert notes.split() == words.split()


def test_markdown_escapes_its_bars() -> None:
    lines = as_markdown(TABLE).splitlines()
    assert (lines[2].split(), lines[4].split()) == (["|", "method", "|", "NE", "|"], ["|", "rt", "|", "1.26", "|"])
    assert lines[7] == r"a\|b" and r" paper \| NE |" in lines[9]


def test_csv_is_read_back_with_every_column() -> None:
    rows = list(csv.reader(io.StringIO(as_csv(TABLE))))
    assert rows[0] == ["table", "method", "NE", "COMET", "paper | NE (a|b)"]
    assert rows[1] == ["table 9", "rt", "1.256", "", ""]


def test_csv_has_bounds_in_columns_of_their_own() -> None:
    [_, first, second] = csv.DictReader(io.StringIO(as_csv(MEASURED)), restval="short").reader
    assert len(first) == len(second) == 7
    rows = list(csv.DictReader(io.StringIO(as_csv(MEASURED))))
    assert (rows[0]["chrF - rt"], rows[0]["chrF - rt low"], rows[0]["speed_up most"]) == ("", "", "1.0")
    assert (rows[1]["chrF - rt low"], rows[1]["chrF - rt high"], rows[1]["speed_up least"]) == ("-1.25", "0.04", "1.25")


def test_intervals_and_spreads_are_told_apart_and_one_value_has_no_spread() -> None:
    rows = as_text(MEASURED).splitlines()[3:5]
    assert rows[0].split() == ["rt", NOTHING, "1.00"]
    assert rows[1].endswith("-0.5 [-1.2, 0.0]  1.50 (1.25-1.75)")


def test_columns_are_chosen_by_name_and_in_order(measured: MeasuredRun) -> None:
    table = make_table("3", [measured], paper=True).only(["speedup", "NE"])
    assert [(column.name, column.group) for column in table.columns[1:]] == [
        ("speedup", "ours"), ("NE", "ours"), ("NE", "paper: FLORES en-zh, Tower+ 2B"),
    ]  # fmt: skip
    assert [row[0] for row in table.rows] == ["rt", "ssbd@0", "ssbd@0.2", "ssbd@0.5", "cd"]
    assert all(len(row) == 4 for row in table.rows) and table.rows[0][1] == (1.0, 1.0, 1.0)
    assert table.only(["method", "NE", "method"]) == table.only(["NE"])
    with pytest.raises(UsageError, match="did you mean speedup"):
        make_table("3", [measured]).only(["speed up"])


def test_a_hostile_name_reaches_no_terminal() -> None:
    hostile = "\x1b]0;mine\x07\x1b[2J"
    table = replace(TABLE, title=hostile, rows=((hostile, 1.0, None, None),), signature=(hostile,))
    for text in (
        as_text(table, table.notes(signature=True)),
        as_markdown(table, table.notes(signature=True)),
        as_latex(table, table.notes(signature=True)),
    ):
        assert "\x1b" not in text and "\x07" not in text


def test_json_is_one_document_with_numbers_whole() -> None:
    [table, measured] = json.loads(as_json([TABLE, MEASURED]))["tables"]
    assert table["rows"] == [
        {"method": "rt", "NE": 1.256, "COMET": None, "paper | NE (a|b)": None},
        {"method": "犬 ssbd", "NE": None, "COMET": None, "paper | NE (a|b)": 12},
    ]
    assert (table["caveats"], table["signature"]) == (["A caveat."], ["A signature."])
    assert table["columns"]["NE"] == "erased / final"
    assert measured["rows"][1]["chrF - rt"] == {"value": -0.51, "low": -1.25, "high": 0.04}
    assert measured["rows"][1]["speed_up"] == {"median": 1.5, "least": 1.25, "most": 1.75}


def latex_cells(text: str) -> list[list[str]]:
    """The rows of the one tabular, read by a parser that accepts nothing unbalanced."""
    walker = latexwalker.LatexWalker(text, tolerant_parsing=False)
    [float_] = [node for node in walker.get_latex_nodes()[0] if node.isNodeType(latexwalker.LatexEnvironmentNode)]
    assert float_.environmentname == "table"
    [grid] = [node for node in float_.nodelist if node.isNodeType(latexwalker.LatexEnvironmentNode)]
    rows = grid.latex_verbatim().split(r"\toprule")[1].replace(r"\midrule", "").split(r"\bottomrule")[0].split(r"\\")
    read = latex2text.LatexNodes2Text().latex_to_text
    return [[read(cell).strip() for cell in re.split(r"(?<!\\)&", row)] for row in rows if row.strip()]


def test_latex_is_parsed_back_with_every_name() -> None:
    text = as_latex(MEASURED, ["made & 100 % true"])
    assert latex_cells(text) == [
        ["method", "chrF - rt", "speed_up"],
        ["rt", "–", "1.00"],
        ["ssbd_1 50%", "-0.5 [-1.2, 0.0]", "1.50 (1.25-1.75)"],
    ]
    assert r"\caption{Intervals \& spreads.}" in text and "% made & 100 % true" in text.splitlines()


def test_latex_says_whose_columns_are_whose(measured: MeasuredRun) -> None:
    page = as_latex(make_table("3", [measured], paper=True).only(["speedup", "NE"]))
    ours, paper = page.split(r"\begin{tabular}")[1:]
    assert "speedup" in ours and "speedup" not in paper and "NE" in ours and "NE" in paper
    assert ours.endswith("\\par\\smallskip paper: FLORES en-zh, Tower+ 2B\\par\n")


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1).map(lambda name: f"x{name}x"))
def test_no_name_breaks_latex(name: str) -> None:
    assert len(latex_cells(as_latex(replace(MEASURED, rows=((name, None, Spread(1.0, 1.0, 1.0)),))))) == 2


def test_a_latex_caption_says_that_a_run_was_quick() -> None:
    assert r"\caption{Table 3, quick: intervals \& spreads.}" in as_latex(replace(MEASURED, name="table 3, quick"))
