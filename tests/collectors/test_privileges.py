"""What a user may do with the script's grants: every query of a poll with READ or SELECT, and no lock with READ."""

import pytest

from collectors.grants import ON_REQUEST, grants_script
from collectors.ondemand import blockers, holders
from collectors.registry import collectors, groups
from collectors.release import as_sent
from tests.oracle_standin.backend import OracleError
from tests.oracle_standin.granted import GrantedBackend, granted_in, read_by

READ = granted_in(grants_script("LATCHSCOPE", "cdb"), ["read"])
SELECT = granted_in(grants_script("LATCHSCOPE", "11.2"), ["select"])
TEXTS = [
    *(as_sent(text) for one in collectors().values() if not one.setting for text in one.statements.values()),
    *(text.sql for group in groups().values() for text in group.texts.values()),
    *(blockers.ELSEWHERE, holders.STATEMENT),
]


def tables(sql: str) -> frozenset[str]:
    return frozenset(name for name in read_by(sql)[0] if "$" in name or name == "latchscope_kqrst")


def in_one_container(names: frozenset[str]) -> frozenset[str]:
    """With containers a CDB_ view is opened in place of the DBA_ view."""
    return frozenset(name.replace("cdb_", "dba_") for name in names)


def test_both_scripts_open_the_same_views() -> None:
    assert in_one_container(READ) == in_one_container(SELECT) >= set(ON_REQUEST)


@pytest.mark.parametrize("user", [GrantedBackend(READ), GrantedBackend((), SELECT)])
def test_every_text_runs_with_read_alone_and_with_select_alone(user: GrantedBackend) -> None:
    twins = {name for sql in TEXTS for name in read_by(sql)[0] if name.startswith(("dba_", "cdb_"))}
    other = twins - user.granted
    assert in_one_container(frozenset(other)) <= in_one_container(frozenset(twins - other)), "one of each two is opened"
    for sql in TEXTS:
        if other & read_by(sql)[0]:
            continue  # the text for the other kind of database
        assert tables(sql) <= user.granted, sql
        user.answer("erp1", sql, {})


@pytest.mark.parametrize(
    "sql",
    [
        "select name from v$latch for update",
        "select name from v$latch for  UPDATE nowait",
        "lock table v$latch in share mode",
    ],
)
def test_read_does_not_lock(sql: str) -> None:
    with pytest.raises(OracleError) as refused:
        GrantedBackend(READ).answer("erp1", sql, {})
    assert refused.value.code == 1031
    GrantedBackend((), SELECT).answer("erp1", sql, {})


def test_view_that_is_not_granted_does_not_exist() -> None:
    for user in (GrantedBackend(READ - {"v$latch"}), GrantedBackend((), SELECT - {"v$latch"})):
        with pytest.raises(OracleError) as refused:
            user.answer("erp1", "select name from v$latch", {})
        assert refused.value.code == 942
