"""Makes run files: of a corpus, and of the transcripts that were just heard."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from livetrans.base.errors import UsageError
from livetrans.base.languages import Language
from livetrans.bench.corpora import Corpus
from livetrans.bench.run import Bench, Method, clock_for, method_models
from livetrans.bench.runfile import FORMAT, Header, RunWriter
from livetrans.config import DecodingSettings, LanguageModelSettings, MaskSettings, SamplingSettings, Settings
from livetrans.decoding import of_server
from livetrans.events import Record
from livetrans.lm.prompts import Prompt, build_prompt
from livetrans.lm.server.model import COUNTING, ServerModel, open_server
from livetrans.lm.server.transport import about_server
from livetrans.names.repair import NameRepairs
from livetrans.run.publisher import Publish
from livetrans.run.runner import OpenListening
from livetrans.session.codec import dump, to_dict
from livetrans.signature import identify, machine, versions

if TYPE_CHECKING:
    from livetrans.lm.llama.model import LlamaModel


def write_run(
    output: Path,
    corpus: Corpus,
    languages: tuple[Language, Language],
    methods: tuple[Method, ...],
    translator: LanguageModelSettings,
    *,
    repeats: int,
    draft_file: Path | None = None,
    double_file: Path | None = None,
    time: str = "wall",
    quick: bool = False,
    sampling: SamplingSettings | None = None,
    mask: MaskSettings,
    overwrite: bool = False,
    say: Callable[[str], None],
    bar: Callable[[int, int], AbstractContextManager[Callable[[], None]]],
) -> None:
    """Translate the corpus by all methods into a run file, or the rest of it if the file has some of it already.

    `bar` shows how many of all steps are done; what it yields counts one more.
    """
    from livetrans.lm.llama.checks import check_model, load_draft_model
    from livetrans.lm.llama.model import LlamaModel

    clock = clock_for(time, translator.threads)
    maximum = DecodingSettings().maximum_output_tokens
    with ExitStack() as opened:

        def load(
            settings: LanguageModelSettings, kind: str, model_class: type[LlamaModel]
        ) -> tuple[LlamaModel, Prompt]:
            say(f"loading the {kind} {settings.model.name} …")
            check_model(settings.model)
            model = model_class(settings, maximum_rows=maximum + 1, clock=clock)
            opened.callback(model.close)
            return model, build_prompt(model, settings.prompt, *languages)

        model: LlamaModel | ServerModel
        if translator.server:
            say(f"asking the translator at {translator.server} …")
            model = open_server(translator, maximum + 1, clock, lambda text: say(about_server(text).text))
            opened.callback(model.close)
            able = of_server(is_exact=model.is_exact)
            if unable := [method.label for method in methods if method.decoder.name not in able]:
                raise UsageError(
                    f"{translator.server} gives no log-probabilities of a draft, which {unable[0]} needs; choose among "
                    f"{', '.join(able)}"
                )
            prompt = build_prompt(model, translator.prompt, *languages)
            model.learn(prompt.tokens(model, COUNTING))
            translator = replace(translator, model=Path(model.name))
        else:
            model, prompt = load(translator, "translator", LlamaModel)
        small = double = small_record = double_record = None
        if draft_file:
            say(f"loading the draft model {draft_file.name} …")
            small = load_draft_model(draft_file, translator, clock)
            opened.callback(small.close)
            small_record = identify(small, draft_file, prompt, model.threads)
        if double_file:
            model_class = next(method.decoder.model_class() for method in methods if method.decoder.has_own_model)
            double = load(replace(translator, model=double_file, prompt=None), "double-token model", model_class)
            double_record = identify(double[0], double_file, double[1], model.threads)
        header = Header(
            format=FORMAT,
            methods=tuple(method.label for method in methods),
            repeats=repeats,
            model=identify(model, translator.model, prompt, model.threads),
            corpus=corpus.summary,
            maximum_output_tokens=maximum,
            time=time,
            versions=versions(),
            machine=machine(),
            quick=quick,
            draft_model=small_record,
            double_model=double_record,
            sampling=sampling,
            mask=mask,
        )
        # Before the file is opened: a command that is refused must not touch it.
        bench = Bench(method_models(methods, (model, prompt), opened, small, double), header, clock)
        segments = [one.segment for one in corpus.segments]
        steps = len(segments) * len(methods) * header.repeats
        with RunWriter(output, header, segments, overwrite=overwrite) as writer:
            if writer.done:
                say(f"{len(writer.done)} of {steps} steps were done already")
            with bar(steps, len(writer.done)) as advance:
                bench.run(corpus, writer, advance)


def write_stream(place: Path, settings: Settings, open_listening: OpenListening, publish: Publish) -> bool:
    """Write the transcripts of a source to a file; return whether there is one with words."""
    has_words, repairs = False, NameRepairs(lambda: settings)
    listening = open_listening(publish, lambda chunk: None)
    listening.repair_names(repairs)
    try:
        with place.open("w", encoding="utf-8") as file:
            for transcript in map(repairs, listening.transcripts):
                has_words = has_words or (transcript.final and bool(transcript.text))
                file.write(dump(to_dict(Record(transcript.end, transcript))) + "\n")
    finally:
        listening.close()
    return has_words
