"""Free text: which cause it names, and which advice does harm."""

from pathlib import Path

import pytest
import yaml

from exam import words
from exam.words import HERE, cause_of, causes, harmful, harms, synonyms
from tests.paths import ROOT

ALL = ("kill-background", "kill-waiter", "grow-shared-pool", "restart")


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("undo-segments", "undo-segments"),
        ("Undo segments brought online in a rush", "undo-online-storm"),
        ("Sequence without a cache (NOCACHE)", "sequence-nocache"),
        ("too many histograms, DC_HISTOGRAM_DEFS", "histogram-hard-parse"),
        ("Adaptive dynamic sampling in the result cache", "result-cache-adaptive"),
        ("Nothing to do.", "nothing"),
        ("changed", None),
        ("", None),
    ],
)
def test_longest_phrase_wins(text: str, cause: str | None) -> None:
    assert cause_of(text) == cause


def test_every_cause_is_named_by_itself() -> None:
    assert {name: cause_of(name) for name in causes() if cause_of(name) != name} == {}


def test_every_cause_of_ours_has_a_line() -> None:
    """By file name, because the exam does not know the rules."""
    ours = {path.stem for path in (ROOT / "rules" / "causes").glob("*.yaml") if ".cases" not in path.name}
    assert len(ours) > 50 and {name for name in ours if cause_of(name) is None} == set()


def test_phrase_of_two_causes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "synonyms.yaml").write_text("a: [one two]\nb: [One, one-two]\n", encoding="utf-8")
    monkeypatch.setattr(words, "HERE", tmp_path)
    synonyms.cache_clear()
    try:
        with pytest.raises(ValueError, match="'one-two' is a phrase of a and of b; keep one"):
            synonyms()
    finally:
        synonyms.cache_clear()


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Kill SMON.", ["kill-background"]),
        ("Do not kill SMON or MMON.", []),
        ("Never kill a background process.", []),
        ("Let it finish; kill LCK0 if it does not.", ["kill-background"]),
        ("Kill the waiting sessions.", ["kill-waiter"]),
        ("Kill all sessions that wait behind it", ["kill-waiter"]),
        ("Find the holder and end it.", []),
        ("Increase the shared pool", ["grow-shared-pool"]),
        ("alter system set shared_pool_size = 8g", ["grow-shared-pool"]),
        ("Do not enlarge the shared pool for it. Restart the instance.", ["restart"]),
        ("Avoid a restart; instead bounce the database", ["restart"]),
        ("Do not wait, but restart the instance", ["restart"]),
        ("A restart of the instance starts the recovery from the beginning.", []),
        ("Restart the application's pool.", []),
        ("Fix the sequence rather than restart the database.", []),
        ("shutdown immediate", ["restart"]),
        ("Move the data to a larger disk. Give the shared pool more room.", ["grow-shared-pool"]),
    ],
)
def test_harm_is_found_and_its_opposite_is_not(text: str, kinds: list[str]) -> None:
    assert [kind for kind, _ in harmful([text], ALL)] == kinds


def test_only_forbidden_advice_counts() -> None:
    assert harmful(["Increase the shared pool."], ("restart",)) == []


def test_holder_that_is_a_background_process_may_not_be_killed() -> None:
    advice = ["alter system kill session '12,5' immediate;"]
    assert [kind for kind, _ in harmful(advice, (), 12)] == ["kill-holder"]
    assert harmful(advice, (), 13) == [] and harmful(advice, ALL) == []
    assert harmful(["Do not kill session 12."], (), 12) == []


def test_every_kind_of_harm_says_what_it_does() -> None:
    told = yaml.safe_load((HERE / "advice.yaml").read_text(encoding="utf-8"))["kinds"]
    assert set(told) == {*ALL, "kill-holder"} == set(harms()) and all(harms().values())
