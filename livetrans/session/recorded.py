"""Recorded sessions read again: their transcripts as a source, and what a run that was cut off did not finish."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path

from livetrans.clock import Clock
from livetrans.config import Settings, after_key
from livetrans.errors import SessionError
from livetrans.events import (
    AudioChunk,
    Caption,
    Coalesced,
    Notice,
    Origin,
    Record,
    RunEnded,
    RunStarted,
    SettingChanged,
    SourceProgress,
    Transcript,
)
from livetrans.session.codec import events_file, from_dict, line_error, read_lines, read_records
from livetrans.session.recorder import AUDIO_FILE, MICROPHONE_FILE, recorded_sound

CHUNK = 960
"""Samples of sound read at once, as in a replay at full speed."""
_END = 1.0
"""Seconds before the stated end of a recording from which it counts as heard: some headers hold estimates."""
_LONGEST_SLEEP = 0.05
"""Seconds. A sleep cannot be ended early: waiting in slices lets `close` and `pause` act soon, without locks."""


@dataclass(frozen=True, slots=True)
class _Timed:
    """A transcript, with the instants of its publication and of its last word, in seconds of the recorded run."""

    transcript: Transcript
    due: float
    captured: float | None


class RecordedTranscripts:
    """The transcripts of a session or of a benchmark's .jsonl, in order, as the transcriber gave them.

    A line is a `transcript` event or only its `segment_id`, `revision`, `committed`, `partial` and `final`. With
    `real_time` they come at the recorded pace: when they were published, or, where the recording was made faster than
    speech, when their last word ends in the source. `captured_at` is on the run's clock, so that lag is measured anew;
    it is None where the recording has none, as there was no recogniser's delay then. Otherwise they come at once,
    without `captured_at`. A segment that a crash or `close` left without a final gets its last hypothesis once more as
    its final, because what was heard is finished and shown.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        real_time: bool,
        notify: Callable[[Notice], None] | None = None,
    ) -> None:
        """Read the whole file, so that a bad one is reported before models are loaded; iterating reads it again.

        Raises:
            SessionError: it cannot be read, or holds no transcript.
        """
        self._path = path
        self._clock = clock
        self._real_time = real_time
        if events_file(path).is_fifo():
            raise SessionError(f"{path} is a pipe, and a recorded stream is read twice: save it as a file first.")
        self._count, latest = 0, 0.0
        for timed in _read(path, notify):
            self._count, latest = self._count + 1, max(latest, timed.transcript.end)
        if not self._count:
            raise SessionError(f"{path} holds no transcript: give a session, or a .jsonl file of transcripts.")
        self.duration = latest or None
        """Source time at which the last word ends; None where the recording has no times."""
        self._closed = False
        self._paused = False

    def __iter__(self) -> Iterator[Transcript]:
        origin = self._clock.now()
        unfinished: dict[int, Transcript] = {}
        # A session that is being recorded grows meanwhile.
        for timed in islice(_read(self._path), self._count):
            origin = self._wait(origin, timed.due)
            if self._closed:
                break
            captured_at = origin + timed.captured if self._real_time and timed.captured is not None else None
            transcript = replace(timed.transcript, captured_at=captured_at)
            if transcript.final:
                unfinished.pop(transcript.segment_id, None)
            else:
                unfinished[transcript.segment_id] = transcript
            yield transcript
        for last in unfinished.values():
            yield _as_final(last)

    def pause(self, paused: bool) -> None:
        """Stop or resume the transcripts; the time between does not count."""
        self._paused = paused

    def close(self) -> None:
        """End the iteration soon, with finals of the open segments; from any thread, any number of times."""
        self._closed = True

    def _wait(self, origin: float, due: float) -> float:
        """Wait until `due`; return the instant on our clock at which the recorded run began, moved by pauses."""
        while not self._closed:
            if self._paused:
                paused_at = self._clock.now()
                self._clock.sleep(_LONGEST_SLEEP)
                origin += self._clock.now() - paused_at
                continue
            remaining = origin + due - self._clock.now() if self._real_time else 0.0
            if remaining <= 0:
                break
            self._clock.sleep(min(remaining, _LONGEST_SLEEP))
        return origin


def _as_final(last: Transcript) -> Transcript:
    """Return the final of a segment that never got one: it ends as it was last recognised."""
    return replace(last, revision=last.revision + 1, committed=last.text, partial="", final=True)


