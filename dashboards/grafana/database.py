"""The walk through one database: worth it, hot child, cache, location, waits, who, finding."""

from panels import (
    BY_SESSIONS,
    BY_SHARE,
    Json,
    annotation,
    bars,
    dashboard,
    query,
    row,
    stat,
    states,
    table,
    timeseries,
    web_link,
)
from shared import FOUND, LATCH, LOCK, PAGE, RESULT_CACHE, WAITS, S, chosen, finding_links, per_second, ratio


def database(address: str) -> Json:
    """The walk through one database: hot child, cache, location, waits, who, finding."""
    panels = [*_worth(), *_hot_child(), *_cache(), *_location(), *_waits(), *_who(), *_finding()]
    active = annotation(
        "Findings",
        "orange",
        f'latchscope_finding{{{S},severity=~"notice|warning|critical"}}',
        "{{cause}}",
        "{{cache}} ({{severity}})",
        "cause,severity",
    )
    return dashboard(
        "latchscope-database",
        "latchscope / Database",
        "One database, in the order of the walk: is it worth it, hot child, cache, location, waits, who, finding.",
        chosen(several=False, address=address),
        panels,
        annotations=[active],
        links=[web_link("Evidence in latchscope", f"{PAGE}/db/${{db:raw}}", "the diagnosis with its evidence")],
    )


def _worth() -> list[Json]:
    waiting = per_second("latchscope_wait_event_seconds_total", "db", WAITS)
    sleeps = per_second("latchscope_latch_sleeps_total", "db", LATCH)
    return [
        row("Is it worth looking?"),
        stat(
            "DB time lost",
            "Share of DB time lost in row cache waits over the last interval.",
            "percentunit",
            f"max(latchscope_impact_ratio{{{S}}})",
            BY_SHARE,
        ),
        stat("Sessions waiting", "Sessions that wait for the row cache, on average.", "short", waiting, BY_SESSIONS),
        stat("Sleeps per second", "Sleeps on all row cache latches.", "cps", sleeps),
        stat("Data age", "Time since the last good poll.", "s", f"max(latchscope_data_age_seconds{{{S}}})"),
        stat(
            "Instance up for",
            "Time since the instance started; its counters began then.",
            "s",
            f"time() - max(latchscope_instance_start_timestamp_seconds{{{S}}})",
        ),
        stat(
            "Release",
            "Release of the instance, and whether latches or mutexes guard its dictionary cache.",
            "none",
            f"latchscope_info{{{S}}}",
            legend="{{release}} ({{mechanism}})",
            text="name",
        ),
        timeseries(
            "Where the time goes",
            "DB time, CPU and row cache waits in sessions: seconds spent per second.",
            "short",
            query(per_second("latchscope_db_time_seconds_total", "db"), "DB time"),
            query(per_second("latchscope_db_cpu_seconds_total", "db"), "DB CPU"),
            query(waiting, "row cache waits"),
        ),
        timeseries(
            "DB time lost in row cache waits",
            "From 0.5 % it is worth a note, from 2 % a warning, from 10 % it is critical.",
            "percentunit",
            query(f"max by (db) (latchscope_impact_ratio{{{S}}})", "share of DB time"),
        ),
    ]


def _hot_child() -> list[Json]:
    counted = f"latchscope_latch_sleeps_total{{{S},{LATCH}}}[$__range]"
    share = f"sum by (child, cache) (increase({counted})) / scalar(sum(increase({counted})))"
    named, by = "{{child}} · {{cache}}", "child, cache"
    misses, gets = "latchscope_latch_misses_total", "latchscope_latch_gets_total"
    sleeps = "latchscope_latch_sleeps_total"
    return [
        row("1 · Hot child: does one child latch stand out?"),
        bars(
            "Share of sleeps by child",
            "Over the chosen time range. One child far above the others is the hot child; an even spread is not.",
            "percentunit",
            f"sort_desc(topk(8, {share} > 0))",
            named,
            limits={"max": 1},
        ),
        timeseries(
            "Sleeps by child",
            "Sleeps on each child latch. The name is that of the parent cache which the child guards.",
            "cps",
            query(per_second(sleeps, by, LATCH), named),
        ),
        timeseries(
            "Sleeps per get by child",
            "How often a get ends in sleep. A child far above the median of the busy others is held too long.",
            "percentunit",
            query(ratio(sleeps, gets, by, LATCH), named),
            w=8,
        ),
        timeseries(
            "Misses per get by child",
            "How often the latch was held by somebody else at the first try. High without sleeps: spinning is enough.",
            "percentunit",
            query(ratio(misses, gets, by, LATCH), named),
            w=8,
        ),
        timeseries(
            "Misses that spinning absorbed",
            "Share of misses that got the latch by spinning, without sleep.",
            "percentunit",
            query(ratio("latchscope_latch_spin_gets_total", misses, by, LATCH), named),
            w=8,
        ),
        timeseries(
            "Sessions asleep by child",
            "Seconds slept per second: sessions asleep on each child latch, on average.",
            "short",
            query(per_second("latchscope_latch_wait_seconds_total", by, LATCH), named),
        ),
        timeseries(
            "Gets by child",
            "Gets of each child latch. A look-up in the cache takes about three.",
            "ops",
            query(per_second(gets, by, LATCH), named),
        ),
    ]


