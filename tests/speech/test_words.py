from __future__ import annotations

from livetrans.events import Word
from livetrans.speech.words import comparison_form, says_something, words_text


def test_case_and_punctuation_do_not_count() -> None:
    assert comparison_form("Hello,") == comparison_form("hello") == "hello"
    assert comparison_form("don't") == comparison_form("Don’t")
    assert comparison_form("नमस्ते") != comparison_form("नमसत")
    assert comparison_form("—") == "—"


def test_japanese_is_joined_without_spaces() -> None:
    assert words_text([Word("今日", 0, 1), Word("は。", 1, 2)]) == "今日は。"
    assert words_text([Word("good", 0, 1), Word("day", 1, 2)]) == "good day"


def test_punctuation_and_music_say_nothing() -> None:
    assert not any(map(says_something, [".", "—", "♪", "...", ""]))
    assert all(map(says_something, ["a", "7", "%", "&", "$", "本", "'s"]))
