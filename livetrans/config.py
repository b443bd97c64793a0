"""Settings, one frozen dataclass for each stage, passed explicitly. Defaults are for a listener.

A field states everything about its setting once: its default, its option of the command line, which is also its key in
config.toml, the values that it takes, and its help. Times are source time in seconds; counts are of windows, words or
tokens, as named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from livetrans.base.languages import parse_language

UNNAMED = Path()
"""A model that is not chosen yet. `livetrans.models.chosen` replaces it, or a name, by the path of a model."""

RECOGNISER_VARIABLE, TRANSLATOR_VARIABLE = "LIVETRANS_ASR_MODEL", "LIVETRANS_MT_MODEL"
"""Environment variables that name a model."""
MOST_THREADS = 512
"""llama.cpp crashes past its own limit, and CTranslate2 where the system gives no more."""


@dataclass(frozen=True, slots=True)
class Option:
    """How a setting is given on the command line and in config.toml, and what `--help` says of it."""

    name: str
    """With what stands for its value in the help, if it takes one: `--step SECONDS`, `--plain`, `--jsonl [FILE]`, which
    also stands without a value, or `--show-source/--hide-source`. `--no-NAME` turns off what is on without it. Each
    flag has an opposite, for a run that wants what the configuration file does not."""
    help: str
    """`--help` shows the first sentence; `--help-all` and the configuration file show all of it."""
    kind: str = ""
    """How a value is read where the field's type does not tell: a key of `livetrans.cli.options.KINDS`."""
    choices: tuple[str, ...] = ()
    span: tuple[Any, Any] | None = None
    """The least and the most that a number can be; None for no limit."""
    default_text: str = ""
    """The default in words, for a setting whose default is found out or is None."""
    bare: str | None = None
    """The value of an option that stands without one."""
    variable: str | None = None
    """An environment variable, which wins over the file and loses to the command line."""
    section: str = ""
    """Its heading in `--help-all`; empty for that of its stage in `SECTIONS`."""
    everyday: bool = False
    """Whether `--help` lists it. All others are for experts: `--help-all` lists them."""
    in_file: bool = True
    """Whether it can be a key of config.toml; False where a second run with the same value cannot work."""
    on_screen: bool = False
    """Whether keys on the screen change it during a run."""
    is_repeatable: bool = False
    """Whether it can be given several times; its value is a tuple."""
    commands: tuple[str, ...] = ()
    """The commands that have it; all that run if empty."""


T = TypeVar("T")


def option(default: T, name: str, **described: Any) -> T:
    """Return a dataclass field with a default and an `Option`, whose other fields are `described`."""
    made: Any = field(default=default, metadata={"option": Option(name, **described), "span": described.get("span")})
    return made  # type: ignore[no-any-return]


def ranged(default: T, least: Any, most: Any) -> T:
    """Return a dataclass field without an option, for a number from `least` to `most`."""
    made: Any = field(default=default, metadata={"span": (least, most)})
    return made  # type: ignore[no-any-return]


def span_of(stage: Any, name: str) -> tuple[Any, Any]:
    """Return the least and the most that a setting of a stage can be, None for no limit; a flag has 0 and 1."""
    found: tuple[Any, Any] | None = next(part.metadata for part in fields(stage) if part.name == name).get("span")
    return found or (0, 1)


# fmt: off
@dataclass(frozen=True, slots=True)
class GateSettings:
    """The voice-activity gate (`livetrans.speech.gate`)."""

    detector: str = option("silero", "--gate", choices=("silero", "webrtcvad"),
        help="What tells speech from other sound: silero, a small network; or webrtcvad, which takes a tenth of its "
        "time and 30 MB less, but takes much music and noise for speech.")
    strictness: int = option(2, "--vad 0..3", span=(0, 3),
        help="Strictness of the voice-activity gate: 0 lets most sound through, 3 least.")
    """Chooses Silero's least probability of speech, or is webrtcvad's aggressiveness."""
    pause: float = option(0.8, "--pause SECONDS", span=(0.1, 60), help="Seconds of silence that end a segment.")
    pre_roll: float = 0.3
    """Sound passed on from before the first voiced window, so that no word's start is cut."""
    hang_over: float = 0.3
    """Sound passed on after the last voiced window, so that no word's end is cut."""
    minimum_speech: float = 0.25
    """Voiced sound needed before the gate opens: a click or a cough is not speech."""


