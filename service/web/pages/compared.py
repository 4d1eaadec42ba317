"""A comparison in pictures: the figure that decides, and each change as an arrow from before to after."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from rules.comparison.changes import ChangeVerification, Comparison, FigureChange, NotVerified
from rules.comparison.compare import LEADING
from rules.formatting import number as spelled
from rules.formatting import rough, sentence
from service.web.charts import small
from service.web.pages import words

WORK_NAMES = ("executions", "transactions", "hard_parses", "logons", "db_time")
SAME = (0.95, 1.05)
Verdicts = Sequence[tuple[str, ChangeVerification | NotVerified]]


@dataclass(frozen=True, slots=True)
class LeadingChange:
    """The first card: what changed, from what to what, and whether the change was the reason."""

    state: str
    words: str
    title: str
    lede: str
    before: str
    after: str
    unit: str
    ratio: str
    direction: str
    cost_before: str
    cost_after: str


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One figure before and after."""

    title: str
    of: str
    before: str
    after: str
    unit: str
    words: str
    arrow: Markup


def leading(compared: Comparison, verdicts: Verdicts) -> LeadingChange:
    """The content of the card. The figure is the one in the sentence of the comparison."""
    ranked = sorted(
        (change for change in compared.changes if change.name in LEADING),
        key=lambda change: (change.verdict == "cannot tell", change.verdict != "changed", LEADING.index(change.name)),
    )
    top = ranked[0]
    verified = any(isinstance(verdict, ChangeVerification) for _, verdict in verdicts)
    times = _times(top)
    state = (
        "fine"
        if verified
        else "none"
        if top.verdict != "changed"
        else "warning"
        if top.direction == "rose"
        else "notice"
    )
    cost = compared.find("row_cache_wait_share")
    return LeadingChange(
        state=state,
        words="Verified: the change helped" if verified else "Not verified" if verdicts else "",
        title=_title(top),
        lede=_load(compared) or compared.sentence,
        before=_value(top, top.before),
        after=_value(top, top.after),
        unit=f"{_subject(top)} {top.unit}" if not top.is_share else top.unit,
        ratio=times[0],
        direction=times[1],
        cost_before="" if cost is None or cost.before is None else f"{words.share(cost.before)} of DB time lost",
        cost_after="" if cost is None or cost.after is None else f"{words.share(cost.after)} of DB time lost",
    )


def compared_rows(changes: Sequence[FigureChange]) -> Sequence[ComparedRow]:
    """Figures as rows, the greatest change first, their arrows on one scale."""
    values = [value for change in changes for value in (change.before, change.after) if value]
    low, high = (min(values), max(values)) if values else (0.0, 0.0)
    return [_row(change, low, high) for change in sorted(changes, key=_greatest)]


def _greatest(change: FigureChange) -> float:
    factor = change.factor or 0.0
    return -max(factor, 1 / factor) if factor else -1e9 if change.before or change.after else 0.0


def _row(change: FigureChange, low: float, high: float) -> ComparedRow:
    before, after = _value(change, change.before), _value(change, change.after)
    drawn = Markup("")
    if change.before is not None and change.after is not None:
        drawn = small.arrow(change.before, change.after, low, high, f"{change.title}: {before} before, {after} after")
    times, direction = _times(change)
    same = change.direction == "same" or change.verdict != "changed"
    effect = (
        "same"
        if change.direction == "same" or times == "1×"
        else f"{times.rstrip('×')} times {direction}"
        if times[:1].isdigit()
        else f"{times} {direction}".strip()
    )
    if same and effect != "same":
        effect = f"within {'the usual' if change.verdict == 'within the usual' else 'noise'}"
    if change.outside_usual:
        effect += ", outside the usual here"
    of = change.of if change.of and change.of not in change.title else ""
    return ComparedRow(sentence(change.title), of, before, after, change.unit, effect, drawn)


def _title(change: FigureChange) -> str:
    """Sleeps on dc_rollback_segments fell 137-fold."""
    times, _ = _times(change)
    subject = sentence(_subject(change))
    if change.verdict == "cannot tell":
        return f"{subject}: what changed is unknown"
    if change.direction == "same" or change.verdict != "changed":
        return f"{subject} did not change by more than noise"
    if times in ("all", "new"):
        return f"{subject} {'are gone' if times == 'all' else 'are new'}"
    return f"{subject} {change.direction} {times.rstrip('×')}-fold"


def _subject(change: FigureChange) -> str:
    return change.title if not change.of or change.of in change.title else f"{change.title} of {change.of}"


def _times(change: FigureChange) -> tuple[str, str]:
    """137×, fewer."""
    if change.factor is None or not change.factor:
        if change.before and not change.after and change.after is not None:
            return "all", "gone"
        return ("new", "from none") if change.after and change.before == 0 else ("–", "")
    factor = change.factor if change.factor >= 1 else 1 / change.factor
    if SAME[0] <= change.factor <= SAME[1]:
        return "1×", "the same"
    times = f"{factor:.1f}" if factor < 9.95 else rough(round(factor))
    return f"{times}×", "more" if change.factor > 1 else "fewer"


def _load(compared: Comparison) -> str:
    """Whether the work went on, which separates a cure from a quiet hour."""
    known = [
        (name, compared.before.work[name], compared.after.work[name])
        for name in ("executions", "transactions")
        if compared.before.work.get(name) and compared.after.work.get(name)
    ]
    if not known:
        return ""
    if all(SAME[0] <= after / before <= SAME[1] for _, before, after in known):
        load = " and ".join(f"{rough(after)} {name}" for name, _, after in known)
        return f"The load is not the reason: {load} a second, before and after."
    load = " and ".join(f"{name} from {rough(before)} to {rough(after)} a second" for name, before, after in known)
    return f"The load changed too: {load}."


def _value(change: FigureChange, value: float | None) -> str:
    if value is None:
        return words.NOT_KNOWN
    return words.share(value) if change.is_share else rough(value) if value % 1 else spelled(value)
