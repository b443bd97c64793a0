"""RT, SSBD and CD on text streams revealed w words at a time, methods taking turns sentence by sentence.

    python tests/benchmarks/ssbd_against_rt.py SOURCE.txt [--sentences 100] [--words 3] [--repeats 3] [--mt MODEL]

As in the paper, the last update of a sentence is decoded like every other (its bias is the method's), unlike in a live
run.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from livetrans.catalogue import find_translator
from livetrans.cli.comparing import parse_method
from livetrans.config import DecodingSettings, LanguageModelSettings, MaskSettings
from livetrans.events import Transcript
from livetrans.languages import parse_language
from livetrans.lm.llama import LlamaModel
from livetrans.lm.prompts import build_prompt
from livetrans.metrics.comparison import MethodRun, compare
from livetrans.translation.presenter import Presenter
from livetrans.translation.rendering import renderer
from livetrans.translation.translator import Translator


def stream(sentence: str, segment_id: int, words: int) -> list[Transcript]:
    """The growing prefixes of a sentence, `words` words more each time; the last is final."""
    spoken = sentence.split()
    ends = [*range(words, len(spoken), words), len(spoken)]
    return [
        Transcript(segment_id, revision, " ".join(spoken[:end]), "", end == len(spoken), 0.0, 0.0)
        for revision, end in enumerate(ends)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--words", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--mt")
    parser.add_argument("--methods", default="rt,ssbd@0,ssbd@0.1,ssbd@0.2,ssbd@0.3,ssbd@0.5,cd")
    arguments = parser.parse_args()
    sentences = arguments.source.read_text(encoding="utf-8").splitlines()[: arguments.sentences]
    mask = MaskSettings()
    base = DecodingSettings(final_bias=None)
    model = LlamaModel(LanguageModelSettings(find_translator(arguments.mt).path, context_tokens=1024, threads=1))
    prompt = build_prompt(model, None, parse_language("en"), parse_language("de"))
    methods = [parse_method(method, replace(base)) for method in arguments.methods.split(",")]
    models = [model, *(model.another_context() for _ in methods[1:])]
    repeats = []
    for repeat in range(arguments.repeats):
        rows = [
            (
                Translator(one, prompt, decoding, mask, label=label),
                Presenter(renderer(one), mask, spaced=True),
                MethodRun(label),
            )
            for one, (label, decoding) in zip(models, methods, strict=True)
        ]
        for number, sentence in enumerate(sentences):
            turn = (number + repeat) % len(rows)
            for translator, presenter, run in rows[turn:] + rows[:turn]:
                for transcript in stream(sentence, number, arguments.words):
                    [translation] = translator.feed(transcript)
                    [caption] = presenter.feed(translation, transcript)
                    run.add(translation, caption)
        repeats.append([run for _, _, run in rows])
    print("method    updates tokens speedup speedup* NE-raw NE-shown  A/D   A/O  finals=rt")
    for row in compare(repeats):
        drafted = [
            f"{share:5.1%}" if share is not None else "    –"
            for share in (row.accepted_per_draft, row.accepted_per_output)
        ]
        print(
            f"{row.method:9} {row.updates:7} {row.output_tokens:6} {row.speedup:7.2f} {row.generation_speedup:8.2f} "
            f"{row.ne_raw:6.2f} {row.ne_shown:8.2f} {' '.join(drafted)}  {row.equal_finals}/{row.finals}"
        )
    for one in reversed(models):
        one.close()


if __name__ == "__main__":
    main()
