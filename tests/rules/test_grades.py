"""The grades: their order, and the lower or the worst of several."""

from rules.grades import Confidence, Severity, worst


def test_severities_and_confidences_are_ordered() -> None:
    assert [one.rank for one in Severity] == [0, 1, 2, 3]
    assert [str(one) for one in Severity] == ["info", "notice", "warning", "critical"]
    assert [one.rank for one in Confidence] == [0, 1, 2]


def test_at_most_is_the_lower_of_two() -> None:
    assert Severity.CRITICAL.at_most(Severity.INFO) is Severity.INFO
    assert Severity.NOTICE.at_most(Severity.CRITICAL) is Severity.NOTICE


def test_worst_of_none_is_info() -> None:
    assert worst([]) is Severity.INFO
    assert worst([Severity.NOTICE, Severity.CRITICAL, Severity.INFO]) is Severity.CRITICAL
