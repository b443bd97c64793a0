"""`livetrans bench` as a user meets it: on the real translator, and one sentence for whatever is wrong."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path

import pytest

from livetrans.bench.runfile import read_run
from livetrans.bench.tables import FORMATS
from livetrans.cli import run
from livetrans.config import SamplingSettings
from tests.bench.runs import untimed
from tests.lm.test_draft_model import write_noisy_copy


def bench_run(folder: Path, *options: str) -> tuple[list[str], Path]:
    """A command over two sentences with their references, and the file that it writes."""
    (folder / "a.en").write_text("My brother lives in a house near the river.\nTwo dogs run on the beach.\n")
    (folder / "a.de").write_text("Mein Bruder lebt in einem Haus am Fluss.\nZwei Hunde rennen am Strand.\n")
    texts = ["--source", str(folder / "a.en"), "--reference", str(folder / "a.de")]
    return ["bench", "run", *texts, "-o", str(folder / "run.jsonl"), *options], folder / "run.jsonl"


def test_the_real_translator_goes_through_run_and_table(
    tmp_path: Path, translator_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, file = bench_run(tmp_path, "--mt", str(translator_path), "--repeats", "2")
    command += ["--methods", "rt,ssbd@0,ssbd@0.2,cd,ssbd@0.2:mask=3"]
    assert run(command) == 0
    whole = file.read_bytes()
    done = read_run(file)
    assert done.complete
    for (repeat, segment, method), updates in done.units.items():
        if method == "ssbd@0":
            plain = done.units[repeat, segment, "rt"]
            assert [update.tokens for update in updates] == [update.tokens for update in plain]
        for update in updates:
            assert update.ends == tuple(sorted(update.ends)) and update.ends[-1] == len(update.text)

    # Cut in the middle of a line, the same command goes on to the same lines.
    file.write_bytes(whole[: len(whole) * 2 // 3])
    assert run(command) == 0
    assert untimed(file.read_bytes()) == untimed(whole)
    capsys.readouterr()
    outputs = []
    for _ in range(2):
        assert run(["bench", "table", str(file), "--paper", "--unit", "word", "--format", "json"]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    tables = json.loads(outputs[0])["tables"]
    assert [table["table"] for table in tables] == ["table 2", "table 3", "table 4"]


@pytest.mark.parametrize("format_", FORMATS)
def test_only_the_table_is_on_stdout(run_file: Path, format_: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "table", str(run_file), "--table", "3", "--format", format_]) == 0
    printed = capsys.readouterr()
    about, meaning = "4 sentences of source.en, en-de, scripted.gguf.", "speedup: rt's update time"
    assert (about in printed.err, about in printed.out) == (format_ == "csv", format_ != "csv")
    assert "ssbd@0.5" in printed.out and (meaning in printed.out) == (format_ == "text")


def test_csv_is_one_table_with_one_header(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "table", str(run_file), "--format", "csv"]
    assert run(command) == 2
    refused = capsys.readouterr()
    assert refused.out == "" and "3 tables (table 2; table 3; table 4)" in refused.err
    assert run([*command, "--table", "3"]) == 0
    heading, *rows = csv.reader(capsys.readouterr().out.splitlines())
    assert heading[0] == "method" and rows and all(len(row) == len(heading) for row in rows)


def test_what_a_chosen_bias_leaves_out_is_said(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "table", str(run_file), "--bias", "0.15", "--format", "json"]) == 0
    done = capsys.readouterr()
    assert [table["table"] for table in json.loads(done.out)["tables"]] == ["table 3"]
    first, second = done.err.splitlines()
    for number, line in ((2, first), (4, second)):
        assert line.startswith(f"table {number} is left out: ") and "choose its --bias from 0, 0.2, 0.5" in line


def test_a_case_is_marked_where_there_are_no_colours(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "case", str(run_file), "--id", "1", "--methods", "rt,cd"]) == 0
    printed = capsys.readouterr().out
    assert "two dogs sleep [.]" in printed and "draft model" not in printed
    assert all(line == line.rstrip() for line in printed.splitlines())


def test_half_characters_and_controls_of_a_file_reach_no_page(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *lines = run_file.read_text(encoding="utf-8").splitlines()
    header = json.loads(first)
    header["corpus"]["name"] = "\ud800\x1b]0;mine\x07"
    lines = [line.replace("TWO DOGS", r"\ud800\u001b[2J") for line in lines]
    hostile = tmp_path / "hostile.jsonl"
    hostile.write_text("\n".join([json.dumps(header), *lines]) + "\n", encoding="utf-8")
    commands = [["case", str(hostile), "--id", "1"]]
    commands += [["table", str(hostile), "--table", "3", "--format", format_] for format_ in FORMATS]
    for command in commands:
        assert run(["bench", *command]) == 0
        printed = capsys.readouterr().out
        assert printed and "\x1b" not in printed and "\ud800" not in printed


def test_the_real_translator_goes_on_with_a_draft_model(
    tmp_path: Path, translator_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draft = tmp_path / "draft.gguf"
    write_noisy_copy(translator_path, draft)
    command, file = bench_run(tmp_path, "--mt", str(translator_path), "--draft-model", str(draft), "--repeats", "1")
    methods = ["rt", "spec:gamma=4", "bild:fallback=1:rollback=3", "ssbd@0:gamma=2"]
    assert run([*command, "--methods", ",".join(methods)]) == 0
    done = read_run(file)
    for segment in range(2):
        first, *others = ([update.tokens for update in done.units[0, segment, method]] for method in methods)
        assert others == [first] * 3
    capsys.readouterr()
    assert run(["bench", "table", str(file), "--format", "json"]) == 0
    [table] = json.loads(capsys.readouterr().out)["tables"]
    assert table["table"] == "drafts"
    command += ["--force", "--top-p", "0.8", "--seed", "3"]
    assert run([*command, "--methods", "rt,spec:gamma=4"]) == 0
    assert read_run(file).header.sampling == SamplingSettings(top_p=0.8, seed=3)
    assert run([*command, "--methods", "rt,cd"]) == 2


def test_the_double_token_model_is_set_against_the_translator(
    tmp_path: Path, translator_path: Path, double_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    models = ["--mt", str(translator_path), "--double-model", str(double_path)]
    command, file = bench_run(tmp_path, *models, "--repeats", "1")
    assert run([*command, "--methods", "rt,double@0,double@0.2"]) == 0
    done = read_run(file)
    assert done.header.double_model and done.header.double_model.file == double_path.name
    for segment in range(2):
        one, two = (done.units[0, segment, method][-1].stats for method in ("rt", "double@0"))
        assert two.output_tokens / two.forward_passes > one.output_tokens / one.forward_passes
    capsys.readouterr()
    assert run(["bench", "table", str(file), "--format", "json"]) == 0
    page = json.loads(capsys.readouterr().out)
    assert [table["table"] for table in page["tables"]] == ["table 3", "lengths"]
    assert double_path.name in str(page)
    before, again = file.read_bytes(), ["--force", "--methods"]
    for methods, wrong in (("rt", []), ("rt,double@0", ["--double-model", str(translator_path)])):
        assert run([*command, *wrong, *again, methods]) in (1, 2)
    swapped = ["--mt", str(double_path), *again, "rt,double@0"]
    assert run([*command, *swapped]) in (1, 2)
    assert capsys.readouterr().err.count("livetrans: ") == 3
    assert file.read_bytes() == before
    file.unlink()
    assert run([*command, *swapped]) in (1, 2)
    assert not file.exists()


BAD = [
    (["run"], 2),
    (["run", "--source", "no"], 2),
    (["run", "--source", "{a}", "--reference", "no"], 2),
    (["run", "--source", "{a}", "--recorded", "{a}"], 2),
    (["run", "--source", "{a}", "--methods", "spec:gamma=4"], 2),
    (["run", "--source", "{a}", "--methods", "double@0"], 2),
    (["run", "--source", "{a}", "--methods", "rt", "--double-model", "no"], 1),
    (["run", "--source", "{a}", "--temperature", "nan"], 2),
    (["run", "--source", "{a}", "--methods", "cd", "--top-k", "5"], 2),
    (["run", "--source", "{a}", "--words", "0"], 2),
    (["run", "--source", "{a}", "--repeats", "0"], 2),
    (["run", "--source", "{a}", "--mt", "no.gguf"], 1),
    (["run", "--source", "{a}", "--time", "cpu", "--threads", "2"], 2),
    (["run", "--source", "{a}", "--quick", "--repeats", "3"], 2),
    (["run", "--source", "{a}", "--quick", "--sentences", "3"], 2),
    (["run", "--recorded", "no"], 2),
    (["table"], 2),
    (["table", "{a}"], 1),
    (["table", "{run}", "--table", "4", "--bias", "0.7"], 2),
    (["table", "{run}", "--comet", "no"], 1),
    (["table", "{run}", "--format", "yaml"], 2),
    (["plot", "{run}", "-o", "{run}"], 2),
    (["case", "{run}", "--id", "99"], 2),
    (["case", "{run}"], 2),
    (["plot", "no"], 1),
    (["cost", "--mt", "no.gguf"], 1),
    (["cost", "--time", "cpu", "--threads", "2"], 2),
    (["run", "--source", "{a}", "--methods", "sbd@0.2"], "did you mean ssbd@0.2?"),
    (["run", "--source", "{a}", "--methods", "papr"], "did you mean paper?"),
    (["run", "--source", "{a}", "--methods", "calm,paper"], "'calm' is a set of methods, to be given alone"),
    (["run", "--source", "{a}", "--methods", "rt,calm"], "a single method is for example ssbd@0.2"),
    (["case", "{run}", "--id", "0", "--methods", "rt,foo"], "has no method 'foo'; choose from rt,"),
    (
        ["case", "{run}", "--id", "0", "--methods", "rt,bild:fallback=0.6:rollback=3"],
        "has no method 'bild:fallback=0.6:rollback=3'; choose from rt,",
    ),
    (["run", "--source", "{a}", "--methods", "ssbd@7"], "bias is a number from 0 to 1, for example ssbd@0.2"),
    (["run", "--source", "{a}", "--from", "de", "--to", "German"], "--from and --to are both German"),
    (["run", "--source", "https://x.org/a.txt"], "https://x.org/a.txt is an address"),
    (["table", "{folder}/rum.jsonl"], "did you mean {folder}/run.jsonl?"),
    (["table", "{run}", "--unit", "words"], "did you mean word?"),
    (["table", "{run}", "--table", "6"], "`bench run --recorded`"),
    (["run", "--recorded", "{demo}", "--words", "5"], "--words is for --source"),
    (["run", "--recorded", "{demo}", "--minimum-words", "5"], "--minimum-words is for --source"),
    (["run", "--source", "{a}", "-o", "{a}", "--force"], "-o {a} would be written over what is read"),
    (
        ["run", "--recorded", "{folder}/s", "-o", "{folder}/s/talk.jsonl", "--force"],
        "would be written over what is read",
    ),
    (["run", "--source", "{a}", "--mt", "{model}", "-o", "{model}", "--force"], "-o {model} would be written over"),
    (["table", "{run}", "--table", "compare", "--comet", "{a}"], "--comet has no effect on table compare"),
    (["run", "--source", "{run}"], "{run} is a run of the benchmark, not a text"),
    (["run", "--source", "{demo}"], "is a recorded transcript stream, not a text"),
    (["run", "--recorded", "{run}"], "{run} is a run of the benchmark, not a session"),
    (["table", "{demo}"], "is a session, not a run; measure on it with `livetrans bench run --recorded"),
    (["run", "--source", "{a}", "--methods", "rt,cd", "-o", "{run}"], "holds another run ("),
]
"""Each with its exit code, or with what is said."""


@pytest.mark.parametrize(("arguments", "answer"), BAD, ids=lambda part: " ".join(part) if type(part) is list else "")
def test_what_is_wrong_is_one_sentence_that_says_what_to_do(
    run_file: Path,
    arguments: list[str],
    answer: int | str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LIVETRANS_DEBUG", raising=False)
    demo = Path(__file__).parents[2] / "recordings" / "demo.jsonl"
    if "{model}" in arguments:
        shutil.copyfile(demo.parents[1] / "models" / "livetrans-en-de.q8_0.gguf", tmp_path / "m.gguf")
    places = {
        "model": tmp_path / "m.gguf",
        "a": tmp_path / "source.en",
        "run": run_file,
        "folder": tmp_path,
        "demo": demo,
    }
    (tmp_path / "s").mkdir()
    shutil.copyfile(demo, tmp_path / "s" / "talk.jsonl")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    code = run(["bench", *(part.format(**places) for part in arguments)])
    printed = capsys.readouterr()
    assert code == answer if isinstance(answer, int) else code in (1, 2)
    said = printed.err.removeprefix("loading the translator livetrans-en-de.q8_0.gguf …\n")
    assert printed.out == "" and said.startswith("livetrans: ") and said.count("\n") == 1
    assert isinstance(answer, int) or answer.format(**places) in said
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_file_of_another_kind_is_called_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, content in {"README.md": b"# livetrans\n", "x.flac": b"fLaC\0\0\0\x22"}.items():
        file = tmp_path / name
        file.write_bytes(content)
        assert run(["bench", "table", str(file)]) == 1
        assert f"{file} is not a run file" in capsys.readouterr().err
        assert run(["bench", "run", "--recorded", str(file)]) == 2
        assert f"{file} is not a transcript stream" in capsys.readouterr().err


def test_two_run_files_are_the_same_or_it_is_said_where_they_differ(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bench", "compare", str(run_file), str(run_file)]) == 0
    assert re.fullmatch(r"same: \d+ updates of \d+ methods?\n", capsys.readouterr().out)
    lines = run_file.read_text(encoding="utf-8").splitlines()
    last = json.loads(lines[-1])
    changed = {**last, "tokens": [*last["tokens"], 7], "ends": [*last["ends"], len(last["text"])]}
    other = tmp_path / "other.jsonl"
    other.write_text("\n".join([*lines[:-1], json.dumps(changed)]) + "\n", encoding="utf-8")
    assert run(["bench", "compare", str(run_file), str(other)]) == 1
    assert re.match(
        rf"{re.escape(last['method'])}: 1 of \d+ updates; first update {last['update']} ", capsys.readouterr().out
    )
