"""The numbers: one table with the format and meaning of each, which the help reads too, and what shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log10

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Click
from textual.widgets import Static

from livetrans.metrics.monitor import Snapshot
from livetrans.text import duration, visible

DASH = "–"
"""Shown for a number without a measurement; zero is a measurement."""

CUSTOM = "custom"
"""Shown where the settings are those of no calm setting."""

BEHIND_SECONDS = 3.0
"""Delay from which captions are called behind: a pause, a pass and a translation take up to two on a machine that keeps
up."""

FLOOR_DECIBELS = -60.0
"""Level at which the meter is empty: a quiet room through a usual microphone."""


@dataclass(frozen=True, slots=True)
class Number:
    """A line of the panel."""

    label: str
    write: Callable[[Snapshot], str]
    meaning: str
    """One sentence for the help screen."""
    label_now: Callable[[Snapshot], str | None] = lambda snapshot: None
    """What takes the label's place on the panel for a while."""


@dataclass(frozen=True, slots=True)
class Group:
    """Numbers that belong together."""

    title: str
    numbers: tuple[Number, ...]


def ratio(value: float | None) -> str:
    return DASH if value is None else f"{value:.2f}"


def percent(value: float | None) -> str:
    return DASH if value is None else f"{100 * value:.0f} %"


def seconds(value: float | None) -> str:
    return DASH if value is None else f"{value:.2f} s" if value < 10 else f"{value:.0f} s"


def rate(value: float | None) -> str:
    return DASH if value is None else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def memory(value: int | None) -> str:
    if value is None:
        return DASH
    return f"{value / 1e6:.0f} MB" if value < 1e9 else f"{value / 1e9:.2f} GB"


def heard(snapshot: Snapshot) -> str:
    return (
        duration(snapshot.heard)
        if snapshot.total is None
        else f"{duration(snapshot.heard)} / {duration(snapshot.total)}"
    )


def mask(snapshot: Snapshot) -> str:
    mask = snapshot.settings.mask
    return "none" if mask.mode == "none" else f"{mask.k} {mask.mode}"


def left_out(snapshot: Snapshot) -> str | None:
    """The level of back-pressure; None in the normal one."""
    return None if snapshot.pressure == "normal" else snapshot.pressure


def keeping_up(snapshot: Snapshot) -> str:
    if left_out(snapshot):
        return f"{snapshot.behind_seconds:.0f} s"
    if snapshot.delay is None:
        return DASH
    return "yes" if snapshot.delay < BEHIND_SECONDS else f"{snapshot.delay:.0f} s behind"


def speedup(snapshot: Snapshot) -> str:
    return DASH if snapshot.speedup is None else f"{snapshot.speedup:.1f}×"


def flicker(snapshot: Snapshot, between: str = " vs ") -> str:
    """Return NE of the screen, and re-translation's in the sentences that were compared."""
    return f"{ratio(snapshot.ne_screen)}{between}{ratio(snapshot.ne_retranslation)}"


def meter_share(level: float) -> float:
    """How full the meter is, 0..1, for a root mean square level of 0..1; in decibels, as loudness is perceived."""
    if level <= 0:
        return 0.0
    return min(1.0, max(0.0, 1.0 - 20 * log10(level) / FLOOR_DECIBELS))


def meter(level: float, cells: int) -> tuple[str, str]:
    """The full and the empty part of a meter of `cells` cells."""
    full = round(meter_share(level) * cells)
    return "━" * full, "╌" * (cells - full)


HEARD = Number("heard", heard, "Minutes of sound that were processed, and of how many where that is known.")
CALM = Number(
    "calm",
    lambda s: s.settings.calm or CUSTOM,
    f"The settings chosen together: still, balanced or faithful; {CUSTOM} after a single one was set.",
)
CHANGES = Number(
    "changes/min",
    lambda s: rate(s.changes_per_minute),
    "Captions that took words back, a minute of sound. 0 is calmest; `--calm still` stays near it.",
)
SPEEDUP = Number(
    "speedup",
    lambda s: f"{speedup(s)} ({s.compared_updates})" if s.speedup else DASH,
    "How many times faster an update is than by re-translation, which translates everything afresh. It is measured: "
    "while the run is idle and keeps up, finished sentences are translated again (`--no-speedup` turns that off). In "
    "brackets how many updates were compared; a dash until there are five.",
)
FLICKER = Number(
    "flicker",
    flicker,
    "Words taken back from the screen, per word shown (NE); then what re-translation would have taken back, in the "
    "sentences that were translated again for the speedup. 0 is calmest.",
)

