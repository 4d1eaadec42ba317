"""What may be behind a problem for which nothing is found: causes that stayed open, a chance for each, and what to ask next.

The rules alone say "found" and "ruled out". A conditional logit ranks what they left open: a few signs that are the same for
every cause, weighted by `shortlist.yaml`, which `python -m bench shortlist` fits on generated instances of known truth. Here is
arithmetic only. No remedy, severity, alert or label follows from a list.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp
from pathlib import Path

import yaml

from collectors.model import Missing
from rules.cause import Cause
from rules.confirmation import obstacle
from rules.context import LOOKUPS, MINIMUM_SLEEPS, SURFACE_EVENTS, SignalContext
from rules.formatting import within
from rules.judge import LOOKS, SIGN_KINDS, CauseVerdict, Hypothesis, OpenCause, hypotheses
from rules.model import Confidence, Finding, Likely, NextLook, OtherCause, Severity, Shortlist, Trouble, Unknown
from rules.waits import FEWEST_WAITERS

HOME = Path(__file__).with_suffix(".yaml")
BANDS = ((0.85, 0.9), (0.7, 0.8), (0.5, 0.6), (0.3, 0.4), (0.15, 0.2), (0.05, 0.1))
"""The least chance → the one that is shown for it."""
MOST, LISTED = 0.8, 3
"""The highest chance of a cause that is not found, and the most names in a list."""
AGREED = 0.6
"""From this share of waiters or sleeps on, they name the cache."""
OWN_COUNT = 0.75
"""Weight of how often such findings were right, beside the list, in the chance of a finding."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A cause that may be behind a problem, and the signs that the model weighs, each 0 to 2."""

    cause: Cause
    signs: Mapping[str, float]
    found: Finding | None = None
    """Its finding, if that is about this problem."""
    reading: Unknown | None = None
    """What would decide it, while it is open."""


@cache
def weights() -> Mapping[str, float]:
    """Sign → weight."""
    fitted: Mapping[str, float] = yaml.safe_load(HOME.read_text(encoding="utf-8"))["weights"]
    return fitted


def band(chance: float) -> float:
    """A chance as it is shown, 0.9 to 0.1; 0 for less than 1 of 10."""
    return next((said for least, said in BANDS if chance >= least), 0.0)


def waited_for(context: SignalContext, trouble: Trouble) -> tuple[tuple[str, ...], float]:
    """The caches that waiters or sleeps name most on the surface of a problem, and their share. None where there are too few."""
    if trouble.cache:
        return tuple(trouble.cache.split("+")), 1.0
    surface = trouble.surface
    if surface == "latch":
        sleeps, child = context.delta.by_number("v$latch_children", "child#", "sleeps"), context.hot_child
        guarded = None if child is None else context.map.children.get(child)
        if guarded is None or child is None or (whole := sum(sleeps.values())) < MINIMUM_SLEEPS:
            return (), 0.0
        return tuple(ref.parameter for ref in guarded.caches if ref.parameter), sleeps.get(child, 0.0) / whole
    event = SURFACE_EVENTS.get(surface)
    met = Counter(context.crowd.caches(event)) if context.crowd and event else Counter[str]()
    if not met and context.look is not None:
        met = Counter(waiter.cache for waiter in context.look.of((surface,)) if waiter.cache)
    (name, most), *_ = met.most_common(1) or [("unknown", 0)]
    return ((name,), most / met.total()) if name != "unknown" and met.total() >= FEWEST_WAITERS else ((), 0.0)


def candidates(
    context: SignalContext, causes: Mapping[str, Cause], verdicts: Sequence[CauseVerdict], trouble: Trouble
) -> list[Candidate]:
    """The causes that are found or open and may be behind a problem, with their signs. What is ruled out is not among them."""
    named, share = waited_for(context, trouble)
    agreed = set(named) if share >= AGREED else set[str]()
    changes = context.by_name("modifications")
    busiest, all_changes = next(iter(context.by_name(LOOKUPS) or context.by_name("gets")), None), sum(changes.values())
    listed = list[Candidate]()
    for verdict in verdicts:
        if isinstance(verdict, Finding) and verdict.severity is not Severity.INFO:
            found, reading, near, cause = verdict, None, False, causes[verdict.cause]
            if trouble.surface not in cause.surfaces:
                continue
            one = next(each for each in hypotheses(context, [cause]) if isinstance(each, Hypothesis))
        elif isinstance(verdict, OpenCause) and verdict.hypothesis.cause.cap is not Severity.INFO:
            found, reading, near, one = None, verdict.reading, verdict.near, verdict.hypothesis
            cause = one.cause
        else:
            continue
        own = set(context.hot_caches.waited_as(cause.caches))
        here = cause.id in trouble.causes
        if trouble.surface not in cause.surfaces or (own and agreed and not own & agreed and not here):
            continue
        unknown = sum(each.why_unknown is not None for each in one.outcomes)
        failed = [each for each in one.outcomes if each.result in ("fails", "diluted")]
        signs = {
            "found": found is not None,
            "found with high confidence": found is not None and found.confidence is Confidence.HIGH,
            "its cache is the busiest": busiest in cause.caches,
            "share of changes in its caches": sum(changes.get(name, 0.0) for name in cause.caches) / (all_changes or 1),
            "only what was not captured keeps it open": near,
            "how much its best sign tells": SIGN_KINDS.index(one.sign) / 3,
            "ratios that fail": min(len(one.doubts), 2),
            "a supporting condition fails": any(each.condition.role == "supporting" for each in failed),
            "share of its conditions that are unknown": unknown / len(one.outcomes),
        }
        listed.append(Candidate(cause, signs, found if here else None, reading))
    return listed


