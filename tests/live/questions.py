"""What one query on a real database settles of docs/unproven.md. The answer is for people, and no test fails on it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from collectors.ondemand.check import limited
from rules.signals import SIGNALS
from rules.signals.quantities import Quotient
from service.sql_list import texts

EVENTS = (
    *cast(Quotient, SIGNALS["parsing_waits_to_row_cache_waits"].read).part.names,
    "row cache mutex",
    "row cache lock",
    "enq: TX - allocate ITL entry",
    "LCK0 row cache object free",
)


@dataclass(frozen=True, slots=True)
class Question:
    """A query for one value, and what its answer means."""

    sql: str
    reading: str


def _one_of(texts: tuple[str, ...]) -> str:
    return ", ".join(f"'{text}'" for text in texts)


QUESTIONS: Mapping[str, Question] = {
    "S3": Question(
        "select count(*) from v$indexed_fixed_column where table_name = 'X$KSLLTR_CHILDREN'",
        "0: no fixed index, so a read of v$latch_children walks through the children of every latch",
    ),
    "S4": Question(
        "select count(*) from v$latch_children where name = 'row cache objects'",
        "from 12.2 on, 0 is what we expect; more means that children are still listed",
    ),
    "S5": Question(
        f"select count(*) from v$event_name where name in ({_one_of(EVENTS)})",
        f"{len(EVENTS)}: all are known by these names; fewer: an older or newer name, whose waits we take for none",
    ),
    "S6": Question(
        "select count(*) from v$osstat where stat_name in ('OS_CPU_WAIT_TIME', 'RSRC_MGR_CPU_WAIT_TIME')",
        "2: both are kept on this platform",
    ),
    "R1": Question(
        "select count(*) from (select begin_time from v$undostat group by begin_time having count(*) > 1)",
        "above 0: with local undo a ten-minute row stands once for each container",
    ),
    "R2": Question(
        "select count(*) from (select pool, name from v$sgastat group by pool, name having count(*) > 1)",
        "above 0: rows repeat, one for each container",
    ),
    "R3": Question(
        "select count(*) from v$mutex_sleep where wait_time < 0",
        "above 0: the wait time of a mutex location is negative here",
    ),
    "R4": Question(
        "select sum(gets) from v$rowcache where parameter = 'dc_users'",
        "ask before and after a thousand soft parses: no more gets means that they are counted in fastgets (12.1 and later)",
    ),
    "R7": Question(
        "select count(*) from v$system_parameter where con_id > 2",
        "above 0: settings that containers have of their own (12.1 and later)",
    ),
    "C2": Question(
        "select count(*) from dba_ddl_locks where mode_held = 'Exclusive' and type = '79'",
        "above 0 during delayed logons: the account status is a lock of type 79 here too",
    ),
    "C5": Question(
        "select count(*) from database_properties",
        "85 on 19c and about sixty on 12.1 is what we were told; one query reads as many entries",
    ),
    "C6": Question(
        "select nvl(sum(executions), 0) from v$sqlstats where sql_id = '9zg9qd9bm4spu'",
        "0 after a logon: the update of the last logon has another sql_id here",
    ),
    "G2": Question(
        "select limit from dba_profiles where profile = 'DEFAULT' and resource_name = 'PASSWORD_LIFE_TIME'",
        "days until the password of a user without a profile of its own expires",
    ),
    "H5": Question(
        "select max(rawtohex(key)) from v$rowcache_parent where cache_name = 'dc_objects'",
        "a user number in four bytes, the length of a name in two (one up to 11g), the name: hold it against dba_objects",
    ),
    "H8": Question(
        "select max(rawtohex(p3raw)) from v$session where event in ('library cache lock', 'library cache pin')",
        "the mode in the last four digits, the type of the object in the four before: 004F for the status of an account",
    ),
}
"""Id of a statement in docs/unproven.md → the query that settles it."""

ACCEPTED = texts() | {limited(question.sql) for question in QUESTIONS.values()}
"""What a session of these tests sends: the bill, and these questions, which the product never asks."""
