"""The first screen of a dashboard from metrics: severity, cause, since when, and what to do now."""

import re

from rules.catalogue import catalogue
from service.metrics.verdict import action
from tests.service.stage import BEGAN, Stage


def verdict_of(stage: Stage, db: str) -> dict[str, str]:
    """Name and labels → value, of the families that say the verdict."""
    published = stage[db].published
    assert published is not None
    told = b"".join(published.blocks.values()).decode()
    wanted = r"^(latchscope_(?:severity|verdict_info|episode_begin_timestamp_seconds)\{.*\}) (\S+)$"
    return dict(re.findall(wanted, told, re.MULTILINE))


def test_trouble_says_cause_since_when_and_what_to_do(stage: Stage) -> None:
    for moment in (45.0, 60.0, 75.0):
        stage.poll("undo-storm", moment)
    told = verdict_of(stage, "undo-storm")
    assert told['latchscope_severity{db="undo-storm"}'] == "3"
    cause = 'cause="undo-segments",cache="dc_rollback_segments"'
    began = told[f'latchscope_episode_begin_timestamp_seconds{{db="undo-storm",{cause}}}']
    assert float(began) == BEGAN.timestamp() + 60
    (said,) = (name for name in told if name.startswith("latchscope_verdict_info"))
    assert 'title="Too many undo segments"' in said and 'severity="critical"' in said
    assert 'action="Switch to a new undo tablespace.' in said


def test_calm_says_fine_and_nothing_to_do(stage: Stage) -> None:
    stage.poll("healthy-19c", 10.0)
    stage.poll("healthy-19c", 25.0)
    told = verdict_of(stage, "healthy-19c")
    assert told['latchscope_severity{db="healthy-19c"}'] == "0"
    (said,) = (name for name in told if name.startswith("latchscope_verdict_info"))
    assert 'title="Fine"' in said and 'action="Nothing."' in said
    assert not [name for name in told if name.startswith("latchscope_episode_begin")]


def test_waits_of_no_known_cause_are_not_called_fine(stage: Stage) -> None:
    """The first poll of a trouble: it costs, and no episode lasts yet."""
    stage.poll("undo-storm", 30.0)
    stage.poll("undo-storm", 60.0)
    told = verdict_of(stage, "undo-storm")
    assert told['latchscope_severity{db="undo-storm"}'] == "3"
    (said,) = (name for name in told if name.startswith("latchscope_verdict_info"))
    assert 'title="No known cause lasts"' in said


def test_action_of_every_cause_is_one_short_sentence() -> None:
    said = {cause: action(cause) for cause in catalogue()}
    assert [cause for cause, text in said.items() if not 4 <= len(text) <= 120] == []
    assert action("gone") == ""
