"""How often the diagnosis is right, on instances with known truth (tests/truth):

even seeds, and held-out ones. `--only CAUSE` measures one cause; `--show SEED` prints the truth of an instance beside its
diagnosis.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table

from bench._truth_scores import NOTHING, Score, TroubleScore, diagnosed, scores
from tests.truth.generate import case
from tests.truth.plan import seeds, setting_of
from tests.truth.registry import MECHANISMS

TINY = "--first 6"
MOST_NAMED = 3
"""Wrong names shown per cause."""
Test = Callable[[Score], bool]


def figures(arguments: Sequence[str] = ()) -> RenderableType:
    """Every table, or those that the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m bench truth", description=__doc__)
    parser.add_argument("--only", metavar="CAUSE", help="seeds in which this cause is staged")
    parser.add_argument("--show", metavar="SEED", type=int, help="the truth of one seed beside its diagnosis")
    parser.add_argument("--first", metavar="COUNT", type=int, help="only so many of the seeds")
    asked = parser.parse_args(arguments)
    if asked.show is not None:
        if asked.show not in seeds():
            parser.error(f"no seed {asked.show}; they go from 0 to {len(seeds()) - 1}")
        return _shown(asked.show)
    if asked.only and asked.only not in MECHANISMS:
        parser.error(f"no mechanism of {asked.only}; there are {', '.join(sorted(MECHANISMS))}")
    chosen = [seed for seed in seeds() if not asked.only or asked.only in setting_of(seed).causes][: asked.first]
    found = scores(chosen)
    tables = [_summary(found), _groups(found), _causes(found), _confusion(found)]
    return Group(*tables, *([_each(found)] if asked.only else []))


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    return table


def _halves(found: Iterable[Score]) -> tuple[list[Score], list[Score]]:
    each = list(found)
    return [one for one in each if not one.held_back], [one for one in each if one.held_back]


def _rate(found: Sequence[Score], test: Test) -> str:
    if not found:
        return "–"
    held = sum(map(test, found))
    return f"{100 * held / len(found):.0f} % ({held}/{len(found)})"


def _all_found(score: Score) -> bool:
    return all(trouble.verdict == "found" for trouble in score.troubles)


def _some_found(score: Score) -> bool:
    return any(trouble.verdict == "found" for trouble in score.troubles)


def _honest(score: Score) -> bool:
    return all(trouble.verdict != "ruled out" for trouble in score.troubles)


def _cache_known(score: Score) -> bool:
    return any(trouble.cache is not None for trouble in score.troubles)


def _cache_right(score: Score) -> bool:
    return all(trouble.cache is not False for trouble in score.troubles)


def _alarmed(score: Score) -> bool:
    return bool(score.false) or score.unexplained


def _strong(score: Score) -> bool:
    return score.strength == "strong"


def _summary(found: list[Score]) -> Table:
    """The figures people ask for first."""
    table = _table(f"{len(found):,} instances with known truth", "what", "even seeds", "held back")

    def row(what: str, kinds: str, test: Test, among: Test = lambda score: True) -> None:
        halves = _halves(one for one in found if one.kind in kinds.split("|") and among(one))
        table.add_row(what, *(_rate(half, test) for half in halves))

    row("single trouble: first finding is it", "single", lambda one: one.top)
    row("single trouble: first finding is true", "single", lambda one: one.true_on_top)
    row("single trouble: among the findings", "single", _some_found)
    row("single trouble, strong: first finding is it", "single", lambda one: one.top, _strong)
    row("single trouble, strong: among the findings", "single", _some_found, _strong)
    row("single trouble: ruled out", "single", lambda one: not _honest(one))
    row("found, and the right cache", "single|pair|degraded", _cache_right, _cache_known)
    row("single trouble: untrue finding at warning or above", "single", lambda one: bool(one.false))
    row("  of which on a surface without trouble", "single", lambda one: bool(one.elsewhere))
    row("severity right", "single|pair", lambda one: one.severity_error == 0)
    row("severity at most one off", "single|pair", lambda one: abs(one.severity_error) <= 1)
    row("severity too low", "single|pair", lambda one: one.severity_error < 0)
    row("healthy: false incident", "healthy", _alarmed)
    row("look-alike: false incident", "look-alike", _alarmed)
    row("look-alike: named as what it is", "look-alike", _some_found, lambda one: bool(one.troubles))
    row("degraded sight: found", "degraded", _some_found)
    row("degraded sight: found or cannot tell", "degraded", _honest)
    row("degraded sight: ruled out, though full sight finds it", "degraded", lambda one: one.lost_by_sight)
    row("pair: both named", "pair", _all_found)
    row("pair: one named", "pair", lambda one: _some_found(one) and not _all_found(one))
    row("pair: none named", "pair", lambda one: not _some_found(one))
    row("pair: untrue finding at warning or above", "pair", lambda one: bool(one.false))
    row("hang: noticed", "hang", lambda one: one.noticed)
    row("hang on a lock: named as a hang", "hang", _some_found, lambda one: bool(one.troubles))
    row("hang on a lock: named, and the right cache", "hang", _cache_right, _cache_known)
    return table


