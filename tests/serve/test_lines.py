"""What readers get: whole lines in their newest form, each once, also late, slow, interrupted or filtered."""

from __future__ import annotations

import itertools
import json
import re
import socket
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.config import Settings
from livetrans.events import Gap, NameCorrected, Record, RunEnded, RunStarted, SettingChanged
from livetrans.serve import connection as connection_module
from livetrans.serve import lines as module
from livetrans.serve.lines import SharedLines, StreamQuery

from .reader import Reader, caption, connect, request, served

DOC = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")


def fed(*records: Record) -> SharedLines:
    shared = SharedLines()
    for record in records:
        shared.write(record)
    return shared


def events_of(data: bytes) -> list[tuple[str, dict[str, object]]]:
    found = re.findall(r"event: (\w+)\n(?:id: .*\n)?data: (.*)\n\n", data.decode())
    return [(kind, json.loads(values)) for kind, values in found]


def texts(shared: SharedLines, wanted: StreamQuery | None = None) -> list[object]:
    wanted = wanted or StreamQuery()
    data, _ = shared.since(shared.position_of(wanted), wanted, 1_000_000)
    return [values["text"] for kind, values in events_of(data) if kind == "caption"]


def finals(count: int, language: str = "de") -> list[Record]:
    return [caption(number, f"{language} {number}", final=True, language=language) for number in range(count)]


def test_a_late_reader_gets_the_last_lines_and_the_current_one() -> None:
    shared = fed(*finals(60), caption(60, "it grows"))
    assert texts(shared, StreamQuery(last=3)) == ["de 57", "de 58", "de 59", "it grows"]
    assert len(texts(shared)) == 51
    assert texts(shared, StreamQuery(last=0)) == ["it grows"]
    two = fed(caption(0, "still speaking", track="them"), *finals(3)[1:])
    assert texts(two, StreamQuery(last=0)) == ["still speaking"]
    assert texts(two, StreamQuery(last=1)) == ["still speaking", "de 2"]
    assert texts(shared, StreamQuery(last=1, finals=True)) == ["de 59"]


def test_a_corrected_line_is_as_old_as_before() -> None:
    shared = fed(*finals(60))
    wanted = StreamQuery(last=3)
    _, reached = shared.since(shared.position_of(wanted), wanted, 1_000_000)
    shared.write(Record(9.0, NameCorrected("good", "good", "Vineela")))
    news, _ = shared.since(reached, wanted, 1_000_000)
    assert [(values["text"], values["source"]) for _, values in events_of(news)] == [
        (f"de {number}", "Vineela") for number in (57, 58, 59)
    ]
    shared.write(caption(60, "newest", final=True))
    assert texts(shared, wanted) == ["de 58", "de 59", "newest"]


def test_languages_have_lines_of_their_own_and_a_filter() -> None:
    shared = fed(*itertools.chain(*zip(finals(3), finals(3, "fr"), strict=True)), Record(9.0, Gap(1, 2, "sleep")))
    assert texts(shared) == ["de 0", "fr 0", "de 1", "fr 1", "de 2", "fr 2"]
    assert texts(shared, StreamQuery(frozenset({"fr"}), last=3)) == ["fr 1", "fr 2"]  # the gap is the third


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINES_KEPT", 5)
    assert texts(fed(*finals(20))) == [f"de {number}" for number in range(15, 20)]


@given(
    changes=st.lists(
        st.tuples(st.integers(0, 3), st.text("ab", max_size=2), st.booleans(), st.integers(0, 5)), max_size=30
    ),
    size=st.sampled_from([1, 200, 100_000]),
)
def test_whoever_reads_when_has_the_same_lines_in_the_end(changes: list[tuple[int, str, bool, int]], size: int) -> None:
    """A reader that takes what it can get, whenever, has the newest form of each line, and gets no final twice."""
    shared, wanted = SharedLines(), StreamQuery()
    reached = shared.position_of(wanted)
    held: dict[object, dict[str, object]] = {}
    newest: dict[int, tuple[str, bool]] = {}
    finished: set[int] = set()

    def read(times: int) -> None:
        nonlocal reached
        for _ in range(times):
            data, reached = shared.since(reached, wanted, size)
            for _, values in events_of(data):
                assert not held.get(values["line"], {}).get("final")
                held[values["line"]] = values

    for segment, text, final, reads in changes:
        shared.write(caption(segment, text, final=final))
        if (text or segment in newest) and segment not in finished:
            newest[segment] = text, final
        finished |= {segment} if final else set()
        read(reads)
    read(len(changes) + 1)
    assert {line["segment_id"]: (line["text"], line["final"]) for line in held.values()} == newest
    whole = events_of(shared.since(shared.position_of(StreamQuery(last=2000)), StreamQuery(last=2000), 1_000_000)[0])
    assert held == {values["line"]: values for _, values in whole}


