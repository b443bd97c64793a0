"""A session that was cut anywhere and resumed holds the finals of a run that was never interrupted."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.clock import ManualClock
from livetrans.config import CALM, Settings, TranscriberSettings
from livetrans.errors import SessionError
from livetrans.events import (
    Caption,
    Notice,
    Record,
    RunStarted,
    SettingChanged,
    Word,
)
from livetrans.run.listening import Listening, OnAudio, Stages, listen
from livetrans.run.publisher import Publish
from livetrans.run.restarting import RestartingRecogniser
from livetrans.run.resuming import Remainder, Resuming
from livetrans.run.runner import OpenListening, PlainLoop
from livetrans.run.translating import Translating
from livetrans.session.codec import EVENTS_FILE, read_records
from livetrans.session.export import last_captions
from livetrans.session.recorded import CHUNK, read_unfinished
from livetrans.session.recorder import SessionRecorder
from livetrans.speech.transcriber import Transcriber
from tests.lm.scripted import ScriptedModel, word_by_word_rule
from tests.speech.scripted import ScriptedRecogniser

from .scripted_run import SilenceGate, Sound, scripted_translating, sentences, updates
from .sinks import Collected

CLOCK = ManualClock()
TEXTS = ["the first sentence is here.", "then another one follows it.", "and that was the last of them."]


def translating(publish: Publish) -> Translating:
    # Unsure enough for drafts to decide: a resumed run has to draft as the first one did.
    return scripted_translating(ScriptedModel(word_by_word_rule(certainty=1.0)))


def stages(words: list[Word], publish: Publish) -> Stages:
    recogniser = RestartingRecogniser(lambda: ScriptedRecogniser(words, unstable=0.4), CLOCK, publish)
    transcriber = Transcriber(recogniser, TranscriberSettings(adaptive=False), CLOCK)
    return Stages(SilenceGate(), transcriber, recogniser)  # type: ignore[arg-type]


def record(folder: Path, open_listening: OpenListening, *, keep_audio: bool = False) -> None:
    recorder = SessionRecorder(folder, keep_audio=keep_audio)
    finish(PlainLoop(Settings(), open_listening, translating, CLOCK, [Collected()], [recorder]))


def record_sound(folder: Path, words: list[Word], length: float) -> None:
    def open_listening(publish: Publish, on_audio: OnAudio) -> Listening:
        source, opened = Sound(words, length, CHUNK), stages(words, publish)
        return Listening(listen(source, opened.gate, opened.transcriber, publish, on_audio), source.pause, source.close)

    record(folder, open_listening, keep_audio=True)


def record_transcripts(folder: Path) -> None:
    record(folder, lambda *_: Listening(iter(updates(TEXTS)), lambda paused: None, lambda: None))


def finish(run: PlainLoop) -> None:
    run.start()
    assert run.join(60)


def remainder_of(folder: Path, words: list[Word]) -> Remainder:
    return Remainder(read_unfinished(folder), SilenceGate, lambda publish: stages(words, publish))  # type: ignore[arg-type]


def resume(folder: Path, words: list[Word]) -> Collected:
    remainder, collected = remainder_of(folder, words), Collected()
    records = [SessionRecorder(folder, append=True)]
    run = Resuming(Settings(), remainder.open_listening, translating, CLOCK, [collected], records)
    run.silent = remainder.silent
    finish(run)
    assert read_unfinished(folder).ended
    assert remainder_of(folder, words).is_empty
    return collected


def finals(folder: Path) -> list[tuple[int, str, str]]:
    captions = [spoken.caption for spoken in last_captions(folder) if spoken.caption.final]
    return [(caption.segment_id, caption.source, caption.text) for caption in captions]


def cut(folder: Path, share: float) -> bool:
    """Cut the events off, anywhere after the run began; False where it had not."""
    file = folder / EVENTS_FILE
    data = file.read_bytes()
    kept = data[: round(len(data) * share)]
    file.write_bytes(kept)
    return b"run_started" in kept and kept.index(b"run_started") < kept.rfind(b"\n")


@given(st.floats(0, 1))
def test_recognised_sentences_are_translated_as_if_nothing_had_happened(share: float) -> None:
    with tempfile.TemporaryDirectory() as name:
        whole, broken = Path(name) / "whole", Path(name) / "broken"
        for folder in (whole, broken):
            record_transcripts(folder)
        if not cut(broken, share):
            return
        heard = [final.segment_id for final in read_unfinished(broken).finals]
        resume(broken, [])
        resumed, expected = finals(broken), finals(whole)
        assert resumed[: len(heard)] == expected[: len(heard)]
        assert len(resumed) <= len(heard) + 1  # The segment that was still spoken ends as it was last recognised.


@given(st.integers(2, 5), st.floats(1.0, 12.0), st.floats(0, 1))
def test_recorded_sound_is_recognised_as_if_nothing_had_happened(count: int, length: float, share: float) -> None:
    words = sentences(count)
    with tempfile.TemporaryDirectory() as name:
        whole, broken = Path(name) / "whole", Path(name) / "broken"
        for folder in (whole, broken):
            record_sound(folder, words, length)
        if not cut(broken, share):
            return
        shown = finals(broken)
        collected = resume(broken, words)
        assert finals(broken) == finals(whole)
        added = [caption for caption in collected.of(Caption) if caption.final]
        assert len(added) == len(finals(whole)) - len(shown)  # None is shown twice.


def test_instants_go_on_and_half_a_line_is_gone(tmp_path: Path) -> None:
    record_transcripts(tmp_path / "s")
    with (tmp_path / "s" / EVENTS_FILE).open("ab") as file:
        file.write(b'{"event": "capt')
    warned: list[Notice] = []
    read_unfinished(tmp_path / "s", warned.append)
    assert "incomplete" in warned[0].text
    SessionRecorder(tmp_path / "s", append=True).close()
    assert [type(record.event) for record in read_records(tmp_path / "s")].count(RunStarted) == 1


def test_settings_are_those_that_keys_chose_last(tmp_path: Path) -> None:
    recorder = SessionRecorder(tmp_path)
    for event in (
        SettingChanged("source", "auto"),  # While models loaded: the run began with it.
        RunStarted({}, Settings(sources=("auto", "en"))),
        SettingChanged("calm", "faithful"),
        SettingChanged("mask_k", 5),
        SettingChanged("target", "nl"),
        SettingChanged("paused", True),
        SettingChanged("target", "es"),
    ):
        recorder.write(Record(0.0, event))
    recorder.close()
    settings = read_unfinished(tmp_path).settings
    assert (settings.source_language, settings.target_language) == ("auto", "es")
    assert (settings.decoding, settings.mask.k) == (CALM["faithful"].decoding, 5)


def test_a_run_that_never_listened_has_nothing_to_finish(tmp_path: Path) -> None:
    (tmp_path / EVENTS_FILE).write_text('{"event": "notice", "at": 0.1, "level": "info", "text": "x"}\n')
    with pytest.raises(SessionError, match="nothing to finish"):
        read_unfinished(tmp_path)


def test_a_session_that_is_being_recorded_is_not_resumed(tmp_path: Path) -> None:
    recorder = SessionRecorder(tmp_path / "s")
    with pytest.raises(SessionError, match="being recorded"):
        SessionRecorder(tmp_path / "s", append=True)
    recorder.close()
