"""How far a benchmark is, and how long it will take, on standard error."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from livetrans.bench.corpora import Corpus, CorpusSegment
from livetrans.bench.duration import Expectation, in_words, work_of
from livetrans.bench.methods import QUICK_REPEATS, QUICK_SENTENCES
from livetrans.bench.run import OnUnit, units
from livetrans.bench.runfile import Header
from livetrans.cli.common import progress_bar, say, say_above
from livetrans.clock import SystemClock

WORTH_SAYING = 20.0
"""Seconds: a shorter run is over before its duration is read."""
WORTH_QUICK = 180.0
"""Seconds from which `--quick` is offered."""


@contextmanager
def show_progress(
    corpus: Corpus, header: Header, done: Collection[tuple[int, int, str]] = (), *, kept: bool = True
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
    left = [
        segment
        for repeat, segment, method in units(corpus, header.methods, header.repeats)
        if (repeat, segment.segment.segment_id, method.label) not in done
    ]
    # Whole turns: every method, so that slow and fast ones count alike.
    expectation = Expectation(SystemClock(), work_of(left), work_of(left[: 2 * len(header.methods)]))
    quick = QUICK_REPEATS * len(header.methods) * work_of(corpus.segments[:QUICK_SENTENCES])
    whole = header.repeats * len(header.methods) * work_of(corpus.segments)
    with progress_bar() as progress:
        finished = len(done)
        task = progress.add_task(f"{finished} of {steps} steps", total=whole, completed=whole - work_of(left))

        def advance(segment: CorpusSegment) -> None:
            nonlocal finished
            finished += 1
            work = work_of([segment])
            progress.update(task, advance=work, description=f"{finished} of {steps} steps")
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
