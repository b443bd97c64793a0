"""Unsure words that wait, beside a run that shows every word: unbroken speech and the recordings, in one table.

    python -m tests.benchmarks.sure_words FOLDER [--sets five,own,own+,recordings,japanese] [--sure 0,0.5] [--curve]
        [-- OPTIONS]

FOLDER keeps the sound, and what the recogniser heard in each pass: another run of the same passes costs little.
`five` are twelve sentences of Tatoeba in five voices, without marks and pauses; `own` and `own+` three texts of this
page in six voices, four of which no set used before, once each in either; `japanese` is `five` with the
English-Japanese model among the instruments in LIVETRANS_SHARED. A pass takes 30 ms and a translation 8 ms of a clock
of its own, so the figures are the same on every machine. `--curve` tells how often uncommitted words are right, by the
product of their probabilities.
"""

from __future__ import annotations

import argparse
import hashlib
import pickle
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from itertools import accumulate
from operator import mul
from pathlib import Path
from statistics import mean, median
from typing import Any
from unittest.mock import patch

from livetrans import cli
from livetrans.base.sequences import common_prefix_length
from livetrans.cli import replay
from livetrans.events import Caption, Record, Transcript, Translation, Word
from livetrans.metrics.captions import ScreenErasure, TranslationLag, screen_units
from livetrans.metrics.latency import percentile
from livetrans.run import opening
from livetrans.run.translating import Translating
from livetrans.session.codec import read_records
from livetrans.speech.words import OpenSegments, comparison_form
from tests.benchmarks.every_set import ROOT, SHARED, UNBROKEN, VOICES, pairs

PASS_SECONDS, TRANSLATION_SECONDS = 0.03, 0.008
TEXTS = {
    "harbour": (
        "the ferry leaves the harbour a little before seven and my sister always wants to stand outside although the "
        "wind is cold in autumn she says that the air wakes her up better than coffee and perhaps she is right when we "
        "are past the lighthouse the water gets rough and most people go inside to sit near the heater an old man who "
        "travels every week told us that he once saw a whale from this deck but nobody believed him when he came home "
        "so he bought a camera and now he takes pictures of every wave on the island we rent bicycles and ride along "
        "the coast until we find a quiet beach where we eat our bread and cheese and wait for the boat that takes us "
        "back in the evening"
    ),
    "office": (
        "our new office is on the fourth floor of a building that used to be a school and you can still see where the "
        "children wrote their names on the wooden doors the manager wanted to paint over them but everybody asked her "
        "to leave them there so now visitors stop and read them while they wait my desk is next to a large window and "
        "in the afternoon the sun makes it hard to read the screen so I walk down to the kitchen and make some tea "
        "last week the computers did not work for two days and we had to call our customers and explain why their "
        "orders would be late most of them were friendly and one even sent us a box of apples because she was sorry "
        "for us"
    ),
    "village": (
        "when my grandfather was young there was only one telephone in the village and it belonged to the woman who "
        "sold the newspapers if somebody called she sent her son to run across the fields and find the right house and "
        "the caller had to wait for a quarter of an hour nobody thought that this was strange he told me that he asked "
        "my grandmother to marry him on that telephone and that six people were standing behind him and listening to "
        "every word she said that she needed time to think and he heard the others laugh three days later a letter "
        "came with her answer and the boy who brought it already knew what was written inside because he had met the "
        "postman on the road"
    ),
}
OWN = {
    "own": (
        ("harbour", "espeak-ng", "en-gb"),
        ("harbour", "flite", "awb"),
        ("office", "espeak-ng", "en-us+m3"),
        ("office", "flite", "slt"),
        ("village", "espeak-ng", "en-gb-scotland"),
        ("village", "flite", "rms"),
    ),
    "own+": (
        ("harbour", "espeak-ng", "en-us+m3"),
        ("harbour", "flite", "slt"),
        ("office", "espeak-ng", "en-gb-scotland"),
        ("office", "flite", "rms"),
        ("village", "espeak-ng", "en-gb"),
        ("village", "flite", "awb"),
    ),
}
"""A set whose name ends in `+` is held apart: no setting was chosen on it."""
SETS = ("five", "own", "own+", "recordings", "japanese")


