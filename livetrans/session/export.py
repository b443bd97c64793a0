"""A session's finals as subtitles (SRT, WebVTT), text or JSON lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import Literal

from livetrans.base.errors import SessionError
from livetrans.base.text import one_line, track_label
from livetrans.captions import Captions, Key, key_of
from livetrans.config import Settings
from livetrans.events import Notice, Record, RunStarted
from livetrans.session.codec import dump, read_records
from livetrans.session.subtitles import Spoken, Which, cues, directed, spoken_shares, texts_of

Format = Literal["srt", "vtt", "txt", "jsonl"]


def export(
    captions: LastCaptions,
    format: Format,
    which: Which = "target",
    language: str | None = None,
    *,
    finals_only: bool = False,
) -> Iterator[str]:
    """Return the captions in the format, as pieces of text with their line ends.

    If a crash left a segment without a final, its last caption stands for it, unless `finals_only`. `language`: of
    several languages the one of the captions; None for the first.

    Raises:
        SessionError: there is no caption.
    """
    spoken = [item for item in captions.spoken(language) if any(texts_of(item.caption, which))]
    spoken = [item for item in spoken if item.caption.final or not finals_only]
    if all(item.caption.segment_id < 0 for item in spoken):
        raise SessionError("There is no caption to export: nothing was recognised, or this is not a session.")
    return _WRITERS[format](spoken, which)


def language_files(output: Path, languages: Sequence[str]) -> dict[str, Path]:
    """Return the file of each language: `output`, or of several `talk.de.srt`, `talk.fr.srt` for `talk.srt`."""
    if len(languages) == 1:
        return {languages[0]: output}
    return {code: output.with_name(f"{output.stem}.{code}{output.suffix}") for code in languages}


class LastCaptions:
    """A sink that keeps the last caption of every segment in each language, and the gaps."""

    def __init__(self, settings: Settings | None = None) -> None:
        """`settings`: those of the run; None takes those of the first run that the events tell of."""
        self._settings = settings
        self._captions = Captions(kept=None)
        self._updates: dict[Key, list[tuple[str, float]]] = {}
        """Source and end of the updates of unfinished segments."""
        self._shares: dict[Key, tuple[tuple[float, float], ...]] = {}
        """`Spoken.shares` of the finals."""

    def write(self, record: Record) -> None:
        if isinstance(record.event, RunStarted):
            # A resumed run may have its languages in another order.
            self._settings = self._settings or record.event.settings
        for caption in self._captions.feed(record.event):
            key = key_of(caption)
            if not caption.final:
                self._updates.setdefault(key, []).append((caption.source, caption.end))
            elif key not in self._shares:
                self._shares[key] = spoken_shares(caption, self._updates.pop(key, ()))

    def close(self) -> None:
        """Do nothing: the screen may still save after the run has ended."""

    @property
    def is_empty(self) -> bool:
        return all(caption.segment_id < 0 for caption in self._captions)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages into which each segment was translated, the one shown first at the beginning."""
        return (self._settings or Settings()).targets

    def spoken(self, language: str | None = None) -> list[Spoken]:
        """Return them in the order of speech; of several languages those in one, None for the first."""
        settings = self._settings or Settings()
        found = []
        for caption in self._captions:
            if caption.segment_id < 0 or settings.shows(caption.track, caption.language, language):
                key = key_of(caption)
                shares = self._shares.get(key) or spoken_shares(caption, self._updates.get(key, ())[:-1])
                found.append(Spoken(caption, shares))
        return sorted(found, key=lambda item: (item.caption.start, item.caption.segment_id))

    def save(self) -> list[Path]:
        """Write source and translation to a new text file in the current folder, and subtitles to another beside it.

        Return the path of the text file; the other ends in `.srt`. Several languages have their own files.

        Raises:
            SessionError: there is no final yet.
            OSError: the folder cannot be written.
        """
        shown = {language: self._finals(language) for language in self.languages}
        if not any(item.caption.segment_id >= 0 for of_language in shown.values() for item in of_language):
            raise SessionError("there is no finished caption yet")
        stem, ends = f"livetrans-{datetime.now():%Y-%m-%dT%H-%M-%S}", chain([""], map("-{}".format, count(2)))
        places = (language_files(Path(f"{stem}{end}.txt"), self.languages) for end in ends)
        files = next(files for files in places if not any(path.exists() for path in files.values()))
        for language, path in files.items():
            with path.open("x", encoding="utf-8") as file:
                file.writelines(_txt(shown[language], "both"))
            with path.with_suffix(".srt").open("w", encoding="utf-8") as file:
                file.writelines(_srt(shown[language], "target"))
        return [path.resolve() for path in files.values()]

    def _finals(self, language: str) -> list[Spoken]:
        return [item for item in self.spoken(language) if item.caption.final and item.caption.text]


def read_captions(session: Path, notify: Callable[[Notice], None] | None = None) -> LastCaptions:
    found = LastCaptions()
    for record in read_records(session, notify):
        found.write(record)
    return found


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
        head = {name: getattr(caption, name) for name in ("segment_id", "track", "language", "start", "end", "final")}
        # What is not translated has one text, which is both; the mark of a gap stands once.
        texts = dict(zip(names, texts_of(caption, which) * (1 + caption.untranslated), strict=False))
        yield dump(head | texts) + "\n"


_WRITERS: dict[str, Callable[[Iterable[Spoken], Which], Iterator[str]]] = {
    "srt": _srt,
    "vtt": _vtt,
    "txt": _txt,
    "jsonl": _jsonl,
}


def _labelled(lines: Sequence[str], track: str | None) -> Sequence[str]:
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
