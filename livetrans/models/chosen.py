"""The models that a run takes.

A model that is named, by its path or as `livetrans models` lists it, is taken wherever it is. Otherwise the first model
in the order of `livetrans.models.find` is taken that knows the languages of the run; in another program's cache only
models of the catalogue count.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from livetrans.base.errors import MissingModel, ModelError, UsageError
from livetrans.base.installation import data_folder, is_installed
from livetrans.base.languages import AUTO, parse_language, same_written_language
from livetrans.config import ENGINES, RECOGNISER_VARIABLE, TRANSLATOR_VARIABLE, UNNAMED, Settings, with_field
from livetrans.events import Notice
from livetrans.models.catalogue import (
    ANY_LANGUAGES,
    FASTER_WHISPER,
    ONNX,
    RECOGNISER,
    STATEFUL_ADVICE,
    TRANSLATOR,
    WHISPER_CPP,
    Entry,
    RunLanguages,
    known_models,
)
from livetrans.models.find import (
    FoundModel,
    describe,
    engine_of,
    find_models,
    find_models_apart,
    is_embedded,
    kind_of,
    pull_folder,
)
from livetrans.models.gguf import is_gguf, is_stateful

DRAFT_MODEL, DOUBLE_MODEL = "draft model", "double-token model"
"""Kinds of models that a run takes only if it names them, in folders of their own beside translators."""
LIMIT = "limit"
"""What a notice is about that the screen says throughout."""
EMBEDDED = "the bundled recogniser understands synthetic voices only, not people"
GPU = "gpu"
"""What notices about the recogniser's GPU have as their subject."""
GPU_UNUSED = "whisper.cpp could not start the GPU and runs on the processor, where --engine faster-whisper is faster."

_LIBRARY = "_pywhispercpp"
_DECLINED = ".declined"
"""The file with the kinds of models that the user did not want, one line per question."""
_NVIDIA = Path("/dev/nvidiactl")
_GPU_LIBRARIES = ("cuda", "vulkan", "hip", "sycl", "metal")
_NAMED_BY = {
    RECOGNISER: "give with --asr the path of a faster-whisper folder (it holds model.bin), of a transducer's folder "
    "(encoder-model.onnx or encoder.onnx), or of a whisper.cpp file",
    TRANSLATOR: "give the path of a GGUF file with --mt",
}


def choose_models(settings: Settings, notify: Callable[[Notice], None] = lambda notice: None) -> Settings:
    """Return the settings with the paths of their models, and with what the recogniser has to know of the others.

    Raises:
        UsageError: a language that no recogniser knows, or a model that is not of the engine.
        ModelError: there is no such model; the sentence lists what was found, and how to fetch one.
    """
    if settings.language_model.server:
        return _with_recogniser(_on_server(settings, notify), notify)
    try:
        translator, *back = choose_translators(settings)
    except MissingModel as error:
        if settings.recogniser:
            try:
                choose_recogniser(settings)
            except MissingModel as other:  # All that is missing is said at once.
                raise ModelError(f"{other.fault}, and {error}") from None
        raise
    prompt = settings.language_model.prompt
    settings = with_field(settings, "language_model.prompt", prompt or translator.prompt)
    settings = with_field(settings, "language_model.model", translator.path)
    for model in back:
        settings = with_field(settings, "between.model", model.path)
        settings = with_field(settings, "between.prompt", prompt or model.prompt)
    if settings.draft_model:
        draft = replace(settings.draft_model, model=find_model(DRAFT_MODEL, settings.draft_model.model).path)
        settings = replace(settings, draft_model=draft)
    return _with_recogniser(settings, notify)


def _on_server(settings: Settings, notify: Callable[[Notice], None]) -> Settings:
    """Return the settings for what the server can do, which is asked.

    Raises:
        UsageError: it cannot do what the method needs.
        ModelError: it cannot be used.
    """
    from livetrans.base.clock import SystemClock
    from livetrans.decoding import of_server
    from livetrans.lm.server.model import open_server
    from livetrans.lm.server.transport import about_server

    server = open_server(settings.language_model, 1, SystemClock(), lambda text: notify(about_server(text)))
    with closing(server) as model:
        method, able = settings.decoding.method, of_server(is_exact=model.is_exact)
        if method not in able:
            if method != Settings().decoding.method:
                lacks = f"{settings.language_model.server} gives no log-probabilities of a draft, which {method} needs"
                raise UsageError(f"{lacks}; choose --method {' or '.join(able)}")
            settings = with_field(settings, "decoding.method", "prefix")
        settings = with_field(settings, "language_model.model", Path(model.name))
        return replace(settings, between=settings.between and replace(settings.between, model=Path(model.name)))


