"""How far a benchmark is, and how long it will take, on standard error.

The time of an update grows with the text that is written, so time is taken as proportional to the characters of the
sources. A small part of a run gives an estimate, since sentences and machines differ.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from livetrans.bench.corpora import Corpus, CorpusSegment
from livetrans.bench.methods import QUICK_REPEATS, QUICK_SENTENCES
from livetrans.bench.run import OnUnit, tasks
from livetrans.bench.runfile import Header, Unit
from livetrans.cli.common import progress_bar, say, say_above
from livetrans.clock import Clock, SystemClock

ENOUGH_SECONDS = 20.0
"""With a large model one segment by every method takes minutes: the estimate is made of what was done by then."""
WORTH_SAYING = 20.0
"""Seconds: a shorter run is over before its duration is read."""
WORTH_QUICK = 180.0
"""Seconds from which `--quick` is offered."""


@contextmanager
def show_progress(
    corpus: Corpus, header: Header, done: Collection[Unit] = (), *, kept: bool = True
) -> Iterator[OnUnit]:
    """Say after the first units how long the run takes; where stderr is a terminal, a bar over its steps too.

    A step is a unit: one segment by one method in one repeat. `done` are those that a continued run has already; `kept`
    says whether units stay when the run is stopped.
    """
    steps = len(corpus.segments) * len(header.methods) * header.repeats
    if len(done) == steps:
        say(f"all {steps} steps were done already")
    elif done:
        say(f"{len(done)} of {steps} steps were done; continuing")
    left = [task.segment for task in tasks(corpus, header) if task.unit not in done]
    # Whole turns: every method, so that slow and fast ones count alike.
    expectation = Expectation(SystemClock(), work_of(left), work_of(left[: 2 * len(header.methods)]))
    quick = QUICK_REPEATS * len(header.methods) * work_of(corpus.segments[:QUICK_SENTENCES])
    whole = header.repeats * len(header.methods) * work_of(corpus.segments)
    with progress_bar() as progress:
        finished = len(done)
        bar = progress.add_task(f"{finished} of {steps} steps", total=whole, completed=whole - work_of(left))

        def advance(segment: CorpusSegment) -> None:
            nonlocal finished
            finished += 1
            work = work_of([segment])
            progress.update(bar, advance=work, description=f"{finished} of {steps} steps")
            seconds = expectation.add(work)
            if seconds is None or seconds < WORTH_SAYING:
                return
            text = f"this takes about {in_words(seconds)}"
            if kept:
                text += "; after Ctrl-C the same command continues it"
            if kept and not header.quick and not done and seconds >= WORTH_QUICK and quick < work_of(left):
                text += f"; --quick takes about {in_words(seconds * quick / work_of(left))}"
            say_above(progress, text)

        yield advance


def work_of(segments: Iterable[CorpusSegment]) -> int:
    """Return the characters that one method translates, every update anew."""
    return sum(len(update.source) for segment in segments for update in segment.updates)


class Expectation:
    """The time that units of a known amount of work will take."""

    def __init__(self, clock: Clock, total: int, sample: int) -> None:
        """`total` work is to be done; after `sample` of it, or `ENOUGH_SECONDS`, its time can be estimated."""
        self._clock = clock
        self._began = clock.now()
        self._total = total
        self._sample = sample
        self._done = 0
        self._given = False

    def add(self, work: int) -> float | None:
        """Return the seconds that the whole will take, once; None before enough is done and after."""
        self._done += work
        elapsed = self._clock.now() - self._began
        if self._given or (self._done < self._sample and elapsed < ENOUGH_SECONDS):
            return None
        self._given = True
        return elapsed * self._total / max(self._done, 1)


def in_words(seconds: float) -> str:
    """Return `40 s`, `13 min`, `2.5 h`: no more digits than an estimate has."""
    if seconds < 95:
        return f"{max(5, 5 * round(seconds / 5))} s"
    return f"{round(seconds / 60)} min" if seconds < 95 * 60 else f"{seconds / 3600:.1f} h"
