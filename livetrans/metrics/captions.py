"""The measures of captions: erasure (NE) in tokens and on the screen, lag, acceptance (A/D, A/O), TPS and speedup.

`CaptionMeasures` holds them all for one language. A run's panel and end, and the bench, feed it the captions in the
order in which a viewer saw them. Rates are ratios of sums.

NE per segment counts tokens and misses what happens between segments. The screen is the captions of all segments, one
after the other, with masks, finals and splits. Its units are words and punctuation marks, or characters in scripts
that are written without spaces.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import regex

from livetrans.base.sequences import common_prefix_length
from livetrans.base.text import UNSPACED
from livetrans.events import Caption, Comparison, DecodingStats, Translation
from livetrans.metrics.latency import Distribution, stable_delays

_UNITS = regex.compile(rf"(?=[{UNSPACED}])\X|[^\W{UNSPACED}]+(?:[-'’.,:][^\W{UNSPACED}]+)*|[^\w\s]")

OPEN_SEGMENTS = 64
"""Unfinished segments remembered; segments finish in order, so more are open only where finals never came."""


def ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def erasure(previous: Sequence[Hashable], current: Sequence[Hashable]) -> int:
    """Return the tokens deleted from the end of `previous` to write `current`: |Y(i-1)| - |LCP(Y(i-1), Y(i))|.

    Tokens are of any unit: model token ids, sacrebleu tokens, words, characters. Only numbers of the same unit are
    comparable.
    """
    return len(previous) - common_prefix_length(previous, current)


class NormalizedErasure:
    """Normalized erasure of finished segments, NE = sum of E(i) / |Y(N)|: as a ratio of sums, and as a mean.

    The authors' tables give the mean per utterance; the ratio of sums does not let one short utterance weigh as much as
    a long one, so it is what the side panel shows. Memory is constant: a segment's tokens are dropped at its final.
    """

    def __init__(self) -> None:
        self.erased_tokens = 0
        self.final_tokens = 0
        """In the unit of what `add` gets, which need not be the translator's tokens."""
        self.segments = 0
        self._rates_sum = 0.0
        self._rated_segments = 0
        self._open: dict[int, tuple[Sequence[Hashable], int]] = {}

    def add(self, segment_id: int, tokens: Sequence[Hashable], *, final: bool) -> None:
        previous, erased = self._open.pop(segment_id, ((), 0))
        erased += erasure(previous, tokens)
        if not final:
            self._open[segment_id] = (tokens, erased)
            if len(self._open) > OPEN_SEGMENTS:
                self._open.pop(min(self._open))
            return
        self.segments += 1
        self.erased_tokens += erased
        self.final_tokens += len(tokens)
        if tokens:
            self._rates_sum += erased / len(tokens)
            self._rated_segments += 1

    def forget(self, segment_id: int) -> None:
        self._open.pop(segment_id, None)

    @property
    def ratio_of_sums(self) -> float | None:
        """All erased tokens / all final tokens; None while no final has a token."""
        return ratio(self.erased_tokens, self.final_tokens)

    @property
    def mean_per_utterance(self) -> float | None:
        """Mean of the segments' own NE; segments with an empty final have none and are left out."""
        return ratio(self._rates_sum, self._rated_segments)


def _words(text: str) -> list[str]:
    """Return the units that are not punctuation."""
    return [unit for unit in screen_units(text) if any(map(str.isalnum, unit))]


def screen_units(text: str) -> list[str]:
    """Split a text into words and punctuation marks, and scripts without spaces into characters.

    Punctuation is a unit of its own, so that a mark added to the last shown word erases nothing.
    """
    units: list[str] = _UNITS.findall(text)
    return units


def standing(before: str, after: str) -> int:
    """Return how many characters of `after` stood at the beginning of `before`, in whole units of `screen_units`."""
    units = list(_UNITS.finditer(after))
    same = common_prefix_length(screen_units(before), [unit.group() for unit in units])
    return units[same].start() if same < len(units) else len(after)