@dataclass(frozen=True, slots=True)
class TranscriberSettings:
    """Streaming recognition (`livetrans.speech.transcriber`)."""

    step: float | None = option(None, "--step SECONDS", span=(0.1, 60),
        default_text="0.4 to 0.8 by what passes cost; 0.8 on battery, and where the language is detected",
        help="Seconds of new sound per recognition pass; a slow machine takes more.")
    """None follows the machine, see `Transcriber.step`."""
    adaptive: bool = True
    """Whether passes follow the machine's speed and the pauses of speech. If False, they come at every step, which is
    `LONGEST_STEP` unless it is set: the same on every machine, as `--speed max` and tests need."""
    trim_after: float | None = None
    """Buffer length past which sound of committed segments is dropped; None takes the recogniser's."""
    maximum_words: int = 40
    maximum_length: float = 20.0
    """Caps of a segment, in words and seconds; the cut is at a clause boundary if there is one."""
    prompt_characters: int = 200
    """Committed text given to the recogniser as its prompt; 0 for a recogniser that was not trained with prompts."""
    caution: float = ranged(1.0, 0, 100)
    """How surely uncommitted words have to be right to be shown: their probability to this power has to reach the
    recogniser's `sure`. 0 shows all. A calm setting chooses it."""


ENGINES = ("auto", "faster-whisper", "whisper.cpp", "onnx")
MODEL_TEXT = "the one that `livetrans models` marks"


@dataclass(frozen=True, slots=True)
class RecogniserSettings:
    """The adapters of Whisper (`livetrans.speech.whisper_pass`) and of transducers (`livetrans.speech.transducer`)."""

    model: Path = option(UNNAMED, "--asr MODEL", default_text=MODEL_TEXT, variable=RECOGNISER_VARIABLE, everyday=True,
        help="Recogniser: a name or a path. Names are those of `livetrans models`. A path is a folder, for "
        "whisper.cpp a file.")
    language: str | None = "en"
    """Whisper language code, or None to let the recogniser detect it."""
    beam_size: int | None = None
    """Beams of a pass; None takes the number that the model states, or else 1."""
    threads: int = option(0, "--asr-threads N", span=(0, MOST_THREADS),
        help="Threads of the recogniser; 0 chooses by model and machine.")
    window: str | None = option(None, "--encode-window", choices=("auto", "full", "partials", "always"),
        section="Listening", default_text="what the recogniser was trained for; auto for OpenAI's models",
        help="Length of sound that the recogniser encodes in a pass. full is 30 s. always is the length of the "
        "speech, which is faster. partials is the same, but full for the last pass of a segment. auto is the first of "
        "full, partials and always that is in time on this machine; full where nobody waits.")
    other_languages: tuple[str, ...] = ()
    """Codes of languages that the user may switch to."""
    hot_words: tuple[str, ...] = ()
    """Words that are likely to be spoken; for models that were trained with previous text as a prompt."""
    compute_type: str | None = None
    """CTranslate2's name of how weights are computed with; None takes the stored form for a model of our own, and the
    fastest one here for others, which are published in float16: no CPU computes that fast."""
    engine: str = option("auto", "--engine", choices=ENGINES,
        help="What computes the recogniser, each with models of its own: faster-whisper; whisper.cpp, which uses a GPU "
        "(on Apple Silicon too); or onnx, for NeMo's transducers (Parakeet). auto takes the first that "
        "keeps up and has a model here: with a GPU whisper.cpp or faster-whisper, without one onnx.")


