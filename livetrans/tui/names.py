"""The page on which the reader corrects a name: what looks like one in the last captions, and a box to type it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static

from livetrans.base.text import nearest, one_line, visible
from livetrans.config import Term
from livetrans.events import NameCorrected, Transcript
from livetrans.names.repair import tokens_of
from livetrans.names.sounds import LANGUAGES, common_words, letters

MOST_NAMES = 30
LEAST_LETTERS = 3
CHOOSE = "enter corrects the name · esc closes"
TYPE = "enter writes the right name from now on, and in the captions so far"


class Likely(NamedTuple):
    """What looks like a name in a source."""

    heard: str
    shown: str
    nearest: str
    """The term that it is most like, or that it was repaired to; empty for none."""


def likely_names(transcripts: Sequence[Transcript], terms: Sequence[Term], language: str) -> list[Likely]:
    """Return what was repaired and what looks like a name, the newest first, each once.

    A name begins with a capital inside a sentence, or is no common word of the language, where those are known: the
    transcript's own language if it has one, otherwise `language`.
    """
    found: dict[str, Likely] = {}
    for transcript in reversed(transcripts):
        for likely in _likely(transcript, [term.text for term in terms], transcript.language or language):
            found.setdefault(likely.heard.casefold(), likely)
    return list(islice(found.values(), MOST_NAMES))


def _likely(transcript: Transcript, terms: Sequence[str], language: str) -> Iterator[Likely]:
    text = transcript.text
    for repair in transcript.repairs:
        shown = text[repair.begin : repair.end]
        yield Likely(repair.heard, shown, shown)
    known = {word.casefold() for term in terms for word in term.split()}
    common = common_words(language) if language in LANGUAGES else None
    tokens = tokens_of(text)
    for before, token in zip((None, *tokens), tokens, strict=False):
        word = text[token.begin : token.owner_end]
        is_rare = common is not None and len(letters(word)) > LEAST_LETTERS and letters(word) not in common
        is_inside = before is not None and not any(sign in ".!?…" for sign in text[before.end : token.begin])
        is_name = is_rare or (word[0].isupper() and is_inside)
        is_new = token.owner not in known and not token.is_in(transcript.repairs)
        if is_name and is_new and len(letters(word)) >= LEAST_LETTERS:
            yield Likely(word, word, nearest(word, terms) or "")


class Correction(Vertical):
    """The lowest rows of the terminal; the screen below keeps them free, so that captions stay in sight."""

    BORDER_TITLE = "Correct a name"

    def on_resize(self) -> None:
        self.app.screen_stack[0].styles.padding = (0, 0, self.outer_size.height, 0)

    def on_unmount(self) -> None:
        self.app.screen_stack[0].styles.padding = 0


class NamesScreen(ModalScreen[str]):
    """The page; it returns the answer to show, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Close")]

    def __init__(
        self,
        names: Sequence[Likely],
        correct: Callable[[NameCorrected], str | None],
        keep: Callable[[NameCorrected], str],
    ) -> None:
        """`correct` returns why it cannot; `keep` writes a correction into the glossary and returns the answer."""
        super().__init__()
        self._names = list(names)
        self._correct, self._keep = correct, keep
        self._chosen: Likely | None = None
        self._corrected: NameCorrected | None = None
        self._list = OptionList(*map(_row, names), id="names")
        self._input = Input(
            placeholder="the source's word = the right name", compact=True, select_on_focus=False, id="name"
        )
        self._hint = Static(CHOOSE if names else TYPE, markup=False, id="hint")

    def compose(self) -> ComposeResult:
        self._list.styles.max_height = max(self.app.size.height // 4, 3)
        with Correction(id="correction"):
            yield self._list
            yield self._input
            yield self._hint

    def on_mount(self) -> None:
        self._list.display = bool(self._names)
        (self._list if self._names else self._input).focus()

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        self._chosen = likely = self._names[message.option_index]
        self._input.value = f"{likely.shown} = {likely.nearest if likely.nearest != likely.shown else ''}"
        self._hint.update(TYPE)
        self._input.focus()
        self._input.cursor_position = len(self._input.value)

    def on_input_submitted(self, message: Input.Submitted) -> None:
        message.stop()  # The search has a box of its own.
        if self._corrected:
            self.dismiss(self._keep(self._corrected))
            return
        shown, sign, written = (one_line(part) for part in message.value.partition("="))
        if self._chosen and not sign:
            shown, written = self._chosen.shown, shown
        if not (any(map(str.isalnum, shown)) and any(map(str.isalnum, written))):
            self._hint.update("write the source's word, an equals sign, and the right name")
            return
        listed = (likely.heard for likely in (self._chosen, *self._names) if likely and likely.shown == shown)
        name = NameCorrected(next(listed, shown), shown, written)
        if answer := self._correct(name):
            self._hint.update(answer)
            return
        self._corrected = name
        self._list.display = False
        self._hint.update(f"{written} from now on · enter keeps it in the glossary · esc only for this run")


def _row(likely: Likely) -> Content:
    parts: list[str | tuple[str, str]] = [(visible(likely.shown), "bold")]
    if likely.heard != likely.shown:
        parts.append((f"  heard: {visible(likely.heard)}", "$quiet"))
    elif likely.nearest:
        parts.append((f"  {visible(likely.nearest)}?", "$quiet"))
    return Content.assemble(*parts)
