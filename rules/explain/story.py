"""The first screen of a diagnosis: what is wrong, what to do now, what to check first, what not to do.

A cause has its sentences in its file; where none is found, words.yaml beside this file has them. Page, outages and metrics take
both from here. The terminal (service/render/short.py) and messages still say by themselves that a cause is not certain.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import yaml

from rules.base import Easing
from rules.explain.headline import speaks_against
from rules.explain.walk import TIME_SPENT
from rules.formatting import Value, counted, percent, say, sentence, within
from rules.model import Confidence, Diagnosis, Finding, Severity

HOME = Path(__file__).parent / "words.yaml"
MOST_OF_THEM = 0.9
"""From this share of waiters behind one session on, that session is the first thing to look at."""


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """Sentences; an empty one is not said."""

    title: str = ""
    lede: str = ""
    do: str = ""
    check: str = ""
    do_not: str = ""
    unsure: bool = False
    """Whether to look before anything is changed: the cause is not certain, or the confirming query speaks against it."""
    act: bool = False
    """Whether a cause says what to change."""
    then: str = ""
    """What comes later, in a quiet hour or by developers."""


@cache
def _words() -> Mapping[str, FirstScreen]:
    return {name: FirstScreen(**said) for name, said in yaml.safe_load(HOME.read_text(encoding="utf-8")).items()}


def screen(name: str, **values: Value) -> FirstScreen:
    """The first screen of a state of words.yaml, its slots filled."""
    plain = _words()[name]
    return FirstScreen(*(say(text, values) for text in (plain.title, plain.lede, plain.do, plain.check, plain.do_not)))  # type: ignore[arg-type]


def first_screen(diagnosis: Diagnosis, easing: Easing | None = None, *, watched: bool = True) -> FirstScreen:
    """What a diagnosis says first. `easing`: the trouble that the last poll no longer shows; not watched: a file."""
    if diagnosis.basis is None:
        return screen("restarted" if diagnosis.obstacle == "restart" else "nothing known")
    finding = diagnosis.findings[0] if diagnosis.findings else None
    if easing is not None and (easing.waits or diagnosis.severity is Severity.INFO):
        told = eased(easing)
        return replace(told, lede=f"{_waited_for(diagnosis)} {told.lede}") if easing.waits else told
    if diagnosis.severity is Severity.INFO:
        return of_finding(finding) if finding is not None else _fine(diagnosis, watched=watched)
    if finding is not None:
        return of_finding(finding)
    holder = _one_holder(diagnosis)
    told = screen("one holder", holder=holder) if holder else screen("unexplained")
    title = eased(easing).title if easing is not None and easing.missing else told.title
    return replace(told, title=title, lede=_waited_for(diagnosis), unsure=True)


def of_finding(finding: Finding) -> FirstScreen:
    """What a cause says, as sure as its finding. Of an older release a finding has its remedy alone."""
    do, against = finding.do_now or finding.remedy, speaks_against(finding)
    low = finding.confidence is Confidence.LOW and finding.severity is not Severity.INFO
    if against is not None:
        do = screen("spoken against", against=against, do=do).do
    elif low and finding.confirm is not None:
        do = screen("uncertain", do=do).do
    check = finding.check_first or ""
    unsure = finding.severity is not Severity.INFO and (low or against is not None)
    act = finding.severity is not Severity.INFO
    return FirstScreen(finding.title, finding.lede, do, check, finding.do_not, unsure, act, finding.then or "")


def eased(easing: Easing, at: str = "") -> FirstScreen:
    """What to say of a trouble that the last poll did not show. `at`: until when it was shown, as the title says it."""
    until, change = f"{easing.until:%H:%M:%S}", easing.change
    values = {"cause": f"{within(easing.name)}{at}", "until": until}
    if easing.missing:
        return replace(screen("cannot be judged", **values, missing=easing.missing), unsure=True)
    if easing.waits is None:
        return screen("recovering", **values)
    if change is None:
        return screen("waits fall" if easing.waits == "falling" else "waits go on", **values)
    told = screen("after the change", **values, change_at=f"{change.at:%H:%M:%S}", change=change.text)
    return replace(told, title=screen("waits fall", **values).title) if easing.waits == "falling" else told


def _fine(diagnosis: Diagnosis, *, watched: bool) -> FirstScreen:
    """Nothing to do, because nothing waits, or hardly anything, or the time goes to something else."""
    larger, cost = diagnosis.other_wait if diagnosis.state == "Elsewhere" else None, diagnosis.impact
    if larger is not None:
        event = f"{larger.event}{' and the like' * (larger.share_of_db_time < 0.5)}"
        told = screen("elsewhere", event=larger.event, together=percent(larger.together_share_of_db_time))
        return replace(told, title=told.title.replace(larger.event, event))
    costs = cost is not None and (cost.waiting_sessions or cost.share_of_db_time)
    told = screen("quiet" if diagnosis.state == "Quiet" else "hardly any" if costs else "nothing")
    spent = next((step.statement for step in diagnosis.steps if step.step == TIME_SPENT), "")
    do = told.do if watched else screen("nothing in a file").do
    return replace(told, lede=f"{told.lede} {spent}".strip(), do=do)


def _waited_for(diagnosis: Diagnosis) -> str:
    """What the sessions wait for, if no cause is found, and how many causes are open."""
    trouble = next(iter(diagnosis.troubles), None)
    wait = next((link.name for link in diagnosis.chain if link.kind == "wait"), "")
    of = f" of {trouble.cache}" if trouble and trouble.cache else ""
    open_ = f" {counted(len(diagnosis.undetermined), 'causes')} could not be judged." if diagnosis.undetermined else ""
    return f"They wait for `{wait}`{of}.{open_}" if wait else f"{sentence(diagnosis.headline)}.{open_}"


def _one_holder(diagnosis: Diagnosis) -> str | None:
    """The session behind which most waiting sessions wait."""
    held: Counter[str] = Counter()
    for group in diagnosis.who:
        if group.blocker:
            held[group.blocker] += group.share  # type: ignore[assignment]
    name, share = next(iter(held.most_common(1)), ("", 0.0))
    return name if share >= MOST_OF_THEM else None