def _with_recogniser(settings: Settings, notify: Callable[[Notice], None]) -> Settings:
    if settings.recogniser is None:
        return settings
    recogniser, model = settings.recogniser, choose_recogniser(settings)
    if model.languages and settings.source_language == AUTO:
        [only] = model.languages
        notify(Notice("warning", f"{model.name} understands only {parse_language(only).name}; using --from {only}."))
        others = (code for code in settings.sources if code not in (AUTO, only))
        settings = replace(settings, sources=(only, *others))
    spoken = [spoken_code(code) for code in settings.sources]
    recogniser = replace(
        recogniser,
        model=model.path,
        language=None if settings.between else spoken[0],
        other_languages=tuple(code for code in spoken[not settings.between :] if code),
        hot_words=tuple(term.text for term in settings.prompt.glossary),
    )
    return replace(settings, recogniser=recogniser)


def choose_translators(settings: Settings) -> list[FoundModel]:
    """Return the translator of a run, of a conversation one for each direction; errors as in `find_model`.

    One model for both directions is preferred: it takes half of the memory.
    """
    ways = [(way.language_model.model, languages_of(way)) for way in settings.directions]
    if not settings.between or ways[1][0] != UNNAMED:
        return [find_model(TRANSLATOR, *way) for way in ways]
    both = languages_of(settings)
    try:
        model = find_model(TRANSLATOR, ways[0][0], both)
    except ModelError as error:
        with suppress(ModelError):
            return [find_model(TRANSLATOR, *way) for way in ways]
        raise error  # Its advice is for both directions.
    return [model, model if model.fits(both) else find_model(TRANSLATOR, *ways[1])]


def choose_recogniser(settings: Settings) -> FoundModel:
    """Return the recogniser of a run.

    Raises:
        UsageError: no recogniser knows a language, or the named one is not of the named engine.
        ModelError: as `find_model`.
    """
    assert settings.recogniser is not None
    languages, wanted = languages_of(settings), settings.recogniser.engine
    for code in languages.spoken:
        spoken_code(code)  # refuses one that no recogniser knows
    needing = "--between" if settings.between else "--from auto" if AUTO in languages.spoken else None
    engines = tuple(engine for engine in engines_of(wanted) if engine != ONNX or wanted == ONNX or not needing)
    model = find_model(RECOGNISER, settings.recogniser.model, languages, engines)
    if needing and ONNX in (wanted, model.engine):
        raise UsageError(
            f"a transducer does not tell languages apart, as {needing} needs; name the spoken language with --from, or "
            "choose a Whisper model with --asr"
        )
    if wanted not in ("auto", model.engine):
        raise UsageError(
            f"{model.name} is a model of {model.engine}; drop --engine, or name one of {wanted} with --asr"
        )
    return model


def lacking(settings: Settings) -> Mapping[str, FoundModel | None]:
    """Return the kinds of models that a run lacks: no model, or only an embedded one, knows the languages.

    Each has the embedded model that runs without it. Nothing takes the place of a model that an option or the
    configuration names; if that is an embedded one, nothing is lacking.
    """
    assert settings.recogniser is not None
    wanted: dict[str, FoundModel | None] = {}
    needed: list[tuple[str, Callable[[Settings], list[FoundModel]], bool]] = [
        (RECOGNISER, lambda given: [choose_recogniser(given)], settings.recogniser.model != UNNAMED)
    ]
    if not settings.language_model.server:
        needed.append((TRANSLATOR, choose_translators, settings.language_model.model != UNNAMED))
    for kind, choose, named in needed:
        model = None
        with suppress(ModelError):
            model, *_ = choose(settings)
        if named and model and model.embedded:
            return {}
        if not named and (model is None or model.embedded):
            wanted[kind] = model
    return wanted


def was_declined(kinds: Iterable[str]) -> bool:
    """Return whether the user did not want to fetch models of these kinds."""
    with suppress(OSError, ValueError):
        return _line(kinds) in (pull_folder() / _DECLINED).read_text(encoding="utf-8").splitlines(keepends=True)
    return False


