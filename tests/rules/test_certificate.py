"""Certificates: what they cover, in which order, and that two of one input are equal."""

import json
from hashlib import sha256
from typing import Any

from collectors.model import Delta, NotComparable
from rules.cause import catalogue
from rules.certificate import RULED_OUT, certificates, digest
from rules.engine import cannot_tell, diagnose
from rules.model import Diagnosis
from tests.rules.case_files import cases_by_name, delta_of_case, diagnosis_of_case


def written(name: str, delta: Delta, diagnosis: Diagnosis) -> dict[str, Any]:
    made = certificates([(name, delta, diagnosis)])
    (certificate,) = json.loads(made.model_dump_json(exclude_defaults=True))["certificates"]
    assert isinstance(certificate, dict)
    return certificate


def of_case(cause: str) -> tuple[dict[str, Any], Diagnosis]:
    """The certificate and the diagnosis of the first case of a cause."""
    name = next(name for name in cases_by_name() if name.startswith(f"{cause}: "))
    diagnosis = diagnosis_of_case(name)
    return written(name, delta_of_case(name), diagnosis), diagnosis


def test_found_causes_their_rivals_and_the_first_ruled_out_are_covered() -> None:
    for cause in ("undo-segments", "sequence-nocache", "object-ddl"):
        certificate, diagnosis = of_case(cause)
        assert (
            certificate["found"] == [finding.cause for finding in diagnosis.findings] and cause in certificate["found"]
        )
        assert [entry["cause"] for entry in certificate["verdicts"]] == [
            *certificate["found"],
            *certificate["rivals"],
            *certificate["ruled_out"],
        ]
        others = [out.cause for out in diagnosis.ruled_out if out.cause not in certificate["rivals"]]
        assert certificate["ruled_out"] == others[:RULED_OUT]
        surfaces = {finding.surface for finding in diagnosis.findings}
        near = {
            open_one.cause
            for open_one in diagnosis.undetermined
            if surfaces & set(catalogue()[open_one.cause].surfaces)
        }
        assert near <= set(certificate["rivals"])


def test_values_are_those_of_the_evidence() -> None:
    certificate, diagnosis = of_case("undo-segments")
    for finding, entry in zip(diagnosis.findings, certificate["verdicts"], strict=False):
        shown = {step["signal"]: step["value"] for step in entry["steps"] if step["holds"]}
        assert {evidence.signal: evidence.value for evidence in finding.evidence} == shown


def test_row_has_its_names_what_was_used_and_its_hash() -> None:
    certificate, _ = of_case("undo-segments")
    row = next(row for row in certificate["rows"] if row["view"] == "v$latch_children")
    assert {"child#", "sleeps"} <= set(row["columns"]) and "spin_gets" not in row["columns"]
    text = json.dumps([row["view"], row["columns"]], sort_keys=True, separators=(",", ":"))
    assert row["sha256"] == sha256(text.encode()).hexdigest() == digest(row["view"], row["columns"])
    assert (
        digest("v$latch", {"a": 1, "b": 2})
        == digest("v$latch", {"b": 2, "a": 1})
        != digest("v$latch", {"a": 1, "b": 3})
    )


def test_names_of_people_and_programs_stay_out() -> None:
    for cause in ("logon-storm", "row-cache-lock-hang", "object-ddl"):
        certificate, _ = of_case(cause)
        shown = {column for row in certificate["rows"] for column in row["columns"]}
        assert shown.isdisjoint({"username", "program", "module", "machine"})


def test_what_is_not_covered_is_said() -> None:
    certificate, _ = of_case("undo-segments")
    what = [entry["what"] for entry in certificate["not_covered"]]
    assert {"confidence", "severity", "predictions", "the choice between rivals"} <= set(what)
    assert all(entry["why"] for entry in certificate["not_covered"])
    hang, _ = of_case("maintenance-task")
    assert "how share_behind_maintenance comes about" in [entry["what"] for entry in hang["not_covered"]]


def test_input_without_a_verdict_is_named_with_its_reason() -> None:
    gap = NotComparable("erp1", "19.0.0.0.0", "the instance was restarted", "take two snapshots after it")
    made = certificates([("both.json", gap, cannot_tell(gap))])
    assert made.certificates == ()
    assert [(each.input, each.why) for each in made.without] == [
        ("both.json", "the instance was restarted; take two snapshots after it")
    ]


def test_two_certificates_of_one_input_are_equal() -> None:
    name = next(iter(cases_by_name()))
    delta = delta_of_case(name)
    assert written(name, delta, diagnose(delta)) == written(name, delta, diagnose(delta))
