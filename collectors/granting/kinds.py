"""The kinds of database that differ in who may grant what: their names, and what each can open."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, get_args

from collectors.release import at_least

DatabaseKind = Literal["11.2", "cdb", "pdb", "rds", "rds-cdb", "autonomous", "standby"]
KINDS: tuple[DatabaseKind, ...] = get_args(DatabaseKind)


@dataclass(frozen=True, slots=True)
class KindTraits:
    """What a DBA can do on a kind of database."""

    where: str
    """Which databases are of this kind."""
    run_as: str
    """Who runs the grants, and where."""
    beyond: str
    """What nobody can see there; empty if nothing is hidden."""
    opens_x_tables: bool
    """Whether anybody can create a view of SYS over an X$ table."""
    common_user: bool = False
    """Whether the user is a common user, C##…, because latchscope watches all containers from the root."""


OF_ITS_PART = "latches and row cache belong to the whole instance, and rows of other containers may be hidden"
TRAITS: Mapping[DatabaseKind, KindTraits] = {
    "11.2": KindTraits(
        where="11.2, and any later database without containers",
        run_as="SYS",
        beyond="",
        opens_x_tables=True,
    ),
    "cdb": KindTraits(
        where="a container database, 12.1 and later",
        run_as="SYS in CDB$ROOT",
        beyond="",
        opens_x_tables=True,
        common_user=True,
    ),
    "pdb": KindTraits(
        where="a pluggable database whose root you cannot reach",
        run_as="SYS in the PDB, or an administrator of the PDB who may grant on objects of SYS",
        beyond=f"{OF_ITS_PART}; x$kqrst takes a view of SYS, which an administrator of a PDB cannot make",
        opens_x_tables=False,
    ),
    "rds": KindTraits(
        where="Amazon RDS without containers",
        run_as="the master user",
        beyond="x$kqrst is not among the X$ tables that RDS shows",
        opens_x_tables=False,
    ),
    "rds-cdb": KindTraits(
        where="Amazon RDS with containers, from 19c on",
        run_as="the master user, in the PDB",
        beyond=f"{OF_ITS_PART}, and nobody reaches the root on RDS; x$kqrst is not among the X$ tables that RDS shows",
        opens_x_tables=False,
    ),
    "autonomous": KindTraits(
        where="Oracle Autonomous Database",
        run_as="ADMIN",
        beyond=f"{OF_ITS_PART}, and nobody reaches the root; there is no SYS to make a view over x$kqrst",
        opens_x_tables=False,
    ),
    "standby": KindTraits(
        where="a physical standby that is open for reading (Active Data Guard)",
        run_as="SYS on the primary, whose redo brings the user here",
        beyond="",
        opens_x_tables=True,
        common_user=True,
    ),
}

ALIASES: Mapping[str, DatabaseKind] = {
    "non-cdb": "11.2",
    "noncdb": "11.2",
    "container": "cdb",
    "multitenant": "cdb",
    "cdb$root": "cdb",
    "pluggable": "pdb",
    "aws": "rds",
    "rds-pdb": "rds-cdb",
    "adb": "autonomous",
    "atp": "autonomous",
    "adw": "autonomous",
    "adg": "standby",
    "dataguard": "standby",
    "data-guard": "standby",
}
_RELEASE = re.compile(r"(\d+(?:\.\d+)*)(?:g|c|ai)?(?:r\d)?")


class UnknownKind(ValueError):
    """A word that names no kind of database. The message lists the kinds."""


def kind_named(word: str) -> DatabaseKind:
    """The kind with that name, alias or release: 11g has no containers, 19c has. Raises UnknownKind."""
    name = word.strip().lower().replace("_", "-")
    for kind in KINDS:
        if name == kind:
            return kind
    if name in ALIASES:
        return ALIASES[name]
    if release := _RELEASE.fullmatch(name):
        return "cdb" if at_least(release[1], "12") else "11.2"
    close = get_close_matches(name, [*KINDS, *ALIASES], n=1, cutoff=0.5)
    meant = f"; did you mean {close[0]}?" if close else "."
    raise UnknownKind(
        f"{word!r} is not a kind of database{meant} The kinds are {', '.join(KINDS)}; a release such as 19c will do"
    )


def release_named(word: str) -> str | None:
    """The word, where it is a release and not the name of a kind."""
    name = word.strip().lower()
    return name if name not in KINDS and _RELEASE.fullmatch(name) else None


def has_row_cache_latch(word: str) -> bool:
    """Whether a database that this word names may have child latches over its row cache: all but releases from 12.2 on."""
    release = _RELEASE.fullmatch(word.strip().lower())
    return word in KINDS or release is None or not at_least(release[1], "12.2")


def grantee(user: str, kind: DatabaseKind) -> str:
    """The user as the script for that kind creates it: a common user is named C##…."""
    if TRAITS[kind].common_user and not user.upper().startswith("C##"):
        return f"C##{user}"
    return user
