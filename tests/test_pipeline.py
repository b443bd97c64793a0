"""The threaded run: nothing lost, clean ends, failures told and not swallowed; and its twin, the plain loop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from livetrans.clock import SystemClock
from livetrans.config import DecodingSettings, MaskSettings
from livetrans.errors import ModelError, SourceError
from livetrans.events import (
    Caption,
    Coalesced,
    Notice,
    Record,
    RunEnded,
    RunStarted,
    SettingChanged,
    SourceProgress,
    Transcript,
    Translation,
)
from livetrans.lm.prompts import Prompt
from livetrans.lm.scripted import BEGIN, SOURCE, TARGET, ScriptedModel, word_by_word_rule
from livetrans.loop import PlainLoop
from livetrans.pipeline import Pipeline
from livetrans.session.codec import to_dict, without_times
from livetrans.session.plain import OutputClosed
from livetrans.sides import TranslatingSide
from livetrans.stages import Publish
from livetrans.translation.presenter import Presenter
from livetrans.translation.rendering import renderer
from livetrans.translation.translator import Translator

TEXTS = ["the first sentence is here.", "then another one follows it.", "and that was the last of them."]


def updates(texts: list[str]) -> list[Transcript]:
    """Every text word by word, then its final."""
    transcripts = []
    for segment, text in enumerate(texts):
        words = text.split()
        for count in range(1, len(words) + 1):
            committed, partial = " ".join(words[: count - 1]), words[count - 1]
            transcripts.append(
                Transcript(segment, count - 1, committed, partial, False, segment * 9.0, segment * 9 + count)
            )
        transcripts.append(Transcript(segment, len(words), text, "", True, segment * 9.0, segment * 9.0 + len(words)))
    return transcripts


class Stream:
    """A listening side that hands out transcripts, as fast as they are taken or when it is told."""

    def __init__(
        self, transcripts: list[Transcript], *, failure: Exception | None = None, endless: bool = False
    ) -> None:
        self._transcripts = transcripts
        self._failure = failure
        self._endless = endless
        self.closed = threading.Event()
        self.paused: list[bool] = []

    def transcripts(self, publish: Publish) -> Iterator[Transcript]:
        yield from self._transcripts
        publish(SourceProgress(30.0, 30.0, False))
        if self._endless:
            assert self.closed.wait(20), "the run was never stopped"
            yield Transcript(99, 0, "what was still heard.", "", True, 30.0, 31.0)
        if self._failure:
            raise self._failure

    def pause(self, paused: bool) -> None:
        self.paused.append(paused)

    def close(self) -> None:
        self.closed.set()


class Kept:
    """A sink that remembers, and may fail at an event of some kind."""

    def __init__(self, fail_at: type | None = None, error: Exception | None = None) -> None:
        self.records: list[Record] = []
        self.closed = 0
        self._fail_at = fail_at
        self._error = error
        self.changed = threading.Condition()

    def write(self, record: Record) -> None:
        if self._error and self._fail_at and isinstance(record.event, self._fail_at):
            raise self._error
        with self.changed:
            self.records.append(record)
            self.changed.notify_all()

    def close(self) -> None:
        self.closed += 1

    def of(self, kind: type) -> list:  # type: ignore[type-arg]
        return [record.event for record in self.records if isinstance(record.event, kind)]

    def wait_for(self, kind: type) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.of(kind), 20), f"no {kind.__name__} came"


def speaking(
    decoding: DecodingSettings | None = None, mask: MaskSettings | None = None, *, broken: bool = False
) -> Callable[[Publish], TranslatingSide]:
    def speak(publish: Publish) -> TranslatingSide:
        if broken:
            raise ModelError("the translator is broken; choose another")
        model = ScriptedModel(word_by_word_rule())
        prompt = Prompt("plain", (BEGIN, SOURCE), (TARGET,), False)
        mask_settings = mask or MaskSettings()
        translator = Translator(model, prompt, decoding or DecodingSettings(), mask_settings)
        presenter = Presenter(renderer(model), mask_settings, spaced=True)
        return TranslatingSide(translator, presenter, {"method": "ssbd"}, model.close)

    return speak


def run(kind: type[Pipeline] | type[PlainLoop], stream: Stream, *sinks: Kept, **options: object) -> Kept:
    kept = Kept()
    task = kind(lambda publish: stream, speaking(**options), SystemClock(), [kept, *sinks])  # type: ignore[arg-type]
    task.start()
    task.join()
    return kept


@pytest.mark.parametrize("kind", [Pipeline, PlainLoop])
def test_every_final_is_shown_once_in_order_and_whole(kind: type[Pipeline] | type[PlainLoop]) -> None:
    kept = run(kind, Stream(updates(TEXTS)))
    finals = [caption.text for caption in kept.of(Caption) if caption.final]
    assert finals == [text.upper() for text in TEXTS]
    assert isinstance(kept.records[-1].event, RunEnded)
    assert kept.of(RunEnded) == [RunEnded(30.0, "end of source")]
    assert kept.closed == 1
    assert len(kept.of(RunStarted)) == 1


def test_partials_are_translated_or_reported_as_coalesced() -> None:
    kept = run(Pipeline, Stream(updates(TEXTS)))
    done = {(event.segment_id, event.revision) for event in kept.of(Translation) + kept.of(Coalesced)}
    assert done == {(one.segment_id, one.revision) for one in updates(TEXTS)}


def test_two_plain_loops_differ_in_times_only() -> None:
    first, second = (run(PlainLoop, Stream(updates(TEXTS))) for _ in range(2))
    lines = [[without_times(to_dict(record)) for record in kept.records] for kept in (first, second)]
    assert lines[0] == lines[1]
    assert len(lines[0]) > 3 * len(updates(TEXTS))


@pytest.mark.parametrize("method", ["rt", "ssbd"])
def test_the_threaded_run_gives_the_plain_loops_finals(method: str) -> None:
    """Not so for continuous decoding, which is what its drafts were: those depend on what was coalesced."""
    decoding = DecodingSettings(method=method)
    texts = [
        [caption.text for caption in run(kind, Stream(updates(TEXTS)), decoding=decoding).of(Caption) if caption.final]
        for kind in (Pipeline, PlainLoop)
    ]
    assert texts[0] == texts[1]


def test_stopping_finishes_what_was_heard() -> None:
    stream, kept = Stream(updates(TEXTS[:1]), endless=True), Kept()
    pipeline = Pipeline(lambda publish: stream, speaking(), SystemClock(), [kept])
    pipeline.start()
    kept.wait_for(SourceProgress)
    pipeline.stop()
    pipeline.join()
    assert [caption.text for caption in kept.of(Caption) if caption.final] == [
        TEXTS[0].upper(),
        "WHAT WAS STILL HEARD.",
    ]
    assert kept.of(RunEnded)[0].reason == "stopped"
    assert not [thread for thread in threading.enumerate() if thread.name in ("listening", "translating")]


def test_a_source_that_fails_keeps_what_it_gave() -> None:
    for kind in (Pipeline, PlainLoop):
        stream, kept = Stream(updates(TEXTS[:1]), failure=SourceError("the microphone is gone; plug it in")), Kept()
        task = kind(lambda publish, stream=stream: stream, speaking(), SystemClock(), [kept])
        task.start()
        with pytest.raises(SourceError, match="gone"):
            task.join()
        assert [caption.text for caption in kept.of(Caption) if caption.final] == [TEXTS[0].upper()]
        assert kept.of(RunEnded)[0].reason == "failed"
        assert kept.of(Notice) == [Notice("error", "the microphone is gone; plug it in")]
        assert kept.closed == 1


def test_a_translator_that_cannot_load_ends_the_run() -> None:
    for kind in (Pipeline, PlainLoop):
        stream = Stream(updates(TEXTS), endless=True)
        task = kind(lambda publish, stream=stream: stream, speaking(broken=True), SystemClock(), [kept := Kept()])
        task.start()
        with pytest.raises(ModelError, match="broken"):
            task.join()
        assert kept.closed == 1
        assert stream.closed.is_set()


def test_a_recogniser_that_cannot_load_ends_the_run() -> None:
    def hear(publish: Publish) -> Stream:
        raise ModelError("the recogniser is broken; choose another")

    for kind in (Pipeline, PlainLoop):
        task = kind(hear, speaking(), SystemClock(), [kept := Kept()])
        task.start()
        with pytest.raises(ModelError, match="recogniser"):
            task.join()
        assert kept.of(RunEnded)[0].reason == "failed"


@pytest.mark.parametrize("kind", [Pipeline, PlainLoop])
def test_a_reader_that_goes_away_is_no_failure(kind: type[Pipeline] | type[PlainLoop]) -> None:
    gone = Kept(Caption, OutputClosed())
    kept = run(kind, Stream(updates(TEXTS), endless=True), gone)
    assert gone.of(Caption) == []
    assert [caption for caption in kept.of(Caption) if caption.final]
    assert kept.of(RunEnded)[0].reason == "stopped"


def test_a_sink_that_fails_ends_the_run_and_spares_the_others() -> None:
    stream, kept = Stream(updates(TEXTS), endless=True), Kept()
    full = Kept(Caption, OSError(28, "No space left on device"))
    pipeline = Pipeline(lambda publish: stream, speaking(), SystemClock(), [full, kept])
    pipeline.start()
    with pytest.raises(OSError, match="space"):
        pipeline.join()
    assert [caption for caption in kept.of(Caption) if caption.final]


def test_live_controls_reach_the_stages_and_are_recorded() -> None:
    stream, kept = Stream([], endless=True), Kept()
    sides: list[TranslatingSide] = []

    def speak(publish: Publish) -> TranslatingSide:
        sides.append(speaking()(publish))
        return sides[0]

    pipeline = Pipeline(lambda publish: stream, speak, SystemClock(), [kept])
    pipeline.set_bias(0.4)  # before anything has loaded
    pipeline.start()
    kept.wait_for(SourceProgress)
    assert sides[0].translator.bias == 0.4
    assert kept.of(RunStarted)[0].signature["bias"] == 0.4
    pipeline.set_mask_k(5)
    pipeline.pause(True)
    pipeline.pause(False)
    pipeline.stop()
    pipeline.join()
    assert sides[0].presenter.k == 5
    assert stream.paused == [True, False]
    assert [(event.name, event.value) for event in kept.of(SettingChanged)] == [
        ("bias", 0.4),
        ("mask_k", 5),
        ("paused", True),
        ("paused", False),
    ]


def test_records_carry_rising_instants() -> None:
    kept = run(Pipeline, Stream(updates(TEXTS)))
    instants = [record.at for record in kept.records]
    assert instants == sorted(instants)
