"""The second generator: the same for ever, and sound as physics. What the product makes of it is judged elsewhere."""

from itertools import pairwise

import pytest

from collectors.capture import delta_of
from collectors.model import ColumnKind, Delta
from collectors.registry import collectors
from tests.second.feed import capture
from tests.second.instances import BOUNDS, COUNT, REFUSED, Instance, digest, draw, instances
from tests.second.shown import Row

FEW = 30
FROZEN = {
    FEW: "feba5bbddd8ae15e87d9b6a2afdbab73ae72ff7e618c222570b3b108b605ea50",
    COUNT: "f6911d07a4e1207b91cb6e01500eed92f8fd5636489b70be36b3de539233a6fc",
}
"""How many from the first on → their hash. It was fixed before the product was first judged by them."""


def grown(instance: Instance, view: str, column: str, **of: object) -> float:
    """How much a counter grew from the first poll to the last, over the rows that have these cells."""

    def total(rows: list[Row]) -> float:
        return sum(row[column] or 0 for row in rows if all(row[name] == cell for name, cell in of.items()))

    first, last = instance.polls[0].views.get(view, []), instance.polls[-1].views.get(view, [])
    return total(last) - total(first)


def check(instance: Instance) -> None:
    """Counters never fall, each miss is a get, each sleep a miss, and what two views tell of one thing agrees."""
    for before, after in pairwise(instance.polls):
        for view in after.views.keys() & collectors().keys():
            key, counters = collectors()[view].key, collectors()[view].counters
            old = {tuple(row.get(name) for name in key): row for row in before.views.get(view, [])}
            for row in after.views[view] if counters else []:
                was = old.get(tuple(row.get(name) for name in key), {})
                assert all((row[name] or 0) >= (was.get(name) or 0) >= 0 for name in counters if name in row), (
                    view,
                    row,
                )
    shown = instance.polls[-1].views
    for row in (*shown.get("v$latch_children", []), *shown["v$latch"]):
        assert row["sleeps"] <= row["misses"] <= row["gets"], row
    for row in shown["v$rowcache"]:
        assert row["getmisses"] <= row["gets"] and row["usage"] <= row["count"], row
    _waits(instance)
    _truth(instance)


def _waits(instance: Instance) -> None:
    event = "latch: row cache objects" if shown_by_latch(instance) else "row cache mutex"
    view = "v$latch_children" if shown_by_latch(instance) else "v$mutex_sleep"
    if view not in instance.refused:
        slept = grown(instance, view, "wait_time")
        told = grown(instance, "v$system_event", "time_waited_micro", event=event)
        assert told == pytest.approx(slept, rel=0.01, abs=2e4)
    if shown_by_latch(instance):
        name = "row cache objects"
        sleeps = grown(instance, "v$latch_children", "sleeps")
        assert grown(instance, "v$latch", "sleeps", name=name) == sleeps
        if "v$latch_misses" not in instance.refused:
            for side in ("sleep_count", "wtr_slp_count"):
                assert grown(instance, "v$latch_misses", side, parent_name=name) == pytest.approx(
                    sleeps, rel=0.01, abs=150
                )
    if not {"v$sys_time_model", "v$osstat"} & {*instance.refused}:
        whole = grown(instance, "v$sys_time_model", "value", stat_name="DB time")
        parts = grown(instance, "v$system_event", "time_waited_micro_fg")
        assert parts <= whole * 1.01 + 1e5
        assert grown(instance, "v$sys_time_model", "value", stat_name="DB CPU") <= whole
        cpus = next(row["level_now"] for row in instance.polls[0].views["v$osstat"] if row["stat_name"] == "NUM_CPUS")
        used = grown(instance, "v$osstat", "total", stat_name="BUSY_TIME") + grown(
            instance, "v$osstat", "total", stat_name="IDLE_TIME"
        )
        assert used == pytest.approx(cpus * 100 * (instance.polls[-1].at - instance.polls[0].at), abs=10)


def shown_by_latch(instance: Instance) -> bool:
    return instance.family in ("11.2", "12.1")


def _truth(instance: Instance) -> None:
    caches = [cache for told in instance.truth for cache in told.caches]
    names = {row["parameter"] for row in instance.polls[0].views["v$rowcache"]}
    assert set(caches) <= names and sum(told.share for told in instance.truth) <= 1.001
    assert instance.lacking in ("", *REFUSED)
    if instance.kind in ("pair", "three"):
        assert len(instance.truth) == {"pair": 2, "three": 3}[instance.kind]
        assert len(caches) == len(set(caches)), "caches of two causes are the same"
        assert all(told.share >= 0.02 for told in instance.truth)
    if instance.kind == "hang":
        waiting = instance.polls[-1].views.get("waiting_sessions", [])
        assert instance.hangs and ("waiting_sessions" in instance.refused) != bool(waiting)
    else:
        assert instance.severity == next(word for bound, word in BOUNDS if instance.lost >= bound)
    if instance.kind == "healthy":
        assert not instance.truth and instance.severity == "none"


def test_first_few_are_what_they_were() -> None:
    assert digest(0, FEW)[0] == FROZEN[FEW]


def test_physics_of_the_first_few() -> None:
    for instance in instances(0, FEW):
        check(instance)


@pytest.mark.parametrize("seed", [2, 5, 18, 25, 41])
def test_collectors_read_it(seed: int) -> None:
    instance = draw(seed)
    delta = delta_of(capture(instance))
    assert isinstance(delta, Delta) and not delta.oddities
    mapped = {row["cache#"] for row in delta.rows("x$kqrst")}
    assert mapped or not shown_by_latch(instance) or "x$kqrst" in instance.refused
    kinds = {column.name: column.kind for column in collectors()["v$rowcache"].columns}
    grew = [row["gets"] for row in delta.rows("v$rowcache")]
    assert kinds["gets"] is ColumnKind.COUNTER and sum(grew) == grown(instance, "v$rowcache", "gets")


@pytest.mark.slow
def test_all_are_what_they_were_and_are_sound() -> None:
    told, counted = digest()
    assert told == FROZEN[COUNT]
    assert sum(count for name, count in counted.items() if name.startswith("kind")) == COUNT
    for instance in instances():
        check(instance)
        assert not delta_of(capture(instance)).oddities
