"""Tables hold the paper's rows, the same in every format, and refuse runs that do not belong together."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pylatexenc import latex2text, latexwalker

from livetrans.bench.latex import as_latex
from livetrans.bench.layout import NOTHING, Column, Table, as_csv, as_json, as_markdown, as_text, filled
from livetrans.bench.own_tables import by_length, calm_table, comparison_table, latency_table, lengths_table
from livetrans.bench.runfile import Run, read_run
from livetrans.bench.scoring import ScoredRun, ScoringSettings, score
from livetrans.bench.tables import (
    TableSettings,
    possible_tables,
    table_2,
    table_3,
    table_4,
    table_6,
)
from livetrans.errors import UsageError
from livetrans.metrics.latency import Spread
from livetrans.metrics.quality import Interval
from tests.bench.runs import SCRIPTED, corpus_of, header_of, run_to

PLAIN = TableSettings()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("run")
    corpus = corpus_of(folder)
    run_to(folder / "run.jsonl", corpus, header_of(corpus))
    return read_run(folder / "run.jsonl")


@pytest.fixture(scope="module")
def scored(run: Run) -> ScoredRun:
    return score(run, ScoringSettings("word", (3, 5)))


def _of_another_model(run: ScoredRun, name: str = "other.gguf") -> ScoredRun:
    header = replace(run.run.header, model=replace(SCRIPTED, file=name))
    return replace(run, run=replace(run.run, header=header))


def _of_another_corpus(run: ScoredRun, **changes: object) -> ScoredRun:
    header = run.run.header
    return replace(run, run=replace(run.run, header=replace(header, corpus=replace(header.corpus, **changes))))


def test_table_3_sweeps_the_bias(scored: ScoredRun) -> None:
    table = table_3([scored], PLAIN)
    assert [row[0] for row in table.rows] == ["rt", "ssbd@0", "ssbd@0.2", "ssbd@0.5", "cd"]


def test_table_4_sets_output_masks_against_display_only_ones(scored: ScoredRun) -> None:
    assert [row[0] for row in table_4([scored], PLAIN).rows] == [
        "ssbd@0.2",
        "ssbd@0.2+mask3",
        "ssbd@0.2+display3",
        "ssbd@0.2+display5",
    ]


def test_table_2_has_a_group_of_columns_for_each_model(scored: ScoredRun) -> None:
    other = _of_another_model(scored)
    table = table_2([scored, other], PLAIN)
    assert [row[0] for row in table.rows] == ["en-de rt", "en-de ssbd@0.2"]
    assert {column.group for column in table.columns[1:]} == {"scripted", "other"}
    blocks = as_text(table).split("\n\n")[1:3]
    assert [block.splitlines()[0] for block in blocks] == ["scripted", "other"]
    assert [line.split()[:2] for line in blocks[1].splitlines()[2:]] == [["en-de", "rt"], ["en-de", "ssbd@0.2"]]


def test_the_papers_figures_stand_beside_ours(scored: ScoredRun) -> None:
    for make in (table_2, table_3, table_4):
        table = make([scored], TableSettings(paper=True))
        beside = [index for index, column in enumerate(table.columns) if column.group.startswith("paper")]
        assert beside
        ssbd = next(row for row in table.rows if str(row[0]).endswith("ssbd@0.2"))
        assert all(ssbd[index] is not None for index in beside if table.columns[index].name != "TPS")


def test_tables_3_and_4_are_of_one_model(scored: ScoredRun) -> None:
    for make in (table_3, table_4):
        with pytest.raises(UsageError, match="different models"):
            make([scored, _of_another_model(scored)], PLAIN)
        same = _of_another_corpus(scored, name="another", sha256="x")
        assert len(make([scored, same], PLAIN).rows) == 2 * len(make([scored], PLAIN).rows)


def test_table_2_compares_on_the_same_sentences_and_once(scored: ScoredRun) -> None:
    with pytest.raises(UsageError, match="both of"):
        table_2([scored, scored], PLAIN)
    with pytest.raises(UsageError, match="other en-de sentences"):
        table_2([scored, _of_another_model(_of_another_corpus(scored, sha256="x"))], PLAIN)
    pairs = table_2([scored, _of_another_corpus(scored, sha256="x", target_language="ja")], PLAIN)
    assert len(pairs.rows) == 4


def test_text_and_recorded_runs_have_their_own_tables(scored: ScoredRun) -> None:
    recorded = _of_another_corpus(scored, kind="recorded")
    for make, wrong in ((table_2, recorded), (table_6, scored)):
        with pytest.raises(UsageError):
            make([wrong], PLAIN)
    with pytest.raises(UsageError):
        latency_table([scored])
    assert table_6([recorded], PLAIN).rows
    assert latency_table([recorded]).rows
    assert possible_tables([recorded]) == [("6", [recorded]), ("latency", [recorded])]
    assert possible_tables([scored]) == [(name, [scored]) for name in ("2", "3", "4")]
    assert possible_tables([recorded, scored]) == [*possible_tables([scored]), *possible_tables([recorded])]


def test_a_bias_that_was_not_run_is_refused_with_those_that_were(scored: ScoredRun) -> None:
    settings = TableSettings(bias=0.7)
    for make in (table_2, table_4):
        with pytest.raises(UsageError, match=r"0, 0\.2, 0\.5"):
            make([scored], settings)


def test_by_length_every_segment_is_in_one_group(scored: ScoredRun) -> None:
    table = lengths_table([scored])
    segments = [column.name for column in table.columns].index("segments")
    rows = [row for row in scored.rows if row.mask != "display"]
    for row in rows:
        groups = [cells for cells in table.rows if cells[0] == row.method]
        assert sum(cells[segments] for cells in groups) == row.finals
        assert len({cells[1] for cells in groups}) == len(groups)
    assert len(table.rows) == len(rows) * len({cells[1] for cells in table.rows})
    # How few segments a group has stands beside its figures, however narrow the page.
    assert "segments" in [column.name for column in table.most_important(4)[0].columns]
    difference = [column.name for column in table.columns].index("chrF - rt")
    # Resamples of one sentence are all the same: their interval would claim certainty.
    assert all((cells[difference] is None) == (cells[0] == "rt" or cells[segments] == 1) for cells in table.rows)
    assert {cells[segments] for cells in table.rows} > {1}
    lengths = [len(segment.source.split()) for segment in scored.run.segments]
    for name, part in by_length(scored):
        begin, _, end = name.rstrip("+").partition("-")
        inside = [length for length in lengths if int(begin) <= length <= int(end or 10**6)]
        assert part.rows[0].finals == len(inside)


def test_every_table_names_the_unit_and_what_produced_it(scored: ScoredRun) -> None:
    for make in (table_2, table_3, table_4):
        table = make([scored], PLAIN)
        signature = " ".join(table.signature)
        for part in ("scripted.gguf", "run.jsonl", "2 repeats", "BLEU|", "COMET was not computed"):
            assert part in signature
        assert "NE, NE sums in word tokens." in table.about() and table.every_caveat() == []
    assert table_3([scored], PLAIN).only(["speedup"]).about().endswith("scripted.")
    calm = calm_table([scored])
    assert calm.about().endswith("NE sums in word tokens; NE screen, NE screen raw in words.")
    assert calm.only(["NE screen"]).about().endswith("scripted. NE screen in words.")
    assert "NE screen raw in characters." in calm_table([_of_another_corpus(scored, target_language="ja")]).about()
    japanese = replace(_of_another_corpus(scored, target_language="ja", sha256="x"), unit="char")
    both = calm_table([scored, japanese]).about()
    assert "NE sums in word tokens (de) and char tokens (ja); " in both
    assert both.endswith("NE screen raw in words (de) and characters (ja).")
    compared = comparison_table(scored, []).about()
    assert "NE raw in word tokens; NE shown in the model's own tokens; NE screen in words." in compared


def test_every_format_says_what_its_figures_are_of(scored: ScoredRun) -> None:
    about = "4 sentences of source.en, en-de, scripted."
    for table in (table_3([scored], PLAIN), calm_table([scored])):
        for page in (as_text(table), as_markdown(table), as_json([table]), as_latex(table)):
            assert about in page
    assert about in next(line for line in as_latex(table).splitlines() if line.startswith(r"\caption"))
    two = table_3([scored, _of_another_corpus(scored, name="b.en", sha256="x")], PLAIN).about()
    assert two.startswith("4 sentences of source.en, en-de, scripted; 4 sentences of b.en, en-de, scripted. ")


def test_the_papers_erasure_is_not_compared_in_another_unit(scored: ScoredRun) -> None:
    beside = TableSettings(paper=True)
    for make, names in ((table_2, ("FLORES, Tower+ 2B", "FLORES, Qwen3 4B")), (table_3, ("FLORES en-zh, Tower+ 2B",))):
        table = make([scored], beside)
        for page in (as_text(table, table.every_caveat()), as_json([table]), as_latex(table)):
            assert "cannot be compared" in " ".join(page.split()) and "Flores-101 tokens" in page
            assert all(f"paper: {name}" in page for name in names)
        assert ("The paper's TPS is of an Apple M2 Pro." in table.every_caveat()) == (make is table_2)
        assert table.only(["COMET", "A/D %"]).every_caveat() == []
    units = table_3([scored], beside).values()["units"]
    assert units == {
        "NE (ours)": "word tokens",
        "NE sums (ours)": "word tokens",
        "NE (paper: FLORES en-zh, Tower+ 2B)": "Flores-101 tokens",
    }
    same = table_3([replace(scored, unit="flores101")], beside)
    assert "NE, NE sums in Flores-101 tokens." in same.about() and same.every_caveat() == []
    recorded = _of_another_corpus(scored, kind="recorded")
    assert "paper: ACL 60/60, Tower+ 2B" in as_text(table_6([recorded], beside))


def _as_recorded(scored: ScoredRun, streams: str, *, live: str = "") -> ScoredRun:
    """The run as of recorded streams, one a segment in the order of the letters, those in `live` in real time."""
    recorded = _of_another_corpus(scored, kind="recorded")
    segments = tuple(
        replace(segment, stream=name, start=0.0) for segment, name in zip(scored.segments, streams, strict=True)
    )
    updates = tuple(
        replace(update, end=1.0 + update.update, due=2.0 + update.update, captured=1.5 + update.update)
        if streams[update.segment_id] in live
        else replace(update, end=1.0 + update.update, due=1.0 + update.update)
        for update in scored.run.updates
    )
    run = replace(recorded.run, segments=segments, updates=updates)
    return score(run, ScoringSettings("word"))


def test_delays_without_the_recognisers_time_are_named(scored: ScoredRun) -> None:
    table = latency_table([_as_recorded(scored, "aabc", live="b")])
    [caveat] = table.every_caveat()
    assert "2 of 3 streams were recorded at full speed" in caveat and "AL-CA s and LAAL-CA s without" in caveat
    assert table.about().startswith("4 segments of 3 streams in source.en, ")
    assert table.only(["AL s"]).every_caveat() == []
    assert latency_table([_as_recorded(scored, "aabc", live="abc")]).every_caveat() == []
    assert "stable s without" in calm_table([_as_recorded(scored, "aabc")]).every_caveat()[0]


def test_what_part_has_a_reference_is_said_beside_quality(scored: ScoredRun) -> None:
    first, second, third, last = scored.segments
    bare = replace(second, reference=None), replace(third, reference=None)
    some = replace(scored, segments=(first, *bare, last))
    table = table_3([some], PLAIN)
    assert table.every_caveat() == ["run.jsonl: quality is of what has a reference, 2 of 4 segments."]
    assert table.only(["speedup"]).every_caveat() == []
    whole = replace(_as_recorded(scored, "aabb"), segments=tuple(
        replace(segment, stream=name, reference=None, stream_reference="x" if segment is last else None)
        for segment, name in zip(scored.segments, "aabb", strict=True)
    ))  # fmt: skip
    assert "quality is of what has a reference, 1 of 2 streams as wholes" in table_6([whole], PLAIN).every_caveat()[0]


def test_one_file_gives_one_table_byte_by_byte(run: Run) -> None:
    def texts() -> list[str]:
        scored = score(read_run(run.path), ScoringSettings("13a", (3, 5)))
        tables = [make([scored], TableSettings(paper=True)) for make in (table_2, table_3, table_4)]
        renders = (as_text, as_markdown, as_latex, as_csv)
        return [render(table) for table in tables for render in renders] + [as_json(tables)]

    assert texts() == texts()


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
def test_a_narrow_terminal_gets_whole_names_and_the_most_important_columns(width: int) -> None:
    ranks = (4, 2, 8, 1, 6, 3, 7, 5)
    columns = (Column("method"), *(Column(f"figure {rank}", decimals=2, rank=rank) for rank in ranks))
    table = Table("table 9", "wide", columns, (("ssbd@0.2+display3", *(1.0 for _ in ranks)),))
    words = "a note of_some_words that_may_not_be_broken"
    _, block, notes = as_text(table, [words], width).split("\n\n")
    heading, row = block.splitlines()
    shown = [rank for rank in ranks if f"figure {rank}" in heading]
    assert "ssbd@0.2+display3" in row and len(row.split()) == 1 + len(shown)
    assert sorted(shown) == list(range(1, len(shown) + 1))
    assert len(heading) <= width or shown == [1]
    left_out = notes.partition("A wider")[0].replace("\n ", "")
    assert all(f"figure {rank}" in left_out for rank in ranks if rank not in shown)
    assert ("Left out" in notes) == (len(shown) < len(ranks))
    assert notes.split()[-len(words.split()) :] == words.split()


def test_a_comparison_has_the_benchs_own_figures(scored: ScoredRun) -> None:
    scored = replace(scored, rows=tuple(row for row in scored.rows if row.mask != "display"))
    table = comparison_table(scored, ["A signature."])
    rows = {str(row[0]): dict(zip((column.name for column in table.columns), row, strict=True)) for row in table.rows}
    assert list(rows) == ["rt", "ssbd@0", "ssbd@0.2", "ssbd@0.5", "cd", "ssbd@0.2+mask3"]
    assert rows["rt"]["speedup"] == (1.0, 1.0, 1.0) and rows["rt"]["A/D %"] is None
    assert rows["cd"]["NE raw"] == 0.0 and rows["cd"]["A/D %"] == 100.0
    for label, row in rows.items():
        screen = getattr(scored.row(label), "screen", None)
        assert screen is not None and (row["NE shown"], row["NE screen"]) == (screen.segment_erasure, screen.erasure)
    assert rows["ssbd@0"]["finals as rt"] == "4/4"
    assert as_text(table).splitlines()[3].split()[0] == "method"


def test_markdown_escapes_its_bars() -> None:
    lines = as_markdown(TABLE).splitlines()
    assert (lines[2], lines[4]) == ("| method | NE |", "| rt | 1.26 |")
    assert (lines[7], lines[9]) == (r"a\|b", r"| method | paper \| NE |")
    assert lines[11] == f"| rt | {NOTHING} |"


def test_a_table_without_figures_has_dashes() -> None:
    bare = replace(TABLE, rows=(("rt", None, None, None),))
    for text in (as_text(bare), as_markdown(bare), as_latex(bare)):
        assert "rt" in text and "COMET" in text


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


def test_columns_are_chosen_by_name_and_in_order(scored: ScoredRun) -> None:
    table = table_3([scored], TableSettings(paper=True)).only(["speedup", "NE"])
    assert [(column.name, column.group) for column in table.columns[1:]] == [
        ("speedup", "ours"), ("NE", "ours"), ("NE", "paper: FLORES en-zh, Tower+ 2B"),
    ]  # fmt: skip
    assert [row[0] for row in table.rows] == ["rt", "ssbd@0", "ssbd@0.2", "ssbd@0.5", "cd"]
    assert all(len(row) == 4 for row in table.rows) and table.rows[0][1] == (1.0, 1.0, 1.0)
    assert table.only(["method", "NE", "method"]) == table.only(["NE"])
    with pytest.raises(UsageError, match="did you mean speedup"):
        table_3([scored], PLAIN).only(["speed up"])


def test_beside_the_papers_speedup_stands_what_compares_with_it(scored: ScoredRun) -> None:
    table = table_3([scored], TableSettings(paper=True))
    assert [(column.name, column.group) for column in table.only(["TPS ratio*"]).columns[1:]] == [
        ("TPS ratio*", "ours"), ("TPS ratio", "paper: FLORES en-zh, Tower+ 2B"),
    ]  # fmt: skip
    both = table.only(["TPS ratio", "TPS ratio*"])
    assert [column.name for column in both.columns[1:]] == ["TPS ratio", "TPS ratio*", "TPS ratio"]
    ranks = {column.name: column.rank for column in table.columns if column.group == "ours"}
    assert ranks["TPS ratio*"] < min(ranks[name] for name in ("update ms", "chrF - rt", "BLEU - rt", "COMET - rt"))


def test_a_hostile_name_reaches_no_terminal() -> None:
    hostile = "\x1b]0;mine\x07\x1b[2J"
    table = replace(TABLE, title=hostile, rows=((hostile, 1.0, None, None),), signature=(hostile,))
    for text in (
        as_text(table, table.signature),
        as_markdown(table, table.signature),
        as_latex(table, table.signature),
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


def test_latex_says_whose_columns_are_whose(scored: ScoredRun) -> None:
    whose, names, first, *_ = latex_cells(
        as_latex(table_3([scored], TableSettings(paper=True)).only(["speedup", "NE"]))
    )
    assert whose == ["", "2cours", "1cpaper: FLORES en-zh, Tower+ 2B"]  # how many columns, centred
    assert names[0].endswith("method") and names[1:] == ["speedup", "NE", "NE"] and first[0] == "rt"


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1).map(lambda name: f"x{name}x"))
def test_no_name_breaks_latex(name: str) -> None:
    assert len(latex_cells(as_latex(replace(MEASURED, rows=((name, None, Spread(1.0, 1.0, 1.0)),))))) == 2


def test_a_latex_caption_says_that_a_run_was_quick() -> None:
    assert r"\caption{Intervals \& spreads, quick run.}" in as_latex(replace(MEASURED, name="table 3, quick"))


def test_the_most_important_columns_are_the_same_in_every_group(scored: ScoredRun) -> None:
    table, left_out = table_3([scored], TableSettings(paper=True)).most_important(8)
    ours, paper = ([column.name for column in table.columns if column.group.startswith(own)] for own in ("ours", "pap"))
    assert len(filled(table)) <= 8 and {"speedup", "NE"} <= set(ours) and "NE" in paper
    assert "update ms" in left_out and not set(left_out) & set(ours)


def test_notes_of_latex_are_comments(scored: ScoredRun) -> None:
    table = table_3([scored], PLAIN)
    plain, signed = as_latex(table), as_latex(table, [*table.explained(), *table.signature])
    assert [line for line in signed.splitlines() if not line.startswith("%")] == [
        line for line in plain.splitlines() if not line.startswith("%")
    ]


def test_every_table_of_a_quick_run_says_so(scored: ScoredRun) -> None:
    quick = replace(scored, run=replace(scored.run, header=replace(scored.run.header, quick=True)))
    for table in (calm_table([quick]), *(make([quick], PLAIN) for make in (table_2, table_3, table_4))):
        for text in (as_text(table), as_markdown(table), as_csv(table), as_json([table]), as_latex(table)):
            assert "quick" in text
        assert table.stem == table.name.replace(", ", "-").replace(" ", "-")
    mixed = table_3([scored, quick], PLAIN)
    assert {str(row[0]).split()[0] for row in mixed.rows} == {"whole", "quick"}


def test_the_run_file_is_never_touched(run: Run, tmp_path: Path) -> None:
    before = run.path.read_bytes()
    score(read_run(run.path), ScoringSettings("word"))
    assert run.path.read_bytes() == before


def test_the_calm_table_has_every_method_beside_the_baseline(scored: ScoredRun) -> None:
    table = calm_table([scored])
    names = [column.name for column in table.columns]
    rows = {str(row[0]): dict(zip(names, row, strict=True)) for row in table.rows}
    assert list(rows) == ["rt", "ssbd@0", "ssbd@0.2", "ssbd@0.5", "cd", "ssbd@0.2+mask3"]
    assert rows["rt"]["chrF - rt"] is None and rows["ssbd@0"]["chrF - rt"] == (0.0, 0.0, 0.0)
    assert "0.0 [0.0, 0.0]" in as_text(table)
    assert len(calm_table([scored, _of_another_corpus(scored, sha256="x")]).rows) == 2 * len(rows)


def test_the_calm_table_is_made_of_runs_with_a_live_window(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path)
    run_to(tmp_path / "run.jsonl", corpus, header_of(corpus, "rt,ssbd@0.2,window3@0.2+worth", 1))
    windowed = score(read_run(tmp_path / "run.jsonl"), ScoringSettings("word"))
    assert possible_tables([windowed])[-1] == ("calm", [windowed])
    recorded = _of_another_corpus(windowed, kind="recorded")
    assert [name for name, _ in possible_tables([recorded])] == ["6", "latency", "calm"]
    assert possible_tables([windowed, recorded])[-1] == ("calm", [windowed, recorded])