@dataclass(frozen=True, slots=True)
class LanguageModelSettings:
    """The llama.cpp adapter (`livetrans.lm.llama`)."""

    model: Path = option(UNNAMED, "--mt MODEL", default_text=MODEL_TEXT, variable=TRANSLATOR_VARIABLE, everyday=True,
        help="Translator: a name or a GGUF file. Names are those of `livetrans models`.")
    context_tokens: int = option(512, "--context TOKENS", span=(32, 131_072),
        help="Context window of the translator, in tokens.")
    """Kept small: the time to move cells grows with it."""
    threads: int = option(0, "--threads N", span=(0, MOST_THREADS),
        help="Threads of the translator; 0 takes half of the cores.")
    prompt: str | None = option(None, "--prompt", kind="template", default_text="the one that fits the translator",
        help="Prompt template.")
    server: str = option("", "--mt-server URL", kind="server",
        help="Translate on a server in place of --mt. It is llama-server, Ollama, LM Studio, vLLM, SGLang or a similar "
        "one, at an address such as http://127.0.0.1:8080. What is said goes there.")
    server_model: str = option("", "--mt-model NAME", kind="text", default_text="the server's only one",
        help="Which of the server's models translates, see `livetrans models --mt-server URL`.")
    key_file: Path = option(UNNAMED, "--mt-key-file FILE", kind="key", default_text="LIVETRANS_MT_KEY, if that is set",
        help="File with the server's key.")


PAIR_TOKENS = 96
"""Room for a sentence and its translation, of 20 words each at about two and a half tokens a word."""


@dataclass(frozen=True, slots=True)
class Term:
    """A line of the glossary."""

    text: str
    translation: str = ""
    """What captions have for it: itself, if it stays as it is; empty where it is only to be heard right."""
    heard: tuple[tuple[str, str], ...] = ()
    """What the recogniser wrote for it, each with the code of the spoken language, or an empty one for all."""


REPAIRS = ("none", "spelled", "names")


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """Terms, and the parts of a prompt besides the speech (`livetrans.names`, `livetrans.translation.prompting`)."""

    history: int = option(0, "--history N", everyday=True, span=(0, 20),
        help="Earlier sentences in the prompt, each with its translation. The default of --context grows by "
        f"{PAIR_TOKENS} tokens for each.")
    glossary_file: Path = option(UNNAMED, "--glossary FILE", kind="glossary", everyday=True,
        help="File of names and terms, with translations. Each line has a term, its translation (= keeps it) and how "
        "it was heard (a | b), with tabs or commas between. What was heard is written as the term. Terms that occur in "
        "the speech are added to the translator's prompt; the bundled translator keeps only names. The recogniser "
        "gets terms as hot words, which can also change other words. The file is read again when it changes.")
    repair: str = option("spelled", "--repair", choices=REPAIRS,
        help="What is written as a term of the glossary: nothing; spelled: the spellings that it lists, and English "
        "words near such a spelling where faster-whisper finds it likely; names: also what sounds like a term and is "
        "no common word. names may write a term for somebody else's name.")
    glossary: tuple[Term, ...] = ()
    """Those of the glossary, and of what the reader corrected."""


FINALS = ("careful", "fresh", "partial")


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

    method: str = option("window", "--method", kind="method",
        help="Decoder: {decoders}; paper is ssbd with the paper's settings, whatever --calm is.")
    bias: float = option(0.0, "--bias 0..1", on_screen=True, span=(0, 1),
        help="Preference for the draft, for {biased}: more is calmer and faster. From 0.5 on the whole draft is "
        "accepted. With ssbd, 0 gives the output of rt. window needs no bias; one that is given applies only to "
        "its live window.")
    """Probability mass moved to the draft token during verification (arXiv 2509.21740v2, equation 3)."""
    window: int = option(7, "--live-window TOKENS", span=(0, None),
        help="Last tokens of the draft that window verifies; those before them do not change.")
    margin: float = ranged(1.5, 0, 1000)
    """Log-probability, in nats for each shown word retracted, that a change has to gain (`window` only)."""
    final: str = option("careful", "--final", choices=FINALS,
        help="How a final is decoded. careful (with window only) may change more of the caption than an update, where "
        "the model clearly prefers another text. fresh decodes it anew, at bias 0. partial decodes it like any "
        "update.")
    final_window: int = ranged(15, 1, None)
    """Last tokens of the draft that a careful final may change."""
    early_stop: bool = option(True, "--no-early-stop",
        help="Decode growing captions to their end, also what is not shown yet. window stops before that.")
    """Whether a partial is decoded only as far as its tokens would be shown (`livetrans.decoding.stopping`)."""
    fallback: float = ranged(0.6, 0, 1)
    """The draft model's highest probability, 0..1, up to which the target writes the token (`bild` only)."""
    rollback: float = ranged(3.0, 0, 1000)
    """Distance in nats from which the target takes a token of the draft model back (`bild` only)."""
    sampling: SamplingSettings | None = None
    """None decodes greedily."""
    maximum_output_tokens: int = 160
    """Length cap of drafts and outputs alike."""


