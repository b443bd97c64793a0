"""The glossary file: terms, their translations, and how they were heard."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path

from livetrans.base.errors import UsageError
from livetrans.base.files import read_text, replacing
from livetrans.base.languages import LANGUAGES
from livetrans.base.text import one_line
from livetrans.config import Term

KEEP = "="
"""The translation of a term that stays as it is."""
LONGEST = 8
"""Most words of a line that is a term alone: a longer one is a sentence, of another file."""
_COLUMNS = "write a term, a tab or a comma, its translation, and optionally how it was heard (a | b)"


def read_terms(path: Path) -> tuple[tuple[Term, ...], list[str]]:
    """Read a glossary; return its terms, and a sentence for each line that cannot be used.

    A line has a term, its translation (`=` keeps the term; nothing has it heard right, and keeps a name where names are
    copied), and the spellings that were heard, with `|` between. `de: ...` limits a spelling to one spoken language,
    and a translation to one of captions. Columns are divided by tabs, or by
    commas with quotes as in CSV. `#` begins a comment.

    Raises:
        UsageError: the file cannot be read, or has no term.
    """
    try:
        lines = read_text(path).splitlines()
    except OSError as fault:
        raise UsageError(f"the glossary {path} cannot be read ({fault.strerror}); name another file") from None
    terms: dict[str, Term] = {}
    faults: list[str] = []
    heard: dict[tuple[str, str], str] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        place = f"line {number} of {path}"
        term = _term(line)
        if term is None:
            faults.append(f"{place} is not a term; {_COLUMNS}")
        elif term.text.casefold() in terms:
            faults.append(f"{place} has {term.text!r} again; keep one of its lines")
        else:
            other = next((heard[key] for key in _keys(term) if key in heard), None)
            if other:
                faults.append(f"{place} has a spelling that {other!r} has too; a spelling can mean one term only")
                continue
            terms[term.text.casefold()] = term
            heard |= dict.fromkeys(_keys(term), term.text)
    if not terms:
        raise UsageError(faults[0] if faults else f"{path} holds no terms; on each line, {_COLUMNS}")
    return tuple(terms.values()), faults


def add_spelling(path: Path, written: str, heard: str) -> None:
    """Write into a glossary that `written` was heard as `heard`, and nothing else was: on its line, or on a new one.

    Raises:
        UsageError: the file is not text.
        OSError: it cannot be read or written.
    """
    lines = read_text(path).splitlines() if path.exists() else []
    is_written = False
    for place, line in enumerate(lines):
        term = None if line.lstrip().startswith("#") else _term(line)
        if term is None:
            continue
        delimiter, columns = _columns(line)
        columns += [""] * (3 - len(columns))
        spellings = [part.strip() for part in columns[2].split("|") if part.strip()]
        changed = [part for part in spellings if for_language(part)[0].casefold() != heard.casefold()]
        if term.text.casefold() == written.casefold():
            is_written = True
            changed.append(heard)
        if changed != spellings:
            columns[2] = " | ".join(changed)
            lines[place] = delimiter.join(map(_quoted, columns)).rstrip(delimiter)
    if not is_written:
        lines.append("\t".join(map(_quoted, (written, KEEP, heard))))
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.writelines(f"{line}\n" for line in lines)


def changed_at(path: Path) -> tuple[int, int] | None:
    """Return what differs once the file was written again; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _term(line: str) -> Term | None:
    """Return the term of a line; None if it has none."""
    try:
        columns = _columns(line)[1]
    except csv.Error:  # a line of more than 131,072 characters
        return None
    text, translation, heard, *others = [*map(one_line, columns), "", ""]
    is_long = len(columns) == 1 and len(text.split()) > LONGEST
    if not any(map(str.isalnum, text)) or any(others) or is_long:
        return None
    spellings = (for_language(part) for part in heard.split("|"))
    return Term(text, text if translation == KEEP else translation, tuple(one for one in spellings if one[0]))


def _columns(line: str) -> tuple[str, list[str]]:
    """Return the delimiter of a line, and its columns."""
    delimiter = "\t" if "\t" in line else ","
    return delimiter, next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))


def for_language(text: str) -> tuple[str, str]:
    """Return a spelling or a translation, and the code of the language that it is for; an empty code for all."""
    code, colon, rest = text.partition(":")
    if colon and code.strip().lower() in LANGUAGES:
        return rest.strip(), code.strip().lower()
    return text.strip(), ""


def _keys(term: Term) -> Sequence[tuple[str, str]]:
    return [(spelling.casefold(), language) for spelling, language in term.heard]


def _quoted(column: str) -> str:
    needs_quotes = column.startswith("#") or any(sign in column for sign in ',"')
    return f'"{column.replace(chr(34), chr(34) * 2)}"' if needs_quotes else column
