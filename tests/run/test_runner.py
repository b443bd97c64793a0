"""Both ways to run: nothing is lost, every end is clean, failures are reported and not swallowed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from livetrans.clock import SystemClock
from livetrans.config import CALM, DecodingSettings, MaskSettings, Settings
from livetrans.errors import ModelError, SessionError, SourceError
from livetrans.events import (
    Caption,
    Coalesced,
    Event,
    Gap,
    Notice,
    RunEnded,
    RunStarted,
    SettingChanged,
    SourceProgress,
    Transcript,
    Translation,
)
from livetrans.lm.prompts import Prompt, text_of_tokens
from livetrans.run.listening import Listening, OnAudio, PostponedNotices
from livetrans.run.pipeline import Pipeline
from livetrans.run.publisher import Publish
from livetrans.run.runner import OpenTranslating, PlainLoop
from livetrans.run.translating import Translating
from livetrans.session.codec import to_dict, without_times
from livetrans.session.sinks import OutputClosed
from livetrans.translation.presenter import Presenter
from livetrans.translation.translator import Translator
from tests.lm.scripted import BEGIN, SOURCE, TARGET, ScriptedModel, word_by_word_rule

from .sinks import Collected, Stalled

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
    """A source of transcripts, as fast as they are taken; an endless one ends when it is closed."""

    def __init__(
        self, transcripts: list[Transcript], *, failure: Exception | None = None, endless: bool = False
    ) -> None:
        self._transcripts = transcripts
        self._failure = failure
        self._endless = endless
        self.closed = threading.Event()
        self.paused: list[bool] = []
        self.languages: list[str | None] = []

    def __call__(self, publish: Publish, on_audio: OnAudio) -> Listening:
        return Listening(self._give(publish), self.paused.append, self.closed.set, None, self.languages.append)

    def _give(self, publish: Publish) -> Iterator[Transcript]:
        yield from self._transcripts
        publish(SourceProgress(30.0, 30.0, False))
        if self._endless:
            assert self.closed.wait(20), "the run was never stopped"
            yield Transcript(99, 0, "one more sentence.", "", True, 30.0, 31.0)
        if self._failure:
            raise self._failure


def translating(*, broken: bool = False) -> OpenTranslating:
    def open_translating(publish: Publish) -> Translating:
        if broken:
            raise ModelError("the translator is broken; choose another")
        model = ScriptedModel(word_by_word_rule())
        prompt = Prompt("plain", (BEGIN, SOURCE), (TARGET,), False)
        translator = Translator(model, prompt, DecodingSettings(), MaskSettings())
        presenter = Presenter(text_of_tokens(model), MaskSettings(), spaced=True)
        return Translating(translator, presenter, {"method": "ssbd"}, model.close)

    return open_translating


def run(kind: type[Pipeline] | type[PlainLoop], stream: Stream, *sinks: Collected, **options: object) -> Collected:
    collected = Collected()
    settings = Settings(**options)  # type: ignore[arg-type]
    task = kind(settings, stream, translating(), SystemClock(), [collected, *sinks])
    task.start()
    task.join()
    return collected


@pytest.mark.parametrize("kind", [Pipeline, PlainLoop])
def test_every_final_is_shown_once_in_order_and_whole(kind: type[Pipeline] | type[PlainLoop]) -> None:
    collected = run(kind, Stream(updates(TEXTS)))
    finals = [caption.text for caption in collected.of(Caption) if caption.final]
    assert finals == [text.upper() for text in TEXTS]
    assert isinstance(collected.records[-1].event, RunEnded)
    assert collected.of(RunEnded) == [RunEnded(30.0, "end of source")]
    assert collected.closed == 1
    assert len(collected.of(RunStarted)) == 1


@pytest.mark.parametrize("kind", [Pipeline, PlainLoop])
def test_a_gap_comes_between_the_captions_of_the_sound_around_it(kind: type[Pipeline] | type[PlainLoop]) -> None:
    class Interrupted(Stream):
        def _give(self, publish: Publish) -> Iterator[Transcript]:
            for transcript in super()._give(publish):
                if transcript.revision == 0:
                    publish(Gap(transcript.start - 2.0, transcript.start, "microphone"))
                yield transcript
            publish(Gap(30.0, 40.0, "microphone"))

    collected = run(kind, Interrupted(updates(TEXTS)))
    shown = [event for event in collected.of((Caption, Gap)) if isinstance(event, Gap) or event.final]
    assert [type(event) for event in shown] == [Gap, Caption] * len(TEXTS) + [Gap]
    assert [event.end for event in shown] == sorted(event.end for event in shown)


def test_gaps_behind_a_translator_that_failed_are_published_before_the_end() -> None:
    gaps = [Gap(30.0, 40.0, "microphone"), Gap(50.0, 55.0, "sleep")]

    class Interrupted(Stream):
        def _give(self, publish: Publish) -> Iterator[Transcript]:
            yield from super()._give(publish)
            for gap in gaps:
                publish(gap)

    def failing(publish: Publish) -> Translating:
        def carried(transcript: Transcript) -> Translation | None:
            raise RuntimeError("out of memory")

        side = translating()(publish)
        side.translator.carried = carried  # type: ignore[method-assign]
        return side

    task = Pipeline(Settings(), Interrupted(updates(TEXTS)), failing, SystemClock(), [collected := Collected()])
    task.start()
    with pytest.raises(RuntimeError, match="memory"):
        task.join()
    assert collected.of(Gap) == gaps
    assert isinstance(collected.records[-1].event, RunEnded)


def test_partials_are_translated_or_reported_as_coalesced() -> None:
    collected = run(Pipeline, Stream(updates(TEXTS)))
    done = {(event.segment_id, event.revision) for event in collected.of(Translation) + collected.of(Coalesced)}
    assert done == {(one.segment_id, one.revision) for one in updates(TEXTS)}


def test_two_plain_loops_differ_in_times_only() -> None:
    first, second = (run(PlainLoop, Stream(updates(TEXTS))) for _ in range(2))
    lines = [[without_times(to_dict(record)) for record in collected.records] for collected in (first, second)]
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


def test_stopping_finishes_the_speech_so_far() -> None:
    stream, collected = Stream(updates(TEXTS[:1]), endless=True), Collected()
    pipeline = Pipeline(Settings(), stream, translating(), SystemClock(), [collected])
    pipeline.start()
    collected.wait_for(SourceProgress)
    pipeline.stop()
    pipeline.join()
    assert [caption.text for caption in collected.of(Caption) if caption.final] == [
        TEXTS[0].upper(),
        "ONE MORE SENTENCE.",
    ]
    assert collected.of(RunEnded)[0].reason == "stopped"
    assert not [thread for thread in threading.enumerate() if thread.name in ("listening", "translating")]


def test_a_source_that_fails_loses_nothing_that_it_gave() -> None:
    for kind in (Pipeline, PlainLoop):
        stream, collected = (
            Stream(updates(TEXTS[:1]), failure=SourceError("the microphone is gone; plug it in")),
            Collected(),
        )
        task = kind(Settings(), stream, translating(), SystemClock(), [collected])
        task.start()
        with pytest.raises(SourceError, match="gone"):
            task.join()
        assert [caption.text for caption in collected.of(Caption) if caption.final] == [TEXTS[0].upper()]
        assert collected.of(RunEnded)[0].reason == "failed"
        assert collected.of(Notice) == [Notice("error", "the microphone is gone; plug it in")]
        assert collected.closed == 1


def test_a_translator_that_cannot_load_ends_the_run() -> None:
    for kind in (Pipeline, PlainLoop):
        stream = Stream(updates(TEXTS), endless=True)
        task = kind(Settings(), stream, translating(broken=True), SystemClock(), [collected := Collected()])
        task.start()
        with pytest.raises(ModelError, match="broken"):
            task.join()
        assert collected.closed == 1
        assert stream.closed.is_set()


def test_a_recogniser_that_cannot_load_ends_the_run() -> None:
    def open_listening(publish: Publish, on_audio: OnAudio) -> Listening:
        raise ModelError("the recogniser is broken; choose another")

    for kind in (Pipeline, PlainLoop):
        task = kind(Settings(), open_listening, translating(), SystemClock(), [collected := Collected()])
        task.start()
        with pytest.raises(ModelError, match="recogniser"):
            task.join()
        assert collected.of(RunEnded)[0].reason == "failed"


@pytest.mark.parametrize("kind", [Pipeline, PlainLoop])
def test_a_reader_that_goes_away_is_not_a_failure(kind: type[Pipeline] | type[PlainLoop]) -> None:
    gone = Collected(Caption, OutputClosed())
    collected = run(kind, Stream(updates(TEXTS), endless=True), gone)
    assert gone.of(Caption) == []
    assert [caption for caption in collected.of(Caption) if caption.final]
    assert collected.of(RunEnded)[0].reason == "stopped"


def test_a_sink_that_fails_ends_the_run_and_spares_the_others() -> None:
    stream, collected = Stream(updates(TEXTS), endless=True), Collected()
    full = Collected(Caption, OSError(28, "No space left on device"))
    pipeline = Pipeline(Settings(), stream, translating(), SystemClock(), [full, collected])
    pipeline.start()
    with pytest.raises(OSError, match="space"):
        pipeline.join()
    assert [caption for caption in collected.of(Caption) if caption.final]


def test_live_controls_reach_the_stages_and_are_recorded() -> None:
    stream, collected = Stream([], endless=True), Collected()
    sides: list[Translating] = []

    def open_translating(publish: Publish) -> Translating:
        sides.append(translating()(publish))
        return sides[0]

    pipeline = Pipeline(Settings(), stream, open_translating, SystemClock(), [collected])
    pipeline.change("calm", "faithful")  # before anything has loaded
    assert pipeline.change("bias", 0.4).decoding == replace(CALM["faithful"].decoding, bias=0.4)
    pipeline.start()
    collected.wait_for(SourceProgress)
    started = collected.of(RunStarted)[0].settings
    assert (started.calm, started.decoding.bias, started.decoding.window) == (
        None,
        0.4,
        CALM["faithful"].decoding.window,
    )
    assert pipeline.change("calm", "still").decoding == CALM["still"].decoding
    pipeline.change("mask_k", 5)
    pipeline.change("target", "fr")
    pipeline.change("source", "zh-Hant")
    pipeline.change("source", "auto")
    assert stream.languages == ["zh", None]
    pipeline.pause(True)
    pipeline.pause(False)
    pipeline.stop()
    pipeline.join()
    assert sides[0].presenter.mask.k == sides[0].translator.mask.k == pipeline.settings.mask.k == 5
    assert sides[0].translator.settings == CALM["still"].decoding
    assert stream.paused == [True, False]
    assert [(event.name, event.value) for event in collected.of(SettingChanged)] == [
        ("calm", "faithful"),
        ("bias", 0.4),
        ("calm", "still"),
        ("mask_k", 5),
        ("target", "fr"),
        ("source", "zh-Hant"),
        ("source", "auto"),
        ("paused", True),
        ("paused", False),
    ]


def test_records_carry_rising_instants() -> None:
    collected = run(Pipeline, Stream(updates(TEXTS)))
    instants = [record.at for record in collected.records]
    assert instants == sorted(instants)


KINDS = pytest.mark.parametrize("kind", [Pipeline, PlainLoop])


@KINDS
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_a_sink_that_is_interrupted_leaves_the_other_sinks_whole_and_closed(
    kind: type[Pipeline] | type[PlainLoop], error: BaseException
) -> None:
    interrupted, collected = Collected(Caption, error), Collected()
    task = kind(
        Settings(), Stream(updates(TEXTS), endless=True), translating(), SystemClock(), [interrupted, collected]
    )
    task.start()
    with pytest.raises(type(error)):
        task.join()
    assert collected.of(RunEnded)[0].reason == "failed"
    assert [caption for caption in collected.of(Caption) if caption.final]
    assert (interrupted.closed, collected.closed) == (1, 1)


class Loading:
    """A side that takes as long to load as its test wants."""

    def __init__(self) -> None:
        self.begun, self.done, self.closed = threading.Event(), threading.Event(), threading.Event()

    def listening(self, publish: Publish, on_audio: OnAudio) -> Listening:
        self._load()
        return Listening(iter(()), lambda paused: None, self.closed.set)

    def translating(self, publish: Publish) -> Translating:
        self._load()
        side = translating()(publish)
        return replace(side, close=self.closed.set)

    def _load(self) -> None:
        self.begun.set()
        assert self.done.wait(20)


@KINDS
@pytest.mark.parametrize("slow", ["listening", "translating"])
def test_a_stop_while_models_load_waits_for_none_of_them(kind: type[Pipeline] | type[PlainLoop], slow: str) -> None:
    loading, stream, collected = Loading(), Stream(updates(TEXTS), endless=True), Collected()
    if slow == "listening":
        task = kind(Settings(), loading.listening, translating(), SystemClock(), [collected])
    else:
        task = kind(Settings(), stream, loading.translating, SystemClock(), [collected])
    task.start()
    assert loading.begun.wait(20)
    task.stop()
    assert task.join(20)
    assert [type(record.event) for record in collected.records] == [RunEnded]
    assert collected.of(RunEnded)[0].reason == "stopped"
    assert collected.closed == 1
    # The thread that was left alone ends as soon as it can, and releases what it loaded.
    loading.done.set()
    assert loading.closed.wait(20)


@KINDS
def test_a_run_that_never_started_has_ended_and_closes_its_sinks(kind: type[Pipeline] | type[PlainLoop]) -> None:
    collected = Collected()
    task = kind(Settings(), Stream([]), translating(), SystemClock(), [collected])
    task.stop()
    assert task.join(20)
    assert (collected.records, collected.closed) == ([], 1)


def test_a_stalled_disk_holds_up_neither_captions_nor_controls() -> None:
    stream, stalled, collected = Stream(updates(TEXTS), endless=True), Stalled(), Collected()
    pipeline = Pipeline(Settings(), stream, translating(), SystemClock(), [collected], [stalled])
    pipeline.start()
    assert stalled.stalls.wait(20)
    collected.wait_for(SourceProgress)
    pipeline.change("bias", 0.4)
    collected.wait_for(SettingChanged)
    pipeline.stop()
    assert not pipeline.join(0.0)
    stalled.released.set()
    pipeline.join()
    assert stalled.records == collected.records
    assert isinstance(stalled.records[-1].event, RunEnded)


@KINDS
def test_captions_go_on_without_a_record_whose_disk_is_full(kind: type[Pipeline] | type[PlainLoop]) -> None:
    record = Collected(Caption, SessionError("The disk is full: free space."))
    collected = Collected()
    task = kind(Settings(), Stream(updates(TEXTS)), translating(), SystemClock(), [collected], [record])
    task.start()
    with pytest.raises(SessionError, match=r"incomplete: The disk is full"):
        task.join()
    assert [caption.text for caption in collected.of(Caption) if caption.final] == [text.upper() for text in TEXTS]
    [notice] = collected.of(Notice)
    assert (notice.level, notice.text) == (
        "warning",
        "The disk is full: free space; captions go on, and are not recorded from here on.",
    )
    assert collected.records[-1].event == RunEnded(30.0, "end of source")
    assert record.of(Caption) == []
    assert record.closed == 1


def test_a_hung_pass_that_returns_while_its_final_is_handed_over_adds_none(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = Pipeline(Settings(), Stream([]), translating(), SystemClock(), [collected := Collected()])
    partial, *_, final = updates(TEXTS[:1])
    pipeline._working.add("listening")
    pipeline._hand_over(partial)
    late = threading.Thread(target=pipeline._hand_over, args=(final,))
    publish = pipeline.publish

    def publish_slowly(event: Event) -> None:
        if late.ident is None:
            late.start()
            late.join(0.2)  # It has to wait for this hand-over.
        publish(event)

    monkeypatch.setattr(pipeline, "publish", publish_slowly)
    pipeline._give_up("listening")
    late.join(20)
    pipeline._publisher.close()
    assert [transcript.text for transcript in collected.of(Transcript) if transcript.final] == [partial.text]


def test_a_notice_that_comes_while_earlier_ones_are_published_is_published_behind_them() -> None:
    notices, published = PostponedNotices(), []
    notices(Notice("info", "first"))

    def publish(notice: Notice | Gap) -> None:
        if not published:
            notices(Notice("info", "second"))
        published.append(notice)

    notices.publish_to(publish)
    notices(Notice("info", "third"))
    assert [notice.text for notice in published] == ["first", "second", "third"]


def test_two_threads_that_publish_give_every_sink_the_same_order() -> None:
    sinks = [Collected() for _ in range(3)]
    pipeline = Pipeline(Settings(), Stream(updates(TEXTS * 5), endless=True), translating(), SystemClock(), sinks)
    pipeline.start()
    for number in range(200):
        pipeline.change("mask_k", number)
    sinks[0].wait_for(Caption)
    pipeline.stop()
    pipeline.join()
    assert sinks[0].records == sinks[1].records == sinks[2].records
    assert [event.value for event in sinks[0].of(SettingChanged)] == list(range(200))