@dataclass(frozen=True, slots=True)
class MaskSettings:
    """mask-k on non-final captions (`livetrans.translation.presenter`)."""

    mode: str = option("display", "--mask", choices=("display", "output", "none"),
        help="Hide the last tokens of unfinished captions. display hides them from the viewer only, output from the "
        "next draft too.")
    k: int = option(3, "--mask-k TOKENS", on_screen=True, span=(0, None), help="Number of tokens that the mask hides.")


THEMES = ("dark", "light", "ansi")
"""Colours of the screen; `ansi` are the terminal's own."""
PANELS = ("people", "research", "off")
GAMMA, MOST_GAMMA = 4, 16


@dataclass(frozen=True, slots=True)
class DraftModelSettings:
    """The draft model of speculative decoding (`livetrans.decoding.drafting`)."""

    model: Path = option(UNNAMED, "--draft-model MODEL",
        help="Small translator of the same vocabulary, which proposes tokens to the translator. The text stays the "
        "same. It pays where the translator is 10 times larger or more, and checks several tokens in little more "
        "than the time of one.")
    gamma: int = option(GAMMA, "--gamma N", span=(1, MOST_GAMMA),
        help="Number of tokens that the draft model proposes at a time.")


TRANSCRIPT_ONLY = "none"
"""Stands for the language of a track that is not translated."""


@dataclass(frozen=True, slots=True)
class MeetingSettings:
    """The microphone as the second track of a run that hears what the computer plays (`livetrans.run.tracks`)."""

    spoken: str | None = option(None, "--me LANGUAGE", kind="language", default_text="that of --to", everyday=True,
        commands=("listen",),
        help="With --with-mic: the language that you speak. Without --to, captions are in it too.")
    target: str | None = option(None, "--me-to LANGUAGE", kind="language or none",
        default_text="that of --from; none with --from auto", commands=("listen",),
        help="With --with-mic: the language for what you say. none only writes it down.")
    names: tuple[str, ...] = option(("me", "them"), "--names ME,THEM", kind="names",
        commands=("listen", "mic", "replay"),
        help="With --with-mic: the names of the two tracks. With --between: who speaks each language.")
    """The microphone's track, then that of what the computer plays."""


