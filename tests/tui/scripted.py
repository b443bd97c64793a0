"""A scripted run for the screen: fixed numbers, fixed captions, controls that only record their calls."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from livetrans.config import LanguageModelSettings, Settings, after_key
from livetrans.events import Caption, Event, Notice, Record, RunEnded, RunStarted, Transcript
from livetrans.metrics.monitor import Snapshot
from livetrans.run.pipeline import Pipeline
from livetrans.session.sinks import Sink
from livetrans.tui.app import LivetransApp
from livetrans.tui.captions import FinishedCaption, History
from livetrans.tui.readers import Outlet, Served
from livetrans.tui.wrapped import WrappedText

FULL = Snapshot(
    segments=12,
    updates=87,
    ne_raw=0.86,
    ne_shown=0.31,
    accepted_per_draft=0.912,
    accepted_per_output=0.774,
    tokens_per_second=31.4,
    delay=1.1,
    lag_growing=0.98,
    lag_finals=1.9,
    ne_screen=0.12,
    speedup=2.43,
    compared_updates=23,
    ne_compared=0.14,
    ne_retranslation=1.14,
    changes_per_minute=1.5,
    hidden_tokens=2.7,
    lag_median=1.4,
    lag_p95=2.84,
    pass_seconds_last=0.41,
    real_time_factor=0.52,
    coalesced_updates=3,
    heard=83.0,
    total=240.0,
    speaking=True,
    level=0.08,
    memory_bytes=812_000_000,
)

SENTENCES = (
    ("Good morning and welcome to the city council.", "Guten Morgen und willkommen im Stadtrat."),
    (
        "We will begin with the question of the new bridge, which has been delayed for the third time this year.",
        "Wir beginnen mit der Frage der neuen Brücke, die sich in diesem Jahr zum dritten Mal verzögert hat.",
    ),
    (
        "The engineers say that the river was higher than expected.",
        "Die Ingenieure sagen, der Fluss sei höher gewesen als erwartet.",
    ),
    ("Is there anyone who would like to speak first?", "Möchte jemand als Erster sprechen?"),
    (
        "Thank you. I have lived beside that river for forty years, and I have never seen it as high as in March.",
        "Danke. Ich wohne seit vierzig Jahren an diesem Fluss und habe ihn noch nie so hoch gesehen wie im März.",
    ),
)


class ScriptedRun(Pipeline):
    """A run without threads: it plays a screenplay and records what its controls were set to."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.calls: list[tuple[str, object]] = []
        self.screenplay = Screenplay()

    def start(self, *sinks: Sink) -> None:
        self.screenplay(*sinks)

    def pause(self, paused: bool) -> None:
        self.calls.append(("pause", paused))

    def change(self, name: str, value: str | float) -> Settings:
        self.calls.append((name, value))
        self.settings = after_key(self.settings, name, value)
        return self.settings

    def stop(self) -> None:
        self.calls.append(("stop", None))


class Screenplay:
    """Holds the sink that the app hands out, and plays events to it."""

    def __init__(self, *opening: Event) -> None:
        self.opening = opening
        self.sink: Sink | None = None

    def __call__(self, sink: Sink) -> None:
        self.sink = sink
        self.play(*self.opening)

    def play(self, *events: Event) -> None:
        assert self.sink is not None
        for event in events:
            self.sink.write(Record(0.0, event))


def started() -> RunStarted:
    return RunStarted({})


def ended(reason: str = "end of source") -> RunEnded:
    return RunEnded(83.0, reason)


def caption(
    segment_id: int, text: str, *, final: bool = False, revision: int = 0, source: str = "", committed: str = ""
) -> Caption:
    partial = source[len(committed) :].strip()
    transcript = Transcript(segment_id, revision, committed, partial, final, 0.0, 1.0)
    return Caption(transcript, text)


def finals(*numbers: int) -> list[Caption]:
    return [caption(number, f"Satz {number}.", final=True, source=f"line {number}") for number in range(*numbers)]


def transcript(segment_id: int, committed: str, partial: str, *, final: bool = False, revision: int = 0) -> Transcript:
    return Transcript(segment_id, revision, committed, partial, final, 0.0, 1.0)


