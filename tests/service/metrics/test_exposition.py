"""The metrics for Prometheus: names, types and labels of the contract, and never a zero for a value that was not read."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics

from collectors.demo.scenarios import scenarios
from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LATCH, Missing, Rows, Snapshot
from collectors.registry import collectors
from rules.cache_map import CacheMap
from rules.cause import catalogue
from rules.explain.story import as_sure
from rules.model import Confidence, Diagnosis, Severity
from service.config.settings import DatabaseSettings
from service.metrics.exposition import MOST_SERIES, Block, exposition, own_registry, render, verdict_samples
from service.metrics.families import FAMILIES, Labels
from service.state.board import Failure
from tests.service.stage import BEGAN, Stage

Sample = tuple[dict[str, str], str]
LINE = re.compile(r"^([a-z_0-9]+)\{(.*)\} (\S+)$")
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)')
ERP = DatabaseSettings(name="erp1", dsn="demo:undo-storm", cluster="erp")

OF_TROUBLE = {
    "latchscope_login_stopped", "latchscope_next_attempt_timestamp_seconds", "latchscope_polls_total", "latchscope_logins_total",
    "latchscope_series_left_out",
}  # fmt: skip
OF_AN_EPISODE = {
    "latchscope_waiting_sessions",
    "latchscope_episode_begin_timestamp_seconds",
    "latchscope_trouble_since_timestamp_seconds",
}
OF_THE_REPLICA = {one.name for one in FAMILIES.values() if one.section in ("replicas", "outcomes")}
"""Families of our own collectors in the registry, which no poll renders."""
OURS = {
    "latchscope_up",
    "latchscope_data_age_seconds",
    "latchscope_last_poll_timestamp_seconds",
    "latchscope_poll_interval_seconds",
    *OF_TROUBLE,
}
"""Families that may appear for a database without data: they are about us, not about Oracle."""


def samples(text: str) -> Mapping[str, list[Sample]]:
    """Family → labels and value of every sample of ours."""
    told: dict[str, list[Sample]] = defaultdict(list)
    for line in text.splitlines():
        if line.startswith("latchscope_"):
            match = LINE.match(line)
            assert match, line
            told[match[1]].append((dict(LABEL.findall(match[2])), match[3]))
    return told


def scrape(stage: Stage, own: CollectorRegistry | None = None) -> str:
    return exposition(stage.board, own)[0].decode()


@pytest.fixture
def busy(stage: Stage) -> Stage:
    stage.poll_all(40, 42)
    return stage


def test_families_have_the_labels_and_types_of_the_contract(busy: Stage) -> None:
    text = scrape(busy)
    told = samples(text)
    assert set(told) <= set(FAMILIES)
    for family, of_family in told.items():
        for labels, _ in of_family:
            wanted = set(FAMILIES[family].labels)
            whole_latch = {"latch"} if "child" in wanted and labels["latch"] != ROW_CACHE_LATCH else wanted
            assert set(labels) == {"db"} | whole_latch, family
        assert f"# TYPE {family} {FAMILIES[family].type}\n" in text
    assert "instance" not in {name for each in told.values() for labels, _ in each for name in labels}
    missing = set(FAMILIES) - set(told)
    assert missing <= OF_TROUBLE | OF_THE_REPLICA | OF_AN_EPISODE, "a sample of each without trouble"


def test_counters_end_in_total_and_gauges_do_not() -> None:
    for family in FAMILIES.values():
        assert family.name.endswith("_total") == (family.type == "counter")
        assert family.name.startswith("latchscope_")
        assert family.help.endswith(".")


def test_family_list_is_frozen(golden: Callable[[str, str], None]) -> None:
    golden("metrics-families.txt", "".join(f"{one.type} {one.name}: {one.help}\n" for one in FAMILIES.values()))


def test_values_are_oracle_totals_in_base_units(busy: Stage) -> None:
    snapshot = busy["undo-storm"].published.snapshot  # type: ignore[union-attr]
    row = next(one for one in snapshot.rows("v$latch_children") if one["child#"] == 1)
    told = samples(scrape(busy))

    def child_1(family: str) -> float:
        return next(
            float(value) for labels, value in told[family] if (labels["db"], labels.get("child")) == ("undo-storm", "1")
        )

    assert child_1("latchscope_latch_gets_total") == row["gets"]
    assert child_1("latchscope_latch_sleeps_total") == row["sleeps"]
    assert isinstance(row["wait_time"], int)
    assert child_1("latchscope_latch_wait_seconds_total") == row["wait_time"] / 1e6, "exact to the last digit"


def test_children_and_findings_carry_the_cache(busy: Stage) -> None:
    once = samples(scrape(busy))["latchscope_finding"]
    assert {one["severity"] for one, _ in once} <= {"info"}, "a trouble counts from the second poll that shows it"
    busy.poll_all(44)
    told = samples(scrape(busy))
    sides = {labels["side"] for labels, _ in told["latchscope_latch_location_sleeps_total"]}
    assert sides == {"holder", "waiter"}
    gets = [one for one, _ in told["latchscope_latch_gets_total"] if one["db"] == "undo-storm"]
    assert {one["cache"] for one in gets if one.get("child") == "1"} == {"dc_rollback_segments"}
    found = {(one["db"], one["cause"], one["cache"]): value for one, value in told["latchscope_finding"]}
    assert found["undo-storm", "undo-segments", "dc_rollback_segments"] == "1"
    assert found["parse-storm", "hard-parse-storm", ""] == "1"


def test_scrape_is_the_same_for_the_same_state_and_has_each_sample_once(busy: Stage) -> None:
    once = scrape(busy)
    lines = [line.rpartition(" ")[0] for line in once.splitlines() if not line.startswith("#")]
    assert len(lines) == len(set(lines)) and scrape(busy) == once


def test_stale_database_keeps_only_up_age_and_last_poll(busy: Stage) -> None:
    busy.at += 60
    told = samples(scrape(busy))
    assert set(told) <= OURS
    assert {value for _, value in told["latchscope_up"]} == {"0"}
    assert {value for _, value in told["latchscope_data_age_seconds"]} == {"60"}


def test_exposition_has_no_oracle_samples_before_the_first_poll(stage: Stage) -> None:
    told = samples(scrape(stage))
    assert set(told) <= OURS - {"latchscope_data_age_seconds", "latchscope_last_poll_timestamp_seconds"}
    assert {value for _, value in told["latchscope_up"]} == {"0"}


def test_failing_database_does_not_affect_the_others(busy: Stage) -> None:
    busy["parse-storm"].failure = Failure("network", "ORA-12541: no listener", since=0.0, next_attempt=None)
    told = samples(scrape(busy))
    assert {labels["db"]: value for labels, value in told["latchscope_up"]} == {
        **dict.fromkeys(scenarios(), "1"),
        "parse-storm": "0",
    }
    assert "parse-storm" not in {labels["db"] for labels, _ in told["latchscope_latch_gets_total"]}


def test_refused_view_has_no_samples_and_a_failed_collector(stage: Stage) -> None:
    stage.refused = {"undo-storm": ("v$latch_children",)}
    stage.poll("undo-storm", at=40)
    stage.poll("undo-storm", at=42)
    told = samples(scrape(stage))
    assert ROW_CACHE_LATCH not in {labels["latch"] for labels, _ in told["latchscope_latch_gets_total"]}
    success = {labels["collector"]: value for labels, value in told["latchscope_collector_success"]}
    assert success["v$latch_children"] == "0"
    assert success["v$rowcache"] == "1"


def test_view_that_was_not_asked_is_no_failed_collector(stage: Stage) -> None:
    stage.poll("users-mutex", at=40)
    stage.poll("users-mutex", at=42)
    success = {labels["collector"]: value for labels, value in samples(scrape(stage))["latchscope_collector_success"]}
    assert "v$latch_children" not in success
    assert set(success.values()) == {"1"}


def rendered(stage: Stage, snapshot: Snapshot) -> Mapping[str, list[Sample]]:
    diagnosis = stage["undo-storm"].published.diagnosis  # type: ignore[union-attr]
    return samples(b"".join(render(ERP, snapshot, CacheMap(), diagnosis).values()).decode())


def test_absent_and_null_values_never_become_zero(busy: Stage) -> None:
    """Remove every cell of every view in turn: the remaining samples are the same, and none becomes 0."""
    snapshot = busy["undo-storm"].published.snapshot  # type: ignore[union-attr]
    before = {
        (family, str(labels)): value for family, each in rendered(busy, snapshot).items() for labels, value in each
    }
    tried = 0
    for view, reading in snapshot.readings.items():
        if isinstance(reading, Missing):  # read between polls only, and not in this interval, or not on this release
            assert collectors()[view].sampled or collectors()[view].on_request or collectors()[view].optional
            continue
        named = {"name", "stat_name", "parent_name", "location", "parameter", "event", "child#", "cache#", "type"}
        for column in {name for row in reading.rows for name in row} - named - {"subordinate#", "version"}:
            lose = (without, null)[tried % 2]
            rows = tuple(lose(row, column) for row in reading.rows)
            changed = replace(snapshot, readings={**snapshot.readings, view: Rows(view, rows)})
            after = rendered(busy, changed)
            for family, of_family in after.items():
                for labels, value in of_family:
                    assert before[family, str(labels)] == value, f"{view}.{column} gone changed {family}"
            tried += 1
    assert tried > 40


def without(row: Mapping[str, Any], column: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != column}


def null(row: Mapping[str, Any], column: str) -> dict[str, Any]:
    return {name: None if name == column else value for name, value in row.items()}


def test_sessions_that_hang_are_exported_with_their_longest_wait(stage: Stage) -> None:
    stage.watch(DatabaseSettings(name="ddl-hang", dsn="demo:ddl-hang"))
    stage.poll_all(98, 100)
    told = samples(scrape(stage))
    where = {"db": "ddl-hang", "event": "row cache lock", "cache": "dc_objects"}
    assert told["latchscope_hanging_sessions"] == [(where, "38")]
    assert told["latchscope_longest_wait_seconds"] == [(where, "40")]
    ((_, impact),) = told["latchscope_impact_ratio"]
    assert float(impact) > 0.8, "waits that have not ended are a cost"
    stage.poll_all(140, 142)
    after = samples(scrape(stage))
    assert "latchscope_hanging_sessions" not in after and "latchscope_longest_wait_seconds" not in after


def test_labels_are_escaped() -> None:
    block = Block(ERP)
    block.add("latchscope_up", 1, {"location": 'a "b" \\c\nd'})
    assert block.text()["latchscope_up"].decode() == (
        'latchscope_up{db="erp1",rac="erp",location="a \\"b\\" \\\\c\\nd"} 1\n'
    )


def test_database_of_many_names_has_the_largest_series_of_a_family_and_says_how_many_are_left_out() -> None:
    block = Block(ERP)
    for number in range(1000):
        block.add("latchscope_longest_wait_seconds", number * 7 % 1000, {"event": f"e{number}", "cache": ""})
    told = samples(b"".join(block.text().values()).decode())
    assert {float(value) for _, value in told["latchscope_longest_wait_seconds"]} == {*range(1000 - MOST_SERIES, 1000)}
    left = {"db": "erp1", "rac": "erp", "family": "latchscope_longest_wait_seconds"}
    assert told["latchscope_series_left_out"] == [(left, str(1000 - MOST_SERIES))]


@pytest.mark.parametrize("twice", [("a", "a"), ("\x1b", "[U+001B]"), (None, "None")])
def test_labels_that_read_the_same_are_one_series(busy: Stage, twice: tuple[Any, Any]) -> None:
    """A name can be that of another row as soon as what cannot be seen in it is shown."""
    snapshot = busy["undo-storm"].published.snapshot  # type: ignore[union-attr]
    views = {
        "v$rowcache": ({"parameter": name, "cache#": 1, "gets": 5} for name in twice),
        "v$latch_misses": ({"parent_name": "x", "location": name, "sleep_count": 5} for name in twice),
        "v$system_event": ({"event": name, "total_waits": 5} for name in twice),
        "v$latch_children": ({"child#": number, "gets": 5} for number in (None, 0)),
    }
    rows = {view: Rows(view, tuple(each)) for view, each in views.items()}
    told = rendered(busy, replace(snapshot, readings={**snapshot.readings, **rows}))
    for family in ("rowcache_gets_total", "latch_location_sleeps_total", "wait_events_total", "latch_gets_total"):
        assert [
            value for labels, value in told[f"latchscope_{family}"] if labels.get("latch") != RESULT_CACHE_LATCH
        ] == ["5"], family


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1.0, "1"), (24241645, "24241645"), (0.31, "0.31"), (2**53 + 0.0, "9007199254740992.0"), (-1, "-1")],
)
def test_numbers_are_written_without_loss(value: float, text: str) -> None:
    block = Block(ERP)
    block.add("latchscope_up", value)
    told = block.text()["latchscope_up"].decode().split()[-1]
    assert told == text
    assert float(told) == value


def test_total_below_zero_adds_no_line() -> None:
    block = Block(ERP)
    block.add("latchscope_db_time_seconds_total", -1.0)
    lines = {"latchscope_latch_gets_total": 1, "latchscope_finding": 2}
    for family in lines:
        block.add_each(family, ["", ',cause="a"'], [-1, 2])
    assert {name: len(text.splitlines()) for name, text in block.text().items()} == lines


def test_openmetrics_is_served_on_request(busy: Stage) -> None:
    page, content_type = exposition(busy.board, own_registry(), "application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert "process_resident_memory_bytes " in page.decode()
    families = list(openmetrics(page.decode()))
    ours = {one.name: one.type for one in families if one.name.startswith("latchscope_")}
    assert ours["latchscope_latch_sleeps"] == "counter"
    assert sum(len(one.samples) for one in families if one.name in ours) == sum(
        len(each) for each in samples(scrape(busy)).values()
    )


def verdict_of(stage: Stage, db: str, *moments: float) -> dict[str, str]:
    """Name and labels → value, of the families with the verdict after polls at these moments."""
    for moment in moments:
        stage.poll(db, moment)
    published = stage[db].published
    assert published is not None
    told = b"".join(published.blocks.values()).decode()
    wanted = r"^(latchscope_(?:severity|finding|verdict_info|episode_begin_timestamp_seconds)\{.*\}) (\S+)$"
    return dict(re.findall(wanted, told, re.MULTILINE))


def said_of(diagnosis: Diagnosis) -> Labels:
    """The labels of the verdict without an open episode."""
    (words,) = (labels for family, _, labels in verdict_samples(diagnosis, ()) if family == "latchscope_verdict_info")
    return words


MANY_SEGMENTS = 'title="Too many undo segments make every transaction queue"'


@pytest.mark.parametrize(
    ("db", "moments", "severity", "began", "said"),
    [
        (
            "undo-storm",
            (45.0, 60.0, 75.0),
            "3",
            60.0,
            [
                MANY_SEGMENTS,
                'severity="critical"',
                'action="Hold back batch work now.',
                'check="Switch only if enough numbers are left, or transactions fail with ORA-01552."',
                'do_not="Do not drop the old undo tablespace right after the switch. Long readers get ORA-01555."',
            ],
        ),
        (
            "undo-storm",
            (45.0, 60.0, 75.0, 170.0, 185.0),
            "0",
            60.0,
            [
                'title="Recovering: too many undo segments"',
                'severity="info"',
                'action="Nothing. latchscope keeps watching."',
                'do_not="Do not call it cured yet. A few more polls must show that it is over."',
            ],
        ),
        (
            "healthy-19c",
            (10.0, 25.0),
            "0",
            None,
            [
                'title="Nothing to do about the row cache"',
                'action="Nothing about the row cache. If the database is slow, look for the time elsewhere."',
                'do_not="Do not tune the row cache. Hardly any session waits for it."',
            ],
        ),
        (
            "undo-storm",
            (45.0,),
            None,
            None,
            ['title="Nothing is known yet"', 'do_not="Do not judge by one poll. A rate needs two."'],
        ),
        ("undo-storm", (30.0, 60.0), "3", None, [MANY_SEGMENTS]),
    ],
    ids=[
        "trouble",
        "easing",
        "calm",
        "nothing known, and no severity, which would be shown in green",
        "one poll of it",
    ],
)
def test_verdict_says_cause_since_when_and_what_to_do(
    stage: Stage, db: str, moments: tuple[float, ...], severity: str | None, began: float | None, said: list[str]
) -> None:
    told = verdict_of(stage, db, *moments)
    assert told.get(f'latchscope_severity{{db="{db}"}}') == severity
    since = [float(value) for name, value in told.items() if name.startswith("latchscope_episode_begin")]
    assert since == ([] if began is None else [BEGAN.timestamp() + began])
    (words,) = (name for name in told if name.startswith("latchscope_verdict_info"))
    assert [each for each in said if each not in words] == []


@pytest.mark.parametrize(
    ("db", "moments", "refused"),
    [
        ("users-mutex", range(15, 106, 15), ("v$rowcache", "v$mutex_sleep", "v$sysstat", "waiting_sessions")),
        ("ddl-hang", range(66, 79, 2), ("waiting_sessions",)),
    ],
    ids=["a storm after a dropped role", "a hang that can be seen nowhere else"],
)
def test_storm_whose_views_are_lost_is_never_green(
    stage: Stage, db: str, moments: range, refused: tuple[str, ...]
) -> None:
    before, after = moments[:4], moments[4:]
    (found,) = {name for name in verdict_of(stage, db, *before) if name.startswith("latchscope_finding")}
    stage.refused = {db: refused}
    for moment in after:
        told = verdict_of(stage, db, moment)
        (said,) = {name for name in told if name.startswith("latchscope_verdict_info")}
        assert 'severity="critical"' in said and 'title="Cannot be judged any more: ' in said
        assert told[f'latchscope_severity{{db="{db}"}}'] == "3" and found not in told, "it holds no other alert back"
    summary = stage[db].summary
    assert summary is not None and summary.headline.startswith("Cannot be judged any more: ")
    assert (summary.state, summary.do_now) == ("Critical", "Look at who waits, and at what could not be judged.")
    stage.refused = {}
    assert found in verdict_of(stage, db, moments[-1] + 2, moments[-1] + 4), "healed by the first whole interval"


def test_database_whose_sessions_nobody_looked_at_is_quiet_and_not_fine(stage: Stage) -> None:
    stage.refused = {"healthy-19c": ("waiting_sessions",)}
    told = verdict_of(stage, "healthy-19c", 30.0, 60.0)
    (said,) = {name for name in told if name.startswith("latchscope_verdict_info")}
    assert (
        told['latchscope_severity{db="healthy-19c"}'] == "-1" and 'severity="quiet"' in said and "looked at the" in said
    )


def test_waits_that_no_open_episode_is_about_are_told_beside_it(stage: Stage) -> None:
    verdict_of(stage, "undo-storm", 45.0, 60.0, 75.0)
    published, (small,) = stage["undo-storm"].published, stage["undo-storm"].episodes.open
    assert published is not None
    other = replace(small, cause="sequence-nocache", cache="dc_sequences", severity=Severity.NOTICE)
    unexplained = tuple(each.model_copy(update={"causes": ()}) for each in published.diagnosis.troubles)
    for found, cause in ((published.diagnosis.findings, small.cause), ((), "")):
        diagnosis = published.diagnosis.model_copy(update={"findings": found, "troubles": () if found else unexplained})
        rows = [
            labels for family, _, labels in verdict_samples(diagnosis, [other]) if family == "latchscope_verdict_info"
        ]
        assert [row["severity"] for row in rows if row["cause"] == cause] == ["critical"]


def test_unsure_finding_says_so_and_to_look_first(stage: Stage) -> None:
    for moment in (45.0, 60.0):
        stage.poll("undo-storm", moment)
    published = stage["undo-storm"].published
    assert published is not None
    sure = published.diagnosis
    low = sure.findings[0].model_copy(update={"confidence": Confidence.LOW})
    words = said_of(sure.model_copy(update={"findings": (low, *sure.findings[1:])}))
    assert words["title"] == "Too many undo segments probably make every transaction queue"
    assert words["action"] == as_sure(catalogue()["undo-segments"].do_now, unsure=True, asked=True)
    words = said_of(sure.model_copy(update={"findings": ()}))
    assert words["title"] == "Sessions wait, and no known cause explains it"
    assert words["do_not"] == "Do not change settings while the cause is unknown."
