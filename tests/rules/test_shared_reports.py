"""The verdicts on the anonymised reports: a report without row cache trouble raises none."""

import json
from pathlib import Path

from collectors.model import Delta
from collectors.reports.read import read
from rules.engine import diagnose
from rules.model import Severity

MOST = {
    "not involved": Severity.INFO,
    "seen, not a cause": Severity.INFO,
    "noticeable, not the main cause": Severity.NOTICE,
}
ORDER = [Severity.INFO, Severity.NOTICE, Severity.WARNING, Severity.CRITICAL]


def test_anonymised_reports_are_not_judged_above_their_verdicts(anonymised_reports: Path) -> None:
    verdicts = json.loads((anonymised_reports / "verdicts.json").read_text(encoding="utf-8"))
    assert {one["row_cache_is"] for one in verdicts} == set(MOST)
    for one in verdicts:
        (delta,) = read((anonymised_reports / one["file"]).read_bytes(), one["file"])
        assert isinstance(delta, Delta)
        diagnosis = diagnose(delta)
        most = ORDER.index(MOST[one["row_cache_is"]])
        assert ORDER.index(diagnosis.severity) <= most, f"{one['file']}: {diagnosis.headline}"
        assert all(ORDER.index(found.severity) <= most for found in diagnosis.findings), one["file"]
        assert all(found.confidence != "high" for found in diagnosis.findings), one["file"]
