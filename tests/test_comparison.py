"""README's moving picture: where its words stand, and what it counts."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from livetrans.events import Caption, Transcript
from livetrans.metrics.captions import ScreenErasure, screen_units

DOCS = Path(__file__).parents[1] / "docs"
_spec = importlib.util.spec_from_file_location("make_comparison", DOCS / "make_comparison.py")
assert _spec and _spec.loader
make_comparison = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make_comparison)


@given(st.lists(st.tuples(st.integers(0, 2), st.text("ab, .", max_size=12)), max_size=10))
def test_what_is_struck_out_is_what_the_measure_counts(updates: list[tuple[int, str]]) -> None:
    captions = [
        (at + 0.5, Caption(Transcript(segment, at, "", "", False, 0.0, 0.0), text))
        for at, (segment, text) in enumerate(updates)
    ]
    screen = ScreenErasure()
    for _, caption in captions:
        screen.add(caption)
    shown, counts = make_comparison.watch(captions)
    assert sum(item.is_taken_back for item in shown) == screen.erased_units == max(counts)
    assert all(item.since < item.until for item in shown)
    newest = dict(updates)
    left = [
        item.text for item in sorted(shown, key=lambda item: (item.y, item.x)) if item.until == make_comparison.LOOP
    ]
    assert left == [unit for segment in sorted(newest) for unit in screen_units(newest[segment])]


def test_the_picture_of_the_readme_is_complete_without_the_network_and_counts_what_it_strikes_out() -> None:
    content = (DOCS / "comparison.svg").read_bytes()
    assert len(content) < 300_000
    assert not any(name in content for name in (b"<script", b"href", b"url(", b"@"))
    struck, counted = {}, {}
    for text in ElementTree.fromstring(content).iter("{http://www.w3.org/2000/svg}text"):
        x = float(text.attrib["x"])
        left = max(left for left in make_comparison.LEFTS if left <= x + 0.1)
        if length := text.get("textLength"):
            assert x + float(length) <= left + make_comparison.COLUMN + 0.1
        if text.get("text-decoration") == "line-through":
            struck[left] = struck.get(left, 0) + 1
        elif text.get("font-size") == "38" and text.get("opacity") == "1":
            counted[left] = int(text.text or "")
    assert (
        struck == counted
        and counted[make_comparison.LEFTS[0]] > counted[make_comparison.LEFTS[1]] > counted[make_comparison.LEFTS[2]]
    )
