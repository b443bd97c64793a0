"""Training windows: clips cut as a streaming buffer is, joined, with pauses and noise, and what the decoder must write.

Everything is a function of (seed, chunk), so that a run can be continued at any chunk.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .features import BANDS, FRAMES_PER_SECOND, SILENCE, WINDOW_FRAMES, normalise
from .pieces import Pieces, spell
from .sentences import words_of

Array = NDArray[np.float32]


MAX_TOKENS = 448
"""The decoder's positions."""


@dataclass(frozen=True)
class Mixture:
    """Shares of the kinds of window."""

    joined: float = 0.25
    """two to eight sentences, as far as 29 s hold them"""
    run_on: float = 0.35
    """of these without any pause, as people speak long sentences"""
    cut_start: float = 0.25
    cut_end: float = 0.4
    prompted: float = 0.3
    prompt_tokens: int = 24
    """longest prompt; longer where the window is long, because its transcript is then too"""
    untimed: float = 0.1
    empty: float = 0.03
    noisy: float = 0.6


@dataclass(frozen=True)
class Clip:
    """A spoken sentence; log10 mel power [frames, 80], and a time (start, end) for each word or none at all."""

    text: str
    features: NDArray[np.float16]
    times: list[list[float]]


@dataclass
class Part:
    """What is left of a clip after cutting."""

    features: Array
    text: str
    start: float
    end: float
    before: str = ""


@dataclass(frozen=True)
class Window:
    """One example: features [frames, 80] as the encoder sees them, the decoder's tokens, where its loss starts, CTC."""

    features: Array
    tokens: list[int]
    learned_from: int
    characters: list[int] = field(default_factory=list)


def load_clips(folder: Path, name: str) -> list[Clip]:
    """All clips of a prepared folder's shards, memory-mapped; exits when none is there."""
    clips = []
    for listing in sorted(folder.glob(f"{name}-*.jsonl")):
        features = np.load(listing.with_suffix(".npy"), mmap_mode="r")
        for line in listing.read_text(encoding="utf-8").splitlines():
            item = json.loads(line)
            part = features[item["first"] : item["first"] + item["frames"]]
            clips.append(Clip(item["text"], part, item["times"]))
    if not clips:
        sys.exit(f"There are no clips in {folder}: run prepare.py --work {folder} first.")
    return clips


def take_part(clip: Clip, cut_start: bool, cut_end: bool, rng: random.Random) -> Part:
    """The clip, or what a buffer holds of it that starts between two words and ends anywhere, perhaps inside a word.

    A word that is not complete at the end is not in the text: a caption should wait for it rather than guess.
    """
    features = np.asarray(clip.features, dtype=np.float32)
    words, times = clip.text.split(), clip.times
    if not times or not (cut_start or cut_end) or len(words) < 3:
        start = times[0][0] if times else 0.1
        end = times[-1][1] if times else len(features) / FRAMES_PER_SECOND - 0.1
        return Part(features, clip.text, start, max(end, start + 0.1))
    first, last = 0, len(words)
    from_second, to_second = 0.0, len(features) / FRAMES_PER_SECOND
    if cut_start:
        first = rng.choice([i for i in range(len(words)) if i == 0 or times[i][0] > times[i - 1][0]])
        from_second = max(0.0, times[first][0] - rng.uniform(-0.02, 0.08))
    if cut_end:
        to_second = rng.uniform(times[first][0] + 0.25, max(times[-1][1], times[first][0] + 0.3))
        while last > first and times[last - 1][1] > to_second + 0.03:
            last -= 1
    text = " ".join(words[first:last])
    if last < len(words):
        text = text.rstrip(",.;:?!")
    frames = features[round(from_second * FRAMES_PER_SECOND) : round(to_second * FRAMES_PER_SECOND)]
    end = times[last - 1][1] - from_second if last > first else 0.0
    return Part(frames, text, max(0.0, times[first][0] - from_second), end, " ".join(words[:first]))


