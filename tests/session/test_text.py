"""Text made harmless and wrapped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.text import (
    cluster_start,
    display_width,
    fitted,
    isolated,
    join_text,
    line_spans,
    nearest,
    one_line,
    reads_right_to_left,
    visible,
)
from tests.hostile_text import ANYTHING, HOSTILE, assert_harmless


def wrap(text: str, width: int) -> list[str]:
    return [" ".join(text[begin:end].split()) for begin, end in line_spans(text, width)]


MIXED = st.text(st.sampled_from("ab é日本ー。、）, \u0301กำ้ไၢក្រុनिया❤\ufe0f👍\U0001f3fd"), max_size=120)


@given(ANYTHING | HOSTILE)
def test_nothing_that_a_terminal_acts_on_or_that_hides_text_is_left(text: str) -> None:
    shown = visible(text)
    assert_harmless(shown)
    assert visible(shown) == shown


@given(
    st.text(st.characters(categories=("L", "N", "P", "S", "Mc", "Zs"), exclude_characters="\u115f\u1160\u3164\uffa0"))
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم",  # Persian: a joiner that separates
        "क्\u200dष",  # Hindi: a joiner that joins
        "👩\u200d👩\u200d👧\ufe0f",
        "\u200fשלום\u200e!",
        "ก็ที่นี่",
        "Việt Nam e\u0302\u0301",
    ],
)
def test_what_scripts_need_is_left_alone(text: str) -> None:
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
        ("a\u200b\u2060\ufeffb\U000e0041\u00adc", "abc"),
        ("a" + 50 * "\u200d" + "b", "a" + 8 * "\u200d" + "b"),
        ("z" + 50 * "\u0301", "z" + 8 * "\u0301"),
        ("x" * 10_000 + " y", "x" * 999 + "… y"),
    ],
)
def test_escape_sequences_go_as_a_whole(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(ANYTHING | HOSTILE)
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


@given(MIXED, st.integers(0, 20))
def test_a_cut_text_fits(text: str, width: int) -> None:
    shown = fitted(text, width)
    assert display_width(shown) <= width
    assert shown in (text, "") or (shown.endswith("…") and shown[:-1].strip() in text)


@given(MIXED, st.integers(4, 50))
def test_no_line_begins_inside_a_grapheme_cluster(text: str, width: int) -> None:
    for begin, end in line_spans(text, width):
        for cut in (begin, end):
            assert cluster_start(text, cut) == cut or text[cut - 1].isspace()


def test_scripts_without_spaces_are_joined_without_and_fill_their_lines() -> None:
    for left, right in (("สวัสดี", "ครับ"), ("ສະບາຍ", "ດີ"), ("សួ", "ស្តី"), ("မင်္ဂ", "လာပါ"), ("你好", "吗")):
        assert join_text(left, right) == left + right
    assert join_text("สวัสดี", "Anna") == "สวัสดี Anna"
    assert display_width("น้ำใจ") == 4
    assert wrap("ฉัน " + "น้ำ" * 8, 8) == ["ฉัน น้ำน้ำ", "น้ำน้ำน้ำน้ำ", "น้ำน้ำ"]


@given(ANYTHING)
def test_an_isolate_is_added_only_where_the_first_letter_misleads(text: str) -> None:
    line = one_line(text)
    right_to_left = reads_right_to_left(line)
    shown = isolated(line, right_to_left)
    assert shown in (line, f"\u2067{line}\u2069", f"\u2066{line}\u2069")
    assert isolated(line, not right_to_left) != shown or not line


@pytest.mark.parametrize(
    ("line", "right_to_left", "is_isolated"),
    [
        ("قال الطبيب إن كل شيء بخير.", True, False),
        ("WHO قالت إن كل شيء بخير.", True, True),
        ("2024 ...", True, True),
        ("שלום Anna, נתראה ב-15:30.", True, False),
        ("Das ist gut.", False, False),
        ("שלום sagte Anna freundlich.", False, True),
    ],
)
def test_the_direction_of_a_line(line: str, right_to_left: bool, is_isolated: bool) -> None:
    assert (isolated(line, right_to_left) != line) == is_isolated
    assert reads_right_to_left(line) == (right_to_left and any(character.isalpha() for character in line))


@given(st.lists(st.text("abc", min_size=1, max_size=8), max_size=30), st.integers(8, 40))
def test_words_that_fit_are_not_cut(words: list[str], width: int) -> None:
    assert " ".join(wrap(" ".join(words), width)).split() == words


def test_wide_characters_count_twice_and_closing_punctuation_stays() -> None:
    assert display_width("日本 e\u0301") == 6
    assert wrap("日本語。日本語", 6) == ["日本", "語。日", "本語"]
    assert wrap("x" * 10, 4) == ["xxxx", "xxxx", "xx"]


def test_marks_take_no_column_and_an_emoji_of_several_characters_takes_two() -> None:
    assert [display_width(text) for text in ("दुनिया", "မြန်မာ", "👍🏽", "👨‍👩‍👧", "❤\ufe0f")] == [3, 3, 2, 2, 2]
    assert wrap("नमस्ते दुनिया", 8) == ["नमस्ते दुनिया"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("tp", "to"),
        ("form", "from"),
        ("mask_k", "mask-k"),
        ("PANEL", "panel"),
        ("thme", "theme"),
        ("foo", None),
        ("", None),
    ],
)
def test_the_name_that_was_meant_is_found(name: str, meant: str | None) -> None:
    assert nearest(name, ["to", "mt", "from", "step", "mask-k", "mask", "panel", "theme"]) == meant
    assert nearest(name, []) is None
