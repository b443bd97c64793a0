"""The case study of one segment (Table 7): per update what was kept and what is new, of source and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from livetrans.bench.records import Run, Segment, Update
from livetrans.errors import UsageError
from livetrans.sequences import common_prefix_length
from livetrans.translation.presenter import cut_to_word


@dataclass(frozen=True, slots=True)
class Split:
    """A text in two parts; `kept + new` is the whole text."""

    kept: str
    """Of a source, the prefix that stood in the update before, hence in the cache; of an output, what was accepted."""
    new: str


@dataclass(frozen=True, slots=True)
class Case:
    """One segment by several methods."""

    segment: Segment
    source: tuple[Split, ...]
    """One an update."""
    outputs: dict[str, tuple[Split, ...]]
    """By method, one an update."""


def case_of(run: Run, segment_id: int, methods: Sequence[str] = ()) -> Case:
    """The case of one segment in the first repeat, by the methods named or by `rt`, the least and the greatest bias.

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
    units = {method: run.unit(0, segment_id, method) for method in methods or _telling(run)}
    missing = next((method for method, updates in units.items() if not updates), None)
    if missing:
        raise UsageError(f"{run.path} stops before segment {segment_id} by {missing}; let `livetrans bench run` go on")
    outputs = {method: tuple(map(_split_output, updates)) for method, updates in units.items()}
    return Case(segment, _split_sources([update.source for update in next(iter(units.values()))]), outputs)


def _telling(run: Run) -> list[str]:
    """The paper's three: re-translation, a modest bias, and continuous decoding or the greatest bias."""
    plain = [method for method in run.header.methods if not method.output_mask_k]
    biased = sorted((method for method in plain if method.bias), key=lambda method: method.bias or 0.0)
    modest = min(biased, key=lambda method: abs((method.bias or 0.0) - 0.2), default=None)
    last = next((method for method in plain if method.decoder == "cd"), biased[-1] if biased else None)
    chosen = [method.label for method in (plain[0], modest, last) if method is not None]
    return list(dict.fromkeys(chosen))


def _split_sources(sources: Sequence[str]) -> tuple[Split, ...]:
    splits, previous = [], ""
    for source in sources:
        kept = cut_to_word(source[: common_prefix_length(previous, source)], source)
        splits.append(Split(kept, source[len(kept) :]))
        previous = source
    return tuple(splits)


def _split_output(update: Update) -> Split:
    accepted = update.stats.accepted_tokens
    kept = update.text[: update.ends[accepted - 1]] if accepted else ""
    return Split(kept, update.text[len(kept) :])


def as_markdown(case: Case) -> str:
    """Underlined what was kept, bold what is new."""
    lines = [f"**Table 7: {_literal(case.segment.name)}**", "", "| | source |", "|---:|---|"]
    lines += _rows(case.source)
    for method, splits in case.outputs.items():
        lines += ["", f"| | {_literal(method)} |", "|---:|---|", *_rows(splits)]
    if case.segment.reference is not None:
        lines += ["", f"Reference: {_literal(case.segment.reference)}"]
    return "\n".join([*lines, "", "Underlined: kept (source in the cache, output accepted); bold: new.", ""])


def _rows(splits: Sequence[Split]) -> list[str]:
    return [f"| {number} | {_marked(split)} |" for number, split in enumerate(splits, 1)]


def _marked(split: Split) -> str:
    kept = f"<u>{_literal(split.kept)}</u>" if split.kept else ""
    new = split.new.lstrip()
    space = split.new[: len(split.new) - len(new)]
    return f"{kept}{space}**{_literal(new)}**" if new else kept


def _literal(text: str) -> str:
    """The text without anything that Markdown or HTML would act on."""
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{letter}" if letter in "\\`*_[]|~#" else letter for letter in text)