LISTENER = Group(
    "Captions",
    (
        HEARD,
        Number(
            "lag growing",
            lambda s: seconds(s.lag_growing),
            "Median seconds from the end of a spoken word until its translation is shown, where that is in a caption "
            "that still grows. A dash where a recorded stream has no such times.",
        ),
        Number(
            "lag finals",
            lambda s: seconds(s.lag_finals),
            "The same where that is in the finished caption, which waits for a pause (0.8 s, `--pause`).",
        ),
        Number(
            "keeping up",
            keeping_up,
            f"Yes while the newest caption came less than {BEHIND_SECONDS:.0f} seconds after its last word; otherwise "
            "how late it was, or what is left out until the run has caught up, and the age of what waits.",
            left_out,
        ),
        SPEEDUP,
        FLICKER,
        CHANGES,
        CALM,
    ),
)
"""What someone who reads captions wants to know."""

RESEARCH = (
    Group(
        "Run",
        (
            CALM,
            Number("method", lambda s: s.settings.decoding.method, "The decoder that translates each update."),
            Number(
                "bias",
                lambda s: ratio(s.settings.decoding.bias),
                "Preference for the draft, the previous translation. With ssbd, 0 gives what a translation from "
                "scratch gives; with window, only the end of the draft can change at any bias.",
            ),
            Number("mask-k", mask, "How many last tokens of an unfinished caption are hidden."),
        ),
    ),
    Group(
        "Calm",
        (
            Number(
                "NE",
                lambda s: f"{ratio(s.ne_raw)} → {ratio(s.ne_shown)}",
                "Normalized erasure in a segment: tokens taken back per token of the finals. First the model's output, "
                "then what the mask lets through. "
                "The tokens are the model's own; `bench` counts 13a tokens, so that its NE differs.",
            ),
            Number(
                "NE screen",
                lambda s: flicker(s, ", "),
                "The same for the screen: words taken back, per word shown, all captions as one text. Lower is calmer. "
                "Then re-translation's, in the sentences that were translated again for the speedup.",
            ),
            CHANGES,
            Number(
                "rows moved/min",
                lambda s: rate(s.moved_rows_per_minute),
                "Rows of the screen that stood elsewhere before, while a sentence grew, a minute of sound.",
            ),
            Number("hidden", lambda s: rate(s.hidden_tokens), "Tokens that the mask hid, mean an update."),
            Number(
                "stable after",
                lambda s: seconds(s.stability_median),
                "Median seconds from the end of a spoken word to the last change of its translation.",
            ),
        ),
    ),
    Group(
        "Decoding",
        (
            Number(
                "A/D, A/O",
                lambda s: f"{percent(s.accepted_per_draft)}, {percent(s.accepted_per_output)}",
                "Accepted tokens per draft token, and per output token.",
            ),
            Number(
                "draft α",
                lambda s: percent(s.accepted_per_proposal),
                "Tokens of the draft model (`--draft-model`) that the translator accepted, per token that it judged; "
                "while they are new they are in italics.",
            ),
            Number(
                "tokens/s",
                lambda s: rate(s.tokens_per_second),
                "Output tokens per second of translation. The recogniser takes time from it: compare within one run. "
                "`replay FILE --compare window,ssbd` compares methods on all updates.",
            ),
            SPEEDUP,
        ),
    ),
    Group(
        "Lag",
        (
            Number(
                "seen",
                lambda s: f"{seconds(s.seen_lag_median)}, {seconds(s.seen_lag_p95)}",
                "Median seconds from the end of a spoken word until its translation is shown, not hidden by the mask; "
                "then the 95th percentile: 95 % took less.",
            ),
        ),
    ),
    Group(
        "Machine",
        (
            Number(
                "ASR, RTF",
                lambda s: f"{seconds(s.pass_seconds_last)}, {ratio(s.real_time_factor)}",
                "Seconds that the recogniser's last pass took; then the real-time factor, its time per second of "
                "sound: above 1 the recogniser falls behind.",
            ),
            Number(
                "coalesced",
                lambda s: str(s.coalesced_updates),
                "Updates that were replaced by a newer one before they were translated.",
            ),
            Number(
                "skipped",
                lambda s: seconds(s.skipped_seconds),
                "Seconds of sound that were lost because the machine was too slow.",
            ),
            Number("memory", lambda s: memory(s.memory_bytes), "Memory that livetrans uses."),
        ),
    ),
)

GROUPS = (LISTENER, *RESEARCH)
"""All numbers, in the order of the help; one that is in two groups is explained in the first."""


