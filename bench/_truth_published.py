"""The published cases (tests/rules/published.py, staged.py; tests/truth/published.yaml) as a part of the measurement:

reported, and no reason for a bound.
"""

import json
from collections import Counter
from itertools import islice

from rich.table import Table

from bench._truth_scores import above_info
from bench._truth_tables import share, table
from rules.engine import diagnose
from rules.formatting import percent
from rules.model import Diagnosis
from tests.paths import DATA
from tests.rules.published import delta_of
from tests.rules.staged import VERDICTS, incidents, judged, staged, variants
from tests.rules.test_published_cases import ANSWERS, Answer
from tests.truth import by_sight
from tests.truth.published import incidents as told_incidents

VARIANTS = """\
Variants: each assumed figure a third and three times as large, alone and in combinations.
Held: the same verdict as with the assumed figures."""


def published() -> Table:
    """What their figures support, what the diagnosis says, and whether it is the same."""
    cases = {one["id"]: one for one in json.loads((DATA / "cases.json").read_text(encoding="utf-8"))}
    columns = ("case", "its role, its cache", "its figures support", "said", "cost", "same")
    made = table("Published cases", *columns, words=columns[:4])
    for name, answer in ANSWERS.items():
        got = diagnose(delta_of(cases[name], answer.release))
        role = f"{cases[name]['row_cache_role']}, {cases[name]['cache'] or '–'}"
        made.add_row(name, role, _supported(answer), _said(got, answer.cause), _cost(got), _same(answer, got))
    return made


def published_incidents(most: int | None = None) -> Table:
    """The verdict on each staged incident, and in how many variants of what its page leaves out it stays the same.

    `most`: only so many variants of each.
    """
    caption = "\n".join([*(f"{name}: {meaning}" for name, meaning in VERDICTS.items()), VARIANTS])
    columns = ("case", "release", "right are", "verdict", "said", "cost", "variants held", *VERDICTS)
    made = table("Published incidents, staged whole", *columns, caption=caption, words=columns[:5])
    base: Counter[str] = Counter()
    every: Counter[str] = Counter()
    held = 0
    for name, case in incidents().items():
        delta = staged(name)
        got = diagnose(delta)
        verdict = judged(name, got)
        counts = Counter(judged(name, diagnose(staged(name, one))) for one in islice(variants(name), most))
        right = ", ".join(case["causes"]) or "no cause"
        stays = share(counts[verdict], counts.total())
        rest = (str(counts[one]) for one in VERDICTS)
        made.add_row(
            name, case.get("version_full", delta.release), right, verdict, _said(got, None), _cost(got), stays, *rest
        )
        base[verdict] += 1
        every += counts
        held += counts[verdict]
    sums = ", ".join(f"{base[one]} {one}" for one in VERDICTS)
    made.add_row("all", "", "", sums, "", "", share(held, every.total()), *(str(every[one]) for one in VERDICTS))
    return made


def published_forms(most: int | None = None) -> Table:
    """The verdict on each incident of tests/truth/published.yaml, in each form that its page has."""
    columns = ("incident", "form", "right are", "verdict", "said", "cost")
    made = table("Published incidents, by the form of the page", *columns, words=columns[:5])
    for incident in told_incidents()[:most]:
        for form, got in by_sight.forms(incident, by_sight.SEED):
            right = ", ".join(incident["causes"]) or "no cause"
            verdict = by_sight.published_verdict(incident, got)
            made.add_row(incident["id"], form, right, verdict, _said(got, None), _cost(got))
    return made


def _supported(answer: Answer) -> str:
    return ": ".join(filter(None, (answer.conclude, answer.cause)))


def _said(got: Diagnosis, cause: str | None) -> str:
    named = ", ".join(f"{finding.cause} ({finding.confidence})" for finding in above_info(got))
    missing = next((one.missing for one in got.undetermined if one.cause == cause), None)
    return f"{got.severity}: {named or (f'{cause} open for {missing}' if missing else 'no cause')}"


def _cost(got: Diagnosis) -> str:
    share = got.impact.share_of_db_time if got.impact else None
    return "unknown" if share is None else percent(share)


def _same(answer: Answer, got: Diagnosis) -> str:
    """Whether severity and named causes are those that the figures support, and the cause that they leave open is open."""
    named = [finding.cause for finding in above_info(got)]
    loud = answer.conclude == "found" or got.severity == "notice"
    open_for = next((one.missing for one in got.undetermined if one.cause == answer.cause), None)
    right = got.severity == answer.severity and named == ([answer.cause] if loud and answer.cause else [])
    return "yes" if right and answer.missing in (None, open_for) else "no"
