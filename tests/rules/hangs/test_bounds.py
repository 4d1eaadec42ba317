"""Large hangs, circles and members that no view shows: the trees stay small, and what they leave out is counted and said."""

from collections.abc import Sequence
from dataclasses import replace

from collectors.model import Row
from rules.hangs.graph import ChainLooks
from rules.hangs.model import Blockers, WaitChain
from rules.hangs.tree import MOST_LISTED, MOST_TREES, wait_chains
from rules.hangs.words import heading, in_one_sentence, tree, why_no_command
from service.render.parts import in_markdown, in_text, tree_parts

MANY = 10_000
MOST_CHARACTERS = 12_000
"""Of all trees that are shown, as text. Three trees of twenty lines with their queries are shorter."""


def looks(waiters: Sequence[Row], sessions: Sequence[Row] = (), met: int | None = None) -> ChainLooks:
    return ChainLooks(
        own=1,
        clustered=False,
        cache_of=lambda row: "dc_objects" if row.get("event") == "row cache lock" else None,
        waiters=waiters,
        met=len(waiters) if met is None else met,
        sessions=sessions,
    )


def waiter(sid: int, behind: int | None, **more: int | str | None) -> Row:
    return {
        "sid": sid,
        "serial#": sid,
        "type": "USER",
        "program": "JDBC Thin Client",
        "event": "row cache lock",
        "wait_time_micro": 45_000_000,
        "blocking_instance": None if behind is None else 1,
        "blocking_session": behind,
        **more,
    }


def session(sid: int, behind: int | None, event: str = "enq: TX - row lock contention") -> Row:
    waits = {"state": "WAITING", "event": event} if behind else {"state": "WAITED KNOWN TIME"}
    return {**waiter(sid, behind), "instance": 1, **waits}


def shown(chains: Sequence[WaitChain], left_out: int = 0) -> str:
    """The text of the trees. Its length is checked here, for every hang of this file."""
    found = Blockers(chains=tuple(chains), chains_left_out=left_out)
    text, markdown = "\n".join(in_text(tree_parts(found))), "\n".join(in_markdown(tree_parts(found)))
    assert len(text) < MOST_CHARACTERS and len(markdown) < MOST_CHARACTERS
    assert all(len(in_one_sentence(chain, found)) < MOST_CHARACTERS for chain in chains)
    return " ".join(text.split())


def accounted(chain: WaitChain) -> int:
    """Waiters of a tree: those of its lines, and those that it says are left out."""
    assert len(chain.waiters) <= MOST_LISTED
    assert len(tree(chain)) <= MOST_LISTED + 2, "the end, and the line that counts the rest"
    return sum(each.alike for each in chain.waiters) + chain.left_out


def test_ten_thousand_that_wait_alike_are_one_line() -> None:
    ((chain,), _) = wait_chains(looks([waiter(sid, 1) for sid in range(100, 100 + MANY)], [session(1, None)]))
    assert (chain.waiting, chain.left_out, len(chain.waiters)) == (MANY, 0, 1)
    said = shown([chain])
    assert "10,000 sessions wait behind session 1,1 on instance 1" in said
    assert "10,000 sessions wait for row cache lock on dc_objects, the longest for 45 seconds" in said


