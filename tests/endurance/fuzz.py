"""Mutated input for what reads strangers' files: a value or a sentence, never another exception, never a crash.

    python -m tests.endurance.fuzz --seconds 600 [TARGET ...]

prints a line for each target; input that failed is written to the current folder. The suite runs a few cases of each
(`test_fuzz.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from livetrans.base.clock import ManualClock
from livetrans.base.errors import LivetransError
from livetrans.base.installation import data_folder
from livetrans.base.languages import parse_language
from livetrans.cli import cli
from livetrans.config import LanguageModelSettings
from livetrans.events import Caption, Record
from livetrans.lm.llama.checks import check_model
from livetrans.lm.llama.model import LlamaModel
from livetrans.lm.prompts import build_prompt
from livetrans.lm.rendering import TemplateFault, render_chat
from livetrans.models.catalogue import TRANSLATOR, read_catalogue
from livetrans.models.chosen import find_model
from livetrans.models.gguf import is_translator
from livetrans.names.file import read_terms
from livetrans.names.repair import Repairer
from livetrans.session.codec import read_records, to_line
from livetrans.session.export import export, read_captions
from livetrans.session.recorded import RecordedTranscripts
from livetrans.translation.prompting import Glossary
from tests.session.examples import EVENTS as EXAMPLES

_TOKENS = [
    b"\x00", b"\xff", b"\xed\xa0\x80", b"\xe2\x80\xae", b"\xf0\x9f", b"\x1b[2J", b"\n", b"\r\n", b'"', b"\\",
    b"\\ud800", b"{", b"}", b"[" * 3000, b"]", b"{{", b"{%", b"%}", b"}}", b"null", b"true", b"NaN", b"1e999", b"-1",
    b"1" * 400, b"9" * 5000, b"'", b"=", b"<|im_end|>", b"<|src|>", b"x" * 10_000,
    b"\xff" * 8, b"\x00" * 8, b"\x01" * 8,
]  # fmt: skip


def mutate(chance: random.Random, seed: bytes) -> bytes:
    """The seed with a few changes: bits, bytes, tokens, cuts, pieces repeated."""
    data = bytearray(seed)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        begin = chance.randrange(len(data) + 1)
        end = begin + chance.choice((1, 2, 4, 8, 64))
        match chance.randrange(6):
            case 0:
                data[begin:end] = chance.randbytes(len(data[begin:end]))
            case 1:
                data[begin:begin] = chance.choice(_TOKENS)
            case 2:
                data[begin:end] = chance.choice(_TOKENS)
            case 3:
                del data[begin:end]
            case 4 if chance.random() < 0.2:
                del data[begin:]
            case _:
                data[begin:begin] = data[chance.randrange(len(data) + 1) :][:64]
    return bytes(data)


def mutate_in_place(chance: random.Random, seed: bytes) -> bytes:
    """The seed with a few numbers and bytes of its first part changed, or cut off there: parts stay where they are."""
    data = bytearray(seed)
    if chance.random() < 0.1:
        return bytes(data[: chance.randrange(_HEADER_BYTES)])
    for _ in range(chance.choice((1, 1, 2, 4))):
        # Half of the changes in the first kilobytes, where the numbers of the model are.
        begin = chance.randrange(chance.choice((3000, _HEADER_BYTES)))
        changed = chance.choice((b"\x00", b"\xff", b"\x01", b"\xff\xff\xff\x7f", b"\x00" * 8, chance.randbytes(1)))
        data[begin : begin + len(changed)] = changed
    return bytes(data)


_HEADER_BYTES = 186_000
"""Of the embedded translator."""

_TERMS = (
    '# terms\nKV cache\tKV-Cache\n"a, b", c, bee see | de: c\nStraße,road\n東京\tTokyo\nİstanbul,Istanbul\n'.encode()
)

Try = Callable[[bytes], bool]
"""Uses the input; whether it was accepted. Raises where something is wrong."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is fuzzed: its seeds, what is done with the input, and how the seeds are changed."""

    seeds: tuple[bytes, ...]
    attempt: Try
    change: Callable[[random.Random, bytes], bytes] = mutate


def _in_file(name: str, use: Callable[[Path], object]) -> Try:
    folder = Path(tempfile.mkdtemp(prefix="livetrans-fuzz-"))

    def attempt(data: bytes) -> bool:
        path = folder / name
        path.write_bytes(data)
        try:
            use(path)
        except LivetransError as fault:
            assert str(fault) and "Traceback" not in str(fault)
            return False
        return True

    return attempt


def _session(path: Path) -> None:
    for record in read_records(path):
        to_line(record)
        if isinstance(record.event, Caption):
            assert record.event.transcript.segment_id == record.event.segment_id
    for format in ("srt", "vtt", "txt", "jsonl"):
        for piece in export(read_captions(path), format, "both"):  # type: ignore[arg-type]
            piece.encode("utf-8")


