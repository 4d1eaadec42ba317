"""Which of several inputs have the same interval, and which of them a series takes."""

from collections.abc import Sequence

from collectors.model import Delta, Missing, text
from rules.model import Diagnosis

SeriesInput = tuple[str, Delta, Diagnosis]


def distinct(ordered: Sequence[SeriesInput]) -> tuple[list[SeriesInput], list[str]]:
    """The most complete input for each interval, and notes about the others."""
    kept: list[SeriesInput] = []
    left_out: list[SeriesInput] = []
    for entry in ordered:
        index = next((i for i, other in enumerate(kept) if same_interval(entry[1], other[1])), None)
        if index is None:
            kept.append(entry)
            continue
        less, kept[index] = sorted((entry, kept[index]), key=_says)
        left_out.append(less)
    return kept, [note for each in kept if (note := _stands_for(each, left_out))]


def _stands_for(kept: SeriesInput, left_out: Sequence[SeriesInput]) -> str:
    """That an input stands for others of its interval, and those whose verdict is another; empty where it is alone."""
    others = [entry for entry in left_out if same_interval(entry[1], kept[1])]
    alike = ", ".join(entry[0] for entry in others if not _disagree(entry, kept))
    against = ", ".join(f"{entry[0]} ({_verdict(entry)})" for entry in others if _disagree(entry, kept))
    said = [f"{kept[0]} is used for its interval; left out, as they are of the same interval: {alike}"] if alike else []
    if against:
        said.append(
            f"{kept[0]} ({_verdict(kept)}) and {against} claim the same interval and disagree, and nothing "
            f"shows which is right; the series counts {kept[0]} alone, because {_why_kept(kept, others)}"
        )
    return "; ".join(said)


def _why_kept(kept: SeriesInput, others: Sequence[SeriesInput]) -> str:
    views = _says(kept)[0]
    return "it has the most figures" if all(views > _says(entry)[0] for entry in others) else "none has more figures"


def _disagree(given: SeriesInput, other: SeriesInput) -> bool:
    """Whether two inputs differ in how bad it is, or each names another cause."""
    causes = {finding.cause for entry in (given, other) for finding in entry[2].findings[:1]}
    return given[2].severity is not other[2].severity or len(causes) > 1


def _verdict(given: SeriesInput) -> str:
    return ", ".join([given[2].severity.state, *(finding.cause for finding in given[2].findings[:1])])


def _says(given: SeriesInput) -> tuple[int, int]:
    """How complete an input is: first by the readable views, then by its severity."""
    read = sum(not isinstance(reading, Missing) for reading in given[1].readings.values())
    return read, given[2].severity.rank


def same_interval(delta: Delta, other: Delta) -> bool:
    """Whether two inputs have one owner and one interval."""
    return delta.basis.begin is not None and (_owner(delta), delta.basis) == (_owner(other), other.basis)


def _owner(delta: Delta) -> tuple[str | None, ...]:
    """Database, instance, release and container: reports that differ in one of them are not of the same thing."""
    container = next(iter(delta.rows("sys_context")), {}).get("con_name")
    return delta.dbid, instance(delta), delta.release, text(container)


def instance(delta: Delta) -> str:
    """Database and instance, because two instances of a cluster have snapshots of the same moments."""
    number = next(iter(delta.rows("v$instance")), {}).get("instance_number")
    return delta.database if number is None else f"{delta.database} instance {number}"
