"""The catalogue file (`models/catalogue.toml`): models that can be fetched, and pairs of them for a purpose."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path, PurePosixPath

from livetrans.base.errors import ModelError, UsageError
from livetrans.base.installation import data_folder
from livetrans.base.languages import AUTO, LANGUAGES, parse_language
from livetrans.base.text import nearest
from livetrans.config import ENGINES
from livetrans.lm.families import TEMPLATES
from livetrans.session.codec import decode

RECOGNISER = "recogniser"
TRANSLATOR = "translator"
_, FASTER_WHISPER, WHISPER_CPP, ONNX = ENGINES
WEIGHTS = "model.bin"
"""The file that holds the weights in a folder for faster-whisper."""
ENCODER = re.compile(r"encoder(-model)?(\.\w+)?\.onnx")
"""The file of a transducer's encoder, with its quantisation if it has one: the weights in a folder for onnx."""

_NAMED = re.compile(
    r"(?:(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/)?(?P<repository>\w[\w.-]*/\w[\w.-]*)"
    r"(?::(?P<file>[^:]+)|/?(?:(?:blob|resolve|tree)/(?P<revision>[^/?#]+)/?(?P<path>[^?#]*))?(?:[?#].*)?)",
    re.IGNORECASE,
)
"""`owner/name` or `owner/name:file`, with or without `hf.co/` before it, or the address of a page of the hub."""
_QUANTISATION = re.compile(r"\w[\w-]*")
_PART = re.compile(r"-\d{5}-of-\d{5}\.gguf$")
_STATEFUL = re.compile(r"qwen-?(3\.[5-9]|3-next)", re.IGNORECASE)
"""Names of popular models with a recurrent state, whatever their version."""
STATEFUL_ADVICE = (
    "keeps a state that cannot be rewound, as Qwen3.5, Mamba and RWKV do; choose another, such as qwen3-4b"
)


@dataclass(frozen=True, slots=True)
class RunLanguages:
    """The languages of a run, which its models have to know; without any, every model fits."""

    spoken: tuple[str, ...] = ()
    """Codes of the spoken languages of all tracks, possibly `auto`."""
    directions: tuple[tuple[str, str], ...] = ()
    """The first spoken language of each track with each caption language that differs from it: what the run begins
    with."""

    @property
    def pull_options(self) -> str:
        """The options of `livetrans models pull` that fetch models for these languages."""
        if self.directions == (self.spoken, self.spoken[::-1]):
            return f"--between {','.join(self.spoken)}"
        spoken = self.spoken or ("en",)
        targets = dict.fromkeys(target for _, target in self.directions) or ("en" if spoken == ("de",) else "de",)
        return f"--from {','.join(spoken)} --to {','.join(targets)}"

    def __str__(self) -> str:
        named = [f"{'any language' if source == AUTO else source} to {target}" for source, target in self.directions]
        return ("both " if len(named) == 2 else "") + " and ".join(named)


ANY_LANGUAGES = RunLanguages()


