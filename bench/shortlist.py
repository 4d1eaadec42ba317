"""Fits the weights of `rules/shortlist.yaml`, and shows how often the lists are right, on instances with known truth:

fitted on even seeds with a third of the causes taken away, judged on odd ones, with every cause known and with the true one and
its relatives unknown. `--write` writes the file. `--second` judges lists of the second generator (tests/second) instead, and
`--published` prints those of published cases.
"""

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from random import Random
from typing import Literal

import numpy as np
from rich.console import Group, RenderableType

from bench._truth_scores import above_info
from bench._truth_tables import table
from collectors.capture import delta_of
from collectors.delta import between
from collectors.model import Delta, NotComparable
from collectors.reports.read import read
from rules.cause import catalogue
from rules.engine import Judgement, examine
from rules.gaps import gaps_of
from rules.model import Diagnosis, Severity
from rules.shortlist import HOME, MOST, Ranked, band, candidates, hot_cache, nothing_known, ranked, weights
from tests.paths import DATA
from tests.rules.published import delta_of as delta_of_case
from tests.rules.staged import incidents as staged_incidents
from tests.rules.staged import staged
from tests.rules.test_published_cases import ANSWERS
from tests.second.feed import capture
from tests.second.instances import instances
from tests.truth import rival
from tests.truth.by_sight import SEED, forms
from tests.truth.generate import Draw, case
from tests.truth.published import incidents
from tests.truth.registry import MECHANISMS
from tests.truth.sights import INTERVALS, KINDS, drawn, seen
from tests.truth.truth import Truth

TINY = "--first 12"
FITTED, JUDGED = 71, 72
"""Seeds of the draws."""
TIMES = 4
RIDGE = 2.0
"""Holds a weight near 0 that hardly any instance moves."""
SAID = ("40-70", "70-90", ">= 90")
"""Bands of the chance of the first name, in %."""
World = Literal["closed", "open", "a third unknown"]
Signs = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Listed:
    """The list of one problem, and what is true of it."""

    sight: str
    kind: str
    signs: tuple[Signs, ...]
    """Of each candidate, and last of a cause that we do not know."""
    right: tuple[int, ...]
    """Places of true candidates, or the last place."""
    true: frozenset[str]
    kin: frozenset[str]
    found: bool
    order: Callable[[Mapping[str, float]], Ranked]
    cache: bool | None = None
    """Whether the cache is right, by the weights of the file; None without a truth."""
    rival: bool | None = None
    high: bool = False
    """More severe than the truth."""


def unknown(truth: Truth, dice: Random, world: World) -> frozenset[str]:
    """The causes that are taken out of the catalogue: true ones, with what is true as well or says the same in general."""
    if world == "closed":
        return frozenset()
    every = sorted(catalogue()) if world != "open" else truth.causes
    away = {name for name in every if world == "open" or dice.random() < 1 / 3}
    for trouble in truth.troubles:
        if trouble.cause in away:
            away |= trouble.also | _general(trouble.cause)
    return frozenset(away)


def _general(cause: str) -> frozenset[str]:
    return MECHANISMS[cause].general if cause in MECHANISMS else frozenset()


def lists_of(number: int, edition: int, world: World) -> Iterator[Listed]:
    """The lists of one instance, as each reader gets them."""
    made = case(number, full_sight=True, draw=Draw(edition, INTERVALS))
    for sight, view in seen(made, Random(f"{edition} {number}")):
        away = unknown(made.truth, Random(f"unknown {edition} {number} {sight}"), world)
        change = read(view.text.encode(), "report")[0] if view.prints else between(view.begin, view.end)
        assert isinstance(change, Delta)
        guess = rival.in_report(view.prints) if view.prints else rival.in_views(view.begin, view.end)
        yield from _listed(sight, made.truth, change, away, guess)


