"""A finding's words about its confirming query: where a number was read, what it proves, and what keeps it from running."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from collectors.model import Changes, ConfirmationResult, Delta, Missing
from rules.cause import catalogue
from rules.judge import confirmation_of, confirmed, confirms, obstacle, seen
from rules.remedy import Confirmation, Query
from tests.rules.contexts import delta_of, no_grant

SEQUENCES = catalogue()["sequence-nocache"]
QUERY = Query(
    sql={"11.2": "select count(*) from dba_users", "12.1": "select count(*) from cdb_users"},
    reads=("dba_users", "cdb_users"),
    reading="Users.",
    needs=">= 1",
)


def asked_in(
    container: str | None, con_id: int | None, results: Mapping[str, ConfirmationResult] | None = None, **refused: str
) -> Delta:
    """An interval of 19c, polled in a container; views that the user may not read."""
    delta = replace(delta_of(), release="19.0.0.0.0", confirmations=dict(results or {}))
    place = Changes("sys_context", ({"db_unique_name": "ERP", "con_id": con_id, "con_name": container},))
    closed: dict[str, Changes | Missing] = {view: no_grant(view) for view in refused.values()}
    return replace(delta, readings={**delta.readings, **({"sys_context": place} if container else {}), **closed})


def of(delta: Delta, cause: str = "sequence-nocache") -> Confirmation:
    confirmation = confirmation_of(catalogue()[cause], delta)
    assert confirmation is not None
    return confirmation


ROOT, PDB = ("CDB$ROOT", 1), ("ERP1", 3)


def test_text_is_that_of_the_release_and_reads_all_containers() -> None:
    assert "from cdb_sequences" in of(asked_in(*ROOT)).sql and "con_id" in (of(asked_in(*ROOT)).names_sql or "")
    old = replace(asked_in(None, None), release="11.2.0.4.0")
    assert "from dba_sequences" in of(old).sql and "con_id" not in (of(old).names_sql or "")


@pytest.mark.parametrize(
    ("place", "value", "proves"),
    [(ROOT, 0.0, False), (PDB, 0.0, None), (PDB, 3.0, True), (ROOT, 3.0, True), ((None, None), 0.0, None)],
)
def test_number_that_misses_the_bound_speaks_only_for_the_containers_it_saw(
    place: tuple[str | None, int | None], value: float, proves: bool | None
) -> None:
    delta = asked_in(*ROOT, {"sequence-nocache": ConfirmationResult(value, *place)})
    if place[1] is None:
        delta = replace(delta, readings={name: view for name, view in delta.readings.items() if name != "sys_context"})
    assert confirmed(SEQUENCES, delta) is proves
    assert of(delta).confirms is proves


def test_result_without_a_container_was_read_where_the_polls_are() -> None:
    given = {"sequence-nocache": ConfirmationResult(0.0)}
    assert confirmed(SEQUENCES, asked_in(*ROOT, given)) is False
    assert confirmed(SEQUENCES, asked_in(*PDB, given)) is None
    assert of(asked_in(*PDB, given)).seen == "in PDB ERP1 only"


@pytest.mark.parametrize(
    ("reads", "place", "told"),
    [
        ("cdb_users", ROOT, "in CDB$ROOT, over all containers"),
        ("cdb_users", PDB, "in PDB ERP1 only"),
        ("audit_unified_enabled_policies", ROOT, "in CDB$ROOT only"),
        ("v$osstat", PDB, "in PDB ERP1, of the whole instance"),
        ("cdb_users", ("ERP", 0), None),
        ("cdb_users", (None, None), None),
    ],
)
def test_seen_names_the_container_and_how_far_it_sees(
    reads: str, place: tuple[str | None, int | None], told: str | None
) -> None:
    query = Query(sql=f"select count(*) from {reads}", reads=(reads,), reading="Rows.")
    assert seen(query, "19.0.0.0.0", *place) == told


def test_query_without_a_bound_confirms_nothing() -> None:
    free = QUERY.model_copy(update={"needs": None})
    assert confirms(free, "19", ConfirmationResult(5.0), 1) is None
    assert confirms(QUERY, "19", ConfirmationResult(5.0), 1) is True


def test_nothing_stands_in_the_way_where_nothing_is_known() -> None:
    assert of(asked_in(*ROOT)).obstacle is None


def test_obstacle_of_a_refusal_names_the_view_and_the_grant() -> None:
    given = {"sequence-nocache": ConfirmationResult(None, refused=("cdb_sequences",))}
    told = of(asked_in(*ROOT, given))
    assert told.obstacle == "needs read or select on cdb_sequences; `latchscope grants --confirm` prints the grant"
    assert (told.result, told.seen, told.confirms) == (None, None, None)
    assert confirmed(SEQUENCES, asked_in(*ROOT, given)) is None


def test_obstacle_is_shared_by_the_causes_that_read_the_refused_view() -> None:
    given = {"sequence-conflicts": ConfirmationResult(None, refused=("cdb_sequences",))}
    assert of(asked_in(*ROOT, given)).obstacle is not None
    assert of(asked_in(*ROOT, given), "undo-segment-floor").obstacle is None


def test_refusal_of_one_of_several_views_closes_none_of_them_to_others() -> None:
    given = {"other": ConfirmationResult(None, refused=("cdb_sequences", "cdb_users"))}
    assert of(asked_in(*ROOT, given)).obstacle is None


def test_view_that_the_polls_may_not_read_is_an_obstacle() -> None:
    told = of(asked_in(*ROOT, view="v$osstat"), "starved-host")
    assert told.obstacle == "needs read or select on v$osstat; `latchscope grants --confirm` prints the grant"


def test_number_that_came_leaves_no_obstacle() -> None:
    given = {
        "sequence-nocache": ConfirmationResult(3.0, *ROOT),
        "sequence-conflicts": ConfirmationResult(None, refused=("cdb_sequences",)),
    }
    assert of(asked_in(*ROOT, given)).obstacle is None


def test_obstacle_tells_that_a_number_means_nothing_inside_a_pdb() -> None:
    assert of(asked_in(*PDB), "cdb-services").obstacle == (
        "inside the PDB ERP1 its number means nothing; run it in CDB$ROOT"
    )
    assert of(asked_in(*ROOT), "cdb-services").obstacle is None


def test_obstacle_tells_the_releases_a_text_is_for() -> None:
    old = replace(asked_in(None, None), release="11.1.0.7.0")
    assert obstacle(SEQUENCES, QUERY, old) == "it is written for 11.2 and newer, and this is 11.1.0.7.0"
    assert of(old, "cdb-services").obstacle == ("cdb-services is unknown on 11.1.0.7.0, and its query may not fit")


def test_cause_without_a_query_has_no_confirmation() -> None:
    assert confirmation_of(catalogue()["spin-only"], asked_in(*ROOT)) is None


def test_query_about_now_says_that_it_tells_nothing_of_the_time_of_a_printed_report() -> None:
    printed = replace(delta_of(), release="11.2.0.4.0", source="report")
    now, lasting = of(printed, "logon-storm").reading, of(printed, "undo-segments").reading
    assert now.startswith(
        "Run it while the problem lasts. It shows the present, not the time of the report. Current sessions"
    )
    assert lasting.startswith("Undo segments of all tablespaces"), "they are still there"
    assert of(replace(printed, source="views"), "logon-storm").reading.startswith("Current sessions")
    last = {name for name, cause in catalogue().items() if cause.confirm and cause.confirm.lasts("11.2.0.4.0")}
    assert {"undo-segments", "sequence-nocache", "many-partitions", "vpd-policy-check"} <= last
    assert not last & {"segment-churn", "statistics-gathering", "refresh-lock-order", "row-cache-lock-hang"}


def test_queries_of_dictionary_views_run_on_every_release_a_report_is_read_of() -> None:
    for release in ("9.2.0.6.0", "10.2.0.4.0", "11.1.0.7.0"):
        printed = replace(delta_of(), release=release, source="report")
        for cause in ("undo-segments", "sequence-nocache", "dictionary-managed", "statistics-gathering"):
            assert of(printed, cause).obstacle is None, "was: written for 11.2 and newer"
