"""poll() reads every view once, into one Snapshot. A refused view costs only itself."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from collectors.capabilities import capabilities
from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.errors import SessionError, StatementError, ViewRefused
from collectors.model import Binds, Missing, Rows, Snapshot, Value
from collectors.poll import ASIDE_SECONDS, Answer, Grouping, poll
from collectors.registry import collectors, group_text_of, groups, marker, view_of
from collectors.release import text_for
from collectors.views.latchname import LATCHES as NUMBERED
from tests.collectors.scripted import BEGAN, Asked

NOW = datetime(2026, 3, 2, 9, 0)  # noqa: DTZ001  (as the driver gives it: UTC without saying so)
INSTANCE: Mapping[str, Value] = {
    "instance_number": 1,
    "version": "11.2.0.4.0",
    "startup_time": "2026-02-20 04:11:00",
    "uptime_seconds": 42,
    "taken_at": NOW,
}
NAMES = Answer(("latch#", "name"), [(461, "Result Cache: RC Latch"), (270, "row cache objects")], 2)


@dataclass
class Session(Asked):
    """An instance whose other views have no rows."""

    instance: Mapping[str, Value] = field(default_factory=lambda: dict(INSTANCE))

    def query(self, sql: str, binds: Binds) -> Answer:
        view = view_of(sql)
        assert view is not None, sql
        row = Answer(tuple(self.instance), [tuple(self.instance.values())] if self.instance else [])
        self.other = row if view == "v$instance" else Answer(collectors()[view].key, [])
        return super().query(sql, binds)


POLLED = sorted(
    view for view, one in collectors().items() if not (one.sampled or one.on_request) and "11.2" in one.statements
)
"""Views of a poll on 11.2. Bursts read the sampled ones in between."""
SINCE_CONTAINERS = "v$con_system_event"
"""The one polled view that 11.2 does not have."""


def test_poll_reads_every_view_once_and_marked() -> None:
    session = Session({"v$latchname": NAMES})
    snapshot = poll("erp1", session)
    assert sorted(session.asked) == POLLED
    assert sorted(snapshot.readings) == sorted([*POLLED, SINCE_CONTAINERS])
    assert all(marker(view) in sql for view, (sql, _) in zip(session.asked, session.sent, strict=True))
    assert (snapshot.database, snapshot.release) == ("erp1", "11.2.0.4.0")
    assert {view_of(sql): binds for sql, binds in session.sent if binds} == {
        "v$latch": {**dict.fromkeys(NUMBERED, -1), "latch": 270, "latch_result_cache": 461},
        "v$latch_children": {"latch": 270},
    }


def test_taken_at_is_the_database_clock_as_utc() -> None:
    assert poll("erp1", Session()).taken_at == NOW.replace(tzinfo=UTC)
    assert poll("erp1", Session(instance={**INSTANCE, "taken_at": "later"})).taken_at is None
    assert poll("erp1", Session(instance={})).taken_at is None


def test_children_are_not_asked_for_without_the_latch_number() -> None:
    unnamed = Session({"v$latchname": Answer(("latch#", "name"), [(461, "Result Cache: RC Latch")])})
    reading = poll("erp1", unnamed).read("v$latch_children")
    assert isinstance(reading, Missing)
    assert (reading.kind, reading.why) == ("not_asked", "this instance has no latch named row cache objects")
    hidden = Session({"v$latchname": ViewRefused("ORA-00942: no")})
    reading = poll("erp1", hidden).read("v$latch_children")
    assert isinstance(reading, Missing)
    assert reading.kind == "refused"
    assert reading.why == "v$latch_children needs a latch number; v$latchname: ORA-00942: no"
    assert "v_$latchname" in reading.way_out
    assert "v$latch_children" not in [*unnamed.asked, *hidden.asked]


MUTEXES = Answer(("name",), [("row cache lock",), ("row cache mutex",)])
LATCHES = Answer(("name",), [("row cache lock",), ("latch: row cache objects",)])
UNREADABLE = ViewRefused("ORA-00942: no")


@pytest.mark.parametrize(
    ("release", "events", "asked"),
    [
        ("19.0.0.0.0", MUTEXES, False),
        ("12.2.0.1.0", UNREADABLE, False),
        ("12.1.0.2.0", MUTEXES, False),
        ("12.1.0.2.0", UNREADABLE, True),
        ("19.0.0.0.0", LATCHES, True),
        ("11.2.0.4.0", LATCHES, True),
    ],
)
def test_children_are_asked_for_only_where_latches_guard_the_row_cache(
    release: str, events: Answer | Exception, asked: bool
) -> None:
    session = Session({"v$latchname": NAMES, "v$event_name": events}, instance={**INSTANCE, "version": release})
    reading = poll("erp1", session).read("v$latch_children")
    assert ("v$latch_children" in session.asked) == asked
    assert {"v$latch", "v$latch_misses"} <= set(session.asked), "the result cache latch needs them on every release"
    if not asked:
        assert isinstance(reading, Missing)
        assert (reading.kind, reading.why) == (
            "not_asked",
            "v$latch_children is not asked: mutexes guard the row cache of this instance, not child latches",
        )


def test_cost_is_told_for_each_view_that_answered() -> None:
    session = Session({"v$latchname": NAMES, "v$latch": ViewRefused("ORA-00942")})
    costs = poll("erp1", session).costs
    assert set(costs) == set(POLLED) - {"v$latch"}
    cost = costs["v$latchname"]
    assert (cost.rows, cost.round_trips) == (2, 2)
    assert cost.seconds >= 0


def test_way_out_is_the_grant_and_for_x_tables_a_view_of_sys() -> None:
    snapshot = poll("erp1", Session({"v$latch": ViewRefused("ORA-00942"), "x$kqrst": ViewRefused("ORA-00942")}))
    latch, kqrst = snapshot.read("v$latch"), snapshot.read("x$kqrst")
    assert isinstance(latch, Missing) and "grant select on sys.v_$latch to" in latch.way_out.lower()
    assert isinstance(kqrst, Missing) and "create" in kqrst.way_out.lower()
    assert "sys.latchscope_kqrst" in kqrst.way_out.lower()
    assert isinstance(poll("erp1", Session(), snapshot).read("x$kqrst"), Rows), "a new grant counts at the next poll"


class OlderGrants(Session):
    """The grants that an older latchscope printed: sys.x_$kqrst, and no sys.latchscope_kqrst."""

    def query(self, sql: str, binds: Binds) -> Answer:
        answer = super().query(sql, binds)
        if "sys.latchscope_kqrst" in sql:
            raise ViewRefused("ORA-00942")
        return answer

    @property
    def asked_for_the_map(self) -> int:
        """How often since the last call."""
        asked = self.asked.count("x$kqrst")
        self.sent.clear()
        return asked


def test_view_of_an_older_grants_script_goes_on_to_be_read() -> None:
    rows = Answer(("child#", "cache#", "type", "subordinate#"), [(1, 3, "PARENT", None)])
    session = OlderGrants({"x$kqrst": rows})
    snapshot = poll("erp1", session)
    assert snapshot.rows("x$kqrst") == ({"child#": 1, "cache#": 3, "type": "PARENT", "subordinate#": None},)
    assert session.asked_for_the_map == 2
    poll("erp1", session, snapshot)
    assert session.asked_for_the_map == 0, "what was read once is carried over"


def test_older_name_is_not_asked_for_again_in_the_same_life() -> None:
    session = OlderGrants({"x$kqrst": ViewRefused("ORA-00942")})
    snapshot = poll("erp1", session)
    assert session.asked_for_the_map == 2
    for _ in range(2):
        snapshot = poll("erp1", session, snapshot)
        assert session.asked_for_the_map == 1, "as many round trips as without an older name"
    missing = snapshot.read("x$kqrst")
    assert isinstance(missing, Missing) and "sys.latchscope_kqrst" in missing.way_out
    session.instance = {**session.instance, "startup_time": "2026-03-02 08:59:00"}
    poll("erp1", session, snapshot)
    assert session.asked_for_the_map == 2


def test_failed_statement_is_not_a_missing_grant_and_a_lost_session_ends_the_poll() -> None:
    reading = poll("erp1", Session({"v$latch": StatementError("ORA-01555: snapshot too old")})).read("v$latch")
    assert isinstance(reading, Missing)
    assert (reading.kind, reading.why) == ("failed", "v$latch: ORA-01555: snapshot too old")
    session = Session({"v$latch": SessionError("ORA-03113: end of file")})
    with pytest.raises(SessionError, match="ORA-03113"):
        poll("erp1", session)
    assert session.asked[-1] == "v$latch"


@pytest.mark.parametrize("columns", [("name", "surprise"), ("name", "n\x00me"), ("name", "name")])
def test_odd_column_costs_its_view_and_not_the_poll(columns: tuple[str, ...]) -> None:
    """The bytes of an answer can be damaged."""
    snapshot = poll("erp1", Session({"v$latch": Answer(columns, [("x", 1)])}))
    reading, whole = snapshot.readings["v$latch"], poll("erp1", Session()).readings
    assert isinstance(reading, Missing) and reading.kind == "failed"
    assert "which the statement does not ask for" in reading.why
    assert [view for view, one in whole.items() if type(one) is not type(snapshot.readings[view])] == ["v$latch"]


@pytest.mark.parametrize("odd", [10**30, 10**400, float("nan"), "12", True, b"12", NOW])
def test_cell_that_its_column_cannot_have_is_unknown_and_said(odd: Value) -> None:
    rows = [(270, "row cache objects", odd), (461, "Result Cache: RC Latch", 7.5)]
    reading = poll("erp1", Session({"v$latch": Answer(("latch#", "name", "gets"), rows)})).readings["v$latch"]
    assert isinstance(reading, Rows) and [row["gets"] for row in reading.rows] == [None, 7.5]
    (note,) = reading.notes
    assert note == f"gets of v$latch cannot be {repr(odd)[:40]}, as 1 of 2 rows have it; it counts as unknown"


CACHES = ("cache#", "type", "subordinate#", "parameter", "gets")


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([("x", "PARENT", None, "dc_users", 1)], "cache# of v$rowcache cannot be 'x', as 1 of 1 rows have it"),
        ([(7, "PARENT", None, "dc_users", gets) for gets in (1, 2)], "v$rowcache row 7 PARENT occurs more than once"),
        ([(n, "PARENT", None, f"dc_{n}", 1) for n in range(1001)], "v$rowcache gives 1,001 rows; no instance has more"),
    ],
    ids=["a key of another kind", "a key that comes twice", "more rows than an instance has"],
)
def test_rows_that_cannot_be_told_apart_or_counted_cost_their_view(rows: list[tuple[Value, ...]], why: str) -> None:
    reading = poll("erp1", Session({"v$rowcache": Answer(CACHES, rows)})).readings["v$rowcache"]
    assert isinstance(reading, Missing) and reading.kind == "failed" and why in reading.why, reading


def test_rows_of_a_view_that_repeats_are_added_up_as_between_polls() -> None:
    rows = [(270, "row cache objects", 3), (270, "row cache objects", 4)]
    reading = poll("erp1", Session({"v$latch": Answer(("latch#", "name", "gets"), rows)})).readings["v$latch"]
    assert isinstance(reading, Rows) and [row["gets"] for row in reading.rows] == [7]


def test_name_longer_than_any_is_cut_and_a_value_is_not() -> None:
    names, values = [(1, "PARENT", None, "x" * 1900, 1), (2, "PARENT", None, "y" * 128, 1)], [("name" * 33, "v" * 1900)]
    answers = {"v$rowcache": Answer(CACHES, names), "v$parameter": Answer(("name", "value"), values)}
    readings = poll("erp1", Session({**answers})).readings
    caches, parameters = readings["v$rowcache"], readings["v$parameter"]
    assert isinstance(caches, Rows) and isinstance(parameters, Rows)
    assert [row["parameter"] for row in caches.rows] == [f"{'x' * 96}… (1,804 more characters)", "y" * 128]
    assert caches.notes == ("parameter of v$rowcache has names of more than 128 characters; they are cut",)
    assert [(len(str(row["name"])) <= 128, row["value"]) for row in parameters.rows] == [(True, "v" * 1900)]


@pytest.mark.parametrize("uptime", [10**30, 1.5e308, "777646", 60 * 365 * 86400.0])
def test_odd_uptime_is_an_unknown_start(uptime: Value) -> None:
    snapshot = poll("erp1", Session(instance={**INSTANCE, "uptime_seconds": uptime}))
    assert snapshot.uptime_seconds is None and snapshot.release == "11.2.0.4.0"


def test_statement_text_fits_the_release_and_a_release_older_than_any_is_not_asked() -> None:
    for release, there in (("11.2.0.4.0", False), ("12.1.0.2.0", True), ("19.0.0.0.0", True)):
        session = Session(instance={**INSTANCE, "version": release})
        poll("erp1", session)
        (sql,) = [sql for sql, _ in session.sent if view_of(sql) == "v$rowcache"]
        assert ("fastgets" in sql) is there
    snapshot = poll("erp1", Session(instance={**INSTANCE, "version": "9.2.0.8.0"}))
    reading = snapshot.read("v$latch")
    assert isinstance(reading, Missing)
    assert reading.kind == "not_asked"
    assert reading.why == "v$latch needs Oracle 11.2 or newer, this is 9.2.0.8.0"


ONCE = sorted(view for view, one in collectors().items() if one.once)


def test_views_that_change_only_at_startup_are_carried_over() -> None:
    first = poll("erp1", Session({"v$latchname": NAMES}))
    session = Session({"v$latchname": NAMES})
    second = poll("erp1", session, first)
    assert sorted(set(POLLED) - set(session.asked) - {"v$parameter"}) == ONCE
    assert {view: second.readings[view] for view in ONCE} == {view: first.readings[view] for view in ONCE}
    assert set(second.costs) == set(session.asked)


def test_views_that_change_only_at_startup_are_reread_after_a_restart() -> None:
    first = poll("erp1", Session({"v$latchname": NAMES}))
    moved = Answer(("latch#", "name"), [(411, "row cache objects")])
    session = Session({"v$latchname": moved}, instance={**INSTANCE, "startup_time": "2026-03-02 08:59:58"})
    second = poll("erp1", session, first)
    assert set(ONCE) <= set(session.asked)
    assert [binds for sql, binds in session.sent if view_of(sql) == "v$latch_children"] == [{"latch": 411}]
    assert second.rows("v$latchname") == ({"latch#": 411, "name": "row cache objects"},)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        *(({**INSTANCE, "startup_time": None},) * 2, ({}, {})),
        (INSTANCE, {**INSTANCE, "instance_number": 2}),
    ],
    ids=["no start time", "no instance", "another instance"],
)
def test_views_carried_over_are_reread_where_a_restart_could_go_unseen(
    before: Mapping[str, Value], after: Mapping[str, Value]
) -> None:
    session = Session({"v$latchname": NAMES}, instance=after)
    poll("erp1", session, poll("erp1", Session({"v$latchname": NAMES}, instance=before)))
    assert set(ONCE) <= set(session.asked)


def session_at(seconds: float, value: str = "10", **instance: Value) -> Session:
    """A session of an instance whose clock is this many seconds ahead."""
    undo = Answer(("name", "value"), [("undo_retention", value)])
    return Session(
        {"v$parameter": undo}, instance={**INSTANCE, "taken_at": NOW + timedelta(seconds=seconds), **instance}
    )


def settings(snapshot: Snapshot) -> list[Value]:
    return [row["value"] for row in snapshot.rows("v$parameter")]


def test_parameters_are_read_every_five_minutes_and_carried_over_between() -> None:
    snapshot: Snapshot | None = None
    read: list[int] = []
    for seconds in range(0, 901, 15):
        session = session_at(seconds, value=str(seconds))
        snapshot = poll("erp1", session, snapshot)
        if "v$parameter" in session.asked:
            read.append(seconds)
        assert settings(snapshot) == [str(read[-1])]
        assert ("v$parameter" in snapshot.costs) == (read[-1] == seconds)
    assert read == [0, 300, 600, 900]


@pytest.mark.parametrize("interval", [1.0, 15.7, 60.0, 299.0, 400.0])
def test_changed_parameter_is_seen_within_five_minutes_whatever_the_interval(interval: float) -> None:
    snapshot: Snapshot | None = None
    for number in range(40):
        at = number * interval
        snapshot = poll("erp1", session_at(at, value=str(at)), snapshot)
        (seen,) = settings(snapshot)
        assert at - float(str(seen)) <= 300


def test_parameters_carried_over_keep_the_time_they_were_read_at() -> None:
    first = poll("erp1", session_at(0))
    second = poll("erp1", session_at(15), first)
    third = poll("erp1", session_at(30), second)
    times = [reading.read_at for one in (first, second, third) if isinstance(reading := one.read("v$parameter"), Rows)]
    assert times == [None, NOW.replace(tzinfo=UTC), NOW.replace(tzinfo=UTC)]
    (told,) = [view.why for view in capabilities(third, "X").views if view.view == "v$parameter"]
    assert told == "1 row, as of 2026-03-02 09:00:00 UTC"


@pytest.mark.parametrize(
    "later",
    [
        session_at(15, startup_time="2026-03-02 09:00:05"),
        session_at(15, instance_number=2),
        session_at(-15),
        session_at(15, taken_at=None),
    ],
)
def test_parameters_are_read_again_where_an_old_reading_may_not_hold(later: Session) -> None:
    poll("erp1", later, poll("erp1", session_at(0)))
    assert "v$parameter" in later.asked
    refused = session_at(0)
    refused.answers = {"v$parameter": ViewRefused("ORA-00942: no")}
    assert settings(poll("erp1", session_at(15), poll("erp1", refused))) == ["10"]


class Clock:
    """Seconds that pass only where a statement takes them."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class SlowView(Session):
    """A database where one view never answers in time. `error` says what that does to the session."""

    clock: Clock = field(default_factory=Clock)
    seconds: float = 5.0
    error: Exception = field(default_factory=lambda: StatementError("ORA-00600"))

    def query(self, sql: str, binds: Binds) -> Answer:
        if view_of(sql) is None:
            raise StatementError("a group cannot be read here")
        if view_of(sql) == "v$latch_misses":
            self.sent.append((sql, binds))
            self.clock.now += self.seconds
            raise self.error
        return super().query(sql, binds)