class ScreenErasure:
    """Normalized erasure of the screen: units retracted / units of the end.

    A unit is erased when it, or one before it, changes. Memory is constant: old segments are only counted.
    """

    def __init__(self) -> None:
        self.erased_units = 0
        self.changes = 0
        """Captions that took something back."""
        self.corrections = 0
        """Captions that the reader corrected: what they asked for is not erased."""
        self._segments: dict[int, list[str]] = {}
        self._settled_units = 0

    def add(self, caption: Caption) -> None:
        before = self._tail(caption.segment_id)
        self._segments[caption.segment_id] = screen_units(caption.text)
        after = self._tail(caption.segment_id)
        erased = erasure(before, after)
        self.erased_units += erased
        self.changes += erased > 0
        if len(self._segments) > OPEN_SEGMENTS:
            oldest = min(self._segments)
            self._settled_units += len(self._segments.pop(oldest))

    def correct(self, caption: Caption) -> None:
        """Take a caption in which the reader corrected a name."""
        units = screen_units(caption.text)
        if self._segments.get(caption.segment_id, units) != units:
            self.corrections += 1
            self._segments[caption.segment_id] = units

    @property
    def units(self) -> int:
        """Units on the screen."""
        return self._settled_units + sum(map(len, self._segments.values()))

    @property
    def ratio(self) -> float | None:
        """NE of the screen; None while nothing is shown."""
        return ratio(self.erased_units, self.units)

    def _tail(self, segment_id: int) -> list[str]:
        return [unit for key in sorted(self._segments) if key >= segment_id for unit in self._segments[key]]


class DecodingRates:
    """A/D, A/O, alpha and TPS as ratios of sums over updates."""

    def __init__(self) -> None:
        self.sums = DecodingStats()

    def add(self, stats: DecodingStats) -> None:
        self.sums += stats

    @property
    def per_draft(self) -> float | None:
        """A/D, accepted tokens / draft tokens, 0..1; None before the first draft."""
        return ratio(self.sums.accepted_tokens, self.sums.draft_tokens)

    @property
    def per_output(self) -> float | None:
        """A/O, accepted tokens / output tokens, 0..1; None where nothing was drafted, since A/O has no meaning there.

        Updates without a draft count in the output: their tokens had to be decoded.
        """
        return ratio(self.sums.accepted_tokens, self.sums.output_tokens) if self.sums.draft_tokens else None

    @property
    def per_proposal(self) -> float | None:
        """alpha, 0..1: proposed tokens accepted / judged, which are the accepted ones and the first rejected one of a
        pass; None without a draft model."""
        accepted = self.sums.accepted_proposals
        return ratio(accepted, accepted + self.sums.rejected_proposals)

    @property
    def tokens_per_second(self) -> float | None:
        """TPS: output tokens / seconds of verification, decoding and the draft model, without passes over the prompt
        alone (A.1)."""
        return ratio(self.sums.output_tokens, self.sums.generation_seconds)


LEAST_COMPARED = 5
"""Fewest compared updates that give a figure."""


NOT_ESTIMATED = ("rt", "double")
"""Re-translation itself, and a method whose steps write two tokens."""


class PassCost:
    """What passes over the prompt alone cost, as a line over their tokens, by least squares."""

    def __init__(self) -> None:
        self._passes = self._tokens = self._squares = 0
        self._seconds = self._products = 0.0

    def add(self, tokens: int, seconds: float) -> None:
        self._passes += 1
        self._tokens += tokens
        self._seconds += seconds
        self._squares += tokens * tokens
        self._products += tokens * seconds

    def of(self, passes: int, tokens: int) -> float | None:
        """Return the seconds of so many passes over so many tokens in all; None before the first pass."""
        if not self._tokens:
            return None
        spread = self._passes * self._squares - self._tokens**2
        slope = (self._passes * self._products - self._tokens * self._seconds) / spread if spread else 0.0
        slope = min(max(slope, 0.0), self._seconds / self._tokens)
        return passes * (self._seconds - slope * self._tokens) / self._passes + slope * tokens


