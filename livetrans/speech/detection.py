"""The spoken language, detected by the passes of a recogniser or set by the user."""

from __future__ import annotations

CERTAIN = 0.5
"""Probability at which a detected language counts."""
AGREEING_PASSES = 3
"""Passes in a row that have to detect another language before it is taken: a name or a cough changes nothing."""


class SpokenLanguage:
    """One language at a time; `code` is None until a pass with words was certain of one."""

    def __init__(self, fixed: str | None) -> None:
        self._fixed = fixed
        self.code = fixed
        self._other: str | None = None
        self._passes = 0

    @property
    def is_detected(self) -> bool:
        return self._fixed is None

    def fix(self, code: str | None) -> None:
        """Take this language from the next pass on; None detects it again."""
        self._fixed = self.code = code
        self._other, self._passes = None, 0

    def choose(self, detected: str, probability: float) -> str:
        """Return the language to recognise a pass in, from the language that it detects and its probability."""
        if probability < CERTAIN or detected == self.code:
            self._other, self._passes = None, 0
            return self.code or detected
        self._passes = self._passes + 1 if detected == self._other else 1
        self._other = detected
        if self.code is not None and self._passes >= AGREEING_PASSES:
            self.code, self._other = detected, None
        return self.code or detected

    def found_words(self, language: str, probability: float) -> None:
        """Note that a pass in this language had words: the first certain language is kept."""
        if self.code is None and probability >= CERTAIN:
            self.code = language
