"""The page in a browser: it loses and doubles no line, says what it should to whom, and follows its reader."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import h11
import pytest
from langcodes import Language

from livetrans.base.languages import LANGUAGES, parse_language
from livetrans.events import Gap, NameCorrected, Record, RunEnded, SettingChanged
from livetrans.serve import address as address_module
from livetrans.serve import connection as connection_module
from livetrans.serve.address import ServeAddress, parse_address
from livetrans.serve.connection import ReaderConnection
from livetrans.serve.lines import LINES_KEPT
from livetrans.serve.server import CaptionServer

from .browser import Browser, Outlet, reading
from .reader import caption, served, started

long = pytest.mark.long

MARKUP = "<b>fett</b> <img src=x onerror=alert(1)> &amp; \x1b[31mrot\x07 </div><script>alert(2)</script> {{7*7}}"


def test_the_page_shows_lines_as_they_are_now_and_as_text(browser: Browser) -> None:
    with served() as server, reading(browser, server, "?source=1&sise=3&view=wide") as page:
        page.until(lambda: "Getting ready" in page.run("document.body.innerText"))
        server.lines.write(started("de"))
        server.lines.write(caption(0, "Guten"))
        page.shows("Guten")
        assert page.run("document.querySelectorAll('.unfinished').length") == 1
        server.lines.write(caption(0, "Guten Morgen.", final=True))
        server.lines.write(caption(1, "Dank"))
        server.lines.write(caption(2, MARKUP, final=True))
        server.lines.write(caption(1, "", final=True))
        shown = MARKUP.replace("\x1b[31m", "").replace("\x07", "")
        page.shows("Guten Morgen.", shown)
        assert page.run("document.querySelectorAll('#lines b, #lines img, #lines script').length") == 0
        assert page.run("document.querySelector('.source').textContent") == "good"
        notes = page.run("[...document.querySelectorAll('#notes span')].map((note) => note.textContent)")
        assert "view is one of reader, stage, overlay: the default is shown." in notes and len(notes) == 2


ANNOUNCED = """
window.announced = [];
document.addEventListener("DOMContentLoaded", () => {
  new MutationObserver((changes) => {
    for (const change of changes) for (const added of change.addedNodes) window.announced.push(added.textContent);
  }).observe(document.getElementById("announcer"), { subtree: true, childList: true, characterData: true });
});
"""


@long
def test_finals_are_announced_once_and_nothing_else(browser: Browser) -> None:
    with served() as server:
        server.lines.write(caption(0, "Davor.", final=True))
        with reading(browser, server, before=ANNOUNCED) as page:
            page.shows("Davor.")
            for text in ("Guten", "Guten Morgen", "Guten Tag"):
                server.lines.write(caption(1, text))
                page.shows("Davor.", text)
            server.lines.write(caption(1, "Guten Tag.", final=True))
            server.lines.write(caption(2, "Wort"))
            server.lines.write(caption(2, "", final=True))
            server.lines.write(caption(3, "Danke.", final=True, track="me"))
            page.shows("Davor.", "Guten Tag.", "Danke.")
            server.lines.write(caption(4, "Ende.", final=True))
            page.shows("Davor.", "Guten Tag.", "Danke.", "Ende.")
            assert page.run("window.announced") == ["Guten Tag.", "me: Danke.", "Ende."]
            live = "[...document.querySelectorAll('#view, #view *')].filter((one) => one.ariaLive || one.role).length"
            assert page.run(live) == 0
            assert page.run("document.getElementById('announcer').ariaLive") == "polite"


NOTES = "document.getElementById('notes').textContent"
FASTER = "{ const now = performance.now.bind(performance); performance.now = () => 20 * now(); }"


@long
def test_a_corrected_name_replaces_its_line_and_is_not_announced_again(browser: Browser) -> None:
    with served() as server, reading(browser, server, "?source=1") as page:
        server.lines.write(started("de"))
        server.lines.write(caption(0, "Good kommt.", final=True))
        server.lines.write(caption(1, "Danke.", final=True))
        page.shows("Good kommt.", "Danke.")
        announced = page.run("document.querySelectorAll('#announcer p').length")
        server.lines.write(Record(9.0, NameCorrected("good", "good", "Vineela")))
        page.shows("Vineela kommt.", "Danke.")
        assert page.run("document.querySelector('.source').title") == "repaired: Vineela"
        assert page.run("document.querySelectorAll('#announcer p').length") == announced


@long
def test_a_network_that_was_cut_loses_no_line_and_doubles_none(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No side closes the connection: the page notices the silence by itself. Its clock is faster here."""
    is_cut = False

    def send(connection: ReaderConnection, event: h11.Event) -> None:
        data = connection._http.send(event)
        if data and not is_cut:
            connection._transport.write(data)

    monkeypatch.setattr(connection_module, "QUIET_SECONDS", 0.2)
    monkeypatch.setattr(ReaderConnection, "_send", send)
    with served() as server, reading(browser, server, "?last=1", before=FASTER) as page:
        server.lines.write(started("de"))
        server.lines.write(caption(0, "Eins.", final=True))
        server.lines.write(caption(1, "Zw"))
        page.shows("Eins.", "Zw")
        is_cut = True
        server.lines.write(caption(1, "Zwei.", final=True))
        server.lines.write(caption(2, "Drei.", final=True))
        page.until(lambda: "No connection" in page.run("document.getElementById('state').textContent"))
        assert page.texts == ["Eins.", "Zw"]
        is_cut = False
        page.shows("Eins.", "Zwei.", "Drei.")
        page.until(lambda: "Connected again." in page.run(NOTES))
        is_cut = True
        page.until(lambda: "No connection" in page.run("document.getElementById('state').textContent"))
        assert "Connected again." not in page.run(NOTES)
        is_cut = False
        server.lines.write(caption(3, "Vier.", final=True))
        page.shows("Eins.", "Zwei.", "Drei.", "Vier.")


