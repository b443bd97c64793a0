"""The models of a run: found on this machine by what the settings name, or by the languages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from livetrans.config import UNNAMED, RecogniserSettings, Settings
from livetrans.errors import ModelError, UsageError
from livetrans.events import Notice
from livetrans.installation import data_folder, is_installed
from livetrans.languages import AUTO, parse_language, same_written_language
from livetrans.models.catalogue import Entry
from livetrans.models.engines import FASTER_WHISPER, LIBRARY, WHISPER_CPP, engine_of, engines_of
from livetrans.models.find import (
    FoundModel,
    find_draft_model,
    find_recogniser,
    find_translator,
    is_embedded,
    known_models,
)

EMBEDDED = "the embedded recogniser understands synthetic voices only, not people"


def choose_models(settings: Settings, notify: Callable[[Notice], None] = lambda notice: None) -> Settings:
    """Return the settings with the paths of their models, and with what the recogniser has to know of the others.

    Raises:
        UsageError: a language that no recogniser knows.
        ModelError: a model that is not there.
    """
    model = chosen_translator(settings)
    prompt = settings.language_model.prompt or model.prompt
    settings = replace(settings, language_model=replace(settings.language_model, model=model.path, prompt=prompt))
    if settings.draft_model:
        draft = replace(settings.draft_model, model=find_draft_model(str(settings.draft_model.model)))
        settings = replace(settings, draft_model=draft)
    return _with_recogniser(settings, settings.recogniser, notify) if settings.recogniser else settings


def chosen_translator(settings: Settings) -> FoundModel:
    """Return the translator that the settings name, else the first for their languages, as `find_translator` does."""
    source = None if settings.source_language == AUTO else settings.source_language
    name, targets = _name(settings.language_model.model), shown_codes(settings)
    return find_translator(name, source=source, targets=targets, pair=pair_of(settings))


def chosen_recogniser(settings: Settings, recogniser: RecogniserSettings) -> FoundModel:
    """Return the recogniser that the settings name, else the first for their languages, as `find_recogniser` does."""
    model = find_recogniser(
        _name(recogniser.model),
        language=hardest_code(settings),
        engine=recogniser.engine,
        pair=pair_of(settings),
    )
    if recogniser.engine not in ("auto", model.engine):
        raise UsageError(
            f"{model.name} is a model of {model.engine}; drop --engine, or name one of {recogniser.engine} with --asr"
        )
    return model


def _with_recogniser(settings: Settings, recogniser: RecogniserSettings, notify: Callable[[Notice], None]) -> Settings:
    spoken = [spoken_code(code) for code in settings.sources]
    model = chosen_recogniser(settings, recogniser)
    if model.languages:
        # An embedded recogniser knows one language, and detects none.
        [only] = model.languages
        if settings.source_language == AUTO:
            text = f"{model.name} understands only {parse_language(only).name}; using --from {only}."
            notify(Notice("warning", text))
            settings = replace(
                settings, sources=(only, *(code for code in settings.sources if code not in (AUTO, only)))
            )
        spoken[0] = only
    recogniser = replace(
        recogniser,
        model=model.path,
        language=spoken[0],
        other_languages=tuple(code for code in spoken[1:] if code),
        hot_words=tuple(term for term, _ in settings.prompt.glossary),
    )
    return replace(settings, recogniser=recogniser)


def with_other_engine(settings: Settings) -> Settings | None:
    """Return the settings of a run with a recogniser of another engine; None where no such model is here.

    An embedded one does not count, nor an engine that is not installed.
    """
    recogniser = settings.recogniser
    assert recogniser is not None
    other = FASTER_WHISPER if engine_of(recogniser.model) == WHISPER_CPP else WHISPER_CPP
    if other == WHISPER_CPP and not is_installed(LIBRARY):
        return None
    try:
        model = find_recogniser(language=hardest_code(settings), engine=other)
    except ModelError:
        return None
    if model.embedded or model.engine != other:
        return None
    return replace(settings, recogniser=replace(recogniser, model=model.path))


def shown_codes(settings: Settings) -> list[str]:
    """Return the languages of the captions that a translator has to know: speech in one of them is shown as heard."""
    first, *others = settings.targets
    others = [code for code in others if not same_written_language(settings.source_language, code)]
    mine = settings.for_microphone() if settings.meeting else None
    if mine and not same_written_language(mine.source_language, mine.target_language):
        others += [mine.source_language, mine.target_language]
    return list(dict.fromkeys([first, *others]))


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


def hardest_code(settings: Settings) -> str | None:
    """Return the `spoken_code` that the fewest recognisers know: another than English, then None, a detected one.

    The embedded recogniser of English is taken for a detected language too, but not where another is spoken as well.
    """
    mine = settings.for_microphone().sources if settings.meeting else ()
    return min(map(spoken_code, [*settings.sources, *mine]), key=lambda code: (code in (None, "en"), code == "en"))


def pair_of(settings: Settings) -> tuple[str, str]:
    """Return the languages of all tracks as --from and --to of `models pull`, which fetches models that know them."""
    mine = settings.for_microphone() if settings.meeting else settings
    shown = [*settings.targets, *(code for code in mine.targets if code not in mine.sources)]
    return ",".join(dict.fromkeys([*settings.sources, *mine.sources])), ",".join(dict.fromkeys(shown))


def fetched_pair(purpose: str, settings: Settings, engine: str) -> tuple[Entry, Entry]:
    """Return the recogniser and the translator of the catalogue that know every language of a run.

    Raises:
        UsageError: the purpose has none.
    """
    hardest = hardest_code(settings)
    codes = dict.fromkeys([*shown_codes(settings), *settings.sources])
    others = [code for code in codes if code not in (hardest, AUTO)]
    return known_models().pair(purpose, hardest, *others, engines=engines_of(engine))


def _name(model: Path) -> str | None:
    """Return what a user named a model by; None for nothing."""
    return None if model == UNNAMED else str(model)


def embedded_notice(settings: Settings, file: Path | None = None) -> Notice | None:
    """Return the warning that the embedded recogniser understands no people; none for a `file` that ships with it."""
    if settings.recogniser is None or not is_embedded(settings.recogniser.model):
        return None
    if file is not None and file.parent.resolve() == data_folder("recordings").resolve():
        return None
    sources, targets = pair_of(settings)
    return Notice(
        "warning",
        f"{EMBEDDED.capitalize()}; "
        f"`livetrans models pull small --from {sources} --to {targets}` fetches one that does.",
    )
