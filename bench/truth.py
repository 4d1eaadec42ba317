"""How often the diagnosis is right, on instances with known truth (tests/truth):

even seeds, held-out ones, and other instances as readers see them who look at different things. `--only CAUSE` measures one
cause; `--show SEED` prints the truth of an instance beside its diagnosis.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Group, RenderableType

from bench import _truth_tables as tables
from bench._truth_calibration import calibrate
from bench._truth_perturbed import perturbed
from bench._truth_published import published, published_forms, published_incidents
from bench._truth_scores import NOTHING, Score, diagnosed, scores
from tests.truth import by_sight
from tests.truth.generate import case
from tests.truth.plan import seeds, setting_of
from tests.truth.registry import MECHANISMS

TINY = "--first 12"
MANY = 8
"""Draws by sight."""


def figures(arguments: Sequence[str] = ()) -> RenderableType:
    """Every table, or those that the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m bench truth", description=__doc__)
    parser.add_argument("--only", metavar="CAUSE", help="seeds in which this cause is staged")
    parser.add_argument("--show", metavar="SEED", type=int, help="the truth of one seed beside its diagnosis")
    parser.add_argument(
        "--first",
        metavar="COUNT",
        type=int,
        help="only so many of the seeds, from all over the plan, and of the variants of a published incident; a quarter by sight",
    )
    parser.add_argument("--perturbed", action="store_true", help="how often small changes flip the verdict, instead")
    parser.add_argument(
        "--calibrate", action="store_true", help="count how often findings are right, and write the labels"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every score into this file as well")
    asked = parser.parse_args(arguments)
    if asked.show is not None:
        if asked.show not in seeds():
            parser.error(f"no seed {asked.show}; they go from 0 to {len(seeds()) - 1}")
        return _shown(asked.show)
    if asked.perturbed:
        return perturbed(asked.first)
    if asked.only and asked.only not in MECHANISMS:
        parser.error(f"no mechanism of {asked.only}; there are {', '.join(sorted(MECHANISMS))}")
    found = scores(spread([s for s in seeds() if not asked.only or asked.only in setting_of(s).causes], asked.first))
    if asked.json:
        asked.json.write_text(json.dumps([_plain(one) for one in found], indent=1) + "\n", encoding="utf-8")
    if asked.calibrate:
        return calibrate(found)
    if asked.only:
        return Group(*tables.verdicts(found), tables.besides(found), tables.causes(found), tables.each(found))
    return Group(
        *tables.verdicts(found),
        tables.degraded(found),
        tables.open_world(found),
        tables.besides(found),
        *tables.reliability(found),
        tables.weakest(found),
        tables.causes(found),
        tables.speed(found),
        _by_sight(asked.first),
        published(),
        published_incidents(asked.first),
        published_forms(asked.first),
    )


def _by_sight(first: int | None) -> RenderableType:
    """The table of `python -m tests.truth`, over a larger draw."""
    found = by_sight.measured(times=MANY, most=first and max(1, first // 4))
    made = tables.table(by_sight.title(found), *by_sight.HEADS, caption=BY_SIGHT)
    for cells in by_sight.rows(found):
        made.add_row(*cells)
    return made


BY_SIGHT = """\
its cache is right: the cache that the diagnosis names first, of a cause or else of a trouble, is a right one.
busiest cache: a rival that names the cache with most sleeps or sampled waiters, where there are none with most gets, if waits
for the row cache are 2 % of the time. false: something untrue above info; the rival: any cache. Both where the row cache has no
trouble. published: forms of the incidents in tests/truth/published.yaml."""


def spread(seeds: Sequence[int], count: int | None) -> list[int]:
    """So many of the seeds, evenly from all over the plan, in twos: an even one and an odd one."""
    if count is None or count >= len(seeds):
        return list(seeds)
    pairs = max(1, count // 2)
    starts = (2 * (place * (len(seeds) // 2) // pairs) for place in range(pairs))
    return [seed for start in starts for seed in seeds[start : start + 2]]


def _plain(score: Score) -> dict[str, object]:
    return asdict(score) | {"held_back": score.held_back, "false": score.false}


def _shown(seed: int) -> RenderableType:
    """Truth and diagnosis of one seed."""
    generated = case(seed)
    truth, diagnosis = generated.truth, diagnosed(generated)
    facts = tables.table(f"Seed {seed}: {setting_of(seed).name}", "truth", "")
    facts.add_row("kind", f"{truth.kind} {truth.strength or ''}")
    facts.add_row("release, CPUs", f"{truth.release}, {truth.cpus}")
    facts.add_row("interval, DB time", f"{truth.seconds:.0f} s, {truth.db_time:,.1f} s")
    facts.add_row("share of DB time lost", f"{truth.share:.2%}, so {' or '.join(sorted(truth.severities()))}")
    for trouble in truth.troubles:
        where = f"{', '.join(trouble.surfaces)}; {', '.join(trouble.caches) or 'no cache'}"
        facts.add_row(trouble.cause, f"{trouble.share:.2%} on {where}")
    facts.add_row("true as well", ", ".join(sorted(truth.also)))
    facts.add_row("hanging, sight", f"{truth.hanging}, {truth.sight}")
    columns = ("cause", "severity", "confidence", "surface", "cache", "evidence")
    said = tables.table(f"Diagnosis: {diagnosis.headline}", *columns)
    for finding in diagnosis.findings:
        evidence = "\n".join(f"{e.signal} {e.value:.4g} {e.needs}" for e in finding.evidence)
        said.add_row(
            finding.cause, finding.severity, finding.confidence, finding.surface, finding.cache or "", evidence
        )
    not_found = tables.table("The staged causes that are not found", "cause", "verdict", "why")
    for ruled in diagnosis.ruled_out:
        if ruled.cause in truth.true:
            value = "" if ruled.value is None else f" {ruled.value:.4g}"
            not_found.add_row(ruled.cause, "ruled out", f"{ruled.signal}{value}, needs {ruled.needs}")
    for open_one in diagnosis.undetermined:
        if open_one.cause in truth.true:
            not_found.add_row(open_one.cause, "cannot tell", open_one.why)
    return Group(
        facts, said, not_found, *(f"note: {note}" for note in diagnosis.notes), NOTHING * (not diagnosis.findings)
    )
