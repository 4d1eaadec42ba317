"""The first screen of a dashboard from metrics: severity, cause, since when, and what to do now."""

import re

from rules.model import Confidence, Diagnosis
from service.metrics import verdicts
from service.metrics.family import Labels
from service.metrics.verdict import verdict_samples
from tests.service.stage import BEGAN, Stage


def verdict_of(stage: Stage, db: str) -> dict[str, str]:
    """Name and labels → value, of the families with the verdict."""
    published = stage[db].published
    assert published is not None
    told = b"".join(published.blocks.values()).decode()
    wanted = r"^(latchscope_(?:severity|verdict_info|episode_begin_timestamp_seconds)\{.*\}) (\S+)$"
    return dict(re.findall(wanted, told, re.MULTILINE))


def said_of(diagnosis: Diagnosis) -> Labels:
    """The labels of the verdict without an open episode."""
    (words,) = (labels for family, _, labels in verdict_samples(diagnosis, ()) if family is verdicts.VERDICT)
    return words


def test_trouble_says_cause_since_when_and_what_to_do(stage: Stage) -> None:
    for moment in (45.0, 60.0, 75.0):
        stage.poll("undo-storm", moment)
    told = verdict_of(stage, "undo-storm")
    assert told['latchscope_severity{db="undo-storm"}'] == "3"
    cause = 'cause="undo-segments",cache="dc_rollback_segments"'
    began = told[f'latchscope_episode_begin_timestamp_seconds{{db="undo-storm",{cause}}}']
    assert float(began) == BEGAN.timestamp() + 60
    (said,) = (name for name in told if name.startswith("latchscope_verdict_info"))
    assert 'title="Too many undo segments make every transaction queue"' in said and 'severity="critical"' in said
    assert 'action="Switch to a new undo tablespace.' in said
    assert 'check="Make sure that free undo segment numbers remain, or transactions fail with ORA-01552."' in said
    assert 'do_not="Do not drop the old undo tablespace right after the switch. Long readers get ORA-01555."' in said


def test_trouble_that_the_last_poll_does_not_show_is_easing(stage: Stage) -> None:
    for moment in (45.0, 60.0, 75.0, 170.0, 185.0):
        stage.poll("undo-storm", moment)
    told = verdict_of(stage, "undo-storm")
    assert told['latchscope_severity{db="undo-storm"}'] == "0"
    (said,) = (name for name in told if name.startswith("latchscope_verdict_info"))
    assert 'title="Easing: too many undo segments"' in said and 'severity="info"' in said
    assert 'action="latchscope keeps watching."' in said
    assert 'do_not="Do not call it cured yet. A few more polls must show that it is over."' in said


def test_calm_says_nothing_to_do(stage: Stage) -> None:
    stage.poll("healthy-19c", 10.0)
    stage.poll("healthy-19c", 25.0)
    told = verdict_of(stage, "healthy-19c")
    assert told['latchscope_severity{db="healthy-19c"}'] == "0"
    (said,) = (name for name in told if name.startswith("latchscope_verdict_info"))
    assert 'title="Nothing to do"' in said and 'action="latchscope keeps watching."' in said
    assert 'do_not="Do not tune the row cache."' in said
    assert not [name for name in told if name.startswith("latchscope_episode_begin")]


def test_nothing_known_yet_is_no_severity(stage: Stage) -> None:
    """A dashboard would show it as fine, in green."""
    stage.poll("undo-storm", 45.0)
    told = verdict_of(stage, "undo-storm")
    assert not [name for name in told if name.startswith("latchscope_severity")]
    (said,) = (name for name in told if name.startswith("latchscope_verdict_info"))
    assert 'title="Nothing is known yet"' in said and 'do_not="Do not judge by one poll. A rate needs two."' in said


def test_trouble_of_one_poll_is_named_before_its_episode_begins(stage: Stage) -> None:
    stage.poll("undo-storm", 30.0)
    stage.poll("undo-storm", 60.0)
    told = verdict_of(stage, "undo-storm")
    assert told['latchscope_severity{db="undo-storm"}'] == "3"
    (said,) = (name for name in told if name.startswith("latchscope_verdict_info"))
    assert 'title="Too many undo segments make every transaction queue"' in said
    assert not [name for name in told if name.startswith("latchscope_episode_begin")]


def test_unsure_finding_says_so_and_to_look_first(stage: Stage) -> None:
    for moment in (45.0, 60.0):
        stage.poll("undo-storm", moment)
    published = stage["undo-storm"].published
    assert published is not None
    sure = published.diagnosis
    low = sure.findings[0].model_copy(update={"confidence": Confidence.LOW})
    words = said_of(sure.model_copy(update={"findings": (low, *sure.findings[1:])}))
    assert words["title"] == "Too many undo segments probably make every transaction queue"
    assert words["action"].startswith("Look first: Switch to a new undo tablespace.")
    words = said_of(sure.model_copy(update={"findings": ()}))
    assert words["title"] == "Sessions wait, and no known cause explains it"
    assert words["do_not"] == "Do not change settings while the cause is unknown."
