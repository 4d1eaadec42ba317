"""Every statement of the loads: what they make, what they send again and again, and what undoes it.

These are the only texts here that change a database. The product does not have them, and only `tests.live.load.session`
sends them. `{number}` stands for a running number, `{password}` for one made up for this run: DDL takes no binds.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

PREFIX = "LATCHSCOPE_LOAD_"
"""Every object, user and profile that a load makes has a name that begins with it."""
LOGON = f"{PREFIX}LOGON"
MAKES = re.compile(r"create (profile|user|table|sequence|trigger) (\w+)")
DROPS: Mapping[str, str] = MappingProxyType(
    {
        "TRIGGER": "drop trigger {}",
        "SEQUENCE": "drop sequence {}",
        "TABLE": "drop table {} purge",
        "USER": "drop user {} cascade",
        "PROFILE": "drop profile {} cascade",
    }
)
"""How each kind is dropped, in the order in which they can be dropped."""


@dataclass(frozen=True, slots=True)
class Load:
    """One problem: what is made first, who then works, and the causes of which latchscope should name one."""

    name: str
    about: str
    makes: tuple[str, ...]
    """Sent once, in this order."""
    causes: tuple[str, ...]
    sends: tuple[tuple[int, tuple[str, ...]], ...] = ()
    """How many sessions send these statements again and again."""
    right: int = 0
    """Clients that log on as LOGON with its password, and off again."""
    wrong: int = 0
    """Clients that try it with a wrong password."""

    @property
    def statements(self) -> tuple[str, ...]:
        """Every statement, in the order of first use."""
        return (*self.makes, *(text for _, texts in self.sends for text in texts))


def drop(kind: str, name: str, owner: str | None = None) -> str:
    """The statement that drops it. Raises ValueError for a name without our prefix, or one that needs quotes."""
    if not re.fullmatch(rf"{PREFIX}[A-Z0-9_]+", name):
        raise ValueError(f"{name!r} is no name of a load")
    return DROPS[kind].format(name if owner is None else f'"{owner}".{name}')


def undo(text: str) -> str:
    """What undoes a statement: the drop of the object that it makes, or of the first that it names. Empty if it only reads."""
    if text.startswith("select count"):
        return ""
    name = re.findall(rf"{PREFIX}[A-Z]+", text)[0]
    return drop(objects()[name], name)


def _table(name: str, more: str = "") -> str:
    return f"create table {PREFIX}{name} (id number){more}"


def _count(name: str) -> str:
    """A statement of its own for each number, so that each is a hard parse."""
    return f"select count(*) from {PREFIX}{name} where id = {{number}}"


LOGS_ON = (
    f"create profile {PREFIX}PROFILE limit failed_login_attempts unlimited",
    f'create user {LOGON} identified by "{{password}}" profile {PREFIX}PROFILE account unlock',
    f"grant create session to {LOGON}",
)
NEXT_NUMBERS = f"select {PREFIX}NUMBERS.nextval from dual connect by level <= 500"
HOLDS = f"alter table {PREFIX}HELD add (extra{{number}} number)"
CHANGES_OF_A_USER = (
    f"grant select on {PREFIX}GRANTED to {LOGON}",
    f"revoke select on {PREFIX}GRANTED from {LOGON}",
    f"alter user {LOGON} account unlock",
)
CHANGES_OF_PARTITIONS = (
    f"alter table {PREFIX}PARTED add partition P{{number}} values less than ({{number}})",
    f"alter table {PREFIX}PARTED drop partition P{{number}}",
)

LOADS: tuple[Load, ...] = (
    Load(
        "sequence",
        "eight sessions take numbers from a sequence without a cache",
        (f"create sequence {PREFIX}NUMBERS nocache",),
        ("sequence-nocache",),
        ((8, (NEXT_NUMBERS,)),),
    ),
    Load(
        "failed-logons",
        "six clients log on as one user with a wrong password, and one with the right one",
        LOGS_ON,
        ("failed-logon-delay", "failed-logons"),
        right=1,
        wrong=6,
    ),
    Load(
        "logons",
        "eight clients log on and off all the time",
        LOGS_ON,
        ("logon-storm", "logon-cursor-mutex", "last-login-update"),
        right=8,
    ),
    Load(
        "ddl-hang",
        "a trigger keeps the DDL of one session open for 20 s while six others parse statements on its table",
        (
            _table("HELD"),
            f"create trigger {PREFIX}HOLD after alter on schema begin if ora_dict_obj_name = '{PREFIX}HELD' then "
            "dbms_session.sleep(20); end if; end;",
        ),
        ("row-cache-lock-hang", "object-ddl"),
        ((1, (HOLDS,)), (6, (_count("HELD"),))),
    ),
    Load(
        "grants",
        "one session changes a user and grants and revokes, while others log on as that user and parse",
        (*LOGS_ON, _table("GRANTED")),
        ("grants-while-logging-on", "ddl-invalidation", "object-ddl", "object-grants"),
        ((1, CHANGES_OF_A_USER), (3, (_count("GRANTED"),))),
        right=3,
    ),
    Load(
        "partitions",
        "one session adds and drops partitions, while six others parse statements on the table",
        (_table("PARTED", " partition by range (id) (partition P0 values less than (1))"),),
        ("ddl-invalidation", "object-ddl", "segment-churn"),
        ((1, CHANGES_OF_PARTITIONS), (6, (_count("PARTED"),))),
    ),
    Load(
        "literals",
        "eight sessions send statements with literals, each of which is parsed",
        (_table("LITERAL"),),
        ("hard-parse-storm",),
        ((8, (_count("LITERAL"),)),),
    ),
)
STATEMENTS = frozenset(text for load in LOADS for text in load.statements)
"""What a session accepts, besides the drops of `drop` and the checks below."""


def objects() -> dict[str, str]:
    """Name → kind of everything that a run can leave behind."""
    return {made[2]: made[1].upper() for load in LOADS for text in load.makes if (made := MAKES.match(text))}


# What the safety checks read. The first two run as the user that writes, the others as the monitoring user.

PLACE = "select sys_context('userenv', 'session_user') as username, sys_context('userenv', 'con_name') as container from dual"
LEFTOVERS = (
    "select object_type as kind, owner, object_name as name from dba_objects "
    "where object_name like 'LATCHSCOPE\\_LOAD\\_%' escape '\\' "
    "and object_type in ('TABLE', 'SEQUENCE', 'TRIGGER') "
    "union all select 'USER', null, username from dba_users where username like 'LATCHSCOPE\\_LOAD\\_%' escape '\\' "
    "union all select distinct 'PROFILE', null, profile from dba_profiles "
    "where profile like 'LATCHSCOPE\\_LOAD\\_%' escape '\\'"
)
UPTIME = "select (sysdate - startup_time) * 86400 as seconds, parallel from v$instance"
SESSIONS = "select distinct username, action from v$session where type = 'USER' and username is not null"
READ_AS_WRITER = frozenset({PLACE, LEFTOVERS})
READ_AS_MONITOR = frozenset({UPTIME, SESSIONS})


def dry_run(loads: tuple[Load, ...]) -> Iterator[str]:
    """Every statement with its undo, as lines that are SQL and comments."""
    yield "-- {number} is a running number, {password} is made up for each run."
    yield "-- At the end, and after Ctrl-C or SIGTERM, everything that was made is dropped."
    for load in loads:
        yield f"\n-- {load.name}: {load.about}"
        for text in load.statements:
            yield f"{text.rstrip(';')};"
            yield f"--   undo: {undo(text) or 'nothing, it only reads'}"
        if load.right or load.wrong:
            yield f"-- clients that log on as {LOGON}: {load.right} with the right password, {load.wrong} with a wrong one"
    yield "\n-- The safety checks only read. The first two run as the user that writes, the others as the monitoring user."
    yield from (f"{sql};" for sql in (PLACE, LEFTOVERS, UPTIME, SESSIONS))
