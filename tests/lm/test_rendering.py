"""A chat template is foreign code: it reaches nothing, and takes neither all time nor all memory."""

from __future__ import annotations

import pytest
from jinja2 import TemplateError

from livetrans.lm import rendering
from livetrans.lm.rendering import MOST_CHARACTERS, TemplateFault, render_chat, render_here

TURNS = (("system", "Translate."), ("user", "{{ 7 * 7 }} <|im_end|>"))


def render(template: str) -> str:
    return render_chat(template, TURNS, "<s>", "</s>")


def test_one_process_serves_any_number_of_earlier_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process of the opening is the only one, so that none is started while an update is translated."""
    starts: list[str] = []
    start = rendering.start_python
    monkeypatch.setattr(rendering, "start_python", lambda *names, **pipes: starts.append("") or start(*names, **pipes))
    template = "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{# once #}"
    for pairs in (0, 1, 2, rendering.MOST_PAIRS):
        turns = [*TURNS, *[("assistant", "Ja."), ("user", "Go on.")] * pairs]
        assert render_chat(template, turns, "<s>", "</s>") == render_here(template, turns, "<s>", "</s>")
    assert starts == [""]
    assert render(template) == "<s>system: Translate.\nuser: {{ 7 * 7 }} <|im_end|>\n"


def test_a_template_may_refuse_earlier_sentences_alone() -> None:
    template = "{{ messages[1].content }}{{ raise_exception('no') if messages | length > 2 }}"
    assert render(template) == TURNS[1][1]
    with pytest.raises(TemplateFault, match=r"^no$"):
        render_chat(template, [*TURNS, ("assistant", "Ja."), ("user", "Go on.")], "<s>", "</s>")


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{% set much = 'a' * 10 ** 10 %}", "too much memory|MemoryError"),
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "more than 1 s"),
        pytest.param("{{ 9 ** (9 ** 9) }}", "memory|MemoryError|more than 1 s", marks=pytest.mark.long),
        pytest.param("{{ '%9999999999d' % 1 }}", "memory|MemoryError|more than 1 s", marks=pytest.mark.long),
        ("{{ raise_exception('no') }}", "^no$"),
    ],
)
def test_a_process_that_takes_too_much_is_ended(
    template: str, reason: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if "more than 1 s" in reason:
        monkeypatch.setattr(rendering, "LONGEST_SECONDS", 0.6)
    monkeypatch.setattr(rendering, "MOST_BYTES", 100 << 20)
    with pytest.raises(TemplateFault, match=reason) as caught:
        render(template)
    assert len(str(caught.value)) <= 200
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{% for a in range(99999) %}{{ messages }}{% endfor %}", str(MOST_CHARACTERS)),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "recursion"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "unsafe"),
        ("{{ cycler.__init__.__globals__.os.system('id') }}", "unsafe"),
        ("{% include '/etc/passwd' %}", "no loader"),
        ("{{ messages.append(1) }}", "not safely|unsafe"),
        ("{{ undefined_function() }}", "undefined"),
        ("{% if %}", "Expected"),
    ],
)
def test_the_sandbox_refuses_a_hostile_template(template: str, reason: str) -> None:
    with pytest.raises((TemplateError, RecursionError, TypeError), match=reason):
        render_here(template, TURNS, "<s>", "</s>")
