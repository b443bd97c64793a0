"""From a run's events to its captions: the newest form of each, the marks of gaps, and names as the reader wrote them.

Screen, plain output, caption file, page, export and the panel's figures all read this one fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from livetrans.config import Term
from livetrans.events import Caption, Event, Gap, NameCorrected, Repair, Transcript
from livetrans.names.repair import SpellingRepairer, divided, form_of, forms_of

SEGMENTS_KEPT = 2000
"""Segments that a long run remembers: hours of speech."""

Key = tuple[int, str | None]
"""A caption's segment and language. A gap's mark has a negative number of its own, and no language."""


def key_of(caption: Caption) -> Key:
    return caption.segment_id, caption.language


class Captions:
    """The newest form of every caption, in the order in which the segments began.

    A final stands: nothing replaces it but the reader's correction of a name.
    """

    def __init__(self, kept: int | None = SEGMENTS_KEPT) -> None:
        """`kept`: how many segments, the newest; None for all."""
        self._kept = kept
        self._of: dict[int, dict[str | None, Caption]] = {}
        self._gaps = 0

    def feed(self, event: Event) -> list[Caption]:
        """Take an event; return the captions that are new or have changed by it, none for most events."""
        match event:
            case Caption():
                before = self.get(key_of(event))
                changed = [] if before and before.final else [event]
            case Gap():
                self._gaps += 1
                changed = [event.mark(-self._gaps)]
            case NameCorrected():
                changed = [right for one in self if (right := corrected_caption(one, event))]
            case _:
                return []
        for caption in changed:
            self._of.setdefault(caption.segment_id, {})[caption.language] = caption
        while self._kept is not None and len(self._of) > self._kept:
            del self._of[next(iter(self._of))]
        return changed

    def __iter__(self) -> Iterator[Caption]:
        # Copies, because another thread may add to them.
        return (caption for of_segment in list(self._of.values()) for caption in list(of_segment.values()))

    def get(self, key: Key) -> Caption | None:
        return self._of.get(key[0], {}).get(key[1])

    def has_final(self, segment_id: int) -> bool:
        return any(caption.final for caption in self._of.get(segment_id, {}).values())


@lru_cache
def _repairer_of(name: NameCorrected) -> SpellingRepairer:
    """Return what writes a corrected name wherever it stands as it was shown."""
    return SpellingRepairer((Term(name.written, "", ((name.shown, ""),)),))


def corrected_transcript(transcript: Transcript, name: NameCorrected) -> Transcript | None:
    """Return a transcript with the name that the reader corrected; None if it has not what was corrected.

    Where that was repaired to another term, only what was heard as the name was is changed.
    """
    # A run may have many corrections, and most texts have none of these words.
    if next(iter(forms_of(name.shown)), "") not in form_of(transcript.text):
        return None
    if name.shown == name.heard:
        right = _repairer_of(name).repaired(transcript)
        return right if len(right.repairs) > len(transcript.repairs) else None
    text, border = transcript.text, len(transcript.committed)
    longer = len(name.written) - len(name.shown)
    repairs: list[Repair] = []
    for repair in reversed(transcript.repairs):
        if (repair.heard.casefold(), text[repair.begin : repair.end]) == (name.heard.casefold(), name.shown):
            text = text[: repair.begin] + name.written + text[repair.end :]
            border += longer if repair.end <= border else 0
            repairs = [replace(one, begin=one.begin + longer, end=one.end + longer) for one in repairs]
            repair = replace(repair, end=repair.end + longer)
        repairs.insert(0, repair)
    if text == transcript.text:
        return None
    committed, partial = divided(text, border)
    return replace(transcript, committed=committed, partial=partial, repairs=tuple(repairs))


def corrected_caption(caption: Caption, name: NameCorrected) -> Caption | None:
    """Return a caption with the name that the reader corrected, in its source and where its text has the same word.

    None if the source has not what was corrected.
    """
    right = corrected_transcript(caption.transcript, name)
    if right is None:
        return None
    text = right.text if caption.untranslated else _repairer_of(name).repair(caption.text)[0]
    return replace(caption, transcript=right, text=text)


def is_only_translated(name: NameCorrected, captions: Iterable[Caption]) -> bool:
    """Return whether the reader corrects a word that the captions have, and that none of their sources has."""
    captions = list(captions)
    in_text = any(_repairer_of(name).repair(one.text)[1] for one in captions)
    return in_text and not any(corrected_caption(one, name) for one in captions)
