"""Sampling of the speedup: what it measures, that it gives way, and what it may cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, count, repeat
from unittest.mock import Mock

import pytest

from livetrans.base.clock import SystemClock
from livetrans.config import DecodingSettings, MaskSettings, Settings
from livetrans.events import Caption, Comparison, Event, Notice, RunEnded, Transcript, Translation
from livetrans.lm.port import Evaluation, LanguageModel
from livetrans.lm.prompts import text_of_tokens
from livetrans.lm.stand_ins import NameTokens, WithNames
from livetrans.metrics.captions import EstimatedSpeedup, ScreenErasure, Speedup
from livetrans.names.wanted import Glossary, Wanted
from livetrans.run import pipeline
from livetrans.run.publisher import Publish
from livetrans.run.speedup import RETRANSLATION, SpeedupSampler
from livetrans.run.translating import Translating
from livetrans.translation.presenter import Presenter
from livetrans.translation.translator import Translator
from tests.lm.scripted import ScriptedModel, word_by_word_rule

from .faults import FaultyModel, Hang, Raise, Schedule
from .scripted_run import PROMPT, ScriptedRun, no_thread_left, scripted_lane, sentences

WORDS = "the water came up to the second step of my house before midnight".split()
LONG = [f"{word}{half}" for half in range(2) for word in WORDS]
"""Long enough that the default method moves cells."""


def segment(segment_id: int, words: list[str]) -> list[Transcript]:
    """A sentence that grows by two words an update, the last of which changes once."""
    texts = [[*words[:end], f"{words[end]}ish"] for end in range(1, len(words) - 1, 2)] + [words]
    return [
        Transcript(segment_id, revision, "", " ".join(text), text is texts[-1], 0.0, 1.0)
        for revision, text in enumerate(texts)
    ]


class Machine(ScriptedModel):
    """A step after a pass over several tokens takes half as long again, and so does what is done beside passes."""

    _after_several = True

    def evaluate(self, context: Sequence[int], last_rows: int = 1) -> Evaluation:
        evaluation = super().evaluate(context, last_rows)
        is_step = evaluation.evaluated_tokens == 1
        self.clock.advance(0.005 if is_step and self._after_several else 0.0)
        self._after_several = not is_step
        return evaluation

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        self.clock.advance(0.02)
        return super().tokenize(text, special=special)


class Scene:
    """A run's translator by the default method, and a sampler beside it, on one clock."""

    def __init__(self, share: float = 1.0, machine: type[ScriptedModel] = ScriptedModel) -> None:
        self.machine = machine
        self.model = self.another()
        self.clock = self.model.clock
        self.model.evaluate((*PROMPT.before, *PROMPT.after))
        self.published: list[Comparison] = []
        self.sampler = SpeedupSampler(self.another, self.clock, self.publish, share=share)
        self.lane = scripted_lane(self.model, PROMPT)
        self.seconds = 0.0
        """Of the run's own updates."""
        self.estimated = EstimatedSpeedup()

    def another(self) -> ScriptedModel:
        model = self.machine(word_by_word_rule(), seconds_per_pass=0.01, seconds_per_token=0.001)
        model.clock = self.model.clock if hasattr(self, "model") else model.clock
        model.tokenize("Tom TOM")
        return model

    def publish(self, event: object) -> None:
        assert isinstance(event, Comparison)
        self.published.append(event)

    def estimate(self, event: Event) -> None:
        if isinstance(event, Translation):
            self.estimated.add(event)

    def translate(self, transcripts: list[Transcript], settings: Settings | None = None) -> None:
        for transcript in transcripts:
            started = self.clock.now()
            shown = self.lane.translate(transcript, settings or Settings(), self.estimate)
            self.seconds += self.clock.now() - started
            assert shown
            self.sampler.add(shown)

    def sample(self, segments: Iterable[int]) -> None:
        """Translate sentences and sample each."""
        for number in segments:
            self.translate(segment(number, WORDS))
            self.clock.advance(10.0)
            while self.sampler.rest() == 0.0:
                self.sampler.work(lambda: False)


