"""Reads `rules/causes/*.cases.yaml`:

an ordinary 30 s interval, the rows in which a case differs, the verdict it needs. rules/causes/README.md describes the
format. tests/rules/case_rows.py adds what follows from a stated row by the load model (latch gets from dictionary gets,
totals from children, the wait event from the sleeps), unless the case states it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field

from collectors.model import Basis, Changes, ConfirmationResult, Delta, Missing
from collectors.ondemand.sampling import not_sampled
from rules.base import LOADER, Frozen
from rules.cause import HOME, catalogue
from rules.context import SignalContext
from rules.engine import diagnose
from rules.model import Confidence, Diagnosis, Severity
from tests.rules.case_rows import followed, merged, naming, ordinary
from tests.rules.case_waiters import InLibraryCache, StillWaiting, Waiters, in_library_cache, looked, sampled
from tests.rules.contexts import no_grant


class Expected(Frozen):
    """What a case expects of its cause."""

    verdict: Literal["found", "ruled_out", "undetermined", "offered", "not_offered"]
    """The last two are of handbook causes, which are candidates to check or are not."""
    severity: Severity | None = None
    confidence: Confidence | None = None
    cache: str | None = None
    by: str | None = None
    """The signal that rules it out, or the view that keeps it undetermined."""


class Case(Frozen):
    """One case of a cases file. A case `like` another states only its differences."""

    case: str
    like: str | None = None
    release: Literal["11.2", "12.1", "12.2", "19"] = "11.2"
    version: str | None = None
    """Another release than the ordinary instance's own, such as 11.2.0.2.0. The views stay those of `release`."""
    version_full: str | None = None
    """Release with its update, as v$instance has it from 18c on."""
    basis: Literal["interval", "totals"] = "interval"
    source: Literal["views", "report"] = "views"
    """A report has only what it prints; views are read whole."""
    rows: Mapping[str, tuple[Mapping[str, Any], ...]] = Field(default_factory=dict)
    waiters: tuple[Waiters, ...] | None = None
    """Waiting sessions in ten looks. Empty: the looks found none. Not stated: there were no looks."""
    still_waiting: tuple[StillWaiting, ...] = ()
    """Sessions that still wait at the end of the interval."""
    in_library_cache: tuple[InLibraryCache, ...] = ()
    """Sessions that wait for library cache lock or pin at that moment."""
    refused: tuple[str, ...] = ()
    container: str | None = None
    """The polled container, CDB$ROOT or the name of a PDB. Not stated: no container database."""
    confirmed: float | None = None
    expect: Expected
    also: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    """Handbook causes that the diagnosis must offer."""


@dataclass(frozen=True)
class Told:
    """A case and the cause whose file holds it."""

    cause: str
    case: Case

    def __str__(self) -> str:
        return f"{self.cause}: {self.case.case}"


@cache
def all_cases(home: Path = HOME) -> tuple[Told, ...]:
    """Every case of every cases file."""
    suffix = ".cases.yaml"
    return tuple(
        Told(path.name.removesuffix(suffix), case)
        for path in sorted(home.glob(f"*{suffix}"))
        for case in _cases(yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER))
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
    """A case with everything that it does not state taken from its `like` case."""
    views = {**model.rows, **case.rows}
    rows = {view: _overlaid(view, model.rows.get(view, ()), case.rows.get(view, ())) for view in views}
    own = {name: getattr(case, name) for name in case.model_fields_set}
    return model.model_copy(update={"also": (), "candidates": (), **own, "rows": rows})


def _overlaid(
    view: str, under: Sequence[Mapping[str, Any]], over: Sequence[Mapping[str, Any]]
) -> tuple[Mapping[str, Any], ...]:
    laid = {str(naming(view, one)): one for one in under}
    for one in over:
        name = str(naming(view, one))
        laid[name] = {**laid.get(name, {}), **one}
    return tuple(laid.values())


