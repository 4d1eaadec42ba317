"""The published cases (tests/rules/published.py) as a part of the measurement: reported, and no reason for a bound."""

import json

from rich.table import Table

from bench._truth_scores import above_info
from bench._truth_tables import table
from rules.engine import diagnose
from rules.formatting import percent
from rules.model import Diagnosis
from tests.paths import DATA
from tests.rules.published import delta_of, later_delta
from tests.rules.test_published_cases import ANSWERS, Answer

LATER = {"N3": "10.2", "N4": "19"}
"""The later cases with figures of views, and their release; the others are words."""


def published() -> Table:
    """What their figures support, what the diagnosis says, and whether it is the same."""
    cases = {one["id"]: one for one in json.loads((DATA / "cases.json").read_text(encoding="utf-8"))}
    later = {one["id"]: one for one in json.loads((DATA / "cases-3.json").read_text(encoding="utf-8"))}
    columns = ("case", "its role, its cache", "its figures support", "said", "cost", "same")
    made = table("Published cases", *columns, words=columns[:4])
    for name, answer in ANSWERS.items():
        got = diagnose(delta_of(cases[name], answer.release))
        role = f"{cases[name]['row_cache_role']}, {cases[name]['cache'] or '–'}"
        made.add_row(name, role, _supported(answer), _said(got, answer.cause), _cost(got), _same(answer, got))
    for name, release in LATER.items():
        got = diagnose(later_delta(later[name], release))
        made.add_row(name, "later case", "its right answer is a text", _said(got, None), _cost(got), "–")
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
