"""Renders the chat template of a model file: foreign code, in jinja2's sandbox and in a process of its own.

The sandbox keeps a template from files and functions; only the process keeps it from taking all time and memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache

from livetrans.base.errors import ModelError
from livetrans.base.installation import start_python

LONGEST_SECONDS = 15.0
"""The start of the process included, which takes a second on a slow disk."""
MOST_CHARACTERS = 100_000
MOST_BYTES = 1 << 30
"""The memory of the process is measured, not limited: macOS refuses a limit below what it maps into every process."""
MOST_PAIRS = 20
"""The largest --history."""
_LOOK_SECONDS = 0.02
_FIRST_CONTENT = 0xF0000
"""Characters of a private-use plane stand for the contents of the turns while the template is rendered."""

Turn = tuple[str, str]
"""A role, `system`, `user` or `assistant`, and its content."""


class TemplateFault(ModelError):
    """The template cannot be rendered; the text says why."""


def render_chat(template: str, turns: Sequence[Turn], beginning: str, end: str) -> str:
    """Render the turns in the template as transformers does; `beginning` and `end` stand for the sequence's tokens.

    The turns are a system's, if there is one, a user's, and then pairs of an assistant's and a user's. The first call
    renders the template for every number of pairs, because a process takes longer to start than an update may.

    Raises:
        TemplateFault: it is not a template, refuses the turns, or takes too long or too much.
    """
    has_system = turns[0][0] == "system"
    shapes = _shapes(template, has_system, beginning, end)
    text, fault = shapes[min((len(turns) - has_system) // 2, len(shapes) - 1)]
    if fault:
        raise TemplateFault(fault)
    for number, (_, content) in enumerate(turns):
        text = text.replace(chr(_FIRST_CONTENT + number), content)
    return text


@lru_cache(maxsize=8)
def _shapes(template: str, has_system: bool, beginning: str, end: str) -> list[tuple[str, str]]:
    """Return the text and the fault, one of them empty, for 0, 1, 2, ... pairs of turns, up to the first fault."""
    roles = ["system"] * has_system + ["user", *["assistant", "user"] * MOST_PAIRS]
    turns = [(role, chr(_FIRST_CONTENT + number)) for number, role in enumerate(roles)]
    chats = [turns[:length] for length in range(has_system + 1, len(turns) + 1, 2)]
    answer: list[tuple[str, str]] = json.loads(_answer(json.dumps((template, chats, beginning, end)).encode()))
    return answer


def _answer(request: bytes) -> bytes:
    """Return the process's answer; the process is ended if it takes too long or too much memory."""
    import psutil  # type: ignore[import-untyped]

    unsent: bytes | None = request
    process = start_python("livetrans.lm.rendering", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    fault = f"it takes more than {LONGEST_SECONDS:.0f} s"
    for _ in range(round(LONGEST_SECONDS / _LOOK_SECONDS)):
        with suppress(subprocess.TimeoutExpired):
            answer, _ = process.communicate(unsent, timeout=_LOOK_SECONDS)
            if process.returncode:
                raise TemplateFault(f"its process ended with {process.returncode}")
            return answer
        unsent = None
        with suppress(psutil.Error):
            if psutil.Process(process.pid).memory_info().rss > MOST_BYTES:
                fault = "it takes too much memory"
                break
    process.kill()
    process.communicate()
    raise TemplateFault(fault)


def render_here(template: str, turns: Sequence[Turn], *tokens: str) -> str:
    """Render the turns in this process, without limits of time and memory; raises what the template raises."""
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    # As transformers does, which the templates are written for.
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )

    def refuse(reason: str) -> None:
        raise TemplateError(reason)

    environment.globals["raise_exception"] = refuse
    messages = [{"role": role, "content": content} for role, content in turns]
    rendered = ""
    for part in environment.from_string(template).generate(
        messages=messages, add_generation_prompt=True, enable_thinking=False, bos_token=tokens[0], eos_token=tokens[1]
    ):
        rendered += part
        if len(rendered) > MOST_CHARACTERS:
            raise TemplateError(f"it writes more than {MOST_CHARACTERS} characters")
    return rendered


def _main() -> None:
    """Answer the request on standard input with a text and a fault for each chat, up to the first fault."""
    template, chats, beginning, end = json.load(sys.stdin.buffer)
    answers: list[tuple[str, str]] = []
    for chat in chats:
        try:
            answers.append((render_here(template, chat, beginning, end), ""))
        except Exception as error:  # a template is a program: its errors are of any kind
            answers.append(("", (str(error) or type(error).__name__)[:200]))
            break
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    _main()