@dataclass(frozen=True, slots=True)
class Entry:
    """A model on the hub."""

    name: str
    kind: str
    """`recogniser` or `translator`."""
    repository: str
    """`owner/name`."""
    file: str = WEIGHTS
    """The weights: a translator's GGUF file, a recogniser's file for whisper.cpp, or the largest file of a recogniser's
    folder. For a translator that a user named, possibly its quantisation (`Q4_K_M`) until the hub has listed the
    files."""
    revision: str = "main"
    """A commit, or a branch whose commit the pull looks up."""
    size: int | None = None
    """Bytes of all files; None if unknown."""
    sha256: str | None = None
    """Hash of the weights; None if unknown."""
    languages: tuple[str, ...] = ()
    """Whisper's codes, for a recogniser that knows only these."""
    lacks: tuple[str, ...] = ()
    """Whisper's codes that a recogniser does not know."""
    prompt: str | None = None
    """The family of a translator's prompt; None if its metadata tells."""
    pass_seconds: float | None = None
    """Of a recogniser, seconds of a pass over 5 s of sound as a run makes it, on one thread of the processor that
    `livetrans.doctor.machine` compares with; None where that takes a GPU."""
    licence: str = "see its page"
    restriction: str | None = None
    """One phrase, if the licence or the download is restricted."""
    why: str = ""

    @property
    def is_one_file(self) -> bool:
        """Whether the model is one file; a recogniser for faster-whisper or onnx is a folder."""
        return self.kind == TRANSLATOR or not (self.file == WEIGHTS or ENCODER.fullmatch(PurePosixPath(self.file).name))

    @property
    def engine(self) -> str:
        return WHISPER_CPP if self.is_one_file else FASTER_WHISPER if self.file == WEIGHTS else ONNX

    @property
    def local_name(self) -> str:
        """The name of its file or folder on this machine."""
        return PurePosixPath(self.file if self.is_one_file else self.repository).name

    @property
    def address(self) -> str:
        """Its name on the hub: `owner/repository`, with `:file` after it for a model of one file."""
        return f"{self.repository}:{self.file}" if self.is_one_file else self.repository

    def is_called(self, name: str) -> bool:
        """Return whether a name means this model: its own, its file's or folder's, or its address."""
        return name.casefold() in {known.casefold() for known in (self.name, self.address, *names_of(self.local_name))}

    @property
    def memory(self) -> int | None:
        """Estimated bytes of memory that the running model needs.

        For recognisers a bound on what random weights of Whisper's tiny and small shapes took: 0.29 and 0.96 GB for
        files of 0.12 and 0.56 GB (2 cores AMD EPYC, 2026-11-21). For translators the weights, the cache and the
        buffers of llama.cpp.
        """
        if self.size is None:
            return None
        return self.size * 3 // 2 + 200_000_000 if self.kind == RECOGNISER else self.size + 500_000_000

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of the languages it knows; empty if no list is published."""
        if self.kind == TRANSLATOR:
            known = TEMPLATES[self.prompt].languages if self.prompt else None
            return tuple(known or ())
        whisper = {language.whisper_code for language in LANGUAGES.values() if language.whisper_code}
        return self.languages or tuple(sorted(whisper - set(self.lacks)))

    def fits(self, languages: RunLanguages) -> bool:
        """Return whether the model knows all of the languages; detecting one takes a recogniser of several."""
        if self.kind == TRANSLATOR:
            return family_knows(self.prompt, chain(languages.spoken, *languages.directions))
        detects = len(self.codes) > 1 and self.engine != ONNX
        return all(
            detects if code == AUTO else parse_language(code).whisper_code in self.codes for code in languages.spoken
        )


@dataclass(frozen=True, slots=True)
class Purpose:
    """Names of models, the preferred ones first."""

    needs: str
    """The machine that it is for."""
    recognisers: tuple[str, ...]
    translators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The models of the catalogue file, and the purposes."""

    models: tuple[Entry, ...] = ()
    purposes: Mapping[str, Purpose] = field(default_factory=dict)

    def entry(self, name: str, sha256: str | None = None) -> Entry | None:
        """Return the model whose weights have this hash, else the one with this name."""
        by_hash = (entry for entry in self.models if sha256 and entry.sha256 == sha256)
        by_name = (entry for entry in self.models if entry.is_called(name))
        return next(chain(by_hash, by_name), None)

    def wanted(self, name: str) -> Entry:
        """Return the model that a user named: by its name here, or in a form that `entry_of` reads.

        Raises:
            UsageError: the name is neither.
        """
        if "/" in name:
            return entry_of(name)
        entry = self.entry(name)
        if entry is None:
            close = nearest(name, [*self.purposes, *(known.name for known in self.models)])
            advice = f"did you mean {close}?" if close else "`livetrans models` lists them"
            raise UsageError(f"there is no model {name!r} in the catalogue; {advice}")
        return entry

    def pair(
        self,
        purpose: str,
        languages: RunLanguages,
        engines: Iterable[str] = (FASTER_WHISPER,),
        keeps_up: Callable[[Entry, Entry], bool] = lambda recogniser, translator: True,
    ) -> tuple[Entry, Entry]:
        """Return the recogniser and the translator of a purpose for languages.

        The recogniser is for the first of the `engines` that has one: the first that keeps up with the translator
        (asked only where there is a choice), else the one whose passes cost least.

        Raises:
            UsageError: none of them knows the languages.
        """
        choice = self.purposes.get(purpose, Purpose("", (), ()))
        fitting = [entry for entry in map(self.wanted, choice.recognisers) if entry.fits(languages)]
        by_engine = ([entry for entry in fitting if entry.engine == engine] for engine in engines)
        recognisers = next(filter(None, by_engine), [])
        translator = next((entry for entry in map(self.wanted, choice.translators) if entry.fits(languages)), None)
        if not recognisers or translator is None:
            what = f"translator for {languages}" if recognisers else f"recogniser for {', '.join(languages.spoken)}"
            raise UsageError(f"{purpose} has no {what}; choose a model from `livetrans models` by its name")
        if len(recognisers) > 1:
            cheapest = min(recognisers, key=lambda entry: entry.pass_seconds or math.inf)
            recognisers = [*(entry for entry in recognisers if keeps_up(entry, translator)), cheapest]
        return recognisers[0], translator


