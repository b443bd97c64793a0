"""Text made harmless and wrapped."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.text import display_width, one_line, visible, wrap

ANYTHING = st.text(st.characters(codec=None, exclude_categories=()), max_size=60)
NASTY = st.text(st.sampled_from("a[]0;31mH\x1b\x07\x9b\x9d\x90\x9c\\\n\t\x00\u202e\u2066\ud800 "), max_size=40)
MIXED = st.text(st.sampled_from("ab é日本ー。、）, \u0301"), max_size=120)


@given(ANYTHING | NASTY)
def test_nothing_that_a_terminal_acts_on_is_left(text: str) -> None:
    shown = visible(text)
    assert not any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in shown)
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    shown.encode("utf-8")
    assert visible(shown) == shown


@given(st.text(st.characters(categories=("L", "N", "P", "S", "M", "Zs"))))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07said", "said"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b2Jgone?", "gone?"),
        ("\x1bPdevice\x1b\\x", "x"),
        ("\x1b]0;never ended", "0;never ended"),
        ("a\r\nb\tc", "a b c"),
        ("[bold]markup[/bold] <i>", "[bold]markup[/bold] <i>"),
    ],
)
def test_escape_sequences_go_as_a_whole(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(ANYTHING | NASTY)
def test_one_line_is_words_with_one_space_between(text: str) -> None:
    line = one_line(text)
    assert line.split(" ") == (line.split() or [""])
    assert "".join(line.split()) == "".join(visible(text).split())
    assert one_line(line) == line


@given(MIXED, st.integers(4, 50))
def test_wrapping_loses_nothing_and_fits(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(display_width(line) <= width for line in lines)
    assert all(line == line.strip() and line for line in lines)


@given(st.lists(st.text("abc", min_size=1, max_size=8), max_size=30), st.integers(8, 40))
def test_words_that_fit_are_not_cut(words: list[str], width: int) -> None:
    assert " ".join(wrap(" ".join(words), width)).split() == words


def test_wide_characters_count_twice_and_closing_punctuation_stays() -> None:
    assert display_width("日本 e\u0301") == 6
    assert wrap("日本語。日本語", 6) == ["日本", "語。日", "本語"]
    assert wrap("x" * 10, 4) == ["xxxx", "xxxx", "xx"]
