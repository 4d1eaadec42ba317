"""What differs in a stretch from the rest of its hour: against sums over the polls themselves, and where nobody can tell."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from service.history.curves import NAMED
from service.history.differences import (
    CONTAINERS,
    COST,
    HOUR,
    LEAST_POLLS,
    LONGER,
    METRICS,
    Difference,
    DifferenceGroup,
    Differences,
    compared,
    difference,
    differences,
    hour_around,
    shared,
    spread,
)
from service.state.time_window import BadWindow, Window
from service.store.polls import CurvePage
from service.store.repository import Repository
from service.store.snapshots import Details, DetailSeries
from service.store.tables import millis
from tests.service.marked import DB, at, polled
from tests.service.stage import Kept, Stage

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
EVENT = "v$system_event"
WAITED = "time_waited_micro"
CHILDREN = "v$latch_children"
Counter = tuple[str, "Key", str]
"""View, key and column."""


def later(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def page_of(
    lengths: Sequence[float | None],
    counters: Mapping[Counter, Sequence[float | None]],
    unread: Sequence[str] = (),
    waiting: float | Sequence[float] | None = 0.0,
) -> tuple[CurvePage, Details]:
    """Polls one after the other from noon, None for one without an interval, and what counters grew by in each; each has its
    snapshot. `unread`: views that no poll could read."""
    ends = np.array(
        [millis(later(end)) for end in np.cumsum([length or 10.0 for length in lengths]).tolist()], np.int64
    )
    seconds = np.array([np.nan if length is None else length for length in lengths])
    sessions = np.full(len(lengths), np.nan if waiting is None else waiting)
    page = CurvePage("poll", NOON, NOON + HOUR, ends, seconds, np.ones(len(lengths), np.int64), {"waiting": sessions})
    series: dict[tuple[str, str], list[DetailSeries]] = {
        (NAMED[name].view, NAMED[name].column): [] for name in METRICS if name != COST
    }
    for (view, key, column), values in counters.items():
        grown = np.array([np.nan if value is None else value for value in values])
        known = np.concatenate(([0.0], np.cumsum(np.nan_to_num(grown))))
        series[view, column].append(Known(view, column, key, known, grown))
    read = {view: np.full(len(lengths), view not in unread) for view, _ in series}
    times = np.concatenate(([millis(NOON)], ends))
    return page, Details(times, ~np.isnan(seconds), read, series)


@dataclass(frozen=True, eq=False)
class Known(DetailSeries):
    """Totals of a counter, and what it grew by: NaN where that is not known."""

    grown: NDArray[np.float64]


@pytest.fixture(autouse=True)
def grown(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a counter grew by is as it was said, not a difference of sums, which rounds."""
    counted = Details.changes
    monkeypatch.setattr(
        Details,
        "changes",
        lambda self, one: np.where(self.same, one.grown, np.nan) if isinstance(one, Known) else counted(self, one),
    )


