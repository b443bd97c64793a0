"""What of a caption is marked as new: everything that no draft gave it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.text import visible
from livetrans.events import DRAFT_MODEL, Caption, Span, Transcript
from livetrans.tui.board import Source
from livetrans.tui.captions import caption_content, source_content

TEXT = st.text(st.sampled_from("ab 漢é\x1b[3mx\n"), max_size=30)


def caption(text: str, cuts: list[int], *, final: bool = False) -> Caption:
    """A caption of `text` with every second stretch between the cuts accepted, each from another draft."""
    bounds = sorted(min(cut, len(text)) for cut in cuts)
    pairs = zip(bounds[::2], bounds[1::2], strict=False)
    spans = tuple(Span(begin, end, f"draft {number}") for number, (begin, end) in enumerate(pairs) if begin < end)
    return Caption(Transcript(0, 0, "", "source", final, 0.0, 1.0), text, accepted=spans)


def new_parts(shown: Caption) -> list[str]:
    content = caption_content(shown, "bold")
    return [content.plain[span.start : span.end] for span in content.spans if span.start < span.end]


def test_spans_of_several_drafts_stay_plain_and_the_rest_is_marked() -> None:
    shown = caption("Das Wasser stand bis zur Stufe.", [0, 4, 11, 17])
    assert new_parts(shown) == ["Wasser ", "bis zur Stufe."]


def test_what_a_draft_model_proposed_is_new_in_italics() -> None:
    transcript = Transcript(0, 0, "", "source", False, 0.0, 1.0)
    spans = (Span(0, 4), Span(4, 11, DRAFT_MODEL))
    content = caption_content(Caption(transcript, "Das Wasser stand", accepted=spans), "bold")
    styles = {content.plain[span.start : span.end]: span.style for span in content.spans if span.start < span.end}
    assert styles == {"Wasser ": "bold italic", "stand": "bold"}


def test_without_a_draft_everything_is_new_and_a_final_shows_what_it_changed() -> None:
    assert new_parts(caption("Das Wasser", [])) == ["Das Wasser"]
    assert new_parts(caption("Das Wasser", [0, 10])) == []
    assert new_parts(caption("Das Wasser.", [0, 4], final=True)) == ["Wasser."]


@given(TEXT, st.lists(st.integers(0, 30), max_size=6))
def test_marking_changes_no_letter(text: str, cuts: list[int]) -> None:
    assert caption_content(caption(text, cuts), "bold").plain == visible(text)


def test_repaired_names_of_a_source_are_underlined() -> None:
    content = source_content(Source("with Siobhan", " and OpenRouter", ((5, 12), (17, 27))))
    marked = [content.plain[span.start : span.end] for span in content.spans if "underline" in str(span.style)]
    assert marked == ["Siobhan", "OpenRouter"]
