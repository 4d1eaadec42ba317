"""The texts of a hang: what REST shows before any look, and that nothing is invented."""

from rules.hangs.model import Blocker, Blockers, WaitChain


def test_blockers_of_nobody_say_nothing() -> None:
    assert Blockers().model_dump() == {
        "blockers": (),
        "chains": (),
        "chains_left_out": 0,
        "unknown": None,
        "library_cache": (),
    }


def test_blocker_of_whom_nothing_is_known_has_no_command() -> None:
    told = Blocker(cache="dc_objects").model_dump(exclude_none=True)
    assert told == {"cache": "dc_objects"}


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
