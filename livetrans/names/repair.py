"""The repair of names: heard spellings become the terms of the glossary, as whole words, the longest first.

So does what the recogniser takes for a spelling when it is asked, and with `names` what sounds like a term
(`livetrans.names.sounds`).

One pass from left to right. What is a term already stays, so that a second repair changes nothing. In a hypothesis that
grows, words stay as they were heard from the first one on whose repair could depend on words still to come. So does
the last word, which may be cut off, unless it is committed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, pairwise
from math import inf
from operator import eq
from typing import Generic, TypeVar

from livetrans.base.languages import AUTO
from livetrans.base.text import UNSPACED, join_text
from livetrans.config import Settings, Term
from livetrans.events import NameCorrected, Repair, Transcript
from livetrans.names.sounds import LANGUAGES, MOST_WORDS, Near, Sounds

_TOKEN = re.compile(rf"[{UNSPACED}]|[^\s\-‐–{UNSPACED}]+")
_GAP = re.compile(r"[\s\-‐–]*")
_NEEDLESS = re.compile(rf"(?<=[{UNSPACED}]) (?=[{UNSPACED}])")
_AROUND = "\"'“”„‘’«»‹›()[]{}<>¿¡?!.,;:…、。，！？；：「」『』"
_POSSESSIVE = ("'s", "’s")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a text, or a character in a script without spaces; `begin` and `end` are without its punctuation."""

    form: str
    begin: int
    end: int
    follows: bool
    """Whether nothing but space or a hyphen is between it and the one before."""
    owner_end: int
    """Its end without an English possessive."""

    @property
    def owner(self) -> str:
        """Its form without an English possessive, and without punctuation before that, as in `Inc.'s`."""
        return self.form[: self.owner_end - self.end].rstrip(_AROUND) if self.owner_end < self.end else self.form

    def is_in(self, repairs: Iterable[Repair]) -> bool:
        return any(repair.begin < self.end and self.begin < repair.end for repair in repairs)


def tokens_of(text: str) -> list[Token]:
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text):
        core = match.group().strip(_AROUND)
        if not core:
            continue
        begin = match.start() + match.group().index(core)
        end = begin + len(core)
        is_next = bool(tokens) and _GAP.fullmatch(text, tokens[-1].end, begin) is not None
        owner_end = end - 2 if core.endswith(_POSSESSIVE) else end
        tokens.append(Token(form_of(core), begin, end, is_next, owner_end))
    return tokens


