"""`bench run`: builds the model, the contexts and the corpus, and shows how far the run is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from livetrans.bench.corpora import Corpus, recorded_corpus, text_corpus
from livetrans.bench.methods import QUICK_REPEATS, QUICK_SENTENCES, REPEATS, clock_for, parse_methods
from livetrans.bench.run import Bench, RunWriter
from livetrans.bench.runfile import make_header
from livetrans.catalogue import find_translator
from livetrans.cli.common import say
from livetrans.cli.expecting import show_progress
from livetrans.clock import Clock
from livetrans.config import DecodingSettings, LanguageModelSettings
from livetrans.errors import UsageError
from livetrans.events import Notice
from livetrans.languages import Language, parse_language
from livetrans.lm.prompts import build_prompt
from livetrans.session.store import path_or_session
from livetrans.signature import sign

if TYPE_CHECKING:
    from livetrans.lm.llama import LlamaModel


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """The options of `bench run`, named as they are."""

    source: Path | None
    reference: Path | None
    recorded: Path | None
    from_: str
    to: str
    mt: str | None
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
    clock = clock_for(options.time, options.threads)
    corpus = _corpus(options, languages)
    file = find_translator(options.mt, source=languages[0].code, target=languages[1].code).path
    corpus_name = corpus.record.name.removesuffix(".jsonl").removesuffix(".txt")
    pair = f"{languages[0].code}-{languages[1].code}"
    output = options.output or Path(f"{corpus_name}.{pair}.{file.stem}.jsonl")
    maximum = DecodingSettings().maximum_output_tokens
    say(f"loading the translator {file.name} …")
    with _model(file, options, maximum, clock) as model:
        prompt = build_prompt(model, options.prompt, *languages)
        signature = sign(model, file, prompt, options.threads)
        header = make_header(methods, repeats, signature, corpus.record, maximum, options.time, quick=options.quick)
        others: list[LlamaModel] = []
        segments = [one.segment for one in corpus.segments]
        try:
            with RunWriter(output, header, segments, overwrite=options.force) as writer:
                others += (model.another_context() for _ in methods[1:])
                models = dict(zip((method.label for method in methods), (model, *others), strict=True))
                bench = Bench(models, prompt, header, clock)
                with show_progress(corpus, header, writer.done) as advance:
                    bench.run(corpus, writer, advance)
        finally:
            for other in reversed(others):
                other.close()
    return output


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


@contextmanager
def _model(file: Path, options: BenchOptions, maximum_output_tokens: int, clock: Clock) -> Iterator[LlamaModel]:
    from livetrans.lm.llama import LlamaModel
    from livetrans.lm.llama.probe import check_model

    check_model(file)
    settings = LanguageModelSettings(file, options.context, options.threads, prompt=options.prompt)
    model = LlamaModel(settings, maximum_rows=maximum_output_tokens + 1, clock=clock)
    try:
        yield model
    finally:
        model.close()


def _say_notice(notice: Notice) -> None:
    say(notice.text)
