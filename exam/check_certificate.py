"""Checks what `latchscope diagnose --certificate FILE` wrote, and shares no code with what wrote it.

`python -m exam.check_certificate FILE…` evaluates every expression over the rows, compares each bound with the condition in the
file of the cause, and asks whether the verdict follows. With `--capture INPUT` check_rows.py compares the rows with the capture.
It prints one sentence per refusal, and then exits 1. It needs Python and PyYAML. Its data are the causes and signals.yaml.
"""

import argparse
import hashlib
import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import yaml

from exam.captured import Captured, Unreadable
from exam.check_rows import differences

HERE = Path(__file__).parent
CAUSES = HERE.parent / "rules" / "causes"
FORMAT = "latchscope certificate 1"
CLOSE = 1e-12  # as near, relatively, is a value to that of its expression: the last digits depend on the order of a sum
NAMING = {"share_of_sleeps", "share_of_mutex_waiters", "share_of_lock_waiters"}  # they say which cache is waited for
AT_A_PLACE = {"share_of_holders", "share_of_mutex_sleeps", "share_of_result_cache_holders"}
ALL_CACHES = {"overall_getmiss_ratio", "hold_anomaly_index", "undo_segments_per_transaction"}
CHEAP = {"share of DB time": 0.005, "waiting sessions": 0.01}  # below this the waits cost next to nothing
LOOKS = {"v$session", "waiting_sessions", "waiting_sessions at the beginning"}
WAITS = LOOKS | {"v$system_event", "v$latch", "v$mutex_sleep"}  # views that the time of waits may come from
SAYS = {"TRUE": 1.0, "FORCE": 1.0, "FORCE_TEMP": 1.0, "YES": 1.0, "FALSE": 0.0, "MANUAL": 0.0, "MANUAL_TEMP": 0.0}
BEFORE_CONDITIONS = {"release", "kind of wait", "fix"}  # these rule a cause out before any figure is read
WAYS = {
    "found": {"conditions"},
    "ruled out": {"condition", "cost", "explained", *BEFORE_CONDITIONS},
    "cannot tell": {"unknown", "weighing"},
}  # verdict → how it may follow
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where PyYAML has that: ten times as fast
Json = Mapping[str, Any]


class Refused(Exception):
    """Why something does not follow, in one sentence."""


def refuse(why: str) -> NoReturn:
    raise Refused(why)


def member(holder: Any, name: str, kind: type, where: str, default: Any = None) -> Any:
    """A member of a JSON object. Refused if it has another type; absent it is the default, if there is one."""
    if not isinstance(holder, dict) or (name not in holder and default is None):
        refuse(f"{where} has no {name}")
    value: Any = holder.get(name, default)
    value = float(value) if kind is float and type(value) is int else value
    if type(value) is not kind or value in (math.inf, -math.inf) or value != value:
        refuse(f"{where} has no proper {name}")
    return value


def numbers_of(release: str) -> list[int]:
    return [int(each) for each in re.findall(r"\d+", release)]


class Catalogue:
    """The knowledge base as data: the causes by their ids, the views that each signal reads, and the names of rows."""

    def __init__(self, folder: Path) -> None:
        texts = (file.read_text(encoding="utf-8") for file in folder.glob("*.yaml") if ".cases." not in file.name)
        self.causes: dict[str, dict[str, Any]] = {entry["id"]: entry for entry in (yaml.load(t, LOADER) for t in texts)}
        text = (folder / "README.md").read_text(encoding="utf-8")
        listed = re.findall(r"^\| `(\w+)` \| [^|]* \| ([^|]*) \|", text, re.M)
        self.views = {name: {view.strip(" `") for view in views.split(",")} for name, views in listed}
        facts = yaml.safe_load((HERE / "signals.yaml").read_text(encoding="utf-8"))
        self.named_by, self.moved, waits = facts["named_by"], facts["moved"], facts["waits"]
        self.rows = {name: {*rows, *(waits if "waits" in rows else ())} for name, rows in facts["rows"].items()}

    def conditions(self, cause: str) -> dict[str, dict[str, Any]]:
        """The conditions of a cause by their place in its file."""
        found: dict[str, dict[str, Any]] = {}
        for place, entry in enumerate(self.causes.get(cause, {}).get("when", ())):
            for number, alternative in enumerate(entry.get("any_of", ())):
                found[f"when[{place}].any_of[{number}]"] = alternative
            if "any_of" not in entry:
                found[f"when[{place}]"] = entry
        about = {name: self.causes[cause].get(name) for name in ("caches", "location")} if found else {}
        return {place: {**about, **condition} for place, condition in found.items()}

    def occurs_on(self, cause: str, release: str) -> bool:
        """Whether a release is, or may be, one on which a cause can be; both ends of the range are included."""
        releases, version = self.causes[cause].get("releases") or {}, numbers_of(release)
        since, until = (numbers_of(str(releases.get(*end))) for end in (("since", "0"), ("until", "99")))
        return version[: len(since)] >= since[: len(version)] and version[: len(until)] <= until[: len(version)]


