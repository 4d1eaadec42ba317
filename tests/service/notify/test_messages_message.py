"""Messages for people: one sentence and a link, the same title at begin and end, and no name that takes effect."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import text as sql

from rules.changes import Change
from rules.model import Confidence, Severity
from service.notify.messages import LONGEST_SENTENCE, MOST_EPISODES, changes_in, message_of
from service.state.episodes import Episode
from service.store.episodes import LoggedChange
from service.store.repository import Repository
from tests.service.store.test_episodes import BEGAN, episode

HOME = "https://latchscope.example.com/"
HIGH, LOW = Confidence.HIGH, Confidence.LOW
NOW = datetime(2026, 3, 1, 12, 1, tzinfo=UTC)


def logged(what: str = "begin", seq: int = 1, minutes: int = 12, **fields: Any) -> LoggedChange:
    given = {"headline": "Too many undo segments on dc_rollback_segments; 31 % of DB time", **fields}
    told = replace(episode(given.pop("database", "erp1")), **given)
    if what == "end":
        told = replace(told, end=told.begin + timedelta(minutes=minutes))
    document = TypeAdapter(Episode).dump_python(told, mode="json")
    return LoggedChange(seq, NOW, told.database, what, document)


def test_begin_and_end_have_one_title_a_sentence_and_a_link() -> None:
    begin, end = message_of([logged()], HOME), message_of([logged("end")], HOME)
    assert begin.title == end.title == "erp1: Too many undo segments on dc_rollback_segments"
    assert begin.body == (
        "WARNING, since 12:00 UTC: Too many undo segments on dc_rollback_segments; 31 % of DB time\n"
        "Do not drop the old undo tablespace right after the switch. Long readers get ORA-01555.\n"
        "https://latchscope.example.com/db/erp1"
    )
    assert (
        end.body == "Resolved after 12 min. It was WARNING, 31.0 % of DB time.\nhttps://latchscope.example.com/db/erp1"
    )
    assert (begin.severity, end.severity) == (Severity.WARNING, None)


def test_message_says_what_to_do_and_what_not_while_it_lasts() -> None:
    storm = {"do_now": "Switch to a new one.", "check_first": "Numbers are free.", "do_not": "Do not drop the old one."}
    sure, unsure = (message_of([logged("worse", confidence=each, **storm)], None).body for each in (HIGH, LOW))
    assert sure.splitlines()[1:] == [
        "Do: Switch to a new one.",
        "Check first: Numbers are free.",
        "Do not drop the old one.",
    ]
    assert "\nDo: Confirm the cause first, it is not certain. If it is proven: Switch to a new one.\n" in unsure
    assert message_of([logged("end", confidence=HIGH, **storm)], None).body.count("\n") == 0
    several = message_of([logged(seq=each, database=f"erp{each}", **storm) for each in (1, 2)], None).body
    assert [line for line in several.splitlines() if line.startswith("  Do: ")] == ["  Do: Switch to a new one."], (
        "once"
    )


def test_what_was_over_before_it_was_told_says_what_it_was() -> None:
    told = message_of(
        [logged(), logged("end", 2, minutes=200, verdict="verified: after the change sleeps fell.")], None
    )
    assert told.body == (
        "Resolved after 3 h 20 min. At its worst WARNING, 31.0 % of DB time: "
        "Too many undo segments on dc_rollback_segments; 31 % of DB time. Verified. After the change sleeps fell."
    )
    assert told.severity is None


def test_several_episodes_are_one_message_with_the_worst_severity() -> None:
    worse = logged("worse", 3, database="erp2", peak_severity=Severity.CRITICAL)
    told = message_of([logged(), logged(seq=2, database="erp2"), worse, logged("end", 4, database="erp3")], HOME)
    assert told.title == "latchscope: 3 troubles on 3 databases, 1 of them over"
    assert told.severity is Severity.CRITICAL
    lines = told.body.splitlines()
    assert [line for line in lines if line.startswith("•")] == [
        "• erp1: Too many undo segments on dc_rollback_segments. WARNING, since 12:00 UTC: "
        "Too many undo segments on dc_rollback_segments; 31 % of DB time",
        "• erp2: Too many undo segments on dc_rollback_segments. CRITICAL now, since 12:00 UTC: "
        "Too many undo segments on dc_rollback_segments; 31 % of DB time",
        "• erp3: Too many undo segments on dc_rollback_segments. Resolved after 12 min. It was WARNING, 31.0 % of DB time.",
    ]
    assert lines[-1] == HOME and "  https://latchscope.example.com/db/erp2" in lines


def test_long_incident_is_cut_and_counted() -> None:
    many = [logged(seq=place, begin=BEGAN + timedelta(minutes=place)) for place in range(MOST_EPISODES + 7)]
    told = message_of(many, None)
    assert told.title == "latchscope: 27 troubles on erp1"
    assert told.body.count("•") == MOST_EPISODES and told.body.endswith("and 7 more")


def test_names_from_a_database_call_nobody_and_drive_nothing() -> None:
    hostile = "\x1b[2J<!channel> @everyone *bold* `code` \u202egnp " + "x" * 10_000
    told = message_of([logged(headline=hostile, cache=hostile, title=hostile)], HOME)
    for text in (told.title, told.body):
        assert not set(text) & set("\x1b<>@*`\u202e"), text[:200]
    assert "[U+001B][2J‹!channel› ＠everyone" in told.body
    assert len(told.title) <= 200 and len(told.body) < LONGEST_SENTENCE + 300


def test_begin_has_the_three_nearest_changes_and_an_end_has_none() -> None:
    asked = list[tuple[str, datetime]]()

    def nearby(database: str, begin: datetime) -> list[Change]:
        asked.append((database, begin))
        times = (-3000, -60, -20, 30)
        return [
            Change(
                at=begin + timedelta(seconds=s),
                kind="ddl",
                text=f"TABLE @APP.T{-s} changed by DDL",
                source="dba_objects",
            )
            for s in times
        ]

    begin = message_of([logged()], HOME, nearby).body.splitlines()
    assert asked == [("erp1", BEGAN)]
    assert begin[-2] == (
        "Changes (UTC): 11:59:00 TABLE ＠APP.T60 changed by DDL, 60 s before the waits began; 11:59:40 TABLE ＠APP.T20 changed "
        "by DDL, 20 s before the waits began; 12:00:30 TABLE ＠APP.T-30 changed by DDL, 30 s after the waits began."
    )
    assert "Changes" not in message_of([logged("end")], HOME, nearby).body
    assert message_of([logged()], HOME).body.count("Changes") == 0, "nothing is known, so nothing is said"


def test_changes_of_a_message_are_those_of_the_store_around_the_begin(store: Repository) -> None:
    near, far = (
        Change(
            at=BEGAN + timedelta(minutes=minutes), kind="patch", text=f"patch {minutes}", source="dba_registry_sqlpatch"
        )
        for minutes in (-5, -90)
    )
    with store.engine.begin() as connection:
        store.timeline.write(connection, [("erp1", near), ("erp1", far), ("erp2", near)])
    assert list(changes_in(store)("erp1", BEGAN)) == [near]
    with store.engine.begin() as connection:
        connection.execute(sql("drop table database_changes"))
    assert list(changes_in(store)("erp1", BEGAN)) == [], "a message goes out without them"
