"""Recognised and translated text: joined, and for a screen or a file without control characters, measured, wrapped."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterator, Sequence

UNSPACED = "\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef"
"""Scripts written without spaces (kana, CJK ideographs, their punctuation), inside a regular expression's brackets."""
_IN_UNSPACED = re.compile(f"[{UNSPACED}]")

_ESCAPE_SEQUENCES = re.compile(
    r"(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC: title, clipboard, links
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)"  # DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colour, cursor
    r"|\x1b[ -/]*[0-~]"
)
_BREAKS = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile("[\ud800-\udfff]")

_CLOSING = frozenset(")]}」』】〕》〉）］｝。、，．！？：；ー…ぁぃぅぇぉっゃゅょァィゥェォッャュョ")


def join_text(left: str, right: str) -> str:
    """Two parts of a hypothesis with a space between, unless one is empty or the script writes none there."""
    if not left or not right:
        return left or right
    if _IN_UNSPACED.match(left[-1]) and _IN_UNSPACED.match(right[0]):
        return left + right
    return f"{left} {right}"


def visible(text: str) -> str:
    """The text as one line without anything that a terminal would execute.

    ANSI escape sequences, C0 and C1 controls and bidirectional overrides are removed, line breaks and tabs become a
    space, lone surrogates (which no stream can encode) become U+FFFD. Markup stays as it is: code that shows the text
    must not parse it as markup.
    """
    text = _ESCAPE_SEQUENCES.sub("", text)
    text = _BREAKS.sub(" ", text)
    text = _INVISIBLE.sub("", text)
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str) -> str:
    """The visible text, with one space between words and none around."""
    return " ".join(visible(text).split())


def unknown(what: str, name: str, known: Sequence[str]) -> str:
    """The sentence for a name that is not among those `known`, with the nearest of them, or all where none is near."""
    close = difflib.get_close_matches(name.lower(), known, n=1)
    return f"there is no {what} {name}; " + (f"did you mean {close[0]}?" if close else f"choose {', '.join(known)}")


def duration(seconds: float) -> str:
    """Seconds as minutes and seconds, with hours from the first hour on."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def display_width(text: str) -> int:
    """Terminal columns of the text: two for East Asian wide characters, none for combining marks."""
    return sum(map(_character_width, text))


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns, broken at spaces, between wide characters, and inside a word if it must be.

    Closing punctuation stays with the character before it. Runs of white space become one space. No text, no lines.
    """
    lines: list[str] = []
    line = ""
    for unit in _units(text, width):
        longer = line + unit
        if line and display_width(longer.rstrip()) > width:
            lines.append(line.rstrip())
            line = unit
        else:
            line = longer
    return [*lines, line.rstrip()] if line.strip() else lines


def _character_width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _units(text: str, width: int) -> Iterator[str]:
    """The parts between which a line may break, each with the space that follows it."""
    for word in text.split():
        unit = ""
        for character in word:
            wide = _character_width(character) == 2
            may_break = unit and (wide or _character_width(unit[-1]) == 2) and character not in _CLOSING
            must_break = unit and display_width(unit + character) > width
            if may_break or must_break:
                yield unit
                unit = ""
            unit += character
        yield unit + " "
