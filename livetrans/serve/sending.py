"""Finished captions for a platform: in order, each exactly once, also after a crash (docs/event.md).

A text is noted with its number before it is sent, and marked once the platform has taken it. Where the mark is missing,
the same text is sent again with the same number, which the platform shows once.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path

from livetrans.base.errors import LivetransError, UsageError
from livetrans.base.files import private_file, write_all
from livetrans.base.text import counted, track_label
from livetrans.captions import corrected_caption
from livetrans.config import Settings
from livetrans.events import Caption, NameCorrected, Notice, Record, RunStarted
from livetrans.serve.platforms import CaptionLink, NotTaken, parse_link
from livetrans.serve.secret import Claim, read_secret
from livetrans.session.codec import dump, load
from livetrans.session.recorder import SessionRecorder
from livetrans.session.store import shell_name
from livetrans.session.subtitles import Spoken, cues

SENT_FILE = "sent.jsonl"
"""In the session's folder: what was sent to platforms, without their links."""
LAST_SECONDS = 10.0
"""Time at the end of a run to send what is left."""
LONGEST_PAUSE = 15.0
_WRONG_CLOCK = 2.0
"""Seconds between this machine's clock and the platform's from which the platform's is taken."""
_RECORD_SECONDS = 5.0
"""Longest wait for the session's record of a caption: a disk that hangs does not hold captions back."""


@dataclass(frozen=True, slots=True)
class _Text:
    """A part of a caption, as long as a platform shows it."""

    number: int
    segment: int
    at: float
    """When it was spoken, in seconds since 1970."""
    lines: list[str]

    @property
    def values(self) -> dict[str, object]:
        return {"number": self.number, "at": self.at, "lines": self.lines}


class OpenLink(Claim):
    """A link for one run, and the number of the last text that was sent to it: in a file, as runs follow each other.

    Raises:
        LivetransError: another run sends to this link, or the file cannot be written.
    """

    def __init__(self, link: CaptionLink) -> None:
        name = link.platform.name
        refusal = f"This link of {name} is in use already: end the run that sends to it, or name it once."
        super().__init__("captions-to", link.parts.geturl(), refusal)
        self.link = link
        self.last = int(self.text) if self.text.isdigit() else 0

    def take(self, number: int) -> None:
        """Keep the number as the last one."""
        self.last = max(self.last, number)
        self.keep(str(self.last))


def open_links(places: Sequence[str], targets: Sequence[str]) -> list[OpenLink]:
    """Open the links that `--captions-to` names, each with the language before `=` or the first of the captions.

    Raises:
        LivetransError: a link cannot be used.
        UsageError: there are no captions in its language.
    """
    found: list[OpenLink] = []
    with ExitStack() as undo:
        for place in places:
            code, _, place = place.rpartition("=")
            if code and code not in targets:
                raise UsageError(f"--captions-to {code}=... needs captions in {code}; add it to --to")
            found.append(OpenLink(parse_link(read_secret(place), code or targets[0])))
            undo.callback(found[-1].close)
        undo.pop_all()
    return found


def send_test(opened: OpenLink, text: str) -> str:
    """Send a text to a link, and return a sentence about what it answers.

    Raises:
        LivetransError: it does not take it.
    """
    link, name = opened.link, opened.link.platform.name
    try:
        number = max(link.last_number() or 0, opened.last) + 1
        error = link.post(number, time.time(), [text])
    except NotTaken as fault:
        raise LivetransError(f"{name} took no text ({fault}); copy its link again, and try again.") from None
    opened.take(number)
    clock = "" if error is None else f" Its clock and this machine's differ by {abs(error):.1f} s."
    return f"{name} took the text {text!r}: look whether viewers see it.{clock}"


