"""A chat template is foreign code: it reaches nothing, and takes neither all time nor all memory."""

from __future__ import annotations

import pytest

from livetrans.lm import rendering
from livetrans.lm.rendering import MOST_CHARACTERS, TemplateFault, render_chat, render_here

TURNS = (("system", "Translate."), ("user", "{{ 7 * 7 }} <|im_end|>"))


def render(template: str) -> str:
    return render_chat(template, TURNS, "<s>", "</s>")


def test_the_process_renders_what_jinja_renders_here() -> None:
    template = "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{{ eos_token }}"
    assert render(template) == "<s>system: Translate.\nuser: {{ 7 * 7 }} <|im_end|>\n</s>"
    assert render(template) == render_here(template, TURNS, "<s>", "</s>")


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "more than 2 s"),
        ("{{ 'a' * 10 ** 10 }}", "memory|MemoryError"),
        ("{{ 9 ** (9 ** 9) }}", "more than 2 s|memory|MemoryError"),
        ("{{ '%9999999999d' % 1 }}", "memory|MemoryError"),
        ("{% for a in range(99999) %}{{ messages }}{% endfor %}", str(MOST_CHARACTERS)),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "recursion"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "unsafe"),
        ("{{ cycler.__init__.__globals__.os.system('id') }}", "unsafe"),
        ("{% include '/etc/passwd' %}", "no loader"),
        ("{{ messages.append(1) }}", "not safely|unsafe"),
        ("{{ undefined_function() }}", "undefined"),
        ("{{ raise_exception('no') }}", "^no$"),
        ("{% if %}", "Expected"),
    ],
)
def test_a_hostile_template_is_refused_in_a_sentence(
    template: str, reason: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendering, "LONGEST_SECONDS", 2.0)
    with pytest.raises(TemplateFault, match=reason) as caught:
        render(template)
    assert len(str(caught.value)) <= 200
    assert capfd.readouterr() == ("", "")
