"""Recorded sessions read again: their transcripts as a source, and what a run that was cut off did not finish."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from livetrans.base.clock import Clock, Pace
from livetrans.base.errors import SessionError
from livetrans.captions import corrected_caption, corrected_transcript
from livetrans.config import BetweenSettings, MeetingSettings, Settings, after_key, with_field
from livetrans.events import (
    Caption,
    GlossaryRead,
    NameCorrected,
    Notice,
    Origin,
    Record,
    RunEnded,
    RunStarted,
    SettingChanged,
    SourceProgress,
    Transcript,
)
from livetrans.names.repair import with_correction
from livetrans.session.codec import event_error, events_file, from_dict, read_lines, read_records

_END = 1.0
"""Seconds that may be missing of a recording that counts as heard: some headers hold estimates of its length."""
_AFTER_WORD = 0.2
"""Seconds after the end of a word that still belong to it."""
_LONGEST_SLEEP = 0.05
"""Seconds. Nothing ends a sleep early, so waiting in slices lets `close` and `pause` act soon."""


@dataclass(frozen=True, slots=True)
class _Timed:
    """A transcript, with the instants of its publication and of its last word, in seconds of the recorded run."""

    transcript: Transcript
    due: float
    captured: float | None


class RecordedTranscripts:
    """The transcripts of a session or of a benchmark's .jsonl, in order, as the transcriber gave them.

    A line is a `transcript` event, or only its `segment_id`, `revision`, `committed`, `partial` and `final`.

    With `real_time` they come at the recorded pace: when they were published, or, if the recording was made faster than
    speech, when their last word ends in the source. `captured_at` is on the clock of this run, so that lag is measured
    anew; it is None if the recording has none. Without `real_time` they come at once, without `captured_at`. If a crash
    or `close` left a segment without a final, its last hypothesis comes again as its final.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        real_time: bool,
        notify: Callable[[Notice], None] | None = None,
        *,
        with_captions: bool = False,
    ) -> None:
        """Read the whole file, so that a bad one is reported before models are loaded.

        `with_captions`: for `captions_of`. Nothing is measured anew then, so no transcript has a `captured_at`.

        Raises:
            SessionError: it cannot be read, or holds no transcript or none of the wanted captions.
        """
        self._clock, self._pace = clock, Pace(clock)
        self._real_time = real_time
        self.meeting: MeetingSettings | None = None
        """The two tracks of a recorded meeting, with the languages of the microphone's; None for any other stream."""
        self.between: BetweenSettings | None = None
        """The languages of a recorded conversation and who speaks them, without its models."""
        self.recorded = Settings()
        """Those that the recorded run began with."""
        self._shown: defaultdict[int, defaultdict[int, list[Caption]]] = defaultdict(lambda: defaultdict(list))
        """By segment and revision."""
        self._recorded: list[_Timed] = []
        names: list[NameCorrected] = []
        for item in _read(path, notify, with_captions=with_captions):
            if isinstance(item, NameCorrected):
                names.append(item)
            elif isinstance(item, Caption):
                self._shown[item.segment_id][item.revision].append(item)
            elif isinstance(item, RunStarted):
                self.recorded = item.settings
                self.meeting, between = item.settings.meeting, item.settings.between
                if between and between.languages:
                    self.between = BetweenSettings(between.languages, between.names)
            else:
                self._recorded.append(item)
        for name in names:
            for place, one in enumerate(self._recorded):  # At whatever moment of the run it was corrected.
                right = corrected_transcript(one.transcript, name) or one.transcript
                self._recorded[place] = replace(one, transcript=right)
            for captions in (one for revisions in self._shown.values() for one in revisions.values()):
                captions[:] = [corrected_caption(one, name) or one for one in captions]
        if not self._recorded:
            raise SessionError(f"{path} holds no transcript: give a session, or a .jsonl file of transcripts.")
        if with_captions:
            if not self._shown:
                raise SessionError(f"{path} holds no captions: leave out --as-recorded, and they are made anew.")
            self._recorded = [replace(one, captured=None) for one in self._recorded]
        self.duration = max(item.transcript.end for item in self._recorded) or None
        """Source time at which the last word ends; None where the recording has no times."""
        self._closed = False

    def __iter__(self) -> Iterator[Transcript]:
        self._pace.start()
        unfinished: dict[int, Transcript] = {}
        for timed in self._recorded:
            while self._real_time and not self._closed:
                remaining = math.inf if self._pace.is_paused else timed.due - self._pace.elapsed()
                if remaining <= 0:
                    break
                self._clock.sleep(min(remaining, _LONGEST_SLEEP))
            if self._closed:
                break
            is_timed = self._real_time and timed.captured is not None
            captured_at = self._pace.instant(timed.captured or 0.0) if is_timed else None
            transcript = replace(timed.transcript, captured_at=captured_at)
            if transcript.final:
                unfinished.pop(transcript.segment_id, None)
            else:
                unfinished[transcript.segment_id] = transcript
            yield transcript
        for last in unfinished.values():
            yield last.as_final()

    def captions_of(self, transcript: Transcript) -> list[Caption]:
        """Return what was shown for a transcript, in every language.

        For a final without captions that is the last of its segment.
        """
        shown = self._shown[transcript.segment_id]
        revision = max(shown, default=0) if transcript.final else transcript.revision
        return [replace(caption, transcript=transcript) for caption in shown.get(revision, ())]

    def pause(self, paused: bool) -> None:
        """Stop or resume the transcripts. The time between does not count."""
        self._pace.pause(paused)

    def close(self) -> None:
        """End the iteration soon, with finals of the open segments. Any thread may call it, any number of times."""
        self._closed = True


