"""Counter-facts of generated findings: each flips the verdict when it is put into the Delta, and half of its distance does not.

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
from rules.counter.figures import PrintedFigure, with_figure
from rules.counter.search import standing_of
from rules.engine import examine
from rules.model import Becomes, CounterFact, Diagnosis, Finding, RuledOut, Undetermined
from tests.truth.generate import case
from tests.truth.plan import seeds

TINY = "--findings 4"
WORKERS = 2
SPREAD = 37
"""Seeds apart, so that a few of them are of every kind."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One counter-fact, tried. `flips` and `half_stays` are None if there is no figure."""

    seed: int
    cause: str
    stands: Becomes
    fact: CounterFact
    flips: bool | None
    half_stays: bool | None


def standing(diagnosis: Diagnosis, cause: str) -> Becomes:
    """How the verdict on a cause stands in a diagnosis."""
    found = next((finding for finding in diagnosis.findings if finding.cause == cause), None)
    if found is not None:
        return standing_of(found)
    return "ruled out" if any(verdict.cause == cause for verdict in diagnosis.ruled_out) else "open"


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
    return [
        tried(seed, delta, diagnosis, verdict.cause, verdict.counter_fact)
        for verdict in verdicts
        if verdict.counter_fact is not None
    ]


def tried(seed: int, delta: Delta, diagnosis: Diagnosis, cause: str, fact: CounterFact) -> Checked:
    """A counter-fact put back into its Delta, whole and half of the way."""
    stands = standing(diagnosis, cause)
    if fact.view is None or fact.column is None or fact.value is None or fact.flips_at is None:
        return Checked(seed, cause, stands, fact, None, None)
    figure = PrintedFigure(fact.view, tuple(fact.row.items()), fact.column)
    whole, half = (
        standing(examine(with_figure(delta, figure, value)).diagnosis, cause)
        for value in (fact.flips_at, fact.value + _printed(figure, (fact.flips_at - fact.value) / 2))
    )
    return Checked(seed, cause, stands, fact, whole == fact.becomes and whole != stands, half == stands)


def _printed(figure: PrintedFigure, way: float) -> float:
    """Half of the way, as the figure could be printed."""
    return int(way / figure.step) * figure.step


def of(chosen: Iterable[int]) -> Iterable[list[Checked]]:
    """The counter-facts of these seeds, in two processes."""
    with ProcessPoolExecutor(min(WORKERS, os.cpu_count() or 1)) as pool:
        yield from pool.map(checked, chosen, chunksize=2)


def spread() -> list[int]:
    """The seeds that nobody tunes with, in an order in which any few of them are of every kind."""
    held_back = [seed for seed in seeds() if seed % 2 == 1]
    return [held_back[place * SPREAD % len(held_back)] for place in range(len(held_back))]


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
    tables = [_held(results), _cost(chosen[: 4 if asked.findings < 10 else 60])]
    return Group(*tables, *([_failures(results)] if asked.failures else []))


def _held(results: Sequence[Checked]) -> Table:
    table = Table("verdict", "n", "with a figure", "flips", "half does not", "without a figure", title="Counter-facts")
    for stands in ("found", "costs nothing", "ruled out", "open"):
        own = [each for each in results if each.stands == stands]
        told = [each for each in own if each.flips is not None]
        without = f"{100 * (len(own) - len(told)) / len(own):.1f} %" if own else "–"
        flipped, stays = (str(sum(map(bool, each))) for each in ([e.flips for e in told], [e.half_stays for e in told]))
        table.add_row(stands, str(len(own)), str(len(told)), flipped, stays, without)
    return table


def _cost(chosen: Sequence[int]) -> Table:
    """Processor time of the whole diagnosis, the counter-facts included."""
    spent = []
    for seed in chosen:
        generated = case(seed)
        delta = between(generated.begin, generated.end)
        if isinstance(delta, Delta):
            begin = time.process_time()
            examine(delta).diagnosis  # noqa: B018
            spent.append(1000 * (time.process_time() - begin))
    cuts = quantiles(spent, n=100, method="inclusive")
    table = Table("instances", "p50", "p90", "p99", "most", title="Processor time of a diagnosis, ms")
    table.add_row(str(len(spent)), *(f"{each:.1f}" for each in (cuts[49], cuts[89], cuts[98], max(spent))))
    return table


def _failures(results: Sequence[Checked]) -> Table:
    table = Table("seed", "cause", "stands", "flips", "half stays", "counter-fact")
    for each in results:
        if each.flips is False or each.half_stays is False or (each.flips is None and each.stands == "found"):
            table.add_row(
                str(each.seed), each.cause, each.stands, str(each.flips), str(each.half_stays), each.fact.sentence
            )
    return table