def nothing_known(trouble: Trouble) -> Mapping[str, float]:
    """The signs of a cause that we do not know."""
    return {"something else": 1, "something else, beside a finding": bool(trouble.causes)}


def not_looked(context: SignalContext) -> bool:
    """Whether nobody met sessions while they waited: no samples, and none that still waits."""
    return context.crowd is None and not (context.look and context.look.sessions)


def chances(signs: Sequence[Mapping[str, float]], weighed: Mapping[str, float]) -> list[float]:
    """The chance of each; together 1."""
    scores = [sum(weighed[name] * value for name, value in each.items()) for each in signs]
    most = max(scores)
    parts = [exp(score - most) for score in scores]
    return [part / sum(parts) for part in parts]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The candidates of a problem with their chances, the likeliest first, a finding before all."""

    rows: Sequence[tuple[Candidate, float]]
    nothing: float
    """The chance of something that we do not know."""


def ranked(among: Sequence[Candidate], nothing: Mapping[str, float], weighed: Mapping[str, float]) -> Ranked:
    """The list of a problem. A finding stays first; without one nothing has more than MOST."""
    *each, rest = chances([*(one.signs for one in among), nothing], weighed)
    rows = sorted(zip(among, each, strict=True), key=lambda row: (row[0].found is None, -row[1], row[0].cause.kb))
    if not rows:
        return Ranked((), rest)
    (first, chance), *others = rows
    wanted = min(chance, MOST)
    if first.found is not None:
        count = first.found.reliability
        counted = count.right / count.of if count and count.of else chance
        wanted = OWN_COUNT * counted + (1 - OWN_COUNT) * chance
    left = (1 - wanted) / (1 - chance) if chance < 1 else 0.0
    return Ranked([(first, wanted), *((one, left * each) for one, each in others)], rest * left)


def shortlists(
    context: SignalContext,
    causes: Mapping[str, Cause],
    verdicts: Sequence[CauseVerdict],
    troubles: Sequence[Trouble],
) -> tuple[tuple[Shortlist, ...], Mapping[str, OtherCause]]:
    """A list for each problem without a finding; and for each finding the cause that it may be instead, if one has 1 of 10."""
    listed, instead = list[Shortlist](), dict[str, OtherCause]()
    for trouble in troubles:
        among = candidates(context, causes, verdicts, trouble)
        order = ranked(among, nothing_known(trouble), weights())
        if trouble.causes:
            other = next(((one, chance) for one, chance in order.rows if not one.signs["found"]), None)
            if other is not None and band(other[1]):
                instead.setdefault(trouble.causes[0], OtherCause(cause=other[0].cause.id, probability=band(other[1])))
            continue
        hot, sure = hot_cache(context, trouble, order)
        shown = [(one, band(chance)) for one, chance in order.rows[:LISTED] if band(chance)]
        listed.append(
            Shortlist(
                surface=trouble.surface,
                cache=hot,
                cache_probability=band(sure),
                candidates=tuple(
                    Likely(cause=one.cause.id, title=one.cause.name, probability=said) for one, said in shown
                ),
                something_else=band(order.nothing),
                next=next(_next(context, [one for one, _ in shown]), None),
            )
        )
    return tuple(listed), instead


def hot_cache(context: SignalContext, trouble: Trouble, order: Ranked) -> tuple[str | None, float]:
    """The cache of a problem and its chance: whom waiters or sleeps name, else what the causes add up to."""
    named, share = waited_for(context, trouble)
    if named and share >= AGREED:
        return trouble.cache or named[0], 1.0
    busiest, sums = list(context.by_name("gets")), Counter[str]()
    for one, chance in order.rows:
        own = [name for name in busiest if name in one.cause.caches] if one.cause.caches else busiest
        for name in own[:1]:
            sums[name] += chance  # type: ignore[assignment]
    first, sure = max(sums.items(), key=lambda item: item[1], default=(None, 0.0))
    return (named[0], share) if named and sure < 0.5 else (first, sure)


def _next(context: SignalContext, listed: Sequence[Candidate]) -> Iterator[NextLook]:
    """What to look at, the best first: sessions that nobody sampled, a view that is missing, the query of a name with a bound."""
    delta = context.delta
    live = delta.source == "views" and delta.basis.kind == "interval"
    if live and not_looked(context):
        reading = delta.read("v$session")
        way_out = reading.way_out if isinstance(reading, Missing) else "look at the sessions while they wait"
        yield NextLook(what="the sessions while it lasts", sql=None, why=way_out)
    for one in listed:
        if one.reading is not None and one.reading.absent and one.reading.missing not in LOOKS and not context.printed:
            yield NextLook(what=one.reading.missing, sql=None, why=one.reading.way_out)
    for one in listed:
        query, release = one.cause.confirm, delta.release
        if query is None or query.needs is None or one.cause.id in delta.confirmations:
            continue
        too_late = delta.source == "report" and not query.lasts(release)
        if (sql := query.text(release)) is not None and not too_late and obstacle(one.cause, query, delta) is None:
            yield NextLook(what=f"the confirming query of {within(one.cause.name)}", sql=sql, why=query.decision)