class Clock:
    """Seconds waited, and those that passes and translations take."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += max(seconds, 0.0)


@dataclass
class Bench:
    """The command, with a clock, a recogniser that remembers its passes, and the threshold of a variant."""

    passes: Path
    clock: Clock
    sure: float = 0.0

    def install(self) -> None:
        """Put the parts into the command of this process."""
        replay.SystemClock = lambda: self.clock  # type: ignore[assignment, misc]
        replay.ReplayClock = lambda clock: clock  # type: ignore[assignment, misc]
        replay.run_live = replay.run_at_once  # type: ignore[assignment]
        opened, translate = opening.open_recogniser, Translating.translate

        def translate_in_time(translating: Any, *given: Any, **named: Any) -> Any:
            self.clock.sleep(TRANSLATION_SECONDS)
            return translate(translating, *given, **named)

        Translating.translate = translate_in_time  # type: ignore[method-assign]

        def open_remembering(*given: Any, **named: Any) -> Any:
            recogniser = opened(*given, **named)
            kind, bench = type(recogniser), self

            def recognise(self: Any, samples: Any, **named: Any) -> Any:
                bench.clock.sleep(PASS_SECONDS)
                key = hashlib.sha256(samples.tobytes() + repr(sorted(named.items())).encode()).hexdigest()
                if key not in bench.heard:
                    bench.heard[key] = replace(kind.recognise(self, samples, **named), likelihood=None)
                return bench.heard[key]

            recogniser.__class__ = type("Remembering", (kind,), {"recognise": recognise})
            recogniser.sure = bench.sure
            return recogniser

        opening.open_recogniser = open_remembering

    def records(self, sound: Path, options: Sequence[str]) -> list[Record]:
        """Return what a replay of the sound published."""
        known = self.passes / f"{sound.stem}.pickle"
        self.heard: dict[str, Any] = pickle.loads(known.read_bytes()) if known.exists() else {}
        before = len(self.heard)
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()), redirect_stderr(StringIO()) as said:
            events = Path(folder) / "events.jsonl"
            code = cli.run(["replay", str(sound), "--plain", "--no-session", "--jsonl", str(events), *options])
            if code:
                raise SystemExit(said.getvalue())
            found = list(read_records(events))
        if len(self.heard) > before:
            known.write_bytes(pickle.dumps(self.heard))
        return found


@dataclass(frozen=True)
class Figures:
    """What a viewer had of a recording; lags in seconds, one for each word."""

    erased: int
    units: int
    lags: Sequence[float]
    right: float
    """Share of the shown growing words that the segment's last caption has."""
    updates: int
    heard: str
    """Source words of the finals."""

    @property
    def ne(self) -> float:
        return self.erased / max(self.units, 1)


def figures_of(records: Iterable[Record]) -> Figures:
    """Return the figures of a run."""
    screen, lag, lags, updates, heard = ScreenErasure(), TranslationLag(), [], 0, []
    growing: dict[int, list[list[str]]] = defaultdict(list)
    right = shown = 0
    for record in records:
        event = record.event
        updates += isinstance(event, Translation)
        if isinstance(event, Transcript) and event.final:
            heard += [comparison_form(word) for word in event.text.split()]
        if not isinstance(event, Caption):
            continue
        screen.add(event)
        for some in lag.add(event, record.at):
            lags += some
        words = [unit for unit in screen_units(event.text) if unit.isalnum()]
        if not event.final:
            growing[event.segment_id].append(words)
            continue
        for before in growing.pop(event.segment_id, []):
            shown += len(before)
            right += sum((Counter(before) & Counter(words)).values())
    return Figures(screen.erased_units, screen.units, lags, right / max(shown, 1), updates, " ".join(heard))


def sounds_of(name: str, folder: Path) -> Iterator[Path]:
    """Yield the recordings of a set, spoken now if they are not there yet."""
    if name == "recordings":
        yield from sorted((ROOT / "recordings").glob("*.flac"))
        return
    folder.mkdir(parents=True, exist_ok=True)
    sentences = " ".join(source.rstrip(".?!") for source, _ in pairs(UNBROKEN)[:12])
    unmarked = "".join(mark for mark in sentences if mark.isalnum() or mark in " '")
    spoken = (
        [(text, program, voice, TEXTS[text]) for text, program, voice in OWN[name]]
        if name in OWN
        else [("five", program, voice, unmarked) for program, voice in VOICES]
    )
    for title, program, voice, text in spoken:
        sound = folder / f"{title}-{voice}.wav"
        speak = (
            ["flite", "-voice", voice, "-t", text, "-o"]
            if program == "flite"
            else ["espeak-ng", "-v", voice, text, "-w"]
        )
        if not sound.exists():
            subprocess.run([*speak, str(sound)], check=True)
        yield sound