@dataclass(frozen=True, slots=True)
class BetweenSettings:
    """A conversation of two languages in one source of sound (`livetrans.speech.between`)."""

    languages: tuple[str, ...] = option((), "--between LANGUAGES", kind="pair", everyday=True, in_file=False,
        commands=("mic", "listen", "replay", "doctor"),
        help="Both ways between two languages: en,de. The first is the one that you read. It "
        "replaces --from and --to.")
    names: tuple[str, ...] = ()
    """Who speaks each of them; empty for the languages' names."""
    model: Path = option(UNNAMED, "--mt-back MODEL", default_text="that of --mt if it knows both directions",
        section="Models", commands=("mic", "listen", "replay", "doctor"),
        help="Translator from the second language of --between into the first.")
    prompt: str | None = None
    """The prompt template of that translator; None for the one that fits it."""

    def __post_init__(self) -> None:
        if len(self.languages) not in (0, 2) or len(self.names) not in (0, 2):
            raise ValueError("a conversation has two languages, and a name for each")

    @property
    def speakers(self) -> dict[str, str]:
        """Who speaks, by language."""
        names = self.names or [parse_language(code).name for code in self.languages]
        return dict(zip(self.languages, names, strict=True))


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """What a run writes, and where (`livetrans.session.sinks`)."""

    plain: bool = option(False, "--plain", everyday=True,
        help="Write lines instead of the screen. That is always so where the output is not a terminal.")
    partials: bool = option(False, "--partials",
        help="With plain lines: write a caption's words as they come, not once it is final. New words are added to "
        "its line. Where shown words change, the caption is written again on a new line.")
    show_source: bool | None = option(None, "--show-source/--hide-source", default_text="on the screen only",
        everyday=True,
        help="Show the recognised text too.")
    source_line: str = option("below", "--source-line", choices=("above", "below"),
        help="Where the recognised text stands; always below with --partials, because the caption grows first.")
    panel: str = option("people", "--panel", choices=PANELS,
        help="Panel at start: people (lag, NE, speedup, calm), research (all figures) or off.")
    theme: str = option("dark", "--theme", choices=THEMES, everyday=True,
        help="Colours of the screen: dark, light, or ansi (the terminal's own).")
    jsonl: str | None = option(None, "--jsonl [FILE]", kind="jsonl", bare="-", in_file=False,
        help="Write every event as a JSON line to FILE, which ends in .jsonl. Without FILE, or with -, lines go to "
        "standard output.")
    session: Path | None = option(None, "--session FOLDER", kind="folder",
        default_text="a new one in the user's data folder", in_file=False,
        help="Folder that this session is recorded in.")
    name: str | None = option(None, "--name NAME", default_text="the time", everyday=True, in_file=False,
        help="Name of this session. `livetrans sessions` lists it.")
    record_session: bool = option(True, "--no-session/--record-session", everyday=True, help="Record no session.")
    speedup: bool = option(True, "--no-speedup",
        help="Do not measure the speedup over re-translation. Measuring takes at most 5 % of a core, while the run is "
        "idle.")
    keep_audio: bool = option(False, "--keep-audio", everyday=True,
        help="Record the sound with the session. Each track has a WAV file.")
    keep_sessions: int | None = option(None, "--keep-sessions DAYS", default_text="all are kept", span=(1, None),
        help="After a run that is recorded, remove older sessions from the user's data folder.")
    serve: str | None = option(None, "--serve [lan|HOST:PORT]", kind="place", bare="localhost", everyday=True,
        help="Serve captions to browsers and programs. The port is a free one if none is named. lan or lan:PORT "
        "serves captions to others in your network, who need the address with its token. off serves none.")
    publish: str | None = option(None, "--publish ADDRESS", kind="room", in_file=False,
        help="Put captions on a web server for thousands of readers: https://HOST/pub/ROOM. `livetrans hub HOST` says "
        "how to set it up.")
    serve_downloads: bool = option(False, "--serve-downloads",
        help="Let readers of the page save what was said so far, as text or subtitles.")
    captions_to: tuple[str, ...] = option((), "--captions-to [LANG=]@FILE", kind="link", in_file=False,
        is_repeatable=True,
        help="Send finished captions to YouTube, Zoom or Teams, by the link in FILE or in the environment variable of "
        "that name. Other users see command lines, so it does not take the link itself. de=@FILE sends the captions "
        "in German. Give it again for another link.")
    captions_delay: float = option(0.0, "--captions-delay SECONDS", span=(-60, 600),
        help="How much later than the speech a stream's picture is sent, for --captions-to YouTube.")
    caption_file: Path | None = option(None, "--caption-file FILE", kind="file",
        help="Keep the newest caption in FILE, for a text source of OBS or another program.")


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a run. A key on the screen replaces the whole object, see `after_key`."""

    recogniser: RecogniserSettings | None = RecogniserSettings()
    """None for a recorded transcript stream, which needs no recogniser."""
    language_model: LanguageModelSettings = LanguageModelSettings()
    draft_model: DraftModelSettings | None = None
    sources: tuple[str, ...] = option(("en",), "--from LANGUAGE", kind="languages or auto", everyday=True,
        on_screen=True,
        help="Spoken language, or auto. It is a code or a name; auto detects it. A key switches between several, as "
        "in en,fr,auto.")
    """Codes of the spoken languages between which a key switches, possibly `auto`; the first one holds."""
    targets: tuple[str, ...] = option(("de",), "--to LANGUAGE", kind="languages", everyday=True, on_screen=True,
        help="Language of the captions. It is a code or a name. Several, as in de,fr, are made at once: the screen "
        "and plain lines show the first, and a key shows the next.")
    """Codes of the captions' languages, all of which are made; the first one is shown."""
    device: str | None = option(None, "--device DEVICE", default_text="the system's", section="Listening",
        everyday=True, commands=("mic", "listen"),
        help="Microphone: its number or a part of its name. `livetrans devices` lists them.")
    meeting: MeetingSettings | None = None
    """None in a run of one track."""
    between: BetweenSettings | None = None
    """None in a run that translates in one direction."""
    prompt: PromptSettings = PromptSettings()
    gate: GateSettings = GateSettings()
    transcriber: TranscriberSettings = TranscriberSettings()
    decoding: DecodingSettings = DecodingSettings()
    mask: MaskSettings = MaskSettings()
    output: OutputSettings = OutputSettings()

    # fmt: on
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

    @property
    def as_recorded(self) -> bool:
        """Whether captions are shown as they were recorded: no setting of the run has made them."""
        return self.decoding.method == RECORDED_METHOD

    def is_microphone(self, track: str | None) -> bool:
        """Return whether the track of this name is the microphone's in a run of two."""
        return self.meeting is not None and track == self.meeting.names[0]

    def shows(self, track: str | None, language: str | None, target: str | None = None) -> bool:
        """Return whether captions of a track in a language are shown to a reader of `target`, by default the first.

        A run into one language shows all. Of a conversation, each turn is shown in the language of who listens.
        """
        if self.between and target is None:
            mine, theirs = self.between.languages
            return language == (theirs if track == self.between.speakers[mine] else mine)
        return len(self.targets) == 1 or language in (None, target or self.target_language) or self.is_microphone(track)

    def for_microphone(self) -> Settings:
        """Return the settings of the microphone's track in a run of two: what the user speaks, and its translation."""
        meeting = self.meeting or MeetingSettings()
        target = meeting.target or (self.source_language if self.source_language != "auto" else TRANSCRIPT_ONLY)
        spoken = meeting.spoken or self.target_language
        return replace(self, sources=(spoken,), targets=(spoken if target == TRANSCRIPT_ONLY else target,))

    @property
    def speakers(self) -> tuple[str, ...]:
        """Names of the tracks, or of those who speak to each other, in their places; none where one is heard."""
        names = self.between.speakers.values() if self.between else self.meeting.names if self.meeting else ()
        return tuple(names)[::-1]

    @property
    def directions(self) -> tuple[Settings, ...]:
        """The settings of each direction of a conversation, as of a run in it alone; of any other run its own."""
        if not self.between:
            return (self,)
        back = replace(self.language_model, model=self.between.model, prompt=self.between.prompt)
        ways = zip(self.between.languages, self.between.languages[::-1], (self.language_model, back), strict=True)

        def way(source: str, target: str, model: LanguageModelSettings) -> Settings:
            heard = self.recogniser and replace(self.recogniser, language=parse_language(source).whisper_code)
            return replace(
                self, between=None, sources=(source,), targets=(target,), language_model=model, recogniser=heard
            )

        return tuple(way(*one) for one in ways)

    @property
    def calm(self) -> str | None:
        """The name in `CALM` of the settings; None if a single one was changed, or the method has no calm settings."""
        if self.decoding.method != "window":
            return None
        return next((name for name in CALM if with_preset(self, CALM[name]) == self), None)


