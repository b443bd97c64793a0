from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from livetrans.events import Word
from livetrans.speech.words import clean_text, comparison_form, says_something, words_text


def test_case_and_punctuation_do_not_count() -> None:
    assert comparison_form("Hello,") == comparison_form("hello") == "hello"
    assert comparison_form("don't") == comparison_form("Don’t")
    assert comparison_form("नमस्ते") != comparison_form("नमसत")
    assert comparison_form("—") == "—"


def test_japanese_is_joined_without_spaces() -> None:
    assert words_text([Word("今日", 0, 1), Word("は。", 1, 2)]) == "今日は。"
    assert words_text([Word("good", 0, 1), Word("day", 1, 2)]) == "good day"


def test_a_terminal_is_told_nothing() -> None:
    assert clean_text("\x1b[31mred\x1b[0m") == "red"
    assert clean_text("a\x1b]0;title\x07b \x9b2Jc") == "ab 2Jc"
    assert clean_text("abc\u202edef\u2066") == "abcdef"
    assert clean_text(" two\r\nlines ") == "two lines"
    assert clean_text("[bold]x[/bold]") == "[bold]x[/bold]"


def test_punctuation_and_music_say_nothing() -> None:
    assert not any(map(says_something, [".", "—", "♪", "...", ""]))
    assert all(map(says_something, ["a", "7", "%", "&", "$", "本", "'s"]))


@given(st.text())
def test_no_text_holds_a_control_character(text: str) -> None:
    cleaned = clean_text(text)
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in cleaned)
    assert cleaned == cleaned.strip()
    assert clean_text(cleaned) == cleaned
