"""What a log file says: its events as shown, and where it holds no figures, a headline, the steps and what to bring next.

A log proves that something was written. It has no figures, so nothing in it is a finding, no severity is above warning, and what
it does not say may have happened all the same.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from collectors.logs.phrases import KINDS
from collectors.model import Delta, EventKind, LoggedEvent, number
from rules.cause import catalogue
from rules.formatting import count
from rules.library_cache import ACCOUNTS, LIBRARY_CACHE_LOCK, target_of
from rules.model import MOST_LOGGED, Candidate, Diagnosis, Figure, Logged, Severity, Step, Undetermined

ANOTHER_POOL = "another pool"
WHOSE = "whether it is the application's, as nearly always, or the row cache's"
NAMES: Mapping[EventKind, tuple[str, str]] = {kind: (said["one"], said["many"]) for kind, said in KINDS.items()}
"""Each kind for people, one and many, in the order of what weighs most for the row cache."""
ROW_CACHE: tuple[EventKind, ...] = ("row_cache_timeout",)
NEAR, BEFORE, AFTER = (
    [kind for kind, said in KINDS.items() if role in said.get("role", "").split()]
    for role in ("near", "before", "after")
)
HOUR = timedelta(hours=1)
RECENT = timedelta(days=1)
"""A timeout this long before the end of the log is an old one."""
A_FEW = 3
"""Events of each kind that come before a further one of a kind that weighs more."""
NAMED = 5
"""Trace files, or events of an hour, that a sentence names."""
NIGHT = (20, 6)
"""From this hour of the evening to that of the morning."""
SAME_TIME = timedelta(minutes=10)
"""Moments of several days this near to each other by the clock are one habit."""
DICTIONARY = re.compile(r"Q[A-Z]|[LN][A-Z]")
"""Enqueues of the row cache and of the library cache."""
APPLICATION = re.compile(r"TX|TM|UL")
OURS = ("row cache", "latch: row cache", "library cache", "cursor: pin")
"""How the names of the waits of the row cache and the library cache begin."""
LOGGED, LOGGED_BEFORE, LOGGED_AFTER, BRING, RESTS = (
    "logged",
    "before it",
    "after it",
    "bring next",
    "what this rests on",
)
_PLACE = {kind: place for place, kind in enumerate(KINDS)}


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
        order.append((met[kind] // A_FEW, _PLACE[kind], place))
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


def _said(event: LoggedEvent, name: str) -> str:
    return str(event.facts.get(name) or "")


def _severity(delta: Delta) -> Severity:
    """Warning for a timeout of the row cache in the last day of the log. Notice for an older one, for an internal error of it,
    and for sessions that a dump or a SQL trace shows at the row cache or the library cache.
    """
    timeouts = _of(delta, ROW_CACHE)
    if timeouts:
        end, last = delta.basis.end, timeouts[-1].at
        old = end is not None and last is not None and _wall(end) - _wall(last) > RECENT
        return Severity.NOTICE if old else Severity.WARNING
    # The argument of an internal error is the place in Oracle's code; that of the row cache is kqr.
    inside = any(_said(event, "argument").lower().startswith("kqr") for event in _of(delta, ("internal_error",)))
    waits = any(_said(event, "event").startswith(OURS) for event in _of(delta, ("wait_chain", "traced_wait")))
    return Severity.NOTICE if inside or waits else Severity.INFO


def _wall(moment: datetime) -> datetime:
    return moment.replace(tzinfo=None)


def _clock(moment: datetime | None) -> str:
    return "at an unknown time" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}"


def _many(events: Sequence[LoggedEvent]) -> tuple[int, str]:
    """How many lines the events of one kind stand for, those that were left out too, and the same in words."""
    left_out = (event.facts.get("left_out") for event in events)
    many = sum(event.times for event in events) + sum(each for each in left_out if isinstance(each, int))
    words = f"{count(many)} {NAMES[events[0].kind][many > 1]}"
    pools = {_said(event, "argument") for event in events}
    if events[0].kind == "other_pool" and len(pools) == 1 and "" not in pools:
        words = words.replace(ANOTHER_POOL, f"the {pools.pop()}")
    locks = {lock for event in events for lock in (_said(event, "resources") or "?").split()}
    if events[0].kind == "deadlock" and all(map(APPLICATION.fullmatch, locks)):
        words += f" of the application ({', '.join(sorted(locks))})"
    return many, words


def _span(events: Sequence[LoggedEvent]) -> str:
    """The first and the last moment of events, and what they have in common."""
    moments = [_wall(event.at) for event in events if event.at is not None]
    until = events[-1].facts.get("until")
    last = until if isinstance(until, datetime) else moments[-1] if moments else None
    if not moments:
        return "without a time that could be read"
    first = _clock(moments[0])
    return first if last is None or _clock(last) == first else f"{_habit(moments)}{first} to {_clock(last)}"


def _habit(moments: Sequence[datetime]) -> str:
    """`each night at 01:30, ` for moments of three days or more at the same time. Empty for others."""
    days = sorted({moment.date() for moment in moments})
    clocks = sorted(timedelta(hours=moment.hour, minutes=moment.minute) for moment in moments)
    if len(days) < A_FEW or clocks[-1] - clocks[0] > SAME_TIME:
        return ""
    gaps = {(later - day).days for day, later in pairwise(days)}
    at_night = moments[0].hour >= NIGHT[0] or moments[0].hour < NIGHT[1]
    each = f"each {'night' if at_night else 'day'}" if gaps == {1} else f"on {count(len(days))} days"
    each = f"each {days[0]:%A}" if gaps == {7} else each
    return f"{each} at {moments[0]:%H:%M}, "


def _headline(delta: Delta) -> str:
    bring = _bring(delta)
    more = f"; bring {bring[0]}" if bring else ""
    file = "log" if delta.source == "alert log" else "trace"
    if timeouts := _of(delta, ROW_CACHE):
        many, words = _many(timeouts)
        first, span = timeouts[0], _span(timeouts)
        if first.at is None or span.startswith(("each", "on")):
            return f"The {file} has {words}, {span}{more}"
        if many == 1:
            return f"{_clock(first.at)}: {first.text}{more}"
        return f"{_clock(first.at)}: the first of {words}, up to {span.rpartition(' to ')[2]}{more}"
    for kind in NEAR:
        near = _of(delta, (kind,))
        if near and kind in ("wait_chain", "traced_wait"):
            most = max(near, key=_weight)
            begin = "The SQL trace has" if kind == "traced_wait" else f"{_clock(most.at)}:"
            others = len(near) - 1
            return (
                f"{begin} {most.text}" + (f"; {count(others)} more {NAMES[kind][others > 1]}" if others else "") + more
            )
        if near:
            more += f", whose graph says {WHOSE}" if bring and kind == "deadlock" else ""
            return f"The {file} has no timeout of a row cache lock, but {_many(near)[1]}, {_span(near)}{more}"
    over = f" {delta.basis}" if delta.basis.seconds else ""
    return f"Cannot tell: the {file} has no line of the row cache{' in' + over if over else ''}, and it has no figures"


def _weight(event: LoggedEvent) -> tuple[float, ...]:
    """The sessions that an event speaks of, then its seconds; 0 for what has neither."""
    return tuple(number(event.facts.get(name)) or 0.0 for name in ("sessions", "seconds"))


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
    why = f"{what} has no figures of the row cache"
    return verdict.model_copy(update={"missing": "figures", "why": why, "way_out": way_out})


def _steps(delta: Delta) -> Iterator[Step]:
    each = [(kind, *_many(events), _span(events)) for kind in KINDS if (events := _of(delta, (kind,)))]
    if each:
        told = "; ".join(f"{words} ({span})" for _, _, words, span in each)
        figures = tuple(Figure(name=NAMES[kind][1], value=many, unit="count", of="lines") for kind, many, _, _ in each)
        yield Step(step=LOGGED, statement=told, figures=figures)
    timeouts = _of(delta, ROW_CACHE)
    first = next((event.at for event in timeouts if event.at is not None), None)
    if first is not None:
        for step, kinds, ahead, words in (
            (LOGGED_BEFORE, BEFORE, -HOUR, "in the hour before, listed and not blamed"),
            (LOGGED_AFTER, AFTER, HOUR, "in the hour after"),
        ):
            begin, end = sorted((_wall(first), _wall(first) + ahead))
            found = [event for event in _of(delta, kinds) if event.at and begin <= _wall(event.at) <= end]
            if found:
                yield Step(step=step, statement=f"{words}: {_listed(found)}")
    bring = _bring(delta)
    if bring:
        more = f" and {count(len(bring) - NAMED)} more" if len(bring) > NAMED else ""
        what = "; the trace of a timeout has the cache, the lock mode and often the holder" if timeouts else ""
        if any(event.trace_file and "resources" not in event.facts for event in _of(delta, ("deadlock",))):
            what += (
                "; the graph of a deadlock says whether it is the application's, as nearly always, or the row cache's"
            )
        yield Step(step=BRING, statement=f"{', '.join(bring[:NAMED])}{more}{what}")
    nothing = "no timeout of a row cache lock was logged, which rules out that a session gave up waiting for one"
    shorter = "; Oracle logs that after minutes to hours, so shorter waits leave no line"
    none = f"{nothing}{shorter}" if delta.source == "alert log" else f"{nothing} here"
    some = "lines of the log alone, which say that it happened, not what it cost or why"
    yield Step(step=RESTS, statement=some if timeouts else none)


def _listed(events: Sequence[LoggedEvent]) -> str:
    most = [
        f"{_clock(event.at)} {event.text}" + (f" ({count(event.times)} times)" * (event.times > 1)) for event in events
    ]
    kept = most[-NAMED:]
    return "; ".join(kept) + (f"; and {count(len(most) - NAMED)} earlier" if len(most) > NAMED else "")


def _is_reason(event: LoggedEvent) -> bool:
    """Whether an event is a reason to look at the cause of its kind.

    The enqueues of a deadlock decide, or what its sessions wait for: without them it is the application's, as nearly always. A
    chain is one where sessions log on: then the handle they wait for is an account.
    """
    if event.kind == "deadlock":
        ours = any(map(DICTIONARY.fullmatch, _said(event, "resources").split()))
        return ours or _said(event, "event").startswith(OURS)
    if event.kind == "wait_chain":
        return _said(event, "event") == LIBRARY_CACHE_LOCK and target_of(event.facts.get("p3")).namespace in ACCOUNTS
    return True


def _candidates(delta: Delta) -> Iterator[Candidate]:
    """The causes that the log is a reason to look at: of its timeouts, and of what else it has."""
    known = catalogue()
    for kind, said in KINDS.items():
        if any(map(_is_reason, _of(delta, (kind,)))) and (cause := known.get(said.get("check", ""))):
            yield Candidate(cause=cause.id, title=cause.name, check=cause.explanation)
