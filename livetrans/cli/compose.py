"""Builds the two sides of a run from settings: what the pipeline, the plain loop and the comparison all run."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING, Protocol

from livetrans import __version__
from livetrans.clock import Clock
from livetrans.config import Settings
from livetrans.errors import ContextError, UsageError
from livetrans.events import AudioChunk, Notice, SourceProgress, Transcript
from livetrans.languages import AUTO, Language, parse_language
from livetrans.lm.prompts import Prompt, build_prompt
from livetrans.sides import TranslatingSide
from livetrans.stages import Publish, listen
from livetrans.translation.presenter import Presenter
from livetrans.translation.rendering import renderer
from livetrans.translation.translator import Translator

if TYPE_CHECKING:
    from livetrans.audio.source import AudioSource
    from livetrans.lm.llama import LlamaModel
    from livetrans.lm.port import LanguageModel

_LONGEST_SOURCE_TOKENS = 160
"""Room for a segment at its length cap of 40 words, at four tokens a word."""

_LARGE_MODEL_BYTES = 200_000_000
"""From this size on loading takes long enough to tell how far it is. Told by size and not by time, because the events
of a run at full speed may not depend on the machine."""

UNKNOWN_LANGUAGE = Language(AUTO, "spoken", True, None)
"""Stands in prompts for a source language that the recogniser has to find out: "Translate the spoken source text"."""


class RecordedSource(Protocol):
    """A recorded transcript stream."""

    @property
    def duration(self) -> float | None: ...

    def __iter__(self) -> Iterator[Transcript]: ...

    def pause(self, paused: bool) -> None: ...

    def close(self) -> None: ...


class AudioHearing:
    """Sound through the gate and the recogniser."""

    def __init__(
        self,
        source: AudioSource,
        settings: Settings,
        clock: Clock,
        publish: Publish,
        on_audio: Callable[[AudioChunk], None] | None = None,
    ) -> None:
        from livetrans.speech.gate import VoiceActivityGate
        from livetrans.speech.recogniser import open_recogniser
        from livetrans.speech.transcriber import Transcriber

        if settings.recogniser is None:
            raise UsageError("sound needs a recogniser; name one with --asr")
        publish(Notice("info", f"loading the recogniser {settings.recogniser.model.name} …"))
        try:
            recogniser = open_recogniser(settings.recogniser)
        except BaseException:
            source.close()
            raise
        self._source = source
        self._gate = VoiceActivityGate(settings.gate)
        self._transcriber = Transcriber(recogniser, settings.transcriber, clock)
        self._on_audio = on_audio

    def transcripts(self, publish: Publish) -> Iterator[Transcript]:
        return listen(self._source, self._gate, self._transcriber, publish, self._on_audio)

    def pause(self, paused: bool) -> None:
        self._source.pause(paused)

    def close(self) -> None:
        self._source.close()


class RecordedHearing:
    """A recorded transcript stream: it enters where transcripts flow."""

    def __init__(self, source: RecordedSource) -> None:
        self._source = source

    def transcripts(self, publish: Publish) -> Iterator[Transcript]:
        for transcript in self._source:
            publish(SourceProgress(transcript.end, self._source.duration, not transcript.final))
            yield transcript

    def pause(self, paused: bool) -> None:
        self._source.pause(paused)

    def close(self) -> None:
        self._source.close()


def load_model(settings: Settings, clock: Clock, publish: Publish) -> LlamaModel:
    """Load the translator, telling how far it is when that takes long."""
    from livetrans.lm.llama import LlamaModel

    path = settings.language_model.model
    publish(Notice("info", f"loading the translator {path.name} …"))
    is_large = path.is_file() and path.stat().st_size >= _LARGE_MODEL_BYTES
    told = 0

    def tell(fraction: float) -> None:
        nonlocal told
        quarter = int(fraction * 4)
        if is_large and told < quarter < 4:
            told = quarter
            publish(Notice("info", f"loading the translator {path.name} … {quarter * 25} %"))

    rows = settings.decoding.maximum_output_tokens + 1
    return LlamaModel(settings.language_model, maximum_rows=rows, clock=clock, on_progress=tell)


def languages(settings: Settings) -> tuple[Language, Language]:
    source = settings.source_language
    return (UNKNOWN_LANGUAGE if source == AUTO else parse_language(source)), parse_language(settings.target_language)


def prepare_prompt(model: LanguageModel, settings: Settings) -> Prompt:
    """The prompt for the run's languages, evaluated once, so that the first caption need not wait for it.

    Raises:
        ContextError: prompt, longest segment and longest output do not fit in the context together.
    """
    prompt = build_prompt(model, settings.language_model.prompt, *languages(settings))
    fixed = len(prompt.before) + len(prompt.after)
    needed = fixed + _LONGEST_SOURCE_TOKENS + settings.decoding.maximum_output_tokens
    if needed > model.context_tokens:
        raise ContextError(
            f"a context of {model.context_tokens} tokens is too small for {model.name}; "
            f"give --context at least {needed}"
        )
    model.evaluate(prompt.tokens(model, "."))
    return prompt


def make_stages(model: LanguageModel, prompt: Prompt, settings: Settings) -> tuple[Translator, Presenter]:
    """The translating stages over a loaded model."""
    target = parse_language(settings.target_language)
    translator = Translator(model, prompt, settings.decoding, settings.mask)
    return translator, Presenter(renderer(model), settings.mask, spaced=target.spaced)


def make_translation(model: LlamaModel, prompt: Prompt, settings: Settings) -> TranslatingSide:
    """The translating side over a loaded model."""
    translator, presenter = make_stages(model, prompt, settings)
    return TranslatingSide(translator, presenter, signature(settings, model, prompt), model.close)


def signature(settings: Settings, model: LlamaModel, prompt: Prompt) -> dict[str, str | int | float | bool | None]:
    """What produced the numbers of a run."""
    recogniser = settings.recogniser
    return {
        "livetrans": __version__,
        "source_language": settings.source_language,
        "target_language": settings.target_language,
        "method": settings.decoding.method,
        "bias": settings.decoding.bias,
        "final_bias": settings.decoding.final_bias,
        "mask_mode": settings.mask.mode,
        "mask_k": settings.mask.k,
        "translator": settings.language_model.model.name,
        "translator_name": model.name,
        "prompt": prompt.name,
        "context_tokens": model.context_tokens,
        "translator_threads": model.threads,
        "maximum_output_tokens": settings.decoding.maximum_output_tokens,
        "recogniser": recogniser.model.name if recogniser else None,
        "recogniser_threads": recogniser.threads if recogniser else None,
        "compute_type": recogniser.compute_type if recogniser else None,
        "window": recogniser.window if recogniser else None,
        "step": settings.transcriber.step,
        "pause": settings.gate.pause,
        "aggressiveness": settings.gate.aggressiveness,
        "llama_cpp_python": version("llama-cpp-python"),
        "faster_whisper": version("faster-whisper") if recogniser else None,
        "machine": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