def _listed(sight: str, truth: Truth, change: Delta, away: frozenset[str], guess: str | None) -> Iterator[Listed]:
    known = {name: cause for name, cause in catalogue().items() if name not in away} if away else None
    judgement = Judgement(change, known, {}, None, gaps_of(change))
    verdict, (context, causes, verdicts) = judgement.verdict(), judgement.weighed
    high = verdict.severity.rank > max(Severity(one).rank for one in truth.severities()) and not truth.hanging
    for trouble in verdict.troubles:
        here = [
            one
            for one in truth.troubles
            if trouble.surface in one.surfaces or one.group in ("host", "library cache", "no cost")
        ]
        true = frozenset(one.cause for one in here) - away
        kin = frozenset[str]().union(true, *(one.also | _general(one.cause) | {one.cause} for one in here))
        among, nothing = candidates(context, causes, verdicts, trouble), nothing_known(trouble)
        right = tuple(place for place, one in enumerate(among) if one.cause.id in true) or (len(among),)
        caches = {name for one in here for name in one.caches}
        named = hot_cache(context, trouble, ranked(among, nothing, weights()))[0]
        cache = next((f.cache for f in above_info(verdict) if f.cause in trouble.causes and f.cache), named)
        yield Listed(
            sight,
            truth.kind,
            (*(one.signs for one in among), nothing),
            right,
            true,
            kin,
            bool(trouble.causes),
            partial(ranked, among, nothing),
            cache in caches if caches else None,
            guess in caches if caches else None,
            high,
        )


