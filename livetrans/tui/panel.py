"""The panel: one table with format and meaning of each metric, which panel and strip draw and the help explains.

The panel for people says one idea once, a row each; all other figures are on that for research, one key further.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log10

from textual.content import Content
from textual.events import Click
from textual.widgets import Static

from livetrans.base.text import display_width, duration, fitted, visible
from livetrans.config import RECORDED_METHOD
from livetrans.metrics.monitor import Snapshot
from livetrans.tui.wrapped import drawn

DASH = "–"
"""Shown for a number without a measurement; zero is a measurement."""

CUSTOM = "custom"
"""Shown where the settings are those of no calm setting."""

BEHIND_SECONDS = 3.0
"""Delay in seconds from which captions count as behind. On a machine that keeps up, a pause, a pass and a translation
take up to two."""

LABEL, HEADING, FULL, EMPTY = "$quiet", "bold $loud", "$good", "$quiet"
"""Styles of the panel's parts; `$quiet` and `$loud` are the app's own."""
ROOMY_HEIGHT = 38
"""Height from which the panel has room for headings."""
SPACED_HEIGHT = 29
"""Height from which it has room for empty lines between the sections."""
MORE = "p: all figures"

FLOOR_DECIBELS = -60.0
"""Level at which the meter is empty: a quiet room through a usual microphone."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A row of the panel."""

    label: str
    write: Callable[[Snapshot], str]
    meaning: str
    """One sentence for the help screen."""
    label_now: Callable[[Snapshot], str | None] = lambda snapshot: None
    """Replaces the label on the panel for a while."""
    keys: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Metrics that belong together, under a heading."""

    title: str
    metrics: tuple[Metric, ...]


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
    if snapshot.total is None:
        return duration(snapshot.heard)
    # From an hour on there is no room for spaces.
    return f"{duration(snapshot.heard)}{'/' if snapshot.total >= 3600 else ' / '}{duration(snapshot.total)}"


def ne_compared(snapshot: Snapshot) -> str:
    return f"{ratio(snapshot.ne_compared)}, rt {ratio(snapshot.ne_retranslation)}"


def calm(snapshot: Snapshot) -> str:
    without = DASH if snapshot.settings.decoding.method == "prefix" else CUSTOM  # That has no calm settings.
    return RECORDED_METHOD if snapshot.settings.as_recorded else snapshot.settings.calm or without


def mask(snapshot: Snapshot) -> str:
    mask = snapshot.settings.mask
    if snapshot.settings.as_recorded:
        return DASH
    return "none" if mask.mode == "none" else f"{mask.k} {mask.mode}"


def left_out(snapshot: Snapshot) -> str | None:
    """Return the level of back-pressure; None in the normal one."""
    return None if snapshot.pressure == "normal" else snapshot.pressure


def keeping_up(snapshot: Snapshot) -> str:
    if left_out(snapshot):
        return f"{snapshot.behind_seconds:.0f} s"
    if snapshot.delay is None:
        return DASH
    return "yes" if snapshot.delay < BEHIND_SECONDS else f"{snapshot.delay:.0f} s behind"


def meter_share(level: float) -> float:
    """How full the meter is, 0..1, for a root mean square level of 0..1; in decibels, as loudness is perceived."""
    if level <= 0:
        return 0.0
    return min(1.0, max(0.0, 1.0 - 20 * log10(level) / FLOOR_DECIBELS))


def meter(level: float, cells: int) -> tuple[str, str]:
    full = round(meter_share(level) * cells)
    return "━" * full, "╌" * (cells - full)


# fmt: off
CALM = Metric(
    "calm", calm, f"The settings chosen together: still, balanced or faithful; {CUSTOM} after a single one was set.")
CHANGES = Metric(
    "changes/min", lambda s: rate(s.changes_per_minute),
    "Captions that retracted words, a minute of sound. 0 is calmest; `--calm still` stays near it.")
SPEEDUP = Metric(
    "speedup", lambda s: s.speedup_text or DASH,
    "How many times faster an update is than by re-translation, which translates everything afresh. It is measured: "
    "while the run is idle and keeps up, finished sentences are translated again (`--no-speedup` turns that off). In "
    "brackets how many updates were compared. Until there are five it is estimated from the cost of the run's own "
    "steps, marked ≈.")
NE = Metric(
    "NE", lambda s: ratio(s.ne_screen) if s.ne_retranslation is None else ne_compared(s),
    "Normalized erasure of the screen, the measure of flicker: words retracted from the screen, per word shown, all "
    "captions as one text. 0 is calmest. After `rt` that of re-translation under the same mask; both figures are then "
    "of the sentences that were compared for the speedup.")
LAG = Metric(
    "lag", lambda s: seconds(s.lag_median),
    "Median seconds from the end of a spoken word until its translation stands for good: half of a sentence is seen "
    "once half of its finished caption stands. Known when a sentence is finished; a dash if a recorded stream has no "
    "such times.")
KEEPING_UP = Metric(
    "keeping up", keeping_up,
    f"Yes while the newest caption came less than {BEHIND_SECONDS:.0f} seconds after its last word; otherwise "
    "how late it was, or what is left out until the run has caught up, and the age of what waits.", left_out)
MASK = Metric("mask-k", mask, "How many last tokens of an unfinished caption are hidden.", keys="m/M")
ACCEPTED = Metric(
    "A/D, A/O", lambda s: f"{percent(s.accepted_per_draft)}, {percent(s.accepted_per_output)}",
    "Accepted tokens per draft token, and per output token.")

PEOPLE = Section("Captions", (LAG, KEEPING_UP, NE, SPEEDUP, CALM))
"""What someone who reads captions wants to know."""
RESEARCH = (
    Section("Run", (
        CALM,
        Metric("method", lambda s: s.settings.decoding.method, "The decoder that translates each update."),
        Metric("bias", lambda s: ratio(None if s.settings.as_recorded else s.settings.decoding.bias),
               "Preference for the draft, the previous translation. With ssbd, 0 gives what a translation from scratch "
               "gives; with window, only the end of the draft can change at any bias.", keys="b/B"),
        MASK,
    )),
    Section("Calm", (
        NE,
        Metric("NE tokens", lambda s: f"{ratio(s.ne_raw)} → {ratio(s.ne_shown)}",
               "Normalized erasure in a segment: tokens retracted per token of the finals. First the model's output, "
               "then what the mask lets through. The tokens are the model's own; `bench` counts 13a tokens, so that "
               "its NE differs."),
        CHANGES,
        Metric("terms kept", lambda s: " of ".join(map(str, s.terms_kept)) if s.terms_kept[1] else DASH,
               "Terms of the glossary that finals have as it wants them, of those in their sources."),
        Metric("corrected", lambda s: str(s.corrections),
               "Captions in which you corrected a name with e. NE leaves them out."),
        Metric("hidden", lambda s: rate(s.hidden_tokens), "Tokens that the mask hid, mean an update."),
    )),
    Section("Decoding", (
        ACCEPTED,
        Metric("draft α", lambda s: percent(s.accepted_per_proposal),
               "Tokens of the draft model (`--draft-model`) that the translator accepted, per token that it judged."),
        Metric("tokens/s", lambda s: rate(s.tokens_per_second),
               "Output tokens per second of translation. The recogniser takes time from it: compare within one run. "
               "`replay FILE --compare window,ssbd` compares methods on all updates."),
        SPEEDUP,
    )),
    Section("Lag", (
        Metric("lag, 95 %", lambda s: f"{seconds(s.lag_median).removesuffix(' s')}, {seconds(s.lag_p95)}",
               "The lag of all words: 95 % took less than the second figure."),
        Metric("growing", lambda s: seconds(s.lag_growing),
               "The median of the words whose translation stood in a caption that still grew, and was not retracted."),
        Metric("finals", lambda s: seconds(s.lag_finals),
               "The same for words first seen in the finished caption, which waits for a pause (0.8 s, `--pause`)."),
    )),
    Section("Machine", (
        Metric("ASR, RTF", lambda s: f"{seconds(s.pass_seconds_last)}, {ratio(s.real_time_factor)}",
               "Seconds that the recogniser's last pass took; then the real-time factor, its time per second of "
               "sound: above 1 the recogniser falls behind."),
        Metric("coalesced", lambda s: str(s.coalesced_updates),
               "Updates that were replaced by a newer one before they were translated."),
        Metric("skipped", lambda s: seconds(s.skipped_seconds),
               "Seconds of sound that were lost because the machine was too slow."),
        Metric("memory", lambda s: memory(s.memory_bytes), "Memory that livetrans uses."),
    )),
)
# fmt: on

SECTIONS = (PEOPLE, *RESEARCH)
"""All metrics, in the order of the help. One that is in two sections is explained in the first."""

STRIPS = {"people": PEOPLE.metrics, "research": (ACCEPTED, NE, MASK, SPEEDUP)}
"""The metrics of each panel that a narrow terminal shows, as far as they have room."""


class Figures(Static):
    """The panel's text: labels at the left, values at the right. A click on a row opens its explanation."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._shown: tuple[Snapshot, str, int, int] | None = None
        self._rows = 0

    def show(self, snapshot: Snapshot, panel: str) -> None:
        """Draw the metrics again if they, or the room for them, have changed."""
        now = (snapshot, panel, self.content_size.width, self.screen.size.height)
        if now == self._shown or self.content_size.width == 0:
            return
        self._shown = now
        text = drawn(self, lambda: draw(*now), Content(""))
        rows = text.plain.count("\n")
        # A layout places all captions of the history too, however little has changed here.
        self.update(text, layout=rows != self._rows)
        self._rows = rows

    async def on_click(self, event: Click) -> None:
        line = self.render_line(event.y).text
        labels = [one.label for section in SECTIONS for one in section.metrics if line.startswith(f"{one.label} ")]
        if labels:
            await self.run_action(f"app.help({labels[0]!r})")


