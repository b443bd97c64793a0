"""Text can be read in every theme, with all colours and with 256 of them, computed from what is drawn; and copying."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from livetrans.config import THEMES
from livetrans.tui import terminal
from livetrans.tui.app import LivetransApp
from livetrans.tui.terminal import (
    RULE_CONTRAST,
    TEXT_CONTRAST,
    clipboard_program,
    contrast,
    copy_text,
    least_contrast,
    readable,
)
from tests.tui.scripted import Screenplay, conversation, make_app, settle

NAMED = sorted(set(BUILTIN_THEMES) - {"ansi-dark", "ansi-light"})
"""Themes that name their colours; the others take the terminal's."""
RULES = set(" ─│▁▂▃▄▅▆▇█▊▎╭╮╰╯╌━")


def worst(app: LivetransApp) -> dict[str, float]:
    """Return the least contrast of texts and of rules on the screen."""
    found = {"text": 21.0, "rules": 21.0}
    for strip in app.screen._compositor.render_strips():
        for text, style, _ in strip:
            if not text.strip() or style is None or style.color is None or style.bgcolor is None:
                continue
            kind = "rules" if set(text) <= RULES else "text"
            shown = least_contrast(Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor))
            found[kind] = min(found[kind], shown)
    return found


def test_the_themes_that_can_be_chosen_are_those_of_textual() -> None:
    assert sorted(BUILTIN_THEMES) == list(THEMES)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast(Color.parse("black"), Color.parse("white")) == pytest.approx(21.0)
    assert contrast(Color.parse("#767676"), Color.parse("white")) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("theme", NAMED)
def test_our_colours_can_be_read_on_the_backgrounds_of_a_theme(theme: str) -> None:
    variables = BUILTIN_THEMES[theme].to_color_system().generate()
    for name, color in readable(variables).items():
        for background in ("background", "surface"):
            shown = least_contrast(Color.parse(color), Color.parse(variables[background]))
            assert shown >= (RULE_CONTRAST if name == "rule" else TEXT_CONTRAST), name


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("size", "themes"),
    [
        ((80, 24), ["solarized-light"]),
        pytest.param((60, 20), NAMED, marks=pytest.mark.long),
        pytest.param((120, 40), NAMED, marks=pytest.mark.long),
    ],
)
async def test_what_is_drawn_can_be_read(size: tuple[int, int], themes: list[str]) -> None:
    app = make_app(Screenplay(*conversation()), limit="synthetic voices only")
    async with app.run_test(size=size) as pilot:
        for theme in themes:
            app.theme = theme
            for key in ("question_mark", "escape"):
                await pilot.press(key)
                await settle(pilot)
                shown = worst(app)
                assert shown["text"] >= TEXT_CONTRAST, (theme, key)
                assert shown["rules"] >= RULE_CONTRAST, (theme, key)


@pytest.mark.parametrize(
    ("environment", "platform", "command"),
    [
        ({}, "darwin", "pbcopy"),
        ({"SSH_CONNECTION": "1"}, "darwin", None),
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, "linux", "wl-copy"),
        ({"DISPLAY": ":0"}, "linux", "xclip"),
        ({}, "linux", None),
    ],
)
def test_the_program_of_the_desktop(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], platform: str, command: str | None
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    found = clipboard_program(environment, platform)
    assert (found and found[0]) == command
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert clipboard_program(environment, platform) is None


@pytest.mark.parametrize(("script", "says"), [("cat > {}", "copied"), ("exit 1", "sent to the terminal")])
def test_what_is_said_is_what_was_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, says: str) -> None:
    target, sent = tmp_path / "clipboard", []
    command = ["sh", "-c", script.format(target)]
    monkeypatch.setattr(terminal, "clipboard_program", lambda: command)
    assert says in copy_text("Grüße", "last caption", sent.append)
    assert (target.read_text() if target.exists() else sent[0]) == "Grüße"
