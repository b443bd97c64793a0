"""A hub of real nginx: what livetrans puts there, what readers get, and what strangers do not."""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from livetrans.base.errors import LivetransError, UsageError
from livetrans.cli import run, running
from livetrans.config import MeetingSettings, OutputSettings
from livetrans.events import Notice, Record, RunEnded
from livetrans.serve import hub as module
from livetrans.serve.hub import Hub, HubPublisher
from livetrans.serve.lines import SharedLines
from tests.session.examples import transcript, write_session

from .browser import Browser
from .nginx import SECRET, Nginx, running_hub
from .reader import caption, started

PATIENCE = 20.0


@pytest.fixture(scope="module")
def nginx() -> Iterator[Nginx]:
    with running_hub() as opened:
        yield opened


@pytest.fixture(scope="module")
def encrypted() -> Iterator[Nginx]:
    with running_hub(encrypted=True) as opened:
        yield opened


@pytest.fixture
def hub(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Nginx:
    monkeypatch.setenv(module.SECRET, SECRET)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    found: Nginx = request.getfixturevalue(getattr(request, "param", "nginx"))
    if found.certificate:
        monkeypatch.setenv("SSL_CERT_FILE", str(found.certificate))
    return found


WITH_AND_WITHOUT_TLS = pytest.mark.parametrize("hub", ["nginx", "encrypted"], indirect=True)


@pytest.fixture
def room(request: pytest.FixtureRequest) -> str:
    return f"room-{abs(hash(request.node.name)) % 10**9}"


def publishing(hub: Nginx, room: str, lines: SharedLines, notes: list[Notice] | None = None) -> HubPublisher:
    found = HubPublisher(hub.address(room), lines, (notes if notes is not None else []).append)
    found.start()
    return found


def ended() -> Record:
    return Record(9.0, RunEnded(1.0, "stopped"))


def lines_in(file: bytes) -> dict[int, str]:
    frames = [frame for frame in file.decode().split("\n\n") if frame.startswith("event: caption")]
    return {data["line"]: data["text"] for data in (json.loads(frame.split("data: ", 1)[1]) for frame in frames)}


def head_of(file: bytes) -> dict[str, int]:
    head: dict[str, int] = json.loads(file.split(b"\n\n")[0].split(b"data: ")[1])
    return head


def until(hub: Nginx, path: str, wanted: dict[int, str]) -> None:
    limit = time.monotonic() + PATIENCE
    while (found := lines_in(hub.ask("GET", path)[1])) != wanted:
        assert time.monotonic() < limit, found
        time.sleep(0.05)


@WITH_AND_WITHOUT_TLS
def test_readers_get_lines_and_only_the_newest_form(hub: Nginx, room: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines, puts, put = SharedLines(), itertools.count(), Hub.put
    monkeypatch.setattr(Hub, "put", lambda *what: (next(puts), put(*what)))
    publisher = publishing(hub, room, lines)
    for revision in range(20):
        lines.write(caption(0, f"grows {revision}", revision=revision))
    until(hub, f"/{room}/tail", {0: "grows 19"})
    status, file, headers = hub.ask("GET", f"/{room}/tail", **{"Accept-Encoding": "gzip"})
    assert (status, headers["content-encoding"], headers["cache-control"]) == (200, "gzip", "no-store")
    assert lines_in(gzip.decompress(file)) == {0: "grows 19"}
    with socket.create_connection(("127.0.0.1", hub.port)):
        publisher.stop()
    assert next(puts) < 12 and publisher.readers >= 1


def test_what_a_file_leaves_out_is_in_the_one_before(hub: Nginx, room: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TAIL_SECONDS", 0.5)
    monkeypatch.setitem(module.EVERY, "now", 0.7)
    lines = SharedLines()
    publisher = publishing(hub, room, lines)
    for number in range(130):
        lines.write(caption(number, f"line {number}", final=True))
        if number % 10 == 0:
            time.sleep(0.1)
            heads = [
                head_of(file)
                for name in ("tail", "now", "all")
                if (file := hub.ask("GET", f"/{room}/{name}")[1])[:6] == b"event:"
            ]
            assert all(left["after"] <= kept["upto"] for left, kept in itertools.pairwise(heads)), heads
    lines.write(ended())
    publisher.stop()
    files = {name: hub.ask("GET", f"/{room}/{name}")[1] for name in ("tail", "now", "all")}
    assert len(lines_in(files["all"])) == 130 and len(lines_in(files["now"])) == 50
    assert all(b'"state": "ended"' in file for file in files.values())


def test_a_hub_that_was_away_gets_what_it_lacks_and_is_spoken_of_twice(
    hub: Nginx, room: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: SharedLines
    lines, notes = SharedLines(), []
    publisher = publishing(hub, room, lines, notes)
    lines.write(caption(0, "before", final=True))
    until(hub, f"/{room}/tail", {0: "before"})
    hub.stop()
    lines.write(caption(1, "meanwhile", final=True))
    time.sleep(2.5)
    assert publisher.who_can_read == "not reached"
    hub.start()
    until(hub, f"/{room}/tail", {0: "before", 1: "meanwhile"})
    time.sleep(0.6)
    publisher.stop()
    assert [note.level for note in notes] == ["warning", "info"] and SECRET not in str(notes)


def test_a_hub_away_at_the_start_gets_everything_later(hub: Nginx, room: str) -> None:
    lines: SharedLines
    lines, notes = SharedLines(), []
    hub.stop()
    publisher = publishing(hub, room, lines, notes)
    lines.write(caption(0, "early", final=True))
    time.sleep(1.2)
    assert [note.level for note in notes] == ["warning"]
    hub.start()
    until(hub, f"/{room}/all", {0: "early"})
    publisher.stop()


@WITH_AND_WITHOUT_TLS
def test_strangers_cannot_write_and_find_no_secret(hub: Nginx, room: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = {"Authorization": f"Basic {base64.b64encode(f'livetrans:{SECRET}'.encode()).decode()}"}
    wrong = {"Authorization": f"Basic {base64.b64encode(b'livetrans:wrong').decode()}"}
    assert hub.ask("GET", f"/pub/{room}/status")[0] == hub.ask("PUT", f"/pub/{room}/now")[0] == 401
    assert hub.ask("PUT", f"/pub/{room}/now", **wrong)[0] == hub.ask("GET", f"/pub/{room}/status", **wrong)[0] == 401
    methods = ("GET", "DELETE", "POST", "MKCOL", "COPY", "MOVE", "OPTIONS", "PROPFIND")
    assert {hub.ask(method, f"/pub/{room}/now", **right)[0] for method in methods} <= {405, 409}
    assert all(
        hub.ask(method, f"/{room}/{name}")[0] == 405
        for method in ("PUT", "POST", "DELETE")
        for name in ("now", "", "page.js")
    )
    for path in (
        f"/pub/{room}/other", "/pub/../publishers", f"/pub/{room}/..%2f..%2fnow", f"/{room}/now.gz", "/publishers",
        "/nobody/now", "/../../etc/passwd", f"/{room}/..%2fpublishers", f"/{room}/%2e%2e/publishers", "/rooms/now",
        f"/{room}/now/", "/livetrans-hub.conf", f"/{'x' * 65}/now", "/abc/now", f"/{room}/now%00", "/put/0000000001",
        f"/{room}/..;/now", "//publishers", f"/pub/{'y' * 9000}/now",
    ):  # fmt: skip
        status, body, _ = hub.ask("GET", path, **right)
        assert status in (308, 400, 404, 405, 414) and b"SSHA" not in body and b"Basic" not in body, (path, status)
    assert [path.name for path in (hub.folder / "put").iterdir()] == []
    kept = (hub.folder / "publishers").read_text() + (hub.folder / "livetrans-hub.conf").read_text()
    assert SECRET not in kept and "SSHA" in kept
    status, page, headers = hub.ask("GET", f"/{room}/")
    assert status == 200 and b'data-hub="files"' in page
    assert headers["content-security-policy"].startswith("default-src 'none'") and "server" in headers
    assert "/" not in headers["server"], "its version is nobody's business"
    assert ("strict-transport-security" in headers) == bool(hub.certificate)
    monkeypatch.setenv(module.SECRET, "wrong")
    with pytest.raises(LivetransError, match="refuses the secret"):
        publishing(hub, room, SharedLines())
    with pytest.raises(LivetransError, match="refuses the secret"):
        Hub(hub.address(room)).clear()


@WITH_AND_WITHOUT_TLS
def test_bodies_have_a_limit_and_guessing_is_slowed_down(hub: Nginx, room: str) -> None:
    with pytest.raises(OSError, match=r"answer 413|Broken pipe|reset"):
        Hub(hub.address(room)).ask("PUT", f"/pub/{room}/now", b"x" * 5_000_000)
    with pytest.raises(OSError, match="answer 404"):
        Hub(hub.address(room)).put("elsewhere", b"")  # As any server does that is no hub.
    link = hub.link()  # One that is kept: a new one for each may take longer than the limit allows.
    answers = [hub.ask("PUT", f"/pub/{room}/now", link)[0] for _ in range(200)]
    assert answers[0] == 401 and 429 in answers
    time.sleep(2.5)  # For the next test: the limit is that of an address.


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("http://hub.example/pub/room", "unencrypted; write https"),
        ("https://hub.example/room", "write https://HOST/pub/ROOM"),
        ("https://user:secret@hub.example/pub/room", "write https://HOST/pub/ROOM"),
        ("https://hub.example/pub/../x", "write https://HOST/pub/ROOM"),
        ("https://hub.example/pub/abc", "write https://HOST/pub/ROOM"),
    ],
)
def test_what_is_no_room_is_refused(address: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["mic", "--publish", address]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1
    with pytest.raises(UsageError):
        Hub(address)


def test_two_runs_do_not_share_a_room(hub: Nginx, room: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = SharedLines()
    publisher = publishing(hub, room, lines)
    lines.write(caption(0, "here", final=True))
    until(hub, f"/{room}/tail", {0: "here"})
    with pytest.raises(LivetransError, match="Another run publishes"):
        publishing(hub, room, SharedLines())
    home = tmp_path / "data"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "another machine"))
    with pytest.raises(LivetransError, match="Another machine publishes"):
        publishing(hub, room, SharedLines())
    publisher._ending.set()  # It is killed: no word of the end.
    publisher._claim.close()
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    again = publishing(hub, room, SharedLines())
    again.lines.write(ended())
    again.stop()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "another machine"))
    publishing(hub, room, SharedLines()).stop()  # It has ended.


def test_a_room_is_cleared(hub: Nginx, room: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = SharedLines()
    lines.write(caption(0, "private", final=True))
    publisher = publishing(hub, room, lines)
    until(hub, f"/{room}/tail", {0: "private"})
    publisher.stop()
    assert run(["hub", "--clear", hub.address(room)]) == 0
    for name in ("all", "now", "tail"):
        file = hub.ask("GET", f"/{room}/{name}")[1]
        assert b"private" not in file and b'"state": "ended"' in file
    assert f"{hub.host}/{room}/" in capsys.readouterr().out


def test_the_page_shows_the_run_and_what_came_while_it_was_away(hub: Nginx, room: str, browser: Browser) -> None:
    lines = SharedLines()
    publisher = publishing(hub, room, lines)
    lines.write(caption(0, "first.", final=True))
    until(hub, f"/{room}/tail", {0: "first."})
    with browser.page(publisher.address) as page:
        page.shows("first.")
        page.slow_down(offline=True)
        for number in range(1, 90):
            lines.write(caption(number, f"line {number}.", final=True))
        time.sleep(1.5)
        page.slow_down()
        page.shows("first.", *(f"line {number}." for number in range(1, 90)))
        assert not page.complaints
    publisher.stop()


def test_each_reader_chooses_a_language_and_gets_what_is_for_everybody(hub: Nginx, room: str, browser: Browser) -> None:
    lines = SharedLines()
    lines.write(started("de", "fr", meeting=MeetingSettings(names=("ich", "alle"))))
    publisher = publishing(hub, room, lines)
    for number in range(3):
        for code in ("de", "fr"):
            lines.write(caption(number, f"{code} {number}.", final=True, language=code, track="alle"))
    lines.write(caption(3, "mine.", final=True, language="en", track="ich"))
    until(
        hub,
        f"/{room}/tail",
        {**{2 * n + k: f"{code} {n}." for n in range(3) for k, code in enumerate(("de", "fr"))}, 6: "mine."},
    )
    with browser.page(f"{publisher.address}?to=fr") as page:
        page.shows("fr 0.", "fr 1.", "fr 2.", "mine.")
        page.press("t")
        page.until(lambda: set(page.texts) >= {"de 0.", "de 2.", "mine."})
        lines.write(ended())
        publisher.stop()
        page.until(lambda: "ended" in page.run("document.getElementById('state').textContent"))
        assert not page.complaints


def test_an_address_of_no_run_says_so(hub: Nginx, browser: Browser) -> None:
    with browser.page(f"http://{hub.host}/nobody-is-here/") as page:
        sentence = "This is not the address of a run: scan its code again."
        page.until(lambda: page.run("document.getElementById('state').textContent") == sentence)


def test_a_run_publishes_beside_its_own_page_and_its_end_arrives(
    hub: Nginx, room: str, tmp_path: Path, translator_path: Path
) -> None:
    heard = [transcript(0, 0, "good morning", final=True), transcript(1, 1, "thank you for coming", final=True)]
    talk = write_session(tmp_path / "talk.jsonl", *heard)
    words = ["replay", str(talk), "--mt", str(translator_path), "--no-session", "--plain", "--serve"]
    command = [sys.executable, "-m", "livetrans", *words, "--publish", hub.address(room)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert f"Captions for readers everywhere: http://{hub.host}/{room}/\n" in done.stderr and SECRET not in done.stderr
    file = hub.ask("GET", f"/{room}/all")[1]
    assert [*lines_in(file).values()] == done.stdout.splitlines() and b'"state": "ended"' in file


def test_a_run_says_that_its_hub_never_got_the_captions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(module.SECRET, SECRET)
    monkeypatch.setattr(module, "LAST_SECONDS", 0.1)
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        output = OutputSettings(publish=f"http://127.0.0.1:{silent.getsockname()[1]}/pub/room")
        for words in ([], ["lost"]):
            with running.publishing(output, None) as hub:
                assert hub
                for text in words:
                    hub.lines.write(caption(0, text, final=True))
            said = capsys.readouterr().err
            assert "(no answer)" in said and ("did not reach" in said) == bool(words)


def test_hub_writes_what_nginx_needs_and_keeps_the_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    assert run(["hub", "captions.example.org"]) == 0
    said = capsys.readouterr()
    kept = tmp_path / "config/livetrans/hubs/captions.example.org"
    assert kept.stat().st_mode & 0o777 == 0o600 and len(kept.read_text().strip()) == 43
    assert "\n  apt install nginx certbot\n" in said.out and kept.read_text().strip() not in said.out + said.err
    assert "\n  livetrans mic --to de --publish https://captions.example.org/pub/" in said.out
    assert len(said.out.strip().rpartition("/")[2]) == 22
    conf = (tmp_path / "captions.example.org/livetrans-hub.conf").read_text()
    assert "listen 443 ssl" in conf and "@" not in conf.replace("@unknown", "")
    first = kept.read_text()
    assert run(["hub", "captions.example.org"]) == 2 and "exists already" in capsys.readouterr().err
    assert run(["hub", "captions.example.org", "-o", "again"]) == 0 and kept.read_text() == first
    assert run(["hub", "captions.example.org; rm"]) == 2 and run(["hub"]) == 2
    assert run(["hub", "--", "-x.example"]) == 2
    assert [path.name for path in kept.parent.iterdir()] == ["captions.example.org"]
    assert run(["hub", "a.example", "--folder", "/srv/x; include y"]) == 2


@pytest.mark.parametrize("hub", ["encrypted"], indirect=True)
def test_a_certificate_that_is_not_valid_is_refused_before_anything_is_sent(
    hub: Nginx, room: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(LivetransError, match=r"certificate of 127\.0\.0\.1.* is not valid.*nothing was sent"):
        HubPublisher(hub.address(room).replace("localhost", "127.0.0.1"), SharedLines(), print).start()
    monkeypatch.delenv("SSL_CERT_FILE")
    talk = write_session(tmp_path / "talk.jsonl", transcript(0, 0, "good morning", final=True))
    words = ["replay", str(talk), "--plain", "--session", str(tmp_path / "kept")]
    assert run([*words, "--publish", hub.address(room)]) == 1
    said = capsys.readouterr().err
    assert "certificate of localhost" in said and "not valid" in said and said.count("\n") == 1
    assert not (tmp_path / "kept").exists() and not (hub.folder / "rooms" / room).exists()
    with pytest.raises(LivetransError, match=r"There is no hub no-such-hub\.invalid"):
        HubPublisher("https://no-such-hub.invalid/pub/room", SharedLines(), print).start()