CALM = {
    "still": Settings(
        decoding=DecodingSettings(window=3, final="partial"), transcriber=TranscriberSettings(caution=2.0)
    ),
    "balanced": Settings(),
    "faithful": Settings(
        decoding=DecodingSettings(window=160, early_stop=False), transcriber=TranscriberSettings(caution=0.0)
    ),
}
"""How calm captions are: shown words stay unless the source was rewritten; a final may change them; best text."""

PAPER = Settings(
    decoding=DecodingSettings("ssbd", bias=0.2, final="partial"),
    mask=MaskSettings("display", 3),
    transcriber=TranscriberSettings(caution=0.0),
)
"""The paper's SSBD with its settings (arXiv 2509.21740v2, Table 4), which `--method paper` chooses."""

PAPER_METHOD = "paper"
"""The `--method` that is `PAPER`, whatever --calm is."""


RECORDED_METHOD = "recorded"
"""The method of a run that shows captions as they were recorded, and translates nothing."""


def with_preset(settings: Settings, preset: Settings) -> Settings:
    """Return the settings with decoding, mask and caution of a preset; the method stays.

    Without the live window it takes a bias to keep captions calm: the paper's.
    """
    method = settings.decoding.method
    bias = preset.decoding.bias if method == preset.decoding.method else PAPER.decoding.bias
    return replace(
        settings,
        decoding=replace(preset.decoding, method=method, bias=bias),
        mask=preset.mask,
        transcriber=replace(settings.transcriber, caution=preset.transcriber.caution),
    )


