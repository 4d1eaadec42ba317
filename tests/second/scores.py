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
from rules.model import Severity
from tests.second.feed import capture
from tests.second.instances import COUNT, Instance, instances

VERDICTS = {
    "right": "a true cause is found above info, or an exonerating one at all",
    "kin": "a cause that is no error either is found instead",
    "honest": "nothing is found, and a true cause is open",
    "silent": "nothing is found, and every true cause is ruled out",
    "wrong": "only causes that are not true are found above info",
}


def verdicts(instance: Instance) -> Iterator[tuple[str, bool]]:
    """For each truth of an instance its verdict; and whether a cause that is not true is named above info."""
    delta = delta_of(capture(instance))
    got = cannot_tell(delta) if isinstance(delta, NotComparable) else diagnose(delta)
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
        judged = list(verdicts(instance))
        counts.update((kind, verdict) for verdict, _ in judged)
        false[kind] += any(wrong for _, wrong in judged)
    table = Table("kind", *VERDICTS, "names another", title=f"{asked.first} instances, counted by cause")
    for kind in sorted({kind for kind, _ in counts}):
        table.add_row(kind, *(str(counts[kind, verdict]) for verdict in VERDICTS), str(false[kind]))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
