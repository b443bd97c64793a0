"""The speedup over re-translation, measured while the run is idle.

After its final, a segment is translated again, update by update, once by re-translation and once by the run's method,
and each update is timed. Both are timed, because an update of the run shares the machine with the recogniser, and finds
the processor's caches cold. Each has a context of its own over the same weights, so that the run's updates find their
cache as they left it. An update that comes meanwhile is not delayed by more than the pass under way: what was begun is
dropped, and tried again later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from livetrans.clock import Clock
from livetrans.config import DecodingSettings, MaskSettings
from livetrans.events import Caption, Comparison, Transcript, Translation
from livetrans.lm.port import Counts, Evaluation, LanguageModel, ModelWrapper
from livetrans.lm.prompts import Prompt, text_of_tokens
from livetrans.metrics.captions import OPEN_SEGMENTS, ScreenErasure
from livetrans.run.publisher import Publish
from livetrans.translation.presenter import Presenter
from livetrans.translation.translator import Translator

SHARE = 0.05
"""Most processor time that sampling takes, in seconds of one core for each second of the run."""

RETRANSLATION = DecodingSettings("rt", final="partial")
"""Re-translation as it is compared everywhere. What it writes is shown under the run's mask."""


@dataclass(frozen=True, slots=True)
class ShownUpdate:
    """An update of the run, how it was translated, and what was shown."""

    transcript: Transcript
    prompt: Prompt
    decoding: DecodingSettings
    mask: MaskSettings
    ratio: float | None
    """The expected output tokens for each source token (`LengthRatio`)."""
    caption: Caption

    @property
    def language(self) -> str | None:
        return self.caption.language


class Interrupted(Exception):
    """The run has something to do."""


class InterruptibleModel(ModelWrapper):
    """A language model that asks before each pass whether to go on."""

    def __init__(self, model: LanguageModel) -> None:
        self._wrapped = model
        self.is_interrupted: Callable[[], bool] = lambda: False

    def evaluate(self, context: Sequence[int], last_rows: int = 1) -> Evaluation:
        self._ask()
        return self._wrapped.evaluate(context, last_rows)

    def move(self, context: Sequence[int], held: Sequence[int], count: int) -> Counts | None:
        self._ask()
        return self._wrapped.move(context, held, count)

    def _ask(self) -> None:
        if self.is_interrupted():
            raise Interrupted


class Repetition:
    """Segments translated again by one method, in a context of its own."""

    def __init__(self, context: LanguageModel) -> None:
        self._model = InterruptibleModel(context)
        self._translator = Translator(self._model)
        self._held: Sequence[int] = ()
        """Prompt and output of the update before; empty before the first."""
        self.close = context.close

    def translate(
        self, update: ShownUpdate, decoding: DecodingSettings, mask: MaskSettings, is_interrupted: Callable[[], bool]
    ) -> tuple[Translation, float]:
        """Translate an update; return its translation, and the seconds that it took.

        The cache is first brought to where the update before left it: a try that was interrupted has changed it.

        Raises:
            Interrupted: the run has something to do; the update is as if it had not been begun.
        """
        self._model.is_interrupted = is_interrupted
        self._model.evaluate(self._held or (*update.prompt.before, *update.prompt.after))
        started = self._model.clock.now()
        translation = self._translator.translate(update.transcript, update.prompt, decoding, mask, update.ratio)
        seconds = self._model.clock.now() - started
        self._held = (*update.prompt.tokens(self._model, update.transcript.text), *translation.tokens)
        return translation, seconds


