"""A pair of models that suits this machine better than the one in use, predicted from the sizes of their files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from livetrans.config import Settings
from livetrans.doctor.machine import OK, WARNING, Finding
from livetrans.doctor.measuring import MeasuredRecogniser, MeasuredTranslator, contention
from livetrans.doctor.prediction import Load, predict_load
from livetrans.languages import AUTO
from livetrans.models.catalogue import RECOGNISER, TRANSLATOR, Catalogue
from livetrans.models.find import FoundModel, find_elsewhere, find_models, is_embedded, known_models, size_on_disk

RECOGNISER_GROWTH = 1.2
"""A pass costs the file's size to this power, because a small model is mostly vocabulary, which costs a pass little: of
Whisper's tiny and small shapes the second is 6.2 times as large and its pass 9 times as long (docs/LOG.md). A
translator's cost is proportional to its size."""
MEMORY_SHARE = 0.7
"""Of the free memory that a suggested pair may take."""

STEPS = (1.0, 1.5, 2.0, 3.0)
"""Seconds: longer steps that are tried for a pair; with more, captions come as seldom as sentences."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model that is here, or could be fetched."""

    name: str
    kind: str
    size: int
    """Bytes of its files."""
    memory: int
    here: bool

    @property
    def command(self) -> str:
        """The command that fetches the model, or the option that names it."""
        option = "--asr" if self.kind == RECOGNISER else "--mt"
        return f"{option} {self.name}" if self.here else f"`livetrans models pull {self.name}`"


@dataclass(frozen=True, slots=True)
class Predicted:
    """The predicted load of a pair."""

    recogniser: Candidate
    translator: Candidate
    load: Load
    with_step: tuple[float, Load] | None = None
    """The shortest of STEPS with which it should keep up, with the load then; None without one."""


def candidates(
    settings: Settings, catalogue: Catalogue, found: Iterable[FoundModel]
) -> tuple[list[Candidate], list[Candidate]]:
    """Return recognisers and translators for the run's languages, the preferred ones first, without embedded ones.

    The models of the catalogue's purposes come first, best purpose first, then the others by size. Models whose licence
    restricts their use are included only if they are here already.
    """
    source = None if settings.source_language == AUTO else settings.source_language
    here = [model for model in found if not model.embedded and model.fits(source, settings.target_language)]
    known = {model.entry.name: model for model in here if model.entry}
    named = {
        kind: [
            Candidate(entry.name, kind, entry.size, entry.memory or 0, entry.name in known)
            for entry in catalogue.entries
            if entry.kind == kind and entry.size and (entry.restriction is None or entry.name in known)
            if entry.knows(source, *((settings.target_language,) if kind == TRANSLATOR else ()))
        ]
        for kind in (RECOGNISER, TRANSLATOR)
    }
    for model in here:
        if model.entry is None:
            size = model.size_bytes
            named[model.kind].append(Candidate(model.name, model.kind, size, size, True))
    order: list[str] = []
    for purpose in reversed(list(catalogue.purposes.values())):
        order += [*purpose.recognisers, *purpose.translators]
    preferred = {name: place for place, name in reversed(list(enumerate(order)))}
    recognisers, translators = (
        sorted(named[kind], key=lambda one: (preferred.get(one.name, len(order)), -one.size))
        for kind in (RECOGNISER, TRANSLATOR)
    )
    return recognisers, translators


def predict_loads(
    settings: Settings,
    recogniser: MeasuredRecogniser,
    translator: MeasuredTranslator,
    pairs: Iterable[tuple[Candidate, Candidate]],
) -> list[Predicted]:
    """Predict the load of each pair from the costs of the measured pair and the sizes of the files."""
    assert settings.recogniser is not None
    recogniser_size = size_on_disk(settings.recogniser.model)
    translator_size = size_on_disk(settings.language_model.model)
    share = contention(recogniser, translator)

    def load(first: Candidate, second: Candidate, step: float) -> Load:
        return predict_load(
            recogniser.costs.slowed((first.size / recogniser_size) ** RECOGNISER_GROWTH),
            translator.updates.slowed(second.size / translator_size),
            replace(settings.transcriber, step=step),
            settings.gate,
            share,
        )

    def with_step(first: Candidate, second: Candidate) -> tuple[float, Load] | None:
        longer = ((step, load(first, second, step)) for step in STEPS if step > settings.transcriber.step)
        return next(((step, found) for step, found in longer if found.keeps_up and not found.falls_behind), None)

    return [
        Predicted(first, second, load(first, second, settings.transcriber.step), with_step(first, second))
        for first, second in pairs
    ]


