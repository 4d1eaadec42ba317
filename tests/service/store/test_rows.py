"""Names by number: nobody reads the whole table of items, and the writer waits for no reader."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread, current_thread
from typing import Any

import pytest
from sqlalchemy import event

from service.store.record import SampleItem
from service.store.repository import Repository
from service.store.series import SeriesSelector
from tests.service.stage import BEGAN, Stage
from tests.service.store.test_series import DB, LATE, keep
from tests.service.stores import Place

MANY = 25_000
SLEEPS = SeriesSelector("v$latch_children", "sleeps")


def crowd(place: Place) -> None:
    """As many items as 5,000 children of another database make."""
    numbers = f"with recursive c(n) as (select 1 union all select n + 1 from c where n < {MANY})"
    values = "'v$latch_children', '{\"child#\":' || n || '}', 'sleeps', '0'"
    place.execute(
        f'insert into items (view, key, "column", gauge) {numbers} select {values} from c'.replace("'0'", "n < 0")
    )


@contextmanager
def questions(store: Repository) -> Iterator[list[tuple[str, Any]]]:
    """The statements that select only rows of items, with their parameters."""
    asked: list[tuple[str, Any]] = []

    def heard(connection: Any, cursor: Any, statement: str, parameters: Any, *rest: Any) -> None:
        if "FROM items" in statement and "JOIN" not in statement:
            asked.append((statement, parameters))

    event.listen(store.engine, "before_cursor_execute", heard)
    try:
        yield asked
    finally:
        event.remove(store.engine, "before_cursor_execute", heard)


def rows_of(store: Repository, asked: list[tuple[str, Any]]) -> int:
    with store.engine.connect() as connection:
        return sum(len(connection.exec_driver_sql(statement, parameters).all()) for statement, parameters in asked)


def test_page_and_writer_ask_for_the_items_of_their_polls_alone(store: Repository, stage: Stage, place: Place) -> None:
    keep(store, stage, 40, 42)
    crowd(place)
    there = place.execute("select count(*) from items")[0][0]
    fresh = Repository(place.url)
    with questions(fresh) as asked:
        found = fresh.history.points(DB, [SLEEPS], BEGAN, LATE, "poll")
    assert found.series
    assert 0 < rows_of(fresh, asked) <= there - MANY
    with questions(fresh) as again:
        fresh.history.points(DB, [SLEEPS], BEGAN, LATE, "poll")
    assert rows_of(fresh, again) == 0, "a known name is not read again"
    fresh.close()
    fresh = Repository(place.url)
    with questions(fresh) as asked:
        keep(fresh, stage, 120)
    added = place.execute("select count(*) from items")[0][0] - there
    assert 0 < rows_of(fresh, asked) <= 2 * (there - MANY + added)
    fresh.close()


def test_writer_does_not_wait_for_a_reader(store: Repository, stage: Stage, place: Place) -> None:
    keep(store, stage, 40, 42)
    reads, go_on = Event(), Event()
    fresh = Repository(place.url)

    def hang(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        if current_thread().name == "reader" and "items" in statement:
            reads.set()
            go_on.wait(60)

    event.listen(fresh.engine, "before_cursor_execute", hang)
    reader = Thread(target=lambda: fresh.history.points(DB, [SLEEPS], BEGAN, LATE, "poll"), name="reader")
    writer = Thread(target=lambda: keep(fresh, stage, 44), name="writer")
    try:
        reader.start()
        assert reads.wait(30)
        writer.start()
        writer.join(20)
        assert not writer.is_alive(), "the reader is in the middle of its query, and the writer waits for it"
    finally:
        go_on.set()
        reader.join()
        writer.join()
        fresh.close()
    assert place.execute("select count(*) from polls") == [(3,)]


def test_number_of_a_database_may_be_large_and_an_unknown_one_is_left_out(
    store: Repository, stage: Stage, place: Place
) -> None:
    place.execute("insert into databases (id, name) values (100000, 'undo-storm')")
    keep(store, stage, 40, 42)
    assert store.names.all_databases() == {100000: "undo-storm"}
    assert store.history.points(DB, [SLEEPS], BEGAN, LATE, "poll").series
    assert store.names.named([10**6]) == {}


@pytest.mark.parametrize("first", ["databases", "items"])
def test_number_once_given_stays(store: Repository, first: str) -> None:
    wanted: Any = {"databases": {"a", "b"}, "items": {("v", "{}", "c", False), ("v", "{}", "d", True)}}[first]
    give = getattr(store.names, first)
    numbers = {name: give(wanted)[name] for name in wanted}
    assert len(set(numbers.values())) == 2
    store.names.forget()
    assert {name: give(wanted)[name] for name in wanted} == numbers


def test_names_without_an_end_are_remembered_within_a_bound(store: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.store.rows.MOST_KNOWN", 20)
    given = dict[SampleItem, int]()
    for number in range(50):
        poll: list[SampleItem] = [("v$rowcache", f"name {number} {part}", "gets", False) for part in range(3)]
        (numbers,) = store.names.numbers([[*given][:2] + poll])
        assert numbers[:-3] == [*given.values()][:2], "one that was forgotten comes back from the store with its number"
        given |= zip(poll, numbers[-3:], strict=True)
        assert store.names.named(numbers[-3:]) == {given[item]: item for item in poll}
        assert len(store.names._numbers) < 20 + 5 and len(store.names._items) < 20 + 3
    assert len({*given.values()}) == 150


def test_names_are_asked_for_in_a_few_texts_however_many_they_are(store: Repository) -> None:
    """Every connection keeps the statements that it has prepared, and a long one takes 100 KB."""
    with questions(store) as asked:
        for many in range(1, 120, 4):
            items: set[SampleItem] = {("v$rowcache", f"name {many} {part}", "gets", False) for part in range(many)}
            numbers = store.names.items(items)
            given = {numbers[item]: item for item in items}
            store.names._items.clear()
            assert store.names.named(given) == given
    assert len(asked) > 50 and len({statement for statement, _ in asked}) <= 2 * 8
