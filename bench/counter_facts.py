"""Counter-facts of generated findings: each flips the verdict when it is put back, and half of its distance does not.

Every counter-fact goes back into the Delta of its instance, and `rules.engine.examine` judges that Delta from the start.
"""

import argparse
import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from statistics import quantiles

from rich.console import Group
from rich.table import Table

from collectors.delta import between
from collectors.model import Delta
from rules.cause import catalogue
from rules.context import SignalContext
from rules.counter.figures import PrintedFigure, with_figure
from rules.counter.search import counter_facts, standing_of
from rules.engine import Examination, examine
from rules.judge import judge
from rules.model import Becomes, CounterFact, Finding, RuledOut, Undetermined
from rules.resolve import weighed
from tests.truth.generate import case
from tests.truth.plan import seeds

TINY = "--findings 4"
WORKERS = 2
SPREAD = 37
"""Seeds apart, so that a few of them are of every kind."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One counter-fact, tried. What was tried is None if there is no figure."""

    seed: int
    cause: str
    stands: Becomes
    fact: CounterFact
    flips: bool | None = None
    half_stays: bool | None = None
    """Half of the distance flips nothing. None as well if no figure is printed between the two."""
    nearer_stays: bool | None = None
    """The last figure before it flips nothing."""


def standing(examined: Examination, cause: str) -> Becomes:
    """How the verdict on a cause stands."""
    found = next((finding for finding in examined.verdict.findings if finding.cause == cause), None)
    if found is not None:
        return standing_of(found)
    return "open" if cause in examined.open_causes() else "ruled out"


def checked(seed: int) -> list[Checked]:
    """The counter-facts of a seed, each tried through the engine."""
    generated = case(seed)
    delta = between(generated.begin, generated.end)
    if not isinstance(delta, Delta):
        return []
    diagnosis = examine(delta).diagnosis
    verdicts: list[Finding | RuledOut | Undetermined] = [
        *diagnosis.findings,
        *diagnosis.ruled_out,
        *diagnosis.undetermined,
    ]
    return [tried(seed, delta, verdict.cause, verdict.counter_fact) for verdict in verdicts if verdict.counter_fact]


def tried(seed: int, delta: Delta, cause: str, fact: CounterFact) -> Checked:
    """A counter-fact put back into its Delta: whole, half of the way, and one printed figure less."""
    stands = standing(examine(delta), cause)
    if fact.view is None or fact.column is None or fact.value is None or fact.flips_at is None:
        return Checked(seed, cause, stands, fact)
    figure, way = PrintedFigure(fact.view, tuple(fact.row.items()), fact.column), fact.flips_at - fact.value

    def at(value: float) -> Becomes:
        return standing(examine(with_figure(delta, figure, value)), cause)

    half = int(way / 2 / figure.step) * figure.step
    nearer = way - figure.step if way > 0 else way + figure.step
    return Checked(
        seed,
        cause,
        stands,
        fact,
        flips=at(fact.flips_at) == fact.becomes != stands,
        half_stays=at(fact.value + half) == stands if half else None,
        nearer_stays=at(fact.value + nearer) == stands,
    )


def of(chosen: Iterable[int]) -> Iterable[list[Checked]]:
    """The counter-facts of these seeds, in two processes."""
    with ProcessPoolExecutor(min(WORKERS, os.cpu_count() or 1)) as pool:
        yield from pool.map(checked, chosen, chunksize=2)


def spread() -> list[int]:
    """The seeds of one half, in an order in which any few of them are of every kind."""
    odd = [seed for seed in seeds() if seed % 2 == 1]
    return [odd[place * SPREAD % len(odd)] for place in range(len(odd))]


def figures(arguments: Sequence[str] = ()) -> Group:
    """How many counter-facts flip the verdict, and what they cost."""
    parser = argparse.ArgumentParser(prog="python -m bench counter_facts", description=__doc__)
    parser.add_argument("--findings", type=int, default=200, help="findings above info to try")
    parser.add_argument(
        "--failures", action="store_true", help="name each counter-fact that does not hold, and each finding without"
    )
    asked = parser.parse_args(arguments)
    results: list[Checked] = []
    chosen = spread()
    for place in range(0, len(chosen), 8):
        results += [each for one in of(chosen[place : place + 8]) for each in one]
        if sum(each.stands == "found" for each in results) >= asked.findings:
            break
    tables = [_held(results), _cost(chosen[: asked.findings])]
    return Group(*tables, *([_failures(results)] if asked.failures else []))


def _held(results: Sequence[Checked]) -> Table:
    heads = ("verdict", "n", "without a figure", "flips", "half does not", "one figure less does not")
    table = Table(*heads, title="Counter-facts")
    for stands in ("found", "costs nothing", "ruled out", "open"):
        own = [each for each in results if each.stands == stands]
        tries = ([e.flips for e in own], [e.half_stays for e in own], [e.nearer_stays for e in own])
        known = [[held for held in each if held is not None] for each in tries]
        without = f"{100 * (len(own) - len(known[0])) / len(own):.1f} %" if own else "–"
        table.add_row(stands, str(len(own)), without, *(f"{sum(each)} of {len(each)}" for each in known))
    return table


def _cost(chosen: Sequence[int]) -> Table:
    """Processor time of whole diagnoses, and what the counter-facts take of it."""
    checked(chosen[0])  # what is made once is there
    whole, facts = [], []
    for seed in chosen:
        generated = case(seed)
        delta = between(generated.begin, generated.end)
        if isinstance(delta, Delta):
            begin = time.process_time()
            examine(delta).diagnosis  # noqa: B018
            whole.append(1000 * (time.process_time() - begin))
            context, causes = SignalContext(delta), {n: c for n, c in catalogue().items() if not c.handbook}
            alone = [judge(cause, context) for cause in causes.values()]
            verdicts = weighed(context, causes, alone)
            begin = time.process_time()
            counter_facts(context, causes, alone, verdicts)
            facts.append(1000 * (time.process_time() - begin))
    table = Table("processor time, ms", "instances", "p50", "p90", "p99", "most")
    for name, spent in (("a diagnosis", whole), ("of it counter-facts", facts)):
        cuts = quantiles(spent, n=100, method="inclusive")
        table.add_row(name, str(len(spent)), *(f"{each:.1f}" for each in (cuts[49], cuts[89], cuts[98], max(spent))))
    return table


def _failures(results: Sequence[Checked]) -> Table:
    table = Table("seed", "cause", "stands", "flips", "half", "one less", "counter-fact")
    for each in results:
        held = (each.flips, each.half_stays, each.nearer_stays)
        if False in held or (each.flips is None and each.stands == "found"):
            table.add_row(str(each.seed), each.cause, each.stands, *map(str, held), each.fact.sentence)
    return table
