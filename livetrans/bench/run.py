"""A run: every method on every segment, interleaved; each unit is appended to the run file as soon as it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from livetrans.bench.corpora import Corpus, CorpusSegment
from livetrans.bench.methods import settings_of
from livetrans.bench.runfile import Header, MethodRecord, Run, Segment, Update, read_run, to_line
from livetrans.clock import Clock
from livetrans.decoding import DraftModel
from livetrans.errors import ContextError, SessionError, UsageError
from livetrans.events import Transcript
from livetrans.lm.port import LanguageModel
from livetrans.lm.prompts import Prompt, TextOf, text_of_tokens
from livetrans.sequences import common_prefix_length
from livetrans.translation.translator import Translator

Unit = tuple[int, CorpusSegment, MethodRecord]
"""Repeat, segment, method."""

OnUnit = Callable[[CorpusSegment], None]

_Place = tuple[int, str | int]

_REMEMBERED_OUTPUTS = 1000


def _key(unit: Unit) -> tuple[int, int, str]:
    repeat, segment, method = unit
    return repeat, segment.segment.segment_id, method.label


def _place(unit: Unit) -> _Place:
    """Repeat, and the stream whose segments are one text; a sentence of a text is one by itself."""
    repeat, segment, _ = unit
    return repeat, segment.segment.stream or segment.segment.segment_id


class RunWriter:
    """Appends whole units to a run file; an existing file of the same run is continued behind its last whole unit."""

    def __init__(self, path: Path, header: Header, segments: Sequence[Segment], *, overwrite: bool = False) -> None:
        """Open the file.

        Raises:
            UsageError: a file of something else or no file, such as a device, is there, and `overwrite` is not set.
            SessionError: it cannot be written.
        """
        self._path = path
        self.done: frozenset[tuple[int, int, str]] = frozenset()
        if path.exists() and not path.is_file() and not overwrite:
            raise UsageError(f"{path} is not a file; choose another name with -o")
        try:
            if overwrite or _is_unbegun(path, to_line(header).encode()):
                path.parent.mkdir(parents=True, exist_ok=True)
                self._stream: BinaryIO = path.open("wb")
                self._write(to_line(header))
            else:
                run = self._continued(header, segments)
                self.done = frozenset(update.unit for update in run.updates)
                self._stream = path.open("r+b")
                whole = b"".join(islice(self._stream, run.whole_lines))
                self._stream.truncate(len(whole))
                self._stream.seek(len(whole))
                if not whole.endswith(b"\n"):
                    self._write("\n")
                segments = segments[len(run.segments) :]
            self._write("".join(map(to_line, segments)))
        except OSError as fault:
            raise self._fault(fault) from fault

    def _continued(self, header: Header, segments: Sequence[Segment]) -> Run:
        try:
            run = read_run(self._path)
        except SessionError as fault:
            raise UsageError(
                f"{self._path} exists and cannot be continued ({fault}); "
                "choose another name with -o, or --force to overwrite it"
            ) from None
        if run.header != header or run.segments != tuple(segments)[: len(run.segments)]:
            raise UsageError(
                f"{self._path} holds another run ({_differences(run, header, segments)}); "
                "choose another name with -o, or --force to overwrite it"
            )
        return run

    def write_unit(self, updates: Sequence[Update]) -> None:
        """Append a unit and hand it to the system.

        Raises:
            SessionError: it cannot be written.
        """
        try:
            self._write("".join(map(to_line, updates)))
        except OSError as fault:
            raise self._fault(fault) from fault

    def _write(self, text: str) -> None:
        self._stream.write(text.encode())
        self._stream.flush()

    def _fault(self, fault: OSError) -> SessionError:
        reason = fault.strerror or str(fault)
        return SessionError(f"{self._path} cannot be written ({reason}); free space or choose another place")

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()


def _is_unbegun(path: Path, header: bytes) -> bool:
    """Whether nothing would be lost by beginning anew: no file, an empty one, or a part of our own header line."""
    if not path.exists():
        return True
    with path.open("rb") as stream:
        line = stream.readline(len(header) + 1)
    return line != header and header.startswith(line)


def _differences(run: Run, new: Header, segments: Sequence[Segment]) -> str:
    """What differs between a file and a new run, in words."""
    old = run.header
    found = []
    if (old.corpus.segments, old.corpus.name) != (new.corpus.segments, new.corpus.name):
        found.append(
            " not ".join(f"{each.corpus.segments} sentences of {each.corpus.name}," for each in (old, new))[:-1]
        )
    elif run.segments != tuple(segments)[: len(run.segments)]:
        pairs = list(zip(run.segments, segments, strict=False))
        parts = {"source": "other source texts", "reference": "other references"}
        own = [text for part, text in parts.items() if any(getattr(a, part) != getattr(b, part) for a, b in pairs)]
        found += own or ["other segments"]
    elif old.corpus.sha256 != new.corpus.sha256:
        found.append("other source texts, references or updates")
    for name in Header.__dataclass_fields__:
        before, now = getattr(old, name), getattr(new, name)
        parts = getattr(type(now), "__dataclass_fields__", {})
        told = ("corpus name", "corpus segments", "corpus sha256")
        for what, mine, theirs in [
            (f"{name} {part}", getattr(before, part, None), getattr(now, part)) for part in parts
        ] or [(name, before, now)]:
            if mine != theirs and what not in told:
                found.append(f"{what.replace('_', ' ')}: {_said(mine)}, not {_said(theirs)}")
    return "; ".join(found)


def _said(value: object) -> str:
    """A part of a header in words."""
    if isinstance(value, tuple):
        return ",".join(method.label for method in value)
    return ", ".join(map(str, value.values())) if isinstance(value, dict) else str(value)


def units(corpus: Corpus, methods: Sequence[MethodRecord], repeats: int) -> Iterator[Unit]:
    """Every unit of a run: methods take turns segment by segment, another one first each time.

    So a machine that drifts, or a segment that finds warm caches, favours no method.
    """
    for repeat in range(repeats):
        for number, segment in enumerate(corpus.segments):
            turn = (number + repeat) % len(methods)
            for method in (*methods[turn:], *methods[:turn]):
                yield repeat, segment, method


@dataclass(frozen=True, slots=True)
class MethodModels:
    """What a method translates with: a context of its own, maybe over shared weights."""

    model: LanguageModel
    prompt: Prompt
    draft_model: DraftModel | None = None


class Bench:
    """Runs units; `models` by method label."""

    def __init__(self, models: Mapping[str, MethodModels], header: Header, clock: Clock) -> None:
        self._models = models
        self._header = header
        self._clock = clock
        self._translators: dict[str, tuple[_Place, Translator]] = {}
        self._ends: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._texts_of = {label: text_of_tokens(own.model) for label, own in models.items()}

    def run(self, corpus: Corpus, writer: RunWriter, on_unit: OnUnit = lambda segment: None) -> None:
        """Run what the writer's file lacks; `on_unit` gets the segment of each unit that was written.

        A stream that an interruption cut is translated again from its beginning, without being written, so that its
        next segment finds the draft that a split left.

        Raises:
            ContextError: a sentence is too long for the model's context.
            SessionError: the file cannot be written.
        """
        all_units = list(units(corpus, self._header.methods, self._header.repeats))
        lacking = {(_place(unit), unit[2].label) for unit in all_units if _key(unit) not in writer.done}
        for unit in all_units:
            repeat, segment, method = unit
            if (_place(unit), method.label) in lacking:
                updates = self.unit(repeat, segment, method)
                if _key(unit) not in writer.done:
                    writer.write_unit(updates)
                    on_unit(segment)

    def run_in_memory(
        self,
        corpus: Corpus,
        on_too_long: Callable[[Segment, ContextError], None],
        on_unit: OnUnit = lambda segment: None,
    ) -> tuple[Update, ...]:
        """Run all of it; a segment that is too long for the model's context is left out for all methods."""
        done: list[Update] = []
        left_out: set[int] = set()
        for repeat, segment, method in units(corpus, self._header.methods, self._header.repeats):
            if segment.segment.segment_id in left_out:
                continue
            try:
                done += self.unit(repeat, segment, method)
            except ContextError as error:
                left_out.add(segment.segment.segment_id)
                on_too_long(segment.segment, error)
            else:
                on_unit(segment)
        return tuple(update for update in done if update.segment_id not in left_out)

    def unit(self, repeat: int, segment: CorpusSegment, method: MethodRecord) -> list[Update]:
        """Translate one segment by one method; what a split left of the draft goes on from segment to segment."""
        own = self._models[method.label]
        place, translator = self._translators.get(method.label, (None, None))
        if translator is None or place != _place((repeat, segment, method)):
            settings = settings_of(method, self._header.maximum_output_tokens, self._header.sampling)
            translator = Translator(own.model, own.prompt, *settings, own.draft_model)
            self._translators[method.label] = _place((repeat, segment, method)), translator
        # Caches start from the template alone, whichever unit came before: a resumed run equals a whole one.
        for model in (own.model, *([own.draft_model.model] if own.draft_model else [])):
            model.evaluate((*own.prompt.before, *own.prompt.after))
        identity = segment.segment.segment_id
        updates = []
        for number, source in enumerate(segment.updates):
            transcript = Transcript(identity, number, source.source, "", source.final, 0.0, source.end or 0.0)
            started = self._clock.now()
            translation = translator.translate(transcript)
            seconds = self._clock.now() - started
            updates.append(
                Update(
                    repeat=repeat,
                    segment_id=identity,
                    method=method.label,
                    update=number,
                    final=source.final,
                    source=source.source,
                    tokens=translation.tokens,
                    text=translation.text,
                    ends=self._ends_of(translation.tokens, translation.text, self._texts_of[method.label]),
                    stats=translation.stats,
                    update_seconds=seconds,
                    end=source.end,
                    captured=source.captured,
                    due=source.due,
                    accepted=translation.accepted,
                )
            )
        return updates

    def _ends_of(self, tokens: tuple[int, ...], text: str, text_of: TextOf) -> tuple[int, ...]:
        """Characters of `text` that are there after each token; the methods of a segment often write the same."""
        if tokens not in self._ends:
            if len(self._ends) >= _REMEMBERED_OUTPUTS:
                self._ends.clear()
            prefixes = (text_of(tokens[:count]) for count in range(1, len(tokens) + 1))
            self._ends[tokens] = tuple(common_prefix_length(prefix, text) for prefix in prefixes)
        return self._ends[tokens]