def _read(
    path: Path, notify: Callable[[Notice], None] | None, *, with_captions: bool
) -> Iterator[_Timed | RunStarted | NameCorrected | Caption]:
    """Yield transcripts, starts of runs, corrected names and captions of a stream.

    No transcript of a segment follows its final.
    """
    wanted = ("transcript", "run_started", "name_corrected", *(["caption"] if with_captions else []))
    file = events_file(path)
    began = 0.0
    finished: set[int] = set()
    for number, values in read_lines(path, notify):
        kind = values.get("event", "transcript")
        if kind not in wanted:
            continue
        defaults = {"event": "transcript", "at": 0.0, "start": 0.0, "end": 0.0}
        try:
            record = from_dict(defaults | values)
        except ValueError as error:
            raise event_error(number, values, file, f"a {kind.replace('_', ' ')} ({error})") from error
        if isinstance(record.event, RunStarted):
            began = record.at  # The clock ran while the models loaded; that wait is not part of the speech.
            yield record.event
        elif isinstance(record.event, NameCorrected | Caption):
            yield record.event
        elif isinstance(record.event, Transcript) and record.event.segment_id not in finished:
            if record.event.final:
                finished.add(record.event.segment_id)
            transcript = replace(record.event, captured_at=None, recognition=None)
            due, captured = transcript.end, None
            if record.event.captured_at is not None:
                due, captured = record.at - began, record.event.captured_at - began
            yield _Timed(transcript, due, captured)


