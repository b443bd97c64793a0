"""The speedup over re-translation, measured while the run is idle.

After its final, a segment is translated again, update by update, once by re-translation and once by the run's method,
and each update is timed. Both are timed because an update of the run shares the machine with the recogniser, and finds
the processor's caches cold. Each method has a context of its own over the same weights, so that the run's updates find
their cache unchanged. An update of the run waits at most for the pass under way: the repetition of an update is then
dropped, and tried again later.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace

from livetrans.base.clock import Clock
from livetrans.config import DecodingSettings, MaskSettings
from livetrans.events import Caption, Comparison, Transcript, Translation
from livetrans.lm.port import Counts, Evaluation, LanguageModel, ModelWrapper
from livetrans.lm.prompts import Prompt, TextOf, text_of_tokens
from livetrans.lm.stand_ins import WithNames
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
    tokens_per_source_token: float | None
    """The expected length of an output (`LengthRatio`)."""
    caption: Caption
    names: WithNames | None = None
    """The run's context with names, if it has one."""

    @property
    def language(self) -> str | None:
        return self.caption.language


class Interrupted(Exception):
    """The run has something to do."""


class Repetition(ModelWrapper):
    """Updates translated again by one method, in a context of its own.

    It is the language model that its translator uses: each call asks first whether the run has something to do.
    """

    def __init__(self, context: LanguageModel, is_interrupted: Callable[[], bool]) -> None:
        self._wrapped = context
        self._is_interrupted = is_interrupted
        self._held: Sequence[int] = ()
        """Prompt and output of the update before; empty before the first."""

    def begin(self, update: ShownUpdate) -> TextOf:
        """Begin a segment with the names of its first update; return the text of its outputs."""
        self._named = update.names.over(self) if update.names else self
        self._translator = Translator(self._named)
        return text_of_tokens(self._named)

    def evaluate(self, context: Sequence[int], last_rows: int = 1) -> Evaluation:
        self._ask()
        return self._wrapped.evaluate(context, last_rows)

    def move(self, context: Sequence[int], held: Sequence[int], count: int) -> Counts | None:
        self._ask()
        return self._wrapped.move(context, held, count)

    def _ask(self) -> None:
        if self._is_interrupted():
            raise Interrupted

    def translate(
        self, update: ShownUpdate, decoding: DecodingSettings
    ) -> Generator[None, None, tuple[Translation, float]]:
        """Return the translation of an update and the seconds that it took; yield after each try that is interrupted.

        The cache is first brought to where the update before left it, since an interrupted try has changed it.
        """
        while True:
            try:
                self.evaluate(self._held or (*update.prompt.before, *update.prompt.after))
                started = self.clock.now()
                translation = self._translator.translate(
                    update.transcript, update.prompt, decoding, update.mask, update.tokens_per_source_token
                )
                seconds = self.clock.now() - started
            except Interrupted:
                yield
            else:
                held = (*update.prompt.tokens(self._named, update.transcript.text), *translation.tokens)
                self._held = self._named.plain(held) if isinstance(self._named, WithNames) else held
                return translation, seconds


class SpeedupSampler:
    """Translates finished segments again; owned by the translating thread.

    `open_context` opens another context over the translator's weights, which is closed with the translator. `cores` is
    the number of cores that a pass keeps busy. After a first failure new contexts are opened. A second one ends the
    sampling, and nothing else.
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
        self._is_interrupted: Callable[[], bool] = lambda: False
        self._repetitions: list[Repetition] = []
        """By re-translation and by the run's method; opened for the first sample."""
        self._growing: dict[tuple[str | None, int], list[ShownUpdate]] = {}
        """By language and segment."""
        self._finished: list[ShownUpdate] = []
        self._sample: Generator[None] | None = None
        """The comparison under way; each step translates one update by one method."""

    def add(self, update: ShownUpdate, *, is_shown: bool = True) -> None:
        """Take an update of the run; a final in the language that is shown makes its segment the next one."""
        key = update.language, update.transcript.segment_id
        self._growing.setdefault(key, []).append(update)
        if update.transcript.final:
            updates = self._growing.pop(key)
            self._finished = updates if is_shown else self._finished
        elif len(self._growing) > OPEN_SEGMENTS:
            self._growing.pop(next(iter(self._growing)))

    def forget(self, language: str | None, segment_id: int) -> None:
        """Drop a segment whose final is not translated."""
        self._growing.pop((language, segment_id), None)

    def rest(self) -> float | None:
        """Return the seconds until the next sample may begin; None where there is nothing to translate again."""
        if self._failures > 1 or not (self._sample or self._finished):
            return None
        return max(0.0, self._spent / self._share - (self._clock.now() - self._began))

    def work(self, is_interrupted: Callable[[], bool]) -> None:
        """Translate one update again by one method, unless the run has something to do before that is done."""
        started = self._clock.now()
        self._is_interrupted = is_interrupted
        try:
            if self._sample is None:
                self._sample, self._finished = self._compare(self._finished), []
            next(self._sample)
        except StopIteration:
            self._sample = None
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

    def _compare(self, updates: Sequence[ShownUpdate]) -> Generator[None]:
        """Translate a segment again, each update by re-translation and by the run's method; publish the comparison."""
        while len(self._repetitions) < 2:
            self._repetitions.append(Repetition(self._open_context(), lambda: self._is_interrupted()))
        retranslation, repetition = self._repetitions
        repetition.begin(updates[0])
        presenter = Presenter(retranslation.begin(updates[0]))
        shown, retranslated = ScreenErasure(), ScreenErasure()
        update_seconds = retranslation_seconds = 0.0
        for number, update in enumerate(updates):
            if number:
                yield
            translation, seconds = yield from retranslation.translate(update, RETRANSLATION)
            retranslation_seconds += seconds
            retranslated.add(presenter.present(replace(translation, language=update.language)))
            yield
            _, seconds = yield from repetition.translate(update, update.decoding)
            update_seconds += seconds
            shown.add(update.caption)
        self._publish(
            Comparison(
                segment_id=updates[0].transcript.segment_id,
                updates=len(updates),
                update_seconds=update_seconds,
                retranslation_seconds=retranslation_seconds,
                erased_units=shown.erased_units,
                shown_units=shown.units,
                retranslation_erased_units=retranslated.erased_units,
                retranslation_shown_units=retranslated.units,
                language=updates[0].language,
            )
        )
