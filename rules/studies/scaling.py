"""How work scales with processes that share one latch: the latch's cost, the machine's cost, whether spinning is enough.

A closed system: N processes that think and then take the latch. The hold time follows from the rate of gets and from the share
of gets that find a holder (rules/contention). A reference column, of work without the latch, shows the machine's part.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Literal

from rules.frozen import Frozen
from rules.studies.claims import PUBLISHED, MixedClaim, ScalingClaim
from rules.studies.held_out import HeldOut, held_out
from rules.studies.scaling_row import COLUMNS, FEWEST_MISSES, ScalingRow, scaling_row, share_of_linear
from rules.studies.table import BadStudy, SuppliedRow, rows

MACHINE = ("machine", "system", "host")
RELEASE = ("oracle", "release", "version")
SPUN = 0.01
"""Up to this many sleeps per miss, spinning absorbs the collisions."""
CHEAP = 0.005
"""Up to this share of the processes' time asleep, the latch costs next to nothing."""
BENT = 0.9
"""Below this share of linear, or of the reference, a curve has bent."""
MOST_ROUNDING = 0.0051
"""Tolerance of a published share of linear, in percentage points: it has two decimals."""

Verdict = Literal["spin absorbs", "sleeps", "cheap sleeps", "cannot tell"]


class LinearSlip(Frozen):
    """A published share of linear, in percent, that contradicts the throughputs."""

    group: str
    processes: int
    published: float
    computed: float


class ScalingGroup(Frozen):
    """The rows of one machine and release, by number of processes, and the result at the highest."""

    name: str
    machine: str
    release: str
    hardware_threads: int | None
    rows: tuple[ScalingRow, ...]
    verdict: Verdict
    latch_bends_at: int | None
    """Fewest processes at which less than 90 % of the reference (of linear without one) is left."""
    machine_bends_at: int | None
    """The same for the reference, which does not use the latch."""
    held_out: HeldOut | None
    """How well the rows of few processes predict those of many. None if the table cannot show it."""

    def at(self, processes: int) -> ScalingRow | None:
        """The row with this many processes. None without first."""
        return next((row for row in self.rows if row.processes == processes), None)


class LikeForLike(Frozen):
    """Two releases at the same number of processes, the highest measured with both."""

    processes: int
    groups: tuple[str, str]
    miss_ratios: tuple[float, float]
    sleep_ratios: tuple[float | None, float | None]
    same_machine: bool


class ScalingStudy(Frozen):
    """Every group, the releases compared at equal numbers, and the claims that contradict the table."""

    study: Literal["scaling"] = "scaling"
    source: str
    groups: tuple[ScalingGroup, ...]
    comparisons: tuple[LikeForLike, ...]
    mixed: tuple[MixedClaim, ...]
    slips: tuple[LinearSlip, ...]
    checked: int
    """Published shares of linear that were recomputed."""


def scaling_study(
    text: str, name: str, chosen: Mapping[str, str] | None = None, claims: Sequence[ScalingClaim] = ()
) -> ScalingStudy:
    """The study of a table. Raises BadStudy."""
    grouped: dict[tuple[str, str], list[SuppliedRow]] = {}
    for row in rows(text, name, COLUMNS, chosen):
        grouped.setdefault((row.label(MACHINE), row.label(RELEASE)), []).append(row)
    checks = [check for (machine, release), own in grouped.items() for check in _published(machine, release, own)]
    groups = tuple(_group(name, machine, release, own) for (machine, release), own in grouped.items())
    return ScalingStudy(
        source=name,
        groups=groups,
        comparisons=tuple(_compared(groups)),
        mixed=tuple(_mixed(groups, (*PUBLISHED, *claims))),
        slips=tuple(each for each in checks if abs(each.published - each.computed) > MOST_ROUNDING),
        checked=len(checks),
    )


