"""A recogniser and a language model that are opened again after their first failure, which is then tried again.

Both ports are given everything anew at each call (a whole buffer, a whole context), so the state of a run is kept by
their callers, and a fresh model goes on where the broken one stopped. A second failure is raised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from livetrans.clock import Clock
from livetrans.errors import ContextError, ModelError, UsageError, sentence
from livetrans.events import Notice
from livetrans.lm.port import Evaluation, ModelWrapper, Wrapped
from livetrans.run.publisher import Publish
from livetrans.speech.recogniser import Hypothesis, Recogniser

if TYPE_CHECKING:
    from numpy.typing import NDArray

Stage = TypeVar("Stage")
Result = TypeVar("Result")


class _Restarting(Generic[Stage]):
    """What both share: one call at a time, one restart in a run."""

    def __init__(self, name: str, open_stage: Callable[[], Stage], clock: Clock, publish: Publish) -> None:
        self._name = name
        self._open = open_stage
        self._clock = clock
        self._publish = publish
        self._has_failed = False
        self._wrapped = open_stage()
        self.began: float | None = None
        """When the call began that has not returned yet."""

    def _call(self, function: Callable[[Stage], Result], prepare: Callable[[Stage], object] = lambda _: None) -> Result:
        """Call the function of the stage; after a first failure, of a stage that was opened again and prepared.

        Raises:
            ContextError: the input is at fault, not the stage.
        """
        self.began = self._clock.now()
        try:
            return function(self._wrapped)
        except (ContextError, UsageError):
            raise
        except Exception as error:
            self._restart(error)
            prepare(self._wrapped)
            return function(self._wrapped)
        finally:
            self.began = None

    def _restart(self, error: Exception) -> None:
        """Open the stage again after its first failure; raise the second."""
        if self._has_failed:
            raise error
        self._has_failed = True
        reason = sentence(error).rstrip(".")
        self._publish(Notice("warning", f"The {self._name} failed ({reason}); it is loaded again."))
        self._release()
        self._wrapped = self._open()

    def _release(self) -> None:
        """Free the broken stage, so that memory need not hold two."""


class RestartingRecogniser(_Restarting[Recogniser]):
    """A recogniser; a hypothesis whose times are no numbers counts as a failure."""

    def __init__(self, open_recogniser: Callable[[], Recogniser], clock: Clock, publish: Publish) -> None:
        super().__init__("recogniser", open_recogniser, clock, publish)
        self._choose_language: Callable[[Recogniser], None] = lambda recogniser: None

    @property
    def maximum_length(self) -> float:
        return self._wrapped.maximum_length

    @property
    def hot_words(self) -> tuple[str, ...]:
        return self._wrapped.hot_words

    def listen_for(self, language: str | None) -> None:
        self._choose_language = lambda recogniser: recogniser.listen_for(language)
        self._choose_language(self._wrapped)

    def recognise(self, samples: NDArray[np.float32], *, prompt: str = "", final: bool = False) -> Hypothesis:
        return self.call(lambda stage: stage.recognise(samples, prompt=prompt, final=final))

    def in_language(self, language: str | None) -> TrackRecogniser:
        """Return this recogniser as a track of one language uses it; None detects the language."""
        return TrackRecogniser(self, language)

    def call(self, function: Callable[[Recogniser], Hypothesis]) -> Hypothesis:
        """Call the function of the recogniser in use, and again of a fresh one after a first failure."""
        return self._call(lambda stage: _checked(function(stage)), self._choose_language)


class TrackRecogniser:
    """A recogniser that several tracks share, with the spoken language of one of them."""

    def __init__(self, shared: RestartingRecogniser, language: str | None) -> None:
        self._shared = shared
        self._language = language
        self._of: Recogniser | None = None
        self._view: Recogniser | None = None

    @property
    def maximum_length(self) -> float:
        return self._shared.maximum_length

    @property
    def hot_words(self) -> tuple[str, ...]:
        return self._shared.hot_words

    def listen_for(self, language: str | None) -> None:
        self._language = language
        if self._view is not None:
            self._view.listen_for(language)

    def recognise(self, samples: NDArray[np.float32], *, prompt: str = "", final: bool = False) -> Hypothesis:
        return self._shared.call(lambda stage: self._of_track(stage).recognise(samples, prompt=prompt, final=final))

    def in_language(self, language: str | None) -> TrackRecogniser:
        return TrackRecogniser(self._shared, language)

    def _of_track(self, stage: Recogniser) -> Recogniser:
        """Return the stage with the track's language; made once, because it remembers what it has detected."""
        if self._view is None or self._of is not stage:
            self._of, self._view = stage, stage.in_language(self._language)
        return self._view


def _checked(hypothesis: Hypothesis) -> Hypothesis:
    times = [*hypothesis.segment_ends, *(time for word in hypothesis.words for time in (word.start, word.end))]
    if not all(map(math.isfinite, times)):
        raise ModelError("the recogniser gave words without times; choose another model with --asr")
    return hypothesis


class RestartingModel(_Restarting[Wrapped], ModelWrapper[Wrapped]):
    """A language model; logits that are not numbers count as a failure."""

    def __init__(
        self, open_model: Callable[[], Wrapped], clock: Clock, publish: Publish, name: str = "translator"
    ) -> None:
        super().__init__(name, open_model, clock, publish)
        self._context: Sequence[int] = ()
        self._others: list[_AnotherContext[Wrapped]] = []

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

        evaluation = self._call(evaluate)
        self._context = list(context)
        return evaluation

    def move(self, context: Sequence[int], begin: int, end: int) -> Evaluation:
        evaluation = self._call(lambda stage: stage.move(context, begin, end))
        self._context = [*context, *self._context[begin:end]]
        return evaluation

    def another_context(self) -> RestartingModel[Wrapped]:
        """Return a second context over the same weights; where one of them fails, all are opened again."""
        other = _AnotherContext(self)
        self._others.append(other)
        return other

    def _restart(self, error: Exception) -> None:
        super()._restart(error)
        self._restore()
        for other in self._others:
            other.reopen()

    def _restore(self) -> None:
        # The next call may move a block, which the fresh model's cache has to hold.
        if self._context:
            self._wrapped.evaluate(self._context)

    def _release(self) -> None:
        self._wrapped.close()


class _AnotherContext(RestartingModel[Wrapped]):
    """A further context of a model, which is opened again with it."""

    def __init__(self, first: RestartingModel[Wrapped]) -> None:
        self._first = first
        super().__init__(lambda: first.loaded.another_context(), first._clock, first._publish, first._name)

    def reopen(self) -> None:
        self._wrapped = self._open()
        self._restore()

    def _restart(self, error: Exception) -> None:
        self._first._restart(error)
