"""Opens the stages of a run in their order, each side on the thread that owns it.

Listening: source, gate, recogniser, transcriber. Translating: model, prompt, draft model, translator, presenter.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain, count, repeat
from typing import TYPE_CHECKING

from livetrans.audio.bleed import BleedFilter, Played
from livetrans.base.clock import Clock
from livetrans.base.errors import ContextError, UsageError, sentence
from livetrans.base.languages import AUTO
from livetrans.config import LanguageModelSettings, RecogniserSettings, Settings, with_field
from livetrans.decoding import DECODERS
from livetrans.events import AudioChunk, Gap, Notice, Origin, SourceProgress, Transcript
from livetrans.lm.prompts import build_prompt
from livetrans.lm.server.model import COUNTING, ServerModel, open_server
from livetrans.lm.server.transport import PRIVACY, ServerFault, about_server, privacy
from livetrans.models.catalogue import ONNX, WHISPER_CPP
from livetrans.models.chosen import GPU, GPU_UNUSED, has_gpu_engine, spoken_code
from livetrans.models.find import engine_of
from livetrans.run.listening import Filter, Hearing, Listening, OnAudio, Stages, TrackStages, sound_of, with_speaker
from livetrans.run.postponed import Postponed
from livetrans.run.publisher import Publish
from livetrans.run.runner import OpenListening
from livetrans.run.speedup import SpeedupSampler
from livetrans.run.tracks import OldestFirst, QueuedSource, Track
from livetrans.run.translating import Translating, languages, open_draft_model, open_lanes, prepare_prompt
from livetrans.signature import identify, sign
from livetrans.translation.translator import check_method

if TYPE_CHECKING:
    from livetrans.audio.source import AudioSource
    from livetrans.lm.llama.model import LlamaModel
    from livetrans.lm.port import LanguageModel
    from livetrans.session.recorded import RecordedTranscripts
    from livetrans.speech.recogniser import Recogniser

_LARGE_MODEL_BYTES = 200_000_000
"""From this size on loading takes long enough to show how far it is. By size and not by time, because the events of a
run at full speed may not depend on the machine."""


PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each attempt to reach a server that failed; the last one again and again."""
QUICK_SECONDS, QUICK_FAILURES = 5.0, 8
"""A server that fails so often, each time so soon after it answered again, cannot translate: waiting does not help."""


def from_live(
    sources: Sequence[tuple[AudioSource, Postponed[Notice | Gap]]], origin: Origin, settings: Settings, clock: Clock
) -> OpenListening:
    """Return a function that loads the listening side of live sources: one, or the computer's sound and the microphone.

    They capture from now on. Their sound waits in queues while models load and while the recogniser is busy.
    """
    change = threading.Condition()
    events, sound = Postponed[Notice | Gap](), Postponed[AudioChunk]()
    names = settings.meeting.names[::-1] if settings.meeting else (None,)
    queues = [
        QueuedSource(source, events, sound, name, change, is_shared=len(sources) > 1)
        for (source, _), name in zip(sources, names, strict=True)
    ]
    for queue, (_, notices) in zip(queues, sources, strict=True):
        notices.pass_to(queue.notify)
        queue.start()

    def open_listening(publish: Publish, on_audio: OnAudio) -> Listening:
        events.pass_to(publish)
        sound.pass_to(on_audio)
        opened = _open_for(queues, settings, clock, publish)
        bleed = BleedFilter()
        filters: Sequence[Filter | None] = [Played(bleed), bleed] if len(sources) > 1 else [None]
        tracks = [
            Track(queue, TrackStages(queue, stages, publish, passing))
            for queue, stages, passing in zip(queues, opened, filters, strict=True)
        ]
        return from_tracks(tracks, change, clock, publish, origin)

    return open_listening


