"""The scaling study as a page."""

from collections.abc import Iterator

from rules.studies.scaling import BENT, HeldOut, LikeForLike, ScalingGroup, ScalingStudy
from service.render.study.page import StudyCurve, StudyLines, StudyPage, StudyTable, figure, share

SAID = {
    "spin absorbs": "spin absorbs the collisions; misses are not the problem",
    "sleeps": "spin does not absorb the collisions; misses turn into sleeps, and the latch is the problem",
    "cheap sleeps": "some misses turn into sleeps, which cost little so far",
    "cannot tell": "too few misses to tell",
}
HEADINGS = (
    "N", "per s", "linear", "referen.", "miss/get", "sleep/miss", "spin eff", "hold µs", "held", "spinning", "asleep"
)  # fmt: skip


def scaling_page(study: ScalingStudy) -> StudyPage:
    return StudyPage(
        "Scaling on one latch",
        " ".join(_answers(study)),
        tuple(_findings(study)),
        (
            *(_table(group) for group in study.groups),
            StudyLines("Throughput, % of linear", "processes", tuple(_curves(study, "linear"))),
            StudyLines("Misses per get, %", "processes", tuple(_curves(study, "miss_ratio"))),
            StudyLines(
                "Sleeps per miss, %, logarithmic, zeros left out",
                "processes",
                tuple(_curves(study, "sleep_ratio")),
                log_y=True,
            ),
        ),
        tuple(_limits(study)),
    )


def _answers(study: ScalingStudy) -> Iterator[str]:
    """A sentence for each release and verdict, with its machines."""
    said: dict[tuple[str, str], list[str]] = {}
    for group in study.groups:
        said.setdefault((group.release, group.verdict), []).append(group.machine)
    for (release, verdict), machines in said.items():
        where = ", ".join(machine for machine in machines if machine)
        whose = f"{release} ({where})" if release and where else release or where
        yield f"{whose}: {SAID[verdict]}." if whose else f"{SAID[verdict].capitalize()}."


def _findings(study: ScalingStudy) -> Iterator[str]:
    for claim in study.mixed:
        source = f" ({claim.source})" if claim.source else ""
        yield (
            f"The published comparison{source} mixed two rows: the {claim.miss_percent} % and {claim.sleep_percent} % given for "
            f"{claim.claimed_processes} processes are those of {claim.found_processes} ({claim.group}); with "
            f"{claim.claimed_processes} it is {share(claim.actual_miss_ratio)} misses per get and "
            f"{share(claim.actual_sleep_ratio)} sleeps per miss."
        )
    yield from (_compared(each) for each in study.comparisons)
    for slip in study.slips:
        yield (
            f"{slip.group}, {slip.processes} processes: {slip.published:g} % of linear is published, the throughputs give "
            f"{slip.computed:.2f} %."
        )
    if study.checked and not study.slips:
        yield f"All {study.checked} published shares of linear follow from the throughputs."
    for group in study.groups:
        yield _bends(group)
    for group in study.groups:
        if group.held_out is not None:
            yield _held_out(group.name, group.held_out)


def _compared(each: LikeForLike) -> str:
    (here, there), (left, right) = each.groups, each.miss_ratios
    asleep, awake = each.sleep_ratios
    ratio = f", {figure(max(asleep, awake) / min(asleep, awake))} times apart" if asleep and awake else ""
    machines = "" if each.same_machine else "; other machines, so compare these ratios and nothing else"
    return (
        f"Like for like, {each.processes} processes: {here} has {share(left)} misses per get and "
        f"{share(asleep)} sleeps per miss, {there} {share(right)} and {share(awake)}{ratio}{machines}."
    )


def _bends(group: ScalingGroup) -> str:
    last = group.rows[-1]
    parts = [f"{group.name}: with {last.processes} processes {share(last.miss_ratio)} of the gets miss"]
    parts.append(f"{share(last.sleep_ratio)} of the misses sleep" if last.sleep_ratio is not None else "none sleeps")
    if last.asleep is not None:
        parts.append(f"{share(last.asleep)} of the processes' time is slept on the latch")
    if last.spinning is not None:
        parts.append(f"about {share(last.spinning)} spun for it")
    bent = [
        f"{what} bends at {at}"
        for what, at in (("the machine itself", group.machine_bends_at), ("the latch", group.latch_bends_at))
        if at is not None
    ]
    if bent:
        parts.append(f"{' and '.join(bent)} processes (below {BENT * 100:.0f} % of straight)")
    else:
        parts.append(f"no bend up to {last.processes} processes")
    words = ", ".join(parts)
    return words if last.saturation is None else f"{words}; {_full(group, last.saturation)}."


def _held_out(name: str, check: HeldOut) -> str:
    few, many = check.fitted, [row.processes for row in check.rows]
    return (
        f"Check of the model, {name}: fitted on {few[0]} to {few[-1]} processes and the reference, throughput with {many[0]} to "
        f"{many[-1]} is predicted with a median error of {share(check.median_error)}, at most {share(check.most_error)}, "
        f"{check.inside} of {len(many)} within their intervals; misses per get are {share(abs(check.median_miss_error))} too "
        f"{'low' if check.median_miss_error < 0 else 'high'} in the median."
    )


def _full(group: ScalingGroup, saturation: float) -> str:
    beyond = group.hardware_threads is not None and saturation > group.hardware_threads
    threads = f", more than the {group.hardware_threads} hardware threads" if beyond else ""
    return (
        f"with today's hold time the latch is full at about {saturation:.0f}{threads}, an upper limit, not a forecast"
    )


def _table(group: ScalingGroup) -> StudyTable:
    return StudyTable(
        group.name,
        HEADINGS,
        tuple(
            (
                f"{row.processes}",
                f"{row.throughput:,.0f}",
                share(row.linear),
                share(row.reference_linear),
                share(row.miss_ratio),
                share(row.sleep_ratio),
                share(row.spin_efficiency),
                "–" if row.hold_us is None else f"{row.hold_us:.2f}",
                share(row.utilisation),
                share(row.spinning),
                "< 0.01 %" if row.asleep and row.asleep < 1e-4 else share(row.asleep),
            )
            for row in group.rows
        ),
        words=0,
    )


def _curves(study: ScalingStudy, name: str) -> Iterator[StudyCurve]:
    for group in study.groups:
        values = ((row.processes, getattr(row, name)) for row in group.rows)
        yield StudyCurve(group.name, tuple((float(n), value * 100) for n, value in values if value is not None))


def _limits(study: ScalingStudy) -> Iterator[str]:
    yield "Nothing is predicted beyond the measured processes: the table does not show how the machine scales there."
    if any(row.hold_us is not None for group in study.groups for row in group.rows):
        yield (
            "The hold time is the time the latch is taken, including its way to the next processor: the code itself holds it up "
            "to 22 % shorter. Rows with fewer than 200 misses have none."
        )
    if any(row.reference_linear is None for group in study.groups for row in group.rows):
        yield "Without a reference column (work that does not touch the latch) the machine's own loss is part of the latch's."
    yield (
        "Spinning is processor time that no wait counts: a latch without sleeps is not free. Its share comes from the model, "
        "from how often a get finds the latch held."
    )