class Rows:
    """The rows of a certificate by their numbers, each with the right hash, and the expressions over them."""

    def __init__(self, listed: Sequence[Any], not_covered: Sequence[Any] = ()) -> None:
        self.by_id, self.not_covered = dict[int, Json](), [member(each, "what", str, "a gap") for each in not_covered]
        self.used: set[int] = set()
        for row in listed:
            number = member(row, "id", int, "a row")
            where = f"row {number}"
            view, columns = member(row, "view", str, where), member(row, "columns", dict, where)
            text = json.dumps([view, columns], sort_keys=True, separators=(",", ":"))
            if hashlib.sha256(text.encode("ascii")).hexdigest() != member(row, "sha256", str, where):
                refuse(f"{where} of {view} does not have the hash that is written beside it")
            if number in self.by_id:
                refuse(f"two rows have the number {number}")
            self.by_id[number] = row

    def value(self, expression: Any, read: list[Json]) -> float:
        """The value of an expression. The rows that it reads are added to `read`."""
        operator = next(iter(expression), "nothing") if isinstance(expression, dict) else "no object"
        if set(expression) - {operator, {"share": "of", "cell": "part"}.get(operator)}:
            refuse(f"an expression has members that {operator} does not have")
        if operator in ("row", "cell"):
            return self._leaf(operator, expression, read)
        if operator == "number":
            whole = type(expression[operator]) is int and expression[operator] >= 0
            return float(expression[operator]) if whole else refuse("a number of an expression is not whole")
        terms = member(expression, operator, list, f"the operator {operator}")
        values = [self.value(term, read) for term in terms]
        if operator in ("sum", "largest"):
            if len(terms) < 2 or len({json.dumps(term, sort_keys=True) for term in terms}) < len(terms):
                refuse(f"a {operator} needs two terms or more, each of them once")
            return math.fsum(values) if operator == "sum" else max(values)
        if operator not in ("difference", "ratio", "share") or len(terms) != 2:
            refuse(f"{operator} of {len(terms)} terms is no operation")
        one, other = values
        if operator == "difference":
            return one - other
        if other == 0:
            refuse(f"a {operator} divides by zero")
        if operator == "share" and not 0 <= one <= other * (1 + CLOSE):
            refuse(f"a share has a part of {one:g}, and a whole of {other:g}")
        return one / other * (self.value(expression["of"], read) if "of" in expression else 1.0)

    def _leaf(self, operator: str, expression: Json, read: list[Json]) -> float:
        leaf = [expression[operator], None] if operator == "row" else member(expression, operator, list, "a cell")
        number, column = leaf if len(leaf) == 2 else (None, None)
        if type(number) is not int or number not in self.by_id:
            refuse(f"an expression uses row {number}, which is not there")
        row = self.by_id[number]
        self.used.add(number)
        read.append(row)
        if operator == "row":
            return 1.0
        if type(column) is not str or column not in row["columns"]:
            refuse(f"row {number} of {row['view']} has no column {column}")
        return number_in(row["columns"][column], expression.get("part"), f"{column} of row {number}")


def number_in(cell: Any, part: Any, where: str) -> float:
    """A cell as a number: a setting in words counts 1 or 0, and of a release one number counts."""
    try:
        return float(SAYS.get(str(cell).upper(), cell) if part is None else numbers_of(cell)[part])
    except (TypeError, ValueError, IndexError):
        refuse(f"{where} is not a number, or lacks its part {part}")


def check_value(holder: Json, value: float, rows: Rows, read: list[Json], where: str) -> float:
    """The value of the expression. Refused if another one is written beside it."""
    computed = rows.value(member(holder, "expression", dict, where), read)
    if not math.isclose(computed, value, rel_tol=CLOSE, abs_tol=1e-15):
        refuse(f"{where} says {value:g}, and its expression is {computed:g}")
    return computed