@long
def test_a_reader_for_whom_there_is_no_room_is_told_so_and_takes_none(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "MOST_READERS", 0)
    with served() as server, reading(browser, server, "?last=1") as page:
        page.until(lambda: "too many readers" in page.run("document.getElementById('state').textContent"))
        monkeypatch.setattr(connection_module, "MOST_READERS", 1)
        server.lines.write(started("de"))
        server.lines.write(caption(0, "Eins.", final=True))
        page.run("dispatchEvent(new Event('online'))")
        page.shows("Eins.")
        assert server.readers == 1


@long
def test_another_run_at_the_address_continues_below(browser: Browser) -> None:
    with served() as first:
        port = urlsplit(first.address).port
        with reading(browser, first) as page:
            first.lines.write(caption(0, "Eins.", final=True))
            first.lines.write(caption(1, "Zw"))
            page.shows("Eins.", "Zw")
            first.stop()
            with served(f"localhost:{port}") as second:
                second.lines.write(caption(0, "Drei.", final=True))
                page.shows("Eins.", "Zw", "Drei.")
                assert page.run("document.querySelectorAll('.unfinished').length") == 0


@long
def test_the_reader_chooses_the_language(browser: Browser, outlet: Outlet) -> None:
    def say(number: int) -> None:
        for language in ("de", "fr"):
            outlet.lines.write(caption(number, f"{language} {number}", final=True, language=language))

    with reading(browser, outlet, "?to=fr,xx") as page:
        outlet.lines.write(started("de", "fr"))
        say(0)
        page.shows("fr 0")
        assert "to is one of de, fr in this run." in page.run("document.getElementById('notes').textContent")
        page.press("t")
        page.shows("de 0", "fr 0")
        names = "[...document.querySelectorAll('.words')].map((one) => one.dataset.name)"
        assert page.run(names) == ["Deutsch", "français"]
        assert page.run("document.querySelectorAll('.line').length") == 1
        page.press("t")
        page.shows("de 0")
        say(1)
        page.shows("de 0", "de 1")
        assert page.run("location.search") == "?to=de"
        assert page.run("document.querySelector('#to option:checked').textContent") == "Deutsch"


