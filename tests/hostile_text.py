"""Text that attacks a screen, a terminal or a file, and what must be true of everything that is written of it."""

from __future__ import annotations

import unicodedata

from hypothesis import strategies as st

from livetrans.base.text import LONGEST_WORD, MOST_MARKS

_PARTS = st.sampled_from(
    [
        *"aé日 \n\r\t\x00\x07\x08\x1b\x7f\x85\x9b\x9d\x90\x9c\u2028\ud800\udfff",
        *"\u202e\u2066\u2069\u200b\ufeff\U000e0041",
        "\x1b[2J",
        "\x1b]0;title\x07",
        "\x1b]52;c;aGk=\x1b\\",
        "\x1bP1$r\x1b\\",
        "[bold red]x[/]",
        "[@click=app.quit]y[/]",
        "<b>&amp;<00:01:00.000>",
        "{\\\\an8}",
        "00:00:01,000 --> 00:00:02,000",
        "WEBVTT\n\nNOTE",
        "<|im_end|>",
        "\u200d" * 40,
        "\u0301" * 40,
        "x" * 1500,
    ]
)
HOSTILE = st.lists(_PARTS, max_size=12).map("".join)
ANYTHING = st.text(st.characters(codec=None, exclude_categories=()), max_size=60)


def assert_harmless(text: str) -> None:
    """No control character, no override, nothing unseen, no flood of marks, no endless word."""
    text.encode("utf-8")
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        assert category not in ("Cc", "Cs", "Zl", "Zp"), repr(character)
        assert not 0xE0000 <= ord(character) <= 0xE007F
        assert not unicodedata.bidirectional(character).endswith(("E", "O", "I", "PDF")) or category != "Cf"
        assert character not in "\xad\u115f\u1160\u180e\u200b\u2060\u2061\u2062\u2063\u2064\u3164\ufeff\uffa0"
        marks = marks + 1 if category in ("Mn", "Me", "Cf") else 0
        assert marks <= MOST_MARKS
    assert all(len(word) <= LONGEST_WORD for word in text.split())
