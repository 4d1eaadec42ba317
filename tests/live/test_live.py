"""Every statement we send and every confirming query, on a real database.

`pytest -m oracle` runs it, see docs/oracle.md. LATCHSCOPE_TEST_DSN, LATCHSCOPE_TEST_USER and LATCHSCOPE_TEST_PASSWORD say
where; LATCHSCOPE_TEST_MODE=thick for 11.2. The confirming queries read dictionary views, which the polling user cannot.
LATCHSCOPE_TEST_DBA_USER and LATCHSCOPE_TEST_DBA_PASSWORD name a user who can; the default is the same user.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from time import sleep
from typing import Literal

import pytest

from collectors.capabilities import capabilities
from collectors.delta import between
from collectors.errors import NotApplicable
from collectors.model import ROW_CACHE_LATCH, Delta, Missing, Rows, Snapshot
from collectors.ondemand.check import MOST_NAMES, limited
from collectors.ondemand.holders import profile
from collectors.ondemand.sampling import VIEW as SAMPLED
from collectors.ondemand.sampling import Burst
from collectors.oracle import ConnectTarget, OracleConnection, prepare
from collectors.poll import Grouping, poll
from collectors.registry import collectors, groups
from rules.cause import catalogue
from rules.engine import diagnose
from tests.live.questions import ACCEPTED

pytestmark = pytest.mark.oracle

POLLED = [view for view, collector in collectors().items() if not collector.on_request or view == SAMPLED]
CONFIRMING = {name: cause.confirm for name, cause in catalogue().items() if cause.confirm}


def given(name: str, otherwise: str | None = None) -> str:
    """A variable of the environment."""
    value = os.environ.get(f"LATCHSCOPE_TEST_{name}", otherwise)
    assert value, f"set LATCHSCOPE_TEST_{name}; docs/oracle.md says how"
    return value


def connect(user: str, password: str) -> OracleConnection:
    mode: Literal["thin", "thick"] = "thick" if given("MODE", "thin") == "thick" else "thin"
    prepare(mode)
    return OracleConnection("live", ConnectTarget(given("DSN"), user, password), accepted=ACCEPTED)


@pytest.fixture(scope="module")
def connection() -> Iterator[OracleConnection]:
    opened = connect(given("USER"), given("PASSWORD"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def dba() -> Iterator[OracleConnection]:
    opened = connect(given("DBA_USER", given("USER")), given("DBA_PASSWORD", given("PASSWORD")))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def snapshot(connection: OracleConnection) -> Snapshot:
    """A poll, with one look at the sessions that wait."""
    polled = poll("live", connection)
    look = Burst(polled.release, looks=1)
    look.look(connection)
    return replace(polled, readings={**polled.readings, SAMPLED: look.taken()})


@pytest.mark.parametrize("view", POLLED)
def test_live_statement_takes_one_round_trip_and_gives_unique_keys(snapshot: Snapshot, view: str) -> None:
    reading = snapshot.read(view)
    if isinstance(reading, Missing):
        assert reading.kind == "not_asked", f"{reading.why}; {reading.way_out}"
        return
    assert isinstance(reading, Rows)
    key = collectors()[view].key
    keys = [tuple(row.get(name) for name in key) for row in reading.rows]
    assert len(keys) == len(set(keys)), "the key does not identify the rows"
    assert view == SAMPLED or snapshot.costs[view].round_trips == 1


def test_live_groups_answer_as_their_views_do(connection: OracleConnection, snapshot: Snapshot) -> None:
    grouping = Grouping("live")
    grouped = poll("live", connection, snapshot, grouping=grouping)
    assert {group.name for group in grouping.usable()} == set(groups()), (
        "a group was set aside; its line in the log says why"
    )
    for view in {view for group in groups().values() for view in group.views}:
        alone, together = snapshot.read(view), grouped.read(view)
        assert type(alone) is type(together), view
        if isinstance(alone, Rows) and isinstance(together, Rows) and alone.rows and together.rows:
            assert {name: type(cell) for name, cell in alone.rows[0].items() if cell is not None} == {
                name: type(cell) for name, cell in together.rows[0].items() if cell is not None
            }, view


@pytest.mark.parametrize("cause", CONFIRMING)
def test_live_confirming_query_gives_one_number_or_null(dba: OracleConnection, snapshot: Snapshot, cause: str) -> None:
    if snapshot.release and not catalogue()[cause].releases.include(snapshot.release):
        pytest.skip(f"{cause} does not happen on {snapshot.release}")
    text, naming = CONFIRMING[cause].text(snapshot.release), CONFIRMING[cause].naming(snapshot.release)
    assert text is not None
    ((value, *place),) = dba.query(limited(text, snapshot.release), {}).rows
    assert value is None or isinstance(value, int | float)
    assert len(place) in (0, 2)
    if naming is not None:
        assert len(dba.query(limited(naming, rows=MOST_NAMES), {}).rows) <= MOST_NAMES


def test_live_profile_of_holders_stays_within_its_bounds(dba: OracleConnection, snapshot: Snapshot) -> None:
    if capabilities(snapshot, given("USER")).mechanism == "mutex":
        with pytest.raises(NotApplicable):
            profile(dba, ROW_CACHE_LATCH, seconds=1.0, looks=20)
        return
    found = profile(dba, ROW_CACHE_LATCH, seconds=1.0, looks=50_000)
    assert 1 <= found.looks <= 50_000 and found.seconds < 3


def test_live_interval_has_no_oddities_and_is_diagnosed(connection: OracleConnection, snapshot: Snapshot) -> None:
    sleep(2)
    again = poll("live", connection, snapshot)
    delta = between(snapshot, again)
    assert isinstance(delta, Delta) and delta.oddities == ()
    assert delta.basis.seconds and 1 < delta.basis.seconds < 60
    assert diagnose(delta).mechanism in ("latch", "mutex")


def test_live_capabilities_lack_nothing_and_know_the_mechanism(snapshot: Snapshot) -> None:
    found = capabilities(snapshot, given("USER"))
    assert found.lacking == () and found.mechanism is not None
