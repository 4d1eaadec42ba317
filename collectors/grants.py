"""The exact SQL that lets a user read what latchscope polls: one grant, or the whole script for a kind of database.

Here are also the kinds of database, which differ in who may grant what, and how a session finds out its own.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from textwrap import wrap
from typing import Literal, get_args

from collectors import template_beside
from collectors.commands import command
from collectors.model import Collector, Row, Snapshot, number, text
from collectors.registry import collectors
from collectors.release import OLDEST, at_least, parts, text_for

# The kinds of database that differ in who may grant what: their names, and what each can open.

DatabaseKind = Literal["11.2", "cdb", "pdb", "rds", "rds-cdb", "autonomous", "standby"]
KINDS: tuple[DatabaseKind, ...] = get_args(DatabaseKind)


@dataclass(frozen=True, slots=True)
class KindTraits:
    """What a DBA can do on a kind of database."""

    where: str
    """Which databases are of this kind."""
    run_as: str
    """Who runs the grants, and where."""
    beyond: str = ""
    """What nobody can see there; empty if nothing is hidden."""
    opens_x_tables: bool = False
    """Whether anybody can create a view of SYS over an X$ table."""
    common_user: bool = False
    """Whether the user is a common user, C##…, because latchscope watches all containers from the root."""


OF_ITS_PART = "latches and row cache belong to the whole instance, and rows of other containers may be hidden"
TRAITS: Mapping[DatabaseKind, KindTraits] = {
    "11.2": KindTraits(where="a database without containers, 11.2 and later", run_as="SYS", opens_x_tables=True),
    "cdb": KindTraits(
        where="a container database, 12.1 and later",
        run_as="SYS in CDB$ROOT",
        opens_x_tables=True,
        common_user=True,
    ),
    "pdb": KindTraits(
        where="a pluggable database whose root you cannot reach",
        run_as="SYS in the PDB, or an administrator of the PDB who may grant on objects of SYS",
        beyond=f"{OF_ITS_PART}; x$kqrst takes a view of SYS, which an administrator of a PDB cannot make",
    ),
    "rds": KindTraits(
        where="Amazon RDS without containers",
        run_as="the master user",
        beyond="x$kqrst is not among the X$ tables that RDS shows",
    ),
    "rds-cdb": KindTraits(
        where="Amazon RDS with containers, from 19c on",
        run_as="the master user, in the PDB",
        beyond=f"{OF_ITS_PART}, and nobody reaches the root on RDS; x$kqrst is not among the X$ tables that RDS shows",
    ),
    "autonomous": KindTraits(
        where="Oracle Autonomous Database",
        run_as="ADMIN",
        beyond=f"{OF_ITS_PART}, and nobody reaches the root; there is no SYS to make a view over x$kqrst",
    ),
    "standby": KindTraits(
        where="a physical standby that is open for reading (Active Data Guard)",
        run_as="SYS on the primary, whose redo brings the user here",
        opens_x_tables=True,
        common_user=True,
    ),
}

ALIASES: Mapping[str, DatabaseKind] = {
    "non-cdb": "11.2", "noncdb": "11.2", "container": "cdb", "multitenant": "cdb", "cdb$root": "cdb", "pluggable": "pdb",
    "aws": "rds", "rds-pdb": "rds-cdb", "adb": "autonomous", "atp": "autonomous", "adw": "autonomous",
    "adg": "standby", "dataguard": "standby", "data-guard": "standby",
}  # fmt: skip
_RELEASE = re.compile(r"(\d+(?:\.\d+)*)(?:g|c|ai)?(?:r\d)?")


class UnknownKind(ValueError):
    """A word that names no kind of database. The message lists the kinds."""


def kind_named(word: str) -> DatabaseKind:
    """The kind with that name, alias or release: 11g has no containers, 19c has. Raises UnknownKind."""
    name = word.strip().lower().replace("_", "-")
    for kind in KINDS:
        if name in (kind, *(alias for alias, known in ALIASES.items() if known == kind)):
            return kind
    if release := _RELEASE.fullmatch(name):
        return "cdb" if at_least(release[1], "12") else "11.2"
    close = get_close_matches(name, [*KINDS, *ALIASES], n=1, cutoff=0.5)
    meant = f"; did you mean {close[0]}?" if close else "."
    raise UnknownKind(
        f"{word!r} is not a kind of database{meant} The kinds are {', '.join(KINDS)}; a release such as 19c will do"
    )


def release_named(word: str) -> str | None:
    """The word, where it is a release. The kind 11.2 is one too; `non-cdb` leaves the release open."""
    name = word.strip().lower()
    return name if _RELEASE.fullmatch(name) else None


def has_row_cache_latch(word: str) -> bool:
    """Whether a database that this word names may have child latches over its row cache: all but releases from 12.2 on."""
    release = _RELEASE.fullmatch(word.strip().lower())
    return word in KINDS or release is None or not at_least(release[1], "12.2")