def from_file(
    source: AudioSource, origin: Origin, settings: Settings, clock: Clock, notices: Postponed[Notice | Gap]
) -> OpenListening:
    """Return a function that loads the listening side of a source that waits until it is read."""

    def open_listening(publish: Publish, on_audio: OnAudio) -> Listening:
        notices.pass_to(publish)
        return open_audio(source, settings, clock, publish, on_audio, origin)

    return open_listening


def from_transcripts(
    source: RecordedTranscripts, origin: Origin, settings: Settings, notices: Postponed[Notice | Gap]
) -> OpenListening:
    """Return a function that opens recorded transcripts as the listening side."""
    speakers = settings.between.speakers if settings.between else {}

    def transcripts(publish: Publish) -> Iterator[Transcript]:
        for transcript in source:
            publish(SourceProgress(transcript.end, source.duration, not transcript.final))
            yield with_speaker(transcript, speakers) if speakers else transcript

    def open_listening(publish: Publish, on_audio: OnAudio) -> Listening:
        notices.pass_to(publish)
        return Listening(transcripts(publish), source, origin=origin)

    return open_listening


def from_tracks(
    tracks: Sequence[Track], change: threading.Condition, clock: Clock, publish: Publish, origin: Origin | None = None
) -> Hearing:
    """Return the listening side of tracks whose queues share `change`."""
    sound, sources = OldestFirst(tracks, change, publish), [track.sound for track in tracks]
    stages = [track.stages for track in tracks]
    return Hearing(sound, stages, clock, *sources, origin=origin, oldest_waiting=sound.oldest_waiting)


def open_audio(
    source: AudioSource,
    settings: Settings,
    clock: Clock,
    publish: Publish,
    on_audio: OnAudio = lambda chunk: None,
    origin: Origin | None = None,
) -> Hearing:
    """Open the stages for a source that waits until it is read; the recogniser is loaded here."""
    [opened] = _open_for([source], settings, clock, publish)
    stages = TrackStages(source, opened, publish)
    return Hearing(sound_of(source, stages, on_audio), [stages], clock, source, origin=origin)


def _open_for(sources: Sequence[AudioSource], settings: Settings, clock: Clock, publish: Publish) -> list[Stages]:
    """Open the stages for these sources, which are closed if that fails."""
    try:
        return open_stages(settings, clock, publish)
    except BaseException:
        for source in sources:
            source.close()
        raise


def on_battery() -> bool:
    """Return whether the machine is known to run on its battery."""
    import psutil  # type: ignore[import-untyped]

    try:
        battery = psutil.sensors_battery()
    except Exception:  # It has none on some systems, and raises errors of many kinds for folders that it does not know.
        return False
    return battery is not None and battery.power_plugged is False


def open_stages(settings: Settings, clock: Clock, publish: Publish, ids: Iterator[int] | None = None) -> list[Stages]:
    """Load the recogniser, with the gate before it and the transcriber around it of each track.

    `ids` are those of the segments, which all tracks share; None counts from 0.
    """
    from livetrans.speech.between import Conversation
    from livetrans.speech.gate import VoiceActivityGate
    from livetrans.speech.transcriber import LONGEST_STEP, Transcriber

    transcribing = settings.transcriber
    detects = settings.between is not None or AUTO in settings.sources  # by several passes that agree
    if transcribing.step is None and transcribing.adaptive and (detects or on_battery()):
        transcribing = replace(transcribing, step=LONGEST_STEP)
    if settings.recogniser and settings.recogniser.window in (None, "auto"):  # None does not depend on the machine
        settings = with_field(settings, "recogniser.window", "auto" if transcribing.adaptive else None)
    shared, ids = _recogniser_of(settings, publish), count() if ids is None else ids
    reload = reloading_once("recogniser", [shared], publish)
    speakers, conversation = {}, None
    if settings.between:
        first, second = (spoken_code(code) or AUTO for code in settings.between.languages)
        conversation, speakers = Conversation((first, second)), settings.between.speakers

    def stages(recogniser: Recogniser, track: str | None = None, language: str | None = None) -> Stages:
        transcriber = Transcriber(recogniser, transcribing, clock, ids, reload, conversation)
        gate = VoiceActivityGate(settings.gate)
        return Stages(gate, transcriber, shared, track, language, speakers, conversation)

    if settings.meeting is None:
        return [stages(shared)]
    mine, theirs = settings.meeting.names
    my_language = settings.for_microphone().source_language
    return [stages(shared, theirs), stages(shared.in_language(spoken_code(my_language)), mine, my_language)]


