"""Made-up hangs, written by a generator that shares nothing with the readers: read back equal, and drawn as they are."""

import io
import random
from functools import cache

import pytest

from collectors.logs.trace import looks_like_trace, read
from collectors.model import Delta
from rules.engine import diagnose
from rules.model import Diagnosis
from tests.collectors.logs.dumps import CACHES, LAYOUTS, Hang, hang, written

HANGS = 12


@cache
def hangs(layout: str) -> list[tuple[Hang, Delta, Diagnosis]]:
    """Made-up hangs, each with what was read of it, and its diagnosis."""
    found = []
    for number in range(HANGS):
        made = hang(random.Random(f"{layout} {number}"))
        delta = read(io.BytesIO(written(made, layout)), "mill1_ora_6120.trc")
        found.append((made, delta, diagnose(delta)))
    return found


def edges(delta: Delta) -> set[tuple[int, int]]:
    rows = (*delta.rows("chain_sessions"), *delta.rows("waiting_sessions"))
    return {(row["sid"], row["blocking_session"]) for row in rows if row.get("blocking_session") is not None}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_edge_is_read_back(layout: str) -> None:
    for made, delta, _ in hangs(layout):
        assert edges(delta) == made.edges
        assert delta.release == "19.0.0.0.0" and delta.database == "mill1"


@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if layout != "nodes"])
def test_every_session_is_read_back(layout: str) -> None:
    """The nodes of an analysis name no event, so no session of them waits for the row cache."""
    for made, delta, _ in hangs(layout):
        rows = {row["sid"]: row for row in delta.rows("waiting_sessions")}
        waiting = [one for one in made.sleepers if one.ahead]
        assert rows.keys() == {one.sid for one in waiting}
        for one in waiting:
            row = rows[one.sid]
            serial = None if layout == "10.2" else one.serial
            assert row["serial#"] == serial and row["event"] == "row cache lock"
            if layout.startswith("brackets"):
                assert "wait_time_micro" not in row and row["p1"] is None  # that layout says neither
                continue
            assert (row["p1"], row["p3"]) == (made.cache_id, {"S": 3, "X": 5}[one.asks])
            assert int(row["wait_time_micro"] / 1e6) == one.seconds  # type: ignore[operator]


@pytest.mark.parametrize("layout", ["10.2", "11.2", "23ai"])
def test_holders_of_entries_are_read_back(layout: str) -> None:
    for made, delta, _ in hangs(layout):
        held = {row["sid"]: row for row in delta.rows("row_cache_blockers")}
        holders = {one.ahead.sid: made.behind(one.ahead) for one in made.sleepers if one.ahead}
        assert held.keys() == holders.keys()
        for sid, behind in holders.items():
            row = held[sid]
            assert (row["cache#"], row["cache_name"]) == (made.cache_id, CACHES[made.cache_id])
            assert (row["lock_mode"], row["waiters"], row["username"]) == (5, len(behind), "SHOP")
            assert row["lock_request"] == max({"S": 3, "X": 5}[one.asks] for one in behind)
            assert row["key"] is None


@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if layout != "nodes"])
def test_trees_end_where_the_hang_does(layout: str) -> None:
    for made, _, diagnosis in hangs(layout):
        found = diagnosis.blockers
        assert found is not None
        ends = {chain.end.sid for chain in found.chains if chain.end}
        assert ends == made.roots
        assert sum(chain.waiting for chain in found.chains) == len(made.edges)
        for chain in found.chains:
            assert chain.action is None
            assert any("a moment that is over" in missing.fact for missing in chain.missing) or chain.why_no_action
            assert all(session.sources == ("trace",) for session in chain.waiters)


@pytest.mark.parametrize("layout", ["braces", "10.2", "11.2", "23ai"])
def test_a_hang_that_lasts_is_found_and_never_with_high_confidence(layout: str) -> None:
    seen = 0
    for made, _, told in hangs(layout):
        if len(made.roots) > 1 or len(made.edges) < 2 or (layout == "braces" and made.cache_id == 10):
            continue
        seen += 1
        assert "row-cache-lock-hang" in {finding.cause for finding in told.findings}
        assert {finding.confidence.value for finding in told.findings} <= {"medium", "low"}
        assert CACHES[made.cache_id] in told.headline and told.state != "No data"
    assert seen


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_secret_is_kept(layout: str) -> None:
    for made, delta, diagnosis in hangs(layout):
        kept = f"{delta}{diagnosis}"
        assert all(str(waiter) in kept for waiter, _ in made.edges)
        for secret in ("no_one_may_see_this", "hidden", "somebody", "5345"):
            assert secret not in kept


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_file_is_known_with_its_first_lines_cut(layout: str) -> None:
    lines = written(hang(random.Random(layout)), layout).splitlines(keepends=True)
    assert looks_like_trace(b"".join(lines))
    assert looks_like_trace(b"".join(lines[4:]))
    assert looks_like_trace(b"".join(lines[18:]))
