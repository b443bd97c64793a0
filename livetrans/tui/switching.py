"""The languages between which the keys switch: the current ones come first."""

from __future__ import annotations

from collections.abc import Sequence

from livetrans.languages import AUTO, LANGUAGES


class Switch:
    """Spoken and caption languages by code, in the order in which the keys go through them."""

    def __init__(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        self._sources, self._targets = list(sources), list(targets)
        self.detected: str | None = None
        """What was detected last."""

    def __str__(self) -> str:
        """`en → de`; `auto (French) → de` where the spoken language is detected; empty where nothing is known."""
        if not (self._sources and self._targets):
            return ""
        is_detected = self._sources[0] == AUTO and self.detected is not None
        detected = f" ({name_of(self.detected)})" if is_detected and self.detected else ""
        return f"{self._sources[0]}{detected} → {self._targets[0]}"

    def next_target(self) -> str | None:
        """Go to the next language of the captions; None where there is one only."""
        return _next(self._targets)

    def next_source(self) -> str | None:
        """Go to the next spoken language, `auto` among them; a detected one can be kept by this, too."""
        if AUTO in self._sources and self.detected and self.detected not in self._sources:
            self._sources.insert(1, self.detected)
        return _next(self._sources)


def _next(codes: list[str]) -> str | None:
    if len(codes) < 2:
        return None
    codes.append(codes.pop(0))
    return codes[0]


def name_of(code: str) -> str:
    """The English name of a language; a code of a session file that nobody knows stays as it is."""
    language = LANGUAGES.get(code.lower())
    return language.name if language else code
