"""Generated troubles have the shape of published ones."""

import ast
import json
from pathlib import Path

import pytest

from collectors.delta import between
from collectors.model import Delta, Row, number
from tests.paths import DATA, ROOT
from tests.truth.generate import case
from tests.truth.plan import seeds, setting_of

HERE = ROOT / "tests" / "truth"
FORBIDDEN = ("collectors.demo.scenarios", "collectors.demo", "rules", "service", "bench")
ALLOWED = ("collectors.model", "collectors.capture", "collectors.registry")
MEASURES = ("__main__.py", "by_sight.py")
"""They know both sides: what is generated, and the diagnosis."""
MEASURED = "tests.truth.by_sight"
SLEEPS_TO_SAY_SHARES = 1000


def imported(path: Path) -> set[str]:
    """Modules that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or ".")
    return found


def test_generator_shares_no_code_with_what_it_measures() -> None:
    modules = [path for path in HERE.rglob("*.py") if not path.name.startswith(("test_", *MEASURES))]
    assert len(modules) > 15
    for path in modules:
        for name in imported(path):
            assert not name.startswith(FORBIDDEN), f"{path.name} imports {name}"
            assert not name.startswith("collectors") or name in ALLOWED, f"{path.name} imports {name}"
            ours = name.startswith(("tests.truth", "tests.recordings.reports"))
            assert not name.startswith("tests") or (ours and name != MEASURED), f"{path.name} imports {name}"


def deltas(cause: str, strength: str | None, most: int = 4) -> list[Delta]:
    """The intervals of the first seeds of a cause."""
    wanted = [seed for seed in seeds() if setting_of(seed).causes == (cause,) and setting_of(seed).strength == strength]
    found = [between(one.begin, one.end) for one in map(case, wanted[:most])]
    return [delta for delta in found if isinstance(delta, Delta)]


def value(row: Row, name: str) -> float:
    """A number of a row, 0 where there is none."""
    return number(row.get(name)) or 0.0


def location_shares(delta: Delta, column: str) -> dict[str, float]:
    """Share of the sleeps of the row cache latch by location."""
    sleeps = {
        str(row["location"]): value(row, column)
        for row in delta.rows("v$latch_misses")
        if row["parent_name"] == "row cache objects"
    }
    return {place: count / sum(sleeps.values()) for place, count in sleeps.items()}


def test_too_many_undo_segments_look_like_the_incident() -> None:
    seed = json.loads((DATA / "row-cache-incident-2010.json").read_text(encoding="utf-8"))
    published = {row["where"]: row["sleep_count"] for row in seed["latch_misses"]}
    found = published["kqrpre: find obj"] / sum(published.values())
    child = seed["latch_children"]
    concentrated = child[0]["sleeps"] / sum(row["sleeps"] for row in child)
    for delta in deltas("undo-segments", "strong"):
        sleeps = sorted(value(row, "sleeps") for row in delta.rows("v$latch_children"))
        assert sleeps[-1] > SLEEPS_TO_SAY_SHARES
        assert sleeps[-1] / sum(sleeps) == pytest.approx(concentrated, abs=0.02)
        assert location_shares(delta, "sleep_count")["kqrpre: find obj"] == pytest.approx(found, abs=0.15)
        gets = {str(row["parameter"]): value(row, "gets") for row in delta.rows("v$rowcache")}
        assert max(gets, key=lambda name: gets[name]) == "dc_rollback_segments"
        usage = next(value(row, "usage") for row in delta.rows("v$rowcache") if row["cache#"] == 3)
        assert 0.2 < usage / seed["confirmed"]["value"] < 5


@pytest.fixture
def published() -> dict[str, dict[str, dict[str, list[float]]]]:
    """Numbers of the published cases by id."""
    return {one["id"]: one["numbers"] for one in json.loads((DATA / "cases.json").read_text(encoding="utf-8"))}


def test_volume_after_an_upgrade_looks_like_the_published_case(
    published: dict[str, dict[str, dict[str, list[float]]]],
) -> None:
    places = published["C01"]["miss_sources(sleeps,waiter_sleeps)"]
    for column, name in enumerate(("sleep_count", "wtr_slp_count")):
        whole = sum(counts[column] for counts in places.values())
        for delta in deltas("upgrade-parse-volume", "strong"):
            shares = location_shares(delta, name)
            for place in ("kqrpre: find obj", "kqreqd: reget", "kqreqd"):
                assert shares[place] == pytest.approx(places[place][column] / whole, abs=0.12)


def test_undo_storm_parts_its_waits_as_published(published: dict[str, dict[str, dict[str, list[float]]]]) -> None:
    case_6 = published["C06"]
    ratios = []
    for times, name in (("create_1782_undo_segments_s(10.2,11.1)", "enq: US - contention"), ("online_s", "enq: US")):
        for old_or_new in (0, 1):
            row_cache = sum(case_6[times][part][old_or_new] for part in ("latch: row cache objects", "row cache lock"))
            ratios.append(case_6[times][name][old_or_new] / row_cache)
    for delta in deltas("undo-online-storm", "medium"):
        waited = {str(row["event"]): value(row, "time_waited_micro") for row in delta.rows("v$system_event")}
        ours = sum(
            waited.get(event, 0.0) for event in ("latch: row cache objects", "row cache mutex", "row cache lock")
        )
        assert min(ratios) * 0.7 < waited["enq: US - contention"] / ours < max(ratios)


def test_sequence_taken_between_instances_conflicts_as_published(
    published: dict[str, dict[str, dict[str, list[float]]]],
) -> None:
    requests, conflicts, _ = published["C12"]["ges(requests,conflicts,releases)"]["dc_sequences"]
    for delta in deltas("sequence-conflicts", "medium"):
        (row,) = (row for row in delta.rows("v$rowcache") if row["parameter"] == "dc_sequences")
        ours = value(row, "dlm_conflicts") / value(row, "dlm_requests")
        assert 0.3 < ours / (conflicts / requests) < 3
