"""`make servers`: installs real servers, runs the whole program and the bench on each, and stops them.

llama_cpp.server needs 20 MB and half a minute. llama-server is built from the source that llama-cpp-python carries,
with `ARGS=--build` alone: that takes two cores about 20 minutes. Everything is kept in .venv-servers.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from tests.real.here import LIVETRANS, ROOT

FOLDER = ROOT / ".venv-servers"
MODEL = ROOT / "models" / "livetrans-en-de.q8_0.gguf"
PACKAGES = ("uvicorn", "fastapi", "pydantic-settings", "sse-starlette", "starlette-context>=0.3.6,<0.4")
STARTS_SECONDS = 120.0
SWITCHES = [
    "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF", "-DLLAMA_OPENSSL=OFF", "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF",
]  # fmt: skip


def call(*words: object, **environment: str) -> None:
    """Run a command that has to succeed."""
    print("$", *words, flush=True)
    subprocess.run(list(map(str, words)), check=True, env={**os.environ, **environment}, cwd=ROOT)


def llama_cpp_server(port: int) -> tuple[list[object], dict[str, str]]:
    """Install what llama_cpp.server needs; return its command and environment."""
    packages = FOLDER / "packages"
    if not packages.is_dir():
        call(sys.executable, "-m", "pip", "install", "-q", "--target", packages, *PACKAGES)
    command = [sys.executable, "-m", "llama_cpp.server", "--model", MODEL, "--port", port, "--n_ctx", 512]
    return command, {"PYTHONPATH": str(packages)}


def llama_server(port: int) -> tuple[list[object], dict[str, str]]:
    """Build llama-server, unless it was; return its command."""
    program, number = FOLDER / "build" / "bin" / "llama-server", version("llama-cpp-python")
    if not program.is_file():
        package = f"llama-cpp-python=={number}"
        call(
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--no-binary",
            "llama-cpp-python",
            package,
            "-d",
            FOLDER,
        )
        [archive] = FOLDER.glob("*.tar.gz")
        call("tar", "xf", archive, "-C", FOLDER)
        source = FOLDER / archive.name.removesuffix(".tar.gz") / "vendor" / "llama.cpp"
        call("cmake", "-S", source, "-B", FOLDER / "build", *SWITCHES)
        call("cmake", "--build", FOLDER / "build", "--target", "llama-server", "--parallel", os.cpu_count() or 1)
    return [program, "-m", MODEL, "--port", port, "-c", 512, "-np", 1, "--offline"], {}


@contextmanager
def running(command: list[object], environment: dict[str, str], url: str) -> Iterator[None]:
    """Run a server until the context ends."""
    print("$", *command, flush=True)
    server = subprocess.Popen(
        list(map(str, command)), env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + STARTS_SECONDS
        while True:
            try:
                urlopen(f"{url}/v1/models", timeout=5).close()
                break
            except (URLError, OSError):
                if server.poll() is not None or time.monotonic() > end:
                    raise SystemExit(f"{command[0]} did not start") from None
                time.sleep(0.2)
        yield
    finally:
        server.kill()
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="make servers", description=__doc__)
    parser.add_argument("--build", action="store_true", help="build llama-server too, from source")
    parser.add_argument("--port", type=int, default=18650)
    parser.add_argument("--recorded", type=Path, default=ROOT / "recordings", help="streams of the bench")
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    url = f"http://127.0.0.1:{options.port}"
    servers = {"llama_cpp.server": llama_cpp_server} | ({"llama-server": llama_server} if options.build else {})
    for name, prepared in servers.items():
        with running(*prepared(options.port), url):
            file = FOLDER / f"{name}.jsonl"
            call(*LIVETRANS, "models", "--mt-server", url)
            call(*LIVETRANS, "replay", "recordings/demo.flac", "--speed", "max", "--no-session", "--mt-server", url)
            methods = ("--methods", "rt,prefix,cd", "--repeats", 1, "--mt-server", url, "-o", file, "--force")
            call(*LIVETRANS, "bench", "run", "--recorded", options.recorded, *methods)
            call(*LIVETRANS, "bench", "table", file, "--table", "calm")


if __name__ == "__main__":
    main()