def check_step(step: Json, condition: Json, rows: Rows, catalogue: Catalogue, where: str) -> None:
    """Refuses a step that is not the condition of the catalogue, or whose value or outcome does not follow."""
    signal, comparison = member(step, "signal", str, where), member(step, "comparison", str, where)
    bound, (wanted, limit) = member(step, "bound", float, where), condition["needs"].split()
    if (signal, comparison, bound) != (condition["signal"], wanted, float(limit)):
        refuse(f"{where} says {signal} {comparison} {bound:g}, not {condition['signal']} {wanted} {limit}")
    if "value" not in step or type(step.get("holds", 0)) not in (bool, type(None)):
        refuse(f"{where} does not say its value, or whether it holds")
    if step["value"] is None:
        if step["holds"] is not None or "unknown" not in step or "expression" in step:
            refuse(f"{where} has no value, so it is unknown, and needs a reason and nothing else")
        return
    value = member(step, "value", float, where)
    if "unknown" in step or ("stated" in step and f"how {signal} comes about" not in rows.not_covered):
        refuse(f"{where} has a value, so it needs an expression and no reason why it has none")
    if "stated" not in step:
        check_expression(step, value, condition, rows, catalogue, where)
    if step["holds"] is not (value >= bound if comparison == ">=" else value <= bound):
        refuse(f"{where} says of {value:g} {comparison} {bound:g} that it is {step['holds']}")


def check_expression(step: Json, value: float, condition: Json, rows: Rows, catalogue: Catalogue, where: str) -> None:
    """Refuses an expression of another value, of no row, or over rows of views that the signal does not read."""
    signal, read = step["signal"], list[Json]()
    computed = check_value(step, value, rows, read, where)
    if bool(read) == (step.get("nothing") is True) or (not read and computed != 0):
        refuse(f"the expression of {where} rests on no row, and only nothing may do so")
    if "share" in signal and "ratio" in step["expression"] and 0 <= value <= 1:
        refuse(f"{where} is a share, and its expression is a ratio")
    allowed = catalogue.views.get(signal, set()) | {"interval"}
    allowed |= WAITS if allowed & WAITS - LOOKS else set()
    allowed |= {"v$latch_children"} if signal.endswith("_to_waits") or "v$latch" in allowed else set()
    for row in read:
        view, name = row["view"], row["columns"].get(catalogue.named_by.get(row["view"]))
        names = {condition["parameter"]} if signal == "parameter_value" else catalogue.rows.get(signal, {name})
        if view not in allowed or (view in catalogue.named_by and name not in names):
            refuse(f"{where} reads {view} {name or ''}, and {signal} does not")
    terms, part = next(iter(step["expression"].values())), list[Json]()
    rows.value(terms[0] if isinstance(terms, list) and isinstance(terms[0], dict) else step["expression"], part)
    for row in part:  # what is divided, or all, is about the subject of the condition
        place, cache = str(row["columns"].get("location")), row["columns"].get("parameter")
        elsewhere = signal in AT_A_PLACE and re.sub(r"^\[\d+\] ", "", place) != condition["location"]
        of_one = row["view"] == "v$rowcache" and signal not in ALL_CACHES and condition["caches"]
        if elsewhere or (of_one and cache not in condition["caches"]):
            refuse(f"{where} is about another cache or place than {cache or place}, which its row is about")


class Outcomes:
    """The outcomes of the conditions of one cause, alternatives taken together."""

    def __init__(self, steps: Sequence[Json], conditions: Mapping[str, Json], moved: Json) -> None:
        self.steps, self.moved = steps, moved
        groups: dict[str, list[tuple[Json, Json]]] = {}
        for step in steps:
            groups.setdefault(step["condition"].split(".")[0], []).append((step, conditions[step["condition"]]))
        self.settled = [(place, *self._deciding(group)) for place, group in groups.items()]
        """Place, outcome, and the step and condition that decide it."""
        self.named = any(step["holds"] for step in steps if step["signal"] in NAMING and "left_out" not in step)

    @staticmethod
    def _deciding(group: Sequence[tuple[Json, Json]]) -> tuple[bool | None, Json, Json]:
        """Of alternatives one that holds, else one that is open."""
        counting = [pair for pair in group if "left_out" not in pair[0]] or group
        step, condition = min(counting, key=lambda pair: (True, None, False).index(pair[0]["holds"]))
        return step["holds"], step, condition

    def refuting(self, *, moved_too: bool = False) -> Iterator[str]:
        """The places of conditions that fail and so rule the cause out; `moved_too`: also ratios that other work moves."""
        for place, outcome, step, condition in self.settled:
            moved = step["signal"] in self.moved[step["comparison"]]
            if outcome is False and condition.get("role") != "supporting" and (moved_too or not moved):
                yield place


