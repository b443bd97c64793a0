"""Runs on the scripted model, in memory and on disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from livetrans.base.clock import ManualClock
from livetrans.base.languages import parse_language
from livetrans.bench.corpora import Corpus, text_corpus
from livetrans.bench.run import Bench, MethodModels, parse_methods
from livetrans.bench.runfile import FORMAT, Header, RunWriter
from livetrans.lm.prompts import build_prompt
from livetrans.signature import ModelIdentity
from tests.lm.scripted import Rule, ScriptedModel, word_by_word_rule
from tests.session.examples import without_times

METHODS = "rt,ssbd@0,ssbd@0.2,ssbd@0.5,cd,ssbd@0.2:mask=3"
SENTENCES = (
    "the old man walks slowly to the market .",
    "two dogs sleep .",
    "a woman reads the long letter of her brother at the open window .",
    "yes .",
)
SCRIPTED = ModelIdentity("scripted.gguf", 7, "scripted", "scripted", "none", "plain", 1024, 1)


def untimed(lines: bytes) -> list[dict[str, object]]:
    """The lines of a run file without everything measured."""
    return [without_times(json.loads(line)) for line in lines.splitlines()]


class TickingClock(ManualClock):
    """A clock on which asking takes a millisecond, more at each time: durations differ, and never are zero."""

    def now(self) -> float:
        self.advance(0.001)
        return super().now()


def corpus_of(folder: Path, sentences: Sequence[str] = SENTENCES, *, references: bool = True, step: int = 3) -> Corpus:
    """A text corpus whose references are what the scripted model would write at its best."""
    source, reference = folder / "source.en", folder / "source.de"
    source.write_text("".join(f"{sentence}\n" for sentence in sentences), encoding="utf-8")
    reference.write_text("".join(f"{sentence.upper()}\n" for sentence in sentences), encoding="utf-8")
    languages = parse_language("en"), parse_language("de")
    return text_corpus(source, reference if references else None, languages, step=step)


def header_of(corpus: Corpus, methods: str = METHODS, repeats: int = 2, model: ModelIdentity = SCRIPTED) -> Header:
    software = {"livetrans": "0"}
    labels = tuple(method.label for method in parse_methods(methods))
    return Header(FORMAT, labels, repeats, model, corpus.summary, 80, "wall", software, {"cores": "2"})


def run_to(
    path: Path,
    corpus: Corpus,
    header: Header,
    *,
    rule: Rule | None = None,
    stop_after: int | None = None,
    overwrite: bool = False,
) -> None:
    """Run a corpus on the scripted model; `stop_after` units it is interrupted, as by Ctrl-C."""
    rule = rule or word_by_word_rule(certainty=3.0)
    labels = header.methods
    models = {label: ScriptedModel(rule, seconds_per_pass=0.01, seconds_per_token=0.001) for label in labels}
    languages = parse_language("en"), parse_language("de")
    prompts = [build_prompt(model, "plain", *languages) for model in models.values()]
    # The scripted vocabulary grows as words are met: every model has to meet them in the same order.
    for model in models.values():
        for one in corpus.segments:
            model.tokenize(one.segment.source)
            model.tokenize(one.segment.source.upper())
            for update in one.updates:
                model.tokenize(f"({update.source.split()[-1].upper()})")
    done = 0

    def on_unit() -> None:
        nonlocal done
        done += 1
        if done == stop_after:
            raise KeyboardInterrupt

    segments = [one.segment for one in corpus.segments]
    with RunWriter(path, header, segments, overwrite=overwrite) as writer:
        by_method = {label: MethodModels(model, prompts[0]) for label, model in models.items()}
        Bench(by_method, header, TickingClock()).run(corpus, writer, on_unit)