def reloading_once(
    stage: str, models: Sequence[LanguageModel | Recogniser], publish: Publish
) -> Callable[[Exception], None]:
    """Return a function that loads a stage's models again after its first failure in a run, and raises later ones."""
    failures = count()

    def reload(error: Exception) -> None:
        if next(failures):
            raise error
        reason = sentence(error).rstrip(".")
        publish(Notice("warning", f"The {stage} failed ({reason}); it is loaded again."))
        for model in models:
            model.reload()

    return reload


def _recogniser_of(settings: Settings, publish: Publish) -> Recogniser:
    if settings.recogniser is None:
        raise UsageError("sound needs a recogniser; name one with --asr")
    publish(Notice("info", f"loading the recogniser {settings.recogniser.model.name} …"))
    recogniser = open_recogniser(settings.recogniser, publish)
    wanted, expected = settings.recogniser.hot_words, len(recogniser.hot_words)
    if expected < len(wanted):
        some = f"{expected} hot words at a time, those used last," if expected else "no hot words"
        text = f"The recogniser takes {some} of the glossary, which has {len(wanted)} terms."
        publish(Notice("warning", text, "glossary"))
    return recogniser


def open_recogniser(settings: RecogniserSettings, publish: Publish = lambda event: None) -> Recogniser:
    """Import the library of the settings' recogniser, and load the recogniser; report a GPU that could not be used.

    Raises:
        ModelError: the model is absent or cannot be loaded.
        UsageError: the model does not know the language.
    """
    engine = engine_of(settings.model)
    if engine == ONNX:
        from livetrans.speech.transducer import TransducerRecogniser

        return TransducerRecogniser(settings)
    if engine == WHISPER_CPP:
        from livetrans.speech.whisper_cpp import WhisperCppRecogniser

        recogniser = WhisperCppRecogniser(settings)
        if has_gpu_engine() and not recogniser.gpu:
            publish(Notice("warning", GPU_UNUSED, GPU))
        return recogniser
    from livetrans.speech.whisper import WhisperRecogniser

    return WhisperRecogniser(settings)


def open_translating(settings: Settings, clock: Clock, publish: Publish) -> Translating:
    """Load the translator and evaluate its prompt.

    Raises:
        ModelError: the translator cannot be used, or its context is too small.
        UsageError: it does not know the languages.
    """
    check_method(settings.decoding, settings.draft_model is not None)
    with ExitStack() as opened:
        model = open_model(settings, clock, publish)
        opened.callback(model.close)
        back = None
        if settings.between and (way := settings.directions[1]).language_model.model != settings.language_model.model:
            if settings.draft_model:
                raise UsageError("--draft-model needs one translator for both directions; drop it, or --mt-back")
            back = open_model(way, clock, publish)
            opened.callback(back.close)
        if isinstance(model, ServerModel):
            model.learn(
                build_prompt(model, settings.language_model.prompt, *languages(settings)).tokens(model, COUNTING)
            )
        prompt = prepare_prompt(model, settings, languages(settings))
        draft_model = open_draft_model(settings, model, prompt, publish)
        if draft_model:
            opened.callback(draft_model.model.close)
        lanes = open_lanes(settings, model, prompt, draft_model, publish, back)
        sampler = None if back else open_sampler(settings, model, clock, publish)
        engines = [engine_of(settings.recogniser.model)] if settings.recogniser else []
        packages = [{WHISPER_CPP: "pywhispercpp", ONNX: "onnxruntime"}.get(engine, engine) for engine in engines]
        translator = identify(model, settings.language_model.model, prompt, model.threads)
        models = [model, *([draft_model.model] if draft_model else []), *([back] if back else [])]
        reload, ending = reloading_once("translator", models, publish), threading.Event()
        at_once = isinstance(model, ServerModel) and model.is_parallel and len(lanes) > 1
        if isinstance(model, ServerModel):
            reload = waiting_for(model, prompt.tokens(model, "."), ending)
        return Translating(lanes, sign(translator, *packages), opened.pop_all().close, sampler, reload, ending, at_once)


