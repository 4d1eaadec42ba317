"""What a diagnosis says of hand-made instances, word for word: tests/golden/explained-*.txt, a file a subject.

The first scene of a file is told whole, every other one by the lines in which it differs from the first. `+` is said now, and
`-` no longer. `pytest FILE --renew-golden` writes the files; read the difference before you keep it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from collectors.model import (
    RESULT_CACHE_LATCH,
    ROW_CACHE_LATCH,
    ROW_CACHE_LOCK_EVENT,
    ROW_CACHE_MUTEX_EVENT,
    Basis,
    Delta,
    Row,
)
from rules.context import SignalContext
from rules.engine import diagnose
from rules.explain.notes import notes as notes_of
from rules.explain.stops import stops
from rules.model import ChainLink, Step
from tests.rules.contexts import INTERVAL, SICK, TOTALS, delta_of, waiting_for_the_lock
from tests.rules.rich import LATCH_WAIT, RICH, waiters

Views = Mapping[str, Sequence[Row]]
RELEASE_19 = "19.0.0.0.0"


def sick(**views: Sequence[Row]) -> Delta:
    return delta_of({**SICK, **named(views)})


def rich(release: str = "11.2.0.4.0", **views: Sequence[Row]) -> Delta:
    return delta_of({**RICH, **named(views)}, release=release)


def named(views: Views) -> Views:
    """The views by their whole names: `latch` is v$latch."""
    return {"x$kqrst" if view == "kqrst" else view if view == "waiting_sessions" else f"v${view}": rows
            for view, rows in views.items()}  # fmt: skip


def without(delta: Delta, *views: str) -> Delta:
    """The same where the user may not read some views."""
    refused = delta_of({}, refused=views).readings
    return replace(delta, readings={**delta.readings, **refused})


def event(name: str, waits: int, seconds: float, **more: float) -> Row:
    return {"event": name, "total_waits": waits, "time_waited_micro": seconds * 1e6, **more}


def children(**cells: Any) -> list[Row]:
    """The child latches of the sick instance with other cells: one value for all, or one for each."""
    return [
        {**row, **{name: value[place] if isinstance(value, tuple) else value for name, value in cells.items()}}
        for place, row in enumerate(SICK["v$latch_children"])
    ]


def held(**places: int) -> list[Row]:
    names = {"find": "kqrpre: find obj", "reget": "kqreqd: reget", "kqreqd": "kqreqd", "kqrso": "kqrso"}
    return [
        {"parent_name": ROW_CACHE_LATCH, "location": names[place], "sleep_count": slept, "wtr_slp_count": 5}
        for place, slept in places.items()
    ]


def caches(hot: int | None = None, **cells: int) -> list[Row]:
    """The rich rows of v$rowcache with these cells, all or those of one cache; then the others have one change each."""
    one: Row = {"modifications": 1}
    return [{**row, **(cells if hot in (None, row["cache#"]) else one)} for row in RICH["v$rowcache"]]


DEAR = [event(LATCH_WAIT, 1_000, 40)]


def latch() -> Iterator[tuple[str, Delta]]:
    """The instance with child latches, and what of them was not read, or cannot be."""
    yield "99 % of the sleeps on one child", sick()
    yield "the map is not read, and the gets fit", without(sick(), "x$kqrst")
    yield "the map is not read, and no gets fit", without(sick(latch_children=children(gets=77_777)), "x$kqrst")
    for view in ("v$latch_children", "v$latch_misses", "v$rowcache", "v$sys_time_model"):
        yield f"{view} is not read", without(sick(), view)
    yield "neither waits nor the latch are read", without(sick(), "v$system_event", "v$latch")
    yield "the child of a subordinate", sick(latch_children=children(sleeps=(1, 1, 5_000)))
    yield "gets that doubt the map", sick(latch_children=children(gets=(60_000, 21_000, 2_600)))
    yield "few sleeps", sick(latch_children=children(sleeps=3))
    yield "no sleeps", sick(latch_children=children(sleeps=0))
    yield "mostly on one", sick(latch_children=children(sleeps=(600, 200, 200)))
    yield "most often on one", sick(latch_children=children(sleeps=(400, 300, 300)))
    bare = [{name: cell for name, cell in row.items() if name != "latch#"} for row in SICK["v$latch_children"]]
    yield "no number of the latch", sick(latch_children=bare)
    first, *others = SICK["v$latch_children"]
    yield "the sleeps of one are unknown", sick(latch_children=[{**first, "sleeps": None}, *others], system_event=DEAR)
    swapped = [{**row, "child#": {1: 5, 5: 1}.get(int(str(row["child#"])), row["child#"])} for row in SICK["x$kqrst"]]
    yield "a map that does not fit", sick(kqrst=swapped, system_event=DEAR)
    yield (
        "two hot children",
        sick(latch_children=children(sleeps=(540, 0, 460)), system_event=[event(LATCH_WAIT, 9, 50)]),
    )
    yield "too few holders for a shape", sick(latch_misses=held(find=99))
    yield "holders that search", sick(latch_misses=held(find=900, kqreqd=100))
    yield "the ordinary mix of holders", sick(latch_misses=held(reget=800, find=100, kqreqd=100))
    yield "harmless", sick(system_event=[event(LATCH_WAIT, 1, 0.001)])
    for name, waited in (("33", 33), ("4.9", 4.9), ("133", 133)):
        waits = [*SICK["v$system_event"], event("library cache lock", 900, waited)]
        yield f"library cache lock has {name} %", sick(system_event=waits)


FEW: list[Row] = [{"location": "[32] kqrsfd", "sleeps": 9, "wait_time": 2_000}]
ONLY_A_NAME: list[Row] = [{"name": ROW_CACHE_LATCH, "gets": 41, "misses": 0, "sleeps": 0, "wait_time": 0}]
LOCKED = event(ROW_CACHE_LOCK_EVENT, 20_139, 25.9)


def surfaces() -> Iterator[tuple[str, Delta]]:
    """The instance with mutexes, a lock and a result cache."""
    yield "all of them", rich(RELEASE_19)
    yield "few sleeps", rich(RELEASE_19, mutex_sleep=FEW)
    yield "nobody slept", rich(RELEASE_19, mutex_sleep=[])
    yield "nobody slept at a place", rich(RELEASE_19, mutex_sleep=[{"location": "x", "sleeps": 0}])
    yield "no changes", rich(RELEASE_19, rowcache=caches(modifications=0))
    yield "no waits", rich(RELEASE_19, system_event=[])
    yield "waits of sessions apart", rich(RELEASE_19, system_event=[{**LOCKED, "total_waits_fg": 19_939}])
    yield "all waits are of sessions", rich(RELEASE_19, system_event=[{**LOCKED, "total_waits_fg": 20_139}])
    yield "one cache has the changes", rich(RELEASE_19, session=[], rowcache=caches(3, modifications=990))
    yield "nobody was sampled", rich(RELEASE_19, session=[])
    yield "waiters for the lock alone", rich(RELEASE_19, session=waiters(ROW_CACHE_LOCK_EVENT, {3: 20}))
    yield "of the latch only the name is left", rich(RELEASE_19, latch=ONLY_A_NAME)
    yield "no latch", rich(RELEASE_19, latch=[])
    yield "no holders", rich(RELEASE_19, latch_misses=[])
    yield "no cluster", rich(RELEASE_19, rowcache=caches(dlm_requests=0))
    yield "few conflicts", rich(RELEASE_19, rowcache=caches(dlm_requests=1_204, dlm_conflicts=11))
    for view in ("v$mutex_sleep", "v$session", "v$rowcache"):
        yield f"{view} is not read", without(rich(RELEASE_19), view)
    whose = {"module": "ORDERS", "program": "orders@app", "blocking_session": 312}
    yield (
        "waiters with a module, a program and a blocker",
        rich(RELEASE_19, session=[{**row, **whose} for row in waiters(ROW_CACHE_LOCK_EVENT, {3: 12})]),
    )
    lock = [event(ROW_CACHE_LOCK_EVENT, 90, 60)]
    crowd = waiters(ROW_CACHE_LOCK_EVENT, {0: 20, 3: 4})
    nameless = [{**row, "p1": None} for row in crowd]
    for name, met in (("name a cache", crowd), ("name none", nameless), ("were not met", [])):
        yield (
            f"the lock is dear, and waiters {name}",
            rich(RELEASE_19, system_event=lock, session=met, latch_children=[], mutex_sleep=[]),
        )
    mutex = [event(ROW_CACHE_MUTEX_EVENT, 9, 20)]
    yield "the mutexes are dear", rich(RELEASE_19, system_event=mutex)
    yield "the mutexes are dear, and nobody was sampled", rich(RELEASE_19, system_event=mutex, session=[])


def time_of(cpu: float | None = None, **waited: float) -> Delta:
    """100 s of DB time: CPU, and waits beside a millisecond of the row cache."""
    names = {"row": "enq: TX - row lock contention", "io": "db file sequential read", "lock": ROW_CACHE_LOCK_EVENT}
    names |= {"library": "library cache lock", "pin": "library cache pin"}
    waits = [event(names[name], 400, seconds) for name, seconds in {"lock": 0.001, **waited}.items()]
    model = [{"stat_name": "DB time", "value": 100e6}, *([{"stat_name": "DB CPU", "value": cpu * 1e6}] if cpu else [])]
    return rich(system_event=waits, session=[], latch=[], latch_children=[], sys_time_model=model)


def hung(*seconds: float, p1: int | None = 3, waits: int = 0, met: int | None = None) -> Delta:
    """The sick instance with sessions that have waited this long for the lock, and this many waits that ended."""
    rows = waiting_for_the_lock(*seconds, p1=p1, met=met)
    return sick(system_event=[event(ROW_CACHE_LOCK_EVENT, waits, 0)], waiting_sessions=rows)


def costs() -> Iterator[tuple[str, Delta]]:
    """What costs most, what else does, what hangs, and where nobody can tell."""
    yield "hardly anything", time_of()
    yield "most is CPU", time_of(78, row=22)
    yield "most is CPU, and the rest is not read", time_of(78)
    yield "a larger part is reading", time_of(30, io=45, row=25)
    yield "most is not read", time_of(20, row=10)
    yield "reading is ordinary work", time_of(20, io=70)
    yield "another wait has most", time_of(20, row=60)
    yield "another wait began long before", time_of(20, row=130)
    yield "the library cache has most", time_of(library=91.8)
    yield "the library cache has nearly half", time_of(library=45.9)
    yield "the library cache has most by two events", time_of(library=45, pin=44)
    yield "the row cache is dear beside the library cache", time_of(library=60, lock=30)
    both = [event(LATCH_WAIT, 900, 0.5), event(ROW_CACHE_LOCK_EVENT, 90, 40)]
    yield (
        "the lock costs more than the hottest child",
        rich(system_event=both, session=waiters(ROW_CACHE_LOCK_EVENT, {0: 20})),
    )
    yield (
        "no map and no names",
        delta_of({view: rows for view, rows in RICH.items() if view not in ("x$kqrst", "v$rowcache")}),
    )
    still = {"latch_children": children(sleeps=0), "system_event": [], "session": []}
    for name, seconds in (("dear", 30.0), ("less dear", 19.0)):
        slept: Row = {"gets": 50_000, "misses": 5_000, "sleeps": 2_000, "wait_time": seconds * 1e6}
        yield f"the result cache is {name}", rich(**still, latch=[{"name": RESULT_CACHE_LATCH, **slept}])
    seen = {view: rows for view, rows in SICK.items() if view not in ("v$latch", "v$latch_children", "v$latch_misses")}
    yield "waits for any latch", delta_of({**seen, "v$system_event": [event("latch free", 900, 5)]})
    yield "totals", delta_of(RICH, basis=TOTALS)
    yield "nothing was read", delta_of({})
    yield "nothing was read of a file without its end", delta_of({}, lost="its end is cut off")
    yield "a file that lost lines", replace(time_of(), lost="lines of it are lost")
    yield "a dear file that lost lines", delta_of(RICH, lost="lines of it are lost")
    hangs: dict[str, tuple[float, ...]] = {"two hang": (671, 40), "two of three hang": (671, 40, 9.9), "one": (11,)}
    for name, waited in hangs.items():
        yield name, hung(*waited)
    yield "of a cache that is not listed", hung(671, p1=37)
    yield "one of two of a cache that is not listed", hung(70, 2, p1=37)
    yield "of no cache", hung(671, p1=None)
    yield "of many the longest", hung(8000, met=300)
    yield "one wait ended meanwhile", hung(671, waits=1)
    yield "many waits ended meanwhile", hung(671, waits=90)
    yield "the counter is not read", without(hung(671), "v$system_event")
    yield "totals and a hang", replace(hung(671), basis=TOTALS)
    yield "nobody hangs", hung(9.9)


def report(**views: Sequence[Row]) -> Delta:
    rows: dict[str, Sequence[Row]] = {
        "v$latch": [{"name": ROW_CACHE_LATCH, "gets": 20_000, "sleeps": 1_000}],
        "v$rowcache": [
            {"parameter": "dc_users", "gets": 9_000, "usage": 9},
            {"parameter": "dc_segments", "gets": 1_000, "usage": 700},
        ],
        "v$latch_misses": [],
        **named(views),
    }
    return delta_of(rows, source="report")


def reports() -> Iterator[tuple[str, Delta]]:
    """What a report prints, and what it cannot show."""
    yield "the latch and two caches", report()
    yield "no latch", report(latch=[])
    for gets in (30_000, 31_400, 33_000, 34_000, 9_000, 8_000):
        yield f"{gets:,} gets of the latch", report(latch=[{"name": ROW_CACHE_LATCH, "gets": gets}])
    yield "holders that search", report(latch_misses=held(find=900))
    yield "holders at subordinates", report(latch_misses=held(kqrso=900))
    yield "no caches", report(rowcache=[])
    latch = {"name": ROW_CACHE_LATCH, "gets": 9, "misses": 8, "sleeps": 7, "spin_gets": 1, "wait_time": 3_000_000}
    waits = event(ROW_CACHE_LOCK_EVENT, 90, 9, total_waits_fg=80, time_waited_micro_fg=1_600_000)
    model: list[Row] = [{"stat_name": "DB time", "value": 100_000_000}]
    yield (
        "the whole latch, waits and holders",
        report(latch=[latch], latch_misses=held(kqrso=7), system_event=[waits], sys_time_model=model),
    )
    views = ["v$system_event", "v$sys_time_model", "v$latch_misses", "v$rowcache", "v$latch"]
    yield "nothing of it is printed", delta_of(refused=views, source="report")
    lock = event(ROW_CACHE_LOCK_EVENT, 90, 9)
    yield "waits of background processes", report(system_event=[{**lock, "time_waited_micro_fg": 0}])
    yield "waits of all processes", report(system_event=[lock])
    slept: Row = {"mutex_type": "Row Cache", "location": "[19] kqrpre", "sleeps": 101, "wait_time": 142_000}
    yield "mutexes", report(event_name=[{"name": "row cache mutex"}], mutex_sleep=[slept])
    one = [{"parameter": "dc_users", "gets": 1, "modifications": 2, "usage": 1}]
    yield "one get and two changes", report(rowcache=one)
    yield "harmless", report(system_event=[event(LATCH_WAIT, 1, 0.000009)])


def host(free: int | None, out: int | None) -> Delta:
    return sick(
        osstat=[
            {"stat_name": "PHYSICAL_MEMORY_BYTES", "level_now": 135_023_947_776},
            {"stat_name": "SWAP_FREE_BYTES", "level_now": free},
            {"stat_name": "VM_OUT_BYTES", "total": out},
            {"stat_name": "VM_IN_BYTES", "total": 9e12},
        ]
    )


def late(db_time: float, locked: float, seconds: float) -> Delta:
    lock = event(ROW_CACHE_LOCK_EVENT, 100, locked, total_waits_fg=100, time_waited_micro_fg=locked * 1e6)
    delta = sick(sys_time_model=[{"stat_name": "DB time", "value": db_time * 1e6}], system_event=[lock])
    return replace(delta, basis=replace(INTERVAL, seconds=seconds))


def slow_mutex(sleeps: int, micro: int) -> Delta:
    views: Views = {
        "v$event_name": [{"name": "row cache mutex"}],
        "v$mutex_sleep": [{"location": "[19] kqrpre", "sleeps": sleeps, "wait_time": micro}],
        "v$system_event": [event("row cache mutex", min(sleeps, 974), micro / 1e6)],
        "v$sys_time_model": [{"stat_name": "DB time", "value": 90_000_000_000}],
    }
    return delta_of(views, release=RELEASE_19)


def oddities() -> Iterator[tuple[str, Delta]]:
    """What is odd about the figures, as notes."""
    yield "nothing is odd", sick(osstat=[])
    for free, out in (
        (76_849_152, 16_945_152),
        (76_849_152, None),
        (0, 16_945_152),
        (0, 0),
        (0, None),
        (None, 16_945_152),
    ):
        yield f"{free} bytes of swap space are free, {out} went out", host(free, out)
    yield "much swap space is free", host(2_147_479_552, 16_945_152)
    for gets, misses in ((500, 501), (76_843, 508_432), (500, 500), (0, 100), (None, 900), (900, None)):
        yield (
            f"{misses} misses on {gets} gets",
            sick(rowcache=[{"parameter": "dc_x", "gets": gets, "getmisses": misses}]),
        )
    for source in ("views", "report"):
        week = Basis("interval", INTERVAL.begin, INTERVAL.end, 604_800.0)
        yield f"a week of {source}", replace(sick(osstat=[]), basis=week, source=source)
    yield "an hour", replace(sick(osstat=[]), basis=replace(INTERVAL, seconds=3_603.0))
    yield "DB time may be late, and the bound of 10 % is between", late(20.0, 0.2, 30.0)
    yield "DB time may be late, critical either way", late(20.0, 4.0, 30.0)
    yield "DB time may be late, many sessions at work", late(200.0, 18.2, 30.0)
    yield "DB time may be late, long enough", late(90.0, 7.2, 90.0)
    yield "mutex sleeps of 30 ms", slow_mutex(15, 450_000)
    yield "mutex sleeps of 6 ms", slow_mutex(15, 90_000)
    yield "mutex waits of ten sleeps each", slow_mutex(9_312, 84_640_000)
    yield "the host is not read", without(sick(osstat=[]), "v$osstat")
    yield (
        "views that are optional",
        without(sick(osstat=[]), "dba_registry_sqlpatch", "v$containers", "v$con_system_event"),
    )


SUBJECTS: Mapping[str, Callable[[], Iterator[tuple[str, Delta]]]] = {
    "latch": latch,
    "surfaces": surfaces,
    "costs": costs,
    "reports": reports,
    "oddities": oddities,
}


def lines(delta: Delta, notes: bool) -> list[str]:
    """What is said: headline, steps with their figures, links, and the stops of the other surfaces; or the notes alone."""
    context = SignalContext(delta)
    if notes:
        return [f"note: {note}" for note in notes_of(context)]
    got = diagnose(delta, {})
    said = [f"{got.state}: {got.headline}", *map(step_of, got.steps), *map(link_of, got.chain)]
    for surface in context.surfaces:
        said += [step_of(stop.step) for stop in stops(context, surface, None, {}) if stop.step]
    return [*dict.fromkeys(said)]


def step_of(step: Step) -> str:
    figures = "; ".join(f"{one.name} {one.value:.5g} {one.unit}".strip() for one in step.figures)
    return f"{step.step}: {step.statement}{f' [{figures}]' if figures else ''}"


def link_of(link: ChainLink) -> str:
    value = "?" if link.value is None else f"{link.value:.5g}"
    parts = f" ({link.numerator:g} of {link.denominator:g})" if link.numerator and link.denominator else ""
    bars = ", ".join(f"{'*' * bar.hot}{bar.label} {bar.value:.3g}" for bar in link.bars)
    unsure = "" if link.certain else f"; not certain: {link.unknown}; {link.way_out}"
    more = [f"; bars {bars}" * bool(bars), f"; {link.caveat}" if link.caveat else "", unsure]
    return (
        f"> {link.verb} {link.name}: {value} {link.unit} {link.of}{parts} from {', '.join(link.views)}{''.join(more)}"
    )


@pytest.mark.parametrize("subject", SUBJECTS)
def test_what_is_said_of_each_scene(subject: str, golden: Callable[[str, str], None]) -> None:
    told = {name: lines(delta, notes=subject == "oddities") for name, delta in SUBJECTS[subject]()}
    first = next(iter(told.values()))
    text = []
    for name, said in told.items():
        changed = [f"- {line.partition(':')[0]}" for line in first if line not in said]
        changed += [f"+ {line}" for line in said if line not in first]
        text += [f"== {name}", *(said if said is first else changed), ""]
    golden(f"explained-{subject}.txt", "\n".join(text))