def complaints(told: Told, got: Diagnosis) -> list[str]:
    """What the Diagnosis of a case has wrong, a line for each with the file and the case; empty if all is well."""
    wanted = told.case.expect
    verdict, details = verdict_of(got, told.cause)
    why = ", ".join(f"{name} {value}" for name, value in details.items())
    wrong = [f"{told.cause} is {verdict} ({why}), not {wanted.verdict}"] if verdict != wanted.verdict else []
    for name in ("severity", "confidence", "cache", "by"):
        expected = getattr(wanted, name)
        if expected is not None and verdict == wanted.verdict and details.get(name) != expected:
            wrong.append(f"{name} is {details.get(name)}, not {expected}")
    for finding in got.findings:
        if finding.severity is not Severity.INFO and finding.cause not in (told.cause, *told.case.also):
            wrong.append(
                f"{finding.cause} is found as well, {finding.severity}; if both are true, write `also: [{finding.cause}]` "
                f"in the case, else a relation in rules/causes/{told.cause}.yaml or {finding.cause}.yaml"
            )
    missing = set(told.case.candidates) - {one.cause for one in got.candidates}
    wrong += [f"{name} is not offered to check" for name in sorted(missing)]
    return [f"rules/causes/{told.cause}.cases.yaml: {told.case.case!r}: {each}" for each in wrong]


def verdict_of(diagnosis: Diagnosis, cause: str) -> tuple[str, Mapping[str, Any]]:
    """The verdict of a Diagnosis on one cause, with the details that a case may state."""
    if cause in catalogue() and catalogue()[cause].handbook:
        return "offered" if cause in {one.cause for one in diagnosis.candidates} else "not_offered", {}
    for finding in diagnosis.findings:
        if finding.cause == cause:
            return "found", {name: getattr(finding, name) for name in ("severity", "confidence", "cache")}
    for out in diagnosis.ruled_out:
        if out.cause == cause:
            return "ruled_out", {"by": out.signal, "value": out.value}
    (open_one,) = (one for one in diagnosis.undetermined if one.cause == cause)
    return "undetermined", {"by": open_one.missing, "why": open_one.why}


def delta_of(told: Told) -> Delta:
    """The Delta that a case describes."""
    case = told.case
    usual = ordinary(case.release)
    stated = {**case.rows, "v$instance": (*case.rows.get("v$instance", ()), *_releases(case))}
    readings = {**usual.readings, **{view: merged(usual, view, rows) for view, rows in stated.items()}}
    readings["v$session"] = (
        not_sampled() if case.waiters is None else sampled(case.waiters, replace(usual, readings=readings))
    )
    if case.container:
        place = {"con_id": 1 if case.container == "CDB$ROOT" else 3, "con_name": case.container}
        readings["sys_context"] = Changes("sys_context", ({"db_unique_name": "ERP", **place},))
    readings["waiting_sessions"] = looked(case.still_waiting, usual)
    if case.in_library_cache:
        readings["library_cache_sessions"] = in_library_cache(case.in_library_cache)
    delta = followed(replace(usual, readings=readings, release=case.version or usual.release), case.rows)
    refused: dict[str, Missing] = {view: no_grant(view) for view in case.refused}
    basis = delta.basis if case.basis == "interval" else Basis("totals", None, delta.basis.end, None)
    confirmed = {} if case.confirmed is None else {told.cause: ConfirmationResult(case.confirmed)}
    readings = {**delta.readings, **refused}
    return replace(delta, basis=basis, source=case.source, readings=readings, confirmations=confirmed)


@cache
def cases_by_name() -> Mapping[str, Told]:
    """Every case of the catalogue, by its name in failures."""
    return {str(told): told for told in all_cases()}


@cache
def delta_of_case(name: str) -> Delta:
    """The Delta of a case by name, built once because several tests use it."""
    return delta_of(cases_by_name()[name])


@cache
def context_of_case(name: str) -> SignalContext:
    """The signal context of a case by name."""
    return SignalContext(delta_of_case(name))


@cache
def diagnosis_of_case(name: str) -> Diagnosis:
    """The catalogue's Diagnosis of a case by name, computed once because several tests use it."""
    return diagnose(delta_of_case(name))


def _releases(case: Case) -> tuple[Mapping[str, Any], ...]:
    """The row of v$instance with the case's own release, if it has one."""
    told = {"version": case.version, "version_full": case.version_full}
    known = {name: value for name, value in told.items() if value is not None}
    return ({"instance_number": 1, **known},) if known else ()
