"""The worked example of CONTRIBUTING.md: two files, no Python, and it works as it says."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from rules.cause import Cause, catalogue, load
from rules.engine import diagnose
from tests.paths import ROOT
from tests.rules.case_files import all_cases, complaints, delta_of

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The files of the example, as a reader would copy them."""
    for name, body in re.findall(r"\*\*\d\. `rules/causes/(\S+)`\*\*.*?```yaml\n(.*?)```", TEXT, re.DOTALL):
        (tmp_path / name).write_text(body, encoding="utf-8")
    return tmp_path


def with_example(example: Path) -> Mapping[str, Cause]:
    return {**catalogue(), **load(example)}


def test_example_is_exactly_two_files(example: Path) -> None:
    assert sorted(path.name for path in example.iterdir()) == ["file-tool.cases.yaml", "file-tool.yaml"]
    assert "file-tool" not in catalogue()


def test_example_cases_are_judged_as_stated_beside_the_catalogue(example: Path) -> None:
    told = all_cases(example)
    assert {one.case.expect.verdict for one in told} == {"found", "ruled_out", "undetermined"}
    assert [
        complaint for one in told for complaint in complaints(one, diagnose(delta_of(one), with_example(example)))
    ] == []


def test_example_needs_each_of_its_conditions(example: Path) -> None:
    (cause,) = load(example).values()
    for gone in cause.when:
        mutant = cause.model_copy(update={"when": tuple(one for one in cause.when if one is not gone)})
        causes = {**catalogue(), cause.id: mutant}
        assert any(complaints(one, diagnose(delta_of(one), causes)) for one in all_cases(example))
