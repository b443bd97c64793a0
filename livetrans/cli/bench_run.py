"""`livetrans bench run`, and `replay --compare`, which is such a run on what was just heard."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import click

from livetrans.base.errors import SourceError, UsageError
from livetrans.base.files import input_path, require_apart
from livetrans.base.languages import Language, parse_language, require_two_languages
from livetrans.bench.corpora import Corpus, find_streams, recorded_corpus, text_corpus
from livetrans.bench.measures import MODEL_UNIT, MeasuredRun, MeasureSettings
from livetrans.bench.run import (
    METHOD_SETS,
    QUICK_REPEATS,
    QUICK_SENTENCES,
    REPEATS,
    check_models,
    clock_for,
    parse_methods,
)
from livetrans.bench.runfile import read_run
from livetrans.bench.tables import make_table
from livetrans.bench.writing import write_run, write_stream
from livetrans.cli.bench import print_tables, step_bar, threads_option, time_option
from livetrans.cli.declarations import CountRange, NumberRange, was_given
from livetrans.cli.messages import progress_bar, say
from livetrans.cli.options import refuse_without_effect, server_options
from livetrans.cli.running import HeardProgress, OpenSource
from livetrans.config import (
    TRANSLATOR_VARIABLE,
    UNNAMED,
    LanguageModelSettings,
    MaskSettings,
    SamplingSettings,
    Settings,
    with_field,
)
from livetrans.events import Event, Notice, Record
from livetrans.lm.families import TEMPLATES
from livetrans.models.catalogue import TRANSLATOR, RunLanguages
from livetrans.models.chosen import DOUBLE_MODEL, DRAFT_MODEL, find_model
from livetrans.run.effect import Way
from livetrans.run.translating import languages as languages_of
from livetrans.session.codec import events_file
from livetrans.session.store import path_or_session

_OF_TRANSLATORS = "mt mt-model mt-key-file context threads draft-model double-model temperature top-k top-p seed time"
"""The options that are for a translator on this machine, or for one on a server."""
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
@server_options
@_model("--draft-model", help="Small translator of the same vocabulary, for spec, bild and :gamma.")
@_model("--double-model", help="Translator that writes from both ends, for the method double.")
@click.option("--prompt", type=click.Choice(list(TEMPLATES)), help="Prompt template.")
@click.option(
    "--methods",
    metavar="LIST",
    default=",".join(METHOD_SETS["paper"]),
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
@_count(
    "--mask-k", default=MaskSettings().k, show_default=True, help="Last tokens of a partial that its caption hides."
)
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

    A method is a decoder with its settings: DECODER@BIAS:KEY=VALUE:... Examples: rt, ssbd@0.2, cd, ssbd@0.2:mask=3 (an
    output mask), window (the default of a run), window:window=3:final=partial. With --draft-model: spec:gamma=4,
    bild:fallback=0.6:rollback=3, ssbd@0.2:gamma=4. With --double-model: double@0. Decoding is greedy without
    --temperature, --top-k, --top-p and --seed, which rt, spec and bild take. Run the same command again to continue an
    interrupted run.
    """
    try:
        click.echo(_run(SimpleNamespace(**values)))
    except KeyboardInterrupt:
        say("stopped; the same command continues from here")
        raise


def _run(options: Any) -> Path:
    """Run what the options name, or the rest of it; return the run file."""
    server = options.mt_server
    refuse_without_effect(Way(with_field(Settings(), "language_model.server", server), vars(options)), _OF_TRANSLATORS)
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
    clock_for(options.time, options.threads)
    corpus = _corpus(options, languages)
    direction = languages[0].code, languages[1].code
    if server:
        translator_file, prompt, stem = UNNAMED, options.prompt, "server"
    else:
        translator = find_model(TRANSLATOR, options.mt, RunLanguages(directions=(direction,)))
        translator_file, prompt, stem = translator.path, options.prompt or translator.prompt, translator.path.stem
    corpus_name = corpus.summary.name.removesuffix(".jsonl").removesuffix(".txt")
    name = f"{corpus_name}.{languages[0].code}-{languages[1].code}.{stem}.jsonl"
    output = options.output or Path(name)
    translated = find_streams(path_or_session(str(options.recorded))) if options.recorded else [options.source]
    models = [path for path in (translator_file, draft_file, double_file) if path not in (None, UNNAMED)]
    require_apart([("-o", output)], [*map(events_file, translated), *filter(None, [options.reference]), *models])
    write_run(
        output,
        corpus,
        languages,
        methods,
        LanguageModelSettings(
            translator_file,
            options.context,
            options.threads,
            prompt=prompt,
            server=server,
            server_model=options.mt_model,
            key_file=options.mt_key_file or UNNAMED,
        ),
        draft_file=draft_file,
        double_file=double_file,
        repeats=QUICK_REPEATS if options.quick else options.repeats or REPEATS,
        time=options.time,
        quick=options.quick,
        sampling=sampling,
        mask=MaskSettings(k=options.mask_k),
        overwrite=options.force,
        say=say,
        bar=step_bar,
    )
    return output


def _corpus(options: Any, languages: tuple[Language, Language]) -> Corpus:
    sentences = QUICK_SENTENCES if options.quick else options.sentences
    if (options.source is None) == (options.recorded is None):
        raise UsageError("give either --source FILE (a text) or --recorded SESSION (a transcript stream)")
    if options.source is not None:
        return text_corpus(
            options.source,
            options.reference,
            languages,
            step=options.words,
            sentences=sentences,
            minimum_words=options.minimum_words,
        )
    for name in ("words", "minimum_words"):
        if was_given(name):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} is for --source: a recorded stream has its own updates; drop it")
    path = path_or_session(str(options.recorded))
    return recorded_corpus(path, options.reference, languages, sentences=sentences, notify=lambda n: say(n.text))


def compare_methods(source: OpenSource, written: str, repeats: int, format_: str) -> None:
    """Record what a source says, run the benchmark on the recording in a temporary folder, and print its table.

    `written` are the methods as the user wrote them.

    Raises:
        UsageError: a method that does not exist, or fewer than two.
        SourceError: nothing was recognised.
    """
    settings, pair = source.settings, languages_of(source.settings)
    methods = parse_methods(written)
    if len(methods) < 2:
        raise UsageError("--compare needs two methods or more, for example rt,ssbd")
    draft_file = settings.draft_model.model if settings.draft_model else None
    if not was_given("draft_model") and not any(method.uses_draft_model for method in methods):
        draft_file = None
    check_models(methods, draft_file is not None, has_double_model=False)
    with TemporaryDirectory() as folder:
        stream, output = Path(folder, source.title), Path(folder, "run", source.title)  # The table has these names.
        output.parent.mkdir()
        with progress_bar() as progress:
            heard = HeardProgress(progress)

            def publish(event: Event) -> None:
                if isinstance(event, Notice):
                    say(event.text, above=progress)
                heard.write(Record(0.0, event))

            has_words = write_stream(stream, settings, source.open_listening, publish)
        if not has_words:
            raise SourceError("nothing was recognised, so there is nothing to compare; choose a recording with speech")
        corpus = recorded_corpus(stream, None, pair)
        write_run(
            output,
            corpus,
            pair,
            methods,
            settings.language_model,
            mask=settings.mask,
            repeats=repeats,
            draft_file=draft_file,
            say=say,
            bar=step_bar,
        )
        run = MeasuredRun(read_run(output), MeasureSettings(MODEL_UNIT))
        print_tables([make_table("compare", [run])], format_)