def _read(path: Path, notify: Callable[[Notice], None] | None = None) -> Iterator[_Timed]:
    file = events_file(path)
    began = 0.0
    for number, values in read_lines(path, notify):
        if values.get("event") == "run_started" and isinstance(values.get("at"), int | float):
            # The clock ran while the models loaded; that wait is not part of the speech.
            began = values["at"]
        if values.get("event", "transcript") != "transcript":
            continue
        defaults = {"event": "transcript", "at": 0.0, "start": 0.0, "end": 0.0}
        try:
            record = from_dict(defaults | values)
        except ValueError as error:
            raise line_error(number, file, f"a transcript ({error})") from error
        if not isinstance(record.event, Transcript):
            raise line_error(number, file, "a transcript")
        transcript = replace(record.event, captured_at=None, recognition=None)
        due, captured = transcript.end, None
        if record.event.captured_at is not None:
            due, captured = record.at - began, record.event.captured_at - began
        yield _Timed(transcript, due, captured)


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
    """Segments whose final was shown in every language."""
    shown_in: dict[int, set[str | None]] = field(default_factory=dict)
    """The languages in which the final of each segment was shown."""
    waiting: list[Transcript] = field(default_factory=list)
    """The updates of segments that lack a final caption, and of the segment before, in order."""

    sound: Callable[[], Iterator[AudioChunk]] | None = None
    """Opens the sound that can be recognised, kept or from the file that was replayed; None where there is none."""
    origin: Origin | None = None
    """What the run listened to."""
    total: float | None = None
    """Length of that, where it is known."""
    heard_all: bool = False
    """Whether the run heard it to its end."""
    track: str | None = None
    """Name of the track, where this is one of two."""
    segments: set[int] = field(default_factory=set)
    """Ids of all segments."""
    tracks: list[Unfinished] = field(default_factory=list)
    """What each track lacks, in a session of two."""

    began: bool = False
    """Whether the run began to listen."""
    last_captioned: int | None = None
    """The segment whose final was shown in every language last."""

    def note(self, record: Record) -> None:
        """Note the next event of the session; what another track said is left out."""
        self.at, event = record.at, record.event
        if self.track and isinstance(event, Transcript | Caption | SourceProgress) and event.track != self.track:
            return
        match event:
            case RunStarted(signature=signature, settings=settings, origin=origin):
                self.was_resumed = self.began
                if not self.began:
                    self.began, self.settings, self.origin = True, settings, origin
                    self.lacks_glossary = bool(signature.get("glossary_terms")) and not settings.prompt.glossary
            case Transcript() as transcript:
                self.waiting.append(transcript)
                self.segments.add(transcript.segment_id)
                if transcript.final:
                    self.finals.append(transcript)
            case Coalesced(segment_id=segment_id, revision=revision):
                replaced = segment_id, revision
                self.waiting = [one for one in self.waiting if (one.segment_id, one.revision) != replaced]
            case Caption(final=True) as caption if caption.segment_id >= 0 and self._note_final(caption):
                shown = self.last_captioned
                if shown is not None and shown != caption.segment_id:
                    self.waiting = [one for one in self.waiting if one.segment_id != shown]
                self.last_captioned = caption.segment_id
            case SettingChanged(name=name, value=value):
                if not self.was_resumed:
                    self.settings = after_key(self.settings, name, value)
            case SourceProgress(heard=heard, total=total):
                self.heard, self.ended = max(self.heard, heard), False
                self.total = self.total or total
            case RunEnded(reason=reason):
                self.ended = reason != "failed"
                self.heard_all = self.heard_all or (reason == "end of source" and not self.was_resumed)
                if self.was_resumed and reason == "end of source":
                    self.waiting.clear()  # Recognised again: other segments may stand for the same words.
            case _:
                pass

    def _note_final(self, caption: Caption) -> bool:
        """Note that a final was shown; return whether its segment has now been shown in every language."""
        shown_in = self.shown_in.setdefault(caption.segment_id, set())
        shown_in.add(caption.language)
        targets = self.settings.targets
        if len(targets) > 1 and not self.settings.is_microphone(caption.track) and not shown_in.issuperset(targets):
            return False
        self.captioned.add(caption.segment_id)
        return True

    @property
    def unheard(self) -> bool:
        """Whether the run ended before its recording did."""
        return self.total is not None and not self.heard_all and self.total - self.heard > _END

    def updates(self, until: float) -> Iterator[Transcript]:
        """Yield what has to be translated of the segments that end before `until`, with the updates before it."""
        newest = {update.segment_id: update for update in self.waiting}
        yield from (update for update in self.waiting if newest[update.segment_id].end <= until)
        for segment_id, last in sorted(newest.items()):
            if last.end <= until and last.text and not last.final and segment_id not in self.captioned:
                yield _as_final(last)


def read_unfinished(folder: Path, notify: Callable[[Notice], None] | None = None) -> Unfinished:
    """Read a session's events once, also where two tracks are noted; what is kept of them is small.

    Raises:
        SessionError: it cannot be read, or the run never began to listen.
    """
    found = Unfinished(folder, sound=_sound(folder / AUDIO_FILE))
    for record in read_records(folder, notify):
        event = record.event
        if isinstance(event, RunStarted) and event.settings.meeting and not found.began:
            mine, theirs = event.settings.meeting.names
            microphone = _sound(folder / MICROPHONE_FILE) or found.sound
            found.tracks = [
                Unfinished(folder, sound=found.sound, track=theirs),
                Unfinished(folder, sound=microphone, track=mine),
            ]
        for part in (found, *found.tracks):
            part.note(record)
    if not found.began:
        raise SessionError(f"{folder} holds nothing to finish: its run ended before it began to listen.")
    for part in (found, *found.tracks):
        done = part.captioned - {part.last_captioned}
        part.waiting = [update for update in part.waiting if update.segment_id not in done]
    return found


def _sound(file: Path) -> Callable[[], Iterator[AudioChunk]] | None:
    return partial(recorded_sound, file, CHUNK) if file.is_file() else None
