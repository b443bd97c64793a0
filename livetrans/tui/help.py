"""The help: how to read a caption, and one sentence for every key and metric."""

from __future__ import annotations

from collections.abc import Iterator

from textual.app import ComposeResult
from textual.content import Content

from livetrans.tui.keys import COMMANDS
from livetrans.tui.panel import SECTIONS
from livetrans.tui.wrapped import Sheet, WrappedText, in_lines

LABEL_WIDTH = 15

READING = Content.assemble(
    "In the last caption, plain words come from the previous translation, some of them hidden until now. This update "
    "wrote the ",
    ("underlined words", "underline"),
    " (coloured if the terminal has colours). In the source, ",
    ("words in italics", "italic"),
    " may still change, and underlined names were heard otherwise. A dash means that there is no measurement yet.",
)


class HelpScreen(Sheet):
    """The explanations of keys and metrics. It opens at the metric with the label `at`."""

    HEADING = "Help"

    def __init__(self, at: str = "") -> None:
        super().__init__()
        self._at = at

    def body(self) -> ComposeResult:
        yield Explanations()

    def on_mount(self) -> None:
        self.call_after_refresh(self._scroll)

    def _scroll(self) -> None:
        rows = draw(self.query_one(Explanations).content_size.width)[1]
        self.query_one("#sheet").scroll_to(y=rows.get(self._at, 0), animate=False)


class Explanations(WrappedText):
    """The text of the help."""

    def wrap(self, width: int) -> list[Content]:
        return draw(width)[0]


def draw(width: int) -> tuple[list[Content], dict[str, int]]:
    """Return the help in lines of `width` cells, and the row of each label.

    It is one text because a widget for each entry would take half a second to open.
    """
    lines = [*heading("Captions"), *in_lines(READING, width)]
    rows: dict[str, int] = {}
    for title, entries in sections():
        lines += heading(title)
        for label, sentence in entries:
            rows[label] = len(lines)
            # Text between backquotes is typed by the user.
            parts = [(part, "bold" if index % 2 else "") for index, part in enumerate(sentence.split("`"))]
            wrapped = in_lines(Content.assemble(*parts), max(width - LABEL_WIDTH, 1))
            for number, line in enumerate(wrapped):
                start = "" if number else label
                lines.append(Content.assemble((start.ljust(LABEL_WIDTH), "bold"), line))
    return lines, rows


def heading(title: str) -> list[Content]:
    return [Content(""), Content.styled(title, "bold $loud")]


def sections() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each heading with its entries, which are a label and a sentence."""
    yield (
        "Keys",
        [
            *((command.keys, f"{command.title}. {command.meaning}") for command in COMMANDS),
            ("page up/down", "Scroll the captions. End goes back to the newest and follows them again."),
            ("ctrl+z", "Suspends livetrans; `fg` in the shell resumes it."),
            ("ctrl+p", "Command palette. All of these, every metric by name, and themes."),
        ],
    )
    explained: set[str] = set()
    for section in SECTIONS:
        metrics = [metric for metric in section.metrics if metric.label not in explained]
        explained |= {metric.label for metric in metrics}
        yield f"Metrics: {section.title.lower()}", [(metric.label, metric.meaning) for metric in metrics]
