"""v$latch, v$latch_children, v$latch_misses and v$mutex_sleep of an interval."""

from collections.abc import Iterable

from tests.truth.outcome import Counted, Outcome
from tests.truth.releases import mutex_location
from tests.truth.sessions import address

Cell = int | float | str | None
Row = dict[str, Cell]
Pair = tuple[list[Row], list[Row]]
ROW_CACHE, RESULT_CACHE = "row cache objects", "Result Cache: RC Latch"
COUNTERS = ("gets", "misses", "sleeps", "spin_gets", "wait_time")

NEIGHBOURS = {
    "shared pool": (900.0, 2e-3, 2e-3),
    "cache buffers chains": (40000.0, 5e-4, 5e-4),
    "redo allocation": (300.0, 1e-3, 1e-3),
    "session allocation": (60.0, 3e-4, 2e-3),
    "enqueue hash chains": (900.0, 3e-4, 1e-3),
    "undo global data": (500.0, 3e-4, 1e-3),
    "messages": (120.0, 1e-3, 1e-3),
}
"""Other latches: gets per second and busy processor, misses per get, sleeps per miss."""
NEIGHBOUR_SLEEP = 8e-4
"""Seconds of an ordinary sleep for another latch."""


def latch_views(outcome: Outcome) -> dict[str, Pair]:
    """All of them. Children exist where latches guard the row cache."""
    children = _children(outcome)
    return {
        "v$latch": _latches(outcome, children),
        "v$latch_children": children,
        "v$latch_misses": _miss_locations(outcome),
        "v$mutex_sleep": _mutexes(outcome),
    }


def _grown(outcome: Outcome, changes: dict[str, int], calmer: float) -> tuple[Row, Row]:
    """Counters at the begin and at the end. Before the interval, the latch had the same gets and fewer waits."""
    it = outcome.instance
    past = it.uptime / it.seconds * it.dice.between(0.2, 0.8)
    begin: dict[str, int] = {"gets": round(changes["gets"] * past)}
    for name in COUNTERS[1:]:
        begin[name] = round(changes[name] * past * calmer)
    return dict(begin), {name: begin[name] + changes[name] for name in COUNTERS}


def _children(outcome: Outcome) -> Pair:
    it = outcome.instance
    begin: list[Row] = []
    end: list[Row] = []
    slept = _slept(c for c in outcome.counted if c.stream.surface == "latch")
    for child, gets in outcome.child_gets.items():
        sleeps, wait = slept.get(child, (0, 0))
        changes = {
            "gets": gets,
            "misses": outcome.child_misses[child],
            "sleeps": sleeps,
            "spin_gets": outcome.child_spins[child],
            "wait_time": wait,
        }
        first, last = _grown(outcome, changes, it.dice.scale(0.003, 0.5) if sleeps else 1.0)
        fixed: Row = {"latch#": it.release.latch_number, "child#": child, "addr": address(child)}
        quiet: Row = {"immediate_gets": it.dice.whole(0, 40), "immediate_misses": 0}
        begin.append(fixed | first | quiet)
        end.append(fixed | last | quiet)
    return begin, end


def _slept(counted: Iterable[Counted]) -> dict[int, tuple[int, int]]:
    slept: dict[int, tuple[int, int]] = {}
    for each in counted:
        assert each.stream.cache is not None
        sleeps, wait = slept.get(each.stream.cache.child, (0, 0))
        slept[each.stream.cache.child] = (sleeps + each.waits, wait + each.micros)
    return slept


def _latches(outcome: Outcome, children: Pair) -> Pair:
    it = outcome.instance
    begin, end = _result_cache(outcome)
    if it.release.guard == "latch":
        number = it.release.latch_number
        for rows, of in ((begin, children[0]), (end, children[1])):
            sums: Row = {name: sum(int(row[name] or 0) for row in of) for name in COUNTERS}
            rows.append({"latch#": number, "name": ROW_CACHE, **sums})
    elif it.release.name in ("12.2", "19"):  # still there with few gets; gone later
        idle: Row = dict.fromkeys(COUNTERS, 0)
        for rows, gets in ((begin, 900), (end, 900 + it.dice.whole(0, 5))):
            rows.append({"latch#": it.release.latch_number, "name": ROW_CACHE, **idle, "gets": gets})
    for number, (name, (rate, missed, sleeping)) in enumerate(NEIGHBOURS.items(), 30):
        changes = _neighbour(outcome, name, rate, missed, sleeping)
        first, last = _grown(outcome, changes, 1.0 / it.neighbours)
        begin.append({"latch#": number, "name": name, **first})
        end.append({"latch#": number, "name": name, **last})
    return begin, end


