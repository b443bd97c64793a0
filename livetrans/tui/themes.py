"""The colours of the screen: for a dark and for a light background, and the terminal's own.

Text of `dark` and `light` has a contrast of at least 4.5 on both backgrounds (WCAG 2.2, success criterion 1.4.3), rules
and the scrollbar of at least 2, also in a terminal of 256 colours.
"""

from __future__ import annotations

from textual.theme import Theme


def _theme(name: str, background: str, surface: str, *, ansi: bool = False, **colours: str) -> Theme:
    """Return the theme with `colours` as variables of the style sheet; `loud` is for new words, `quiet` for labels."""
    return Theme(
        name,
        primary=colours["loud"],
        accent=colours["loud"],
        foreground=colours["plain"],
        success=colours["good"],
        warning=colours["caution"],
        error=colours["fault"],
        background=background,
        surface=surface,
        panel=surface,
        dark=name != "light",
        ansi=ansi,
        variables=colours,
    )


THEMES = (
    _theme(
        "dark",
        "#121212",
        "#1c1c1c",
        plain="#e4e4e4",
        quiet="#949494",
        loud="#ffaf5f",
        good="#5faf5f",
        caution="#ff875f",
        fault="#ff5f5f",
        rule="#585858",
    ),
    _theme(
        "light",
        "#ffffff",
        "#eeeeee",
        plain="#121212",
        quiet="#5f5f5f",
        loud="#005fd7",
        good="#005f00",
        caution="#875f00",
        fault="#af0000",
        rule="#a8a8a8",
    ),
    _theme(
        "ansi",
        "ansi_default",
        "ansi_default",
        ansi=True,
        plain="ansi_default",
        quiet="ansi_default 50%",
        loud="ansi_magenta",
        good="ansi_green",
        caution="ansi_red",
        fault="ansi_red",
        rule="ansi_default 50%",
    ),
)
"""The names are those of `livetrans.config.THEMES`."""
