"""Settings, one frozen dataclass for each stage, passed explicitly. Defaults are for a listener.

Options, the configuration file, keys and sessions all make, change or hold one `Settings`. Times are source time in
seconds; counts are of windows, words or tokens, as named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

UNNAMED = Path()
"""A model that is not chosen yet. `livetrans.models.chosen` replaces it, or a name, by the path of a model."""


@dataclass(frozen=True, slots=True)
class GateSettings:
    """The voice-activity gate (`livetrans.speech.gate`)."""

    aggressiveness: int = 2
    """webrtcvad mode: 0 lets most through, 3 least."""
    pause: float = 0.8
    """Silence that ends a segment."""
    pre_roll: float = 0.3
    """Sound passed on from before the first voiced window, so that no word's start is cut."""
    hang_over: float = 0.3
    """Sound passed on after the last voiced window, so that no word's end is cut."""
    minimum_speech: float = 0.25
    """Voiced sound needed before the gate opens: a click or a cough is not speech."""


@dataclass(frozen=True, slots=True)
class TranscriberSettings:
    """Streaming recognition (`livetrans.speech.transcriber`)."""

    step: float = 0.8
    """New sound that triggers a pass; a slow machine waits longer, see `adaptive`. A shorter one rewrites more captions
    and is not seen sooner (docs/design.md, "Speech")."""
    adaptive: bool = True
    """The next pass covers at least as much new sound as the last pass took (measured); False makes passes independent
    of the machine's speed, as `--speed max` and tests need."""
    trim_after: float = 15.0
    """Buffer length past which sound of committed segments is dropped."""
    maximum_words: int = 40
    maximum_length: float = 20.0
    """Caps of a segment, in words and seconds; the cut is at a clause boundary if there is one."""
    prompt_characters: int = 200
    """Committed text given to the recogniser as its prompt; 0 for a recogniser that was not trained with prompts."""


ENGINES = ("auto", "faster-whisper", "whisper.cpp")
"""What computes the recogniser; `auto` takes whisper.cpp where it has a GPU, and faster-whisper elsewhere."""


@dataclass(frozen=True, slots=True)
class RecogniserSettings:
    """The adapters of Whisper (`livetrans.speech.whisper_pass`)."""

    model: Path = UNNAMED
    """A folder for faster-whisper, a file for whisper.cpp, or before it is found the name of a model."""
    language: str | None = "en"
    """Whisper language code, or None to let the recogniser detect it."""
    beam_size: int | None = None
    """Beams of a pass; None takes the number that the model states, or else 1."""
    threads: int = 0
    """0: one for a small model, a Mac's performance cores, else the engine's own choice."""
    window: str | None = None
    """What a pass encodes: `full` 30 s, `always` the sound and a short rest, `partials` the latter except for finals;
    None takes what the model was trained for."""
    other_languages: tuple[str, ...] = ()
    """Codes of languages that the user may switch to."""
    hot_words: tuple[str, ...] = ()
    """Words that are likely to be spoken; for models that were trained with previous text as a prompt."""
    compute_type: str | None = None
    """CTranslate2's name of how weights are computed with; None takes the stored form for a model of our own, and the
    fastest one here for others, which are published in float16: no CPU computes that fast."""
    engine: str = "auto"
    """Which engine's models are taken, see `ENGINES`; the model that is found decides for its engine."""


@dataclass(frozen=True, slots=True)
class LanguageModelSettings:
    """The llama.cpp adapter (`livetrans.lm.llama`)."""

    model: Path = UNNAMED
    """A GGUF file, or before it is found the name of a model."""
    context_tokens: int = 512
    """Kept small: to move cells costs time in proportion."""
    threads: int = 0
    """0: half the logical cores, at least one (the recogniser uses the other half)."""
    prompt: str | None = None
    """A name in `livetrans.lm.families.TEMPLATES`; None chooses by the model's metadata."""


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """Parts of a prompt besides the speech (`livetrans.translation.prompting`)."""

    history: int = 0
    """Most earlier sentences, each with its translation."""
    glossary: tuple[tuple[str, str], ...] = ()
    """Terms and their translations."""


