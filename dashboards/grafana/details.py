"""What lies folded below a database: the latch, the mutex, the lock, the result cache, the caches, who waits, and our cost."""

from functools import partial

from panels import Json, bars, folded, query, timeseries
from shared import (
    BY,
    CAN_BE_READ,
    LATCH,
    POLLING,
    RESULT_CACHE,
    highest,
    largest,
    peak,
    per_second,
    quotient,
    recorded,
    within,
)

CHILD = "{{child}} · {{cache}}"
BY_CHILD = "child, cache"
OLD = "No data: only instances up to 12.1 have this latch"
NEW = "No data: only instances from 12.2 on have these mutexes"
CALM = "No data: nobody waits, or nothing is known"


def details() -> list[Json]:
    """The folded rows."""
    return [_latch(), _mutex(), _lock(), _result_cache(), _caches(), _who(), _own()]


def waiting(rows: str) -> Json:
    """The most of what is known by what sessions wait for."""
    by = f"{BY}, event, cache"
    return highest(f"max by ({by}) ({rows})", by, "{{cache}} · {{event}}")


def _latch() -> Json:
    sleeps, gets = "db_child_cache:latchscope_latch_sleeps:rate5m", "db_child_cache:latchscope_latch_gets:rate5m"
    misses, spins = "db_child_cache:latchscope_latch_misses:rate5m", "db_child_cache:latchscope_latch_spin_gets:rate5m"
    counted = f"increase({within('latchscope_latch_sleeps_total', LATCH)}[$__range])"
    share = f"sum by (<by>{BY_CHILD}) ({counted}) / on (<targets>) group_left () sum by (<targets>) ({counted})"
    waiters = per_second("latchscope_latch_location_sleeps_total", "location", LATCH, 'side="waiter"')

    def of(above: str, below: str) -> Json:
        return highest(quotient(above, below, BY_CHILD), f"<by>{BY_CHILD}", CHILD)

    graph = partial(timeseries, w=8, none=OLD)
    return folded(
        "Child latches, to 12.1: does one stand out?",
        bars(
            "Share of sleeps by child",
            "Over the chosen time range. One child far above the others is the hot child; an even spread has none.",
            "percentunit",
            f"sort_desc(topk(8, {share} > 0))",
            f"{CHILD}<legend>",
            limits={"max": 1},
            none=OLD,
        ),
        timeseries(
            "Sleeps by child",
            "Sleeps on each child latch. The name is that of the parent cache that the child guards. A 5 min mean.",
            "cps",
            *largest(recorded(sleeps, BY_CHILD), BY_CHILD, CHILD),
            none=OLD,
        ),
        graph(
            "Sleeps per get by child",
            "How often a get ends in sleep. A child far above the median of other busy children is held too long. 5 min mean.",
            "percentunit",
            of(sleeps, gets),
            decimals=3,
        ),
        graph(
            "Misses per get by child",
            "How often somebody else held the latch at the first try. Many misses without sleeps are harmless. A 5 min mean.",
            "percentunit",
            of(misses, gets),
            decimals=3,
        ),
        graph(
            "Misses that spinning absorbed",
            "Share of misses that got the latch by spinning, without a sleep. A 5 min mean.",
            "percentunit",
            of(spins, misses),
        ),
        graph(
            "Sessions asleep by child",
            "Sessions asleep on each child latch, on average: seconds slept per second. A 5 min mean.",
            "short",
            *largest(recorded("db_child_cache:latchscope_latch_wait_seconds:rate5m", BY_CHILD), BY_CHILD, CHILD),
        ),
        graph(
            "Gets by child",
            "Gets of each child latch. A look-up in the cache takes about three. A 5 min mean.",
            "ops",
            *largest(recorded(gets, BY_CHILD), BY_CHILD, CHILD),
        ),
        graph(
            "Sleeps by waiter's location",
            "Code location of the sessions that had to sleep. These are the victims. A 5 min mean.",
            "cps",
            *largest(waiters, "location", "{{location}}"),
        ),
    )


def _mutex() -> Json:
    return folded(
        "Mutexes, from 12.2: in which code do sessions collide?",
        timeseries(
            "Mutex sleeps by location",
            "The number in brackets differs by release. Look at the function's name. A 5 min mean.",
            "cps",
            *largest(recorded("db_location:latchscope_mutex_sleeps:rate5m", "location"), "location", "{{location}}"),
            none=NEW,
        ),
        timeseries(
            "Sessions waiting for a mutex by location",
            "Sessions that wait for row cache mutexes at each location, on average: seconds waited per second. A 5 min mean.",
            "short",
            *largest(
                recorded("db_location:latchscope_mutex_wait_seconds:rate5m", "location"), "location", "{{location}}"
            ),
            none=NEW,
        ),
    )


