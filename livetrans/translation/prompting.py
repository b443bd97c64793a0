"""The prompt of an update: its languages, earlier sentences, and the terms of the glossary that occur in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from livetrans.base.errors import UsageError
from livetrans.base.languages import Language, parse_language
from livetrans.config import Term
from livetrans.events import Notice, Transcript
from livetrans.lm.families import TEMPLATES, Pairs
from livetrans.lm.port import LanguageModel
from livetrans.lm.prompts import Prompt, build_prompt
from livetrans.lm.stand_ins import WithNames
from livetrans.names.wanted import Glossary, Wanted, wanted_of


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
        terms: tuple[Term, ...] = (),
        first: tuple[Language, Language] | None = None,
        notify: Callable[[Notice], None] = lambda notice: None,
    ) -> None:
        """`prompt` has no context; `room`: tokens for the longest source and output; `history`: most pairs.

        The translations of `terms` are for the run's `first` direction, this one without it (`wanted_of`).

        Warns once if the template takes no earlier sentences, or no terms.
        """
        self._model = model
        self.names = model if isinstance(model, WithNames) else None
        self._name = prompt.name
        self._source, self._target = languages
        self._room = room
        self._notify = notify
        template = TEMPLATES[prompt.name]
        if history and not template.history:
            notify(Notice("warning", f"{model.name} translates sentences that stand alone; --history has no effect."))
        if history and template.history:
            # A file's own template may refuse earlier sentences: now, and not at the second sentence of a run.
            build_prompt(model, prompt.name, *languages, (("", ""),) * history)
        self._pairs: deque[tuple[str, str]] = deque(maxlen=history if template.history else 0)
        self._takes_terms, self._first = template.terms, first or languages
        self.expect(terms)
        if not template.terms and any(not self._keeps(wanted) for wanted in self._wanted):
            text = f"{model.name} follows no instructions about terms; only the recognised text has them."
            if self.names:
                text = f"{model.name} follows no instructions about terms; captions keep only names."
            notify(Notice("warning", text))
        self._newest_segment = -1
        self._reported: set[str] = set()
        """Terms that were reported since the newest segment began."""
        self._unknown: set[str] = set()
        self._asked: tuple[Language, Pairs, Pairs] = self._source, (), ()
        """What the current prompt was asked for, with all terms."""
        self._terms: Pairs = ()
        """Those that had room in it."""
        self._current = prompt

    def expect(self, terms: tuple[Term, ...]) -> None:
        """Use these terms from the next update on."""
        self._expected = terms
        self._wanted = wanted_of(terms, self._source, self._target, self._first)
        self.glossary = Glossary(self._wanted, self._source.code)
        if self.names:
            self.names.glossary = self.glossary

    @property
    def terms(self) -> tuple[str, ...]:
        return tuple(term for term, _ in self._terms)

    def _keeps(self, wanted: Wanted) -> bool:
        """Return whether the prompt or the decoder has a term in a source."""
        return self._takes_terms or (wanted.is_name and self.names is not None)

    def beside(self, terms: Pairs) -> Prompt | None:
        """Return a prompt with these terms and nothing else beside the text; None if the model takes no terms."""
        if not self._takes_terms:
            return None
        return build_prompt(self._model, self._name, self._source, self._target, (), terms)

    def choose(self, transcript: Transcript, terms: tuple[Term, ...] | None = None) -> Prompt:
        """Return the prompt of an update, by the terms that hold now; report each term once in a segment."""
        if terms is not None and terms is not self._expected:
            self.expect(terms)
        source = self._spoken(transcript)
        if source != self._source:
            self._source = source
            self._pairs.clear()
            self.expect(self._expected)
        if transcript.segment_id > self._newest_segment:
            self._newest_segment = transcript.segment_id
            self._reported.clear()
        found = [wanted for wanted in self.glossary.due(transcript.text) if self._keeps(wanted)]
        for wanted in found:
            if wanted.term not in self._reported:
                self._notify(Notice("info", f"glossary: {wanted.term} → {wanted.text}"))
        self._reported.update(wanted.term for wanted in found)
        pairs = tuple((wanted.term, wanted.text) for wanted in found) if self._takes_terms else ()
        return self._prompt_for(tuple(self._pairs), pairs)

    def remember(self, source: str, translation: str) -> None:
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
        if (self._source, pairs, terms) == self._asked:
            return self._current
        asked, longest = terms, self._model.context_tokens - self._room
        while True:
            prompt = build_prompt(self._model, self._name, self._source, self._target, pairs, terms)
            if len(prompt.before) + len(prompt.after) <= longest or not (pairs or terms):
                break
            pairs, terms = (pairs[1:], terms) if pairs else (pairs, terms[:-1])
        while len(self._pairs) > len(pairs):
            self._pairs.popleft()
        # Terms may not fit at any later update either; earlier sentences that do not are dropped.
        self._asked, self._terms, self._current = (self._source, pairs, asked), terms, prompt
        return prompt
