"""The page's design, at the exact sizes of its pictures: room, rows, words, signs, and what the browser tells aids."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from livetrans.config import OutputSettings, Settings
from livetrans.events import Record, RunEnded, RunStarted
from livetrans.serve import connection as connection_module

from .browser import Browser, Outlet, Page, reading
from .reader import caption, served, started
from .test_page_looks import contrast_over
from .views import LAPTOP, PHONE, TALK, VIEWS, browser_of, show

long = pytest.mark.long

PAGE = Path(connection_module.__file__).with_name("page")

BOXES = """(() => {
  const size = (name) => parseFloat(getComputedStyle(document.body).getPropertyValue(name));
  const box = (one) => one.getBoundingClientRect().toJSON();
  const isShown = (one) => one.offsetHeight && getComputedStyle(one).visibility === "visible";
  const view = document.getElementById("view");
  const divided = [];
  for (const words of document.querySelectorAll(".words")) {
    const node = words.firstChild;
    for (const word of node.data.matchAll(/[\\p{L}\\p{M}\\u00ad.,]+/gu)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const tops = new Set([...range.getClientRects()].map((one) => Math.round(one.top)));
      if (tops.size > 1 && !/^(ja|zh)/.test(words.lang)) divided.push([word[0], word[0].includes("\\u00ad")]);
    }
  }
  return {
    row: size("--row"), step: size("--step"), divided, view: box(view), wide: view.scrollWidth - view.clientWidth,
    texts: [...document.querySelectorAll(".text")].map((one) => ({ ...box(one), color: getComputedStyle(one).color })),
    sources: [...document.querySelectorAll(".source")].filter(isShown).map(box),
  };
})()"""


def steady(page: Page) -> Any:
    """Return the boxes of a page whose colours have changed."""
    page.run("Promise.all(document.getAnimations().filter((one) => one.transitionProperty).map((one) => one.finished))")
    return page.run(BOXES)


@long
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", VIEWS)
def test_a_picture_has_whole_words_and_rows_and_the_newest_is_the_brightest(
    browser: Browser, name: str, theme: str
) -> None:
    size, query = VIEWS[name]
    with served() as server, reading(browser, server, f"{query}&theme={theme}", size=size) as page:
        show(server, name)
        page.until(lambda: len(page.texts) >= 6)
        page.run("document.fonts.ready")
        boxes = steady(page)
        assert boxes["wide"] == 0
        assert all(is_softened for _, is_softened in boxes["divided"]), boxes["divided"]
        for text in boxes["texts"]:
            assert text["height"] % boxes["row"] == 0 and text["height"] > 0, "a row is as high as all others"
        for source in boxes["sources"]:
            assert (source["bottom"] - source["top"]) % boxes["step"] == 0
            assert source["bottom"] <= boxes["view"]["bottom"], "the source runs out of the screen"
        newest = boxes["texts"][-1]
        assert boxes["view"]["top"] <= newest["top"] and newest["bottom"] <= boxes["view"]["bottom"]
        if "view=overlay" not in query:
            brightest = {"light": "rgb(8, 9, 11)", "dark": "rgb(255, 255, 255)"}[theme]
            older = boxes["texts"][: -2 if "," in query else -1]
            assert newest["color"] == brightest and brightest not in {text["color"] for text in older}
        if size == PHONE:
            assert {(text["left"], text["right"]) for text in boxes["texts"]} == {(20, 370)}, "letters took the margin"
        if boxes["sources"] and "," not in query:
            below = [
                min(source["top"] - text["bottom"] for text in boxes["texts"] if text["bottom"] <= source["top"])
                for source in boxes["sources"]
            ]
            assert set(below) == {2}, "the source is close to its translation"


@long
def test_in_two_languages_a_segment_has_one_line_with_a_column_each_and_one_source(browser: Browser) -> None:
    with served() as server, reading(browser, server, "?to=ar,de", size=LAPTOP) as page:
        show(server, "talk")
        page.until(lambda: len(page.texts) == 2 * len(TALK))
        assert page.texts[:2] == [TALK[0]["ar"], TALK[0]["de"]]
        texts = page.run(BOXES)["texts"]
        pairs = list(zip(texts[::2], texts[1::2], strict=True))
        assert all(arabic["top"] == german["top"] for arabic, german in pairs)
        assert len({german["left"] - arabic["left"] for arabic, german in pairs}) == 1
        assert page.run("document.querySelectorAll('.source').length") == len(TALK)
        assert page.run("document.querySelector('#to option:checked').textContent") == "العربية + Deutsch"


@long
@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080), (1024, 768)])
def test_a_stage_fills_its_window_and_follows_it(browser: Browser, size: tuple[int, int]) -> None:
    width, height = size
    with served() as server, reading(browser, server, "?view=stage&to=de", size=(800, 600)) as page:
        show(server, "talk")
        page.until(lambda: len(page.texts) == len(TALK))
        page.resize(width, height)
        page.until(
            lambda: page.run("document.getElementById('view').clientHeight") > height * 0.91 - page.run(BOXES)["row"]
        )
        boxes = page.run(BOXES)
        assert boxes["view"]["height"] % boxes["row"] == 0
        assert boxes["view"]["height"] <= height * 0.91


@long
def test_the_end_stands_below_the_last_sentence_and_goes_with_the_next_run(browser: Browser) -> None:
    with served() as server, reading(browser, server, "?to=de", size=PHONE, before=browser_of("de")) as page:
        show(server, "talk", ended=True)
        page.until(lambda: page.run("document.querySelector('.end')?.textContent") == "Es ist zu Ende.0:30")
        page.until(lambda: len(page.texts) == len(TALK))
        end = page.run("document.querySelector('.end').getBoundingClientRect().toJSON()")
        assert end["top"] > page.run(BOXES)["texts"][-1]["bottom"] and end["bottom"] <= PHONE[1]
        assert page.run("document.getElementById('state').textContent") == "Es ist zu Ende."
        page.press("v")
        page.press("v")
        page.until(lambda: page.run("document.querySelector('.end')") is None)
        assert page.run(BOXES)["texts"][-1]["bottom"] <= page.run(BOXES)["view"]["bottom"]


FASTER = "{ const wait = setTimeout; window.setTimeout = (call, time) => wait(call, time / 20); }"
BAR = "document.getElementById('bar')"


@long
def test_the_bar_fades_while_all_is_well_and_the_tap_that_wakes_it_presses_nothing(browser: Browser) -> None:
    with served() as server, reading(browser, server, "?to=de", size=PHONE, before=FASTER) as page:
        show(server, "talk")
        page.until(lambda: page.run(f"getComputedStyle({BAR}).opacity") == "0")
        place = page.run("document.getElementById('aa').getBoundingClientRect().toJSON()")
        middle = {"x": place["x"] + place["width"] / 2, "y": place["y"] + place["height"] / 2}
        for kind in ("mousePressed", "mouseReleased"):
            page.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **middle)
        assert page.run(f"{BAR}.classList.contains('asleep')") is False
        assert page.run("document.getElementById('sheet').hidden")
        page.run("document.getElementById('aa').click()")
        page.run("new Promise((done) => setTimeout(done, 8000))")
        assert not page.run(f"{BAR}.classList.contains('asleep')"), "it stays while the sheet is open"
        page.press("Escape")
        page.until(lambda: page.run(f"{BAR}.classList.contains('asleep')"))
        server.lines.write(Record(40.0, RunEnded(40.0, "stopped")))
        page.until(lambda: not page.run(f"{BAR}.classList.contains('asleep')"))


def tree(page: Page) -> list[tuple[str, str, dict[str, Any]]]:
    """What the browser tells screen readers: role, name, and properties of each node that is not ignored."""
    page.call("Accessibility.enable")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    return [
        (
            node["role"]["value"],
            node.get("name", {}).get("value", ""),
            {one["name"]: one["value"].get("value") for one in node.get("properties", ())}
            | ({"value": node["value"]["value"]} if "value" in node else {}),
        )
        for node in nodes
        if not node["ignored"]
    ]


@long
def test_screen_readers_get_every_part_with_a_role_and_a_name(browser: Browser) -> None:
    with served() as server, reading(browser, server, "?to=de", size=PHONE) as page:
        show(server, "talk")
        page.until(lambda: len(page.texts) == len(TALK))
        shown = {(role, name) for role, name, _ in tree(page)}
        assert {
            ("main", "Captions"),
            ("combobox", "Language of the captions"),
            ("button", "Read aloud"),
            ("button", "Type and colours"),
        } <= shown
        page.run("document.getElementById('aa').click()")
        opened = tree(page)
        parts = {(role, name): values for role, name, values in opened}
        assert ("dialog", "Type and colours") in parts
        assert parts["button", "Type and colours"]["expanded"] is True
        assert parts["slider", "Size"]["value"] == 100
        assert {
            ("radiogroup", "Colours"),
            ("radiogroup", "View"),
            ("button", "Smaller"),
            ("button", "Larger"),
        } <= parts.keys()
        assert parts["switch", "What was said"]["checked"] == "true"
        assert parts["switch", "Whole sentences only"]["checked"] == "false"
        radios = {name: values["checked"] for role, name, values in opened if role == "radio"}
        assert radios == {
            "System": "true",
            "Light": "false",
            "Dark": "false",
            "Reader": "true",
            "Stage": "false",
            "Overlay": "false",
        }
        assert not [role for role, name, _ in opened if role in ("button", "slider", "switch", "radio") and not name]


CHATTER = """
window.said = [];
document.addEventListener("DOMContentLoaded", () => {
  for (const one of document.querySelectorAll("[role=status], [aria-live]")) {
    const noted = new MutationObserver(() => window.said.push(one.textContent));
    noted.observe(one, { subtree: true, childList: true, characterData: true });
  }
});
"""


@long
def test_live_regions_do_not_chatter_while_a_sentence_grows(browser: Browser) -> None:
    with served() as server, reading(browser, server, before=CHATTER) as page:
        server.lines.write(started("de"))
        server.lines.write(caption(0, "Wort"))
        page.shows("Wort")
        said = page.run("window.said.length")
        for count in range(2, 30):
            server.lines.write(caption(0, " ".join(["Wort"] * count)))
        page.shows(" ".join(["Wort"] * 29))
        page.press("+")
        assert page.run("window.said.length") == said
        server.lines.write(caption(0, "Wort.", final=True))
        page.shows("Wort.")
        assert page.run("window.said.slice(-1)") == ["Wort."] and page.run("window.said.length") == said + 1


SHEET = """[...document.querySelectorAll("#sheet :is(span[data-word], p, output, .small)")]
  .filter((one) => one.getClientRects().length).map((one) => {
    const backs = [];
    for (let at = one; at; at = at.parentElement) backs.push(getComputedStyle(at).backgroundColor);
    return [one.textContent, getComputedStyle(one).color, backs];
  })"""
TARGETS = """[...document.querySelectorAll("button, label.button, .choice label, .switch")]
  .filter((one) => one.getClientRects().length)
  .map((one) => [one.id || one.textContent, one.getBoundingClientRect().width, one.getBoundingClientRect().height])"""


@long
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["de", "ar", "ru", "ta"])
def test_the_sheet_can_be_read_and_touched(browser: Browser, language: str, theme: str) -> None:
    """In the reader's language, or in English where the page does not have it."""
    before = "delete window.documentPictureInPicture;" + browser_of(language)
    with served() as server, reading(browser, server, f"?to=de&theme={theme}", size=PHONE, before=before) as page:
        show(server, "talk")
        page.until(lambda: len(page.texts) == len(TALK))
        page.run("document.getElementById('aa').click()")
        assert page.run("document.documentElement.lang") == (language if language != "ta" else "en")
        assert page.run("document.documentElement.dir") == ("rtl" if language == "ar" else "ltr")
        for text, colour, backs in page.run(SHEET):
            assert contrast_over(colour, backs, 255) >= 4.5, text
        for name, width, height in page.run(TARGETS):
            assert width >= 44 and height >= 44, name
        box = page.run("document.getElementById('sheet').getBoundingClientRect().toJSON()")
        assert box["left"] == 8 and box["right"] == PHONE[0] - 8 and box["bottom"] < PHONE[1]
        aa = page.run("document.getElementById('aa').getBoundingClientRect().toJSON()")
        assert (aa["left"] < 60) == (language == "ar"), "the bar begins where the reader's writing does"


