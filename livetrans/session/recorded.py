"""Recorded transcripts as a source: for runs without a recogniser, and for the same updates with every method."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from livetrans.clock import Clock
from livetrans.errors import SessionError
from livetrans.events import Notice, Transcript
from livetrans.session.codec import events_file, from_dict, line_error, read_lines

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
    without `captured_at`. A segment that a crash or `close` left without a final gets its
    last hypothesis once more as its final, because what was heard is finished and shown.
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
            yield replace(last, revision=last.revision + 1, committed=last.text, partial="", final=True)

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