def family_knows(family: str | None, codes: Iterable[str]) -> bool:
    """Return whether translators of the family know the languages; True without a family or a published list."""
    template = TEMPLATES[family or "chat"]
    return all(template.spelling(parse_language(code)) is not None for code in codes if code != AUTO)


def names_of(file: str) -> tuple[str, ...]:
    """Return the names by which a model's file or folder may be called, with and without a file's suffixes."""
    if file.endswith(".gguf"):
        return (file, file.removesuffix(".gguf"), file.partition(".")[0])
    return tuple(dict.fromkeys((file, file.removesuffix(".bin"))))


def entry_of(wanted: str) -> Entry:
    """Return the model named `owner/repository:file.gguf`, or by the repository of a recogniser.

    A quantisation may stand for the file (`owner/repository:Q4_K_M`), and the address of a page for the whole name.

    Raises:
        UsageError: the text has another form, or the file cannot be used.
    """
    named = _NAMED.fullmatch(wanted)
    if named is None:
        raise UsageError(
            f"{wanted!r} names no model; any on the hub is named as owner/repository:file.gguf, or owner/repository "
            "for a recogniser in faster-whisper's format"
        )
    repository, revision = named["repository"], named["revision"] or "main"
    file = named["file"] or named["path"]
    if _STATEFUL.search(wanted):
        raise UsageError(f"{repository} {STATEFUL_ADVICE}")
    if not file:
        return Entry(repository, RECOGNISER, repository, revision=revision)
    if ENCODER.fullmatch(file):
        return Entry(f"{repository}:{file}", RECOGNISER, repository, file, revision=revision)
    if not file.endswith((".gguf", ".bin")) and not _QUANTISATION.fullmatch(file):
        raise UsageError(f"{file} is not a GGUF file; name one, as owner/repository:file.gguf")
    if _PART.search(file):
        raise UsageError(f"{file} is one of several parts; name a model that is one file")
    kind = RECOGNISER if file.endswith(".bin") else TRANSLATOR
    return Entry(f"{repository}:{file}", kind, repository, file, revision=revision)


def known_models() -> Catalogue:
    return read_catalogue(data_folder("models") / "catalogue.toml")


@cache
def read_catalogue(path: Path) -> Catalogue:
    """Read the catalogue file; return an empty catalogue if there is none.

    Raises:
        ModelError: it cannot be read; the sentence says what is wrong.
    """
    try:
        with path.open("rb") as stream:
            return decode(Catalogue, tomllib.load(stream))
    except FileNotFoundError:
        return Catalogue()
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path} cannot be read ({error}); install livetrans again") from error
