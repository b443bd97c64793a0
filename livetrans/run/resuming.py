"""Finishing a session: finals without captions are translated, and sound that was not recognised is recognised.

The sound is heard as in any run at full speed, from where the finals end. Its segments are new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from livetrans.audio.bleed import BleedFilter
from livetrans.audio.source import AudioSource, Part
from livetrans.base.clock import Clock, SystemClock
from livetrans.base.errors import UsageError
from livetrans.config import Settings
from livetrans.events import SAMPLE_RATE, AudioChunk, Caption, Event, Notice, Transcript, Translation
from livetrans.run.listening import Hearing, Listening, OnAudio, Sound, TrackStages
from livetrans.run.opening import open_stages
from livetrans.run.publisher import Publish
from livetrans.run.runner import PlainLoop
from livetrans.run.translating import Translating
from livetrans.session.recorded import Unfinished
from livetrans.session.recorder import AUDIO_FILE, MICROPHONE_FILE, sound_seconds

_AHEAD_SECONDS = 0.5
"""How much earlier sound that was played is known than what the microphone heard."""
_ROOM_SECONDS = 10.0
"""Sound before the cut from which the room is learned again: without it, half a second of the user's would be bleed."""


@dataclass(frozen=True, slots=True)
class Rest:
    """The sound of a track that was not recognised."""

    track: str | None
    begin: float
    """Source time in seconds."""
    source: AudioSource
    chunks: Iterable[AudioChunk]
    """From `begin` on; read once."""


class Resuming(PlainLoop):
    """A plain loop that goes on with a session. Only the captions that a recorded final lacks are published."""

    unfinished: Unfinished
    """Set before the run starts."""

    def _take(self, transcript: Transcript, translating: Translating) -> None:
        shown_in = self.unfinished.shown_in.get(transcript.segment_id)
        if shown_in is None:
            super()._take(transcript, translating)
            return

        def publish(event: Event) -> None:
            if not (isinstance(event, Translation | Caption) and event.language in shown_in):
                self.publish(event)

        translating.translate(transcript, self.settings, publish)


def unheard_sound(unfinished: Unfinished, recording: Path | None, notify: Callable[[Notice], None]) -> list[Rest]:
    """Open the sound that was not recognised: the rest of the recording, or without one what was kept of each track."""
    folder, meeting = unfinished.folder, unfinished.settings.meeting
    if recording is not None:
        found = [_rest(unfinished, None, recording, unfinished.total or 0.0, notify)]
    elif meeting is None:
        found = [_rest(unfinished, None, folder / AUDIO_FILE, sound_seconds(folder / AUDIO_FILE), notify)]
    else:
        mine, theirs = meeting.names
        played, heard = folder / AUDIO_FILE, folder / MICROPHONE_FILE
        found = [
            _rest(unfinished, theirs, played, sound_seconds(played), notify),
            _rest(unfinished, mine, heard, sound_seconds(heard), notify, played),
        ]
    return [rest for rest in found if rest]


def _rest(
    unfinished: Unfinished,
    track: str | None,
    file: Path,
    length: float,
    notify: Callable[[Notice], None],
    played: Path | None = None,
) -> Rest | None:
    """Open the sound of a track, of `length` seconds, where it was not recognised; None if all was."""
    from livetrans.audio.file import AudioFile

    begin = unfinished.rest(track, length)
    if begin is None:
        return None
    clock, end = SystemClock(), unfinished.origin.end if unfinished.origin else None
    has_bleed = played is not None and sound_seconds(played) > begin
    from_ = max(begin - _ROOM_SECONDS, 0.0) if has_bleed else begin
    try:
        source = AudioFile(file, clock, False, notify, Part(from_, end))
    except UsageError:  # It ends before: its header holds an estimate.
        return None
    if played is None or not has_bleed:
        return Rest(track, begin, source, source)
    heard = without_bleed(AudioFile(played, clock, False, notify, Part(from_)), source)
    return Rest(track, begin, source, _after(begin, heard))


def _after(begin: float, chunks: Iterable[AudioChunk]) -> Iterator[AudioChunk]:
    """Yield the sound from `begin` on, in seconds."""
    first = round(begin * SAMPLE_RATE)
    for chunk in chunks:
        early = max(first - chunk.start_sample, 0)
        if early < len(chunk.samples):
            yield replace(chunk, samples=chunk.samples[early:], start_sample=chunk.start_sample + early)


def open_rest(
    settings: Settings, clock: Clock, unfinished: Unfinished, rests: Sequence[Rest], publish: Publish, on_audio: OnAudio
) -> Listening:
    """Open what a session lacks as the listening side of a run; the recogniser is loaded if sound is left.

    First come finals that lack captions, then the sound that is left, one track after the other.
    """
    finals = unfinished.transcripts({rest.track: rest.begin for rest in rests})
    stages = open_stages(settings, clock, publish, count(unfinished.next_segment)) if rests else []
    of_track = {one.track: one for one in stages}
    tracks = [TrackStages(rest.source, of_track[rest.track], publish) for rest in rests]

    def sound() -> Sound:
        for rest, track in zip(rests, tracks, strict=True):
            for chunk in rest.chunks:
                yield track, chunk
            yield track, None

    def transcripts(heard: Iterable[Transcript]) -> Iterator[Transcript]:
        for final in finals:
            if hearing.listener.closed:
                return
            yield final
        yield from heard

    hearing = Hearing(sound(), tracks, clock, *(rest.source for rest in rests))
    hearing.transcripts = transcripts(hearing.transcripts)
    return hearing


def without_bleed(played: Iterable[AudioChunk], heard: Iterable[AudioChunk]) -> Iterator[AudioChunk]:
    """Yield the recorded sound of the microphone as the run heard it: without what the computer played."""
    bleed = BleedFilter()
    theirs, end = iter(played), 0.0
    for chunk in heard:
        while end < chunk.end + _AHEAD_SECONDS and (other := next(theirs, None)):
            bleed.feed_played(other)
            end = other.end
        yield from bleed.feed(chunk)
    yield from bleed.flush()
