"""Reads `rules/causes/*.cases.yaml`: an ordinary 30 s interval, the rows in which a case differs, the verdict it needs.

The format is told in rules/causes/README.md. What follows from a stated row by the load model (latch gets from
dictionary gets, totals from children, the wait event from the sleeps) follows here as well, unless the case states it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field

from collectors.delta import between
from collectors.model import ROW_CACHE_LATCH, Basis, Changes, Delta, Kind, Row, Value
from collectors.poll import poll
from collectors.registry import collectors
from collectors.replay import ScriptedDatabase
from collectors.scenarios.dictionary import RELEASE_11_2, RELEASE_12_1
from collectors.scenarios.ordinary import ORDINARY
from collectors.script import RESLEEPS, Scenario
from rules.cache_map import cache_map
from rules.catalogue import HOME
from rules.engine import diagnose
from rules.model import Cause, Confidence, Diagnosis, Frozen, Severity
from tests.rules.scenes import no_grant

SECONDS = 30
SLEEP_US = 900
INSTANCES = {"11.2": ("11.2.0.4.0", RELEASE_11_2), "12.1": ("12.1.0.2.0", RELEASE_12_1)}
MOVING = ("gets", "misses", "sleeps", "spin_gets", "wait_time")


class Expected(Frozen):
    """What a case needs of its cause."""

    verdict: Literal["found", "ruled_out", "undetermined"]
    severity: Severity | None = None
    confidence: Confidence | None = None
    cache: str | None = None
    by: str | None = None
    """The signal that rules it out, or the view that keeps it undetermined."""


class Case(Frozen):
    """One case of a cases file; one that is `like` another states only in what it differs from that one."""

    case: str
    like: str | None = None
    release: Literal["11.2", "12.1"] = "11.2"
    basis: Literal["interval", "totals"] = "interval"
    rows: Mapping[str, tuple[Mapping[str, Any], ...]] = Field(default_factory=dict)
    refused: tuple[str, ...] = ()
    confirmed: float | None = None
    expect: Expected
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Told:
    """A case and the cause whose file holds it."""

    cause: str
    case: Case

    def __str__(self) -> str:
        return f"{self.cause}: {self.case.case}"


def all_cases(home: Path = HOME) -> tuple[Told, ...]:
    """Every case of every cases file."""
    suffix = ".cases.yaml"
    return tuple(
        Told(path.name.removesuffix(suffix), case)
        for path in sorted(home.glob(f"*{suffix}"))
        for case in _cases(yaml.safe_load(path.read_text(encoding="utf-8")))
    )


def _cases(written: Sequence[Mapping[str, Any]]) -> list[Case]:
    cases: dict[str, Case] = {}
    for members in written:
        case = Case.model_validate(members)
        if case.case in cases:
            raise ValueError(f"two cases are named {case.case!r}")
        cases[case.case] = _completed(case, cases[case.like]) if case.like else case
    return list(cases.values())


def _completed(case: Case, model: Case) -> Case:
    """A case with everything it does not state taken from the one it is like."""
    views = {**model.rows, **case.rows}
    rows = {view: _overlaid(view, model.rows.get(view, ()), case.rows.get(view, ())) for view in views}
    own = {name: getattr(case, name) for name in case.model_fields_set}
    return model.model_copy(update={"also": (), **own, "rows": rows})


def _overlaid(
    view: str, under: Sequence[Mapping[str, Any]], over: Sequence[Mapping[str, Any]]
) -> tuple[Mapping[str, Any], ...]:
    laid = {str(_naming(view, one)): one for one in under}
    for one in over:
        name = str(_naming(view, one))
        laid[name] = {**laid.get(name, {}), **one}
    return tuple(laid.values())


def _naming(view: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The members of a stated row that say which row is meant."""
    column = collectors()[view].column
    return {name: value for name, value in row.items() if column(name).kind in (Kind.KEY, Kind.TEXT)}


def complaints(told: Told, causes: Mapping[str, Cause]) -> list[str]:
    """What a catalogue makes of a case that the case does not want; empty when all is well."""
    got, wanted = diagnose(delta_of(told), causes), told.case.expect
    verdict, details = verdict_of(got, told.cause)
    wrong = [f"{told.cause} is {verdict} ({details}), not {wanted.verdict}"] if verdict != wanted.verdict else []
    for name in ("severity", "confidence", "cache", "by"):
        expected = getattr(wanted, name)
        if expected is not None and verdict == wanted.verdict and details.get(name) != expected:
            wrong.append(f"{name} is {details.get(name)}, not {expected}")
    for finding in got.findings:
        if finding.severity is not Severity.INFO and finding.cause not in (told.cause, *told.case.also):
            wrong.append(f"{finding.cause} is found as well, {finding.severity}")
    return wrong


def verdict_of(diagnosis: Diagnosis, cause: str) -> tuple[str, Mapping[str, Any]]:
    """What a Diagnosis says of one cause, and the particulars that a case may ask for."""
    for finding in diagnosis.findings:
        if finding.cause == cause:
            return "found", {name: getattr(finding, name) for name in ("severity", "confidence", "cache")}
    for out in diagnosis.ruled_out:
        if out.cause == cause:
            return "ruled_out", {"by": out.signal, "value": out.value}
    (open_one,) = (one for one in diagnosis.undetermined if one.cause == cause)
    return "undetermined", {"by": open_one.missing, "why": open_one.why}


