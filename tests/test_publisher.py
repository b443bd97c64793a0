"""One order of records for every sink, whatever a sink does while it is written to."""

from __future__ import annotations

from livetrans.clock import ManualClock
from livetrans.events import Event, Notice, Record
from livetrans.publisher import Publisher


class Kept:
    def __init__(self) -> None:
        self.records: list[Record] = []
        self.closed = False

    def write(self, record: Record) -> None:
        self.records.append(record)

    def close(self) -> None:
        self.closed = True


class Talkative(Kept):
    """Publishes a notice of its own for each one that it sees for the first time."""

    def __init__(self) -> None:
        super().__init__()
        self.publish: Publisher | None = None

    def write(self, record: Record) -> None:
        super().write(record)
        if self.publish and isinstance(record.event, Notice) and record.event.level == "info":
            self.publish(Notice("warning", f"seen {record.event.text}"))


class Broken(Kept):
    def write(self, record: Record) -> None:
        raise OSError("full")

    def close(self) -> None:
        raise OSError("still full")


def _texts(kept: Kept) -> list[str]:
    return [record.event.text for record in kept.records if isinstance(record.event, Notice)]


def test_what_a_sink_publishes_comes_after_the_record_in_hand() -> None:
    clock = ManualClock()
    talkative, other = Talkative(), Kept()
    publish = Publisher(clock, [talkative, other], lambda error: None)
    talkative.publish = publish
    events: list[Event] = [Notice("info", "one"), Notice("info", "two")]
    for event in events:
        clock.advance(1.0)
        publish(event)
    assert _texts(talkative) == _texts(other) == ["one", "seen one", "two", "seen two"]
    instants = [record.at for record in other.records]
    assert instants == sorted(instants)


def test_a_sink_that_fails_is_dropped_told_once_and_spares_the_others() -> None:
    failures: list[BaseException] = []
    broken, other = Broken(), Kept()
    publish = Publisher(ManualClock(), [broken, other], failures.append)
    publish(Notice("info", "one"))
    publish(Notice("info", "two"))
    assert _texts(other) == ["one", "two"]
    assert [str(error) for error in failures] == ["full"]


def test_every_sink_is_closed_also_after_one_that_cannot() -> None:
    failures: list[BaseException] = []
    other = Kept()
    Publisher(ManualClock(), [Broken(), other], failures.append).close()
    assert other.closed
    assert [str(error) for error in failures] == ["still full"]
