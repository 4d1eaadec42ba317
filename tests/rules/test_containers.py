"""Whose the row cache waits are: shares of containers, their names, and when nothing is said."""

from collections.abc import Sequence
from typing import Any

import pytest

from collectors.delta import between
from collectors.model import Delta, Row
from collectors.views.con_system_event import MOST_ROWS
from rules.containers import CONTAINERS, container_shares
from rules.context import SignalContext
from rules.engine import diagnose
from rules.model import ContainerShare
from service.intake.inputs import DiagnosedInput
from service.render.text import as_markdown, as_text
from tests.collectors.scripted import poll_at
from tests.rules.contexts import delta_of
from tests.rules.rich import RICH


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


def test_seconds_and_shares_of_the_row_cache_alone_most_first() -> None:
    assert shares(WAITS) == (
        ContainerShare(con_id=5, name="ERP1", seconds=82.0, share=0.82),
        ContainerShare(con_id=3, name="CRM1", seconds=18.0, share=0.18),
    )


def test_container_without_a_known_name_has_its_number() -> None:
    assert [one.called for one in shares(WAITS, ())] == ["container 5", "container 3"]


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


def test_refused_view_gives_no_shares() -> None:
    assert container_shares(SignalContext(delta_of(RICH, release="19.0.0.0.0", refused=("v$con_system_event",)))) == ()


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
