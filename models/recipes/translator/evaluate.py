"""Score a GGUF through llama.cpp: whole sentences (chrF, BLEU) and how much re-translation flickers on word streams."""

import argparse
import hashlib
import json
import time
from pathlib import Path

import sacrebleu

from ..common.corpus import EN_DE, PAIRS, Pair, shared_folder
from .runner import Runner


def lines_of(name: str, limit: int) -> list[str]:
    """The first `limit` lines of an evaluation file (0: all)."""
    lines = (shared_folder() / "corpora" / name).read_text(encoding="utf-8").splitlines()
    return lines[:limit] if limit else lines


def score_sentences(
    runner: Runner, pair: Pair, name: str, limit: int, hypotheses_folder: Path | None
) -> dict[str, object]:
    """chrF and BLEU of greedy translations of whole sentences, with sacrebleu's signatures."""
    sources, references = (lines_of(f"{name}.{side}", limit) for side in pair.sides)
    started = time.monotonic()
    outputs = [runner.translate(source) for source in sources]
    seconds = time.monotonic() - started
    texts = [runner.text(tokens) for tokens in outputs]
    if hypotheses_folder:
        hypotheses_folder.mkdir(parents=True, exist_ok=True)
        (hypotheses_folder / f"{name}.hypotheses.{pair.sides[1]}").write_text("\n".join(texts) + "\n", encoding="utf-8")
    chrf, bleu = sacrebleu.CHRF(), sacrebleu.BLEU(tokenize="13a" if pair.spaced else "char")
    return {
        "set": name,
        "sentences": len(sources),
        "chrf": round(chrf.corpus_score(texts, [references]).score, 2),
        "bleu": round(bleu.corpus_score(texts, [references]).score, 2),
        "output_tokens": sum(map(len, outputs)),
        "tokens_per_second": round(sum(map(len, outputs)) / seconds),
        "signatures": [str(chrf.get_signature()), str(bleu.get_signature())],
    }


def common_prefix(left: list[int], right: list[int]) -> int:
    """Number of equal leading tokens."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(left), len(right)))


def prefixes(source: str, words: int) -> list[str]:
    """The source as it grows by `words` words an update, up to the whole sentence."""
    parts = source.split()
    return [" ".join(parts[:end]) for end in range(words, len(parts), words)] + [source]


def score_streams(runner: Runner, pair: Pair, name: str, limit: int, words: int) -> dict[str, object]:
    """Normalized erasure of re-translation: tokens retracted over all updates / tokens of the final outputs."""
    erased_tokens = final_tokens = updates = 0
    for source in lines_of(f"{name}.{pair.sides[0]}", limit):
        shown: list[int] = []
        for prefix in prefixes(source, words):
            output = runner.translate(prefix)
            erased_tokens += len(shown) - common_prefix(shown, output)
            shown = output
            updates += 1
        final_tokens += len(shown)
    return {
        "set": name,
        "words_per_update": words,
        "updates": updates,
        "erased_tokens": erased_tokens,
        "final_tokens": final_tokens,
        "normalized_erasure": round(erased_tokens / final_tokens, 3),
    }


def card(
    model: Path, metadata: dict[str, str], sentences: list[dict[str, object]], streams: list[dict[str, object]]
) -> str:
    """What the file is, and its scores, in Markdown."""
    data = model.read_bytes()
    tables = []
    for rows in (sentences, streams):
        columns = [name for name in (rows[0] if rows else ()) if name != "signatures"]
        lines = (columns, ["---"] * len(columns), *([row[name] for name in columns] for row in rows))
        tables.append("\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines if line))
    facts = (
        f"{len(data):,} bytes, SHA-256 `{hashlib.sha256(data).hexdigest()}`",
        f"{metadata['general.license']}, {metadata['general.author']}",
        "An instrument to measure decoders with. Do not report Tatoeba-Challenge test scores for it, which are of the "
        "training's kind.",
    )
    title = f"# {metadata['general.name']}: {metadata['general.description']}"
    return "\n\n".join((title, *facts, *tables)) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="the GGUF to score")
    parser.add_argument("--pair", choices=PAIRS, default=str(EN_DE), help="its languages")
    parser.add_argument("--limit", type=int, default=0, help="whole sentences of each set (default: all)")
    parser.add_argument("--streams", type=int, default=300, help="sentences of each set that are streamed")
    parser.add_argument("--words", type=int, default=3, help="words an update of a stream")
    parser.add_argument("--hypotheses", type=Path, help="folder for the translations")
    parser.add_argument("--card", type=Path, help="a Markdown file to write about the model and its scores")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    runner = Runner(options.model, options.threads)
    pair = PAIRS[options.pair]
    sentences, streams = [], []
    for name in pair.test_sets:
        sentences.append(score_sentences(runner, pair, name, options.limit, options.hypotheses))
        print(json.dumps(sentences[-1]), flush=True)
    for name in pair.test_sets if options.streams else ():
        streams.append(score_streams(runner, pair, name, options.streams, options.words))
        print(json.dumps(streams[-1]), flush=True)
    if options.card:
        options.card.write_text(card(options.model, runner.llama.metadata, sentences, streams), encoding="utf-8")


if __name__ == "__main__":
    main()
