"""Synthetic speech with the time of every word: espeak-ng and flite through their C libraries.

Both are called in this process rather than as commands because only the libraries tell when each word is spoken,
and because starting a command takes longer than speaking a sentence. Debian's packages `espeak-ng` and `flite` bring
the libraries.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from dataclasses import dataclass

import numpy as np
import soxr
from numpy.typing import NDArray

SAMPLE_RATE = 16_000

ESPEAK_VOICES = ("en-us", "en-us+f2", "en-us+f3", "en-us+m3", "en-us+m7", "en", "en+f2", "en+m3")
"""American, and British (`en`; the library does not know the `en-gb` that the command takes)."""
FLITE_VOICES = ("slt", "rms", "awb")
TRAINING_VOICES = ESPEAK_VOICES + FLITE_VOICES
HELD_OUT_VOICES = ("en-us+f4", "kal16")
"""Never trained on: a new timbre of espeak-ng, and flite's diphone voice, which is unlike every other."""


@dataclass(frozen=True)
class Delivery:
    """How a sentence is spoken; `speed` and `pitch` are factors of the voice's own."""

    voice: str
    speed: float = 1.0
    pitch: float = 1.0
    resampling: float = 1.0
    """Plays the result at this speed, which moves pitch and formants together: another speaker, nearly."""


@dataclass(frozen=True)
class Speech:
    """16 kHz mono samples in [-1, 1], and start and end in seconds of every blank-separated word of the text.

    `times` is empty when the synthesiser split the text into other words than ours.
    """

    samples: NDArray[np.float32]
    times: list[tuple[float, float]]


def speak(text: str, delivery: Delivery) -> Speech:
    """Speak a sentence; raises OSError when there is no such voice, or its library is not installed."""
    engine = _Flite.speak if delivery.voice in (*FLITE_VOICES, "kal16") else _espeak().speak
    samples, rate, times = engine(text, delivery)
    samples = soxr.resample(samples, rate * delivery.resampling, SAMPLE_RATE).astype(np.float32) / 32768
    times = [(start / delivery.resampling, end / delivery.resampling) for start, end in times]
    return Speech(samples, times if len(times) == len(text.split()) else [])


class _Event(ctypes.Structure):
    """espeak_EVENT of speak_lib.h."""

    _fields_ = [
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", ctypes.c_char * 8),
    ]


_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event))
_WORD = 1
_SYNCHRONOUS = 2
_RATE, _PITCH = 1, 3
_UTF8 = 1


class _Espeak:
    def __init__(self) -> None:
        self._library = ctypes.CDLL("libespeak-ng.so.1")
        self._rate = self._library.espeak_Initialize(_SYNCHRONOUS, 0, None, 0)
        if self._rate <= 0:
            raise OSError("espeak-ng cannot be started; install the package espeak-ng again.")
        self._chunks: list[NDArray[np.int16]] = []
        self._starts: dict[int, float] = {}
        self._callback = _Callback(self._take)  # kept, or it would be collected while C still calls it
        self._library.espeak_SetSynthCallback(self._callback)

    def _take(self, samples: ctypes._Pointer[ctypes.c_short], count: int, events: ctypes._Pointer[_Event]) -> int:
        if count > 0:
            self._chunks.append(np.ctypeslib.as_array(samples, (count,)).copy())
        index = 0
        while events[index].type != 0:
            if events[index].type == _WORD:
                self._starts.setdefault(events[index].text_position - 1, events[index].audio_position / 1000)
            index += 1
        return 0

    def speak(self, text: str, delivery: Delivery) -> tuple[NDArray[np.int16], int, list[tuple[float, float]]]:
        self._chunks, self._starts = [], {}
        if self._library.espeak_SetVoiceByName(delivery.voice.encode()) != 0:
            # Otherwise the voice before would speak on, and nobody would notice.
            raise OSError(f"espeak-ng has no voice {delivery.voice}.")
        self._library.espeak_SetParameter(_RATE, round(155 * delivery.speed), 0)
        self._library.espeak_SetParameter(_PITCH, round(50 * delivery.pitch), 0)
        encoded = text.encode()
        self._library.espeak_Synth(encoded, len(encoded) + 1, 0, 1, 0, _UTF8, None, None)
        samples = np.concatenate(self._chunks)
        return samples, self._rate, self._times(text, samples)

    def _times(self, text: str, samples: NDArray[np.int16]) -> list[tuple[float, float]]:
        """A word lasts until its sound ends or the next one starts; words spoken as one share their interval."""
        starts: list[float] = []
        offset = 0
        for word in text.split():
            starts.append(self._starts.get(offset, starts[-1] if starts else 0.0))
            offset += len(word) + 1
        ends = {}
        for start, following in itertools.pairwise([*sorted(set(starts)), len(samples) / self._rate]):
            spoken = samples[round(start * self._rate) : round(following * self._rate)]
            ends[start] = start + max(0.05, _last_sound(spoken) / self._rate)
        return [(start, ends[start]) for start in starts]


