"""The verdicts on the anonymised reports: a report without row cache trouble raises none."""

import json

import pytest

from collectors.model import Delta
from collectors.reports.read import read
from rules.engine import diagnose
from rules.model import Severity
from tests.conftest import wanted_reports

MOST = {
    "not involved": Severity.INFO,
    "seen, not a cause": Severity.INFO,
    "noticeable, not the main cause": Severity.NOTICE,
    "cannot tell": Severity.INFO,
}
ORDER = [Severity.INFO, Severity.NOTICE, Severity.WARNING, Severity.CRITICAL]


@pytest.mark.parametrize(("folder", "count"), [("reports", 19), ("reports-3", 3)])
def test_anonymised_reports_are_not_judged_above_their_verdicts(folder: str, count: int) -> None:
    home = wanted_reports(folder)
    verdicts = json.loads((home / "verdicts.json").read_text(encoding="utf-8"))
    assert len(verdicts) == count
    for one in verdicts:
        (delta,) = read((home / one["file"]).read_bytes(), one["file"])
        assert isinstance(delta, Delta)
        diagnosis = diagnose(delta)
        most = ORDER.index(MOST[one["row_cache_is"]])
        assert ORDER.index(diagnosis.severity) <= most, f"{one['file']}: {diagnosis.headline}"
        assert all(ORDER.index(found.severity) <= most for found in diagnosis.findings), one["file"]
        assert all(found.confidence != "high" for found in diagnosis.findings), one["file"]
