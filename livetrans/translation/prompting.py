"""The prompt of an update: its languages, earlier sentences, and the terms of the glossary that occur in it."""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Callable
from pathlib import Path

from livetrans.errors import UsageError
from livetrans.events import Notice, Transcript
from livetrans.files import read_text
from livetrans.languages import Language, parse_language
from livetrans.lm.families import TEMPLATES, Pairs
from livetrans.lm.port import LanguageModel
from livetrans.lm.prompts import Prompt, build_prompt
from livetrans.text import has_unspaced_script, one_line


class Prompts:
    """The prompts of a run into one language.

    The text before the terms changes only when a segment ends, so that the model's cache keeps it. If a prompt leaves
    too little room in the model's context, the oldest sentences are dropped first.
    """

    def __init__(
        self,
        model: LanguageModel,
        prompt: Prompt,
        languages: tuple[Language, Language],
        *,
        room: int,
        history: int = 0,
        glossary: Pairs = (),
        notify: Callable[[Notice], None] = lambda notice: None,
    ) -> None:
        """`prompt` has no context; `room`: tokens for the longest source and output; `history`: most pairs.

        Warns once if the template takes no earlier sentences, or no terms.
        """
        self._model = model
        self._name = prompt.name
        self._source, self._target = languages
        self._room = room
        self._notify = notify
        template = TEMPLATES[prompt.name]
        if history and not template.history:
            notify(Notice("warning", f"{model.name} translates sentences that stand alone; --history has no effect."))
        if glossary and not template.terms:
            text = f"{model.name} follows no instructions about terms; only the recogniser gets the glossary."
            notify(Notice("warning", text))
        if history and template.history:
            # A file's own template may refuse earlier sentences: now, and not at the second sentence of a run.
            build_prompt(model, prompt.name, *languages, (("", ""),) * history)
        self._pairs: deque[tuple[str, str]] = deque(maxlen=history if template.history else 0)
        self._glossary = Glossary(glossary if template.terms else ())
        self._newest_segment = -1
        self._reported: set[str] = set()
        """Terms that were reported since the newest segment began."""
        self._unknown: set[str] = set()
        self._written_for: tuple[Language, Pairs, Pairs] = self._source, (), ()
        self._current = prompt

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms in the last prompt."""
        return tuple(term for term, _ in self._written_for[2])

    def choose(self, transcript: Transcript) -> Prompt:
        """Return the prompt of an update; report each term once in a segment."""
        source = self._spoken(transcript)
        if source != self._source:
            self._source = source
            self._pairs.clear()
        if transcript.segment_id > self._newest_segment:
            self._newest_segment = transcript.segment_id
            self._reported.clear()
        terms = self._glossary.occurring(transcript.text)
        for term, wanted in terms:
            if term not in self._reported:
                self._notify(Notice("info", f"glossary: {term} → {wanted}"))
        self._reported.update(term for term, _ in terms)
        return self._prompt_for(tuple(self._pairs), terms)

    def remember(self, source: str, translation: str) -> None:
        """Add a final to the earlier sentences."""
        if translation:
            self._pairs.append((source, translation))

    def _spoken(self, transcript: Transcript) -> Language:
        """Return the detected language if the model knows it, otherwise the current one."""
        if transcript.language is None or transcript.language in (self._source.whisper_code, *self._unknown):
            return self._source
        try:
            language = parse_language(transcript.language)
            build_prompt(self._model, self._name, language, self._target)
        except UsageError as error:
            self._unknown.add(transcript.language)
            self._notify(Notice("warning", f"{error}."))
            return self._source
        return language

    def _prompt_for(self, pairs: Pairs, terms: Pairs) -> Prompt:
        if (self._source, pairs, terms) == self._written_for:
            return self._current
        longest = self._model.context_tokens - self._room
        while True:
            prompt = build_prompt(self._model, self._name, self._source, self._target, pairs, terms)
            if len(prompt.before) + len(prompt.after) <= longest or not (pairs or terms):
                break
            pairs, terms = (pairs[1:], terms) if pairs else (pairs, terms[:-1])
        while len(self._pairs) > len(pairs):
            self._pairs.popleft()
        self._written_for, self._current = (self._source, pairs, terms), prompt
        return prompt


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
