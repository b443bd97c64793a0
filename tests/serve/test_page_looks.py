"""The page as it is seen: its text is the screen's, stands still, and can be read by everybody."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest
from textual.color import Color

from livetrans.config import MeetingSettings, OutputSettings, Settings
from livetrans.events import Caption, Gap, Record, Transcript
from livetrans.metrics.monitor import Monitor
from livetrans.session.codec import from_dict
from tests.moved_rows import MovedRows, erasure_of
from tests.tui.scripted import Screenplay, drawn_rows, make_app, settle
from tests.tui.test_themes import contrast

from .browser import Browser, reading
from .reader import caption, served, started

RECORDINGS = sorted((Path(__file__).parents[2] / "recordings").glob("*.flac"))
TALK = next(path for path in RECORDINGS if path.stem == "talk")
RESTLESS = ("--method", "rt", "--mask", "none")
"""Options with which much of what was shown is retracted."""
VIEWS = ("reader", "stage", "overlay")

long = pytest.mark.long

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


@functools.cache
def records_of(path: Path, *options: str) -> list[Record]:
    """Return the events of a run over a recording, which does not wait for the sound."""
    command = [sys.executable, "-m", "livetrans", "replay", str(path), "--speed", "max", "--no-session", *options]
    done = subprocess.run([*command, "--jsonl=-"], capture_output=True, text=True, check=True)
    return [from_dict(json.loads(line)) for line in done.stdout.splitlines()]


@long
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
async def test_at_each_event_the_pages_text_is_the_screens(browser: Browser, recording: Path) -> None:
    """And as much of it is retracted as the panel says."""
    screenplay = Screenplay()
    app = make_app(screenplay, settings=Settings(output=OutputSettings(show_source=False)))
    monitor = Monitor()
    with served() as server, reading(browser, server, before=RECORDS) as page:
        async with app.run_test(size=(104, 400)) as pilot:
            await settle(pilot)
            for record in records_of(recording, *RESTLESS):
                monitor.write(record)
                server.lines.write(record)
                screenplay.play(record.event)
                if not isinstance(record.event, Caption | Gap):
                    continue
                await settle(pilot, drawn_rows)
                words = " ".join(text for _, text in sorted(drawn_rows(app).items())).split()
                words = [] if words == ["listening", "…"] else words  # There was no caption with text yet.
                page.until(lambda words=words: " ".join(page.texts).split() == words)
        erasure = monitor.snapshot().ne_screen
        assert erasure
        assert erasure_of(page.run("window.shown")) == pytest.approx(erasure, abs=1e-12)


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
@pytest.mark.parametrize(
    ("query", "size", "turns"),
    [("", (1280, 720), 0), ("", (390, 844), 0), ("?view=stage", (1920, 1080), 0), ("?view=overlay", (1920, 200), 12)],
    ids=str,
)
def test_no_row_moves_while_a_sentence_grows(browser: Browser, query: str, size: tuple[int, int], turns: int) -> None:
    """Within its room, which is one row of the two of an overlay: 12 of the talk's sentences need the second."""
    moved = MovedRows()
    with served() as server, reading(browser, server, query, size=size) as page:
        for record in records_of(TALK):
            server.lines.write(record)
            if isinstance(record.event, Caption) and record.event.text:
                page.until(lambda event=record.event: event.text in page.texts)
                rows = page.run(ROWS)
                newest = " ".join(text for _, text in sorted(rows.items(), key=lambda item: int(item[0])))
                assert record.event.text.split()[-1] in newest
                moved.add(record.event.segment_id, {int(row): text for row, text in rows.items()})
        assert page.run("getComputedStyle(document.body).getPropertyValue('--row')").endswith("px")
    assert moved.count <= turns


TURNS = """(() => {
  const edge = (one, side) => Math.round(one.getBoundingClientRect()[side]);
  const shown = [...document.querySelectorAll(".label")].filter((one) => one.getClientRects().length);
  return [shown.map((one) => [one.textContent, edge(one, "right"), edge(one, "left")]),
    [...document.querySelectorAll(".text")].map((one) => edge(one, "left")),
    [...document.querySelectorAll(".line")].map((one) => getComputedStyle(one.querySelector(".label")).color)];
})()"""

COLOURS = """[...document.querySelectorAll("#lines .words, #lines .source span, #lines .label, #state, button, select")]
  .filter((shown) => shown.textContent && shown.getClientRects().length).map((shown) => {
    const style = getComputedStyle(shown);
    const backs = [];
    for (let at = shown; at; at = at.parentElement) backs.push(getComputedStyle(at).backgroundColor);
    return { name: shown.className || shown.id || shown.tagName, text: style.color, backs,
             outline: style.textShadow === "none" ? null : style.textShadow.match(/rgb[^)]*[)]/)[0] };
  })"""


def contrast_over(text: str, backs: list[str], behind: int) -> float:
    """Return the contrast of a text over its backgrounds, the nearest first, of which the last is a grey (0 to 255)."""
    back = Color(behind, behind, behind)
    for colour in reversed(backs):
        back += Color.parse(colour)
    return contrast(Color.parse(text), back)


@long
@pytest.mark.parametrize("query", ["?view=overlay", "?view=overlay&lines=3", "?view=stage"])
def test_a_sentence_longer_than_its_room_shows_all_words_of_an_update(browser: Browser, query: str) -> None:
    """Also where an update fills a row and begins the next."""
    words = [f"Wort{number}" for number in range(60)]
    with served() as server, reading(browser, server, query, size=(1920, 400)) as page:
        for count in range(3, len(words) + 1, 3):
            text = " ".join(words[:count])
            server.lines.write(caption(0, text))
            page.shows(text)
            assert set(words[count - 3 : count]) <= set(" ".join(page.run(ROWS).values()).split())


