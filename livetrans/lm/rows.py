"""What decoders ask of a model's predictions: of logits, and of the few log-probabilities that a server sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Rows(Protocol):
    """Predictions of consecutive tokens, by row; a negative row counts from the end, as in a list."""

    def choice(self, row: int) -> int:
        """Return the most likely token."""

    def regret(self, row: int, token: int) -> float:
        """Return log p(choice) - log p(token), in nats. A server states it for the token that was asked about."""

    def confidence(self, row: int) -> float:
        """Return p(choice)."""


class Logits:
    """Rows of logits, of shape (rows, vocabulary)."""

    def __init__(self, logits: NDArray[np.float32]) -> None:
        self.logits = logits
        self._choices = logits.argmax(axis=1)

    def choice(self, row: int) -> int:
        return int(self._choices[row])

    def regret(self, row: int, token: int) -> float:
        return float(self.logits[row, self._choices[row]] - self.logits[row, token])

    def confidence(self, row: int) -> float:
        import numpy as np

        logits = self.logits[row]
        return 1.0 / float(np.exp(logits - logits[self._choices[row]]).sum())