def _json_lines(path: Path) -> None:
    for transcript in RecordedTranscripts(path, ManualClock(), real_time=False):
        assert isinstance(transcript.text, str)


def _config(path: Path) -> None:
    """The whole way: a recording that is missing ends the command after its configuration was read."""
    done = CliRunner().invoke(cli, ["replay", "--config", str(path), "no-such.flac"])
    if isinstance(done.exception, LivetransError):
        raise done.exception
    assert isinstance(done.exception, SystemExit), repr(done.exception)


def _glossary(path: Path) -> None:
    terms, _ = read_terms(path)
    pairs = tuple((term.text, term.translation) for term in terms)
    spoken = " ".join([*(term for term, _ in pairs[:20]), *(one for term in terms[:20] for one, _ in term.heard)])
    repairer = Repairer(terms)
    once, _ = repairer.repair(f"{spoken}, {spoken.upper()} {path.name}")
    assert repairer.repair(once) == (once, ())
    assert set(Glossary(pairs).occurring(once)) <= set(pairs)


def _model(path: Path) -> None:
    is_translator(path)
    check_model(path)


def _prompts() -> Target:
    model = LlamaModel(LanguageModelSettings(find_model(TRANSLATOR).path))
    prompt = build_prompt(model, None, parse_language("en"), parse_language("de"))
    control = {model.tokenize(mark, special=True)[0] for mark in ("<|src|>", "<|tgt|>")}
    template = (
        "{{ bos_token }}{% for m in messages %}<|{{ m['role'] }}|>\n{{ m.content | trim }}{% endfor %}"
        "{% if add_generation_prompt %}<bot>{% endif %}"
    )

    def attempt(data: bytes) -> bool:
        text = data.decode("utf-8", "replace")
        tokens = prompt.tokens(model, text)
        assert control.isdisjoint(tokens[len(prompt.before) : len(tokens) - len(prompt.after)])
        if b"{{" not in data:
            return True
        try:
            render_chat(text, (("user", "\ue002"),), "\ue000", "\ue001")
        except TemplateFault:
            return False
        return True

    return Target((template.encode(), b"Good morning, everyone.", "Guten Tag <|tgt|> 日本".encode()), attempt)


def targets() -> dict[str, Callable[[], Target]]:
    """Every target by its name, made when it is used."""
    records = (Record(float(at), event) for at, event in enumerate(EXAMPLES))
    session = b"".join(f"{to_line(record)}\n".encode() for record in records)
    catalogue = (data_folder("models") / "catalogue.toml").read_bytes()
    model = find_model(TRANSLATOR).path
    stream = (data_folder("recordings") / "demo.jsonl").read_bytes()[:20_000]
    settings = b'from = "en"\nto = "de"\nbias = 0.2\nmask-k = 3\nplain = true\n[replay]\nto = "fr"\n'
    return {
        "session": lambda: Target((session,), _in_file("events.jsonl", _session)),
        "jsonlines": lambda: Target((stream, session), _in_file("stream.jsonl", _json_lines)),
        "config": lambda: Target((settings,), _in_file("config.toml", _config)),
        "glossary": lambda: Target((_TERMS,), _in_file("terms.tsv", _glossary)),
        "gguf": lambda: Target((model.read_bytes(),), _in_file("model.gguf", _model), mutate_in_place),
        "catalogue": lambda: Target((catalogue,), _in_file("catalogue.toml", read_catalogue.__wrapped__)),
        "prompts": _prompts,
    }


def cases(target: Target, seed: int) -> Iterator[bytes]:
    """Mutated input without end; the same for the same seed."""
    chance = random.Random(seed)
    while True:
        yield target.change(chance, chance.choice(target.seeds))


def main() -> int:
    makers = targets()
    parser = argparse.ArgumentParser(description="Fuzz what reads strangers' files.")
    parser.add_argument("target", nargs="*", choices=[[], *makers], help="all by default")
    parser.add_argument("--seconds", type=float, default=600, help="for each target")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    # Mutated files are all new: the user's cache would only fill.
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="livetrans-fuzz-cache-")
    failures = 0
    for name in options.target or makers:
        target = makers[name]()
        end = time.monotonic() + options.seconds
        count = accepted = failed = 0
        for data in cases(target, options.seed):
            if time.monotonic() >= end:
                break
            count += 1
            try:
                accepted += target.attempt(data)
            except Exception as error:
                failed += 1
                path = Path(f"fuzz-{name}-{failed}.bin")
                path.write_bytes(data)
                print(f"{name}: {type(error).__name__}: {str(error)[:200]!r} ({path})", file=sys.stderr)
        failures += failed
        figures = {"cases": count, "accepted": accepted, "refused": count - accepted - failed, "failed": failed}
        print(json.dumps({"target": name, "seconds": options.seconds, "seed": options.seed, **figures}), flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
