"""Cues follow the rules of subtitles, keep every word, correspond in two languages and come with their speech."""

from __future__ import annotations

from html import unescape
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import get_args

import pysubs2
import pytest
import webvtt
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.text import display_width
from livetrans.cli import run
from livetrans.session.export import export, read_captions
from livetrans.session.subtitles import (
    LINE_WIDTH,
    LINES,
    Cue,
    Cut,
    Spoken,
    Which,
    characters,
    cues,
    cut_together,
    spoken_shares,
)

from .examples import caption, write_session

RECORDINGS = [
    pytest.param(path, marks=[pytest.mark.long] if path.stem != "demo" else [], id=path.stem)
    for path in sorted((Path(__file__).parents[2] / "recordings").glob("*.flac"))
]

TEXTS = st.text(st.sampled_from("ab é日本。->&<>{}\\1\u0301, "), max_size=300)
SENTENCES = st.lists(
    st.sampled_from(["ja,", "Wort", "Satz.", "und", "Donaudampfschifffahrt", "日本語、", "—"]), max_size=60
)
SPOKEN = st.lists(
    st.builds(
        lambda text, source, start, length: Spoken(caption(0, text, source=source, start=start, end=start + length)),
        st.one_of(TEXTS, SENTENCES.map(" ".join)).filter(str.strip),
        st.one_of(TEXTS, SENTENCES.map(" ".join)),
        st.floats(0, 100),
        st.floats(0, 20),
    ),
    max_size=6,
).map(lambda spoken: sorted(spoken, key=lambda item: item.caption.start))


def violations(made: list[Cue], which: Which) -> list[str]:
    """What breaks a rule though there was room to keep it."""
    found = []
    for cue, following in zip_longest(made, made[1:]):
        length = cue.end - cue.start
        pause = following.start - cue.end if following else 1_000_000
        speed = characters(cue.lines, which) * 1000 / length
        broken = {
            "more than two lines": not 1 <= len(cue.lines) <= LINES,
            "a line too long": any(display_width(line) > LINE_WIDTH for line in cue.lines),
            "shorter than a second": length < 1000,
            "longer than seven seconds": length > 7000,
            "less than two frames between cues": pause < 1000 * 2 / 24,
            "a flicker between cues": 100 < pause < 500 and length < 7000,
            "too fast with room to stay": speed > 21.1 and pause > 100 and length < 7000,
        }
        found += [f"{name}: {cue}" for name, is_so in broken.items() if is_so]
    return found


@given(SPOKEN, st.sampled_from(get_args(Which)))
def test_no_cue_breaks_a_rule_that_it_has_room_for(spoken: list[Spoken], which: Which) -> None:
    spoken = [item for item in spoken if item.caption.source.strip() or which != "source"]
    assert violations(list(cues(spoken, which)), which) == []


@given(SPOKEN)
def test_no_word_is_lost_in_cues(spoken: list[Spoken]) -> None:
    def letters(*texts: str) -> str:
        return "".join("".join(texts).split())

    shown = [line for cue in cues(spoken) for line in cue.lines]
    assert letters(*shown) == letters(*(item.caption.text for item in spoken))
    shown = [line for cue in cues(spoken, "both") for line in cue.lines]
    texts = [item.caption.text + item.caption.source for item in spoken]
    assert sorted(letters(*shown)) == sorted(letters(*texts))


@given(SPOKEN)
def test_a_cue_never_begins_before_its_segment(spoken: list[Spoken]) -> None:
    if spoken:
        assert next(cues(spoken)).start >= spoken[0].caption.start * 1000 - 1


def one(text: str, *, source: str = "", length: float = 10.0) -> list[tuple[str, ...]]:
    return [cue.lines for cue in cues([Spoken(caption(0, text, source=source, start=0.0, end=length))])]


def test_lines_are_cut_at_a_comma_and_not_before_the_last_word() -> None:
    assert one("Halten Sie sich heute, Tom, Sie sehen müde aus.") == [
        ("Halten Sie sich heute,", "Tom, Sie sehen müde aus.")
    ]


