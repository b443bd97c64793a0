"""Several languages at once: each gets what a run into it alone would give; who speaks one is shown as heard in it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.clock import SystemClock
from livetrans.base.errors import ModelError
from livetrans.base.languages import same_written_language
from livetrans.config import (
    DecodingSettings,
    DraftModelSettings,
    LanguageModelSettings,
    OutputSettings,
    PromptSettings,
    Settings,
)
from livetrans.events import BackPressure, Caption, Event, Notice, Record, Transcript, Translation
from livetrans.lm.llama.model import LlamaModel
from livetrans.lm.port import Evaluation
from livetrans.run.opening import open_translating, reloading_once
from livetrans.run.publisher import Publish
from livetrans.run.translating import Translating
from livetrans.session.sinks import PlainOutput
from livetrans.session.subtitles import texts_of
from livetrans.tui.captions import caption_content
from tests.lm.scripted import ScriptedModel, hashed_rule, word_by_word_rule

from .faults import FaultyModel, Raise, Schedule, Slow
from .scripted_run import ScriptedRun, into_languages, scripted_lanes, scripted_translating, sentences, updates

SENTENCES = ["Two men are talking.", "The children are in the garden."]
CODES = ("de", "fr", "es")
SHORT = DecodingSettings(maximum_output_tokens=12)


def translated(translating: Translating, settings: Settings, transcripts: Sequence[Transcript]) -> list[Event]:
    """Return what a run publishes of the updates."""
    events: list[Event] = []
    for transcript in transcripts:
        translating.translate(transcript, settings, events.append)
    return events


def of_language(events: Sequence[Event], code: str) -> list[Event]:
    """Return translations and captions, without what was measured."""
    return [
        (event.segment_id, event.revision, event.tokens)  # type: ignore[misc]
        for event in events
        if isinstance(event, Translation | Caption) and event.language == code
    ]


def embedded(path: Path, targets: tuple[str, ...], **settings: object) -> tuple[Translating, Settings]:
    """A run by the embedded model, with a form that names the languages; what it then writes is the same each time."""
    model = LanguageModelSettings(path, threads=1, prompt="eurollm")
    made = Settings(None, model, targets=targets, **settings)  # type: ignore[arg-type]
    return open_translating(made, SystemClock(), lambda event: None), made


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"decoding": SHORT}, marks=pytest.mark.long),
        pytest.param({"decoding": replace(SHORT, method="ssbd", bias=0.2, final="partial")}, marks=pytest.mark.long),
        {"decoding": SHORT, "prompt": PromptSettings(history=2)},
        pytest.param(
            {"decoding": replace(SHORT, method="spec"), "draft_model": "drafts/livetrans-draft-en-de.q8_0.gguf"},
            marks=pytest.mark.long,
        ),
    ],
    ids=["window", "ssbd", "history", "draft model"],
)
def test_three_languages_get_token_for_token_what_a_run_into_each_gives(
    translator_path: Path, settings: dict[str, object]
) -> None:
    if "draft_model" in settings:
        settings = settings | {"draft_model": DraftModelSettings(translator_path.parent / str(settings["draft_model"]))}
    codes, stream = CODES, updates(SENTENCES)
    together = embedded(translator_path, codes, **settings)
    events = translated(*together, stream)
    together[0].close()
    for code in codes:
        alone = embedded(translator_path, (code,), **settings)
        single = of_language(translated(*alone, stream), code)
        alone[0].close()
        assert len(single) > len(stream) and of_language(events, code) == single
    assert len({tuple(of_language(events, code)) for code in codes}) == len(codes)


words = st.lists(st.sampled_from("a b c d e f".split()), min_size=1, max_size=6)


@given(st.lists(words, min_size=1, max_size=3), st.integers(0, 5), st.data())
def test_lanes_do_not_see_one_another_whatever_is_left_out_of_one(
    texts: list[list[str]], seed: int, data: st.DataObject
) -> None:
    stream = updates([" ".join(text) for text in texts])
    stream = [update for update in stream if update.final or data.draw(st.booleans())]
    model = ScriptedModel(hashed_rule(seed, end_weight=6.0))
    lanes = scripted_lanes(model, ("de", "fr"))
    kept = [update for update in stream if update.final or data.draw(st.booleans())]
    events: list[Event] = []
    for update in stream:
        lanes[0].translate(update, Settings(), events.append)
        if update in kept:
            lanes[1].translate(update, Settings(), events.append)
    for lane, seen in zip(lanes, (stream, kept), strict=True):
        [alone] = scripted_lanes(model.another_context(), (str(lane.language),))
        single = translated(Translating([alone], {}, lambda: None), Settings(), seen)
        assert of_language(events, str(lane.language)) == of_language(single, str(lane.language))


@pytest.mark.parametrize("call", range(0, 40, 6))
def test_a_failure_in_one_language_restores_all(call: int) -> None:
    stream, codes = updates(["one two three four five.", "six seven eight nine."]), ("de", "fr")
    clock = SystemClock()
    schedule = Schedule(clock, {call: Raise(RuntimeError("the device is gone"))})
    notices: list[Event] = []
    scripted = ScriptedModel(into_languages)
    model = FaultyModel(scripted.another_context(), schedule)
    reload = reloading_once("translator", [model], notices.append)
    broken = Translating(scripted_lanes(model, codes), {}, model.close, reload=reload)
    events = translated(broken, Settings(), stream)
    whole = translated(Translating(scripted_lanes(scripted, codes), {}, model.close), Settings(), stream)
    assert schedule.calls > 36 and len([event for event in notices if isinstance(event, Notice)]) == 1
    for code in codes:
        assert of_language(events, code) == of_language(whole, code)


@pytest.mark.parametrize("lane", [pytest.param(0, marks=pytest.mark.long), 1])
def test_a_context_that_fails_is_opened_again_with_its_model(
    translator_path: Path, monkeypatch: pytest.MonkeyPatch, lane: int
) -> None:
    """By llama.cpp, whose contexts end with their model."""
    settings = {"decoding": replace(SHORT, method="ssbd", bias=0.2, final="partial")}
    stream, expected = updates(SENTENCES[:1]), None
    for fails in (False, True):
        translating, made = embedded(translator_path, ("de", "fr"), **settings)
        contexts = [one.stages[0]._model for one in translating.lanes]  # type: ignore[index]
        cells = [context._cells for context in contexts]  # type: ignore[attr-defined]
        evaluate = LlamaModel.evaluate

        def failing(model: LlamaModel, context: Sequence[int], last_rows: int = 1) -> Evaluation:
            if fails and model._cells is cells[lane] and len(context) > 60:  # noqa: B023
                raise ModelError("the device is gone")
            return evaluate(model, context, last_rows)  # noqa: B023

        monkeypatch.setattr(LlamaModel, "evaluate", failing)
        events = translated(translating, made, stream)
        assert [context._cells in cells for context in contexts] == [not fails] * 2  # type: ignore[attr-defined]
        translating.close()
        monkeypatch.undo()
        made_events = [of_language(events, code) for code in ("de", "fr")]
        assert expected in (None, made_events)
        expected = made_events


def test_what_is_spoken_is_shown_as_heard_in_its_own_lane_alone() -> None:
    lanes = scripted_lanes(ScriptedModel(into_languages), ("de", "fr"))
    spoken = Transcript(0, 0, "un deux.", "", True, 0.0, 1.0, language="fr")
    events = translated(Translating(lanes, {}, lambda: None), Settings(), [spoken])
    captions = [event for event in events if isinstance(event, Caption)]
    assert [(caption.language, caption.text, caption.untranslated) for caption in captions] == [
        ("de", "un~de deux.~de", False),
        ("fr", "un deux.", True),
    ]


@given(st.sets(st.sampled_from(CODES)), st.sampled_from(CODES), st.integers(0, 4))
def test_partials_that_nobody_reads_go_first_and_no_final_goes(read: set[str], shown: str, spare: int) -> None:
    """The run has time for `spare` further languages."""
    lanes = scripted_lanes(ScriptedModel(into_languages), CODES)
    settings = Settings(targets=(shown, *(code for code in CODES if code != shown)))
    time = iter([True] * spare)
    events: list[Event] = []
    for update in updates(["one two."])[1:]:
        Translating(lanes, {}, lambda: None).translate(
            update, settings, events.append, read=read, has_time=lambda: next(time, False)
        )
    languages = [
        [event.language for event in events if isinstance(event, Caption) and event.final is final]
        for final in (False, True)
    ]
    partials, finals = languages
    wanted = {shown} | read
    assert partials[0] == finals[0] == shown
    assert set(partials[: len(wanted)]) == wanted
    assert len(partials) == len(set(partials)) == min(len(wanted) + spare, len(CODES))
    assert sorted(finals) == sorted(CODES)


@pytest.mark.parametrize("reads", [False, True])
def test_a_run_that_falls_behind_keeps_the_finals_of_every_language(reads: bool) -> None:
    class InTwoLanguages(ScriptedRun):
        def _translating(self, publish: Publish) -> Translating:
            assert self.translator
            model = FaultyModel(ScriptedModel(into_languages), self.translator)
            return Translating(scripted_lanes(model, ("de", "fr")), {}, model.close)

    run = InTwoLanguages(sentences(6), settings=Settings(targets=("de", "fr")))
    run.translator = Schedule(run.clock, always=Slow(seconds=0.4))
    if reads:
        run.pipeline.readers(["fr"])
    run.run()
    finals, partials = (
        {
            code: [one.text for one in run.collected.of(Caption) if one.language == code and one.final is final]
            for code in ("de", "fr")
        }
        for final in (True, False)
    )
    assert len(finals["de"]) == 6 and finals["fr"] == [text.replace("~de", "~fr") for text in finals["de"]]
    assert run.collected.of(BackPressure), "it fell behind"
    if reads:
        assert len(partials["fr"]) == len(partials["de"])
    else:
        assert len(partials["fr"]) < len(partials["de"])


def finals(settings: Settings, *languages: str | None) -> list[Event]:
    """What is published of a final in each language, `language` being what was detected."""
    spoken = [
        Transcript(number, 0, "one two.", "", True, 0.0, 1.0, language=code) for number, code in enumerate(languages)
    ]
    return translated(scripted_translating(ScriptedModel(word_by_word_rule()), "de"), settings, spoken)


def test_a_detected_language_of_the_captions_is_shown_as_heard_and_others_are_translated() -> None:
    events = finals(Settings(sources=("auto",)), "en", "de", "fr")
    assert [event.segment_id for event in events if isinstance(event, Translation)] == [0, 2]
    captions = [event for event in events if isinstance(event, Caption)]
    assert [(caption.text, caption.untranslated) for caption in captions] == [
        ("ONE TWO.", False), ("one two.", True), ("ONE TWO.", False),
    ]  # fmt: skip


def test_what_was_learnt_of_one_spoken_language_stops_nothing_in_another() -> None:
    """An output token a source token in the one can be two in the other: half of each caption would be missing."""
    words = [f"word{number}" for number in range(12)]
    growing = [" ".join(words[:count]) for count in range(1, 13)]
    transcripts = [
        Transcript(segment, number, "", text, text is growing[-1], 0.0, 1.0, language=code)
        for segment, code in enumerate(["en"] * 5 + ["fr"])
        for number, text in enumerate(growing)
    ]
    translating = scripted_translating(ScriptedModel(word_by_word_rule(certainty=30.0)), "de")
    events = translated(translating, Settings(sources=("auto",)), transcripts)
    stopped = [[one.segment_id for one in events if isinstance(one, Translation) and one.stats.stopped]][0]
    assert 4 in stopped and not {0, 5} & {*stopped}


@pytest.mark.parametrize(("source", "is_heard"), [("de", True), ("en", False), ("auto", False)])
def test_without_detection_the_language_of_the_run_decides(source: str, is_heard: bool) -> None:
    [*_, caption] = finals(Settings(sources=(source,)), None)
    assert isinstance(caption, Caption) and caption.untranslated == is_heard


@pytest.mark.parametrize(("source", "is_heard"), [("zh-Hant", True), ("zh-Hans", False)])
def test_a_recognised_language_is_written_as_the_run_says(source: str, is_heard: bool) -> None:
    """Recognisers have one code for all ways of writing a language."""
    translating = scripted_translating(ScriptedModel(word_by_word_rule()), "zh-Hant")
    final = Transcript(0, 0, "one two.", "", True, 0.0, 1.0, language="zh")
    [*_, caption] = translated(translating, Settings(sources=(source, "en"), targets=("zh-Hant",)), [final])
    assert isinstance(caption, Caption) and caption.untranslated == is_heard


def test_what_was_heard_is_marked_once_wherever_it_is_shown() -> None:
    [caption] = finals(Settings(sources=("auto",)), "de")
    assert isinstance(caption, Caption)
    lines = io.StringIO()
    output = PlainOutput(lines, Settings(output=OutputSettings(show_source=True)))
    output.write(Record(0.0, caption))
    assert lines.getvalue() == "> one two.\n"
    assert caption_content(caption, "").plain == "> one two."
    assert texts_of(caption, "both") == ("one two.",)


def test_regions_are_the_same_language_and_scripts_are_not() -> None:
    assert (
        same_written_language("pt", "pt-BR")
        and same_written_language("pt-PT", "pt-BR")
        and same_written_language("de", "de")
    )
    assert not same_written_language("zh", "zh-Hant") and not same_written_language("auto", "de")