@long
def test_keys_change_the_view_and_the_address_keeps_it(browser: Browser) -> None:
    with served() as server, reading(browser, server) as page:
        server.lines.write(caption(0, "Guten Morgen.", final=True))
        page.shows("Guten Morgen.")
        for key in ("v", "+", "]", "c", "s"):
            page.press(key)
        assert page.run("location.search") == "?view=stage&size=110&lines=8&theme=outline&source=1"
        assert page.run("document.body.className") == "stage outline with-source"
        assert page.run("document.getElementById('view').clientHeight % 8") == 0
        page.open(page.run("location.href"))
        page.shows("Guten Morgen.")
        assert page.run("document.body.className") == "stage outline with-source"


@long
def test_the_window_on_top_has_the_captions_and_gives_them_back(browser: Browser) -> None:
    with served() as server, reading(browser, server) as page:
        server.lines.write(caption(0, "Guten", final=False))
        page.shows("Guten")
        if not page.run("Boolean(window.documentPictureInPicture)"):
            pytest.skip("this browser has no window on top")
        page.press("w")
        inside = "documentPictureInPicture.window?.document.querySelector('.words')?.textContent"
        page.until(lambda: page.run(inside) == "Guten")
        server.lines.write(caption(0, "Guten Morgen.", final=True))
        page.until(lambda: page.run(inside) == "Guten Morgen.")
        page.run("documentPictureInPicture.window.close()")
        page.shows("Guten Morgen.")


@long
def test_whoever_reads_further_up_stays_there(browser: Browser) -> None:
    with served() as server, reading(browser, server) as page:
        for number in range(40):
            server.lines.write(caption(number, f"Satz {number}.", final=True))
        page.until(lambda: len(page.texts) == 40)
        page.run("document.getElementById('view').scrollTop = 0; new Promise(requestAnimationFrame)")
        page.run("new Promise((done) => setTimeout(done, 100))")
        server.lines.write(caption(40, "Noch einer.", final=True))
        page.until(lambda: page.run("document.getElementById('below').textContent") == "↓ 1")
        assert page.run("document.getElementById('view').scrollTop") == 0
        page.press("End")
        page.until(lambda: page.run("document.getElementById('below').hidden"))
        assert page.run("document.getElementById('view').scrollTop") > 0


@long
def test_an_ended_run_is_said(browser: Browser) -> None:
    with served() as server, reading(browser, server) as page:
        server.lines.write(started("de"))
        server.lines.write(Record(9.0, Gap(1.0, 4.0, "sleep")))
        server.lines.write(Record(9.0, Gap(4.0, 9.0, "paused")))
        server.lines.write(Record(9.0, RunEnded(9.0, "stopped")))
        page.shows("[No sound: 3 sec]", "[Paused: 5 sec]")
        page.until(lambda: page.run("document.querySelector('.end')?.textContent") == "It has ended.0:00")
        server.stop()
        page.run("new Promise((done) => setTimeout(done, 300))")
        assert page.run("document.getElementById('state').textContent") == "It has ended."


LOCKS = """
window.locks = 0;
const lock = { release() { window.locks -= 1; } };
const slowly = (done) => setTimeout(() => done(lock), 1000);
Object.defineProperty(navigator, "wakeLock", {
  value: { request() { window.locks += 1; return new Promise(slowly); } },
});
"""
NO_LOCK = 'Object.defineProperty(Navigator.prototype, "wakeLock", { value: undefined });'


@long
def test_the_screen_stays_on_while_captions_come_or_the_page_says_that_it_cannot(browser: Browser) -> None:
    with served() as server, reading(browser, server, before=LOCKS) as page:
        page.until(lambda: page.run("window.locks") == 1)
        page.run("document.dispatchEvent(new Event('visibilitychange'))")
        assert page.run("window.locks") == 1, "another one is requested while the first is decided"
        server.lines.write(started("de"))
        server.lines.write(Record(9.0, RunEnded(9.0, "stopped")))
        page.until(lambda: page.run("window.locks") == 0)
        with reading(browser, server, before=NO_LOCK) as other:
            assert "The screen may turn off" in other.run("document.getElementById('sheet').textContent")
            assert not other.run("document.getElementById('asleep').hidden")


