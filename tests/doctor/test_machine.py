"""What the doctor says of a machine, from what the machine says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from livetrans.doctor import machine
from livetrans.doctor.machine import BROKEN, OK, WARNING
from livetrans.errors import SourceError

LLAMA = "CPU : SSE3 = 1 | AVX2 = 1 | FMA = 1 | F16C = 1 | OPENMP = 1 | "


def test_versions_name_everything_that_computes() -> None:
    found = machine.check_versions("PortAudio V19.7.0")
    assert found.state == OK
    for name in ("livetrans", "Python", "llama-cpp-python", "ctranslate2", "faster-whisper", "PortAudio V19.7.0"):
        assert name in found.text
    assert "no PortAudio" in machine.check_versions(None).text


def test_a_build_that_leaves_the_processor_unused_is_said() -> None:
    plain = frozenset({"avx2", "fma", "f16c"})
    assert machine.check_llama(LLAMA, False, plain, "Linux").state == OK
    more = machine.check_llama(LLAMA, False, plain | {"avx512f", "avx512_vnni"}, "Linux")
    assert more.state == WARNING and "without AVX512, AVX512_VNNI" in more.text and "pip install" in (more.advice or "")
    assert machine.check_llama(LLAMA, True, plain | {"avx512f"}, "Linux").state == OK, "the GPU computes there"
    assert machine.check_llama(LLAMA, False, None, "Linux").state == OK, "nothing is known of the processor"
    assert "without Metal" in machine.check_llama(LLAMA, False, None, "Darwin").text
    assert machine.check_llama(LLAMA + "Metal : EMBED_LIBRARY = 1 |", True, None, "Darwin").state == OK


def test_flags_are_read_as_linux_writes_them(tmp_path: Path) -> None:
    (tmp_path / "x86").write_text("processor : 0\nflags\t\t: fpu avx2 fma\nprocessor : 1\nflags\t\t: fpu\n")
    (tmp_path / "arm").write_text("processor\t: 0\nFeatures\t: fp asimd asimddp\n")
    assert machine.processor_flags(tmp_path / "x86") == {"fpu", "avx2", "fma"}
    assert machine.processor_flags(tmp_path / "arm") == {"fp", "asimd", "asimddp"}
    assert machine.processor_flags(tmp_path / "absent") is None


@pytest.mark.parametrize(("level", "state"), [(0.0, WARNING), (0.0001, WARNING), (0.05, OK)])
def test_a_microphone_that_hears_nothing_is_a_warning_with_advice(level: float, state: str) -> None:
    found = machine.check_microphone(lambda: ("USB Headset", level))
    assert found.state == state and "USB Headset" in found.text
    assert (found.advice is None) == (state == OK)


def test_no_microphone_is_a_warning_because_recordings_need_none() -> None:
    def listen() -> tuple[str, float]:
        raise SourceError("There is no microphone: plug one in.")

    found = machine.check_microphone(listen)
    assert (found.state, found.text) == (WARNING, "There is no microphone: plug one in.")


def test_room_on_disk_and_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for free, state in ((10**10, OK), (5 * 10**8, WARNING), (10**6, BROKEN)):
        monkeypatch.setattr("shutil.disk_usage", lambda path, free=free: type("Usage", (), {"free": free}))
        found = machine.check_disk(tmp_path / "not" / "yet" / "there")
        assert (found.state, found.advice is None) == (state, state == OK)
    assert machine.check_memory(10**9, 2 * 10**9).state == OK
    assert machine.check_memory(3 * 10**9, 2 * 10**9).state == BROKEN


def test_a_busy_machine_is_said_before_it_is_measured() -> None:
    assert machine.check_load_average(0.9, 2) is None
    busy = machine.check_load_average(3.0, 2)
    assert busy is not None and busy.state == WARNING and busy.advice
    assert "2.0 of 2 cores" in busy.text, "more than all cannot be busy"
