"""Runs each check in a process of its own, with a time limit and a log, and writes the report after each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import psutil

from livetrans.base.files import replacing
from livetrans.models.catalogue import WEIGHTS
from livetrans.models.find import pull_folder
from livetrans.models.hub import sha256_of
from tests.environment import SETTINGS
from tests.real.checks import Check
from tests.real.here import LIVETRANS, ROOT, Failed, Here, Skipped, Slow
from tests.real.report import FAIL, PASS, SKIPPED, SLOW, as_markdown, machine_of_report, public, told

_TAIL = 4000
"""Bytes of a log in which the reason of a crash is looked for."""


@dataclass(frozen=True)
class Options:
    """What a run was told; a run with others does not continue it."""

    checks: str
    """The module that has the list."""
    speech: str
    minutes: float
    attended: bool
    comet: str | None = None
    only: list[str] = field(default_factory=list)
    """Names of the checks to make; empty for all."""


@dataclass
class Result:
    name: str
    claim: str
    verdict: str
    figures: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    seconds: float = 0.0


def run_all(checks: Sequence[Check], options: Options, folder: Path, *, fetched: Result | None = None) -> bool:
    """Run the checks that an interrupted run has not finished; return whether none failed.

    Raises:
        OSError: the report cannot be written.
        KeyboardInterrupt: a signal ended it.
    """
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    report = _interrupted(folder, options) or {"models": {}, "checks": []}
    # What was skipped may be possible now, and takes no time.
    kept = {row["name"]: row for row in report["checks"] if row["verdict"] != SKIPPED}
    report |= {
        "format": 1, "complete": False, "date": date.today().isoformat(),
        "machine": machine_of_report(), "options": asdict(options), "checks": [asdict(fetched)] if fetched else [],
    }  # fmt: skip
    write_report(report, folder)
    for check in checks:
        if check.name in kept:
            row, models = kept[check.name], {}
            _show(Result(**row), " (kept)")
        else:
            result, models = run_check(check, options, folder / "logs" / f"{check.name.replace(' ', '-')}.log")
            if _signals:
                raise KeyboardInterrupt
            row = asdict(result)
            _show(result)
        report["checks"].append(row)
        report["models"] |= models
        write_report(report, folder)
    report["complete"] = True
    write_report(report, folder)
    return all(row["verdict"] != FAIL for row in report["checks"])


def _interrupted(folder: Path, options: Options) -> dict[str, Any] | None:
    """Return the report of a run that was told the same on this machine, and did not come to its end."""
    try:
        report: dict[str, Any] = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        same = report["options"] == public(asdict(options)) and report["machine"] == public(machine_of_report())
        return report if same and not report["complete"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_report(report: dict[str, Any], folder: Path) -> None:
    """Write both files; each is whole at any time."""
    shown = public(report)
    texts = {"report.json": json.dumps(shown, indent=1, ensure_ascii=False) + "\n", "REPORT.md": as_markdown(shown)}
    for name, text in texts.items():
        with replacing(folder / name) as stream:
            stream.write(text)


def run_check(check: Check, options: Options, log: Path) -> tuple[Result, dict[str, str]]:
    """Run a check in a new process; return its result, and the hashes of the models that it used, by name.

    What hangs is ended with all that it has started. The result comes through a pipe: a full disk cannot hide it.
    """
    began = time.monotonic()
    read, write = os.pipe()
    terminal = os.dup(2)
    with tempfile.TemporaryDirectory(prefix="livetrans-real-", ignore_cleanup_errors=True) as folder:
        given = {
            "check": check.name,
            "options": asdict(options),
            "folder": folder,
            "result": write,
            "terminal": terminal,
        }
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.real.runner", json.dumps(given)],
                cwd=ROOT, env=environment(Path(folder) / "home"), stdout=stream, stderr=stream,
                stdin=None if options.attended else subprocess.DEVNULL,
                pass_fds=(write, terminal), start_new_session=True,
            )  # fmt: skip
        os.close(write)
        os.close(terminal)
        end = began + 60 * check.minutes
        while process.poll() is None and time.monotonic() < end and not _signals:
            time.sleep(0.02)
        ended = process.poll()
        _end(process)
        fault = f"it crashed with exit code {ended}"
        if ended is None:
            fault = f"it did not end within {check.minutes:g} minutes"
        with open(read, encoding="utf-8") as pipe:
            text = pipe.read()
        private = (Path(folder), Path(folder).resolve())
    seconds = round(time.monotonic() - began, 1)
    found: dict[str, Any] = {"verdict": FAIL, "figures": {}, "models": {}}
    if text:
        found = json.loads(text)
    else:
        found["reason"] = f"{fault}; see {log.parent.name}/{log.name}{_last_line(log)}"
    found = public(found, private)
    return Result(check.name, check.claim, found["verdict"], found["figures"], found["reason"], seconds), found[
        "models"
    ]


def _last_line(log: Path) -> str:
    lines = log.read_bytes()[-_TAIL:].decode("utf-8", "replace").strip().splitlines()
    return f": {lines[-1].strip()}" if lines else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a check and everything that it has started, also what has left its session."""
    try:
        started = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        started = []
    for end in (lambda: os.killpg(process.pid, signal.SIGKILL), *(one.kill for one in started)):
        try:
            end()
        except (ProcessLookupError, PermissionError, psutil.NoSuchProcess):
            continue
    process.wait()


