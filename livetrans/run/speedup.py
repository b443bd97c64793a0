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
from livetrans.lm.port import Evaluation, LanguageModel, ModelWrapper
from livetrans.lm.prompts import Prompt, text_of_tokens
from livetrans.metrics.rates import OPEN_SEGMENTS, ScreenErasure
from livetrans.run.publisher import Publish
from livetrans.sequences import common_prefix_length
from livetrans.translation.presenter import Presenter
from livetrans.translation.translator import Translator

SHARE = 0.05
"""Most processor time that sampling takes, in seconds of one core for each second of the run."""

RETRANSLATION, UNMASKED = DecodingSettings("rt", final="partial"), MaskSettings("none")
"""Re-translation as it is compared everywhere: everything that it writes is shown."""


@dataclass(frozen=True, slots=True)
class ShownUpdate:
    """An update of the run, how it was translated, and what was shown."""

    transcript: Transcript
    prompt: Prompt
    decoding: DecodingSettings
    mask: MaskSettings
    caption: Caption

    @property
    def language(self) -> str | None:
        return self.caption.language


class Interrupted(Exception):
    """The run has something to do."""


class InterruptibleModel(ModelWrapper[LanguageModel]):
    """A language model that asks before each pass whether to go on."""

    def __init__(self, model: LanguageModel) -> None:
        self._wrapped = model
        self.is_interrupted: Callable[[], bool] = lambda: False
        self._kept: list[int] = []
        self._evaluated: list[int] = []

    def evaluate(self, context: Sequence[int], last_rows: int = 1) -> Evaluation:
        if self.is_interrupted():
            raise Interrupted
        self._evaluated = list(context)
        return self._wrapped.evaluate(context, last_rows)

    def keep(self) -> None:
        """Note that the update is done: the next one finds its cells."""
        self._kept = self._evaluated

    def rewind(self) -> None:
        """Drop the cells of an update that was not done, so that its next try costs what the first would have."""
        if self._evaluated is not self._kept:
            shared = max(common_prefix_length(self._kept, self._evaluated), 1)
            self._kept = self._evaluated = self._evaluated[:shared]
            self._wrapped.evaluate(self._kept)


class Repetition:
    """A segment translated again by one method, in a context of its own."""

    def __init__(self, context: LanguageModel, prompt: Prompt) -> None:
        self._model = InterruptibleModel(context)
        self._translator = Translator(self._model, prompt, RETRANSLATION, UNMASKED)
        self.seconds: list[float] = []
        """Of the segment's updates that were translated again."""
        self._model.evaluate(prompt.tokens(self._model, "."))
        self._model.keep()

    def translate(
        self, update: ShownUpdate, decoding: DecodingSettings, mask: MaskSettings, is_interrupted: Callable[[], bool]
    ) -> Translation:
        """Translate the segment's next update and time it.

        Raises:
            Interrupted: the run has something to do; the update is as if it had not been begun.
        """
        self._model.rewind()
        self._model.is_interrupted = is_interrupted
        translator, clock = self._translator, self._model.clock
        translator.prompt, translator.settings, translator.mask = update.prompt, decoding, mask
        started = clock.now()
        translation = translator.translate(update.transcript)
        self.seconds.append(clock.now() - started)
        self._model.keep()
        return translation


class SpeedupSampler:
    """What translates finished segments again; owned by the translating thread.

    `open_context` opens another context over the translator's weights, which is closed with the translator. `cores` is
    how many cores a pass keeps busy. After a first failure, such as that of a translator which is loaded again, new
    contexts are opened; a second one ends the sampling, and nothing else.
    """

    def __init__(
        self,
        open_context: Callable[[], LanguageModel],
        prompt: Prompt,
        clock: Clock,
        publish: Publish,
        *,
        cores: int = 1,
        share: float = SHARE,
    ) -> None:
        self._open_context, self._prompt = open_context, prompt
        self._clock = clock
        self._publish = publish
        self._cores, self._share = cores, share
        self._began = clock.now()
        self._spent = 0.0
        self._failures = 0
        self._repetitions: tuple[Repetition, Repetition] | None = None
        """By re-translation and by the run's method; opened for the first sample, as is the presenter."""
        self._presenter: Presenter
        self._growing: dict[tuple[str | None, int], list[ShownUpdate]] = {}
        """By language and segment."""
        self._finished: list[ShownUpdate] = []
        self._segment: list[ShownUpdate] = []
        self._screen = ScreenErasure()

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
        if self._failures > 1 or not (self._segment or self._finished):
            return None
        return max(0.0, self._spent / self._share - (self._clock.now() - self._began))

    def work(self, is_interrupted: Callable[[], bool]) -> None:
        """Translate one update again by one method, unless the run has something to do before that is done."""
        started = self._clock.now()
        try:
            retranslation, repeated = self._repetitions = self._repetitions or self._opened()
            if not self._segment:
                self._segment, self._finished = self._finished, []
                self._screen = ScreenErasure()
                retranslation.seconds, repeated.seconds = [], []
            self._translate(retranslation, repeated, is_interrupted)
            if len(repeated.seconds) == len(self._segment):
                self._publish(self._compared(sum(retranslation.seconds), sum(repeated.seconds)))
                self._segment = []
        except Interrupted:
            pass
        except Exception:
            # The translator itself works: its figures go on without the comparison.
            self._failures += 1
            self._repetitions, self._segment = None, []
        self._spent += (self._clock.now() - started) * self._cores

    def _opened(self) -> tuple[Repetition, Repetition]:
        contexts = self._open_context(), self._open_context()
        self._presenter = Presenter(text_of_tokens(contexts[0]), UNMASKED)
        return Repetition(contexts[0], self._prompt), Repetition(contexts[1], self._prompt)

    def _translate(self, retranslation: Repetition, repeated: Repetition, is_interrupted: Callable[[], bool]) -> None:
        update = self._segment[len(repeated.seconds)]
        if len(retranslation.seconds) > len(repeated.seconds):
            repeated.translate(update, update.decoding, update.mask, is_interrupted)
            return
        translation = retranslation.translate(update, RETRANSLATION, UNMASKED, is_interrupted)
        self._screen.add(self._presenter.present(replace(translation, language=update.language)))

    def _compared(self, retranslation_seconds: float, update_seconds: float) -> Comparison:
        shown = ScreenErasure()
        for update in self._segment:
            shown.add(update.caption)
        return Comparison(
            segment_id=self._segment[0].transcript.segment_id,
            updates=len(self._segment),
            update_seconds=update_seconds,
            retranslation_seconds=retranslation_seconds,
            erased_units=shown.erased_units,
            shown_units=shown.units,
            retranslation_erased_units=self._screen.erased_units,
            retranslation_shown_units=self._screen.units,
            language=self._segment[0].language,
        )
