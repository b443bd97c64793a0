"""`bench run`: builds the model, the contexts and the corpus, and shows how far the run is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from livetrans.bench.corpora import Corpus, recorded_corpus, text_corpus
from livetrans.bench.methods import QUICK_REPEATS, QUICK_SENTENCES, REPEATS, clock_for, parse_methods, settings_of
from livetrans.bench.run import Bench, MethodModels, RunWriter
from livetrans.bench.runfile import FORMAT, Header, MethodRecord
from livetrans.cli.common import say
from livetrans.cli.expecting import show_progress
from livetrans.clock import Clock
from livetrans.config import DecodingSettings, LanguageModelSettings, SamplingSettings
from livetrans.decoding import DECODERS, DraftModel
from livetrans.errors import UsageError
from livetrans.events import Notice
from livetrans.languages import Language, parse_language
from livetrans.lm.prompts import Prompt, build_prompt
from livetrans.models.find import find_double_model, find_draft_model, find_translator
from livetrans.session.store import path_or_session
from livetrans.signature import sign
from livetrans.translation.translator import check_method

if TYPE_CHECKING:
    from livetrans.lm.llama.model import LlamaModel


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """The options of `bench run`, named as they are."""

    source: Path | None
    reference: Path | None
    recorded: Path | None
    from_: str
    to: str
    mt: str | None
    draft_model: str | None
    double_model: str | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    seed: int | None
    prompt: str | None
    context: int
    threads: int
    methods: str
    words: int
    sentences: int | None
    minimum_words: int
    repeats: int | None
    quick: bool
    time: str
    output: Path | None
    force: bool


def run_bench(options: BenchOptions) -> Path:
    """Run what the options name, or the rest of it; gives the run file.

    Raises:
        UsageError: options, corpus or an existing file that do not fit.
        ModelError: the translator cannot be used.
        SessionError: a stream cannot be read, or the run file not written.
    """
    languages = parse_language(options.from_), parse_language(options.to)
    if options.quick and (options.sentences or options.repeats):
        raise UsageError("--quick chooses --sentences and --repeats itself; drop them, or drop --quick")
    methods = parse_methods(options.methods)
    repeats = QUICK_REPEATS if options.quick else options.repeats or REPEATS
    draft_file = find_draft_model(options.draft_model) if options.draft_model else None
    double_file = find_double_model(options.double_model) if options.double_model else None
    sampling = _sampling(options)
    check_models(methods, draft_file is not None, double_file is not None, sampling)
    clock = clock_for(options.time, options.threads)
    corpus = _corpus(options, languages)
    file = find_translator(options.mt, source=languages[0].code, target=languages[1].code).path
    corpus_name = corpus.record.name.removesuffix(".jsonl").removesuffix(".txt")
    pair = f"{languages[0].code}-{languages[1].code}"
    output = options.output or Path(f"{corpus_name}.{pair}.{file.stem}.jsonl")
    maximum = DecodingSettings().maximum_output_tokens
    say(f"loading the translator {file.name} …")
    with ExitStack() as opened:
        model = opened.enter_context(_model(file, options, maximum, clock))
        prompt = build_prompt(model, options.prompt, *languages)
        signature = sign(model, file, prompt, options.threads)
        small, double, draft_record, double_record = None, None, None, None
        if draft_file:
            from livetrans.lm.llama.pairing import load_draft_model

            say(f"loading the draft model {draft_file.name} …")
            small = load_draft_model(draft_file, _model_settings(file, options), clock)
            opened.callback(small.close)
            draft_record = sign(small, draft_file, prompt, options.threads).model
        if double_file:
            say(f"loading the double-token model {double_file.name} …")
            model_class = DECODERS["double"].model_class()
            double_model = opened.enter_context(_model(double_file, options, maximum, clock, model_class))
            double = double_model, build_prompt(double_model, None, *languages)
            double_record = sign(double_model, double_file, double[1], options.threads).model
        header = Header(
            FORMAT,
            methods,
            repeats,
            signature.model,
            corpus.record,
            maximum,
            options.time,
            signature.versions,
            signature.machine,
            quick=options.quick,
            draft_model=draft_record,
            double_model=double_record,
            sampling=sampling,
        )
        segments = [one.segment for one in corpus.segments]
        # Before the file is opened: a command that is refused must not touch it.
        bench = Bench(method_models(methods, (model, prompt), opened, small, double), header, clock)
        with RunWriter(output, header, segments, overwrite=options.force) as writer:
            with show_progress(corpus, header, writer.done) as advance:
                bench.run(corpus, writer, advance)
    return output


def method_models(
    methods: Sequence[MethodRecord],
    translator: tuple[LlamaModel, Prompt],
    opened: ExitStack,
    small: LlamaModel | None = None,
    double: tuple[LlamaModel, Prompt] | None = None,
) -> dict[str, MethodModels]:
    """A context of its own for each method, over the same weights, and one of the draft model where it has one.

    The first method of a model has the model's own context. `small` is the draft model, `double` what writes from both
    ends. The contexts are closed with `opened`.

    Raises:
        ModelError: the translator and the draft model have different vocabularies.
        UsageError: a model is not of the kind that a method needs.
    """
    from livetrans.lm.llama.pairing import shared_vocabulary

    vocabulary_size = shared_vocabulary(translator[0], small) if small else None
    models: dict[str, MethodModels] = {}
    taken: list[LlamaModel] = []
    for method in methods:
        model, prompt = double if double and DECODERS[method.decoder].has_own_model else translator
        context = model.another_context() if model in taken else model
        taken.append(model)
        opened.callback(context.close)
        draft_model = None
        if method.drafted and small:
            draft_model = DraftModel(small.another_context(), method.gamma or None, vocabulary_size)
            opened.callback(draft_model.model.close)
        models[method.label] = MethodModels(context, prompt, draft_model)
    return models


def check_models(
    methods: Sequence[MethodRecord],
    has_draft_model: bool,
    has_double_model: bool,
    sampling: SamplingSettings | None = None,
) -> None:
    """Raise UsageError where a method lacks a model or cannot draw tokens, or none uses a model that was given."""
    for method in methods:
        check_method(settings_of(method, 1, sampling)[0], method.drafted)
    lacking = next((method for method in methods if method.drafted and not has_draft_model), None)
    if lacking:
        raise UsageError(f"{lacking.label} needs a draft model; name one with --draft-model, or leave it out")
    if has_draft_model and not any(method.drafted for method in methods):
        raise UsageError("no method uses --draft-model; add for example spec@4 or ssbd@0.2+draft, or drop it")
    from_both_ends = next((method for method in methods if DECODERS[method.decoder].has_own_model), None)
    if from_both_ends and not has_double_model:
        raise UsageError(
            f"{from_both_ends.label} needs a model of its own beside the translator; name it with `bench run "
            "--double-model`, or leave the method out"
        )
    if has_double_model and not from_both_ends:
        raise UsageError("no method uses --double-model; add for example double@0, or drop it")


def _sampling(options: BenchOptions) -> SamplingSettings | None:
    """How tokens are drawn; None, greedy decoding, where no option says."""
    names = "temperature", "top_k", "top_p", "seed"
    given = {name: value for name in names if (value := getattr(options, name)) is not None}
    return SamplingSettings(**given) if given else None


def _corpus(options: BenchOptions, languages: tuple[Language, Language]) -> Corpus:
    if options.source is not None and options.recorded is not None:
        raise UsageError("--source is text and --recorded a transcript stream; give one of them")
    if options.source is not None:
        return text_corpus(
            options.source,
            options.reference,
            languages,
            step=options.words,
            sentences=QUICK_SENTENCES if options.quick else options.sentences,
            minimum_words=options.minimum_words,
        )
    if options.recorded is not None:
        return recorded_corpus(
            path_or_session(str(options.recorded)),
            options.reference,
            languages,
            sentences=QUICK_SENTENCES if options.quick else options.sentences,
            notify=_say_notice,
        )
    raise UsageError("there is nothing to translate; give --source FILE, or --recorded SESSION")


def _model_settings(file: Path, options: BenchOptions) -> LanguageModelSettings:
    return LanguageModelSettings(file, options.context, options.threads, prompt=options.prompt)


@contextmanager
def _model(
    file: Path,
    options: BenchOptions,
    maximum_output_tokens: int,
    clock: Clock,
    model_class: type[LlamaModel] | None = None,
) -> Iterator[LlamaModel]:
    from livetrans.lm.llama.model import LlamaModel
    from livetrans.lm.llama.probe import check_model

    check_model(file)
    opened = model_class or LlamaModel
    model = opened(_model_settings(file, options), maximum_rows=maximum_output_tokens + 1, clock=clock)
    try:
        yield model
    finally:
        model.close()


def _say_notice(notice: Notice) -> None:
    say(notice.text)
