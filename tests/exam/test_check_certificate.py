"""The checker of certificates: it shares no code with the rules, accepts what is written, and refuses what does not follow."""

import ast
import json
import shutil
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from bench.certificates import CHANGES, ONLY_STATED, UNEXPLAINED, Tried, certified, spread, together, tried
from exam import check_certificate
from exam.check_certificate import CAUSES, HERE, NAMING, Catalogue, check
from rules.certificate import digest
from rules.judge import NAMING as NAMING_OF_THE_RULES
from rules.signals import SIGNALS
from rules.waits import IDLE_SESSIONS, NOTICEABLE_SHARE

Json = dict[str, Any]
DECEPTIVE = {
    "value of a row, hash made again",
    "name of a row, hash made again",
    "operator",
    "term left out",
    "another row in an expression",
    "release",
    "basis",
    "value of a row, all made again",
    "row invented, all made again",
    "row counted twice, all made again",
    "another row, all made again",
    "term left out, all made again",
    "said to be nothing, all made again",
}
"""Changes that may leave every value and every bound as it was, or make them follow. Any other change is always refused."""
DECEPTIVE_BESIDE_THE_CAPTURE = {
    "operator",
    "term left out",
    "another row in an expression",
    "another row, all made again",
    "term left out, all made again",
    "said to be nothing, all made again",
}
"""Those of them that leave every row as it was captured."""


@cache
def known() -> Catalogue:
    return Catalogue(CAUSES)


@cache
def text_of(seed: int) -> str:
    made = certified(seed)
    assert made is not None
    return json.dumps(made[0])


def changed(change: Callable[[Json], None], seed: int = 0) -> list[str]:
    """What the checker says of a certificate after a change of ours."""
    certificate = json.loads(text_of(seed))
    assert check(certificate, known()) == []
    change(certificate)
    return check(certificate, known())


def step_of(certificate: Json, signal: str) -> Json:
    steps = (step for verdict in certificate["verdicts"] for step in verdict.get("steps", ()))
    return next(step for step in steps if step["signal"] == signal)


# It stands alone.


@pytest.mark.parametrize(
    ("file", "most", "others"),
    [
        ("check_certificate.py", 400, {"yaml", "exam.captured", "exam.check_rows"}),
        ("check_rows.py", 200, {"exam.captured"}),
        ("captured.py", 200, set()),
    ],
)
def test_checkers_are_short_files_of_the_standard_library_and_yaml(file: str, most: int, others: set[str]) -> None:
    text = (HERE / file).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= most
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module
            imported.add(node.module)
        elif isinstance(node, ast.Name):
            assert node.id not in ("__import__", "eval", "exec", "importlib"), node.id
    assert {name for name in imported if name.partition(".")[0] not in sys.stdlib_module_names} == others


def test_what_it_knows_by_hand_is_what_the_rules_say() -> None:
    moved = {
        operator: sorted(n for n, each in SIGNALS.items() if operator in each.diluted) for operator in (">=", "<=")
    }
    assert {operator: sorted(names) for operator, names in known().moved.items()} == moved
    assert set(NAMING_OF_THE_RULES) == NAMING
    assert {"share of DB time": NOTICEABLE_SHARE, "waiting sessions": IDLE_SESSIONS} == check_certificate.CHEAP
    assert set(known().rows) <= set(SIGNALS)
    views = {name: set(signal.of.split(", ")) for name, signal in SIGNALS.items()}
    assert {name: known().views.get(name) for name in SIGNALS} == views


# It accepts what is written, and refuses what was changed.


def short() -> Tried:
    return together(tried(seed, 2 * len(CHANGES)) for seed in spread(3))


def test_written_certificates_are_accepted_and_changed_ones_refused() -> None:
    sound(short(), certificates=3)


