"""The sink port: whatever watches events."""

from __future__ import annotations

from typing import Protocol

from livetrans.events import Record


class Sink(Protocol):
    """Receives every record, in order, one at a time (publish serialises them), on whichever thread published it."""

    def write(self, record: Record) -> None: ...

    def close(self) -> None:
        """The run has ended: flush and release. Called once."""
