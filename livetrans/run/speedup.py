"""The speedup over re-translation, measured while the run is idle.

After its final, a segment is translated again from scratch, update by update, as re-translation would have done it, and
each update is timed. This has a context of its own over the same weights, so that the run's updates find their cache as
they left it. An update that comes meanwhile is not delayed by more than the pass under way: what was begun is dropped,
and tried again later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from livetrans.clock import Clock
from livetrans.config import DecodingSettings, MaskSettings
from livetrans.events import Caption, Comparison, Transcript
from livetrans.lm.port import Evaluation, LanguageModel, ModelWrapper
from livetrans.lm.prompts import Prompt, text_of_tokens
from livetrans.metrics.rates import ScreenErasure
from livetrans.run.publisher import Publish
from livetrans.sequences import common_prefix_length
from livetrans.translation.presenter import Presenter
from livetrans.translation.translator import Translator

SHARE = 0.05
"""Most processor time that sampling takes, in seconds of one core for each second of the run."""

UNMASKED = MaskSettings("none")
"""Re-translation as it is compared everywhere: everything that it writes is shown."""


@dataclass(frozen=True, slots=True)
class TimedUpdate:
    """An update of the run, and what it cost."""

    transcript: Transcript
    prompt: Prompt
    seconds: float
    captions: tuple[Caption, ...]


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


class SpeedupSampler:
    """Translates finished segments again; owned by the translating thread.

    `open_context` opens a second context over the translator's weights, which is closed with the translator. `spaced`
    is for captions without a language. `cores` is how many cores a pass keeps busy. A failure ends the sampling, and
    nothing else.
    """

    def __init__(
        self,
        open_context: Callable[[], LanguageModel],
        prompt: Prompt,
        clock: Clock,
        publish: Publish,
        *,
        spaced: bool = True,
        cores: int = 1,
        share: float = SHARE,
    ) -> None:
        self._open_context, self._prompt, self._spaced = open_context, prompt, spaced
        self.clock = clock
        self._publish = publish
        self._cores, self._share = cores, share
        self._began = clock.now()
        self._spent = 0.0
        self._has_failed = False
        self._translator: Translator
        self._presenter: Presenter
        self._model: InterruptibleModel | None = None
        """Opened for the first sample, and then what the two before it work with."""
        self._growing: list[TimedUpdate] = []
        self._finished: list[TimedUpdate] = []
        self._segment: list[TimedUpdate] = []
        self._seconds: list[float] = []
        """Of the segment's updates that were translated again."""
        self._screen = ScreenErasure()

    def add(self, update: TimedUpdate) -> None:
        """Take an update of the run; a final makes its segment the next one to be translated again."""
        if self._growing and self._growing[0].transcript.segment_id != update.transcript.segment_id:
            self._growing = []
        self._growing.append(update)
        if update.transcript.final:
            self._finished, self._growing = self._growing, []

    def rest(self) -> float | None:
        """Return the seconds until the next sample may begin; None where there is nothing to translate again."""
        if self._has_failed or not (self._segment or self._finished):
            return None
        return max(0.0, self._spent / self._share - (self.clock.now() - self._began))

    def work(self, is_interrupted: Callable[[], bool]) -> None:
        """Translate one update again, unless the run has something to do before that is done."""
        if not self._segment:
            self._segment, self._finished = self._finished, []
            self._seconds, self._screen = [], ScreenErasure()
        started = self.clock.now()
        try:
            self._translate(self._segment[len(self._seconds)], is_interrupted)
        except Interrupted:
            pass
        except Exception:
            # The translator itself works: its figures go on without the comparison.
            self._has_failed = True
        self._spent += (self.clock.now() - started) * self._cores
        if self._segment and len(self._seconds) == len(self._segment):
            self._publish(self._compared())
            self._segment = []

    def _translate(self, update: TimedUpdate, is_interrupted: Callable[[], bool]) -> None:
        if self._model is None:
            model = self._model = InterruptibleModel(self._open_context())
            self._translator = Translator(model, self._prompt, DecodingSettings("rt", final="partial"), UNMASKED)
            self._presenter = Presenter(text_of_tokens(model), UNMASKED, spaced=self._spaced)
            model.evaluate(self._prompt.tokens(model, "."))
            model.keep()
        self._model.rewind()
        self._model.is_interrupted = is_interrupted
        self._translator.prompt = update.prompt
        started = self.clock.now()
        translation = self._translator.translate(update.transcript)
        seconds = self.clock.now() - started
        self._model.keep()
        self._seconds.append(seconds)
        language = next((caption.language for caption in update.captions), None)
        self._screen.add(self._presenter.present(replace(translation, language=language)))

    def _compared(self) -> Comparison:
        shown = ScreenErasure()
        for update in self._segment:
            for caption in update.captions:
                shown.add(caption)
        return Comparison(
            segment_id=self._segment[0].transcript.segment_id,
            updates=len(self._segment),
            update_seconds=sum(update.seconds for update in self._segment),
            retranslation_seconds=sum(self._seconds),
            erased_units=shown.erased_units,
            shown_units=shown.units,
            retranslation_erased_units=self._screen.erased_units,
            retranslation_shown_units=self._screen.units,
        )
