"""The events of a run, in the order in which they are made. Read this first.

    AudioChunk -> SpeechChunk -> Transcript -> Translation -> Caption

Two kinds of time, never mixed:

- *source time*: seconds of sound since the source began, from sample counts. Fields `start`, `end`. The same input
  gives the same source times, however fast the machine is.
- *measured time*: seconds read from the injected clock (`livetrans.clock`). Fields ending in `_at` (instants, since
  the run began) or `_seconds` (durations). Two runs differ in these and in nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from livetrans.config import Settings
from livetrans.languages import LANGUAGES
from livetrans.text import join_text, reads_right_to_left

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SAMPLE_RATE = 16_000
"""Samples per second of every audio chunk: the rate of Whisper and Silero."""
FULL_SCALE = 32_768
"""Value of an int16 sample that is 1 in sound of floats."""


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
    """When the last sample was captured; None where sound arrives faster than in real time: lag has no meaning."""
    track: str | None = None
    """Name of its track; None in a run of one."""


@dataclass(frozen=True, slots=True, eq=False)
class SpeechChunk(_Sound):
    """Sound that the voice-activity gate passed on; `pause` marks the end of a stretch of speech.

    Between two pauses chunks are contiguous: each starts at the sample where the one before ended. A chunk that only
    marks a pause has no samples.
    """

    pause: bool = False
    captured_at: float | None = None


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
    draft_passes: int = 0
    """Passes of the draft model; `forward_passes` are the target's."""
    truncated: bool = False
    """Whether the output reached the length cap or a repetition loop, where decoding always ends."""
    stopped: bool = False
    """Whether decoding stopped early: the model chose the output's last token, but it is not due yet."""
    prompt_seconds: float = 0.0
    """Passes over prompt tokens alone, those for a move included."""
    verification_seconds: float = 0.0
    """Passes over draft tokens, and moves of frozen ones without passes."""
    decoding_seconds: float = 0.0
    """All single steps."""
    draft_seconds: float = 0.0
    """All passes of the draft model."""

    @property
    def generation_seconds(self) -> float:
        """All but the passes over prompt tokens alone."""
        return self.verification_seconds + self.decoding_seconds + self.draft_seconds

    @property
    def total_seconds(self) -> float:
        return self.prompt_seconds + self.generation_seconds


@dataclass(frozen=True, slots=True)
class Word:
    """One recognised word, punctuation attached, without surrounding space; source time in seconds."""

    text: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Transcript:
    """An update: the recogniser's newest hypothesis of one segment.

    The hypothesis is `committed` (will not change) followed by `partial` (may change). A final transcript has an empty
    `partial` and is the last of its segment. Revisions count from 0 in every segment.
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
    """When the end of that last word was captured, for lag; None where lag has no meaning."""
    recognition: RecognitionStats | None = None
    """Cost of the pass that gave this hypothesis; None for recorded and typed streams."""
    language: str | None = None
    """Code of the spoken language, where the recogniser detects it or the track has a language of its own."""
    track: str | None = None
    """Name of its track, such as `me`; None in a run of one. Ids of segments are unique over all tracks."""
    ended: bool = False
    """Whether the next segment has begun while this one is not final yet; it then waits for its final."""

    @property
    def text(self) -> str:
        """The whole hypothesis: committed and partial joined by a space where neither is empty."""
        return join_text(self.committed, self.partial)


DRAFT_MODEL = "model"
"""The draft of a `Span` that the draft model proposed."""


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens (of a translation) or characters (of a caption) accepted from a draft: `begin` to before `end`."""

    begin: int
    end: int
    draft: str = "previous"
    """Which draft: `previous`, the segment's previous output; `frozen`, its unverified part; `model`, a draft model."""


@dataclass(frozen=True, slots=True)
class _UpdateResult:
    """What one update was made into."""

    transcript: Transcript
    language: str | None = field(default=None, kw_only=True)
    """Code of the captions' language. The text of an untranslated caption is in the spoken language."""

    @property
    def segment_id(self) -> int:
        return self.transcript.segment_id

    @property
    def track(self) -> str | None:
        return self.transcript.track

    @property
    def revision(self) -> int:
        return self.transcript.revision

    @property
    def final(self) -> bool:
        return self.transcript.final

    @property
    def source(self) -> str:
        return self.transcript.text

    @property
    def committed_source(self) -> str:
        """The leading part of the source that will not change."""
        return self.transcript.committed

    @property
    def start(self) -> float:
        return self.transcript.start

    @property
    def end(self) -> float:
        return self.transcript.end

    @property
    def captured_at(self) -> float | None:
        return self.transcript.captured_at


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
    """Terms of the glossary in its prompt."""
    hidden_tokens: int = 0
    """Last tokens that the caption does not show: mask-k's, or the one before which decoding stopped early."""


