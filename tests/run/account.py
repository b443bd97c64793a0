"""What the events of a run say, counted as simply as it can be, to compare with what the run itself counts."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Any

import numpy as np
import pytest

from livetrans.config import Settings
from livetrans.events import Caption, Coalesced, Event, Record, RunEnded, Transcript, Translation
from livetrans.metrics.monitor import Monitor


def erased(before: Sequence[object], after: Sequence[object]) -> int:
    """Return how much of `before` has to be taken back to write `after`."""
    return next((len(before) - place for place, one in enumerate(before) if after[place : place + 1] != [one]), 0)


def erasure_of(updates: Iterable[Translation | Caption]) -> float | None:
    """Return NE over segments with a final, in tokens."""
    outputs: dict[int, list[list[int]]] = defaultdict(list)
    finished = set()
    for update in updates:
        outputs[update.segment_id].append([*update.tokens])
        finished |= {update.segment_id} if update.final else set()
    taken_back = sum(erased(*pair) for segment in finished for pair in pairwise(outputs[segment]))
    written = sum(len(outputs[segment][-1]) for segment in finished)
    return taken_back / written if written else None


def screen_erasure_of(captions: Iterable[Caption]) -> float | None:
    """Return NE of the screen, on which the captions stand one after the other."""
    rows: dict[int, list[str]] = {}
    screen: list[str] = []
    taken_back = 0
    for caption in captions:
        rows[caption.segment_id] = re.findall(r"\w+|[^\w\s]", caption.text)
        before, screen = screen, [unit for segment in sorted(rows) for unit in rows[segment]]
        taken_back += erased(before, screen)
    return taken_back / len(screen) if screen else None


def lags_of(captions: Sequence[tuple[float, Caption]]) -> list[float]:
    """Return how long after each word of each finished source its share of the final could be read for good."""
    segments: dict[int, list[tuple[float, Caption]]] = defaultdict(list)
    for at, caption in captions:
        segments[caption.segment_id].append((at, caption))
    lags = []
    for shown in segments.values():
        spoken: list[float] = []
        for _, one in shown:
            count = len(words_of(one.source))
            if one.captured_at is None or not count:
                continue
            spoken = spoken[: count - 1]
            since = spoken[-1] if spoken else one.captured_at - (one.end - one.start)
            spoken += np.linspace(since, one.captured_at, count - len(spoken) + 1)[1:].tolist()
        texts, source = [words_of(one.text) for _, one in shown], words_of(shown[-1][1].source)
        for place, end in enumerate(spoken[: len(source)], start=1):
            wanted = texts[-1][: math.ceil(len(texts[-1]) * place / len(source))]
            if shown[-1][1].final and wanted:
                standing = [*takewhile(lambda text: text[: len(wanted)] == wanted, reversed(texts))]  # noqa: B023
                lags.append(shown[-len(standing)][0] - end)
    return sorted(lags)


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+(?:[-'’.,:]\w+)*", text)


class Account:
    """The events of a run, checked one by one."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.events: list[Event] = []
        self.transcripts: dict[int, list[Transcript]] = defaultdict(list)
        self.finals: list[Transcript] = []
        self.coalesced: set[tuple[int, int]] = set()
        self.outputs: dict[str | None, list[Translation]] = defaultdict(list)
        self.captions: dict[str | None, list[tuple[float, Caption]]] = defaultdict(list)
        """By language, or of the microphone's track under its name; with the time of each."""
        self.newest: dict[tuple[str | None, int], Caption] = {}
        self.last = -math.inf

    def add(self, record: Record) -> None:
        assert record.at >= self.last and not self.of(RunEnded)
        self.last = record.at
        self.events.append(record.event)
        match record.event:
            case Transcript(segment_id=segment) as transcript:
                before = self.transcripts[segment]
                assert segment == max(self.transcripts) or before, "segments are numbered in order"
                assert transcript.revision == len(before)
                assert all(not one.final and one.track == transcript.track for one in before)
                before.append(transcript)
                self.finals += [transcript] * transcript.final
            case Coalesced(segment_id=segment, revision=revision):
                self.coalesced.add((segment, revision))
            case Translation() as translation:
                self.outputs[self.place_of(translation)].append(translation)
            case Caption(segment_id=segment, revision=revision) as caption:
                before_it = self.newest.get((self.place_of(caption), segment))
                assert caption.transcript == self.transcripts[segment][revision]
                assert (segment, revision) not in self.coalesced
                assert before_it is None or before_it.revision < revision
                assert not caption.final or bool(caption.text) == bool(caption.source)
                self.newest[self.place_of(caption), segment] = caption
                self.captions[self.place_of(caption)].append((record.at, caption))

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def place_of(self, event: Translation | Caption) -> str | None:
        return "me" if self.settings.is_microphone(event.track) else event.language

    def check_order(self) -> None:
        """Finals of a language come in the order in which they were heard."""
        order = {final.segment_id: place for place, final in enumerate(self.finals)}
        for captions in self.captions.values():
            places = [order[caption.segment_id] for _, caption in captions if caption.final]
            assert places == sorted(places)

    def check_figures(self, monitor: Monitor) -> None:
        for language in self.settings.targets:
            figures, captions = monitor.snapshot(language), self.captions[language]
            shown = [caption for _, caption in captions]
            lags = lags_of(captions)
            assert figures.ne_screen == pytest.approx(screen_erasure_of(shown))
            assert figures.ne_shown == pytest.approx(erasure_of(shown))
            assert figures.ne_raw == pytest.approx(erasure_of(self.outputs[language]))
            assert figures.segments == sum(caption.final for caption in shown)
            assert figures.updates == len(self.outputs[language])
            assert figures.coalesced_updates == len(self.coalesced)
            assert figures.lag_median == pytest.approx(lags[(len(lags) - 1) // 2] if lags else None)

    def growing(self, place: str | None) -> set[int]:
        """Return the segments that have no final in a language."""
        return set(self.transcripts) - {caption.segment_id for _, caption in self.captions[place] if caption.final}

    def lacking(self, places: Mapping[str | None, Sequence[str | None]]) -> list[Transcript]:
        """Return the finals that lack a caption in one of the languages of their track."""
        return [one for one in self.finals if any(one.segment_id in self.growing(place) for place in places[one.track])]