def _group(source: str, machine: str, release: str, own: Sequence[SuppliedRow]) -> ScalingGroup:
    name = ", ".join(each for each in (machine, release) if each) or source
    counts = [row.need("processes") for row in own]
    for row, count in zip(own, counts, strict=True):
        if count != int(count):
            raise BadStudy(f"{source} line {row.line}, processes: {count:g} is not a whole number; correct the line")
        if row.need("misses") > row.need("gets"):
            raise BadStudy(f"{source} line {row.line} has more misses than gets; its counters do not belong together")
        if counts.count(count) > 1:
            raise BadStudy(f"{source} has {count:g} processes twice for {name}; average repeats, or name a machine")
    if len(own) < 2:
        raise BadStudy(f"{source} has one row for {name}; measure at two numbers of processes or more")
    ordered = sorted(own, key=lambda row: row.need("processes"))
    single = ordered[0] if ordered[0].need("processes") == 1 else None
    found = tuple(scaling_row(row, single) for row in ordered)
    threads = ordered[-1].numbers["hardware_threads"]
    return ScalingGroup(
        name=name,
        machine=machine,
        release=release,
        hardware_threads=None if threads is None else int(threads),
        rows=found,
        verdict=_verdict(found),
        latch_bends_at=next((row.processes for row in found if _bent(row.against_reference, row.linear)), None),
        machine_bends_at=next((row.processes for row in found if _bent(row.reference_linear)), None),
        held_out=held_out(found),
    )


def _bent(*shares: float | None) -> bool:
    """Whether the first known share is below what still counts as straight."""
    return next((share < BENT for share in shares if share is not None), False)


def _verdict(found: Sequence[ScalingRow]) -> Verdict:
    last = found[-1]
    if last.misses < FEWEST_MISSES or last.sleep_ratio is None:
        return "cannot tell"
    if last.sleep_ratio < SPUN and (last.asleep or 0.0) < CHEAP:
        return "spin absorbs"
    return "sleeps" if last.asleep is None or last.asleep >= CHEAP else "cheap sleeps"


def _published(machine: str, release: str, own: Sequence[SuppliedRow]) -> Iterator[LinearSlip]:
    """Every published share of linear next to the one from the throughputs."""
    single = next((row for row in own if row.need("processes") == 1), None)
    for row in own:
        for field, column in (("throughput", "published_linear"), ("reference", "published_reference_linear")):
            computed, published = share_of_linear(row, single, field), row.numbers[column]
            if computed is not None and published is not None:
                yield LinearSlip(
                    group=", ".join(each for each in (machine, release) if each),
                    processes=int(row.need("processes")),
                    published=published,
                    computed=computed * 100,
                )


def _compared(groups: Sequence[ScalingGroup]) -> Iterator[LikeForLike]:
    for first, other in combinations(groups, 2):
        common = {row.processes for row in first.rows} & {row.processes for row in other.rows}
        if first.release == other.release or not common:
            continue
        left, right = first.at(max(common)), other.at(max(common))
        if left is not None and right is not None:
            yield LikeForLike(
                processes=left.processes,
                groups=(first.name, other.name),
                miss_ratios=(left.miss_ratio, right.miss_ratio),
                sleep_ratios=(left.sleep_ratio, right.sleep_ratio),
                same_machine=first.machine == other.machine,
            )


def _mixed(groups: Sequence[ScalingGroup], claims: Sequence[ScalingClaim]) -> Iterator[MixedClaim]:
    """Claims whose figures belong to another number of processes than they name."""
    for claim in dict.fromkeys(claims):
        for group in groups:
            if claim.release is not None and not group.release.startswith(claim.release):
                continue
            at = group.at(claim.processes)
            found = [row.processes for row in group.rows if claim.fits(row.miss_ratio, row.sleep_ratio)]
            if at is not None and found and claim.processes not in found:
                yield MixedClaim(
                    claimed_processes=claim.processes,
                    miss_percent=claim.miss_percent,
                    sleep_percent=claim.sleep_percent,
                    group=group.name,
                    found_processes=found[0],
                    actual_miss_ratio=at.miss_ratio,
                    actual_sleep_ratio=at.sleep_ratio,
                    source=claim.source,
                )
