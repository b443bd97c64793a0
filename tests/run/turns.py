"""Threads that take turns: one runs at a time, a seed says which is next, and time passes only when all of them wait.

`Turns` stands in for the module `threading` in the modules of a run, and is the run's clock. So minutes of a run take a
fraction of a second, threads meet in any order, and the same seed gives the same run.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable
from queue import Empty
from random import Random
from typing import Any

import pytest

MODULES = [f"livetrans.run.{name}" for name in ("listening", "opening", "pipeline", "publisher", "runner", "tracks")]
YIELDS = 0.2
"""Share of the free locks at which another thread may come first."""


class Killed(BaseException):
    """Ends a thread of a run that was killed."""


class Turns:
    """The threads, the clock, and what `threading` and `queue` give to a module.

    The thread that makes it takes part.
    """

    def __init__(self, seed: int) -> None:
        self._chance = Random(seed)
        self._now = 0.0
        self.is_killed = False
        self._main = self.running = Thread(self, lambda: None)
        self._threads = [self._main]
        self.current_thread = threading.current_thread

    def patch(self, patch: pytest.MonkeyPatch) -> None:
        """Take the place of `threading` and the queues in the modules of a run."""
        for module in MODULES:
            patch.setattr(f"{module}.threading", self, raising=False)
        patch.setattr("livetrans.run.publisher.Queue", self.Queue)
        patch.setattr("livetrans.audio.live.SimpleQueue", self.Queue)

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self.wait(lambda: False, max(seconds, 0.0))

    def jump(self, seconds: float) -> None:
        """Move the clock, as it moves while the machine sleeps."""
        self._now += seconds

    def wait(self, is_ready: Callable[[], object], seconds: float = math.inf) -> None:
        """Let other threads run until the condition holds, or for `seconds`."""
        self.running.is_ready, self.running.due = is_ready, self._now + seconds
        self._pass_on(self.running)

    def settle(self) -> None:
        """Wait until every other thread waits."""
        self.wait(lambda: not any(self._is_able(one) for one in self._threads if one is not self._main))

    def yields(self) -> bool:
        """Return whether another thread comes first."""
        return self._chance.random() < YIELDS

    def others(self) -> list[str]:
        """Return the names of the threads that have not ended, without the caller's."""
        return [thread.name for thread in self._threads if thread is not self.running]

    def begin(self, thread: Thread) -> None:
        self._threads.append(thread)
        threading.Thread(target=self._run, args=(thread,), name=thread.name, daemon=True).start()

    def kill(self) -> None:
        """End all threads where they are."""
        self.is_killed = True
        for thread in self._threads[1:]:
            self.running = thread
            thread.baton.release()
            self._main.baton.acquire()
        assert self._threads == [self._main]
        self.running = self._main

    def _run(self, thread: Thread) -> None:
        thread.baton.acquire()
        try:
            if not self.is_killed:
                thread.work()
        except Killed:
            pass
        finally:
            self._threads.remove(thread)
            self.running = self._next()
            self.running.baton.release()

    def _pass_on(self, thread: Thread) -> None:
        if not self.is_killed:
            self.running = self._next()
            if self.running is not thread:
                self.running.baton.release()
                thread.baton.acquire()
        if self.is_killed:
            raise Killed

    def _is_able(self, thread: Thread) -> bool:
        return thread.due <= self._now or bool(thread.is_ready())

    def _next(self) -> Thread:
        if self.is_killed:
            return self._main
        while not (able := [one for one in self._threads if self._is_able(one)]):
            self._now = min(one.due for one in self._threads)
            assert self._now < math.inf, "every thread waits for another"
        return self._chance.choice(able)

    def Thread(
        self, target: Callable[..., None], args: tuple[Any, ...] = (), name: str = "", daemon: bool = True
    ) -> Thread:
        return Thread(self, lambda: target(*args), name)

    def Condition(self) -> Condition:
        return Condition(self)

    Lock = Condition

    def Event(self) -> Event:
        return Event(self)

    def Queue(self) -> Queue:
        return Queue(self)


class Thread:
    """A thread, and how it waits."""

    def __init__(self, turns: Turns, work: Callable[[], None], name: str = "main") -> None:
        self._turns, self.work, self.name = turns, work, name
        self.baton = threading.Semaphore(0)
        self.is_ready: Callable[[], object] = lambda: True
        self.due = math.inf

    def start(self) -> None:
        self._turns.begin(self)

    def join(self) -> None:
        self._turns.wait(lambda: self not in self._turns._threads)


class Condition:
    """A condition with its lock, which its owner may take again; also a lock."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._owner: Thread | None = None
        self._depth = 0
        self._waiting: list[list[bool]] = []

    def __enter__(self) -> None:
        if self._owner is not self._turns.running:
            self._take()
        self._depth += 1

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None

    def _take(self) -> None:
        if not self._turns.is_killed and (self._owner or self._turns.yields()):
            self._turns.wait(lambda: self._owner is None)
        self._owner = self._turns.running

    def wait_for(self, predicate: Callable[[], object], timeout: float | None = None) -> object:
        """Wait as `threading.Condition` does: the predicate is looked at when somebody has notified."""
        due = math.inf if timeout is None else self._turns.now() + timeout
        while not (result := predicate()) and self._turns.now() < due:
            self.wait(due - self._turns.now())
        return result

    def wait(self, timeout: float) -> bool:
        """Return whether somebody has notified."""
        notified: list[bool] = []
        self._waiting.append(notified)
        depth, self._depth, self._owner = self._depth, 0, None
        self._turns.wait(lambda: notified and not self._owner, timeout)
        self._take()
        self._depth = depth
        return bool(notified)

    def notify_all(self) -> None:
        for notified in self._waiting:
            notified.append(True)
        self._waiting.clear()


class Event:
    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True

    def wait(self, timeout: float | None = None) -> bool:
        self._turns.wait(self.is_set, math.inf if timeout is None else timeout)
        return self._is_set


class Queue:
    """A queue of any length."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._items: deque[Any] = deque()
        self.unfinished_tasks = 0
        self.all_tasks_done = Condition(turns)

    def put(self, item: Any) -> None:
        self._items.append(item)
        self.unfinished_tasks += 1

    def get(self, timeout: float = math.inf) -> Any:
        self._turns.wait(lambda: self._items, timeout)
        if not self._items:
            raise Empty
        return self._items.popleft()

    def qsize(self) -> int:
        return len(self._items)

    def task_done(self) -> None:
        self.unfinished_tasks -= 1
        if not self.unfinished_tasks:
            with self.all_tasks_done:
                self.all_tasks_done.notify_all()