@pytest.mark.soak
def test_a_thousand_certificates_are_accepted_and_thousands_of_changes_refused() -> None:
    whole = together(tried(seed, 7) for seed in spread(1010, first=100_000))
    assert whole.changed.total() >= 5000
    sound(whole, certificates=1000)


def sound(result: Tried, certificates: int) -> None:
    assert result.certificates >= certificates and result.refused == []
    assert set(result.changed) == set(CHANGES)
    survived = {kind for _, kind, why in result.survived if why != ONLY_STATED}
    assert survived <= DECEPTIVE
    passed = {kind for _, kind, why in result.passed if why != ONLY_STATED}
    assert passed <= DECEPTIVE_BESIDE_THE_CAPTURE
    assert [each for each in (*result.survived, *result.passed) if each[2] == UNEXPLAINED] == []


def test_each_refusal_is_one_sentence_that_names_the_cause_or_the_row() -> None:
    for kind, change in CHANGES.items():
        certificate = json.loads(text_of(0))
        assert change(certificate, _Dice()), kind
        for reason in check(certificate, known()):
            assert reason and "\n" not in reason and not reason.endswith("."), reason


class _Dice:
    """Always the first."""

    def choice(self, of: Any) -> Any:
        return of[0]

    def randrange(self, of: int) -> int:
        return 0


def test_value_without_an_expression_must_be_listed_as_not_covered() -> None:
    def state(certificate: Json, *, listed: bool) -> None:
        step = next(s for v in certificate["verdicts"] for s in v.get("steps", ()) if "expression" in s)
        step["stated"] = step.pop("expression") and "it is so"
        if listed:
            certificate["not_covered"].append({"what": f"how {step['signal']} comes about", "why": "it is so"})

    assert any("needs an expression" in why for why in changed(partial(state, listed=False)))
    assert not any("needs an expression" in why for why in changed(partial(state, listed=True)))


@pytest.mark.parametrize("seed", [2970, 4366])
def test_waits_that_last_all_of_an_interval_and_waits_known_from_samples_are_accepted(seed: int) -> None:
    assert check(json.loads(text_of(seed)), known()) == []


def test_row_that_no_expression_uses_is_refused() -> None:
    def more(certificate: Json) -> None:
        columns = {"name": "user commits", "value": 12}
        row = {"id": 999, "view": "v$sysstat", "columns": columns, "sha256": digest("v$sysstat", columns)}
        certificate["rows"].append(row)

    assert changed(more) == ["row 999 is used by no expression"]


def test_expression_over_another_view_or_another_row_of_it_is_refused() -> None:
    def renamed(view: str, column: str, name: str) -> Callable[[Json], None]:
        def change(certificate: Json) -> None:
            row = next(
                row
                for row in certificate["rows"]
                if row["view"] == "v$sys_time_model" and name in row["columns"].values()
            )
            row["view"] = view
            row["columns"][column] = "user commits"
            row["sha256"] = digest(view, row["columns"])

        return change

    assert any("reads v$sysstat" in why for why in changed(renamed("v$sysstat", "stat_name", "DB time")))
    assert any(
        "reads v$sys_time_model user" in why for why in changed(renamed("v$sys_time_model", "stat_name", "DB time"))
    )


def test_verdict_that_is_changed_in_every_place_of_it_is_refused() -> None:
    def found(certificate: Json) -> None:
        cause = certificate["ruled_out"].pop(0)
        certificate["found"].append(cause)
        entry = next(entry for entry in certificate["verdicts"] if entry["cause"] == cause)
        certificate["verdicts"].remove(entry)
        certificate["verdicts"].insert(len(certificate["found"]) - 1, {**entry, "verdict": "found", "by": "conditions"})

    (reason,) = changed(found)
    assert "is found, and its condition" in reason or "has the" in reason


