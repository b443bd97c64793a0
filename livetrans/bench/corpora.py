"""What is translated: text revealed bit by bit, or transcripts as a recogniser really wrote them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from livetrans.base.clock import ManualClock
from livetrans.base.errors import SessionError, UsageError
from livetrans.base.files import begins_with, may_be_json_lines, read_text
from livetrans.base.languages import AUTO, Language, same_written_language
from livetrans.bench.runfile import BEGINNING, CorpusSummary, Segment
from livetrans.events import Notice, Transcript
from livetrans.session.codec import EVENTS_FILE
from livetrans.session.recorded import RecordedTranscripts


@dataclass(frozen=True, slots=True)
class SourceUpdate:
    """A grown source, and for recorded streams its times in seconds (see `livetrans.bench.runfile.Update`)."""

    source: str
    final: bool
    order: int
    """Place among all updates of its stream, from 0; a sentence of a text is a stream by itself."""
    end: float | None = None
    captured: float | None = None
    due: float | None = None
    ended: bool = False


@dataclass(frozen=True, slots=True)
class CorpusSegment:
    segment: Segment
    updates: tuple[SourceUpdate, ...]
    """At least one, the last of them final."""


@dataclass(frozen=True, slots=True)
class Corpus:
    summary: CorpusSummary
    segments: tuple[CorpusSegment, ...]


Languages = tuple[Language, Language]
"""Languages of the source and of the translation."""


def text_corpus(
    source: Path,
    reference: Path | None,
    languages: Languages,
    *,
    step: int = 3,
    sentences: int | None = None,
    minimum_words: int = 1,
) -> Corpus:
    """Return parallel files, a sentence a line, revealed `step` words at a time (characters in scripts without spaces).

    `sentences` takes the first of those that have `minimum_words` or more (characters, as above).

    Raises:
        UsageError: a file that is absent, not text, empty, of another length, or that has an empty line.
    """
    if begins_with(source, BEGINNING) or begins_with(source, b'{"event": '):
        kind = "a run of the benchmark" if begins_with(source, BEGINNING) else "a recorded transcript stream"
        raise UsageError(f"{source} is {kind}, not a text; give a text, or a transcript stream with --recorded")
    sources = read_sentences(source)
    references = read_sentences(reference) if reference else [None] * len(sources)
    if reference and len(references) != len(sources):
        raise UsageError(
            f"{source.name} has {len(sources)} lines but {reference.name} has {len(references)}; "
            "give files whose lines belong together"
        )
    spaced = languages[0].spaced
    unit = "words" if spaced else "characters"
    segments: list[CorpusSegment] = []
    for line, (text, wanted) in enumerate(zip(sources, references, strict=True), 1):
        if len(text.split() if spaced else text) >= minimum_words and len(segments) != sentences:
            segment = Segment(len(segments), f"{source.name}:{line}", text, wanted)
            segments.append(CorpusSegment(segment, reveal(text, step, spaced=spaced)))
    if not segments:
        raise UsageError(f"{source.name} has no sentence of {minimum_words} {unit}; give a smaller --minimum-words")
    return _corpus("text", source.name, languages, segments, step, unit, minimum_words)


def read_sentences(path: Path) -> list[str]:
    """Return the lines of a text file, spaces tidied.

    Raises:
        UsageError: it cannot be used; the sentence names the line.
    """
    try:
        lines = read_text(path).removesuffix("\n").split("\n")
    except OSError as fault:
        reason = fault.strerror or str(fault)
        raise UsageError(f"{path} cannot be read ({reason}); name a text file with a sentence on each line") from None
    sentences = [" ".join(line.split()) for line in lines]
    if "" in sentences:
        raise UsageError(f"line {sentences.index('') + 1} of {path} is empty; every line must hold a sentence")
    return sentences


def reveal(text: str, step: int, *, spaced: bool) -> tuple[SourceUpdate, ...]:
    """Return the growing prefixes of a sentence, `step` words (or characters) more each time; the last is final."""
    units = text.split() if spaced else list(text)
    prefixes = [(" " if spaced else "").join(units[:end]).rstrip() for end in range(step, len(units), step)]
    # A prefix that ends in a space adds nothing to the one before it.
    partials = [prefix for prefix in dict.fromkeys(prefixes) if prefix]
    return tuple(SourceUpdate(prefix, prefix == text, order) for order, prefix in enumerate((*partials, text)))


def recorded_corpus(
    path: Path,
    reference: Path | None,
    languages: Languages,
    *,
    sentences: int | None = None,
    notify: Callable[[Notice], None] | None = None,
) -> Corpus:
    """Return a session, a .jsonl file of transcripts, or a folder of such; partials as recorded, rewrites included.

    `reference` is a text file for one stream, or a folder that holds `NAME.LANGUAGE.txt` or `NAME.txt` for stream
    NAME; without it, `NAME.LANGUAGE.txt` is looked for beside the streams. Where a file has a line for each of the
    stream's segments, these are the segments' references, otherwise it is the whole stream's. A stream without one is
    not scored.

    Raises:
        UsageError: no stream there, or a reference that is named and absent.
        SessionError: a stream that cannot be read.
    """
    streams = find_streams(path)
    if reference is not None and not reference.exists():
        raise UsageError(f"there is no reference {reference}; name a text file, or a folder of them")
    if reference is not None and reference.is_file() and len(streams) > 1:
        raise UsageError(f"{reference} is one reference for {len(streams)} streams; name a folder with one for each")
    segments: list[CorpusSegment] = []
    for stream in streams:
        name = stream.name if stream.is_dir() else stream.stem
        clock = ManualClock()  # moved by hand, without waiting, to the instant at which each transcript came
        transcripts = RecordedTranscripts(stream, clock, real_time=True, notify=notify)
        heard = ((one, clock.now()) for one in transcripts if _is_spoken(one, languages[0]))
        of_stream = list(_segments(heard, name, len(segments)))
        lines = _reference_lines(stream, name, reference, languages[1].code)
        for number, one in enumerate(of_stream):
            segment = one.segment
            if len(lines) == len(of_stream):
                segment = replace(segment, reference=lines[number])
            elif lines and number == len(of_stream) - 1:
                segment = replace(segment, stream_reference=" ".join(lines))
            segments.append(replace(one, segment=segment))
    if not segments[:sentences]:
        raise SessionError(f"{path} holds no transcript with words; give a session or a folder of them")
    return _corpus("recorded", path.resolve().name, languages, segments[:sentences])


def find_streams(path: Path) -> list[Path]:
    """Return the streams at a path, in the order of their names; the run files in a folder are none."""
    if (path.is_file() and may_be_json_lines(path)) or (path / EVENTS_FILE).is_file():
        return [path]
    if not path.is_dir():
        problem = f"{path} is not a transcript stream" if path.exists() else f"there is no transcript stream {path}"
        raise UsageError(f"{problem}; give a session, a .jsonl file or a folder of them")
    found = [entry for entry in path.iterdir() if entry.suffix == ".jsonl" or (entry / EVENTS_FILE).is_file()]
    streams = [entry for entry in found if not begins_with(entry, BEGINNING)]  # A run may be written beside them.
    if not streams:
        raise UsageError(f"{path} holds no session and no .jsonl file; name a folder of transcript streams")
    return sorted(streams)


def _is_spoken(transcript: Transcript, language: Language) -> bool:
    """Return whether a transcript is in the source language; one whose language is not known is taken to be."""
    return language.code == AUTO or same_written_language(transcript.language or language.code, language.code)


def _segments(transcripts: Iterable[tuple[Transcript, float]], stream: str, first_id: int) -> Iterator[CorpusSegment]:
    """Yield the segments of a stream in the order of their finals, without those that have no words.

    With each transcript comes the time at which it came.
    """
    waiting: dict[int, list[SourceUpdate]] = {}
    number = 0
    for order, (transcript, due) in enumerate(transcripts):
        updates = waiting.setdefault(transcript.segment_id, [])
        end = transcript.end or None
        if transcript.text:
            times = end, transcript.captured_at, due
            updates.append(SourceUpdate(transcript.text, transcript.final, order, *times, transcript.ended))
        if transcript.final:
            del waiting[transcript.segment_id]
            if updates and updates[-1].final:
                start = transcript.start if updates[-1].end is not None else None
                name = f"{stream}:{number + 1}"
                segment = Segment(first_id + number, name, transcript.text, stream=stream, start=start)
                yield CorpusSegment(segment, tuple(updates))
                number += 1


def _reference_lines(stream: Path, name: str, reference: Path | None, language: str) -> list[str]:
    """Return the lines of a stream's reference; none where it has no reference."""
    if reference is not None and reference.is_file():
        return read_sentences(reference)
    candidates = [(reference or stream.parent) / f"{name}.{language}.txt"]
    if reference is not None:
        # Beside the streams a bare NAME.txt is more likely in the language of the source.
        candidates.append(reference / f"{name}.txt")
    return next((read_sentences(candidate) for candidate in candidates if candidate.is_file()), [])


def _corpus(
    kind: str,
    name: str,
    languages: Languages,
    segments: Sequence[CorpusSegment],
    step: int = 0,
    step_unit: str = "",
    minimum_words: int = 1,
) -> Corpus:
    digest = hashlib.sha256()
    for one in segments:
        digest.update(repr((one.segment.reference, one.segment.stream_reference)).encode())
        digest.update("\n".join(update.source for update in one.updates).encode("utf-8", "replace"))
    source, target = languages
    about = source.code, target.code, len(segments), step, step_unit, minimum_words
    return Corpus(CorpusSummary(kind, name, digest.hexdigest(), *about), tuple(segments))
