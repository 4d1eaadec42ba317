"""`latchscope store …`: check, prune, figures, export and import. Messages on stderr; exit 1 if the store is damaged."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from service.cli.common import CONFIG, ConfigOption, settings_of
from service.cli.messages import Answer, fail, say
from service.store.admin import TransferError, left_over, problems, read_history, write_history
from service.store.build import FAR
from service.store.engine import STORE_ERRORS, StoreError, brief, sqlite_file
from service.store.repository import Repository

store_cli = typer.Typer(no_args_is_help=True)


@store_cli.command("check")
def check_store(config: ConfigOption = CONFIG) -> Answer:
    """Look for damage, gaps between polls and wrong hours. Exit 1 and the list if there are any."""
    with _opened(config, must_exist=True) as store:
        found = list(problems(store.engine))
        for line in found:
            say(line)
        if (rest := left_over(store.engine)) is not None:
            typer.echo(rest, err=True)
    if not found:
        typer.echo("the store is whole", err=True)
    return Answer({"problems": found, "left_over": rest}, "", 1 if found else 0)


@store_cli.command("prune")
def prune_store(
    yes: Annotated[
        bool, typer.Option("--yes", help="do not ask, however far the clock is beyond the newest poll")
    ] = False,
    config: ConfigOption = CONFIG,
) -> None:
    """Delete now what is past its retention. Otherwise that happens every ten minutes."""
    with _opened(config, must_exist=True) as store:
        now, newest = datetime.now(UTC), max(store.newest_polls().values(), default=None)
        if newest is not None and now > newest + FAR and not yes:
            clocks = (
                f"this host's clock says {now:%Y-%m-%d %H:%M} UTC, and the newest poll is of {newest:%Y-%m-%d %H:%M}"
            )
            if not sys.stdin.isatty():
                fail(f"{clocks}; if the clock is right, say so with --yes")
            typer.confirm(f"{clocks}. Delete what is past its retention by this clock?", abort=True, err=True)
        gone = {table: count for table, count in store.prune(now).items() if count}
    typer.echo(_counted("deleted", gone), err=True)


@store_cli.command("export")
def export_store(
    file: Annotated[Path, typer.Argument(help="the file to write: lines of JSON, compressed with gzip")],
    database: Annotated[str | None, typer.Option(help="only this database")] = None,
    force: Annotated[bool, typer.Option("--force", help="replace the file if it exists")] = False,
    config: ConfigOption = CONFIG,
) -> None:
    """Write the whole history, or one database's, as of now. The service may run meanwhile."""
    with _opened(config, must_exist=True) as store:
        if database is not None and store.names.database(database) is None:
            fail(f"the store has nothing of a database named {database}")
        if file.is_file() and not force:
            fail(f"{file} exists already; name another file, or replace it with --force")
        with _plainly(file):
            written = write_history(store.engine, file, database)
    typer.echo(_counted("written", written), err=True)


@store_cli.command("import")
def import_store(
    file: Annotated[Path, typer.Argument(help="a file that `latchscope store export` wrote")],
    config: ConfigOption = CONFIG,
) -> None:
    """Import an exported history, from any engine. A second import changes nothing."""
    with _plainly(file), file.open("rb"):  # before a store is created for nothing
        pass
    with _opened(config) as store:
        typer.echo(_counted("read", read_history(store, file)), err=True)


@store_cli.command("figures")
def print_figures(
    database: Annotated[str, typer.Argument(help="its name")],
    at: Annotated[datetime | None, typer.Option(help="newest time to print (UTC), such as 2026-03-01T12:00:00")] = None,
    resolution: Annotated[Literal["poll", "1h"], typer.Option(help="what was kept")] = "poll",
    config: ConfigOption = CONFIG,
) -> Answer:
    """Print the figures of the newest poll or hour, one a line; an unknown one has no value."""
    with _opened(config, must_exist=True) as store:
        found = store.history.row(database, resolution == "1h", at.replace(tzinfo=UTC) if at else None)
        if found is None:
            fail(f"the store has no figures of a database named {database}" + (f" until {at} UTC" if at else ""))
    typer.echo(f"{database}, {resolution}, {found['at']:%Y-%m-%d %H:%M:%S.%f} UTC", err=True)
    figures = {name: value for name, value in found.items() if name not in ("database_id", "at")}
    text = "\n".join(
        f"{name}\t{'' if value is None else f'{value:.17g}' if isinstance(value, float) else value}"
        for name, value in figures.items()
    )
    return Answer({"database": database, "resolution": resolution, "at": found["at"], "figures": figures}, text)


@contextmanager
def _opened(config: Path, must_exist: bool = False) -> Iterator[Repository]:
    """The store of a configuration. A failure gives one line and exit code 2."""
    chosen = settings_of(config, watching=False)  # store commands need only the store's URL
    try:
        path = sqlite_file(chosen.store)
        if must_exist and path is not None and not path.exists():
            fail(f"there is no store {path}; `latchscope serve` creates it, or set `store` in {config}")
        store = Repository(chosen.store, chosen.history)
    except StoreError as error:
        fail(str(error))
    try:
        yield store
    except TransferError as error:
        fail(str(error))
    except STORE_ERRORS as error:
        fail(f"store: {brief(error)}")
    finally:
        store.close()


@contextmanager
def _plainly(file: Path) -> Iterator[None]:
    """The system's error about a file in plain words, as one line and exit code 2."""
    try:
        yield
    except FileNotFoundError:
        if file.parent.is_dir():
            fail(f"there is no file {file}; name one that `latchscope store export` wrote")
        fail(f"there is no folder {file.parent}; create it, or name another file")
    except PermissionError:
        fail(f"{file} may not be opened by this account; give it the right, or name another file")
    except (IsADirectoryError, NotADirectoryError):
        fail(f"{file} does not name a file within a folder; name a file")


def _counted(what: str, counts: dict[str, int]) -> str:
    listed = ", ".join(f"{count} of {table}" for table, count in sorted(counts.items()))
    return f"{what}: {listed or 'nothing'}"
