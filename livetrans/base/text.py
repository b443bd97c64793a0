"""Recognised and translated text: joined, freed of control characters, measured and wrapped."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

UNSPACED = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff"  # Thai, Lao, Tibetan; Burmese; Khmer and its symbols
    "\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"  # kana, ideographs, their punctuation
)
"""Scripts written without spaces between words, inside a regular expression's brackets."""
_IN_UNSPACED = re.compile(f"[{UNSPACED}]")

_ESCAPE_SEQUENCES = re.compile(
    r"(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC: title, clipboard, links
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)"  # DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colour, cursor
    r"|\x1b[ -/]*[0-~]"
)
_BREAKS = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")
_SURROGATES = re.compile("[\ud800-\udfff]")
UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"  # controls, breaks, lone surrogates
    "\u202a-\u202e\u2066-\u2069"  # bidirectional overrides and isolates
    "\xad\u115f\u1160\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Characters that act on a terminal or a file's lines, or hide text: nothing shows them, and no script needs them.

Joiners (Persian, Hindi, emoji) and directional marks are not among them.
"""
MOST_MARKS = 8
"""Zero-width characters in a row: no script stacks more, and thousands hide or overflow a line."""
_MANY_MARKS = rf"([\p{{Mn}}\p{{Me}}\p{{Cf}}]{{{MOST_MARKS}}})[\p{{Mn}}\p{{Me}}\p{{Cf}}]+"
LONGEST_WORD = 1000
"""Characters without a space: a paragraph in a script without spaces has fewer."""
_TOO_LONG = re.compile(rf"(\S{{{LONGEST_WORD - 1}}})\S{{2,}}")

LEFT_TO_RIGHT, RIGHT_TO_LEFT, END_ISOLATE = "\u2066", "\u2067", "\u2069"
"""Directional isolates: `visible` removes those of other text; only livetrans adds them."""

_NEAR = 0.6
"""Likeness from which a name is suggested."""

_CLOSING = frozenset(")]}」』】〕》〉）］｝。、，．！？：；ー…ぁぃぅぇぉっゃゅょァィゥェォッャュョๆฯ")


def join_text(left: str, right: str) -> str:
    """Join two parts of a hypothesis with a space, unless one is empty or the script has none there."""
    if not left or not right:
        return left or right
    if _IN_UNSPACED.match(left[-1]) and _IN_UNSPACED.match(right[0]):
        return left + right
    return f"{left} {right}"


def visible(text: str) -> str:
    """Return the text as one line, without characters that a terminal executes or that hide text.

    ANSI escape sequences and `UNSEEN` characters are removed, line breaks and tabs become a space, lone surrogates
    (which no stream can encode) become U+FFFD; of zero-width characters `MOST_MARKS` in a row stay, of a word
    `LONGEST_WORD` characters, the last of them an ellipsis. Markup stays as it is: code that shows the text must not
    parse it as markup.
    """
    text = _ESCAPE_SEQUENCES.sub("", text)
    text = _BREAKS.sub(" ", text)
    text = _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)
    text = UNSEEN.sub("", text)
    if not text.isascii():
        import regex

        text = regex.sub(_MANY_MARKS, r"\1", text)
    return _TOO_LONG.sub("\\1…", text)


def one_line(text: str) -> str:
    """Return the visible text, with one space between words and none around."""
    return " ".join(visible(text).split())


def track_label(track: str | None) -> str:
    """Return what stands before a text of the track of this name; nothing in a run of one track."""
    return f"{one_line(track)}: " if track else ""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name nearest to `name`; None if none is near.

    Nearness is `difflib`'s, with a preference for the same length and beginning: in a short name a wrong letter is
    likelier than a missing one.
    """

    def likeness(other: str) -> float:
        alike = difflib.SequenceMatcher(None, name.lower(), other.lower()).ratio()
        return alike + 0.1 * (other[:1] == name[:1]) - 0.1 * abs(len(other) - len(name))

    best = max(known, key=likeness, default="")
    return best if best and likeness(best) >= _NEAR else None