@long
def test_with_reduced_motion_nothing_moves_by_itself(browser: Browser) -> None:
    with served() as server, reading(browser, server, "?to=de") as page:
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
        show(server, "talk", ended=False)
        page.until(lambda: len(page.texts) == len(TALK))
        assert page.run("document.getAnimations().length") == 0


@long
def test_whole_sentences_only_by_the_switch_the_key_and_the_address(browser: Browser, outlet: Outlet) -> None:
    with reading(browser, outlet) as page:
        outlet.lines.write(started("de"))
        outlet.lines.write(caption(0, "Eins.", final=True))
        outlet.lines.write(caption(1, "Zw"))
        page.shows("Eins.", "Zw")
        page.run("document.getElementById('aa').click()")
        page.run("document.querySelector('[name=final]').click()")
        page.shows("Eins.")
        outlet.lines.write(caption(1, "Zwei"))
        outlet.lines.write(caption(2, "Drei.", final=True))
        page.shows("Eins.", "Drei.")
        assert page.run("location.search") == "?final=1"
        outlet.lines.write(caption(1, "Zwei.", final=True))
        page.shows("Eins.", "Zwei.", "Drei.")
        page.press("f")
        outlet.lines.write(caption(3, "Vi"))
        page.shows("Eins.", "Zwei.", "Drei.", "Vi")
        assert page.run("location.search") == "?final=0"


