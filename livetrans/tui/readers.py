"""Who reads along: the row with the address of the page and its readers, and the QR code."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

from livetrans.base.installation import start_python, user_folder
from livetrans.base.text import counted, display_width, fitted
from livetrans.tui.wrapped import Sheet, WrappedText, in_lines

COUNT_SECONDS = 0.5
MOST_READERS = 999
"""Readers for whose number the row has room from the beginning."""
QUIET_ZONE = 2
"""Light modules around the code. Two are enough for phones, and four would not fit in 24 lines."""
SHEET_COLUMNS, SHEET_ROWS = 7, 4
"""What the page takes besides the code: frame, margins and scrollbar; frame, address and number of readers."""
NOT_SERVED = "captions are not served: start with --serve, or --serve lan for your network"


class Served(Protocol):
    """What the screen shows of a server of captions."""

    @property
    def address(self) -> str: ...

    @property
    def who_can_read(self) -> str: ...

    @property
    def is_open_to_others(self) -> bool: ...

    @property
    def readers(self) -> int: ...


class Outlet(Protocol):
    """What the screen shows of a platform that captions are sent to."""

    @property
    def status(self) -> str: ...


class ReadersBar(WrappedText):
    """The page's address, who can read it and how many do, and how sending goes. Other numbers move no caption."""

    def __init__(self, server: Served | None, outlets: Sequence[Outlet] = ()) -> None:
        super().__init__(id="readers")
        self._server, self._outlets = server, outlets
        self._shown = 0, "", [""] * len(outlets)
        """The number of readers, who can read, and how sending goes."""
        self.display = bool(server or outlets)

    def on_mount(self) -> None:
        self._count()
        self.set_interval(COUNT_SECONDS, self._count)

    def _count(self) -> None:
        readers, who = (self._server.readers, self._server.who_can_read) if self._server else (0, "")
        now = readers, who, [one.status for one in self._outlets]
        if now != self._shown:
            self._shown = now
            self.change(layout=False)

    def wrap(self, width: int) -> list[Content]:
        return self._wrapped_for(self._shown[0], width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._wrapped_for(MOST_READERS, width))

    def _wrapped_for(self, readers: int, width: int) -> list[Content]:
        server = self._server
        text = f"{server.address} · {server.who_can_read} · {counted(readers, 'reader')}" if server else ""
        rows = in_lines(Content(text), width) if server else []
        return rows + [Content(fitted(status, width)) for status in self._shown[2]]

    def render(self) -> Content:
        size = self.content_size
        if self._server is not None and display_width(self._server.address) > size.width * size.height:
            # Half an address leads nowhere.
            return Content(fitted(f"r: the address · {counted(self._shown[0], 'reader')}", size.width))
        return super().render()


class ReadersScreen(Sheet):
    """The page's address, also as a QR code if other machines can open it."""

    HEADING = "Readers"

    def __init__(self, server: Served) -> None:
        super().__init__()
        self._server = server
        self._count = Static("", markup=False)
        self._code = Static("", id="code")

    def body(self) -> ComposeResult:
        yield self._code
        yield Static(self._server.address, markup=False)
        if not self._server.is_open_to_others:
            yield Static("Phones and other machines cannot open it: start with --serve lan for them.", markup=False)
        yield self._count

    def on_mount(self) -> None:
        self._show()
        self.set_interval(COUNT_SECONDS, self._show)

    def on_resize(self) -> None:
        """Show the code if the whole of it has room: no phone reads a part."""
        if self._server.is_open_to_others:
            code = qr_code(self._server.address)
            rows = code.plain.split("\n")
            width, height = len(rows[0]) + SHEET_COLUMNS, len(rows) + SHEET_ROWS
            fits = self.size.width >= width and self.size.height >= height
            self._code.update(code if fits else Content(f"Make the terminal {width}x{height} for the QR code."))

    def _show(self) -> None:
        self._count.update(f"Readers on {self._server.who_can_read}: {self._server.readers} now.")


def qr_code(text: str) -> Content:
    """Return a QR code of the text in half blocks, dark on light in every theme."""
    import segno

    rows = [list(row) for row in segno.make(text, error="m", micro=False).matrix_iter(border=QUIET_ZONE)]
    rows += [[0] * len(rows[0])] * (len(rows) % 2)
    blocks = {(0, 0): " ", (1, 0): "▀", (0, 1): "▄", (1, 1): "█"}
    pairs = zip(rows[::2], rows[1::2], strict=True)
    lines = ["".join(blocks[upper, lower] for upper, lower in zip(*pair, strict=True)) for pair in pairs]
    return Content("\n").join(Content.styled(line, "#000000 on #ffffff") for line in lines)


def open_in_browser(address: str) -> str:
    """Open the address in the system's browser; return the answer to the key."""
    has_display = any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))
    if sys.platform not in ("darwin", "win32") and not has_display:
        return f"there is no display to open a browser on: open {address} yourself"
    try:
        page = redirecting_file(address).as_uri()
    except OSError as fault:
        return f"the browser cannot be opened ({fault.strerror}): open {address} yourself"
    # In a session of its own, so that a browser for terminals cannot take this one.
    start_python("webbrowser", page, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return f"opened in the browser: {address}"


def redirecting_file(address: str) -> Path:
    """Return a file for the user alone that leads a browser to the address; it is removed when the program ends.

    Every user of the machine can read command lines, and the address has the token in it.
    """
    folder = user_folder("data")
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix="captions-", suffix=".html", dir=folder)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={address}"><title>Captions</title>')
    atexit.register(Path(name).unlink, missing_ok=True)
    return Path(name)
