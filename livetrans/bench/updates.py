"""What each update of a run kept and what is new: the case study of one segment (Table 7), and simulstream's log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from livetrans.bench.runfile import RunFile, Update
from livetrans.errors import UsageError
from livetrans.events import Span
from livetrans.metrics.quality import tokenizer
from livetrans.sequences import common_prefix_length
from livetrans.text import visible
from livetrans.translation.presenter import cut_to_word

if TYPE_CHECKING:
    from rich.text import Text

PAPERS = ("rt", "ssbd@0.2", "cd")
"""The methods of Table 7."""


class Piece(NamedTuple):
    """A stretch of a text; the pieces of a text joined are the whole text."""

    text: str
    draft: str = ""
    """Of an output, the draft from which it was accepted; of a source, `previous` where it stood in the update before,
    hence in the cache; empty where it is new."""


Pieces = list[Piece]


def case_of(run: RunFile, segment_id: int, methods: Sequence[str] = ()) -> dict[str, list[Pieces]]:
    """Return the pieces of each update of one segment in the first repeat: of its source, then of each method's output.

    The source has the segment's name; the reference stands last. Without `methods` the paper's are shown, or all where
    a run has only one of them.

    Raises:
        UsageError: no such segment or method, or not yet done.
    """
    segment = next((one for one in run.segments if one.segment_id == segment_id), None)
    if segment is None:
        raise UsageError(f"{run.path} has no segment {segment_id}; its segments are 0 to {len(run.segments) - 1}")
    case: dict[str, list[Pieces]] = {segment.name: []}
    known = [method.label for method in run.header.methods]
    usual = [label for label in PAPERS if label in known]
    for method in methods or (usual if len(usual) > 1 else known):
        updates = run.units_of(method, [segment])[0]
        if not updates:
            raise UsageError(f"{run.path} stops before segment {segment_id} by {method}; continue it with `bench run`")
        case[segment.name] = case[segment.name] or _source_pieces(updates)
        case[method] = [_output_pieces(update) for update in updates]
    if segment.reference is not None:
        case["reference"] = [[Piece(segment.reference, "previous")]]
    return case


def _source_pieces(updates: Sequence[Update]) -> list[Pieces]:
    texts, previous = [], ""
    for source in (update.source for update in updates):
        kept = cut_to_word(source[: common_prefix_length(previous, source)], source)
        texts.append(_pieces(source, [Span(0, len(kept))]))
        previous = source
    return texts


def _output_pieces(update: Update) -> Pieces:
    begins = (0, *update.ends)
    return _pieces(update.text, [Span(begins[span.begin], begins[span.end], span.draft) for span in update.accepted])


def _pieces(text: str, accepted: Sequence[Span]) -> Pieces:
    """Return the text cut at spans of its characters."""
    pieces, begin = [], 0
    for span in accepted:
        pieces += [Piece(text[begin : span.begin]), Piece(text[span.begin : span.end], span.draft)]
        begin = span.end
    return [piece for piece in (*pieces, Piece(text[begin:])) if piece.text]


_STYLES = {"": "cyan", "previous": ""}
_DRAFTED = "cyan italic"


def case_lines(case: dict[str, list[Pieces]], *, coloured: bool) -> Iterator[Text]:
    """Yield a line an update, with what is new as on the screen of a run, or in brackets without colours."""
    from rich.text import Text

    def marked(pieces: Pieces) -> Text:
        if coloured:
            return Text.assemble(*((visible(piece.text), _STYLES.get(piece.draft, _DRAFTED)) for piece in pieces))
        return Text(visible(as_marks(pieces)))

    for title, texts in case.items():
        yield Text(f"    {visible(title)}", style="bold")
        for number, pieces in enumerate(texts, 1):
            yield Text(f"{number:>2}  ", style="dim") + marked(pieces)
    legend = [Piece("    kept ", "previous"), Piece("new")]
    if {piece.draft for texts in case.values() for pieces in texts for piece in pieces} - {"", "previous"}:
        legend += [Piece(" "), Piece("kept from a draft model", "draft")]
    yield marked(legend)


def as_marks(pieces: Pieces) -> str:
    """Return the text with what is new in square brackets, what is kept from a draft model in angle brackets."""
    marked = ""
    for piece in pieces:
        bare = piece.text.strip()
        before, after = {"": "[]", "previous": ("", "")}.get(piece.draft, "<>")
        marked += piece.text.replace(bare, f"{before}{bare}{after}", 1) if bare else piece.text
    return marked


def simulstream_log(run: RunFile, label: str, unit: str) -> Iterator[str]:
    """Yield the log of one method's first repeat in the tokens of a unit, every segment as a sound file of its own.

    {"id": 0, "metadata": {"wav_name": "talk-3.wav"}}
    {"id": 0, "total_audio_processed": 2.0, "computation_time": 0.2, "generated_tokens": [...], "deleted_tokens": [...]}

    A recorded update is timed by its source's end in its segment. A text has no sound: it is timed by how many words
    (or characters) of it were read. simulstream's normalized erasure of the log in words, read as docs/bench.md says,
    is ours in the tokens' unit as a ratio of sums; its delays are `livetrans.metrics.latency.stable_delays`.

    Raises:
        UsageError: no such method or unit.
    """
    tokenize = tokenizer(unit)
    by_characters = run.header.corpus.step_unit == "characters"
    for segment, updates in zip(run.segments, run.units_of(label, run.segments), strict=True):
        if updates:
            # The reader keeps the file name without folders and suffix, so a name must not look like either.
            name = f"{segment.name.replace('/', '_')}.wav"
            yield _line({"id": segment.segment_id, "metadata": {"wav_name": name}})
        previous: Sequence[str] = ()
        for update in updates:
            tokens = tokenize(update.text)
            kept = common_prefix_length(previous, tokens)
            read = len(update.source if by_characters else update.source.split())
            yield _line(
                {
                    "id": segment.segment_id,
                    "total_audio_processed": read if update.end is None else update.end - (segment.start or 0.0),
                    "computation_time": update.update_seconds,
                    "generated_tokens": tokens[kept:],
                    "deleted_tokens": list(previous[kept:]),
                }
            )
            previous = tokens


def _line(values: dict[str, object]) -> str:
    # ASCII: so that no reader takes a letter for a line end, and lone surrogates survive.
    return json.dumps(values, allow_nan=False) + "\n"
