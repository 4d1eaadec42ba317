"""The shortlist: what stays open is ranked, a finding stays first, and nothing is said that the list does not carry."""

from dataclasses import replace
from functools import cache

import pytest

from collectors.model import ConfirmationResult
from rules import shortlist
from rules.cause import catalogue
from rules.engine import diagnose, examine
from rules.explain.story import story
from rules.model import Diagnosis, Severity
from rules.shortlist import MOST, Candidate, band, chances, ranked, weights
from tests.rules.case_files import all_cases, delta_of_case, diagnosis_of_case

UNSAMPLED = "row-cache-clones: the same, and nobody looked at who waits"
"""Half of DB time waited for mutexes, and nobody was sampled."""


@cache
def lists() -> tuple[tuple[str, Diagnosis], ...]:
    """A part of the cases with their diagnoses."""
    return tuple((str(told), diagnosis_of_case(str(told))) for told in all_cases()[::4])


def test_lists_stand_beside_problems_without_a_finding_and_name_nothing_that_is_ruled_out() -> None:
    listed = instead = 0
    for name, got in lists():
        unexplained = [trouble for trouble in got.troubles if not trouble.causes]
        assert [one.surface for one in got.shortlist] == [trouble.surface for trouble in unexplained], name
        out = {one.cause for one in got.ruled_out}
        for one in got.shortlist:
            said = [each.probability for each in one.candidates]
            assert said == sorted(said, reverse=True) and all(0.1 <= each <= MOST for each in said), name
            assert not out & {each.cause for each in one.candidates}, name
            listed += bool(said)
        others = [finding.other for finding in got.findings if finding.other]
        assert all(other.cause not in out | {finding.cause for finding in got.findings} for other in others), name
        instead += len(others)
    assert listed > 10 and instead > 3


def test_chances_are_said_in_bands_and_add_up() -> None:
    assert [band(each) for each in (1.0, 0.8, 0.55, 0.4, 0.2, 0.05, 0.04)] == [0.9, 0.8, 0.6, 0.4, 0.2, 0.1, 0.0]
    assert sum(chances([{"found": 1}, {"something else": 1}, {}], weights())) == pytest.approx(1)


def test_nothing_is_as_sure_as_a_finding_and_a_finding_stays_first() -> None:
    causes = list(catalogue().values())
    sure = Candidate(causes[0], dict.fromkeys(weights(), 0) | {"found": 9})
    order = ranked([Candidate(causes[1], {}), sure], {"something else": 1}, weights())
    assert next(one for one, _ in order.rows) is sure and order.rows[0][1] == MOST
    assert sum(chance for _, chance in order.rows) + order.nothing == pytest.approx(1)
    got = diagnosis_of_case("file-growth: tables are truncated all the time while a file grows, and both is true")
    weak = Candidate(causes[0], {}, got.findings[0])
    order = ranked([sure, weak], {"something else": 1}, weights())
    assert next(one for one, _ in order.rows) is weak


def test_next_is_a_sample_then_what_is_missing_then_the_query_of_a_name_with_a_bound() -> None:
    unseen = diagnosis_of_case(UNSAMPLED)
    (one,) = unseen.shortlist
    assert one.next is not None and (one.next.what, one.next.sql) == ("the sessions while it lasts", None)
    said = [each.kind for each in story(unseen)]
    assert said.index("maybe") + 1 == said.index("next")


def test_a_query_that_ran_is_not_asked_for_again() -> None:
    asked = 0
    for told in all_cases():
        got = diagnosis_of_case(str(told))
        for one in got.shortlist:
            if one.next is None or one.next.sql is None:
                continue
            asked += 1
            delta = delta_of_case(str(told))
            names = [each.cause for other in got.shortlist for each in other.candidates]
            ran = replace(delta, confirmations={name: ConfirmationResult(None, None, "no") for name in names})
            assert all(each.next is None or each.next.sql is None for each in diagnose(ran).shortlist)
            break
        if asked:
            break
    assert asked


def test_only_the_complete_diagnosis_has_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortlist, "candidates", None)
    examined = examine(delta_of_case(UNSAMPLED))
    assert examined.verdict.troubles and examined.verdict.shortlist == ()
    with pytest.raises(TypeError, match="not callable"):
        _ = examined.diagnosis


def test_no_severity_remedy_or_finding_follows_from_a_list() -> None:
    for name, got in lists():
        verdict = examine(delta_of_case(name)).verdict
        assert (got.severity, got.headline) == (verdict.severity, verdict.headline), name
        assert [one.model_copy(update={"other": None}) for one in got.findings] == list(verdict.findings), name
        if got.severity is Severity.INFO:
            assert got.shortlist == (), name


def test_else_is_written_under_its_name_and_read_back() -> None:
    got = next(each for _, each in lists() if any(finding.other for finding in each.findings))
    text = got.model_dump_json()
    assert '"else":{"cause":' in text and Diagnosis.model_validate_json(text) == got
