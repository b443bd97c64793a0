"""A session's finals as subtitles (SRT, WebVTT), text or JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from livetrans.errors import SessionError, UsageError
from livetrans.events import Caption, Gap, Notice
from livetrans.session.codec import read_records
from livetrans.text import display_width, isolated, one_line, reads_right_to_left, wrap

Format = Literal["srt", "vtt", "txt", "jsonl"]
Which = Literal["target", "source", "both"]

LINE_WIDTH = 42
"""Columns of a subtitle line, as most subtitle guidelines have it; 21 characters of Japanese or Chinese."""
LINES = 2
MINIMUM_MILLISECONDS = 1000
"""Shortest time a cue stays: less cannot be read."""


@dataclass(frozen=True, slots=True)
class Cue:
    """Text shown from `start` until `end`, source time in whole milliseconds, the unit both formats write."""

    start: int
    end: int
    lines: tuple[str, ...]


def export(
    session_path: Path,
    format: Format,
    which: Which = "target",
    notify: Callable[[Notice], None] | None = None,
) -> Iterator[str]:
    """The session in the format, as pieces of text with their line ends; read and checked before this returns.

    Finals only; where a crash left a segment without one, its last caption stands for it.

    Raises:
        SessionError: the session cannot be read or holds no caption.
        UsageError: no such format or text.
    """
    if format not in _WRITERS:
        raise UsageError(f"{format} is not an export format: choose one of {', '.join(_WRITERS)}.")
    if which not in ("target", "source", "both"):
        raise UsageError(f"{which} cannot be exported: choose target, source or both.")
    captions = [caption for caption in last_captions(session_path, notify) if any(_texts(caption, which))]
    if all(caption.segment_id < 0 for caption in captions):
        raise SessionError(
            f"{session_path} holds no caption to export: nothing was recognised, or it is not a session."
        )
    return _WRITERS[format](captions, which)


def last_captions(session_path: Path, notify: Callable[[Notice], None] | None = None) -> list[Caption]:
    """The last caption of every segment and the gaps, in the order of their start."""
    last: dict[int, Caption] = {}
    gaps: list[Caption] = []
    for record in read_records(session_path, notify):
        match record.event:
            case Caption() as caption:
                last[caption.segment_id] = caption
            case Gap() as gap:
                gaps.append(gap.caption())
            case _:
                pass
    return sorted([*last.values(), *gaps], key=lambda caption: (caption.start, caption.segment_id))


def cues(captions: list[Caption], which: Which = "target") -> Iterator[Cue]:
    """Cues that never overlap and last at least a second; a long caption becomes several, its time shared by length.

    Where captions follow each other faster than they can be read, a cue begins later than its speech.
    """
    free_from = 0
    for caption in captions:
        parts = _parts(caption, which)
        weights = [max(sum(map(display_width, lines)), 1) for lines in parts]
        begin, duration = caption.start, max(caption.end - caption.start, 0.0)
        done = 0
        for lines, weight in zip(parts, weights, strict=True):
            start = begin + duration * done / sum(weights)
            done += weight
            end = begin + duration * done / sum(weights)
            cue_start = max(round(start * 1000), free_from)
            free_from = max(round(end * 1000), cue_start + MINIMUM_MILLISECONDS)
            yield Cue(cue_start, free_from, lines)


def _texts(caption: Caption, which: Which) -> tuple[str, ...]:
    """What is exported of the caption, made harmless, on one line each: source above target."""
    source, target = map(one_line, (caption.source, caption.recorded))
    if caption.segment_id < 0:  # a gap has no language
        return (target,)
    return {"target": (target,), "source": (source,), "both": (source, target)}[which]


def _parts(caption: Caption, which: Which) -> list[tuple[str, ...]]:
    """The lines of each of the caption's cues: two of one text, or one of each."""
    texts = _texts(caption, which)
    if len(texts) == 1:
        lines = _directed(texts[0], wrap(texts[0], LINE_WIDTH))
        return [tuple(lines[index : index + LINES]) for index in range(0, len(lines), LINES)]
    count = max(len(wrap(text, LINE_WIDTH)) for text in texts)
    columns = (_directed(text, _wrap_into(text, count)) for text in texts)
    return [tuple(line for line in pair if line) for pair in zip_longest(*columns, fillvalue="")]


def _directed(text: str, lines: list[str]) -> list[str]:
    """The lines of a text, each in its direction."""
    right_to_left = reads_right_to_left(text)
    return [isolated(line, right_to_left) for line in lines]


def _wrap_into(text: str, count: int) -> list[str]:
    """The text in as near to `count` lines as narrower lines give, so that two languages run side by side."""
    lines = wrap(text, LINE_WIDTH)
    for width in range(LINE_WIDTH - 1, 1, -1):
        narrower = wrap(text, width)
        if len(lines) == count or len(narrower) > count:
            break
        lines = narrower
    return lines


def _srt(captions: list[Caption], which: Which) -> Iterator[str]:
    for number, cue in enumerate(cues(captions, which), start=1):
        times = f"{_clock(cue.start, ',')} --> {_clock(cue.end, ',')}"
        yield "\n".join([str(number), times, *map(_srt_text, cue.lines)]) + "\n\n"


def _vtt(captions: list[Caption], which: Which) -> Iterator[str]:
    yield "WEBVTT\n\n"
    for cue in cues(captions, which):
        times = f"{_clock(cue.start, '.')} --> {_clock(cue.end, '.')}"
        yield "\n".join([times, *map(_vtt_text, cue.lines)]) + "\n\n"


def _txt(captions: list[Caption], which: Which) -> Iterator[str]:
    for caption in captions:
        lines = [line for text in _texts(caption, which) for line in _directed(text, [text]) if line]
        yield "\n".join(lines) + ("\n\n" if which == "both" else "\n")


def _jsonl(captions: list[Caption], which: Which) -> Iterator[str]:
    names = ("source", "target") if which == "both" else (which,)
    for caption in captions:
        head = {"segment_id": caption.segment_id, "start": caption.start, "end": caption.end, "final": caption.final}
        texts = dict(zip(names, _texts(caption, which), strict=False))
        yield json.dumps(head | texts, ensure_ascii=False) + "\n"


_WRITERS: dict[str, Callable[[list[Caption], Which], Iterator[str]]] = {
    "srt": _srt,
    "vtt": _vtt,
    "txt": _txt,
    "jsonl": _jsonl,
}


def _srt_text(line: str) -> str:
    """SRT has no escapes, and players obey tags: what would be one is written with a look-alike that they show."""
    line = line.replace("-->", "-- >")
    line = re.sub(r"<(?=[/A-Za-z])", "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}", line)
    return line.replace("{", "(").replace("}", ")")


def _vtt_text(line: str) -> str:
    """WebVTT has escapes; an escaped `>` also keeps `-->` from ending the cue."""
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _clock(milliseconds: int, point: str) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}{point}{rest:03d}"
