"""The page in a browser: its text is the screen's, stands still, is found by screen readers, and nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from livetrans.config import OutputSettings, Settings
from livetrans.events import Caption, Gap, Record, RunEnded, RunStarted, Transcript
from livetrans.metrics.monitor import Monitor
from livetrans.metrics.rates import MovedRows, screen_units
from livetrans.sequences import common_prefix_length
from livetrans.serve import connection as connection_module
from livetrans.serve.server import CaptionServer
from livetrans.session.codec import from_dict
from livetrans.tui.captions import Current, History
from tests.tui.scripted import Screenplay, make_app, settle

from .browser import Browser, Page, find_browser
from .proxy import Proxy
from .reader import caption, served

RECORDINGS = sorted((Path(__file__).parents[2] / "recordings").glob("*.flac"))
VIEWS = ("reader", "stage", "overlay")

long = pytest.mark.long


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = find_browser()
    if program is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    opened = Browser(program)
    yield opened
    opened.close()


@contextmanager
def reading(
    browser: Browser,
    server: CaptionServer,
    query: str = "",
    *,
    size: tuple[int, int] = (1280, 720),
    before: str = "",
    address: str = "",
) -> Iterator[Page]:
    """A page that reads along. It asks nobody else for anything, and nothing in it fails."""
    address = address or server.address
    width, height = size
    with browser.page(address + query, width=width, height=height, before=before) as page:
        yield page
        assert {urlsplit(request).netloc for request in page.requests} <= {urlsplit(address).netloc, ""}
        assert page.complaints == []


def started(*targets: str) -> Record:
    return Record(0.0, RunStarted({}, Settings(sources=("en",), targets=targets)))


def sentence(segment: int, text: str, source: str = "", *, final: bool = False, track: str | None = None) -> Record:
    transcript = Transcript(segment, 0, source, "", final, segment, segment + 1.0, track=track)
    return Record(segment + 1.5, Caption(transcript, text, language="de"))


MARKUP = "<b>fett</b> <img src=x onerror=alert(1)> &amp; \x1b[31mrot\x07 </div><script>alert(2)</script> {{7*7}}"


def test_the_page_shows_lines_as_they_are_now_and_as_text(browser: Browser) -> None:
    with served() as server, reading(browser, server, "?source=1&sise=3&view=wide") as page:
        page.until(lambda: "loading" in page.run("document.body.innerText"))
        server.lines.write(started("de"))
        server.lines.write(sentence(0, "Guten", "Good"))
        page.shows("Guten")
        assert page.run("document.querySelectorAll('.unfinished').length") == 1
        server.lines.write(sentence(0, "Guten Morgen.", "Good morning.", final=True))
        server.lines.write(sentence(1, "Dank"))
        server.lines.write(sentence(2, MARKUP, final=True))
        server.lines.write(sentence(1, "", final=True))
        shown = MARKUP.replace("\x1b[31m", "").replace("\x07", "")
        page.shows("Guten Morgen.", shown)
        assert page.run("document.querySelectorAll('#lines b, #lines img, #lines script').length") == 0
        assert page.run("document.querySelector('.source').textContent") == "Good morning."
        notes = page.run("[...document.querySelectorAll('#notes span')].map((note) => note.textContent)")
        assert "view is one of reader, stage, overlay: the default is shown." in notes and len(notes) == 2


RECORDS = """
window.shown = [];
document.addEventListener("DOMContentLoaded", () => {
  const lines = document.getElementById("lines");
  const texts = () => [...lines.querySelectorAll(".words")].map((text) => text.textContent);
  new MutationObserver(() => {
    const now = texts();
    if (JSON.stringify(now) !== JSON.stringify(window.shown.at(-1))) window.shown.push(now);
  }).observe(lines, { subtree: true, childList: true, characterData: true });
});
"""


@pytest.fixture(scope="session")
def recorded(request: pytest.FixtureRequest) -> dict[str, list[Record]]:
    return {}


def records_of(path: Path, kept: dict[str, list[Record]]) -> list[Record]:
    """Return the events of a run over a recording, which does not wait for the sound."""
    if path.stem not in kept:
        command = [sys.executable, "-m", "livetrans", "replay", str(path), "--speed", "max", "--no-session"]
        done = subprocess.run([*command, "--jsonl=-"], capture_output=True, text=True, check=True)
        kept[path.stem] = [from_dict(json.loads(line)) for line in done.stdout.splitlines()]
    return kept[path.stem]


def erasure_of(screens: list[list[str]]) -> float:
    """Return NE of texts that were shown one after the other, each as all its lines: units lost / units of the end.

    Units that the next text has again at the same place were moved to another line.
    """
    erased = place = 0
    before: list[str] = []
    lost: list[str] = []
    for texts in screens:
        after = [unit for text in texts for unit in screen_units(text)]
        if lost:
            erased -= common_prefix_length(lost, after[place:])
        place = common_prefix_length(before, after)
        lost = before[place:]
        erased += len(lost)
        before = after
    return erased / len(before)


@long
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
async def test_at_each_event_the_pages_text_is_the_screens(
    browser: Browser, recorded: dict[str, list[Record]], recording: Path
) -> None:
    """And as much of it is taken back as the panel says."""
    screenplay = Screenplay()
    app = make_app(screenplay, settings=Settings(output=OutputSettings(show_source=False)))
    monitor = Monitor()
    with served() as server, reading(browser, server, before=RECORDS) as page:
        async with app.run_test(size=(104, 400)) as pilot:
            await settle(pilot)
            for record in records_of(recording, recorded):
                monitor.write(record)
                server.lines.write(record)
                screenplay.play(record.event)
                if not isinstance(record.event, Caption | Gap):
                    continue
                await settle(pilot)
                rows = app.query_one(History).rows() | app.query_one(Current).rows()
                words = " ".join(text for _, text in sorted(rows.items())).split()
                page.until(lambda words=words: " ".join(page.texts).split() == words)
        assert len(page.texts) > 3
        assert erasure_of(page.run("window.shown")) == pytest.approx(monitor.snapshot().ne_screen, abs=1e-12)


ROWS = """(() => {
  const rows = {};
  const view = document.getElementById("view").getBoundingClientRect();
  const walker = document.createTreeWalker(document.getElementById("lines"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (const word of node.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      for (const place of [...range.getClientRects()].slice(0, 1)) {
        const middle = Math.round(place.top + place.height / 2);
        if (middle < view.top || middle > view.bottom) continue;
        const column = node.parentNode.closest(".source") ? 0 : 1;
        const key = 2 * middle + column;
        rows[key] = (rows[key] ? rows[key] + " " : "") + word[0];
      }
    }
  }
  return rows;
})()"""


@long
@pytest.mark.parametrize(("query", "size"), [("", (1280, 720)), ("", (390, 844)), ("?view=stage", (1920, 1080)),
                                             ("?view=overlay", (1920, 200))], ids=str)  # fmt: skip
def test_no_row_moves_while_a_sentence_grows(
    browser: Browser, recorded: dict[str, list[Record]], query: str, size: tuple[int, int]
) -> None:
    moved = MovedRows()
    with served() as server, reading(browser, server, query, size=size) as page:
        for record in records_of(Path(__file__).parents[2] / "recordings" / "talk.flac", recorded):
            server.lines.write(record)
            if isinstance(record.event, Caption) and record.event.text:
                page.until(lambda event=record.event: event.text in page.texts)
                rows = page.run(ROWS)
                newest = " ".join(text for _, text in sorted(rows.items(), key=lambda item: int(item[0])))
                assert record.event.text.split()[-1] in newest
                moved.add(record.event.segment_id, {int(row): text for row, text in rows.items()})
        assert page.run("getComputedStyle(document.body).getPropertyValue('--row')").endswith("px")
    assert moved.count == 0


COLOURS = """[...document.querySelectorAll("#lines .words, #lines .source span, #lines .label, #state, button, select")]
  .filter((shown) => shown.textContent && shown.getClientRects().length).map((shown) => {
    const style = getComputedStyle(shown);
    const backs = [];
    for (let at = shown; at; at = at.parentElement) backs.push(getComputedStyle(at).backgroundColor);
    return { name: shown.className || shown.id || shown.tagName, text: style.color, backs,
             outline: parseFloat(style.webkitTextStrokeWidth) ? style.webkitTextStrokeColor : null };
  })"""


def luminance(red: float, green: float, blue: float) -> float:
    """Return relative luminance (WCAG 2.2) of a colour with parts from 0 to 255."""
    parts = [part / 255 for part in (red, green, blue)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def parts_of(colour: str) -> list[float]:
    """Return red, green, blue and opacity of a computed colour."""
    parts = [float(part) for part in colour[colour.index("(") + 1 : -1].split(",")]
    return parts if len(parts) == 4 else [*parts, 1.0]


def contrast(text: str, backs: list[str], behind: float) -> float:
    """Return the contrast of a text over its backgrounds, the nearest first, where `behind` (0..255) is the last."""
    back = [behind] * 3
    for colour in reversed(backs):
        *parts, opacity = parts_of(colour)
        back = [opacity * part + (1 - opacity) * under for part, under in zip(parts, back, strict=True)]
    light, dark = sorted((luminance(*parts_of(text)[:3]), luminance(*back)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@long
@pytest.mark.parametrize("theme", ["light", "dark", "outline"])
def test_every_text_has_a_contrast_of_seven_to_one(browser: Browser, theme: str) -> None:
    with served() as server:
        server.lines.write(started("de", "fr"))
        server.lines.write(sentence(0, "Guten Morgen.", "Good morning.", final=True, track="me"))
        server.lines.write(sentence(1, "Danke", "Thank you", track="them"))
        for view in VIEWS:
            with reading(browser, server, f"?view={view}&theme={theme}&source=1&to=de") as page:
                page.shows("Guten Morgen.", "Danke")
                found = page.run(COLOURS)
                assert {"words", "label"} <= {one["name"] for one in found}
                for one in found:
                    backs = [one["outline"]] if one["outline"] else one["backs"]
                    for behind in (0, 255) if view == "overlay" or one["outline"] else (255,):
                        assert contrast(one["text"], backs, behind) >= 7, (view, behind, one)


@long
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("width", [1280, 390])
def test_twice_as_large_nothing_scrolls_sideways(browser: Browser, view: str, width: int) -> None:
    """Zoom of 200 %: half as many pixels of the style sheet, of twice the size."""
    with served() as server, reading(browser, server, f"?view={view}", size=(width, 800)) as page:
        page.resize(width // 2, 400, 2.0)
        server.lines.write(started("de", "fr"))
        server.lines.write(sentence(0, "Donaudampfschifffahrtsgesellschaftskapitän " * 4, "word " * 40, final=True))
        server.lines.write(sentence(1, "und " * 30))
        page.until(lambda: len(page.texts) == 2)
        for box in ("document.scrollingElement", "document.getElementById('view')", "document.getElementById('bar')"):
            assert page.run(f"{box}.scrollWidth - {box}.clientWidth") == 0


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
        server.lines.write(sentence(0, "Davor.", final=True))
        with reading(browser, server, before=ANNOUNCED) as page:
            page.shows("Davor.")
            page.run("new Promise((done) => setTimeout(done, 1200))")  # What comes at once was said before.
            for text in ("Guten", "Guten Morgen", "Guten Tag"):
                server.lines.write(sentence(1, text))
            server.lines.write(sentence(1, "Guten Tag.", final=True))
            server.lines.write(sentence(2, "Wort"))
            server.lines.write(sentence(2, "", final=True))
            server.lines.write(sentence(3, "Danke.", final=True, track="me"))
            page.shows("Davor.", "Guten Tag.", "Danke.")
            server.stop()
            server.start()
            server.lines.write(sentence(4, "Ende.", final=True))
            page.shows("Davor.", "Guten Tag.", "Danke.", "Ende.")
            assert page.run("window.announced") == ["Guten Tag.", "me: Danke.", "Ende."]
            live = "[...document.querySelectorAll('#view, #view *')].filter((one) => one.ariaLive || one.role).length"
            assert page.run(live) == 0
            assert page.run("document.getElementById('announcer').ariaLive") == "polite"


@long
def test_a_server_that_was_started_again_loses_no_line_and_doubles_none(browser: Browser) -> None:
    with served() as server, reading(browser, server) as page:
        server.lines.write(started("de"))
        server.lines.write(sentence(0, "Eins.", final=True))
        server.lines.write(sentence(1, "Zw"))
        page.shows("Eins.", "Zw")
        server.stop()
        page.until(lambda: "connection lost" in page.run("document.getElementById('state').textContent"))
        server.lines.write(sentence(1, "Zwei.", final=True))
        server.lines.write(sentence(2, "Drei.", final=True))
        server.start()
        page.shows("Eins.", "Zwei.", "Drei.")
        page.until(lambda: page.run("document.getElementById('state').textContent") == "listening")


FASTER = "{ const now = performance.now.bind(performance); performance.now = () => 20 * now(); }"


@long
def test_a_network_that_was_cut_loses_no_line_and_doubles_none(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No side closes the connection: the page notices the silence by itself. Its clock is faster here."""
    monkeypatch.setattr(connection_module, "QUIET_SECONDS", 0.2)
    with served() as server, Proxy(server) as proxy:
        with reading(browser, server, address=proxy.address, before=FASTER) as page:
            server.lines.write(started("de"))
            server.lines.write(sentence(0, "Eins.", final=True))
            server.lines.write(sentence(1, "Zw"))
            page.shows("Eins.", "Zw")
            proxy.cut()
            server.lines.write(sentence(1, "Zwei.", final=True))
            server.lines.write(sentence(2, "Drei.", final=True))
            page.until(lambda: "connection lost" in page.run("document.getElementById('state').textContent"))
            assert page.texts == ["Eins.", "Zw"]
            proxy.mend()
            page.shows("Eins.", "Zwei.", "Drei.")
            server.lines.write(sentence(3, "Vier.", final=True))
            page.shows("Eins.", "Zwei.", "Drei.", "Vier.")


@long
def test_another_run_at_the_address_continues_below(browser: Browser) -> None:
    with served() as first:
        port = urlsplit(first.address).port
        with reading(browser, first) as page:
            first.lines.write(sentence(0, "Eins.", final=True))
            page.shows("Eins.")
            first.stop()
            with served(f"localhost:{port}") as second:
                second.lines.write(sentence(0, "Zwei.", final=True))
                page.shows("Eins.", "Zwei.")


@long
def test_the_reader_chooses_the_language(browser: Browser) -> None:
    def say(number: int) -> None:
        for language in ("de", "fr"):
            server.lines.write(caption(number, f"{language} {number}", final=True, language=language))

    with served() as server, reading(browser, server, "?to=fr,xx") as page:
        server.lines.write(started("de", "fr"))
        say(0)
        page.shows("fr 0")
        assert "to is one of de, fr in this run." in page.run("document.getElementById('notes').textContent")
        page.press("t")
        page.shows("de 0", "fr 0")
        assert page.run("[...document.querySelectorAll('.label')].map((one) => one.textContent)") == ["de", "fr"]
        page.press("t")
        page.shows("de 0")
        say(1)
        page.shows("de 0", "de 1")
        assert page.run("location.search") == "?to=de"
        assert page.run("document.querySelector('#to option:checked').textContent") == "Deutsch"


@long
def test_keys_change_the_view_and_the_address_keeps_it(browser: Browser) -> None:
    with served() as server, reading(browser, server) as page:
        server.lines.write(sentence(0, "Guten Morgen.", "Good morning.", final=True))
        page.shows("Guten Morgen.")
        for key in ("v", "+", "]", "c", "s"):
            page.press(key)
        assert page.run("location.search") == "?view=stage&size=110&lines=6&theme=light&source=1"
        assert page.run("document.body.className") == "stage light with-source"
        assert page.run("document.getElementById('view').clientHeight % 6") == 0
        page.open(page.run("location.href"))
        page.shows("Guten Morgen.")
        assert page.run("document.body.className") == "stage light with-source"


@long
def test_two_tracks_differ_by_word_and_place(browser: Browser) -> None:
    with served() as server, reading(browser, server) as page:
        server.lines.write(sentence(0, "Guten Morgen.", final=True, track="them"))
        server.lines.write(sentence(1, "Danke.", track="me"))
        page.shows("Guten Morgen.", "Danke.")
        lines = "[...document.querySelectorAll('.line')]"
        assert page.run(f"{lines}.map((line) => line.querySelector('.label').textContent)") == ["them", "me"]
        left, right = page.run(f"{lines}.map((line) => line.offsetLeft)")
        assert left < right


@long
def test_the_overlay_is_transparent_but_for_its_text(browser: Browser) -> None:
    with served() as server, reading(browser, server, "?view=overlay", size=(1920, 200)) as page:
        server.lines.write(started("de"))
        page.call("Emulation.setDefaultBackgroundColorOverride", color={"r": 255, "g": 0, "b": 255, "a": 255})
        empty = page.picture()
        page.run("document.body.hidden = true")
        assert page.picture() == empty
        page.run("document.body.hidden = false")
        server.lines.write(sentence(0, "Guten Morgen.", final=True))
        page.shows("Guten Morgen.")
        page.until(lambda: page.picture() != empty)


@long
def test_right_to_left_text_begins_at_the_right(browser: Browser) -> None:
    with served() as server, reading(browser, server, "?view=stage") as page:
        transcript = Transcript(0, 0, "Good morning", "", True, 0.0, 1.0)
        server.lines.write(Record(1.0, Caption(transcript, "صباح الخير.", language="ar")))
        page.shows("صباح الخير.")
        box = page.run("document.querySelector('.words').getBoundingClientRect().toJSON()")
        assert box["left"] > 640
        assert page.run("document.querySelector('.words').lang") == "ar"


@long
def test_the_window_on_top_has_the_captions_and_gives_them_back(browser: Browser) -> None:
    with served() as server, reading(browser, server) as page:
        server.lines.write(sentence(0, "Guten", final=False))
        page.shows("Guten")
        if not page.run("Boolean(window.documentPictureInPicture)"):
            pytest.skip("this browser has no window on top")
        page.press("w")
        inside = "documentPictureInPicture.window?.document.querySelector('.words')?.textContent"
        page.until(lambda: page.run(inside) == "Guten")
        server.lines.write(sentence(0, "Guten Morgen.", final=True))
        page.until(lambda: page.run(inside) == "Guten Morgen.")
        page.run("documentPictureInPicture.window.close()")
        page.shows("Guten Morgen.")


@long
def test_whoever_reads_further_up_stays_there(browser: Browser) -> None:
    with served() as server, reading(browser, server) as page:
        for number in range(40):
            server.lines.write(sentence(number, f"Satz {number}.", final=True))
        page.until(lambda: len(page.texts) == 40)
        page.run("document.getElementById('view').scrollTop = 0; new Promise(requestAnimationFrame)")
        page.run("new Promise((done) => setTimeout(done, 100))")
        server.lines.write(sentence(40, "Noch einer.", final=True))
        page.until(lambda: page.run("document.getElementById('below').textContent") == "1 new ↓")
        assert page.run("document.getElementById('view').scrollTop") == 0
        page.press("End")
        page.until(lambda: page.run("document.getElementById('below').hidden"))
        assert page.run("document.getElementById('view').scrollTop") > 0


@long
def test_an_ended_run_is_said(browser: Browser) -> None:
    with served() as server, reading(browser, server) as page:
        server.lines.write(started("de"))
        server.lines.write(Record(9.0, Gap(1.0, 4.0, "sleep")))
        server.lines.write(Record(9.0, RunEnded(9.0, "stopped")))
        page.shows("[3 s without sound]")
        page.until(lambda: page.run("document.getElementById('state').textContent") == "ended")