@dataclass(frozen=True, slots=True)
class Caption(_UpdateResult):
    """The text shown for a segment; replaces the segment's earlier caption."""

    text: str
    tokens: tuple[int, ...] = ()
    """Token ids whose text is wholly shown: the unit in which shown erasure is counted."""
    accepted: tuple[Span, ...] = ()
    """Which characters of `text` were accepted from a draft, in order; the rest is new in this update."""
    masked_tokens: int = 0
    """Output tokens held back by mask-k and by the cut to a word boundary."""
    untranslated: bool = False
    """Whether the text is the source: the captions' language is spoken, or the sentence is too long for the model."""

    @property
    def right_to_left(self) -> bool:
        language = None if self.untranslated else LANGUAGES.get((self.language or "").lower())
        return language.right_to_left if language else reads_right_to_left(self.text)


@dataclass(frozen=True, slots=True)
class Coalesced:
    """A waiting partial was replaced by a newer one of its segment before it was translated."""

    segment_id: int
    revision: int


@dataclass(frozen=True, slots=True)
class Notice:
    """One sentence for the user: loading progress, sound that was skipped, a device that vanished."""

    level: str  # `info`, `warning` or `error`.
    text: str
    about: str | None = None
    """What it is about, if that can change: a later notice about the same makes this one untrue."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Source time of which no sound was heard, `start` to `end`; published when it is over."""

    start: float
    end: float
    reason: str  # `microphone` (the device was gone), `paused` (by the user) or another of docs/events.md.
    track: str | None = None
    """Name of the track that lacks it; None in a run of one."""

    def caption(self) -> Caption:
        """Return a caption that marks the gap. It belongs to no segment."""
        marked = Transcript(-1, 0, "", "", True, self.start, self.end, track=self.track)
        length = f"{self.end - self.start:.0f} s"
        return Caption(marked, f"[paused for {length}]" if self.reason == "paused" else f"[{length} without sound]")


@dataclass(frozen=True, slots=True)
class SourceProgress:
    """How much of the source has been heard: published about twice a second of sound, and at the end."""

    heard: float
    """Source time heard so far, in seconds."""
    total: float | None
    """Length of the source where it is known."""
    speaking: bool
    """Whether the gate is open."""
    level: float = 0.0
    """Root mean square of the latest sound, 0..1: a meter, so that a silent microphone is seen."""
    skipped: float = 0.0
    """Source time lost so far because the machine could not keep up."""
    passes: int = 0
    """Passes of the recogniser so far, with those that changed no text."""
    recognition_seconds: float = 0.0
    """Measured duration of all of them."""
    track: str | None = None
    """Name of the track whose sound it is; None in a run of one."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a run listens to, so that its session can be recognised, and a file be found again."""

    name: str
    """Of the file or the microphone."""
    path: str | None = None
    """Of the file, absolute; None for anything else."""
    size_bytes: int | None = None
    modified_at: float | None = None
    """When the file was last written, in seconds since 1970."""
    start: float = 0.0
    """Source time at which the replayed part begins."""
    end: float | None = None
    """Where it ends; None for the file's end."""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """Models are loaded and listening begins."""

    signature: dict[str, str | int | float | bool | None]
    """The translator, its threads, the versions and the machine."""
    settings: Settings = field(default_factory=Settings)
    origin: Origin | None = None
    """None if it is not known."""
    began_at: float | None = None
    """In seconds since 1970, by the system's clock: instants of a run do not say which of two sessions is the newer."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A finished segment was translated again from scratch, each update timed, while the run was idle.

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
    """Units that the run's own captions took back."""
    shown_units: int
    """Units of its last one."""
    retranslation_erased_units: int
    """Units that re-translation would have taken back under the run's mask."""
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
class SettingChanged:
    """A key on the screen changed a setting: later numbers belong to the new value."""

    name: str
    """The setting's key in `livetrans.config.SETTINGS`, or `paused`."""
    value: str | int | float | bool


@dataclass(frozen=True, slots=True)
class BackPressure:
    """How far the run is behind, and what it leaves out for that (`livetrans.run.backpressure`)."""

    level: str
    behind_seconds: float
    """Since the oldest sound came that waits for the recogniser or for its translation."""


Event = (
    RunStarted
    | SourceProgress
    | Gap
    | Transcript
    | Coalesced
    | Translation
    | Caption
    | SettingChanged
    | BackPressure
    | Notice
    | Comparison
    | RunEnded
)


@dataclass(frozen=True, slots=True)
class Record:
    """An event with the instant at which it was published, in seconds since the run began."""

    at: float
    event: Event