def retranslated(transcripts: list[Transcript], mask: MaskSettings) -> tuple[float, ScreenErasure]:
    """Seconds of a run by re-translation, its prompt evaluated before, and its screen."""
    model = Scene().another()
    translator, screen = Translator(model), ScreenErasure()
    presenter = Presenter(text_of_tokens(model))
    model.evaluate((*PROMPT.before, *PROMPT.after))
    started = model.clock.now()
    for transcript in transcripts:
        screen.add(presenter.present(translator.translate(transcript, PROMPT, RETRANSLATION, mask)))
    return model.clock.now() - started, screen


@pytest.mark.parametrize("every", [None, 1, 3])
def test_a_sample_has_the_names_of_the_run(every: int | None) -> None:
    """A name of several words is one token: without it, both methods would cost more than the run."""
    scene = Scene()
    tokens = NameTokens(scene.model, scene.model.vocabulary_size, [("Tom", "TOM")])
    named = WithNames(scene.model, tokens)
    scene.lane = scripted_lane(named, PROMPT)
    named.glossary = Glossary([Wanted("second step of my", "Second Step", True)])
    scene.translate(segment(0, WORDS), Settings(mask=MaskSettings("none")))
    for last in count(every or 1000):
        passes = iter(range(last))
        scene.sampler.work(lambda: next(passes, None) is None)  # noqa: B023
        if scene.published:
            break
    (comparison,) = scene.published
    assert comparison.update_seconds == pytest.approx(scene.seconds)
    assert comparison.retranslation_shown_units == comparison.shown_units == 11 + 2, "eleven words, two brackets"


@pytest.mark.parametrize("words", [WORDS, LONG], ids=["short", "long"])
@pytest.mark.parametrize("every", [None, 1, 2, 3, 5])
@pytest.mark.parametrize("mask", [MaskSettings("none"), MaskSettings(k=1), MaskSettings("output", 3)])
def test_a_sample_costs_and_shows_what_a_run_by_retranslation_does(
    every: int | None, words: list[str], mask: MaskSettings
) -> None:
    """Under the run's mask, also if tries are interrupted: before pass number `every`, the next try one pass later."""
    scene, transcripts = Scene(), segment(0, words)
    scene.translate(transcripts, Settings(mask=mask))
    for last in count(every or 1000):
        passes = iter(range(last))
        scene.sampler.work(lambda: next(passes, None) is None)  # noqa: B023
        if scene.published:
            break
    seconds, screen = retranslated(transcripts, mask)
    (comparison,) = scene.published
    assert comparison.updates == len(transcripts)
    assert comparison.retranslation_seconds == pytest.approx(seconds)
    assert comparison.update_seconds == pytest.approx(scene.seconds) and scene.seconds < seconds
    assert (comparison.retranslation_erased_units, comparison.retranslation_shown_units) == (
        screen.erased_units,
        screen.units,
    )
    assert comparison.erased_units <= comparison.retranslation_erased_units
    assert comparison.retranslation_erased_units or mask.mode != "none"


def test_nothing_is_evaluated_once_the_run_has_something_to_do() -> None:
    scene = Scene()
    scene.translate(segment(0, WORDS))
    scene.sampler.work(lambda: False)
    before = scene.clock.now()
    scene.sampler.work(lambda: True)
    assert scene.clock.now() == before
    assert not scene.published


def test_sampling_keeps_to_its_share_of_the_time_and_takes_the_newest_sentence() -> None:
    scene = Scene(share=0.05)
    began = scene.clock.now()
    spent = 0.0
    for number in range(80):
        scene.translate(segment(number, WORDS))
        scene.clock.advance(1.0)
        while scene.sampler.rest() == 0.0:
            assert spent <= 0.05 * (scene.clock.now() - began)
            before = scene.clock.now()
            scene.sampler.work(lambda: False)
            spent += scene.clock.now() - before
    assert len(scene.published) > 2
    assert scene.published[-1].segment_id > len(scene.published) * 2


