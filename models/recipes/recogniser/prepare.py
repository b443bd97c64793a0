"""Speak the training sentences: shards of log-mel features and of word times, made by several processes.

Of one recipe and corpus a shard depends on the seed and its name alone. Shards that exist are kept, so the command
can be interrupted and repeated; after a change of the recipe or the seed take another folder.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .features import FRAMES_PER_SECOND, log_mel
from .sentences import read_sentences
from .voices import ESPEAK_VOICES, FLITE_VOICES, Delivery, speak

SHARD_CLIPS = 1000
FLITE_SHARE = 0.35
"""More than their number says: their error rates were the highest."""


def delivery(rng: random.Random) -> Delivery:
    """A training voice with its own speed, pitch and, half of the time, a slightly different speaker."""
    resampling = rng.uniform(0.93, 1.08) if rng.random() < 0.5 else 1.0
    if rng.random() < FLITE_SHARE:
        return Delivery(rng.choice(FLITE_VOICES), speed=rng.uniform(0.88, 1.15), resampling=resampling)
    speed, pitch = rng.uniform(0.82, 1.22), rng.uniform(0.75, 1.3)
    return Delivery(rng.choice(ESPEAK_VOICES), speed, pitch, resampling)


def make_shard(folder: Path, name: str, sentences: Sequence[str], seed: int) -> float:
    """Write NAME.npy ([frames, 80] float16) and NAME.jsonl; returns the hours of speech.

    A line holds the text, the voice, the first frame and the number of frames, and the words' times in seconds.
    """
    rng = random.Random(f"{seed}-{name}")
    lines, features, first = [], [], 0
    for text in sentences:
        how = delivery(rng)
        speech = speak(text, how)
        clip = log_mel(speech.samples).astype(np.float16)
        times = [[round(start, 3), round(end, 3)] for start, end in speech.times]
        lines.append({"text": text, "voice": how.voice, "first": first, "frames": len(clip), "times": times})
        features.append(clip)
        first += len(clip)
    np.save(folder / f"{name}.npy", np.concatenate(features))
    listing = folder / f"{name}.jsonl"
    listing.with_suffix(".new").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    listing.with_suffix(".new").replace(listing)  # last: the shard counts as made when this exists
    return first / FRAMES_PER_SECOND / 3600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder of this run")
    parser.add_argument("--clips", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    if options.clips < SHARD_CLIPS:
        parser.error(f"--clips {options.clips} makes no shard: give {SHARD_CLIPS} or more")
    options.work.mkdir(parents=True, exist_ok=True)
    sentences, unseen = read_sentences()
    shards = {"unseen-000": unseen}
    for shard in range(min(options.clips, len(sentences)) // SHARD_CLIPS):
        shards[f"clips-{shard:03}"] = sentences[shard * SHARD_CLIPS : (shard + 1) * SHARD_CLIPS]
    jobs = [
        (options.work, name, part, options.seed)
        for name, part in shards.items()
        if not (options.work / f"{name}.jsonl").exists()
    ]
    started, hours = time.monotonic(), 0.0
    with multiprocessing.Pool(options.processes) as pool:
        results = [pool.apply_async(make_shard, job) for job in jobs]
        for done, result in enumerate(results, start=1):
            hours += result.get()
            print(f"shard {done}/{len(jobs)}: {hours:.1f} h, {(time.monotonic() - started) / 60:.1f} min", flush=True)


if __name__ == "__main__":
    main()
