"""Which options have no effect in which runs: one table, for the command line and for the keys of the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from livetrans.config import SETTINGS, UNNAMED, Setting, Settings
from livetrans.decoding import DECODERS

SOUND, TRANSCRIPT, PIPE = "sound", "transcript", "pipe"
"""What is replayed: a file of sound, a recorded transcript stream, or standard input."""


@dataclass(frozen=True, slots=True)
class Way:
    """What decides which options of a run have an effect."""

    settings: Settings
    values: Mapping[str, Any] = field(default_factory=dict)
    """Those of the command's own options, by their parameters; without the options that the command lacks."""
    sources: tuple[str, ...] = ()
    """What each file of `replay` is; empty for live sound."""
    on_screen: bool = False
    """Whether the run draws the screen."""

    def has(self, name: str) -> bool:
        """Return whether an option of the command itself was given."""
        return self.values.get(name) not in (None, False)

    def lacks(self, name: str) -> bool:
        """Return whether the command has the option, and it was not given."""
        return name in self.values and not self.has(name)

    @property
    def is_fast(self) -> bool:
        return self.has("offline") or self.values.get("speed") == "max"

    @property
    def method(self) -> str:
        """The decoder as the user wrote it: `paper` is one of its names."""
        return str(self.values.get("method", self.settings.decoding.method))


@dataclass(frozen=True, slots=True)
class Mode:
    """A row of the table: runs in which some options have no effect."""

    holds: Callable[[Way], bool]
    reason: str
    """What is said of such an option after its name. `{method}` stands for that of the run."""
    advice: str
    """What gives it an effect; empty where nothing does."""
    idle: str
    """The options' names without dashes, and the stages all of whose settings have no effect (`output.`)."""


def _methods() -> Iterator[Mode]:
    """Yield a row for each setting that some decoders use and others do not."""
    for key, setting in SETTINGS.items():
        if names := [row.name for row in DECODERS.values() if setting.field.removeprefix("decoding.") in row.uses]:
            yield _method(names, key)
    yield _method(["window"], "calm")
    careful = [row.name for row in DECODERS.values() if row.final]
    yield _method(careful, "final", lambda way: way.settings.decoding.final == "careful")
    # cd takes nothing back.
    fresh = [row.name for row in DECODERS.values() if row.name != "cd"]
    yield _method(fresh, "final", lambda way: way.settings.decoding.final == "fresh")


def _method(names: list[str], key: str, applies: Callable[[Way], bool] = lambda way: True) -> Mode:
    return Mode(
        lambda way: way.settings.decoding.method not in names and applies(way),
        "has no effect with --method {method}",
        f"choose --method {' or '.join(names)}",
        key,
    )