@pytest.mark.parametrize("failures", [1, 2])
def test_sampling_goes_on_in_new_contexts_after_one_failure_and_closes_the_old_ones(failures: int) -> None:
    scene = Scene()
    calls = chain([7] * failures, repeat(None))
    opened: list[Mock] = []

    def open_context() -> LanguageModel:
        fails_at = next(calls) if len(opened) % 2 else None
        schedule = Schedule(scene.clock, {} if fails_at is None else {fails_at: Raise(MemoryError())})
        opened.append(Mock(wraps=FaultyModel(scene.another(), schedule), clock=scene.clock, context_tokens=1024))
        opened[-1].maximum_rows = 161
        return opened[-1]

    scene.sampler = SpeedupSampler(open_context, scene.clock, scene.publish, share=1.0)
    scene.sample(range(6))
    assert bool(scene.published) == (failures == 1)
    assert [context.close.called for context in opened] == [True, True] * failures + [False, False] * (2 - failures)


def test_there_are_no_figures_of_fewer_than_five_updates() -> None:
    speedup = Speedup()
    speedup.add(Comparison(0, 4, 1.0, 2.0, 1, 10, 8, 10))
    assert (speedup.ratio, speedup.ne_screen, speedup.ne_screen_retranslation) == (None, None, None)
    speedup.add(Comparison(1, 1, 1.0, 4.0, 1, 10, 4, 10))
    assert (speedup.ratio, speedup.ne_screen, speedup.ne_screen_retranslation) == (3.0, 0.1, 0.6)


@pytest.mark.parametrize("method", ["window", "ssbd", "cd"])
def test_the_speedup_is_estimated_from_the_fifth_update_on_near_what_samples_measure(method: str) -> None:
    """Also where most partials are stopped early, which re-translation's are not."""
    scene, settings = Scene(machine=Machine), Settings(decoding=DecodingSettings(method))
    shown = list[float | None]()
    for number in range(20):
        for update in segment(number, WORDS):
            scene.translate([update], settings)
            shown.append(scene.estimated.ratio)
        scene.clock.advance(10.0)
        while scene.sampler.rest() == 0.0:
            scene.sampler.work(lambda: False)
    assert [one is None for one in shown] == [True] * 4 + [False] * (len(shown) - 4)
    seconds = [sum(column) for column in zip(*((one.retranslation_seconds, one.update_seconds)
                                               for one in scene.published), strict=True)]  # fmt: skip
    assert shown[-1] == pytest.approx(seconds[0] / seconds[1], rel=0.1)


def test_nothing_is_estimated_of_re_translation_itself() -> None:
    scene = Scene()
    scene.translate(segment(0, WORDS), Settings(decoding=RETRANSLATION))
    assert scene.estimated.ratio is None


class SampledRun(ScriptedRun):
    """A scripted live run whose speedup is sampled, with a share that is no limit."""

    another: Callable[[], LanguageModel] = partial(ScriptedModel, word_by_word_rule(unsure_of_last=False))

    def _translating(self, publish: Publish) -> Translating:
        translating = super()._translating(publish)
        sampler = SpeedupSampler(self.another, self.clock, publish, share=1.0)
        return replace(translating, sampler=sampler)


def test_a_live_run_publishes_comparisons_and_ends_with_their_figures() -> None:
    run = SampledRun(sentences(6))
    run.run()
    compared = run.collected.of(Comparison)
    finals = [event.segment_id for event in run.collected.of(Caption) if event.final]
    assert compared and {comparison.segment_id for comparison in compared} <= set(finals)
    assert run.shown == run.heard
    (end,) = run.collected.of(RunEnded)
    assert end.compared_updates == sum(comparison.updates for comparison in compared)
    assert (end.ne_screen_retranslation is None) == (end.compared_updates < 5)


def test_a_call_of_the_sampler_that_never_returns_is_reported_and_left_alone_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pipeline, "HUNG_SECONDS", 5.0)
    hanging = Schedule(SystemClock(), always=Hang())
    run = SampledRun(sentences(2))
    run.another = lambda: FaultyModel(ScriptedModel(word_by_word_rule(unsure_of_last=False)), hanging)
    run.pipeline.start()
    assert hanging.hanging.wait(20)
    while not [one for one in run.collected.of(Notice) if "The translator has not answered" in one.text]:
        assert not run.pipeline.join(0.05)
    run.pipeline.stop()
    assert run.pipeline.join(20)
    hanging.release()
    assert no_thread_left()


def test_a_run_that_is_behind_does_not_sample() -> None:
    run = SampledRun(sentences(1)).pipeline
    assert not run._interrupts_sampling()
    run._ladder.level = 1
    assert run._interrupts_sampling()