FINALS = ("careful", "fresh", "partial")
"""How a final is decoded: shown words change only where the model clearly prefers another text; afresh, as
re-translation would write it (at bias 0); or like any update."""


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """How tokens are sampled (`livetrans.decoding.verification`), in this order."""

    temperature: float = 1.0
    top_k: int = 0
    """Only the k most likely tokens are sampled; 0 for all."""
    top_p: float = 1.0
    """Only the fewest most likely tokens whose probabilities add up to this are sampled (nucleus sampling)."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class DecodingSettings:
    """How a translation is decoded (`livetrans.decoding`)."""

    method: str = "window"
    bias: float = 0.0
    """Probability mass moved to the draft token during verification (arXiv 2509.21740v2, equation 3), 0..1."""
    window: int = 7
    """Last tokens of the draft that are verified; those before them are frozen (`window` only)."""
    margin: float = 1.5
    """Log-probability, in nats for each shown word taken back, that a change has to gain (`window` only)."""
    final: str = "careful"
    """How a segment's last update is decoded, see `FINALS`."""
    final_window: int = 15
    """Last tokens of the draft that a final may change if it is careful."""
    fallback: float = 0.6
    """The draft model's highest probability, 0..1, up to which the target writes the token (`bild` only)."""
    rollback: float = 3.0
    """Distance in nats from which the target takes a token of the draft model back (`bild` only)."""
    sampling: SamplingSettings | None = None
    """None decodes greedily."""
    maximum_output_tokens: int = 160
    """Length cap of drafts and outputs alike."""


@dataclass(frozen=True, slots=True)
class MaskSettings:
    """mask-k on non-final captions (`livetrans.translation.presenter`)."""

    mode: str = "display"
    """`display` (the draft keeps the masked tokens), `output` (it loses them) or `none`."""
    k: int = 3


THEMES = (
    "ansi-dark", "ansi-light", "atom-one-dark", "atom-one-light", "catppuccin-frappe", "catppuccin-latte",
    "catppuccin-macchiato", "catppuccin-mocha", "dracula", "flexoki", "gruvbox", "monokai", "nord", "rose-pine",
    "rose-pine-dawn", "rose-pine-moon", "solarized-dark", "solarized-light", "textual-dark", "textual-light",
    "tokyo-night",
)  # fmt: skip
"""The names of Textual's themes; stated here because importing Textual takes as long as the rest of a start."""
PANELS = ("people", "research", "off")
"""The numbers on the screen: lag and calm with the keys, all figures, or none."""

SOURCE_LINES = ("above", "below")
"""Where the recognised text stands."""

GAMMA, MOST_GAMMA = 4, 16
"""Tokens that a draft model proposes at a time; the most that can be set."""


@dataclass(frozen=True, slots=True)
class DraftModelSettings:
    """The draft model of speculative decoding (`livetrans.decoding.drafting`)."""

    model: Path = UNNAMED
    """A GGUF file, or before it is found the name of a model."""
    gamma: int | None = GAMMA
    """None chooses by the measured costs and the acceptance rate."""


TRANSCRIPT_ONLY = "none"
"""Stands for the language of a track that is not translated."""


@dataclass(frozen=True, slots=True)
class MeetingSettings:
    """The microphone as the second track of a run that hears what the computer plays (`livetrans.run.tracks`)."""

    spoken: str | None = None
    """Code of the language that the user speaks; None for that of the captions."""
    target: str | None = None
    """Code of the language that the user's speech is translated into, or `none`; None for that of the others."""
    names: tuple[str, ...] = ("me", "them")
    """Of the tracks: the microphone's, then that of what the computer plays."""


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """What a run writes, and where (`livetrans.session.sinks`)."""

    plain: bool = False
    partials: bool = False
    show_source: bool | None = None
    """None: on the screen only."""
    source_line: str = "above"
    """Where the source stands, see `SOURCE_LINES`."""
    panel: str = "people"
    """The panel that the screen shows first, see `PANELS`."""
    theme: str | None = None
    """One of `THEMES`; None for Textual's default."""
    jsonl: str | None = None
    """A file name, `-` for standard output, or None."""
    session: Path | None = None
    """The session's folder; None for one in the user's data folder."""
    name: str | None = None
    """The session's name in the user's data folder; None for the time."""
    record_session: bool = True
    speedup: bool = True
    """Whether the speedup is measured while a live run is idle, see `livetrans.run.speedup`."""
    keep_audio: bool = False
    serve: str | None = None
    """Where captions are served to browsers, see `livetrans.serve.address`; None for nowhere."""
    caption_file: Path | None = None
    """A file that holds the newest caption, for another program."""
    keep_sessions: int | None = None
    """Days after which sessions in the user's data folder are removed; None keeps them."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a run. A key replaces the whole object, see `changed`."""

    recogniser: RecogniserSettings | None = RecogniserSettings()
    """None for a recorded transcript stream, which needs no recogniser."""
    language_model: LanguageModelSettings = LanguageModelSettings()
    draft_model: DraftModelSettings | None = None
    sources: tuple[str, ...] = ("en",)
    """Codes of the spoken languages between which a key switches, possibly `auto`; the first one holds."""
    targets: tuple[str, ...] = ("de",)
    """Codes of the captions' languages, all of which are made; the first one is shown, and a key shows the next."""
    device: str | None = None
    """The microphone: its number or a part of its name; None for the system's."""
    meeting: MeetingSettings | None = None
    """None in a run of one track."""
    prompt: PromptSettings = PromptSettings()
    gate: GateSettings = GateSettings()
    transcriber: TranscriberSettings = TranscriberSettings()
    decoding: DecodingSettings = DecodingSettings()
    mask: MaskSettings = MaskSettings()
    output: OutputSettings = OutputSettings()

    def __post_init__(self) -> None:
        if not (self.sources and self.targets):
            raise ValueError("a run has a spoken language and a language of the captions")

    @property
    def source_language(self) -> str:
        """The code of the spoken language, or `auto`."""
        return self.sources[0]

    @property
    def target_language(self) -> str:
        """The code of the captions' language."""
        return self.targets[0]

    def is_microphone(self, track: str | None) -> bool:
        """Return whether the track of this name is the microphone's in a run of two."""
        return self.meeting is not None and track == self.meeting.names[0]

    def shows(self, track: str | None, language: str | None, target: str | None = None) -> bool:
        """Return whether captions of a track in a language are shown to a reader of `target`, by default the first.

        A run into one language shows all: earlier versions recorded others in it after a key.
        """
        return len(self.targets) == 1 or language in (None, target or self.target_language) or self.is_microphone(track)

    def for_microphone(self) -> Settings:
        """Return the settings of the microphone's track in a run of two: what the user speaks, and its translation."""
        meeting = self.meeting or MeetingSettings()
        target = meeting.target or (self.source_language if self.source_language != "auto" else TRANSCRIPT_ONLY)
        spoken = meeting.spoken or self.target_language
        return replace(self, sources=(spoken,), targets=(spoken if target == TRANSCRIPT_ONLY else target,))

    @property
    def calm(self) -> str | None:
        """The name in `CALM` of the settings; None if a single one was changed, or the method has no calm settings."""
        return next((name for name in CALM if with_preset(self, CALM[name]) == self and self.is_calm_method), None)

    @property
    def is_calm_method(self) -> bool:
        """Whether calm settings are for the run's method."""
        return self.decoding.method == "window"