@cache
def ordinary(release: str) -> Delta:
    """The ordinary 30 seconds of an instance of that release."""
    version, caches = INSTANCES[release]
    scenario = Scenario("ordinary", version, "an ordinary day", caches, ORDINARY, ((300, ORDINARY),))
    now = [0.0]
    database = ScriptedDatabase(scenario, datetime(2026, 3, 2, 9, 0, tzinfo=UTC), lambda: now[0])
    earlier = poll("ordinary", database)
    now[0] = SECONDS
    delta = between(earlier, poll("ordinary", database, earlier))
    assert isinstance(delta, Delta)
    return delta


def delta_of(told: Told) -> Delta:
    """The Delta that a case describes."""
    case, usual = told.case, ordinary(told.case.release)
    readings = dict(usual.readings)
    for view, stated in case.rows.items():
        readings[view] = _merged(usual, view, stated)
    delta = _followed(replace(usual, readings=readings), case)
    refused = {view: no_grant(view) for view in case.refused}
    basis = delta.basis if case.basis == "interval" else Basis("totals", None, delta.basis.end, None)
    confirmed = {} if case.confirmed is None else {told.cause: case.confirmed}
    return replace(delta, basis=basis, readings={**delta.readings, **refused}, confirmations=confirmed)


def _merged(usual: Delta, view: str, stated: Sequence[Mapping[str, Any]]) -> Changes:
    """The rows of a view with the stated ones laid over them; a row that names all its keys may be new."""
    rows = [dict(row) for row in usual.rows(view)]
    for one in stated:
        naming = _naming(view, one)
        meant = [row for row in rows if all(row.get(name) == value for name, value in naming.items())]
        if not meant and set(collectors()[view].key) <= set(naming):
            rows.append(dict(one))
        elif len(meant) == 1:
            meant[0].update(one)
        else:
            raise ValueError(f"{view}: {naming} names {len(meant)} rows; name one, or a new one by all its keys")
    return Changes(view, tuple(rows))


def _followed(delta: Delta, case: Case) -> Delta:
    """The Delta with everything in place that follows from what the case states."""
    delta = _with(delta, "v$latch_children", _children(delta, case))
    sums = {name: sum(_whole(row.get(name)) for row in delta.rows("v$latch_children")) for name in MOVING}
    own = next((one for one in case.rows.get("v$latch", ()) if one.get("name") == ROW_CACHE_LATCH), {})
    latch = [{**row, **(sums if row.get("name") == ROW_CACHE_LATCH else {})} for row in delta.rows("v$latch")]
    delta = _with(delta, "v$latch", [{**row, **(own if row.get("name") == ROW_CACHE_LATCH else {})} for row in latch])
    event: Row = {
        "event": "latch: row cache objects",
        "total_waits": sums["sleeps"],
        "time_waited_micro": sums["wait_time"],
    }
    given = {one["event"] for one in case.rows.get("v$system_event", ())}
    if event["event"] not in given:
        others = [row for row in delta.rows("v$system_event") if row.get("event") != event["event"]]
        delta = _with(delta, "v$system_event", [*others, event])
    return _with(delta, "v$latch_misses", _locations(delta, case, sums["sleeps"]))


def _with(delta: Delta, view: str, rows: Sequence[Row]) -> Delta:
    return replace(delta, readings={**delta.readings, view: Changes(view, tuple(rows))})


def _children(delta: Delta, case: Case) -> list[Row]:
    """Children whose gets follow from the dictionary gets, and whose misses and waits follow from their sleeps."""
    stated = {one["child#"]: one for one in case.rows.get("v$latch_children", ())}
    guarded = cache_map(delta).children
    rows: list[Row] = []
    for row in delta.rows("v$latch_children"):
        child = row["child#"]
        assert isinstance(child, int)
        own = stated.get(child, {})
        sleeps = _whole(row["sleeps"])
        follows: dict[str, Value] = {"gets": int(guarded[child].predicted_gets or 0)}
        if "sleeps" in own:
            follows |= {"misses": max(_whole(row["misses"]), sleeps), "wait_time": sleeps * SLEEP_US}
        misses = _whole(own.get("misses", follows.get("misses", row["misses"])))
        follows["spin_gets"] = max(misses - sleeps, 0) + math.ceil(sleeps * RESLEEPS)
        rows.append({**row, **follows, **own})
    return rows


def _locations(delta: Delta, case: Case, sleeps: int) -> list[Row]:
    """Locations as the case gives them, in counts or in shares such as `85 %`; the others share what is left as usual."""
    stated = {one["location"]: one for one in case.rows.get("v$latch_misses", ())}
    rows: dict[Value, dict[str, Value]] = {row["location"]: dict(row) for row in delta.rows("v$latch_misses")}
    for column in ("sleep_count", "wtr_slp_count"):
        given = {place: _share(one[column], sleeps) for place, one in stated.items() if column in one}
        usual = {place: _whole(row.get(column)) for place, row in rows.items() if place not in given}
        rest, whole = max(sleeps - sum(given.values()), 0), sum(usual.values()) or 1
        for place, row in rows.items():
            row[column] = given[place] if place in given else rest * usual[place] // whole
    return [*rows.values()]


def _share(value: int | str, sleeps: int) -> int:
    return round(float(value.removesuffix("%")) / 100 * sleeps) if isinstance(value, str) else value


def _whole(value: object) -> int:
    assert isinstance(value, int | float)
    return int(value)
