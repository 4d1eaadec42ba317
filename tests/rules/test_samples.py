"""Sampled sessions, counted once: how long their waits had lasted, what they have in a column, and what they are as time."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from collectors.delta import between
from collectors.model import ROW_CACHE_LOCK_EVENT, Delta, Row
from collectors.views.con_system_event import MOST_ROWS
from rules.containers import CONTAINERS, container_shares
from rules.context import SignalContext
from rules.engine import diagnose
from rules.model import ContainerShare, Severity
from rules.samples import MetWaiting, Samples, met_waiting
from service.intake.inputs import DiagnosedInput
from service.render.text import as_markdown, as_text
from tests.collectors.scripted import poll_at
from tests.rules.contexts import TOTALS, delta_of
from tests.rules.rich import RICH


def met(looks: int = 12, sessions: int = 7) -> list[Row]:
    """Each look meets these sessions, whose waits go on, and a background process; a last look meets nobody."""
    rows: list[Row] = [
        {
            "sample": look,
            "sid": sid,
            "serial#": 1,
            "event": ROW_CACHE_LOCK_EVENT,
            "p1": sid % 2,
            "p3": 3,
            "sql_id": f"s{sid % 3}",
            "program": "oracle@db1 (SMON)" if sid == 0 else "JDBC",
            "wait_time_micro": 1e6 * look * sid,
        }
        for look in range(1, looks + 1)
        for sid in range(sessions)
    ]
    return [*rows, {"sample": looks + 1}]


def test_samples_tell_how_long_waits_lasted_and_dozens_at_once_are_those_of_one_look() -> None:
    samples = Samples.of(met())
    assert samples.met(ROW_CACHE_LOCK_EVENT) == 84
    assert samples.lasting(ROW_CACHE_LOCK_EVENT, 30.0) == pytest.approx(6 * 12.0)
    assert Samples.of(met()).most_at_once([ROW_CACHE_LOCK_EVENT]) == 7
    assert Samples.of(met()).most_at_once(["row cache mutex"]) == 0
    assert len(Samples.of(met()).looks) == 13


def rows_of(*lacking: str) -> Sequence[Row]:
    return [{name: cell for name, cell in row.items() if name not in lacking} for row in met()]


def test_column_that_was_not_captured_is_empty_and_lacks() -> None:
    without = Samples.of(rows_of("sql_id"))
    assert without.by_cell(ROW_CACHE_LOCK_EVENT, "sql_id") == {None: 84}
    assert without.lack(ROW_CACHE_LOCK_EVENT, "sql_id") and not without.lack(ROW_CACHE_LOCK_EVENT, "p3")
    assert Samples.of(met()).by_cell(ROW_CACHE_LOCK_EVENT, "sql_id") == {"s0": 36, "s1": 24, "s2": 24}


def samples(many: int, sessions: int, waited: float, program: str = "JDBC") -> list[Row]:
    """So many samples, each with the same sessions, whose wait had lasted so many seconds at the last one."""
    rows: list[Row] = []
    for sample in range(1, many + 1):
        rows.append({"sample": sample, "sid": None})
        rows += [
            {
                "sample": sample,
                "sid": sid,
                "event": ROW_CACHE_LOCK_EVENT,
                "p1": 3,
                "program": program,
                "wait_time_micro": 1e6 * max(0.0, waited - many + sample),
            }
            for sid in range(sessions)
        ]
    return rows


def staged(rows: Sequence[Row], *, finished: float | None = 0.0, **more: Any) -> Any:
    """The rich instance with these samples, and so many seconds of finished waits for the lock (None: not captured)."""
    events = [row for row in RICH["v$system_event"] if row["event"] != ROW_CACHE_LOCK_EVENT]
    if finished is not None:
        lock = {"event": ROW_CACHE_LOCK_EVENT, "total_waits": 9, "time_waited_micro": finished * 1e6}
        events = [*events, lock]
    views = {**RICH, "v$session": rows, "v$system_event": events}
    refused = [] if finished is not None else ["v$system_event"]
    return delta_of({name: rows for name, rows in views.items() if name not in refused}, refused=refused, **more)


def met_of(delta: Delta) -> Mapping[str, MetWaiting]:
    return met_waiting(Samples.of(delta.rows("v$session")), delta.basis, (ROW_CACHE_LOCK_EVENT,))


def test_sessions_in_every_sample_are_time_though_no_wait_ended() -> None:
    hanging = staged(samples(25, sessions=20, waited=600))
    met = met_of(hanging)[ROW_CACHE_LOCK_EVENT]
    assert (met.samples, met.average, met.lasting) == (25, 20.0, 500.0), "20 sessions, and 25 s of the 30"
    assert met.doubt == pytest.approx(2 * (20 / 25) ** 0.5)
    got = diagnose(hanging)
    assert got.severity is Severity.CRITICAL
    (lock,) = (surface for surface in got.surfaces if surface.surface == "lock")
    assert lock.waiting_sessions is not None and lock.waiting_sessions > 16
    (note,) = (note for note in got.notes if "25 samples met 20.0 sessions" in note)
    assert "19 times of 20 between 18.2 and 21.8" in note and "the cost is that of the samples" in note


def test_short_waits_in_samples_are_those_that_ended_and_are_believed_once() -> None:
    busy = staged(samples(25, sessions=2, waited=0.01), finished=60.0)
    assert SignalContext(busy).lost.believed == {}
    assert SignalContext(busy).surface_wait_seconds("lock") == 60.0


def test_where_no_view_counts_waits_the_samples_are_all_there_is() -> None:
    context = SignalContext(staged(samples(25, sessions=4, waited=0.01), finished=None))
    assert context.surface_wait_seconds("lock") == pytest.approx(4 * 30.0)
    nobody = SignalContext(staged(samples(25, sessions=0, waited=0.0), finished=None))
    assert nobody.surface_wait_seconds("lock") is None, "absent is not zero"


def test_few_samples_background_processes_and_totals_prove_no_average() -> None:
    assert met_of(staged(samples(9, sessions=20, waited=600))) == {}
    assert met_of(staged(samples(25, 20, 600, program="oracle@db1 (SMON)"))) == {}
    assert met_of(staged(samples(25, 20, 600, program="oracle@db1 (P003)"))) != {}
    assert met_of(staged(samples(25, sessions=20, waited=600), basis=TOTALS)) == {}


# Whose the row cache waits are: shares of containers, their names, and when nothing is said


def wait(con_id: int, seconds: float | None, event: str = "row cache lock") -> Row:
    return {
        "con_id": con_id,
        "event": event,
        "total_waits_fg": 10,
        "time_waited_micro_fg": None if seconds is None else seconds * 1e6,
    }


WAITS = [
    wait(5, 40.0),
    wait(5, 42.0, "latch: row cache objects"),
    wait(3, 18.0),
    wait(4, 0.0),
    wait(3, 900.0, "library cache lock"),
]
NAMES: Sequence[Row] = [{"con_id": 3, "name": "CRM1"}, {"con_id": 5, "name": "ERP1"}]


def views(waits: Sequence[Row], names: Sequence[Row] = NAMES) -> dict[str, Any]:
    return {**RICH, "v$con_system_event": waits, "v$containers": names}


def shares(waits: Sequence[Row], names: Sequence[Row] = NAMES) -> tuple[ContainerShare, ...]:
    return container_shares(SignalContext(delta_of(views(waits, names), release="19.0.0.0.0")))


def test_seconds_and_shares_of_the_row_cache_alone_most_first_by_name_or_number() -> None:
    assert shares(WAITS) == (
        ContainerShare(con_id=5, name="ERP1", seconds=82.0, share=0.82),
        ContainerShare(con_id=3, name="CRM1", seconds=18.0, share=0.18),
    )
    assert [one.called for one in shares(WAITS, ())] == ["container 5", "container 3"]
    assert container_shares(SignalContext(delta_of(RICH, release="19.0.0.0.0", refused=("v$con_system_event",)))) == ()


@pytest.mark.parametrize(
    "waits",
    [
        [],
        [wait(5, 0.0)],
        [wait(5, 40.0), wait(3, None)],
        [wait(place, 1.0) for place in range(MOST_ROWS)],
    ],
    ids=["nothing read", "nobody waited", "one unknown", "perhaps cut off"],
)
def test_no_share_is_told_where_the_whole_is_not_known(waits: Sequence[Row]) -> None:
    assert shares(waits) == ()


def test_text_and_markdown_say_whose_the_waits_are() -> None:
    delta = delta_of(views(WAITS), release="19.0.0.0.0")
    got = diagnose(delta)
    assert got.containers[0].con_id == 5
    (step,) = (step for step in got.steps if step.step == CONTAINERS)
    assert step.statement.startswith("82.0 % of the row cache waits are those of container ERP1 (5), 18.0 % those of")
    inputs = [DiagnosedInput("one", delta, got)]
    for form in (as_text(inputs, verbose=True), as_markdown(inputs)):
        assert "of the row cache waits are those of container ERP1 (5)" in " ".join(form.split())


def test_scripted_container_database_is_polled_from_its_root_and_has_the_waits_of_its_pdbs() -> None:
    delta = between(poll_at("parse-storm", 30), poll_at("parse-storm", 60))
    assert isinstance(delta, Delta)
    got = diagnose(delta).containers
    assert [one.con_id for one in got] == [3, 5]
    assert got[0].share == pytest.approx(0.82, abs=0.001)
