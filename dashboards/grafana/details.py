"""What lies folded below a database: the latch, the mutex, the lock, the result cache, the caches, who waits, and our cost."""

from panels import Json, bars, folded, query, timeseries
from shared import LATCH, RESULT_CACHE, S, largest, per_second, quotient, recorded

CHILD = "{{child}} · {{cache}}"
BY_CHILD = "child, cache"
OLD = "No data: only instances up to 12.1 have this latch"
NEW = "No data: only instances from 12.2 on have these mutexes"
CALM = "No data: nobody waits, or nothing is known"


def details() -> list[Json]:
    """The folded rows."""
    return [_latch(), _mutex(), _lock(), _result_cache(), _caches(), _who(), _own()]


def _latch() -> Json:
    sleeps, gets = "db_child_cache:latchscope_latch_sleeps:rate5m", "db_child_cache:latchscope_latch_gets:rate5m"
    misses, spins = "db_child_cache:latchscope_latch_misses:rate5m", "db_child_cache:latchscope_latch_spin_gets:rate5m"
    counted = f"latchscope_latch_sleeps_total{{{S},{LATCH}}}[$__range]"
    share = f"sum by ({BY_CHILD}) (increase({counted})) / scalar(sum(increase({counted})))"
    waiters = per_second("latchscope_latch_location_sleeps_total", "location", LATCH, 'side="waiter"')

    def of(above: str, below: str) -> Json:
        return query(f"topk(6, {quotient(above, below, BY_CHILD)})", CHILD)

    return folded(
        "Child latches, to 12.1: does one stand out?",
        bars(
            "Share of sleeps by child",
            "Over the chosen time range. One child far above the others is the hot child; an even spread has none.",
            "percentunit",
            f"sort_desc(topk(8, {share} > 0))",
            CHILD,
            limits={"max": 1},
            none=OLD,
        ),
        timeseries(
            "Sleeps by child",
            "Sleeps on each child latch. The name is that of the parent cache that the child guards. A 5 min mean.",
            "cps",
            *largest(sleeps, BY_CHILD, CHILD),
            none=OLD,
        ),
        timeseries(
            "Sleeps per get by child",
            "How often a get ends in sleep. A child far above the median of other busy children is held too long. 5 min mean.",
            "percentunit",
            of(sleeps, gets),
            w=8,
            none=OLD,
            decimals=3,
        ),
        timeseries(
            "Misses per get by child",
            "How often somebody else held the latch at the first try. Many misses without sleeps are harmless. A 5 min mean.",
            "percentunit",
            of(misses, gets),
            w=8,
            none=OLD,
            decimals=3,
        ),
        timeseries(
            "Misses that spinning absorbed",
            "Share of misses that got the latch by spinning, without a sleep. A 5 min mean.",
            "percentunit",
            of(spins, misses),
            w=8,
            none=OLD,
        ),
        timeseries(
            "Sessions asleep by child",
            "Sessions asleep on each child latch, on average: seconds slept per second. A 5 min mean.",
            "short",
            *largest("db_child_cache:latchscope_latch_wait_seconds:rate5m", BY_CHILD, CHILD),
            w=8,
            none=OLD,
        ),
        timeseries(
            "Gets by child",
            "Gets of each child latch. A look-up in the cache takes about three. A 5 min mean.",
            "ops",
            *largest(gets, BY_CHILD, CHILD),
            w=8,
            none=OLD,
        ),
        timeseries(
            "Sleeps by waiter's location",
            "Code location of the sessions that had to sleep. These are the victims.",
            "cps",
            query(f"topk(6, {waiters})", "{{location}}"),
            w=8,
            none=OLD,
        ),
    )


def _mutex() -> Json:
    return folded(
        "Mutexes, from 12.2: in which code do sessions collide?",
        timeseries(
            "Mutex sleeps by location",
            "The number in brackets differs by release. Look at the function's name. A 5 min mean.",
            "cps",
            *largest("db_location:latchscope_mutex_sleeps:rate5m", "location", "{{location}}"),
            none=NEW,
        ),
        timeseries(
            "Sessions waiting for a mutex by location",
            "Sessions that wait for row cache mutexes at each location, on average: seconds waited per second. A 5 min mean.",
            "short",
            *largest("db_location:latchscope_mutex_wait_seconds:rate5m", "location", "{{location}}"),
            none=NEW,
        ),
    )