def open_sampler(
    settings: Settings, model: LlamaModel | ServerModel, clock: Clock, publish: Publish
) -> SpeedupSampler | None:
    """Return the sampler of the speedup; None if it is not wanted, or the run needs more than its one model.

    Its contexts are opened with its first sample: a run that is never idle does without that memory.
    """
    from livetrans.lm.llama.cells import runs_on_cpu
    from livetrans.lm.llama.model import LlamaModel

    method = settings.decoding.method
    repeatable = method != "rt" and not settings.draft_model and DECODERS[method].model_class() is LlamaModel
    if not (settings.output.speedup and repeatable and isinstance(model, LlamaModel)):
        return None
    cores = model.threads if runs_on_cpu() else 1
    return SpeedupSampler(model.another_context, clock, publish, cores=cores)


def waiting_for(model: ServerModel, prompt: Sequence[int], ending: threading.Event) -> Callable[[Exception], None]:
    """Return a function that waits until a server that failed answers again, and raises what waiting does not help.

    Once `ending` is set, one attempt more is made.
    """
    failed_at, quick = -math.inf, 0

    def wait(error: Exception) -> None:
        nonlocal failed_at, quick
        now = model.clock.now()
        quick = quick + 1 if now - failed_at < QUICK_SECONDS else 0
        if not isinstance(error, ServerFault) or quick >= QUICK_FAILURES:
            raise error
        model.connection.say(f"The translator is away: {error}. Captions follow when it is back.")
        for pause in chain(PAUSES, repeat(PAUSES[-1])):
            model.clock.sleep(pause)
            try:
                model.reload()
                model.evaluate(prompt)
            except (ServerFault, ContextError):
                if ending.is_set():
                    raise error from None
                continue
            break
        failed_at = model.clock.now()
        model.connection.say("")

    return wait


def open_model(settings: Settings, clock: Clock, publish: Publish) -> LlamaModel | ServerModel:
    """Load the translator's model; publish the progress if that takes long."""
    rows = settings.decoding.maximum_output_tokens + 1
    if settings.language_model.server:
        server = open_server(settings.language_model, rows, clock, lambda text: publish(about_server(text)))
        if notice := privacy(settings.language_model.server):
            publish(Notice("warning", f"{notice[0].upper()}{notice[1:]}, where {server.name} translates it.", PRIVACY))
        return server
    from livetrans.lm.llama.checks import check_model

    path = settings.language_model.model
    publish(Notice("info", f"loading the translator {path.name} …"))
    is_large = path.is_file() and path.stat().st_size >= _LARGE_MODEL_BYTES
    published = 0

    def on_progress(fraction: float) -> None:
        nonlocal published
        quarter = int(fraction * 4)
        if is_large and published < quarter < 4:
            published = quarter
            publish(Notice("info", f"loading the translator {path.name} … {quarter * 25} %"))

    check_model(path)
    model_class = DECODERS[settings.decoding.method].model_class()
    model = model_class(settings.language_model, maximum_rows=rows, clock=clock, on_progress=on_progress)
    wished = settings.language_model.context_tokens
    if model.context_tokens < wished != LanguageModelSettings(path).context_tokens:
        text = f"The translator reads no more than {model.context_tokens} tokens: --context {wished} is cut to that."
        publish(Notice("warning", text))
    return model
