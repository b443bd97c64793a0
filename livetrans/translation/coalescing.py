"""Coalescing: what waits to be translated. Pure; the pipeline guards it with a lock."""

from __future__ import annotations

from collections import deque

from livetrans.events import Coalesced, Transcript


class LatestPerSegment:
    """The newest partial of a segment replaces the waiting one; finals queue and are never dropped.

    Bounded by one partial per segment plus the finals, which are text of what was really said and may not be lost.
    """

    def __init__(self) -> None:
        self._waiting: deque[Transcript] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, transcript: Transcript) -> Coalesced | None:
        """Add an update; returns what it replaced, if anything."""
        replaced = None
        if self._waiting and self._waiting[-1].segment_id == transcript.segment_id and not self._waiting[-1].final:
            old = self._waiting.pop()
            replaced = Coalesced(old.segment_id, old.revision)
        self._waiting.append(transcript)
        return replaced

    def take(self) -> Transcript:
        """The oldest waiting update.

        Raises:
            IndexError: nothing waits.
        """
        return self._waiting.popleft()