def draw(snapshot: Snapshot, panel: str, width: int, height: int) -> Content:
    """Return the panel `people` or `research` in lines of `width` cells, with empty ones if `height` has room."""
    lines = [meter_row(snapshot, width)]
    if snapshot.settings.meeting:
        lines.append(Content.styled(f"figures of {visible(snapshot.settings.meeting.names[1])}"[:width], LABEL))
    if panel == "people":
        lines += [Content(""), *(row(metric, snapshot, width) for metric in PEOPLE.metrics)]
        lines += [Content(""), Content.styled(MORE.ljust(width), LABEL)]
        return Content("\n").join(lines)
    for index, section in enumerate(RESEARCH):
        if height >= ROOMY_HEIGHT:
            lines += [Content(""), Content.styled(section.title, HEADING)]
        elif index and height >= SPACED_HEIGHT:
            lines.append(Content(""))
        lines += [row(metric, snapshot, width) for metric in section.metrics]
    return Content("\n").join(lines)


def meter_row(snapshot: Snapshot, width: int) -> Content:
    word, level = hearing(snapshot) + " ", 0.0 if snapshot.paused else snapshot.level
    full, empty = meter(level, max(0, width - len(word)))
    return Content.assemble((word, "" if snapshot.speaking else LABEL), (full, FULL), (empty, EMPTY))


