"""The screen: captions, metrics and keys. It receives events as messages and controls the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from textual.app import App, ComposeResult, SystemCommand
from textual.color import ColorParseError
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.css.errors import UnresolvedVariableError
from textual.css.stylesheet import StylesheetParseError
from textual.screen import ModalScreen, Screen
from textual.theme import BUILTIN_THEMES, Theme
from textual.widgets import Footer, Input
from textual.widgets._footer import FooterKey

from livetrans.base.text import counted, display_width, visible
from livetrans.captions import is_only_translated
from livetrans.config import PANELS
from livetrans.events import Caption, Gap, NameCorrected, Notice, RunEnded, RunStarted, Transcript
from livetrans.metrics.monitor import Snapshot
from livetrans.run.pipeline import Pipeline
from livetrans.tui import keys
from livetrans.tui.board import Boards, Posted, ScreenSink
from livetrans.tui.captions import History, Panes, Search
from livetrans.tui.help import HelpScreen
from livetrans.tui.keys import COMMANDS, bindings, palette
from livetrans.tui.names import NamesScreen, likely_names
from livetrans.tui.panel import ROOMY_HEIGHT, SECTIONS, Figures, Strip
from livetrans.tui.readers import NOT_SERVED, Outlet, ReadersBar, ReadersScreen, Served, open_in_browser
from livetrans.tui.status import Loading, MessageRow, Messages, MessagesSheet, Phase, TopBar
from livetrans.tui.themes import DARK, THEMES
from livetrans.tui.wrapped import NotDrawn, Sheet

POLL_SECONDS = 0.25
"""Seconds between two looks at figures and signals. Nobody can read figures that change more often."""

NAMES_FROM = 12
"""Finished captions whose names the key lists."""
HAS_ENDED = "the run has ended: this key changes nothing any more"
ONLY_TRANSLATED = "only the translation has this word: write the one of its source"
WIDTHS = [(0, "-narrow"), (76, "-middle"), (92, "-normal"), (120, "-wide")]
"""Least width for each class of the style sheet. Beside the panel for people captions have 64 columns at least; below
that it is a row. Below 76 columns the panel for research would leave captions no room either."""
HEIGHTS = [(0, "-tiny"), (12, "-short"), (16, "-medium"), (ROOMY_HEIGHT, "-tall")]
"""The same for heights. Captions come first: a tiny terminal has no footer, and a short one no strip."""


class Column(Vertical):
    """The column of the captions; calls `fit` whenever it gets another size."""

    def __init__(self, fit: Callable[[], None]) -> None:
        super().__init__(id="captions")
        self._fit_rows = fit

    def on_resize(self) -> None:
        self._fit_rows()


class Menu(Footer):
    """The one menu of keys, as many whole ones as have room; `without` are actions that do nothing in this run."""

    def __init__(self, without: Sequence[str]) -> None:
        super().__init__(show_command_palette=False)
        self._without = without

    def compose(self) -> ComposeResult:
        room = self.app.size.width - 2
        for key in super().compose():
            if isinstance(key, FooterKey) and key.action not in self._without:
                room -= display_width(f"{key.key_display} {key.description}  ")
                if room < 0:
                    break
                yield key

    def on_resize(self) -> None:
        self.refresh(recompose=True)


class LivetransApp(App[str]):
    """Live captions; `run()` returns None after a clean end, or the sentence that explains why the run failed.

    The run starts after the first frame. `snapshot` gives the figures of a language. `save` writes the transcript to
    new files and returns the paths of the texts. `ending_signals` counts the signals that came so far: each has the
    effect of the key for quitting. `limit` is what the run cannot do, in a few words; the top bar shows it throughout.
    `title` is what is heard, until the run itself names the file or the microphone.
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
        snapshot: Callable[[str], Snapshot],
        title: str,
        *,
        save: Callable[[], Sequence[Path]] | None = None,
        ending_signals: Callable[[], int] = lambda: 0,
        limit: str = "",
        server: Served | None = None,
        outlets: Sequence[Outlet] = (),
    ) -> None:
        super().__init__()
        self._outlets = outlets
        self._server = server
        settings, output = run.settings, run.settings.output
        self._title, self._model = title, settings.language_model.model.stem
        self._detected: str | None = None
        self._commands = [one for one in COMMANDS if one.works(settings, is_served=server is not None)]
        self._pipeline = run
        self._read_monitor = snapshot
        self._ending_signals = ending_signals
        self._signals_handled = 0
        self._save = save
        self._show_source = output.show_source is not False
        self._shown_panel = output.panel
        self._phase = Phase.LOADING
        self._paused = self._quitting = self._is_started = False
        self._failure: str | None = None
        self._below = 0
        self.not_drawn: set[str] = set()
        """The kinds of widgets that failed to draw what they have."""
        self._boards = Boards(settings)
        self._sink = ScreenSink(self)
        self._top = TopBar(self._full_title(), limit)
        self._history = History(self._show_source, output.source_line)
        self._current = Panes(settings.speakers or (None,), self._show_source, output.source_line)
        self._loading_bar = Loading()
        self._search = Search()
        self._messages = Messages()
        self._row = MessageRow(self._messages)
        self._figures = Figures()
        self._column = Column(self.on_resize)
        self._panel = VerticalScroll(self._figures, id="panel", can_focus=False)
        self._strip = Strip(id="strip")
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = DARK.name
        for name in BUILTIN_THEMES:  # Their colours cannot all be read.
            self.unregister_theme(name)

    def compose(self) -> ComposeResult:
        yield self._top
        yield ReadersBar(self._server, self._outlets)
        with Horizontal(id="body"):
            with self._column:
                yield self._history
                yield self._loading_bar
                yield self._current
                with Horizontal(id="bottom"):
                    yield self._search
                    yield self._row
            yield self._panel
        yield self._strip
        yield Menu([command.action for command in COMMANDS if command not in self._commands])

    def on_mount(self) -> None:
        self._place_panel()
        self._search.display = False
        self._enter(Phase.LOADING)
        self.set_interval(POLL_SECONDS, self._poll)
        self.theme = self._pipeline.settings.output.theme
        self.call_next(self.theme_changed_signal.subscribe, self, self._say_theme)
        # After Ctrl-Z and `fg` the terminal is empty, and Textual would draw only what changes.
        self.app_resume_signal.subscribe(self, lambda app: app.refresh(layout=True))
        # Loading keeps the interpreter busy, so the first frame comes before it.
        self.call_after_refresh(self._begin)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return what a theme that lacks a colour takes."""
        return DARK.to_color_system().generate() | DARK.variables

    def refresh_css(self, animate: bool = True) -> None:
        """Show the colours of the theme. One that cannot be shown must not end the run."""
        try:
            super().refresh_css(animate)
        except (ColorParseError, StylesheetParseError, UnresolvedVariableError):
            if self.theme == DARK.name:
                raise
            self._row.add(Notice("warning", f"The theme {self.theme} cannot be shown here: {DARK.name} is."))
            self.theme = DARK.name

    def on_unmount(self) -> None:
        self._sink.close()

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        rows = self._current.fit(self._column.size)
        self._loading_bar.set_rows(rows)
        # Captions begin at the top, and the sentence that grows follows the last one, where it stays when it ends.
        self._history.follow(max(self._column.size.height - rows - 1, 0))
        self._show_numbers()

    def _begin(self) -> None:
        self._fit()
        self._poll()
        if not self._quitting:
            self._is_started = True
            self._pipeline.start(self._sink)

    def _poll(self) -> None:
        self._show_numbers()
        if self._ending_signals() > self._signals_handled:
            self._signals_handled += 1
            self.action_stop()

    async def on_posted(self, message: Posted) -> None:
        match message.event:
            case Caption() | Gap() | Transcript() as event:
                await self._extend(self._boards.feed(event))
                self._show_language(event)
            case NameCorrected() as name:
                self._history.correct(self._boards.correct(name))
                self._show_current()
            case Notice() as notice:
                self._show_notice(notice)
            case RunStarted(origin=origin):
                if origin is not None:
                    self._title = origin.name
                    self._top.rename(self._full_title())
                if self._phase is Phase.LOADING:
                    self._enter(Phase.RUNNING)
            case RunEnded() as ended:
                self._end(ended)

    async def _extend(self, finished: list[Caption]) -> None:
        # In one batch, so that a caption leaves the pane and enters the history in the same frame.
        with self.batch_update():
            await self._history.extend(finished)
            self._show_current()

    def _show_language(self, event: Caption | Gap | Transcript) -> None:
        settings = self._pipeline.settings
        if isinstance(event, Transcript) and not (settings.between or settings.is_microphone(event.track)):
            if event.language not in (None, self._detected):
                self._detected = event.language
                self._top.rename(self._full_title())

    def _show_notice(self, notice: Notice) -> None:
        if notice.level == "error":
            self._failure = notice.text
        if notice.level == "info" and self._phase is Phase.LOADING:
            self._loading_bar.show(notice.text)
        else:
            self._row.add(notice)

    def on_not_drawn(self, message: NotDrawn) -> None:
        if message.widget not in self.not_drawn:
            self.not_drawn.add(message.widget)
            reason = f"{message.widget}: {type(message.fault).__name__}: {message.fault}"
            self._row.add(Notice("warning", f"A part of the screen cannot be drawn ({reason}); please report it."))

    def _end(self, ended: RunEnded) -> None:
        self._enter(Phase.ENDED)
        if ended.reason == "failed":
            self.exit(self._failure or "The run failed; the session has everything up to then.", return_code=1)
        elif self._quitting:
            self.exit()

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self._loading_bar.display = phase is Phase.LOADING
        self._current.display = phase is not Phase.LOADING
        self._show_state()
        self._show_numbers()
        self._show_current()

    def _show_state(self) -> None:
        below = f"{self._below} new below, End follows" if self._below else ""
        state = self._phase.sentence(self._paused, self._snapshot().total is not None, bool(self._pipeline.capturing))
        self._row.show_state(" · ".join(filter(None, (below, state))))

    def on_history_below(self, message: History.Below) -> None:
        self._below = message.count
        self._show_state()

    def _show_current(self) -> None:
        waiting = {Phase.RUNNING: "listening …", Phase.ENDED: "no speech was heard"}.get(self._phase, "")
        self._current.show(self._boards.shown, waiting)

    def _snapshot(self) -> Snapshot:
        return self._read_monitor(self._pipeline.settings.target_language)

    def _show_numbers(self) -> None:
        snapshot = self._snapshot()
        self._top.show(self._phase, self._paused, snapshot)
        if self._panel.display:
            self._figures.show(snapshot, self._shown_panel)
        self._strip.show(snapshot, self._shown_panel)

    def action_pause(self) -> None:
        if self._phase is Phase.ENDED:
            self._row.show_answer(HAS_ENDED)
        elif self._phase is not Phase.FINISHING:
            self._paused = not self._paused
            self._pipeline.pause(self._paused)
            self._show_state()
            self._show_numbers()

    def action_source(self) -> None:
        self._show_source = not self._show_source
        self._history.show_source(self._show_source)
        self._current.show_source(self._show_source)
        self._fit()
        self._row.show_answer(f"source {'shown' if self._show_source else 'hidden'}")

    def _full_title(self) -> str:
        languages = keys.languages_of(self._pipeline.settings, self._detected)
        return " · ".join(filter(None, (languages, self._title, self._model)))

    async def action_target(self) -> None:
        """Show the captions in the next language, also after the end."""
        self._row.show_answer(keys.next_target(self._pipeline))
        self._boards.show(self._pipeline.settings.target_language)
        await self._history.replace(self._boards.history)
        self._top.rename(self._full_title())
        self._show_current()
        self._show_numbers()

    def action_spoken(self) -> None:
        self._move(partial(keys.next_spoken, self._pipeline, self._detected))

    def action_calm(self) -> None:
        self._move(partial(keys.next_calm, self._pipeline))

    def action_move(self, key: str, step: float) -> None:
        self._move(partial(keys.move, self._pipeline, key, step))

    def _move(self, control: Callable[[], str]) -> None:
        """Use a control of the run and show its answer. A run that has ended has none."""
        self._row.show_answer(HAS_ENDED if self._phase is Phase.ENDED else control())
        self._top.rename(self._full_title())
        self._show_numbers()

    def action_copy(self) -> None:
        selected = self.screen.get_selected_text()
        shown = self._shown_captions()[-1:]
        self._copy(selected or "".join(shown), "selection" if selected else "last caption")

    def action_copy_all(self) -> None:
        shown = self._shown_captions()
        self._copy("\n".join(shown), counted(len(shown), "caption"))

    def _copy(self, text: str, what: str) -> None:
        sentence = keys.copy_text(text, what, self.copy_to_clipboard) if text else "nothing to copy on the screen"
        self._row.show_answer(sentence)

    def _shown_captions(self) -> list[str]:
        captions = [*self._history.captions, *self._boards.captions]
        return [text for text in (visible(caption.text) for caption in captions) if text]

    def action_save(self) -> None:
        is_growing = any(not caption.final for caption in self._boards.captions)
        self._row.add(Notice("info", keys.save_transcript(self._save, is_growing=is_growing)))

    def action_clear(self) -> None:
        self._boards.clear()
        self._history.clear()
        self._show_current()

    def action_search(self) -> None:
        self._search.display = True
        self._search.focus()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Go to the caption before the one found last, and from the oldest back to the newest."""
        text, before = message.value.strip(), self._search.found
        self._search.found = self._history.find(text, before) if text else None
        if text and self._search.found is None:
            self._row.show_answer("not found above" if before is None else "no more captions")
        else:
            self._row.end_answer()

    def action_end_search(self) -> None:
        self._search.display = False
        self._search.clear()
        self._history.focus()
        self._history.end_search()
        self._row.end_answer()

    def action_names(self) -> None:
        settings = self._pipeline.settings
        if self._phase is Phase.ENDED or settings.prompt.repair == "none":
            self._row.show_answer(HAS_ENDED if self._phase is Phase.ENDED else keys.NO_REPAIR)
        elif not isinstance(self.screen, ModalScreen):
            last = [*self._boards.history[-NAMES_FROM:], *self._boards.captions]
            names = likely_names(
                [caption.transcript for caption in last], settings.prompt.glossary, settings.source_language
            )
            keep = partial(keys.keep_name, settings.prompt.glossary_file)
            self.push_screen(NamesScreen(names, self._correct, keep), self._say)

    def _correct(self, name: NameCorrected) -> str | None:
        if self._phase is Phase.ENDED:
            return HAS_ENDED
        if is_only_translated(name, [*self._boards.history, *self._boards.captions]):
            return ONLY_TRANSLATED
        self._pipeline.correct(name)
        return None

    def _say(self, answer: str | None) -> None:
        if answer:
            self._row.show_answer(answer)

    def action_panel(self) -> None:
        self._shown_panel = PANELS[(PANELS.index(self._shown_panel) + 1) % len(PANELS)]
        self._place_panel()
        self._show_numbers()
        self._row.show_answer(f"panel: {self._shown_panel}")

    def _place_panel(self) -> None:
        self.screen_stack[0].set_class(self._shown_panel == "off", "-no-panel")
        self.screen_stack[0].set_class(self._shown_panel == "people", "-people")

    def action_only(self) -> None:
        """Show nothing but captions, or everything again."""
        self.screen_stack[0].toggle_class("-only")

    def action_help(self, at: str = "") -> None:
        """Open the help; `at` is the label of a metric to open it at."""
        self._open(HelpScreen(at))

    def action_messages(self) -> None:
        """Show all messages in full, which ends the warnings."""
        self._open(MessagesSheet(self._messages))
        self._row.acknowledge()

    def action_readers(self) -> None:
        """Show the page's address and its QR code."""
        if self._server is None:
            self._row.show_answer(NOT_SERVED)
        else:
            self._open(ReadersScreen(self._server))

    def action_browse(self) -> None:
        """Open the page in a browser."""
        self._row.show_answer(open_in_browser(self._server.address) if self._server else NOT_SERVED)

    def _open(self, sheet: Sheet) -> None:
        if not isinstance(self.screen, Sheet):
            self.push_screen(sheet)

    def action_stop(self) -> None:
        """Finish the last captions, then quit. Quit at once the second time, or if nothing is left to finish."""
        at_once = self._quitting or not self._is_started or self._phase is Phase.ENDED
        self._quitting = True
        if at_once:
            self.exit()
            return
        self._pipeline.stop()
        self._enter(Phase.FINISHING)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        for title, meaning, action in palette(self._commands):
            yield SystemCommand(title, meaning, partial(self.call_later, self.run_action, action))
        for metric in {metric.label: metric for section in SECTIONS for metric in section.metrics}.values():
            explain = partial(self.call_later, self.run_action, f"help({metric.label!r})")
            yield SystemCommand(f"What is {metric.label}?", metric.meaning.replace("`", ""), explain)
        yield SystemCommand("Theme", "Change colours: light, dark, the terminal's own.", self.action_change_theme)

    def _say_theme(self, theme: Theme) -> None:
        self._row.show_answer(f'theme {theme.name}, for this run; `theme = "{theme.name}"` in config.toml keeps it')
