"""Steps of a remedy, and the paragraph that they become; confirming queries by release: what they read, never read, and see."""

import re
from collections.abc import Iterator

import pytest
import sqlglot
import yaml
from pydantic import ValidationError
from sqlglot import exp
from sqlglot.errors import ParseError

from rules.cause import catalogue
from rules.remedy import NOT_KNOWN, WHERE, PlatformStep, Query, RemedyEffect, RemedyStep, paragraph, risks, where
from tests.collectors.shipped_sql import RELEASES, mistakes, releases_of

LOOK = RemedyStep(do="Count the segments.", sql="select count(*) from sys.undo$", risk="Transactions fail.")
SWITCH = RemedyStep(
    do="Switch.", sql={"11.2": "alter system set undo_tablespace = UNDO_NEW"}, fill_in=("UNDO_NEW",), way_back="Back."
)
POOL = RemedyStep(do="Fix the pool.", setting="pool size = POOL_SIZE", fill_in=("POOL_SIZE",), risk="Requests wait.")


def test_only_a_statement_that_reads_changes_nothing() -> None:
    assert [step.changes for step in (LOOK, SWITCH, POOL, RemedyStep(do="Wait."))] == [False, True, True, True]


def test_a_step_says_where_it_runs_if_there_may_be_containers() -> None:
    look = LOOK.model_copy(update={"run_in": "container"})
    assert {where(look, release) for release in (None, "12.1.0.2.0", "19.0.0.0.0")} == {WHERE["container"]}
    assert where(look, "11.2.0.4.0") == where(RemedyStep(do="Wait."), "19.0.0.0.0") == ""
    pool = POOL.model_copy(update={"run_in": "host"})
    assert where(pool, "11.2.0.4.0") == where(pool, None) == WHERE["host"], "no container is meant"


FLOOR = RemedyStep(
    do="Set a floor.",
    sql="alter system set shared_pool_size = POOL_SIZE",
    run_in="root",
    fill_in=("POOL_SIZE",),
    risk="Less for others.",
    online=True,
    way_back="Set the old one.",
    elsewhere={
        "rds": PlatformStep(
            do="Set it in the parameter group.",
            setting="shared_pool_size = POOL_SIZE",
            run_in="host",
            fill_in=("POOL_SIZE",),
        ),
        "autonomous": PlatformStep(not_possible="Nobody reaches the root."),
    },
)


def test_a_platform_has_its_own_step_or_the_reason_why_there_is_none() -> None:
    plain, group, refused = FLOOR.at(None), FLOOR.at("rds"), FLOOR.at("autonomous")
    assert plain.sql == FLOOR.sql and not plain.elsewhere and plain.run_in == "root"
    assert (group.do, group.sql, group.run_in) == ("Set it in the parameter group.", None, "host")
    assert group.setting == "shared_pool_size = POOL_SIZE" and group.risk == FLOOR.risk and group.way_back
    assert (refused.do, refused.not_possible) == (FLOOR.do, "Nobody reaches the root.")
    assert (refused.sql, refused.risk, refused.way_back, refused.run_in, refused.fill_in) == (
        None,
        None,
        None,
        None,
        (),
    )
    assert paragraph((group, refused)) == "Set it in the parameter group."


def test_a_platform_step_is_one_or_the_reason_and_never_both() -> None:
    for given in ({}, {"do": "Do it.", "not_possible": "Refused."}):
        with pytest.raises(ValidationError, match="not both, not neither"):
            PlatformStep.model_validate(given)
    with pytest.raises(ValidationError, match="fill_in names SIZE"):
        PlatformStep(do="Set it.", fill_in=("SIZE",))


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
    r"alter table \w+\.\w+ modify \(\w+ generated \w+ as identity \(cache \w+( noorder)?\)\)": "Oracle's own",
    r"alter pluggable database \w+ open": "sqlglot has no ALTER PLUGGABLE DATABASE",
    r"lock table \w+\.\w+ partition for \(\w+\) in share mode": "sqlglot has no LOCK TABLE",
    r'purge table \w+\."\w+"': "sqlglot has no PURGE",
    r"alter database datafile \w+ (resize \w+|autoextend on next \w+ maxsize \w+)": "sqlglot has no ALTER DATABASE",
    r"begin rdsadmin\.manage_tracefiles\.hanganalyze; end;": "sqlglot has no PL/SQL",
    r"begin rdsadmin\.rdsadmin_util\.(resize|autoextend)_datafile\(\w+(, '\w+')+\); end;": "sqlglot has no PL/SQL",
    r"begin dbms_\w+\.\w+(\((\s*(\w+ => )?('[^']*'|true),?)+\))?; end;": "sqlglot has no PL/SQL",
}
"""Oracle statements that sqlglot cannot parse, each as the grammar that we use, and why."""