class Key(dict[str, object]):
    """The name of a row, which can name a counter."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


def event(name: str) -> Counter:
    return EVENT, Key(event=name), WAITED


def child(number: int, column: str = "sleeps") -> Counter:
    return CHILDREN, Key({"latch#": 7, "child#": number}), column


def told(page: tuple[CurvePage, Details], begin: float, end: float) -> Differences:
    return compared(*page, DB, Window(later(begin), later(end)), Window(NOON, NOON + HOUR), {1: "dc_users"})


def group(found: Differences, metric: str) -> DifferenceGroup:
    return next(one for one in found.groups if one.metric == metric)


def member(found: Differences, metric: str, of: str) -> Difference:
    return next(one for one in group(found, metric).members if one.of == of)


figures = st.lists(
    st.tuples(
        st.one_of(st.none(), st.floats(1, 60)),
        st.tuples(*[st.one_of(st.none(), st.floats(0, 1e9)) for _ in range(3)]),
    ),
    min_size=8,
    max_size=40,
)


@given(figures, st.floats(0, 1200), st.floats(30, 1200), st.sets(st.integers(0, 39)))
def test_values_are_those_of_plain_sums_over_polls_of_any_stretch(
    polls: list[tuple[float | None, tuple[float | None, ...]]], begin: float, length: float, gaps: set[int]
) -> None:
    lengths = [seconds for seconds, _ in polls]
    grown = {event(f"e{n}"): [each[n] or 0.0 for _, each in polls] for n in range(3)}
    grown[event("e0")] = [None if place in gaps else each for place, each in enumerate(grown[event("e0")])]
    page = page_of(lengths, grown)
    found = told(page, begin, begin + length)
    ended, here, rest, across = 0.0, list[int](), list[int](), 0
    for place, seconds in enumerate(lengths):
        begun, ended = ended, ended + (seconds or 10.0)
        if seconds is None:
            continue
        if begun >= begin - 0.05 and ended <= begin + length + 0.05:
            here.append(place)
        elif ended <= begin + 0.05 or begun >= begin + length - 0.05:
            rest.append(place)
        else:
            across += 1
    assume(all(abs(edge - place) > 0.06 for edge in (begin, begin + length) for place in edges(lengths)))
    assert (found.stretch_polls, found.rest_polls, found.across) == (len(here), len(rest), across)
    assert found.stretch_seconds == pytest.approx(sum(lengths[place] or 0 for place in here))
    if min(len(here), len(rest)) < LEAST_POLLS:
        assert found.cannot_tell and not found.groups
        return
    for one in group(found, "event_wait_seconds").members:
        number = int(one.of[1])
        for value, side in ((one.stretch, here), (one.rest, rest)):
            known = [place for place in side if number or place not in gaps]
            if len(known) < LEAST_POLLS:
                assert value is None
                continue
            grown = sum((polls[place][1][number] or 0) / 1e6 for place in known)
            assert value == pytest.approx(grown / sum(lengths[place] or 0 for place in known), rel=2e-3), (
                "of whole milliseconds"
            )


def edges(lengths: Sequence[float | None]) -> Iterator[float]:
    """The ends of polls, as far as they are near enough to an edge to be judged by a rounded millisecond."""
    ended = 0.0
    for length in lengths:
        ended += length or 10.0
        yield ended - 0.05
        yield ended + 0.05


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), min_size=1, max_size=12))
def test_shares_are_parts_of_one_and_the_largest_difference_comes_first(pairs: list[tuple[float, float]]) -> None:
    found = shared([difference(f"m{place}", here, rest, 1.0) for place, (here, rest) in enumerate(pairs)])
    grown = [abs(one.difference or 0) for one in found]
    assert grown == sorted(grown, reverse=True)
    assert {one.of for one in found} == {f"m{place}" for place, pair in enumerate(pairs) if any(pair)}
    for shares in ([one.share for one in found], [one.share_of_difference for one in found]):
        known = [share for share in shares if share is not None]
        assert not known or (len(known) == len(found) and sum(known) == pytest.approx(1))


def test_order_is_by_difference_and_not_by_the_ratio_of_tiny_numbers() -> None:
    counters = {child(1): [5e4] * 6 + [1e5] * 6, child(2): [0.0] * 6 + [1.0] * 6, child(3): [1.0] * 6 + [90.0] * 6}
    found = group(told(page_of([10.0] * 12, counters), 60, 120), "child_sleeps")
    assert [one.of for one in found.members] == ["child 1 (dc_users)", "child 3 (unknown)", "child 2 (unknown)"]
    first, second, third = found.members
    assert (first.stretch, first.rest, first.difference, first.ratio) == (1e4, 5e3, 5e3, 2.0)
    assert third.ratio is None and second.ratio == pytest.approx(90), "through nothing there is no ratio"
    assert first.share_of_difference == pytest.approx(5000 / (5000 + 8.9 + 0.1))
    assert first.noticeable and second.noticeable and not third.noticeable, "six sleeps are chance"


def test_what_one_poll_saw_is_no_difference_and_what_every_poll_saw_is() -> None:
    once = [0.0] * 20 + [9e7] + [0.0] * 9 + [0.0] * 30
    always = [1e6] * 30 + [3e6] * 30
    found = told(page_of([10.0] * 60, {event("once"): once, event("always"): always}), 300, 600)
    assert member(found, "event_wait_seconds", "once").rest == pytest.approx(0.3)
    assert not member(found, "event_wait_seconds", "once").noticeable
    assert member(found, "event_wait_seconds", "always").noticeable
    said = "In time waited of a wait event, always differs most: 0.3 seconds per second here, 0.1 in the rest"
    assert said in found.headline


@pytest.mark.parametrize("noise", ["even", "in bursts"])
def test_noise_alone_is_called_a_difference_less_than_once_in_a_thousand(noise: str) -> None:
    """An hour of a hundred members has a difference by chance in less than one of ten panels."""
    dice, seconds, told, tried = np.random.default_rng(7), 60.0, 0, 2000
    for polls in (3, 10, 30):
        for _ in range(tried):
            sleeps = dice.poisson(20.0, 60) if noise == "even" else dice.negative_binomial(0.5, 0.5 / 20.5, 60)
            stretch, rest = sleeps[:polls] / seconds, sleeps[polls:] / seconds
            least = max(10.0 / (seconds * polls), spread(stretch, rest))
            told += difference("a member", float(stretch.mean()), float(rest.mean()), least).noticeable
    assert told < 3 * tried / 1000


def test_spread_of_one_value_is_that_of_the_other_side_and_without_any_it_is_unknown() -> None:
    one, many = np.array([7.0]), np.array([1.0, 2.0, 3.0])
    assert spread(one, many) == spread(many, one) == pytest.approx(4 * (1 / 1 + 1 / 3) ** 0.5)
    assert spread(one, one) == float("inf")


def test_what_was_not_read_is_unknown_and_not_zero() -> None:
    """A view, one counter of which nothing at all was stored, and the cost. What did not change is known."""
    unread = told(page_of([10.0] * 12, {child(1): [None] * 12}, [CHILDREN]), 60, 120)
    assert group(unread, "child_sleeps").cannot_tell == f"{CHILDREN} was not read often enough in this hour"
    assert group(unread, "child_sleeps").members == () and group(unread, "cache_gets").cannot_tell is None
    counters = {child(1): [1e3] * 6 + [2e3] * 6, child(2): [None] * 12}
    found = group(told(page_of([10.0] * 12, counters), 60, 120), "child_sleeps")
    first, last = found.members
    assert (first.of, first.difference, first.share) == ("child 1 (dc_users)", 100, None), (
        "an unknown one takes the shares away"
    )
    assert last == Difference("child 2 (unknown)", None, None, None, None), "and is listed last"
    for page, headline in (
        (
            page_of([10.0] * 12, {}, waiting=[1.0] * 6 + [5.0] * 6),
            "On average 5 sessions waited for the row cache here, 1 in the rest of the hour. "
            "No other figure differs by more than chance.",
        ),
        (page_of([10.0] * 12, {}), "On average 0 sessions waited"),
        (page_of([10.0] * 12, {}, waiting=None), "It is unknown how many sessions waited"),
    ):
        assert told(page, 60, 120).headline.startswith(headline)


@pytest.mark.parametrize(
    ("begin", "end", "says"),
    [
        (60, 80, "2 polls of the stretch can be used, and it takes 3; choose a longer stretch"),
        (200, 300, "no polls of the stretch can be used"),
        (0, 110, "1 poll of the rest of the hour can be used, and it takes 3; choose a shorter stretch"),
    ],
)
def test_too_few_polls_are_said_with_the_way_out(begin: float, end: float, says: str) -> None:
    found = told(page_of([10.0] * 12, {child(1): [1.0] * 12}), begin, end)
    assert found.groups == () and found.headline.startswith(f"Cannot tell: {says}")


def test_hour_has_the_stretch_in_its_middle_and_ends_now_at_the_latest() -> None:
    stretch = Window(later(0), later(600))
    assert hour_around(stretch, later(7200)) == Window(later(-1500), later(2100))
    assert hour_around(stretch, later(900)) == Window(later(-2700), later(900))
    assert hour_around(stretch, later(0)) == Window(later(-3000), later(600))
    with pytest.raises(BadWindow, match=r"the stretch has 50 min.*choose one of at most 45 min"):
        hour_around(Window(later(0), later(3000)), later(7200))


# Over a real store: the figures of a stretch against the Deltas of the polls themselves.

OF: Mapping[str, tuple[str, str, str]] = {
    "event_wait_seconds": (EVENT, "event", WAITED),
    "child_misses": (CHILDREN, "child#", "misses"),
    "child_sleeps": (CHILDREN, "child#", "sleeps"),
    "cache_gets": ("v$rowcache", "parameter", "gets"),
    "cache_getmisses": ("v$rowcache", "parameter", "getmisses"),
}


def test_figures_of_a_store_are_those_of_its_polls_and_name_wait_child_and_place(stage: Stage, tmp_path: Path) -> None:
    """Four minutes of the storm."""
    store = Repository(f"sqlite:///{tmp_path}/store.db")
    stage.keeper = Kept([])
    polls = [stage.poll(DB, float(second)) for second in range(0, 242, 4)]
    stage.keeper.write_to(store)
    deltas = [one.delta for one in polls if one.delta is not None]
    found = differences(store, DB, Window(at(60), at(120)), stage[DB].map.series_names, polls[-1].snapshot, at(241))
    inside = [delta for delta in deltas if at(60) <= delta.basis.begin and delta.basis.end <= at(120)]  # type: ignore[operator]
    outside = [delta for delta in deltas if delta not in inside]
    assert (found.stretch_polls, found.rest_polls, found.across) == (len(inside), len(outside), 0) == (15, 45, 0)
    for metric, (view, key, column) in OF.items():
        sums = [defaultdict[str, float](float), defaultdict[str, float](float)]
        for total, side in zip(sums, (inside, outside), strict=True):
            for row in (row for delta in side for row in delta.rows(view)):
                name = str(row[key])
                if row.get("type") == "SUBORDINATE":
                    name += f" (subordinate {row['subordinate#']})"
                total[name] += float(row[column] or 0)  # type: ignore[arg-type]
        scale = 1e-6 if column == WAITED else 1.0
        seconds = [sum(delta.basis.seconds or 0 for delta in side) for side in (inside, outside)]
        expected = {
            name: pytest.approx(tuple(total[name] * scale / whole for total, whole in zip(sums, seconds, strict=True)))
            for name in {*sums[0], *sums[1]}
            if sums[0][name] or sums[1][name]
        }
        short = {"child_misses", "child_sleeps"}
        named = {
            one.of.split(" ")[1] if metric in short else one.of: (one.stretch, one.rest)
            for one in group(found, metric).members
        }
        assert named == expected, metric
    assert [one.metric for one in found.groups] == list(METRICS), "11.2 has no containers, which is no doubt"
    for metric, of in (
        ("event_wait_seconds", "latch: row cache objects"),
        ("child_sleeps", "child 1 (dc_rollback_segments)"),
        ("location_sleeps", "kqrpre: find obj"),
    ):
        assert group(found, metric).noticeable[0].of == of
    store.close()


def test_too_few_snapshots_of_a_calm_time_are_said_and_the_cost_is_told(store: Repository, stage: Stage) -> None:
    polled(store, stage, 0, 240, 4)
    with store.engine.begin() as connection:
        connection.exec_driver_sql(
            "delete from snapshots where taken_at > '2026-03-01 12:01' and taken_at < '2026-03-01 12:03'"
        )
    found = differences(store, DB, Window(at(60), at(180)), None, None, at(240))
    assert found.stretch_polls == 30 and group(found, COST).members
    assert group(found, "child_sleeps").cannot_tell == LONGER


def test_view_of_another_release_has_no_group_and_a_refused_one_is_unknown(store: Repository, stage: Stage) -> None:
    stage.refused = {"users-mutex": ("v$rowcache",)}
    stage.keeper = Kept([])
    polls = [stage.poll("users-mutex", float(second)) for second in range(0, 42, 2)]
    stage.keeper.write_to(store)
    found = differences(store, "users-mutex", Window(at(10), at(20)), None, polls[-1].snapshot, at(40))
    assert not {"child_misses", "child_sleeps"} & {one.metric for one in found.groups}
    assert "v$rowcache was not read" in (group(found, "cache_gets").cannot_tell or "")


def test_store_without_the_database_cannot_tell(tmp_path: Path) -> None:
    store = Repository(f"sqlite:///{tmp_path}/store.db")
    assert differences(store, "nobody", Window(at(0), at(60))).cannot_tell
    store.close()


VIEW = "v$con_system_event"
PER_POLL = "time_waited_micro_fg"


def test_containers_are_compared_by_the_time_that_their_sessions_waited() -> None:
    """Of the events of the row cache alone, over all of them; a container whose counter misbehaved has no difference."""
    page, details = page_of([10.0] * 40, {})
    inside = [10 <= place < 20 for place in range(40)]
    of: dict[tuple[int, str], Sequence[float | None]] = {
        (5, "row cache lock"): [2e7 if within else 1e6 for within in inside],
        (5, "row cache mutex"): [1e6] * 40,
        (3, "row cache lock"): [1e6] * 40,
        (4, "row cache lock"): [None] * 40,
        (5, "library cache lock"): [9e9] * 40,
    }
    rows: list[DetailSeries] = [
        Known(VIEW, PER_POLL, Key(con_id=con_id, event=name), np.zeros(41), np.array(values, float))
        for (con_id, name), values in of.items()
    ]
    read = {**details.read, VIEW: details.read[CHILDREN]}
    whole = replace(details, series={**details.series, (VIEW, PER_POLL): rows}, read=read)
    window, names = Window(later(100), later(200)), {5: "ERP1"}
    (found,) = compared(page, whole, DB, window, Window(NOON, NOON + HOUR), {}, (CONTAINERS,), names).groups
    assert [(one.of, one.stretch, one.rest, one.noticeable) for one in found.members] == [
        ("container 5 (ERP1)", pytest.approx(2.1), pytest.approx(0.2), True),
        ("container 3", pytest.approx(0.1), pytest.approx(0.1), False),
        ("container 4", None, None, False),
    ]
    none = replace(whole, series={(VIEW, PER_POLL): []})
    (found,) = compared(page, none, DB, window, Window(NOON, NOON + HOUR), {}, (CONTAINERS,)).groups
    assert found.members == () and "latchscope polls inside a container" in (found.cannot_tell or "")
