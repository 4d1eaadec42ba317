"""What the diagnosis says of the second generator's instances, beside their truth: `python -m tests.second.scores`.

The figures are reported and hold nothing: the generator was frozen before it was first judged, and no rule is tuned to it.
"""

import argparse
from collections import Counter
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from collectors.capture import delta_of
from collectors.model import NotComparable
from rules.engine import cannot_tell, diagnose
from rules.model import Diagnosis, Severity
from tests.second.feed import capture
from tests.second.instances import COUNT, Instance, instances

VERDICTS = {
    "right": "a true cause is found above info, or an exonerating one at all",
    "kin": "a cause that is no error either is found instead",
    "honest": "nothing is found, and a true cause is open",
    "silent": "nothing is found, and every true cause is ruled out",
    "wrong": "only causes that are not true are found above info",
}


NEAR = 1.5
"""A part of the cost is right within this factor."""


def diagnosed(instance: Instance) -> Diagnosis:
    """The diagnosis of an instance."""
    delta = delta_of(capture(instance))
    return cannot_tell(delta) if isinstance(delta, NotComparable) else diagnose(delta)


def parts(instance: Instance, got: Diagnosis) -> Iterator[bool]:
    """For each truth with a cache: whether that is named with its part of the cost."""
    for fact in instance.truth if instance.lost else ():
        own = [one.share_of_db_time or 0.0 for one in got.troubles if not set(one.caches).isdisjoint(fact.caches)]
        if fact.caches:
            yield bool(own) and 1 / NEAR <= sum(own) / (fact.share * instance.lost) <= NEAR


def verdicts(instance: Instance, got: Diagnosis) -> Iterator[tuple[str, bool]]:
    """For each truth of an instance its verdict; and whether a cause that is not true is named above info."""
    loud = {finding.cause for finding in got.findings if finding.severity is not Severity.INFO}
    named, left = {finding.cause for finding in got.findings}, {one.cause for one in got.undetermined}
    true = {fact.cause for fact in instance.truth}
    kin = {name for fact in instance.truth for name in fact.kin}
    false = bool(loud - true - kin)
    for fact in instance.truth:
        if fact.cause in loud or (instance.kind == "look-alike" and fact.cause in named):
            yield "right", false
        elif loud & set(fact.kin):
            yield "kin", false
        elif fact.cause in left or set(fact.kin) & left:
            yield ("wrong" if false else "honest"), false
        else:
            yield ("wrong" if false else "silent"), false
    if not instance.truth:
        yield ("wrong" if loud else "right"), bool(loud)


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(prog="python -m tests.second.scores", description=__doc__)
    parser.add_argument("--first", metavar="COUNT", type=int, default=COUNT, help="only so many instances")
    counts, false = Counter[tuple[str, str]](), Counter[str]()
    asked = parser.parse_args()
    for instance in instances(0, asked.first):
        kind = instance.kind if not instance.lacking else f"{instance.kind}, something missing"
        got = diagnosed(instance)
        judged, right = list(verdicts(instance, got)), list(parts(instance, got))
        counts.update({(kind, "caches"): len(right), (kind, "parts"): sum(right)})
        counts.update((kind, verdict) for verdict, _ in judged)
        false[kind] += any(wrong for _, wrong in judged)
    table = Table(
        "kind", *VERDICTS, "names another", "cache with its part", title=f"{asked.first} instances, counted by cause"
    )
    for kind in sorted({kind for kind, _ in counts}):
        table.add_row(
            kind,
            *(str(counts[kind, verdict]) for verdict in VERDICTS),
            str(false[kind]),
            f"{counts[kind, 'parts']} of {counts[kind, 'caches']}",
        )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
