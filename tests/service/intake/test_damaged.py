"""Reports as people send them, and what machines do to a report: nothing that was lost is told as healthy."""

import random
import re
from collections.abc import Iterator
from functools import cache

import pytest

from collectors.model import Changes, Delta
from rules.model import Severity
from service.intake.inputs import DiagnosedInput, InputResults, diagnose_data
from service.render.text import as_text
from tests.paths import REPORTS, ROOT
from tests.recordings.reports import damage

SENT = ROOT / "tests" / "data" / "inputs-4"
CHECKS = [line.split("\t") for line in (SENT / "checks.tsv").read_text(encoding="utf-8").splitlines()[1:]]
QUICK = ("f01-left", "f02-saved", "f07-global", "f20-ash", "f21-log", "f23")
"""One of each kind of fault; `make test-all` has them all."""


def marked(name: str, quick: bool) -> object:
    return name if quick else pytest.param(name, marks=pytest.mark.slow)


@pytest.mark.parametrize("name", [marked(name, name.startswith(QUICK)) for name, *_ in CHECKS])
def test_report_that_was_sent_is_answered_as_its_check_says(name: str) -> None:
    never, always = next((row[1], row[2]) for row in CHECKS if row[0] == name)
    found = diagnose_data((SENT / name).read_bytes(), name)
    said = [*map(str, (*found.errors, *found.skipped))]
    brief, whole = (as_text(found.diagnosed, verbose=each) if found.diagnosed else "" for each in (False, True))
    first, all_ = (re.sub(r"\n +", " ", "\n".join([each, *said])) for each in (brief, brief + whole))
    assert not never or not re.search(never, first, re.MULTILINE), first
    assert re.search(always, all_, re.MULTILINE | re.IGNORECASE), all_


def test_what_an_ash_report_does_not_count_rules_nothing_out() -> None:
    (entry,) = diagnose_data((SENT / "f20-ash-report.txt").read_bytes(), "ash.txt").diagnosed
    assert not [one for one in entry.diagnosis.ruled_out if one.value == 0], (
        "it names the cache, and counts no requests"
    )
    assert "0 waits" not in as_text([entry], verbose=True)


EVERY = sorted(path.name for path in REPORTS.iterdir() if path.suffix in (".txt", ".html"))


@cache
def whole(name: str) -> InputResults:
    return diagnose_data((REPORTS / name).read_bytes(), name)


def written(name: str) -> str:
    return (REPORTS / name).read_text(encoding="utf-8")


def kinds(name: str) -> dict[str, damage.Damage]:
    return damage.ANY | (damage.PAGE if name.endswith(".html") else damage.TEXT)


def figures(found: InputResults) -> list[object]:
    return [
        {view: one.rows for view, one in entry.change.readings.items() if isinstance(one, Changes)}
        | {"of": (entry.change.database, entry.change.basis)}
        if isinstance(entry.change, Delta)
        else entry.change
        for entry in found.diagnosed
    ]


def too_quiet(name: str, found: InputResults) -> Iterator[DiagnosedInput]:
    """What is told as fine though the whole report says more of the same time."""
    every = whole(name).diagnosed
    for place, entry in enumerate(found.diagnosed):
        here = every[place : place + 1] if len(every) == len(found.diagnosed) else every
        same = [each for each in every if _time(each) == _time(entry)] or here
        more = any(each.diagnosis.severity is not Severity.INFO or each.diagnosis.state == "Elsewhere" for each in same)
        quiet = entry.diagnosis.state == "Fine" or "othing to do" in entry.diagnosis.headline
        if quiet and more:
            yield entry


def _time(entry: DiagnosedInput) -> object:
    return entry.change.basis if isinstance(entry.change, Delta) else None


def damaged(name: str, *done: damage.Damage) -> InputResults:
    data: str | bytes = written(name)
    for one in done:
        data = one(data if isinstance(data, str) else data.decode("utf-8", "replace"))
    return diagnose_data(data if isinstance(data, bytes) else data.encode(), name)


def names(quick: tuple[str, ...]) -> list[object]:
    return [marked(name, name in quick) for name in EVERY]


@pytest.mark.parametrize("name", names(("statspack-9.2.0.6.0-undo-storm.txt",)))
def test_reversible_damage_leaves_every_figure_as_it_was(name: str) -> None:
    differing = [kind for kind, done in kinds(name).items() if figures(damaged(name, done)) != figures(whole(name))]
    assert [kind for kind in differing if kind not in ("no summaries", "left-trimmed")] == []
    assert len(differing) <= 1


@pytest.mark.parametrize("name", names(()))
def test_what_is_lost_is_never_told_as_fine(name: str) -> None:
    told = {kind: [*too_quiet(name, damaged(name, done))] for kind, done in damage.LOST.items()}
    assert {kind: found[0].diagnosis.headline for kind, found in told.items() if found} == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_two_kinds_of_damage_at_once_are_never_told_as_fine(seed: int) -> None:
    """A drawn part of all pairs: 10 × 20 of them."""
    chance = random.Random(seed)
    for _ in range(20):
        name = chance.choice(EVERY)
        done = {**kinds(name), **damage.LOST}
        first, second = chance.sample([kind for kind in done if kind not in damage.PACKED], 2)
        assert [*too_quiet(name, damaged(name, done[first], done[second]))] == [], (name, first, second)


def test_data_of_people_is_whole() -> None:
    assert {name for name, *_ in CHECKS} == {path.name for path in SENT.iterdir()} - {"checks.tsv"}