def environment(home: Path) -> dict[str, str]:
    """Return an environment with an empty home, in which the user's models are found, and none of his settings."""
    home.mkdir(parents=True)
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    llama = Path.home() / "Library/Caches/llama.cpp" if sys.platform == "darwin" else cache / "llama.cpp"
    folders = filter(None, (os.environ.get("LIVETRANS_MODELS"), str(pull_folder())))
    return {
        "HF_HOME": str(cache / "huggingface"), "LLAMA_CACHE": str(llama), **kept,
        "HOME": str(home), "LIVETRANS_MODELS": os.pathsep.join(folders), "PYTHONUNBUFFERED": "1",
    }  # fmt: skip


def _show(result: Result, remark: str = "") -> None:
    print(f"{result.verdict:8}{result.name:<32}{told(asdict(result))}{remark}", flush=True)


def fetch(purpose: str) -> Result:
    """Fetch the models of a purpose into the user's folder."""
    began = time.monotonic()
    done = subprocess.run([*LIVETRANS, "models", "pull", purpose, "--yes"], cwd=ROOT, check=False)
    reason = "" if done.returncode == 0 else f"`livetrans models pull {purpose}` ended with exit code {done.returncode}"
    claim, verdict = f"The models of `{purpose}` can be fetched.", FAIL if reason else PASS
    result = Result(f"fetch {purpose}", claim, verdict, {}, reason, round(time.monotonic() - began, 1))
    _show(result)
    return result


_signals: list[int] = []
"""Signals that end the run, since it began. An exception out of a handler could leave a lock of `Popen` locked."""


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and SIGHUP end the check that runs, and then the run."""
    _signals.clear()
    handlers = {
        number: signal.signal(number, lambda number, frame: _signals.append(number))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def main(given: str) -> None:
    """Make one check in this process; send its result through the pipe."""
    from importlib import import_module

    task = json.loads(given)
    options = Options(**task["options"])
    check = next(one for one in import_module(options.checks).CHECKS if one.name == task["check"])
    comet = Path(options.comet) if options.comet else None
    work = Path(task["folder"]) / "work"
    work.mkdir()
    here = Here(work, Path(options.speech), options.attended, options.minutes, comet, terminal=task["terminal"])
    result = outcome(check, here)
    with open(task["result"], "w", encoding="utf-8") as pipe:
        json.dump(result, pipe)


def outcome(check: Check, here: Here) -> dict[str, Any]:
    """Return what a check found."""
    figures: dict[str, str] = {}
    verdict, reason = PASS, ""
    try:
        figures = dict(check.run(here))
    except Skipped as why:
        verdict, reason = SKIPPED, str(why)
    except Slow as why:
        verdict, reason, figures = SLOW, str(why), why.figures
    except Failed as why:
        verdict, reason = FAIL, str(why)
    except Exception as error:
        traceback.print_exc()
        last = (str(error).strip().splitlines() or [""])[0]
        verdict, reason = FAIL, f"{type(error).__name__}: {last}; its log says more"
    used = (
        {}
        if verdict == SKIPPED
        else {name: sha256_of(path / WEIGHTS if path.is_dir() else path) for name, path in here.used.items()}
    )
    return {"verdict": verdict, "figures": figures, "reason": reason, "models": used}


if __name__ == "__main__":
    main(sys.argv[1])
