"""Text can be read in every theme, computed from the colours and from what is drawn."""

from __future__ import annotations

import pytest
from rich.color import ColorSystem
from textual.color import Color
from textual.command import CommandList
from textual.theme import Theme

from livetrans import config
from livetrans.tui.app import LivetransApp
from livetrans.tui.themes import THEMES
from tests.tui.scripted import Screenplay, Stage, caption, conversation, make_app, on_stage, settle

TEXT_CONTRAST, RULE_CONTRAST = 4.5, 2.0
NEW_CONTRAST = 3.0
"""Least contrast of coloured words with the plain ones beside them, on a light background (WCAG technique G183)."""
RULES = set(" ─│▁▂▃▄▅▆▇█▊▎╭╮╰╯╌━▌")
FIXED = [theme for theme in THEMES if theme.name != "ansi"]


def luminance(color: Color) -> float:
    """Return the relative luminance of an opaque colour, 0 to 1 (WCAG 2.2)."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color.normalized]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two opaque colours, 1 to 21 (WCAG 2.2)."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def in_256(code: str | None) -> Color:
    """Return what a terminal of 256 colours shows."""
    return Color.from_rich_color(Color.parse(code or "").rich_color.downgrade(ColorSystem.EIGHT_BIT))


def test_the_themes_are_those_of_the_configuration() -> None:
    assert tuple(theme.name for theme in THEMES) == config.THEMES


@pytest.mark.parametrize("theme", FIXED, ids=lambda theme: theme.name)
def test_colours_can_be_read_with_256_of_them_too(theme: Theme) -> None:
    for name, code in theme.variables.items():
        for background in (theme.background, theme.surface):
            for show in (in_256, lambda named: Color.parse(named or "")):
                least = RULE_CONTRAST if name == "rule" else TEXT_CONTRAST
                assert contrast(show(code), show(background)) >= least, (name, background)


def test_new_words_differ_from_plain_ones_on_a_light_background() -> None:
    light = next(theme for theme in THEMES if theme.name == "light").variables
    assert contrast(Color.parse(light["loud"]), Color.parse(light["plain"])) >= NEW_CONTRAST


def worst(app: LivetransApp) -> dict[str, float]:
    """Return the least contrast of texts and of rules on the screen."""
    found = {"text": 21.0, "rules": 21.0}
    for strip in app.screen._compositor.render_strips():
        for text, style, _ in strip:
            if not text.strip() or style is None or style.color is None or style.bgcolor is None:
                continue
            kind = "rules" if set(text) <= RULES else "text"
            shown = contrast(Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor))
            found[kind] = min(found[kind], shown)
    return found


@pytest.mark.asyncio
@pytest.mark.parametrize("size", [(80, 24), pytest.param((60, 20), marks=pytest.mark.long)])
async def test_what_is_drawn_can_be_read(size: tuple[int, int]) -> None:
    app = make_app(Screenplay(*conversation()), limit="synthetic voices only")
    async with app.run_test(size=size) as pilot:
        assert set(app.available_themes) == set(config.THEMES)
        for theme in FIXED:
            app.theme = theme.name
            for key in ("question_mark", "escape"):
                await pilot.press(key)
                await settle(pilot)
                shown = worst(app)
                assert shown["text"] >= TEXT_CONTRAST, (theme.name, key)
                assert shown["rules"] >= RULE_CONTRAST, (theme.name, key)


@pytest.mark.asyncio
async def test_a_theme_that_cannot_be_shown_gives_way_to_dark_and_ends_nothing() -> None:
    async with on_stage(*conversation()) as stage:
        for number, colours in enumerate(({}, {"plain": "nonsense"}, {"quiet": "$unknown"}), 9):
            name = f"broken {number}"
            stage.app.register_theme(Theme(name, "ansi_red", ansi=True, variables=colours))
            stage.app.theme = name
            await settle(stage.pilot)
            await stage.play(caption(number, f"Danach {number}.", final=True))
            assert f"Danach {number}." in stage.text and stage.app.theme == ("dark" if colours else name)
            await stage.press("n")
            assert not stage.leaving and (f"{name} cannot be shown" in stage.words) == bool(colours)
            await stage.press("escape")


async def choose(stage: Stage, command: str) -> None:
    """Type a command into the palette, and take it once the search has found it."""
    await stage.press(*command)
    found = stage.app.screen.query_one(CommandList)
    while not found.option_count or found.get_option_at_index(0).hit.text.casefold() != command:  # type: ignore[attr-defined]
        await stage.pilot.pause(0.01)
    await stage.press("enter")


@pytest.mark.asyncio
@pytest.mark.parametrize("theme", ["ansi", *(pytest.param(name, marks=pytest.mark.long) for name in ("dark", "light"))])
async def test_every_theme_is_shown_from_the_start_and_from_the_palette(theme: str) -> None:
    settings = config.Settings(output=config.OutputSettings(theme=theme))
    async with on_stage(*conversation(), settings=settings) as stage:
        assert (stage.app.theme, "Möchte jemand" in stage.text) == (theme, True)
        assert "for this run" not in stage.text
        for name in config.THEMES:
            await stage.press("ctrl+p")
            for command in ("theme", name):
                await choose(stage, command)
            assert (stage.app.theme, stage.leaving) == (name, False)
            assert "Möchte jemand" in stage.text
