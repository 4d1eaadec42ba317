"""Every known figure of the anonymised reports is, to the digit, in what `latchscope diagnose` prints of them."""

import html
import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from service.cli.main import cli
from service.intake import inputs
from service.intake.inputs import InputResults, diagnose_all

FORMS = ("text", "markdown", "html")
Verdict = dict[str, Any]


def many(number: str, unit: str) -> str:
    """A printed count with its unit; a single thing is in the singular."""
    single = {"misses": "miss", "entries": "entry", "waiter sleeps": "waiter sleep", "spin gets": "spin get"}
    return f"{number} {single.get(unit, unit[:-1]) if number == '1' else unit}"


def printed(path: Path, form: str) -> str:
    told = CliRunner().invoke(cli, ["diagnose", str(path), "--format", form, "--verbose"])
    assert told.exit_code == 0, told.output
    return {"html": html.unescape(told.stdout), "text": " ".join(told.stdout.split())}.get(form, told.stdout)


@pytest.fixture(scope="module", autouse=True)
def _each_report_is_read_once() -> Iterator[None]:
    """The forms of one diagnosis."""
    known: dict[tuple[str, ...], InputResults] = {}

    def once(names: Sequence[str], *_: object) -> InputResults:
        if tuple(names) not in known:
            known[tuple(names)] = diagnose_all(names)
        return known[tuple(names)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "diagnose_all", once)
        yield


@pytest.fixture(scope="module")
def verdicts(anonymised_reports: Path) -> list[Verdict]:
    found: list[Verdict] = json.loads((anonymised_reports / "verdicts.json").read_text(encoding="utf-8"))
    with_figures = [one for one in found if "db_time_s" in one]
    assert len(with_figures) == 14
    return with_figures


def cells(one: Verdict, begin: str, by: str) -> list[list[str]]:
    """The figures of a verdict, one list for each subject."""
    (told,) = [value for key, value in one.items() if key.startswith(begin)]
    return [[cell.strip() for cell in re.split(by, part)] for part in told.split("; ") if part]


def wanted(one: Verdict) -> Iterator[str]:
    """The words that must accompany each figure of a verdict."""
    yield one["release"]
    yield f"interval of {one['elapsed_s']:,}"
    for event, waits, seconds, _, share in (
        re.split("[=/]", "=".join(row)) for row in cells(one, "row_cache_events", "=")
    ):
        told = f"{share} %" if float(share) else "< 0.01 %" if float(waits.replace(",", "")) else "0 %"
        yield f"{event} {many(waits, 'waits')}, {seconds} s ({told} of DB time)"
    ((latch, gets, _, _, seconds, *_),) = cells(one, "latch_activity", r"\|")
    yield f"atch {latch} {many(gets, 'gets')}"
    exact = cells(one, "latch_sleep_breakdown", r"\|")
    for _, gets, misses, sleeps, spins in exact:
        parts = ((gets, "gets"), (misses, "misses"), (sleeps, "sleeps"), (spins, "spin gets"))
        yield f"{', '.join(many(*one) for one in parts)}, {seconds} s."
    for place, _, sleeps, waiters in cells(one, "miss_sources", "/"):
        yield f"{place} {many(sleeps, 'sleeps')}, {many(waiters, 'waiter sleeps')}"
    for _, place, sleeps, milliseconds in cells(one, "row_cache_mutexes", "/"):
        yield f"{place} {many(f'{int(sleeps):,}', 'sleeps')}, {int(milliseconds):,} ms"
    for name, gets, _, changes, entries in cells(one, "dictionary_top4", "/"):
        yield f"{name} {many(gets, 'gets')}, {many(changes, 'modifications')}, {many(entries, 'entries')}"


@pytest.mark.parametrize("form", FORMS)
def test_figures_of_the_anonymised_reports_are_all_printed(
    anonymised_reports: Path, verdicts: list[Verdict], form: str
) -> None:
    for one in verdicts:
        text = printed(anonymised_reports / one["file"], form)
        lacking = [words for words in wanted(one) if words not in text]
        assert lacking == [], one["file"]


def test_json_has_db_time_period_and_figures(anonymised_reports: Path, verdicts: list[Verdict]) -> None:
    for one in verdicts:
        told = json.loads(printed(anonymised_reports / one["file"], "json"))
        begin, end = (datetime.strptime(one[key], "%d-%b-%y %H:%M:%S") for key in ("begin", "end"))  # noqa: DTZ007
        assert (told["basis"]["begin"], told["basis"]["end"]) == (begin.isoformat(), end.isoformat()), one["file"]
        (step,) = [step for step in told["steps"] if step["step"] == "as printed"]
        figures = {figure["name"]: figure["value"] for figure in step["figures"]}
        assert abs(figures["DB time"] - one["db_time_s"]) <= 0.9, "one is from the head, the other from the time model"
        assert f"DB time {figures['DB time']:,.1f} s." in step["statement"]
        for name, gets, _, changes, entries in cells(one, "dictionary_top4", "/"):
            had = [figures[f"{name}: {what}"] for what in ("gets", "modifications", "entries")]
            assert [f"{value:,}" for value in had] == [gets, changes, entries], one["file"]


def test_text_of_the_same_snapshots_prints_the_same_figures(anonymised_reports: Path, verdicts: list[Verdict]) -> None:
    names = ("awr-11.2.0.4-rac-idle", "awr-11.2.0.3-io-bound")
    for name in names:
        (one,) = [one for one in verdicts if one["file"] == f"{name}.html"]
        text = printed(anonymised_reports / f"{name}.txt", "text")
        assert [words for words in wanted(one) if words not in text and "% of DB time" not in words] == [], name


def test_text_of_the_idle_cluster_gives_the_cost_in_its_report(anonymised_reports: Path) -> None:
    text = printed(anonymised_reports / "awr-11.2.0.4-rac-idle.html", "text")
    assert "row cache waits cost 1.5 % of the 1.9 s of DB time of an idle instance" in text
