"""The screen driven by scripted events and keys."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from livetrans.config import DecodingSettings, MaskSettings, OutputSettings, Settings
from livetrans.errors import SessionError
from livetrans.events import Caption, Event, Gap, Notice, Record, Transcript
from livetrans.metrics.monitor import Snapshot
from livetrans.session.codec import read_records
from livetrans.tui import captions
from livetrans.tui.app import LivetransApp
from livetrans.tui.board import Finals
from livetrans.tui.captions import Current, History
from livetrans.tui.help import HelpScreen
from livetrans.tui.keys import COMMANDS, listed
from livetrans.tui.panel import Panel
from tests.tui.scripted import (
    Screenplay,
    ScriptedRun,
    caption,
    conversation,
    ended,
    make_app,
    screen_text,
    settle,
    started,
    transcript,
)

pytestmark = pytest.mark.asyncio

LONG = Path(__file__).parents[2] / "recordings" / "long.jsonl"


def history(app: LivetransApp) -> list[str]:
    return [line.text for line in app.query_one(History).captions]


def leaving(app: LivetransApp) -> bool:
    return app._exit


async def play(pilot: Pilot[str], screenplay: Screenplay, *events: Event) -> None:
    """Play events once the screen has asked for them, and let it draw."""
    while screenplay.sink is None:
        await pilot.pause()
    screenplay.play(*events)
    await settle(pilot)


async def test_a_partial_is_replaced_and_the_final_moves_to_the_history_once() -> None:
    screenplay = Screenplay(started())
    app = make_app(screenplay)
    async with app.run_test() as pilot:
        await play(pilot, screenplay, caption(0, "Das alte Wort"))
        assert "Das alte Wort" in screen_text(app)
        await play(pilot, screenplay, caption(0, "Das neue Wort", revision=1))
        assert "Das alte Wort" not in screen_text(app)
        await play(pilot, screenplay, caption(0, "Das letzte Wort.", final=True))
        assert history(app) == []
        assert "Das letzte Wort." in screen_text(app)
        await play(pilot, screenplay, transcript(1, "", "Yes"), caption(1, "Ja", source="Yes"))
        assert history(app) == ["Das letzte Wort."]
        assert screen_text(app).count("Das letzte Wort.") == 1


async def test_a_gap_stands_after_what_was_spoken_before_it() -> None:
    screenplay = Screenplay(started())
    app = make_app(screenplay)
    async with app.run_test() as pilot:
        await settle(pilot)
        gap = Gap(2.0, 14.0, "microphone")
        await play(pilot, screenplay, caption(0, "Vorher.", final=True), gap, caption(1, "Nachher.", final=True))
        assert history(app) == ["Vorher.", "[12 s without sound]"]
        assert "Nachher." in screen_text(app)


async def test_no_final_is_lost_when_threads_post_quickly() -> None:
    screenplay = Screenplay(started())
    app = make_app(screenplay)
    count = 200

    def talk() -> None:
        for number in range(count):
            for revision in range(5):
                screenplay.play(caption(number, f"Teil {revision}", revision=revision))
            screenplay.play(caption(number, f"Satz {number}.", final=True))

    async with app.run_test() as pilot:
        await settle(pilot)
        thread = threading.Thread(target=talk)
        thread.start()
        while thread.is_alive():
            await pilot.pause()
        thread.join()
        await settle(pilot)
        await play(pilot, screenplay, caption(count, "Ende"))
        assert history(app) == [f"Satz {number}." for number in range(count)]


async def test_the_history_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captions, "HISTORY_CAPTIONS", 10)
    screenplay = Screenplay(started())
    app = make_app(screenplay)
    async with app.run_test() as pilot:
        await settle(pilot)
        await play(pilot, screenplay, *(caption(number, f"Satz {number}.", final=True) for number in range(30)))
        assert history(app) == [f"Satz {number}." for number in range(19, 29)]
        assert len(app.query_one(History).children) == 10


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[bold]x[/bold] [/] [@click=app.quit]y[/]", "[bold]x[/bold] [/] [@click=app.quit]y[/]"),
        ("a \x1b[31mrot\x1b[0m b", "a rot b"),
        ("[$accent]z", "[$accent]z"),
        ("\x07Glocke\r\nZeile", "Glocke Zeile"),
    ],
)
async def test_recognised_and_translated_text_is_shown_never_executed(text: str, shown: str) -> None:
    screenplay = Screenplay(started())
    app = make_app(screenplay)
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await play(pilot, screenplay, caption(0, text, source=text, accepted=3))
        assert screen_text(app).count(shown) == 2
        await play(pilot, screenplay, caption(0, text, final=True, source=text), caption(1, "weiter"))
        assert screen_text(app).count(shown) == 2
        await play(pilot, screenplay, Notice("warning", text))
        assert screen_text(app).count(shown) == 3
        assert "\x1b" not in screen_text(app)


async def test_keys_move_the_run_within_their_range() -> None:
    run = ScriptedRun()
    app = make_app(
        Screenplay(started()), run, settings=Settings(decoding=DecodingSettings(bias=0.05), mask=MaskSettings(k=1))
    )
    async with app.run_test() as pilot:
        await pilot.press("m", "m", "M", "right_square_bracket", "left_square_bracket")
        await pilot.press("b", "b", "B", "full_stop", "comma")
        await pilot.press("space", "space")
    assert run.calls == [
        *(("mask_k", k) for k in (0, 0, 1, 2, 1)),
        *(("bias", bias) for bias in (0.0, 0.0, 0.05, 0.1, 0.05)),
        ("pause", True),
        ("pause", False),
    ]


async def test_bias_stops_where_more_changes_nothing_and_says_so() -> None:
    run = ScriptedRun()
    app = make_app(Screenplay(started()), run, settings=Settings(decoding=DecodingSettings(bias=0.43)))
    async with app.run_test() as pilot:
        await pilot.press("B", "B", "B")
        await settle(pilot)
        assert "more changes nothing" in " ".join(screen_text(app).split())
        await pilot.press("b")
    assert run.calls == [("bias", 0.48), ("bias", 0.5), ("bias", 0.45)]


async def test_a_warning_is_shown_with_the_end_of_the_run() -> None:
    screenplay = Screenplay(started())
    app = make_app(screenplay)
    async with app.run_test() as pilot:
        await play(pilot, screenplay, Notice("warning", "The file is cut off."), ended())
        assert "! The file is cut off." in screen_text(app) and "q quits" in screen_text(app)


async def test_two_warnings_are_both_shown() -> None:
    screenplay = Screenplay(started())
    app = make_app(screenplay)
    async with app.run_test() as pilot:
        await play(pilot, screenplay, Notice("warning", "One thing."), Notice("warning", "Another thing."))
        assert "! One thing." in screen_text(app) and "! Another thing." in screen_text(app)
        await play(pilot, screenplay, Notice("info", "Something else."))
        assert "thing." not in screen_text(app).replace("Something", "")


async def test_every_command_is_in_the_palette_under_its_name() -> None:
    run = ScriptedRun()
    app = make_app(Screenplay(started()), run)
    async with app.run_test() as pilot:
        found = {command.title: command for command in app.get_system_commands(app.screen)}
        assert {command.title for command in COMMANDS if command.action not in ("target", "spoken")} < set(found)
        assert not any("`" in command.help for command in found.values())
        found["Raise the bias"].callback()
        await settle(pilot)
        assert run.calls == [("bias", 0.25)]


async def test_the_source_can_be_hidden_and_shown() -> None:
    app = make_app(Screenplay(*conversation()))
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(pilot)
        assert "Good morning" in screen_text(app)
        assert "The water came up" in screen_text(app)
        await pilot.press("s")
        await settle(pilot)
        assert "source hidden" in screen_text(app)
        assert "Good morning" not in screen_text(app)
        assert "The water came up" not in screen_text(app)
        assert "Guten Morgen" in screen_text(app)
        await pilot.press("s")
        await settle(pilot)
        assert "source shown" in screen_text(app)
        assert "Good morning" in screen_text(app)


async def test_the_new_part_differs_without_colour_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = make_app(Screenplay(*conversation()))
    async with app.run_test() as pilot:
        await settle(pilot)
        strips = app.screen._compositor.render_strips()
        segments = [segment for strip in strips for segment in strip]
        kept = next(segment for segment in segments if "Das Wasser stand" in segment.text)
        new = next(segment for segment in segments if "Mitternacht" in segment.text)
        assert new.style is not None and kept.style is not None
        assert new.style.underline and not kept.style.underline


@pytest.mark.parametrize("size", [(60, 20), (100, 30), (200, 60)])
@pytest.mark.parametrize("source_line", ["above", "below"])
async def test_no_shown_word_moves_while_a_sentence_grows(size: tuple[int, int], source_line: str) -> None:
    """Words that stay keep their row, also where the sentence needs more than a page, and so does the history."""
    text, source = ([f"{word}{number}" for number in range(150)] for word in ("Wort", "word"))
    screenplay = Screenplay(*conversation()[:-2])
    app = make_app(screenplay, settings=Settings(output=OutputSettings(source_line=source_line)))
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        places: dict[str, tuple[int, int]] = {}
        for count in range(1, len(text) - 3, 16):
            await play(
                pilot, screenplay, caption(9, " ".join(text[:count]), source=" ".join(source[: count + 3]), revision=1)
            )
            now = {
                match.group(): (row, match.start())
                for row, line in enumerate(screen_text(app).splitlines())
                for match in re.finditer(r"\w+", line[: app.query_one("#captions").size.width])
            }
            moved = {word for word, place in now.items() if places.get(word, place) != place}
            assert not moved or count == 1
            assert text[count - 1] in now and source[count + 2] in now, "the newest words are out of sight"
            places = now
        assert app._moved_rows.count == 0


@pytest.mark.parametrize("size", [(20, 8), (40, 12), (80, 24), (200, 60)])
@pytest.mark.parametrize(
    "text", ["x" * 900, "漢字かな" * 90, "שלום עולם " * 60, "é" * 300, "👩‍👩‍👧 " * 80, "wort " * 400]
)
async def test_long_and_foreign_text_keeps_the_layout(size: tuple[int, int], text: str) -> None:
    screenplay = Screenplay(started())
    app = make_app(screenplay)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await play(
            pilot, screenplay, caption(0, text, final=True, source=text), caption(1, text, source=text, accepted=40)
        )
        await settle(pilot)
        region = app.query_one(Current).region
        assert app.screen.region.contains_region(region)
        assert region.height <= size[1] * 0.7
        assert app.query_one(History).max_scroll_x == 0
        assert app.query_one("#top").region.y == 0


async def test_the_calm_key_goes_through_the_settings_and_help_explains_it() -> None:
    run = ScriptedRun()
    app = make_app(Screenplay(started()), run)
    async with app.run_test(size=(100, 60)) as pilot:
        await settle(pilot)
        await pilot.press("a", "a", "B", "a")
        assert run.calls == [("calm", "faithful"), ("calm", "still"), ("bias", 0.25), ("calm", "still")]
        await pilot.press("question_mark")
        await settle(pilot)
        assert "Next calm setting." in screen_text(app)


async def test_the_calm_key_leaves_a_method_without_calm_settings_as_it_is() -> None:
    run = ScriptedRun()
    app = make_app(Screenplay(started()), run, settings=Settings(decoding=DecodingSettings("rt")))
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await pilot.press("a")
        await settle(pilot)
        assert "this run's method is rt" in screen_text(app)
    assert run.calls == []


async def test_keys_go_through_the_languages_and_the_top_bar_names_what_was_detected() -> None:
    run, screenplay = ScriptedRun(), Screenplay(started())
    app = make_app(screenplay, run, settings=Settings(sources=("auto", "en"), targets=("de", "ar")))
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        assert "auto → de" in screen_text(app)
        await play(pilot, screenplay, replace(transcript(0, "Bonjour", ""), language="fr"))
        assert "auto (French) → de" in screen_text(app)
        await pilot.press("f")
        await settle(pilot)
        assert "fr → de" in screen_text(app)
        await pilot.press("f", "f", "t")
        await settle(pilot)
        assert run.calls == [("source", "fr"), ("source", "en"), ("source", "auto"), ("target", "ar")]
        assert "auto (French) → ar" in screen_text(app)
        assert "captions in Arabic from the next sentence on" in screen_text(app)


@pytest.mark.parametrize("size", [(60, 20), (100, 30), (200, 60)])
async def test_no_row_moves_in_a_recorded_stream(size: tuple[int, int]) -> None:
    screenplay = Screenplay(started())
    app = make_app(screenplay)
    records = [record.event for record in read_records(LONG)]
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        for event in records:
            if isinstance(event, Transcript | Caption):
                screenplay.play(event)
                await pilot.pause()
        await settle(pilot)
        assert len(history(app)) > 5
        assert app._moved_rows.count == 0


async def test_the_history_says_what_came_below_while_the_reader_is_further_up() -> None:
    screenplay = Screenplay(started())
    app = make_app(screenplay)
    async with app.run_test() as pilot:
        await settle(pilot)
        await play(pilot, screenplay, *(caption(number, f"Satz {number}.", final=True) for number in range(30)))
        assert "below" not in screen_text(app)
        await pilot.press("home")
        await settle(pilot)
        await play(pilot, screenplay, *(caption(number, f"Satz {number}.", final=True) for number in range(30, 33)))
        assert "3 new below, End follows" in screen_text(app)
        await pilot.press("end")
        await settle(pilot)
        assert "below" not in screen_text(app)


async def test_after_the_end_keys_that_move_the_run_say_so() -> None:
    run = ScriptedRun()
    settings = Settings(sources=("en", "fr"), targets=("de", "fr"))
    app = make_app(Screenplay(*conversation(), ended()), run, settings=settings)
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        for key in ("space", "a", "m", "B", "t", "f"):
            await pilot.press(key)
            await settle(pilot)
            assert "the run has ended" in screen_text(app)
            await pilot.press("p", "p", "p")
        assert run.calls == []
        assert "en → de" in screen_text(app)


async def test_a_search_goes_back_from_caption_to_caption() -> None:
    screenplay = Screenplay(started())
    app = make_app(screenplay)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        shown = (caption(number, f"Satz {number}.", final=True, source=f"line {number}") for number in range(40))
        await play(pilot, screenplay, *shown)
        await pilot.press("slash", *"LINE 1", "enter")
        await settle(pilot)
        assert "line 19" in screen_text(app)
        for _ in range(10):
            await pilot.press("enter")
        await settle(pilot)
        assert re.search(r"line 1\s", screen_text(app))
        await pilot.press("enter")
        await settle(pilot)
        assert "no more captions" in screen_text(app)
        await pilot.press("escape")
        await settle(pilot)
        assert app.query_one(History).scroll_y == app.query_one(History).max_scroll_y
        assert app.focused is app.query_one(History)


@pytest.mark.parametrize(("size", "key"), [((20, 6), None), ((40, 10), None), ((60, 20), "o")])
async def test_a_caption_is_in_view_on_the_smallest_screen_and_alone_by_a_key(
    size: tuple[int, int], key: str | None
) -> None:
    app = make_app(Screenplay(*conversation()))
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        if key:
            await pilot.press(key)
            await settle(pilot)
        lines = [line for line in screen_text(app).splitlines() if line.strip()]
        assert "Stufe" in "\n".join(lines)
        assert key is None or ("Quit" not in lines[-1] and "council" not in lines[0])


async def test_a_theme_that_was_chosen_says_how_to_keep_it() -> None:
    app = make_app(Screenplay(*conversation()), settings=Settings(output=OutputSettings(theme="nord")))
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        assert "config.toml" not in screen_text(app)
        app.theme = "gruvbox"
        await settle(pilot)
        assert '`theme = "gruvbox"` in config.toml' in screen_text(app)


async def test_one_language_leaves_nothing_to_switch() -> None:
    run = ScriptedRun()
    app = make_app(Screenplay(started()), run)
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await pilot.press("t")
        await settle(pilot)
        assert "--to de,fr" in screen_text(app)
        await pilot.press("f")
        await settle(pilot)
        assert "--from en,fr" in screen_text(app)
    assert run.calls == []


async def test_resizing_moves_the_numbers_below_the_captions() -> None:
    app = make_app(Screenplay(*conversation()))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert app.query_one(Panel).display and not app.query_one("#strip").display
        assert app.query_one(History).content_size.width >= 50
        await pilot.resize_terminal(60, 24)
        await settle(pilot)
        assert not app.query_one(Panel).display and app.query_one("#strip").display
        await pilot.resize_terminal(200, 60)
        await settle(pilot)
        assert app.query_one(History).content_size.width <= 104
        await pilot.press("p", "p")
        await settle(pilot)
        assert not app.query_one(Panel).display


async def test_the_history_follows_the_end_unless_the_reader_scrolled_up() -> None:
    screenplay = Screenplay(started())
    app = make_app(screenplay)
    async with app.run_test() as pilot:
        await settle(pilot)
        await play(pilot, screenplay, *(caption(number, f"Satz {number}.", final=True) for number in range(30)))
        shown = app.query_one(History)
        assert shown.scroll_y == shown.max_scroll_y > 0
        await pilot.press("home")
        await settle(pilot)
        await play(pilot, screenplay, *(caption(number, f"Satz {number}.", final=True) for number in range(30, 40)))
        assert shown.scroll_y == 0
        await pilot.press("end")
        await settle(pilot)
        await play(pilot, screenplay, *(caption(number, f"Satz {number}.", final=True) for number in range(40, 50)))
        assert shown.scroll_y == shown.max_scroll_y


async def test_copy_takes_the_last_caption_and_copy_all_takes_everything() -> None:
    screenplay = Screenplay(started())
    app = make_app(screenplay)
    async with app.run_test() as pilot:
        await pilot.press("c")
        assert app.clipboard == ""
        await play(pilot, screenplay, caption(0, "Erstens.", final=True), caption(1, "Zwei\x1b[31mtens"))
        await pilot.press("c")
        assert app.clipboard == "Zweitens"
        await pilot.press("C")
        assert app.clipboard == "Erstens.\nZweitens"


async def test_save_says_the_name_and_the_folder_and_what_is_left_out() -> None:
    screenplay = Screenplay(started())
    path = Path("/home/someone/a folder with a long name/and another one/livetrans-2026 [1].txt")
    app = make_app(screenplay, save=lambda: path)
    async with app.run_test(size=(60, 20)) as pilot:
        await play(pilot, screenplay, caption(0, "Fertig.", final=True))
        await pilot.press("w")
        await settle(pilot)
        shown = "".join(line.strip() for line in screen_text(app).splitlines())
        assert f"saved as {path.name} and .srt in {path.parent}".replace(" ", "") in shown.replace(" ", "")
        assert "grows" not in shown
        await play(pilot, screenplay, caption(1, "Noch nicht"))
        await pilot.press("w")
        await settle(pilot)
        assert "without the caption that still grows" in " ".join(screen_text(app).split())


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (PermissionError(13, "Permission denied"), "cannot be written (Permission denied): `livetrans export`"),
        (SessionError("there is no finished caption yet"), "nothing was saved: there is no finished caption yet"),
    ],
)
async def test_save_says_why_not(fault: Exception, said: str) -> None:
    def refuse() -> Path:
        raise fault

    app = make_app(Screenplay(started()), save=refuse)
    async with app.run_test() as pilot:
        await pilot.press("w")
        await settle(pilot)
        columns = [line[:55] for line in screen_text(app).splitlines()]
        assert said in " ".join(" ".join(columns).split())


async def test_a_folder_that_was_removed_costs_the_saved_text_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screenplay, finals = Screenplay(started()), Finals()
    finals.write(Record(0.0, caption(0, "Fertig.", final=True)))
    app = make_app(screenplay, save=finals.save)
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    async with app.run_test() as pilot:
        await pilot.press("w")
        await play(pilot, screenplay, caption(1, "Danach."))
        assert "the current folder cannot be written" in " ".join(screen_text(app).split())
        assert "Danach." in screen_text(app)


async def test_clear_empties_the_history_and_keeps_what_is_being_spoken() -> None:
    screenplay = Screenplay(*conversation())
    app = make_app(screenplay)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("ctrl+l")
        await settle(pilot)
        assert history(app) == []
        assert "Das Wasser stand" in screen_text(app)


async def test_a_cleared_screen_does_not_claim_that_there_was_no_speech() -> None:
    screenplay = Screenplay(started(), caption(0, "Guten Tag.", final=True), ended())
    app = make_app(screenplay)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("ctrl+l")
        await settle(pilot)
        assert "Guten Tag." not in screen_text(app)
        assert "no speech was heard" not in screen_text(app)


async def test_a_signal_has_the_effect_of_the_key_for_quitting() -> None:
    run, signals = ScriptedRun(), [0]
    app = make_app(Screenplay(started()), run, ending_signals=lambda: signals[0])
    async with app.run_test() as pilot:
        await settle(pilot)
        signals[0] = 1
        while not run.calls:
            await pilot.pause(0.05)
        assert run.calls == [("stop", None)]
        assert not leaving(app)
        signals[0] = 2
        while not leaving(app):
            await pilot.pause(0.05)


async def test_a_signal_before_the_first_frame_starts_nothing() -> None:
    screenplay = Screenplay(started())
    app = make_app(screenplay, ending_signals=lambda: 1)
    async with app.run_test() as pilot:
        await pilot.pause()
        assert leaving(app)
    assert screenplay.sink is None


async def test_help_opens_and_closes() -> None:
    app = make_app(Screenplay(started()))
    async with app.run_test() as pilot:
        for closing in ("escape", "q", "question_mark"):
            await pilot.press("question_mark")
            assert isinstance(app.screen, HelpScreen)
            await pilot.press(closing)
            assert not isinstance(app.screen, HelpScreen)


@pytest.mark.parametrize("size", [(40, 12), (80, 24)])
async def test_help_scrolls_to_its_end_by_the_arrows_alone(size: tuple[int, int]) -> None:
    app = make_app(Screenplay(started()))
    async with app.run_test(size=size) as pilot:
        await pilot.press("question_mark")
        await settle(pilot)
        page = app.screen.query_one("#help")
        assert page.max_scroll_y > 0
        await pilot.press(*["down"] * (int(page.max_scroll_y) + 1))
        await settle(pilot)
        assert page.scroll_y == page.max_scroll_y
        assert "Memory that" in screen_text(app)


async def test_help_opens_at_the_number_that_is_asked_for() -> None:
    app = make_app(Screenplay(started()), settings=Settings(output=OutputSettings(panel="research")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        found = {command.title: command for command in app.get_system_commands(app.screen)}
        found["What is NE screen?"].callback()
        await settle(pilot)
        assert isinstance(app.screen, HelpScreen)
        first = screen_text(app).splitlines()[1]
        assert "NE screen" in first
        await pilot.press("escape")
        await settle(pilot)
        row = next(number for number, line in enumerate(screen_text(app).splitlines()) if "ASR RTF" in line)
        await pilot.click(offset=(70, row))
        await settle(pilot)
        assert isinstance(app.screen, HelpScreen)
        assert "Real-time factor" in screen_text(app)


@pytest.mark.parametrize("width", [40, 60, 80])
async def test_help_and_quit_are_in_the_footer_at_any_width(width: int) -> None:
    app = make_app(Screenplay(started()))
    async with app.run_test(size=(width, 24)) as pilot:
        await settle(pilot)
        footer = screen_text(app).splitlines()[-1]
        assert "? Help" in footer and "q Quit" in footer


async def test_a_long_message_wraps() -> None:
    screenplay = Screenplay(started())
    app = make_app(screenplay)
    async with app.run_test(size=(60, 20)) as pilot:
        message = "12 s of sound were skipped, because the machine is too slow: choose smaller models, or close others."
        await play(pilot, screenplay, Notice("warning", message))
        assert message in " ".join(screen_text(app).split())


async def test_the_panel_key_goes_from_people_to_research_to_none() -> None:
    app = make_app(Screenplay(started()))
    async with app.run_test(size=(80, 30)) as pilot:
        await settle(pilot)
        assert "keeping up" in screen_text(app) and "A/D" not in screen_text(app)
        await pilot.press("p")
        await settle(pilot)
        assert "keeping up" not in screen_text(app) and "A/D" in screen_text(app)
        await pilot.press("p")
        await settle(pilot)
        assert not app.query_one(Panel).display
        await pilot.press("p")
        await settle(pilot)
        assert "keeping up" in screen_text(app)


async def test_the_source_can_stand_below() -> None:
    app = make_app(Screenplay(*conversation()), settings=Settings(output=OutputSettings(source_line="below")))
    async with app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        text = screen_text(app)
        assert text.index("Guten Morgen") < text.index("Good morning")
        assert text.index("Das Wasser") < text.index("The water came")


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_what_a_run_cannot_do_stays_in_view(width: int) -> None:
    screenplay = Screenplay(*conversation())
    app = make_app(screenplay, limit="synthetic voices only")
    async with app.run_test(size=(width, 24)) as pilot:
        await settle(pilot)
        for events in ([Notice("warning", "another message")], [ended()]):
            await play(pilot, screenplay, *events)
            top = screen_text(app).splitlines()[0]
            assert "! synthetic voices only  " in top and "1:23" in top and "council" in top


async def test_the_people_panel_lists_the_keys_that_the_footer_does_not_show() -> None:
    app = make_app(Screenplay(*conversation()), settings=Settings(targets=("de", "fr")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        *above, footer = screen_text(app).splitlines()
        panel = [line[56:].strip() for line in above]
        for keys, word in listed(COMMANDS):
            shown = any(line.startswith(f"{keys} ") and word in line for line in panel)
            assert shown == (word != "From language"), word
        assert all(command.word in footer for command in COMMANDS if command.in_footer)


async def test_loading_is_shown_until_the_run_starts() -> None:
    screenplay = Screenplay(Notice("info", "loading the recogniser ..."))
    app = make_app(screenplay, snapshot=Snapshot())
    async with app.run_test() as pilot:
        await settle(pilot)
        assert "loading the recogniser ..." in screen_text(app)
        await play(pilot, screenplay, started())
        assert "loading" not in screen_text(app)
        assert "listening" in screen_text(app)


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_quitting_finishes_the_last_captions(key: str) -> None:
    screenplay = Screenplay(*conversation())
    run = ScriptedRun()
    app = make_app(screenplay, run)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press(key)
        await settle(pilot)
        assert run.calls == [("stop", None)]
        assert "finishing the last captions" in screen_text(app)
        assert not leaving(app)
        await play(pilot, screenplay, caption(5, "Ende.", final=True), ended("stopped"))
        assert leaving(app)
    assert app.return_value is None
    assert app.return_code == 0


async def test_a_second_press_quits_at_once() -> None:
    run = ScriptedRun()
    app = make_app(Screenplay(started()), run)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("ctrl+c", "ctrl+c")
        assert leaving(app)
    assert run.calls == [("stop", None)]


async def test_ctrl_c_stops_with_the_help_open() -> None:
    run = ScriptedRun()
    app = make_app(Screenplay(started()), run)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("question_mark", "ctrl+c")
        assert run.calls == [("stop", None)]


async def test_after_the_end_the_screen_stays_until_q() -> None:
    run = ScriptedRun()
    app = make_app(Screenplay(*conversation(), ended()), run)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert "end of file" in screen_text(app)
        assert not leaving(app)
        await pilot.press("q")
        assert leaving(app)
    assert run.calls == []


async def test_a_failure_is_handed_to_the_caller() -> None:
    app = make_app(Screenplay(Notice("error", "no such model: tower.gguf"), ended("failed")))
    async with app.run_test() as pilot:
        await settle(pilot)
    assert app.return_value == "no such model: tower.gguf"
    assert app.return_code == 1


async def test_records_after_quitting_are_harmless() -> None:
    screenplay = Screenplay(started())
    app = make_app(screenplay)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("q", "q")
    screenplay.play(caption(0, "zu spät"), ended("stopped"))