def check_found(outcomes: Outcomes, about: Json, where: str) -> None:
    """Refuses a cause that its own conditions do not support."""
    for place in outcomes.refuting(moved_too=not outcomes.named):
        refuse(f"{where} is found, and its condition {place} fails")
    roles = [(outcome, condition.get("role", "required")) for _, outcome, _, condition in outcomes.settled]
    if not any(outcome and role != "supporting" for outcome, role in roles):
        refuse(f"{where} is found, and none of its conditions holds")
    needed = {"required"} if (True, "shape") in roles else {"required", "identity"}
    for place, outcome, step, condition in outcomes.settled:
        gap = step.get("not_captured") is True and about["source"] != "report" and about["basis"] != "totals"
        if outcome is None and condition.get("role", "required") in needed and not gap:
            refuse(f"{where} is found, and its condition {place} is unknown")


class Check:
    """The check of one certificate."""

    def __init__(self, certificate: Json, catalogue: Catalogue) -> None:
        self.catalogue, self.about = catalogue, certificate
        listed, gaps = (member(certificate, name, list, "the certificate", []) for name in ("rows", "not_covered"))
        self.rows = Rows(listed, gaps)
        self.entries = member(certificate, "verdicts", list, "the certificate", [])
        self.by_cause = {member(entry, "cause", str, "a verdict"): entry for entry in self.entries}
        self.release = str(certificate.get("release") or "")
        lists = (member(certificate, name, list, "the certificate", []) for name in ("found", "rivals", "ruled_out"))
        found, rivals, out = lists
        if [entry["cause"] for entry in self.entries] != [*found, *rivals, *out]:
            refuse("the certificate has other verdicts than its lists of causes say")
        for cause, entry in self.by_cause.items():
            said = member(entry, "verdict", str, cause)
            if (said == "found") != (cause in found) or (cause in out and said != "ruled out"):
                refuse(f"{cause} is {said}, and the lists of the certificate say otherwise")
        guard = "mutex" if numbers_of(self.release)[:2] >= [12, 2] else "latch"
        if self.release and certificate.get("guarded_by") != guard:
            refuse(f"a {guard} guards the row cache of {self.release}, and the certificate says something else")

    def verdict(self, entry: Json) -> None:
        """Refuses one verdict that does not follow."""
        cause, verdict, way = entry["cause"], entry["verdict"], member(entry, "by", str, entry["cause"])
        conditions = self.catalogue.conditions(cause)
        if not conditions:
            refuse(f"{cause} is no cause of the catalogue that figures can find")
        if way not in WAYS.get(verdict, ()):
            refuse(f"{cause} is {verdict} by {way}, which is no way to that verdict")
        steps = member(entry, "steps", list, cause, [])
        places = [member(step, "condition", str, f"a step of {cause}") for step in steps]
        if places != ([] if way in BEFORE_CONDITIONS else list(conditions)):
            refuse(f"{cause} has {', '.join(conditions)}, and the certificate has {', '.join(places) or 'none'}")
        for step, place in zip(steps, places, strict=True):
            check_step(step, conditions[place], self.rows, self.catalogue, f"{cause} {place}")
        if steps and self.release and not self.catalogue.occurs_on(cause, self.release):
            refuse(f"{cause} does not occur on {self.release}, so no condition decides")
        outcomes = Outcomes(steps, conditions, self.catalogue.moved)
        if verdict == "found":
            check_found(outcomes, self.about, cause)
        elif verdict == "cannot tell":
            for place in outcomes.refuting():
                refuse(f"{cause} is open, and its condition {place} rules it out")
            open_steps = [step for step in steps if step["holds"] is None and "left_out" not in step]
            if bool(open_steps) != (way == "unknown"):
                refuse(f"{cause} is open by {way}, and its conditions say otherwise")
        else:
            getattr(self, f"_by_{way.replace(' ', '_')}")(entry, outcomes)

    def _by_condition(self, entry: Json, outcomes: Outcomes) -> None:
        cause, decides = entry["cause"], member(entry, "condition", str, entry["cause"])
        moved_too = not outcomes.named or entry.get("weighed") is True
        failing = [each["condition"] for each in outcomes.steps if each["holds"] is False and "left_out" not in each]
        if decides not in failing or decides.split(".")[0] not in outcomes.refuting(moved_too=moved_too):
            refuse(f"{cause} is ruled out by {decides}, which does not rule it out")

    def _by_release(self, entry: Json, outcomes: Outcomes) -> None:
        named = member(entry, "release", str, entry["cause"])
        if named != self.release or self.catalogue.occurs_on(entry["cause"], named):
            refuse(f"{entry['cause']} is ruled out by the release {named}, on which it may occur")

    def _by_kind_of_wait(self, entry: Json, outcomes: Outcomes) -> None:
        here = {self.about.get("guarded_by"), "lock", "result-cache"}
        if here & set(self.catalogue.causes[entry["cause"]].get("surfaces", ["latch"])):
            refuse(f"{entry['cause']} is ruled out by its kind of wait, which there is here")

    def _by_fix(self, entry: Json, outcomes: Outcomes) -> None:
        if not any(fix.get("ends_the_cause") for fix in self.catalogue.causes[entry["cause"]].get("fixes", ())):
            refuse(f"{entry['cause']} is ruled out by a fix, and the catalogue names none that ends it")

    def _by_cost(self, entry: Json, outcomes: Outcomes) -> None:
        cost, where = member(entry, "cost", dict, entry["cause"]), f"the cost of {entry['cause']}"
        value, bound = member(cost, "value", float, where), member(cost, "bound", float, where)
        if cost.get("comparison") != ">=" or bound != CHEAP.get(member(cost, "unit", str, where)):
            refuse(f"{where} is compared with {bound:g} {cost.get('unit')}, which is no bound")
        check_value(cost, value, self.rows, [], where)
        if value >= bound:
            refuse(f"{where} is {value:g} {cost['unit']}, which is not too little")

    def _by_explained(self, entry: Json, outcomes: Outcomes) -> None:
        cause, other = entry["cause"], member(entry, "explained_by", str, entry["cause"])
        explaining = self.by_cause.get(other, {})
        steps, conditions = explaining.get("steps", []), self.catalogue.conditions(other)
        if other == cause or not steps or [step.get("condition") for step in steps] != list(conditions):
            refuse(f"{cause} is explained by {other}, which the certificate does not show")
        check_found(Outcomes(steps, conditions, self.catalogue.moved), self.about, f"{other}, which explains {cause},")


