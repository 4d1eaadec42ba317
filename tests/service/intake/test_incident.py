"""Inputs of one time become one incident: what joins, what stays apart, by which clock, and where two disagree."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from collectors.delta import reported
from collectors.model import Basis, DeltaSource, EventKind, LoggedEvent, Row
from rules.engine import diagnose
from service.cli.main import cli
from service.intake.incident import MOST_MOMENTS, SIGNS, Incident, Story, incident, story, under_one_name
from service.intake.inputs import DiagnosedInput, diagnose_all, short_names
from service.render.incident import incident_as_markdown, incident_as_text, incident_view
from tests.paths import INCIDENT_FOLDER
from tests.rules.contexts import SICK, TOTALS, delta_of

DAY = datetime(2009, 11, 24)  # noqa: DTZ001 - the clock of the host, as reports print it
TWO = DAY.replace(hour=14)
PLUS_TWO = timezone(timedelta(hours=2))
LOG = "alert_orcl.log"
TIMEOUT = {"cache": "dc_tablespaces", "trace_file": "orcl_ora_1234.trc"}
CACHE = "dc_rollback_segments"
"""The cache that the sick report names."""


def at(hour: int, minute: int = 0, second: int = 0) -> datetime:
    return DAY.replace(hour=hour, minute=minute, second=second)


def event(moment: datetime | None, kind: EventKind = "row_cache_timeout", **facts: Any) -> LoggedEvent:
    return LoggedEvent(moment, kind, f"{kind} of the log", 7, facts)


def log(
    *events: LoggedEvent, name: str = LOG, database: str = "ORCL", source: DeltaSource = "alert log"
) -> DiagnosedInput:
    delta = reported(database, "11.2.0.4", TOTALS, {}, source=source, events=events)
    return DiagnosedInput(name, delta, diagnose(delta))


def interval(
    begin: datetime,
    hours: float = 1,
    *,
    name: str = "awr.html",
    database: str = "ORCL",
    views: Mapping[str, Sequence[Row]] = SICK,
    **more: Any,
) -> DiagnosedInput:
    basis = Basis("interval", begin, begin + timedelta(hours=hours), 30.0)
    delta = replace(delta_of(views), database=database, basis=basis, **{"source": "report", **more})
    return DiagnosedInput(name, delta, diagnose(delta))


def healthy(begin: datetime, **more: Any) -> DiagnosedInput:
    quiet = {view: [row for row in rows if "event" not in row] for view, rows in SICK.items()}
    quiet["v$latch_children"] = [{**row, "sleeps": 0} for row in SICK["v$latch_children"]]
    quiet["v$latch"] = [{**row, "sleeps": 0, "wait_time": 0} for row in SICK["v$latch"]]
    return interval(begin, views=quiet, **more)


def told(*inputs: DiagnosedInput) -> Incident:
    found = incident(inputs)
    assert found is not None
    return found


def test_log_and_report_of_one_hour_are_one_story_in_order_of_time() -> None:
    lines = (event(at(13, 58), "space", error="ORA-01653"), event(at(14, 2, 20), **TIMEOUT))
    found = told(interval(TWO), log(*lines, database="ORCL1"))  # the log is named for the instance
    assert [(moment.at, moment.file, moment.kind) for moment in found.moments] == [
        (at(13, 58), LOG, "space"),
        (TWO, "awr.html", "interval"),
        (at(14, 2, 20), LOG, "row_cache_timeout"),
    ]
    assert found.cause == "undo-segments"
    assert found.rests_on == "awr.html"
    assert found.begin == at(14, 2, 20)
    assert "14:02:20" in found.headline
    assert found.bring == ("orcl_ora_1234.trc",)
    assert found.mixed


def test_order_of_the_inputs_does_not_matter() -> None:
    inputs = [
        interval(TWO),
        log(event(at(14, 2), **TIMEOUT)),
        log(event(at(14, 3)), name="orcl_ora_9.trc", source="trace"),
    ]
    stories = [told(*order) for order in permutations(inputs)]
    assert len({(each.headline, each.begin, each.cause, frozenset(each.files)) for each in stories}) == 1


def test_joining_does_not_make_a_finding_surer() -> None:
    alone = interval(TWO)
    both = told(alone, log(event(at(14, 2), cache=CACHE)))
    assert both.confidence == alone.diagnosis.findings[0].confidence
    assert f"awr.html and {LOG} name {CACHE}" in both.agreements


def test_nothing_is_told_where_nothing_is_wrong() -> None:
    assert incident([healthy(TWO), log(event(at(14, 1), "resize"))]) is None
    assert story([healthy(TWO)]).incident is None
    assert len(story([healthy(TWO)]).diagnoses) == 1
    assert incident([interval(TWO, hours=153)]) is None, "nor in a long interval"


def test_lines_without_a_time_come_last_and_are_not_lost() -> None:
    found = told(log(event(None), event(at(14, 2), "deadlock")), interval(TWO))
    assert found.moments[-1].at is None
    assert found.moments[-1].kind == "row_cache_timeout"


def test_other_database_and_other_day_stay_apart_with_the_reason() -> None:
    found = told(
        interval(TWO),
        log(event(at(14, 2))),
        interval(TWO, name="other.html", database="SALES", views={}),
        interval(TWO - timedelta(days=2), name="old.html"),
    )
    assert set(found.files) == {"awr.html", LOG}
    assert found.apart == ("other.html is of another database, SALES", "old.html is of another time")


def test_instances_of_one_cluster_are_one_incident() -> None:
    rows = [{"instance_name": f"orcl{number}", "instance_number": number} for number in (1, 2)]
    both = [
        interval(TWO, name=f"awr{place}.html", views={**SICK, "v$instance": [row]}, dbid="1234")
        for place, row in enumerate(rows, 1)
    ]
    found = told(*both)
    assert found.instances == ("orcl1", "orcl2")
    assert found.mixed
    assert "awr1.html and awr2.html find undo-segments" in found.agreements


def test_captures_are_placed_by_the_zone_that_a_log_prints() -> None:
    capture = interval(TWO.replace(tzinfo=UTC) - timedelta(hours=2), name="capture.json", source="views")
    found = told(capture, log(event(at(14, 10).replace(tzinfo=PLUS_TWO), **TIMEOUT)))
    assert found.moments[0].at == TWO
    assert found.clock == "host"
    assert not found.notes
    same = interval(TWO.replace(tzinfo=UTC), name="capture.json", source="views")
    assert "captures are in UTC" in told(same, log(event(at(14, 10)))).notes[0], "the zone of the host is unknown"


def test_inputs_that_disagree_are_told_with_both_sides() -> None:
    timeouts = [event(at(14, 2 + minute), cache=CACHE) for minute in range(3)]
    start = [event(at(14, 2)), event(at(14, 20), "instance_start")]
    for report, lines, said in (
        (healthy(TWO), timeouts, f"{LOG} has 3 row cache timeouts between 14:00 and 15:00"),
        (interval(TWO), [event(at(14, 2), **TIMEOUT)], f"awr.html names {CACHE}, {LOG} names dc_tablespaces"),
        (interval(TWO), start, "has an instance start at 14:20:00"),
    ):
        found = told(report, log(*lines))
        assert any(said in each for each in found.disagreements), said
    quiet = told(healthy(TWO), log(*timeouts))
    assert quiet.cause is None and "no input names the cause" in quiet.headline


def test_equal_lines_are_one_moment_with_their_number() -> None:
    found = told(log(*(event(at(14, minute), **TIMEOUT) for minute in range(30))), interval(TWO))
    lines = [moment for moment in found.moments if moment.kind == "row_cache_timeout"]
    assert [(moment.times, moment.until) for moment in lines] == [(30, at(14, 29))]


KINDS = st.sampled_from([*sorted(SIGNS), "space", "resize", "other"])
MOMENTS = st.none() | st.integers(0, 200_000).map(lambda seconds: DAY + timedelta(seconds=seconds))


@given(
    st.lists(st.tuples(MOMENTS, KINDS, st.sampled_from(["dc_users", "dc_objects", None])), max_size=120),
    st.lists(st.integers(0, 60), max_size=4),
)
def test_any_events_give_an_ordered_bounded_story(lines: list[tuple[Any, Any, Any]], hours: list[int]) -> None:
    events = [event(moment, kind, **({"cache": cache} if cache else {})) for moment, kind, cache in lines]
    reports = [healthy(DAY + timedelta(hours=hour), name=f"{place}.html") for place, hour in enumerate(hours)]
    found = incident([log(*events), *reports])
    if found is None:
        assert not any(moment and kind in SIGNS for moment, kind, _ in lines)
        return
    dated = [moment.at for moment in found.moments if moment.at]
    assert dated == sorted(dated)
    assert len(found.moments) <= MOST_MOMENTS
    assert {*found.files, *(each.split(" ")[0] for each in found.apart)} == {
        LOG,
        *(f"{n}.html" for n in range(len(hours))),
    }
    for form in (incident_as_text(found), incident_as_markdown(found)):
        assert found.headline.split("; ")[-1] in " ".join(form.split())


@pytest.mark.parametrize("form", [incident_as_text, incident_as_markdown])
def test_hostile_words_do_not_leave_their_cell(form: Any) -> None:
    text = form(told(interval(TWO), log(replace(event(at(14, 2)), text="a\n| b \x1b[31m <script>"))))
    assert "\x1b" not in text
    assert "\n| b" not in text


def test_page_leads_with_the_story_only_where_it_says_more() -> None:
    assert incident_view(told(interval(TWO))) is None
    assert incident_view(None) is None
    view = incident_view(told(interval(TWO), log(event(at(14, 2)))))
    assert view is not None
    assert view.moments[0][0] == "14:00:00 to 15:00:00"


def test_staged_folder_is_one_story_in_every_form() -> None:
    outcome = diagnose_all([str(INCIDENT_FOLDER)])
    assert not outcome.errors
    found = told(*short_names(outcome.diagnosed))
    assert len(found.files) == 4
    assert [str(moment.at) for moment in found.moments][:3] == [
        "2025-03-12 08:58:01",
        "2025-03-12 08:58:44",
        "2025-03-12 09:00:20",
    ]
    assert "session 206,1533 on instance 1" in found.headline
    assert any("name dc_sequences" in each for each in found.agreements)
    assert "ORDERS1_ora_4242.trc" not in found.bring
    printed = CliRunner().invoke(cli, ["diagnose", str(INCIDENT_FOLDER), "--story"])
    assert printed.exit_code == 0, printed.stderr
    assert Story.model_validate_json(printed.stdout).incident == found
    for form in ("text", "markdown", "html"):
        shown = CliRunner().invoke(cli, ["diagnose", str(INCIDENT_FOLDER), "--format", form]).stdout
        assert shown.index("09:02:20") < shown.index("Give the sequence a"), form


def test_one_database_has_one_name_in_an_incident_whatever_its_files_call_it() -> None:
    written = diagnose_all([str(INCIDENT_FOLDER)]).diagnosed
    assert {entry.change.database for entry in written} == {"ORDERS", "ORDERS/1", "ORDERS1", "orders"}
    assert {entry.diagnosis.database for entry in under_one_name(written)} == {"ORDERS/1"}
    assert told(*written).database == "ORDERS/1"
    shown = CliRunner().invoke(cli, ["diagnose", str(INCIDENT_FOLDER)]).stdout
    rows = [line for line in shown.splitlines() if re.match(r"\S+\.(?:trc|log|html|json)  ", line)]
    assert len(rows) == 4 and all(row.endswith("  ORDERS/1") for row in rows)
    assert "cache of 4,090" in shown and "cache of\n    12,100" in shown, "each by its own figures, which is said:"
    assert "What to do is by the figures of awr_ORDERS1_0900-1000.html; capture_ORDERS1_0931.json has others." in shown
    stranger = replace(written[0], change=replace(written[0].change, database="BILLING"))
    alone = under_one_name([stranger])
    assert [entry.diagnosis for entry in alone] == [stranger.diagnosis], "one file keeps the name that it has"


def test_names_that_differ_by_a_number_stay_without_a_report_of_a_cluster() -> None:
    captures = [interval(TWO, name=f"{name}.json", database=name, source="views") for name in ("erp1", "erp2", "ERP2")]
    assert [entry.diagnosis.database for entry in under_one_name(captures)] == ["erp1", "erp2", "ERP2"]


def test_reports_of_two_releases_at_one_time_are_two_databases() -> None:
    older = interval(TWO, name="older.html", release="11.2.0.4.0")
    newer = interval(TWO, name="newer.html", release="12.1.0.2.0")
    told = incident([older, newer])
    assert told is not None and told.files == ("older.html",) and "newer.html" in told.apart[0]
    same = incident([older, interval(TWO, name="newer.html", release="11.2.0.4.0")])
    assert same is not None and same.files == ("older.html", "newer.html")
