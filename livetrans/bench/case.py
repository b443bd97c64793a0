"""The case study of one segment (Table 7): per update what was kept and what is new, of source and outputs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from livetrans.bench.latex import latex_literal
from livetrans.bench.methods import BASELINE
from livetrans.bench.runfile import Run, Segment, Update
from livetrans.errors import UsageError
from livetrans.events import Span
from livetrans.sequences import common_prefix_length
from livetrans.session.codec import encode
from livetrans.text import visible
from livetrans.translation.presenter import cut_to_word


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


def case_of(run: Run, segment_id: int, methods: Sequence[str] = ()) -> Case:
    """The case of one segment in the first repeat, by the methods named or by those of the paper.

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
    units = {method: run.unit(0, segment_id, method) for method in methods or _usual_methods(run)}
    missing = next((method for method, updates in units.items() if not updates), None)
    if missing:
        raise UsageError(f"{run.path} stops before segment {segment_id} by {missing}; continue it with `bench run`")
    outputs = {method: tuple(map(_output_pieces, updates)) for method, updates in units.items()}
    return Case(segment, _source_pieces([update.source for update in next(iter(units.values()))]), outputs)


def _usual_methods(run: Run) -> list[str]:
    """The paper's three: re-translation, a modest bias, and continuous decoding or the greatest bias."""
    plain = [method for method in run.header.methods if not method.output_mask_k]
    biased = sorted((method for method in plain if method.bias), key=lambda method: method.bias or 0.0)
    modest = min(biased, key=lambda method: abs((method.bias or 0.0) - 0.2), default=None)
    unbiased = [method for method in plain if method.bias is None and method.decoder != BASELINE]
    last = unbiased[-1] if unbiased else biased[-1] if biased else None
    chosen = [method.label for method in (plain[0], modest, last) if method is not None]
    return list(dict.fromkeys(chosen))


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
    """The text cut at spans of its characters."""
    pieces, begin = [], 0
    for span in accepted:
        pieces += [Piece(text[begin : span.begin]), Piece(text[span.begin : span.end], span.draft)]
        begin = span.end
    return tuple(piece for piece in (*pieces, Piece(text[begin:])) if piece.text)


def as_marks(pieces: Pieces) -> str:
    """For a page without colours: new text in square brackets, what is kept from a draft model in angle brackets."""
    return "".join(
        piece.text if piece.draft == "previous" else _around(piece.text, *("<>" if piece.draft else "[]"))
        for piece in pieces
    )


def as_json(case: Case) -> str:
    """One document: the segment, and per text and update its pieces, each with the draft that it is from."""
    texts = {"source": case.source, **case.outputs}
    values = {
        "segment": encode(case.segment),
        "texts": {name: [[encode(piece) for piece in pieces] for pieces in own] for name, own in texts.items()},
    }
    return json.dumps(values, ensure_ascii=False, indent=1) + "\n"


def as_markdown(case: Case) -> str:
    """Underlined what was kept, bold what is new."""
    lines = [f"**Table 7: {_literal(case.segment.name)}**", "", "| | source |", "|---:|---|"]
    lines += _rows(case.source)
    for method, texts in case.outputs.items():
        lines += ["", f"| | {_literal(method)} |", "|---:|---|", *_rows(texts)]
    if case.segment.reference is not None:
        lines += ["", f"Reference: {_literal(case.segment.reference)}"]
    return "\n".join([*lines, "", "Underlined: kept (source in the cache, output accepted); bold: new.", ""])


def _rows(texts: Sequence[Pieces]) -> list[str]:
    return [f"| {number} | {''.join(map(_marked, pieces))} |" for number, pieces in enumerate(texts, 1)]


def _marked(piece: Piece) -> str:
    text = _literal(piece.text)
    return f"<u>{text}</u>" if piece.draft else _around(text, "**", "**")


def _around(text: str, before: str, after: str) -> str:
    """Marks at the words: Markdown takes stars beside a space for letters."""
    bare = text.strip()
    left, _, right = text.partition(bare) if bare else (text, "", "")
    return f"{left}{before}{bare}{after}{right}" if bare else text


def as_latex(case: Case) -> str:
    """A `table` float for booktabs: bold what is new, in italics what is kept from a draft model."""
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex_literal(case.segment.name)}: bold is new, the rest was kept.}}",
        r"\begin{tabular}{rp{0.9\linewidth}}",
        r"\toprule",
    ]
    for name, texts in {"source": case.source, **case.outputs}.items():
        lines += [rf"& \textsc{{{latex_literal(name)}}} \\", r"\midrule"]
        lines += [rf"{number} & {_latex(pieces)} \\" for number, pieces in enumerate(texts, 1)]
        lines.append(r"\midrule")
    if case.segment.reference is not None:
        lines += [rf"& reference: {latex_literal(case.segment.reference)} \\", r"\midrule"]
    return "\n".join([*lines[:-1], r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"


def _latex(pieces: Pieces) -> str:
    marks = {"": r"\textbf{", "previous": ""}
    return "".join(
        text if piece.draft == "previous" else _around(text, marks.get(piece.draft, r"\emph{"), "}")
        for piece in pieces
        for text in (latex_literal(piece.text),)
    )


def _literal(text: str) -> str:
    """The text without anything that Markdown or HTML would act on."""
    text = visible(text).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{letter}" if letter in "\\`*_[]|~#" else letter for letter in text)
