"""Renders the chat template of a model file: foreign code, in jinja2's sandbox and in a process of its own.

The sandbox keeps a template from files and functions; only the process keeps it from taking all time and memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache

from livetrans.errors import ModelError
from livetrans.installation import start_python

LONGEST_SECONDS = 5.0
MOST_CHARACTERS = 100_000
MOST_BYTES = 1 << 30
"""Of memory, where the system can limit it."""

Turn = tuple[str, str]
"""A role, `system`, `user` or `assistant`, and its content."""


class TemplateFault(ModelError):
    """The template cannot be rendered; the text says why."""


@lru_cache(maxsize=64)
def render_chat(template: str, turns: tuple[Turn, ...], beginning: str, end: str) -> str:
    """The turns in the template, as transformers renders it; `beginning` and `end` stand for the sequence's tokens.

    Raises:
        TemplateFault: it is not a template, refuses the turns, or takes too long or too much.
    """
    request = json.dumps((template, turns, beginning, end)).encode()
    process = start_python("livetrans.lm.rendering", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        answer, _ = process.communicate(request, timeout=LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise TemplateFault(f"it takes more than {LONGEST_SECONDS:.0f} s") from None
    if process.returncode:
        raise TemplateFault("it takes too much memory")
    rendered, fault = json.loads(answer)
    if fault:
        raise TemplateFault(fault)
    return str(rendered)


def render_here(template: str, turns: Sequence[Turn], *tokens: str) -> str:
    """`render_chat` in this process, without its limits of time and memory; raises what the template raises."""
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    # As transformers does, which the templates are written for.
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )

    def refuse(reason: str) -> None:
        raise TemplateError(reason)

    environment.globals["raise_exception"] = refuse
    messages = [{"role": role, "content": said} for role, said in turns]
    rendered = ""
    for part in environment.from_string(template).generate(
        messages=messages, add_generation_prompt=True, enable_thinking=False, bos_token=tokens[0], eos_token=tokens[1]
    ):
        rendered += part
        if len(rendered) > MOST_CHARACTERS:
            raise TemplateError(f"it writes more than {MOST_CHARACTERS} characters")
    return rendered


def _main() -> None:
    """Answers the request on standard input with the text and what was wrong, one of them empty."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    request = json.load(sys.stdin.buffer)
    rendered, fault = "", ""
    try:
        rendered = render_here(*request)
    except Exception as error:  # a template is a program: its errors are of any kind
        fault = str(error) or type(error).__name__
    sys.stdout.write(json.dumps((rendered, fault[:200])))


if __name__ == "__main__":
    _main()
