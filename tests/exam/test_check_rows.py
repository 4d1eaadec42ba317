"""The comparison of rows with a capture: it accepts what the snapshots give, and nothing else."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bench.certificates import captured, certified
from collectors.capture import ONLY, delta_of, load
from collectors.model import NotComparable
from collectors.registry import collectors
from exam import captured as capturing
from exam import check_certificate
from exam.captured import Captured, Unreadable
from exam.check_rows import Differs, differences, found
from rules.certificate import certificates
from rules.engine import diagnose
from rules.provenance import SHOWN
from rules.samples import TELLING

EXAMPLES = Path(__file__).parents[2] / "examples"
PROBES = Path(__file__).parents[1] / "data" / "probes"
STORM = EXAMPLES / "undo-storm.json"
LATCHED = 74
"""A seed with rows of child latches."""
Json = dict[str, Any]


@cache
def written(seed: int) -> tuple[str, Captured]:
    made = certified(seed)
    assert made is not None
    return json.dumps(made[0]), captured(made[1])


def changed(change: Callable[[Json], object], seed: int = 0) -> list[str]:
    """What the comparison says of a certificate after a change of ours."""
    text, capture = written(seed)
    certificate = json.loads(text)
    assert differences(certificate, [capture]) == []
    change(certificate)
    return differences(certificate, [capture])


def row_of(certificate: Json, view: str, column: str = "") -> Json:
    row: Json = next(
        row for row in certificate["rows"] if row["view"] == view and (not column or column in row["columns"])
    )
    return row


def of_hands(*snapshots: Json) -> Captured:
    """A capture made by hand: for each snapshot the rows of each view."""
    shots = []
    for second, views in enumerate(snapshots):
        shown = {
            view: {
                "columns": (names := list(dict.fromkeys(name for row in rows for name in row))),
                "rows": [[row.get(name, {"absent": True}) for name in names] for row in rows],
            }
            for view, rows in views.items()
        }
        shots.append({"taken_at": f"2026-03-01T12:00:{second:02}Z", "views": shown})
    return captured(json.dumps({"format": "latchscope-capture", "version": 1, "database": "x", "snapshots": shots}))


def refusal(columns: Json, view: str, capture: Captured) -> str:
    """Why a row is refused; empty if it is not."""
    try:
        found({"id": 1, "view": view, "columns": columns}, capture)
    except Differs as differs:
        return str(differs)
    return ""


def test_what_it_knows_by_hand_is_what_the_collectors_say() -> None:
    every = collectors()
    assert {view: set(one.counters) for view, one in every.items() if one.counters} == capturing.COUNTERS
    assert {view for view, one in every.items() if one.starts_at_zero} == capturing.FROM_ZERO
    assert {view for view, one in every.items() if one.repeats == "sum"} == capturing.SUMMED
    assert capturing.ONE_KIND == ONLY
    assert set(capturing.TELLING) == set(TELLING) and set(capturing.UNNAMED) == set(TELLING) - set(SHOWN)
    named_by = Captured(STORM).named_by
    assert {view: set(named_by[view]) for view in every} == {view: set(one.key) for view, one in every.items()}


def test_rows_of_intervals_totals_and_poor_captures_are_accepted() -> None:
    compared = 0
    for file in (STORM, EXAMPLES / "incident-2010.json", *sorted(PROBES.glob("*.json"))):
        change = delta_of(load(file.read_bytes(), file.name))
        if not isinstance(change, NotComparable):
            made = certificates([(file.name, change, diagnose(change))]).model_dump_json(exclude_defaults=True)
            (certificate,) = json.loads(made)["certificates"]
            assert differences(certificate, [Captured(file)]) == [], file.name
            compared += bool(certificate["rows"])
    assert compared >= 15


@pytest.mark.parametrize(
    ("view", "column", "cell", "why"),
    [
        ("v$latch_children", "child#", 4242, "4242, which the capture does not have"),
        ("v$latch_children", "sleeps", 4242, "has sleeps 4242, and the capture gives"),
        ("v$rowcache", "parameter", "dc_invented", "has parameter dc_invented, and the capture gives"),
        ("v$system_event", "event", "row cache unlock", "row cache unlock, which the capture does not have"),
        ("v$sys_time_model", "value", True, "neither a number nor a text"),
        ("v$sys_time_model", "value", [1], "neither a number nor a text"),
        ("v$session", "sessions", 4242, "counts 4242 sessions in"),
        ("v$session", "p1raw", "FFFF", "and the capture none"),
    ],
)
def test_row_with_another_cell_is_refused_with_a_sentence(view: str, column: str, cell: object, why: str) -> None:
    def change(certificate: Json) -> None:
        row_of(certificate, view, column)["columns"][column] = cell

    (reason,) = changed(change, LATCHED if view == "v$latch_children" else 0)
    assert why in reason and reason.startswith("row ") and "\n" not in reason


def test_total_of_the_end_in_place_of_a_change_is_refused() -> None:
    text, capture = written(0)
    row = row_of(json.loads(text), "v$sys_time_model")["columns"]
    (total,) = capture.by_name("v$sys_time_model", -1)[(row["stat_name"],)]
    assert total["value"] > row["value"]
    assert "the capture gives" in refusal({**row, **total}, "v$sys_time_model", capture)


def test_row_that_is_there_twice_is_refused_the_second_time() -> None:
    def twice(certificate: Json) -> None:
        certificate["rows"].append({**row_of(certificate, "v$system_event"), "id": 999})

    assert changed(twice) == ["row 999 of v$system_event is a row that the certificate has already"]


def test_row_of_another_interval_release_or_basis_is_refused() -> None:
    invented = {"id": 9, "view": "interval", "columns": {"seconds": 1.5}}
    assert "which the capture does not say" in changed(lambda certificate: certificate["rows"].append(invented))[0]
    assert "its release is 9.2" in changed(lambda certificate: certificate.update(release="9.2"))[0]
    assert "its basis is totals" in changed(lambda certificate: certificate.update(basis="totals"))[0]


def test_rows_of_a_report_cannot_be_compared_and_that_names_each_view() -> None:
    (reason,) = changed(lambda certificate: certificate.update(source="report"))
    assert reason.startswith("its rows cannot be compared") and " of v$sys_time_model" in reason


def test_row_that_the_whole_of_a_share_leaves_out_is_named() -> None:
    def change(certificate: Json) -> None:
        steps = (step for verdict in certificate["verdicts"] for step in verdict["steps"])
        share = next(step for step in steps if step["signal"] == "share_of_lookups")["expression"]["share"]
        assert len(share[1]["sum"]) > 5
        share[1]["sum"] = share[1]["sum"][:5]

    (reason, *_) = changed(change)
    assert "leaves out " in reason and " of v$rowcache, which has " in reason


# Captures made by hand.


def test_counters_are_differences_and_levels_those_of_the_end() -> None:
    capture = of_hands(
        {"v$rowcache": [{"cache#": 3, "type": "PARENT", "subordinate#": None, "gets": 10, "usage": 4}]},
        {"v$rowcache": [{"cache#": 3, "type": "PARENT", "subordinate#": None, "gets": 50, "usage": 9}]},
    )
    name = {"cache#": 3, "type": "PARENT"}
    assert refusal({**name, "gets": 40, "usage": 9}, "v$rowcache", capture) == ""
    assert "the capture gives 40" in refusal({**name, "gets": 50}, "v$rowcache", capture)
    assert "the capture gives 9" in refusal({**name, "usage": 5}, "v$rowcache", capture)
    assert "the capture gives None" in refusal({**name, "fixed": 0}, "v$rowcache", capture)
    assert "does not have" in refusal({"cache#": 3, "gets": 40}, "v$rowcache", capture)


def test_total_that_fell_gives_nothing_and_a_new_row_counts_from_zero_where_oracle_adds_rows() -> None:
    capture = of_hands(
        {"v$sysstat": [{"name": "user commits", "value": 90}], "v$system_event": []},
        {
            "v$sysstat": [{"name": "user commits", "value": 5}, {"name": "execute count", "value": 7}],
            "v$system_event": [{"event": "row cache lock", "total_waits": 7}],
        },
    )
    for name in ("user commits", "execute count"):
        assert "gives None" in refusal({"name": name, "value": 5}, "v$sysstat", capture)
    assert refusal({"event": "row cache lock", "total_waits": 7}, "v$system_event", capture) == ""


def test_rows_of_one_name_are_summed_where_they_count_together_and_other_kinds_left_out() -> None:
    def mutex(kind: str, *sleeps: int) -> list[Json]:
        return [{"mutex_type": kind, "location": "[4] kqrGetHashMutex", "sleeps": each} for each in sleeps]

    capture = of_hands(
        {"v$mutex_sleep": mutex("Row Cache", 1, 2)},
        {"v$mutex_sleep": [*mutex("Row Cache", 10, 20), *mutex("Cursor Pin", 5)]},
    )
    assert refusal(mutex("Row Cache", 27)[0], "v$mutex_sleep", capture) == ""
    assert "gives 27" in refusal(mutex("Row Cache", 9)[0], "v$mutex_sleep", capture)
    assert "does not have" in refusal(mutex("Cursor Pin", 5)[0], "v$mutex_sleep", capture)


def test_sessions_at_the_beginning_are_those_of_the_first_snapshot() -> None:
    def waiting(sid: int) -> Json:
        return {"sid": sid, "serial#": 1, "event": "row cache lock", "wait_time_micro": 8}

    capture = of_hands({"waiting_sessions": [waiting(1)]}, {"waiting_sessions": [waiting(2)]})
    assert refusal(waiting(1), "waiting_sessions at the beginning", capture) == ""
    assert refusal(waiting(2), "waiting_sessions", capture) == ""
    assert "does not have" in refusal(waiting(2), "waiting_sessions at the beginning", capture)
    assert "does not have" in refusal(waiting(1), "waiting_sessions", capture)
    totals = {"stat_name": "DB time", "value": 1}
    assert "does not say" in refusal(totals, "v$sys_time_model at the beginning", capture)
    assert "does not say" in refusal({"x": 1}, "v$invented", capture)


@pytest.mark.parametrize("signal", ["getmiss_ratio", "hold_anomaly_index"])
def test_figure_of_a_cache_has_the_rows_of_its_subordinates_unless_it_is_that_of_a_child(signal: str) -> None:
    users = [
        {"cache#": 10, "type": "PARENT", "parameter": "dc_users", "gets": 0, "getmisses": 0},
        {"cache#": 7, "type": "SUBORDINATE", "subordinate#": 0, "parameter": "dc_users", "gets": 0, "getmisses": 0},
    ]
    capture = of_hands({"v$rowcache": users}, {"v$rowcache": users})

    def compared(*listed: int) -> list[str]:
        def total(column: str) -> Json:
            cells = [{"cell": [number, column]} for number in listed]
            return {"sum": cells} if len(cells) > 1 else cells[0]

        step = {"signal": signal, "expression": {"ratio": [total("getmisses"), total("gets")]}}
        rows = [{"id": number, "view": "v$rowcache", "columns": users[number]} for number in listed]
        about = {"input": "capture.json", "source": "views", "basis": "interval", "release": None}
        return differences({**about, "rows": rows, "verdicts": [{"cause": "x", "steps": [step]}]}, [capture])

    assert compared(0, 1) == []
    lacking = [
        f"an expression of x leaves out 7 SUBORDINATE 0 of v$rowcache, which has {c} too" for c in ("getmisses", "gets")
    ]
    assert compared(0) == (lacking if signal == "getmiss_ratio" else [])


# The command.


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": "latchscope-capture", "version": 2, "snapshots": []}',
        '{"format": "latchscope-capture", "version": 1, "snapshots": []}',
        '{"format": "latchscope-capture", "version": 1, "snapshots": [{"taken_at": 7, "views": {"v$latch": []}}]}',
        '{"format": "latchscope-capture", "version": 1, "snapshots": [{"taken_at": null, "views": {}}, 8]}',
    ],
)
def test_file_that_is_no_capture_is_named_in_one_line(text: str, tmp_path: Path) -> None:
    file = tmp_path / "none.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(Unreadable, match=r"none.json cannot be read as a capture \(.+\); docs/reports.md"):
        Captured(file)


def test_command_compares_each_certificate_with_the_capture_of_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, _ = written(0)
    certificate = json.loads(text)
    certificate["input"] = "folder/a.json"
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps({"format": check_certificate.FORMAT, "certificates": [certificate]}), encoding="utf-8")

    def said(*captures: Path) -> str:
        given = [word for capture in captures for word in ("--capture", str(capture))]
        code, out = check_certificate.main([str(file), *given]), capsys.readouterr().out
        assert code == int("refused: " in out)
        return out

    made = certified(0)
    assert made is not None
    (tmp_path / "a.json").write_text(made[1], encoding="utf-8")
    (tmp_path / "b.json").write_text(made[1], encoding="utf-8")
    both = f"verdicts follow, and {len(certificate['rows'])} rows are in the capture"
    assert both in said(tmp_path / "a.json") and both in said(tmp_path / "b.json")
    assert both in said(STORM, tmp_path / "a.json")
    assert "the capture" in said(STORM)
    assert "no capture is named folder/a.json" in said(STORM, tmp_path / "b.json")
    assert "cannot be read as a capture" in said(tmp_path / "none.json")
