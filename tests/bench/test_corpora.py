"""What is fed to the methods: growing prefixes of text, and recorded transcripts as they were."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.errors import LivetransError, SessionError, UsageError
from livetrans.base.languages import parse_language
from livetrans.bench.corpora import find_streams, recorded_corpus, reveal, text_corpus
from livetrans.events import Transcript
from tests.session.examples import write_session

EN_DE = parse_language("en"), parse_language("de")


@given(st.lists(st.text("abc,.é", min_size=1), min_size=1), st.integers(1, 5))
def test_words_grow_by_the_step_until_the_whole_sentence(words: list[str], step: int) -> None:
    updates = reveal(" ".join(words), step, spaced=True)
    assert [update.final for update in updates] == [False] * (len(updates) - 1) + [True]
    assert updates[-1].source == " ".join(words)
    counts = [len(update.source.split()) for update in updates]
    assert counts[:-1] == [step * number for number in range(1, len(updates))]
    assert 0 < counts[-1] - (counts[-2] if len(counts) > 1 else 0) <= step


def test_scripts_without_spaces_grow_by_characters() -> None:
    assert [update.source for update in reveal("犬が庭で眠る", 4, spaced=False)] == ["犬が庭で", "犬が庭で眠る"]
    assert [update.source for update in reveal("abc def", 2, spaced=False)] == ["ab", "abc", "abc de", "abc def"]
    assert [update.source for update in reveal("abc def", 4, spaced=False)] == ["abc", "abc def"]


@pytest.mark.parametrize(
    ("source", "reference", "complaint"),
    [
        (b"one\ntwo\n", b"eins\n", "2 lines"),
        (b"one\n\ntwo\n", None, "line 2"),
        (b"one\n \n", None, "line 2"),
        (b"", None, "empty"),
        (b"\n\n", None, "empty"),
        (b"\xff\xfe", None, "UTF-8"),
        (b"one\n", b"\n", "empty"),
    ],
)
def test_bad_files_are_one_sentence(tmp_path: Path, source: bytes, reference: bytes | None, complaint: str) -> None:
    (tmp_path / "a").write_bytes(source)
    if reference is not None:
        (tmp_path / "b").write_bytes(reference)
    with pytest.raises(UsageError, match=complaint):
        text_corpus(tmp_path / "a", tmp_path / "b" if reference is not None else None, EN_DE)


def test_absent_files_and_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\n")
    for source, reference in ((tmp_path / "no", None), (tmp_path, None), (tmp_path / "a", tmp_path / "no")):
        with pytest.raises(UsageError):
            text_corpus(source, reference, EN_DE)
    with pytest.raises(UsageError):
        find_streams(tmp_path / "no")
    with pytest.raises(UsageError):
        find_streams(tmp_path)
    (tmp_path / "run.jsonl").write_text('{"line": "header", "format": 1}\n')
    with pytest.raises(UsageError, match="holds no session"):
        find_streams(tmp_path)
    (tmp_path / "talk.jsonl").touch()
    assert find_streams(tmp_path) == [tmp_path / "talk.jsonl"]


def test_only_line_feeds_separate_sentences(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("\ufeffone\u2028still one\r\ntwo".encode())
    corpus = text_corpus(tmp_path / "a", None, EN_DE)
    assert [one.segment.source for one in corpus.segments] == ["one still one", "two"]


def _write_stream(path: Path, hypotheses: list[tuple[int, str, bool, float]]) -> None:
    write_session(
        path,
        *(
            Transcript(segment, number, text if final else "", "" if final else text, final, 0.5, end)
            for number, (segment, text, final, end) in enumerate(hypotheses)
        ),
    )


STREAM = [
    (0, "the cat", False, 1.0),
    (0, "the cut grass", False, 2.0),
    (0, "the cat grows", True, 2.5),
    (1, "", False, 3.0),
    (1, "it", False, 3.5),
    (1, "", True, 3.5),
    (2, "it rains", True, 5.0),
]


def test_recorded_partials_stay_as_they_were_and_wordless_ones_go(tmp_path: Path) -> None:
    _write_stream(tmp_path / "talk.jsonl", STREAM)
    corpus = recorded_corpus(tmp_path / "talk.jsonl", None, EN_DE)
    assert [[update.source for update in one.updates] for one in corpus.segments] == [
        ["the cat", "the cut grass", "the cat grows"],
        ["it rains"],
    ]
    first = corpus.segments[0]
    assert [(update.end, update.due, update.captured) for update in first.updates] == [
        (end, pytest.approx(end), None) for end in (1.0, 2.0, 2.5)
    ]
    assert (first.segment.name, first.segment.stream, first.segment.start) == ("talk:1", "talk", 0.5)
    assert first.segment.reference is None
    assert corpus.segments[1].segment.segment_id == 1


def test_updates_of_segments_that_overlap_keep_their_order(tmp_path: Path) -> None:
    """Also where two came at the same time."""
    stream = [(0, "a", False, 1.0), (1, "b", False, 3.0), (0, "a c", True, 2.0), (1, "b d", True, 4.0)]
    _write_stream(tmp_path / "talk.jsonl", stream)
    corpus = recorded_corpus(tmp_path / "talk.jsonl", None, EN_DE)
    assert [[(update.order, update.source) for update in one.updates] for one in corpus.segments] == [
        [(0, "a"), (2, "a c")],
        [(1, "b"), (3, "b d")],
    ]


def test_references_by_segment_or_by_stream(tmp_path: Path) -> None:
    _write_stream(tmp_path / "a.jsonl", STREAM)
    _write_stream(tmp_path / "b.jsonl", STREAM)
    _write_stream(tmp_path / "c.jsonl", STREAM)
    (tmp_path / "a.de.txt").write_text("die Katze wächst\nes regnet\n")
    (tmp_path / "b.de.txt").write_text("alles in einem Satz\n")
    (tmp_path / "c.txt").write_text("what was said\n")
    segments = [one.segment for one in recorded_corpus(tmp_path, None, EN_DE).segments]
    assert [segment.reference for segment in segments] == ["die Katze wächst", "es regnet", None, None, None, None]
    assert [segment.stream_reference for segment in segments] == [None, None, None, "alles in einem Satz", None, None]
    assert [segment.segment_id for segment in segments] == list(range(6))


def test_an_asked_reference_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    _write_stream(tmp_path / "a.jsonl", STREAM)
    _write_stream(tmp_path / "b.jsonl", STREAM)
    (tmp_path / "ref.txt").write_text("x\n")
    with pytest.raises(UsageError):
        recorded_corpus(tmp_path, tmp_path / "ref.txt", EN_DE)
    with pytest.raises(UsageError):
        recorded_corpus(tmp_path, tmp_path / "no.txt", EN_DE)


def test_a_stream_without_words_is_refused(tmp_path: Path) -> None:
    _write_stream(tmp_path / "a.jsonl", [(0, "", True, 0.0)])
    with pytest.raises(SessionError):
        recorded_corpus(tmp_path / "a.jsonl", None, EN_DE)
    (tmp_path / "b.jsonl").write_text("hello\n")
    with pytest.raises(LivetransError):
        recorded_corpus(tmp_path / "b.jsonl", None, EN_DE)


def test_the_digest_tells_corpora_apart(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one two three four\n")
    digests = {text_corpus(tmp_path / "a", None, EN_DE, step=step).summary.sha256 for step in (1, 2, 3)}
    digests.add(text_corpus(tmp_path / "a", tmp_path / "a", EN_DE).summary.sha256)
    assert len(digests) == 4


def test_short_sentences_are_left_out_before_the_first_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\none two three\none two\none two three four\nfive six seven\n")
    corpus = text_corpus(tmp_path / "a", tmp_path / "a", EN_DE, sentences=2, minimum_words=3)
    assert [(one.segment.segment_id, one.segment.name, one.segment.reference) for one in corpus.segments] == [
        (0, "a:2", "one two three"),
        (1, "a:4", "one two three four"),
    ]
    assert corpus.summary.minimum_words == 3
    with pytest.raises(UsageError, match="--minimum-words"):
        text_corpus(tmp_path / "a", None, EN_DE, minimum_words=5)


def test_of_a_meeting_only_what_is_spoken_in_the_source_language_is_measured(tmp_path: Path) -> None:
    heard = [("them", None, "Good morning."), ("me", "de", "Guten Morgen."), ("me", "en", "Thanks.")]
    transcripts = [
        Transcript(number, 0, text, "", True, 0.0, 0.0, language=language, track=track)
        for number, (track, language, text) in enumerate(heard)
    ]
    write_session(tmp_path / "talk.jsonl", *transcripts)
    corpus = recorded_corpus(tmp_path / "talk.jsonl", None, EN_DE)
    assert [one.segment.source for one in corpus.segments] == ["Good morning.", "Thanks."]
