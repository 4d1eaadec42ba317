"""A clock of SQL in another time zone than the host's gives no uptime and no age of a resize."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from collectors.clock import other_time_zone
from collectors.delta import since_startup
from collectors.model import Rows, Snapshot
from collectors.registry import collectors
from tests.collectors.scripted import poll_at
from tests.each import each

ZONE = {"name": "time_at_dbtimezone", "value": "USER_SQL", "con_id": 0}


def with_setting(row: Mapping[str, Any]) -> Snapshot:
    snapshot = poll_at("users-mutex", 30.0)
    rows = (*snapshot.rows("v$parameter"), row)
    return replace(snapshot, readings={**snapshot.readings, "v$parameter": Rows("v$parameter", rows)})


@each(
    "row",
    [ZONE, {**ZONE, "value": "DATABASE"}, {**ZONE, "name": "sysdate_at_dbtimezone", "value": "TRUE"}],
)
def test_uptime_is_unknown_where_a_parameter_moves_the_clock_of_sql(row: Mapping[str, Any]) -> None:
    moved = with_setting(row)
    assert other_time_zone([row], []) == f"{row['name']} = {row['value']}"
    assert moved.uptime_seconds is None and since_startup(moved).basis.kind == "totals"
    assert moved.taken_at is not None, "intervals are measured in UTC"


@each(
    "row",
    [{**ZONE, "value": "OFF"}, {**ZONE, "value": None}, {**ZONE, "con_id": 7}, {**ZONE, "name": "undo_retention"}],
)
def test_uptime_stays_where_nothing_moves_it(row: Mapping[str, Any]) -> None:
    assert with_setting(row).uptime_seconds == poll_at("users-mutex", 30.0).uptime_seconds is not None


def test_setting_of_ones_own_container_counts() -> None:
    assert other_time_zone([{**ZONE, "con_id": 3}], [{"con_id": 3}]) == "time_at_dbtimezone = USER_SQL"


@each("view", collectors())
def test_no_statement_computes_with_sysdate(view: str) -> None:
    """FIXED_DATE can hold it still; and where a parameter moves the clock, `other_time_zone` says so."""
    assert not any("sysdate " in text or "sysdate)" in text for text in collectors()[view].statements.values())
