"""Every statement of the selftest: what it makes, what undoes it, and the loads that it is for.

These are the only texts of latchscope that change a database. The bill of SQL does not have them, and only
`service.selftest.session` sends them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal

PREFIX = "LATCHSCOPE_SELFTEST_"
"""Every object, user and profile that the selftest makes has a name that begins with it."""
LOGON = f"{PREFIX}LOGON"
READS = "-- nothing, it only reads"

ObjectKind = Literal["PROFILE", "USER", "TABLE", "SEQUENCE", "TRIGGER"]
DROPS: Mapping[ObjectKind, str] = MappingProxyType(
    {
        "TRIGGER": "drop trigger {name}",
        "SEQUENCE": "drop sequence {name}",
        "TABLE": "drop table {name} purge",
        "USER": "drop user {name} cascade",
        "PROFILE": "drop profile {name} cascade",
    }
)
"""How each kind is dropped, in the order in which they can be dropped."""


@dataclass(frozen=True, slots=True)
class Change:
    """One statement with its undo, which is a statement or a comment.

    `{number}` stands for a running number and `{password}` for one that is made up for this run: DDL takes no binds.
    """

    text: str
    undo: str

    def filled(self, number: int = 0, password: str = "") -> str:
        """The text to send. Raises ValueError for a password that could end its quotes."""
        if password and not (password.isascii() and password.replace("_", "").isalnum()):
            raise ValueError("a password of the selftest has letters, digits and _ only")
        return self.text.format(number=number, password=password)


@dataclass(frozen=True, slots=True)
class Made:
    """An object, a user or a profile, and the statement that makes it."""

    kind: ObjectKind
    name: str
    create: str

    @property
    def change(self) -> Change:
        """The statement with the one that drops it."""
        return Change(self.create.replace("{name}", self.name), drop(self.kind, self.name))


def drop(kind: ObjectKind, name: str, owner: str | None = None) -> str:
    """The statement that drops it. Raises ValueError for a name without our prefix, or one that needs quotes."""
    if not name.startswith(PREFIX) or not name.replace("_", "").isalnum() or not name.isascii():
        raise ValueError(f"{name!r} is no name of the selftest")
    return DROPS[kind].format(name=name if owner is None else f'"{owner}".{name}')


def _goes_with(made: Made) -> str:
    return f"-- {made.change.undo}"


PROFILE = Made("PROFILE", f"{PREFIX}PROFILE", "create profile {name} limit failed_login_attempts unlimited")
USER = Made("USER", LOGON, f'create user {{name}} identified by "{{password}}" profile {PROFILE.name} account unlock')
NUMBERS = Made("SEQUENCE", f"{PREFIX}NUMBERS", "create sequence {name} nocache")
HELD = Made("TABLE", f"{PREFIX}HELD", "create table {name} (id number)")
HOLD = Made(
    "TRIGGER",
    f"{PREFIX}HOLD",
    f"create trigger {{name}} after alter on schema begin if ora_dict_obj_name = '{HELD.name}' then "
    "dbms_session.sleep(20); end if; end;",
)
GRANTED = Made("TABLE", f"{PREFIX}GRANTED", "create table {name} (id number)")
PARTED = Made(
    "TABLE",
    f"{PREFIX}PARTED",
    "create table {name} (id number) partition by range (id) (partition P0 values less than (1))",
)
LITERAL = Made("TABLE", f"{PREFIX}LITERAL", "create table {name} (id number)")

MAY_LOG_ON = Change(f"grant create session to {LOGON}", _goes_with(USER))
NEXT_NUMBERS = Change(f"select {NUMBERS.name}.nextval from dual connect by level <= 500", _goes_with(NUMBERS))
HOLDS = Change(f"alter table {HELD.name} add (extra{{number}} number)", _goes_with(HELD))
GRANT = Change(f"grant select on {GRANTED.name} to {LOGON}", f"revoke select on {GRANTED.name} from {LOGON}")
REVOKE = Change(GRANT.undo, "-- nothing, it takes the grant back")
CHANGE_USER = Change(f"alter user {LOGON} account unlock", _goes_with(USER))
ADD_PARTITION = Change(
    f"alter table {PARTED.name} add partition P{{number}} values less than ({{number}})",
    f"alter table {PARTED.name} drop partition P{{number}}",
)
DROP_PARTITION = Change(ADD_PARTITION.undo, "-- nothing, it drops the partition that was added")


def _count(made: Made) -> Change:
    """A statement of its own for each number, so that each is a hard parse."""
    return Change(f"select count(*) from {made.name} where id = {{number}}", READS)


@dataclass(frozen=True, slots=True)
class Repeated:
    """Sessions of our own user, each of which sends these statements again and again."""

    sessions: int
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class LogOns:
    """Clients that log on as the user that we made, and off again, with the right or with a wrong password."""

    clients: int
    password: Literal["right", "wrong"]

    @property
    def words(self) -> str:
        """What they do, for people."""
        off = " and off again" if self.password == "right" else ""
        return f"clients that log on as {LOGON} with the {self.password} password{off}: {self.clients}"


@dataclass(frozen=True, slots=True)
class Load:
    """One problem: what it makes first, who then works, and the causes that latchscope should name."""

    name: str
    about: str
    made: tuple[Made, ...]
    work: tuple[Repeated | LogOns, ...]
    causes: tuple[str, ...]
    """One of them should be found while the load runs."""
    also: tuple[Change, ...] = ()
    """Sent once, after everything is made."""


LOADS: tuple[Load, ...] = (
    Load(
        "sequence",
        "eight sessions take numbers from a sequence without a cache",
        (NUMBERS,),
        (Repeated(8, (NEXT_NUMBERS,)),),
        ("sequence-nocache",),
    ),
    Load(
        "failed-logons",
        "six clients log on as one user with a wrong password, and one with the right one",
        (PROFILE, USER),
        (LogOns(6, "wrong"), LogOns(1, "right")),
        ("failed-logon-delay", "failed-logons"),
        (MAY_LOG_ON,),
    ),
    Load(
        "logons",
        "eight clients log on and off all the time",
        (PROFILE, USER),
        (LogOns(8, "right"),),
        ("logon-storm", "logon-cursor-mutex", "last-login-update"),
        (MAY_LOG_ON,),
    ),
    Load(
        "ddl-hang",
        "a trigger keeps the DDL of one session open for 20 s while six others parse statements on its table",
        (HELD, HOLD),
        (Repeated(1, (HOLDS,)), Repeated(6, (_count(HELD),))),
        ("row-cache-lock-hang", "object-ddl"),
    ),
    Load(
        "grants",
        "one session changes a user and grants and revokes, while others log on as that user and parse",
        (PROFILE, USER, GRANTED),
        (Repeated(1, (GRANT, REVOKE, CHANGE_USER)), Repeated(3, (_count(GRANTED),)), LogOns(3, "right")),
        ("grants-while-logging-on", "ddl-invalidation", "object-ddl", "object-grants"),
        (MAY_LOG_ON,),
    ),
    Load(
        "partitions",
        "one session adds and drops partitions, while six others parse statements on the table",
        (PARTED,),
        (Repeated(1, (ADD_PARTITION, DROP_PARTITION)), Repeated(6, (_count(PARTED),))),
        ("ddl-invalidation", "object-ddl", "segment-churn"),
    ),
    Load(
        "literals",
        "eight sessions send statements with literals, each of which is parsed",
        (LITERAL,),
        (Repeated(8, (_count(LITERAL),)),),
        ("hard-parse-storm",),
    ),
)


@cache
def objects() -> tuple[Made, ...]:
    """Everything that a run can leave behind."""
    return tuple(dict.fromkeys(made for load in LOADS for made in load.made))


def changes_of(load: Load) -> Iterator[Change]:
    """Every statement of a load with its undo, in the order of their first use."""
    yield from (made.change for made in load.made)
    yield from load.also
    for part in load.work:
        yield from part.changes if isinstance(part, Repeated) else ()


@cache
def changes() -> frozenset[Change]:
    """Every statement that changes something, which a session of the selftest accepts."""
    return frozenset(change for load in LOADS for change in changes_of(load))


# What the safety checks read. The first two run as our own user, the others as the monitoring user.

PLACE = (
    "select sys_context('userenv', 'session_user') as username, sys_context('userenv', 'con_name') as container, "
    "sys_context('userenv', 'db_unique_name') as database from dual"
)
LEFTOVERS = (
    "select object_type as kind, owner, object_name as name from dba_objects "
    "where object_name like 'LATCHSCOPE\\_SELFTEST\\_%' escape '\\' "
    "and object_type in ('TABLE', 'SEQUENCE', 'TRIGGER') "
    "union all select 'USER', null, username from dba_users where username like 'LATCHSCOPE\\_SELFTEST\\_%' escape '\\' "
    "union all select distinct 'PROFILE', null, profile from dba_profiles "
    "where profile like 'LATCHSCOPE\\_SELFTEST\\_%' escape '\\'"
)
UPTIME = "select (sysdate - startup_time) * 86400 as seconds, parallel from v$instance"
SESSIONS = (
    "select username, action, count(*) as sessions from v$session where type = 'USER' and username is not null "
    "group by username, action"
)
READ_AS_WRITER = frozenset({PLACE, LEFTOVERS})
READ_AS_MONITOR = frozenset({UPTIME, SESSIONS})
