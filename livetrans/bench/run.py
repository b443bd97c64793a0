"""Methods as a user writes them, and a run: every method on every segment, in turns, each with a context of its own."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from livetrans.base.clock import Clock, ProcessorClock, SystemClock
from livetrans.base.errors import UsageError
from livetrans.base.sequences import common_prefix_length
from livetrans.base.text import unknown
from livetrans.bench.corpora import Corpus, CorpusSegment
from livetrans.bench.runfile import Header, RunWriter, Unit, Update
from livetrans.config import (
    FINALS,
    GAMMA,
    PAPER,
    DecodingSettings,
    DraftModelSettings,
    MaskSettings,
    SamplingSettings,
    span_of,
)
from livetrans.decoding import DECODERS, Decoder, DraftModel
from livetrans.decoding.stopping import LengthRatio
from livetrans.decoding.verification import Sampler
from livetrans.events import Transcript
from livetrans.lm.port import LanguageModel
from livetrans.lm.prompts import Prompt, TextOf, text_of_tokens
from livetrans.lm.server.model import ServerModel
from livetrans.translation.translator import Translator, check_method, stops_early

if TYPE_CHECKING:
    from livetrans.lm.llama.model import LlamaModel

BASELINE = "rt"
"""Every speedup is against it, so every run has it."""
PAPER_DECODER = "ssbd"
"""The method that the paper's tables compare with the baseline, at one bias."""
METHOD_SETS = {
    "paper": (
        "rt", "ssbd@0", "ssbd@0.1", "ssbd@0.2", "ssbd@0.3", "ssbd@0.4", "ssbd@0.5", "ssbd@1", "cd", "ssbd@0.2:mask=3",
        "ssbd@0.2:mask=5",
    ),
    "calm": (
        "rt", "ssbd@0.2", "ssbd@0.2:final=fresh", "window:window=3:final=partial", "window", "window:early_stop=0",
        "window:final=fresh", "window:window=160:early_stop=0", "cd",
    ),
}  # fmt: skip
"""What `--methods` takes in place of a list: what Tables 2, 3, 4 and 6 need (the display-only mask is computed from the
plain method), and the calm settings between `rt` and `cd` beside the paper's method."""
REPEATS = 3
QUICK_SENTENCES, QUICK_REPEATS = 20, 2
"""Size of a run with `--quick`: about a minute with the translator of the tree and the paper's methods."""
TIMES = ("wall", "cpu")
"""Time as it passes, or the processor's time of the measuring thread."""

_OWNERS = {"gamma": (DraftModelSettings, "gamma"), "mask": (MaskSettings, "k")}
"""The settings of a method's keys that are not those of decoding."""


@dataclass(frozen=True, slots=True)
class Method:
    """A decoder with its settings: a row of a table."""

    label: str
    """How it is written: `ssbd@0.2`, `window:window=3:final=partial`."""
    decoding: DecodingSettings
    mask_k: int = 0
    """Tokens of the output mask; 0 without one."""
    gamma: int | None = None
    """Tokens that the draft model proposes at a time; None without one, and for `bild`."""

    @property
    def decoder(self) -> Decoder:
        return DECODERS[self.decoding.method]

    @property
    def bias(self) -> float | None:
        """The bias, None if the decoder has none."""
        return self.decoding.bias if self.decoder.biased else None

    @property
    def uses_draft_model(self) -> bool:
        return self.gamma is not None or self.decoder.draft_model == "must"

    def mask(self, header: Header) -> MaskSettings:
        """Return the mask of its translator in a run: an output mask of its own, or the run's."""
        return MaskSettings("output", self.mask_k) if self.mask_k else header.mask

    def stops_early(self, header: Header) -> bool:
        """Return whether a run's mask decided how far partials were decoded."""
        return stops_early(self.decoding, self.mask(header))


def parse_methods(text: str) -> tuple[Method, ...]:
    """Return the methods of `rt,ssbd@0.2,window:window=8` in that order, without duplicates; `rt` is added.

    A name in `METHOD_SETS`, alone, means the methods of that set.

    Raises:
        UsageError: a method or a value that does not exist.
    """
    methods = [parse_method(part) for part in split_methods(text)]
    if not methods:
        raise UsageError("no method is named; write for example rt,ssbd@0.2,cd")
    if BASELINE not in {method.label for method in methods}:
        methods.insert(0, parse_method(BASELINE))
    return tuple({method.label: method for method in methods}.values())


def split_methods(text: str) -> list[str]:
    parts = METHOD_SETS.get(text.strip(), text.split(","))
    return [part.strip() for part in parts if part.strip()]