def test_cues_are_cut_at_sentences_and_clauses() -> None:
    text = (
        "Der Lehrer bat uns zu warten, weil der Bus noch nicht gekommen war. "
        "Danach fuhren wir alle zusammen nach Hause, und niemand sagte ein Wort."
    )
    assert one(text) == [
        ("Der Lehrer bat uns zu warten,", "weil der Bus noch nicht gekommen war."),
        ("Danach fuhren wir alle zusammen", "nach Hause, und niemand sagte ein Wort."),
    ]


def test_a_script_without_spaces_is_cut_by_width() -> None:
    text = "私は昨日、友達と一緒に新しい図書館へ行きました。そこで三時間本を読みましたが、とても静かでした。"
    for lines in one(text):
        assert all(display_width(line) <= LINE_WIDTH for line in lines)
        assert not any(line[0] in "、。" for line in lines)


def test_the_halves_of_two_languages_correspond() -> None:
    spoken = Spoken(
        caption(
            0,
            "Als ich nach Hause kam, war die Tür auf und alle Lichter brannten.",
            source="When I came home, the door was open and all the lights were on.",
            start=0.0,
            end=6.0,
        )
    )
    assert [cue.lines for cue in cues([spoken], "both")] == [
        ("When I came home, the door was open", "Als ich nach Hause kam, war die Tür auf"),
        ("and all the lights were on.", "und alle Lichter brannten."),
    ]


@given(SENTENCES.map(" ".join), SENTENCES.map(" ".join))
def test_texts_that_are_cut_together_have_equal_numbers_of_parts(first: str, second: str) -> None:
    (parts, shares), (others, _) = cut_together((first, second), 1, 1)
    assert len(parts) == len(others) == len(shares)
    assert "".join("".join(parts).split()) == "".join(first.split())
    assert shares == sorted(shares)
    assert all(display_width(part) <= LINE_WIDTH for part in (*parts, *others))


@given(SENTENCES.map(" ".join))
def test_fewest_parts_are_taken(text: str) -> None:
    cut = Cut(text)
    least = cut.least()
    assert least >= cut.width / (LINES * LINE_WIDTH)
    assert least == 1 or cut.parts(least - 1) is None


def test_words_have_the_times_of_the_hypotheses_that_ended_with_them() -> None:
    final = caption(0, "x", source="Eins zwei drei vier.", start=10.0, end=18.0)
    points = spoken_shares(final, [("eins", 11.0), ("Eins zwo", 12.0), ("Eins, zwei.", 15.0), ("Eins zwei", 15.5)])
    spoken = Spoken(final, points)
    assert [spoken.time(share) for share in (0.0, 4 / 16, 8 / 16, 1.0)] == [10.0, 11.0, 15.0, 18.0]
    assert 11.0 < spoken.time(6 / 16) < 15.0
    times = [spoken.time(share / 20) for share in range(21)]
    assert all(before <= after for before, after in pairwise(times))


@pytest.mark.usefixtures("translator_path")
@pytest.mark.parametrize("recording", RECORDINGS)
def test_subtitles_of_every_recording(recording: Path, tmp_path: Path) -> None:
    session, transcripts = tmp_path / "session", recording.with_suffix(".jsonl")
    assert run(["replay", str(transcripts), "--speed", "max", "--session", str(session)]) == 0
    for which in get_args(Which):
        made = list(cues(read_captions(session).spoken(), which))
        assert violations(made, which) == []
        srt = pysubs2.SSAFile.from_string("".join(export(read_captions(session), "srt", which)), format_="srt")
        assert [(event.start, event.end, tuple(event.text.split("\\N"))) for event in srt] == [
            (cue.start, cue.end, cue.lines) for cue in made
        ]
        vtt = webvtt.from_string("".join(export(read_captions(session), "vtt", which)))
        assert [tuple(shown.lines) for shown in vtt] == [cue.lines for cue in made]
        assert [shown.start_in_seconds for shown in vtt] == [cue.start // 1000 for cue in made]
    assert made


@given(text=TEXTS)
def test_players_read_what_was_said(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = write_session(tmp_path_factory.mktemp("session") / "s.jsonl", caption(0, f"x {text}", source="s", end=9.0))
    shown = webvtt.from_string("".join(export(read_captions(path), "vtt")))
    assert "".join("".join(unescape(cue.text).split()) for cue in shown) == "x" + "".join(text.split())