@pytest.mark.parametrize("error", [StatementError("cancelled"), SessionError("no answer to a statement")])
def test_view_that_is_always_slow_is_polled_rarely_and_said_so(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    session = SlowView(error=error)
    clock, grouping = session.clock, Grouping("erp1", session.clock)
    lost = 0
    for _ in range(20):
        try:
            snapshot = poll("erp1", session, clock=clock, grouping=grouping)
        except SessionError:
            lost += 1
        clock.now += 10.0
    assert session.asked.count("v$latch_misses") == 3, "the other seventeen polls skipped it"
    assert lost == (3 if isinstance(error, SessionError) else 0)
    reading = snapshot.read("v$latch_misses")
    assert isinstance(reading, Missing) and reading.kind == "failed"
    assert "too slow 3 times in a row and is read only every 10 minutes" in reading.why
    assert caplog.text.count("too slow 3 times") == 1
    clock.now += 600.0
    with suppress(SessionError):
        poll("erp1", session, clock=clock, grouping=grouping)
    assert session.asked.count("v$latch_misses") == 4, "after ten minutes latchscope tries it again"


def test_view_that_fails_at_once_is_asked_for_by_every_poll() -> None:
    session = SlowView(seconds=0.1)
    grouping = Grouping("erp1", lambda: 0.0)
    for _ in range(5):
        poll("erp1", session, clock=session.clock, grouping=grouping)
    assert session.asked.count("v$latch_misses") == 5


def test_release_comes_from_the_login_where_v_instance_cannot_be_read() -> None:
    session = Session({"v$instance": ViewRefused("ORA-00942: table or view does not exist")})
    assert poll("erp1", session).release is None
    session.release = "19.21.0.0.0"  # type: ignore[attr-defined]
    session.sent.clear()
    snapshot = poll("erp1", session)
    assert snapshot.release == "19.21.0.0.0"
    reading = snapshot.read("v$instance")
    assert isinstance(reading, Missing) and reading.kind == "refused", "the poll still reports it as missing"
    texts = {view_of(sql): sql for sql, _ in session.sent}
    newest = {view: text_for(collectors()[str(view)].statements, "19.21.0.0.0") for view in texts}
    assert {view for view in texts if texts[view] != newest[view]} <= {"v$instance"}


GROUPED = frozenset(view for group in groups().values() for view in group.views)


@dataclass
class GroupingSession:
    """A scripted database. `spoil` changes or refuses the answers to the statements of groups."""

    scenario: str = "undo-storm"
    refused: tuple[str, ...] = ()
    spoil: Callable[[Answer], Answer] = lambda answer: answer
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._database = ScriptedDatabase(scenarios()[self.scenario], BEGAN, lambda: 60.0, self.refused)

    def query(self, sql: str, binds: Binds) -> Answer:
        self.asked.append(sql)
        answer = self._database.query(sql, binds)
        return self.spoil(answer) if group_text_of(sql) else answer

    def close(self) -> None:
        """Nothing to give back."""

    def groups(self) -> int:
        """How many statements of groups ran since the last call."""
        asked, self.asked = [sql for sql in self.asked if group_text_of(sql)], []
        return len(asked)


def refuse(_: Answer) -> Answer:
    raise ViewRefused("ORA-00942: table or view does not exist")


def fail(_: Answer) -> Answer:
    raise StatementError("ORA-01790: expression must have same datatype as corresponding expression")


@pytest.mark.parametrize("name", scenarios())
def test_groups_read_what_single_statements_read(name: str) -> None:
    grouped, alone = GroupingSession(name), GroupingSession(name)
    together, apart = poll("erp1", grouped, grouping=Grouping("erp1")), poll("erp1", alone)
    assert together.readings == apart.readings and together.taken_at == apart.taken_at
    assert grouped.groups() in (1, 2) and alone.groups() == 0
    assert not GROUPED & together.costs.keys() - {"waiting_sessions"}
    assert together.costs["counters_and_levels"].round_trips == 1 and "counters" not in together.costs


@pytest.mark.parametrize("spoil", [refuse, fail])
def test_group_that_is_refused_or_fails_is_asked_one_by_one_for_an_hour(
    spoil: Callable[[Answer], Answer], caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    session, grouping = GroupingSession(spoil=spoil), Grouping("erp1", clock)
    with caplog.at_level("INFO", "latchscope.poll"):
        snapshot = poll("erp1", session, grouping=grouping)
    assert "erp1: the views of the group counters are not asked for together for an hour: ORA-" in caplog.text
    assert snapshot.readings == poll("erp1", GroupingSession()).readings, "nothing is lost in the meantime"
    assert session.groups() == 4
    clock.now += ASIDE_SECONDS - 1.0
    poll("erp1", session, snapshot, grouping=grouping)
    assert session.groups() == 0
    clock.now += 1.0
    session.spoil = lambda answer: answer
    assert poll("erp1", session, snapshot, grouping=grouping).readings.keys() == snapshot.readings.keys()
    assert session.groups() in (1, 2)


@pytest.mark.parametrize("view", [view for view in POLLED if view not in ("v$instance", "v$latchname")])
def test_refused_view_costs_itself_alone_in_a_group_and_without(view: str) -> None:
    snapshot = poll("erp1", GroupingSession(refused=(view,)), grouping=Grouping("erp1"))
    missing = {name: one.kind for name, one in snapshot.readings.items() if isinstance(one, Missing)}
    assert {SINCE_CONTAINERS: "not_asked"} | missing == {SINCE_CONTAINERS: "not_asked", view: "refused"}
    assert snapshot.readings == poll("erp1", GroupingSession(refused=(view,))).readings


def test_slow_group_is_used_once_and_then_set_aside() -> None:
    session = GroupingSession(spoil=lambda answer: replace(answer, seconds=1.5))
    grouping = Grouping("erp1", Clock())
    assert poll("erp1", session, grouping=grouping).readings == poll("erp1", GroupingSession()).readings
    assert session.groups() == 2
    poll("erp1", session, grouping=grouping)
    assert session.groups() == 2, "the smaller groups have not been slow yet"
    poll("erp1", session, grouping=grouping)
    assert session.groups() == 0


def test_refused_level_leaves_the_group_of_what_every_poll_asks() -> None:
    session, grouping = GroupingSession(refused=("v$undostat",)), Grouping("erp1", Clock())
    first = poll("erp1", session, grouping=grouping)
    assert "counters" in first.costs and "counters_and_levels" not in first.costs
    assert {"v$sgastat", "v$sga_resize_ops"} <= first.costs.keys(), "the other levels are read by themselves"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda answer: replace(answer, columns=(*answer.columns[:-1], "surprise")),
        lambda answer: replace(answer, rows=[("v$surprise", *row[1:]) for row in answer.rows]),
    ],
    ids=["an odd column", "rows of an odd view"],
)
def test_group_with_an_odd_answer_is_read_one_by_one(spoil: Callable[[Answer], Answer]) -> None:
    session = GroupingSession(spoil=spoil)
    snapshot = poll("erp1", session, grouping=Grouping("erp1", Clock()))
    assert session.groups() and snapshot.readings == poll("erp1", GroupingSession()).readings