def silence(seconds: float) -> Array:
    return np.full((round(seconds * FRAMES_PER_SECOND), BANDS), SILENCE, dtype=np.float32)


def noise_floor(frames: int, level: float, rng: random.Random) -> Array:
    """log10 power [frames, 80] of coloured noise: a random slope over the bands, and the flicker of short windows."""
    generator = np.random.default_rng(rng.getrandbits(32))
    slope = np.linspace(0.0, rng.uniform(-2.5, 0.7), BANDS, dtype=np.float32)
    flicker = generator.standard_gamma(rng.choice((1.0, 2.0, 4.0)), (frames, BANDS), dtype=np.float32)
    swell = rng.uniform(0.0, 0.3) * np.sin(np.arange(frames, dtype=np.float32) * rng.uniform(0.005, 0.1))
    return np.log10(flicker + 1e-4) + slope + np.float32(level) + swell[:, None].astype(np.float32)


def with_noise(log_power: Array, rng: random.Random) -> Array:
    """Noise 15 to 60 dB below the loudest sound; powers add, which neglects only their phases."""
    floor = noise_floor(len(log_power), float(log_power.max()) - rng.uniform(1.5, 6.0), rng)
    return np.logaddexp2(log_power * 3.3219281, floor * 3.3219281) / np.float32(3.3219281)


def empty_window(clips: list[Clip], pieces: Pieces, mixture: Mixture, rng: random.Random) -> Window:
    """Noise, hum or silence, for which there is nothing to write, whatever was said before.

    Mostly `<|nospeech|>`, as faster-whisper skips what is more than 60 % of that; else an end right after the first
    time, because CTranslate2 lets nothing but a time come first.
    """
    frames = round(rng.uniform(0.3, 12.0) * FRAMES_PER_SECOND)
    log_power = noise_floor(frames, rng.uniform(-7.0, 1.0), rng) if rng.random() < 0.85 else silence(frames / 100)
    if rng.random() < 0.4:  # hum or whistle
        band = rng.randrange(BANDS - 2)
        log_power[:, band : band + 2] += rng.uniform(0.5, 3.0)
    said = [pieces.no_speech] if rng.random() < 0.75 else [pieces.time(0.0)]
    prompt = previous_text("", clips, pieces, mixture, mixture.prompt_tokens, rng)
    return Window(normalise(log_power), [*prompt, pieces.start, *said, pieces.end], len(prompt) + 1)


