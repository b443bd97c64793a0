"""What a session lacks: sentences that were heard and not translated, and sound that was not recognised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from livetrans.config import Settings, changed
from livetrans.errors import SessionError
from livetrans.events import (
    Caption,
    Coalesced,
    Notice,
    RunEnded,
    RunStarted,
    SettingChanged,
    SourceProgress,
    Transcript,
)
from livetrans.session.codec import read_records
from livetrans.session.recorder import AUDIO_FILE


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

    @property
    def has_sound(self) -> bool:
        return (self.folder / AUDIO_FILE).is_file()

    def updates(self, until: float) -> Iterator[Transcript]:
        """What has to be translated of the segments that end before `until`, in order, with the updates before it.

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
    shown: int | None = None
    began = False
    for record in read_records(folder, notify):
        found.at = record.at
        match record.event:
            case RunStarted(signature=signature, settings=settings):
                found.was_resumed = began
                if not began:
                    began, found.settings = True, settings
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
            case SourceProgress(heard=heard):
                found.heard, found.ended = max(found.heard, heard), False
            case RunEnded(reason=reason):
                found.ended = reason != "failed"
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