def row(name: str, found: Sequence[Figures]) -> str:
    """Return a row: NE by recording and its mean, then lags of all words, and the rest."""
    lags = sorted(lag for one in found for lag in one.lags)
    cells = [
        name,
        " ".join(f"{one.ne:.3f}"[1:] if one.ne < 1 else f"{one.ne:.2f}" for one in found),
        f"{mean(one.ne for one in found):.3f}",
        *((f"{median(lags):.2f}", f"{mean(lags):.2f}", f"{percentile(lags, 0.9):.2f}") if lags else ("", "", "")),
        f"{mean(one.right for one in found):.3f}",
        str(sum(one.updates for one in found)),
        str(sum(len(one.heard.split()) for one in found)),
    ]
    return f"| {' | '.join(cells)} |"


class Curve:
    """How often the uncommitted words up to one are right, by the product of their probabilities.

    Right are the words that are committed in the same places, those before them included.
    """

    def __init__(self) -> None:
        self.bins: dict[int, list[bool]] = defaultdict(list)
        """Of each tenth of the product, whether its words were right."""
        self._committed: list[str] = []
        self._tails: list[tuple[int, Sequence[Word]]] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Take the words of every pass as long as the context lasts; then those of one transcriber are compared."""
        take = OpenSegments.take

        def taking(segments: OpenSegments, newly: Any, tail: Any, *given: Any) -> None:
            self._committed += (comparison_form(word.text) for word in newly)
            self._tails.append((len(self._committed), tail))
            take(segments, newly, tail, *given)

        with patch.object(OpenSegments, "take", taking):
            yield
        for place, tail in self._tails:
            forms = [comparison_form(word.text) for word in tail]
            kept = common_prefix_length(forms, self._committed[place:])
            for at, chance in enumerate(accumulate((word.probability for word in tail), mul)):
                self.bins[min(int(chance * 10), 9)].append(at < kept)
        self._committed, self._tails = [], []

    def right(self, least: float, most: float = 1.1) -> tuple[float | None, int]:
        """Return the share of right words with a product from `least` to less than `most`, and how many words."""
        found = [one for tenth, words in self.bins.items() if least <= tenth / 10 < most for one in words]
        return mean(found) if found else None, len(found)

    def __str__(self) -> str:
        tenths = sorted(self.bins)
        rows = {
            "product from": [f"{one / 10}" for one in tenths],
            "---": ["---:"] * len(tenths),
            "right": [f"{mean(self.bins[one]):.2f}" for one in tenths],
            "words": [str(len(self.bins[one])) for one in tenths],
        }
        return "\n".join(f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--speeds", default="real,max")
    parser.add_argument("--sure", default="0,0.5")
    parser.add_argument("--curve", action="store_true")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    chosen, more = parser.parse_args(sys.argv[1:end]), sys.argv[end + 1 :]
    chosen.folder.mkdir(parents=True, exist_ok=True)
    bench, curve = Bench(chosen.folder, Clock()), Curve()
    bench.install()
    speeds = {"real": ("--speed", "real", "--no-speedup"), "max": ("--speed", "max")}
    print("| speech | sure | NE of the screen | mean | lag, median | mean | 90 % | right meanwhile | updates | words |")
    print("|---|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for name in chosen.sets.split(","):
        options = ["--from", "en", "--to", "de", *more]
        if name == "japanese":
            options = [
                "--from",
                "en",
                "--to",
                "ja",
                "--mt",
                str(SHARED / "instruments" / "en-ja.plain.q8_0.gguf"),
                *more,
            ]
        for speed in chosen.speeds.split(","):
            words: set[tuple[str, ...]] = set()
            for sure in map(float, chosen.sure.split(",")):
                found = []
                for sound in sounds_of(name, chosen.folder / "sounds"):
                    bench.clock.seconds, bench.sure = 0.0, sure
                    with curve.watching():
                        found.append(figures_of(bench.records(sound, [*speeds[speed], *options])))
                words.add(tuple(one.heard for one in found))
                print(row(f"{name}, {'pace of speech' if speed == 'real' else 'full speed'} | {sure:g}", found))
                sys.stdout.flush()
            if len(words) > 1:
                print(f"The finals of {name} differ.")
    if chosen.curve:
        print(f"\n{curve}")


if __name__ == "__main__":
    main()
