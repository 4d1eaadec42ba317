"""What a log file says: its events as shown, and where it holds no figures, a headline, the steps and what to bring next.

A log proves that something was written. It has no figures, so nothing in it is a finding, no severity is above warning, and what
it does not say may have happened all the same.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from collectors.delta import A_SOURCE
from collectors.logs.phrases import KINDS
from collectors.model import Delta, EventKind, LoggedEvent, number
from rules.cause import catalogue
from rules.formatting import count
from rules.library_cache import ACCOUNTS, LIBRARY_CACHE_LOCK, target_of
from rules.model import MOST_LOGGED, Candidate, Diagnosis, Figure, Logged, Severity, Step

NAMES: Mapping[EventKind, tuple[str, str]] = {kind: (said["one"], said["many"]) for kind, said in KINDS.items()}
"""Each kind for people, one and many, in the order of what weighs most for the row cache."""
ROW_CACHE: EventKind = "row_cache_timeout"
HOUR = timedelta(hours=1)
RECENT = timedelta(days=1)
"""A timeout this long before the end of the log is an old one."""
A_FEW = 3
"""Events of each kind that come before a further one of a kind that weighs more; and days that make a habit."""
NAMED = 5
"""Trace files, or events of an hour, that a sentence names."""
NIGHT = (20, 6)
"""From this hour of the evening to that of the morning."""
SAME_TIME = timedelta(minutes=10)
"""Moments of several days this near to each other by the clock are one habit."""
ANOTHER_POOL = "another pool"
WHOSE = "whether it is the application's, as nearly always, or the row cache's"
OURS = ("row cache", "latch: row cache", "library cache", "cursor: pin")
"""How the names of the waits of the row cache and the library cache begin."""


def with_events(diagnosis: Diagnosis, delta: Delta) -> Diagnosis:
    """The diagnosis with the events of its log file. Where nothing was judged, they also give headline, severity and steps."""
    if delta.source not in ("alert log", "trace"):
        return diagnosis
    logged = {"events": tuple(_shown(delta.events))}
    if diagnosis.state != "No data":
        return diagnosis.model_copy(update=logged)
    log = _Log(delta)
    severity = log.severity()
    told = {
        "headline": log.headline(),
        "severity": severity,
        "state": "No data" if severity is Severity.INFO else severity.state,
        "steps": tuple(log.steps()),
        "candidates": tuple(log.candidates()),
        "notes": (*delta.notes, *map(str, delta.oddities)),
        "undetermined": tuple(verdict.model_copy(update=log.open()) for verdict in diagnosis.undetermined),
    }
    return diagnosis.model_copy(update=logged | told)


def weighed(kinds: Sequence[EventKind], most: int | None) -> list[int]:
    """Which of events of these kinds are shown, as places in their order: of each kind a few, those of the row cache first."""
    met: Counter[EventKind] = Counter()
    weights = {kind: weight for weight, kind in enumerate(KINDS)}
    order = []
    for place, kind in enumerate(kinds):
        order.append((met[kind] // A_FEW, weights[kind], place))
        met[kind] += 1
    return sorted(place for _, _, place in sorted(order)[:most])


def _shown(events: Sequence[LoggedEvent]) -> Iterator[Logged]:
    """At most `MOST_LOGGED`, in the order of the file."""
    for event in (events[place] for place in weighed([event.kind for event in events], MOST_LOGGED)):
        alike = {name: getattr(event, name) for name in ("at", "kind", "text", "line", "trace_file", "times")}
        until = event.facts.get("until")
        yield Logged(**alike, until=until if isinstance(until, datetime) else None)


def _said(event: LoggedEvent, name: str) -> str:
    return str(event.facts.get(name) or "")


def _wall(moment: datetime) -> datetime:
    return moment.replace(tzinfo=None)


def _clock(moment: datetime | None) -> str:
    return "at an unknown time" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}"


def _many(events: Sequence[LoggedEvent]) -> tuple[int, str]:
    """How many lines the events of one kind stand for, those that were left out too, and the same in words."""
    many = sum(event.times + int(number(event.facts.get("left_out")) or 0) for event in events)
    words = f"{count(many)} {NAMES[events[0].kind][many > 1]}"
    pools, whose = ({_said(event, name) for event in events} for name in ("argument", "whose"))
    if len(pools) == 1 and "" not in pools:
        words = words.replace(ANOTHER_POOL, f"the {pools.pop()}")
    locks = sorted({lock for event in events for lock in _said(event, "resources").split()})
    return many, f"{words} of the application ({', '.join(locks)})" if whose == {"application"} else words


def _span(events: Sequence[LoggedEvent]) -> str:
    """The first and the last moment of events, and what they have in common."""
    moments = [_wall(event.at) for event in events if event.at is not None]
    if not moments:
        return "without a time that could be read"
    until = events[-1].facts.get("until")
    first, last = _clock(moments[0]), _clock(until if isinstance(until, datetime) else moments[-1])
    return first if last == first else f"{_habit(moments)}{first} to {last}"


def _habit(moments: Sequence[datetime]) -> str:
    """`each night at 01:30, ` for moments of three days or more at the same time. Empty for others."""
    days = sorted({moment.date() for moment in moments})
    clocks = sorted(timedelta(hours=moment.hour, minutes=moment.minute) for moment in moments)
    if len(days) < A_FEW or clocks[-1] - clocks[0] > SAME_TIME:
        return ""
    at_night = moments[0].hour >= NIGHT[0] or moments[0].hour < NIGHT[1]
    each = {1: f"each {'night' if at_night else 'day'}", 7: f"each {days[0]:%A}"}
    gaps = {(later - day).days for day, later in pairwise(days)}
    usual = each.get(gaps.pop()) if len(gaps) == 1 else None
    return f"{usual or f'on {count(len(days))} days'} at {moments[0]:%H:%M}, "


def _listed(events: Sequence[LoggedEvent]) -> str:
    each = [
        f"{_clock(event.at)} {event.text}" + f" ({count(event.times)} times)" * (event.times > 1) for event in events
    ]
    return "; ".join(each[-NAMED:]) + (f"; and {count(len(each) - NAMED)} earlier" if len(each) > NAMED else "")


def _is_reason(event: LoggedEvent) -> bool:
    """Whether an event is a reason to look at the cause of its kind.

    The enqueues of a deadlock decide, or what its sessions wait for: without them it is the application's, as nearly always. A
    chain is one where sessions log on: then the handle they wait for is an account.
    """
    if event.kind == "deadlock":
        return _said(event, "whose") == "dictionary" or _said(event, "event").startswith(OURS)
    if event.kind == "wait_chain":
        return _said(event, "event") == LIBRARY_CACHE_LOCK and target_of(event.facts.get("p3")).namespace in ACCOUNTS
    return True


class _Log:
    """The words about one file without figures."""

    def __init__(self, delta: Delta) -> None:
        self.delta = delta
        self.file = "log" if delta.source == "alert log" else "trace"
        self.of = {kind: [event for event in delta.events if event.kind == kind] for kind in KINDS}
        self.timeouts = self.of[ROW_CACHE]
        self.near = [kind for kind in self.having("near") if self.of[kind]]
        names = (event.trace_file for kind in (ROW_CACHE, *self.near) for event in self.of[kind])
        self.bring = list(dict.fromkeys(name for name in names if name))
        """The trace files to bring, those of the row cache first."""

    def having(self, role: str) -> list[EventKind]:
        """The kinds that have a role, as phrases.yaml says."""
        return [kind for kind, said in KINDS.items() if role in said.get("role", "").split()]

    def severity(self) -> Severity:
        """Warning for a timeout of the row cache in the last day of the log. Notice for an older one, for an internal error of
        it, and for sessions that a dump or a SQL trace shows at the row cache or the library cache.
        """
        if self.timeouts:
            end, last = self.delta.basis.end, self.timeouts[-1].at
            old = end is not None and last is not None and _wall(end) - _wall(last) > RECENT
            return Severity.NOTICE if old else Severity.WARNING
        # The argument of an internal error is the place in Oracle's code; that of the row cache is kqr.
        inside = any(_said(event, "argument").lower().startswith("kqr") for event in self.of["internal_error"])
        waits = any(
            _said(event, "event").startswith(OURS) for event in (*self.of["wait_chain"], *self.of["traced_wait"])
        )
        return Severity.NOTICE if inside or waits else Severity.INFO

    def headline(self) -> str:
        """The one sentence."""
        more = f"; bring {self.bring[0]}" if self.bring else ""
        if self.timeouts:
            (many, words), first, span = _many(self.timeouts), self.timeouts[0], _span(self.timeouts)
            if first.at is None or not span.startswith(_clock(first.at)):
                return f"The {self.file} has {words}, {span}{more}"
            if many == 1:
                return f"{_clock(first.at)}: {first.text}{more}"
            return f"{_clock(first.at)}: the first of {words}, up to {span.rpartition(' to ')[2]}{more}"
        if not self.near:
            over = f" in {self.delta.basis}" if self.delta.basis.seconds else ""
            return f"Cannot tell: the {self.file} has no line of the row cache{over}, and it has no figures"
        kind = self.near[0]
        near, others = self.of[kind], len(self.of[kind]) - 1
        if kind in ("wait_chain", "traced_wait"):
            sizes = ("sessions", "seconds")  # 0 for what has neither
            most = max(near, key=lambda event: [number(event.facts.get(name)) or 0.0 for name in sizes])
            begin = "The SQL trace has" if kind == "traced_wait" else f"{_clock(most.at)}:"
            return (
                f"{begin} {most.text}" + (f"; {count(others)} more {NAMES[kind][others > 1]}" if others else "") + more
            )
        more += f", whose graph says {WHOSE}" if self.bring and kind == "deadlock" else ""
        return f"The {self.file} has no timeout of a row cache lock, but {_many(near)[1]}, {_span(near)}{more}"

    def open(self) -> dict[str, str]:
        """Why causes stay open, and the way out."""
        first = f"bring {self.bring[0]} as well, and " if self.bring and self.file == "log" else ""
        run = "run the script that `latchscope script` prints on the instance while it is slow"
        way_out = f"{first}an AWR or Statspack report of the time, or {run}"
        return {
            "missing": "figures",
            "why": f"{A_SOURCE[self.delta.source]} has no figures of the row cache",
            "way_out": way_out,
        }

    def steps(self) -> Iterator[Step]:
        """What was logged, what came before and after the first timeout, what to bring, and what this rests on."""
        each = [(kind, *_many(events), _span(events)) for kind, events in self.of.items() if events]
        if each:
            told = "; ".join(f"{words} ({span})" for _, _, words, span in each)
            figures = tuple(
                Figure(name=NAMES[kind][1], value=many, unit="count", of="lines") for kind, many, _, _ in each
            )
            yield Step(step="logged", statement=told, figures=figures)
        first = next((_wall(event.at) for event in self.timeouts if event.at is not None), datetime.max)  # noqa: DTZ901
        dated = [(_wall(event.at) - first, event) for event in self.delta.events if event.at is not None]
        for step, role, begin, end, words in (
            ("before it", "before", -HOUR, 0 * HOUR, "in the hour before, listed and not blamed"),
            ("after it", "after", 0 * HOUR, HOUR, "in the hour after"),
        ):
            kinds = self.having(role)
            if near := [event for off, event in dated if event.kind in kinds and begin <= off <= end]:
                yield Step(step=step, statement=f"{words}: {_listed(near)}")
        if self.bring:
            more = f" and {count(len(self.bring) - NAMED)} more" if len(self.bring) > NAMED else ""
            what = "; the trace of a timeout has the cache, the lock mode and often the holder" if self.timeouts else ""
            if any(event.trace_file for event in self.of["deadlock"]):
                what += f"; the graph of a deadlock says {WHOSE}"
            yield Step(step="bring next", statement=f"{', '.join(self.bring[:NAMED])}{more}{what}")
        rests = "lines of the log alone, which say that it happened, not what it cost or why"
        if not self.timeouts:
            rests = "no timeout of a row cache lock was logged, which rules out that a session gave up waiting for one"
            shorter = "; Oracle logs that after minutes to hours, so shorter waits leave no line"
            rests += shorter if self.file == "log" else " here"
        yield Step(step="what this rests on", statement=rests)

    def candidates(self) -> Iterator[Candidate]:
        """The causes that the log is a reason to look at: of its timeouts, and of what else it has."""
        known = catalogue()
        for kind, said in KINDS.items():
            if any(map(_is_reason, self.of[kind])) and (cause := known.get(said.get("check", ""))):
                yield Candidate(cause=cause.id, title=cause.name, check=cause.explanation)
