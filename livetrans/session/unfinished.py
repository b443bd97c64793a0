"""What a session lacks: sentences that were heard and not translated, and sound that was not recognised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from livetrans.config import Settings, changed
from livetrans.errors import SessionError
from livetrans.events import (
    AudioChunk,
    Caption,
    Coalesced,
    Notice,
    Origin,
    RunEnded,
    RunStarted,
    SettingChanged,
    SourceProgress,
    Transcript,
)
from livetrans.session.codec import read_records
from livetrans.session.recorder import AUDIO_FILE, recorded_sound

CHUNK = 960
"""Samples of sound read at once, as in a replay at full speed."""
_END = 1.0
"""Seconds before the stated end of a recording from which it counts as heard: some headers hold estimates."""


@dataclass(slots=True)
class Unfinished:
    """A session as far as it was recorded."""

    folder: Path
    settings: Settings = field(default_factory=Settings)
    """Those that held last in the run that heard the speech."""
    lacks_glossary: bool = False
    """Whether it had a glossary, and is from before glossaries were recorded."""
    at: float = 0.0
    """Instant of the last event."""
    heard: float = 0.0
    """Source time up to which each final of the recogniser is recorded."""
    finals: list[Transcript] = field(default_factory=list)
    """Every final of the recogniser, in order."""
    ended: bool = False
    """Whether the run ended in order: the end of what was heard ended the last segment."""
    was_resumed: bool = False
    captioned: set[int] = field(default_factory=set)
    """Segments whose final was shown."""
    waiting: dict[int, list[Transcript]] = field(default_factory=dict)
    """The updates of each segment that has no final caption, and of the segment before: what the draft grew from."""

    sound: Callable[[], Iterator[AudioChunk]] | None = None
    """Opens the sound that can be recognised, kept or from the file that was replayed; None where there is none."""
    origin: Origin | None = None
    """What the run listened to."""
    total: float | None = None
    """Length of that, where it is known."""
    heard_all: bool = False
    """Whether the run heard it to its end."""

    @property
    def unheard(self) -> bool:
        """Whether the run ended before its recording did."""
        return self.total is not None and not self.heard_all and self.total - self.heard > _END

    def updates(self, until: float) -> Iterator[Transcript]:
        """Yield what has to be translated of the segments that end before `until`, with the updates before it.

        A segment that never got its final ends as it was last recognised.
        """
        for segment_id, updates in sorted(self.waiting.items()):
            last = updates[-1]
            if last.end > until:
                continue
            yield from updates
            if not last.final and segment_id not in self.captioned:
                yield replace(last, revision=last.revision + 1, committed=last.text, partial="", final=True)


def read_unfinished(folder: Path, notify: Callable[[Notice], None] | None = None) -> Unfinished:
    """Read a session's events once; what is kept of them is small.

    Raises:
        SessionError: it cannot be read, or the run never began to listen.
    """
    found = Unfinished(folder)
    if (folder / AUDIO_FILE).is_file():
        found.sound = partial(recorded_sound, folder, CHUNK)
    shown: int | None = None
    began = False
    for record in read_records(folder, notify):
        found.at = record.at
        match record.event:
            case RunStarted(signature=signature, settings=settings, origin=origin):
                found.was_resumed = began
                if not began:
                    began, found.settings, found.origin = True, settings, origin
                    found.lacks_glossary = bool(signature.get("glossary_terms")) and not settings.prompt.glossary
            case Transcript() as transcript:
                found.waiting.setdefault(transcript.segment_id, []).append(transcript)
                if transcript.final:
                    found.finals.append(transcript)
            case Coalesced(segment_id=segment_id, revision=revision):
                updates = found.waiting.get(segment_id, [])
                found.waiting[segment_id] = [update for update in updates if update.revision != revision]
            case Caption(final=True) as caption if caption.segment_id >= 0:
                if shown is not None and shown != caption.segment_id:
                    found.waiting.pop(shown, None)
                shown = caption.segment_id
                found.captioned.add(shown)
            case SettingChanged(name=name, value=value):
                if not found.was_resumed:
                    found.settings = changed(found.settings, name, value)
            case SourceProgress(heard=heard, total=total):
                found.heard, found.ended = max(found.heard, heard), False
                found.total = found.total or total
            case RunEnded(reason=reason):
                found.ended = reason != "failed"
                found.heard_all = found.heard_all or (reason == "end of source" and not found.was_resumed)
                if found.was_resumed and reason == "end of source":
                    found.waiting.clear()  # Recognised again: other segments may stand for the same words.
            case _:
                pass
    if not began:
        raise SessionError(f"{folder} holds nothing to finish: its run ended before it began to listen.")
    found.waiting = {
        segment_id: updates
        for segment_id, updates in found.waiting.items()
        if updates and (segment_id == shown or segment_id not in found.captioned)
    }
    return found
