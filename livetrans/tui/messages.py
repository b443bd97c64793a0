"""Messages: one row under the captions, which never grows, and a page with all of them in full."""

from __future__ import annotations

from collections import deque
from itertools import chain

from textual.app import ComposeResult
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from livetrans.events import Notice
from livetrans.text import display_width, fitted, visible
from livetrans.tui.wrapped import Sheet, WrappedText, in_lines

ANSWER_SECONDS = 6.0
"""How long the answer to a key is shown, in seconds. A warning is shown until it is read or no longer true."""
MESSAGES_KEPT = 100
ROOM_FOR_WORDS = 30
"""Columns from which the row has room to say what the key is for."""


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
        if notice.level == "info":
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
        return self._messages.row(self.content_size.width)

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