def _lock() -> Json:
    waited = recorded("db_event:latchscope_wait_event_seconds:rate5m", "event", 'event="row cache lock"')
    hanging, longest = within("latchscope_hanging_sessions"), within("latchscope_longest_wait_seconds")
    graph = partial(timeseries, w=8, none=CALM)
    return folded(
        "Row cache lock, and waits without an end",
        graph(
            "Waiting for row cache lock",
            "In every release a session that changes an entry holds a lock on it. Compare the changed entries above. 5 min mean.",
            "short",
            query(peak(waited), "row cache lock<legend>"),
        ),
        graph(
            "Sessions that hang",
            "Sessions that have waited ten seconds or longer and still wait. No counter has such waits until they end.",
            "short",
            waiting(hanging),
            decimals=0,
        ),
        graph(
            "Longest wait",
            "Length of the longest wait that has not ended.",
            "s",
            waiting(longest),
        ),
    )


def _result_cache() -> Json:
    return folded(
        "Result cache",
        timeseries(
            "Sessions asleep on the result cache latch",
            "Seconds slept per second. The latch has no event of its own; its waits are part of latch free. A 5 min mean.",
            "short",
            query(
                peak(recorded("db:latchscope_result_cache_latch_wait_seconds:rate5m")), "Result Cache: RC Latch<legend>"
            ),
            none=CALM,
        ),
        timeseries(
            "Result cache latch: misses and sleeps",
            "Misses without sleeps need no action, because spinning absorbs them. A 5 min mean.",
            "cps",
            query(peak(per_second("latchscope_latch_misses_total", "", RESULT_CACHE)), "misses<legend>"),
            query(peak(recorded("db:latchscope_result_cache_latch_sleeps:rate5m")), "sleeps<legend>"),
        ),
    )


def _caches() -> Json:
    lookups, loads = "db_cache:latchscope_rowcache_lookups:rate5m", "db_cache:latchscope_rowcache_getmisses:rate5m"
    entries, undo = "latchscope_rowcache_entries_used", 'cache="dc_rollback_segments"'
    events, seconds = "db_event:latchscope_wait_events:rate5m", "db_event:latchscope_wait_event_seconds:rate5m"
    graph, parts = partial(timeseries, w=8), "<by>surface, cache"
    return folded(
        "Caches and waits in detail",
        graph(
            "What each cache costs",
            "Share of DB time of each cache with a problem, at the worst poll of each step: two caches may be hot at once.",
            "percentunit",
            highest(f"max by ({parts}) ({within('latchscope_trouble_impact_ratio')})", parts, "{{cache}} {{surface}}"),
        ),
        graph(
            "Look-ups that loaded the entry",
            "Share of look-ups that did not find the entry and had to read it from the dictionary. A 5 min mean.",
            "percentunit",
            highest(quotient(loads, lookups, "cache"), "<by>cache", "{{cache}}"),
        ),
        graph(
            "Undo segments in the cache",
            "Entries of dc_rollback_segments in use. Thousands make each look-up walk a long list.",
            "short",
            query(peak(recorded(entries, "", undo)), "undo segments<legend>"),
            decimals=0,
        ),
        graph(
            "Entries in use by cache",
            "Entries of each cache that hold valid data.",
            "short",
            highest(recorded(entries, "cache"), "<by>cache", "{{cache}}"),
            decimals=0,
        ),
        timeseries(
            "Waits by event",
            "Waits that ended in each second. A 5 min mean.",
            "cps",
            *largest(recorded(events, "event"), "event", "{{event}}"),
        ),
        timeseries(
            "Average wait by event",
            "Time waited per wait. Sessions and statements are never labels; latchscope's own page has them. A 5 min mean.",
            "s",
            highest(quotient(seconds, events, "event"), "<by>event", "{{event}}"),
        ),
    )


def _who() -> Json:
    sampled, by = within("latchscope_waiting_sessions"), f"{BY}, event, cache"
    share = f"max by ({by}) ({sampled}) / on ({BY}) group_left () sum by ({BY}) ({sampled})"
    return folded(
        "For which cache do sessions wait?",
        timeseries(
            "Sampled waiters by cache",
            "Waiting sessions, averaged over the samples of an interval. There is no data while the waits cost nothing.",
            "short",
            waiting(sampled),
            none=CALM,
        ),
        timeseries(
            "Share of the sampled waiters by cache",
            "No statistic counts mutex or lock waits by cache, but each waiter names its cache. The page shows who waits.",
            "percentunit",
            highest(share, by, "{{cache}} · {{event}}"),
            none=CALM,
        ),
    )


def _own() -> Json:
    duration = "latchscope_collector_duration_seconds"
    unread = f"1 - {within('latchscope_collector_success', CAN_BE_READ)}"
    graph = partial(timeseries, w=8)
    return folded(
        "What latchscope costs this database",
        graph(
            "Interval spent polling",
            "Time of the last poll, divided by the current interval. If it exceeds the budget, the interval grows.",
            "percentunit",
            query(peak(POLLING), "share<legend>"),
        ),
        graph(
            "Time by view",
            "Time to read each dynamic view in the last poll.",
            "s",
            highest(f"max by (<by>collector) ({within(duration)})", "<by>collector", "{{collector}}"),
        ),
        graph(
            "Views that could not be read",
            "What needs these views is undetermined, not zero. Without x$kqrst, which few users can be granted.",
            "short",
            query(peak(f"sum by ({BY}) ({unread})"), "views<legend>"),
            decimals=0,
        ),
    )