def _groups(found: list[Score]) -> Table:
    """Recall of single troubles by group and strength."""
    columns = ("group", "strength", "top, even", "top, held back", "anywhere, even", "anywhere, held back")
    table = _table("Single troubles by group and strength", *columns)
    known: dict[tuple[str, str], list[Score]] = defaultdict(list)
    for one in found:
        if one.kind == "single":
            known[one.troubles[0].group, one.strength or ""].append(one)
            known[one.troubles[0].group, "all"].append(one)
    for (group, strength), of in sorted(known.items(), key=lambda item: (item[0][0], item[0][1] == "all")):
        even, odd = _halves(of)
        tops = [_rate(half, lambda one: one.top) for half in (even, odd)]
        table.add_row(group, strength, *tops, *(_rate(half, _some_found) for half in (even, odd)))
    return table


def _causes(found: list[Score]) -> Table:
    """Every staged cause, alone or as a look-alike:

    how often it is first, found, or ruled out, and which signal rules it out.
    """
    columns = ("cause", "n", "top even/back", "anywhere even/back", "cache", "ruled out", "by, or missing (even seeds)")
    table = _table("Per cause, alone", *columns)
    known: dict[str, list[Score]] = defaultdict(list)
    for one in found:
        if one.kind in ("single", "look-alike") and one.troubles:
            known[one.troubles[0].cause].append(one)
    for cause, of in sorted(known.items()):
        halves = _halves(of)
        alone = [one.troubles[0] for one in of]
        caches = [trouble.cache for trouble in alone if trouble.cache is not None]
        table.add_row(
            cause,
            str(len(of)),
            " / ".join(_short(half, lambda one: one.top) for half in halves),
            " / ".join(_short(half, _some_found) for half in halves),
            f"{100 * sum(caches) / len(caches):.0f} %" if caches else "",
            str(sum(trouble.verdict == "ruled out" for trouble in alone)),
            _listed(trouble.why for trouble in map(_alone, halves[0]) if trouble.verdict != "found"),
        )
    return table


def _alone(score: Score) -> TroubleScore:
    return score.troubles[0]


def _short(found: Sequence[Score], test: Test) -> str:
    return f"{100 * sum(map(test, found)) / len(found):.0f}" if found else "–"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in Counter(names).most_common(MOST_NAMED))


def _confusion(found: list[Score]) -> Table:
    """Which cause comes first instead, over even seeds only."""
    table = _table(
        "Confusion (even seeds)", "staged", "n", "first", "named first instead", "untrue at warning or above"
    )
    known: dict[str, list[Score]] = defaultdict(list)
    for one in found:
        if not one.held_back and one.kind in ("single", "look-alike", "healthy", "hang"):
            known["(healthy)" if one.kind == "healthy" else one.name].append(one)
    for name, of in sorted(known.items()):
        instead = (one.first for one in of if not one.top)
        false = (cause for one in of for cause in one.false)
        table.add_row(name, str(len(of)), str(sum(one.top for one in of)), _listed(instead), _listed(false))
    return table


def _each(found: list[Score]) -> Table:
    """Every instance, one a line."""
    table = _table("Each", "seed", "kind", "strength", "first", "verdicts", "untrue at warning or above")
    for one in found:
        verdicts = ", ".join(f"{t.cause}: {t.verdict} {t.why}".strip() for t in one.troubles)
        table.add_row(str(one.seed), one.kind, one.strength or "", one.first, verdicts, ", ".join(one.false))
    return table


def _shown(seed: int) -> RenderableType:
    """Truth and diagnosis of one seed."""
    generated = case(seed)
    truth, diagnosis = generated.truth, diagnosed(generated)
    facts = _table(f"Seed {seed}: {setting_of(seed).name}", "truth", "")
    facts.add_row("kind", f"{truth.kind} {truth.strength or ''}")
    facts.add_row("release, CPUs", f"{truth.release}, {truth.cpus}")
    facts.add_row("interval, DB time", f"{truth.seconds:.0f} s, {truth.db_time:,.1f} s")
    facts.add_row("share of DB time lost", f"{truth.share:.2%}, so {' or '.join(sorted(truth.severities()))}")
    for trouble in truth.troubles:
        where = f"{', '.join(trouble.surfaces)}; {', '.join(trouble.caches) or 'no cache'}"
        facts.add_row(trouble.cause, f"{trouble.share:.2%} on {where}")
    facts.add_row("true as well", ", ".join(sorted(truth.also)))
    facts.add_row("hanging, sight", f"{truth.hanging}, {truth.sight}")
    said = _table(f"Diagnosis: {diagnosis.headline}", "cause", "severity", "confidence", "surface", "cache", "evidence")
    for finding in diagnosis.findings:
        evidence = "\n".join(f"{e.signal} {e.value:.4g} {e.needs}" for e in finding.evidence)
        said.add_row(
            finding.cause, finding.severity, finding.confidence, finding.surface, finding.cache or "", evidence
        )
    not_found = _table("The staged causes that are not found", "cause", "verdict", "why")
    for ruled in diagnosis.ruled_out:
        if ruled.cause in truth.true:
            not_found.add_row(ruled.cause, "ruled out", f"{ruled.signal} {ruled.value:.4g}, needs {ruled.needs}")
    for open_one in diagnosis.undetermined:
        if open_one.cause in truth.true:
            not_found.add_row(open_one.cause, "cannot tell", open_one.why)
    return Group(
        facts, said, not_found, *(f"note: {note}" for note in diagnosis.notes), NOTHING * (not diagnosis.findings)
    )
