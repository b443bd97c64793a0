"""A session that was cut anywhere and resumed holds the finals of a run that was never interrupted."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from livetrans.clock import ManualClock
from livetrans.config import CALM, Settings, TranscriberSettings
from livetrans.events import (
    Caption,
    Notice,
    Record,
    RunStarted,
    SettingChanged,
    Word,
)
from livetrans.run.listening import Listening, ListeningState, OnAudio, Stages, TrackStages, listen
from livetrans.run.listening import sound_of as heard_from
from livetrans.run.publisher import Publish
from livetrans.run.resuming import Remainder, Remainders, Resuming
from livetrans.run.runner import OpenListening, OpenTranslating, PlainLoop
from livetrans.run.translating import Translating
from livetrans.session.codec import EVENTS_FILE, read_records
from livetrans.session.export import last_captions
from livetrans.session.recorded import CHUNK, read_unfinished
from livetrans.session.recorder import SessionRecorder
from livetrans.speech.transcriber import Transcriber
from tests.lm.scripted import ScriptedModel
from tests.speech.scripted import ScriptedRecogniser

from .scripted_run import Collected, Played, SilenceGate, into_languages, scripted_lanes, sentences, sound_of, updates

CLOCK = ManualClock()
TEXTS = ["the first sentence is here.", "then another one follows it.", "and that was the last of them."]


LANGUAGES = st.sampled_from([("de",), ("de", "fr")])


def translating_into(languages: Sequence[str]) -> OpenTranslating:
    # Unsure enough for drafts to decide: a resumed run has to draft as the first one did.
    rule = partial(into_languages, certainty=1.0, unsure_of_last=True)
    return lambda publish: Translating(scripted_lanes(ScriptedModel(rule), languages), {}, lambda: None)


def stages(words: list[Word], publish: Publish) -> Stages:
    recogniser = ScriptedRecogniser(words, unstable=0.4)
    transcriber = Transcriber(recogniser, TranscriberSettings(adaptive=False), CLOCK)
    return Stages(SilenceGate(), transcriber, recogniser)  # type: ignore[arg-type]


def record(
    folder: Path, open_listening: OpenListening, languages: Sequence[str] = ("de",), *, keep_audio: bool = False
) -> None:
    recorder, settings = SessionRecorder(folder, keep_audio=keep_audio), Settings(targets=tuple(languages))
    finish(PlainLoop(settings, open_listening, translating_into(languages), CLOCK, [Collected()], [recorder]))


def record_sound(folder: Path, words: list[Word], length: float, languages: Sequence[str]) -> None:
    def open_listening(publish: Publish, on_audio: OnAudio) -> Listening:
        source, opened = Played(sound_of(words, length), CHUNK), stages(words, publish)
        track = TrackStages(source, opened, publish)
        transcripts = listen(heard_from(source, track, on_audio), [track], ListeningState(CLOCK))
        return Listening(transcripts, source.pause, source.close)

    record(folder, open_listening, languages, keep_audio=True)


def record_transcripts(folder: Path, languages: Sequence[str] = ("de",)) -> None:
    record(folder, lambda *_: Listening(iter(updates(TEXTS)), lambda paused: None, lambda: None), languages)


def finish(run: PlainLoop) -> None:
    run.start()
    assert run.join(60)


def remainder_of(folder: Path, words: list[Word]) -> Remainders:
    return Remainders([Remainder(read_unfinished(folder), SilenceGate, partial(stages, words))])  # type: ignore[arg-type]


def resume(folder: Path, words: list[Word]) -> Collected:
    remainder, collected = remainder_of(folder, words), Collected()
    records = [SessionRecorder(folder, append=True)]
    settings = read_unfinished(folder).settings
    run = Resuming(settings, remainder.open_listening, translating_into(settings.targets), CLOCK, [collected], records)
    run.remainder = remainder
    finish(run)
    assert read_unfinished(folder).ended
    assert remainder_of(folder, words).is_empty
    return collected


def finals(folder: Path, language: str | None = None) -> list[tuple[int, str, str]]:
    captions = [spoken.caption for spoken in last_captions(folder, language=language) if spoken.caption.final]
    return [(caption.segment_id, caption.source, caption.text) for caption in captions]


def cut(folder: Path, share: float) -> bool:
    """Cut the events off, anywhere after the run began; False where it had not."""
    file = folder / EVENTS_FILE
    data = file.read_bytes()
    kept = data[: round(len(data) * share)]
    file.write_bytes(kept)
    return b"run_started" in kept and kept.index(b"run_started") < kept.rfind(b"\n")


@given(st.floats(0, 1), LANGUAGES)
def test_recognised_sentences_are_translated_as_if_nothing_had_happened(share: float, languages: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        whole, broken = Path(name) / "whole", Path(name) / "broken"
        for folder in (whole, broken):
            record_transcripts(folder, languages)
        if not cut(broken, share):
            return
        heard = [final.segment_id for final in read_unfinished(broken).finals]
        resume(broken, [])
        for language in languages:
            resumed, expected = finals(broken, language), finals(whole, language)
            assert all(text.count(f"~{language}") == len(source.split()) for _, source, text in resumed)
            assert resumed[: len(heard)] == expected[: len(heard)]
            assert len(resumed) <= len(heard) + 1  # The segment that was still spoken ends as it was last recognised.


@given(st.integers(2, 5), st.floats(1.0, 12.0), st.floats(0, 1), LANGUAGES)
def test_recorded_sound_is_recognised_as_if_nothing_had_happened(
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
        collected = resume(broken, words)
        for language, before in zip(languages, shown, strict=True):
            assert finals(broken, language) == finals(whole, language)
            added = [caption for caption in collected.of(Caption) if caption.final and caption.language == language]
            assert len(added) == len(finals(whole, language)) - len(before)  # None is shown twice.


def test_a_sentence_that_is_recognised_in_other_words_is_shown_in_every_language(tmp_path: Path) -> None:
    words = sentences(2, words=3)
    record_sound(tmp_path, words, 6.0, ("de", "fr"))
    file = tmp_path / EVENTS_FILE
    lines = file.read_bytes().splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if b'"final": true' in line)
    for count in range(first, len(lines)):
        file.write_bytes(b"".join(lines[:count]))
        resume(tmp_path, [replace(word, text=f"x{word.text}") for word in words])
        german, french = ([source for _, source, _ in finals(tmp_path, code)] for code in ("de", "fr"))
        assert german == french


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
