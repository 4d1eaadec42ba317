"""`latchscope selftest`: the one command that writes to a database. It needs one that nobody needs."""

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from collectors.errors import CollectError
from collectors.oracle import ConnectTarget
from service.cli.common import CONFIG, a_number
from service.cli.messages import fail, say, unwritten
from service.config.load import read_secret
from service.config.settings import BadSettings, DatabaseSettings
from service.selftest.result import LoadSeen, SelftestResult, result_of
from service.selftest.run import POLLS_IN_A_LOAD, NotUndone, Watch, clean, dry_run, run_load, stopping
from service.selftest.safety import (
    FLAG,
    Place,
    Refused,
    configured,
    refuse_leftovers,
    refuse_place,
    refuse_use,
    refuse_users,
    refuse_watched,
)
from service.selftest.session import WritingSession
from service.selftest.statements import LOADS, Load


def selftest(
    dsn: Annotated[str | None, typer.Option(help="host:port/service of a PDB in which to write")] = None,
    user: Annotated[str | None, typer.Option(help="user of its own, which may make and drop objects and users")] = None,
    password_file: Annotated[Path | None, typer.Option(help="file with the password of --user")] = None,
    monitor_dsn: Annotated[
        str | None, typer.Option(help="where the monitoring user logs on, such as the root; default: --dsn")
    ] = None,
    monitor_user: Annotated[str | None, typer.Option(help="user of `latchscope grants`, which polls")] = None,
    monitor_password_file: Annotated[Path | None, typer.Option(help="file with the password of --monitor-user")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="the file to write")] = Path("selftest.json"),
    seconds: Annotated[float, typer.Option(min=1, max=3600, callback=a_number, help="how long each load runs")] = 60.0,
    only: Annotated[list[str] | None, typer.Option(help="name of a load; default: all")] = None,
    disposable: Annotated[bool, typer.Option(FLAG, help="nobody needs this database")] = False,
    clean_up: Annotated[bool, typer.Option("--clean", help="only drop what an earlier run left")] = False,
    dry: Annotated[bool, typer.Option("--dry-run", help="print each statement with its undo; connect nowhere")] = False,
    config: Annotated[
        Path | None, typer.Option(help=f"configuration whose databases are refused; default: {CONFIG}, if it is there")
    ] = None,
) -> None:
    """Make known problems on a disposable database, and check that latchscope names them. IT WRITES to that database.

    Exit 1 if a load is not diagnosed as expected.
    """
    loads = _chosen(only)
    if dry:
        typer.echo("\n".join(dry_run(loads)).rstrip())
        return
    try:
        place = _place(disposable, (dsn, user, password_file), (monitor_dsn, monitor_user, monitor_password_file))
        settings = configured(config or CONFIG, given=config is not None)
        refuse_users(place, settings)
        refuse_watched(place, settings)
        if clean_up:
            _clean(place)
            return
        result = _run(place, _monitored(place, monitor_password_file), loads, seconds)
    except (Refused, NotUndone, BadSettings, CollectError) as error:
        fail(f"selftest: {error}")
    try:
        output.write_text(result.model_dump_json(indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        fail(unwritten(output, error))
    say(f"{output}: written; it names no user, host or object, so you can send it back")
    if not result.as_expected:
        raise typer.Exit(1)


def _chosen(only: list[str] | None) -> list[Load]:
    names = [load.name for load in LOADS]
    for name in only or ():
        if name not in names:
            fail(f"selftest: there is no load {name}; there are {', '.join(names)}")
    return [load for load in LOADS if not only or load.name in only]


def _place(
    disposable: bool,
    writer: tuple[str | None, str | None, Path | None],
    monitor: tuple[str | None, str | None, Path | None],
) -> Place:
    """Where to write and where to read. Raises Refused if an option is missing, SetupError for an unreadable file."""
    if not disposable:
        raise Refused(f"it writes to the database; if nobody needs that database, repeat the command with {FLAG}")
    dsn, user, file = writer
    monitor_dsn, monitor_user, monitor_file = monitor
    if dsn is None or user is None or file is None:
        raise Refused("a user of its own is missing; give --dsn, --user and --password-file, see docs/selftest.md")
    if monitor_user is None or monitor_file is None:
        raise Refused("the monitoring user is missing; give --monitor-user and --monitor-password-file")
    return Place(
        ConnectTarget(dsn, user, read_secret(file, "--password-file")),
        ConnectTarget(monitor_dsn or dsn, monitor_user, read_secret(monitor_file, "--monitor-password-file")),
    )


def _monitored(place: Place, password_file: Path | None) -> DatabaseSettings:
    return DatabaseSettings(
        name="selftest", dsn=place.monitor.dsn, user=place.monitor.user, password_file=password_file
    )


def _clean(place: Place) -> None:
    session = WritingSession(place.writer)
    try:
        refuse_place(session, place)
        dropped = clean(session)
    finally:
        session.close()
    say("\n".join([*(f"dropped {one}" for one in dropped), "nothing of the selftest is left"]))


def _run(place: Place, monitored: DatabaseSettings, loads: list[Load], seconds: float) -> SelftestResult:
    """Every load, one after the other. Raises Refused if somebody stops it; by then everything is undone."""
    seen: list[LoadSeen] = []
    with stopping() as stop:
        _check(place)
        with Watch(monitored, seconds / POLLS_IN_A_LOAD) as watch:
            watch.wait_for_first(stop)
            for load in loads:
                if stop.is_set():
                    break
                say(f"{load.name}: {load.about}, {seconds:g} s …")
                seen.append(run_load(load, place.writer, watch, seconds, stop))
                say(f"{load.name}: {seen[-1].outcome}")
            last = watch.polls[-1] if watch.polls else None
        if stop.is_set():
            raise Refused("stopped; everything is undone, and no file was written")
    return result_of(version("latchscope"), last, seen)


def _check(place: Place) -> None:
    """Raises Refused unless nobody needs this database."""
    session = WritingSession(place.writer)
    try:
        refuse_place(session, place)
        refuse_leftovers(session)
        refuse_use(session, place)
    finally:
        session.close()