def statements() -> Iterator[tuple[str, str]]:
    for cause, place, step in STEPS:
        yield from ((f"{cause}, step {place}", " ".join(text.split())) for text in step.texts())
        others = ((name, other.sql) for name, other in step.elsewhere.items() if other.sql)
        yield from ((f"{cause}, step {place} on {name}", sql) for name, sql in others)


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


SET_IN_ROOT = re.compile(
    r"alter system set (shared_pool_size|db_cache_size|pga_aggregate_target|result_cache_max_size|cpu_count)\b"
    r"|dbms_connection_pool|alter pluggable database|cdb_registry_sqlpatch"
)
"""What a PDB refuses, on every release or on some, or what it answers for itself alone; the root does it for all."""
REFUSED = re.compile(
    r"alter (system|(pluggable )?database)\b|\b(create|drop) (undo )?tablespace\b|\bsys\.\w|start_pool", re.IGNORECASE
)
"""What Amazon RDS and Autonomous Database refuse, or what nobody knows to work there."""
NOT_FOR_ALL = re.compile(r"(?<![\w$])_[a-z]\w+|\bevent \d{5}|listener\.ora|log of the listener|hanganalyze|alert log")
"""Words for what needs SYS, a host or Oracle Support."""


def test_every_statement_and_setting_says_where_it_runs() -> None:
    assert [(cause, place) for cause, place, step in STEPS if (step.sql or step.setting) and step.run_in is None] == []
    for cause, place, step in STEPS:
        sets = any(SET_IN_ROOT.search(text) for text in step.texts())
        assert (step.run_in == "root") == sets, f"{cause}, step {place}"
        assert step.run_in != "host" or not step.sql, f"{cause}, step {place}: SQL does not run on a host"


@pytest.mark.parametrize("platform", ["rds", "autonomous"])
def test_no_platform_has_a_step_that_it_refuses(platform: str) -> None:
    for cause, place, given in STEPS:
        step, which = given.at(platform), f"{cause}, step {place} on {platform}"
        assert not step.elsewhere and step.run_in != "root", which
        assert [text for text in step.texts() if REFUSED.search(text)] == [], which
        named = NOT_FOR_ALL.search(given.do)
        only_reads = given.sql is not None and not given.changes
        assert not named or given.elsewhere.get(platform) or only_reads, (
            f"{which}: {named and named[0]} is refused there"
        )
        assert not step.not_possible or not (step.sql or step.setting), which


def test_autonomous_changes_only_parameters_that_its_list_names() -> None:
    """Of the parameters that our steps set, the list of Oracle's manual has these three."""
    listed = {"cursor_invalidation", "cursor_sharing", "result_cache_mode"}
    for cause, place, given in STEPS:
        for text in given.at("autonomous").texts():
            assert set(re.findall(r"alter session set (\w+)", text)) <= listed, f"{cause}, step {place}"


def test_a_cache_of_a_sequence_is_also_set_for_identity_columns() -> None:
    for name in ("sequence-nocache", "sequence-conflicts", "sequence-dynamic-cache"):
        steps = catalogue()[name].remedy_steps
        (identity,) = (step for step in steps if "ORA-32793" in step.do)
        text = identity.text("19.0.0.0.0")
        assert text is not None and "modify (COLUMN_NAME generated GENERATION_TYPE as identity (cache" in text
        assert identity.text("11.2.0.4.0") is None, "there are no identity columns before 12.1"
        assert "GENERATION_TYPE" in identity.fill_in, "the kind of column must not change with its cache"


@pytest.mark.parametrize(
    ("gets", "hold"), [((0.5, 0.2), "ordinary"), ((0.0, 1.0), "ordinary"), ((1.0, 1.0), (0.5, 2.0))]
)
def test_effect_of_a_remedy_is_a_range_of_factors_up_to_one(gets: tuple[float, float], hold: object) -> None:
    with pytest.raises(ValueError, match="at most 1, the least first"):
        RemedyEffect.model_validate({"gets": gets, "hold": hold, "because": "so"})


QUERIES = {cause.id: cause.confirm for cause in catalogue().values() if cause.confirm}
HERE = {cause: releases_of(catalogue()[cause]) for cause in QUERIES}
"""The releases of each cause that has a query."""
FORBIDDEN = re.compile(
    r"v\$sql|v\$sqlarea|aud\$|.*audit_(session|trail|object|statement)|unified_audit_trail|dba_common_.*"
)
"""A scan of these takes a mutex for each cursor, or reads a table that only grows."""


def tables(sql: str) -> set[str]:
    return {table.name.lower() for table in sqlglot.parse_one(sql, read="oracle").find_all(exp.Table)} - {"dual"}


def texts(query: Query) -> list[str]:
    given = [query.sql, *([query.names] if query.names else [])]
    return [text for one in given for text in ([one] if isinstance(one, str) else one.values())]


