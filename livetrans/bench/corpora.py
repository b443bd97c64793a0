"""What is translated: text revealed bit by bit, or transcripts as a recogniser really wrote them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from livetrans.bench.runfile import CorpusSummary, Segment
from livetrans.clock import ManualClock
from livetrans.errors import SessionError, UsageError
from livetrans.events import Notice, Transcript
from livetrans.files import may_be_json_lines, read_text
from livetrans.languages import Language
from livetrans.session.codec import EVENTS_FILE
from livetrans.session.recorded import RecordedTranscripts


@dataclass(frozen=True, slots=True)
class SourceUpdate:
    """A grown source, and for recorded streams its times in seconds (see `livetrans.bench.runfile.Update`)."""

    source: str
    final: bool
    end: float | None = None
    captured: float | None = None
    due: float | None = None


@dataclass(frozen=True, slots=True)
class CorpusSegment:
    segment: Segment
    updates: tuple[SourceUpdate, ...]
    """At least one, the last of them final."""


@dataclass(frozen=True, slots=True)
class Corpus:
    summary: CorpusSummary
    segments: tuple[CorpusSegment, ...]


def text_corpus(
    source: Path,
    reference: Path | None,
    languages: tuple[Language, Language],
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
    sources = read_sentences(source)
    references: Sequence[str | None] = [None] * len(sources)
    if reference is not None:
        references = read_sentences(reference)
        if len(references) != len(sources):
            raise UsageError(
                f"{source.name} has {len(sources)} lines but {reference.name} has {len(references)}; "
                "give files whose lines belong together"
            )
    spaced = languages[0].spaced
    pairs = [
        (f"{source.name}:{line}", text, wanted)
        for line, (text, wanted) in enumerate(zip(sources, references, strict=True), 1)
        if len(text.split() if spaced else text) >= minimum_words
    ]
    unit = "words" if spaced else "characters"
    if not pairs:
        raise UsageError(f"{source.name} has no sentence of {minimum_words} {unit}; give a smaller --minimum-words")
    segments = tuple(
        CorpusSegment(Segment(number, name, text, wanted), reveal(text, step, spaced=spaced))
        for number, (name, text, wanted) in enumerate(pairs[:sentences])
    )
    return _corpus("text", source.name, languages, segments, step, unit, minimum_words)


def read_sentences(path: Path) -> list[str]:
    """Return the lines of a text file, spaces tidied.

    Raises:
        UsageError: it cannot be used; the sentence names the line.
    """
    try:
        lines = read_text(path).removesuffix("\n").split("\n")
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}; name a text file with a sentence on each line") from None
    except OSError as fault:
        raise UsageError(f"{path} cannot be read ({fault.strerror}); name a text file") from None
    sentences = [" ".join(line.split()) for line in lines]
    if not any(sentences):
        raise UsageError(f"{path} is empty; name a text file with a sentence on each line")
    if "" in sentences:
        raise UsageError(f"line {sentences.index('') + 1} of {path} is empty; every line must hold a sentence")
    return sentences


def reveal(text: str, step: int, *, spaced: bool) -> tuple[SourceUpdate, ...]:
    """Return the growing prefixes of a sentence, `step` words (or characters) more each time; the last is final."""
    units = text.split() if spaced else list(text)
    separator = " " if spaced else ""
    prefixes = [separator.join(units[:end]).rstrip() for end in range(step, len(units), step)]
    # A prefix that ends in a space says no more than the one before it.
    partials = [prefix for prefix in dict.fromkeys(prefixes) if prefix]
    return (*(SourceUpdate(prefix, False) for prefix in partials), SourceUpdate(text, True))


def recorded_corpus(
    path: Path,
    reference: Path | None,
    languages: tuple[Language, Language],
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
        text = _reference_text(stream, name, reference, languages[1].code)
        segments += _stream_segments(stream, name, text, len(segments), notify)
    segments = segments[:sentences]
    if not segments:
        raise SessionError(f"{path} holds no transcript with words; give a session or a folder of them")
    return _corpus("recorded", path.resolve().name, languages, tuple(segments), 0, "")


def transcript_corpus(transcripts: Iterable[Transcript], name: str, languages: tuple[Language, Language]) -> Corpus:
    """Return the transcripts of one run that was just heard, without times and references."""
    segments = tuple(
        CorpusSegment(Segment(number, f"{name}:{number + 1}", updates[-1].source, stream=name), updates)
        for number, (_, updates) in enumerate(_segments((transcript, 0.0) for transcript in transcripts))
    )
    return _corpus("recorded", name, languages, segments, 0, "")


def find_streams(path: Path) -> list[Path]:
    """Return the streams at a path, in the order of their names."""
    if path.is_file() and not may_be_json_lines(path):
        raise UsageError(f"{path} is not a transcript stream; give a session, a .jsonl file or a folder of them")
    if path.is_file() or (path / EVENTS_FILE).is_file():
        return [path]
    if not path.is_dir():
        raise UsageError(f"there is no transcript stream {path}; give a session, a .jsonl file or a folder of them")
    streams = [entry for entry in path.iterdir() if entry.suffix == ".jsonl" or (entry / EVENTS_FILE).is_file()]
    if not streams:
        raise UsageError(f"{path} holds no session and no .jsonl file; name a folder of transcript streams")
    return sorted(streams)


def _stream_segments(
    stream: Path, name: str, reference: list[str] | None, first_id: int, notify: Callable[[Notice], None] | None
) -> Iterator[CorpusSegment]:
    clock = ManualClock()  # moved by hand, without waiting, to the instant at which each transcript came
    transcripts = RecordedTranscripts(stream, clock, real_time=True, notify=notify)
    segments = list(_segments((transcript, clock.now()) for transcript in transcripts))
    by_line = reference if reference and len(reference) == len(segments) else None
    for number, (start, updates) in enumerate(segments):
        whole = " ".join(reference) if reference and not by_line and number == len(segments) - 1 else None
        segment = Segment(
            segment_id=first_id + number,
            name=f"{name}:{number + 1}",
            source=updates[-1].source,
            reference=by_line[number] if by_line else None,
            stream=name,
            start=start if updates[-1].end is not None else None,
            stream_reference=whole,
        )
        yield CorpusSegment(segment, updates)


def _segments(transcripts: Iterable[tuple[Transcript, float]]) -> Iterator[tuple[float, tuple[SourceUpdate, ...]]]:
    """Yield start and updates of each segment, those without words left out; segments in the order of their finals."""
    waiting: dict[int, list[SourceUpdate]] = {}
    for transcript, due in transcripts:
        updates = waiting.setdefault(transcript.segment_id, [])
        if transcript.text:
            updates.append(
                SourceUpdate(transcript.text, transcript.final, transcript.end or None, transcript.captured_at, due)
            )
        if transcript.final:
            del waiting[transcript.segment_id]
            if updates and updates[-1].final:
                yield transcript.start, tuple(updates)


def _reference_text(stream: Path, name: str, reference: Path | None, language: str) -> list[str] | None:
    if reference is not None and reference.is_file():
        return read_sentences(reference)
    folder = reference or stream.parent
    candidates = [folder / f"{name}.{language}.txt"]
    if reference is not None:
        # Beside the streams a bare NAME.txt is more likely in the language of the source.
        candidates.append(folder / f"{name}.txt")
    return next((read_sentences(candidate) for candidate in candidates if candidate.is_file()), None)


def _corpus(
    kind: str,
    name: str,
    languages: tuple[Language, Language],
    segments: tuple[CorpusSegment, ...],
    step: int,
    step_unit: str,
    minimum_words: int = 1,
) -> Corpus:
    digest = hashlib.sha256()
    for one in segments:
        digest.update(repr((one.segment.reference, one.segment.stream_reference)).encode())
        digest.update("\n".join(update.source for update in one.updates).encode("utf-8", "replace"))
    source, target = languages
    about = source.code, target.code, len(segments), step, step_unit, minimum_words
    return Corpus(CorpusSummary(kind, name, digest.hexdigest(), *about), segments)