@long
def test_the_language_with_which_a_page_began_stays_when_the_terminal_shows_another(browser: Browser) -> None:
    with served() as server, reading(browser, server) as page:
        server.lines.write(started("de", "fr"))
        for language in ("de", "fr"):
            server.lines.write(caption(0, f"{language} 0", final=True, language=language))
        page.shows("de 0")
        server.lines.write(Record(1.0, SettingChanged("target", "fr")))
        server.lines.write(caption(1, "fr 1", final=True, language="fr"))
        server.lines.write(caption(1, "de 1", final=True, language="de"))
        page.shows("de 0", "de 1")


PAGE = Path(connection_module.__file__).with_name("page")


def test_the_page_knows_what_the_server_does() -> None:
    most = re.search(r"last: \[0, (\d+)\]", (PAGE / "options.js").read_text(encoding="utf-8"))
    silence = re.search(r"SILENCE = ([\d_]+);", (PAGE / "page.js").read_text(encoding="utf-8"))
    assert most and int(most[1]) == LINES_KEPT
    assert silence and int(silence[1]) > 2 * 1000 * connection_module.QUIET_SECONDS
    (table,) = re.findall(r"CODES = {(.*)}", (PAGE / "aloud.js").read_text(encoding="utf-8"))
    codes = dict(re.findall(r'"?([\w-]+)"?: "(\w+)"', table))
    assert {codes.pop("zh-hk"), *codes.values()} <= LANGUAGES.keys()  # Voices for Hong Kong speak Cantonese.
    assert {code: parse_language(code).code for code in codes} == codes
    ours = {code: Language.get(code).language for code in LANGUAGES if LANGUAGES[code].whisper_code == code}
    assert {tag: code for code, tag in ours.items() if tag != code}.items() <= codes.items()


LAN = ServeAddress(parse_address("127.0.0.1"), 0, True)
"""For the network, but on a loopback address: tests open nothing."""


@long
def test_after_a_restart_the_page_goes_on_at_the_same_address_and_otherwise_says_to_scan_again(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(address_module, "user_folder", lambda kind: tmp_path)
    first = CaptionServer(LAN)
    first.start()
    port = int(urlsplit(first.address).port or 0)
    with browser.page(first.address) as page:
        first.lines.write(caption(0, "Eins.", final=True))
        page.shows("Eins.")
        first.stop()
        second = CaptionServer(replace(LAN, port=port))
        second.start()
        page.until(lambda: "scan its code again" in page.run("document.getElementById('state').textContent"))
        second.stop()
        with browser.page(second.address) as kept:
            third = CaptionServer(replace(LAN, port=port), second.lines)
            third.start()
            kept.open(third.address)
            third.lines.write(caption(0, "Zwei.", final=True))
            kept.shows("Zwei.")
            third.stop()
            fourth = CaptionServer(replace(LAN, port=port))
            fourth.start()
            fourth.lines.write(caption(0, "Drei.", final=True))
            kept.shows("Zwei.", "Drei.")
            fourth.stop()


@long
def test_the_page_keeps_500_lines_also_for_a_reader_further_up(browser: Browser) -> None:
    with served() as server, reading(browser, server, "?last=2000") as page:
        for number in range(480):
            server.lines.write(caption(number, f"Satz {number}.", final=True))
        page.until(lambda: len(page.texts) == 480)
        page.run("document.getElementById('view').scrollTop = 4000")
        page.run("new Promise((done) => setTimeout(done, 100))")
        top = "[...document.querySelectorAll('.words')].find((one) => one.textContent === 'Satz 450.')"
        top += ".getBoundingClientRect().top"
        before = page.run(top)
        for number in range(480, 540):
            server.lines.write(caption(number, f"Satz {number}.", final=True))
        page.until(lambda: "Satz 539." in page.texts)
        assert len(page.texts) == 500
        assert abs(page.run(top) - before) < 2
        announced = page.run("document.querySelector('#announcer').textContent")
        server.lines.write(Record(999.0, NameCorrected("good", "good", "Vineela")))
        server.lines.write(caption(540, "Ende.", final=True))
        page.until(lambda: "Ende." in page.texts)
        said = page.run("document.querySelector('#announcer').textContent")
        assert said == announced.removeprefix("Satz 535.") + "Ende.", "lines that had left the page are no news"