def test_the_state_follows_the_run() -> None:
    with served() as server, Reader(server) as reader:
        shared = server.lines
        reader.until_state("loading")
        shared.write(Record(0.0, RunStarted({}, Settings(sources=("en",), targets=("de", "fr")))))
        assert reader.until_state("listening").state["targets"] == ["de", "fr"]
        shared.write(Record(0.0, SettingChanged("paused", True)))
        reader.until_state("paused")
        shared.write(Record(0.0, SettingChanged("to", "fr")))
        reader.read_event()
        assert (reader.state["state"], reader.state["targets"]) == ("paused", ["fr", "de"])
        shared.write(Record(0.0, RunEnded(1.0, "stopped")))
        shared.close()
        reader.until_state("ended")
        with Reader(server) as late:
            assert late.until_state("ended").state["run"] == shared.run


def test_a_reader_that_was_cut_off_gets_the_rest_and_nothing_twice() -> None:
    with served() as server:
        for record in finals(5):
            server.lines.write(record)
        reader = Reader(server, "?last=2").until("de 4")
        assert reader.texts == ["de 3", "de 4"]
        server.lines.write(caption(5, "half"))
        reader.until("half").close()
        for record in [caption(5, "half a sentence", final=True), *(caption(n, f"de {n}", final=True) for n in (6, 7))]:
            server.lines.write(record)
        reader.open(server, "?last=2")
        assert reader.until("de 7").texts == ["de 3", "de 4", "half a sentence", "de 6", "de 7"]


def test_the_end_of_a_run_ends_the_stream_whole() -> None:
    """Browsers drop the last lines of an answer that is cut."""
    with served() as server, connect(server) as reader:
        reader.sendall(request(server, "captions"))
        received = reader.recv(65536)
        server.lines.write(caption(0, "the end", final=True))
        server.stop()
        while part := reader.recv(65536):
            received += part
    assert b"the end" in received and received.endswith(b"\r\n0\r\n\r\n")


def test_a_slow_reader_gets_the_last_lines_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "LAST_SECONDS", 20)
    with served() as server, connect(server) as slow:
        slow.sendall(request(server, "captions"))
        received = slow.recv(1000)
        for number in range(400):
            server.lines.write(caption(number, "wort " * 1000, final=True))
        server.lines.write(caption(400, "the end", final=True))
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        stopping.join(0.2)
        while part := slow.recv(65536):
            received += part
        stopping.join()
    assert b"the end" in received and received.endswith(b"\r\n0\r\n\r\n")


def test_an_id_of_another_run_gets_all_lines_of_this_one() -> None:
    with served() as server:
        for record in finals(60):
            server.lines.write(record)
        with Reader(server, "?last=1", "00000000-99") as reader:
            assert len(reader.until("de 59").texts) == 60
        with Reader(server, f"?last=1&after={server.lines.run}-58") as reader:
            assert reader.until("de 59").texts == ["de 58", "de 59"]
        for wrong in (f"{server.lines.run}-999", f"{server.lines.run}-x", "-1", "\u00e4"):
            with Reader(server, "?last=1", wrong) as reader:
                assert reader.until("de 59").texts == ["de 59"]


def test_a_slow_reader_gets_the_newest_state_and_not_a_queue() -> None:
    with served() as server:
        slow = connect(server)
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(request(server, "captions"))
        long = "wort " * 400
        with Reader(server) as prompt:
            for number in range(1000):
                server.lines.write(caption(0, f"{long}{number}"))
            server.lines.write(caption(0, "the end", final=True))
            prompt.until("the end")
        slow.settimeout(20)
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        received = b""
        while b"the end" not in received:
            received += slow.recv(65536)
        slow.close()
        # Of 1000 forms of 2 kB it got what had been on its way, and the last one.
        assert received.count(b"event: caption") < 250


def test_every_field_is_documented() -> None:
    shared = fed(caption(0, "text"), Record(1.0, Gap(1.0, 2.0, "sleep")))
    state, reached = shared.state_frame, shared.position_of(StreamQuery())
    found = dict(events_of(state + shared.since(reached, StreamQuery(), 10_000)[0]))
    sections = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^##|\Z)", DOC, re.M | re.S))
    assert found.keys() == sections.keys()
    for kind, section in sections.items():
        items = re.findall(r"^- ((?:`\w+`(?:,\s+)?)+):", section, re.M)
        assert sorted(re.findall(r"\w+", " ".join(items))) == sorted(found[kind])
        for example in re.findall(r"^```json\n(.*?)\n```$", section, re.M | re.S):
            assert list(json.loads(example)) == list(found[kind])
