"""A connection inside a PDB: no share of DB time, waiting sessions grade the waits, and the diagnosis says so."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from collectors.model import Row
from rules.contention.readings import NotPredictable, active_sessions
from rules.engine import diagnose
from rules.model import Known, Severity, Unknown
from rules.signals import SIGNALS, Subject
from tests.each import each
from tests.rules.contexts import context_of, delta_of


def views(con_id: int | None, **more: Any) -> Mapping[str, Sequence[Row]]:
    """A 19c instance whose sessions wait 60 s for row cache mutexes in 30 s, of 90 s of DB time."""
    place = [] if con_id is None else [{"db_unique_name": "erp", "con_id": con_id, "con_name": "SALES"}]
    waited = more.get("waited", 60e6)
    return {
        "sys_context": place,
        "v$event_name": [{"name": "row cache mutex"}, {"name": "row cache lock"}],
        "v$sys_time_model": [
            {"stat_name": "DB time", "value": 90e6},
            {"stat_name": "parse time elapsed", "value": 9e6},
        ],
        "v$system_event": [
            {
                "event": "row cache mutex",
                "total_waits": 6e4,
                "time_waited_micro": waited,
                "time_waited_micro_fg": waited,
            },
        ],
        "v$mutex_sleep": [
            {"mutex_type": "Row Cache", "location": "[19] kqrpre", "sleeps": 9e5, "wait_time": more.get("slept", 6e7)}
        ],
        "v$latch": [{"name": "Result Cache: RC Latch", "wait_time": 3e4, "gets": 9, "misses": 9, "sleeps": 900}],
        "v$latchname": [{"latch#": 461, "name": "Result Cache: RC Latch"}],
    }


@each("con_id", [None, 0, 1])
def test_root_and_databases_without_containers_have_shares(con_id: int | None) -> None:
    got = diagnose(delta_of(views(con_id), release="19.0.0.0.0"))
    assert got.impact is not None and got.impact.share_of_db_time == pytest.approx(60 / 90)
    assert not any("inside the PDB" in note for note in got.notes)


def test_pdb_has_waiting_sessions_and_no_share() -> None:
    got = diagnose(delta_of(views(3), release="19.0.0.0.0"))
    assert got.impact is not None
    assert (got.impact.share_of_db_time, got.impact.waiting_sessions) == (None, pytest.approx(2.0))
    assert got.severity is Severity.WARNING, "two waiting sessions, where two thirds of DB time would be critical"
    assert all(one.share_of_db_time is None for one in (*got.surfaces, *got.troubles)) and got.surfaces
    (note,) = (note for note in got.notes if "inside the PDB SALES" in note)
    assert "those of the whole CDB" in note and "no share of DB time" in note
    assert "% of DB time" not in got.headline


@each("name", ["row_cache_share_of_db_time", "result_cache_share_of_db_time"])
def test_share_that_mixes_two_bases_is_unknown_in_a_pdb(name: str) -> None:
    inside = SIGNALS[name].read(context_of(views(3), release="19.0.0.0.0"), Subject())
    assert isinstance(inside, Unknown) and "whole CDB" in inside.why and "CDB$ROOT" in inside.way_out
    assert isinstance(SIGNALS[name].read(context_of(views(1), release="19.0.0.0.0"), Subject()), Known)


def test_share_of_one_base_stays() -> None:
    context = context_of(views(3), release="19.0.0.0.0")
    assert isinstance(SIGNALS["parse_share_of_db_time"].read(context, Subject()), Known)


def test_contention_of_the_whole_is_not_predicted_from_the_sessions_of_a_pdb() -> None:
    with pytest.raises(NotPredictable, match="inside a PDB"):
        active_sessions(context_of(views(3), release="19.0.0.0.0"))


def test_sleeps_of_other_containers_are_not_passed_over() -> None:
    others = diagnose(delta_of(views(3, waited=2e5, slept=1.5e9), release="19.0.0.0.0"))
    assert any("the trouble may be in another container" in note for note in others.notes)
    own = diagnose(delta_of(views(3), release="19.0.0.0.0"))
    assert not any("another container" in note for note in own.notes)


def test_few_waiting_sessions_of_a_pdb_cost_nothing_and_are_not_open() -> None:
    got = diagnose(delta_of(views(3, waited=9e5, slept=9e5), release="19.0.0.0.0"))
    assert got.severity is Severity.INFO, got.headline
