"""Confirming queries of the catalogue, by release: the views they read, those they must never read, and what they can see."""

import re

import pytest
import sqlglot
import yaml
from pydantic import ValidationError
from sqlglot import exp

from rules.cause import catalogue
from rules.remedy import Query
from tests.collectors.shipped_sql import RELEASES, releases_of

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
def test_reads_lists_exactly_the_views_of_the_texts(cause: str) -> None:
    query = QUERIES[cause]
    assert set(query.reads) == set().union(*map(tables, texts(query)))
    assert len(set(query.reads)) == len(query.reads)


@pytest.mark.parametrize("cause", QUERIES)
def test_views_are_those_that_the_text_of_the_release_reads(cause: str) -> None:
    query = QUERIES[cause]
    for release in HERE[cause]:
        text, naming = query.text(release), query.naming(release)
        assert text is not None, f"{release}: a release of the cause without a text"
        assert set(query.views(release)) == tables(text), release
        assert naming is None or tables(naming) == tables(text), f"{release}: names need a grant of their own"


@pytest.mark.parametrize("cause", QUERIES)
def test_no_query_from_12_1_on_counts_the_objects_of_one_container(cause: str) -> None:
    later = [release for release in HERE[cause] if release != "11.2"]
    assert [view for release in later for view in QUERIES[cause].views(release) if view.startswith("dba_")] == []


@pytest.mark.parametrize("cause", QUERIES)
def test_no_query_scans_the_library_cache_or_an_audit_trail(cause: str) -> None:
    read = {view for text in texts(QUERIES[cause]) for view in tables(text)}
    assert [view for view in read if FORBIDDEN.fullmatch(view)] == []


@pytest.mark.parametrize("cause", QUERIES)
def test_names_never_give_the_text_of_a_statement(cause: str) -> None:
    named = QUERIES[cause].names
    for text in [] if named is None else [named] if isinstance(named, str) else named.values():
        selects = sqlglot.parse_one(text, read="oracle").assert_is(exp.Query).selects
        assert not {"sql_text", "sql_fulltext"} & {one.name for given in selects for one in given.find_all(exp.Column)}


@pytest.mark.parametrize("cause", QUERIES)
def test_names_of_dictionary_objects_carry_their_container(cause: str) -> None:
    for release in HERE[cause]:
        naming = QUERIES[cause].naming(release)
        if naming is not None and any(view.startswith("cdb_") for view in QUERIES[cause].views(release)):
            columns = [
                column.alias_or_name for column in sqlglot.parse_one(naming, read="oracle").assert_is(exp.Query).selects
            ]
            assert columns[0] == "con_id" and len(columns) > 2, release


WANTED = """
sequence-nocache sequence-conflicts sequence-dynamic-cache undo-segments undo-segment-floor undo-online-storm many-partitions
histogram-hard-parse hard-parse-storm ddl-invalidation statistics-gathering object-grants roles-per-parse logon-storm
recyclebin-ddl-trigger mview-scns
"""


@pytest.mark.parametrize("cause", WANTED.split())
def test_cause_whose_count_says_little_gives_names(cause: str) -> None:
    assert QUERIES[cause].names is not None


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
}


@pytest.mark.parametrize("member", WRONG)
def test_query_that_cannot_work_is_refused(member: str) -> None:
    good = {"sql": "select count(*) from v$latch", "reads": ["v$latch"], "reading": "Latches."}
    with pytest.raises(ValidationError, match=WRONG[member]):
        Query.model_validate(good | yaml.safe_load(member))


def test_every_release_we_know_is_covered_by_some_query() -> None:
    assert {release for releases in HERE.values() for release in releases} == set(RELEASES)
    assert any(set(releases) != set(RELEASES) for releases in HERE.values())