def form_of(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold().replace("’", "'")


def forms_of(text: str) -> tuple[str, ...]:
    return tuple(token.form for token in tokens_of(text))


class Spellings(Generic[T]):
    """Spellings by the form of their first word, the longest first, with what each stands for."""

    def __init__(self, spellings: Iterable[tuple[tuple[str, ...], T]]) -> None:
        self._of: dict[str, list[tuple[tuple[str, ...], T]]] = {}
        for forms, value in sorted(spellings, key=lambda spelling: -len(spelling[0])):
            self._of.setdefault(forms[0], []).append((forms, value))

    def at(self, tokens: Sequence[Token], place: int, *, adjoining: bool = True) -> Iterator[tuple[int, T]]:
        """Yield the number of words of each spelling that stands at a place of a text, and what it stands for.

        `adjoining`: with no punctuation between. The last word may be an owner.
        """
        for form in dict.fromkeys((tokens[place].form, tokens[place].owner)):
            for forms, value in self._of.get(form, ()):
                if _are_at(tokens, place, forms, adjoining=adjoining):
                    yield len(forms), value

    def places(self, tokens: Sequence[Token]) -> set[int]:
        """Return the places of all words that are part of a spelling, with or without punctuation between."""
        return {
            one
            for place in range(len(tokens))
            for length, _ in self.at(tokens, place, adjoining=False)
            for one in range(place, place + length)
        }

    def may_begin(self, last: Sequence[Token]) -> bool:
        """Return whether these last words of a text begin a spelling that words still to come could end."""
        return any(
            len(last) < len(forms) and all(map(eq, forms, (one.form for one in last)))
            for forms, _ in self._of.get(last[0].form, ())
        )


def _are_at(tokens: Sequence[Token], place: int, forms: Sequence[str], *, adjoining: bool) -> bool:
    found = tokens[place : place + len(forms)]
    if len(found) < len(forms) or (adjoining and not all(token.follows for token in found[1:])):
        return False
    return forms[-1] in (found[-1].form, found[-1].owner) and all(map(eq, forms[:-1], (one.form for one in found)))


@dataclass(frozen=True, slots=True)
class Match:
    """Tokens `first` to before `last` that stand for a term."""

    first: int
    last: int
    term: str


@dataclass(frozen=True, slots=True)
class Committed:
    """The committed words of a segment as they were shown: whatever is learned later, they do not change."""

    heard: str = ""
    """Beginning of the text as it was heard."""
    changes: tuple[tuple[int, int, str], ...] = ()
    """What was repaired in it: begin, end, and the term in its place."""


Likelihood = Callable[[str], float]
"""Returns the log-probability that a recogniser gives a text for the sound of its newest pass."""
Verdicts = dict[tuple[str, ...], Near | None]
"""By the forms of words that the recogniser was asked about, the spelling that is likely enough for their sound; None
for none. Words that are not in it are still to be asked about. In place of a whole one, None is for a recogniser that
cannot be asked: there the text decides."""


class SpellingRepairer:
    """Repairs texts of one spoken language."""

    def __init__(self, terms: Sequence[Term], language: str | None = None, *, sounds: bool = False) -> None:
        """`language`: code of the spoken language; None where it is unknown. `sounds`: repair what sounds alike too."""
        self._names = {term.text for term in terms}
        own: set[tuple[str, ...]] = set()
        spellings: dict[tuple[str, ...], str] = {}
        for term in terms:
            if not (written := forms_of(term.text)):
                continue
            own.add(written)
            for spelling, code in term.heard:
                if code in ("", language) and (forms := forms_of(spelling)):
                    spellings[forms] = min(term.text, spellings.get(forms, term.text))
        self._terms = Spellings((forms, None) for forms in own)
        self._heard = Spellings((forms, text) for forms, text in spellings.items() if forms not in own)
        spelled = ((" ".join(forms), text) for forms, text in spellings.items())
        named = ((term.text, term.text) for term in terms if sounds)
        self._sounds = Sounds(chain(named, spelled), language) if language in LANGUAGES else None
        self._repairs_sounds = sounds

    def repair(
        self, text: str, kept: Sequence[Repair] = (), *, verdicts: Verdicts | None = None
    ) -> tuple[str, tuple[Repair, ...]]:
        """Return the repaired text, and what was repaired in it; `kept`: earlier repairs of the text, which stay."""
        tokens = tokens_of(text)
        matches, _ = self._matches(tokens, kept, len(tokens), verdicts, grows=False)
        repaired, repairs, _ = _written(text, _changes(tokens, matches), kept)
        return repaired, repairs

    def judge(self, text: str, likelihood: Likelihood, verdicts: Verdicts, *, growing: bool) -> None:
        """Ask the recogniser, once, about words of a hypothesis that are near a spelling; not about one that grows."""
        if not self._sounds:
            return
        tokens = tokens_of(text)
        tokens = tokens[: len(tokens) - growing]
        right = self._terms.places(tokens) | self._heard.places(tokens)
        ask = cache(likelihood)
        for place in range(len(tokens)):
            for found, words in _spans(tokens, place):
                if words in verdicts or not right.isdisjoint(range(place, place + len(found))):
                    continue
                likely: list[tuple[float, Near]] = []
                for near in self._sounds.near(words):
                    before, after = text[: found[0].begin], text[_end(found[-1], near.spelling) :]
                    spellings = near.spelling, near.spelling.lower()
                    odds = max(ask(before + one + after) for one in spellings) - ask(text)
                    likely += [(odds, near)] if near.least_odds <= odds < inf else []
                verdicts[words] = max(likely)[1] if likely else None

    def repaired(self, transcript: Transcript, verdicts: Verdicts | None = None) -> Transcript:
        """Return an update with its names repaired, as `go_on` does with the first of a segment."""
        return self.go_on(transcript, verdicts, Committed())[0]

    def go_on(
        self, transcript: Transcript, verdicts: Verdicts | None, shown: Committed
    ) -> tuple[Transcript, Committed]:
        """Return an update with its names repaired after the words that were shown as committed, and those of it.

        A word that a repair can still change is not committed. `verdicts`: of the words of its hypothesis; those that
        were not asked about get None in it, and are not repaired by a later answer.
        """
        text, grows = transcript.text, not (transcript.final or transcript.ended)
        tokens = tokens_of(text)
        count = sum(token.end <= len(transcript.committed) for token in tokens)
        shown = shown if text.startswith(shown.heard) else Committed()
        first = sum(token.begin < len(shown.heard) for token in tokens)
        known = max(len(tokens) - grows, count)
        matches, _ = self._matches(tokens, transcript.repairs, known, verdicts, grows=grows, first=first)
        changes = (*shown.changes, *_changes(tokens, matches))
        repaired, repairs, moved = _written(text, changes, transcript.repairs)
        if transcript.final:
            return replace(transcript, committed=repaired, partial="", repairs=repairs), shown
        settled = self._matches(tokens, transcript.repairs, count, verdicts, grows=True, first=first)[1]
        settled = min([settled, *(match.first for match in matches if match.last > settled)])
        border = len(transcript.committed) if settled >= count else tokens[settled].begin
        shown = Committed(text[:border], tuple(change for change in changes if change[1] <= border))
        if not repairs and settled >= count:
            return transcript, shown
        committed, partial = divided(repaired, moved(border))
        return replace(transcript, committed=committed, partial=partial, repairs=repairs), shown

    def _matches(
        self,
        tokens: Sequence[Token],
        kept: Sequence[Repair],
        known: int,
        verdicts: Verdicts | None,
        *,
        grows: bool,
        first: int = 0,
    ) -> tuple[list[Match], int]:
        """Return what is repaired from token `first` on, and from which one on nothing is, as later words could decide.

        `known`: how many of the tokens will not change; `grows`: whether others follow them.
        """
        tokens, rest = tokens[:known], tokens[known:]
        protected = {place for place, token in enumerate(tokens) if token.is_in(kept)} | self._terms.places(tokens)
        matches: list[Match] = []
        place = first
        while place < known:
            matching = self._at(tokens, place, verdicts)
            match = next((one for one in matching if protected.isdisjoint(range(place, one.last))), None)
            after = match.last if match else place + 1
            # Words to come could make any of these a term, which is not repaired.
            could_be_right = (self._terms.may_begin(tokens[one:]) for one in range(place, after))
            if grows and (any(could_be_right) or self._may_begin(tokens[place:], rest, verdicts is not None)):
                return matches, place
            matches += [match] if match else []
            place = after
        return matches, known

    def _may_begin(self, last: Sequence[Token], rest: Sequence[Token], is_asked: bool) -> bool:
        """Return whether these last words that will not change and others to come could stand for a term together.

        A spelling is waited for. What is only near one has to be near with the words that are written after them too
        (`rest`), and `is_asked` says whether the recogniser is asked about that.
        """
        if self._heard.may_begin(last):
            return True
        if not self._sounds or len(last) >= MOST_WORDS or not (is_asked or self._repairs_sounds):
            return False
        written = (*last, *rest)
        if len(written) > MOST_WORDS or not all(one.follows for one in written[1:]):
            return False
        return self._sounds.may_begin(tuple(one.form for one in written), is_asked)

    def _at(self, tokens: Sequence[Token], place: int, verdicts: Verdicts | None) -> Iterator[Match]:
        """Yield the spellings that begin at a token, the longest first, then what sounds alike, the nearest first."""
        for length, term in self._heard.at(tokens, place):
            yield Match(place, place + length, term)
        if self._sounds and (verdicts is not None or self._repairs_sounds):
            alike: list[tuple[float, int, str]] = []
            for found, words in _spans(tokens, place):
                judged = verdicts.setdefault(words, None) if verdicts is not None else None
                near = judged or (self._repairs_sounds and self._sounds.found(words))
                if near and near.term in self._names:
                    alike.append((near.share, place + len(found), near.term))
            yield from (Match(place, last, term) for _, last, term in sorted(alike))


def _spans(tokens: Sequence[Token], place: int) -> Iterator[tuple[Sequence[Token], tuple[str, ...]]]:
    """Yield the words from a place of a text that may stand for a name together, and their forms."""
    words: tuple[str, ...] = ()
    for last, token in enumerate(tokens[place : place + MOST_WORDS], start=place):
        if words and not token.follows:
            return
        yield tokens[place : last + 1], (*words, token.owner)
        words = (*words, token.form)


def _changes(tokens: Sequence[Token], matches: Iterable[Match]) -> list[tuple[int, int, str]]:
    """Return the begin, the end and the term of each match."""
    return [(tokens[one.first].begin, _end(tokens[one.last - 1], one.term), one.term) for one in matches]


def _written(
    text: str, changes: Sequence[tuple[int, int, str]], kept: Sequence[Repair]
) -> tuple[str, tuple[Repair, ...], Callable[[int], int]]:
    """Return the text with its changes, all repairs, and a function that moves its indices."""

    def moved(index: int) -> int:
        return index + sum(len(term) - (end - begin) for begin, end, term in changes if end <= index)

    pieces = [0, *(place for begin, end, _ in changes for place in (begin, end)), len(text)]
    plain = [text[begin:end] for begin, end in list(pairwise(pieces))[::2]]
    repaired = plain[0] + "".join(term + after for (_, _, term), after in zip(changes, plain[1:], strict=True))
    repairs = [replace(one, begin=moved(one.begin), end=moved(one.end)) for one in kept]
    repairs += [Repair(moved(begin), moved(begin) + len(term), text[begin:end]) for begin, end, term in changes]
    # Terms of a script without spaces may stand side by side now.
    edges = {place for one in repairs for place in (one.begin - 1, one.end)}
    gaps = [place for place in sorted(edges) if _NEEDLESS.match(repaired, max(place, 0))]

    def closed(index: int) -> int:
        return index - sum(gap < index for gap in gaps)

    for gap in reversed(gaps):
        repaired = repaired[:gap] + repaired[gap + 1 :]
    repairs = [replace(one, begin=closed(one.begin), end=closed(one.end)) for one in repairs]
    return repaired, tuple(sorted(repairs, key=lambda repair: repair.begin)), lambda index: closed(moved(index))


def _end(last: Token, term: str) -> int:
    """Return where the words that stand for a term end: a possessive stays, unless the term has its own."""
    return last.end if term.endswith(_POSSESSIVE) else last.owner_end


def divided(text: str, border: int) -> tuple[str, str]:
    """Return committed and partial text, whose join is the text, divided at the border or before it."""
    while border:
        committed, partial = text[:border].rstrip(), text[border:].lstrip()
        if join_text(committed, partial) == text:
            return committed, partial
        border -= 1
    return "", text


def with_correction(terms: tuple[Term, ...], name: NameCorrected) -> tuple[Term, ...]:
    """Return the terms, of which the right one was heard as the reader says, and no other."""
    heard = (name.heard.casefold(), "")
    others = [replace(term, heard=tuple(one for one in term.heard if one[0].casefold() != heard[0])) for term in terms]
    place = next((place for place, term in enumerate(others) if term.text.casefold() == name.written.casefold()), None)
    if place is None:
        others.append(Term(name.written, name.written))
        place = -1
    if heard[0] != name.written.casefold():
        others[place] = replace(others[place], heard=(*others[place].heard, heard))
    return tuple(others)


class NameRepairs:
    """Repairs what a run hears, by the settings that hold at the time."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings
        self._made: tuple[tuple[Term, ...], str] = (), ""
        """Terms and `repair` of the repairers."""
        self._of: dict[str | None, SpellingRepairer] = {}
        """By language."""
        self._tracks: dict[str | None, TrackNames] = {}
        """By the track that is listened to: None in a conversation."""
        self._of_segment: dict[int, tuple[Verdicts | None, Committed, int]] = {}
        """Of an unfinished segment, by its id: the verdicts since the silence before it, its committed words, and how
        many corrections of the reader they have."""
        self._corrections = 0

    def __call__(self, transcript: Transcript) -> Transcript:
        heard_on = self._tracks.get(None if self._settings().between else transcript.track)
        corrections = self._corrections
        of_now = heard_on.verdicts if heard_on else None, Committed(), corrections
        verdicts, shown, have = self._of_segment.pop(transcript.segment_id, of_now)
        shown = shown if have == corrections else Committed()
        repairer = self.repairer(transcript.language, transcript.track)
        repairer = repairer or (SpellingRepairer(()) if shown.changes else None)
        if repairer and transcript.text:
            repaired, shown = repairer.go_on(transcript, verdicts, shown)
        else:
            repaired, shown = transcript, Committed(transcript.committed)
        if not transcript.final:
            self._of_segment[transcript.segment_id] = verdicts, shown, corrections
        return repaired

    def correct(self) -> None:
        """Repair committed words too, once, by terms that the reader has corrected; from any thread."""
        self._corrections += 1

    def of_track(self, track: str | None) -> TrackNames:
        """Return what the transcriber of a track asks and tells about names."""
        return self._tracks.setdefault(track, TrackNames(self, track))

    def repairer(self, language: str | None, track: str | None) -> SpellingRepairer | None:
        """Return the repairer of a language, by its code, on a track; None where nothing is repaired."""
        settings = self._settings()
        prompt = settings.prompt
        if prompt.repair == "none" or not prompt.glossary:
            return None
        if self._made != (prompt.glossary, prompt.repair):
            self._made, self._of = (prompt.glossary, prompt.repair), {}
        spoken = settings.for_microphone() if settings.is_microphone(track) else settings
        is_unknown = settings.between or spoken.source_language == AUTO
        code = language or (None if is_unknown else spoken.source_language)
        if code not in self._of:
            self._of[code] = SpellingRepairer(prompt.glossary, code, sounds=prompt.repair == "names")
        return self._of[code]


class TrackNames:
    """The names that the recogniser of a track is asked about, and those in its prompts."""

    def __init__(self, repairs: NameRepairs, track: str | None) -> None:
        self._repairs, self._track = repairs, track
        self.verdicts: Verdicts | None = None
        """Of the words since the newest silence."""
        self._in_prompts: Verdicts = {}
        """Of all words of the run that are repaired by their sound: a prompt has words from before the silence."""

    def judge(self, text: str, likelihood: Likelihood, language: str | None, *, growing: bool, anew: bool) -> None:
        """Ask the recogniser about names in its newest hypothesis, before that is repaired.

        `growing`: whether the last word may change; `anew`: whether it is the first hypothesis since a silence.
        """
        repairer = self._repairs.repairer(language, self._track)
        if anew or self.verdicts is None:
            self.verdicts = {}
        if repairer:
            repairer.judge(text, likelihood, self.verdicts, growing=growing)
            self._in_prompts.update((words, near) for words, near in self.verdicts.items() if near)

    def respelled(self, text: str, language: str | None) -> str:
        """Return a text that was spoken on the track, such as the recogniser's prompt, with its names repaired."""
        repairer = self._repairs.repairer(language, self._track)
        return repairer.repair(text, verdicts=dict(self._in_prompts))[0] if repairer and text else text