def _lock() -> Json:
    waited = recorded("db_event:latchscope_wait_event_seconds:rate5m", "db", 'event="row cache lock"')
    return folded(
        "Row cache lock, and waits without an end",
        timeseries(
            "Waiting for row cache lock",
            "In every release a session that changes an entry holds a lock on it. Compare the changed entries above. 5 min mean.",
            "short",
            query(waited, "row cache lock"),
            w=8,
            none=CALM,
        ),
        timeseries(
            "Sessions that hang",
            "Sessions that have waited ten seconds or longer and still wait. No counter has such waits until they end.",
            "short",
            query(f"sum by (event, cache) (latchscope_hanging_sessions{{{S}}})", "{{cache}} · {{event}}"),
            w=8,
            none=CALM,
            decimals=0,
        ),
        timeseries(
            "Longest wait",
            "Length of the longest wait that has not ended.",
            "s",
            query(f"max by (event, cache) (latchscope_longest_wait_seconds{{{S}}})", "{{cache}} · {{event}}"),
            w=8,
            none=CALM,
        ),
    )


def _result_cache() -> Json:
    return folded(
        "Result cache",
        timeseries(
            "Sessions asleep on the result cache latch",
            "Seconds slept per second. The latch has no event of its own; its waits are part of latch free. A 5 min mean.",
            "short",
            query(recorded("db:latchscope_result_cache_latch_wait_seconds:rate5m"), "Result Cache: RC Latch"),
            none=CALM,
        ),
        timeseries(
            "Result cache latch: misses and sleeps",
            "Misses without sleeps need no action, because spinning absorbs them. A 5 min mean.",
            "cps",
            query(per_second("latchscope_latch_misses_total", "db", RESULT_CACHE), "misses"),
            query(recorded("db:latchscope_result_cache_latch_sleeps:rate5m"), "sleeps"),
        ),
    )


def _caches() -> Json:
    lookups, loads = "db_cache:latchscope_rowcache_lookups:rate5m", "db_cache:latchscope_rowcache_getmisses:rate5m"
    entries = "latchscope_rowcache_entries_used"
    events, seconds = "db_event:latchscope_wait_events:rate5m", "db_event:latchscope_wait_event_seconds:rate5m"
    return folded(
        "Caches and waits in detail",
        timeseries(
            "Look-ups that loaded the entry",
            "Share of look-ups that did not find the entry and had to read it from the dictionary. A 5 min mean.",
            "percentunit",
            query(f"topk(6, {quotient(loads, lookups, 'cache')})", "{{cache}}"),
            w=8,
        ),
        timeseries(
            "Undo segments in the cache",
            "Entries of dc_rollback_segments in use. Thousands make each look-up walk a long list.",
            "short",
            query(f'sum by (db) ({entries}{{{S},cache="dc_rollback_segments"}})', "undo segments"),
            w=8,
            decimals=0,
        ),
        timeseries(
            "Entries in use by cache",
            "Entries of each cache that hold valid data.",
            "short",
            query(f"topk(6, sum by (cache) ({entries}{{{S}}}))", "{{cache}}"),
            w=8,
            decimals=0,
        ),
        timeseries(
            "Waits by event",
            "Waits that ended in each second. A 5 min mean.",
            "cps",
            *largest(events, "event", "{{event}}"),
        ),
        timeseries(
            "Average wait by event",
            "Time waited per wait. Sessions and statements are never labels; latchscope's own page has them. A 5 min mean.",
            "s",
            query(f"topk(6, {quotient(seconds, events, 'event')})", "{{event}}"),
        ),
    )


def _who() -> Json:
    sampled = f"latchscope_waiting_sessions{{{S}}}"
    named = "{{cache}} · {{event}}"
    return folded(
        "For which cache do sessions wait?",
        timeseries(
            "Sampled waiters by cache",
            "Waiting sessions, averaged over the samples of an interval. There is no data while the waits cost nothing.",
            "short",
            query(f"sum by (event, cache) ({sampled})", named),
            none=CALM,
        ),
        timeseries(
            "Share of the sampled waiters by cache",
            "No statistic counts mutex or lock waits by cache, but each waiter names its cache. The page shows who waits.",
            "percentunit",
            query(f"sum by (event, cache) ({sampled}) / scalar(sum({sampled}))", named),
            none=CALM,
        ),
    )


def _own() -> Json:
    duration, interval = "latchscope_poll_duration_seconds", "latchscope_poll_interval_seconds"
    return folded(
        "What latchscope costs this database",
        timeseries(
            "Interval spent polling",
            "Time of the last poll, divided by the current interval. If it exceeds the budget, the interval grows.",
            "percentunit",
            query(f"max by (db) ({duration}{{{S}}}) / max by (db) ({interval}{{{S}}})", "share"),
            w=8,
        ),
        timeseries(
            "Time by view",
            "Time to read each dynamic view in the last poll.",
            "s",
            query(f"topk(6, max by (collector) (latchscope_collector_duration_seconds{{{S}}}))", "{{collector}}"),
            w=8,
        ),
        timeseries(
            "Views that could not be read",
            "What needs these views is undetermined, not zero.",
            "short",
            query(f"sum by (db) (1 - latchscope_collector_success{{{S}}})", "views"),
            w=8,
            decimals=0,
        ),
    )
