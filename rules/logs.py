"""What a log file says: its events as shown, and where it holds no figures, a headline, the steps and what to bring next.

A log proves that something was written. It has no figures, so nothing in it is a finding, no severity is above warning, and what
it does not say may have happened all the same.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from collectors.model import Delta, EventKind, LoggedEvent
from rules.cause import catalogue
from rules.formatting import count
from rules.model import MOST_LOGGED, Candidate, Diagnosis, Figure, Logged, Severity, Step, Undetermined

NAMES: Mapping[EventKind, tuple[str, str]] = {
    "row_cache_timeout": ("timeout of a row cache enqueue lock", "timeouts of a row cache enqueue lock"),
    "library_cache_timeout": ("timeout in the library cache", "timeouts in the library cache"),
    "deadlock": ("deadlock", "deadlocks"),
    "shared_pool": ("shortage in the shared pool", "shortages in the shared pool"),
    "wait_chain": ("dump of who waits for whom", "dumps of who waits for whom"),
    "traced_wait": ("kind of wait in a SQL trace", "kinds of waits in a SQL trace"),
    "other_pool": ("shortage in {}", "shortages in {}"),
    "internal_error": ("internal error", "internal errors"),
    "latch_timeout": ("timeout of a latch", "timeouts of a latch"),
    "enqueue_timeout": ("timeout of an enqueue", "timeouts of an enqueue"),
    "hang": ("line of Hang Manager", "lines of Hang Manager"),
    "parse_errors": ("warning of statements that fail to parse", "warnings of statements that fail to parse"),
    "processes": ("refused login or process", "refused logins or processes"),
    "space": ("failure to extend a segment", "failures to extend a segment"),
    "resize": ("resize", "resizes"),
    "undo_switch": ("switch of undo", "switches of undo"),
    "instance_start": ("start of the instance", "starts of the instance"),
    "instance_stop": ("stop of the instance", "stops of the instance"),
    "patch": ("patch", "patches"),
    "parameter": ("change of a parameter", "changes of parameters"),
    "ddl": ("DDL statement", "DDL statements"),
    "other": ("other error", "other errors"),
}
"""Each kind for people, one and many, in the order of what weighs most for the row cache."""
ROW_CACHE: tuple[EventKind, ...] = ("row_cache_timeout",)
NEAR: tuple[EventKind, ...] = (
    "library_cache_timeout", "deadlock", "hang", "shared_pool", "internal_error", "latch_timeout", "enqueue_timeout",
    "parse_errors", "processes",
)  # fmt: skip
"""Kinds that may have to do with the row cache; the log alone does not say whether they do."""
BEFORE: tuple[EventKind, ...] = (
    "space", "resize", "undo_switch", "instance_start", "patch", "parameter", "ddl", "shared_pool", "parse_errors",
)  # fmt: skip
"""Kinds that are listed when they come in the hour before the first timeout."""
AFTER: tuple[EventKind, ...] = ("hang", "processes", "instance_stop", "internal_error")
HOUR = timedelta(hours=1)
RECENT = timedelta(days=1)
"""A timeout this long before the end of the log is an old one."""
A_FEW = 3
"""Events of each kind that come before a further one of a kind that weighs more."""
NAMED = 5
"""Trace files, or events of an hour, that a sentence names."""
CHECKS: Mapping[EventKind, str] = {
    "row_cache_timeout": "row-cache-lock-hang",
    "deadlock": "row-cache-library-deadlock",
    "shared_pool": "shared-pool-shrink",
    "library_cache_timeout": "ddl-invalidation",
    "parse_errors": "failed-parses",
}
"""The cause that such an event is a reason to look at."""
LOGGED, LOGGED_BEFORE, LOGGED_AFTER, BRING, RESTS = (
    "logged",
    "before it",
    "after it",
    "bring next",
    "what this rests on",
)
KINDS = tuple(NAMES)


def with_events(diagnosis: Diagnosis, delta: Delta) -> Diagnosis:
    """The diagnosis with the events of its log file. Where nothing was judged, they also give headline, severity and steps."""
    if delta.source not in ("alert log", "trace"):
        return diagnosis
    logged = {"events": tuple(_shown(delta.events))}
    if diagnosis.state != "No data":
        return diagnosis.model_copy(update=logged)
    severity = _severity(delta)
    way_out = _way_out(delta)
    told = {
        "headline": _headline(delta),
        "severity": severity,
        "state": "No data" if severity is Severity.INFO else severity.state,
        "steps": tuple(_steps(delta)),
        "candidates": tuple(_candidates(delta)),
        "notes": (*delta.notes, *map(str, delta.oddities)),
        "undetermined": tuple(_open(verdict, delta, way_out) for verdict in diagnosis.undetermined),
    }
    return diagnosis.model_copy(update=logged | told)


def weighed(kinds: Sequence[EventKind], most: int | None) -> list[int]:
    """Which of events of these kinds are shown, as places in their order: of each kind a few, those of the row cache first."""
    met: Counter[EventKind] = Counter()
    order = []
    for place, kind in enumerate(kinds):
        order.append((met[kind] // A_FEW, KINDS.index(kind), place))
        met[kind] += 1
    return sorted(place for _, _, place in sorted(order)[:most])


def _shown(events: Sequence[LoggedEvent]) -> Iterator[Logged]:
    """At most `MOST_LOGGED`, in the order of the file."""
    for event in (events[place] for place in weighed([event.kind for event in events], MOST_LOGGED)):
        until = event.facts.get("until")
        yield Logged(
            at=event.at,
            kind=event.kind,
            text=event.text,
            line=event.line,
            trace_file=event.trace_file,
            times=event.times,
            until=until if isinstance(until, datetime) else None,
        )


def _of(delta: Delta, kinds: Iterable[EventKind]) -> list[LoggedEvent]:
    wanted = set(kinds)
    return [event for event in delta.events if event.kind in wanted]


def _severity(delta: Delta) -> Severity:
    """Warning for a timeout of the row cache in the last day of the log; notice for an older one, or an internal error of it."""
    timeouts = _of(delta, ROW_CACHE)
    if timeouts:
        end, last = delta.basis.end, timeouts[-1].at
        old = end is not None and last is not None and _wall(end) - _wall(last) > RECENT
        return Severity.NOTICE if old else Severity.WARNING
    # The argument of an internal error is the place in Oracle's code; that of the row cache is kqr.
    arguments = (str(event.facts.get("argument", "")) for event in _of(delta, ("internal_error",)))
    return Severity.NOTICE if any(argument.lower().startswith("kqr") for argument in arguments) else Severity.INFO


def _wall(moment: datetime) -> datetime:
    return moment.replace(tzinfo=None)


def _clock(moment: datetime | None) -> str:
    return "at an unknown time" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}"


def _many(events: Sequence[LoggedEvent]) -> tuple[int, str]:
    """How many lines the events of one kind stand for, those that were left out too, and the same in words."""
    left_out = (event.facts.get("left_out") for event in events)
    many = sum(event.times for event in events) + sum(each for each in left_out if isinstance(each, int))
    one, several = NAMES[events[0].kind]
    return many, f"{count(many)} {several if many > 1 else one}"


def _span(events: Sequence[LoggedEvent]) -> str:
    """The first and the last moment of events."""
    moments = [event.at for event in events if event.at is not None]
    until = events[-1].facts.get("until")
    last = until if isinstance(until, datetime) else moments[-1] if moments else None
    if not moments:
        return "without a time that could be read"
    return _clock(moments[0]) if last is None or last == moments[0] else f"{_clock(moments[0])} to {_clock(last)}"


def _headline(delta: Delta) -> str:
    bring = _bring(delta)
    more = f"; bring {bring[0]}" if bring else ""
    if timeouts := _of(delta, ROW_CACHE):
        many, words = _many(timeouts)
        first = timeouts[0]
        if many == 1:
            return f"{_clock(first.at)}: {first.text}{more}"
        return f"{_clock(first.at)}: the first of {words}, up to {_span(timeouts).rpartition(' to ')[2]}{more}"
    file = "log" if delta.source == "alert log" else "trace"
    for kind in NEAR:
        if near := _of(delta, (kind,)):
            _, words = _many(near)
            return f"The {file} has no timeout of a row cache lock, but {words}, {_span(near)}{more}"
    over = f" {delta.basis}" if delta.basis.seconds else ""
    return f"Cannot tell: the {file} has no line of the row cache{' in' + over if over else ''}, and it has no figures"


def _bring(delta: Delta) -> list[str]:
    """The trace files to bring, those of the row cache first."""
    names = (event.trace_file for kind in (*ROW_CACHE, *NEAR) for event in _of(delta, (kind,)))
    return list(dict.fromkeys(name for name in names if name))


def _way_out(delta: Delta) -> str:
    bring = _bring(delta)
    first = f"bring {bring[0]} as well, and " if bring and delta.source == "alert log" else ""
    return (
        f"{first}an AWR or Statspack report of the time, or run the script that `latchscope script` prints on the instance "
        "while it is slow"
    )


def _open(verdict: Undetermined, delta: Delta, way_out: str) -> Undetermined:
    what = "an alert log" if delta.source == "alert log" else "a trace file"
    return verdict.model_copy(
        update={
            "missing": "figures",
            "why": f"{what} has no figures of the row cache",
            "way_out": way_out,
        }
    )


def _steps(delta: Delta) -> Iterator[Step]:
    each = [(kind, *_many(events), _span(events)) for kind in KINDS if (events := _of(delta, (kind,)))]
    if each:
        told = "; ".join(f"{words} ({span})" for _, _, words, span in each)
        figures = tuple(Figure(name=NAMES[kind][1], value=many, unit="count", of="lines") for kind, many, _, _ in each)
        yield Step(step=LOGGED, statement=told, figures=figures)
    first = next((event for event in _of(delta, ROW_CACHE) if event.at is not None), None)
    if first is not None and first.at is not None:
        begin, end = _wall(first.at) - HOUR, _wall(first.at) + HOUR
        before = [event for event in _of(delta, BEFORE) if event.at and begin <= _wall(event.at) <= _wall(first.at)]
        after = [event for event in _of(delta, AFTER) if event.at and _wall(first.at) <= _wall(event.at) <= end]
        if before:
            yield Step(step=LOGGED_BEFORE, statement=f"in the hour before, listed and not blamed: {_listed(before)}")
        if after:
            yield Step(step=LOGGED_AFTER, statement=f"in the hour after: {_listed(after)}")
    bring = _bring(delta)
    if bring:
        more = f" and {count(len(bring) - NAMED)} more" if len(bring) > NAMED else ""
        what = (
            "; the trace of a timeout has the cache, the lock mode and often the holder"
            if _of(delta, ROW_CACHE)
            else ""
        )
        yield Step(step=BRING, statement=f"{', '.join(bring[:NAMED])}{more}{what}")
    if not _of(delta, ROW_CACHE):
        nothing = "no timeout of a row cache lock was logged, which rules out that a session gave up waiting for one"
        shorter = "; Oracle logs that after minutes to hours, so shorter waits leave no line"
        yield Step(step=RESTS, statement=f"{nothing}{shorter}" if delta.source == "alert log" else f"{nothing} here")
    else:
        yield Step(step=RESTS, statement="lines of the log alone, which say that it happened, not what it cost or why")


def _listed(events: Sequence[LoggedEvent]) -> str:
    most = [
        f"{_clock(event.at)} {event.text}" + (f" ({count(event.times)} times)" * (event.times > 1)) for event in events
    ]
    kept = most[-NAMED:]
    return "; ".join(kept) + (f"; and {count(len(most) - NAMED)} earlier" if len(most) > NAMED else "")


def _candidates(delta: Delta) -> Iterator[Candidate]:
    """The causes that the log is a reason to look at: of its timeouts, and of what else it has."""
    known = catalogue()
    for kind, id in CHECKS.items():
        if _of(delta, (kind,)) and (cause := known.get(id)):
            yield Candidate(cause=id, title=cause.name, check=cause.explanation)
