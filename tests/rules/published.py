"""The published cases as Deltas:

every number they give, as rows of its view. The Deltas add nothing. Where a case names a cache id and its cache, that pair
is its row of v$rowcache. A report does not always give its length. Ten minutes replace it: no share of DB time depends on
that, and it is short enough to keep small waits visible.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any

from collectors.model import ROW_CACHE_LATCH, Basis, Changes, Delta, Missing, Row
from tests.rules.contexts import BEGIN, TOTALS

ASSUMED = Basis("interval", BEGIN, BEGIN + timedelta(minutes=10), 600.0)
EXCERPTS = ("C01", "C06")
"""Parts of printed reports. Nobody published the other parts, so they count as not read."""
Rows = dict[str, list[Row]]
Numbers = Mapping[str, Any]


def delta_of(published: Mapping[str, Any], release: str | None) -> Delta:
    """The Delta of one case, for a release that it names, else None."""
    return delta_from(str(published["id"]), rows_of(published), release)


def delta_from(name: str, views: Rows, release: str | None) -> Delta:
    """The Delta of these rows: over the assumed interval where DB time is known, else totals."""
    timed = "v$sys_time_model" in views
    readings: dict[str, Changes | Missing] = {view: Changes(view, tuple(rows)) for view, rows in views.items()}
    return Delta(
        name, release, ASSUMED if timed else TOTALS, readings, source="report" if name in EXCERPTS else "views"
    )


def rows_of(published: Mapping[str, Any]) -> Rows:
    """View → rows, of every number of a case that is a number of a view."""
    views: Rows = {}
    numbers = published["numbers"]
    for name, given in numbers.items():
        for pattern, reader in READERS:
            if re.fullmatch(pattern, name) and not (isinstance(given, str) and reader is _latch_sleeps):
                for view, rows in reader(given).items():
                    views.setdefault(view, []).extend(rows)
    _name_caches(views, str(published["cache"]), str(published["verdict"]), str(numbers))
    return views


def _events(given: Numbers) -> Rows:
    """Top events: waits, seconds, ms each, % of DB time; DB time follows from the largest of the shares."""
    rows: list[Row] = [
        {"event": event, "total_waits": waits, "time_waited_micro": seconds * 1e6}
        for event, (waits, seconds, *_) in given.items()
        if event != "DB CPU"
    ]
    _, seconds, _, percent = max(given.values(), key=lambda one: one[3])
    db_time: Row = {"stat_name": "DB time", "value": seconds / percent * 100 * 1e6}
    return {"v$system_event": rows, "v$sys_time_model": [db_time]}


def _one_event(given: Iterable[Any]) -> Rows:
    return _events({"latch free": given})


def _latch_sleeps(given: Numbers) -> Rows:
    """Miss sources: holder and waiter sleeps by location."""
    rows: list[Row] = [
        {"parent_name": ROW_CACHE_LATCH, "location": place, "sleep_count": held, "wtr_slp_count": waited}
        for place, (held, waited) in given.items()
    ]
    return {"v$latch_misses": rows}


def compared(given: Numbers, column: int = 1) -> Rows:
    """Seconds by event on two releases: the later one, unless the test asks for the other column."""
    rows: list[Row] = [
        {"event": "enq: US - contention" if event == "enq: US" else event, "time_waited_micro": seconds[column] * 1e6}
        for event, seconds in given.items()
        if event not in ("DB time", "CPU")
    ]
    return {
        "v$system_event": rows,
        "v$sys_time_model": [{"stat_name": "DB time", "value": given["DB time"][column] * 1e6}],
    }


def _cluster(given: Numbers) -> Rows:
    columns = ("dlm_requests", "dlm_conflicts", "dlm_releases")
    return {
        "v$rowcache": [{"parameter": name, **dict(zip(columns, told, strict=True))} for name, told in given.items()]
    }


def _caches(given: Numbers) -> Rows:
    columns = ("count", "gets", "getmisses", "modifications")
    return {
        "v$rowcache": [{"parameter": name, **dict(zip(columns, told, strict=True))} for name, told in given.items()]
    }


def _cache_and_percent(given: Iterable[Any], name: str) -> Rows:
    gets, percent = given
    return {"v$rowcache": [{"parameter": name, "gets": gets, "getmisses": round(gets * percent / 100)}]}


def _contradiction(given: Numbers) -> Rows:
    row: Row = {"cache#": 8, "parameter": "DC_SEQUENCES", "gets": given["gets"], "getmisses": given["misses"]}
    return {"v$rowcache": [{**row, "count": given["count"]}]}


def _mutexes(given: Numbers) -> Rows:
    rows: list[Row] = [
        {"mutex_type": "Row Cache", "location": place, "sleeps": sleeps, "wait_time": waited}
        for place, (sleeps, waited) in given.items()
    ]
    return {"v$mutex_sleep": rows}


def _mutex_text(given: str) -> Rows:
    found = re.fullmatch(r"(\[\d+\] \w+) sleeps (\d+) wait (\d+)", given)
    assert found is not None
    return _mutexes({found[1]: (int(found[2]), int(found[3]))})


def _cache_text(given: str) -> Rows:
    found = re.fullmatch(r"cache# (\d+) (\w+) gets (\d+) misses (\d+)", given)
    assert found is not None
    row: Row = {"cache#": int(found[1]), "parameter": found[2], "gets": int(found[3]), "getmisses": int(found[4])}
    return {"v$rowcache": [row]}


def _waiters(given: str) -> Rows:
    """Waiting sessions, or one wait of a trace. Their rows have only what the case states."""
    several = re.match(r"(\d+) sessions per sample", given)
    cache = re.search(r"(?:P1=|cache id[ =]|cid=)(\d+)", given)
    if cache is None:
        return {}
    event = "row cache mutex" if "where requested" in given else "row cache lock"
    mode = re.search(r"(?:P3|request)[ =](\d+)", given)
    row: Row = {"sample": 1, "event": event, "p1": int(cache[1]), **({"p3": int(mode[1])} if mode else {})}
    return {"v$session": [{**row, "sid": sid} for sid in range(int(several[1]) if several else 1)]}


def _name_caches(views: Rows, *told: str) -> None:
    """Cache ids that waiters name and the case explains, such as `cache# 13 dc_sequences`."""
    known = {row.get("cache#") for row in views.get("v$rowcache", [])}
    for row in list(views.get("v$session", [])):
        for words in told:
            found = re.search(rf"(?<!\d){row['p1']}\D*?(dc_\w+)|(dc_\w+) {row['p1']}(?!\d)|^(dc_\w+)", words)
            if found and row["p1"] not in known:
                known.add(row["p1"])
                named: Row = {"cache#": row["p1"], "parameter": next(one for one in found.groups() if one)}
                views.setdefault("v$rowcache", []).append(named)


READERS: tuple[tuple[str, Callable[[Any], Rows]], ...] = (
    (r"top_events.*|top", _events),
    (r"latch free", _one_event),
    (r"miss_sources.*", _latch_sleeps),
    (r"create_1782.*", compared),
    (r"ges\(.*", _cluster),
    (r"rows\(count.*", _caches),
    (r"dc_segments", lambda given: _cache_and_percent(given, "dc_segments")),
    (r"dc_histogram_defs", lambda given: _cache_and_percent(given, "dc_histogram_defs")),
    (r"dc_objects", lambda given: _cache_and_percent(given, "dc_objects")),
    (r"cache id 8 .*", _contradiction),
    (r"mutex\(.*", _mutexes),
    (r"mutex", _mutex_text),
    (r"v\$rowcache", _cache_text),
    (r"ash|trace|session|p", _waiters),
)
