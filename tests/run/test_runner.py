"""Both ways to run: nothing is lost, every end is clean, failures are reported and not swallowed."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from livetrans.base.clock import SystemClock
from livetrans.base.errors import ModelError, SessionError, SourceError
from livetrans.config import CALM, DecodingSettings, Settings
from livetrans.events import (
    AudioChunk,
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
from livetrans.run import publisher
from livetrans.run.listening import Listening, OnAudio
from livetrans.run.pipeline import Pipeline
from livetrans.run.postponed import Postponed
from livetrans.run.publisher import Publish
from livetrans.run.runner import OpenListening, OpenTranslating, PlainLoop, Run
from livetrans.run.translating import Translating
from livetrans.session import recorder
from livetrans.session.codec import read_records
from livetrans.session.recorder import SessionRecorder
from livetrans.session.sinks import CaptionFile, OutputClosed, Sink
from tests.lm.scripted import ScriptedModel, word_by_word_rule

from .scripted_run import Collected, Stalled, scripted_translating, updates

TEXTS = ["the first sentence is here.", "then another one follows it.", "and that was the last of them."]
SHOWN = [text.upper() for text in TEXTS]
Kind = type[Pipeline] | type[PlainLoop]
KINDS = pytest.mark.parametrize("kind", [Pipeline, PlainLoop])


@dataclass
class Controls:
    """A source that notes how it is controlled."""

    paused: list[bool]
    closed: threading.Event

    def pause(self, paused: bool) -> None:
        self.paused.append(paused)

    def close(self) -> None:
        self.closed.set()


class Stream:
    """A source of transcripts, as fast as they are taken; an endless one ends when it is closed."""

    def __init__(
        self,
        texts: list[str] = TEXTS,
        *,
        failure: Exception | None = None,
        endless: bool = False,
        gaps: Sequence[Gap] = (),
    ) -> None:
        self._transcripts = updates(texts)
        self._failure = failure
        self._endless = endless
        self._gaps = gaps
        self.closed = threading.Event()
        self.paused: list[bool] = []
        self.languages: list[str | None] = []
        self.cautions: list[float] = []

    def __call__(self, publish: Publish, on_audio: OnAudio) -> Listening:
        listening = Listening(self._give(publish), Controls(self.paused, self.closed))
        listening.expect_language = self.languages.append  # type: ignore[method-assign]
        listening.be_cautious = self.cautions.append  # type: ignore[method-assign]
        return listening

    def _give(self, publish: Publish) -> Iterator[Transcript]:
        for transcript in self._transcripts:
            for gap in self._gaps:
                if transcript.revision == 0 and gap.end == transcript.start:
                    publish(gap)
            yield transcript
        publish(SourceProgress(30.0, 30.0, False))
        if self._endless:
            assert self.closed.wait(20), "the run was never stopped"
            yield Transcript(99, 0, "one more sentence.", "", True, 30.0, 31.0)
        for gap in self._gaps:
            if gap.end > 30.0:
                publish(gap)
        if self._failure:
            raise self._failure


def translating(publish: Publish) -> Translating:
    return scripted_translating(ScriptedModel(word_by_word_rule()))


def start(
    kind: Kind,
    listening: OpenListening,
    *sinks: Sink,
    translate: OpenTranslating = translating,
    records: Sequence[Sink] = (),
    settings: Settings = Settings(),  # noqa: B008
) -> tuple[Run, Collected]:
    collected = Collected()
    task = kind(settings, listening, translate, SystemClock(), [*sinks, collected], records)
    task.start()
    return task, collected


def run(kind: Kind, stream: Stream, *sinks: Sink, settings: Settings = Settings()) -> Collected:  # noqa: B008
    task, collected = start(kind, stream, *sinks, settings=settings)
    task.join()
    return collected


def finals(collected: Collected) -> list[str]:
    return [caption.text for caption in collected.of(Caption) if caption.final]


@KINDS
@pytest.mark.parametrize("method", ["window", "rt", "ssbd"])
def test_every_final_is_shown_once_in_order_and_whole(kind: Kind, method: str) -> None:
    """Not so for continuous decoding, which is what its drafts were: those depend on what was coalesced."""
    collected = run(kind, Stream(), settings=Settings(decoding=DecodingSettings(method=method)))
    assert finals(collected) == SHOWN
    assert collected.records[-1].event == RunEnded(30.0, "end of source", ne_screen=0.0)
    assert (collected.closed, len(collected.of(RunStarted)), len(collected.of(RunEnded))) == (1, 1, 1)
    instants = [record.at for record in collected.records]
    assert instants == sorted(instants)
    done = {(event.segment_id, event.revision) for event in collected.of((Translation, Coalesced))}
    assert done == {(one.segment_id, one.revision) for one in updates(TEXTS)}


@KINDS
def test_a_gap_comes_between_the_captions_of_the_sound_around_it(kind: Kind) -> None:
    gaps = [Gap(9.0 * number - 2.0, 9.0 * number, "microphone") for number in range(3)]
    collected = run(kind, Stream(gaps=[*gaps, Gap(30.0, 40.0, "microphone")]))
    shown = [event for event in collected.of((Caption, Gap)) if isinstance(event, Gap) or event.final]
    assert [type(event) for event in shown] == [Gap, Caption] * len(TEXTS) + [Gap]
    assert [event.end for event in shown] == sorted(event.end for event in shown)


def test_gaps_behind_a_translator_that_failed_are_published_before_the_end() -> None:
    gaps = [Gap(30.0, 40.0, "microphone"), Gap(50.0, 55.0, "sleep")]

    def failing(publish: Publish) -> Translating:
        lane = Mock(track=None, language=None)
        lane.translate.side_effect = RuntimeError("out of memory")
        return replace(translating(publish), lanes=[lane])

    task, collected = start(Pipeline, Stream(gaps=gaps), translate=failing)
    with pytest.raises(RuntimeError, match="memory"):
        task.join()
    assert collected.of(Gap) == gaps
    assert isinstance(collected.records[-1].event, RunEnded)


def test_stopping_finishes_the_speech_so_far() -> None:
    pipeline, collected = start(Pipeline, Stream(TEXTS[:1], endless=True))
    collected.wait_for(SourceProgress)
    pipeline.stop()
    pipeline.join()
    assert finals(collected) == [SHOWN[0], "ONE MORE SENTENCE."]
    assert collected.of(RunEnded)[0].reason == "stopped"
    assert not [thread for thread in threading.enumerate() if thread.name in ("listening", "translating")]


@KINDS
def test_a_source_that_fails_loses_nothing_that_it_gave(kind: Kind) -> None:
    task, collected = start(kind, Stream(TEXTS[:1], failure=SourceError("the microphone is gone; plug it in")))
    with pytest.raises(SourceError, match="gone"):
        task.join()
    assert finals(collected) == SHOWN[:1]
    assert collected.of(RunEnded)[0].reason == "failed"
    assert collected.of(Notice) == [Notice("error", "the microphone is gone; plug it in")]
    assert collected.closed == 1


@KINDS
def test_a_model_that_cannot_load_ends_the_run(kind: Kind) -> None:
    def broken(*_: object) -> Listening:
        raise ModelError("the model is broken; choose another")

    stream = Stream(endless=True)
    for task, collected in (start(kind, stream, translate=broken), start(kind, broken)):  # type: ignore[arg-type]
        with pytest.raises(ModelError, match="broken"):
            task.join()
        assert (collected.of(RunEnded)[0].reason, collected.closed) == ("failed", 1)
    assert stream.closed.is_set()


@KINDS
def test_a_reader_that_goes_away_is_not_a_failure(kind: Kind) -> None:
    gone = Collected(Caption, OutputClosed())
    collected = run(kind, Stream(endless=True), gone)
    assert gone.of(Caption) == [] and finals(collected)
    assert collected.of(RunEnded)[0].reason == "stopped"


@KINDS
@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt(), SystemExit(3)])
def test_a_sink_that_fails_ends_the_run_and_leaves_the_others_whole_and_closed(
    kind: Kind, error: BaseException
) -> None:
    failing = Collected(Caption, error)
    task, collected = start(kind, Stream(endless=True), failing)
    with pytest.raises(type(error)):
        task.join()
    assert collected.of(RunEnded)[0].reason == "failed" and finals(collected)
    assert (failing.closed, collected.closed) == (1, 1)


def test_live_controls_reach_the_stages_and_are_recorded() -> None:
    stream, collected = Stream([], endless=True), Collected()
    side = scripted_translating(ScriptedModel(word_by_word_rule()))
    lane = Mock(wraps=side.lanes[0], track=None)
    side = replace(side, lanes=[lane])
    pipeline = Pipeline(Settings(), stream, lambda publish: side, SystemClock(), [collected])
    pipeline.change("calm", "faithful")  # before anything has loaded
    faithful = replace(CALM["faithful"].decoding, bias=0.4)
    assert pipeline.change("bias", 0.4).decoding == faithful
    pipeline.start()
    collected.wait_for(SourceProgress)
    assert collected.of(RunStarted)[0].settings.decoding == faithful
    changes = [("calm", "still"), ("mask-k", 5), ("to", "fr"), ("from", "zh-Hant"), ("from", "auto")]
    for name, value in changes:
        pipeline.change(name, value)  # type: ignore[arg-type]
    pipeline.pause(True)
    pipeline.pause(False)
    pipeline.stop()
    pipeline.join()
    assert stream.languages == ["zh", None]
    assert stream.cautions == [CALM[name].transcriber.caution for name in ("faithful", "still")]
    _, used, _ = lane.translate.call_args.args
    assert used == pipeline.settings and used.mask.k == 5 and used.decoding == CALM["still"].decoding
    assert stream.paused == [True, False]
    assert [(event.name, event.value) for event in collected.of(SettingChanged)] == [
        ("calm", "faithful"), ("bias", 0.4), *changes, ("paused", True), ("paused", False),
    ]  # fmt: skip


class Loading:
    """A side that takes as long to load as its test wants."""

    def __init__(self) -> None:
        self.begun, self.done, self.closed = threading.Event(), threading.Event(), threading.Event()

    def listening(self, publish: Publish, on_audio: OnAudio) -> Listening:
        self._load()
        return Listening((), Controls([], self.closed))

    def translating(self, publish: Publish) -> Translating:
        self._load()
        return replace(translating(publish), close=self.closed.set)

    def _load(self) -> None:
        self.begun.set()
        assert self.done.wait(20)


@KINDS
@pytest.mark.parametrize("slow", ["listening", "translating"])
def test_a_stop_while_models_load_waits_for_none_of_them(kind: Kind, slow: str) -> None:
    loading = Loading()
    if slow == "listening":
        task, collected = start(kind, loading.listening)
    else:
        task, collected = start(kind, Stream(endless=True), translate=loading.translating)
    assert loading.begun.wait(20)
    task.stop()
    assert task.join(20)
    assert [record.event for record in collected.records] == [RunEnded(0.0, "stopped")]
    assert collected.closed == 1
    # The thread that was left alone ends as soon as it can, and releases what it loaded.
    loading.done.set()
    assert loading.closed.wait(20)


@KINDS
def test_a_run_that_never_started_has_ended_and_closes_its_sinks(kind: Kind) -> None:
    task = kind(Settings(), Stream(), translating, SystemClock(), [collected := Collected()])
    task.stop()
    assert task.join(20)
    assert (collected.records, collected.closed) == ([], 1)


def test_a_stalled_disk_holds_up_neither_captions_nor_controls() -> None:
    stalled = Stalled()
    pipeline, collected = start(Pipeline, Stream(endless=True), records=[stalled])
    assert isinstance(pipeline, Pipeline) and stalled.stalls.wait(20)
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
def test_an_output_that_nobody_reads_ends_a_stopped_run_with_a_reason(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "STALLED_SECONDS", 0.05)
    stalled = Stalled()
    task, collected = start(kind, Stream(), stalled)
    collected.wait_for(RunEnded)
    assert collected.of(RunEnded)[0].reason == "end of source" and not task.join(0.2)
    task.stop()
    with pytest.raises(SessionError, match="taken nothing"):
        task.join(20)
    stalled.released.set()


@KINDS
def test_captions_go_on_without_a_record_whose_disk_is_full(kind: Kind) -> None:
    record = Collected(Caption, SessionError("The disk is full: free space."))
    task, collected = start(kind, Stream(), records=[record])
    with pytest.raises(SessionError, match=r"incomplete\. The disk is full"):
        task.join()
    assert finals(collected) == SHOWN
    [notice] = collected.of(Notice)
    text = "The disk is full: free space; captions continue, and nothing else is still written."
    assert (notice.level, notice.text) == ("warning", text)
    assert collected.records[-1].event == RunEnded(30.0, "end of source", ne_screen=0.0)
    assert (record.of(Caption), record.closed) == ([], 1)


@KINDS
def test_what_cannot_be_written_is_named_and_what_still_is(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First the sound of the session, then the caption file: the session itself is whole."""

    class Full:
        def write(self, chunk: AudioChunk) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None: ...

    class Replaced:
        """The folder of the caption file goes after the sound."""

        def __call__(self, publish: Publish, on_audio: OnAudio) -> Listening:
            def transcripts() -> Iterator[Transcript]:
                on_audio(AudioChunk(np.zeros(16, np.int16), 0))
                for transcript in updates(TEXTS):
                    if transcript.segment_id == 1 and transcript.revision == 0:
                        seen.wait_for(Notice)
                        (tmp_path / "elsewhere").rename(tmp_path / "gone")
                    yield transcript

            return Listening(transcripts())

    monkeypatch.setattr(recorder, "_WaveFile", lambda *_: Full())
    (tmp_path / "elsewhere").mkdir()
    session = SessionRecorder(tmp_path / "session", keep_audio=True)
    seen = Collected()
    task, collected = start(
        kind, Replaced(), seen, records=[session, CaptionFile(tmp_path / "elsewhere" / "captions.txt")]
    )
    with pytest.raises(SessionError, match=r"incomplete\. The sound cannot be kept"):
        task.join()
    sound, captions = [notice.text for notice in collected.of(Notice)]
    assert sound.startswith("The sound cannot be kept in ")
    assert sound.endswith("; captions continue, and the session and the caption file are still written.")
    assert "captions.txt cannot be written" in captions
    assert captions.endswith("; captions continue, and the session is still written.")
    assert finals(collected) == SHOWN
    assert isinstance([*read_records(tmp_path / "session")][-1].event, RunEnded)


def test_a_hung_pass_that_returns_while_its_final_is_handed_over_adds_none(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = Pipeline(Settings(), Stream([]), translating, SystemClock(), [collected := Collected()])
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
    notices, published = Postponed[Notice | Gap](), []
    notices(Notice("info", "first"))

    def publish(notice: Notice | Gap) -> None:
        if not published:
            notices(Notice("info", "second"))
        published.append(notice)

    notices.pass_to(publish)
    notices(Notice("info", "third"))
    assert [notice.text for notice in published] == ["first", "second", "third"]
