"""`livetrans replay --compare`: a benchmark on what one source says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from livetrans.cli import run

pytestmark = pytest.mark.usefixtures("translator_path")

RECORDINGS = Path(__file__).parents[2] / "recordings"


def table_of(text: str) -> dict[str, dict[str, str]]:
    """The printed table: figures by method and column."""
    heading, *rows = text.split("\n\n")[1].splitlines()
    names = re.split(r"\s{2,}", heading)
    return {row.split()[0]: dict(zip(names, re.split(r"\s{2,}", row), strict=True)) for row in rows}


def transcripts(path: Path, *segments: str) -> Path:
    """A stream of segments, each printed in two updates."""
    lines = []
    for segment_id, text in enumerate(segments):
        words = text.split()
        for revision, committed in enumerate((" ".join(words[: len(words) // 2]), text)):
            final = revision == 1
            values = {"segment_id": segment_id, "revision": revision, "committed": committed, "partial": ""}
            lines.append(json.dumps({**values, "final": final}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("segments", [2, pytest.param(13, marks=pytest.mark.long)])
def test_methods_are_compared_in_a_table(segments: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    # Of long sentences: in short clear ones this translator takes nothing back.
    lines = (RECORDINGS / "long.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    stream = tmp_path / "long.jsonl"
    stream.write_text("".join(line for line in lines if json.loads(line).get("segment_id", 0) < segments))
    assert run(["replay", str(stream), "--compare", "ssbd@0.2:final=fresh,cd"]) == 0
    rows = table_of(capfd.readouterr().out)
    assert list(rows) == ["rt", "ssbd@0.2:final=fresh", "cd"]
    assert rows["rt"]["speedup"] == rows["rt"]["TPS ratio"] == "1.00"
    assert (rows["cd"]["NE sums"], rows["cd"]["A/D %"]) == ("0.00", "100.0")
    assert float(rows["rt"]["NE screen"]) > float(rows["cd"]["NE screen"])
    assert float(rows["rt"]["NE sums"]) > float(rows["ssbd@0.2:final=fresh"]["NE sums"]) > 0
    assert rows["rt"]["A/D %"] == "–"
    # Finals are decoded without bias, as in a live run, so that they are re-translation's.
    finals = rows["rt"]["finals as rt"]
    assert rows["ssbd@0.2:final=fresh"]["finals as rt"] == finals and finals == f"{segments}/{segments}"


def test_repeats_show_as_spread_and_a_comparison_has_every_format(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    stream = transcripts(tmp_path / "s.jsonl", "The house is old.")
    command = ["replay", str(stream), "--compare", "rt,cd", "--repeats", "3"]
    assert run([*command, "--format", "json"]) == 0
    [table] = json.loads(capfd.readouterr().out)["tables"]
    [base, cd] = table["rows"]
    assert base["speedup"] == base["speedup least"] == base["speedup most"] == 1.0
    assert cd["speedup least"] < cd["speedup"] < cd["speedup most"]
    assert table["notes"][0].startswith("1 segment of s.jsonl, en-de, ")
    assert [note for note in table["notes"] if note.startswith("s.jsonl: it has no times of a live run")]
    assert "run.jsonl" not in json.dumps(table)
    assert run([*command, "--format", "csv"]) == 0
    assert capfd.readouterr().out.startswith("method,speedup,speedup least,speedup most")


def test_a_draft_model_of_the_configuration_file_is_for_the_methods_that_use_one(
    tmp_path: Path, translator_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    stream, config = transcripts(tmp_path / "s.jsonl", "The house is old."), tmp_path / "config.toml"
    config.write_text(f"draft-model = {json.dumps(str(translator_path))}\nmask-k = 2\n")
    assert run(["replay", str(stream), "--compare", "rt,ssbd", "--config", str(config)]) == 0
    assert list(table_of(capfd.readouterr().out)) == ["rt", "ssbd@0.2"]


@pytest.mark.parametrize("option", [["--repeats", "3"], ["--format", "csv"]])
def test_options_of_a_comparison_need_one(tmp_path: Path, option: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    stream = transcripts(tmp_path / "s.jsonl", "The house is old.")
    assert run(["replay", str(stream), *option]) == 2
    captured = capfd.readouterr()
    assert captured.out == "" and "add --compare METHODS" in captured.err and captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("segment", "methods", "sentence", "code"),
    [
        ("very " * 2000 + "long.", "rt,cd", "context", 1),
        ("We go home.", "rt", "two methods or more", 2),
        ("We go home.", "rt,beam", "there is no method 'beam'", 2),
        ("We go home.", "rt,window,paper", "for example ssbd@0.2", 2),
        ("We go home.", "rt,spec", "spec needs a draft model", 2),
        ("We go home.", "rt,cd --to de,fr", "one language; give one of de, fr", 2),
        (
            "We go home.",
            "rt,cd --between en,de",
            "one direction; drop it or give its languages with --from and --to",
            2,
        ),
        ("We go home.", "rt,ssbd --draft-model livetrans-en-de", "no method uses --draft-model", 2),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(
    tmp_path: Path, segment: str, methods: str, sentence: str, code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    stream = transcripts(tmp_path / "s.jsonl", segment)
    assert run(["replay", str(stream), "--compare", *methods.split()]) == code
    captured = capfd.readouterr()
    assert captured.out == "" and sentence in captured.err.splitlines()[-1]


def test_a_recorded_conversation_is_compared_in_the_direction_that_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    stream, lines = tmp_path / "s.jsonl", []
    for line in (RECORDINGS / "demo.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["event"] == "run_started":
            event["settings"] |= {"between": {"languages": ["en", "de"], "names": ["Ana", "Ben"]}}
        if event.get("segment_id", 0) < 2:
            lines.append(event | ({"language": ("en", "de")[event["segment_id"]]} if "segment_id" in event else {}))
    stream.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert run(["replay", str(stream), "--compare", "rt,cd"]) == 2
    assert "one direction; add --from en --to de, or the other way round" in capfd.readouterr().err
    assert run(["replay", str(stream), "--compare", "rt,cd", "--from", "en", "--to", "de"]) == 0
    assert "1 segment of s.jsonl, en-de" in " ".join(capfd.readouterr().out.split())
