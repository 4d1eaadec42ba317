"""When the loads refuse to run. Whatever cannot be found out is a reason to refuse."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from collectors.errors import CollectError
from collectors.model import number
from collectors.oracle import ConnectTarget, Deadlines, OracleConnection, prepare
from collectors.release import at_least
from service.config import load
from service.config.settings import Settings
from tests.live.load.session import WritingSession, addresses, code_of
from tests.live.load.statements import PLACE, PREFIX, READ_AS_MONITOR, SESSIONS, UPTIME

DISPOSABLE = "ON_A_DISPOSABLE_DATABASE"
"""The variable of the environment that must say yes."""
OLDEST = "18.1"
"""The release that brought dbms_session.sleep, which every user may run."""
LONGEST_UPTIME = 86400.0
ORACLES_OWN = frozenset({"SYS", "OPS$ORACLE"})
"""Users of Oracle's jobs, and of the health check in the free images of containers (github.com/gvenzl/oci-oracle-xe)."""
POWERFUL = frozenset({"SYS", "SYSTEM", "SYSBACKUP", "SYSDG", "SYSKM", "SYSRAC", "ADMIN", "RDSADMIN", "PDBADMIN"})


class Refused(Exception):
    """No load runs here. The text says why, and the way out."""


@dataclass(frozen=True, slots=True)
class Place:
    """The database of a run: where its own user writes, and where the monitoring user reads."""

    writer: ConnectTarget
    monitor: ConnectTarget


def plain(user: str) -> str:
    """A user's name as Oracle keeps it."""
    return user.strip('"') if user.startswith('"') else user.upper()


def place_of(environment: Mapping[str, str]) -> Place:
    """Where to write and where to read. Raises Refused if something is missing, first of all the word that nobody needs it."""
    if environment.get(DISPOSABLE) != "yes":
        raise Refused(
            f"it writes to the database; if nobody needs that database, set {DISPOSABLE}=yes in the environment"
        )

    def given(name: str) -> str:
        if value := environment.get(f"LATCHSCOPE_TEST_{name}"):
            return value
        raise Refused(f"LATCHSCOPE_TEST_{name} is missing in the environment; docs/oracle.md says what it is")

    dsn = given("DSN")
    return Place(
        ConnectTarget(dsn, given("WRITER"), given("WRITER_PASSWORD")),
        ConnectTarget(environment.get("LATCHSCOPE_TEST_MONITOR_DSN") or dsn, given("USER"), given("PASSWORD")),
    )


def refuse_users(place: Place, settings: Settings | None) -> None:
    """Raises Refused unless the user that writes is one of its own."""
    name, reader = plain(place.writer.user), plain(place.monitor.user)
    if name in POWERFUL:
        raise Refused(f"{name} may change too much; make a user for the loads, see docs/oracle.md")
    if name == reader:
        raise Refused(f"{name} would write and monitor; make a user for the loads, the monitoring user must only read")
    if name.startswith(PREFIX):
        raise Refused(f"{name} begins like what a load makes and drops; give the user another name")
    watching = {plain(database.user) for database in settings.databases} if settings else set()
    if name in watching:
        raise Refused(f"{name} is a monitoring user of the configuration; make a user for the loads")


def configured(path: Path, *, given: bool) -> Settings | None:
    """The configuration whose databases must be left alone. None if there is none at its usual place. Raises BadSettings."""
    return load.read(path) if given or path.exists() else None


def refuse_watched(place: Place, settings: Settings | None) -> None:
    """Raises Refused if host and port are those of a database that latchscope watches, whatever the service."""
    try:
        here = _reached(place.writer.dsn, None) | _reached(place.monitor.dsn, None)
    except Refused as error:
        raise Refused(f"{error}; correct DSN or MONITOR_DSN: host:port/service") from None
    for database in settings.databases if settings else ():
        if database.scripted is not None:
            continue
        folder = str(database.config_dir) if database.config_dir else None
        try:
            watched = _reached(database.dsn, folder)
        except Refused as error:
            raise Refused(
                f"{database.name} of the configuration cannot be compared: {error}; "
                "correct its dsn, or name a configuration without it in CONFIG"
            ) from None
        if here & watched:
            host, port = sorted(here & watched)[0]
            raise Refused(
                f"latchscope watches {database.name} at {host}:{port}; start a database for the loads at another address"
            )


def _reached(dsn: str, config_dir: str | None) -> frozenset[tuple[str, int]]:
    """The hosts of a dsn as they are written, and as their addresses, each with its port. Raises Refused."""
    try:
        named = addresses(dsn, config_dir)
    except CollectError as error:
        raise Refused(f"its address cannot be read ({code_of(error)})") from None
    if not named:
        raise Refused("its address has no host")
    found = set(named)
    for host, port in named:
        try:
            found |= {(str(one[4][0]), port) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
        except OSError:
            raise Refused(f"the host name {host} cannot be resolved") from None
    return frozenset(found)


def refuse_place(session: WritingSession, place: Place) -> None:
    """Raises Refused for the root of a container database, another user than named, or a release that is too old."""
    if not at_least(session.release, OLDEST):
        raise Refused(f"Oracle {session.release} is too old for the loads; use 18c or later")
    (row,) = session.read(PLACE)
    if row["username"] != plain(place.writer.user):
        raise Refused(f"the session belongs to {row['username']}, not to {place.writer.user}; log on without a proxy")
    if row["container"] in ("CDB$ROOT", "PDB$SEED"):
        raise Refused(f"{row['container']} is no place for objects; use the service of a PDB, such as FREEPDB1")


def refuse_leftovers(session: WritingSession) -> None:
    """Raises Refused if something of an earlier run is there."""
    if found := session.leftovers():
        listed = ", ".join(map(str, found))
        raise Refused(f"an earlier run left {listed}; run `make test-live-load CLEAN=1` with the same variables first")


def refuse_use(session: WritingSession, place: Place) -> None:
    """Raises Refused if the instance is older than a day, or if users other than ours have sessions on it.

    The monitoring user asks, because it may see every container. `session` is an open session of ours. If the monitoring
    user does not see it, both are not on one instance.
    """
    prepare("thin")
    try:
        connection = OracleConnection("load", place.monitor, Deadlines(), READ_AS_MONITOR)
    except CollectError as error:
        raise Refused(f"the monitoring user gets no session: {error}") from None
    try:
        rows = connection.query(UPTIME, {}).as_rows()
        others = connection.query(SESSIONS, {}).as_rows()
    except CollectError as error:
        raise Refused(
            f"the monitoring user cannot read v$instance and v$session: {error}; run the script of `latchscope grants`"
        ) from None
    finally:
        connection.close()
    uptime = number(rows[0].get("seconds")) if rows else None
    if uptime is None:
        raise Refused("v$instance does not say when the instance started; use a database whose start is known")
    if rows[0].get("parallel") != "NO":
        raise Refused("the instance belongs to a cluster, whose other instances it does not see; use a single instance")
    if not any(row["username"] == plain(place.writer.user) and row["action"] == session.mark for row in others):
        raise Refused(
            "the monitoring user does not see our own session; give both users a service of the same database"
        )
    if uptime > LONGEST_UPTIME:
        raise Refused(
            f"the instance started {uptime / 3600:,.0f} hours ago, more than a day; start a new database for the loads"
        )
    ours = ORACLES_OWN | {plain(place.writer.user), plain(place.monitor.user)}
    strangers = sorted({str(row["username"]) for row in others if not str(row["username"]).startswith(PREFIX)} - ours)
    if strangers:
        raise Refused(f"others have sessions: {', '.join(strangers)}; end them, or start a new database for the loads")
