"""Tables hold the paper's rows, the same in every format, and refuse runs that do not belong together."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from livetrans.base.errors import UsageError
from livetrans.bench.measures import MeasuredRun, MeasureSettings
from livetrans.bench.runfile import RunFile, Update, read_run
from livetrans.bench.tables import FIGURES, NOTHING, Column, Table, as_json, kinds_of, make_table, names_of
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


def notes(table: Table) -> str:
    return "\n".join(table.notes)


def test_table_3_sweeps_the_bias(measured: MeasuredRun) -> None:
    table = make_table("3", [measured])
    assert [row[0] for row in table.rows] == ["rt", "ssbd@0", "ssbd@0.2", "ssbd@0.5", "cd"]


def test_table_4_sets_output_masks_against_display_only_ones(measured: MeasuredRun) -> None:
    assert [row[0] for row in make_table("4", [measured]).rows] == [
        "ssbd@0.2",
        "ssbd@0.2:mask=3",
        "ssbd@0.2:display=3",
        "ssbd@0.2:display=5",
    ]


def test_the_papers_figures_stand_beside_ours(measured: MeasuredRun) -> None:
    for name in "234":
        table = make_table(name, [measured], paper=True)
        beside = [index for index, column in enumerate(table.columns) if column.name.startswith("paper ")]
        assert beside
        ssbd = next(row for row in table.rows if str(row[0]).endswith("ssbd@0.2"))
        assert all(ssbd[index] is not None for index in beside if not table.columns[index].name.endswith("TPS"))
        assert "--unit flores101" in notes(table) and "The paper's NE is in Flores-101 tokens" in notes(table)
    assert "paper" not in notes(make_table("3", [measured]))


def test_text_and_recorded_runs_have_their_own_tables(measured: MeasuredRun) -> None:
    recorded = changed(measured, kind="recorded")
    for name, wrong in (("2", recorded), ("6", measured)):
        with pytest.raises(UsageError):
            make_table(name, [wrong])
    assert [row[0] for row in make_table("6", [recorded]).rows] == ["rt", "ssbd@0.2"]


def test_lengths_are_measured_each_alone(measured: MeasuredRun) -> None:
    table = make_table("lengths", [measured])
    assert [column.name for column in table.columns[:2]] == ["method", "words"]
    assert list(dict.fromkeys(row[1] for row in table.rows)) == ["1-4", "9-12", "13-16"]
    place = [column.name for column in table.columns].index("chrF - rt")
    # Resamples of one sentence are all the same: their interval would claim certainty.
    assert all((row[place] is None) == (row[0] == "rt" or row[1] != "1-4") for row in table.rows)


def test_every_table_says_what_it_is_of_and_what_produced_it(measured: MeasuredRun) -> None:
    table = make_table("3", [measured])
    for part in ("scripted.gguf", "run.jsonl", "repeats 3", "BLEU|", "COMET was not computed", "NE in word tokens"):
        assert part in notes(table)
    assert table.notes[0] == "4 sentences of source.en, en-de, scripted.gguf."
    japanese = changed(changed(measured, target_language="ja", sha256="x"), unit="char")
    assert "NE in char tokens, NE screen in characters." in notes(make_table("calm", [measured, japanese]))


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
    assert "2 of 3 streams have no times of a live run" in notes(table)
    assert table.notes[0].startswith("4 segments of 3 streams in source.en, ")
    assert "full speed" not in notes(make_table("latency", [recorded(measured, "aabc", live="abc")]))


def test_what_part_has_a_reference_is_said(measured: MeasuredRun) -> None:
    first, second, third, last = measured.file.segments
    some = (first, replace(second, reference=None), replace(third, reference=None), last)
    table = make_table("3", [MeasuredRun(replace(measured.file, segments=some), measured.settings)])
    assert "run.jsonl: quality is computed on what has a reference, 2 of 4 segments." in table.notes
    assert "1 of 2 streams as wholes" in notes(make_table("6", [recorded(measured, "aabb", whole=True)]))
    bare = tuple(replace(one, reference=None) for one in measured.file.segments)
    unscored = MeasuredRun(replace(measured.file, segments=bare), replace(measured.settings, comet=Path("model")))
    assert "No quality: the run has no reference." in notes(make_table("3", [unscored]))


def test_every_table_of_a_quick_run_says_so(measured: MeasuredRun) -> None:
    quick = changed(measured, quick=True)
    for table in (make_table(name, [quick]) for name in ("2", "3", "4", "calm")):
        assert table.name.endswith(", quick")
        assert "quick" in table.as_text().splitlines()[0] and "quick" in as_json([table])


def test_a_table_has_the_figures_of_its_methods(run: RunFile) -> None:
    measured = MeasuredRun(run, MeasureSettings("model"))
    table = make_table("compare", [measured])
    rows = {str(row[0]): dict(zip((column.name for column in table.columns), row, strict=True)) for row in table.rows}
    assert list(rows) == METHODS.split(",")
    for label, row in rows.items():
        measure = measured.row(label)
        assert measure and row.pop("method") == label
        assert row == {name: FIGURES[name].compute(measure) for name in row}
    assert rows["ssbd@0"]["finals as rt"] == "4/4"


def test_the_calm_table_is_made_of_runs_with_a_live_window(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path)
    run_to(tmp_path / "run.jsonl", corpus, header_of(corpus, "rt,ssbd@0.2,window@0.2:window=3", 1))
    windowed = MeasuredRun(read_run(tmp_path / "run.jsonl"), MeasureSettings("word"))
    assert kinds_of(windowed) == {"text", "windowed"}
    assert kinds_of(changed(windowed, kind="recorded")) == {"recorded", "windowed"}
    # The run's mask decided where partials stopped: nobody knows what another one would have shown.
    for k, stopped in ((None, 0), (3, 0), (5, 1)):
        masked = MeasuredRun(windowed.file, replace(windowed.settings, display_masks=(5,), shown_mask_k=k))
        table = make_table("calm", [masked])
        place = [column.name for column in table.columns].index("NE screen")
        assert [row[place] is None for row in table.rows] == [False, False, bool(stopped)]
        assert ("window@0.2:window=3 stopped early by the run's mask of 3 tokens" in notes(table)) == bool(stopped)
        assert [row.label for row in masked.rows if row.display_k] == ["rt:display=5", "ssbd@0.2:display=5"]


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
        Column("chrF - rt", decimals=1),
        Column("speedup", decimals=2),
    ),
    (
        ("rt", 1.256, None, None, Spread(1.0, 1.0, 1.0)),
        ("犬 ssbd", None, None, Interval(-0.51, -1.25, 0.04), Spread(1.5, 1.25, 1.75)),
    ),
    ("A note.",),
)


def test_text_lines_up_leaves_empty_columns_out_and_says_what_the_others_mean() -> None:
    assert TABLE.as_text().splitlines() == [
        "Table 9: formats",
        "",
        "method     NE         chrF - rt           speedup",
        "rt       1.26                 –              1.00",
        "犬 ssbd     –  -0.5 [-1.2, 0.0]  1.50 (1.25-1.75)",
        "",
        "method: what was run",
        "NE: erased / final",
        "A note.",
    ]
    assert NOTHING in TABLE.as_text()


def test_csv_is_read_back_with_every_column_and_bounds_of_their_own() -> None:
    first, second = csv.DictReader(io.StringIO(TABLE.as_csv()), restval="short")
    assert (first["NE"], first["COMET"], first["chrF - rt low"], first["speedup most"]) == ("1.256", "", "", "1.0")
    assert (second["chrF - rt low"], second["chrF - rt high"], second["speedup least"]) == ("-1.25", "0.04", "1.25")


def test_json_is_one_document_with_numbers_whole() -> None:
    [table] = json.loads(as_json([TABLE]))["tables"]
    assert table["rows"][0] == {
        "method": "rt", "NE": 1.256, "COMET": None, "chrF - rt": None,
        "speedup": 1.0, "speedup least": 1.0, "speedup most": 1.0,
    }  # fmt: skip
    assert [table["rows"][1][f"chrF - rt{end}"] for end in ("", " low", " high")] == [-0.51, -1.25, 0.04]
    assert (table["notes"], table["columns"]["NE"]) == (["A note."], "erased / final")