def unknown(what: str, name: str, known: Sequence[str]) -> str:
    """Return the message for a name that is not `known`, with the nearest name, or all if none is near."""
    close = nearest(name, known)
    return f"there is no {what} {name}; " + (f"did you mean {close}?" if close else f"choose {', '.join(known)}")


def duration(seconds: float) -> str:
    """Format seconds as minutes and seconds, with hours from the first hour on."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def has_unspaced_script(text: str) -> bool:
    """Return whether some of the text is in a script that is written without spaces between words."""
    return _IN_UNSPACED.search(text) is not None


def graphemes(text: str) -> list[str]:
    """Split the text into grapheme clusters (Unicode UAX 29): letters with their marks."""
    import regex

    found: list[str] = regex.findall(r"\X", text)
    return found


def cluster_start(text: str, index: int) -> int:
    """Return the last index up to `index` at which a grapheme cluster begins or the text ends."""
    start = 0
    for cluster in graphemes(text):
        if start + len(cluster) > index:
            return start
        start += len(cluster)
    return start


def reads_right_to_left(text: str) -> bool:
    """Return whether most letters of the text are of scripts that are written from right to left."""
    kinds = [unicodedata.bidirectional(character) for character in text]
    return sum(kind in ("R", "AL") for kind in kinds) > kinds.count("L")


def isolated(line: str, right_to_left: bool) -> str:
    """Return the line, in a directional isolate (UAX 9) if its first letter has the other direction.

    A terminal or a player orders a line by its first letter: an Arabic sentence that begins with a Latin name would
    have its parts in the wrong order.
    """
    first = next((kind for kind in map(unicodedata.bidirectional, line) if kind in ("L", "R", "AL")), "L")
    if not line or (first != "L") == right_to_left:
        return line
    return f"{RIGHT_TO_LEFT if right_to_left else LEFT_TO_RIGHT}{line}{END_ISOLATE}"


def display_width(text: str) -> int:
    """Return the terminal columns of the text, as Textual counts them: two for wide characters, none for marks."""
    if text.isascii():
        return len(text)
    # Imported here because a light command measures nothing else.
    from rich.cells import cell_len

    return cell_len(text)


def line_spans(text: str, width: int) -> list[tuple[int, int]]:
    """Break the text into lines of at most `width` columns; return begin and end of each. No text has no lines.

    Lines break at spaces, between wide characters, and inside a word if it is too long, never in a grapheme cluster.
    Closing punctuation stays with the character before it.
    """
    spans: list[tuple[int, int]] = []
    for begin, end in break_spans(text, width):
        if spans and display_width(text[spans[-1][0] : end]) <= width:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((begin, end))
    return spans


def fitted(text: str, width: int) -> str:
    """Return the text, cut to at most `width` columns with an ellipsis."""
    if display_width(text) <= width:
        return text
    begin, end = next(iter(line_spans(text, width - 1)), (0, 0)) if width > 1 else (0, 0)
    return f"{text[begin:end]}…" if 0 < display_width(text[begin:end]) < width else ""


def break_spans(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Yield the parts between which a line may break; only spaces are left out."""
    for word in re.finditer(r"\S+", text):
        # A run of Thai or Burmese is a clause of many words: where it needs several lines, each is filled.
        is_long = display_width(word.group()) > width
        if not is_long and word.group().isascii():
            yield word.span()
            continue
        begin = end = word.start()
        broke_after = False
        for cluster in graphemes(word.group()):
            may_break = display_width(cluster) == 2 or (is_long and bool(_IN_UNSPACED.match(cluster)))
            must_break = display_width(text[begin : end + len(cluster)]) > width
            if end > begin and (must_break or ((may_break or broke_after) and cluster[0] not in _CLOSING)):
                yield begin, end
                begin = end
            end += len(cluster)
            broke_after = may_break
        yield begin, end


def counted(number: int, noun: str) -> str:
    """Return `1 caption` or `2 captions`, for nouns whose plural takes an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def file_size(size_bytes: float) -> str:
    """Format bytes in decimal units, as file managers do."""
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:.1f} {name}"
    return f"{size_bytes / 1e3:.0f} kB"
