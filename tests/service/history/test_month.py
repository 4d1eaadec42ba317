"""The month: every hour lost is in one place, a remedy is measured on both sides, and what nobody watched is no zero."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from service.cli.main import cli
from service.history.marks import Verifier
from service.history.month import hours, month, month_named
from service.state.time_window import BadWindow, Window
from service.store.repository import Repository
from tests.service.marked import DB, at, marked, polled
from tests.service.stage import Stage
from tests.service.stores import Place

NOW = datetime(2026, 3, 15, 10, tzinfo=UTC)


def remedied(store: Repository, stage: Stage) -> None:
    polled(store, stage, 20, 240)
    mark = marked(store)
    Verifier(store).do(at(240))
    assert mark.database == DB


@pytest.mark.parametrize("summed", [False, True], ids=["polls", "hours"])
def test_hours_lost_are_those_of_the_polls_and_each_is_in_one_problem(
    store: Repository, stage: Stage, summed: bool
) -> None:
    remedied(store, stage)
    if summed:
        assert store.upkeep.sum_hours(at(0) + timedelta(hours=3)) == 1
    told = month(store, Window(at(-3600), at(7200)))
    lost = sum((poll.waiting or 0.0) * (poll.seconds or 0.0) for poll in store.history.polls(DB, at(0), at(300))) / 3600
    ((database,), (cause,), (trouble,)) = told.databases, told.causes, told.troubles
    assert database.hours_lost == pytest.approx(lost) and told.hours_lost == database.hours_lost
    assert database.hours_watched == pytest.approx(220 / 3600)
    assert cause.hours_lost == trouble.hours_lost and (cause.name, cause.troubles) == ("undo-segments", 1)
    # An hour goes to its problem as a whole; of steps of five minutes the quiet ones before and after stay outside.
    assert trouble.hours_lost == pytest.approx(lost, rel=0.02)
    assert (trouble.outcome, trouble.remedy) == ("remedied", "undo tablespace recreated")
    assert trouble.remedied_after_seconds == (at(140) - trouble.begin).total_seconds()
    assert trouble.lost_before is not None and trouble.lost_after is not None
    assert trouble.lost_before > 20 * trouble.lost_after, "sessions that waited on average, on both sides of the mark"
    assert told.sentence.startswith(f"{hours(lost)} hours of DB time lost. ")
    assert told.sentence.endswith("remedied: 1; over by themselves: 0; open: 0.")


def test_what_nobody_watched_is_unknown_and_an_open_problem_stays_open(store: Repository, stage: Stage) -> None:
    polled(store, stage, 60, 120)
    told = month(store, Window(at(-3600), at(7200)))
    assert [each.outcome for each in told.troubles] == ["open"] and told.troubles[0].remedy is None
    before = month(store, Window(at(-7200), at(-3600)))
    assert (before.databases, before.sentence, before.hours_lost) == ((), "Nothing was watched.", None)
    with store.engine.begin() as connection:
        connection.exec_driver_sql("update polls set waiting = null")
    told = month(store, Window(at(-3600), at(7200)))
    assert told.hours_lost is None and {each.hours_lost for each in (*told.databases, *told.causes)} == {None}
    assert told.troubles[0].hours_lost is None
    assert told.databases[0].hours_watched == pytest.approx(60 / 3600) and hours(None) == "–"


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [("this", "2026-03-01", NOW), ("last", "2026-02-01", "2026-03-01"), ("2026-01", "2026-01-01", "2026-02-01")],
)
def test_month_has_a_name_and_ends_now_at_the_latest(text: str, begin: str, end: str | datetime) -> None:
    until = end if isinstance(end, datetime) else datetime.fromisoformat(f"{end}T00:00Z")
    assert month_named(text, NOW) == Window(datetime.fromisoformat(f"{begin}T00:00Z"), until)


@pytest.mark.parametrize("text", ["2026-04", "2026-13", "march", "", "9999-99", "2026-01-01"])
def test_what_is_no_month_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(BadWindow) as refused:
        month_named(text, NOW)
    assert "\n" not in str(refused.value) and "is no month that has begun; write" in str(refused.value)


def test_rest_page_and_command_line_tell_the_same_month(
    store: Repository, stage: Stage, place: Place, tmp_path: Path
) -> None:
    remedied(store, stage)
    app = stage.app(place.url)
    told = app.get("/api/v1/month?month=2026-03").json()
    ends = datetime.fromisoformat(told["end"])
    assert told == json.loads(month(store, Window(datetime(2026, 3, 1, tzinfo=UTC), ends)).model_dump_json())
    page = app.get("/month?month=2026-03").text
    assert "undo tablespace recreated" in page and told["sentence"] in page and '<nav aria-label="Main">' in page
    for wrong, status in (("/api/v1/month?month=x", 422), ("/month?month=x", 422)):
        assert app.get(wrong).status_code == status
    command = ("month", "2026-03", "--store", place.url)
    (text, as_json, html) = (
        CliRunner().invoke(cli, [*command, *form]) for form in ((), ("--json",), ("--format", "html"))
    )
    assert json.loads(as_json.stdout)["troubles"] == told["troubles"]
    assert told["sentence"] in text.stdout and "undo-storm: Too many undo segments, remedied" in text.stdout
    assert (
        html.stdout.startswith("<!doctype html>") and "<script" not in html.stdout and told["sentence"] in html.stdout
    )
    for name, form in (("m.txt", text), ("m.json", as_json)):
        saved = CliRunner().invoke(cli, [*command, "-o", str(tmp_path / name)])
        assert (saved.exit_code, saved.stdout) == (0, "") and (tmp_path / name).read_text() == form.stdout, name
    assert "nothing is written as .md" in CliRunner().invoke(cli, [*command, "-o", "m.md"]).stderr
    refused = CliRunner().invoke(cli, ["month", "x", "--store", place.url])
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
