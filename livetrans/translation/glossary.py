"""A glossary: terms and their translations, from a file of two columns."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from livetrans.errors import UsageError
from livetrans.files import read_text
from livetrans.lm.families import Pairs
from livetrans.text import has_unspaced_script, one_line


class Glossary:
    """Terms and their translations; finds those that occur in a text."""

    def __init__(self, terms: Pairs) -> None:
        self._terms = {term.casefold(): (term, wanted) for term, wanted in terms}
        longest_first = sorted(self._terms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_whole_words, longest_first)) or r"(?!)")

    def occurring(self, text: str) -> Pairs:
        """Return the terms in the text, each once, in order; a longer term hides shorter ones in it."""
        found = (" ".join(match.group().split()).casefold() for match in self._pattern.finditer(text.casefold()))
        return tuple(self._terms[term] for term in dict.fromkeys(found))


def _whole_words(term: str) -> str:
    pattern = r"\s+".join(map(re.escape, term.split()))
    return pattern if has_unspaced_script(term) else rf"(?<!\w){pattern}(?!\w)"


def read_glossary(path: Path) -> Pairs:
    """Read terms and their translations: one a line, with a tab or a comma between; quotes as in CSV, `#` for comments.

    Raises:
        UsageError: the file cannot be read, a line has no two columns, or a term comes twice.
    """
    try:
        lines = read_text(path).splitlines()
    except OSError as fault:
        raise UsageError(f"the glossary {path} cannot be read ({fault.strerror}); name another file") from None
    terms: dict[str, tuple[str, str]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        delimiter = "\t" if "\t" in line else ","
        try:
            columns = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
        except csv.Error:  # a line of more than 131,072 characters
            columns = []
        columns = [one_line(column) for column in columns]
        if len(columns) != 2 or not all(columns):
            raise UsageError(
                f"line {number} of {path} is not a term and its translation; write both, with a tab or a comma between"
            )
        if columns[0].casefold() in terms:
            raise UsageError(f"line {number} of {path} has {columns[0]!r} again; keep one of its translations")
        terms[columns[0].casefold()] = (columns[0], columns[1])
    if not terms:
        raise UsageError(f"{path} holds no terms; write on each line a term, a tab or a comma, and its translation")
    return tuple(terms.values())
