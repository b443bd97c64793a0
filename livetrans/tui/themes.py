"""The colours of the screen: for a dark and for a light background, and the terminal's own.

Text of `dark` and `light` has a contrast of at least 4.5 on both backgrounds (WCAG 2.2, success criterion 1.4.3), rules
and the scrollbar of at least 2, also in a terminal of 256 colours.
"""

from __future__ import annotations

from textual.theme import BUILTIN_THEMES, Theme

NAMES = ("plain", "quiet", "loud", "good", "caution", "fault", "rule")
"""Variables of the style sheet: `loud` is for new words and headings, `quiet` for labels and source text."""


def _theme(name: str, background: str, surface: str, *colours: str) -> Theme:
    """Return a theme of two backgrounds, and of a colour for each of `NAMES`."""
    plain, _, loud, good, caution, fault, _ = colours
    is_ansi = name == "ansi"
    # Textual's own style sheets use variables that it makes for other themes only.
    variables = BUILTIN_THEMES["ansi-dark"].variables if is_ansi else {}
    return Theme(
        name,
        primary=loud,
        accent=loud,
        foreground=plain,
        success=good,
        warning=caution,
        error=fault,
        background=background,
        surface=surface,
        panel=surface,
        dark=name != "light",
        ansi=is_ansi,
        variables=variables | dict(zip(NAMES, colours, strict=True)),
    )


OWN, FAINT = "ansi_default", "ansi_default 50%"
# fmt: off
THEMES = (
    _theme("dark", "#121212", "#1c1c1c", "#e4e4e4", "#949494", "#ffaf5f", "#5faf5f", "#ff875f", "#ff5f5f", "#585858"),
    _theme("light", "#ffffff", "#eeeeee", "#121212", "#5f5f5f", "#005fd7", "#005f00", "#875f00", "#af0000", "#a8a8a8"),
    _theme("ansi", OWN, OWN, OWN, FAINT, "ansi_magenta", "ansi_green", "ansi_red", "ansi_red", FAINT),
)
# fmt: on
"""The names are those of `livetrans.config.THEMES`."""
DARK = THEMES[0]
"""What is shown where another theme cannot be."""