def conversation() -> list[Event]:
    """Five finished sentences and one that is being spoken."""
    events: list[Event] = [Notice("info", "loading the recogniser ..."), started()]
    for number, (source, text) in enumerate(SENTENCES):
        events.append(caption(number, text, final=True, source=source, committed=source))
    events += speaking(len(SENTENCES))
    return events


def speaking(number: int) -> list[Event]:
    committed, partial = "The water came up to the second step of my", "house before midnight"
    shown = "Das Wasser stand vor Mitternacht bis zur zweiten Stufe"
    return [
        caption(number, "Das Wasser stand", source=committed, committed=committed),
        transcript(number, committed, partial),
        caption(number, shown, source=f"{committed} {partial}", committed=committed, revision=1),
    ]


def drawn_rows(app: LivetransApp) -> dict[int, str]:
    """Return the rows of the captions in view, by their row on the screen."""
    rows: dict[int, str] = {}
    for block in app.query(WrappedText):
        in_view = app.query_one(History).region if isinstance(block, FinishedCaption) else block.region
        lines = block.lines(block.content_size.width) if block.display else []
        placed = enumerate((line.plain for line in lines), block.content_region.y)
        rows |= {row: line for row, line in placed if in_view.y <= row < in_view.bottom and line.strip()}
    return rows


def screen_text(app: LivetransApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


async def settle(pilot: Pilot[str], look: Callable[[LivetransApp], object] = screen_text) -> None:
    """Wait until the screen, or what `look` sees of it, stands still, however busy the machine is.

    Each pause lets all widgets handle their messages and lays the screen out; no clock is needed for that.
    """
    assert isinstance(pilot.app, LivetransApp)
    seen: object = ""
    same = 0
    while same < 3:
        await pilot.pause(0.001)
        now = look(pilot.app)
        same = same + 1 if now == seen else 0
        seen = now


def make_app(
    screenplay: Screenplay,
    run: ScriptedRun | None = None,
    *,
    snapshot: Snapshot = FULL,
    settings: Settings | None = None,
    save: Callable[[], Path] | None = None,
    ending_signals: Callable[[], int] = lambda: 0,
    limit: str = "",
    server: Served | None = None,
    outlets: Sequence[Outlet] = (),
) -> LivetransApp:
    run = run or ScriptedRun()
    run.screenplay = screenplay
    model = LanguageModelSettings(Path("tower-2b.gguf"))
    run.settings = replace(settings or run.settings, language_model=model)
    app = LivetransApp(
        run,
        lambda language: snapshot,
        title="council.wav",
        save=save,
        ending_signals=ending_signals,
        limit=limit,
        server=server,
        outlets=outlets,
    )
    # The progress bar and scrolling move with the clock; tests and pictures may not.
    app.animation_level = "none"
    return app


@dataclass
class Stage:
    """A screen in a terminal that is not there."""

    app: LivetransApp
    pilot: Pilot[str]
    run: ScriptedRun

    async def play(self, *events: Event) -> None:
        """Play events once the screen has asked for them, and let it draw."""
        while self.run.screenplay.sink is None:
            await self.pilot.pause(0.001)
        self.run.screenplay.play(*events)
        await settle(self.pilot)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await settle(self.pilot)

    async def resize(self, width: int, height: int) -> None:
        await self.pilot.resize_terminal(width, height)
        await settle(self.pilot)

    @property
    def text(self) -> str:
        return screen_text(self.app)

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def words(self) -> str:
        """The text without its line breaks."""
        return " ".join(self.text.split())

    @property
    def unframed(self) -> str:
        """The words of a page above the captions, without its frame."""
        return " ".join(word for word in self.text.split() if word != "│")

    @property
    def history(self) -> list[str]:
        return [caption.text for caption in self.app.query_one(History).captions]

    @property
    def leaving(self) -> bool:
        return self.app._exit

    def displays(self, selector: str) -> bool:
        return self.app.screen.query_one(selector).display


@asynccontextmanager
async def on_stage(*opening: Event, size: tuple[int, int] = (80, 24), **options: Any) -> AsyncIterator[Stage]:
    """Run the screen with these events; the options are those of `make_app`."""
    run = ScriptedRun()
    app = make_app(Screenplay(*opening), run, **options)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        yield Stage(app, pilot, run)
        assert not app.not_drawn