class _Sample:
    """A finished segment that is being translated again: each update by re-translation, then by the run's method."""

    def __init__(self, updates: Sequence[ShownUpdate]) -> None:
        self._updates = updates
        self._done = 0
        """Translations that were made again: two of each update."""
        self._retranslated, self._shown = ScreenErasure(), ScreenErasure()
        self._seconds = [0.0, 0.0]
        """By re-translation, and by the run's method."""

    def go_on(
        self, repetitions: Sequence[Repetition], presenter: Presenter, is_interrupted: Callable[[], bool]
    ) -> Comparison | None:
        """Translate one update by one method; return the comparison after the last.

        Raises:
            Interrupted: the run has something to do; the same translation is the next one.
        """
        update, method = self._updates[self._done // 2], self._done % 2
        decoding = (RETRANSLATION, update.decoding)[method]
        translation, seconds = repetitions[method].translate(update, decoding, update.mask, is_interrupted)
        self._seconds[method] += seconds
        if method == 0:
            self._retranslated.add(presenter.present(replace(translation, language=update.language)))
        else:
            self._shown.add(update.caption)
        self._done += 1
        if self._done < 2 * len(self._updates):
            return None
        return Comparison(
            segment_id=update.transcript.segment_id,
            updates=len(self._updates),
            update_seconds=self._seconds[1],
            retranslation_seconds=self._seconds[0],
            erased_units=self._shown.erased_units,
            shown_units=self._shown.units,
            retranslation_erased_units=self._retranslated.erased_units,
            retranslation_shown_units=self._retranslated.units,
            language=update.language,
        )


class SpeedupSampler:
    """Translates finished segments again; owned by the translating thread.

    `open_context` opens another context over the translator's weights, which is closed with the translator. `cores` is
    how many cores a pass keeps busy. After a first failure new contexts are opened; a second one ends the sampling, and
    nothing else.
    """

    def __init__(
        self,
        open_context: Callable[[], LanguageModel],
        clock: Clock,
        publish: Publish,
        *,
        cores: int = 1,
        share: float = SHARE,
    ) -> None:
        self._open_context = open_context
        self._clock = clock
        self._publish = publish
        self._cores, self._share = cores, share
        self._began = clock.now()
        self._spent = 0.0
        self._failures = 0
        self._repetitions: list[Repetition] = []
        """By re-translation and by the run's method; opened for the first sample, as is the presenter."""
        self._presenter: Presenter
        self._growing: dict[tuple[str | None, int], list[ShownUpdate]] = {}
        """By language and segment."""
        self._finished: list[ShownUpdate] = []
        self._sample: _Sample | None = None

    def add(self, update: ShownUpdate, *, is_shown: bool = True) -> None:
        """Take an update of the run; a final in the language that is shown makes its segment the next one."""
        key = update.language, update.transcript.segment_id
        self._growing.setdefault(key, []).append(update)
        if update.transcript.final:
            updates = self._growing.pop(key)
            self._finished = updates if is_shown else self._finished
        elif len(self._growing) > OPEN_SEGMENTS:
            self._growing.pop(next(iter(self._growing)))

    def rest(self) -> float | None:
        """Return the seconds until the next sample may begin; None where there is nothing to translate again."""
        if self._failures > 1 or not (self._sample or self._finished):
            return None
        return max(0.0, self._spent / self._share - (self._clock.now() - self._began))

    def work(self, is_interrupted: Callable[[], bool]) -> None:
        """Translate one update again by one method, unless the run has something to do before that is done."""
        started = self._clock.now()
        try:
            self._open()
            if self._sample is None:
                self._sample, self._finished = _Sample(self._finished), []
            comparison = self._sample.go_on(self._repetitions, self._presenter, is_interrupted)
            if comparison:
                self._sample = None
                self._publish(comparison)
        except Interrupted:
            pass
        except Exception:
            # The translator itself works: its figures go on without the comparison.
            self._failures += 1
            self.close()
        self._spent += (self._clock.now() - started) * self._cores

    def close(self) -> None:
        """Drop the sample under way, and free the contexts; the next sample opens new ones."""
        for repetition in self._repetitions:
            repetition.close()
        self._repetitions, self._sample = [], None

    def _open(self) -> None:
        while len(self._repetitions) < 2:
            context = self._open_context()
            if not self._repetitions:
                self._presenter = Presenter(text_of_tokens(context))
            self._repetitions.append(Repetition(context))
