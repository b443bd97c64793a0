"""`replay --compare`: a benchmark in memory, of several methods on the updates of one source."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from livetrans.bench.corpora import transcript_corpus
from livetrans.bench.measures import MODEL_UNIT, MeasuredRun, MeasureSettings
from livetrans.bench.methods import BASELINE, Method, labelled, parse_methods
from livetrans.bench.run import Bench, check_models, method_models
from livetrans.bench.runfile import FORMAT, Header, RunFile
from livetrans.bench.tables import comparison_table
from livetrans.cli.bench import step_bar, write_tables
from livetrans.cli.messages import progress_bar, say, say_above
from livetrans.cli.running import HeardProgress, OpenSource
from livetrans.config import Settings
from livetrans.errors import SourceError, UsageError
from livetrans.events import Event, Notice, Transcript
from livetrans.run.opening import open_model
from livetrans.run.translating import languages, prepare_prompt
from livetrans.signature import sign


def compare_methods(source: OpenSource, written: str, repeats: int, format_: str) -> None:
    """Recognise once, then translate every update by every method, each with a cache of its own, and print a table.

    `written` are the methods as the user wrote them.

    Raises:
        UsageError: a method that does not exist, or fewer than two.
        SourceError: nothing was recognised, or no segment fits in the model's context.
    """
    settings, clock, name = source.settings, source.clock, source.title
    methods = tuple(_masked(method, settings) for method in parse_methods(written, settings.decoding))
    if len(methods) < 2:
        raise UsageError("--compare needs two methods or more, for example rt,ssbd")
    check_models(methods, settings.draft_model is not None, has_double_model=False)
    with ExitStack() as opened:
        model = open_model(settings, clock, lambda event: say(event.text) if isinstance(event, Notice) else None)
        opened.callback(model.close)
        prompt = prepare_prompt(model, settings, languages(settings))
        small = None
        if settings.draft_model:
            from livetrans.lm.llama.checks import load_draft_model

            small = load_draft_model(settings.draft_model.model, settings.language_model, clock)
            opened.callback(small.close)
        models = method_models(methods, (model, prompt), opened, small)
        corpus = transcript_corpus(_hear(source), name, languages(settings))
        if not corpus.segments:
            raise SourceError("nothing was recognised, so there is nothing to compare; choose a recording with speech")
        updates = sum(len(one.updates) for one in corpus.segments)
        labels = ", ".join(method.label for method in methods)
        say(f"{updates} updates of {len(corpus.segments)} segments; translating by {labels} …")
        signature = sign(model, settings.language_model.model, prompt, model.threads)
        maximum = settings.decoding.maximum_output_tokens
        header = Header(
            format=FORMAT,
            methods=methods,
            repeats=repeats,
            model=signature.model,
            corpus=corpus.summary,
            maximum_output_tokens=maximum,
            time="wall",
            versions=signature.versions,
            machine=signature.machine,
        )
        bench = Bench(models, header, clock)
        with step_bar(len(corpus.segments) * len(methods) * repeats) as advance:
            done = bench.run_in_memory(corpus, advance)
    if not done:
        raise SourceError("no segment fits in the model's context; give a larger --context")
    mask_k = settings.mask.k if settings.mask.mode == "display" else 0
    known = {segment_id for _, segment_id, _ in done}
    segments = tuple(one.segment for one in corpus.segments if one.segment.segment_id in known)
    run = MeasuredRun(RunFile(Path(name), header, segments, done), MeasureSettings(MODEL_UNIT, shown_mask_k=mask_k))
    for left_out in (one.segment.segment_id for one in corpus.segments if one.segment.segment_id not in known):
        say(f"segment {left_out + 1} is left out of the comparison: it is too long for the model's context")
    masked = f"the last {mask_k} tokens of partials hidden" if mask_k else "nothing hidden"
    table = comparison_table(
        run,
        f"Measured {'once' if repeats == 1 else f'{repeats} times, medians'}, on the same updates, methods taking "
        f"turns by segment; NE shown and NE screen with {masked}.",
    )
    write_tables([table], format_, explain=format_ == "text", signature=format_ == "text")


def _masked(method: Method, settings: Settings) -> Method:
    """Return the method with the run's output mask, where it names none itself; the baseline has no draft to mask."""
    if settings.mask.mode != "output" or method.output_mask_k or method.decoder == BASELINE:
        return method
    return labelled(replace(method, output_mask_k=settings.mask.k))


def _hear(source: OpenSource) -> list[Transcript]:
    with progress_bar() as progress:
        heard = HeardProgress(progress)

        def publish(event: Event) -> None:
            if isinstance(event, Notice):
                say_above(progress, event.text)
            heard.show(event)

        listening = source.open_listening(publish, lambda chunk: None)
        try:
            return list(listening.transcripts)
        finally:
            listening.close()