# fmt: off
MODES = (
    Mode(lambda way: bool({*way.sources} - {TRANSCRIPT}), "is for sessions", "name a session, or its .jsonl file",
         "as-recorded"),
    Mode(lambda way: way.has("as_recorded") or way.settings.as_recorded,
         "has no effect on captions as they were recorded", "leave out --as-recorded",
         "calm decoding. mask. prompt. language_model. draft_model. recogniser. gate. transcriber. from to between "
         "mt-back names compare session name keep-audio keep-sessions no-speedup"),
    Mode(lambda way: way.has("compare"),
         "has no effect with --compare, which only prints its table", "replay without --compare",
         "output. output force"),
    Mode(lambda way: way.has("compare"),
         "has no effect with --compare, whose methods have settings of their own (ssbd@0.5)",
         "replay without --compare", "decoding. calm gamma"),
    Mode(lambda way: way.has("compare") and way.settings.mask.mode == "output",
         "has no effect with --compare, whose methods have settings of their own (ssbd:mask=3)",
         "replay without --compare", "mask"),
    Mode(lambda way: way.has("compare"),
         "has no effect with --compare, whose prompts have the sentence alone", "replay without --compare", "prompt."),
    Mode(lambda way: way.has("compare"),
         "has no effect with --compare, which measures one direction", "give its languages with --from and --to",
         "between mt-back names"),
    Mode(lambda way: way.lacks("compare"), "has no effect without --compare", "add --compare METHODS",
         "repeats format"),
    Mode(lambda way: way.lacks("place"), "has no effect without -o", "add -o FILE", "force"),
    Mode(lambda way: {*way.sources} == {TRANSCRIPT}, "is for sound, and this is a recorded transcript", "",
         "recogniser. gate. transcriber. keep-audio"),
    Mode(lambda way: bool({*way.sources} - {SOUND}), "is for recordings of sound", "", "start end"),
    Mode(lambda way: way.values.get("speed") == "real" and (way.has("offline") or way.has("compare")),
         "has no effect where a replay is as fast as the machine", "leave out --offline and --compare", "speed"),
    Mode(lambda way: way.is_fast, "is for captions at the pace of speech",
         "replay without --offline and --speed max",
         "serve serve-downloads publish captions-to theme panel no-speedup"),
    Mode(lambda way: len(way.sources) > 1, "is for one file", "name one file", "compare session name"),
    Mode(lambda way: len(way.sources) > 1 and way.settings.output.jsonl != "-", "is for one file", "name one file",
         "jsonl"),
    Mode(lambda way: way.settings.output.plain or way.settings.output.jsonl == "-",
         "has no effect on lines", "leave out --plain and --jsonl", "theme panel"),
    Mode(lambda way: way.settings.output.jsonl == "-", "has no effect on lines of JSON", "leave out --jsonl",
         "partials show-source source-line"),
    Mode(lambda way: way.on_screen and not way.is_fast, "has no effect on the screen", "add --plain", "partials"),
    Mode(lambda way: not way.settings.output.record_session, "has no effect where no session is recorded",
         "record one with --record-session", "session name keep-audio keep-sessions"),
    Mode(lambda way: way.settings.output.session is not None, "has no effect with --session", "leave out --session",
         "name"),
    Mode(lambda way: not way.settings.output.serve and not way.settings.output.publish,
         "has no effect without --serve or --publish", "add --serve", "serve-downloads"),
    Mode(lambda way: not way.settings.output.captions_to, "has no effect without --captions-to", "add --captions-to",
         "captions-delay"),
    Mode(lambda way: way.lacks("with_mic"), "has no effect without --with-mic", "add --with-mic", "me me-to device"),
    Mode(lambda way: way.settings.between is not None, "has no effect with --between", "leave out --between",
         "from to with-mic"),
    Mode(lambda way: not way.settings.between, "has no effect without --between", "add --between LANGUAGES", "mt-back"),
    Mode(lambda way: not way.settings.between and way.lacks("with_mic"),
         "has no effect without --with-mic or --between", "add --with-mic, or --between LANGUAGES", "names"),
    Mode(lambda way: not way.settings.between and "with_mic" not in way.values, "has no effect without --between",
         "add --between LANGUAGES", "names"),
    Mode(lambda way: not way.settings.draft_model or way.settings.draft_model.model == UNNAMED,
         "has no effect without --draft-model", "add --draft-model MODEL", "gamma"),
    Mode(lambda way: bool(way.settings.language_model.server), "is for a translator on this machine",
         "leave out --mt-server",
         "mt mt-back threads context draft-model double-model gamma temperature top-k top-p seed no-speedup"),
    Mode(lambda way: bool(way.settings.language_model.server) and way.values.get("time") == "cpu",
         "counts the processor of this machine, and a server translates", "leave out --mt-server", "time"),
    Mode(lambda way: way.settings.decoding.method == "prefix" != way.method,
         "needs a server that gives log-probabilities of a draft", "take vLLM or SGLang",
         "method bias calm no-early-stop"),
    Mode(lambda way: not way.settings.language_model.server, "has no effect without --mt-server",
         "add --mt-server URL", "mt-model mt-key-file"),
    Mode(lambda way: way.settings.mask.mode == "none", "has no effect with --mask none",
         "choose --mask display or output", "mask-k"),
    *_methods(),
)
"""The first row that holds is what is said."""
# fmt: on


def without_effect(name: str, way: Way) -> tuple[str, str] | None:
    """Return why an option has no effect in a run, with what would give it one; None if it has an effect.

    `name`: the option without dashes, which is the key of a setting.
    """
    setting: Setting | None = SETTINGS.get(name)
    stage = f"{setting.field.partition('.')[0]}." if setting else None
    for mode in MODES:
        if {name, stage} & {*mode.idle.split()} and mode.holds(way):
            return mode.reason.format(method=way.method), mode.advice
    return None