def grantee(user: str, kind: DatabaseKind) -> str:
    """The user as the script for that kind creates it: a common user is named C##…."""
    if TRAITS[kind].common_user and not user.upper().startswith("C##"):
        return f"C##{user}"
    return user


# Finds the kind of database from what the session can see, and says so where it cannot tell.

RDS_CDB = "RDSCDB"
"""The name of every container database on Amazon RDS, which nobody can change."""
NOT_AUTONOMOUS = ("PAAS",)
"""Values of CLOUD_SERVICE that other cloud databases have as well."""


@dataclass(frozen=True, slots=True)
class FoundKind:
    """A kind of database, why latchscope thinks so, and whether it is certain or assumed."""

    kind: DatabaseKind
    why: str
    certain: bool = True
    role: str | None = None
    """Role in Data Guard, if the session asked: PRIMARY, PHYSICAL STANDBY and so on."""

    @property
    def standby(self) -> bool:
        """Whether nothing created here lasts, because users and grants come from the primary."""
        return self.role in ("PHYSICAL STANDBY", "SNAPSHOT STANDBY")

    def __str__(self) -> str:
        kind = "11.2 (stands for any release without containers)" if self.kind == "11.2" else self.kind
        return f"kind {kind}, as {self.why}" if self.certain else f"cannot tell the kind, assumed {kind}: {self.why}"


def detected(snapshot: Snapshot, asked: Row | None = None) -> FoundKind:
    """The kind from a poll alone, or with the answers to `collectors.ondemand.check`."""
    asked = asked or {}
    found = _by_container(snapshot, asked)
    role = text(asked.get("database_role"))
    found = FoundKind(found.kind, found.why, found.certain, role)
    if found.standby and found.kind not in ("rds", "rds-cdb"):
        return FoundKind("standby", f"its role is {role}", role=role)
    return found


def _by_container(snapshot: Snapshot, asked: Row) -> FoundKind:
    session = next(iter(snapshot.rows("sys_context")), {})
    con_id, release = number(session.get("con_id")), snapshot.release
    rds = None if "rds_users" not in asked else bool(number(asked["rds_users"]))
    if con_id is None and (release is None or at_least(release, "12.1")):
        return FoundKind("11.2", "neither release nor container could be read", certain=False)
    if con_id == 1:
        return FoundKind("cdb", "the session is in CDB$ROOT")
    if con_id is not None and con_id > 1:
        return _inside_pdb(text(session.get("cdb_name")), rds, asked)
    if rds:
        return FoundKind("rds", "it has no containers and a user RDSADMIN")
    if rds is None:
        return FoundKind("11.2", "it has no containers, and whether it is on Amazon RDS was not asked", certain=False)
    return FoundKind("11.2", "it has no containers")


def _inside_pdb(cdb: str | None, rds: bool | None, asked: Row) -> FoundKind:
    if cdb == RDS_CDB or rds:
        return FoundKind("rds-cdb", f"the session is in a PDB of {cdb}" + " with a user RDSADMIN" * bool(rds))
    if "cloud_service" not in asked:
        why = "the session is in a PDB, and this database does not say whether it is Autonomous"
        return FoundKind("pdb", why, certain=False)
    service = text(asked["cloud_service"])
    if service and service.upper() not in NOT_AUTONOMOUS:
        return FoundKind("autonomous", f"the session is in a PDB of the cloud service {service}")
    return FoundKind("pdb", "the session is in a PDB of no cloud service that we know")


KQRST_COLUMNS = "kqrstcln, kqrstcid, kqrsttyp, kqrstsno"
"""The columns latchscope reads of x$kqrst. The view that SYS owns has no others."""

KQRST_VIEW = command(
    "create view sys.latchscope_kqrst as select {columns:own} from x$kqrst;", columns=KQRST_COLUMNS.split(", ")
)
NOTHING_IS_REPLACED = (
    "ORA-00955 at create view: a view of that name is there already and stays as it is; drop it if it is not ours"
)
"""The comment above the `create view` statement, which on purpose replaces nothing."""

ANYBODY = "<user>"
"""Placeholder for the user in the grants that a poll names. The poll does not know which user it runs as."""

MOST_SESSIONS = 5
"""One for polls, one for actions, and room: a new session opens before the old one closes, and commands have their own."""

ON_REQUEST = ("v$latchholder", "gv$session")
"""Read only for a holder profile."""


CONTAINERS_SINCE = "12.1"
"""The first release with containers, and so with CDB_ views."""
READ_SINCE = "12.1.0.2"
"""The first release with READ. SELECT also allows `select … for update` and `lock table`; READ allows queries only."""
RDSADMIN: tuple[DatabaseKind, ...] = ("rds", "rds-cdb")
"""Where rdsadmin passes on what the master user has, which is SELECT."""


