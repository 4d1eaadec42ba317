"""How often a change that leaves the truth as it is flips the verdict (tests/truth/perturbed.py)."""

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from rich.console import Group
from rich.table import Table

from bench._truth_scores import WORKERS, above_info, told
from bench._truth_tables import share, table
from collectors.delta import between
from collectors.model import Snapshot
from rules.cause import catalogue
from rules.model import Diagnosis
from tests.truth.generate import FEWEST_WAITS, Case, case
from tests.truth.perturbed import perturbed as changes
from tests.truth.plan import seeds, setting_of

INSTANCES = 120
KINDS = ("single", "pair", "look-alike", "healthy", "hang")
"""What is changed: everything but what is changed already, and crowds, which are only large."""
CAUSES, SEVERITY, BORDER = "other causes", "other severity", "at a border of severity"


@dataclass(frozen=True, slots=True)
class Change:
    """The verdict before and after one change of an instance."""

    seed: int
    kind: str
    before: "Verdict"
    after: "Verdict"
    right: frozenset[str]
    """Severities that are right: two near a border."""
    few: bool
    """The change leaves fewer waits of the trouble than the generator thinks an interval needs to show it."""

    @property
    def what(self) -> str | None:
        """What flipped, if anything: the causes or the severity; or the severity at a border, where both are right."""
        if self.before.causes != self.after.causes:
            return CAUSES
        if self.before.severity != self.after.severity:
            return BORDER if {self.before.severity, self.after.severity} <= self.right else SEVERITY
        return None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What must not flip: the severity, and the causes above info with their caches, in no order."""

    severity: str
    causes: frozenset[str]

    def __str__(self) -> str:
        return f"{self.severity}: {', '.join(sorted(self.causes)) or 'no cause'}"


def verdict(diagnosis: Diagnosis) -> Verdict:
    """The part of a diagnosis that must not flip."""
    causes = frozenset(f"{finding.cause} on {finding.cache}" for finding in above_info(diagnosis))
    return Verdict(str(diagnosis.severity), causes)


def some(count: int | None) -> list[int]:
    """Seeds from all over the plan, odd and even."""
    fitting = [seed for seed in seeds() if setting_of(seed).kind in KINDS]
    number = min(count or INSTANCES, len(fitting))
    return [fitting[place * len(fitting) // number] for place in range(number)]


def flips(seed: int) -> list[Change]:
    """Every change of one instance."""
    generated = case(seed)
    before = verdict(told(between(generated.begin, generated.end)))
    return [
        Change(
            seed,
            one.kind,
            before,
            verdict(told(between(one.begin, one.end))),
            generated.truth.severities(),
            _few(generated, one.begin, one.end),
        )
        for one in changes(seed, generated.begin, generated.end)
        if not (one.lasting and generated.truth.hanging)
    ]


def _few(generated: Case, begin: Snapshot, end: Snapshot) -> bool:
    """Whether an interval became too short for its trouble."""
    assert begin.taken_at is not None and end.taken_at is not None
    factor = (end.taken_at - begin.taken_at).total_seconds() / round(generated.truth.seconds)
    waits: Counter[str] = Counter()
    for each in generated.outcome.counted:
        if each.stream.cause is not None:
            waits[each.stream.cause] += each.waits
    return factor < 1 and any(count * factor < FEWEST_WAITS for count in waits.values())


def perturbed(count: int | None = None) -> Group:
    """Flips by kind of change, and what flipped, one a line."""
    with ProcessPoolExecutor(min(WORKERS, os.cpu_count() or 1), initializer=catalogue) as pool:
        found = [change for each in pool.map(flips, some(count), chunksize=2) for change in each]
    flipped = [change for change in found if change.what in (CAUSES, SEVERITY)]
    return Group(_table(found), *(f"{one.kind}, seed {one.seed}: {one.before} → {one.after}" for one in flipped))


def _table(found: Sequence[Change]) -> Table:
    made = table("Flips of the verdict", "change", "n", "flips", CAUSES, SEVERITY, BORDER, caption=CAPTION)
    kinds: dict[str, list[Change]] = defaultdict(list)
    for change in found:
        for kind in (LEFT,) if change.few else (ALL, change.kind):
            kinds[kind].append(change)
    for kind, of in kinds.items():
        counts = Counter(change.what for change in of)
        flipped = counts[CAUSES] + counts[SEVERITY]
        made.add_row(
            kind, str(len(of)), share(flipped, len(of)), *(str(counts[what]) for what in (CAUSES, SEVERITY, BORDER))
        )
    return made


ALL, LEFT = "all", "too few waits left"
CAPTION = (
    "A verdict: the severity, and the causes above info with their caches. Flips: other causes, or another severity that "
    f"the truth does not admit. {LEFT}: an interval in which a trouble has fewer than {FEWEST_WAITS} waits shows nothing; not "
    "part of all. Hangs keep their interval, for their waits do not grow with it."
)