class EstimatedSpeedup:
    """The speedup over re-translation as the run's own passes suggest, before enough updates were compared.

    Re-translation evaluates what is new of the prompt in one pass, then decodes the output from its beginning, a step a
    token; what is done outside of passes it does too. A step costs what those of the run do that follow another step:
    after a pass over several tokens a step takes longer, and the run has such a pass before every few steps. A pass
    over the prompt costs what those of the run cost that have no draft. A partial that was stopped early would have
    been as long as expected.
    """

    def __init__(self) -> None:
        self._updates = self._steps = self._prompt_tokens = 0
        self._seconds = self._other_seconds = self._step_seconds = self._retranslation_steps = 0.0
        self._prompts = PassCost()

    def add(self, translation: Translation) -> None:
        stats = translation.stats
        if translation.method in NOT_ESTIMATED or not stats.forward_passes:
            return  # Where the prompt has not changed, re-translation has nothing to do either.
        new_tokens = stats.prompt_tokens - stats.reused_tokens
        if not stats.draft_tokens and stats.forward_passes == stats.decoding_steps + 1:
            self._prompts.add(new_tokens, stats.prompt_seconds)
        self._updates += 1
        self._seconds += stats.total_seconds
        self._other_seconds += stats.other_seconds
        self._steps += max(stats.decoding_steps - 1, 0)
        self._step_seconds += stats.decoding_seconds - stats.first_step_seconds
        self._retranslation_steps += max(stats.output_tokens, stats.expected_tokens)
        self._prompt_tokens += new_tokens

    @property
    def ratio(self) -> float | None:
        """Estimated seconds of re-translation / seconds of the run's updates; None with fewer than five updates."""
        prompts = self._prompts.of(self._updates, self._prompt_tokens)
        if self._updates < LEAST_COMPARED or prompts is None or not (self._steps and self._seconds):
            return None
        steps = self._retranslation_steps * self._step_seconds / self._steps
        return (steps + prompts + self._other_seconds) / self._seconds


class Speedup:
    """The speedup over re-translation and NE of the screen of both, over the updates that were compared."""

    def __init__(self) -> None:
        self.updates = 0
        self._update_seconds = self._retranslation_seconds = 0.0
        self._erased = self._shown = self._retranslation_erased = self._retranslation_shown = 0

    def add(self, comparison: Comparison) -> None:
        self.updates += comparison.updates
        self._update_seconds += comparison.update_seconds
        self._retranslation_seconds += comparison.retranslation_seconds
        self._erased += comparison.erased_units
        self._shown += comparison.shown_units
        self._retranslation_erased += comparison.retranslation_erased_units
        self._retranslation_shown += comparison.retranslation_shown_units

    @property
    def ratio(self) -> float | None:
        """Seconds of re-translation / seconds of the run's updates; None with fewer than five updates."""
        return self._over(self._retranslation_seconds, self._update_seconds)

    @property
    def ne_screen(self) -> float | None:
        """NE of the screen by the run's method, in these segments."""
        return self._over(self._erased, self._shown)

    @property
    def ne_screen_retranslation(self) -> float | None:
        """NE of the screen by re-translation in the same segments, under the run's mask."""
        return self._over(self._retranslation_erased, self._retranslation_shown)

    def _over(self, dividend: float, divisor: float) -> float | None:
        return ratio(dividend, divisor) if self.updates >= LEAST_COMPARED else None


