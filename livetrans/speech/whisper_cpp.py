"""whisper.cpp behind the recogniser port: it computes on the GPU of a Mac, in a process of its own.

It brings another ggml than llama.cpp's, and a failed assertion ends its process, which is then started again. What a
pass sends there are faster-whisper's features, and what comes back are tokens with the ends of their sound, so that
words, times and guards are those of the other engine.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import select
import signal
import subprocess
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, cached_property, partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import regex
from faster_whisper import WhisperModel
from faster_whisper.feature_extractor import FeatureExtractor
from faster_whisper.tokenizer import Tokenizer

from livetrans.config import RecogniserSettings
from livetrans.errors import ModelError
from livetrans.installation import install_command, is_installed, start_python
from livetrans.speech.recogniser import Hypothesis, PassInterrupted
from livetrans.speech.whisper_cpp_file import MULTILINGUAL, WhisperFile, read_head
from livetrans.speech.whisper_model import STATED, as_clause
from livetrans.speech.whisper_pass import CLOSING, OPENING, WhisperPasses, usual_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

LIBRARY = "_pywhispercpp"
_PROCESS = "livetrans.speech.whisper_cpp_process"
MOST_TOKENS = 220
"""whisper.cpp's limit of new tokens."""
MOST_PROMPT_TOKENS = 223
LEAST_FRAMES = 50
"""Shorter sound gets zeros behind it: whisper.cpp skips up to 10 frames, and its word times fail for up to 15."""
INTERRUPTION_SECONDS = 10.0
"""Time for a pass to end that was interrupted, before its process is killed: whisper.cpp encodes a window in one go."""
_SPLIT = regex.compile(r"'(?:[stmd]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
"""GPT-2's: text is cut so before its byte pairs are merged."""


class _Pieces(Tokenizer):  # type: ignore[misc]
    """faster-whisper's tokenizer on a vocabulary without merges: the pair whose piece comes first is merged first."""

    def __init__(self, head: WhisperFile, language: str) -> None:
        self.language_code = language
        self.tokenizer = self
        self._pieces = head.pieces
        # The tokens after the text, in OpenAI's order: end, start, languages, six for tasks, 1,501 times.
        self.eot = head.vocabulary - 1501 - 8 - head.languages
        self.no_timestamps = head.vocabulary - 1501 - 1

    @cached_property
    def _ranks(self) -> dict[bytes, int]:
        return {piece: rank for rank, piece in reversed(list(enumerate(self._pieces)))}

    def encode(self, text: str) -> list[int]:
        ranks, tokens = self._ranks, []
        for part in _SPLIT.findall(text):
            pieces = [bytes([byte]) for byte in part.encode()]
            while len(pieces) > 1:
                place = min(range(len(pieces) - 1), key=lambda at: ranks.get(pieces[at] + pieces[at + 1], len(ranks)))
                merged = pieces[place] + pieces[place + 1]
                if merged not in ranks:
                    break
                pieces[place : place + 2] = [merged]
            tokens += [ranks[piece] for piece in pieces]
        return tokens

    def decode(self, tokens: Sequence[int]) -> str:
        return b"".join(self._pieces[token] for token in tokens if token < self.eot).decode(errors="replace")


class WhisperCppRecogniser(WhisperPasses):
    """A Whisper model from a file in whisper.cpp's format."""

    def __init__(self, settings: RecogniserSettings) -> None:
        head, stated = read_head(settings.model), settings.model.with_suffix(".json")
        if not is_installed(LIBRARY):
            raise ModelError(
                f"The recogniser {settings.model.name} needs whisper.cpp, which is not installed; "
                f"install it with: {install_command('metal')}"
            )
        found: Any = None
        with suppress(OSError, ValueError):
            found = json.loads(stated.read_text(encoding="utf-8"))
        config: dict[str, Any] = found if isinstance(found, dict) else {}
        self._extract = FeatureExtractor(feature_size=head.bands)
        threads = settings.threads or usual_threads(settings.model, otherwise=4)
        heads = head.heads or max(head.decoder_layers // 2, 1)
        self._process = _Process(settings.model, {"heads": heads, "threads": threads})
        # Its table of pieces is made once for each language.
        tokenizer = cache(partial(_Pieces, head))
        super().__init__(
            settings,
            config,
            0 if STATED in config else head.vocabulary,
            tuple(self._process.languages[: head.languages]) if head.vocabulary >= MULTILINGUAL else ("en",),
            tokenizer,
        )

    @property
    def process_id(self) -> int:
        """The process that computes."""
        return self._process.id

    @property
    def gpu(self) -> str | None:
        """ggml's name of the GPU that it computes on; None on the processor."""
        return self._process.gpu

    def reload(self) -> None:
        self._process.start()

    def interrupt(self) -> None:
        self._process.interrupt()

    def recognise(self, samples: NDArray[np.float32], *, prompt: str = "", final: bool = False) -> Hypothesis:
        with self._process.interruptible(not final):
            return super().recognise(samples, prompt=prompt, final=final)

    def _features(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        features: NDArray[np.float32] = self._extract(samples)
        return features

    def _encode(self, features: NDArray[np.float32], window: int) -> Any:
        missing = max(LEAST_FRAMES - features.shape[-1], 0)
        # whisper.cpp encodes when it decodes, and pads with zeros itself.
        self._process.ask({"features": features.shape[-1] + missing}, np.pad(features, ((0, 0), (0, missing))))
        return window

    def _detected(self, encoded: Any) -> tuple[str, float]:
        answer = self._process.ask({"detect": True})
        return str(answer["language"]), float(answer["probability"])

    def _decode(self, encoded: Any, tokenizer: Any, previous: Sequence[int], limit: int) -> Sequence[int]:
        hot = tokenizer.encode(f" {', '.join(self.hot_words)}") if self.hot_words else []
        room = MOST_PROMPT_TOKENS - len(hot)
        limit = min(limit, MOST_TOKENS)
        answer = self._process.ask(
            {
                "language": tokenizer.language_code,
                "positions": encoded // 2,
                "prompt": [*hot, *previous[-room:]],
                "limit": limit,
                "no_speech": self.traits.no_speech,
                "unlikely": self.traits.unlikely,
                "beam_size": self._beam_size,
                "interruptible": self._process.is_interruptible,
            }
        )
        tokens: list[int] = answer["tokens"]
        self._ends: list[float] = answer["ends"]
        return () if len(tokens) >= limit else tokens

    def _time_words(self, segments: list[dict[str, Any]], tokenizer: Any, encoded: Any, frames: int) -> None:
        # The function needs a model for the alignment alone.
        WhisperModel.add_word_timestamps(
            _Alignment(self._ends), [segments], tokenizer, None, frames, OPENING, CLOSING, last_speech_timestamp=0.0
        )


class _Alignment:
    """What faster-whisper's `add_word_timestamps` takes from its model, with the ends of tokens that are known."""

    frames_per_second = 100

    def __init__(self, ends: Sequence[float]) -> None:
        """`ends`: seconds, of each token of text."""
        self._ends = ends

    def find_alignment(
        self, tokenizer: Any, text_tokens: Sequence[Sequence[int]], encoded: None, frames: int
    ) -> list[list[dict[str, Any]]]:
        [tokens] = text_tokens
        words, pieces = tokenizer.split_to_word_tokens([*tokens, tokenizer.eot])
        times = [0.0, *(min(end, frames / self.frames_per_second) for end in self._ends)]
        borders = pairwise(accumulate(map(len, pieces[:-1]), initial=0))
        return [
            [
                {"word": word, "tokens": part, "start": times[first], "end": times[last], "probability": 1.0}
                for word, part, (first, last) in zip(words[:-1], pieces[:-1], borders, strict=True)
            ]
        ]


class _Process:
    """The process that computes, see `livetrans.speech.whisper_cpp_process`."""

    def __init__(self, model: Path, options: dict[str, Any]) -> None:
        self._model, self._options = model, options
        self._end: Callable[[], object] = lambda: None
        self.start()

    def start(self) -> None:
        """Start the process, in place of an earlier one.

        Raises:
            ModelError: it cannot load the model.
        """
        self._end()
        pipe = subprocess.PIPE
        process = start_python(_PROCESS, str(self._model.resolve()), json.dumps(self._options), stdin=pipe, stdout=pipe)
        self.id = process.pid
        assert process.stdin and process.stdout
        os.set_blocking(process.stdin.fileno(), False)  # A process that hangs reads nothing.
        self._requests, self._answers = process.stdin, io.BufferedReader(process.stdout)  # type: ignore[type-var]
        self._child = process
        self._end = weakref.finalize(self, _end, process)
        self.is_interruptible, self._deadline = False, math.inf
        try:
            loaded = self._answer()
        except RuntimeError as error:
            reason = as_clause(error)
            raise ModelError(f"The recogniser in {self._model} cannot be loaded ({reason}); copy it again.") from error
        self.languages: list[str] = loaded["languages"]
        self.gpu = gpu_in(loaded["log"])

    @contextmanager
    def interruptible(self, may_be: bool) -> Iterator[None]:
        """Let `interrupt` end the requests of this context, if they may be ended."""
        self._deadline, self.is_interruptible = math.inf, may_be
        try:
            yield
        finally:
            self.is_interruptible = False

    def interrupt(self) -> None:
        """End the decoding that runs, or begins soon; the process is killed where it does not."""
        if self.is_interruptible:
            self._deadline = time.monotonic() + INTERRUPTION_SECONDS
            self._child.send_signal(signal.SIGUSR1)

    def ask(self, request: dict[str, Any], features: NDArray[np.float32] | None = None) -> dict[str, Any]:
        """Return the answer to a request.

        Raises:
            PassInterrupted: the pass was interrupted.
            RuntimeError: it failed, or the process has ended.
        """
        message = json.dumps(request).encode() + b"\n"
        if features is not None:
            message += np.ascontiguousarray(features, dtype="<f4").tobytes()
        rest = memoryview(message)
        with suppress(OSError):  # The answer says why.
            while rest:
                self._await([], [self._requests])
                rest = rest[self._requests.write(rest) or 0 :]
        return self._answer()

    def _await(self, answers: list[IO[bytes]], requests: list[IO[bytes]]) -> None:
        """Wait until one of the pipes is ready; kill a process that was interrupted and takes too long."""
        while not any(select.select(answers, requests, [], 0.5)):
            if time.monotonic() > self._deadline:
                self._child.kill()

    def _answer(self) -> dict[str, Any]:
        self._await([self._answers], [])
        line = self._answers.readline()
        if not line.endswith(b"\n"):
            if time.monotonic() > self._deadline:
                raise PassInterrupted
            raise RuntimeError(f"whisper.cpp has ended with code {self._child.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "interrupted" in answer:
            raise PassInterrupted
        if "fault" in answer:
            raise RuntimeError(answer["fault"])
        return answer


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def gpu_in(log: str) -> str | None:
    """Return ggml's name of the GPU that was started, by what whisper.cpp printed as it loaded a model."""
    found = re.search(r"^whisper_backend_init_gpu: using (\S+) backend$", log, re.MULTILINE)
    return found[1] if found and f"failed to initialize {found[1]} backend" not in log else None
