"""The screen driven by scripted events and keys."""

from __future__ import annotations

import asyncio
import re
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from livetrans.config import DecodingSettings, OutputSettings, PromptSettings, Settings, Term
from livetrans.events import Caption, Gap, NameCorrected, Notice, Record, Repair, Transcript
from livetrans.session.codec import read_records
from livetrans.session.export import LastCaptions
from livetrans.tui import captions
from livetrans.tui.app import ONLY_TRANSLATED, LivetransApp
from livetrans.tui.captions import Current, History
from livetrans.tui.help import HelpScreen
from livetrans.tui.keys import BIAS_STEP, COMMANDS
from livetrans.tui.names import likely_names
from tests.moved_rows import MovedRows
from tests.tui.scripted import (
    FULL,
    caption,
    conversation,
    drawn_rows,
    ended,
    finals,
    on_stage,
    screen_text,
    settle,
    started,
    transcript,
)

pytestmark = pytest.mark.asyncio

RECORDINGS = Path(__file__).parents[2] / "recordings"


async def test_a_partial_is_replaced_and_the_final_moves_to_the_history_once() -> None:
    async with on_stage(started()) as stage:
        await stage.play(caption(0, "Das alte Wort"))
        assert "Das alte Wort" in stage.text
        await stage.play(caption(0, "Das neue Wort", revision=1))
        assert "Das alte Wort" not in stage.text
        await stage.play(caption(0, "Das letzte Wort.", final=True))
        assert stage.history == []
        assert "Das letzte Wort." in stage.text
        await stage.play(transcript(1, "", "Yes"), caption(1, "Ja", source="Yes"))
        assert stage.history == ["Das letzte Wort."]
        assert stage.text.count("Das letzte Wort.") == 1
        await stage.play(caption(1, "Ja.", final=True), Gap(2.0, 14.0, "microphone"), Gap(14.0, 17.0, "paused"))
        assert stage.history[1:] == ["Ja.", "[12 s without sound]", "[paused for 3 s]"]


async def test_a_final_that_moves_to_the_history_is_in_every_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    async with on_stage(started()) as stage:
        frames: list[str] = []
        display = stage.app._display

        def see(*drawn: Any) -> None:
            if not stage.app._batch_count:  # Else nothing is drawn.
                frames.append(stage.text)
            display(*drawn)

        monkeypatch.setattr(stage.app, "_display", see)
        for number in range(12):
            await stage.play(caption(number, f"Satz {number}.", final=True))
            frames.clear()
            await stage.play(transcript(number + 1, "", "Yes"))
            assert frames and {frame.count(f"Satz {number}.") for frame in frames} == {1}
        assert len(stage.history) == 12


async def test_captions_begin_at_the_top_and_stay_where_they_grew() -> None:
    def row_of(text: str) -> int:
        return next(row for row, line in enumerate(stage.lines) if text in line)

    async with on_stage(started(), size=(100, 30)) as stage:
        for number in range(6):
            growing = caption(number, f"Satz {number} wird", source="A sentence")
            await stage.play(transcript(number, "", "A sentence"), growing)
            row = row_of(f"Satz {number} wird")
            assert number or row == 1
            final = caption(number, f"Satz {number} wird wahr.", final=True, source="A sentence comes.")
            await stage.play(final, transcript(number + 1, "", "And"))
            assert row_of(f"Satz {number} wird wahr.") == row and "A sentence comes." in stage.lines[row + 1]


async def test_no_final_is_lost_when_threads_post_quickly() -> None:
    count = 60
    async with on_stage(started()) as stage:

        def talk() -> None:
            for number in range(count):
                for revision in range(5):
                    stage.run.screenplay.play(caption(number, f"Teil {revision}", revision=revision))
                stage.run.screenplay.play(caption(number, f"Satz {number}.", final=True))

        thread = threading.Thread(target=talk)
        thread.start()
        while thread.is_alive():
            await stage.pilot.pause()
        await stage.play(caption(count, "Ende"))
        assert stage.history == [f"Satz {number}." for number in range(count)]