class TranslationLag:
    """Seconds from the end of each spoken word until its translation stands on the screen for good.

    One rule for every method, that of Arivazhagan et al. 2019 (arXiv 1912.03393) word by word of the source. Word j of
    the n words of a segment's source is seen with the first caption since which the first ceil(j m / n) of the final's
    m words have stood unchanged (`stable_delays`). Words that are shown together count one by one. Punctuation does
    not count, and a word that comes back was not there before.

    Its limits: the share stands for an alignment. Where the languages order words differently, a word's own translation
    is seen earlier or later, so this is for comparing methods over the same speech. Captions have no times of single
    words. The last word of an update ended when the update was captured, and words that are new in it are laid evenly
    between that and the word before them. The lags of a segment are known with its final.
    """

    def __init__(self) -> None:
        self._growing: dict[int, tuple[list[float], list[float], list[list[str]]]] = {}
        """Of each segment that grows: when its words were captured; when its captions were shown, and their words."""

    def add(self, caption: Caption, at: float) -> tuple[list[float], list[float]]:
        """Take a caption shown at `at`; return, with a final, the lags of the words that were seen before it, and of
        those that were seen with it."""
        captured, times, shown = self._growing.pop(caption.segment_id, ([], [], []))
        words, end = len(_words(caption.source)), caption.captured_at
        if end is not None and words:
            del captured[words - 1 :]
            begin, new = captured[-1] if captured else end - (caption.end - caption.start), words - len(captured)
            captured += [begin + (end - begin) * word / new for word in range(1, new + 1)]
        times.append(at)
        shown.append(_words(caption.text))
        if not caption.final:
            self._growing[caption.segment_id] = captured, times, shown
            if len(self._growing) > OPEN_SEGMENTS:
                self._growing.pop(min(self._growing))
        elif shown[-1]:
            since = stable_delays(range(len(shown)), shown)
            seen = [int(since[math.ceil(word * len(since) / words) - 1]) for word in range(1, words + 1)]
            lags = [(times[number] - end, number < len(shown) - 1) for number, end in zip(seen, captured, strict=False)]
            return [lag for lag, early in lags if early], [lag for lag, early in lags if not early]
        return [], []


class CaptionMeasures:
    """What is measured of the captions in one language.

    Captions are added in the order in which a viewer saw them. Memory is constant over hours: segments are dropped at
    their finals, and of many lags the last are kept.
    """

    def __init__(self) -> None:
        self.updates = 0
        self.captions = 0
        self.hidden_tokens = 0
        """Output tokens that were not shown, over all captions."""
        self.terms_kept = self.terms_wanted = 0
        """Terms in the sources of finals: those that the final has as the glossary wants them, and all."""
        self.delay: float | None = None
        """Seconds from the end of the newest caption's last word to that caption; None where it has no time."""
        self.output_erasure = NormalizedErasure()
        """Of the model's output, in its own tokens."""
        self.caption_erasure = NormalizedErasure()
        """Of the captions, in the model's tokens that are wholly shown."""
        self.screen = ScreenErasure()
        self.decoding = DecodingRates()
        self.speedup = Speedup()
        self.estimated_speedup = EstimatedSpeedup()
        self.lags, self.lags_growing, self.lags_finals = Distribution(), Distribution(), Distribution()
        """`TranslationLag` of all words, of those seen in a growing caption, and of those seen with the final."""
        self._lag = TranslationLag()

    def add_translation(self, translation: Translation) -> None:
        self.updates += 1
        self.output_erasure.add(translation.segment_id, translation.tokens, final=translation.final)
        self.decoding.add(translation.stats)
        self.estimated_speedup.add(translation)
        self.terms_kept += translation.kept_terms
        self.terms_wanted += translation.wanted_terms

    def add_caption(self, caption: Caption, at: float) -> None:
        """Add a caption that was shown at time `at`, in seconds of the clock that `captured_at` has."""
        self.captions += 1
        if caption.final:
            self.output_erasure.forget(caption.segment_id)  # Its partials were translated, and it is shown as heard.
        self.caption_erasure.add(caption.segment_id, caption.tokens, final=caption.final)
        self.screen.add(caption)
        self.hidden_tokens += caption.masked_tokens
        self.delay = None if caption.captured_at is None else at - caption.captured_at
        for seen, lags in zip((self.lags_growing, self.lags_finals), self._lag.add(caption, at), strict=True):
            for lag in lags:
                seen.add(lag)
                self.lags.add(lag)

    @property
    def hidden_per_caption(self) -> float | None:
        """Output tokens that were not shown, mean over captions."""
        return ratio(self.hidden_tokens, self.captions)
