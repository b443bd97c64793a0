"""The presenting stage: captions without the output's hidden tokens, cut to whole words; loops shown once.

In a script without spaces a caption is cut between grapheme clusters instead.

A shown word keeps its form while its caption grows: a change of case, punctuation or spacing alone waits for the final,
which is read later and recorded.
"""

from __future__ import annotations

import re
import unicodedata

from livetrans.base.languages import LANGUAGES
from livetrans.base.sequences import common_prefix_length, loop_length
from livetrans.base.text import cluster_start
from livetrans.events import Caption, Translation
from livetrans.lm.prompts import TextOf

_WITHIN = re.compile(r"[^\w\s]+(?=.*\w)")


class Presenter:
    """Turns translations into captions. The translation says how many of its tokens are hidden."""

    def __init__(self, text_of: TextOf) -> None:
        self._text_of = text_of
        self._shown: dict[int, str] = {}

    def present(self, translation: Translation) -> Caption:
        """Return the caption of an update; updates come in order."""
        before = self._shown.pop(translation.segment_id, "")
        language = LANGUAGES.get((translation.language or "").lower())
        spaced = language is None or language.spaced
        text, shown_tokens = self._visible(translation, spaced)
        if not translation.final:
            text = _with_shown_forms(before, text, spaced)
            self._shown[translation.segment_id] = text
        return Caption(
            transcript=translation.transcript,
            text=text,
            tokens=translation.tokens[:shown_tokens],
            masked_tokens=len(translation.tokens) - shown_tokens,
            language=translation.language,
        )

    def forget(self, segment_id: int) -> None:
        """Drop the shown text of a segment whose final is not presented."""
        self._shown.pop(segment_id, None)

    def _visible(self, translation: Translation, spaced: bool) -> tuple[str, int]:
        """Return the visible text and the number of tokens wholly in it."""
        tokens = translation.tokens
        kept = max(len(tokens) - max(translation.hidden_tokens, loop_length(tokens)), 0)
        if kept == len(tokens):
            return translation.text, kept
        text = self._text_of(tokens[:kept])
        whole = translation.text
        text = cut_to_word(text, whole) if spaced else text[: cluster_start(whole, len(text))]
        text += punctuation_within(whole[len(text) :]) if text and not translation.final else ""
        while kept and len(self._text_of(tokens[:kept])) > len(text):
            kept -= 1
        return text, kept


def cut_to_word(text: str, whole: str) -> str:
    """Return the longest prefix of `text` that ends where a word of `whole` ends.

    A word ends at a space; what follows up to the next space without a letter, a mark or a digit
    is its punctuation.
    """
    following = whole[len(text) :].split(" ", 1)[0]
    if not any(unicodedata.category(character)[0] in "LMN" for character in following):
        return text
    return text[: text.rfind(" ") + 1].rstrip()


def punctuation_within(following: str) -> str:
    """Return the punctuation at the beginning of the hidden text, if words follow it.

    It belongs to the last shown word, and would change that word if it came later. At the end of an output it is hidden
    with the rest: many models close every half sentence with a full stop.
    """
    match = _WITHIN.match(following)
    return match.group() if match else ""


def _with_shown_forms(shown: str, text: str, spaced: bool) -> str:
    """Return the text, with its first words as `shown` as far as letters and digits are the same.

    The last shown word takes its new form: there a full stop becomes a comma.
    """
    old, new = _letters(shown), _letters(text)
    same = common_prefix_length([letter for letter, _ in old], [letter for letter, _ in new])
    last_word = shown.rfind(" ") if spaced else len(shown) - 1
    while same and (
        old[same - 1][1] > last_word or (spaced and not (_ends_word(shown, old, same) and _ends_word(text, new, same)))
    ):
        same -= 1
    return shown[: old[same - 1][1]] + text[new[same - 1][1] :] if same else text


def _letters(text: str) -> list[tuple[str, int]]:
    """Return letters, marks and digits without case, and points inside numbers, each with the index after it."""
    marked = f" {text} "
    return [
        (character.casefold(), index + 1)
        for index, character in enumerate(text)
        if unicodedata.category(character)[0] in "LMN" or (marked[index] + marked[index + 2]).isdigit()
    ]


def _ends_word(text: str, letters: list[tuple[str, int]], count: int) -> bool:
    """Return whether a space is between letter number `count`, counted from 1, and the next one."""
    following = letters[count][1] - 1 if count < len(letters) else len(text)
    return " " in text[letters[count - 1][1] : following]
