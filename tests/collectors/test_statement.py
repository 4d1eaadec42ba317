"""What the bill says of a statement: its hash and SQL_ID, what it reads, its binds and its row limit."""

import pytest

from collectors.statement import HASH_LENGTH, Statement, words


def statement(text: str) -> Statement:
    return Statement("poll", "test", text, "why", "when", "how often")


@pytest.mark.parametrize(
    ("text", "sql_id"),
    [
        ("select * from dual", "a5ks9fhw2v9s1"),
        ("select 1 from dual", "520mkxqpf15q8"),
        ("SELECT 1 FROM DUAL", "bunvx480ynf57"),
        ("select sysdate from dual", "7h35uxf5uhmm1"),
    ],
)
def test_sql_id_is_the_one_that_oracle_gives(text: str, sql_id: str) -> None:
    """Published many times, in reports and in v$sql of many databases."""
    assert statement(text).sql_id == sql_id


def test_hash_is_the_beginning_of_what_sha256sum_prints() -> None:
    one = statement("select * from dual")
    assert one.digest == "1fa2ed16cda82320d39c519b15d665543aa1a2fa29f0c0890c36dc388295222f"
    assert one.hash == one.digest[:HASH_LENGTH] and len(one.hash) == HASH_LENGTH
    assert one.hash != statement("select * from dual ").hash


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("select 1 from dual", ("dual",)),
        (
            "select (select count(*) from v$sql) from dual, v$latch l where l.name = 'from v$x'",
            ("v$sql", "dual", "v$latch"),
        ),
        (
            "select a from (select b from v$latch union all select c from v$latch) q, v$session",
            ("v$latch", "v$session"),
        ),
        (
            "select a from v$latch join v$session on a = b where (c, d) in (select e, f from Sys.X)",
            ("v$latch", "v$session", "sys.x"),
        ),
        ("select a, b from v$latch group by a, b order by a, b", ("v$latch",)),
        ("with q as (select a from v$latch) select a from q", ("v$latch",)),
        ("select /* from x */ a -- from y\n from v$latch", ("v$latch",)),
        ("alter session set time_zone='+00:00'", ()),
    ],
)
def test_reads_names_every_view_once(text: str, reads: tuple[str, ...]) -> None:
    assert statement(text).reads == reads


def test_binds_are_the_names_behind_colons_outside_of_literals() -> None:
    assert statement("select ':no' from v$latch where latch# = :latch and :latch > :least").binds == ("latch", "least")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("select a from v$latch where rownum <= 20", 20),
        ("select a from (select b from v$latch where rownum <= 20)", None),
        ("select a from (select b from v$latch) where c = 1 and rownum <= 5", 5),
        ("select a from v$latch", None),
    ],
)
def test_row_limit_is_that_of_the_whole_statement(text: str, rows: int | None) -> None:
    assert statement(text).most_rows == rows


def test_words_leave_out_comments_and_keep_literals() -> None:
    assert words("SELECT /* x */ 'It''s' FROM V$Latch -- y") == ["select", "'It''s'", "from", "v$latch"]
