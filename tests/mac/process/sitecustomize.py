"""Makes a process of livetrans see macOS: Python imports this file at its start if the folder is on PYTHONPATH.

Only livetrans is deceived, because the standard library and other packages have chosen their ways by the true system:
an import in livetrans gives a view of the module, and a file is refused if livetrans itself opens it. The names that
macOS lacks are those that mypy's typeshed defines for Linux only.
"""

from __future__ import annotations

import ast
import builtins
import errno
import os
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

_WRITES = os.O_CREAT
_names: dict[str, str] = {}
"""Paths that livetrans has made, by what a file system without regard of case and composition takes them for."""


class View(ModuleType):
    """A module without the names that macOS lacks, and with other values for some."""

    def __init__(self, module: ModuleType, lacking: frozenset[str], values: Mapping[str, object]) -> None:
        super().__init__(module.__name__)
        vars(self).update(_viewed=module, _lacking=lacking, **values)

    def __getattr__(self, name: str) -> Any:
        if name in self._lacking:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r} on macOS")
        return getattr(self._viewed, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._viewed, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._viewed, name)


def typeshed() -> Path | None:
    """Return the folder of mypy's stubs; None in an environment without mypy, where no names are missing."""
    found = find_spec("mypy")
    return Path(found.origin).parent / "typeshed" / "stdlib" if found and found.origin else None


@cache
def lacking(module: str) -> frozenset[str]:
    """Return the names that the module's stub defines for Linux and not for macOS."""
    stubs = typeshed()
    names = (f"{module}.pyi", f"{module}/__init__.pyi")
    stub = next((stubs / name for name in names if (stubs / name).is_file()), None) if stubs else None
    if stub is None:
        return frozenset()
    text = stub.read_text(encoding="utf-8")
    if "sys.platform" not in text:
        return frozenset()
    body = ast.parse(text).body
    return frozenset(_defined(body, "linux")) - frozenset(_defined(body, "darwin"))


def _defined(body: list[ast.stmt], system: str) -> Iterator[str]:
    seen = SimpleNamespace(platform=system, version_info=sys.version_info, maxsize=sys.maxsize)
    for statement in body:
        match statement:
            case ast.If(test=test, body=then, orelse=otherwise):
                holds = eval(compile(ast.Expression(test), "stub", "eval"), {"sys": seen, "TYPE_CHECKING": True})
                yield from _defined(then if holds else otherwise, system)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.ImportFrom(names=names):
                yield from (name.asname or name.name for name in names)


@cache
def _view(name: str) -> View | None:
    """Return what livetrans sees of a module; None for the module itself."""
    module = sys.modules[name]
    values: dict[str, object] = {}
    if name == "sys":
        values = {"platform": "darwin"}
    elif name == "platform":
        answers = {"system": "Darwin", "machine": "arm64", "processor": "arm", "release": "25.0.0"}
        values = {key: lambda answer=answer: answer for key, answer in answers.items()}
    elif name == "platformdirs":
        module.PlatformDirs = _import("platformdirs.macos", fromlist=["MacOS"]).MacOS
    absent = lacking(name) if name in sys.stdlib_module_names else frozenset()
    return View(module, absent, values) if values or absent else None


_import = builtins.__import__


def _import_as_on_a_mac(
    name: str,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    fromlist: Any = (),
    level: int = 0,
) -> ModuleType:
    module = _import(name, globals, locals, fromlist, level)
    if level == 0 and globals is not None and _is_ours(globals):
        return _view(module.__name__) or module
    return module


def _is_ours(variables: Mapping[str, Any]) -> bool:
    return str(variables.get("__package__") or "").partition(".")[0] == "livetrans"


def _is_ours_to_open() -> bool:
    """Whether the innermost function outside the standard library is one of livetrans."""
    frame = sys._getframe(2)
    while frame is not None:
        variables = frame.f_globals
        if _is_ours(variables):
            return True
        if str(variables.get("__name__")).partition(".")[0] not in {*sys.stdlib_module_names, __name__}:
            return False
        frame = frame.f_back
    return False


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: no /proc, names of files in UTF-8, and no two that differ in case alone."""
    if event not in _PATHS or not arguments or not isinstance(arguments[_PATHS[event]], str):
        return
    path = arguments[_PATHS[event]]
    if path.startswith("/proc/") and not path.startswith("/proc/self/fd") and _is_ours_to_open():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if (event == "open" and not (arguments[2] or 0) & _WRITES) or not _is_ours_to_open():
        return
    if any("\udc80" <= letter <= "\udcff" for letter in path):
        raise OSError(errno.EILSEQ, os.strerror(errno.EILSEQ), path)
    full = os.path.join(os.getcwd(), path) if not os.path.isabs(path) else path
    other = _names.setdefault(unicodedata.normalize("NFD", full).casefold(), full)
    if other != full:
        raise AssertionError(f"{full} and {other} are one file where case does not matter")


_PATHS = {"open": 0, "os.listdir": 0, "os.scandir": 0, "os.mkdir": 0, "os.rename": 1}


if sys.platform == "linux":
    builtins.__import__ = _import_as_on_a_mac
    sys.addaudithook(_refuse)
