"""A session's finals as subtitles (SRT, WebVTT), text or JSON lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import Literal

from livetrans.config import Settings
from livetrans.errors import SessionError
from livetrans.events import Caption, Gap, Notice, Record, RunStarted
from livetrans.session.codec import dump, read_records
from livetrans.session.subtitles import Spoken, Which, cues, directed, heard_shares, texts_of
from livetrans.text import one_line, track_label

Format = Literal["srt", "vtt", "txt", "jsonl"]


def export(
    session_path: Path,
    format: Format,
    which: Which = "target",
    notify: Callable[[Notice], None] | None = None,
    language: str | None = None,
) -> Iterator[str]:
    """Return the session in the format, as pieces of text with their line ends; it is read before this returns.

    Finals only; where a crash left a segment without one, its last caption stands for it. `language`: of several
    languages the one of the captions; None for the first.

    Raises:
        SessionError: the session cannot be read or holds no caption.
    """
    spoken = [item for item in last_captions(session_path, notify, language) if any(texts_of(item.caption, which))]
    if all(item.caption.segment_id < 0 for item in spoken):
        raise SessionError(
            f"{session_path} holds no caption to export: nothing was recognised, or it is not a session."
        )
    return _WRITERS[format](spoken, which)


def languages_of(session_path: Path) -> tuple[str, ...]:
    """Return the languages into which each segment of a session was translated, the one shown first.

    Raises:
        SessionError: the session cannot be read.
    """
    settings = (record.event.settings for record in read_records(session_path) if isinstance(record.event, RunStarted))
    return next(settings, Settings()).targets


def language_files(output: Path, languages: Sequence[str]) -> dict[str, Path]:
    """Return the file of each language: `output`, or of several `talk.de.srt`, `talk.fr.srt` for `talk.srt`."""
    if len(languages) == 1:
        return {languages[0]: output}
    return {code: output.with_name(f"{output.stem}.{code}{output.suffix}") for code in languages}


def last_captions(
    session_path: Path, notify: Callable[[Notice], None] | None = None, language: str | None = None
) -> list[Spoken]:
    """Return the last caption of every segment and the gaps, in the order of speech; of several languages in one.

    Raises:
        SessionError: the session cannot be read.
    """
    last: dict[int, Spoken] = {}
    gaps: list[Spoken] = []
    updates: dict[int, list[tuple[str, float]]] = {}
    first: Settings | None = None
    """What resumes the session may have its languages in another order."""
    for record in read_records(session_path, notify):
        match record.event:
            case RunStarted(settings=settings):
                first = first or settings
            case Caption() as caption if not first or first.shows(caption.track, caption.language, language):
                earlier = updates.setdefault(caption.segment_id, [])
                last[caption.segment_id] = Spoken(caption, heard_shares(caption, earlier) if caption.final else ())
                earlier.append((caption.source, caption.end))
                if caption.final:
                    del updates[caption.segment_id]
            case Gap() as gap:
                gaps.append(Spoken(gap.caption()))
            case _:
                pass
    for segment_id, earlier in updates.items():
        caption = last[segment_id].caption
        last[segment_id] = Spoken(caption, heard_shares(caption, earlier[:-1]))
    return _in_order([*last.values(), *gaps])


def _in_order(spoken: Iterable[Spoken]) -> list[Spoken]:
    return sorted(spoken, key=lambda item: (item.caption.start, item.caption.segment_id))


def _srt(spoken: Iterable[Spoken], which: Which) -> Iterator[str]:
    for number, cue in enumerate(cues(spoken, which), start=1):
        times = f"{_clock(cue.start, ',')} --> {_clock(cue.end, ',')}"
        yield "\n".join([str(number), times, *map(_srt_text, _labelled(cue.lines, cue.track))]) + "\n\n"


def _vtt(spoken: Iterable[Spoken], which: Which) -> Iterator[str]:
    yield "WEBVTT\n\n"
    for cue in cues(spoken, which):
        times = f"{_clock(cue.start, '.')} --> {_clock(cue.end, '.')}"
        voice = f"<v {_vtt_text(one_line(cue.track))}>" if cue.track else ""
        yield "\n".join([times, voice + "\n".join(map(_vtt_text, cue.lines))]) + "\n\n"


def _txt(spoken: Iterable[Spoken], which: Which) -> Iterator[str]:
    for item in spoken:
        lines = [line for text in texts_of(item.caption, which) for line in directed(text, [text]) if line]
        yield "\n".join(_labelled(lines, item.caption.track)) + ("\n\n" if which == "both" else "\n")


def _jsonl(spoken: Iterable[Spoken], which: Which) -> Iterator[str]:
    names = ("source", "target") if which == "both" else (which,)
    for caption in (item.caption for item in spoken):
        head = {name: getattr(caption, name) for name in ("segment_id", "track", "start", "end", "final")}
        texts = dict(zip(names, texts_of(caption, which), strict=False))
        yield dump(head | texts) + "\n"


_WRITERS: dict[str, Callable[[Iterable[Spoken], Which], Iterator[str]]] = {
    "srt": _srt,
    "vtt": _vtt,
    "txt": _txt,
    "jsonl": _jsonl,
}


class Finals:
    """A sink that collects finals for the key that saves them: text, hence small even after hours."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._captions: list[Caption] = []

    def write(self, record: Record) -> None:
        event = record.event.caption() if isinstance(record.event, Gap) else record.event
        if isinstance(event, Caption) and event.final and event.text:
            self._captions.append(event)

    def close(self) -> None:
        """Do nothing: the screen may still save after the run has ended."""

    def save(self) -> list[Path]:
        """Write source and translation to a new text file in the current folder, and captions beside it as subtitles.

        Return the path of the text file, the other ends in `.srt`; of several languages each has its own files.

        Raises:
            SessionError: there is no final yet.
            OSError: the folder cannot be written.
        """
        captions = tuple(self._captions)
        if all(caption.segment_id < 0 for caption in captions):
            raise SessionError("there is no finished caption yet")
        stem, ends = f"livetrans-{datetime.now():%Y-%m-%dT%H-%M-%S}", chain([""], map("-{}".format, count(2)))
        places = (language_files(Path(f"{stem}{end}.txt"), self._settings.targets) for end in ends)
        files = next(files for files in places if not any(path.exists() for path in files.values()))
        for language, path in files.items():
            shown = [one for one in captions if self._settings.shows(one.track, one.language, language)]
            spoken = _in_order(map(Spoken, shown))
            with path.open("x", encoding="utf-8") as file:
                file.writelines(_txt(spoken, "both"))
            with path.with_suffix(".srt").open("w", encoding="utf-8") as file:
                file.writelines(_srt(spoken, "target"))
        return [path.resolve() for path in files.values()]


def _labelled(lines: Sequence[str], track: str | None) -> Sequence[str]:
    """Return the lines with the name of their track before the first one."""
    return [track_label(track) + lines[0], *lines[1:]] if lines else lines


def _srt_text(line: str) -> str:
    """Replace what would begin a tag by a look-alike: SRT has no escapes, and players interpret tags."""
    line = line.replace("-->", "-- >")
    line = re.sub(r"<(?=[/A-Za-z])", "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}", line)
    return line.replace("{", "(").replace("}", ")")


def _vtt_text(line: str) -> str:
    """Escape the line for WebVTT; an escaped `>` also keeps `-->` from ending the cue."""
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _clock(milliseconds: int, point: str) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}{point}{rest:03d}"