class PlatformCaptions:
    """A sink that sends the finals of one language to a link. Nothing waits for the platform but its own thread."""

    def __init__(self, opened: OpenLink, settings: Settings) -> None:
        self._opened, self._link, self._settings = opened, opened.link, settings
        self.name = f"{self._link.platform.name} ({self._link.language})"
        self.notify: Callable[[Notice], object] = lambda notice: None
        """Told when captions begin not to arrive, and when they arrive again."""
        self._session: SessionRecorder | None = None
        self._notes: FileIO | None = None
        self._left: deque[_Text] = deque()
        """Texts that have notes, and no mark yet, in order."""
        self._change = threading.Condition()
        self._waiting: deque[tuple[float, float, Caption]] = deque()
        """Captions: when they were published, and what makes UTC of the run's clock."""
        self._seen: set[int] = set()
        """Segments that have notes, or wait."""
        self._began: tuple[float, float] | None = None
        """UTC and source time at which the run began."""
        self._to_utc = 0.0
        self._is_read_again = False
        self._ends_at: float | None = None
        self._clock_error = 0.0
        self._last_at = 0.0
        self.sent, self._sent_at = 0, 0.0
        self._fault = ""
        self._thread = threading.Thread(target=self._run, name=f"captions to {self.name}", daemon=True)

    @property
    def status(self) -> str:
        """How it goes, for the panel."""
        if self._fault:
            return f"{self.name}: {self._fault}"
        ago = f", {time.monotonic() - self._sent_at:.0f} s ago" if self.sent else ""
        return f"{self.name}: {self.sent} sent{ago}"

    def outcome(self) -> str:
        """Return a sentence on what the platform got, for the end of a run."""
        lacks = len(self._waiting) + len(self._left)
        if not lacks:
            return f"{self.name}: {counted(self.sent, 'text')} sent."
        name = self._session and shell_name(self._session.folder)
        advice = f"; for the rest: livetrans resume {name} --captions-to ..." if name else "."
        return f"{self.name} lacks the last {counted(lacks, 'text')}{advice}"

    def note_in(self, session: SessionRecorder) -> None:
        """Keep notes in the session, and take up those that an earlier process has left there.

        Raises:
            LivetransError: they cannot be used.
        """
        self._session = session
        try:
            self._open_notes(session.folder / SENT_FILE)
        except (OSError, ValueError, KeyError, TypeError) as fault:
            raise LivetransError(f"The session's {SENT_FILE} cannot be used ({fault}): resume without it.") from None

    def start(self, notify: Callable[[Notice], object], records: Iterable[Record] = ()) -> None:
        """Begin to send; `records` are those of a session that goes on, whose unsent captions come first."""
        self.notify, self._is_read_again = notify, True
        for record in records:
            self.write(record)
        self._is_read_again = False
        self._thread.start()

    def write(self, record: Record) -> None:
        match record.event:
            case RunStarted(began_at=float(began_at), origin=origin):
                self._to_utc = began_at - record.at
                self._began = self._began or (began_at, origin.start if origin else 0.0)
            case NameCorrected() as name:
                with self._change:
                    for place, (at, to_utc, caption) in enumerate(self._waiting):
                        self._waiting[place] = at, to_utc, corrected_caption(caption, name) or caption
            case Caption(final=True) as caption if self._is_wanted(caption):
                if not self._is_read_again:
                    self._to_utc = time.time() - record.at
                with self._change:
                    self._seen.add(caption.segment_id)
                    at = 0.0 if self._is_read_again else record.at
                    self._waiting.append((at, self._to_utc, caption))
                    self._change.notify_all()

    def close(self) -> None:
        """Send what is left, for `LAST_SECONDS` at most."""
        with self._change:
            if self._ends_at is not None:
                return
            self._ends_at = time.monotonic() + LAST_SECONDS
            self._change.notify_all()
        if self._thread.ident:
            self._thread.join(LAST_SECONDS + 1)
        self._opened.close()
        if self._notes:
            self._notes.close()

    def _is_wanted(self, caption: Caption) -> bool:
        shows = self._settings.shows(caption.track, caption.language, self._link.language)
        return shows and caption.segment_id not in self._seen and bool(caption.text.strip())

    def _open_notes(self, path: Path) -> None:
        self._notes = private_file(path, "ab+")
        self._notes.seek(0)
        whole = (self._notes.readall() or b"").rpartition(b"\n")[0]
        self._notes.truncate(len(whole) + bool(whole))
        left: dict[int, _Text] = {}
        newest = 0
        for values in map(load, whole.splitlines()):
            if values["to"] != self._opened.fingerprint:
                continue
            if "sent" in values:
                left.pop(int(values["sent"]), None)
                continue
            segment = int(values["segment"])
            for one in values["texts"]:
                newest = int(one["number"])
                left[newest] = _Text(newest, segment, float(one["at"]), [str(line) for line in one["lines"]])
            self._seen.add(segment)
        overtaken = self._opened.last > newest  # By another run or a test: platforms drop numbers that come late.
        self._opened.take(newest)
        for text in left.values():
            if overtaken:
                self._note({"sent": text.number})
                text = replace(text, number=self._opened.last + 1)
                self._note({"segment": text.segment, "texts": [text.values]})
                self._opened.take(text.number)
            self._left.append(text)

    def _note(self, values: dict[str, object]) -> None:
        with suppress(OSError, ValueError):
            if self._notes:
                write_all(self._notes, f"{dump({'to': self._opened.fingerprint, **values})}\n".encode())

    def _run(self) -> None:
        if self._link.platform.has_times:
            with suppress(NotTaken):  # Where it takes no empty text, the first answers tell its clock.
                self._check_clock(self._link.post(self._opened.last, 0.0, []))
        has_sent = self._try(self._catch_up)
        while has_sent and (caption := self._next()):
            self._take_apart(*caption)
            has_sent = self._try(self._send_left)

    def _next(self) -> tuple[float, float, Caption] | None:
        """Wait for a caption that the session has, so that `resume` knows whatever was sent; None at the end."""
        with self._change:
            self._change.wait_for(lambda: self._waiting or self._ends_at)
            if not self._waiting:
                return None
            found = self._waiting[0]
        limit = time.monotonic() + _RECORD_SECONDS
        while self._session and self._session.written_until < found[0] and not self._session.has_failed:
            if time.monotonic() > limit:
                break
            time.sleep(0.01)
        return found

    def _take_apart(self, at: float, to_utc: float, caption: Caption) -> None:
        labelled = replace(caption, text=track_label(caption.track) + caption.text)
        if caption.captured_at is not None:
            begin = caption.captured_at + to_utc - caption.end
        else:
            began, start = self._began or (at + to_utc - caption.end, 0.0)
            begin = began - start
        number = self._opened.last
        texts = [
            _Text(number, caption.segment_id, begin + cue.start / 1000, list(cue.lines))
            for number, cue in enumerate(cues([Spoken(labelled)]), number + 1)
        ]
        self._note({"segment": caption.segment_id, "texts": [text.values for text in texts]})  # All at once, or none.
        self._opened.take(number + len(texts))
        self._left.extend(texts)
        with self._change:
            self._waiting.popleft()

    def _catch_up(self) -> None:
        """Go on from the last number that the platform has, where it tells that."""
        if (number := self._link.last_number()) is not None:
            while self._left and self._left[0].number <= number:
                self._mark()
            if not self._left:
                self._opened.take(number)
        self._send_left()

    def _send_left(self) -> None:
        while self._left:
            text = self._left[0]
            at = text.at + self._settings.output.captions_delay + self._clock_error
            self._last_at = max(at, self._last_at + 0.001)
            try:
                self._check_clock(self._link.post(text.number, self._last_at, text.lines))
            except NotTaken:
                # It refuses a number that it has; the answer to the first try was lost.
                if (self._link.last_number() or 0) < text.number:
                    raise
            self._mark()
            self.sent, self._sent_at = self.sent + 1, time.monotonic()

    def _mark(self) -> None:
        self._note({"sent": self._left.popleft().number})

    def _check_clock(self, error: float | None) -> None:
        if error is None:
            return
        before, self._clock_error = self._clock_error, error if abs(error) > _WRONG_CLOCK else 0.0
        if not before and self._clock_error:
            way = "behind" if error > 0 else "ahead of"
            text = f"This machine's clock is {abs(error):.0f} s {way} that of {self._link.platform.name}, which is used"
            self.notify(Notice("warning", f"{text} for its captions.", "clock"))

    def _try(self, act: Callable[[], None]) -> bool:
        """Act until it succeeds; return False if the run ended before that."""
        pause = 0.5
        while True:
            try:
                act()
            except NotTaken as fault:
                if not self._fault:
                    text = f"{self.name} takes no captions ({fault}); they are sent as soon as it does."
                    self.notify(Notice("warning", text, self.name))
                self._fault = str(fault)
            else:
                if self._fault:
                    self.notify(Notice("info", f"{self.name} takes captions again.", self.name))
                self._fault = ""
                return True
            with self._change:
                pause = min(2 * pause, LONGEST_PAUSE)
                rest = min(pause, self._ends_at - time.monotonic()) if self._ends_at else pause
                if rest <= 0:
                    return False
                self._change.wait(rest)  # A new caption wakes it too: then is as good a time to try.