def better_pair(
    settings: Settings, recogniser: MeasuredRecogniser, translator: MeasuredTranslator, load: Load, free_memory: int
) -> Finding | None:
    """Name the preferred pair that should keep up and fits in memory; None if the pair in use is as good.

    `load` is that of the pair in use, `free_memory` is in bytes.
    """
    catalogue = known_models()
    named = candidates(settings, catalogue, [*find_models(), *find_elsewhere()])
    return choose(
        predict_loads(settings, recogniser, translator, product(*named)), named, _in_use(settings), load, free_memory
    )


def _in_use(settings: Settings) -> tuple[str | None, str | None]:
    """Return the names of the models in use, as of candidates; None for an embedded one."""
    assert settings.recogniser is not None
    paths, catalogue = (settings.recogniser.model, settings.language_model.model), known_models()
    names = [None if is_embedded(path) else _name(path, catalogue) for path in paths]
    return names[0], names[1]


def _name(path: Path, catalogue: Catalogue) -> str:
    entry = catalogue.entry(path.name)
    return entry.name if entry else path.name


def choose(
    pairs: Sequence[Predicted],
    preferred: tuple[Sequence[Candidate], Sequence[Candidate]],
    in_use: tuple[str | None, str | None],
    load: Load,
    free_memory: int,
) -> Finding | None:
    """See `better_pair`; `pairs` are all combinations of the `preferred` models."""
    places = [{one.name: place for place, one in enumerate(kind)} for kind in preferred]

    def place(recogniser: str, translator: str) -> tuple[int, int]:
        first, second = places[0].get(recogniser, len(places[0])), places[1].get(translator, len(places[1]))
        return first + second, first

    fitting = [pair for pair in pairs if pair.recogniser.memory + pair.translator.memory <= MEMORY_SHARE * free_memory]
    able = [pair for pair in fitting if pair.load.keeps_up]
    embedded = None in in_use
    if able:
        best = min(able, key=lambda pair: place(pair.recogniser.name, pair.translator.name))
        names = best.recogniser.name, best.translator.name
        is_better = load.keeps_up and None not in in_use and place(*names) < place(in_use[0] or "", in_use[1] or "")
        if names == in_use or not (embedded or is_better or not load.keeps_up):
            return None
        text = f"{_named(best)} should keep up here. Predicted from their sizes: {_needs(best.load)}"
        return Finding(_title(embedded), OK if load.keeps_up else WARNING, text, _commands(best))
    if load.keeps_up and not embedded:
        return None
    if not fitting:
        text = "no pair that understands people and fits in the free memory is known for these languages"
        return Finding("for people", WARNING, text, "`livetrans models` lists all") if embedded else None
    return _lightest(min(fitting, key=lambda pair: pair.load.recogniser + pair.load.translator), embedded)


def _lightest(pair: Predicted, embedded: bool) -> Finding:
    """Name the lightest pair, as none keeps up with the step in use."""
    if pair.with_step is None:
        text = (
            f"no known pair of models should keep up here, even with --step {STEPS[-1]:g}. "
            f"Predicted from their sizes, the lightest, {_named(pair)}, needs {_needs(pair.load)}"
        )
        return Finding(
            _title(embedded), WARNING, text, "--window partials makes passes shorter; or use a faster machine"
        )
    step, load = pair.with_step
    text = (
        f"no known pair of models should keep up here with the step in use; {_named(pair)} should with "
        f"--step {step:g}. Predicted from their sizes: {_needs(load)}"
    )
    return Finding(_title(embedded), WARNING, text, f"{_commands(pair)}, --step {step:g}")


def _title(embedded: bool) -> str:
    return "for people" if embedded else "better pair"


def _named(pair: Predicted) -> str:
    return f"{pair.recogniser.name} with {pair.translator.name}"


def _needs(load: Load) -> str:
    return (
        f"recognition {load.recogniser:.0%} of the step, translation {load.translator:.0%} of the time between updates"
    )


def _commands(pair: Predicted) -> str:
    return f"{pair.recogniser.command}, {pair.translator.command}"
