"""Random instances that obey the laws: any rates, one load model, waits that fit into their DB time."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from collectors.delta import between
from collectors.demo.database import ScriptedDatabase
from collectors.demo.load import Child, Scenario, ScriptedLoad, ScriptedWaiters
from collectors.demo.scenarios import ORDINARY, RELEASE_11_2, RELEASE_12_1, RELEASE_19
from collectors.model import Changes, ColumnKind, Delta
from collectors.ondemand.sampling import Burst
from collectors.poll import poll
from collectors.registry import collectors
from tests.collectors.scripted import BEGAN

RELEASES = {"11.2.0.4.0": RELEASE_11_2, "12.1.0.2.0": RELEASE_12_1, "19.0.0.0.0": RELEASE_19}
PLACES = ("kqrpre: find obj", "kqreqd: reget", "kqreqd", "kqrso", "kqrpup", "kqrigt")
MUTEXES = ("[19] kqrpre", "[10] kqreqd", "[32] kqrsfd", "[25] kqrpup", "[06] kqrGetClusterLock")
NEIGHBOURS = ("shared pool", "redo allocation", "cache buffers chains")
EVENTS = (
    "row cache lock",
    "library cache: mutex X",
    "cursor: pin S wait on X",
    "enq: US - contention",
    "library cache lock",
)
RESULT_CACHE = "Result Cache: RC Latch"
SETTINGS = {
    "undo_retention": ("1", "900", "90000"),
    "optimizer_adaptive_features": ("TRUE", "FALSE"),
    "result_cache_mode": ("MANUAL", "FORCE"),
    "optimizer_dynamic_sampling": ("2", "6"),
    "session_cached_cursors": ("0", "50"),
    "_rollback_segment_count": ("900000",),
}
SECONDS = 60


@dataclass(frozen=True)
class Instance:
    """A scenario, and which of its views nobody may see."""

    scenario: Scenario
    refused: tuple[str, ...]
    looks: int


def _rate(least: float, most: float) -> st.SearchStrategy[float]:
    """Rates over many orders of magnitude, so that quiet and stormy ones are equally likely."""
    exponents = st.floats(0, 1)
    return exponents.map(lambda part: least * (most / least) ** part)


@st.composite
def instances(draw: st.DrawFn, refusable: bool = True) -> Instance:
    """Any instance of any release under any lawful load."""
    release = draw(st.sampled_from(sorted(RELEASES)))
    caches, mutexes = RELEASES[release], release.startswith("19")
    load = draw(_loads(sorted({one.name for one in caches}), sorted({one.child for one in caches}), mutexes))
    settings = {name: draw(st.sampled_from(values)) for name, values in SETTINGS.items() if draw(st.booleans())}
    scenario = Scenario(
        name="random",
        release=release,
        about="any load",
        caches=caches,
        ordinary=ORDINARY,
        loop=((300, load),),
        parameters=settings,
        events=("latch: row cache objects", "row cache lock", *(("row cache mutex",) if mutexes else ())),
        cluster=draw(st.none() | st.just("pair")),
        mutexes=mutexes,
    )
    views = sorted(
        name for name, one in collectors().items() if not one.sampled and not one.on_request and name != "v$instance"
    )
    refused = draw(st.lists(st.sampled_from(views), max_size=4, unique=True)) if refusable else []
    return Instance(scenario, tuple(refused), draw(st.sampled_from((0, 0, 15))))


@st.composite
def _loads(draw: st.DrawFn, names: list[str], children: list[int], mutexes: bool) -> ScriptedLoad:
    gets = {name: draw(_rate(20, 30_000)) for name in draw(st.lists(st.sampled_from(names), max_size=6, unique=True))}
    hot = draw(st.lists(st.sampled_from(children), max_size=4, unique=True))
    slept = {child: Child(0.001, 0.3, 900) for child in children}
    slept |= {child: Child(0.01, draw(_rate(2, 3_000)), draw(_rate(100, 200_000))) for child in hot}
    places = {place: (draw(_rate(2, 3_000)), draw(_rate(0.001, 9))) for place in MUTEXES} if mutexes else {}
    events = {event: (draw(_rate(1, 900)), draw(_rate(0.001, 20))) for event in EVENTS if draw(st.booleans())}
    neighbours = {name: draw(st.tuples(_rate(500, 9_000), _rate(2, 90), _rate(0.002, 9))) for name in NEIGHBOURS}
    if draw(st.booleans()):
        neighbours[RESULT_CACHE] = draw(st.tuples(_rate(2_000, 90_000), _rate(2, 900), _rate(0.002, 9)))
    load = replace(
        ORDINARY,
        gets={**ORDINARY.gets, **gets},
        getmiss_ratio=draw(_rate(0.0001, 0.3)),
        modifications={name: draw(_rate(0.5, 1)) * gets[name] for name in gets if draw(st.booleans())},
        usage={name: draw(st.integers(1, 90_000)) for name in gets},
        children={} if mutexes else slept,
        holders={} if mutexes else _shares(draw(st.lists(_rate(0.01, 1), min_size=6, max_size=6))),
        waiters={} if mutexes else _shares(draw(st.lists(_rate(0.01, 1), min_size=6, max_size=6))),
        mutexes=places,
        events=events,
        latches=neighbours,
        statistics={
            name: draw(_rate(max(rate / 10, 0.5), rate * 90 + 1)) for name, rate in ORDINARY.statistics.items()
        },
        busy=draw(st.floats(0, 1)),
        paging_bytes=draw(_rate(1, 1e8)),
        max_concurrency=draw(st.integers(1, 900)),
        cluster_locks={name: (draw(_rate(10, 900)), draw(_rate(0.01, 9))) for name in gets if draw(st.booleans())},
        waiting=tuple(draw(st.lists(_waiting(names, mutexes), max_size=3))),
    )
    return replace(load, seconds=draw(_times(load)))


def _shares(parts: list[float]) -> Mapping[str, float]:
    return {place: part / sum(parts) for place, part in zip(PLACES, parts, strict=True)}


@st.composite
def _times(draw: st.DrawFn, load: ScriptedLoad) -> Mapping[str, float]:
    """DB time that contains all waits, and parts of it that fit into each other."""
    waits = sum(waited for _, waited in (*load.events.values(), *load.mutexes.values()))
    waits += sum(one.sleeps * one.sleep_us / 1e6 for one in load.children.values())
    waits += sum(waited for _, _, waited in load.latches.values())
    cpu = draw(_rate(0.05, 300))
    total = waits + cpu
    parse = total * draw(st.floats(0.001, 0.95))
    hard = parse * draw(st.floats(0.001, 0.95))
    return {
        "DB time": total,
        "DB CPU": cpu,
        "parse time elapsed": parse,
        "hard parse elapsed time": hard,
        "failed parse elapsed time": parse * draw(st.floats(0.001, 0.5)),
        "connection management call elapsed time": total * draw(st.floats(0.001, 0.4)),
        "sequence load elapsed time": total * draw(st.floats(0.0001, 0.4)),
    }


@st.composite
def _waiting(draw: st.DrawFn, names: list[str], mutexes: bool) -> ScriptedWaiters:
    guarding = "row cache mutex" if mutexes else "latch: row cache objects"
    event = draw(st.sampled_from((guarding, "row cache lock", "latch free")))
    cache = None if event == "latch free" else draw(st.sampled_from(names))
    sql_id = draw(st.none() | st.just("g7w5kz3h1rq2m"))
    return ScriptedWaiters(event, draw(st.floats(0.1, 9)), cache, sql_id, p2=461, p3=draw(st.sampled_from((3, 5))))


def delta_of(one: Instance) -> Delta:
    """The change of a random instance over a minute, with the looks at who waits."""
    now = [0.0]
    database = ScriptedDatabase(one.scenario, BEGAN, lambda: now[0], one.refused)
    earlier, burst = poll("random", database), Burst(one.scenario.release)
    for _ in range(one.looks):
        burst.look(database)
    now[0] = SECONDS
    later = poll("random", database, earlier)
    later = replace(later, readings={**later.readings, "v$session": burst.taken()})
    delta = between(earlier, later)
    assert isinstance(delta, Delta)
    return delta


def scaled(delta: Delta, times: int) -> Delta:
    """The same rates over an interval that is longer by this factor."""
    assert delta.basis.seconds is not None
    readings = {
        view: _scaled(reading, times) if isinstance(reading, Changes) else reading
        for view, reading in delta.readings.items()
    }
    return replace(delta, basis=replace(delta.basis, seconds=delta.basis.seconds * times), readings=readings)


def _scaled(changes: Changes, times: int) -> Changes:
    counters = {one.name for one in collectors()[changes.view].columns if one.kind is ColumnKind.COUNTER}
    rows = tuple(
        {
            name: cell * times if name in counters and isinstance(cell, int | float) else cell
            for name, cell in row.items()
        }
        for row in changes.rows
    )
    return replace(changes, rows=rows)
