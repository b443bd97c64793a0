"""`livetrans bench run`: loads the models, reads the corpus, and shows how far the run is."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from livetrans.bench.corpora import Corpus, recorded_corpus, text_corpus
from livetrans.bench.methods import (
    PAPER_METHODS,
    QUICK_REPEATS,
    QUICK_SENTENCES,
    REPEATS,
    clock_for,
    parse_methods,
)
from livetrans.bench.run import Bench, check_models, method_models
from livetrans.bench.runfile import FORMAT, Header, RunWriter
from livetrans.cli.bench import step_bar, threads_option, time_option
from livetrans.cli.declarations import CountRange, NumberRange
from livetrans.cli.messages import say
from livetrans.config import TRANSLATOR_VARIABLE, DecodingSettings, LanguageModelSettings, SamplingSettings
from livetrans.decoding import DECODERS
from livetrans.errors import UsageError
from livetrans.files import input_path
from livetrans.languages import Language, parse_language, require_two_languages
from livetrans.lm.families import TEMPLATES
from livetrans.lm.prompts import Prompt, build_prompt
from livetrans.models.catalogue import TRANSLATOR, RunLanguages
from livetrans.models.chosen import DOUBLE_MODEL, DRAFT_MODEL, find_model
from livetrans.session.store import path_or_session
from livetrans.signature import sign

if TYPE_CHECKING:
    from livetrans.lm.llama.model import LlamaModel

_count = partial(click.option, metavar="N", type=CountRange(min=1))
_path = partial(click.option, type=input_path, metavar="FILE")
_language = partial(click.option, metavar="LANGUAGE", show_default=True)
_model = partial(click.option, metavar="MODEL")


@click.command()
@_path("--source", help="Text to translate, a sentence a line.")
@_path("--reference", help="Its translation, line by line, to score against.")
@_path("--recorded", metavar="SESSION", help="Recorded transcripts instead: a session, a .jsonl file, or a folder.")
@_language("--from", "from_", default="en", help="Language of the source.")
@_language("--to", default="de", help="Language of the translation.")
@_model(
    "--mt",
    envvar=TRANSLATOR_VARIABLE,
    show_envvar=True,
    help="Translator: a GGUF file, or a name from `livetrans models`.",
)
@_model("--draft-model", help="Small translator of the same vocabulary, for spec, bild and +draft.")
@_model("--double-model", help="Translator that writes from both ends, for the method double.")
@click.option("--prompt", type=click.Choice(list(TEMPLATES)), help="Prompt template.")
@click.option(
    "--methods",
    metavar="LIST",
    default=",".join(PAPER_METHODS),
    show_default="those of the paper's tables",
    help="Methods to run, separated by commas; or one set of them: paper, calm.",
)
@_count("--words", default=3, show_default=True, help="Words revealed at a time.")
@_count("--sentences", help="Translate only the first N.")
@click.option(
    "--quick",
    is_flag=True,
    help=f"The first {QUICK_SENTENCES} sentences, {QUICK_REPEATS} times: a minute with a small model. Tables say so.",
)
@_count("--minimum-words", default=1, help="With --source: only sentences of at least N words.")
@_count(
    "--repeats",
    type=CountRange(1, 99),
    show_default=str(REPEATS),
    help="How often everything is done; times are medians.",
)
@threads_option(help="Threads of the translator; with 1, results repeat exactly.")
@time_option
@click.option("--temperature", metavar="T", type=NumberRange(0.01, 100), help="Draw tokens, at this temperature.")
@click.option("--top-k", metavar="K", type=CountRange(min=0), help="Draw among the K most likely; 0 among all.")
@click.option("--top-p", metavar="P", type=NumberRange(0, 1), help="Draw among the most likely that add up to P.")
@click.option("--seed", metavar="N", type=CountRange(min=0), help="Seed of the draws.")
@click.option(
    "--context",
    metavar="TOKENS",
    type=CountRange(min=32),
    default=LanguageModelSettings(Path()).context_tokens,
    show_default=True,
    help="Context window: prompt and output together.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Run file; without it, named by corpus and model.",
)
@click.option("--force", is_flag=True, help="Overwrite the run file if it exists, instead of continuing it.")
def run_command(**values: Any) -> None:
    """Translate a corpus by several methods, interleaved, and write every update to a run file.

    Methods are written as DECODER, or DECODER@BIAS where it has a bias, with +maskK for an output mask: rt, ssbd@0.2,
    cd, ssbd@0.2+mask3. windowW@BIAS is the live window of W tokens; +careful and +fresh say how finals are decoded:
    window7@0+careful. With --draft-model there are spec@GAMMA, bild@FALLBACK,ROLLBACK and +draft: spec@4, bild@0.6,3,
    ssbd@0.2+draft; with --double-model there is double@BIAS. Decoding is greedy without --temperature, --top-k,
    --top-p and --seed, which rt, spec and bild take. Given again, the same command continues an interrupted run where
    it stopped.
    """
    try:
        click.echo(_run(SimpleNamespace(**values)))
    except KeyboardInterrupt:
        say("stopped; the same command continues from here")
        raise


def _run(options: Any) -> Path:
    """Run what the options name, or the rest of it; return the run file."""
    languages = parse_language(options.from_), parse_language(options.to)
    require_two_languages(options.from_, options.to)
    if options.quick and (options.sentences or options.repeats):
        raise UsageError("--quick chooses --sentences and --repeats itself; drop them, or drop --quick")
    methods = parse_methods(options.methods)
    draft_file = find_model(DRAFT_MODEL, options.draft_model).path if options.draft_model else None
    double_file = find_model(DOUBLE_MODEL, options.double_model).path if options.double_model else None
    drawing = {name: getattr(options, name) for name in ("temperature", "top_k", "top_p", "seed")}
    drawing = {name: value for name, value in drawing.items() if value is not None}
    sampling = SamplingSettings(**drawing) if drawing else None
    check_models(methods, draft_file is not None, double_file is not None, sampling)
    clock = clock_for(options.time, options.threads)
    corpus = _corpus(options, languages)
    direction = languages[0].code, languages[1].code
    translator = find_model(TRANSLATOR, options.mt, RunLanguages(directions=(direction,)))
    file, template = translator.path, options.prompt or translator.prompt
    corpus_name = corpus.summary.name.removesuffix(".jsonl").removesuffix(".txt")
    output = options.output or Path(f"{corpus_name}.{languages[0].code}-{languages[1].code}.{file.stem}.jsonl")
    maximum = DecodingSettings().maximum_output_tokens
    from livetrans.lm.llama.checks import check_model, load_draft_model
    from livetrans.lm.llama.model import LlamaModel

    with ExitStack() as opened:

        def load(path: Path, kind: str, prompt: str | None, model_class: type[LlamaModel]) -> tuple[LlamaModel, Prompt]:
            say(f"loading the {kind} {path.name} …")
            check_model(path)
            settings = LanguageModelSettings(path, options.context, options.threads, prompt=prompt)
            model = model_class(settings, maximum_rows=maximum + 1, clock=clock)
            opened.callback(model.close)
            return model, build_prompt(model, prompt, *languages)

        model, prompt = load(file, "translator", template, LlamaModel)
        signature = sign(model, file, prompt, options.threads)
        small = double = small_record = double_record = None
        if draft_file:
            say(f"loading the draft model {draft_file.name} …")
            settings = LanguageModelSettings(file, options.context, options.threads, prompt=template)
            small = load_draft_model(draft_file, settings, clock)
            opened.callback(small.close)
            small_record = sign(small, draft_file, prompt, options.threads).model
        if double_file:
            decoders = (DECODERS[method.decoder] for method in methods)
            model_class = next(decoder.model_class() for decoder in decoders if decoder.has_own_model)
            double = load(double_file, "double-token model", None, model_class)
            double_record = sign(double[0], double_file, double[1], options.threads).model
        header = Header(
            format=FORMAT,
            methods=methods,
            repeats=QUICK_REPEATS if options.quick else options.repeats or REPEATS,
            model=signature.model,
            corpus=corpus.summary,
            maximum_output_tokens=maximum,
            time=options.time,
            versions=signature.versions,
            machine=signature.machine,
            quick=options.quick,
            draft_model=small_record,
            double_model=double_record,
            sampling=sampling,
        )
        # Before the file is opened: a command that is refused must not touch it.
        bench = Bench(method_models(methods, (model, prompt), opened, small, double), header, clock)
        segments = [one.segment for one in corpus.segments]
        steps = len(segments) * len(methods) * header.repeats
        with RunWriter(output, header, segments, overwrite=options.force) as writer:
            if writer.done:
                say(f"{len(writer.done)} of {steps} steps were done already")
            with step_bar(steps, len(writer.done)) as advance:
                bench.run(corpus, writer, advance)
    return output


def _corpus(options: Any, languages: tuple[Language, Language]) -> Corpus:
    sentences = QUICK_SENTENCES if options.quick else options.sentences
    if (options.source is None) == (options.recorded is None):
        raise UsageError("give one of --source FILE, a text, and --recorded SESSION, a transcript stream")
    if options.source is not None:
        return text_corpus(
            options.source,
            options.reference,
            languages,
            step=options.words,
            sentences=sentences,
            minimum_words=options.minimum_words,
        )
    path = path_or_session(str(options.recorded))
    return recorded_corpus(path, options.reference, languages, sentences=sentences, notify=lambda n: say(n.text))
