"""A run that serves: what it opens and calls on the system, what it says, and what a reader of it gets."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from livetrans.base.errors import LivetransError
from livetrans.cli import run
from livetrans.config import Settings
from livetrans.events import Record, RunStarted
from livetrans.serve import address
from livetrans.serve.address import parse_serve_address
from tests.session.examples import transcript, write_session

from .reader import Reader, caption, served

AUDIT = """
import json, sys
def look(event, arguments):
    if event in ("socket.bind", "socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo",
                 "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo", "urllib.Request"):
        print(json.dumps([event, repr(arguments[1:])]), file=log, flush=True)
log = open(sys.argv.pop(1), "w")
sys.addaudithook(look)
from livetrans.__main__ import main
main()
"""


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """Two sentences in a second and a half: long enough to look at the run while it serves."""
    heard = (
        transcript(0, 0, "good", "morning"),
        transcript(0, 1, "good morning", final=True),
        transcript(1, 2, "thank you for coming", final=True),
    )
    return write_session(tmp_path / "talk.jsonl", *(replace(one, end=one.end / 2) for one in heard))


@contextmanager
def running(folder: Path, talk: Path, translator: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    words = ["replay", str(talk), "--mt", str(translator), "--no-session", "--plain", *options]
    command = [sys.executable, "-c", AUDIT, str(folder / "audit.jsonl"), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_run_listens_on_loopback_alone_and_calls_nobody(tmp_path: Path, talk: Path, translator_path: Path) -> None:
    with running(tmp_path, talk, translator_path, "--serve") as process:
        assert process.stderr and process.stdout
        said = process.stderr.readline()
        found = re.fullmatch(r"Captions for readers on this machine: http://127\.0\.0\.1:(\d+)/\n", said)
        assert found
        port = int(found[1])
        server = SimpleNamespace(address=f"http://127.0.0.1:{port}/")
        with Reader(server) as reader:  # type: ignore[arg-type]
            reader.until_state("listening")
            sockets = psutil.Process(process.pid).net_connections(kind="inet")
            listening = [(place.laddr.ip, place.laddr.port) for place in sockets if place.status == psutil.CONN_LISTEN]
            assert listening == [("127.0.0.1", port)]
            reader.until_state("ended")
        printed = process.stdout.read()
        assert process.wait() == 0 and re.fullmatch("Figures: .*\n", process.stderr.read())
    assert reader.texts == printed.splitlines() and len(reader.texts) == 2
    called = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert called == [["socket.bind", "(('127.0.0.1', 0),)"]]


def test_without_serve_nothing_is_opened(tmp_path: Path, talk: Path, translator_path: Path) -> None:
    with running(tmp_path, talk, translator_path, "--speed", "max") as process:
        assert process.wait() == 0
    assert (tmp_path / "audit.jsonl").read_text() == ""


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["--serve", "192.168.1.20"], 2, "write --serve lan:192.168.1.20 if others are to read"),
        (["--serve", "demo.flac"], 2, "or --serve after the files"),
        (["--serve", "localhost", "--speed", "max"], 2, "--serve is for captions at the pace of speech"),
        (["--serve", "lan:192.0.2.77"], 1, "192.0.2.77 is not an address of this machine"),
    ],
)
def test_what_cannot_be_served_is_one_sentence(
    talk: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, sentence: str
) -> None:
    assert run(["replay", str(talk), *words]) == code
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1


def test_a_port_in_use_is_said_before_models_load_and_leaves_no_session(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with served() as server:
        port = server.address.split(":")[-1].strip("/")
        words = ["replay", str(talk), "--plain", "--session", str(tmp_path / "kept"), "--serve", f"localhost:{port}"]
        assert run(words) == 1
    said = capsys.readouterr()
    assert f"127.0.0.1:{port} is in use" in said.err and said.err.count("\n") == 1
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(("ours", "found"), [("192.168.1.20", True), ("127.0.0.1", False), ("8.8.8.8", False)])
def test_lan_is_an_address_of_the_local_network(monkeypatch: pytest.MonkeyPatch, ours: str, found: bool) -> None:
    class Probe:
        def __init__(self, *kind: object) -> None: ...
        def __enter__(self) -> Probe:
            return self

        def __exit__(self, *error: object) -> None: ...
        def connect(self, place: object) -> None: ...
        def getsockname(self) -> tuple[str, int]:
            return ours, 9

    monkeypatch.setattr(address.socket, "socket", Probe)
    place = parse_serve_address("lan:8765")
    if found:
        assert str(place.located().address) == ours and place.located().readers == "your network"
        return
    with pytest.raises(LivetransError) as error:
        place.located()
    assert "--serve lan:" in str(error.value)


def test_the_run_learns_which_languages_are_read() -> None:
    read: list[frozenset[str]] = []
    with served() as server:
        server.on_read = read.append
        server.lines.write(Record(0.0, RunStarted({}, Settings(targets=("de", "fr", "ja")))))
        with Reader(server, "?to=fr") as reader:
            reader.until_state("listening")
            with Reader(server) as other:
                other.until_state("listening")
            server.lines.write(caption(0, "un", final=True, language="fr"))
            reader.until("un")
        limit = time.monotonic() + 5
        while (not read or read[-1]) and time.monotonic() < limit:
            time.sleep(0.01)
    assert read == [frozenset({"fr"}), frozenset({"de", "fr", "ja"}), frozenset({"fr"}), frozenset()]
