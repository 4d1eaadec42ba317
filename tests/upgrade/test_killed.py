"""A store of the old release upgrades in place while it is polled, and is killed twice on the way: nothing is lost."""

import json
import signal
import sqlite3
from pathlib import Path

import pytest

from service.store.figures.rows import Tier
from service.store.repository import Repository
from tests.ports import free_port
from tests.service.cli.test_store import latchscope
from tests.service.running import answering
from tests.service.store.figures_in import figures_in
from tests.started import Started
from tests.upgrade.old import OldStore

OLD: dict[Tier, tuple[str, str]] = {
    "poll": ("deltas", "value, value"),
    "5m": ("five_minutes", "total, most"),
    "1h": ("hours", "total, most"),
}
ROLLED = ("five_minutes", "hours", "buckets")
GOES_ON = "select database_id from (select database_id, seconds, min(at) from polls group by 1) where seconds > 0"
"""Databases whose first poll goes on from one that is gone: polls before it would leave a gap."""
DAY = 86_400_000
Figure = tuple[str, int, tuple[str, str, str, bool]]
Figures = dict[Figure, tuple[float, float]]


def enlarge(file: Path, databases: int) -> list[str]:
    """Give the store so many databases, and each a day before the one it has; their names."""
    with sqlite3.connect(file) as connection:
        for table in ("unrolled", "deltas", "polls", *ROLLED):
            columns = [row[1] for row in connection.execute(f"pragma table_info({table})")]
            values = {name: name for name in columns} | {"at": f"at - {2 * DAY}"}
            rows = f"insert into {table} ({', '.join(columns)}) select "
            going_on = "" if table in ROLLED else f" where database_id not in ({GOES_ON})"
            connection.execute(rows + ", ".join(values.values()) + f" from {table}{going_on}")
            for number in range(4, databases + 1):
                values = {name: name for name in columns} | {"database_id": str(number)}
                source = f" from {table} where database_id = {(number - 1) % 3 + 1}"
                connection.execute(rows + ", ".join(values.values()) + source)
        connection.executemany(
            "insert into databases (id, name) values (?, ?)", [(n, f"db{n}") for n in range(4, databases + 1)]
        )
        names = [name for (name,) in connection.execute("select name from databases order by id")]
    connection.close()
    return names


def as_the_old_release_left_it(file: Path) -> dict[Tier, Figures]:
    """Every figure, by the old release's own tables; of roll-ups those that are not due to be made anew."""
    found: dict[Tier, Figures] = {}
    with sqlite3.connect(file) as connection:
        due = {row[:2] for row in connection.execute("select database_id, at from unrolled")}
        for tier, (table, values) in OLD.items():
            query = f"select name, at, view, key, column, gauge, database_id, {values} from {table}"
            rows = connection.execute(
                f"{query} join items on items.id = item_id join databases on databases.id = database_id"
            )
            found[tier] = {
                (name, at, (view, key, column, bool(gauge))): figures
                for name, at, view, key, column, gauge, number, *figures in ((*row[:7], tuple(row[7:])) for row in rows)
                for figures in figures
                if tier == "poll" or (number, at) not in due
            }
    connection.close()
    return found


@pytest.mark.soak
@pytest.mark.parametrize("old", ["sqlite"], indirect=True)
@pytest.mark.parametrize("databases", [4, 20])
def test_upgrade_that_is_polled_and_killed_twice_loses_nothing(old: OldStore, databases: int, tmp_path: Path) -> None:
    file = tmp_path / "store.sqlite"
    names = enlarge(file, databases)
    before = as_the_old_release_left_it(file)
    hours, port, log = old.rows("hours"), free_port(), tmp_path / "stderr.txt"
    config = {
        "listen": f"127.0.0.1:{port}",
        "store": old.url,
        "history": dict.fromkeys(("polls", "five_minutes", "hourly", "snapshots", "diagnoses", "episodes"), 3e9),
        "databases": [{"name": name, "dsn": "demo:undo-storm", "interval": 2} for name in names],
    }
    (tmp_path / "served.yaml").write_text(json.dumps(config))
    confirmed: set[tuple[int, int]] = set()

    def polls() -> set[tuple[int, int]]:
        with sqlite3.connect(file, timeout=60) as connection:
            rows = set(connection.execute("select database_id, at from polls"))
        connection.close()
        return rows

    for left in (hours - 1, hours // 2, 0):
        known = polls()
        process = Started("-m", "service", "serve", "--config", str(tmp_path / "served.yaml"), errors=log)
        with answering(process, port, log) as running:
            running.wait(lambda left=left: old.rows("old_hours") <= left, 600.0)  # type: ignore[misc]
            running.wait(lambda known=known: len(polls() - known) >= 2 * databases)  # type: ignore[misc]
            confirmed |= polls()
            if left:
                assert old.rows("old_hours") > 0, "it is killed while it converts"
            running.stop(signal.SIGKILL if left else signal.SIGTERM)
    lost = confirmed - polls()
    store = Repository(old.url)
    for tier, figures in before.items():
        after: Figures = {(name, at, item): (total, most) for name, at, item, total, most in figures_in(store, tier)}
        wrong = {which: after.get(which) for which, told in figures.items() if after.get(which) != pytest.approx(told)}
        assert not wrong, f"{tier}: {len(wrong)} of {len(figures)}, such as {next(iter(wrong.items()))}"
    store.close()
    assert not lost
    told = latchscope(tmp_path, old.url, "check")
    assert (told.exit_code, told.stderr) == (0, "the store is whole\n")
    figures = {tier: len(rows) for tier, rows in before.items()}
    print(f"{databases} databases, {figures} old figures, {len(confirmed)} polls confirmed, 2 kills, 0 lost")  # noqa: T201  figures for `make soak`
