"""Every key, in one table that footer, command palette and help read, and what keys do: each such function
returns the answer that the screen shows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from textual.binding import Binding, BindingType

from livetrans.base.errors import LivetransError, UsageError
from livetrans.base.installation import user_folder
from livetrans.base.languages import AUTO, LANGUAGES
from livetrans.config import CALM, SETTINGS, UNNAMED, Settings
from livetrans.events import NameCorrected
from livetrans.names.file import add_spelling
from livetrans.run.effect import Way, without_effect
from livetrans.run.pipeline import Pipeline


@dataclass(frozen=True, slots=True)
class Command:
    """An action of the screen."""

    keys: str
    """The keys as the help shows them, separated by spaces."""
    action: str
    word: str
    """Its word in the footer. Neighbours with the same word are shown together."""
    title: str
    """Its name in the palette and the help."""
    meaning: str
    in_footer: bool = False
    setting: str = ""
    """Key in `livetrans.config.SETTINGS` of the setting that it changes."""
    needs_server: bool = False

    def works(self, settings: Settings, *, is_served: bool) -> bool:
        """Return whether it has an effect in a run with these settings."""
        setting = SETTINGS.get(self.setting)
        if settings.between and self.setting in ("from", "to"):
            return self.setting == "from" and settings.recogniser is not None
        if setting is None:
            return is_served or not self.needs_server
        value = setting.of(settings)
        return without_effect(self.setting, Way(settings)) is None and not (isinstance(value, tuple) and len(value) < 2)


def _stepping(keys: str, setting: str, step: float, word: str, title: str, meaning: str) -> Command:
    """Return a command that moves the number of a setting by `step`."""
    return Command(keys, f"move({setting!r}, {step})", word, title, meaning, setting=setting)


NO_REPAIR = "names are not repaired in this run; start it without --repair none"
CLIPBOARD_SECONDS = 2.0
"""Time limit for a clipboard program, which usually answers at once."""
BIAS_STEP = 0.05
MOST_BIAS = 0.5
"""Every draft token is accepted from this bias on (`livetrans.decoding.verification`)."""

# fmt: off
COMMANDS = (
    Command("?", "help", "Help", "Explain everything", "Keys and numbers, one sentence each.", in_footer=True),
    Command("q", "stop", "Quit", "Quit",
            "The last captions are finished first; a second press quits at once.", in_footer=True),
    Command("space", "pause", "Pause", "Pause or resume",
            "While paused, nothing is heard from a microphone; a file waits.", in_footer=True),
    Command("p", "panel", "Figures", "Next panel",
            "For people, for research, or none; `--panel` sets the first.", in_footer=True),
    Command("s", "source", "Source", "Show, hide source",
            "The recognised text beside each translation.", in_footer=True),
    Command("a", "calm", "Calm", "Next calm setting",
            "Still, balanced or faithful: what may change on the screen.", in_footer=True, setting="calm"),
    Command("e", "names", "Names", "Correct a name",
            "Lists what looks like a name in the last captions. The right one is written from then on.",
            in_footer=True),
    Command("/", "search", "Find", "Find in captions", "Enter goes to the one before, esc back to the end.",
            in_footer=True),
    Command("c", "copy", "Copy", "Copy last caption", "Or the text selected with the mouse.", in_footer=True),
    Command("w", "save", "Save", "Save",
            "All finished captions of this run as text and subtitles (.srt), in the current folder.", in_footer=True),
    _stepping("m  [", "mask-k", -1, "Mask", "Mask fewer tokens", "Captions come sooner and flicker more."),
    _stepping("M  ]", "mask-k", 1, "Mask", "Mask more tokens", "Captions come later and are calmer."),
    _stepping("b  ,", "bias", -BIAS_STEP, "Bias", "Lower the bias", "The translation changes more readily."),
    _stepping("B  .", "bias", BIAS_STEP, "Bias", "Raise the bias", "The translation changes less."),
    Command("t", "target", "To", "Next caption language",
            "One of those that `--to de,fr` names: at once, for finished captions too.", in_footer=True,
            setting="to"),
    Command("f", "spoken", "From", "Next spoken language",
            "One of those that `--from en,auto` names or that were detected. With `--between`: the other one, until "
            "the next pause.", in_footer=True, setting="from"),
    Command("n", "messages", "Messages", "Read the messages", "All in full. Warnings leave the screen once read."),
    Command("C", "copy_all", "Copy all", "Copy all captions", "All on the screen, those above what is in view too."),
    Command("o", "only", "Captions only", "Captions only", "For a second screen or a recording; the same key ends it."),
    Command("v", "browse", "View", "View in a browser",
            "Opens the page that `--serve` gives captions to.", in_footer=True, needs_server=True),
    Command("r", "readers", "Readers", "Readers",
            "The page's address, its QR code for a phone, and how many read it.", in_footer=True,
            needs_server=True),
    Command("ctrl+l", "clear", "Clear", "Clear the screen",
            "The sentence being spoken stays. What is cleared is still in the session, and saved by w."),
)
"""The most needed first: the footer shows as many as have room."""
# fmt: on


def bindings() -> list[BindingType]:
    made: list[BindingType] = []
    for word, commands in groupby(COMMANDS, lambda command: command.word):
        pair = list(commands)
        group = Binding.Group(word, compact=True) if len(pair) > 1 else None
        for command in pair:
            first, *others = command.keys.replace(",", "comma").split()
            shown = first + ("/" if group and command is pair[0] else "")
            made.append(Binding(first, command.action, word, show=command.in_footer, group=group, key_display=shown))
            made += [Binding(key, command.action, command.title, show=False) for key in others]
    made.append(Binding("escape", "end_search", "End the search", show=False))
    made.append(Binding("ctrl+z", "suspend_process", "Suspend livetrans", show=False, priority=True))
    # Ctrl-C must end the run even while the palette or the help is open.
    made.append(Binding("ctrl+c", "stop", "Quit", show=False, priority=True))
    return made


def palette(commands: Iterable[Command]) -> Iterator[tuple[str, str, str]]:
    """Yield title, meaning and action of the commands, for the command palette."""
    for command in commands:
        keys = " or ".join(command.keys.split())
        yield command.title, f"{command.meaning} ({keys})".replace("`", ""), command.action


def next_calm(run: Pipeline) -> str:
    """Choose the next calm setting, or the first if single settings were changed."""
    settings, names = run.settings, list(CALM)
    if found := without_effect("calm", Way(settings)):
        masks = without_effect("mask-k", Way(settings)) is None
        return f"calm {found[0]}" + ("; m moves mask-k" if masks else "")
    name = names[(names.index(settings.calm) + 1) % len(names)] if settings.calm else names[0]
    run.change("calm", name)
    return f"calm: {name}"


def move(run: Pipeline, key: str, step: float) -> str:
    """Change the number of a setting by `step`, within its range."""
    setting = SETTINGS[key]
    if found := without_effect(key, Way(run.settings)):
        return f"{key} {found[0]}"
    before = setting.of(run.settings)
    if key == "bias" and step > 0 and before >= MOST_BIAS:
        return f"bias {before:.2f}: more changes nothing, the whole draft is accepted"
    value = max(0, round(before + step, 2))
    value = min(MOST_BIAS, value) if key == "bias" else value
    run.change(key, value)
    return f"{key} {value:.2f}" if isinstance(value, float) else f"{key} {value}"


def next_target(run: Pipeline) -> str:
    if run.settings.between:
        return "both languages are shown"
    code = _next(run.settings.targets)
    if code is None:
        return "only one caption language; start with --to de,fr"
    run.change("to", code)
    return f"captions in {name_of(code)}"


def next_spoken(run: Pipeline, detected: str | None) -> str:
    """Choose the next spoken language or `auto`. A `detected` language that is not in the list comes first."""
    if run.settings.between:
        if run.settings.recogniser is None:
            return "each turn has the language that was recorded"
        code = run.force()
        return f"{name_of(code)} until the next pause; f takes it back" if code else "the language is heard again"
    sources = run.settings.sources
    is_new = AUTO in sources and detected is not None and detected not in sources
    code = (detected if is_new else None) or _next(sources)
    if code is None:
        return "only one spoken language; start with --from en,fr"
    run.change("from", code)
    return "spoken language: detected" if code == AUTO else f"spoken language: {name_of(code)}"


def _next(codes: Sequence[str]) -> str | None:
    return codes[1] if len(codes) > 1 else None


def languages_of(settings: Settings, detected: str | None) -> str:
    """Return the languages of a run for the top bar.

    Examples: `en → de`; `auto (French) → de` with a detected language; `en → de (t: fr)` with a key for another one;
    `en → de, me: de → en` in a run of two tracks; `en ↔ de` in a conversation.
    """
    if settings.between:
        return " ↔ ".join(settings.between.languages)
    spoken, others = settings.source_language, ", ".join(settings.targets[1:])
    shown = f"{spoken} ({name_of(detected)})" if spoken == AUTO and detected else spoken
    theirs = f"{shown} → {settings.target_language}" + (f" (t: {others})" if others else "")
    if not settings.meeting:
        return theirs
    mine = settings.for_microphone()
    is_written = mine.source_language == mine.target_language
    return f"{theirs}, {settings.meeting.names[0]}: {mine.source_language}" + (
        "" if is_written else f" → {mine.target_language}"
    )


def keep_name(glossary: Path, name: NameCorrected) -> str:
    """Write a correction into the glossary's file, or into one of the user's own; return the answer."""
    path = glossary if glossary != UNNAMED else user_folder("config") / "names.tsv"
    try:
        add_spelling(path, name.written, name.heard)
    except (OSError, UsageError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        return f"{path} cannot be written ({reason}); the correction holds for this run"
    return f"kept in {path}" + ("" if glossary != UNNAMED else f"; start with --glossary {path}")


def name_of(code: str) -> str:
    """Return the English name of a language. An unknown code stays as it is."""
    language = LANGUAGES.get(code.lower())
    return language.name if language else code


def save_transcript(save: Callable[[], Sequence[Path]] | None, *, is_growing: bool) -> str:
    """Call `save` and return the answer. `is_growing`: a caption is not finished yet."""
    if save is None:
        return "this run has no transcript to save"
    try:
        paths = save()
    except LivetransError as error:
        return f"nothing was saved: {error}"
    except OSError as error:
        reason = error.strerror or error
        return f"the current folder cannot be written ({reason}): `livetrans export` writes elsewhere"
    without = ", without the caption that still grows" if is_growing else ""
    names = ", ".join([paths[0].name, *("".join(path.suffixes[-2:]) for path in paths[1:])])
    # The name comes first, as a row of messages may have no room for more.
    return f"{names} and .srt saved in {paths[0].parent}{without}"


def clipboard_program(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> list[str] | None:
    """Return the command that copies its input to the user's clipboard, or None if there is none, as over SSH."""
    if "SSH_CONNECTION" in environment:
        return None  # The command would use the clipboard of the far machine.
    candidates = {
        "pbcopy": (["pbcopy"], platform == "darwin"),
        "wl-copy": (["wl-copy"], "WAYLAND_DISPLAY" in environment),
        "xclip": (["xclip", "-selection", "clipboard"], "DISPLAY" in environment),
    }
    return next((command for name, (command, fits) in candidates.items() if fits and shutil.which(name)), None)


def copy_text(text: str, what: str, to_terminal: Callable[[str], None]) -> str:
    """Copy the text to the clipboard: by the desktop's program if there is one, otherwise by the terminal (OSC 52).

    Return the answer, which names the text as `what` and promises no more than was done.
    """
    command = clipboard_program()
    if command:
        try:
            # wl-copy and xclip leave a process that holds the text. With a pipe to it, `run` would wait for its end.
            subprocess.run(
                command,
                input=text.encode(),
                check=True,
                timeout=CLIPBOARD_SECONDS,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            return f"{what} copied"
        except (OSError, subprocess.SubprocessError):
            pass
    to_terminal(text)
    return f"{what} sent to the terminal; not every terminal puts it on the clipboard"
