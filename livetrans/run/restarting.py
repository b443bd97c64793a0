"""A recogniser and a language model that are opened again after their first failure, which is then tried again.

Both ports are given everything anew at each call (a whole buffer, a whole context), so the state of a run is kept by
their callers, and a fresh model goes on where the broken one stopped. A second failure is raised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from livetrans.clock import Clock
from livetrans.errors import ContextError, ModelError, UsageError, sentence
from livetrans.events import Notice
from livetrans.lm.port import Counts, Evaluation, Wrapped
from livetrans.run.publisher import Publish
from livetrans.speech.recogniser import Hypothesis, PassInterrupted, Recogniser

if TYPE_CHECKING:
    from numpy.typing import NDArray

Stage = TypeVar("Stage")
Result = TypeVar("Result")


class _Restarting(Generic[Stage]):
    """What both share: one call at a time, and one restart in a run, of a stage with all that are made of it.

    What a subclass does not have is the stage's.
    """

    def __init__(
        self,
        name: str,
        open_stage: Callable[[], Stage],
        clock: Clock,
        publish: Publish,
        first: _Restarting[Stage] | None = None,
    ) -> None:
        """`first`: where `open_stage` makes a stage of the one that this has."""
        self._name = name
        self._open = open_stage
        self._clock = clock
        self._publish = publish
        self._has_failed = False
        self._first: _Restarting[Stage] = first._first if first else self
        self._all: list[_Restarting[Stage]] = []
        self._wrapped = open_stage()
        self._first._all.append(self)
        self.began: float | None = None
        """When the call began that has not returned yet, of the first stage or of one that is made of it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wrapped, name)

    def _call(self, function: Callable[[Stage], Result]) -> Result:
        """Call the function of the stage; after a first failure, of a stage that was opened again.

        Raises:
            ContextError: the input is at fault, not the stage.
        """
        self._first.began = self._clock.now()
        try:
            return function(self._wrapped)
        except (ContextError, PassInterrupted, UsageError):
            raise
        except Exception as error:
            self._first._restart(error)
            return function(self._wrapped)
        finally:
            self._first.began = None

    def _restart(self, error: Exception) -> None:
        """Open all stages again after the first failure of one; raise the second."""
        if self._has_failed:
            raise error
        self._has_failed = True
        reason = sentence(error).rstrip(".")
        self._publish(Notice("warning", f"The {self._name} failed ({reason}); it is loaded again."))
        self._release()
        for one in self._all:
            one._wrapped = one._open()
            one._restore()

    def _release(self) -> None:
        """Free the broken stage, so that memory need not hold two."""

    def _restore(self) -> None:
        """Bring a stage that was opened again to where the broken one was."""


class RestartingRecogniser(_Restarting[Recogniser]):
    """A recogniser; a hypothesis whose times are no numbers counts as a failure."""

    def __init__(
        self,
        open_recogniser: Callable[[], Recogniser],
        clock: Clock,
        publish: Publish,
        first: RestartingRecogniser | None = None,
    ) -> None:
        super().__init__("recogniser", open_recogniser, clock, publish, first)
        self._choose_language: Callable[[Recogniser], None] = lambda recogniser: None

    def listen_for(self, language: str | None) -> None:
        self._choose_language = lambda recogniser: recogniser.listen_for(language)
        self._restore()

    def recognise(self, samples: NDArray[np.float32], *, prompt: str = "", final: bool = False) -> Hypothesis:
        return self._call(lambda stage: _checked(stage.recognise(samples, prompt=prompt, final=final)))

    def in_language(self, language: str | None) -> RestartingRecogniser:
        return RestartingRecogniser(lambda: self._wrapped.in_language(language), self._clock, self._publish, first=self)

    def _restore(self) -> None:
        self._choose_language(self._wrapped)


def _checked(hypothesis: Hypothesis) -> Hypothesis:
    times = [*hypothesis.segment_ends, *(time for word in hypothesis.words for time in (word.start, word.end))]
    if not all(map(math.isfinite, times)):
        raise ModelError("the recogniser gave words without times; choose another model with --asr")
    return hypothesis


class RestartingModel(_Restarting[Wrapped]):
    """A language model; logits that are not numbers count as a failure."""

    def __init__(
        self,
        open_model: Callable[[], Wrapped],
        clock: Clock,
        publish: Publish,
        name: str = "translator",
        first: RestartingModel[Wrapped] | None = None,
    ) -> None:
        super().__init__(name, open_model, clock, publish, first)

    @property
    def loaded(self) -> Wrapped:
        """The model in use, for what the port does not have; a restart replaces it."""
        return self._wrapped

    def evaluate(self, context: Sequence[int], last_rows: int = 1) -> Evaluation:
        def evaluate(stage: Wrapped) -> Evaluation:
            evaluation = stage.evaluate(context, last_rows)
            # The maximum is nan where any element is.
            if np.isnan(evaluation.logits.max()):
                raise ModelError(f"the {self._name} gave logits that are not numbers; choose another model")
            return evaluation

        return self._call(evaluate)

    def move(self, context: Sequence[int], held: Sequence[int], count: int) -> Counts | None:
        return self._call(lambda stage: stage.move(context, held, count))

    def another_context(self) -> RestartingModel[Wrapped]:
        """Return a second context over the same weights; where one of them fails, all are opened again."""
        return RestartingModel(
            lambda: self._wrapped.another_context(), self._clock, self._publish, self._name, first=self
        )

    def _release(self) -> None:
        self._wrapped.close()