def parse_method(text: str) -> Method:
    """Return the method `DECODER@BIAS:KEY=VALUE...`; the bias is one of the keys too.

    What is not written is as in the paper (bias 0.2, finals decoded like any update), and for `window` as in a live
    run. The label has the bias of a decoder without a window, so `ssbd` is `ssbd@0.2`.

    Raises:
        UsageError: no such decoder or key, or a value out of its range.
    """
    if text in METHOD_SETS:
        raise UsageError(f"{text!r} is a set of methods, to be given alone; a single method is for example ssbd@0.2")
    head, *settings = text.split(":")
    name, at, bias = head.partition("@")
    if name not in DECODERS:
        examples = [*DECODERS, *METHOD_SETS, *(label for labels in METHOD_SETS.values() for label in labels)]
        close = difflib.get_close_matches(text.lower(), examples, n=1)
        advice = f"did you mean {close[0]}?" if close else f"choose from {', '.join(DECODERS)}"
        raise UsageError(f"there is no method {text!r}; {advice}")
    decoder = DECODERS[name]
    known = _keys_of(decoder)
    values: dict[str, float | str] = {}
    for written in ([f"bias={bias}"] if at else []) + settings:
        key, _, value = written.partition("=")
        if key not in known:
            raise UsageError(f"in {text!r}: {unknown('setting of ' + name, key, known)}")
        values[key] = _value(text, key, value, decoder)
    usual = DecodingSettings() if decoder.final else PAPER.decoding
    gamma = values.pop("gamma", GAMMA if name == "spec" else None)
    mask_k = values.pop("mask", 0)
    decoding = replace(usual, method=name, **values)  # type: ignore[arg-type]
    label = name
    if decoder.biased and (decoding.bias or decoder.final is None):
        label += f"@{decoding.bias:g}"
    given = {**values, **({"gamma": gamma} if "gamma" in text else {}), **({"mask": mask_k} if mask_k else {})}
    for key in known:
        if key in given and key != "bias":
            label += f":{key}={given[key] if isinstance(given[key], str) else format(given[key], 'g')}"
    return Method(label, decoding, int(mask_k), None if gamma is None else int(gamma))


def _keys_of(decoder: Decoder) -> list[str]:
    """Return the settings that mean something to a decoder, in the order of its label."""
    keys = [*decoder.uses]
    keys += ["final"] if decoder.biased else []
    keys += ["gamma"] if decoder.draft_model != "none" and decoder.name != "bild" else []
    return [*keys, "mask"]


def _value(text: str, key: str, value: str, decoder: Decoder) -> float | str:
    if key == "final":
        finals = FINALS if decoder.final else tuple(final for final in FINALS if final != "careful")
        if value not in finals:
            raise UsageError(f"in {text!r}: {unknown('final', value, finals)}")
        return value
    least, most = span_of(*_OWNERS.get(key, (DecodingSettings, key)))
    whole = not isinstance(getattr(DecodingSettings(), key, 0), float)
    try:
        number = int(value) if whole else abs(round(float(value), 6))
        if least <= number and (most is None or number <= most) and not value.startswith("-"):
            return number
    except ValueError:
        pass
    kind = "whole number" if whole else "number"
    span = f"from {least}" + (f" to {most}" if most is not None else " on")
    raise UsageError(f"in {text!r}: {key} is a {kind} {span}, for example ssbd@0.2 or window:window=3")


def clock_for(measured: str, threads: int) -> Clock:
    """Return the clock of a measurement, by its name in `TIMES`.

    Raises:
        UsageError: processor time with several threads, whose times would be added up.
    """
    if measured == "wall":
        return SystemClock()
    if threads != 1:
        raise UsageError(f"--time cpu would add up the times of {threads} threads; measure with --threads 1")
    return ProcessorClock()


@dataclass(frozen=True, slots=True)
class Task:
    """A unit that is to be done."""

    repeat: int
    segment: CorpusSegment
    method: Method

    @property
    def unit(self) -> Unit:
        return self.repeat, self.segment.segment.segment_id, self.method.label


def tasks(corpus: Corpus, header: Header) -> Iterator[Task]:
    """Yield every unit of a run: methods take turns segment by segment, another one first each time.

    So a machine that drifts, or a segment that finds warm caches, favours no method.
    """
    methods = parse_methods(",".join(header.methods))
    for repeat in range(header.repeats):
        for number, segment in enumerate(corpus.segments):
            turn = (number + repeat) % len(methods)
            for method in (*methods[turn:], *methods[:turn]):
                yield Task(repeat, segment, method)


@dataclass(frozen=True, slots=True)
class MethodModels:
    """The models of a method: a context of its own, possibly over shared weights."""

    model: LanguageModel
    prompt: Prompt
    draft_model: DraftModel | None = None