def test_group_in_which_the_session_was_lost_is_set_aside() -> None:
    def lose(_: Answer) -> Answer:
        raise SessionError("ORA-03113: end-of-file on communication channel")

    session, grouping = GroupingSession(spoil=lose), Grouping("erp1", Clock())
    with pytest.raises(SessionError, match="ORA-03113"):
        poll("erp1", session, grouping=grouping)
    usable = [group.name for group in grouping.usable()]
    assert usable == ["counters", "waits_and_containers", "containers", "waits", "sessions"]


def test_waits_of_containers_cost_no_round_trip_where_granted_and_one_refused_statement_an_hour_where_not() -> None:
    clock = Clock()
    granted, refused = GroupingSession("users-mutex"), GroupingSession("users-mutex", refused=(SINCE_CONTAINERS,))
    with_grant, without = Grouping("erp1", clock), Grouping("erp1", clock)
    first = poll("erp1", granted, grouping=with_grant)
    assert isinstance(first.read(SINCE_CONTAINERS), Rows) and granted.groups() == 2
    children = first.read("v$latch_children")
    assert isinstance(children, Missing) and children.kind == "not_asked"
    assert "containers" in first.costs and not {"waits", "sessions", "waiting_sessions"} & first.costs.keys()
    snapshot = poll("erp1", refused, grouping=without)
    missing = snapshot.read(SINCE_CONTAINERS)
    assert isinstance(missing, Missing) and "grant select on sys.v_$con" in missing.way_out
    assert missing.kind == "refused"
    assert isinstance(snapshot.read("waiting_sessions"), Rows), "the others are read by the smaller group"
    assert refused.groups() == 3
    for _ in range(3):
        clock.now += (ASIDE_SECONDS - 1.0) / 3
        snapshot = poll("erp1", refused, snapshot, grouping=without)
        assert snapshot.read(SINCE_CONTAINERS) == missing
        assert refused.groups() == 2 and not any(view_of(sql) == SINCE_CONTAINERS for sql in refused.asked)
    clock.now += 1.0
    poll("erp1", refused, snapshot, grouping=without)
    assert refused.groups() == 3, "tried once more after an hour"


