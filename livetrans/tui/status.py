"""What the screen says around the captions: top bar, bar while models load, and the row and the page of messages."""

from __future__ import annotations

from collections import deque
from enum import Enum
from itertools import chain

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import ProgressBar, Static

from livetrans.base.text import display_width, duration, fitted, visible
from livetrans.events import Notice
from livetrans.metrics.monitor import Snapshot
from livetrans.models.chosen import LIMIT
from livetrans.tui.panel import heard, left_out
from livetrans.tui.wrapped import Sheet, WrappedText, drawn, in_lines

ANSWER_SECONDS = 6.0
"""How long the answer to a key is shown, in seconds. A warning is shown until it is read or no longer true."""
MESSAGES_KEPT = 100
ROOM_FOR_WORDS = 30
"""Columns from which the row has room to say what the key is for."""
ROOM_FOR_LENGTH = 76
"""Columns from which the top bar has room for the length of a file."""


class Phase(Enum):
    """Where a run is."""

    LOADING = "loading"
    RUNNING = "listening"
    FINISHING = "finishing"
    ENDED = "ended"

    def sentence(self, paused: bool, known_length: bool, hears: bool = False) -> str:
        """Return what the row of messages says of the run; empty while all is usual.

        `hears`: it hears already while models load.
        """
        match self:
            case Phase.ENDED:
                return f"{'end of file' if known_length else 'the source has ended'} · w saves · q quits"
            case Phase.FINISHING:
                return "finishing the last captions … · q again quits at once"
            case Phase.RUNNING | Phase.LOADING if paused:
                return "paused · space resumes"
            case Phase.LOADING if hears:
                return "recording already: what is said now is translated once the models are loaded"
            case _:
                return ""


class TopBar(Widget):
    """The run's languages and name at the left; at the right its `limit`, if it has one, and its state."""

    def __init__(self, title: str, limit: str) -> None:
        super().__init__(id="top")
        self._title, self._limit = title, limit
        self._state = ("", "")

    def rename(self, title: str) -> None:
        self._title = title
        self.refresh()

    def show(self, phase: Phase, paused: bool, snapshot: Snapshot) -> None:
        state = "paused" if paused and phase is Phase.RUNNING else phase.value
        sign = {"paused": "‖ ", "listening": "● "}.get(state, "")
        time = (
            ""
            if phase is Phase.LOADING
            else heard(snapshot)
            if self.size.width >= ROOM_FOR_LENGTH
            else duration(snapshot.heard)
        )
        text = f"{sign}{state}  {time}".rstrip()
        if left_out(snapshot) and phase in (Phase.RUNNING, Phase.FINISHING):
            text = f"{snapshot.behind_seconds:.0f} s behind, {snapshot.pressure}  {text}"
        if (text, sign + time) != self._state:
            self._state = text, sign + time
            self.refresh()

    def render(self) -> Content:
        width = self.content_size.width
        return drawn(self, lambda: top_row(self._title, self._limit, *self._state, width), Content(""))


def top_row(title: str, limit: str, state: str, short_state: str, width: int) -> Content:
    """Return the top bar in `width` cells.

    The state is never cut. In a small terminal the title gives way first, down to the languages with which it begins,
    then the limit.
    """
    title, limit = visible(title), f"! {limit}" if limit else ""
    languages = title.split(" · ")[0]
    if display_width(languages + state) + 2 > width:
        state = short_state or state
    room = max(width - display_width(state) - 2, 0)
    least = min(display_width(languages), room)
    if display_width(limit) > (limit_room := max(room - least - 2, 0)):
        limit = f"{limit[: limit_room - 1]}…" if limit_room else ""
    title_room = room - display_width(limit) - 2 * bool(limit)
    shown = fitted(title, title_room)
    title = shown if len(shown) > len(languages) + 3 else fitted(languages, title_room)
    gap = " " * (width - display_width(title + limit + state) - 2 * bool(limit))
    return Content.assemble((title, "bold"), gap, (limit, "$caution"), "  " * bool(limit), state)