@long
def test_one_press_goes_back_three_minutes_and_another_to_the_end(browser: Browser, outlet: Outlet) -> None:
    with reading(browser, outlet, "?last=400", size=PHONE) as page:
        for number in range(300):
            outlet.lines.write(caption(number, f"Satz {number}.", final=True))
        page.until(lambda: len(page.texts) == 300)
        assert page.run("document.getElementById('below').hidden")
        page.run("document.getElementById('aa').click()")
        page.run("document.querySelector('[data-key=m]').click()")
        assert page.run("document.getElementById('sheet').hidden")
        top = "document.querySelectorAll('.text')[120].getBoundingClientRect().top"
        page.until(lambda: 0 < page.run(top) < 120)
        outlet.lines.write(caption(300, "Noch einer.", final=True))
        page.until(lambda: page.run("document.getElementById('below').textContent") == "↓ 1")
        assert 0 < page.run(top) < 120
        page.run("document.getElementById('below').click()")
        page.until(lambda: page.run("document.getElementById('below').hidden"))


SAVED = """
window.saved = [];
URL.createObjectURL = (blob) => { blob.text().then((text) => window.saved.push(text)); return "#"; };
HTMLAnchorElement.prototype.click = function () { window.saved.push(this.download); };
"""


@long
def test_readers_save_what_was_said_so_far_if_the_speaker_lets_them(browser: Browser, outlet: Outlet) -> None:
    lets = Settings(sources=("en",), targets=("de", "fr"), output=OutputSettings(serve_downloads=True))
    with reading(browser, outlet, "?to=de&last=1", before=SAVED) as page:
        outlet.lines.write(started("de", "fr"))
        outlet.lines.write(caption(0, "Eins.", final=True))
        page.shows("Eins.")
        assert page.run("document.getElementById('save').hidden")
        outlet.lines.write(Record(2.0, RunStarted({}, lets)))
        page.until(lambda: not page.run("document.getElementById('save').hidden"))
        for number in range(1, 4):
            outlet.lines.write(caption(number, f"Satz {number}.", final=True, track="Ana"))
            outlet.lines.write(caption(number, f"Phrase {number}.", final=True, language="fr", track="Ana"))
        outlet.lines.write(caption(4, "Noch nicht"))
        page.until(lambda: page.texts[-1] == "Noch nicht")
        page.slow_down(2.0)
        page.run("document.querySelector('[data-format=txt]').click()")
        page.until(lambda: len(page.run("window.saved")) == 2)
        text = "Eins.\nAna: Satz 1.\nAna: Satz 2.\nAna: Satz 3.\n"
        assert set(page.run("window.saved")) == {"Captions.txt", text}
        page.slow_down()
        page.run("document.querySelector('[data-format=srt]').click()")
        page.until(lambda: len(page.run("window.saved")) == 4)
        (subtitles,) = [one for one in page.run("window.saved") if "-->" in one]
        assert subtitles.startswith("1\n00:00:00,000 --> 00:00:01,000\nEins.\n\n2\n00:00:01,000 --> 00:00:02,000\n")
        assert page.texts[0] == "Eins." and len(page.texts) == 5


def test_every_language_of_the_page_has_every_word() -> None:
    source = (PAGE / "words.js").read_text(encoding="utf-8")
    names = "".join(re.findall(r'^ +"([a-z|]+)"', source, re.MULTILINE)).split("|")
    table = dict(re.findall(r'^  ([a-z]{2}): "(.*)",$', source, re.MULTILINE))
    assert len(table) == 20
    for language, words in table.items():
        assert len(words.split("|")) == len(names) and all(words.split("|")), language
        assert [name for name, word in zip(names, words.split("|"), strict=True) if "%" in word] == [
            "online",
            "voiceless",
        ]
    used = set(re.findall(r'word\("(\w+)"', "".join(path.read_text(encoding="utf-8") for path in PAGE.glob("*.js"))))
    used |= set(re.findall(r'data-(?:word|label)="(\w+)"', (PAGE / "index.html").read_text(encoding="utf-8")))
    assert used <= set(names)
