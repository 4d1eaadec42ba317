"""Steps of a remedy: the fields of one, and the paragraph that they become."""

import re
from collections.abc import Iterator

import pytest
import sqlglot
from pydantic import ValidationError
from sqlglot import exp
from sqlglot.errors import ParseError

from rules.catalogue import catalogue
from rules.remedy import IN_CONTAINERS, NOT_KNOWN, RemedyStep, in_containers, paragraph, risks
from tests.collectors.shipped_sql import mistakes, releases_of

LOOK = RemedyStep(do="Count the segments.", sql="select count(*) from sys.undo$", risk="Transactions fail.")
SWITCH = RemedyStep(
    do="Switch.", sql={"11.2": "alter system set undo_tablespace = UNDO_NEW"}, fill_in=("UNDO_NEW",), way_back="Back."
)
POOL = RemedyStep(do="Fix the pool.", setting="pool size = POOL_SIZE", fill_in=("POOL_SIZE",), risk="Requests wait.")


def test_only_a_statement_that_reads_changes_nothing() -> None:
    assert [step.changes for step in (LOOK, SWITCH, POOL, RemedyStep(do="Wait."))] == [False, True, True, True]


def test_statements_say_where_to_run_them_if_there_may_be_containers() -> None:
    assert {in_containers((POOL, LOOK), release) for release in (None, "12.1.0.2.0", "19.0.0.0.0")} == {IN_CONTAINERS}
    assert in_containers((LOOK,), "11.2.0.4.0") == in_containers((POOL,), "19.0.0.0.0") == ""


def test_texts_are_those_of_every_release() -> None:
    assert SWITCH.texts() == ("alter system set undo_tablespace = UNDO_NEW",)
    assert LOOK.texts() == ("select count(*) from sys.undo$",) and POOL.texts() == ()


def test_a_name_to_fill_in_that_stands_nowhere_is_refused() -> None:
    with pytest.raises(
        ValidationError, match="fill_in names UNDO_OLD, which is in neither sql, in_cluster nor setting"
    ):
        RemedyStep(do="Switch.", sql="alter system set undo_tablespace = UNDO_NEW", fill_in=("UNDO_OLD",))


def test_steps_in_one_paragraph() -> None:
    steps = (LOOK, SWITCH, POOL)
    assert paragraph(steps) == "Count the segments. Switch. Fix the pool."
    assert risks(steps) == "Step 1: Transactions fail. Step 3: Requests wait."
    assert risks((SWITCH,)) == NOT_KNOWN
    nothing = RemedyStep(do="Wait.", risk="None.")
    assert risks((nothing, nothing)) == "None." and risks((nothing, LOOK)) == "Step 2: Transactions fail."


def test_a_step_is_ended_in_a_cluster_alone() -> None:
    step = RemedyStep(
        do="Switch.",
        sql="alter system set undo_tablespace = UNDO_NEW",
        in_cluster="sid = 'INSTANCE_NAME'",
        fill_in=("UNDO_NEW", "INSTANCE_NAME"),
        way_back="Set the old one again.",
    )
    there, single = step.on(True), step.on(False)
    assert there.sql == "alter system set undo_tablespace = UNDO_NEW sid = 'INSTANCE_NAME'"
    assert there.way_back == "Set the old one again, also with sid = 'INSTANCE_NAME'."
    assert there.fill_in == ("UNDO_NEW", "INSTANCE_NAME") and there.in_cluster is None
    assert single.sql == step.sql and single.fill_in == ("UNDO_NEW",) and single.way_back == step.way_back
    assert step.on(None) == step, "nobody knows which it is, so both forms stay"
    assert SWITCH.on(True) == SWITCH, "a statement without an ending is the same everywhere"
    with pytest.raises(ValidationError, match="in_cluster needs one text"):
        RemedyStep(do="Switch.", in_cluster="sid = '*'")


STEPS = [(one.id, place, step) for one in catalogue().values() for place, step in enumerate(one.remedy_steps, 1)]
OPAQUE = {
    r"alter (session|system) set [\w$]+ = ('[^']*'|\w+)( scope = \w+)?": "sqlglot keeps ALTER SESSION and SYSTEM as they are",
    r"alter sequence [\w$.]+( cache \w+)?( noorder)?": "sqlglot has no ALTER SEQUENCE",
    r"alter user \w+ (account (un)?lock|quota unlimited on \w+)": "sqlglot has no ALTER USER",
    r"alter database datafile '\w+' autoextend on maxsize \w+": "sqlglot has no ALTER DATABASE",
    r"revoke \w+ from \w+": "sqlglot wants an object after REVOKE, and takes no role",
    r"alter table \w+\.\w+ (move tablespace \w+|noparallel|allocate extent \(size \w+\)|set interval \(\w+\)"
    r"|result_cache \(mode default\)|add partition \w+ values less than \(\w+\)|drop partition \w+)": "Oracle's own",
    r"create undo tablespace \w+ datafile size \w+ autoextend on maxsize \w+": "sqlglot has no CREATE TABLESPACE",
    r"drop tablespace \w+ including contents and datafiles": "sqlglot has no DROP TABLESPACE",
    r"create (private|global) temporary table [\w.$]+ \(id number\) on commit (drop definition|delete rows)": "Oracle's own",
    r"purge table \w+\.\w+": "sqlglot has no PURGE",
    r"begin dbms_\w+\.\w+(\((\s*(\w+ => )?'[^']*',?)+\))?; end;": "sqlglot has no PL/SQL",
}
"""Oracle statements that sqlglot cannot parse, each as the grammar that we use, and why."""


def statements() -> Iterator[tuple[str, str]]:
    for cause, place, step in STEPS:
        yield from ((f"{cause}, step {place}", " ".join(text.split())) for text in step.texts())