def test_value_that_moves_with_its_row_and_its_hash_is_refused_by_the_bound() -> None:
    """Somebody who changes the figure, the hash and the value still has a figure on the wrong side of its bound."""

    def change(certificate: Json) -> None:
        step = next(
            s
            for v in certificate["verdicts"]
            if v["verdict"] == "found"
            for s in v["steps"]
            if s["holds"] and "cell" in s["expression"]
        )
        number, column = step["expression"]["cell"]
        row = next(row for row in certificate["rows"] if row["id"] == number)
        row["columns"][column] = 0
        row["sha256"] = digest(row["view"], row["columns"])
        step["value"] = 0.0

    seed = next(
        seed
        for seed in spread(40)
        if any(
            "cell" in s.get("expression", {})
            for v in json.loads(text_of(seed))["verdicts"]
            if v["verdict"] == "found"
            for s in v["steps"]
            if s["holds"]
        )
    )
    assert any("that it is True" in why for why in changed(change, seed))


def test_another_bound_in_the_catalogue_refuses_the_certificate(tmp_path: Path) -> None:
    certificate = json.loads(text_of(0))
    folder = tmp_path / "causes"
    shutil.copytree(CAUSES, folder)
    file = folder / f"{certificate['found'][0]}.yaml"
    step = certificate["verdicts"][0]["steps"][0]
    before = f'needs: "{step["comparison"]} {step["bound"]:g}"'
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, f'needs: "{step["comparison"]} {step["bound"] * 2:g}"', 1), encoding="utf-8")
    assert any(f"{certificate['found'][0]} when[0]" in why for why in check(certificate, Catalogue(folder)))


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ({"ratio": [{"number": 1}, {"number": 0}]}, "divides by zero"),
        ({"power": [{"number": 1}, {"number": 2}]}, "power of 2 terms is no operation"),
        ({"sum": [{"number": 1}]}, "two terms or more"),
        ({"number": 0.5}, "not whole"),
        ({"cell": [1]}, "uses row None"),
        ({"cell": [77_777, "value"]}, "uses row 77777, which is not there"),
        ({"row": True}, "uses row True"),
        ({"number": 1, "of": {"number": 2}}, "has members"),
        ({}, "nothing"),
        ([], "has no proper expression"),
        ("1 / 2", "has no proper expression"),
    ],
)
def test_expression_that_is_none_is_refused(expression: object, why: str) -> None:
    def change(certificate: Json) -> None:
        step = next(s for v in certificate["verdicts"] for s in v.get("steps", ()) if "expression" in s)
        step["expression"] = expression

    assert any(why in reason for reason in changed(change)), changed(change)


@pytest.mark.parametrize(
    "nothing", [None, [], "certificate", {}, {"verdicts": 7}, {"rows": [1]}, {"verdicts": [{"cause": 1}]}]
)
def test_something_that_is_no_certificate_is_refused_or_empty(nothing: object) -> None:
    said = check(nothing, known())
    assert said == [] if nothing == {} else len(said) == 1


# The command.


def file_with(folder: Path, *certificates: object, format: str = check_certificate.FORMAT) -> Path:
    file = folder / "certificate.json"
    file.write_text(json.dumps({"format": format, "certificates": list(certificates)}), encoding="utf-8")
    return file


def test_command_accepts_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = json.loads(text_of(0))
    assert check_certificate.main([str(file_with(tmp_path, good))]) == 0
    assert f"seed 0: {len(good['verdicts'])} verdicts follow" in capsys.readouterr().out
    good["verdicts"][0]["steps"][0]["bound"] += 1
    assert check_certificate.main([str(file_with(tmp_path, good))]) == 1
    assert "refused: " in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "{", "[]", "[1, 2]", '{"format": "another"}', '{"format": 1}', "\udcff"])
def test_command_says_in_a_line_what_is_wrong_with_a_file(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert check_certificate.main([str(file), str(tmp_path / "none.json")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and all("refused: " in line for line in lines)


def test_file_without_certificates_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_certificate.main([str(file_with(tmp_path))]) == 1
    assert "no certificate" in capsys.readouterr().out
