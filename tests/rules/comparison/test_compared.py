"""Before against after, word for word: tests/golden/compared.txt has what is said of each pair of intervals.

The first pair, of equal sides, is told whole; every other one by the lines in which it differs from that. `pytest FILE
--renew-golden` writes the file; read the difference before you keep it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from collectors.model import RESULT_CACHE_LATCH, Basis, Changes, Delta, Missing, Row, number
from rules.baseline import UsualRange
from rules.cause import catalogue
from rules.comparison.changes import ChangeVerification, Comparison, FigureChange, NotVerified
from rules.comparison.compare import compare, verified
from tests.rules.contexts import BEGIN, INTERVAL, SICK, TOTALS, delta_of
from tests.rules.printed import printed, scripted

Pair = tuple[Delta, Delta]
STORM, RELIEVED = scripted("undo-storm", 60.0), scripted("undo-storm", 158.0, 30.0)
MUTEXES = scripted("users-mutex", 30.0)


def sick(view: str = "", *rows: Row, **more: Any) -> Delta:
    return delta_of({**SICK, view: rows} if view else SICK, **more)


def slept(times: int) -> Delta:
    return sick("v$latch", *({**row, "sleeps": times} for row in SICK["v$latch"]))


def children(**cells: Callable[[Any], Any]) -> Delta:
    """The sick instance with changed cells of its child latches."""
    rows = [{**row, **{name: of(row) for name, of in cells.items()}} for row in SICK["v$latch_children"]]
    return sick("v$latch_children", *rows)


def scaled(delta: Delta, view: str, column: str, factor: float, **match: Any) -> Delta:
    """The Delta with a column of some rows multiplied."""
    rows: list[Row] = []
    for row in delta.rows(view):
        meant = all(row.get(name) == value for name, value in match.items())
        rows.append({**row, column: int((number(row.get(column)) or 0) * factor)} if meant else row)
    return replace(delta, readings={**delta.readings, view: Changes(view, tuple(rows))})


def without(delta: Delta, *views: str) -> Delta:
    missing = {view: Missing(view, "refused", f"{view}: ORA-00942", "grant it") for view in views}
    return replace(delta, readings={**delta.readings, **missing})


def later(seconds: float, at: float = 600.0) -> Basis:
    begin = BEGIN + timedelta(seconds=at)
    return Basis("interval", begin, begin + timedelta(seconds=seconds), seconds)


def locked(waits: int, seconds: float) -> Delta:
    return sick("v$system_event", {"event": "row cache lock", "total_waits": waits, "time_waited_micro": seconds * 1e6})


def db_time(seconds: float, waited: float) -> Delta:
    delta = sick("v$sys_time_model", {"stat_name": "DB time", "value": seconds * 1e6})
    return replace(delta, readings={**delta.readings, "v$system_event": locked(20, waited).readings["v$system_event"]})


def instance(started: str, number: int = 1, **more: Any) -> Delta:
    return sick("v$instance", {"instance_number": number, "startup_time": started}, **more)


def users(release: str, **cells: int) -> Delta:
    return sick("v$rowcache", {"cache#": 10, "type": "PARENT", "parameter": "dc_users", **cells}, release=release)


def counts() -> Iterator[tuple[str, Pair]]:
    """Counts and levels: each form of the sentence, noise, and what is too little."""
    for before, after in (
        (32_840, 800),
        (4_000, 8_000),
        (4_000, 6_000),
        (4_000, 0),
        (0, 4_000),
        (4_000, 3_900),
        (4, 0),
    ):
        yield f"{before} to {after} sleeps", (slept(before), slept(after))
    yield "from none to none", (slept(0), slept(0))
    yield "the same waits, long and few", (locked(2, 10.0), locked(2, 2.0))
    yield "the same waits, short and many", (locked(1_000, 10.0), locked(1_000, 2.0))
    yield "less than a second, by views", (locked(900, 0.9), locked(900, 0.0))
    yield "less than a second, of a report", (locked(900, 0.9), printed(scripted("healthy-19c", 30.0)))
    for before, after in ((31, 31), (31, 4_000)):
        yield f"{before} s of DB time against {after}", (db_time(before, 0.0), db_time(after, 0.145 * after))
    for usage in (112, 13_300):
        rows = [{**row, "usage": usage} if "usage" in row else row for row in SICK["v$rowcache"]]
        yield f"14,600 entries to {usage}", (sick(), sick("v$rowcache", *rows))
    tiny: Row = {"cache#": 46, "type": "PARENT", "parameter": "outstanding_alerts", "gets": 9, "modifications": 9}
    yield "a cache with hardly any traffic", (sick("v$rowcache", *SICK["v$rowcache"], tiny), sick())
    new: Row = {
        "cache#": 9,
        "type": "PARENT",
        "parameter": "dc_new",
        "gets": 5_000,
        "modifications": 60,
        "getmisses": 0,
    }
    more = sick("v$rowcache", *SICK["v$rowcache"], new)
    yield "a cache that one side lacks", (sick(), more)
    yield "a cache that one report lacks", (replace(sick(), source="report"), replace(more, source="report"))
    old, now = "12.1.0.2.0", "19.0.0.0.0"
    yield "a fast way on one side", (users(old, gets=14_426), users(now, gets=953, fastgets=13_473))
    yield "a fast way on both", (users(now, gets=900, fastgets=100), users(now, gets=953, fastgets=13_473))
    yield "a fast way that was not read", (users(old, gets=14_426), users(now, gets=953))
    yield "a fast way on neither", (users(now, gets=900, modifications=1), users(now, gets=953))
    others = [row for row in SICK["v$latch_misses"] if row["location"] != "kqreqd"]
    yield "a place where nobody slept", (sick(), sick("v$latch_misses", *others))
    yield "places that were not read", (sick(), without(sick(), "v$latch_misses"))
    latch: Row = {"name": RESULT_CACHE_LATCH, "sleeps": 400}
    yield "a result cache on one side", (sick("v$latch", *SICK["v$latch"], latch), sick())


def children_compared() -> Iterator[tuple[str, Pair]]:
    """The hot child, by its cache and not by its number, and its hold anomaly."""
    moved = [{**row, "child#": {1: 5, 5: 1}.get(int(str(row["child#"])), row["child#"])} for row in SICK["x$kqrst"]]
    calmer = [{**row, "sleeps": int(str(row["sleeps"])) // 2 + 4} for row in SICK["v$latch_children"]]
    yield (
        "the child has another number after",
        (sick(), delta_of({**SICK, "x$kqrst": moved, "v$latch_children": calmer})),
    )
    yield "no map and no names", (delta_of({**SICK, "x$kqrst": [], "v$rowcache": []}), delta_of({}))
    quiet: Row = {"latch#": 270, "child#": 1, "gets": 36_000, "sleeps": 9}
    yield "nine sleeps after", (sick(), sick("v$latch_children", quiet))
    for own, other in ((990, 0), (110, 1)):
        bound = children(sleeps=lambda row, own=own, other=other: own if row["child#"] == 1 else other)
        yield f"{own} sleeps of its own, {other} of others", (sick(), bound)
    for at in (30.0, 180.0):
        short, long = (scripted("undo-storm", at, min(one, 160.0 - at) if at < 100 else one) for one in (4.0, 100.0))
        yield f"a short window against a long one at {at:g}", (short, long)
        yield f"a long window against a short one at {at:g}", (long, short)


def sides() -> Iterator[tuple[str, Pair]]:
    """What the two sides are: reports, totals, other releases, windows, instances and loads."""
    yield "two reports", (printed(STORM), printed(RELIEVED))
    yield "a report and views", (printed(STORM), RELIEVED)
    yield "times with and without a zone", (sick(), printed(STORM))
    yield "views that one side lacks", (sick(), without(sick(), "v$latch_misses", "v$rowcache", "v$system_event"))
    yield "latches and mutexes", (STORM, MUTEXES)
    yield "mutexes on both sides", (MUTEXES, scripted("users-mutex", 90.0))
    yield (
        "a second of the one, and of the other 25",
        (scripted("healthy-19c", 60.0, 1.0), scripted("users-mutex", 60.0, 25.0)),
    )
    yield "healthy on both sides", (scripted("healthy-19c", 20.0), scripted("healthy-19c", 120.0))
    yield "totals", (sick(basis=TOTALS), sick(basis=TOTALS))
    yield "totals without work", (without(sick(basis=TOTALS), "v$sysstat"), without(sick(basis=TOTALS), "v$sysstat"))
    yield "no DB time", (without(sick(), "v$sys_time_model"), without(sick(), "v$sys_time_model"))
    for name, basis in (
        ("unequal windows", later(90.0)),
        ("windows that overlap", later(30.0, 10.0)),
        ("after is earlier", later(30.0, -600.0)),
        ("since the instance started", replace(INTERVAL, kind="since_startup")),
    ):
        yield name, (sick(), sick(basis=basis))
    yield "two databases", (sick(), sick(basis=later(30.0), database="other"))
    yield "a restart", (instance("monday"), instance("tuesday", basis=later(30.0)))
    yield (
        "a restart of another database",
        (instance("monday"), instance("tuesday", basis=later(30.0), database="other")),
    )
    yield "two instances", (instance("monday"), instance("tuesday", 2, basis=later(30.0)))
    yield "a tenth of the load", (sick(), sick("v$sysstat", {"name": "execute count", "value": 400}, basis=later(30.0)))
    for commits in ((300, 20), (300, None)):
        done = zip(("user commits", "user rollbacks"), commits, strict=True)
        work = sick("v$sysstat", *({"name": name, "value": value} for name, value in done if value is not None))
        yield f"{commits[0]} commits and {commits[1]} rollbacks", (work, work)
    yield "too few executions for a measure", (sick(), sick("v$sysstat", {"name": "execute count", "value": 99}))


SLEEPS, WORK = ("v$latch_children", "sleeps"), ("v$sysstat", "v$sys_time_model")


def ended() -> Iterator[tuple[str, Pair]]:
    """Whether a change ended the trouble of too many undo segments."""
    yield "sleeps fell, and the work went on", (STORM, RELIEVED)
    yield "the same by reports", (printed(STORM), printed(RELIEVED))
    yield "half of the work", (STORM, scaled(RELIEVED, "v$sysstat", "value", 0.51))
    yield "fewer executions", (STORM, scaled(RELIEVED, "v$sysstat", "value", 0.49, name="execute count"))
    yield "fewer commits", (STORM, scaled(RELIEVED, "v$sysstat", "value", 0.49, name="user commits"))
    yield "sleeps go on", (STORM, scripted("undo-storm", 90.0))
    yield "hardly any sleeps before", (scaled(STORM, *SLEEPS, 1e-4), RELIEVED)
    yield "hardly any time after", (scaled(STORM, *SLEEPS, 4e-4), scripted("undo-storm", 158.0, 2.0))
    yield "nothing after", (STORM, replace(RELIEVED, readings={}))
    yield "no latch after", (STORM, without(RELIEVED, "v$latch_children", "v$latch"))
    yield "mutexes after", (STORM, MUTEXES)
    yield "no work on either side", (without(STORM, *WORK), without(RELIEVED, *WORK))


LOAD = ("cache_getmisses", "cache_modifications")
"""Figures that are told of hand-made pairs alone."""


def lines(pair: Pair, mark: str | None = None, usual: Mapping[str, UsualRange] | None = None) -> list[str]:
    got = compare(*pair, usual, mark)
    assert Comparison.model_validate_json(got.model_dump_json()) == got
    work = f"{got.work.name} {got.work.factor:.3g}{' same' if got.work.same else ''}" if got.work else "unknown"
    head = [f"= {got.sentence}", f"work: {work}{'' if got.comparable else '; not comparable'}"]
    changes = [one for one in got.changes if one.name not in LOAD or {side.database for side in pair} == {"sick"}]
    return [*head, *(f"note: {note}" for note in got.notes), *map(change_of, changes)]


def change_of(change: FigureChange) -> str:
    def told(value: float | None) -> str:
        return "?" if value is None else f"{value:.6g}"

    counted = f"{told(change.counted_before)} → {told(change.counted_after)}, due {told(change.due_after)}"
    usual = {None: "", True: "; outside the usual", False: "; usual"}[change.outside_usual]
    little = "; too little" * change.too_little
    return f"{change.name} {change.of or ''}: {change.verdict}; {change.direction}; {counted}{usual}{little}. {change.sentence}"


def verdict_of(pair: Pair, cause: str = "undo-segments") -> str:
    got: ChangeVerification | NotVerified = verified(compare(*pair), catalogue()[cause])
    return f"{got.verdict}: {getattr(got, 'reason', '')} {got.because}"


def test_what_is_said_of_each_pair(golden: Callable[[str, str], None]) -> None:
    told = {"equal sides": lines((sick(), sick(basis=later(30.0))))}
    told |= {name: lines(pair) for subject in (counts, children_compared, sides) for name, pair in subject()}
    told["a mark between the sides"] = lines((STORM, RELIEVED), "undo tablespace recreated")
    wide = UsualRange(median=20.0, low=1.0, high=60.0, samples=40, scope="hour of the week")
    for low in (1.0, 10.0):
        usual = {"sleeps_per_second": wide.model_copy(update={"low": low})}
        told[f"the usual is {low:g} to 60 sleeps a second"] = lines((slept(1_000), slept(90)), usual=usual)
    first = told["equal sides"]
    text = []
    for name, said in told.items():
        text += [f"== {name}", *(said if said is first else [f"+ {line}" for line in said if line not in first])]
        about = {line.partition(":")[0] for line in said}
        text += [f"- {line.partition(':')[0]}" for line in first[1:] if line.partition(":")[0] not in about]
    text += ["== Did it end the trouble?", *(f"{name}: {verdict_of(pair)}" for name, pair in ended())]
    sequences = scripted("nocache-sequence-1", 60.0), scripted("nocache-sequence-1", 1.0, 5.0)
    text += [f"a lock, by its waits: {verdict_of(sequences, 'undo-lock-smon')}"]
    text += [f"mutexes, by their sleeps: {verdict_of((MUTEXES, scripted('users-mutex', 90.0)), 'logon-storm')}", ""]
    nothing = verified(None, catalogue()["undo-segments"])
    assert isinstance(nothing, NotVerified) and nothing.reason == "no data after"
    golden("compared.txt", "\n".join(text))
