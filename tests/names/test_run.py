"""Names through a whole run: every event, the session, the page, the screen, NE, and what is resumed or replayed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from livetrans.base.clock import ManualClock, SystemClock
from livetrans.captions import corrected_caption
from livetrans.config import MaskSettings, PromptSettings, Settings, Term
from livetrans.events import (
    Caption,
    Event,
    GlossaryRead,
    NameCorrected,
    Notice,
    Record,
    RunStarted,
    Transcript,
    Translation,
)
from livetrans.metrics.captions import ScreenErasure
from livetrans.metrics.monitor import Monitor
from livetrans.names.file import read_terms
from livetrans.names.repair import SpellingRepairer, with_correction
from livetrans.serve.lines import SharedLines, StreamQuery
from livetrans.session.export import export, read_captions
from livetrans.session.recorded import RecordedTranscripts, read_unfinished
from livetrans.translation.prompting import Prompts
from tests.lm.scripted import ScriptedModel, word_by_word_rule
from tests.run.faults import Hang, Schedule
from tests.run.scripted_run import Collected, ScriptedRun, scripted_translating, sentences
from tests.session.examples import write_session

GLOSSARY = (Term("Siobhan", "Siobhan", (("shiv on", ""),)), Term("bridge", "Steg"))
SPOKEN = (Term("Siobhan", "Siobhan", (("w0x2 w0x3", ""), ("w1x2 w1x3", ""))), Term("bridge", "Steg"))
"""With what the scripted recogniser writes."""


def final(segment: int, source: str, text: str, **fields: object) -> Caption:
    return Caption(Transcript(segment, 0, source, "", True, float(segment), segment + 1.0), text, **fields)  # type: ignore[arg-type]


def test_every_update_its_translation_and_the_recognisers_prompt_have_the_name() -> None:
    run = ScriptedRun(sentences(2), settings=Settings(prompt=PromptSettings(glossary=SPOKEN)))
    run.run()
    finals = [event for event in run.collected.of(Transcript) if event.final]
    assert [event.text for event in finals] == ["w0x0 w0x1 Siobhan w0x4 w0x5.", "w1x0 w1x1 Siobhan w1x4 w1x5."]
    assert [event.repairs[0].heard for event in finals] == ["w0x2 w0x3", "w1x2 w1x3"]
    assert all("SIOBHAN" in text for text in run.shown)
    for event in run.collected.of(Transcript):
        for repair in event.repairs:
            assert event.text[repair.begin : repair.end] == "Siobhan"


@pytest.mark.parametrize(("odds", "right"), [(-1.0, True), (-50.0, False), (float("-inf"), False)])
def test_a_run_asks_its_recogniser_about_what_is_near_a_spelling(tmp_path: Path, odds: float, right: bool) -> None:
    words = [replace(word, text=word.text.replace("w0x2", "thorseen")) for word in sentences(1)]
    settings = Settings(prompt=PromptSettings(glossary=(Term("Thorsten", "", (("thorestan", ""),)),)))
    run = ScriptedRun(words, settings=settings, likelihood=lambda text: odds if "thorestan" in text else 0.0)
    run.run()
    [final] = [event for event in run.collected.of(Transcript) if event.final]
    assert (final.text, [one.heard for one in final.repairs]) == (
        ("w0x0 w0x1 Thorsten w0x3 w0x4 w0x5.", ["thorseen"]) if right else ("w0x0 w0x1 thorseen w0x3 w0x4 w0x5.", [])
    )
    heard = run.collected.of(Transcript)
    path = write_session(tmp_path / "events.jsonl", RunStarted({}, settings), *heard)
    replayed = list(RecordedTranscripts(path, ManualClock(), real_time=False))
    assert [(one.text, one.repairs) for one in replayed] == [(one.text, one.repairs) for one in heard]


def test_a_replay_of_the_session_and_its_rest_have_the_same_repairs(tmp_path: Path) -> None:
    run = ScriptedRun(sentences(2), settings=Settings(prompt=PromptSettings(glossary=SPOKEN)))
    run.run()
    name = NameCorrected("noon", "noon", "Noone")
    settings = Settings(None, prompt=PromptSettings(glossary=GLOSSARY))
    heard = run.collected.of(Transcript)
    path = write_session(tmp_path / "events.jsonl", RunStarted({}, settings), *heard, name)
    replayed = list(RecordedTranscripts(path, ManualClock(), real_time=False))
    assert [(one.text, one.repairs) for one in replayed] == [(one.text, one.repairs) for one in heard]
    resumed = read_unfinished(path).settings.prompt.glossary
    assert resumed == with_correction(GLOSSARY, name), "the rest is repaired by the terms that held last"
    read = write_session(tmp_path / "read.jsonl", RunStarted({}, settings), *heard, GlossaryRead(GLOSSARY[1:]))
    assert read_unfinished(read).settings.prompt.glossary == GLOSSARY[1:]


def test_a_changed_file_holds_from_the_next_update_on_and_a_bad_line_is_said(tmp_path: Path) -> None:
    file, collected = tmp_path / "names.tsv", Collected()
    file.write_text("Siobhan\t=\tshiv on\na,b,c,d\n")
    prompt = PromptSettings(glossary_file=file, glossary=read_terms(file)[0])
    edited = ScriptedRun(sentences(1), settings=Settings(prompt=replace(prompt, glossary=GLOSSARY))).pipeline
    edited._read_glossary()
    assert edited.settings.prompt.glossary == prompt.glossary, "it was edited after the command line read it"
    run = ScriptedRun(sentences(2), settings=Settings(prompt=prompt), collected=collected)
    pipeline = run.pipeline
    pipeline._read_glossary()
    file.write_text("Siobhan\t=\tshiv on\nbridge,Steg\n")
    pipeline.correct(NameCorrected("vanilla", "vanilla", "Vineela"))
    pipeline._read_glossary()
    terms = pipeline.settings.prompt.glossary
    assert [term.text for term in terms] == ["Siobhan", "bridge", "Vineela"], "a correction outlives the reading"
    file.unlink()
    pipeline._read_glossary()
    file.write_text(",\n")
    os.utime(file, ns=(1, 1))
    pipeline._read_glossary()
    assert pipeline.settings.prompt.glossary == terms, "what cannot be read changes nothing"
    run.run()
    warnings = [notice.text for notice in collected.of(Notice) if str(file) in notice.text]
    assert [("line 2 of" in text, "kept" in text) for text in warnings] == [(True, False), (False, True)]
    assert [event.terms for event in collected.of(GlossaryRead)] == [terms]


def test_a_correction_reaches_an_update_that_the_translator_has_or_that_waits_for_it() -> None:
    hanging = Schedule(SystemClock(), {2: Hang()})
    run = ScriptedRun(sentences(1), translator=hanging)
    run.pipeline.start()
    assert hanging.hanging.wait(20)
    while not any(event.final for event in run.collected.of(Transcript)):
        assert not run.pipeline.join(0.01)
    run.pipeline.correct(NameCorrected("w0x1", "w0x1", "Vineela"))
    hanging.release()
    assert run.pipeline.join(20)
    finals = [event for event in run.collected.of(Caption) if event.final]
    assert [event.source for event in finals] == ["w0x0 Vineela w0x2 w0x3 w0x4 w0x5."]


def test_a_correction_reaches_page_exports_and_figures_and_is_no_erasure(tmp_path: Path) -> None:
    name = NameCorrected("Vanilla", "Vanilla", "Vineela")
    first, second = final(0, "Thanks, Vanilla.", "Danke, Vanilla."), final(1, "Yes.", "Ja.")
    session = write_session(tmp_path / "s.jsonl", RunStarted({}, Settings()), first, second, name)
    assert (
        "".join(export(read_captions(session), "txt", "both")) == "Thanks, Vineela.\nDanke, Vineela.\n\nYes.\nJa.\n\n"
    )
    shared, monitor = SharedLines(), Monitor(memory=lambda: None)
    for event in (first, second, name):
        shared.write(Record(0.0, event))
        monitor.write(Record(0.0, event))
    news = shared.since(shared.position_of(StreamQuery()), StreamQuery(), 10_000)[0].decode()
    assert "Vanilla" not in news and '"repaired": ["Vineela"]' in news
    third = final(2, "Yes, Vineela.", "Ja, Vineela.")
    monitor.write(Record(0.0, replace(third, transcript=replace(third.transcript, final=False), text="Ja.")))
    monitor.write(Record(0.0, third))
    assert (monitor.snapshot().corrections, monitor.snapshot().ne_screen) == (1, pytest.approx(1 / 10))
    screen = ScreenErasure()
    growing = replace(first, transcript=replace(first.transcript, final=False))
    screen.add(growing)
    screen.correct(replace(growing, text="Danke, Vineela."))
    screen.add(replace(growing, text="Danke, Vineela."))
    assert (screen.erased_units, screen.corrections) == (0, 1)


def test_a_false_repair_is_undone_only_where_it_was_made() -> None:
    terms = (Term("Ruben", "", (("robin", ""),)),)
    name = NameCorrected("Robin", "Ruben", "Robin")
    assert with_correction(terms, name) == (Term("Ruben"), Term("Robin", "Robin"))
    repaired = SpellingRepairer(terms).repaired(final(0, "Robin and Ruben met Robin.", "").transcript)
    right = corrected_caption(Caption(repaired, "Ruben und Ruben"), name)
    assert right is not None and right.source == "Robin and Ruben met Robin."
    assert [right.source[one.begin : one.end] for one in right.repairs] == ["Robin", "Robin"]
    assert corrected_caption(final(1, "Ruben came.", "Ruben kam."), name) is None


@pytest.mark.parametrize("name", [NameCorrected("Robin", "Ruben", "Robina"), NameCorrected("noon", "noon", "Noone")])
def test_a_correction_of_a_growing_caption_commits_no_word(name: NameCorrected) -> None:
    heard = Transcript(0, 1, "Robin said noon", "and Robin and noon came", False, 0.0, 1.0)
    growing = SpellingRepairer((Term("Ruben", "", (("robin", ""),)),)).repaired(heard)
    right = corrected_caption(Caption(growing, ""), name)
    assert right is not None and right.source.count(name.written) == 2
    assert len(right.committed_source.split()) == len(growing.committed.split())


def test_a_final_that_lacks_a_term_is_decoded_once_more_and_never_forced() -> None:
    def shown(*, knows: bool) -> tuple[list[Event], ScriptedModel]:
        model = ScriptedModel(
            word_by_word_rule(
                lambda word: {"bridge": "Steg" if model.asked else "BRIDGE", "Siobhan": word}.get(word, word.upper()),
                unsure_of_last=False,
            )
        )
        model.asked = False  # type: ignore[attr-defined]
        translating = scripted_translating(model)
        [lane] = translating.lanes
        assert lane.stages
        prompts: Prompts = lane.stages[1]
        prompt = prompts.choose(Transcript(0, 0, "", "", True, 0.0, 0.0))

        def beside(terms: object) -> object:
            model.asked = knows  # type: ignore[attr-defined]
            return prompt

        prompts.beside = beside  # type: ignore[method-assign, assignment]
        prompts.expect(GLOSSARY)
        events: list[Event] = []
        settings = Settings(prompt=PromptSettings(glossary=GLOSSARY), mask=MaskSettings("none"))
        for partial, whole in (("the", False), ("the bridge of Siobhan", True)):
            update = Transcript(0, int(whole), partial if whole else "", "" if whole else partial, whole, 0.0, 1.0)
            translating.translate(update, settings, events.append)
        return events, model

    for knows, text, kept in ((True, "THE Steg OF Siobhan", 2), (False, "THE BRIDGE OF Siobhan", 1)):
        events, _ = shown(knows=knows)
        translation = [event for event in events if isinstance(event, Translation)][-1]
        assert (translation.text, translation.wanted_terms, translation.kept_terms) == (text, 2, kept)
        assert [event.text for event in events if isinstance(event, Caption)][-1] == text