@dataclass(slots=True)
class Unfinished:
    """What a session lacks, read from its events: final captions, and sound that was not recognised."""

    folder: Path
    settings: Settings = field(default_factory=Settings)
    """Those that held last in the run that heard the speech."""
    origin: Origin | None = None
    """What that run listened to."""
    at: float = 0.0
    """Instant of the last event."""
    total: float | None = None
    """Length in seconds of what was listened to, where it is known."""
    heard_all: bool = False
    """Whether the source was heard to its end."""
    shown_in: dict[int, set[str | None]] = field(default_factory=dict)
    """Segments with a recorded final, and the languages in which it was shown."""
    _newest: dict[int, Transcript] = field(default_factory=dict)
    heard: float = 0.0
    """Source time heard so far, in seconds, of the track that was heard furthest."""
    _finished: dict[str | None, float] = field(default_factory=dict)
    """Source time up to which a track was heard, if the run that heard it last finished its speech."""
    _hears: bool = False
    """Whether the last run has heard anything."""
    _has_failed: bool = False
    """Whether the last run failed: then sound can be recorded that it never heard."""
    _runs: int = 0

    def note(self, record: Record) -> None:
        self.at = record.at
        match record.event:
            case RunStarted(settings=settings, origin=origin):
                self._runs += 1
                self._hears = self._has_failed = False
                if self._runs == 1:
                    self.settings, self.origin = settings, origin
            case Transcript() as transcript:
                self._newest[transcript.segment_id] = transcript
                if transcript.final:
                    self.shown_in.setdefault(transcript.segment_id, set())
            case Caption(final=True, segment_id=segment, language=language) if segment >= 0:
                self.shown_in.setdefault(segment, set()).add(language)
            case SettingChanged(name=name, value=value) if self._runs == 1:
                self.settings = after_key(self.settings, name, value)
            case GlossaryRead(terms=terms):
                self.settings = with_field(self.settings, "prompt.glossary", terms)
            case NameCorrected() as name:
                terms = with_correction(self.settings.prompt.glossary, name)
                self.settings = with_field(self.settings, "prompt.glossary", terms)
            case SourceProgress(heard=heard, total=total, track=track) as progress if heard > 0:
                self.total, self.heard, self._hears = self.total or total, max(heard, self.heard), True
                self._finished.pop(track, None)
                if progress.finished:
                    self._finished[track] = heard
            case RunEnded(reason=reason):
                self._has_failed = reason == "failed"
                self.heard_all = self.heard_all or (reason == "end of source" and self._hears)
            case _:
                pass

    @property
    def has_begun(self) -> bool:
        return self._runs > 0

    @property
    def has_words(self) -> bool:
        return any(one.text for one in self._newest.values())

    @property
    def is_unheard(self) -> bool:
        """Whether the run ended before its source did, or before the speech at the end of that was recognised."""
        if self.total is None or self.heard_all:
            return False
        return self.total - self.heard > _END or (self.settings.recogniser is not None and not self._finished)

    @property
    def next_segment(self) -> int:
        return max(self._newest, default=-1) + 1

    def rest(self, track: str | None, length: float) -> float | None:
        """Return from where the sound of a track has to be recognised, in source time; None if all was.

        `length`: of all its sound, in seconds. Unless the run that heard it last finished its speech, recognition
        begins after the last word of the last final: what was heard of the next segment is recognised again.
        """
        begin = self._finished.get(track)
        if begin is not None:
            return begin if length - begin > (_AFTER_WORD if self._has_failed else _END) else None
        begin = self.origin.start if self.origin else 0.0
        of_track = [one for one in self._newest.values() if self._heard_on(one) == track and one.text]
        begin = max((one.end for one in of_track if one.final), default=begin)
        growing = (one for one in of_track if not one.final and one.end > begin)
        following = min((max(one.start, begin) for one in growing), default=begin)
        begin += min((following - begin) / 2, _AFTER_WORD)
        return begin if length - begin > _AFTER_WORD else None

    def transcripts(self, rests: Mapping[str | None, float]) -> list[Transcript]:
        """Return the finals to translate: those that lack a caption, and those of segments that never got a final.

        `rests`: from where each track is recognised again. A segment that reaches beyond has a final without words, as
        its words come again.
        """
        found = []
        for segment in sorted(self._newest):
            last = replace(self._newest[segment], captured_at=None)  # A lag would count the time until the resume.
            if last.final:
                if not self._is_shown(last):
                    found.append(last)
            elif last.end > rests.get(self._heard_on(last), math.inf):
                found.append(replace(last.as_final(), committed=""))
            elif last.text:
                found.append(last.as_final())
        return found

    def _heard_on(self, transcript: Transcript) -> str | None:
        """Return the name of the track of its sound: those of a conversation are who spoke, in the sound of one."""
        return None if self.settings.between else transcript.track

    def _is_shown(self, final: Transcript) -> bool:
        """Return whether a final was shown to every reader of its track."""
        shown_in, shows = self.shown_in[final.segment_id], self.settings.shows
        return all(any(shows(final.track, one, target) for one in shown_in) for target in self.settings.targets)


def read_unfinished(folder: Path, notify: Callable[[Notice], None] | None = None) -> Unfinished:
    """Read what a session lacks.

    Raises:
        SessionError: it cannot be read, or the run never began to listen.
    """
    found = Unfinished(folder)
    for record in read_records(folder, notify):
        found.note(record)
    if not found.has_begun:
        raise SessionError(f"{folder} holds nothing to finish: its run ended before it began to listen.")
    return found
