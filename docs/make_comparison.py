"""Makes docs/comparison.svg: the same speech captioned by re-translation, by the paper's SSBD and by livetrans.

python docs/make_comparison.py

Each column replays recordings/talk.flac from its beginning with the models in this tree, as with --speed max: captions
are the same every time, and appear when their sound has been heard. All have the default mask; punctuation marks count.
The part was chosen by a rule: of all runs of whole sentences of 10 to 15 seconds in the seven recordings, it is the one
in which the share of words that each method takes back is nearest to its share in all recordings together.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from livetrans.audio.file import AudioFile
from livetrans.base.clock import SystemClock
from livetrans.base.sequences import common_prefix_length
from livetrans.config import preset_of, with_field
from livetrans.events import AudioChunk, Caption, Event
from livetrans.metrics.captions import ScreenErasure, screen_units
from livetrans.models.chosen import choose_models
from livetrans.run.opening import open_audio, open_translating

TREE = Path(__file__).parents[1]
BEGIN, END, LOOP, FLASH = 24.4, 40.8, 20.4, 0.5  # Seconds: of the recording; of the picture; of words in colour.
METHODS = {"rt": "Re-translation", "paper": "SSBD, the paper’s method", "window": "livetrans"}
PAGE, RULE, TEXT, QUIET, NEW, BACK = "#12171f", "#2b3440", "#dfe4ea", "#8b96a5", "#6fd3bd", "#ff8f80"
LARGE, STRUCK = 'font-size="38" font-weight="bold"', f'fill="{BACK}" text-decoration="line-through"'
MARGIN, INSIDE, TOP, COLUMN, LEFTS = 28, 774, 152, 234, (28, 298, 568)  # In pixels, of 830.
SIZE, LINE, PARAGRAPH = 16, 25, 9  # Height of letters, distance of lines, and more of it between sentences.
# Widths of letters in Helvetica, Arial and Liberation Sans, in thousandths of their size; others have 556.
WIDTHS = dict.fromkeys("ijl’", 222) | dict.fromkeys(" !,./:;Itf", 278) | dict.fromkeys("()-r", 333)
WIDTHS |= dict.fromkeys("Jckvxyzs", 500) | dict.fromkeys("FTZß", 611) | dict.fromkeys("AÄBEKPSVXY", 667)
WIDTHS |= dict.fromkeys("CDHNRUÜw", 722) | dict.fromkeys("GOÖQ", 778) | dict.fromkeys("Mm", 833) | {"W": 944}


class Shown(NamedTuple):
    """A word or punctuation mark while it stays in one place."""

    text: str
    x: float
    y: float
    since: float
    until: float = LOOP
    is_taken_back: bool = False


def width_of(text: str) -> float:
    return sum(WIDTHS.get(letter, 556) for letter in text) * SIZE / 1000


def lay_out(sentences: Sequence[str]) -> list[tuple[str, float, float]]:
    """Return the words and punctuation marks of wrapped sentences, each of which begins a line, with their places."""
    units, y = list[tuple[str, float, float]](), 0.0
    for sentence in sentences:
        x = 0.0
        for word in sentence.split():
            if x and x + width_of(word) > COLUMN:
                x, y = 0.0, y + LINE
            for text in screen_units(word):
                units.append((text, x, y))
                x += width_of(text)
            x += width_of(" ")
        y += LINE + PARAGRAPH
    return units


def watch(captions: Sequence[tuple[float, Caption]]) -> tuple[list[Shown], dict[int, float]]:
    """Take captions with their instants; return what is shown, and each count of words retracted with its instant."""
    screen, sentences, gone, here, counts = ScreenErasure(), dict[int, str](), list[Shown](), list[Shown](), {0: 0.01}
    for at, caption in captions:
        sentences[caption.segment_id] = caption.text
        before, here = here, [Shown(*unit, at) for unit in lay_out([sentences[key] for key in sorted(sentences)])]
        kept = common_prefix_length([shown.text for shown in before], [shown.text for shown in here])
        for index, shown in enumerate(before):
            if index < kept and shown[:3] == here[index][:3]:
                here[index] = shown
            else:
                gone.append(shown._replace(until=at, is_taken_back=index >= kept))
        screen.add(caption)
        counts.setdefault(screen.erased_units, at)
    return gone + here, counts


def animate(attribute: str, *frames: tuple[float, object], mode: str = "linear") -> str:
    times, values = ";".join(f"{at / LOOP:.4f}" for at, _ in frames), ";".join(str(value) for _, value in frames)
    loop = f'dur="{LOOP:g}s" repeatCount="indefinite"'
    return f'<animate attributeName="{attribute}" {loop} calcMode="{mode}" keyTimes="{times}" values="{values}"/>'


def write(x: float, y: float, text: str, more: str = "", since: float = 0, until: float = LOOP, new: str = "") -> str:
    """Write a text that is shown for a time, first in a colour of its own; without animation the loop's end is seen."""
    inner = animate("fill", (0, new), (since + FLASH, new), (since + 2 * FLASH, TEXT), (LOOP, TEXT)) if new else ""
    inner += animate("opacity", (0, 0), (since, 1), (until, int(until == LOOP)), mode="discrete") if since else ""
    return f'<text x="{x:.1f}" y="{y:g}" opacity="{int(until == LOOP)}" {more}>{escape(text)}{inner}</text>'