@long
@pytest.mark.parametrize("theme", ["light", "dark", "outline"])
def test_every_text_has_a_contrast_of_seven_to_one(browser: Browser, theme: str) -> None:
    with served() as server:
        server.lines.write(started("de", "fr"))
        server.lines.write(caption(0, "Guten Morgen.", final=True, track="me"))
        server.lines.write(caption(1, "Danke", track="them"))
        for view in VIEWS:
            with reading(browser, server, f"?view={view}&theme={theme}&source=1&to=de") as page:
                page.shows("Guten Morgen.", "Danke")
                found = page.run(COLOURS)
                assert {"words", "label"} <= {one["name"] for one in found}
                for one in found:
                    backs = [one["outline"]] if one["outline"] else one["backs"]
                    for behind in (0, 255) if view == "overlay" or one["outline"] else (255,):
                        assert contrast_over(one["text"], backs, behind) >= 7, (view, behind, one)


@long
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("width", [1280, 390])
def test_twice_as_large_nothing_scrolls_sideways(browser: Browser, view: str, width: int) -> None:
    """Zoom of 200 %: half as many pixels of the style sheet, of twice the size."""
    with served() as server, reading(browser, server, f"?view={view}", size=(width, 800)) as page:
        page.resize(width // 2, 400, 2.0)
        server.lines.write(started("de", "fr"))
        server.lines.write(caption(0, "Donaudampfschifffahrtsgesellschaftskapitän " * 4, final=True))
        server.lines.write(caption(1, "und " * 30))
        page.until(lambda: len(page.texts) == 2)
        for box in ("document.scrollingElement", "document.getElementById('view')", "document.getElementById('bar')"):
            assert page.run(f"{box}.scrollWidth - {box}.clientWidth") == 0


@long
def test_no_row_moves_while_both_tracks_speak(browser: Browser) -> None:
    moved = MovedRows()
    with served() as server, reading(browser, server) as page:
        for count in range(1, 15):
            for number, track in enumerate(("me", "them")):
                text = " ".join(["Wortlaut"] * count)
                server.lines.write(caption(number, text, track=track))
                page.until(lambda text=text, number=number: page.texts[number : number + 1] == [text])
                moved.add(0, {int(row): text for row, text in page.run(ROWS).items()})
    assert moved.count == 0


@long
@pytest.mark.parametrize("last", [1, 50])
def test_a_turn_has_its_speakers_name_once_beside_its_words(browser: Browser, last: int) -> None:
    """Above them on a small screen. Whichever line came first, a speaker keeps the colour; words begin at one edge."""
    with served() as server:
        server.lines.write(started("de", meeting=MeetingSettings()))
        for number, track in enumerate(("me", "them", "me", "me")):
            server.lines.write(caption(number, "Guten Morgen.", final=True, track=track))
        with reading(browser, server, f"?last={last}") as page:
            page.until(lambda: len(page.texts) == min(last, 4))
            (turns, words, colours) = page.run(TURNS)
            assert [name for name, _, _ in turns] == (["me", "them", "me"] if last > 1 else ["me"])
            assert all(0 < words[0] - right < 60 for _, right, _ in turns)
            assert len(set(words)) == 1
            assert len(set(colours)) == min(last, 2)
            page.resize(390, 844)
            (turns, words, _) = page.run(TURNS)
            assert {left for _, _, left in turns} == set(words) == {20}


@long
def test_the_rows_of_a_stage_stay_full(browser: Browser) -> None:
    with served() as server, reading(browser, server, "?view=stage&lines=3&size=60") as page:
        for number in range(5):
            server.lines.write(caption(number, f"Satz {number}.", final=True))
        server.lines.write(caption(5, "Satz"))
        page.until(lambda: page.texts[-1:] == ["Satz"])
        assert [text for _, text in sorted(page.run(ROWS).items(), key=lambda item: int(item[0]))] == [
            "Satz 3.",
            "Satz 4.",
            "Satz",
        ]


@long
@pytest.mark.parametrize("query", ["?view=overlay", "?view=stage&lines=12"])
def test_letters_follow_the_height_of_the_window_alone(browser: Browser, query: str) -> None:
    """Such as that of a source in OBS, or of a phone whose address bar goes away."""
    row = "parseFloat(getComputedStyle(document.body).getPropertyValue('--row'))"
    with served() as server:
        expected = {}
        for height in (113, 400):
            with reading(browser, server, query, size=(1920, height)) as page:
                expected[height] = page.run(row)
        assert expected[113] < expected[400]
        with reading(browser, server, query, size=(1920, 113)) as page:
            for height in (400, 113):
                page.resize(1920, height)
                page.until(lambda height=height: page.run(row) == expected[height])


@long
@pytest.mark.parametrize("theme", ["outline", "dark"])
def test_the_overlay_is_transparent_but_for_its_text(browser: Browser, theme: str) -> None:
    with served() as server, reading(browser, server, f"?view=overlay&theme={theme}", size=(1920, 200)) as page:
        server.lines.write(started("de"))
        page.call("Emulation.setDefaultBackgroundColorOverride", color={"r": 255, "g": 0, "b": 255, "a": 255})
        empty = page.picture()
        page.run("document.body.hidden = true")
        assert page.picture() == empty
        page.run("document.body.hidden = false")
        server.lines.write(caption(0, "Guten Morgen.", final=True))
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
