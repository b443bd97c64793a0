"""The case study of one segment (Table 7): per update what was kept and what is new, of source and outputs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from livetrans.bench.methods import BASELINE
from livetrans.bench.runfile import RunFile, Segment, Update
from livetrans.errors import UsageError
from livetrans.events import Span
from livetrans.sequences import common_prefix_length
from livetrans.session.codec import encode
from livetrans.text import visible
from livetrans.translation.presenter import cut_to_word

if TYPE_CHECKING:
    from rich.table import Table as RichTable


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text; the pieces of a text joined are the whole text."""

    text: str
    draft: str = ""
    """Of an output, the draft from which it was accepted; of a source, `previous` where it stood in the update before,
    hence in the cache; empty where it is new."""


Pieces = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One segment by several methods."""

    segment: Segment
    source: tuple[Pieces, ...]
    """One an update."""
    outputs: dict[str, tuple[Pieces, ...]]
    """By method, one an update."""


def case_of(run: RunFile, segment_id: int, methods: Sequence[str] = ()) -> Case:
    """Return the case of one segment in the first repeat, by the methods named or by those of the paper.

    Raises:
        UsageError: no such segment or method, or not yet done.
    """
    segment = next((one for one in run.segments if one.segment_id == segment_id), None)
    if segment is None:
        raise UsageError(f"{run.path} has no segment {segment_id}; its segments are 0 to {len(run.segments) - 1}")
    known = [method.label for method in run.header.methods]
    for method in methods:
        if method not in known:
            raise UsageError(f"{run.path} has no method {method!r}; choose from {', '.join(known)}")
    units = {method: run.units.get((0, segment_id, method), ()) for method in methods or _usual_methods(run)}
    missing = next((method for method, updates in units.items() if not updates), None)
    if missing:
        raise UsageError(f"{run.path} stops before segment {segment_id} by {missing}; continue it with `bench run`")
    outputs = {method: tuple(map(_output_pieces, updates)) for method, updates in units.items()}
    return Case(segment, _source_pieces([update.source for update in next(iter(units.values()))]), outputs)


def _usual_methods(run: RunFile) -> list[str]:
    """Return the paper's three: re-translation, a modest bias, and continuous decoding or the greatest bias."""
    plain = [method for method in run.header.methods if not method.output_mask_k]
    biased = sorted((method for method in plain if method.bias), key=lambda method: method.bias or 0.0)
    modest = min(biased, key=lambda method: abs((method.bias or 0.0) - 0.2), default=None)
    unbiased = [method for method in plain if method.bias is None and method.decoder != BASELINE]
    last = unbiased[-1] if unbiased else biased[-1] if biased else None
    return list(dict.fromkeys([BASELINE, *(method.label for method in (modest, last) if method)]))


def _source_pieces(sources: Sequence[str]) -> tuple[Pieces, ...]:
    texts, previous = [], ""
    for source in sources:
        kept = cut_to_word(source[: common_prefix_length(previous, source)], source)
        texts.append(_pieces(source, [Span(0, len(kept))]))
        previous = source
    return tuple(texts)


def _output_pieces(update: Update) -> Pieces:
    begins = (0, *update.ends)
    return _pieces(update.text, [Span(begins[span.begin], begins[span.end], span.draft) for span in update.spans])


def _pieces(text: str, accepted: Sequence[Span]) -> Pieces:
    """Return the text cut at spans of its characters."""
    pieces, begin = [], 0
    for span in accepted:
        pieces += [Piece(text[begin : span.begin]), Piece(text[span.begin : span.end], span.draft)]
        begin = span.end
    return tuple(piece for piece in (*pieces, Piece(text[begin:])) if piece.text)


def as_json(case: Case) -> str:
    """Return one document: the segment, and per text and update its pieces, each with the draft that it is from."""
    texts = {"source": case.source, **case.outputs}
    values = {
        "segment": encode(case.segment),
        "texts": {name: [[encode(piece) for piece in pieces] for pieces in text] for name, text in texts.items()},
    }
    return json.dumps(values, ensure_ascii=False, indent=1) + "\n"


def as_text(case: Case, *, coloured: bool) -> RichTable:
    """Return what rich prints: what is new as on the screen of a run, in square brackets without colours."""
    from rich.table import Table
    from rich.text import Text

    def marked(pieces: Pieces) -> Text:
        if coloured:
            return Text.assemble(*((visible(piece.text), _STYLES.get(piece.draft, _DRAFTED)) for piece in pieces))
        return Text(visible(as_marks(pieces)))

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right", style="dim")
    table.add_column(overflow="fold")
    for title, texts in ((case.segment.name, case.source), *case.outputs.items()):
        table.add_row("", Text(visible(title), style="bold"))
        for number, pieces in enumerate(texts, 1):
            table.add_row(str(number), marked(pieces))
    if case.segment.reference is not None:
        table.add_row("", Text("reference", style="bold"))
        table.add_row("", Text(visible(case.segment.reference)))
    drafts = {piece.draft for texts in case.outputs.values() for pieces in texts for piece in pieces}
    legend = [Piece("kept ", "previous"), Piece("new")]
    legend += [Piece(" "), Piece("kept from a draft model", "draft")] if drafts - {"", "previous"} else []
    table.add_row("", marked(tuple(legend)))
    return table


_STYLES = {"": "cyan", "previous": ""}
_DRAFTED = "cyan italic"


def as_marks(pieces: Pieces) -> str:
    """Return the text with what is new in square brackets, what is kept from a draft model in angle brackets."""
    marked = ""
    for piece in pieces:
        bare = piece.text.strip()
        before, after = {"": "[]", "previous": ("", "")}.get(piece.draft, "<>")
        marked += piece.text.replace(bare, f"{before}{bare}{after}", 1) if bare else piece.text
    return marked
