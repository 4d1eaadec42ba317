"""`latchscope capture` and `latchscope holders`: one visit to a configured database."""

from pathlib import Path
from typing import Annotated

import typer

from collectors.capture import dump
from collectors.errors import CollectError
from collectors.ondemand.holders import MOST_LOOKS, MOST_SECONDS
from service.cli import preflight
from service.cli.check import named_databases
from service.cli.messages import fail, unwritten
from service.cli.options import CONFIG, ConfigOption, settings_of


def capture(
    database: Annotated[str, typer.Argument(help="name in the configuration")],
    output: Annotated[Path, typer.Option("--output", "-o", help="the capture file to write")],
    seconds: Annotated[float, typer.Option(min=0, help="time between two snapshots; 0 takes only one")] = 30.0,
    config: ConfigOption = CONFIG,
) -> None:
    """Write a capture of a database: two snapshots some seconds apart. Diagnose the file anywhere."""
    chosen = settings_of(config)
    (target,) = named_databases(chosen, [database])
    if seconds:
        typer.echo(f"{database}: two snapshots, {seconds:g} s apart …", err=True)
    try:
        taken = preflight.capture(target, chosen, seconds)
        output.write_text(dump(taken), encoding="utf-8")
    except CollectError as error:
        fail(_of(database, error))
    except OSError as error:
        fail(unwritten(output, error))
    typer.echo(f"{output}: {len(taken.snapshots)} snapshots of {database}", err=True)


def holders(
    database: Annotated[str, typer.Argument(help="name in the configuration")],
    seconds: Annotated[float, typer.Option(min=0.1, max=MOST_SECONDS, help="most seconds for the samples")] = 2.0,
    looks: Annotated[int, typer.Option(min=1, max=MOST_LOOKS, help="most samples")] = MOST_LOOKS,
    config: ConfigOption = CONFIG,
) -> None:
    """Profile who holds the row cache latch right now, and how long: many samples in one statement, on request only."""
    chosen = settings_of(config)
    (target,) = named_databases(chosen, [database])
    try:
        typer.echo(preflight.holders_as_text(preflight.holders(target, chosen, seconds, looks)))
    except CollectError as error:
        fail(_of(database, error))


def _of(database: str, error: CollectError) -> str:
    """The error, with the name of the database once."""
    return str(error) if str(error).startswith(f"{database}:") else f"{database}: {error}"