def test_ten_thousand_in_many_branches_are_counted_where_they_are_not_listed() -> None:
    branches = [session(sid, 1) for sid in range(2, 2 + MANY // 2)]
    waiting = [waiter(10_000 + each["sid"], each["sid"]) for each in branches]  # type: ignore[operator]
    ((chain,), _) = wait_chains(looks(waiting, [session(1, None), *branches]))
    assert chain.waiting == MANY == accounted(chain)
    assert chain.left_out > 0
    assert f"{chain.left_out:,} more sessions are not listed" in shown([chain])


def test_line_of_a_thousand_sessions_is_cut_and_said() -> None:
    line = [session(sid, sid - 1 if sid > 1 else None) for sid in range(1, 1_001)]
    ((chain,), _) = wait_chains(looks([waiter(5_000, 1_000)], line))
    assert chain.waiting == 1_000 == accounted(chain)
    assert f"{chain.left_out:,} more sessions are not listed" in shown([chain])


def test_ten_thousand_behind_ten_thousand_make_few_trees() -> None:
    ends = [session(sid, None) for sid in range(1, MANY + 1)]
    chains, left_out = wait_chains(looks([waiter(20_000 + sid, sid) for sid in range(1, MANY + 1)], ends))
    assert (len(chains), left_out) == (MOST_TREES, MANY - MOST_TREES)
    assert "9,997 smaller chains are not shown" in shown(chains, left_out)


def test_sessions_that_the_sample_did_not_list_are_said() -> None:
    listed = [waiter(sid, 1) for sid in range(100, 300)]
    ((chain,), _) = wait_chains(looks(listed, [session(1, None)], met=MANY))
    assert (chain.waiting, chain.left_out) == (200, MANY - 200)
    assert "9,800 more sessions are not listed" in shown([chain])


def test_circle_is_drawn_as_one_and_has_no_command() -> None:
    circle = [session(1, 2), session(2, 3), session(3, 1)]
    ((chain,), _) = wait_chains(looks([waiter(sid, 1) for sid in range(100, 140)], circle))
    assert chain.cycle and chain.end is None and chain.action is None
    assert {each.sid for each in chain.waiters} >= {1, 2, 3}
    assert heading(chain) == "3 sessions wait for each other in a circle, and 40 more wait behind it"
    assert "ORA-00060" in why_no_command(chain)
    assert all(f"session {sid},{sid} on instance 1" in shown([chain]) for sid in (1, 2, 3))


def test_circle_that_nobody_outside_waits_behind_is_drawn_as_well() -> None:
    ((chain,), _) = wait_chains(looks([waiter(1, 2), waiter(2, 3), waiter(3, 1)]))
    assert chain.cycle and chain.end is None and chain.action is None and chain.waiting == 3
    assert heading(chain) == "3 sessions wait for each other in a circle"
    assert [each.sid for each in chain.waiters] == [1, 3, 2], "each below the one it waits behind"
    assert "kill session" not in shown([chain]) and "ORA-00060" in why_no_command(chain)


def test_two_circles_and_a_chain_are_three_trees() -> None:
    waiting = [waiter(1, 2), waiter(2, 1), waiter(5, 6), waiter(6, 5), *(waiter(sid, 9) for sid in range(20, 25))]
    (chains, _) = wait_chains(looks(waiting, [session(9, None)]))
    assert [(chain.cycle, chain.waiting) for chain in chains] == [(False, 5), (True, 2), (True, 2)]


def test_lone_circle_of_thousands_is_cut_and_said() -> None:
    ((chain,), _) = wait_chains(looks([waiter(sid, sid % MANY + 1) for sid in range(1, MANY + 1)]))
    assert chain.cycle and chain.waiting == MANY
    assert f"{chain.left_out:,} more sessions are not listed" in shown([chain])


def test_circle_of_thousands_is_cut_and_said() -> None:
    circle = [session(sid, sid % MANY + 1) for sid in range(1, MANY + 1)]
    ((chain,), _) = wait_chains(looks([waiter(20_000, 1)], circle))
    assert chain.cycle and chain.waiting == MANY + 1
    assert f"{chain.left_out:,} more sessions are not listed" in shown([chain])


def test_disagreements_are_in_the_order_of_their_sessions() -> None:
    line = [session(sid, sid - 1) for sid in range(2, 9)]
    said = [{"instance": 1, "sid": sid, "blocker_instance": 1, "blocker_sid": 1} for sid in range(8, 2, -1)]
    ((chain,), _) = wait_chains(replace(looks([waiter(100, 8)], [session(1, None), *line]), chains=said))
    assert [words.split("@")[0] for words in chain.disagreements] == [f"session {sid}" for sid in range(3, 9)]


def test_members_that_no_view_shows_are_said_to_be_missing() -> None:
    named = {"final_blocking_instance": 1, "final_blocking_session": 9}
    middle = {**session(2, None), "state": "WAITING", "event": "library cache lock"}
    ((chain,), _) = wait_chains(looks([waiter(sid, 2, **named) for sid in range(100, 140)], [middle]))
    assert chain.end is not None and (chain.end.sid, chain.action) == (9, None)
    assert [each.certain for each in chain.waiters if each.sid == 2] == [False]
    assert any("its serial number" in missing.fact for missing in chain.missing)
    assert "through sessions that are not known" in shown([chain])


def test_sessions_whose_blocker_nobody_names_make_a_tree_without_an_end() -> None:
    ((chain,), _) = wait_chains(looks([waiter(sid, None) for sid in range(100, 100 + MANY)]))
    assert (chain.end, chain.waiting, accounted(chain)) == (None, MANY, MANY)
    assert "nobody is known to hold what they wait for" in heading(chain)
    assert "who holds what they wait for" in shown([chain])