def preset_of(calm: str, method: str) -> Settings:
    """Return what `--calm` and `--method` choose together."""
    if method == PAPER_METHOD:
        return PAPER
    return with_preset(with_field(Settings(), "decoding.method", method), CALM[calm])


def with_field(settings: Settings, name: str, value: Any) -> Settings:
    """Return the settings with one field replaced, which is named as `decoding.bias`, `targets` or `calm`."""
    if name == "calm":
        return with_preset(settings, CALM[value])
    stage, _, name = name.rpartition(".")
    if not stage:
        return replace(settings, **{name: value})
    part: Any = getattr(settings, stage) or _STAGES[stage]()
    return replace(settings, **{stage: replace(part, **{name: value})})


_STAGES: dict[str, Any] = {
    part.name: globals()[str(part.type).split()[0]] for part in fields(Settings) if "Settings" in str(part.type)
}
SECTIONS = {
    "Languages": ("", "meeting", "between"),
    "Models": ("recogniser", "language_model", "draft_model"),
    "Translation": ("prompt", "decoding", "mask"),
    "Listening": ("gate", "transcriber"),
    "Output": ("output",),
}
"""The headings of `--help-all`, in their order, and the stages whose settings they are for."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A field of `Settings` that has an option."""

    field: str
    """Such as `decoding.bias`."""
    type: str
    default: Any
    option: Option
    section: str

    @property
    def key(self) -> str:
        """The option's name without dashes, which names the setting everywhere outside of the program."""
        return self.option.name.split()[0].partition("/")[0][2:]

    @property
    def is_by_calm(self) -> bool:
        """Whether a calm setting chooses its value, see `with_preset`."""
        return self.field.startswith(("decoding.", "mask.")) and self.field != "decoding.method"

    def of(self, settings: Settings) -> Any:
        """Return its value; its default in settings without the stage."""
        value: Any = settings
        for name in self.field.split("."):
            value = self.default if value is None else getattr(value, name)
        return value


def _stated(owner: Any, stage: str = "") -> Iterator[Setting]:
    section = next(name for name, stages in SECTIONS.items() if stage in stages)
    for part in fields(owner):
        if not stage and part.name in _STAGES:
            yield from _stated(_STAGES[part.name], part.name)
        elif found := part.metadata.get("option"):
            path = f"{stage}.{part.name}" if stage else part.name
            yield Setting(path, str(part.type), part.default, found, found.section or section)


_CALM = Setting("calm", "str", "balanced", Option(
    "--calm NAME",
    "What may change on screen: still, balanced, faithful. still keeps shown words, waits longest for sure ones, "
    "and computes least. balanced changes them where it is worth it, above all in finals. faithful shows every "
    "word and looks at whole captions. Single options of decoding and mask take precedence.",
    choices=tuple(CALM), everyday=True, on_screen=True,
), "Translation")  # fmt: skip
SETTINGS = {
    setting.key: setting
    for setting in sorted([_CALM, *_stated(Settings)], key=lambda setting: [*SECTIONS].index(setting.section))
}
"""Every setting that has an option, by its key, in the order of the help."""


def after_key(settings: Settings, key: str, value: Any) -> Settings:
    """Return the settings after `SettingChanged(key, value)`; keys of no setting on the screen (`paused`) change none.

    The chosen one of several languages comes first, then those that follow it in turn. A language that is not among
    them, such as a detected one, is added.
    """
    setting = SETTINGS.get(key)
    if setting is None or not setting.option.on_screen or (setting is _CALM and value not in CALM):
        return settings
    if key in ("from", "to"):
        codes: tuple[str, ...] = setting.of(settings)
        if value not in codes:
            codes = (codes[0], str(value), *codes[1:])
        at = codes.index(str(value))
        value = codes[at:] + codes[:at]
    return with_field(settings, setting.field, value)