def hearing(snapshot: Snapshot) -> str:
    """Return whether speech is heard, in eight cells."""
    return "‖ paused" if snapshot.paused else "● speech" if snapshot.speaking else "○ silent"


def row(metric: Metric, snapshot: Snapshot, width: int) -> Content:
    """Return one row, never more: a longer value would move the rows below it."""
    label = metric.label_now(snapshot) or f"{metric.label} {metric.keys}".rstrip()
    value = fitted(visible(metric.write(snapshot)), width - display_width(label) - 1)
    gap = " " * max(1, width - display_width(label + value))
    return Content.assemble((label + gap, LABEL), value)


class Strip(Static):
    """The most important metrics in one row, for a terminal without room for the panel."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id, markup=False)

    def show(self, snapshot: Snapshot, panel: str) -> None:
        text = drawn(self, lambda: strip_text(snapshot, panel, self.content_size.width), "")
        if text != self.content:
            self.update(Content(text), layout=False)


def strip_text(snapshot: Snapshot, panel: str, width: int) -> str:
    """Return the row: as many whole metrics as fit; nothing while the panel is off."""
    text = ""
    for metric in STRIPS.get(panel, ()):
        label = "" if metric is CALM else f"{metric.label_now(snapshot) or metric.label} "
        more = f"{text}{'  ' if text else ''}{label}{metric.write(snapshot)}"
        if display_width(more) > width:
            break
        text = more
    return text