LABEL, HEADING, FULL, EMPTY = "$quiet", "bold $loud", "$good", "$quiet"
"""Styles of the panel's parts; `$quiet` and `$loud` are the app's own, readable in every theme."""

ROOMY_HEIGHT = 38
"""Height from which the panel has room for headings."""
SPACED_HEIGHT = 29
"""Height from which it has room for empty lines between the groups."""
KEY_WIDTH = 7
"""Cells of a key in the panel's list of keys."""

Keys = Sequence[tuple[str, str]]
"""Keys that the panel lists, each with its word."""


class Figures(Static):
    """The panel's text: labels to the left, numbers to the right. A click on a number opens its explanation."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._shown: tuple[Snapshot, str, Keys, int, int] | None = None

    def show(self, snapshot: Snapshot, panel: str, keys: Keys) -> None:
        """Draw the numbers again if they, or the room for them, have changed."""
        now = (snapshot, panel, keys, self.content_size.width, self.screen.size.height)
        if now == self._shown or self.content_size.width == 0:
            return
        self._shown = now
        self.update(draw(*now))

    async def on_click(self, event: Click) -> None:
        line = self.render_line(event.y).text
        labels = [number.label for group in GROUPS for number in group.numbers if line.startswith(f"{number.label} ")]
        if labels:
            await self.run_action(f"app.help({labels[0]!r})")


def draw(snapshot: Snapshot, panel: str, keys: Keys, width: int, height: int) -> Content:
    """Return the panel `people` or `research` in lines of `width` cells, with empty ones where `height` has room."""
    lines = [meter_row(snapshot, width)]
    if panel == "people":
        lines += [Content(""), *(row(number, snapshot, width) for number in LISTENER.numbers), Content("")]
        lines += [Content.assemble(f"{key:<{KEY_WIDTH}}", (word.ljust(width - KEY_WIDTH), LABEL)) for key, word in keys]
        return Content("\n").join(lines)
    for index, group in enumerate(RESEARCH):
        if height >= ROOMY_HEIGHT:
            lines += [Content(""), Content.styled(group.title, HEADING)]
        elif index and height >= SPACED_HEIGHT:
            lines.append(Content(""))
        lines += [row(number, snapshot, width) for number in group.numbers]
    return Content("\n").join(lines)


def meter_row(snapshot: Snapshot, width: int) -> Content:
    word, level = hearing(snapshot) + " ", 0.0 if snapshot.paused else snapshot.level
    full, empty = meter(level, max(0, width - len(word)))
    return Content.assemble((word, "" if snapshot.speaking else LABEL), (full, FULL), (empty, EMPTY))


def hearing(snapshot: Snapshot) -> str:
    """Whether speech is heard, in eight cells."""
    return "‖ paused" if snapshot.paused else "● speech" if snapshot.speaking else "○ silent"


def row(number: Number, snapshot: Snapshot, width: int) -> Content:
    label, value = number.label_now(snapshot) or number.label, visible(number.write(snapshot))
    gap = " " * max(1, width - cell_len(label) - cell_len(value))
    return Content.assemble((label + gap, LABEL), value)


class Panel(VerticalScroll, can_focus=False):
    """The side panel."""

    def compose(self) -> ComposeResult:
        yield Figures()

    def show(self, snapshot: Snapshot, panel: str, keys: Keys) -> None:
        if self.display:
            self.query_one(Figures).show(snapshot, panel, keys)


class Strip(Static):
    """The most important numbers, in two lines."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id, markup=False)
        self._shown = ""

    def show(self, snapshot: Snapshot, panel: str) -> None:
        text = strip_text(snapshot, panel)
        if text != self._shown:
            self._shown = text
            self.update(Content(text))


def strip_text(snapshot: Snapshot, panel: str) -> str:
    """Two lines for a narrow terminal."""
    first = [hearing(snapshot), heard(snapshot), f"calm {snapshot.settings.calm or CUSTOM}"]
    flickers = f"flicker {flicker(snapshot, '/')}"
    if panel == "people":
        first.append(f"speedup {speedup(snapshot)}")
        second = [
            f"lag {seconds(snapshot.lag_growing)}",
            flickers,
            f"{left_out(snapshot) or 'keeping up'} {keeping_up(snapshot)}",
        ]
    else:
        first += [f"lag {seconds(snapshot.seen_lag_median)}", f"k {snapshot.settings.mask.k}"]
        second = [
            f"NE {ratio(snapshot.ne_shown)}",
            flickers,
            f"A/D {percent(snapshot.accepted_per_draft)}",
            speedup(snapshot),
        ]
    return "  ".join(first) + "\n" + "  ".join(second)
