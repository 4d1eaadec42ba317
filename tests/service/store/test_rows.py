"""Numbers of databases: a number stays, and may be large."""

from service.store.repository import Repository
from tests.service.stage import BEGAN, Stage
from tests.service.store.test_snapshots import DB, LATE, keep
from tests.service.stores import Place


def test_number_once_given_stays_and_may_be_large(store: Repository, stage: Stage, place: Place) -> None:
    place.execute("insert into databases (id, name) values (100000, 'undo-storm')")
    keep(store, stage, 40, 42)
    assert store.names.all() == {"undo-storm": 100000}
    assert len(store.history.page(DB, ("gets",), BEGAN, LATE, "poll")) == 2
    numbers = store.names.databases(["a", "b"])
    assert len({*numbers.values()}) == 2
    store.names.forget()
    assert store.names.databases(["b", "a"]) == numbers and store.names.database("c") is None