def drawn_lists(seed: int, world: World, *, odd: bool, times: int = TIMES, first: int | None = None) -> list[Listed]:
    """The lists of a draw, of even or of odd seeds alone."""
    numbers = [number - number % 2 + odd for number in drawn(seed, times)]
    chosen = numbers[:: max(1, len(numbers) // (first or len(numbers)))][:first]
    return [one for number in chosen for one in lists_of(number, seed, world)]


def fit(lists: Sequence[Listed], without: frozenset[str] = frozenset()) -> dict[str, float]:
    """The weights under which what is true has the highest chance, by Newton's method. `without`: lists of these are left out."""
    names = list(weights())
    rows = [
        (np.array([[float(each.get(name, 0)) for name in names] for each in one.signs]), list(one.right))
        for one in lists
        if not one.kin & without
    ]
    fitted = np.zeros(len(names))
    for _ in range(40):
        slope, bend = -RIDGE * fitted, RIDGE * np.eye(len(names))
        for signs, right in rows:
            scores = signs @ fitted
            chance = np.exp(scores - scores.max())
            chance /= chance.sum()
            share_of_right = chance[right] / chance[right].sum()
            mean = chance @ signs
            slope += share_of_right @ signs[right] - mean
            bend += (signs * chance[:, None]).T @ signs - np.outer(mean, mean)
        step = np.clip(np.linalg.solve(bend, slope), -2, 2)
        fitted += step
        if np.abs(step).max() < 1e-4:
            break
    return {name: round(float(weight), 2) for name, weight in zip(names, fitted, strict=True)}


@dataclass
class Scores:
    """Counts over lists."""

    count: Counter[str]
    loss: float = 0.0


def scored(lists: Iterable[Listed], weighed: Mapping[str, float]) -> Mapping[str, Scores]:
    """Counts by sight, over all, and over lists without a finding."""
    made: dict[str, Scores] = defaultdict(lambda: Scores(Counter()))
    for one in lists:
        if not one.kin:
            continue
        order = one.order(weighed)
        names = [candidate.cause.id for candidate, _ in order.rows]
        top, sure = (names[0], order.rows[0][1]) if names else ("", 0.0)
        chance = sum(each for candidate, each in order.rows if candidate.cause.id in one.true)
        said = "40-70" if 0.4 <= sure < 0.7 else "70-90" if 0.7 <= sure < 0.9 else ">= 90" if sure >= 0.9 else "less"
        facts = {
            "lists": True,
            "first": top in one.true,
            "first or a relative": top in one.kin,
            "within three": bool(one.true & {*names[:3]}),
            "rules": one.found and top in one.true,
            f"said {said}": True,
            f"right {said}": top in one.true,
            "wrong at 80": sure >= MOST and top not in one.kin,
            "wrong at 80, no finding": sure >= MOST and top not in one.kin and not one.found,
            "right, said 6 or more": top in one.true and sure >= 0.5,
            "cache asked": one.cache is not None,
            "cache": bool(one.cache),
            "busiest": bool(one.rival),
        }
        for key in (one.sight, "all", *(() if one.found else ("no finding",))):
            made[key].count.update(name for name, holds in facts.items() if holds)
            made[key].loss -= float(np.log(max(chance if one.true and chance else order.nothing, 1e-6)))
    return made


def scores_table(title: str, lists: Sequence[Listed], weighed: Mapping[str, float]) -> RenderableType:
    """One row for each sight, one for all, and one for the lists without a finding. In an open world no first name is right."""
    closed = any(one.true for one in lists)
    columns = ("first", "first or a relative", "within three", "rules") if closed else ()
    heads = (*columns, "wrong at 80", *((f"said {said}" for said in SAID) if closed else SAID))
    made = table(title, "seen as", "lists", "loss", *heads, *(("6 of 10",) if closed else ()), "cache", "busiest")
    for sight, one in sorted(
        scored(lists, weighed).items(), key=lambda row: [*KINDS, "no finding", "all"].index(row[0])
    ):
        got, of = one.count, one.count["lists"]
        bands = [f"{got[f'right {said}']}/{got[f'said {said}']}" for said in SAID]
        cells = [*(_part(got, name, "lists") for name in columns), _part(got, "wrong at 80", "lists"), *bands]
        cells += [_part(got, "right, said 6 or more", "first")] if closed else []
        caches = [_part(got, name, "cache asked") for name in ("cache", "busiest")]
        made.add_row(sight, str(of), f"{one.loss / of:.2f}", *cells, *caches)
    return made


def _part(got: Counter[str], name: str, of: str) -> str:
    return f"{100 * got[name] / got[of]:.1f}" if got[of] else "–"


def written(weighed: Mapping[str, float], lists: Mapping[World, Sequence[Listed]]) -> None:
    """Write the weights with their date and scores."""
    lines = [
        "# Sign → weight. Written by `python -m bench shortlist --write`: fitted on even seeds of the generated instances with a",
        "# third of the causes taken away, judged on odd ones. Chances are bands of the first name: right, of how many.",
        f"date: {datetime.now(UTC):%Y-%m-%d}",
        "judged:",
    ]
    for world, among in lists.items():
        one = scored(among, weighed)["all"]
        got = one.count
        bands = ", ".join(
            f'"{said}": [{got[f"right {said}"]}, {got[f"said {said}"]}]' for said in ("40-70", "70-90", ">= 90")
        )
        known = f"first: {got['first']}, within three: {got['within three']}, " if world == "closed" else ""
        lines.append(f"  {world}: {{lists: {got['lists']}, {known}log loss: {one.loss / got['lists']:.2f}, {bands}}}")
    lines += [
        "weights:",
        *(f"  {name if ',' not in name else json.dumps(name)}: {weight}" for name, weight in weighed.items()),
    ]
    HOME.write_text("\n".join(lines) + "\n", encoding="utf-8")
    weights.cache_clear()


def figures(arguments: Sequence[str] = ()) -> RenderableType:
    """The weights, and the scores in the closed and the open world."""
    parser = argparse.ArgumentParser(prog="python -m bench shortlist", description=__doc__)
    parser.add_argument("--first", metavar="COUNT", type=int, help="only so many instances of each draw")
    parser.add_argument("--write", action="store_true", help="write the weights")
    parser.add_argument("--second", action="store_true", help="lists of the second generator, instead")
    parser.add_argument("--published", action="store_true", help="lists of published cases, instead")
    asked = parser.parse_args(arguments)
    if asked.published:
        return Group(*_published())
    if asked.second:
        return scores_table("Second generator", list(_second(asked.first or 300)), weights())
    began = time.process_time()
    fitted = fit(drawn_lists(FITTED, "a third unknown", odd=False, first=asked.first))
    spent = time.process_time() - began
    shown = table(f"Weights, fitted in {spent:.0f} s of processor", "sign", "fitted", "in the file")
    for name, weight in fitted.items():
        shown.add_row(name, f"{weight:+.2f}", f"{weights()[name]:+.2f}")
    worlds: dict[World, list[Listed]] = {
        world: drawn_lists(JUDGED, world, odd=True, first=asked.first) for world in ("closed", "open")
    }
    if asked.write:
        written(fitted, worlds)
    used = fitted if asked.write else weights()
    return Group(shown, *(scores_table(f"Odd seeds, {world} world", each, used) for world, each in worlds.items()))


def _second(first: int) -> Iterator[Listed]:
    """The lists of the second generator's instances, each problem beside what is true of the whole instance."""
    for instance in instances(0, first):
        change = delta_of(capture(instance))
        if isinstance(change, NotComparable):
            continue
        judgement = Judgement(change, None, {}, None, gaps_of(change))
        context, causes, verdicts = judgement.weighed
        true = frozenset(fact.cause for fact in instance.truth)
        kin = true.union(*(fact.kin for fact in instance.truth))
        caches = {name for fact in instance.truth for name in fact.caches}
        for trouble in judgement.verdict().troubles:
            among, nothing = candidates(context, causes, verdicts, trouble), nothing_known(trouble)
            order = ranked(among, nothing, weights())
            right = tuple(place for place, one in enumerate(among) if one.cause.id in true) or (len(among),)
            signs = (*(one.signs for one in among), nothing)
            cache = hot_cache(context, trouble, order)[0] in caches if caches else None
            looked = "less" if instance.lacking else "samples" if context.crowd else "views"
            found = bool(trouble.causes)
            yield Listed(looked, instance.kind, signs, right, true, kin, found, partial(ranked, among, nothing), cache)


def _published() -> Iterator[RenderableType]:
    """What the lists say of published cases beside what their figures support."""
    cases = {one["id"]: one for one in json.loads((DATA / "cases.json").read_text(encoding="utf-8"))}
    of_cases = [
        (name, answer.cause or "–", examine(delta).diagnosis)
        for name, answer in ANSWERS.items()
        if isinstance(delta := delta_of_case(cases[name], answer.release), Delta)
    ]
    of_pages = [
        (f"{incident['id']}, {form}", ", ".join(incident["causes"]) or "–", got)
        for incident in incidents()
        for form, got in forms(incident, SEED)
    ]
    whole = [
        (name, ", ".join(told["causes"]) or "–", examine(staged(name)).diagnosis)
        for name, told in staged_incidents().items()
    ]
    for title, rows in (("cases", of_cases), ("incidents, staged whole", whole), ("incidents by form", of_pages)):
        made = table(f"Published: {title}", "case", "right", "found", "list", words=("case", "right", "found", "list"))
        for name, right, got in rows:
            if got.shortlist or any(finding.other for finding in got.findings):
                made.add_row(name, right, ", ".join(one.cause for one in above_info(got)), "; ".join(_said(got)))
        yield made


def _said(got: Diagnosis) -> Iterator[str]:
    for finding in got.findings:
        if finding.other:
            yield f"else {finding.other.cause} {finding.other.probability}"
    for one in got.shortlist:
        names = ", ".join(f"{each.cause} {each.probability}" for each in one.candidates)
        yield f"{one.surface} {one.cache} {one.cache_probability}: {names}; something else {band(one.something_else)}"