@functools.cache
def _espeak() -> _Espeak:
    return _Espeak()


class _Wave(ctypes.Structure):
    """cst_wave of flite's cst_wave.h."""

    _fields_ = [
        ("type", ctypes.c_char_p),
        ("sample_rate", ctypes.c_int),
        ("num_samples", ctypes.c_int),
        ("num_channels", ctypes.c_int),
        ("samples", ctypes.POINTER(ctypes.c_short)),
    ]


class _Voice(ctypes.Structure):
    """The beginning of cst_voice of flite's cst_voice.h."""

    _fields_ = [("name", ctypes.c_char_p), ("features", ctypes.c_void_p)]


class _Flite:
    FIRST = b"daughter1.R:SylStructure.daughter1.daughter1.R:Segment.p.end"
    LAST = b"daughtern.R:SylStructure.daughtern.daughtern.R:Segment.end"

    @staticmethod
    @functools.cache
    def library() -> ctypes.CDLL:
        library = ctypes.CDLL("libflite.so.1", mode=ctypes.RTLD_GLOBAL)
        for name in ("libflite_usenglish.so.1", "libflite_cmulex.so.1"):
            ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        pointer = ctypes.c_void_p
        signatures: dict[str, tuple[type, list[type]]] = {
            "flite_synth_text": (pointer, [ctypes.c_char_p, pointer]),
            "utt_wave": (ctypes.POINTER(_Wave), [pointer]),  # type: ignore[dict-item]
            "utt_relation": (pointer, [pointer, ctypes.c_char_p]),
            "relation_head": (pointer, [pointer]),
            "item_next": (pointer, [pointer]),
            "item_daughter": (pointer, [pointer]),
            "flite_ffeature_float": (ctypes.c_float, [pointer, ctypes.c_char_p]),
            "feat_set_float": (ctypes.c_int, [pointer, ctypes.c_char_p, ctypes.c_float]),
            "delete_utterance": (ctypes.c_int, [pointer]),
        }
        for name, (result, arguments) in signatures.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        library.flite_init()
        return library

    @staticmethod
    @functools.cache
    def voice(name: str) -> ctypes._Pointer[_Voice]:
        _Flite.library()
        register = getattr(ctypes.CDLL(f"libflite_cmu_us_{name}.so.1"), f"register_cmu_us_{name}")
        register.restype, register.argtypes = ctypes.POINTER(_Voice), [ctypes.c_char_p]
        voice: ctypes._Pointer[_Voice] = register(None)
        return voice

    @staticmethod
    def speak(text: str, delivery: Delivery) -> tuple[NDArray[np.int16], int, list[tuple[float, float]]]:
        library, voice = _Flite.library(), _Flite.voice(delivery.voice)
        library.feat_set_float(voice.contents.features, b"duration_stretch", 1 / delivery.speed)
        utterance = library.flite_synth_text(text.encode("ascii"), voice)
        try:
            wave = library.utt_wave(utterance).contents
            samples = np.ctypeslib.as_array(wave.samples, (wave.num_samples,)).copy()
            times = []
            token = library.relation_head(library.utt_relation(utterance, b"Token"))
            while token:
                if library.item_daughter(token):
                    start = library.flite_ffeature_float(token, _Flite.FIRST)
                    times.append((start, library.flite_ffeature_float(token, _Flite.LAST)))
                token = library.item_next(token)
            return samples, wave.sample_rate, times
        finally:
            library.delete_utterance(utterance)


def _last_sound(samples: NDArray[np.int16]) -> int:
    """Index after the last sample that can be heard."""
    loud = np.flatnonzero(np.abs(samples.astype(np.int32)) > 300)
    return int(loud[-1]) + 1 if len(loud) else len(samples)
