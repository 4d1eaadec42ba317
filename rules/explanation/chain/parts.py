"""What links of the chain have in common: bars, what is usual, the bound, and values summed by name."""

from collections.abc import Iterable, Mapping, Sequence

from rules.bounds import Bound, UsualBetween
from rules.chain import ChainBar
from rules.model import Finding

MOST_BARS = 4


def summed(pairs: Iterable[tuple[str, float]]) -> Mapping[str, float]:
    """Values by name, the largest first."""
    sums: dict[str, float] = {}
    for name, value in pairs:
        sums[name] = sums.get(name, 0.0) + value
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))


def bars_of(values: Mapping[str, float], total: float, hot: Sequence[str]) -> tuple[ChainBar, ...]:
    """The largest as shares of the whole, those that are spoken of first among them."""
    if not total:
        return ()
    ordered = sorted(values, key=lambda name: (name not in hot, -values[name], name))
    shown = sorted(ordered[:MOST_BARS], key=lambda name: (-values[name], name))
    return tuple(ChainBar(label=name, value=values[name] / total, hot=name in hot) for name in shown if values[name])


def usual_of(top: Finding | None, signal: str) -> UsualBetween | None:
    """What is usual for a signal of the finding; None where no source tells."""
    return next((evidence.usual for evidence in top.evidence if evidence.signal == signal), None) if top else None


def bound_of(top: Finding | None, signal: str) -> Bound | None:
    """What the finding held a signal against."""
    return next((evidence.bound for evidence in top.evidence if evidence.signal == signal), None) if top else None