def test_refused_waits_of_containers_are_asked_once_per_start_without_groups() -> None:
    session = GroupingSession("users-mutex", refused=(SINCE_CONTAINERS,))
    first = poll("erp1", session)
    second = poll("erp1", session, first)
    assert [view_of(sql) for sql in session.asked].count(SINCE_CONTAINERS) == 1
    assert second.read(SINCE_CONTAINERS) == first.read(SINCE_CONTAINERS)


def test_levels_are_read_once_a_minute_without_a_round_trip_of_their_own() -> None:
    clock = [60.0]
    database = ScriptedDatabase(scenarios()["undo-storm"], BEGAN, lambda: clock[0])
    snapshot, grouping = None, Grouping("erp1", Clock())
    ages, statements = [], []
    for clock[0] in range(60, 211, 15):
        snapshot = poll("erp1", database, snapshot, grouping=grouping)
        assert snapshot.taken_at is not None
        reading = snapshot.read("v$undostat")
        assert isinstance(reading, Rows) and reading.rows
        ages.append(0 if reading.read_at is None else round((snapshot.taken_at - reading.read_at).total_seconds()))
        statements.append({"counters", "counters_and_levels"} & snapshot.costs.keys())
    assert ages == [0, 15, 30, 45, 0, 15, 30, 45, 0, 15, 30]
    assert statements == [{"counters"} if age else {"counters_and_levels"} for age in ages]