def understood(sql: str) -> bool:
    """Whether sqlglot parses a statement into one that it knows, and does not only keep its text."""
    try:
        parsed = sqlglot.parse(sql, read="oracle")
    except ParseError:
        return False
    return len(parsed) == 1 and isinstance(parsed[0], exp.Select | exp.Create | exp.Grant | exp.Revoke)


def test_every_statement_is_one_that_oracle_parses() -> None:
    unread = {(place, sql) for place, sql in statements() if not understood(sql)}
    left = {(place, sql) for place, sql in unread if not any(re.fullmatch(known, sql) for known in OPAQUE)}
    assert left == set(), "neither sqlglot nor the list of what it cannot read knows these"
    unused = [known for known in OPAQUE if not any(re.fullmatch(known, sql) for _, sql in unread)]
    assert unused == [], "sqlglot reads these by now, or no step has them any more"


def test_statements_that_read_ask_for_columns_that_the_releases_of_the_cause_have() -> None:
    wrong = {}
    for cause, place, step in STEPS:
        for release in releases_of(catalogue()[cause]):
            text = step.text(release)
            for name in step.fill_in if text else ():
                text = re.sub(rf"(?<!')\b{re.escape(name)}\b(?!')", "1", text or "")
            if text is not None and not step.changes and (found := mistakes(text, release, polled=False)):
                wrong[cause, place, release] = found
    assert wrong == {}


def test_statements_are_single_and_pasted_as_they_are() -> None:
    wrong = [place for place, sql in statements() if sql.endswith(";") and not sql.startswith("begin ")]
    assert wrong == [], "a client adds the semicolon"


def test_no_step_repeats_the_confirming_query() -> None:
    for one in catalogue().values():
        given = [text for text in (one.confirm.sql, one.confirm.names) if text] if one.confirm else []
        texts = {
            " ".join(text.split()) for each in given for text in ([each] if isinstance(each, str) else each.values())
        }
        steps = {" ".join(text.split()) for step in one.remedy_steps for text in step.texts()}
        assert steps & texts == set(), f"{one.id}: let the step point to the query"


def test_names_to_fill_in_stand_in_every_statement_in_capitals_or_are_a_size() -> None:
    for cause, place, step in STEPS:
        for name in step.fill_in:
            assert re.fullmatch(r"[A-Z][A-Z0-9_$]*|\d+[gm]?|select", name), f"{cause}, step {place}: {name}"
        placeholders = set(re.findall(r"\b(?:UNDO_NEW|UNDO_OLD|[A-Z]+_NAME|OWNER|USERNAME|[A-Z]+_SIZE|SQL_ID|HOLDER_\w+)\b",
                                      " ".join((*step.texts(), step.setting or ""))))  # fmt: skip
        assert placeholders - set(step.fill_in) <= {"DB_NAME"}, f"{cause}, step {place}: not said to be filled in"


def test_a_step_says_what_to_do_in_whole_sentences() -> None:
    for cause, place, step in STEPS:
        told = [step.do, *filter(None, (step.reading, step.risk, step.way_back))]
        assert [text for text in told if not re.fullmatch(r"[A-Z\w].*\.", text, re.DOTALL)] == [], (
            f"{cause}, step {place}"
        )
        assert not step.bound or step.reading, f"{cause}, step {place}: a bound without a reading"


def test_no_step_ends_a_session_or_names_a_blocker_without_its_instance() -> None:
    """Only the wait chain gives a command to end a session: it knows which one, and on which instance."""
    for cause, place, step in STEPS:
        for text in (*step.texts(), step.do):
            assert not re.search(r"kill session '|disconnect session|stop_job|rdsadmin_util", text), (
                f"{cause}, step {place}"
            )
    queries = [(cause, query) for cause, _, step in STEPS for query in step.texts()]
    queries += [
        (one.id, text)
        for one in catalogue().values()
        if one.confirm
        for given in (one.confirm.sql, one.confirm.names)
        if given
        for text in ([given] if isinstance(given, str) else given.values())
    ]
    for cause, query in queries:
        asked = query.partition(" from ")[0]
        for kind in ("final_blocking", "blocking"):
            if re.search(rf"(?<!final_){kind}_session", asked):
                assert re.search(rf"(?<!final_){kind}_instance", asked), f"{cause}: a SID without its instance"
        if re.search(r"\b(sid = HOLDER_SID|\w+\.sid = \w+\.(final_)?blocking_session)", query):
            assert "sys_context('userenv', 'instance')" in query, f"{cause}: a SID looked up on whatever instance"


FINAL = re.compile(r"^(drop|delete|purge|alter table \S+ drop|alter system kill) ")
"""Statements that remove something."""


def test_what_cannot_be_undone_comes_last_and_what_reads_comes_first() -> None:
    for one in catalogue().values():
        gone = [bool(step.way_back and step.way_back.startswith("None")) for step in one.remedy_steps]
        after = one.remedy_steps[gone.index(True) + 1 :] if True in gone else ()
        assert [step.do for step in after if step.changes] == [], (
            f"{one.id}: a step without a way back is the last change"
        )
        lost = [step for step in one.remedy_steps if any(FINAL.match(text) for text in step.texts())]
        assert [step.do for step in lost if not step.risk] == [], (
            f"{one.id}: something is gone, and the step names no risk"
        )
        assert not one.remedy_steps[0].texts() or not FINAL.match(one.remedy_steps[0].texts()[0]), one.id


def test_every_cause_tells_a_risk() -> None:
    assert [one.id for one in catalogue().values() if one.cap != "info" and one.risk == NOT_KNOWN] == []
