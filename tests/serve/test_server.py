"""The server against requests that no reader sends, and against those who would read without being asked."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from hypothesis import given

from livetrans.audio.portaudio import ON_A_MAC
from livetrans.base.errors import LivetransError, UsageError
from livetrans.base.text import UNSEEN
from livetrans.serve import address as address_module
from livetrans.serve import connection as connection_module
from livetrans.serve import server as server_module
from livetrans.serve.address import ServeAddress, parse_address, parse_serve_address
from livetrans.serve.requests import FILES
from livetrans.serve.server import CaptionServer
from tests.hostile_text import HOSTILE

from .reader import Reader, caption, connect, exchange, request, served, status_of


@pytest.fixture(scope="module")
def here() -> Iterator[CaptionServer]:
    """A server for this machine."""
    with served() as server:
        server.lines.write(caption(0, "Guten Morgen", final=True))
        yield server


@pytest.fixture(scope="module")
def lan() -> Iterator[CaptionServer]:
    """A server for the network, whose address is a loopback one all the same: tests open nothing."""
    place = ServeAddress(parse_address("127.0.0.1"), 0, True)
    server = CaptionServer(place)
    server.lines.write(caption(0, "Guten Morgen", final=True))
    server.start()
    yield server
    server.stop()


def assert_well(server: CaptionServer) -> None:
    """The server answers, and has forgotten everybody else."""
    with Reader(server) as reader:
        reader.until_state("loading")
    limit = time.monotonic() + 5
    while server.readers and time.monotonic() < limit:
        time.sleep(0.01)
    assert server.readers == 0


def test_the_page_is_there_and_asks_for_nothing_elsewhere(here: CaptionServer) -> None:
    for path in FILES:
        answer = exchange(here, request(here, path))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert status_of(answer) == 200 and body
        for header in (b"default-src 'none'", b"frame-ancestors 'none'", b"nosniff", b"no-referrer", b"no-store"):
            assert header in head
        assert b"Access-Control" not in head and b"://" not in body


NUMBERS = itertools.count(1, 2)

FOREIGN = [
    {"Host": "evil.example"},
    {"Host": "localhost.evil.example:80"},
    {"Host": "127.0.0.1.evil.example"},
    {"Host": "127.0.0.1@evil.example"},
    {"Host": "127.0.0.1:80.evil.example"},
    {"Host": "192.168.1.1"},
    {"Host": "0.0.0.0"},
    {"Host": "2130706433"},
    {"Host": "0x7f.1"},
    {"Host": "127.1"},
    {"Host": "[::1"},
    {"Host": ""},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "https://127.0.0.1"},
    {"Origin": "http://127.0.0.1"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_pages_of_others_get_nothing(here: CaptionServer, headers: dict[str, str]) -> None:
    for path in ("", "captions"):
        answer = exchange(here, request(here, path, headers))
        assert status_of(answer) in (400, 403) and b"Guten" not in answer
    assert_well(here)


def test_names_of_this_machine_are_taken(here: CaptionServer) -> None:
    port = urlsplit(here.address).port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", "localhost", f"[::1]:{port}"):
        headers = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
        assert status_of(exchange(here, request(here, "", headers))) == 200
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert status_of(exchange(here, request(here, "", link))) == 200


PATHS = ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "/etc/passwd", "page.js/..", "page.js%00", ".", "index.html",
         "captions/", "CAPTIONS", "%63aptions", "\u00e4", "a" * 4000, "captions?to=xx", "captions?last=-1",
         "captions?last=99999", "captions?last=1_0", "captions?final=yes", "captions?" + "a=1&" * 100,
         "captions?to"]  # fmt: skip


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path[:30])
def test_tricks_with_paths_get_a_4xx(here: CaptionServer, path: str) -> None:
    answer = exchange(here, request(here, path))
    assert 400 <= status_of(answer) < 500
    assert path[:20].encode("latin-1", "ignore") not in answer.partition(b"\r\n\r\n")[2] or len(path) < 3


BYTES = [
    b"\x00" * 100,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"GET * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"CONNECT evil.example:443 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 20_000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 5000,
    b"GET / HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
    b"POST /captions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{\"a\": 1}\n",
    b"DELETE / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: gzip\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET / HTTP/1.1\nHost 127.0.0.1\n\n",
    b"GET /\r\nX: y HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
]  # fmt: skip


@pytest.mark.parametrize("data", BYTES, ids=lambda data: repr(data[:30]))
def test_what_is_no_request_of_a_reader_gets_a_4xx_or_is_closed(here: CaptionServer, data: bytes) -> None:
    status = status_of(exchange(here, data))
    assert status == 0 or 400 <= status < 500
    assert_well(here)


def test_who_does_not_know_the_token_gets_nothing(lan: CaptionServer) -> None:
    token = urlsplit(lan.address).path.strip("/")
    assert len(token) == 22  # 128 bits in base64
    assert_well(lan)
    for path in ("/", "/captions", "/page.js", f"/{token[:-1]}", f"/{token}x", f"//{token}",
                 f"/{token[:-1]}/", f"/{token}x/", f"/{token.swapcase()}/", f"//{token}/",
                 f"/?{token}", f"/captions?token={token}", "/\u00e4/"):  # fmt: skip
        answer = exchange(lan, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode("latin-1"))
        assert 400 <= status_of(answer) < 500 and b"Guten" not in answer
        assert token.encode() not in answer and b"Location" not in answer
    answer = exchange(lan, request(lan, "", {"Host": "localhost"}))
    assert status_of(answer) == 403


def test_the_address_without_its_last_slash_leads_to_the_page(lan: CaptionServer) -> None:
    path = urlsplit(lan.address).path
    for query in ("", "?", "?view=overlay&to=fr"):
        head = f"GET {path[:-1]}{query} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        answer = exchange(lan, f"{head}\r\n".encode())
        assert status_of(answer) == 308 and f"\r\nLocation: {path}{query}\r\n" in answer.decode()
        assert status_of(exchange(lan, f"{head}Origin: http://evil.example\r\n\r\n".encode())) == 403
    assert status_of(exchange(lan, request(lan, query))) == 200


def test_each_run_has_its_own_token_but_on_a_named_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_module, "user_folder", lambda kind: tmp_path / "data")
    place = parse_serve_address("lan:192.168.1.20")
    assert len({CaptionServer(place).address for _ in range(2)}) == 2 and not list(tmp_path.iterdir())
    kept = parse_serve_address("lan:192.168.1.20:8765")
    addresses = {CaptionServer(kept).address for _ in range(2)}
    (file,) = (tmp_path / "data").iterdir()
    assert len(addresses) == 1 and file.stat().st_mode & 0o777 == 0o600
    addresses.add(CaptionServer(parse_serve_address("lan:192.168.1.20:8765:new")).address)
    assert len(addresses) == 2
    file.chmod(0o644)
    addresses.add(CaptionServer(kept).address)
    file.write_text("short")
    addresses.add(CaptionServer(kept).address)
    assert len(addresses) == 4, "what others could read, or what is no token, is not used"
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_answer_to_head_has_no_body(here: CaptionServer, monkeypatch: pytest.MonkeyPatch) -> None:
    faults: list[object] = []
    handler = asyncio.BaseEventLoop.call_exception_handler
    monkeypatch.setattr(
        asyncio.BaseEventLoop,
        "call_exception_handler",
        lambda loop, context: (faults.append(context), handler(loop, context)),
    )
    head, _, body = exchange(here, request(here, method="HEAD")).partition(b"\r\n\r\n")
    assert b" 405 " in head and not body and not faults


@given(text=HOSTILE)
def test_hostile_captions_stay_text_in_one_line(here: CaptionServer, text: str) -> None:
    number = next(NUMBERS)
    here.lines.write(caption(number, f"a {text} z\n\nevent: state\ndata: {{}}", final=True))
    here.lines.write(caption(number + 1, f"end {number}", final=True))
    with Reader(here, "?last=2") as reader:
        reader.until(f"end {number}")
    first = min(reader.lines.items())[1]
    assert [kind for kind, _ in reader.events] == ["state", "caption", "caption"]
    assert first["text"].startswith("a ") and not UNSEEN.search(first["text"])


def test_a_request_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "OPEN_SECONDS", 0.3)
    monkeypatch.setattr(server_module, "_CHECK_SECONDS", 0.05)
    with served() as server:
        server.lines.write(caption(0, "Guten Morgen", final=True))
        with connect(server) as silent, connect(server) as slow:
            slow.sendall(b"GET / HTTP/1.1\r\nHost: ")
            for waiting in (silent, slow):
                with contextlib.suppress(ConnectionResetError):
                    assert waiting.recv(1000) == b""
        assert_well(server)


def test_a_reader_that_takes_nothing_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "STALLED_SECONDS", 0.3)
    monkeypatch.setattr(server_module, "_CHECK_SECONDS", 0.05)
    with served() as server, connect(server) as stalled:
        stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stalled.sendall(request(server, "captions"))
        limit = time.monotonic() + 10
        seen = number = 0
        while (server.readers or not seen) and time.monotonic() < limit:
            seen = max(seen, server.readers)
            server.lines.write(caption(number, "wort " * 1000, final=True))
            number += 1
            time.sleep(0.005)
        assert seen == 1 and server.readers == 0


def test_a_quiet_stream_shows_that_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "QUIET_SECONDS", 0.2)
    monkeypatch.setattr(server_module, "_CHECK_SECONDS", 0.05)
    with served() as server, Reader(server) as reader:
        while len(reader.events) < 3:
            reader.read_event()
        assert [kind for kind, _ in reader.events] == ["state"] * 3


@pytest.mark.skipif(ON_A_MAC or not hasattr(socket, "TCP_USER_TIMEOUT"), reason="this system has another option")
def test_the_system_ends_a_connection_to_a_reader_that_vanished() -> None:
    with socket.socket() as connection:
        connection_module.end_if_vanished(connection, 30.0)
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 30_000


def test_readers_and_connections_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "MOST_READERS", 3)
    monkeypatch.setattr(connection_module, "MOST_CONNECTIONS", 5)
    with served() as server:
        server.lines.write(caption(0, "Guten Morgen", final=True))
        with contextlib.ExitStack() as readers:
            for _ in range(3):
                readers.enter_context(Reader(server)).until("Guten Morgen")
            assert server.readers == 3
            assert status_of(exchange(server, request(server, "captions"))) == 503
            for _ in range(2):
                readers.enter_context(contextlib.closing(connect(server)))
            assert status_of(exchange(server, request(server))) == 0
        assert_well(server)


def test_one_address_of_others_cannot_take_all_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "MOST_OF_ONE_ADDRESS", 2)
    monkeypatch.setattr(connection_module, "_is_here", lambda address: False)
    with served() as server, contextlib.ExitStack() as waiting:
        for _ in range(2):
            waiting.enter_context(contextlib.closing(connect(server)))
        assert status_of(exchange(server, request(server))) == 0


def strangers(server: CaptionServer, count: int) -> None:
    """Connect in turn: some send a request, some half of one, some nothing, some leave at once, some by a reset."""
    for number in range(count):
        connection = connect(server)
        with contextlib.suppress(ConnectionError):
            match number % 5:
                case 0:
                    connection.sendall(request(server, "captions"))
                case 1:
                    connection.sendall(request(server)[:20])
                case 2:
                    connection.sendall(b"\xff" * 50)
                case 3:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
                case _:
                    pass
        connection.close()


@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.long)])
def test_many_connections_in_turn_leave_nothing_behind(count: int) -> None:
    process = psutil.Process()
    with served() as server, Reader(server) as reader:
        server.lines.write(caption(0, "before", final=True))
        reader.until("before")
        files = process.num_fds()
        strangers(server, count)
        server.lines.write(caption(1, "after", final=True))
        reader.until("after")
        limit = time.monotonic() + 10
        while (server.readers > 1 or process.num_fds() > files) and time.monotonic() < limit:
            time.sleep(0.05)
        assert (server.readers, process.num_fds()) == (1, files)


LOCAL = {
    "localhost": ("127.0.0.1", 0),
    "localhost:8765": ("127.0.0.1", 8765),
    ":8765": ("127.0.0.1", 8765),
    "8765": ("127.0.0.1", 8765),
    "127.0.0.2": ("127.0.0.2", 0),
    "127.0.0.1:80": ("127.0.0.1", 80),
    "[::1]:8765": ("::1", 8765),
    "::1": ("::1", 0),
}
NETWORK = {
    "lan": (None, 0),
    "lan:8765": (None, 8765),
    "lan:192.168.1.20": ("192.168.1.20", 0),
    "lan:192.168.1.20:8765": ("192.168.1.20", 8765),
    "lan:[fd00::1]:8765": ("fd00::1", 8765),
    "lan:fd00::1": ("fd00::1", 0),
}


@pytest.mark.parametrize("text", [*LOCAL, *NETWORK])
def test_places_are_parsed(text: str) -> None:
    address, port = {**LOCAL, **NETWORK}[text]
    assert parse_serve_address(text) == ServeAddress(parse_address(address) if address else None, port, text in NETWORK)


@pytest.mark.parametrize(
    "text",
    ["0.0.0.0", "192.168.1.20", "192.168.1.20:8765", "::", "[fd00::1]:80", "10.0.0.1", "8.8.8.8", "example.com",
     "example.com:80", "demo.flac", "localhost:65536", "localhost:x", "localhost:-1", "127.1", "::ffff:10.0.0.1",
     "lan:0.0.0.0", "lan:[::ffff:0.0.0.0]", "lan:127.0.0.1", "lan:localhost", "lan:example.com",
     "LAN", "lanx", "::1%lo", "lan:fe80::1%eth0", "localhost:8765:new", "lan:224.0.0.1", "\u0661"],
)  # fmt: skip
def test_without_the_word_lan_nothing_but_loopback_is_served(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_serve_address(text)
    assert "\n" not in str(error.value)


def test_a_port_in_use_is_one_sentence() -> None:
    with served() as server:
        port = urlsplit(server.address).port
        with pytest.raises(LivetransError, match=f"^127.0.0.1:{port} is in use by another program: "):
            CaptionServer(parse_serve_address(f"localhost:{port}")).start()
