"""docs/promise.md names tests that exist; and the promise that no other test has a place for."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

TREE = Path(__file__).parents[1]
PROMISE = (TREE / "docs" / "promise.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PROMISE)


def test_each_promise_names_a_test() -> None:
    promises = re.split(r"^## ", PROMISE, flags=re.M)[1:]
    assert len(promises) == 6
    assert all(re.search(r"`tests/[\w/]+\.py::\w+`", promise) for promise in promises)


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_every_named_test_exists(file: str, name: str) -> None:
    tree = ast.parse((TREE / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


WATCHED = """
import os, sys

def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.bind"):
        os.write(2, f"{event} {arguments}".encode())
        os._exit(77)

sys.addaudithook(watch)
from livetrans.cli import main
main(sys.argv[1:])
"""


@pytest.mark.usefixtures("translator_path", "recogniser_path")
def test_captions_need_no_network(tmp_path: Path) -> None:
    session = str(tmp_path / "session")
    commands = [
        ["replay", str(TREE / "recordings" / "demo.flac"), "--offline", "--session", session, "--keep-audio"],
        ["resume", session],
        ["export", session, "--format", "srt"],
    ]
    for command in commands:
        done = subprocess.run([sys.executable, "-c", WATCHED, *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
