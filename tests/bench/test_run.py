"""Run files: what is written is read back, and an interrupted run that goes on equals one that never stopped."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livetrans.base.errors import LivetransError, SessionError, UsageError
from livetrans.bench.run import tasks
from livetrans.bench.runfile import RunFile, RunWriter, Segment, Update, read_run, to_line
from livetrans.events import DecodingStats
from tests.bench.runs import METHODS, SCRIPTED, SENTENCES, corpus_of, header_of, run_to, untimed
from tests.lm.scripted import hashed_rule


def test_methods_take_turns(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path)
    order = list(tasks(corpus, header_of(corpus, "rt,ssbd,cd")))
    assert [task.method.label for task in order[::3] if not task.repeat] == ["rt", "ssbd@0.2", "cd", "rt"]
    assert order[12].method.label == "ssbd@0.2"
    assert len({task.unit for task in order}) == len(order) == 24


def test_no_method_knows_of_another(tmp_path: Path) -> None:
    """Without bias SSBD is re-translation, CD takes nothing back, and repeats are alike, whatever ran before."""
    corpus = corpus_of(tmp_path)
    header = header_of(corpus)
    run_to(tmp_path / "run.jsonl", corpus, header, rule=hashed_rule(3))
    run = read_run(tmp_path / "run.jsonl")
    assert run.complete and run.header == header and run.segments == tuple(one.segment for one in corpus.segments)
    for one, (_, segment, _) in ((corpus.segments[unit[1]], unit) for unit in run.units):
        assert [update.source for update in run.units[0, segment, "rt"]] == [update.source for update in one.updates]
    outputs = {(update.unit, update.update): update.tokens for updates in run.units.values() for update in updates}
    for (repeat, segment, method), number in outputs:
        if method == "ssbd@0":
            assert outputs[(repeat, segment, method), number] == outputs[(repeat, segment, "rt"), number]
        assert outputs[(repeat, segment, method), number] == outputs[(0, segment, method), number]
        if method in ("cd", "ssbd@0.5") and number:
            before = outputs[(repeat, segment, method), number - 1]
            assert outputs[(repeat, segment, method), number][: len(before)] == before


def test_the_last_update_is_decoded_like_every_other(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, ["a b c d e f"])
    run_to(tmp_path / "run.jsonl", corpus, header_of(corpus, "rt,ssbd@1", 1))
    final = read_run(tmp_path / "run.jsonl").units[0, 0, "ssbd@1"][-1]
    assert final.final
    # The guess at the first update's last word is wrong, and a bias of 1 keeps it even in the final.
    assert final.text.startswith("A B (C) ")


def test_texts_can_be_cut_by_tokens(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path)
    run_to(tmp_path / "run.jsonl", corpus, header_of(corpus, repeats=1))
    for update in chain(*read_run(tmp_path / "run.jsonl").units.values()):
        words = update.text.split()
        assert len(update.tokens) == len(words)
        for k in range(len(words) + 2):
            assert update.without_last(k) == " ".join(words[: max(len(words) - k, 0)])


def test_an_output_mask_shortens_the_draft(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path)
    run_to(tmp_path / "run.jsonl", corpus, header_of(corpus, repeats=1))
    updates = read_run(tmp_path / "run.jsonl").units[0, 2, "ssbd@0.2:mask=3"]
    for before, update in pairwise(updates):
        assert update.stats.draft_tokens == max(len(before.tokens) - 3, 0)


@settings(max_examples=20)
@given(st.data())
def test_a_run_cut_anywhere_is_read_up_to_its_last_whole_unit(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    corpus = corpus_of(folder, SENTENCES[:2])
    header = header_of(corpus, "rt,cd", 1)
    path = folder / "run.jsonl"
    run_to(path, corpus, header)
    lines = path.read_bytes()
    whole = dict(read_run(path).units)
    size = data.draw(st.integers(lines.index(b'{"line": "update"'), len(lines)))
    path.write_bytes(lines[:size])
    run = read_run(path)
    assert dict(run.units) == {unit: whole[unit] for unit in list(whole)[: len(run.units)]}
    assert run.whole_bytes <= size and all(updates[-1].final for updates in run.units.values())
    run_to(path, corpus, header)
    assert untimed(path.read_bytes()) == untimed(lines)


@pytest.mark.parametrize("content", [b"my notes\n", b"{}\n", b"\x00\xff", b'{"line": "update"}\n', b"[1]\n"])
def test_a_file_of_something_else_is_left_alone(tmp_path: Path, content: bytes) -> None:
    corpus = corpus_of(tmp_path)
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageError):
        run_to(path, corpus, header_of(corpus))
    assert path.read_bytes() == content
    with pytest.raises(SessionError):
        read_run(path)


_SECONDS = st.floats(0, 1000).map(lambda seconds: round(seconds, 6))


def test_a_file_that_another_bench_writes_is_left_to_it(tmp_path: Path) -> None:
    corpus, path = corpus_of(tmp_path), tmp_path / "run.jsonl"
    header, segments = header_of(corpus), [one.segment for one in corpus.segments]
    with RunWriter(path, header, segments):
        before = path.read_bytes()
        for overwrite in (False, True):
            with pytest.raises(UsageError, match="is being written by another command"):
                RunWriter(path, header, segments, overwrite=overwrite)
        assert path.read_bytes() == before
    RunWriter(path, header, segments).__exit__(None, None, None)


@given(st.text(), st.text(), st.lists(st.integers(0, 300_000)), _SECONDS, st.none() | _SECONDS)
def test_lines_come_back_as_they_were(
    run: RunFile, source: str, text: str, tokens: list[int], seconds: float, end: float | None
) -> None:
    stats = DecodingStats(prompt_tokens=3, decoding_seconds=seconds)
    ends = tuple(range(len(tokens)))
    update = Update(0, 0, "rt", 0, 0, True, source, tuple(tokens), text, ends, stats, seconds, end)
    segment = Segment(0, "name", source, text if end is None else None)
    for part in (update, segment):
        line = to_line(part)
        assert line.count("\n") == 1
        assert len(line.splitlines()) == 1
        line.encode("utf-8")
    header, path = replace(run.header, methods=("rt",)), run.path.with_name("lines.jsonl")
    path.write_text("".join(map(to_line, (header, segment, update))), encoding="utf-8", newline="\n")
    read = read_run(path)
    assert (read.header, read.segments, dict(read.units)) == (header, (segment,), {update.unit: (update,)})


@pytest.mark.parametrize(
    "change",
    [
        {"method": "bild"},
        {"segment_id": 99},
        {"repeat": 5},
        {"update": 7},
        {"tokens": "abc"},
        {"tokens": [1.5]},
        {"stats": None},
        {"final": 1},
        {"text": None},
        {"ends": []},
        {"line": "header"},
    ],
)
def test_an_edited_line_is_refused_with_one_sentence(tmp_path: Path, change: dict[str, object]) -> None:
    corpus = corpus_of(tmp_path)
    path = tmp_path / "run.jsonl"
    run_to(path, corpus, header_of(corpus, METHODS, 1))
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[8] = json.dumps({**json.loads(lines[8]), **change})
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    with pytest.raises(SessionError) as fault:
        read_run(path)
    assert "\n" not in str(fault.value)


def test_a_newer_format_and_an_absent_file_say_so(tmp_path: Path) -> None:
    (tmp_path / "new").write_text('{"line": "header", "format": 99}\n')
    with pytest.raises(SessionError, match="newer"):
        read_run(tmp_path / "new")
    for path in (tmp_path, tmp_path / "no"):
        with pytest.raises(LivetransError):
            read_run(path)


@pytest.mark.parametrize("name", ["/dev/full", "/dev/zero"])
def test_a_device_is_no_run_file_and_no_folder(name: str, tmp_path: Path) -> None:
    header = header_of(corpus_of(tmp_path))
    with pytest.raises(UsageError, match=f"{name} is not a file"):
        RunWriter(Path(name), header, [])
    with pytest.raises(SessionError, match="cannot be written"):
        RunWriter(Path(name) / "run.jsonl", header, [])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"repeats": 9}, "repeats: 2, not 9"),
        ({"quick": True}, "quick: False, not True"),
        ({"model": replace(SCRIPTED, threads=4)}, "model threads: 1, not 4"),
        ({"machine": {"cores": "64"}}, "machine cores: 2, not 64"),
        ({"methods": ("rt", "cd")}, f"methods: {METHODS}, not rt,cd"),
    ],
)
def test_another_run_is_refused_with_what_differs_and_overwritten_where_that_is_asked_for(
    tmp_path: Path, change: dict[str, object], sentence: str
) -> None:
    corpus, path = corpus_of(tmp_path), tmp_path / "run.jsonl"
    header = header_of(corpus)
    other = replace(header, **change)
    run_to(path, corpus, header)
    before, segments = path.read_bytes(), [one.segment for one in corpus.segments]
    with pytest.raises(UsageError, match=re.escape(f"holds another run ({sentence}); ") + ".*--force"):
        RunWriter(path, other, segments)
    assert path.read_bytes() == before
    with RunWriter(path, other, segments, overwrite=True):
        pass
    assert read_run(path).header == other


def test_every_difference_to_a_run_of_the_same_text_is_named(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path)
    run_to(tmp_path / "run.jsonl", corpus, header_of(corpus))
    bare = corpus_of(tmp_path, references=False)
    bare_segments = [one.segment for one in bare.segments]
    with pytest.raises(UsageError, match=r"\(methods: .*, not rt,cd; repeats: 2, not 1\)"):
        RunWriter(tmp_path / "run.jsonl", header_of(bare, "rt,cd", 1), bare_segments)
    with pytest.raises(UsageError, match=r"\(other texts or references\)"):
        RunWriter(tmp_path / "run.jsonl", header_of(bare), bare_segments)
    shorter = replace(header_of(corpus), corpus=replace(corpus.summary, sha256="x", segments=2))
    with pytest.raises(UsageError, match=r"\(corpus segments: 4, not 2\)"):
        RunWriter(tmp_path / "run.jsonl", shorter, bare_segments)
