"""`latchscope check`: what the user can read on each database, and whether the store and the receivers of notifications work."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from collectors.capabilities import Capabilities, Readable, capabilities
from collectors.capture import Capture, dump
from collectors.errors import CollectError, SessionError
from collectors.grants import KQRST_VIEW, NOTHING_IS_REPLACED, TRAITS, DatabaseKind, FoundKind
from collectors.model import Reading, Snapshot, number
from collectors.ondemand.blockers import look_for_blockers, read_each
from collectors.ondemand.changes import read_changes, read_rarely
from collectors.ondemand.check import ask_for_kind
from collectors.ondemand.sampling import EVERY_SECONDS, Burst
from collectors.poll import Connection, poll
from rules.waiting_sessions import HANGING_SECONDS
from rules.waiting_sessions import WAITING_SESSIONS as WAITING_SESSIONS
from service.cli.common import CONFIG, KIND_HELP, ConfigOption, Force, a_number, chosen_kind, settings_of, write_whole
from service.cli.messages import Answer, fail, unwritten
from service.config.load import meant
from service.config.logs import unwritable
from service.config.settings import DatabaseSettings, Settings
from service.escape import visible
from service.extras import MissingExtra
from service.notify.messages import looked_at
from service.state.board import MonitoredDatabase
from service.state.login_gate import LoginGate, LoginStopped, gates_of
from service.store.engine import look_at_store
from service.watch.connect import Connector, open_session
from service.watch.pipeline import with_samples

# `latchscope check` and `latchscope capture`: one short visit to a database, outside the service.


@dataclass(frozen=True, slots=True)
class Preflight:
    """The result of one visit; `error` if it failed."""

    database: str
    found: Capabilities | None
    error: str | None = None

    @property
    def lacking(self) -> tuple[Readable, ...]:
        """Views that a grant would open."""
        return self.found.lacking if self.found else ()


def run_check(
    database: DatabaseSettings, settings: Settings, kind: DatabaseKind | None = None, gate: LoginGate | None = None
) -> Preflight:
    """Log in once, read every view once, and report what came back. Finds `kind` unless it is given.

    `gate`: None for a database that is checked alone.
    """
    watched = MonitoredDatabase(database, settings.interval_of(database), login=gate or LoginGate())
    try:
        with closing(open_session(watched, Connector(settings.oracle, settings.defaults))) as connection:
            snapshot = poll(database.name, connection)
            look = Burst(snapshot.release, looks=1)
            look.look(connection)
            looked = read_each(connection, snapshot.release, wait_chains=settings.defaults.wait_chains == "on")
            hanging = _hangs(snapshot)
            changed = None if hanging else read_changes(connection, snapshot.release)
            rarely = None if hanging else read_rarely(connection, snapshot.release)
            seen = with_samples(snapshot, look.taken(), looked, rarely, changed)
            found = FoundKind(kind, "--for says") if kind else ask_for_kind(connection, snapshot)
            return Preflight(database.name, capabilities(seen, database.user, found))
    except LoginStopped as stopped:
        return Preflight(database.name, None, f"no login tried, because an earlier one was refused: {stopped.why}")
    except SessionError as error:
        return Preflight(database.name, None, str(error))


def take_capture(database: DatabaseSettings, settings: Settings, seconds: float) -> Capture:
    """Two snapshots `seconds` apart, or one if seconds is 0. Raises SessionError."""
    watched = MonitoredDatabase(database, settings.interval_of(database))
    with closing(Connector(settings.oracle, settings.defaults).open(watched)) as connection:
        snapshots = [poll(database.name, connection)]
        if seconds:
            seen = _watch(connection, snapshots[0], seconds)
            snapshots.append(with_samples(poll(database.name, connection, snapshots[0]), seen))
        if settings.defaults.look_for_blocker == "on":
            snapshots[-1] = _with_blockers(snapshots[-1], connection, settings.defaults.wait_chains == "on")
    return Capture(database.name, tuple(snapshots), source=f"latchscope capture over {seconds:g} s")


def _with_blockers(last: Snapshot, connection: Connection, wait_chains: bool) -> Snapshot:
    """The last snapshot, with who holds what sessions hang on, or with what is read rarely if no session hangs."""
    if not _hangs(last):
        return replace(last, readings={**last.readings, **read_rarely(connection, last.release)})
    looked = look_for_blockers(connection, last.release, wait_chains=wait_chains)
    return replace(last, readings={**last.readings, **looked})


def _hangs(snapshot: Snapshot) -> bool:
    """Whether a session is known to hang on the row cache."""
    waited = [number(row.get("wait_time_micro")) or 0.0 for row in snapshot.rows(WAITING_SESSIONS)]
    return max(waited, default=0.0) >= HANGING_SECONDS * 1e6


def _watch(connection: Connection, first: Snapshot, seconds: float) -> Reading:
    """Who waits between two snapshots: a look a second, up to the length of a burst."""
    burst, until = Burst(first.release), time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        burst.look(connection)
        time.sleep(min(EVERY_SECONDS, left))
    return burst.taken()


def as_text(preflight: Preflight, *, whole: bool = True) -> str:
    """A preflight as lines for a terminal; what needs nobody is one line unless the `whole` is wanted."""
    if not whole and preflight.found is not None and not preflight.found.lacking:
        return visible(f"{next(_lines(preflight))}; everything needed can be read")
    return "\n".join(map(visible, _lines(preflight)))


def _lines(preflight: Preflight) -> Iterator[str]:
    if preflight.found is None:
        yield f"{preflight.database}: no session: {(preflight.error or '').removeprefix(f'{preflight.database}: ')}"
        return
    found = preflight.found
    guarded = {"latch": "child latches", "mutex": "mutexes", None: "an unknown mechanism"}[found.mechanism]
    yield f"{preflight.database}: Oracle {found.release or '(release unknown)'}, row cache guarded by {guarded}"
    yield f"  {found.kind}" + ("" if found.kind.certain else "; give --for KIND if you know better")
    yield from (f"  note: {note}" for note in found.notes)
    wide = max((len(view.view) for view in found.views), default=0)
    for view in found.views:
        yield f"  {_MARKS[view.status]} {view.view:<{wide}} {view.why}"
        if view.status in ("refused", "closed", "failed", "optional"):
            yield f"      without it: {view.without}"
    missing = dict.fromkeys(view.sql for view in found.lacking if view.sql)
    if missing:
        yield f"  Run as {TRAITS[found.kind.kind].run_as}:"
        yield from (f"    {line}" for sql in missing for line in sql.splitlines())
        yield from (f"    -- {NOTHING_IS_REPLACED}" for sql in missing if KQRST_VIEW in sql)
    elif not found.lacking:
        closed = any(view.status == "closed" for view in found.views)
        yield "  everything that can be opened here can be read" if closed else "  everything needed can be read"
    extra = dict.fromkeys(view.sql for view in found.views if view.status == "optional" and view.sql)
    if extra:
        yield f"  Optional, for who blocks whom in a hang and for what changed. Run as {TRAITS[found.kind.kind].run_as}:"
        yield from (f"    {line}" for sql in extra for line in sql.splitlines())


_MARKS = {
    "read": "ok     ",
    "refused": "REFUSED",
    "closed": "CLOSED ",
    "failed": "FAILED ",
    "not_asked": "no need",
    "optional": "optional",
}


def check(
    databases: Annotated[list[str] | None, typer.Argument(help="names in the configuration; default: all")] = None,
    config: ConfigOption = CONFIG,
    kind: Annotated[
        str | None, typer.Option("--for", metavar="KIND", help=f"{KIND_HELP}; default: found by itself")
    ] = None,
    verbose: Annotated[bool, typer.Option(help="every view, also of several databases that lack nothing")] = False,
) -> Answer:
    """Try every view on each database, and print the SQL for those that cannot be read. Exit 1 if something is missing.

    Without names it also looks at the store and the audit file, which it does not change, and at the addresses of notifications,
    to which it sends nothing: a line each.
    """
    chosen, known = settings_of(config), chosen_kind(kind) if kind else None
    asked = named_databases(chosen, databases)
    gates = gates_of(asked)
    reports = [run_check(database, chosen, known, gates[database.name]) for database in asked]
    others = [] if databases else list(_others(chosen))
    whole = verbose or len(reports) == 1
    lines = [*(as_text(report, whole=whole) for report in reports), *(visible(each.said) for each in others)]
    unusable = any(report.error for report in reports) or any(each.part == "store" for each in others if not each.works)
    lacking = any(report.lacking for report in reports) or not all(each.works for each in others)
    found = {"databases": reports, "others": others}
    return Answer(found, "\n".join(lines), 2 if unusable else 1 if lacking else 0)


@dataclass(frozen=True, slots=True)
class OtherPart:
    """Whether something that is no database works, and the sentence that says so."""

    part: str
    works: bool
    said: str


def _others(chosen: Settings) -> Iterator[OtherPart]:
    """The store, whether the service could start with it; the audit file if one is set; the address of each notification."""
    look, file = look_at_store(chosen.store), chosen.auth.audit_file
    yield OtherPart("store", look.usable, f"store {look.store}: {look.said}")
    if file is not None:
        why = unwritable(file)
        said = f"audit file {file}: {f'cannot be written: {why}' if why else 'can be written'}"
        yield OtherPart("audit file", why is None, said)
    try:
        for seen in looked_at(chosen.notifications):
            said = f"notification {seen.target}: {seen.why or f'address of {seen.service}, nothing sent'}"
            yield OtherPart("notification", seen.why is None, said)
    except MissingExtra as error:
        yield OtherPart("notification", False, f"notifications: {error}")


def named_databases(chosen: Settings, names: list[str] | None) -> list[DatabaseSettings]:
    known = {database.name: database for database in chosen.databases}
    for name in names or ():
        if name not in known:
            fail(f"no database named {name} in the configuration{meant(name, known)}")
    return [known[name] for name in names] if names else chosen.watched


# `latchscope capture`: one visit to a configured database.


def capture(
    database: Annotated[str, typer.Argument(help="name in the configuration")],
    output: Annotated[Path, typer.Option("--output", "-o", help="the capture file to write")],
    seconds: Annotated[
        float, typer.Option(min=0, max=86400, callback=a_number, help="time between two snapshots; 0 takes only one")
    ] = 30.0,
    force: Force = False,
    config: ConfigOption = CONFIG,
) -> None:
    """Write a capture of a database: two snapshots some seconds apart. Diagnose the file anywhere."""
    chosen = settings_of(config)
    (target,) = named_databases(chosen, [database])
    if seconds:
        typer.echo(f"{database}: two snapshots, {seconds:g} s apart …", err=True)
    try:
        taken = take_capture(target, chosen, seconds)
        write_whole(output, dump(taken), force=force)
    except CollectError as error:
        fail(_of(database, error))
    except OSError as error:
        fail(unwritten(output, error))
    typer.echo(f"{output}: {len(taken.snapshots)} snapshots of {database}", err=True)


def _of(database: str, error: CollectError) -> str:
    """The error, with the name of the database once."""
    return str(error) if str(error).startswith(f"{database}:") else f"{database}: {error}"