def _neighbour(outcome: Outcome, name: str, gets: float, missed: float, sleeping: float) -> dict[str, int]:
    """The counters of another latch. If it has its own event, its sleeps are those waits."""
    it = outcome.instance
    asked = it.dice.count(gets * it.dice.about(1.0, 0.5) * it.work.cpu * it.seconds)
    misses = min(asked, it.dice.count(asked * missed * it.dice.about(1.0, 0.4)))
    own = [c for c in outcome.counted if c.stream.event == f"latch: {name}"]
    if own:
        sleeps, wait = sum(c.waits for c in own), sum(c.micros for c in own)
    else:
        sleeps = it.dice.count(misses * min(0.5, sleeping * it.dice.about(1.0, 0.4) * it.rush))
        wait = round(sleeps * NEIGHBOUR_SLEEP * it.neighbours * 1e6 * it.dice.about(1.0, 0.2))
    misses = max(misses, sleeps)
    asked = max(asked, misses)
    return {"gets": asked, "misses": misses, "sleeps": sleeps, "spin_gets": misses - sleeps, "wait_time": wait}


def _result_cache(outcome: Outcome) -> Pair:
    it = outcome.instance
    load = it.result_cache
    own = [c for c in outcome.counted if c.stream.surface == "result-cache"]
    asked = it.dice.count((load.gets if load else it.dice.scale(0.01, 8)) * it.seconds)
    misses = max(it.dice.count(load.misses * it.seconds) if load else 0, sum(c.first for c in own))
    changes = {
        "gets": max(asked, misses),
        "misses": misses,
        "sleeps": sum(c.waits for c in own),
        "spin_gets": misses - sum(c.first for c in own),
        "wait_time": sum(c.micros for c in own),
    }
    first, last = _grown(outcome, changes, 0.1)
    fixed: Row = {"latch#": it.release.result_cache_latch_number, "name": RESULT_CACHE}
    return [fixed | first], [fixed | last]


def _miss_locations(outcome: Outcome) -> Pair:
    """Sleeps by place, twice: the place that held and the place that waited."""
    it = outcome.instance
    sums: dict[tuple[str, str], list[int]] = {}
    for each in outcome.counted:
        stream = each.stream
        if stream.shape is None or stream.surface not in ("latch", "result-cache"):
            continue
        name = ROW_CACHE if stream.surface == "latch" else RESULT_CACHE
        for column, weights in enumerate((stream.shape.holders, stream.shape.waiters)):
            for place, sleeps in zip(weights, it.dice.split(each.waits, list(weights.values())), strict=True):
                sums.setdefault((name, place), [0, 0])[column] += sleeps
    begin: list[Row] = []
    end: list[Row] = []
    past = it.uptime / it.seconds * it.dice.scale(0.002, 0.3)
    for (name, place), (held, waited) in sums.items():
        first = [round(held * past), round(waited * past)]
        fixed: Row = {"parent_name": name, "location": place, "nwfail_count": 0}
        rows: list[Row] = [
            fixed | {"sleep_count": h, "wtr_slp_count": w, "longhold_count": round(h * 0.02)}
            for h, w in (first, [first[0] + held, first[1] + waited])
        ]
        for row, into in zip(rows, (begin, end), strict=True):
            if row["sleep_count"] or row["wtr_slp_count"]:
                into.append(row)
    return begin, end


def _mutexes(outcome: Outcome) -> Pair:
    it = outcome.instance
    sums: dict[str, list[int]] = {}
    for each in outcome.counted:
        shape = each.stream.shape
        if each.stream.surface != "mutex" or shape is None:
            continue
        slept = it.dice.split(each.sleeps, list(shape.mutex.values()))
        for function, sleeps in zip(shape.mutex, slept, strict=True):
            share = sleeps / max(each.sleeps, 1)
            place = sums.setdefault(mutex_location(it.release, function)[1], [0, 0])
            place[0] += sleeps
            place[1] += round(each.micros * share * 0.97)
    begin: list[Row] = []
    end: list[Row] = []
    past = it.uptime / it.seconds * it.dice.scale(0.002, 0.3)
    for where, (sleeps, wait) in sums.items():
        fixed: Row = {"mutex_type": "Row Cache", "location": where}
        first = [round(sleeps * past), round(wait * past)]
        if first[0]:
            begin.append(fixed | {"sleeps": first[0], "wait_time": first[1]})
        if first[0] or sleeps:
            end.append(fixed | {"sleeps": first[0] + sleeps, "wait_time": first[1] + wait})
    return begin, end
