"""A session that was cut anywhere and resumed lacks nothing that was heard, and nothing that was shown is changed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.clock import ManualClock
from livetrans.config import CALM, MeetingSettings, Settings, TranscriberSettings
from livetrans.events import (
    SAMPLE_RATE,
    AudioChunk,
    Notice,
    Record,
    RunEnded,
    RunStarted,
    SettingChanged,
    SourceProgress,
    Transcript,
    Word,
)
from livetrans.run.listening import Listening, OnAudio
from livetrans.run.opening import open_audio
from livetrans.run.publisher import Publish
from livetrans.run.resuming import Resuming, open_rest, unheard_sound, without_bleed
from livetrans.run.runner import OpenListening, OpenTranslating, PlainLoop
from livetrans.run.translating import Translating
from livetrans.session.codec import EVENTS_FILE, read_records
from livetrans.session.export import read_captions
from livetrans.session.recorded import Unfinished, read_unfinished
from livetrans.session.recorder import SessionRecorder
from livetrans.session.store import summarise
from tests.audio.rooms import as_samples, bleed, microphone, recording
from tests.audio.rooms import chunks as chunks_of
from tests.lm.scripted import ScriptedModel
from tests.speech.scripted import ScriptedRecogniser

from .scripted_run import Collected, Played, SilenceGate, into_languages, scripted_lanes, sentences, sound_of, updates

CLOCK = ManualClock()
TEXTS = ["the first sentence is here.", "then another one follows it.", "and that was the last of them."]


LANGUAGES = st.sampled_from([("de",), ("de", "fr")])


def translating_into(languages: Sequence[str]) -> OpenTranslating:
    rule = partial(into_languages, certainty=1.0, unsure_of_last=True)
    return lambda publish: Translating(scripted_lanes(ScriptedModel(rule), languages), {}, lambda: None)


@contextmanager
def recognising(words: list[Word]) -> Iterator[None]:
    """Runs recognise these words."""
    with pytest.MonkeyPatch.context() as patch:
        recogniser = ScriptedRecogniser(words, unstable=0.4)
        patch.setattr("livetrans.run.opening.open_recogniser", lambda settings, publish: recogniser)
        patch.setattr("livetrans.speech.gate.VoiceActivityGate", lambda settings: SilenceGate())
        yield


def record(
    folder: Path, open_listening: OpenListening, languages: Sequence[str] = ("de",), *, keep_audio: bool = False
) -> None:
    recorder = SessionRecorder(folder, keep_audio=keep_audio)
    finish(PlainLoop(settings_of(languages), open_listening, translating_into(languages), CLOCK, [], [recorder]))


def settings_of(languages: Sequence[str]) -> Settings:
    return Settings(targets=tuple(languages), transcriber=TranscriberSettings(adaptive=False))


def record_sound(folder: Path, words: list[Word], length: float, languages: Sequence[str]) -> None:
    def open_listening(publish: Publish, on_audio: OnAudio) -> Listening:
        source = Played(sound_of(words, length), 960)
        return open_audio(source, settings_of(languages), CLOCK, publish, on_audio)

    with recognising(words):
        record(folder, open_listening, languages, keep_audio=True)


def record_transcripts(folder: Path, languages: Sequence[str] = ("de",)) -> None:
    record(folder, lambda *_: Listening(updates(TEXTS)), languages)


def finish(run: PlainLoop) -> None:
    run.start()
    assert run.join(60)


def resume(folder: Path, words: list[Word], languages: Sequence[str]) -> Collected:
    recorder, collected = SessionRecorder(folder, append=True), Collected()
    unfinished = read_unfinished(folder)
    rests = unheard_sound(unfinished, None, pytest.fail)
    listening = partial(open_rest, settings_of(languages), CLOCK, unfinished, rests)
    run = Resuming(settings_of(languages), listening, translating_into(languages), CLOCK, [collected], [recorder])
    run.unfinished = unfinished
    with recognising(words):
        finish(run)
    after = read_unfinished(folder)
    assert summarise(folder).state == "whole"
    assert not after.transcripts({}) and not unheard_sound(after, None, pytest.fail)
    return collected


def finals(folder: Path, language: str | None = None) -> list[tuple[int, str, str]]:
    captions = [spoken.caption for spoken in read_captions(folder).spoken(language) if spoken.caption.final]
    return [(caption.segment_id, caption.source, caption.text) for caption in captions]


def cut(folder: Path, share: float) -> bool:
    """Cut the events off, anywhere after the run began; False where it had not."""
    file = folder / EVENTS_FILE
    data = file.read_bytes()
    kept = data[: round(len(data) * share)]
    file.write_bytes(kept)
    return b"run_started" in kept and kept.index(b"run_started") < kept.rfind(b"\n")


@given(st.integers(2, 5), st.floats(1.0, 12.0), st.floats(0, 1), LANGUAGES)
def test_every_word_of_the_recorded_sound_is_in_one_final(
    count: int, length: float, share: float, languages: Sequence[str]
) -> None:
    words = sentences(count)
    with tempfile.TemporaryDirectory() as name:
        whole, broken = Path(name) / "whole", Path(name) / "broken"
        for folder in (whole, broken):
            record_sound(folder, words, length, languages)
        if not cut(broken, share):
            return
        shown = [finals(broken, language) for language in languages]
        resume(broken, words, languages)
        for language, before in zip(languages, shown, strict=True):
            resumed = finals(broken, language)
            assert [one for one in resumed if one in before] == before, "what was shown stays"
            assert words_in(resumed) == words_in(finals(whole, language))
            exported = [spoken.caption.source for spoken in read_captions(broken).spoken(language)]
            assert " ".join(filter(None, exported)).split() == words_in(resumed), "no word is there twice"


def words_in(finals: list[tuple[int, str, str]]) -> list[str]:
    return " ".join(source for _, source, _ in finals).split()


@pytest.mark.parametrize("stopped_after", [0, 1, 3])
@pytest.mark.parametrize("share", [0.3, 0.6])
def test_a_resumed_run_that_is_stopped_loses_nothing_either(share: float, stopped_after: int, tmp_path: Path) -> None:
    """Also where the run that was killed had heard more than the resumed one hears."""
    words = sentences(4)
    record_sound(tmp_path, words, 60.0, ("de",))
    whole = words_in(finals(tmp_path))
    assert cut(tmp_path, share)
    recorder, unfinished = SessionRecorder(tmp_path, append=True), read_unfinished(tmp_path)
    rests = unheard_sound(unfinished, None, pytest.fail)

    def open_listening(publish: Publish, on_audio: OnAudio) -> Listening:
        listening = open_rest(settings_of(("de",)), CLOCK, unfinished, rests, publish, on_audio)

        def transcripts(heard: Iterator[Transcript]) -> Iterator[Transcript]:
            for number, transcript in enumerate(heard):
                if number == stopped_after:
                    run.stop()
                yield transcript

        listening.transcripts = transcripts(listening.transcripts)
        return listening

    run = Resuming(settings_of(("de",)), open_listening, translating_into(("de",)), CLOCK, [], [recorder])
    run.unfinished = unfinished
    with recognising(words):
        finish(run)
    assert len(words_in(finals(tmp_path))) < len(whole)
    resume(tmp_path, words, ("de",))
    resumed = words_in(finals(tmp_path))
    assert len([word for word in whole if word not in resumed]) <= 1, "the word in which it was stopped"
    assert len(resumed) <= len(whole) + 1


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
        SettingChanged("from", "auto"),  # While models loaded: the run began with it.
        RunStarted({}, Settings(sources=("auto", "en"))),
        SettingChanged("calm", "faithful"),
        SettingChanged("mask-k", 5),
        SettingChanged("to", "nl"),
        SettingChanged("paused", True),
        SettingChanged("to", "es"),
    ):
        recorder.write(Record(0.0, event))
    recorder.close()
    settings = read_unfinished(tmp_path).settings
    assert (settings.source_language, settings.target_language) == ("auto", "es")
    assert (settings.decoding, settings.mask.k) == (CALM["faithful"].decoding, 5)


def test_sound_begins_again_where_the_first_unfinished_sentence_begins() -> None:
    """Two are growing, and the first of them began at the end of the last final."""
    unfinished = Unfinished(Path("session"))
    for transcript in (
        Transcript(0, 0, "one two.", "", True, 0.0, 2.0),
        Transcript(1, 0, "", "three four.", False, 2.0, 4.0, ended=True),
        Transcript(2, 0, "", "five", False, 4.0, 4.5),
    ):
        unfinished.note(Record(0.0, transcript))
    assert unfinished.rest(None, 10.0) == 2.0


def test_words_that_a_hung_recogniser_gave_are_heard_again_after_them() -> None:
    """Its last hypothesis became a final when the user ended the run: more was heard than it has."""
    unfinished, grown = Unfinished(Path("session")), Transcript(0, 0, "", "one two", False, 88.0, 95.0)
    final = replace(grown, revision=1, committed="one two", partial="", final=True)
    for event in (RunStarted({}), grown, SourceProgress(100.0, None, True), final, RunEnded(100.0, "stopped")):
        unfinished.note(Record(0.0, event))
    assert unfinished.rest(None, 130.0) == 95.0


@pytest.mark.parametrize(("reason", "begin"), [("failed", 3.6), ("stopped", None)])
def test_the_last_sound_of_a_run_that_failed_is_heard(reason: str, begin: float | None) -> None:
    """The microphone recorded 4.2 s, and its track had finished what it was given when the other one failed."""
    unfinished, final = Unfinished(Path("session")), Transcript(0, 0, "one two.", "", True, 3.0, 3.6)
    for event in (RunStarted({}), final, SourceProgress(3.6, None, True, finished=True), RunEnded(3.6, reason)):
        unfinished.note(Record(0.0, event))
    assert unfinished.rest(None, 4.2) == begin


@pytest.mark.parametrize("finished", [True, False])
def test_a_run_that_was_killed_at_the_end_of_its_recording_hears_its_last_sentence_again(finished: bool) -> None:
    """The sound had been read, and the words since the last pass were not recognised."""
    unfinished, grown = Unfinished(Path("session")), Transcript(1, 0, "three", "four", finished, 60.5, 74.0)
    last = Transcript(0, 0, "one two.", "", True, 50.0, 60.0)
    for event in (RunStarted({}, Settings()), last, grown, SourceProgress(81.0, 81.3, True, finished=finished)):
        unfinished.note(Record(0.0, event))
    assert unfinished.settings.recogniser
    assert unfinished.is_unheard is not finished
    assert unfinished.rest(None, 81.3) == (None if finished else 60.2)


def test_the_microphone_of_a_resumed_meeting_is_heard_as_in_a_run_that_knows_the_room(tmp_path: Path) -> None:
    """The user speaks over what is played, just behind the cut."""
    played = recording("dialogue")[: 20 * SAMPLE_RATE]
    own = recording("talk")[: 8 * SAMPLE_RATE]
    heard = as_samples(bleed(played, -12, 0.04) + microphone(len(played), own=own, at=11 * SAMPLE_RATE))
    recorder, settings = SessionRecorder(tmp_path, keep_audio=True), Settings(meeting=MeetingSettings())
    recorder.write(Record(0.0, RunStarted({}, settings)))
    for track, sound in (("them", played), ("me", heard)):
        recorder.write_audio(AudioChunk(sound, 0, track=track))
        for event in (Transcript(0, 0, "so far", "", True, 1.0, 12.0, track=track), SourceProgress(20.0, None, True)):
            recorder.write(Record(1.0, replace(event, track=track)))
    recorder.close()
    _, rest = unheard_sound(read_unfinished(tmp_path), None, pytest.fail)
    resumed = list(rest.chunks)
    whole = np.concatenate([chunk.samples for chunk in without_bleed(chunks_of(played), chunks_of(heard))])
    begin = resumed[0].start_sample
    assert begin == 12 * SAMPLE_RATE
    said = [
        np.abs(sound[: SAMPLE_RATE // 2]).mean()
        for sound in (np.concatenate([chunk.samples for chunk in resumed]), whole[begin:])
    ]
    assert said[0] > 0.8 * said[1] > 100
