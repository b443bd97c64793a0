"""The events of a run, in the order in which they are made. Read this first.

    AudioChunk -> SpeechChunk -> Transcript -> Translation -> Caption

Two kinds of time, never mixed:

- *source time*: seconds since the source began, by its sound. Fields `start` and `end`. The same input gives the same
  source times on every machine.
- *measured time*: seconds of the injected clock (`livetrans.base.clock`). Fields that end in `_at` (instants since the
  run began) or `_seconds` (durations). Two runs over the same input differ in nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

from livetrans.base.languages import LANGUAGES
from livetrans.base.text import join_text, reads_right_to_left
from livetrans.config import Settings, Term

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")

SAMPLE_RATE = 16_000
"""Samples per second of every audio chunk: the rate of Whisper and Silero."""
FULL_SCALE = 32_768
"""The int16 value that corresponds to 1.0 in floating-point sound."""


@dataclass(frozen=True, slots=True, eq=False)
class _Sound:
    """Consecutive sound: mono, 16 kHz, int16, shape (n_samples,), any length."""

    samples: NDArray[np.int16]
    start_sample: int

    @property
    def start(self) -> float:
        return self.start_sample / SAMPLE_RATE

    @property
    def end(self) -> float:
        return (self.start_sample + len(self.samples)) / SAMPLE_RATE


@dataclass(frozen=True, slots=True, eq=False)
class AudioChunk(_Sound):
    """Sound from a source."""

    captured_at: float | None = None
    """When the last sample was captured. None for sound that is read faster than in real time, which has no lag."""
    track: str | None = None
    """Name of its track; None in a run of one."""


@dataclass(frozen=True, slots=True, eq=False)
class SpeechChunk(_Sound):
    """Sound that the voice-activity gate passed on. `pause` marks the end of a stretch of speech.

    Chunks between two pauses are contiguous: each starts at the sample where the previous one ended. A chunk that only
    marks a pause has no samples.
    """

    pause: bool = False
    captured_at: float | None = None
    may_end: bool = False
    """Whether silence began in it: a pause follows, or more speech."""


@dataclass(frozen=True, slots=True)
class RecognitionStats:
    """The cost of one pass of the recogniser."""

    audio_seconds_in_pass: float
    """Length of the sound that was recognised (source time, hence not a measured duration)."""
    pass_seconds: float


@dataclass(frozen=True, slots=True)
class DecodingStats:
    """Counts and durations of one decoding; rates are computed where they are shown.

    Seconds are taken around the evaluation, the reading of the logits and the arithmetic on them together (llama.cpp
    may return before the logits are there).
    """

    prompt_tokens: int = 0
    """Length of the whole prompt."""
    reused_tokens: int = 0
    """Leading prompt tokens that the cache already held."""
    draft_tokens: int = 0
    """Length of the draft; 0 for re-translation."""
    accepted_tokens: int = 0
    """Draft tokens that the output kept, frozen ones included."""
    frozen_tokens: int = 0
    """Draft tokens that were kept without being evaluated again (live window)."""
    output_tokens: int = 0
    """All tokens of the output, accepted ones included, end of generation excluded."""
    evaluated_tokens: int = 0
    """Tokens that went through the model, over all passes."""
    forward_passes: int = 0
    """Passes of the translator; those of a draft model are not counted."""
    decoding_steps: int = 0
    """Passes over a single new token; `decoding_seconds / decoding_steps` is the machine's cost of one."""
    proposed_tokens: int = 0
    """Tokens that the draft model proposed, its ends of generation included; not part of `draft_tokens`."""
    accepted_proposals: int = 0
    """Those of them that the target accepted; not part of `accepted_tokens`."""
    rejected_proposals: int = 0
    """Target passes that rejected a token and dropped what was proposed after it (BiLD: rollbacks)."""
    fallbacks: int = 0
    """Times that the draft model was too unsure to propose a token (BiLD)."""
    truncated: bool = False
    """Whether the output reached the length cap or a repetition loop, where decoding always ends."""
    stopped: bool = False
    """Whether decoding stopped early: the model chose the output's last token, but it is not due yet."""
    expected_tokens: float = 0.0
    """Expected length of the whole output where it was stopped early; else 0."""
    prompt_seconds: float = 0.0
    """Passes over prompt tokens alone, those for a move included."""
    verification_seconds: float = 0.0
    """Passes over draft tokens, and moves of frozen ones without passes."""
    decoding_seconds: float = 0.0
    """All single steps."""
    first_step_seconds: float = 0.0
    """The first of them, which comes after a pass over several tokens and takes longer than the others."""
    draft_seconds: float = 0.0
    """All passes of the draft model."""
    other_seconds: float = 0.0
    """The rest of the update, outside of passes: tokenisation, texts of tokens, what is hidden."""

    def with_cost_of(self, other: DecodingStats) -> DecodingStats:
        """Return this output's counts with the passes and seconds of another decoding of the same update added."""
        costs = ("evaluated_tokens", "forward_passes", "decoding_steps", "prompt_seconds", "verification_seconds",
                 "decoding_seconds", "first_step_seconds", "draft_seconds", "other_seconds")  # fmt: skip
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in costs})

    def __add__(self, other: DecodingStats) -> DecodingStats:
        names = (field.name for field in fields(self))
        return DecodingStats(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def generation_seconds(self) -> float:
        """All but the passes over prompt tokens alone."""
        return self.verification_seconds + self.decoding_seconds + self.draft_seconds

    @property
    def total_seconds(self) -> float:
        return self.prompt_seconds + self.generation_seconds + self.other_seconds


@dataclass(frozen=True, slots=True)
class Word:
    """One recognised word with its punctuation, without spaces around it. Source time in seconds."""

    text: str
    start: float
    end: float
    probability: float = field(default=1.0, compare=False)
    """How sure the recogniser is of it: the mean probability of its tokens, 0..1; 1 where the engine does not tell."""


@dataclass(frozen=True, slots=True)
class Repair:
    """Characters of a transcript's text, `begin` to before `end`, that are a term where something else was heard."""

    begin: int
    end: int
    heard: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """An update: the recogniser's newest hypothesis of one segment.

    The hypothesis is `committed`, which will not change, followed by `partial`, which may. A final transcript has an
    empty `partial` and is the last of its segment. Revisions count from 0 in every segment.
    """

    segment_id: int
    revision: int
    committed: str
    partial: str
    final: bool
    start: float
    """Source time at which the segment's first word starts."""
    end: float
    """Source time at which the hypothesis's last word ends."""
    captured_at: float | None = None
    """When the end of the last word was captured, to measure lag. None where there is no lag."""
    recognition: RecognitionStats | None = None
    """Cost of the pass that gave this hypothesis. None for recorded streams."""
    language: str | None = None
    """Code of the spoken language, if the recogniser detects it, the user can change it, or the track has its own."""
    track: str | None = None
    """Name of its track, such as `me`, or of who speaks in a conversation; else None. Segment ids are unique."""
    ended: bool = False
    """Whether its sentence has ended although it is not final yet: the next one has begun, or silence."""
    repairs: tuple[Repair, ...] = ()
    """What was heard otherwise, in the order of the text (`livetrans.names.repair`)."""

    @property
    def text(self) -> str:
        """The whole hypothesis: committed and partial text, joined by a space if both have words."""
        return join_text(self.committed, self.partial)

    def as_final(self) -> Transcript:
        """Return the final of a segment that never gets one: it ends as it was last recognised."""
        return replace(self, revision=self.revision + 1, committed=self.text, partial="", final=True, recognition=None)


DRAFT_MODEL = "model"
"""The `draft` of a `Span` that a draft model proposed."""


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens of an output that were accepted from a draft: `begin` to before `end`."""

    begin: int
    end: int
    draft: str = "previous"
    """`previous` (the segment's previous output), `frozen` (the part of it that is not verified) or `model`."""


class _OfTranscript(Generic[T]):
    """A field of its transcript as an attribute of an update's translation or caption."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, result: _UpdateResult, owner: type) -> T:
        value: T = getattr(result.transcript, self._name)
        return value


@dataclass(frozen=True, slots=True)
class _UpdateResult:
    """What translations and captions of an update have in common."""

    transcript: Transcript
    language: str | None = field(default=None, kw_only=True)
    """Code of the captions' language. An untranslated caption is in the spoken language all the same."""

    segment_id = _OfTranscript[int]("segment_id")
    track = _OfTranscript[str | None]("track")
    revision = _OfTranscript[int]("revision")
    final = _OfTranscript[bool]("final")
    source = _OfTranscript[str]("text")
    committed_source = _OfTranscript[str]("committed")
    repairs = _OfTranscript[tuple[Repair, ...]]("repairs")
    start = _OfTranscript[float]("start")
    end = _OfTranscript[float]("end")
    captured_at = _OfTranscript[float | None]("captured_at")


@dataclass(frozen=True, slots=True)
class Translation(_UpdateResult):
    """The model's output for one update."""

    text: str
    tokens: tuple[int, ...]
    """Output token ids: the draft of the segment's next update."""
    stats: DecodingStats
    method: str = "ssbd"
    """The decoder's name in `livetrans.decoding.DECODERS`."""
    accepted: tuple[Span, ...] = ()
    """Which of `tokens` came from a draft, in order."""
    terms: tuple[str, ...] = ()
    """The glossary's terms in the prompt."""
    wanted_terms: int = 0
    """Of a final: occurrences in its source of terms that the text should have (`livetrans.names.wanted`)."""
    kept_terms: int = 0
    """Those of them that the text has as the glossary wants them."""
    hidden_tokens: int = 0
    """Number of last tokens that the caption hides: those of mask-k, or the one before which decoding stopped early."""


@dataclass(frozen=True, slots=True)
class Caption(_UpdateResult):
    """The text shown for a segment. It replaces the segment's earlier caption."""

    text: str
    tokens: tuple[int, ...] = ()
    """Ids of the tokens whose whole text is shown. Erasure on the screen is counted in them."""
    masked_tokens: int = 0
    """Number of output tokens hidden by mask-k and by the cut at a word boundary."""
    untranslated: bool = False
    """Whether the text is the source: the captions' language is spoken, or the sentence is too long to translate."""

    @property
    def right_to_left(self) -> bool:
        language = None if self.untranslated else LANGUAGES.get((self.language or "").lower())
        return language.right_to_left if language else reads_right_to_left(self.text)


@dataclass(frozen=True, slots=True)
class Coalesced:
    """A partial was replaced by a newer one of its segment before it was translated."""

    segment_id: int
    revision: int


@dataclass(frozen=True, slots=True)
class Notice:
    """One sentence for the user: loading progress, sound that was skipped, a device that vanished."""

    level: str  # `info`, `warning` or `error`.
    text: str
    about: str | None = None
    """Its subject, if that can change. A later notice with the same subject makes this one untrue."""


class GapReason(StrEnum):
    """Why no sound was heard."""

    MICROPHONE = "microphone"
    """The device was gone."""
    OUTPUT = "output"
    """Nothing was played, or the sound server was gone."""
    SLEEP = "sleep"
    """The machine slept."""
    PAUSED = "paused"
    """The user had paused the run."""
    SUSPENDED = "suspended"
    """The program was stopped by Ctrl+Z."""
    OVERFLOW = "overflow"
    """The device lost sound."""
    TOO_SLOW = "too slow"
    """The machine could not keep up, and sound was left out."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Source time without sound, from `start` to `end`. Published when it is over."""

    start: float
    end: float
    reason: str  # A `GapReason`; a recorded one may be another.
    track: str | None = None
    """Name of the track without sound. None in a run of one track."""

    def mark(self, number: int) -> Caption:
        """Return a caption that marks the gap. It belongs to no segment: its `number` is negative."""
        marked = Transcript(number, 0, "", "", True, self.start, self.end, track=self.track)
        length = f"{self.end - self.start:.0f} s"
        return Caption(
            marked, f"[paused for {length}]" if self.reason == GapReason.PAUSED else f"[{length} without sound]"
        )


@dataclass(frozen=True, slots=True)
class SourceProgress:
    """How much of the source has been heard. Published about twice a second of sound, and at the end."""

    heard: float
    """Source time heard so far, in seconds."""
    total: float | None
    """Length of the source in seconds, if it is known."""
    speaking: bool
    """Whether the gate is open."""
    level: float = 0.0
    """Root mean square of the latest sound, 0 to 1. A meter shows it, so that a silent microphone is noticed."""
    skipped: float = 0.0
    """Seconds of sound lost so far because the machine could not keep up."""
    passes: int = 0
    """The recogniser's passes so far, including those that changed no text."""
    recognition_seconds: float = 0.0
    """Duration of all these passes."""
    track: str | None = None
    """Name of the track. None in a run of one track."""
    step: float | None = None
    """Seconds of new sound in a pass now, see `--step`. None for recorded streams."""
    finished: bool = False
    """Whether all that was heard of the track is in finals: nothing follows, and its last speech was recognised."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a run listens to. Lists show it, and `resume` finds the file again by it."""

    name: str
    """Name of the file or of the microphone."""
    path: str | None = None
    """Absolute path of the file. None for anything else."""
    size_bytes: int | None = None
    modified_at: float | None = None
    """When the file was last written, in seconds since 1970."""
    start: float = 0.0
    """Source time at which the replayed part begins."""
    end: float | None = None
    """Source time at which it ends. None for the end of the file."""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """Models are loaded and listening begins."""

    signature: dict[str, str | int | float | bool | None]
    """The translator, its threads, the versions and the machine."""
    settings: Settings = field(default_factory=Settings)
    origin: Origin | None = None
    """None if it is unknown."""
    began_at: float | None = None
    """Seconds since 1970. The instants of a run do not tell which of two sessions is newer."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The updates of a finished segment, translated again from scratch and timed while the run was idle.

    Units are words and punctuation marks, or characters in scripts without spaces; only erasure in the segment counts.
    """

    segment_id: int
    updates: int
    """How many were compared: all of the segment that were translated."""
    update_seconds: float
    """Duration of the run's own updates."""
    retranslation_seconds: float
    """Duration of the same updates by re-translation."""
    erased_units: int
    """Units that the run's own captions retracted."""
    shown_units: int
    """Units of its last one."""
    retranslation_erased_units: int
    """Units that re-translation would have retracted under the run's mask."""
    retranslation_shown_units: int
    language: str | None = None
    """Code of the captions' language."""


@dataclass(frozen=True, slots=True)
class RunEnded:
    """Everything heard has been translated and shown."""

    heard: float
    reason: str  # `end of source`, `stopped` or `failed`.
    compared_updates: int = 0
    """Updates of all comparisons in the language shown last."""
    speedup: float | None = None
    """Update time of re-translation / that of the run, over the compared updates; None with fewer than five."""
    ne_screen: float | None = None
    """Normalized erasure of the screen, over all captions in that language; None if there was none."""
    ne_screen_retranslation: float | None = None
    """By re-translation under the run's mask, over the compared updates; None with fewer than five."""
    ne_screen_compared: float | None = None
    """By the run's method, over the same updates."""
    speedup_estimate: float | None = None
    """The speedup as the run's own steps suggest, over all updates; None with fewer than five, and for `rt`."""


@dataclass(frozen=True, slots=True)
class GlossaryRead:
    """The glossary's file was changed, and read again: its terms hold from the next update on."""

    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class NameCorrected:
    """The reader corrected a name: it holds from the next update on, and in every caption of this run that has it."""

    heard: str
    """What the recogniser wrote."""
    shown: str
    """What stood in the source: the same, unless that was repaired to another term."""
    written: str
    """The name."""


@dataclass(frozen=True, slots=True)
class SettingChanged:
    """A key on the screen changed a setting. Later figures belong to the new value."""

    name: str
    """The setting's key in `livetrans.config.SETTINGS`, or `paused`."""
    value: str | int | float | bool


@dataclass(frozen=True, slots=True)
class BackPressure:
    """How far the run is behind, and what it leaves out because of that (`livetrans.run.backpressure`)."""

    level: str
    behind_seconds: float
    """Age in seconds of the oldest sound that waits for the recogniser or for its translation."""


Event = (
    RunStarted | SourceProgress | Gap | Transcript | Coalesced | Translation | Caption | GlossaryRead | NameCorrected
    | SettingChanged | BackPressure | Notice | Comparison | RunEnded
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Record:
    """An event and its instant of publication, in seconds since the run began."""

    at: float
    event: Event
