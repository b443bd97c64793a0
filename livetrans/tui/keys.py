"""Every key, in one table that the footer, the panel, the command palette and the help read; and what keys do to the
settings of a run: each such function gives the sentence for the status line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from textual.binding import Binding, BindingType

from livetrans.config import CALM, Settings
from livetrans.errors import LivetransError
from livetrans.languages import AUTO, LANGUAGES
from livetrans.run.pipeline import Pipeline


@dataclass(frozen=True, slots=True)
class Command:
    """An action of the screen."""

    keys: str
    """The keys, separated by spaces, as the help shows them."""
    action: str
    word: str
    """The word for it in the footer or on the panel; two commands in a row with one word are shown together."""
    title: str
    """The plain name, for the palette and the help."""
    meaning: str
    in_footer: bool = False
    for_research: bool = False
    """Whether it moves a setting of the papers, which the research panel shows with its keys."""


COMMANDS = (
    Command("?", "help", "Help", "Explain everything", "Keys and numbers, one sentence each.", True),
    Command("q", "stop", "Quit", "Quit", "The last captions are finished first; a second press quits at once.", True),
    Command(
        "space",
        "pause",
        "Pause",
        "Pause or resume",
        "While paused, nothing is heard from a microphone; a file waits.",
        True,
    ),
    Command("s", "source", "Source", "Show, hide source", "The recognised text beside each translation.", True),
    Command(
        "a", "calm", "Calm", "Next calm setting", "Still, balanced or faithful: what may change on the screen.", True
    ),
    Command("c", "copy", "Copy", "Copy last caption", "Or the text selected with the mouse.", True),
    Command(
        "w",
        "save",
        "Save",
        "Save",
        "All finished captions of this run, as text and as subtitles (.srt) in the current folder.",
        True,
    ),
    Command("p", "panel", "Panel", "Next panel", "For people, for research, or none; `--panel` sets the first.", True),
    Command(
        "m  [", "mask(-1)", "Mask", "Mask fewer tokens", "Captions come sooner and flicker more.", for_research=True
    ),
    Command("M  ]", "mask(1)", "Mask", "Mask more tokens", "Captions come later and are calmer.", for_research=True),
    Command("b  ,", "bias(-1)", "Bias", "Lower the bias", "The translation changes more readily.", for_research=True),
    Command("B  .", "bias(1)", "Bias", "Raise the bias", "The translation changes less.", for_research=True),
    Command(
        "t",
        "target",
        "To language",
        "Next caption language",
        "Of those that `--to de,fr` names: at once, for finished captions too.",
    ),
    Command(
        "f",
        "spoken",
        "From language",
        "Next spoken language",
        "Of those that `--from en,auto` names, and of those detected.",
    ),
    Command("n", "messages", "Messages", "Read the messages", "All in full. Warnings leave the screen once read."),
    Command("/", "search", "Find", "Find in captions", "Enter goes to the one before, esc back to the end."),
    Command("C", "copy_all", "Copy all", "Copy all captions", "All on the screen, above what is in view too."),
    Command("o", "only", "Captions only", "Captions only", "For a second screen or a recording; the same key ends it."),
    Command("v", "browse", "View", "View in a browser", "Opens the page that `--serve` gives captions to."),
    Command("r", "readers", "Readers", "Readers", "The page's address, its QR code for a phone, and how many read it."),
    Command(
        "ctrl+l",
        "clear",
        "Clear",
        "Clear the screen",
        "The sentence being spoken stays. What is cleared is still saved by w, and in the session.",
    ),
)
"""Help and quitting come first, as a narrow footer shows the first ones only."""


def commands_of(settings: Settings, *, is_served: bool) -> tuple[Command, ...]:
    """Return the commands that do something in a run with these settings."""
    works = {
        "spoken": len(settings.sources) > 1,
        "target": len(settings.targets) > 1,
        "browse": is_served,
        "readers": is_served,
    }
    return tuple(command for command in COMMANDS if works.get(command.action, True))


def listed(commands: Iterable[Command]) -> list[tuple[str, str]]:
    """Return keys and word of the commands that the panel for people lists: those that are not in the footer."""
    others = groupby(
        (command for command in commands if not (command.in_footer or command.for_research)),
        lambda command: command.word,
    )
    return [("/".join(command.keys.split()[0] for command in group), word) for word, group in others]


def bindings() -> list[BindingType]:
    """Return the commands as Textual's bindings."""
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


BIAS_STEP = 0.05
MOST_BIAS = 0.5
"""From here on every draft token is accepted (`livetrans.decoding.verification`)."""


def next_calm(run: Pipeline) -> str:
    settings, names = run.settings, list(CALM)
    if not settings.is_calm_method:
        method = settings.decoding.method
        return f"calm settings are for --method window, and this run's method is {method}; m moves mask-k"
    name = names[(names.index(settings.calm) + 1) % len(names)] if settings.calm else names[0]
    run.change("calm", name)
    return f"calm: {name}"


def move_mask(run: Pipeline, step: int) -> str:
    mask = run.change("mask_k", max(0, run.settings.mask.k + step)).mask
    return f"mask-k {mask.k}" + ("" if mask.mode != "none" else " (masking is off in this run)")


def move_bias(run: Pipeline, step: int) -> str:
    bias = run.settings.decoding.bias
    if step > 0 and bias >= MOST_BIAS:
        return f"bias {bias:.2f}: more changes nothing, the whole draft is accepted"
    bias = min(MOST_BIAS, max(0.0, round(bias + step * BIAS_STEP, 2)))
    return f"bias {run.change('bias', bias).decoding.bias:.2f}"


def next_target(run: Pipeline) -> str:
    code = _next(run.settings.targets)
    if code is None:
        return "only one caption language; start with --to de,fr"
    run.change("target", code)
    return f"captions in {name_of(code)}"


def next_spoken(run: Pipeline, detected: str | None) -> str:
    """Go to the next spoken language, `auto` among them; from `auto`, to a `detected` one that is not in the list."""
    sources = run.settings.sources
    is_new = AUTO in sources and detected is not None and detected not in sources
    code = (detected if is_new else None) or _next(sources)
    if code is None:
        return "only one spoken language; start with --from en,fr"
    run.change("source", code)
    return "spoken language: detected" if code == AUTO else f"spoken language: {name_of(code)}"


def _next(codes: Sequence[str]) -> str | None:
    return codes[1] if len(codes) > 1 else None


def languages_of(settings: Settings, detected: str | None) -> str:
    """Return `en → de`; `auto (French) → de` where that is detected; `en → de (t: fr)` where a key shows another; and
    `en → de, me: de → en` in a run of two tracks."""
    spoken, others = settings.source_language, ", ".join(settings.targets[1:])
    heard = f"{spoken} ({name_of(detected)})" if spoken == AUTO and detected else spoken
    theirs = f"{heard} → {settings.target_language}" + (f" (t: {others})" if others else "")
    if not settings.meeting:
        return theirs
    mine = settings.for_microphone()
    is_written = mine.source_language == mine.target_language
    return f"{theirs}, {settings.meeting.names[0]}: {mine.source_language}" + (
        "" if is_written else f" → {mine.target_language}"
    )


def name_of(code: str) -> str:
    """Return the English name of a language; an unknown code stays as it is."""
    language = LANGUAGES.get(code.lower())
    return language.name if language else code


def save_transcript(save: Callable[[], Sequence[Path]] | None, *, is_growing: bool) -> str:
    """Call `save`; return what came of it. `is_growing`: a caption is not finished yet."""
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
    return f"saved as {names} and .srt in {paths[0].parent}{without}"