class Bench:
    """A bench that runs units; `models` by method label."""

    def __init__(self, models: Mapping[str, MethodModels], header: Header, clock: Clock) -> None:
        self._models = models
        self._header = header
        self._clock = clock
        self._ratios: dict[tuple[int, str], LengthRatio] = defaultdict(LengthRatio)
        """By repeat and method, as a run learns them from one final to the next."""
        self._learnt: dict[tuple[int, str, str], list[tuple[int, float | None]]] = defaultdict(list)
        """Of each stream: the orders of its finals, each with the ratio that held until then."""
        self._ends = {label: ends_of(text_of_tokens(models.model)) for label, models in models.items()}

    def run(self, corpus: Corpus, writer: RunWriter, on_unit: Callable[[], None] = lambda: None) -> None:
        """Run what the writer's file lacks; `on_unit` is called for each unit that was written."""
        for task in tasks(corpus, self._header):
            updates = writer.done.get(task.unit)
            if updates is None:
                updates = self.translate(task)
                writer.write_unit(updates)
                on_unit()
            label, final = task.method.label, updates[-1]
            ratio = self._ratios[task.repeat, label]
            self._learnt[task.repeat, label, task.segment.segment.stream].append((final.order, ratio.value))
            ratio.learn(self._models[label].prompt, final.stats)

    def translate(self, task: Task) -> list[Update]:
        label = task.method.label
        models = self._models[label]
        sampling, maximum = self._header.sampling, self._header.maximum_output_tokens
        decoding = replace(task.method.decoding, sampling=sampling, maximum_output_tokens=maximum)
        sampler = Sampler(sampling) if sampling else None
        translator = Translator(models.model, models.draft_model, sampler)
        # Caches start from the template alone, whichever unit came before: a resumed run equals a whole one.
        for model in (models.model, *([models.draft_model.model] if models.draft_model else [])):
            model.evaluate((*models.prompt.before, *models.prompt.after))
        identity, learnt = task.segment.segment.segment_id, self._ratios[task.repeat, label].value
        stream = task.segment.segment.stream
        finals = self._learnt[task.repeat, label, stream] if stream else []
        mask, stops = task.method.mask(self._header), task.method.stops_early(self._header)
        updates = []
        for number, source in enumerate(task.segment.updates):
            end, ended = source.end or 0.0, source.ended
            transcript = Transcript(identity, number, source.source, "", source.final, 0.0, end, ended=ended)
            # An update that came before the final of the segment before it had learnt nothing of it.
            ratio = next((value for order, value in finals if order > source.order), learnt)
            started = self._clock.now()
            translation = translator.translate(transcript, models.prompt, decoding, mask, ratio)
            seconds = self._clock.now() - started
            updates.append(
                Update(
                    repeat=task.repeat,
                    segment_id=identity,
                    method=label,
                    update=number,
                    tokens=translation.tokens,
                    text=translation.text,
                    ends=self._ends[label](translation.tokens, translation.text),
                    stats=translation.stats,
                    update_seconds=seconds,
                    accepted=translation.accepted,
                    hidden_tokens=translation.hidden_tokens if stops else None,
                    **asdict(source),
                )
            )
        return updates


def ends_of(text_of: TextOf) -> Callable[[tuple[int, ...], str], tuple[int, ...]]:
    """Return a function that says how many characters of an output's text are there after each of its tokens."""

    @lru_cache(1000)
    def ends(tokens: tuple[int, ...], text: str) -> tuple[int, ...]:
        prefixes = (text_of(tokens[:count]) for count in range(1, len(tokens) + 1))
        return tuple(common_prefix_length(prefix, text) for prefix in prefixes)

    return ends


def method_models(
    methods: Sequence[Method],
    translator: tuple[LlamaModel | ServerModel, Prompt],
    opened: ExitStack,
    small: LlamaModel | None = None,
    double: tuple[LlamaModel, Prompt] | None = None,
) -> dict[str, MethodModels]:
    """Return a context for each method, over the same weights, and one of the draft model where it has one.

    The first method of a model has the model's own context. `small` is the draft model, `double` the model of the
    methods that need another one than the translator. The contexts are closed with `opened`.
    """
    from livetrans.lm.llama.checks import shared_vocabulary

    target = translator[0]
    vocabulary_size = shared_vocabulary(target, small) if small and not isinstance(target, ServerModel) else None
    models: dict[str, MethodModels] = {}
    taken: list[LlamaModel | ServerModel] = []
    for method in methods:
        model, prompt = double if double and method.decoder.has_own_model else translator
        context = model.another_context() if model in taken else model
        taken.append(model)
        opened.callback(context.close)
        draft_model = None
        if method.uses_draft_model and small:
            draft_model = DraftModel(small.another_context(), method.gamma or GAMMA, vocabulary_size)
            opened.callback(draft_model.model.close)
        models[method.label] = MethodModels(context, prompt, draft_model)
    return models


def check_models(
    methods: Sequence[Method], has_draft_model: bool, has_double_model: bool, sampling: SamplingSettings | None = None
) -> None:
    """Raise UsageError where a method lacks a model or cannot draw tokens, or none uses a model that was given."""
    for method in methods:
        check_method(replace(method.decoding, sampling=sampling), method.uses_draft_model)
    drafted = [method.label for method in methods if method.uses_draft_model]
    double = [method.label for method in methods if method.decoder.has_own_model]
    for option, kind, given, users, example in (
        ("--draft-model", "a draft model", has_draft_model, drafted, "spec or ssbd@0.2:gamma=4"),
        ("--double-model", "a model of its own beside the translator", has_double_model, double, "double@0"),
    ):
        if users and not given:
            raise UsageError(f"{users[0]} needs {kind}; name it with `bench run {option}`, or leave the method out")
        if given and not users:
            raise UsageError(f"no method uses {option}; add for example {example}, or drop it")
