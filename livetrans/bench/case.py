"""How one segment was translated, update by update: Table 7 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from livetrans.base.errors import UsageError
from livetrans.base.sequences import common_prefix_length
from livetrans.bench.runfile import RunFile, Update
from livetrans.events import Span
from livetrans.translation.presenter import cut_to_word

PAPERS = ("rt", "ssbd@0.2", "cd")


def case_of(run: RunFile, segment_id: int, methods: Sequence[str] = ()) -> dict[str, list[str]]:
    """Return the texts of one segment's updates in the first repeat: its source, then each method's output, marked.

    The source has the segment's name, and the reference is last. Without `methods`, the paper's are shown, or all if a
    run has only one of them.

    Raises:
        UsageError: no such segment or method, or not yet done.
    """
    segment = next((one for one in run.segments if one.segment_id == segment_id), None)
    if segment is None:
        raise UsageError(f"{run.path} has no segment {segment_id}; its segments are 0 to {len(run.segments) - 1}")
    case: dict[str, list[str]] = {segment.name: []}
    usual = [label for label in PAPERS if label in run.header.methods]
    for method in methods or (usual if len(usual) > 1 else run.header.methods):
        if method not in run.header.methods:
            raise UsageError(f"{run.path} has no method {method!r}; choose from {', '.join(run.header.methods)}")
        updates = run.units.get((0, segment_id, method))
        if not updates:
            raise UsageError(f"{run.path} stops before segment {segment_id} by {method}; continue it with `bench run`")
        case[segment.name] = case[segment.name] or _marked_sources([update.source for update in updates])
        case[method] = [_marked_output(update) for update in updates]
    if segment.reference is not None:
        case["reference"] = [segment.reference]
    return case


def _marked_sources(sources: Sequence[str]) -> list[str]:
    """Return growing sources; what the one before had is in the cache."""
    kept = (
        len(cut_to_word(source[: common_prefix_length(previous, source)], source))
        for previous, source in pairwise(["", *sources])
    )
    return [marked(source, [Span(0, length)]) for source, length in zip(sources, kept, strict=True)]


def _marked_output(update: Update) -> str:
    begins = (0, *update.ends)
    return marked(update.text, [Span(begins[span.begin], begins[span.end], span.draft) for span in update.accepted])


def marked(text: str, kept: Sequence[Span]) -> str:
    """Return the text with what is new in square brackets, and what is kept from a draft model in angle brackets.

    `kept` are the spans of characters that an earlier output or a draft model wrote.
    """
    parts, end = [], 0
    for span in (*kept, Span(len(text), len(text))):
        parts += [_enclosed(text[end : span.begin], "[]")]
        parts += [_enclosed(text[span.begin : span.end], "" if span.draft == "previous" else "<>")]
        end = span.end
    return "".join(parts)


def _enclosed(text: str, brackets: str) -> str:
    bare = text.strip()
    return text.replace(bare, f"{brackets[:1]}{bare}{brackets[1:]}", 1) if bare else text
