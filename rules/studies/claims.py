"""Published claims about a scaling table, checked against it: a figure must be that of the row it names."""

import re
from dataclasses import dataclass

from rules.frozen import Frozen
from rules.studies.table import BadStudy

_CLAIM = re.compile(r"(\d+):(\d+(?:\.\d+)?):(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class ScalingClaim:
    """A published pair of figures: its number of processes, the percentages as printed, and the source."""

    processes: int
    miss_percent: str
    sleep_percent: str
    release: str | None = None
    """None: any group of the table."""
    source: str = ""

    def fits(self, miss_ratio: float | None, sleep_ratio: float | None) -> bool:
        """Whether two ratios (0..1), rounded as the claim is printed, equal its figures."""
        return _same(self.miss_percent, miss_ratio) and _same(self.sleep_percent, sleep_ratio)


PUBLISHED = (
    ScalingClaim(
        8, "50.33", "0.04", "11.2", "https://afatkulin.blogspot.com/2010/06/11gr2-result-cache-scalability.html"
    ),
)
"""Claims that are checked whenever a table has their figures."""


class MixedClaim(Frozen):
    """A claim whose figures belong to another row than it names."""

    claimed_processes: int
    miss_percent: str
    sleep_percent: str
    group: str
    found_processes: int
    """Where the table has these figures."""
    actual_miss_ratio: float | None
    actual_sleep_ratio: float | None
    """What the table has for the claimed number of processes."""
    source: str


def claim_of(words: str) -> ScalingClaim:
    """`8:50.33:0.04`: processes, misses per get and sleeps per miss in percent. Raises BadStudy."""
    found = _CLAIM.fullmatch(words.strip())
    if found is None:
        raise BadStudy(f"{words!r} is not a claim; write PROCESSES:MISSES:SLEEPS in percent, such as 8:50.33:0.04")
    return ScalingClaim(int(found[1]), found[2], found[3])


def _same(percent: str, ratio: float | None) -> bool:
    if ratio is None:
        return False
    half: float = 0.5 / 10 ** len(percent.partition(".")[2])
    return abs(ratio * 100 - float(percent)) <= half