def privilege(kind: DatabaseKind, release: str | None = None) -> Literal["read", "select"]:
    """The least privilege that opens a view. Without a release, what every release of the kind knows but 12.1.0.1."""
    if kind in RDSADMIN or (release is None and kind == "11.2"):
        return "select"
    given = parts(release or READ_SINCE)
    return "read" if given >= parts(READ_SINCE)[: len(given)] else "select"  # 12c may be 12.1.0.2


def privilege_on(view: str, release: str | None) -> str:
    """The grant without whom it is for, as a sentence names it."""
    return command("grant {privilege:own} on {view:own}", privilege=privilege("11.2", release), view=view)


def grants_either(collector: Collector) -> tuple[str, ...]:
    """The grants that a poll may name for a view: of SELECT, or of READ where the release has it."""
    return tuple(grant(collector, ANYBODY, release=release) for release in (None, CONTAINERS_SINCE, READ_SINCE))


def grant(collector: Collector, user: str, kind: DatabaseKind = "11.2", release: str | None = None) -> str:
    """The SQL that lets the user read a view, for the person who grants on that kind of database and release."""
    (granted,) = grant_lines([_object(collector, kind, release)], kind, user, release)
    return f"{KQRST_VIEW}\n{granted}" if collector.view == "x$kqrst" else granted


def grant_lines(objects: Iterable[str], kind: DatabaseKind, user: str, release: str | None = None) -> Iterator[str]:
    """A grant for each object of SYS: `v$latch`, `dba_users` or `sys.v_$latch`. `user` as `kinds.grantee` names it.

    Each is one line, which SQL*Plus needs, or on RDS a block with its slash.
    """
    for name in objects:
        granted_on = owned_by_sys(name)
        if kind in RDSADMIN:
            bare = granted_on.removeprefix("sys.").upper()
            text = "begin rdsadmin.rdsadmin_util.grant_sys_object('{view:own}', '{user:own}', 'SELECT'); end;\n/"
            yield command(text, view=bare, user=user.upper())
        else:
            text = "grant {privilege:own} on {view:own} to {user:own};"
            yield command(text, privilege=privilege(kind, release), view=granted_on, user=user)


def owned_by_sys(name: str) -> str:
    """A grant on the public synonym v$latch fails. The view behind it is sys.v_$latch."""
    bare = name.lower().removeprefix("sys.")
    return "sys." + re.sub(r"^(g?v)\$", r"\1_$", bare)


def grants_script(
    user: str, kind: DatabaseKind, *, asks: bool = True, latch: bool = True, release: str | None = None
) -> str:
    """The whole least-privilege script: a user that may log in and read what latchscope polls, and nothing else.

    `latch`: child latches may guard the row cache, so that a view over x$kqrst is worth an object of SYS.

    `asks`: SQL*Plus asks for the password. Otherwise the caller of the script has defined `latchscope_password`.

    `release`: the release that stood for the kind, such as 19c, which the script names. Raises WithheldError for a user whose
    name is none that latchscope creates.
    """
    name, opens_x_tables = command("{user:own}", user=grantee(user, kind)), latch and TRAITS[kind].opens_x_tables
    older, newer = _is_older(kind, release), _may_have_containers(kind, release)
    optional = [each for each in collectors().values() if each.optional and each.granted_on and not each.for_changes]
    # One for each object: two collectors may read the same view.
    polled = {each.granted_on: each for each in collectors().values() if each.granted_on and not each.optional}
    in_hangs, of_changes = _wanted_in_hangs(kind, release), _read_for_changes(kind, release)
    newer_changes = _newer_for_changes() if older and newer else []
    return template_beside(__file__).render(
        user=name,
        kind=kind,
        release=release,
        asks=asks,
        latch=latch,
        traits=TRAITS[kind],
        on_rds=kind in RDSADMIN,
        privilege=privilege(kind, release),
        read_since=READ_SINCE,
        most_sessions=MOST_SESSIONS,
        older=older,
        newer=newer,
        nothing_is_replaced=NOTHING_IS_REPLACED,
        granted=lambda objects: "\n".join(grant_lines(objects, kind, name, release)),
        polled=[
            (each.view, grant(each, name, kind, release))
            for each in polled.values()
            if opens_x_tables or not each.view.startswith("x$")
        ],
        on_request=ON_REQUEST,
        of_containers=[each.granted_on for each in optional if each.every_seconds or not each.on_request],
        in_hangs=in_hangs,
        newer_in_hangs=_newer_in_hangs(kind, release),
        analysed=[each.granted_on for each in optional if each.on_request and each.setting],
        changes=[each for each in of_changes if each not in (*in_hangs, *newer_changes)],
        newer_changes=newer_changes,
    )