def draw(replays: Sequence[Sequence[tuple[float, Caption]]]) -> str:
    """Draw a column for each replay, below the speech that is heard and a bar that grows with its time."""
    columns = [watch(captions) for captions in replays]
    floor = TOP + 24 + max(shown.y for column, _ in columns for shown in column)
    bar = f'<rect x="{MARGIN}" y="60" height="3" rx="1.5" width="{INSIDE}" fill'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 830 {floor + 88:g}" width="830" height="{floor + 88:g}"',
        f' font-family="Helvetica, Arial, sans-serif" font-size="{SIZE}" fill="{TEXT}">',
        f'<rect width="100%" height="100%" rx="12" fill="{PAGE}"/>{bar}="{RULE}"/>',
        f'{bar}="{QUIET}">{animate("width", (0, 0), (END - BEGIN, INSIDE), (LOOP, INSIDE))}</rect>',
    ]
    heard = [*((at, caption.source) for at, caption in replays[0]), (LOOP, "")]
    parts += [write(MARGIN, 42, source, "", since, until) for (since, source), (until, _) in pairwise(heard)]
    for left, name, (column, counts) in zip(LEFTS, METHODS.values(), columns, strict=True):
        parts.append(f'<path d="M{left - 18} 88V{floor + 64:g}" stroke="{RULE if left > MARGIN else PAGE}"/>')
        parts.append(write(left, 108, name, 'font-weight="bold"'))
        for text, x, y, since, until, is_taken_back in column:
            going = max(since, until - FLASH) if is_taken_back else until
            exact = f'textLength="{width_of(text):.1f}" lengthAdjust="spacingAndGlyphs" ' if len(text) > 1 else ""
            parts.append(write(left + x, TOP + y, text, exact, since, going, NEW))
            if is_taken_back:
                parts.append(write(left + x, TOP + y, text, exact + STRUCK, going, until))
        for (count, since), (_, until) in pairwise([*counts.items(), (0, LOOP)]):
            parts.append(write(left, floor + 42, str(count), LARGE, since, until, BACK if count else ""))
        parts.append(write(left, floor + 64, "words retracted", f'font-size="13" fill="{QUIET}"'))
    return "\n".join([*parts, "</svg>\n"])


def replay(method: str) -> list[tuple[float, Caption]]:
    """Return the captions of the part, each with the time of the part that had been heard."""
    clock, chunks, captions = SystemClock(), list[AudioChunk](), list[tuple[float, Caption]]()
    sound = AudioFile(TREE / "recordings/talk.flac", clock, real_time=False)
    settings = with_field(preset_of("balanced", method), "transcriber.adaptive", False)
    settings = with_field(settings, "recogniser.model", TREE / "models/livetrans-recogniser-en")
    settings = choose_models(with_field(settings, "language_model.model", TREE / "models/livetrans-en-de.q8_0.gguf"))

    def publish(event: Event) -> None:
        if isinstance(event, Caption) and BEGIN <= event.start < END:
            captions.append((chunks[-1].end - BEGIN, event))

    listening = open_audio(sound, settings, clock, publish, chunks.append)
    translating = open_translating(settings, clock, publish)
    for transcript in listening.transcripts:
        translating.translate(transcript, settings, publish)
    return captions


if __name__ == "__main__":
    (TREE / "docs/comparison.svg").write_text(draw([replay(method) for method in METHODS]), encoding="utf-8")