def check(certificate: Json, catalogue: Catalogue) -> list[str]:
    """Why a certificate does not follow, one sentence each. Empty if it does."""
    reasons = []
    try:
        whole = Check(certificate, catalogue)
    except Refused as refused:
        return [str(refused)]
    for entry in whole.entries:
        try:
            whole.verdict(entry)
        except Refused as refused:
            reasons.append(str(refused))
    unused = sorted(set(whole.rows.by_id) - whole.rows.used)
    return reasons or [f"row {number} is used by no expression" for number in unused]


def read(file: Path) -> Sequence[Any]:
    """The certificates of a file. Refused if it holds something else, or none."""
    try:
        written = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        refuse(f"it cannot be read as JSON: {error}")
    if member(written, "format", str, "the file") != FORMAT or not member(written, "certificates", list, "the file"):
        refuse(f"it holds no certificate of the format {FORMAT}")
    return list(written["certificates"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Check files; 0 if every certificate follows, else 1."""
    parser = argparse.ArgumentParser(prog="python -m exam.check_certificate", description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE", type=Path, help="what `diagnose --certificate` wrote")
    parser.add_argument("--capture", action="append", default=[], type=Path, help="compare the rows with this capture")
    asked, catalogue, refused = parser.parse_args(arguments), Catalogue(CAUSES), 0
    for file in asked.files:
        try:
            given = [Captured(each) for each in asked.capture]
            results = [(each, check(each, catalogue) or differences(each, given)) for each in read(file)]
        except (Refused, Unreadable) as error:
            results = [({}, [str(error)])]
        for certificate, reasons in results:
            name = certificate.get("input", "") if isinstance(certificate, dict) else ""
            rows = f", and {len(certificate.get('rows', ()))} rows are in the capture" if asked.capture else ""
            said = [f"refused: {why}" for why in reasons] or [f"{len(certificate['verdicts'])} verdicts follow{rows}"]
            sys.stdout.write("".join(f"{file}: {name}: {line}\n" for line in said))
            refused += bool(reasons)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
