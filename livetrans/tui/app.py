"""The screen: captions, numbers and keys. It receives events as messages and moves the run's controls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from textual.app import App, ComposeResult, SystemCommand
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.theme import BUILTIN_THEMES
from textual.widgets import Footer

from livetrans.config import PANELS
from livetrans.errors import UsageError
from livetrans.metrics.monitor import Snapshot
from livetrans.run.pipeline import Pipeline
from livetrans.text import counted, unknown, visible
from livetrans.tui import controls
from livetrans.tui.board import Board
from livetrans.tui.captions import Current, History
from livetrans.tui.keys import HelpScreen, bindings, palette
from livetrans.tui.messages import (
    CaptionChanged,
    GapPublished,
    NoticePublished,
    RunFinished,
    ScreenSink,
    TranscriptChanged,
)
from livetrans.tui.panel import ROOMY_HEIGHT, Loading, Panel, Phase, StatusLine, Strip, TopBar

POLL_SECONDS = 0.25
"""How often numbers and signals are read, in seconds: numbers that change more often cannot be read."""

WIDTHS = [(0, "-narrow"), (76, "-normal"), (120, "-wide")]
"""Widths from which the style sheet's classes hold; below 76 a panel at the side would leave captions no room."""

HEIGHTS = [(0, "-short"), (ROOMY_HEIGHT, "-tall")]


def check_theme(name: str) -> None:
    """Raises UsageError for a name that is not one of Textual's themes."""
    if name not in BUILTIN_THEMES:
        raise UsageError(unknown("theme", name, sorted(BUILTIN_THEMES)))


