"""Cells of the terminal view: hostile names have no effect, absent figures are dashes, and every order sorts."""

from typing import Any

from service.top import app
from service.top.source import DatabaseView

HOSTILE = "\x1b[2J\u202eevil [bold red]" + "x" * 10_000


def state(**more: Any) -> dict[str, Any]:
    given = {"name": "erp1", "up": True, "severity": "info", "headline": "fine", "release": "19.0", "failure": None}
    return {**given, "data_age_seconds": 3.0, **more}


def view(**diagnosis: Any) -> DatabaseView:
    given = {
        "headline": HOSTILE,
        "steps": [{"step": HOSTILE, "statement": HOSTILE}],
        "findings": [],
        "who": [],
        "waiting": [],
    }
    child = {"child": 1, "cache": HOSTILE, "gets": 5.0, "sleeps": None}
    cache = {"cache": HOSTILE, "subordinate": 2, "gets": None}
    return DatabaseView(state(), {**given, **diagnosis}, {"children": [child]}, {"caches": [cache]})


def test_hostile_names_are_visible_and_bounded() -> None:
    waiter = {
        "event": HOSTILE,
        "cache": HOSTILE,
        "sessions": 1.5,
        "sql_id": None,
        "module": HOSTILE,
        "program": HOSTILE,
    }
    seen = view(who=[waiter])
    cells = [
        cell
        for row in (*app.child_rows(seen, "sleeps"), *app.cache_rows(seen, "gets"), *app.waiter_rows(seen))
        for cell in row
    ]
    cells += [cell for _, row in app.fleet_rows([state(headline=HOSTILE, release=HOSTILE)], "name") for cell in row]
    for text in (*cells, app.sentence(seen)):
        assert "\x1b" not in text.plain and "\u202e" not in text.plain and len(text.plain) <= app.LONGEST + 40
    assert "[U+001B]" in app.chain(seen).plain and "\x1b" not in app.chain(seen).plain
    assert any("[bold red]" in cell.plain for cell in cells), "markup from outside is text"


def test_fleet_says_elsewhere_where_another_wait_has_most_of_db_time() -> None:
    words = [app.graded(state(state=each)).plain for each in ("Fine", "Elsewhere")]
    assert words == ["fine", "elsewhere"] and app.graded(state(up=False, state="Elsewhere")).plain == "NO DATA"


def test_absent_figures_are_dashes_and_not_zero() -> None:
    (child,), (cache,) = app.child_rows(view(), "sleeps"), app.cache_rows(view(), "gets")
    assert [cell.plain for cell in child][2:] == ["–"] * 5
    assert [cell.plain for cell in cache][1:] == ["–"] * 6


def test_every_order_sorts_figures_that_may_be_absent() -> None:
    one, two = {"name": "a", "up": False, "severity": None}, {"name": "b", "up": True, "severity": "critical"}
    for orders, items in (
        (app.FLEET_ORDERS, [one, two]),
        (app.CHILD_ORDERS, [{"child": 2, "gets": 1.0, "sleeps": None}, {"child": 1, "sleeps": 4.0}]),
        (app.CACHE_ORDERS, [{"cache": "a", "gets": None}, {"cache": "b", "gets": 2.0}]),
    ):
        for name, key in orders.items():
            assert len(sorted(items, key=key)) == 2, name
    assert [one["name"] for one in sorted([one, two], key=app.FLEET_ORDERS["severity"])] == ["b", "a"]


def test_database_that_fails_tells_why_in_place_of_an_old_verdict() -> None:
    down = state(up=False, failure={"why": "ORA-01017: invalid username/password"})
    ((_, cells),) = app.fleet_rows([down], "severity")
    assert cells[0].plain == "NO DATA" and cells[4].plain.startswith("ORA-01017")


def test_sql_is_that_of_the_first_finding_that_has_one() -> None:
    assert app.sql_of(view()) is None
    assert app.sql_of(view(findings=[{"confirm": None}, {"confirm": {"sql": "select 1"}}])) == "select 1"


def test_missing_rows_say_why() -> None:
    empty = DatabaseView(state(), {"mechanism": "latch"}, {"missing": "v$latch_children: no grant"}, {"missing": None})
    assert app.why_empty(empty, "children") == "v$latch_children: no grant"
    assert app.why_empty(empty, "caches") == "Nothing was used in the last interval."
