"""The checks, in the order in which they run. A check returns its figures, or raises `Failed`, `Slow` or `Skipped`."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from io import StringIO
from itertools import chain, cycle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import segno

from livetrans.audio.file import AudioFile
from livetrans.base.clock import SystemClock
from livetrans.base.installation import install_command
from livetrans.base.text import file_size
from livetrans.lm.families import TEMPLATES
from livetrans.models.catalogue import FASTER_WHISPER, ONNX, WEIGHTS
from tests.audio.sound_server import write_wav
from tests.benchmarks import spoken_languages
from tests.real.here import LIVETRANS, NOWHERE, ROOT, Failed, Here, Skipped, Slow, require

Figures = Mapping[str, str]
SMALLEST = "whisper-tiny"
"""The smallest model of the catalogue that knows people."""
WORST = 40.0
"""Word error rate in percent from which a recogniser does not understand people: chosen for the archaic sonnet among
the recordings, not measured."""
LEAST_CHRF = 40.0
"""chrF on the tree's own sentences that a translator has to reach. The embedded one has 65.0; the English sentences
themselves have 13.8, and other sentences in German 14.3."""
LEAST_CHRF_OF_PEOPLE = 30.0
"""The same on the recordings of people, of which half is a sonnet of 1609. The embedded translator, which was not made
for such texts, has 26 on their written words; other sentences in German, as long, have 25."""
GPU_DIFFERENCE = 0.05
"""Part of the updates that may differ on a GPU, where a batch is computed in another order than single tokens."""
MOST_REWRITTEN = 0.3
"""Words retracted for each word that stays, up to which a recogniser is calm enough: chosen, not measured."""
LEAST_WAITING = 20
"""Words that wait, from which on their share that is right says something."""
LEAKED = re.compile(r"<[|｜/]?\w|[|｜/]>|hy_(User|Assistant)|\[/?INST|^\s*(German|English|Deutsch|Translation)\s*:|\n")
"""What belongs to a prompt's form or to thinking, not to a caption."""
RECORDINGS = ROOT / "recordings"


@dataclass(frozen=True)
class Check:
    name: str
    claim: str
    """What the documents say, in one sentence."""
    run: Callable[[Here], Figures]
    minutes: float
    """The limit: many times what it takes, for slow machines and slow networks."""


CHECKS: list[Check] = []


def check(
    name: str, claim: str, *, minutes: float = 30.0
) -> Callable[[Callable[..., Figures]], Callable[..., Figures]]:
    """Add a check to the list."""

    def add(function: Callable[..., Figures]) -> Callable[..., Figures]:
        CHECKS.append(Check(name, claim, function, minutes))
        return function

    return add


# Those that need a person come first: then nobody has to wait for a question.


@check("microphone", "`mic` captions a person who speaks into a microphone.", minutes=10)
def microphone(here: Here) -> Figures:
    here.require_sound("microphone")
    here.ask("Press Enter, then speak English sentences into the microphone for 10 seconds.")
    return _listened(here, "mic")


@check("what this computer plays", "`listen` captions what this computer plays.", minutes=10)
def computer_sound(here: Here) -> Figures:
    here.require_sound("output")
    here.ask("Play English speech on this computer, such as a video, and press Enter.")
    return _listened(here, "listen")


@check(
    "one program of a Mac",
    "A Mac with the extra `mac-sound` captions one program that plays, without a loopback device.",
    minutes=10,
)
def one_program_of_a_mac(here: Here) -> Figures:
    if sys.platform != "darwin":
        raise Skipped("this is not a Mac")
    if find_spec("ScreenCaptureKit") is None:
        raise Skipped(f"the extra is missing: {install_command('mac-sound')}")
    here.require_sound("output")
    program = here.ask("Play English speech in one program, music in another, and type the first one's name.")
    return _listened(here, "listen", "--app", program)


