"""The sentence and the step about hanging sessions: their cache, how long, and how the wait counters relate to it."""

import pytest

from collectors.model import ROW_CACHE_LOCK_EVENT, Row
from rules.context import SignalContext
from rules.explanation.hangs import hang_sentence, hang_step, waiting_groups
from tests.each import each
from tests.rules.contexts import SICK, TOTALS, context_of


def hung(*seconds: float, p1: int | None = 3, waits: int = 0, met: int | None = None, **more: object) -> SignalContext:
    """The sick instance with sessions that have waited this long for the lock, and this many waits that ended."""
    rows: list[Row] = [
        {
            "sid": sid,
            "event": ROW_CACHE_LOCK_EVENT,
            "p1": p1,
            "wait_time_micro": waited * 1e6,
            "met": met or len(seconds),
        }
        for sid, waited in enumerate(seconds)
    ]
    events: list[Row] = [{"event": ROW_CACHE_LOCK_EVENT, "total_waits": waits, "time_waited_micro": 0}]
    return context_of({**SICK, "v$system_event": events, "waiting_sessions": rows}, **more)


@each(
    ("context", "words"),
    [
        (
            hung(671, 40),
            "2 sessions have waited for dc_rollback_segments for up to 11 minutes; no wait has finished, so ",
        ),
        (
            hung(671, 40, 9.9),
            "3 sessions wait for dc_rollback_segments, 2 of them for 10 seconds or longer and up to 11 minutes; no wait ",
        ),
        (hung(11), "1 session has waited for dc_rollback_segments for up to 11 seconds; "),
        (hung(671, p1=37), "1 session has waited for cache id 37, not listed in v$rowcache, for up to 11 minutes; "),
        (hung(671, p1=None), "1 session has waited for row cache lock for up to 11 minutes; "),
        (
            hung(8000, met=300),
            "300 sessions wait for the row cache, and of the 1 longest waits 1 are for dc_rollback_segments, ",
        ),
    ],
)
def test_hang_sentence_begins_with_how_many_for_what_and_how_long(context: SignalContext, words: str) -> None:
    said = hang_sentence(context)
    assert said is not None and said.startswith(words)


@each(
    ("context", "words"),
    [
        (hung(671), "no wait has finished, so v$system_event shows nothing"),
        (hung(671, waits=1), "1 other wait for row cache lock finished meanwhile"),
        (hung(671, waits=90), "90 other waits for row cache lock finished meanwhile"),
        (hung(671, basis=TOTALS), "v$system_event counts a wait only when it ends"),
        (hung(671, refused=["v$system_event"]), "v$system_event counts a wait only when it ends"),
    ],
)
def test_hang_sentence_ends_with_what_the_counter_shows(context: SignalContext, words: str) -> None:
    said = hang_sentence(context)
    assert said is not None and said.endswith(words)


@pytest.mark.parametrize("context", [hung(9.9), hung(), context_of()])
def test_hang_step_needs_somebody_who_hangs(context: SignalContext) -> None:
    assert (hang_sentence(context), hang_step(context)) == (None, None)


def test_hang_step_has_the_sessions_and_the_longest_wait_as_figures() -> None:
    step = hang_step(hung(671, 40))
    assert step is not None and step.statement.endswith("Oracle names no session that blocks them.")
    assert [(figure.value, figure.unit) for figure in step.figures] == [(2, "sessions"), (671.0, "s")]


def test_waiting_groups_count_brief_waits_apart_from_those_that_hang() -> None:
    (group,) = waiting_groups(hung(671, 0.002))
    assert (group.sessions, group.hanging, group.longest_seconds) == (2, 1, 671.0)
    assert waiting_groups(context_of()) == ()