def confirming_script(
    user: str,
    kind: DatabaseKind,
    before: Mapping[str, Sequence[str]],
    since: Mapping[str, Sequence[str]],
    release: str | None = None,
) -> str:
    """The grants that confirming queries need besides `grants_script`: each view with the causes it serves, then its grant.

    `before`, `since`: view → ids of causes, for releases before 12.1 and from 12.1 on. A database without containers may
    be either.
    """
    name = grantee(user, kind)
    above = frozenset(map(owned_by_sys, (*_wanted_in_hangs(kind, release), *_read_for_changes(kind, release))))
    older, newer = before if _is_older(kind, release) else {}, since if _may_have_containers(kind, release) else {}
    lines = [
        "-- For confirming queries, which run only when asked for. Leave out what you do not want to open: the causes named",
        "-- beside a view then say which grant they lack.",
    ]
    if older and newer:
        older = {view: tuple(dict.fromkeys((*causes, *newer.get(view, ())))) for view, causes in older.items()}
    lines += _serving(older, kind, name, release, above)
    newer = {view: causes for view, causes in newer.items() if view not in older}
    if older and newer:
        lines.append(
            "-- From 12.1 on the queries read these. An older release has none of them: ORA-00942 is expected there."
        )
    lines += _serving(newer, kind, name, release, above)
    return "\n".join(lines) + "\n"


def granted_for_polls(view: str) -> bool:
    """Whether `grants_script` opens a view already."""
    polled = (*(one.granted_on for one in collectors().values() if not one.for_changes), *ON_REQUEST)
    return owned_by_sys(view) in {owned_by_sys(name) for name in polled if name}


def _serving(
    views: Mapping[str, Sequence[str]], kind: DatabaseKind, user: str, release: str | None, above: Collection[str]
) -> Iterator[str]:
    """The grants by view, each below its causes. `above`: objects that the script has granted already as optional."""
    for view, causes in views.items():
        if granted_for_polls(view):
            continue
        granted = owned_by_sys(view) in above
        yield from wrap(
            f"{view}{' (granted above)' * granted}: {', '.join(causes)}",
            116,
            initial_indent="-- ",
            subsequent_indent="--   ",
            break_on_hyphens=False,
        )
        if not granted:
            yield from grant_lines([view], kind, user, release)


def _wanted_in_hangs(kind: DatabaseKind, release: str | None) -> list[str]:
    """The objects that are read only while sessions hang."""
    given = release if release is not None and at_least(release, OLDEST) else OLDEST  # 11g may be any 11.2
    oldest = given if _is_older(kind, release) else None
    return [_object(each, kind, release) for each in _hang_views() if text_for(each.statements, oldest)]


def _newer_in_hangs(kind: DatabaseKind, release: str | None) -> list[str]:
    """Those of later releases, where the script does not know on which one it runs."""
    if release is not None or not _is_older(kind, release):
        return []
    return [_object(each, kind, release) for each in _hang_views() if not text_for(each.statements, OLDEST)]


def _hang_views() -> list[Collector]:
    every = (each for each in collectors().values() if each.optional and each.granted_on and not each.for_changes)
    return [each for each in every if each.on_request and not each.every_seconds and not each.setting]


def _read_for_changes(kind: DatabaseKind, release: str | None) -> list[str]:
    """The objects that the timeline of changes reads, each once: of both kinds of release, if it may be either."""
    wanted = [each for each in collectors().values() if each.for_changes]
    older = _is_older(kind, release)
    read = [_object(each, kind, release) for each in wanted if not older or OLDEST in each.statements]
    newer = _newer_for_changes() if older and _may_have_containers(kind, release) else []
    return list(dict.fromkeys((*read, *newer)))


def _newer_for_changes() -> list[str]:
    """The objects that the timeline reads from 12.1 on."""
    wanted = (each for each in collectors().values() if each.for_changes)
    return list(dict.fromkeys(_object(each, "cdb", CONTAINERS_SINCE) for each in wanted))


def _is_older(kind: DatabaseKind, release: str | None) -> bool:
    """Whether the database is from before 12.1, or may be."""
    given = parts(release or OLDEST)
    return kind in ("11.2", "rds") and given < parts(CONTAINERS_SINCE)[: len(given)]  # 12c may be any of its releases


def _may_have_containers(kind: DatabaseKind, release: str | None) -> bool:
    """Whether the database is of 12.1 or later, or may be."""
    return release is None or not _is_older(kind, release)


def _object(collector: Collector, kind: DatabaseKind, release: str | None) -> str:
    """The object that a collector reads there: a DBA_ view, from 12.1 on its CDB_ view, which every database has there."""
    if not _is_older(kind, release) and "cdb_" in collector.statements.get(CONTAINERS_SINCE, ""):
        return collector.granted_on.replace("sys.dba_", "sys.cdb_")
    return collector.granted_on