def _cache() -> list[Json]:
    gets, fast = (per_second(f"latchscope_rowcache_{name}_total", "cache") for name in ("gets", "fastgets"))
    lookups = f"({gets} + ({fast} or {gets} * 0))"  # before 12.1 there are no fastgets
    loads = f"{per_second('latchscope_rowcache_getmisses_total', 'cache')} / {lookups}"
    entries = "latchscope_rowcache_entries_used"
    return [
        row("2 · Cache: what is looked up behind the hot child?"),
        timeseries(
            "Look-ups by cache",
            "Requests to each dictionary cache, those in the fast way included, which gets do not count.",
            "ops",
            query(lookups, "{{cache}}"),
        ),
        timeseries(
            "Look-ups that loaded the entry",
            "Share of look-ups that did not find the entry and read it from the dictionary.",
            "percentunit",
            query(loads, "{{cache}}"),
        ),
        timeseries(
            "Changes of entries",
            "Modifications of each cache: sequences without cache, DDL, undo segments that come and go.",
            "ops",
            query(per_second("latchscope_rowcache_modifications_total", "cache"), "{{cache}}"),
            w=8,
        ),
        timeseries(
            "Undo segments known to the cache",
            "Entries of dc_rollback_segments in use. Thousands make each look-up walk a long list.",
            "short",
            query(f'sum by (db) ({entries}{{{S},cache="dc_rollback_segments"}})', "undo segments"),
            w=8,
        ),
        timeseries(
            "Entries in use by cache",
            "Entries of each cache that hold valid data.",
            "short",
            query(f"sum by (cache) ({entries}{{{S}}})", "{{cache}}"),
            w=8,
        ),
    ]


def _location() -> list[Json]:
    sleeps = "latchscope_latch_location_sleeps_total"
    return [
        row("3 · Location: in which code do sessions meet?"),
        timeseries(
            "Sleeps by location of the holder",
            "Where the session was that held the latch. This side points to the cause.",
            "cps",
            query(per_second(sleeps, "location", LATCH, 'side="holder"'), "{{location}}"),
        ),
        timeseries(
            "Sleeps by location of the waiter",
            "Where the sessions were that had to sleep. This side shows the victims.",
            "cps",
            query(per_second(sleeps, "location", LATCH, 'side="waiter"'), "{{location}}"),
        ),
        timeseries(
            "Mutex sleeps by location",
            "From 12.2 on mutexes guard the row cache. The number in brackets differs by release; the function's name counts.",
            "cps",
            query(per_second("latchscope_mutex_sleeps_total", "location"), "{{location}}"),
        ),
        timeseries(
            "Sessions waiting for a mutex by location",
            "Seconds waited per second: sessions waiting for row cache mutexes at each location, on average.",
            "short",
            query(per_second("latchscope_mutex_wait_seconds_total", "location"), "{{location}}"),
        ),
    ]


def _waits() -> list[Json]:
    seconds, waits = "latchscope_wait_event_seconds_total", "latchscope_wait_events_total"
    return [
        row("4 · Waits: what do sessions wait for?"),
        timeseries(
            "Sessions waiting by event",
            "Row cache events beside those of parsing, of which the row cache is so often only a victim.",
            "short",
            query(per_second(seconds, "event"), "{{event}}"),
            w=8,
        ),
        timeseries(
            "Waits by event",
            "Waits that ended in each second.",
            "cps",
            query(per_second(waits, "event"), "{{event}}"),
            w=8,
        ),
        timeseries(
            "Average wait by event",
            "Time waited per wait. Sessions and statements are on latchscope's own page: they are no labels.",
            "s",
            query(ratio(seconds, waits, "event"), "{{event}}"),
            w=8,
        ),
        timeseries(
            "Sessions waiting for row cache lock",
            "A lock on one entry, in every release, held while the entry is changed: see the changes by cache above.",
            "short",
            query(per_second(seconds, "db", LOCK), "row cache lock"),
            w=8,
        ),
        timeseries(
            "Sessions asleep on the result cache latch",
            "Seconds slept per second. The latch has no event of its own: its waits are among those of latch free.",
            "short",
            query(per_second("latchscope_latch_wait_seconds_total", "db", RESULT_CACHE), "Result Cache: RC Latch"),
            w=8,
        ),
        timeseries(
            "Result cache latch: misses and sleeps",
            "Misses without sleeps need no action: spinning absorbs them.",
            "cps",
            query(per_second("latchscope_latch_misses_total", "db", RESULT_CACHE), "misses"),
            query(per_second("latchscope_latch_sleeps_total", "db", RESULT_CACHE), "sleeps"),
            w=8,
        ),
    ]


def _who() -> list[Json]:
    sampled = f"latchscope_waiting_sessions{{{S}}}"
    named = "{{cache}} · {{event}}"
    return [
        row("5 · Who: for which cache do the waiters wait?"),
        timeseries(
            "Sampled waiters by cache",
            "Sessions met waiting, on average of the looks of an interval. Nobody looks while nothing costs anything: no data.",
            "short",
            query(f"sum by (event, cache) ({sampled})", named),
        ),
        timeseries(
            "Share of the sampled waiters by cache",
            "No statistic counts mutex or lock waits by cache; the waiters name it. Who they are is on latchscope's own page.",
            "percentunit",
            query(f"sum by (event, cache) ({sampled}) / scalar(sum({sampled}))", named),
        ),
    ]


def _finding() -> list[Json]:
    return [
        row("6 · Finding: what is the cause?"),
        table(
            "Active findings",
            "Causes that are active, with links to the evidence and to the description of the cause.",
            ("Active", "bool_yes_no", f"max by (db, cause, cache, severity) (latchscope_finding{{{S}}})"),
            overrides=finding_links(),
        ),
        states(
            "Findings over time",
            "When which cause was active, and how severe it was.",
            FOUND,
            f"max by (cause, cache, severity) (latchscope_finding{{{S}}})",
            "{{cause}} {{cache}} · {{severity}}",
        ),
    ]
