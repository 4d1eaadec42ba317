"""The one command that may end a chain: over thousands of generated hangs none is unsafe, and the right one is given."""

from collections import Counter
from dataclasses import replace

import pytest

from rules.hangs.model import WaitChain
from rules.hangs.tree import wait_chains
from tests.rules.hangs.worlds import world

WORLDS = 2_500


@pytest.mark.parametrize("part", [0, 1])
def test_no_command_is_unsafe_and_the_right_one_is_given_where_all_is_known(part: int) -> None:
    tally: Counter[str] = Counter()
    for seed in range(part * WORLDS, (part + 1) * WORLDS):
        made = world(seed)
        chains = wait_chains(made.looks, made.platform).chains
        given = [chain.action.command for chain in chains if chain.action]
        assert len(given) <= 1, seed
        assert given in ([], [made.right]), f"seed {seed}: {given}, right is {made.right}"
        for chain in chains:
            assert chain.action or chain.why_no_action or chain.missing, f"seed {seed}: no command and no reason"
        if made.known and made.right is not None:
            assert given == [made.right], (
                f"seed {seed}: {[(c.why_no_action, c.missing, c.disagreements) for c in chains]}"
            )
            tally["right, all known"] += 1
        tally["given" if given else "none"] += 1
        tally[f"end is {made.end.kind}"] += 1
    assert tally["right, all known"] >= WORLDS / 25 and tally["none"] >= WORLDS / 2, tally


def test_stored_command_without_its_check_is_read_as_none() -> None:
    old = {
        "first": "look",
        "command": "alter system kill session '300,5511,@1'",
        "where": "here",
        "risk": "r",
        "why_safe": "w",
    }
    chain = WaitChain.model_validate({"end": None, "waiting": 3, "action": old})
    assert chain.action is None and chain.why_no_action and chain.waiting == 3


def test_a_session_that_oracle_calls_critical_is_never_ended() -> None:
    made = next(made for made in map(world, range(WORLDS)) if made.known and made.right is not None)
    (chain,) = [chain for chain in wait_chains(made.looks, made.platform).chains if chain.action]
    assert chain.end is not None
    said = {"instance": chain.end.instance, "sid": chain.end.sid, "fatal_background": "Y"}
    victim = {"victim_instance": chain.end.instance, "victim_session_id": chain.end.sid, "fatal_background": "Y"}
    for looks in (replace(made.looks, hang_sessions=[said]), replace(made.looks, hangs=[victim])):
        refused = wait_chains(looks, made.platform).chains
        assert not any(chain.action for chain in refused), "was: nothing noticed a session that is never found critical"