class Loading(Vertical):
    """While models load: a bar, and what is being loaded."""

    def __init__(self) -> None:
        super().__init__(id="loading")
        self._text = Static("starting ...", markup=False)
        self.visible = False  # Until its rows are known.

    def compose(self) -> ComposeResult:
        yield self._text
        yield ProgressBar(total=None, show_percentage=False, show_eta=False)

    def show(self, text: str) -> None:
        self._text.update(visible(text))

    def set_rows(self, rows: int) -> None:
        self.styles.height, self.visible = rows, True


class Messages:
    """What the run and the keys have said, without a widget.

    The row shows the newest standing warning at the left. At the right, or alone, it shows the answer to a key for some
    seconds, otherwise the state of the run.
    """

    def __init__(self) -> None:
        self.said: deque[Notice] = deque(maxlen=MESSAGES_KEPT)
        """All messages, the newest last."""
        self.warnings: list[Notice] = []
        """Those that stand: true as far as is known, and not read yet."""
        self.answer = ""
        self.state = ""

    def add(self, notice: Notice) -> None:
        """Keep a message. It ends the standing warning about the same thing."""
        self.said.append(notice)
        self.warnings = [
            warning
            for warning in self.warnings
            if warning.text != notice.text and (notice.about is None or warning.about != notice.about)
        ]
        if notice.level == "info" or notice.about == LIMIT:  # The top bar says that throughout.
            self.answer = notice.text
        else:
            self.warnings.append(notice)

    def row(self, width: int) -> Content:
        """Return the row, at most `width` columns; where something is cut, it names the key that shows everything."""
        words = visible(self.answer or self.state)
        if not self.warnings:
            is_cut = self.answer and display_width(words) > width
            return Content.styled(cut(words, width, "n: more" if is_cut else ""), "" if self.answer else "bold")
        warning = f"! {visible(self.warnings[-1].text)}"
        more = f"n: {len(self.warnings)} warnings" if len(self.warnings) > 1 else "n: more"
        beside = width // 2 - 2
        if display_width(words) > beside:
            # The top bar says the state too.
            words = fitted(words, beside) if self.answer else ""
        room = width - display_width(words) - 2 if words else width
        shown = cut(warning, room, more)
        return Content.assemble((shown, "$caution"), " " * (width - display_width(shown + words)), words)


def cut(text: str, width: int, hint: str) -> str:
    """Return the text cut to the width, with the `hint` at a key after it; in a small terminal the key alone."""
    if not hint:
        return fitted(text, width)
    hint = f" · {hint}" if width >= ROOM_FOR_WORDS else f" {hint.partition(':')[0]}"
    return fitted(text, max(width - len(hint), 0)) + hint[:width]


class MessageRow(Widget):
    """The row under the captions."""

    def __init__(self, messages: Messages) -> None:
        super().__init__(id="messages")
        self._messages = messages
        self._timer: Timer | None = None

    def render(self) -> Content:
        return drawn(self, lambda: self._messages.row(self.content_size.width), Content(""))

    def show_state(self, text: str) -> None:
        """Show the state of the run, in place of an answer."""
        if text != self._messages.state:
            self._messages.state = text
            self.end_answer()

    def add(self, notice: Notice) -> None:
        self._messages.add(notice)
        self._begin_answer()

    def show_answer(self, text: str) -> None:
        """Show the answer to a key for some seconds."""
        self._messages.answer = text
        self._begin_answer()

    def acknowledge(self) -> None:
        """End all warnings: they were read."""
        self._messages.warnings.clear()
        self.end_answer()

    def end_answer(self) -> None:
        self._messages.answer = ""
        self.refresh()

    def _begin_answer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(ANSWER_SECONDS, self.end_answer)
        self.refresh()


class MessagesSheet(Sheet):
    """All messages in full, the newest first."""

    HEADING = "Messages"

    def __init__(self, messages: Messages) -> None:
        super().__init__()
        self._texts = [messages.answer] if messages.answer else []
        self._texts += [f"{'' if one.level == 'info' else '! '}{one.text}" for one in reversed(messages.said)]

    def body(self) -> ComposeResult:
        yield Texts(list(dict.fromkeys(self._texts)) or ["Nothing so far."])


class Texts(WrappedText):
    """Sentences with an empty line between them."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__()
        self._texts = texts

    def wrap(self, width: int) -> list[Content]:
        blocks = [in_lines(Content(visible(text)), width) for text in self._texts]
        return list(chain.from_iterable([*block, Content("")] for block in blocks))