async def test_the_history_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captions, "HISTORY_CAPTIONS", 10)
    async with on_stage(started()) as stage:
        await stage.play(*finals(30))
        assert stage.history == [f"Satz {number}." for number in range(19, 29)]
        assert len(stage.app.query_one(History).children) == 10


async def test_a_reader_further_up_stays_there_while_the_oldest_captions_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captions, "HISTORY_CAPTIONS", 30)
    async with on_stage(started()) as stage:
        await stage.play(*finals(31))
        await stage.press("pageup", "pageup")
        read = re.findall(r"Satz \d+", stage.text)[:3]
        frames: list[list[str]] = []
        display = stage.app._display

        def see(*drawn: Any) -> None:
            if not stage.app._batch_count:  # Else nothing is drawn.
                frames.append(re.findall(r"Satz \d+", stage.text)[:3])
            display(*drawn)

        monkeypatch.setattr(stage.app, "_display", see)
        for number in range(31, 36):
            await stage.play(*finals(number, number + 1))
        assert stage.history[0] == "Satz 5."
        assert frames and [frame for frame in frames if frame != read] == []


async def test_figures_that_change_lay_out_no_caption(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layout places all captions of the history, which is half of the screen's work with 500 of them."""
    async with on_stage(started(), *finals(5)) as stage:
        laid_out: list[object] = []
        lay_out = stage.app.screen._refresh_layout
        monkeypatch.setattr(stage.app.screen, "_refresh_layout", lambda *size: (laid_out.append(size), lay_out(*size)))
        for seconds in range(5):
            snapshot = replace(FULL, heard=90.0 + seconds)
            monkeypatch.setattr(stage.app, "_read_monitor", partial(lambda snapshot, language: snapshot, snapshot))
            stage.app._show_numbers()
            await settle(stage.pilot)
        assert "1:34 / 4:00" in stage.text and laid_out == []


async def test_recognised_and_translated_text_is_shown_never_executed() -> None:
    texts = [
        ("[bold]x[/bold] [/] [@click=app.quit]y[/]", "[bold]x[/bold] [/] [@click=app.quit]y[/]"),
        ("a \x1b[31mrot\x1b[0m b", "a rot b"),
        ("[$accent]z", "[$accent]z"),
        ("\x07Glocke\r\nZeile", "Glocke Zeile"),
    ]
    async with on_stage(started(), size=(120, 30)) as stage:
        for number, (text, shown) in enumerate(texts):
            stage.app.action_clear()
            await stage.play(Notice("info", "nothing"), caption(2 * number, text, source=text))
            assert stage.text.count(shown) == 2
            final, after = caption(2 * number, text, final=True, source=text), caption(2 * number + 1, "", final=True)
            await stage.play(final, caption(2 * number + 1, "weiter"), Notice("info", text))
            assert stage.text.count(shown) == 3
            assert "\x1b" not in stage.text
            stage.run.screenplay.play(after)


async def test_keys_move_the_run() -> None:
    settings = Settings(sources=("auto", "en"), targets=("de", "ar"), decoding=DecodingSettings(bias=0.1))
    async with on_stage(started(), size=(120, 30), settings=settings) as stage:
        assert "auto → de" in stage.text
        await stage.play(replace(transcript(0, "Bonjour", ""), language="fr"))
        assert "auto (French) → de" in stage.text
        await stage.press("m", "M", "right_square_bracket", "left_square_bracket")
        await stage.press("b", "B", "full_stop", "comma", "space", "space", "a")
        await stage.press("f", "t")
        assert "fr → ar" in stage.text
        assert "captions in Arabic" in stage.text
        k = settings.mask.k
        assert stage.run.calls == [
            *(("mask-k", value) for value in (k - 1, k, k + 1, k)),
            *(("bias", bias) for bias in (0.05, 0.1, 0.15, 0.1)),
            ("pause", True),
            ("pause", False),
            ("calm", "still"),
            ("from", "fr"),
            ("to", "ar"),
        ]


async def test_every_command_is_in_the_palette_under_its_name() -> None:
    async with on_stage(started()) as stage:
        found = {command.title: command for command in stage.app.get_system_commands(stage.app.screen)}
        absent = ("target", "spoken", "browse", "readers")
        assert {command.title for command in COMMANDS if command.action not in absent} < set(found)
        assert not any("`" in command.help for command in found.values())
        found["Raise the bias"].callback()
        await settle(stage.pilot)
        assert stage.run.calls == [("bias", pytest.approx(Settings().decoding.bias + BIAS_STEP))]


async def test_the_source_can_be_hidden_and_shown() -> None:
    async with on_stage(*conversation(), size=(100, 40)) as stage:
        for shown in (True, False, True):
            assert ("Good morning" in stage.text) == ("The water came up" in stage.text) == shown
            assert "Guten Morgen" in stage.text
            await stage.press("s")
            assert f"source {'hidden' if shown else 'shown'}" in stage.text


async def test_the_source_can_stand_below() -> None:
    settings = Settings(output=OutputSettings(source_line="below"))
    async with on_stage(*conversation(), size=(100, 40), settings=settings) as stage:
        assert stage.text.index("Guten Morgen") < stage.text.index("Good morning")
        assert stage.text.index("Das Wasser") < stage.text.index("The water came")


async def test_the_new_part_differs_without_colour_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with on_stage(*conversation()) as stage:
        segments = [segment for strip in stage.app.screen._compositor.render_strips() for segment in strip]
        kept = next(segment for segment in segments if "Das Wasser stand" in segment.text)
        new = next(segment for segment in segments if "Mitternacht" in segment.text)
        assert new.style is not None and kept.style is not None
        assert new.style.underline and not kept.style.underline


@pytest.mark.parametrize(
    ("size", "output"),
    [
        ((60, 20), OutputSettings()),
        ((80, 24), OutputSettings(show_source=False)),
        ((100, 30), OutputSettings(source_line="below")),
        ((130, 40), OutputSettings()),
    ],
)
async def test_no_row_moves_when_the_run_and_its_first_caption_begin(
    size: tuple[int, int], output: OutputSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What loads has the rows of the captions in every frame, the caption those of the word that waits for it."""
    display, rules = LivetransApp._display, set()

    def see(app: LivetransApp, *drawn: Any) -> None:
        marked = [row for row, line in enumerate(screen_text(app).splitlines()) if line.startswith("▌")]
        rules.update(marked[:1])
        display(app, *drawn)

    def row_of(text: str) -> int:
        return next(row for row, line in enumerate(stage.lines) if text in line)

    monkeypatch.setattr(LivetransApp, "_display", see)
    async with on_stage(Notice("info", "loading a model"), size=size, settings=Settings(output=output)) as stage:
        room = stage.app.query_one("#loading").region
        assert "loading a model" in stage.text and "━━━" in stage.text
        await stage.play(started())
        assert stage.app.query_one("#current").region == room
        waiting = row_of("listening …")
        await stage.play(transcript(0, "", "The water"), caption(0, "Das Wasser", source="The water"))
        assert stage.app.query_one("#current").region == room
        assert row_of("Das Wasser") == waiting
        assert rules == {room.y}


@pytest.mark.parametrize(
    ("size", "source_line"),
    [
        ((60, 20), "above"),
        ((100, 30), "below"),
        *(
            pytest.param(size, line, marks=pytest.mark.long)
            for size, line in [((60, 20), "below"), ((100, 30), "above"), ((200, 60), "above"), ((200, 60), "below")]
        ),
    ],
)
async def test_no_shown_word_moves_while_a_sentence_grows(size: tuple[int, int], source_line: str) -> None:
    """Words that stay keep their row, also where the sentence needs more than a page, and so does the history."""
    text, source = ([f"{word}{number}" for number in range(150)] for word in ("Wort", "word"))
    settings = Settings(output=OutputSettings(source_line=source_line))  # type: ignore[arg-type]
    async with on_stage(*conversation()[:-3], size=size, settings=settings) as stage:
        places: dict[str, tuple[int, int]] = {}
        for count in range(1, len(text) - 3, 16):
            await stage.play(caption(9, " ".join(text[:count]), source=" ".join(source[: count + 3]), revision=1))
            now = {
                match.group(): (row, match.start())
                for row, line in enumerate(stage.lines)
                for match in re.finditer(r"\w+", line[: stage.app.query_one("#captions").size.width])
            }
            moved = {word for word, place in now.items() if places.get(word, place) != place}
            assert not moved or count == 1
            assert text[count - 1] in now and source[count + 2] in now, "the newest words are out of sight"
            places = now


@pytest.mark.parametrize(
    ("name", "size", "share"),
    [
        ("long", (60, 20), 3),
        *(
            pytest.param(name, size, 1, marks=pytest.mark.long)
            for name in ("demo", "dialogue", "long", "numbers", "pauses", "questions", "talk")
            for size in ((60, 20), (100, 30), (200, 60))
        ),
    ],
)
async def test_no_row_moves_in_a_recorded_stream(name: str, size: tuple[int, int], share: int) -> None:
    """The first 1 / `share` of the recording."""
    events = [record.event for record in read_records(RECORDINGS / f"{name}.jsonl")]
    moved, seen = MovedRows(), set[int]()
    async with on_stage(started(), size=size) as stage:
        for event in events[: len(events) // share]:
            if isinstance(event, Transcript | Caption):
                stage.run.screenplay.play(event)
                await stage.pilot.pause(0.001)
                if event.segment_id not in seen:  # The history has scrolled once it stands.
                    seen.add(event.segment_id)
                    await settle(stage.pilot)
                moved.add(event.segment_id, drawn_rows(stage.app))
        await settle(stage.pilot)
        assert len(stage.history) > 1
        assert moved.count == 0


@pytest.mark.parametrize(
    "size", [(20, 8), (80, 24), *(pytest.param(size, marks=pytest.mark.long) for size in ((40, 12), (200, 60)))]
)
async def test_long_and_foreign_text_keeps_the_layout(size: tuple[int, int]) -> None:
    texts = ["x" * 900, "漢字かな" * 90, "שלום עולם " * 60, "é" * 300, "👩‍👩‍👧 " * 80, "wort " * 400]
    async with on_stage(started(), size=size) as stage:
        for number, text in enumerate(texts):
            final = caption(2 * number, text, final=True, source=text)
            await stage.play(final, caption(2 * number + 1, text, source=text))
            region = stage.app.query_one(Current).region
            assert stage.app.screen.region.contains_region(region)
            assert region.height <= size[1] * 0.7
            assert stage.app.query_one(History).max_scroll_x == 0
            assert stage.app.query_one("#top").region.y == 0


async def test_the_history_follows_the_end_unless_the_reader_scrolled_up() -> None:
    async with on_stage(started()) as stage:
        await stage.play(*finals(30))
        shown = stage.app.query_one(History)
        assert shown.scroll_y == shown.max_scroll_y > 0
        assert "below" not in stage.text
        await stage.press("home")
        await stage.play(*finals(30, 33))
        assert shown.scroll_y == 0
        assert "3 new below, End follows" in stage.text
        await stage.press("end")
        assert "below" not in stage.text
        await stage.play(*finals(33, 40))
        assert shown.scroll_y == shown.max_scroll_y


async def test_a_search_goes_back_from_caption_to_caption() -> None:
    async with on_stage(started()) as stage:
        await stage.play(*finals(16))
        await stage.press("slash", *"LINE 1", "enter")
        assert "line 14" in stage.text
        assert "enter Find upwards" in stage.lines[-1] and "esc Close" in stage.lines[-1]
        await stage.press(*["enter"] * 5)
        assert re.search(r"line 1\s", stage.text)
        await stage.press("enter")
        assert "no more captions" in stage.text
        await stage.press("escape")
        assert "no more captions" not in stage.text
        history = stage.app.query_one(History)
        assert history.scroll_y == history.max_scroll_y
        assert stage.app.focused is history
        assert "q Quit" in stage.lines[-1]


async def test_another_text_is_looked_for_from_the_newest_caption_on() -> None:
    async with on_stage(started()) as stage:
        await stage.play(*finals(16))
        await stage.press("slash", *"line 3", "enter")
        assert re.search(r"line 3\s", stage.text)
        await stage.press(*["backspace"] * 6, *"line 15", "enter")
        assert "line 15" in stage.text
        await stage.press("x", "enter")
        assert "not found above" in stage.text


async def test_the_language_key_shows_every_caption_in_the_next_language_at_once() -> None:
    """What is finished and what grows, and after the end too."""

    def in_both(number: int, *, final: bool) -> list[Caption]:
        one = replace(caption(number, f"Satz {number}", final=final, source=f"Sentence {number}"), language="de")
        return [one, replace(one, text=f"Phrase {number}", language="fr")]

    events = [event for number in range(3) for event in in_both(number, final=number < 2)]
    async with on_stage(started(), *events, settings=Settings(targets=("de", "fr"))) as stage:
        for word, other in (("Satz", "Phrase"), ("Phrase", "Satz"), ("Satz", "Phrase")):
            assert all(f"{word} {number}" in stage.text for number in range(3)) and other not in stage.text
            assert stage.history == [f"{word} {number}" for number in range(2)]
            await stage.press("t")
        await stage.play(*in_both(2, final=True), ended())
        assert "Phrase 2" in stage.text and "Satz" not in stage.text
        await stage.press("t")
        assert "Satz 2" in stage.text and "Phrase" not in stage.text


async def test_after_the_end_keys_that_move_the_run_say_so_and_the_screen_stays_until_q() -> None:
    settings = Settings(sources=("en", "fr"), targets=("de", "fr"))
    async with on_stage(*conversation(), ended(), size=(100, 30), settings=settings) as stage:
        assert "end of file" in stage.text
        for key, other in (("space", "s"), ("a", "s"), ("f", "p")):
            await stage.press(key)
            assert "the run has ended" in stage.text
            await stage.press(other)
            assert "the run has ended" not in stage.text
        assert "en → de" in stage.text
        assert not stage.leaving
        await stage.press("q")
        assert stage.leaving
        assert stage.run.calls == []


async def test_every_size_keeps_what_it_has_room_for() -> None:
    """Help and quitting in the footer, what the run cannot do in the bar, numbers beside or below the captions."""
    async with on_stage(*conversation(), limit="synthetic voices only") as stage:
        await stage.play(Notice("warning", "another message"))
        for width, height in ((40, 24), (60, 24), (80, 24), (200, 60)):
            await stage.resize(width, height)
            assert "? Help" in stage.lines[-1] and "q Quit" in stage.lines[-1]
            assert stage.displays("#panel") == (width > 80) != stage.displays("#strip")
            if width >= 60:
                assert "! synthetic voices only  " in stage.lines[0]
                assert "council" in stage.lines[0] or width < 80
            assert min(64, width - 4) <= stage.app.query_one(History).size.width <= 106
        for size in ((60, 12), (40, 10), (20, 5)):
            await stage.resize(*size)
            assert "en → de" in stage.lines[0] and "1:23" in stage.lines[0]
            assert "listening" in stage.lines[0] or size[0] < 40
            assert "Stufe" in stage.text
            # Captions have most of the rows, whatever is said.
            assert stage.app.query_one("#captions").size.height - 1 >= 0.6 * size[1]
            assert not stage.displays("#strip") and stage.app.query_one("#messages").size.height == 1


async def test_captions_stand_alone_by_a_key() -> None:
    async with on_stage(*conversation(), size=(60, 20)) as stage:
        await stage.press("o")
        lines = [line for line in stage.lines if line.strip()]
        assert "Stufe" in "\n".join(lines)
        assert "Quit" not in lines[-1] and "council" not in lines[0]


async def test_a_theme_that_was_chosen_says_how_to_keep_it() -> None:
    async with on_stage(
        *conversation(), size=(120, 30), settings=Settings(output=OutputSettings(theme="dark"))
    ) as stage:
        assert "config.toml" not in stage.text
        stage.app.theme = "light"
        await settle(stage.pilot)
        await stage.press("n")
        assert '`theme = "light"` in config.toml' in stage.unframed


async def test_the_panel_key_goes_from_people_to_research_to_none() -> None:
    async with on_stage(*conversation(), size=(120, 30), settings=Settings(targets=("de", "fr"))) as stage:
        *above, footer = stage.lines
        for command in COMMANDS:  # One menu: no key is listed twice, and none that does nothing in this run.
            is_listed = command.in_footer and command.word not in ("From", "View", "Readers")
            assert (f" {command.keys} {command.word} " in footer) == is_listed, command.word
            assert not any(f" {command.keys} {command.word}" in line for line in above), command.word
        # Settings of the papers, and their keys, are for research.
        assert "keeping up" in stage.text and not any(word in stage.text for word in ("A/D", "Bias", "Mask", "b/B"))
        await stage.press("p")
        assert "keeping up" not in stage.text and all(word in stage.text for word in ("A/D", "bias b/B", "mask-k m/M"))
        await stage.press("p")
        assert not stage.displays("#panel")
        await stage.press("p")
        assert "keeping up" in stage.text


async def test_copy_takes_the_last_caption_and_copy_all_takes_everything() -> None:
    async with on_stage(started()) as stage:
        await stage.press("c")
        assert stage.app.clipboard == ""
        await stage.play(caption(0, "Erstens.", final=True), caption(1, "Zwei\x1b[31mtens"))
        await stage.press("c")
        assert stage.app.clipboard == "Zweitens"
        await stage.press("C")
        assert stage.app.clipboard == "Erstens.\nZweitens"


@pytest.mark.parametrize("warnings", [0, pytest.param(1, marks=pytest.mark.long), 2])
async def test_save_names_its_file_in_80_columns_and_among_the_messages(warnings: int) -> None:
    path = Path("/home/someone/livetrans-2026-11-23T04-30-00.txt")
    said = [Notice("warning", f"Warning {number}, which is long enough for a row.") for number in range(warnings)]
    async with on_stage(started(), caption(0, "Fertig.", final=True), *said, save=lambda: [path]) as stage:
        await stage.press("w")
        assert ("livetrans-2026-11-23T" if warnings else path.name) in stage.text
        await stage.press("n", "escape", "s", "n")
        assert path.name in stage.text, "it is said there later too"


async def test_save_says_the_name_and_the_folder_and_what_is_left_out() -> None:
    path = Path("/home/someone/a folder with a long name/and another one/livetrans-2026 [1].txt")
    async with on_stage(started(), size=(60, 20), save=lambda: [path]) as stage:
        await stage.play(caption(0, "Fertig.", final=True))
        await stage.press("w")
        await stage.press("n")
        assert f"{path.name} and .srt saved in {path.parent}".replace(" ", "") in stage.unframed.replace(" ", "")
        assert "grows" not in stage.text
        await stage.play(caption(1, "Noch nicht"))
        await stage.press("escape", "w", "n")
        assert "without the caption that still grows" in stage.unframed


async def test_a_folder_that_was_removed_costs_the_saved_text_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = LastCaptions(Settings())
    texts.write(Record(0.0, caption(0, "Fertig.", final=True)))
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    async with on_stage(started(), save=texts.save) as stage:
        await stage.press("w")
        await stage.play(caption(1, "Danach."))
        assert "the current folder cannot" in stage.words
        assert "Danach." in stage.text


async def test_clear_keeps_what_is_being_spoken_and_does_not_claim_that_there_was_no_speech() -> None:
    async with on_stage(*conversation()) as stage:
        await stage.press("ctrl+l")
        assert stage.history == []
        assert "Das Wasser stand" in stage.text
        await stage.play(caption(5, "Guten Tag.", final=True), ended())
        await stage.press("ctrl+l")
        assert "Guten Tag." not in stage.text
        assert "no speech was heard" not in stage.text


async def test_a_signal_has_the_effect_of_the_key_for_quitting() -> None:
    signals = [0]
    async with on_stage(started(), ending_signals=lambda: signals[0]) as stage:
        signals[0] = 1
        while not stage.run.calls:
            await stage.pilot.pause(0.05)
        assert stage.run.calls == [("stop", None)]
        assert not stage.leaving
        signals[0] = 2
        while not stage.leaving:
            await stage.pilot.pause(0.05)


async def test_a_signal_before_the_first_frame_starts_nothing() -> None:
    async with on_stage(started(), ending_signals=lambda: 1) as stage:
        assert stage.leaving
    assert stage.run.screenplay.sink is None


async def test_help_opens_closes_and_scrolls_to_its_end_by_the_arrows_alone() -> None:
    async with on_stage(started()) as stage:
        for closing in ("escape", "q", "question_mark"):
            await stage.pilot.press("question_mark")
            await stage.pilot.pause(0.001)
            assert isinstance(stage.app.screen, HelpScreen)
            await stage.pilot.press(closing)
            await stage.pilot.pause(0.001)
            assert not isinstance(stage.app.screen, HelpScreen)
        assert stage.run.calls == []
        await stage.resize(40, 12)
        await stage.press("question_mark")
        page = stage.app.screen.query_one("#sheet")
        assert page.max_scroll_y > 0
        page.scroll_to(y=page.max_scroll_y - 3, animate=False, immediate=True)
        for _ in range(6):  # Two presses between two frames may move one line.
            await stage.press("down")
        assert page.scroll_y == page.max_scroll_y
        assert "Memory that" in stage.text
        await stage.press("ctrl+c")
        assert stage.run.calls == [("stop", None)]


async def test_help_opens_at_the_number_that_is_asked_for() -> None:
    async with on_stage(started(), settings=Settings(output=OutputSettings(panel="research"))) as stage:
        found = {command.title: command for command in stage.app.get_system_commands(stage.app.screen)}
        found["What is NE tokens?"].callback()
        await settle(stage.pilot)
        assert "NE tokens" in stage.lines[1]
        await stage.press("escape")
        row = next(number for number, line in enumerate(stage.lines) if "ASR, RTF" in line)
        await stage.pilot.click(offset=(70, row))
        await settle(stage.pilot)
        assert isinstance(stage.app.screen, HelpScreen)
        assert "real-time factor" in stage.words


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_quitting_finishes_the_last_captions(key: str) -> None:
    async with on_stage(*conversation()) as stage:
        await stage.press(key)
        assert stage.run.calls == [("stop", None)]
        assert "finishing the last captions" in stage.text
        assert not stage.leaving
        await stage.play(caption(5, "Ende.", final=True), ended("stopped"))
        assert stage.leaving
    assert stage.app.return_value is None
    assert stage.app.return_code == 0


async def test_a_second_press_quits_at_once_and_records_after_it_are_harmless() -> None:
    async with on_stage(started()) as stage:
        await stage.press("ctrl+c", "ctrl+c")
        assert stage.leaving
    assert stage.run.calls == [("stop", None)]
    stage.run.screenplay.play(caption(0, "zu spät"), ended("stopped"))


async def test_a_failure_is_handed_to_the_caller() -> None:
    async with on_stage(Notice("error", "no such model: tower.gguf"), ended("failed")) as stage:
        pass
    assert stage.app.return_value == "no such model: tower.gguf"
    assert stage.app.return_code == 1


async def test_a_name_is_corrected_by_choosing_it_and_kept_by_enter(tmp_path: Path) -> None:
    file = tmp_path / "names.tsv"
    file.write_text("Vineela,=\n")
    settings = Settings(prompt=PromptSettings(glossary_file=file, glossary=(Term("Vineela", "Vineela"),)))
    said = caption(0, "Danke, Vanilla.", source="Thank you, Vanilla, for this.", final=True)
    async with on_stage(started(), said, settings=settings) as stage:
        corrections: list[NameCorrected] = []
        stage.app._pipeline.correct = corrections.append
        await stage.press("e")
        await stage.press("tab", *"Danke=Merci", "enter")
        assert ONLY_TRANSLATED[:30] in stage.text and corrections == []
        await stage.press("escape", "e")
        assert "Vanilla" in stage.text and "Vineela?" in stage.text
        await stage.press("enter", "enter")
        assert corrections == [NameCorrected("Vanilla", "Vanilla", "Vineela")]
        await stage.press("enter")
        assert file.read_text() == "Vineela,=,Vanilla\n" and "kept in" in stage.text
        await stage.play(*corrections)
        assert "Danke, Vineela." in stage.text and "Thank you, Vineela, for this." in stage.text
        assert "Vanilla" not in stage.text
        await stage.press("e")
        await stage.press("escape", "e", "escape")
        assert corrections[1:] == []


@pytest.mark.parametrize("size", [(80, 24), (60, 20), (120, 35)])
async def test_captions_stay_in_sight_while_a_name_is_corrected(size: tuple[int, int]) -> None:
    spoken = [f"I met Anna{number} and Berta{number} there." for number in range(9)]
    said = [caption(number, f"Satz {number}.", source=text, final=True) for number, text in enumerate(spoken)]
    async with on_stage(started(), *said, caption(9, "Ja, und dann", source="Yes, and then"), size=size) as stage:
        await stage.press("e")
        # The screen below is laid out in its own time, for which Textual's pilot does not wait.
        async with asyncio.timeout(30):
            while "Satz 8." not in stage.text or "Yes, and then" not in stage.text:
                await stage.pilot.pause(0.001)
        assert "Correct a name" in stage.text and "Anna8" in stage.text and "Ja, und dann" in stage.text
        await stage.press("escape")
        async with asyncio.timeout(30):
            while "Satz 7." not in stage.text:
                await stage.pilot.pause(0.001)
        assert "Correct a name" not in stage.text


async def test_names_are_looked_for_in_the_language_that_was_spoken() -> None:
    said = [Transcript(0, 0, "Ich suche den Zug nach Bern.", "", True, 0.0, 2.0, language="de")]
    said.append(Transcript(1, 0, "The train to grafana leaves.", "", True, 2.0, 4.0, language="en"))
    assert [likely.heard for likely in likely_names(said, [], "en")] == ["grafana", "Zug", "Bern"]


async def test_a_repaired_name_that_is_typed_is_corrected_where_it_was_heard() -> None:
    said = caption(0, "Danke, Hana.", source="Thank you, Hana.", final=True)
    said = replace(said, transcript=replace(said.transcript, repairs=(Repair(11, 15, "hanna"),)))
    async with on_stage(started(), said) as stage:
        corrections: list[NameCorrected] = []
        stage.app._pipeline.correct = corrections.append
        await stage.press("e", "tab", *"Hana", "equals_sign", *"Hannah", "enter")
        assert corrections == [NameCorrected("hanna", "Hana", "Hannah")]