def make_window(clips: list[Clip], index: int, pieces: Pieces, mixture: Mixture, rng: random.Random) -> Window:
    """The window of one clip, or of it and random others after it."""
    if rng.random() < mixture.empty:
        return empty_window(clips, pieces, mixture, rng)
    count = rng.randint(2, 8) if rng.random() < mixture.joined else 1
    chosen = [clips[index], *rng.choices(clips, k=count - 1)]
    frames: list[Array] = [silence(rng.uniform(0.0, 1.0) if rng.random() < 0.7 else 0.0)]
    length = len(frames[0])
    spoken: list[tuple[float, float, str]] = []
    before = ""
    runs_on = count > 1 and rng.random() < mixture.run_on
    for number, clip in enumerate(chosen):
        if length + len(clip.features) > WINDOW_FRAMES - 100:
            break
        is_last = number == len(chosen) - 1
        part = take_part(
            clip, number == 0 and rng.random() < mixture.cut_start, is_last and rng.random() < mixture.cut_end, rng
        )
        if number == 0:
            before = part.before
        offset = length / FRAMES_PER_SECOND
        if part.text:
            spoken.append((offset + part.start, offset + part.end, part.text))
        if runs_on and not is_last:
            sound, pause = part.features[: round(part.end * FRAMES_PER_SECOND)], silence(0.0)
        else:
            open_end = is_last and part.text != clip.text
            sound, pause = part.features, silence(0.0 if open_end else rng.uniform(0.0, 0.9))
        frames += [sound, pause]
        length += len(sound) + len(pause)
    if runs_on:
        spoken = as_one_segment(spoken)
    log_power = np.concatenate(frames)[: WINDOW_FRAMES - 10]
    # A mute window (cut inside its first word's silence) has no loudest sound to set noise against.
    if log_power.size == 0 or log_power.max() < -6.0:
        return empty_window(clips, pieces, mixture, rng)
    if rng.random() < mixture.noisy:
        log_power = with_noise(log_power, rng)
    log_power = log_power + np.float32(rng.uniform(-2.0, 0.6))
    prompt = previous_text(before, clips, pieces, mixture, max(mixture.prompt_tokens, len(log_power) // 12), rng)
    said, given = transcript(spoken, pieces, mixture, rng)
    # A prompt that does not fit beside the transcript loses its mark too, and with it its meaning: leave it out.
    prompt = prompt if len(prompt) + len(said) <= MAX_TOKENS else []
    characters = spell([word for _, _, text in spoken for word in words_of(text)])
    return Window(normalise(log_power), [*prompt, *said], len(prompt) + given, characters)


def as_one_segment(spoken: list[tuple[float, float, str]]) -> list[tuple[float, float, str]]:
    """Sentences without a pause between them get one pair of times, as Whisper gives them."""
    if not spoken:
        return []
    return [(spoken[0][0], spoken[-1][1], " ".join(text for _, _, text in spoken))]


def previous_text(
    before: str, clips: list[Clip], pieces: Pieces, mixture: Mixture, longest: int, rng: random.Random
) -> list[int]:
    """`<|startofprev|>` and the end of what was said: `before`, with other sentences in front; or nothing at all.

    Any length up to `longest` tokens is equally likely, because a stream soon has as much as livetrans gives.
    """
    if rng.random() >= mixture.prompted:
        return []
    wanted = rng.randint(4, longest)
    ids = pieces.encode(before) if before else []
    while len(ids) < wanted:
        ids = [*pieces.encode(rng.choice(clips).text), *ids]
    return [pieces.previous, *ids[-wanted:]]


def transcript(
    spoken: list[tuple[float, float, str]], pieces: Pieces, mixture: Mixture, rng: random.Random
) -> tuple[list[int], int]:
    """`<|startoftranscript|> <|0.00|> text <|2.40|> ... <|endoftext|>`, and how many of these tokens are given.

    A segment that is cut is closed with its time too, because faster-whisper would decode an open one again.
    """
    untimed = bool(spoken) and rng.random() < mixture.untimed
    given = [pieces.start, *([pieces.no_times] if untimed else [])]
    tokens: list[int] = []
    latest = 0.0
    for number, (start, end, text) in enumerate(spoken):
        start = min(start, 1.0) if number == 0 else start  # Whisper's first time is never later than 1 s
        latest = max(latest, start)
        ids = pieces.encode(text)
        tokens += ids if untimed else [pieces.time(latest), *ids, pieces.time(max(end, latest))]
        latest = max(end, latest)
    if not spoken:
        tokens.append(pieces.time(0.0))
    return [*given, *tokens, pieces.end], len(given)


def chunk_of_windows(
    clips: list[Clip], pieces: Pieces, mixture: Mixture, seed: int, chunk: int, size: int
) -> Iterator[Window]:
    """The windows of one chunk of the endless stream; every clip leads one window an epoch."""
    chunks_per_epoch = max(1, len(clips) // size)
    epoch, index = divmod(chunk, chunks_per_epoch)
    order = list(range(len(clips)))
    random.Random(f"{seed}-epoch-{epoch}").shuffle(order)
    rng = random.Random(f"{seed}-chunk-{chunk}")
    for leader in order[index * size : (index + 1) * size]:
        yield make_window(clips, leader, pieces, mixture, rng)
