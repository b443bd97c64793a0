"""Who reads along, on the screen: the address all the time, the QR code and the browser on keys."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import segno

from livetrans.tui import readers
from livetrans.tui.readers import NOT_SERVED, qr_code
from tests.tui.scripted import conversation, on_stage, started

LAN = "http://192.168.1.20:8765/AbCdEfGhIjKlMnOpQrStUv/"


@dataclass
class ScriptedServer:
    """A server that opens nothing."""

    address: str
    who_can_read: str
    is_open_to_others: bool
    readers: int = 0


@pytest.mark.parametrize(
    "size", [(60, 20), *(pytest.param(size, marks=pytest.mark.long) for size in ((80, 24), (120, 40)))]
)
async def test_who_can_read_is_on_the_screen_all_the_time(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "COUNT_SECONDS", 0.01)
    server = ScriptedServer(LAN, "your network", True)
    async with on_stage(*conversation(), server=server, size=size) as stage:
        for key in ("s", "p", "p", "o"):
            await stage.press(key)
            assert f"{LAN} · your network · 0 readers" in stage.words
        places = stage.app.query_one("#captions").region
        for count in (3, 12, 100):
            server.readers = count
            while f"{count} readers" not in stage.words:
                await stage.pilot.pause(0.01)
            assert stage.app.query_one("#captions").region == places


@dataclass
class ScriptedOutlet:
    """A platform that nothing is sent to."""

    status: str


async def test_how_sending_to_platforms_goes_is_on_the_screen_and_moves_no_caption(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readers, "COUNT_SECONDS", 0.01)
    outlets = [ScriptedOutlet("YouTube (de): 0 sent"), ScriptedOutlet("Zoom (fr): 0 sent")]
    for server in (None, ScriptedServer(LAN, "your network", True)):
        async with on_stage(*conversation(), server=server, outlets=outlets) as stage:
            assert "YouTube (de): 0 sent" in stage.text and ("0 readers" in stage.text) == bool(server)
            places = stage.app.query_one("#captions").region
            outlets[0].status, outlets[1].status = "YouTube (de): 41 sent, 3 s ago", "Zoom (fr): no answer " * 20
            while not ("YouTube (de): 41 sent, 3 s ago" in stage.text and "Zoom (fr): no answer" in stage.text):
                await stage.pilot.pause(0.01)
            assert stage.app.query_one("#captions").region == places
            outlets[0].status, outlets[1].status = "YouTube (de): 0 sent", "Zoom (fr): 0 sent"


async def test_the_address_leaves_the_captions_room_in_a_terminal_of_five_rows() -> None:
    async with on_stage(*conversation(), server=ScriptedServer(LAN, "your network", True), size=(20, 5)) as stage:
        rows = stage.lines
        assert "http" not in stage.text and "r: the address" in rows[1], "half an address leads nowhere"
        assert "Stufe" in rows[2] + rows[3]  # The newest words of the caption that is spoken.


async def test_an_address_is_shown_whole_or_not_at_all() -> None:
    async with on_stage(*conversation(), server=ScriptedServer(LAN, "your network", True)) as stage:
        for size in ((40, 10), (40, 11), (40, 12), (52, 10), (80, 10), (20, 24)):
            await stage.resize(*size)
            shown = "".join(line.strip() for line in stage.lines)
            assert (LAN in shown) != ("r: the address" in shown) and ("http" in shown) == (LAN in shown), size


async def test_a_phone_finds_the_address_in_the_code_or_reads_that_the_terminal_is_too_small() -> None:
    async with on_stage(started(), server=ScriptedServer(LAN, "your network", True, 2)) as stage:
        for size in ((60, 24), (80, 24), (40, 20), (60, 15)):
            await stage.resize(*size)
            await stage.press("r")
            assert all(line.rstrip() in stage.text for line in qr_code(LAN).plain.splitlines()) == (size[1] == 24)
            if size[1] == 24:
                assert LAN in stage.text and "2 now" in stage.text
            else:
                assert "▀" not in stage.text
                assert re.search("Make the terminal 44x[0-9]+ for", stage.text)
            await stage.press("r")
            assert "▀▀▀" not in stage.text and "Make the terminal" not in stage.text


async def test_an_address_that_no_phone_can_open_has_no_code() -> None:
    server = ScriptedServer("http://127.0.0.1:8765/", "this machine", False)
    async with on_stage(started(), server=server) as stage:
        await stage.press("r")
        assert "--serve lan" in stage.text and "▀" not in stage.text


async def test_a_key_opens_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    started_with: list[tuple[str, ...]] = []
    monkeypatch.setattr(readers, "start_python", lambda *words, **pipes: started_with.append(words))
    monkeypatch.setenv("DISPLAY", ":0")
    async with on_stage(started(), server=ScriptedServer(LAN, "your network", True), size=(100, 24)) as stage:
        await stage.press("v")
        [(module, page)] = started_with
        file = Path(unquote(urlsplit(page).path))
        assert module == "webbrowser" and "opened in the browser" in stage.text
        # Command lines can be read by every user, so the token is not in them.
        assert "AbCdEf" not in page and f"url={LAN}" in file.read_text()
        assert file.stat().st_mode & 0o777 == 0o600


async def test_without_a_server_the_keys_say_how_to_get_one() -> None:
    async with on_stage(started(), size=(150, 24)) as stage:
        assert "readers" not in stage.text
        for key in ("v", "r"):
            await stage.press(key)
            assert NOT_SERVED in stage.text


def test_the_code_has_the_modules_of_the_address() -> None:
    matrix = [list(row) for row in segno.make(LAN, error="m", micro=False).matrix_iter(border=readers.QUIET_ZONE)]
    halves = {" ": (0, 0), "▀": (1, 0), "▄": (0, 1), "█": (1, 1)}
    drawn: list[list[int]] = []
    for line in qr_code(LAN).plain.splitlines():
        drawn += [[halves[block][half] for block in line] for half in (0, 1)]
    assert drawn[: len(matrix)] == matrix and not any(map(any, drawn[len(matrix) :]))