def decline(kinds: Iterable[str]) -> None:
    """Remember that the user does not want to fetch models of these kinds, as far as that can be written."""
    with suppress(OSError):
        pull_folder().mkdir(parents=True, exist_ok=True)
        with (pull_folder() / _DECLINED).open("a", encoding="utf-8") as stream:
            stream.write(_line(kinds))


def _line(kinds: Iterable[str]) -> str:
    return " and ".join(kinds) + "\n"


def find_model(
    kind: str, name: Path | str | None = None, languages: RunLanguages = ANY_LANGUAGES, engines: tuple[str, ...] = ()
) -> FoundModel:
    """Return the model `name` (a path or a name), else that of the kind's environment variable, else the first fitting.

    Of the models that fit the languages and the engines, those of the first engine are preferred; an embedded one is
    taken only if there is no other.

    Raises:
        ModelError: there is none; the sentence lists what was found, and says what to do.
    """
    variable = {RECOGNISER: RECOGNISER_VARIABLE, TRANSLATOR: TRANSLATOR_VARIABLE}.get(kind, "")
    wanted = str(name) if name not in (None, UNNAMED) else os.environ.get(variable)
    if wanted:
        return _find_named(kind, wanted, languages)
    found = list(find_models(kind))
    allowed = [model for model in found if not engines or model.engine in engines]
    fitting = [model for model in allowed if (model.entry or not model.elsewhere) and model.fits(languages)]
    if fitting:

        def rank(model: FoundModel) -> tuple[bool, bool, int]:
            # It is not known what languages a transducer of no catalogue knows.
            unknown = model.engine == ONNX and model.entry is None
            return model.embedded, unknown, engines.index(model.engine) if engines else 0

        return min(fitting, key=rank)
    spoken = " and ".join(code for code in languages.spoken if code != AUTO)
    if kind == TRANSLATOR and languages.directions:
        fault = f"no installed translator covers {languages}"
    elif kind == RECOGNISER and spoken:
        of = f" of {' or '.join(engines)}" if len(allowed) < len(found) else ""
        fault = f"no installed recogniser{of} understands {spoken}"
    else:
        fault = f"no {kind} is installed"
    engine = f" --engine {engines[0]}" if engines in ((WHISPER_CPP,), (ONNX,)) else ""
    raise _missing(kind, fault, found, f"{languages.pull_options}{engine}")


def find_named(name: str, models: Iterable[FoundModel]) -> FoundModel | None:
    """Return the first of the models that a name means."""
    return next((model for model in models if model.is_called(name)), None)


def fetchable_pair(
    purpose: str, settings: Settings, engine: str, keeps_up: Callable[[Entry, Entry], bool] = lambda *pair: True
) -> tuple[Entry, Entry]:
    """Return the recogniser and the translator that know every language of a run; see `Catalogue.pair`."""
    engines = [one for one in engines_of(engine) if one != ONNX or not settings.between]  # It tells no language.
    return known_models().pair(purpose, languages_of(settings), engines, keeps_up)


def with_other_engines(settings: Settings) -> Iterator[Settings]:
    """Yield the settings of a run with a recogniser of each other engine that is installed and has one.

    Embedded ones do not count.
    """
    recogniser = settings.recogniser
    assert recogniser is not None
    for engine in ENGINES[1:]:
        if engine == engine_of(recogniser.model) or (engine == WHISPER_CPP and not has_whisper_cpp()):
            continue
        with suppress(ModelError, UsageError):
            model = choose_recogniser(replace(settings, recogniser=replace(recogniser, model=UNNAMED, engine=engine)))
            if not model.embedded:
                yield replace(settings, recogniser=replace(recogniser, model=model.path))


def languages_of(settings: Settings) -> RunLanguages:
    """Return the languages of a run. Speech in the language of the captions is shown as heard."""
    tracks = [*settings.directions, *([settings.for_microphone()] if settings.meeting else [])]
    spoken = [source for track in tracks for source in track.sources]
    directions = [
        (track.source_language, target)
        for track in tracks
        for target in track.targets
        if not same_written_language(track.source_language, target)
    ]
    return RunLanguages(tuple(dict.fromkeys(spoken)), tuple(dict.fromkeys(directions)))


