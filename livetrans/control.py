"""The live controls that a screen or a signal handler may use; the pipeline implements them."""

from __future__ import annotations

from typing import Protocol


class Controls(Protocol):
    """Thread-safe: called from the main thread while the pipeline runs."""

    def pause(self, paused: bool) -> None: ...

    def set_bias(self, bias: float) -> None:
        """0..1; applies from the next update."""

    def set_mask_k(self, k: int) -> None:
        """k >= 0; applies from the next update."""

    def stop(self) -> None:
        """Stop listening, finish what was heard, then end: returns at once."""