def _listened(here: Here, command: str, *options: str) -> Figures:
    words = [command, *options, "--plain", "--no-session", "--jsonl", here.folder / "events.jsonl"]
    run = subprocess.Popen([*LIVETRANS, *words], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        run.wait(timeout=15)
    except subprocess.TimeoutExpired:
        run.send_signal(signal.SIGINT)
    said = run.communicate()[1].strip().splitlines() or [""]
    require(run.returncode == 0, f"`livetrans {command}` ended with exit code {run.returncode}: {said[-1]}")
    lines = map(json.loads, (here.folder / "events.jsonl").read_text(encoding="utf-8").splitlines())
    finals = [line for line in lines if line["event"] == "caption" and line["final"]]
    require(finals, "no caption came in 15 s")
    shown = "\n".join(f"{final['source']} -> {final['text']}" for final in finals)
    answer = here.ask(f"{shown}\nIs this what was spoken? y or n")
    require(answer.casefold().startswith("y"), "the person said that the captions are wrong")
    return {"captions": str(len(finals))}


@check("read aloud", "A phone in the network reads captions aloud, without the internet.", minutes=15)
def read_aloud(here: Here) -> Figures:
    """For nine minutes: all recordings, one after the other."""
    here.ask("Take a phone that is in the same network, and press Enter.")
    files = [AudioFile(file, SystemClock(), real_time=False) for file in sorted(RECORDINGS.glob("*.flac"))]
    sound = write_wav(here.folder / "all.wav", np.concatenate([chunk.samples for file in files for chunk in file]))
    command = [*LIVETRANS, "replay", sound, "--plain", "--serve", "lan", "--no-session"]
    run = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        address = _address_of(run)
        drawn = StringIO()
        segno.make(address).terminal(drawn, compact=True)
        here.tell(f"{drawn.getvalue()}\n{address}\n")
        asked = (
            "Open this address on the phone, and press Read aloud. When something was read, switch off its connection"
        )
        answer = here.ask(f"{asked} to the internet, not to the network. Was German speech heard all the time? y or n")
    finally:
        run.kill()
        run.wait()
    require(answer.casefold().startswith("y"), "the person did not hear the captions")
    return {"heard": "yes"}


def _address_of(run: subprocess.Popen[str]) -> str:
    """Return the address that a run with --serve names."""
    assert run.stderr is not None
    lines = ["it printed nothing"]
    for line in run.stderr:
        if found := re.search(r"http://\S+", line):
            return found[0]
        lines.append(line.strip())
    raise Failed(f"the run named no address: {lines[-1]}")


@check("YouTube", "A stream on YouTube shows each finished caption once, at the time of the speech.", minutes=10)
def youtube(here: Here) -> Figures:
    return _sent(here, "Start a stream on YouTube with POST captions (unlisted is enough), and watch it with CC on.")


@check("Zoom", "A meeting in Zoom shows each finished caption once.", minutes=10)
def zoom(here: Here) -> Figures:
    return _sent(here, "Start a meeting in Zoom, allow captions, and show them on another device.")


@check("Teams", "A meeting in Teams shows each finished caption once.", minutes=10)
def teams(here: Here) -> Figures:
    return _sent(here, "Start a meeting in Teams with CART captions, and show them on another device.")


def _sent(here: Here, request: str) -> Figures:
    """Send the captions of the demo to a platform, as its links cannot be had without an account."""
    link = here.ask(f"{request} Put its caption link into a file (chmod 600), type the file's name, and press Enter.")
    words = ["replay", RECORDINGS / "demo.flac", "--plain", "--no-session", "--captions-to", f"@{link}"]
    run = subprocess.run([*LIVETRANS, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    said = run.stderr.strip().splitlines() or [""]
    found = re.search(r": (\d+) texts? sent", run.stderr)
    require(run.returncode == 0 and found, f"the captions were not sent: {said[-1]}")
    assert found
    answer = here.ask(f"{run.stdout}\nDid viewers see each line once, in order, as it was spoken? y or n")
    require(answer.casefold().startswith("y"), "the person did not see the captions as they were sent")
    return {"texts": found[1]}


@check("hub", "A phone in the internet shows each caption of a hub once.", minutes=10)
def hub(here: Here) -> Figures:
    room = here.ask("Install a hub (`livetrans hub HOST`), type https://HOST/pub/ROOM, and press Enter.")
    secret = here.ask("Type the name of the file with its secret, which `livetrans hub` told, and press Enter.")
    words = ["replay", RECORDINGS / "demo.flac", "--plain", "--no-session", "--publish", room]
    env = {**os.environ, "LIVETRANS_HUB_SECRET": f"@{secret}"}  # Checks have an empty home.
    run = subprocess.Popen([*LIVETRANS, *words], env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        answer = here.ask(f"{_address_of(run)}\nOpen this on a phone without Wi-Fi. Is each line there once? y or n")
    finally:
        run.kill()
        run.wait()
    require(answer.casefold().startswith("y"), "the person did not see the captions of the hub")
    return {"seen": "yes"}


@check("pull", "A model comes from the Hugging Face hub, with the hashes of the catalogue.", minutes=60)
def pull(here: Here) -> Figures:
    here.require_hub()
    here.livetrans("models", "pull", SMALLEST, "--yes", env=_own_models(here))
    verified = here.livetrans("models", "verify", SMALLEST, env=_own_models(here))
    require("whole" in verified, f"`livetrans models verify` says: {verified.strip()}")
    return {"model": SMALLEST}


@check("cut pull", "A pull that is killed goes on from what arrived.", minutes=60)
def cut_pull(here: Here) -> Figures:
    here.require_hub()
    env = {**os.environ, **_own_models(here)}
    pulling = [*LIVETRANS, "models", "pull", SMALLEST, "--yes"]
    first = subprocess.Popen(pulling, env=env, stdin=subprocess.DEVNULL)
    while first.poll() is None and not _arrived(here):
        time.sleep(0.02)
    time.sleep(0.3)
    first.kill()
    if first.wait() == 0:
        raise Skipped("the pull ended before it could be killed")
    kept = _arrived(here)
    require(kept, "nothing was kept of a pull that was killed")
    second, least = subprocess.Popen(pulling, env=env, stdin=subprocess.DEVNULL), kept
    while second.poll() is None:
        least = min(least, _arrived(here) or least)
        time.sleep(0.02)
    require(least >= kept, f"the second pull began again: {kept:,} bytes were kept, then only {least:,} were there")
    require(second.returncode == 0, f"the second pull ended with exit code {second.returncode}")
    here.livetrans("models", "verify", SMALLEST, env=_own_models(here))
    return {"kept": file_size(kept)}


@check("offline", "With what was pulled, captions need no network.", minutes=60)
def offline(here: Here) -> Figures:
    here.require_hub()
    here.livetrans("models", "pull", SMALLEST, "--yes", env=_own_models(here))
    file = here.clips()[0].file
    options = ("--asr", SMALLEST, "--mt", here.embedded_translator(), "--speed", "max", "--no-session")
    captions = here.livetrans("replay", file, *options, env=_own_models(here) | NOWHERE)
    require(captions.strip(), "no caption came without the network")
    return {"captions": str(len(captions.splitlines()))}


def _own_models(here: Here) -> dict[str, str]:
    """An environment in which only this check's models are here."""
    caches = dict.fromkeys(("HF_HUB_CACHE", "LLAMA_CACHE"), str(here.folder / "cache"))
    return {"HOME": str(here.folder), "LIVETRANS_MODELS": "", **caches}


def _arrived(here: Here) -> int:
    """Bytes that an unfinished pull has of the weights."""
    with suppress(FileNotFoundError):  # of a pull that has just finished
        return sum(path.stat().st_size for path in here.folder.glob(f"**/.unfinished/*/*/{WEIGHTS}"))
    return 0


def recognition(here: Here, engine: str, on_gpu: bool) -> Figures:
    if not on_gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    from livetrans.models.chosen import has_gpu_engine, has_whisper_cpp
    from livetrans.speech.whisper import cuda_devices

    if engine == "faster-whisper" and on_gpu and not cuda_devices():
        raise Skipped("CTranslate2 finds no CUDA device")
    if engine == "whisper.cpp" and not has_whisper_cpp():
        raise Skipped("whisper.cpp is not installed")
    if engine == "whisper.cpp" and on_gpu != has_gpu_engine():
        raise Skipped(f"whisper.cpp is built {'without' if on_gpu else 'with'} a GPU here")
    model = here.recogniser(engine=engine)
    heard = here.hear(model, here.clips(), on_gpu=on_gpu)
    require(heard.wrong <= WORST, f"{model.name} gets {heard.wrong:.0f} of 100 words of people wrong")
    return {"model": model.name, **heard.figures()}


for _engine in ("faster-whisper", "whisper.cpp"):
    for _place, _on_gpu in (("the processor", False), ("a GPU", True)):
        _claim = f"OpenAI's models understand people, by {_engine} on {_place}."
        check(f"{_engine} on {_place}", _claim, minutes=60)(partial(recognition, engine=_engine, on_gpu=_on_gpu))


@check(
    "transducer",
    "A transducer (parakeet-110m-en, parakeet-0.6b-en, parakeet-0.6b) gets no more words of people wrong than "
    "Whisper, in less time.",
    minutes=60,
)
def transducer(here: Here) -> Figures:
    model = here.recogniser(engine=ONNX)
    heard = here.hear(model, here.clips())
    require(heard.wrong <= WORST, f"{model.name} gets {heard.wrong:.0f} of 100 words of people wrong")
    figures = {"model": model.name, **heard.figures()}
    with suppress(Skipped):
        whisper = here.recogniser(engine=FASTER_WHISPER)
        beside = here.hear(whisper, here.clips())
        figures |= beside.figures(whisper.name)
        require(
            heard.wrong <= beside.wrong + 1,
            f"{model.name} gets {heard.wrong:.1f} of 100 words wrong, {whisper.name} {beside.wrong:.1f}",
        )
        require(heard.cost < beside.cost, f"{model.name} takes as long as {whisper.name}")
    return figures


@check(
    "transducer rewrites", "Over a growing buffer, a transducer retracts few of the words that it wrote.", minutes=60
)
def transducer_rewrites(here: Here) -> Figures:
    model = here.recogniser(engine=ONNX)
    found = {model.name: here.rewritten(model, here.clips())}
    with suppress(Skipped):
        whisper = here.recogniser(engine=FASTER_WHISPER)
        found[whisper.name] = here.rewritten(whisper, here.clips())
    most = max(MOST_REWRITTEN, *(found[name] + 0.05 for name in found if name != model.name), 0.0)
    require(found[model.name] <= most, f"{model.name} retracts {found[model.name]:.2f} of its words, {most:.2f} is few")
    return {"model": model.name} | {f"NE of the transcripts, {name}": f"{value:.3f}" for name, value in found.items()}


@check("language of a transducer", "A transducer of several languages writes the one that is spoken.", minutes=60)
def language_of_a_transducer(here: Here) -> Figures:
    model = here.recogniser(engine=ONNX, language="de")
    heard = here.hear(model, here.clips("de"), language="de")
    require(
        heard.wrong <= WORST + 20, f"{model.name} gets {heard.wrong:.0f} of 100 German words wrong, or is for English"
    )
    return {"model": model.name, **heard.figures()}


@check("another language", "A recogniser of many languages finds out which one is spoken.")
def another_language(here: Here) -> Figures:
    model = here.recogniser(language="de")
    heard = here.hear(model, here.clips("de"), language=None)
    require(heard.wrong <= WORST + 20, f"{model.name} gets {heard.wrong:.0f} of 100 German words wrong")
    return {"model": model.name, **heard.figures()}


@check("language of a turn", "After 3 s of speech, --between takes no turn for one in the other language.")
def language_of_a_turn(here: Here) -> Figures:
    model, clips = here.recogniser(language="de"), here.folder / "clips"
    for language in ("de", "en"):
        (clips / language).mkdir(parents=True)
        for clip in here.clips(language):
            (clips / language / clip.file.name).symlink_to(clip.file.resolve())
    wrong = spoken_languages.errors(clips, str(model))
    require(
        wrong and not re.search("3 s: [1-9]", str(wrong)), f"turns are taken for others, {wrong or 'or none was heard'}"
    )
    return {"model": model.name, **wrong}


@check(
    "windows",
    "For OpenAI's models, no --encode-window gets fewer words wrong than `full`, the default where there is time.",
    minutes=90,
)
def windows(here: Here) -> Figures:
    model = here.recogniser()
    heard = {window: here.hear(model, here.clips(), window=window) for window in ("full", "partials", "always")}
    best = min(heard, key=lambda window: heard[window].wrong)
    least, full = heard[best].wrong, heard["full"].wrong
    require(
        full <= least + 1, f"`{best}` should be the default for {model.name}: WER {least:.1f} %, `full` {full:.1f} %"
    )
    return {"model": model.name} | {
        name: value for each, one in heard.items() for name, value in one.figures(each).items()
    }


@check(
    "unsure words", "Words that are shown before passes agree are right more often than those that wait.", minutes=60
)
def unsure_words(here: Here) -> Figures:
    models = [here.recogniser()]
    with suppress(Skipped):
        models.append(here.recogniser(engine=ONNX))
    figures = {}
    for model in models:
        sure, curve = here.sureness(model, here.clips())
        (shown, _), (waiting, count) = curve.right(sure), curve.right(0.0, sure)
        tenths = ((tenth, *curve.right(tenth / 10, (tenth + 1) / 10)) for tenth in range(10))
        figures[model.name] = f"shown from {sure}; right by product: " + ", ".join(
            f"{tenth / 10} {right:.2f} ({words})" for tenth, right, words in tenths if right is not None
        )
        require(shown is not None, f"{model.name} is sure of no word; let it state a lower `sure`")
        if waiting is not None and count >= LEAST_WAITING:
            require(
                shown > waiting, f"{model.name} is right in {shown:.2f} of what is shown, {waiting:.2f} of the rest"
            )
    return figures


@check("step", "With passes 0.8 s apart, the longest step of the default, a recogniser of people keeps up.", minutes=90)
def step(here: Here) -> Figures:
    model = here.recogniser()
    heard = {seconds: here.hear(model, here.clips()[:3], step=seconds) for seconds in (0.8, 0.4, 0.2)}
    cost = heard[0.8].cost
    figures = {"model": model.name} | {k: v for each, one in heard.items() for k, v in one.figures(f"{each} s").items()}
    if cost >= 1:
        raise Slow(f"{model.name} takes {cost:.1f} s for a second of sound; choose a smaller one with --asr", figures)
    return figures


@check("invented words", "Where nobody speaks, no words are written; in music a few at most.")
def invented_words(here: Here) -> Figures:
    model = here.recogniser()
    words = {kind: here.invented(model, kind) for kind in ("silence", "hum", "music")}
    for kind, most in (("silence", 0), ("hum", 0), ("music", 6)):
        require(words[kind] <= most, f"{model.name} writes {words[kind]} words into a minute of {kind}")
    return {"model": model.name} | {kind: f"{count} words a minute" for kind, count in words.items()}


@check("names", "A list of names that nobody says changes no words, as hot words or by --repair names.", minutes=90)
def names(here: Here) -> Figures:
    from tests.benchmarks.names import NAMES, OTHERS
    from tests.benchmarks.recognisers import errors, words

    model, clips, glossary = here.recogniser(), here.clips(), here.folder / "names.txt"
    glossary.write_text("".join(f"{name}\t=\n" for name in (*NAMES, *OTHERS)), encoding="utf-8")
    wrong, repaired = [], 0
    for options in ((), ("--glossary", glossary, "--repair", "names")):
        count = spoken = 0
        for clip in clips:
            # Of no interest here is the translator, which would take most of the time.
            models = ("--asr", model, "--mt", here.embedded_translator())
            events = here.events(clip.file, *models, "--from", "en", "--to", "de", *options)
            finals = [event for event in events if event["event"] == "transcript" and event["final"]]
            reference = words(clip.reference)
            count += errors(reference, words(" ".join(final["committed"] for final in finals)))
            spoken += len(reference)
            repaired += sum(len(final["repairs"]) for final in finals)
        wrong.append(100 * count / spoken)
    figures = f"{wrong[0]:.1f} %, with the names {wrong[1]:.1f} %"
    require(wrong[1] <= wrong[0] + 1, f"names that nobody says make {model.name} hear worse: WER {figures}")
    require(repaired <= 1, f"--repair names writes {repaired} names that nobody said")
    return {"model": model.name, "WER": figures, "false corrections": str(repaired)}


_TERMS = {"teacher": "Lehrkraft", "bench": "Parkbank"}
"""Terms of the demo, with translations that a model would not choose itself."""


def prompt(here: Here, family: str) -> Figures:
    from livetrans.metrics.quality import chrf

    model = here.embedded_translator() if family == "plain" else here.translator(family)
    files = [
        RECORDINGS / f"{name}{ending}" for ending in (".txt", ".de.txt") for name in ("talk", "dialogue", "questions")
    ]
    lines = [file.read_text(encoding="utf-8").splitlines() for file in files]
    sources, references = list(chain(*lines[:3]))[:40], list(chain(*lines[3:]))[:40]
    source, reference = here.folder / "source.txt", here.folder / "reference.txt"
    source.write_text("\n".join(sources) + "\n", encoding="utf-8")
    reference.write_text("\n".join(references) + "\n", encoding="utf-8")
    given = ("--source", source, "--reference", reference, "--mt", model, "--prompt", family)
    updates, _ = here.bench("sentences", *given, "--words", 99, "--methods", "rt")
    written = [update["text"] for update in updates]
    quality = chrf(written, references).value
    figures = {"model": model.name, "chrF": f"{quality:.1f}"}
    _require_clean(written, [update["stats"]["truncated"] for update in updates])
    likeness = chrf(written, sources).value
    require(quality > likeness, f"{model.name} does not answer in German: {written[0]!r}")
    require(quality >= LEAST_CHRF, f"{model.name} has chrF {quality:.0f} on our own sentences, such as {written[0]!r}")
    if TEMPLATES[family].history:
        figures["history"] = f"{len(_replayed(here, model, family, '--history', 2))} captions"
    if TEMPLATES[family].terms:
        glossary = here.folder / "glossary.txt"
        glossary.write_text("".join(f"{term}\t{wanted}\n" for term, wanted in _TERMS.items()), encoding="utf-8")
        text = " ".join(_replayed(here, model, family, "--glossary", glossary))
        followed = sum(wanted in text for wanted in _TERMS.values())
        figures["terms"] = f"{followed} of {len(_TERMS)}"
        require(followed, f"{model.name} follows none of the terms {_TERMS}")
    return figures


def _replayed(here: Here, model: Path, family: str, *options: object) -> list[str]:
    """Return the final captions of the demo's recorded transcripts."""
    events = here.events(RECORDINGS / "demo.jsonl", "--mt", model, "--prompt", family, *options)
    finals = [event for event in events if event["event"] == "translation" and event["final"]]
    _require_clean([final["text"] for final in finals], [final["stats"]["truncated"] for final in finals])
    return [final["text"] for final in finals]


def _require_clean(texts: list[str], truncated: list[bool]) -> None:
    leaked = next((text for text in texts if LEAKED.search(text)), "")
    require(not leaked, f"a caption has what belongs to the prompt or to thinking: {leaked[:200]!r}")
    require(not any(truncated), f"{sum(truncated)} of {len(texts)} captions did not stop by themselves")


for _family in TEMPLATES:
    _claim = f"Models of the family `{_family}` translate by its prompt, and stop by themselves."
    check(f"prompt {_family}", _claim)(partial(prompt, family=_family))


SERVERS = (
    ("llama-server", "prefix"), ("llama_cpp.server", "prefix"), ("Ollama", "prefix"), ("LM Studio", "prefix"),
    ("mlx_lm.server", "prefix"), ("vLLM", "window"), ("SGLang", "window"),
)  # fmt: skip
"""Kinds of servers, and the calm method that each can do."""


def address_of(kind: str) -> str:
    """Return the environment variable that has the address of a kind of server."""
    return "REAL_" + re.sub("[^A-Z]", "_", kind.upper())


def server(here: Here, kind: str, method: str) -> Figures:
    """Compare a server's calm method with its own re-translation, on the streams of the tree."""
    variable = address_of(kind)
    url = os.environ.get(variable)
    if not url:
        raise Skipped(f"no {kind} is named: set {variable} to its address")
    _, file = here.bench(variable.lower(), "--recorded", RECORDINGS, "--methods", f"rt,{method}", "--mt-server", url)
    rows = here.table(file, "calm")
    retranslation, ours = rows["rt"], rows[method]
    figures = {
        name: f"NE of the screen {row['NE screen']:.3f}, requests an update {row['passes']:.2f}, chrF {row['chrF']:.1f}"
        for name, row in rows.items()
    }
    require(retranslation["chrF"] >= LEAST_CHRF, f"its model does not translate these: {figures['rt']}")
    require(ours["NE screen"] < retranslation["NE screen"], f"as many words are retracted as by rt: {figures[method]}")
    require(ours["chrF - rt high"] >= 0, f"it translates worse than rt: {figures[method]}")
    return figures


for _kind, _method in SERVERS:
    _claim = f"On {_kind}, `{_method}` is calmer than rt there, and as good ({address_of(_kind)} is its address)."
    check(f"translator on {_kind}", _claim)(partial(server, kind=_kind, method=_method))


@check("translation on a GPU", "llama.cpp translates on a GPU (Metal, CUDA) what it translates on the processor.")
def translation_on_a_gpu(here: Here) -> Figures:
    from livetrans.lm.llama.cells import runs_on_cpu

    if runs_on_cpu():
        raise Skipped("llama.cpp is built for the processor here")
    model = here.embedded_translator()
    events = here.events(RECORDINGS / "demo.jsonl", "--mt", model, "--method", "rt")
    written = [event["text"] for event in events if event["event"] == "caption" and event["final"]]
    # The recorded session has the captions of a processor.
    lines = map(json.loads, (RECORDINGS / "demo.jsonl").read_text(encoding="utf-8").splitlines())
    expected = [line["text"] for line in lines if line["event"] == "caption" and line["final"]]
    same = sum(one == two for one, two in zip(written, expected, strict=False))
    require(2 * same >= len(expected), f"only {same} of {len(expected)} captions are those of a processor")
    return {"same captions": f"{same} of {len(expected)}"} | _cost(here, model)


def _cost(here: Here, model: Path) -> Figures:
    rows = json.loads(here.livetrans("bench", "cost", "--mt", model, "--format", "json"))["tables"][0]["rows"]
    return {
        f"pass over {row['new tokens']} tokens": f"{row['to one']:.2f}"
        for row in rows
        if row["new tokens"] in (2, 8, 16)
    }


def table(here: Here, streams: Path, model: Path, least: float) -> Figures:
    updates, file = here.bench(
        "table", "--recorded", streams, "--methods", "rt,ssbd@0.2,window,cd", *_clock(), "--mt", model
    )
    rows = here.table(file, "calm")
    require(rows["window"].get("chrF - rt high") is not None, "no reference was found for these streams")
    figures = {"model": model.name, "updates": str(len(updates) // len(rows))}
    for method, row in rows.items():
        figures[method] = (
            f"speedup {row['speedup']:.2f}, NE of the screen {row['NE screen']:.3f}, chrF {row['chrF']:.1f}"
        )
        if method != "rt":
            interval = f"[{row['chrF - rt low']:.1f}, {row['chrF - rt high']:.1f}]"
            figures[method] += f", chrF - rt {row['chrF - rt']:.1f} {interval}"
    retranslation, ours = rows["rt"], rows["window"]
    require(ours["chrF"] >= least, f"{model.name} does not translate these: chrF {ours['chrF']:.0f}")
    require(
        ours["NE screen"] < retranslation["NE screen"],
        f"the default takes as many words back as rt: {figures['window']}",
    )
    require(ours["speedup"] > 1, f"the default is slower than rt: {figures['window']}")
    require(ours["chrF - rt high"] >= 0, f"the default translates worse than rt: {figures['window']}")
    return figures


def _clock() -> tuple[str, str]:
    """Processor time where a processor translates: other programs do not lengthen it."""
    from livetrans.lm.llama.cells import runs_on_cpu

    return ("--time", "cpu" if runs_on_cpu() else "wall")


@check("table", "The default is calmer and faster than rt, and as good (bundled models, transcripts of the tree).")
def table_of_the_tree(here: Here) -> Figures:
    return table(here, RECORDINGS, here.embedded_translator(), LEAST_CHRF)


@check(
    "table of people",
    "With models for real speech too, the default is calmer and faster than rt, and as good.",
    minutes=120,
)
def table_of_people(here: Here) -> Figures:
    recogniser, translator = here.recogniser(), here.translator()
    streams = here.folder / "streams"
    streams.mkdir()
    for clip in here.clips():
        events = here.events(clip.file, "--asr", recogniser, "--mt", here.embedded_translator())
        lines = "".join(json.dumps(event) + "\n" for event in events)
        (streams / f"{clip.file.stem}.jsonl").write_text(lines, encoding="utf-8")
        (streams / f"{clip.file.stem}.de.txt").write_text(clip.german, encoding="utf-8")
    return {"recogniser": recogniser.name, **table(here, streams, translator, LEAST_CHRF_OF_PEOPLE)}


def bias_zero(here: Here, model: Path, allowed: float) -> Figures:
    updates, _ = here.bench("bias", "--recorded", RECORDINGS, "--methods", "rt,ssbd@0", "--mt", model)
    tokens: dict[str, list[list[int]]] = {}
    for update in updates:
        tokens.setdefault(update["method"], []).append(update["tokens"])
    plain, drafted = tokens["rt"], tokens["ssbd@0"]
    differing = sum(one != two for one, two in zip(plain, drafted, strict=True))
    require(differing <= allowed * len(plain), f"ssbd at bias 0 differs from rt in {differing} of {len(plain)} updates")
    return {"model": model.name, "differing updates": f"{differing} of {len(plain)}"}


@check("bias 0", "On a processor, ssbd at bias 0 writes what rt writes, token by token.")
def bias_zero_on_a_processor(here: Here) -> Figures:
    from livetrans.lm.llama.cells import runs_on_cpu

    if not runs_on_cpu():
        raise Skipped("llama.cpp is built for a GPU here")
    return bias_zero(here, here.embedded_translator(), 0.0)


@check("bias 0 on a GPU", "On a GPU, ssbd at bias 0 differs from rt in few updates.", minutes=60)
def bias_zero_on_a_gpu(here: Here) -> Figures:
    from livetrans.lm.llama.cells import runs_on_cpu

    if runs_on_cpu():
        raise Skipped("llama.cpp is built for the processor here")
    return bias_zero(here, here.translator(), GPU_DIFFERENCE)


@check("COMET", "By COMET too, the default translates as well as rt.", minutes=120)
def comet(here: Here) -> Figures:
    if find_spec("comet") is None:
        raise Skipped("the extra `comet` is not installed")
    if here.comet is None:
        raise Skipped("no model of COMET is named; --comet FILE names one")
    _, file = here.bench(
        "comet", "--recorded", RECORDINGS, "--methods", "rt,ssbd@0.2,window", "--mt", here.embedded_translator()
    )
    rows = here.table(file, "3", "--comet", here.comet)
    require(rows["window"]["COMET - rt high"] >= 0, f"the default is worse by COMET: {rows['window']}")
    return {method: f"{row['COMET']:.3f}" for method, row in rows.items()}


@check("doctor", "With the models that a run takes, this machine keeps up.", minutes=15)
def doctor(here: Here) -> Figures:
    report = json.loads(here.livetrans("doctor", "--json", may_fail=True))
    findings, measured = report["findings"], report["measured"]
    is_slow = not measured.get("keeps_up", True)
    broken = [f"{one['name']}: {one['text']}" for one in findings if one["state"] == "broken"]
    require(measured and (is_slow or not broken), "; ".join(broken))
    figures = {"recogniser": measured["recogniser_model"]}
    if measured["lag"]:
        figures |= {"lag": f"{measured['lag']:.2f} s", "95 of 100 within": f"{measured['lag_95']:.2f} s"}
    if is_slow:
        raise Slow("; ".join(one["text"] for one in findings if one["name"] == "captions"), figures)
    return figures


@check("screen", "In a terminal, captions come at the pace of speech, and keys act.", minutes=10)
def screen(here: Here) -> Figures:
    from tests.journeys.world import Terminal

    began = time.monotonic()
    terminal = Terminal(ROOT, dict(os.environ))
    try:
        terminal.run(f"{' '.join(LIVETRANS)} replay recordings/demo.flac --no-session; echo code=$?")
        terminal.wait_for(lambda text: bool(re.search(r"lag +\d", text)))
        took = time.monotonic() - began
        terminal.type("?")
        terminal.wait_for("esc closes")
        terminal.type("\x1b")
        terminal.wait_for(lambda text: "esc closes" not in text)
        for key, shown in ((" ", "‖ paused"), (" ", "● listening"), ("a", "calm: faithful")):
            terminal.type(key)
            terminal.wait_for(shown)
        terminal.type("q")
        require("code=0" in terminal.wait_for("code="), "the screen did not end with exit code 0")
    finally:
        terminal.close()
    return {"first sentence finished after": f"{took:.1f} s"}


@check("served captions", "A program that reads --serve gets every caption.", minutes=10)
def served_captions(here: Here) -> Figures:
    from tests.serve.reader import Reader

    command = [*LIVETRANS, "replay", RECORDINGS / "demo.flac", "--end", "0:12", "--plain", "--serve", "--no-session"]
    run = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        with Reader(SimpleNamespace(address=_address_of(run))) as reader:  # type: ignore[arg-type]
            reader.until_state("ended")
            read = reader.texts
        printed = run.communicate()[0].splitlines()
    finally:
        run.kill()
        run.wait()
    require(printed and read == printed, f"printed were {len(printed)} captions, read {len(read)}, or others")
    return {"captions": str(len(read))}


@check("killed run", "A run that is killed loses nothing that was shown, and can be resumed.", minutes=15)
def killed_run(here: Here) -> Figures:
    from tests.endurance.kills import kill

    done = kill(1, random.Random(1), here.folder)
    require(not done.broken, "; ".join(done.broken))
    return {"finals": str(done.finals), "of them by resume": str(done.added)}


@check("power", "A run leaves a fifth of the processor to other programs.", minutes=60)
def power(here: Here) -> Figures:
    before, joules, sound, began = _processor_seconds(), _joules(), 0.0, time.monotonic()
    lengths = {"talk": 83, "dialogue": 75, "questions": 76, "numbers": 79, "long": 73, "pauses": 95, "demo": 44}
    for name in cycle(lengths):
        seconds = min(lengths[name], 60 * here.minutes - sound)
        if seconds < 1:
            break
        end = f"{seconds // 60:.0f}:{seconds % 60:04.1f}"
        here.livetrans("replay", RECORDINGS / f"{name}.flac", "--end", end, "--plain", "--no-session")
        sound += seconds
    spent, took = _processor_seconds() - before, time.monotonic() - began
    used = 100 * spent / took / (os.cpu_count() or 1)
    energy = _joules()
    told = (
        "this system does not tell" if joules is None or energy is None else f"{(energy - joules) / sound * 600:.0f} J"
    )
    figures = {
        "measured on": f"{sound / 60:.1f} minutes", "processor, 10 minutes": f"{spent / sound * 600:.0f} s",
        "of the whole processor": f"{used:.0f} %", "energy of the processor, 10 minutes": told,
    }  # fmt: skip
    if used > 80:
        raise Slow(f"a run takes {used:.0f} % of the processor", figures)
    return figures


def _processor_seconds() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _joules() -> float | None:
    """The processor's own count (RAPL), which Linux shows to root; None where it is not shown."""
    try:
        counters = Path("/sys/class/powercap").glob("intel-rapl:?/energy_uj")
        counts = [int(counter.read_text(encoding="ascii")) for counter in counters]
    except OSError:
        return None
    return sum(counts) / 1e6 if counts else None


@check("ready wheels", "README's lines install ready wheels, without a compiler, and the demo runs.", minutes=30)
def ready_wheels(here: Here) -> Figures:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [index] = set(re.findall(r"--extra-index-url (\S+)", readme))
    package = f"{ROOT}[metal]" if sys.platform == "darwin" else ROOT
    here.require_reachable(index)
    folder = here.folder / "environment"
    python = folder / "bin" / "python"
    wheels = ("--only-binary", "llama-cpp-python", "--extra-index-url", index, "-c", ROOT / "constraints.txt")
    _run(sys.executable, "-m", "venv", folder)
    _run(python, "-m", "pip", "install", "--no-cache-dir", *wheels, package)
    demo = (RECORDINGS / "demo.flac", "--speed", "max", "--no-session")
    _run(python, "-P", "-m", "livetrans", "replay", *demo, cwd=here.folder)
    return {"index": index}


def _run(*words: object, cwd: Path = ROOT) -> None:
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    print(done.stdout[-20_000:], done.stderr[-20_000:], flush=True)
    said = done.stderr.strip().splitlines() or ["it printed nothing"]
    require(
        not done.returncode, f"`{' '.join(map(str, words[1:5]))}` ended with exit code {done.returncode}: {said[-1]}"
    )


@check("tests on a Mac", "The project's tests pass on a Mac.", minutes=60)
def tests_on_a_mac(here: Here) -> Figures:
    if sys.platform != "darwin":
        raise Skipped("this is not a Mac")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--numprocesses",
        str(os.cpu_count() or 2),
    ]
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    print(done.stdout[-20_000:], done.stderr[-5_000:])
    summary = (done.stdout.strip().splitlines() or ["pytest printed nothing"])[-1]
    if done.returncode:
        raise Failed(summary.strip("= "))
    return {"tests": summary.strip("= ")}
