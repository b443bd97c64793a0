"""What of a caption is marked as new: the words that were not on the screen before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.text import visible
from livetrans.config import Settings
from livetrans.events import Caption, Transcript
from livetrans.tui.board import Boards, Source
from livetrans.tui.captions import caption_content, source_content

TEXT = st.text(st.sampled_from("ab 漢é\x1b[3mx\n"), max_size=30)


def update(text: str, revision: int = 0, *, final: bool = False) -> Caption:
    return Caption(Transcript(0, revision, "", "source", final, 0.0, 1.0), text)


def new_parts(*texts: str, final: bool = False) -> list[str]:
    """Return what is marked in the last of a segment's captions."""
    boards = Boards(Settings())
    for revision, text in enumerate(texts):
        boards.feed(update(text, revision, final=final and revision == len(texts) - 1))
    [shown] = boards.captions
    content = caption_content(shown, "bold", boards.shown[0].standing(shown))
    return [content.plain[span.start : span.end] for span in content.spans if span.start < span.end]


@pytest.mark.parametrize(
    ("before", "now", "marked"),
    [
        ("Mein Bruder lebt", "Mein Bruder lebt in einem kleinen Haus nahe", ["in einem kleinen Haus nahe"]),
        ("Das Haus.", "Das Haus, das steht", [", das steht"]),
        ("Das Haus", "Das Hausboot liegt", ["Hausboot liegt"]),
        ("私は犬", "私は犬が好き", ["が好き"]),
        ("Das Wasser", "Das Wasser", []),
        ("Das Wasser", "Das", []),
    ],
)
def test_words_are_new_that_were_not_shown_before(before: str, now: str, marked: list[str]) -> None:
    assert new_parts(before, now) == marked
    assert new_parts(before) == [before]


def test_a_final_shows_what_it_changed() -> None:
    assert new_parts("Das Wasser stand", "Das Wasser kam.", final=True) == ["kam."]


@given(TEXT, st.integers(0, 30))
def test_marking_changes_no_letter(text: str, standing: int) -> None:
    assert caption_content(update(text), "bold", standing).plain == visible(text)


def test_repaired_names_of_a_source_are_underlined() -> None:
    content = source_content(Source("with Siobhan", " and OpenRouter", ((5, 12), (17, 27))))
    marked = [content.plain[span.start : span.end] for span in content.spans if "underline" in str(span.style)]
    assert marked == ["Siobhan", "OpenRouter"]