class LivetransApp(App[str]):
    """Live captions; `run()` returns None after a clean end, or the sentence that explains why the run failed.

    The run starts after the first frame. `save` writes the transcript to a new file and returns its path.
    `ending_signals` counts the signals that came so far: each has the effect of the key for quitting. `limit` is what
    the run cannot do, in a few words; the top bar shows it throughout.
    """

    CSS_PATH = Path(__file__).with_name("livetrans.tcss")
    TITLE = "livetrans"
    AUTO_FOCUS = "#history"
    BINDINGS = bindings()
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS

    def __init__(
        self,
        run: Pipeline,
        snapshot: Callable[[], Snapshot],
        title: str,
        save: Callable[[], Path] | None = None,
        ending_signals: Callable[[], int] = lambda: 0,
        limit: str = "",
    ) -> None:
        super().__init__()
        self._title = title
        self._pipeline = run
        self._detected: str | None = None
        self._snapshot = snapshot
        self._ending_signals = ending_signals
        self._signals_handled = 0
        self._save = save
        output = run.settings.output
        self._show_source = output.show_source is not False
        self._shown_panel = output.panel
        self._paused = False
        self._phase = Phase.LOADING
        self._quitting = False
        self._is_started = False
        self._failure: str | None = None
        self._board = Board()
        self._sink = ScreenSink(self)
        self._top = TopBar(self._full_title(), limit)
        self._history = History(self._show_source, output.source_line)
        self._current = Current(self._show_source, output.source_line)
        self._loading_bar = Loading()
        self._status = StatusLine()
        self._panel = Panel(id="panel")
        self._strip = Strip(id="strip")
        if output.theme is not None:
            self.theme = output.theme

    def compose(self) -> ComposeResult:
        yield self._top
        with Horizontal(id="body"):
            with Vertical(id="captions"):
                yield self._history
                yield self._loading_bar
                yield self._current
                yield self._status
            yield self._panel
        yield self._strip
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self._place_panel()
        self._enter(Phase.LOADING)
        self.set_interval(POLL_SECONDS, self._poll)
        # After Ctrl-Z and `fg` the terminal is empty; Textual draws only what changes from then on.
        self.app_resume_signal.subscribe(self, lambda app: app.refresh(layout=True))
        # After the first frame, so that loading, which keeps the interpreter busy, can't delay it.
        self.call_after_refresh(self._begin)

    def on_unmount(self) -> None:
        self._sink.close()

    def _begin(self) -> None:
        self._poll()
        if not self._quitting:
            self._is_started = True
            self._pipeline.start(self._sink)

    def _poll(self) -> None:
        self._show_numbers()
        if self._ending_signals() > self._signals_handled:
            self._signals_handled += 1
            self.action_stop()

    def on_run_began(self) -> None:
        if self._phase is Phase.LOADING:
            self._enter(Phase.RUNNING)

    def on_run_finished(self, message: RunFinished) -> None:
        self._enter(Phase.ENDED)
        if message.ended.reason == "failed":
            self.exit(self._failure or "The run failed; the session has everything up to then.", return_code=1)
        elif self._quitting:
            self.exit()

    def on_notice_published(self, message: NoticePublished) -> None:
        notice = message.notice
        if notice.level == "error":
            self._failure = notice.text
        if notice.level != "info":
            self._status.show(notice.text, notice.level)
        elif self._phase is Phase.LOADING:
            self._loading_bar.show(notice.text)
        elif self._phase is Phase.RUNNING:
            self._status.show(notice.text)

    def on_caption_changed(self, message: CaptionChanged) -> None:
        self._history.extend(self._board.feed_caption(message.caption))
        self._show_current()

    def on_transcript_changed(self, message: TranscriptChanged) -> None:
        self._history.extend(self._board.feed_transcript(message.transcript))
        self._show_current()
        language = message.transcript.language
        if language not in (None, self._detected):
            self._detected = language
            self._top.rename(self._full_title())

    def on_gap_published(self, message: GapPublished) -> None:
        self._history.extend(self._board.feed_gap(message.gap))
        self._show_current()

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self._loading_bar.display = phase is Phase.LOADING
        self._current.display = phase is not Phase.LOADING
        self._status.show_state(self._phase.sentence(self._paused, self._snapshot().total is not None))
        self._show_numbers()
        self._show_current()

    def _show_current(self) -> None:
        waiting = ""
        if not self._board.has_shown_text:
            waiting = {Phase.RUNNING: "listening …", Phase.ENDED: "no speech was heard"}.get(self._phase, "")
        self._current.show(self._board.current, self._board.source(), waiting)

    def _show_numbers(self) -> None:
        snapshot = self._snapshot()
        self._top.show(self._phase, self._paused, snapshot)
        self._panel.show(snapshot, self._shown_panel)
        self._strip.show(snapshot, self._shown_panel)

    def action_pause(self) -> None:
        if self._phase in (Phase.FINISHING, Phase.ENDED):
            return
        self._paused = not self._paused
        self._pipeline.pause(self._paused)
        self._status.show_state(self._phase.sentence(self._paused, self._snapshot().total is not None))
        self._show_numbers()

    def action_source(self) -> None:
        self._show_source = not self._show_source
        self._history.show_source(self._show_source)
        self._current.show_source(self._show_source)
        self._status.show(f"source {'shown' if self._show_source else 'hidden'}")

    def _full_title(self) -> str:
        return " · ".join(filter(None, (self._title, controls.languages_of(self._pipeline.settings, self._detected))))

    def action_target(self) -> None:
        self._status.show(controls.next_target(self._pipeline))
        self._top.rename(self._full_title())

    def action_spoken(self) -> None:
        self._status.show(controls.next_spoken(self._pipeline, self._detected))
        self._top.rename(self._full_title())

    def action_calm(self) -> None:
        self._status.show(controls.next_calm(self._pipeline))

    def action_mask(self, step: int) -> None:
        self._status.show(controls.move_mask(self._pipeline, step))

    def action_bias(self, step: int) -> None:
        self._status.show(controls.move_bias(self._pipeline, step))

    def action_copy(self) -> None:
        selected = self.screen.get_selected_text()
        shown = self._shown_captions()[-1:]
        self._copy(selected or "".join(shown), "selection" if selected else "last caption")

    def action_copy_all(self) -> None:
        shown = self._shown_captions()
        self._copy("\n".join(shown), counted(len(shown), "caption"))

    def _copy(self, text: str, what: str) -> None:
        if not text:
            self._status.show("nothing to copy on the screen")
            return
        self.copy_to_clipboard(text)
        self._status.show(f"{what} copied (where the terminal allows it)")

    def _shown_captions(self) -> list[str]:
        captions = list(self._history.captions)
        if self._board.current is not None:
            captions.append(self._board.current)
        return [text for text in (visible(caption.text) for caption in captions) if text]

    def action_save(self) -> None:
        current = self._board.current
        is_growing = current is not None and not current.final
        self._status.show(*controls.save_transcript(self._save, is_growing=is_growing))

    def action_clear(self) -> None:
        self._board.clear()
        self._history.clear()
        self._show_current()

    def action_panel(self) -> None:
        self._shown_panel = PANELS[(PANELS.index(self._shown_panel) + 1) % len(PANELS)]
        self._place_panel()
        self._status.show(f"panel: {self._shown_panel}")
        self.call_after_refresh(self._show_numbers)

    def _place_panel(self) -> None:
        self.screen_stack[0].set_class(self._shown_panel == "off", "-no-panel")

    def action_help(self, at: str = "") -> None:
        """Open the help; `at` is the label of a number to open it at."""
        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(at))

    def action_stop(self) -> None:
        """Finish the last captions, then quit; at once the second time, or where nothing is left to finish."""
        at_once = self._quitting or not self._is_started or self._phase is Phase.ENDED
        self._quitting = True
        if at_once:
            self.exit()
            return
        self._pipeline.stop()
        self._enter(Phase.FINISHING)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        for title, meaning, action in palette():
            yield SystemCommand(title, meaning, partial(self.call_later, self.run_action, action))