@pytest.mark.parametrize("cause", QUERIES)
def test_query_reads_what_it_says_for_each_release_and_never_what_is_forbidden(cause: str) -> None:
    query = QUERIES[cause]
    read = set().union(*map(tables, texts(query)))
    assert set(query.reads) == read and len(read) == len(query.reads)
    assert [view for view in read if FORBIDDEN.fullmatch(view)] == []
    for release in HERE[cause]:
        text, naming, views = query.text(release), query.naming(release), query.views(release)
        assert text is not None, f"{release}: a release of the cause without a text"
        assert set(views) == tables(text), release
        assert release == "11.2" or not [view for view in views if view.startswith("dba_")], "objects of one container"
        if naming is not None:
            selects = sqlglot.parse_one(naming, read="oracle").assert_is(exp.Query).selects
            columns = [column.alias_or_name for column in selects]
            assert tables(naming) == tables(text), f"{release}: names need a grant of their own"
            assert not {"sql_text", "sql_fulltext"} & {
                one.name for given in selects for one in given.find_all(exp.Column)
            }
            of_objects = any(view.startswith("cdb_") for view in views)
            assert not of_objects or (columns[0] == "con_id" and len(columns) > 2), release


PLAIN = Query(sql="select count(*) from v$latch", reads=("v$latch",), reading="Latches.")
KEYED = Query(
    sql={"11.2": "select count(*) from dba_users", "12.1": "select count(*) from cdb_users"},
    names={"12.1": "select con_id, username from cdb_users"},
    reads=("dba_users", "cdb_users"),
    reading="Users.",
)


@pytest.mark.parametrize(
    ("release", "view", "naming"),
    [
        ("11.2.0.4.0", "dba_users", None),
        ("12.1.0.2.0", "cdb_users", "select con_id, username from cdb_users"),
        ("19.0.0.0.0", "cdb_users", "select con_id, username from cdb_users"),
        (None, "dba_users", "select con_id, username from cdb_users"),
    ],
)
def test_text_is_that_of_the_nearest_lower_release(release: str | None, view: str, naming: str | None) -> None:
    assert KEYED.text(release) == f"select count(*) from {view}"
    assert KEYED.naming(release) == naming


def test_text_of_an_older_release_than_any_is_none() -> None:
    assert KEYED.text("11.1.0.7.0") is None and KEYED.since == "11.2"
    assert PLAIN.text("8.1.7") == "select count(*) from v$latch" and PLAIN.since is None


def test_variants_are_in_the_order_of_releases() -> None:
    turned = KEYED.model_copy(update={"sql": {"12.1": "b", "11.2": "a"}})
    assert list(turned.variants().items()) == [("11.2", "a"), ("12.1", "b")]
    assert PLAIN.variants() == {None: "select count(*) from v$latch"}


@pytest.mark.parametrize(
    ("reads", "release", "con_id", "sees"),
    [
        ("cdb_users", "19.0.0.0.0", 1, True),
        ("cdb_users", "19.0.0.0.0", 0, True),
        ("cdb_users", "19.0.0.0.0", 3, False),
        ("cdb_users", "19.0.0.0.0", None, False),
        ("v$session", "19.0.0.0.0", 1, True),
        ("v$session", "19.0.0.0.0", 3, False),
        ("v$osstat", "19.0.0.0.0", 3, True),
        ("v$osstat", "19.0.0.0.0", None, True),
        ("audit_unified_enabled_policies", "19.0.0.0.0", 1, False),
        ("audit_unified_enabled_policies", "19.0.0.0.0", 0, True),
        ("dba_users", "19.0.0.0.0", 1, False),
        ("dba_users", "11.2.0.4.0", None, True),
        ("dba_users", None, None, False),
    ],
)
def test_sees_all_unless_rows_of_other_containers_are_hidden(
    reads: str, release: str | None, con_id: int | None, sees: bool
) -> None:
    query = Query(sql=f"select count(*) from {reads}", reads=(reads,), reading="Rows.")
    assert query.sees_all(release, con_id) is sees


WRONG = {
    "sql: {}": "sql has no text",
    "sql: {newest: select 1 from dual}": "'newest' is not a release",
    "names: {12c: select 1 from dual}": "'12c' is not a release",
    "reads: []": "reads",
    "decides: for": "decides belongs to a bound",
    "{needs: '>= 1', unbounded: twice}": "unbounded to a query without one",
}


@pytest.mark.parametrize("member", WRONG)
def test_query_that_cannot_work_is_refused(member: str) -> None:
    good = {"sql": "select count(*) from v$latch", "reads": ["v$latch"], "reading": "Latches."}
    with pytest.raises(ValidationError, match=WRONG[member]):
        Query.model_validate(good | yaml.safe_load(member))


def test_every_release_we_know_is_covered_by_some_query() -> None:
    assert {release for releases in HERE.values() for release in releases} == set(RELEASES)
    assert any(set(releases) != set(RELEASES) for releases in HERE.values())