CALM = {
    "still": Settings(decoding=DecodingSettings(window=3, final="partial")),
    "balanced": Settings(),
    "faithful": Settings(decoding=DecodingSettings(window=160)),
}
"""How calm captions are: shown words stay unless the source was rewritten; a final may change them; best text."""

PAPER = Settings(decoding=DecodingSettings("ssbd", bias=0.2, final="partial"), mask=MaskSettings("display", 3))
"""The paper's SSBD with its settings (arXiv 2509.21740v2, Table 4), which `--method paper` chooses."""

PAPER_METHOD = "paper"
"""The `--method` that is `PAPER`, whatever --calm is."""


def with_preset(settings: Settings, preset: Settings) -> Settings:
    """Return the settings with decoding and mask of a preset; the method stays.

    Without the live window it takes a bias to keep captions calm: the paper's.
    """
    method = settings.decoding.method
    bias = preset.decoding.bias if method == preset.decoding.method else PAPER.decoding.bias
    return replace(settings, decoding=replace(preset.decoding, method=method, bias=bias), mask=preset.mask)


def preset_of(calm: str, method: str) -> Settings:
    """Return what `--calm` and `--method` choose together."""
    if method == PAPER_METHOD:
        return PAPER
    return with_preset(with_field(Settings(), "decoding.method", method), CALM[calm])


def with_field(settings: Settings, field: str, value: Any) -> Settings:
    """Return the settings with one field replaced, which is named as `decoding.bias` or `targets`."""
    stage, _, name = field.rpartition(".")
    if not stage:
        return replace(settings, **{name: value})
    part: Any = getattr(settings, stage) or {"draft_model": DraftModelSettings, "meeting": MeetingSettings}[stage]()
    return replace(settings, **{stage: replace(part, **{name: value})})


LIVE = {"bias": "decoding.bias", "mask_k": "mask.k", "source": "sources", "target": "targets"}
"""The fields that keys set, by the names that `SettingChanged` has for them."""


def changed(settings: Settings, name: str, value: Any) -> Settings:
    """Return the settings after a key has set `name`, as `SettingChanged` says; other names (`paused`) change none.

    The chosen one of several languages comes first, then those that follow it in turn. A language of captions that is
    not among them takes their place: runs of before translated into one at a time.
    """
    if name == "calm" and value in CALM:
        return with_preset(settings, CALM[str(value)])
    if name not in LIVE:
        return settings
    if name in ("source", "target"):
        codes: tuple[str, ...] = getattr(settings, LIVE[name])
        if value not in codes:  # a detected language, which is to be kept
            codes = (codes[0], str(value), *codes[1:]) if name == "source" else (str(value),)
        at = codes.index(str(value))
        value = codes[at:] + codes[:at]
    return with_field(settings, LIVE[name], value)
