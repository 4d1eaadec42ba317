"""The texts of a hang: what REST shows before any look, and that nothing is invented."""

from rules.hangs.model import Blocker, Blockers


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