def spoken_code(language: str) -> str | None:
    """Return the recogniser's code of a spoken language; None for `auto`.

    Raises:
        UsageError: no recogniser knows the language.
    """
    if language == AUTO:
        return None
    known = parse_language(language)
    if known.whisper_code is None:
        raise UsageError(f"no recogniser knows {known.name}; choose another language for --from")
    return known.whisper_code


def embedded_notice(settings: Settings, file: Path | None = None) -> Notice | None:
    """Return the warning that the embedded recogniser understands no people; None for a `file` that ships with it."""
    if settings.recogniser is None or not is_embedded(settings.recogniser.model):
        return None
    if file is not None and file.parent.resolve() == data_folder("recordings").resolve():
        return None
    fetch = f"`livetrans models pull {languages_of(settings).pull_options}` fetches one that does."
    return Notice("warning", f"{EMBEDDED.capitalize()}; {fetch}", LIMIT)


def engines_of(wanted: str) -> tuple[str, ...]:
    """Return the engines that a run may take, the preferred one first; `wanted` is `auto` or one of them.

    `auto` takes first what keeps up: on processors a transducer, and whisper.cpp, the slower one there, not at all.
    """
    if wanted != "auto":
        return (wanted,)
    if has_gpu_engine():
        return (WHISPER_CPP, FASTER_WHISPER, ONNX)
    return (FASTER_WHISPER, ONNX) if has_nvidia() else (ONNX, FASTER_WHISPER)


def has_whisper_cpp() -> bool:
    return is_installed(_LIBRARY)


def has_nvidia() -> bool:
    """Return whether the driver of an NVIDIA GPU is loaded, on which faster-whisper computes."""
    return _NVIDIA.exists()


def has_gpu_engine() -> bool:
    """Return whether whisper.cpp is installed in a build for GPUs.

    Every build for Apple Silicon is one; elsewhere its libraries tell.
    """
    found = find_spec(_LIBRARY)
    if found is None or found.origin is None:
        return False
    if on_apple_silicon():
        return True
    folder = Path(found.origin).parent
    libraries = [path.name for place in (folder, folder / "pywhispercpp.libs") for path in place.glob("libggml-*")]
    return any(library.startswith(f"libggml-{name}") for library in libraries for name in _GPU_LIBRARIES)


def on_apple_silicon() -> bool:
    """Return whether this is a Mac with a GPU that whisper.cpp uses."""
    return (platform.system(), platform.machine()) == ("Darwin", "arm64")


def _find_named(kind: str, name: str, languages: RunLanguages) -> FoundModel:
    """Return the model at a path or with a name; `languages`: those of the advice where there is none."""
    path, found = Path(name).expanduser(), _candidates(kind)
    if kind_of(path) == kind if kind == RECOGNISER else is_gguf(path):
        model: FoundModel | None = describe(path, kind, "named")
    else:
        model = find_named(name, found)
    if model is None:
        if path.exists():
            lacking = "there is no model.bin and no encoder in it" if kind == RECOGNISER else "it is not a GGUF file"
            fault = f"{name!r} is not a {kind}: {lacking}"
        else:
            fault = f"there is no {'file' if os.sep in name or path.suffix == '.gguf' else kind} {name!r}"
        entry = known_models().entry(name)
        fetch = entry.name if entry and entry.kind == kind else languages.pull_options
        raise _missing(kind, fault, found, fetch)
    if kind == TRANSLATOR and is_stateful(model.path):
        raise ModelError(f"{model.name} {STATEFUL_ADVICE}")
    return model


def _candidates(kind: str) -> list[FoundModel]:
    """Return the models that may be named for a task; a double-token model may serve as a translator too."""
    if kind == RECOGNISER:
        return list(find_models(RECOGNISER))
    apart = find_models_apart("drafts" if kind == DRAFT_MODEL else "double")
    return apart if kind == DOUBLE_MODEL else [*find_models(TRANSLATOR), *apart]


def _missing(kind: str, fault: str, found: list[FoundModel], fetch: str | None) -> MissingModel:
    """Return the error that nothing was found; `fetch`: what `livetrans models pull` fetches, None if it has none."""
    names = ", ".join(dict.fromkeys(model.name for model in found)) or "none"
    advice = "give the path of a GGUF file"
    if kind in _NAMED_BY:
        advice = f"fetch one with `livetrans models pull {fetch}`, or {_NAMED_BY[kind]}" if fetch else _NAMED_BY[kind]
    return MissingModel(f"{fault}; found: {names}; {advice}", fault)
