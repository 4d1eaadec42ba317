"""The `latchscope` command. JSON on stdout only, messages on stderr; bad input is one line and exit code 2."""

import platform
import re
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from collectors.capture import dump
from collectors.errors import CollectError
from collectors.granting.script import confirming_script, grants_script
from collectors.ondemand.holders import MOST_LOOKS, MOST_SECONDS
from collectors.scenarios import scenarios
from rules.catalogue import catalogue
from rules.confirming_views import views_before_containers, views_since_containers
from service.cli import compare, preflight, script, whatif
from service.cli.causes import causes_cli
from service.cli.check import KIND_HELP, check, chosen_kind, named_databases
from service.cli.config import config_cli
from service.cli.dashboards import dashboards_cli
from service.cli.diagnose import diagnose
from service.cli.group import OneLineGroup
from service.cli.init import init
from service.cli.mcp import mcp
from service.cli.notify import notify_cli
from service.cli.options import CONFIG, ConfigOption, fail, settings_of, unwritten
from service.cli.serving import serve_until_told
from service.cli.store import store_cli
from service.cli.study import study_cli
from service.cli.top import top
from service.config import sources

cli = typer.Typer(
    no_args_is_help=True,
    cls=OneLineGroup,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

DEMO = "latchscope demo: http://{address}/ (the undo storm builds up after 20 s); its store: STORE"


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"latchscope {version('latchscope')}, Python {platform.python_version()}")
        raise typer.Exit


@cli.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version and end")
    ] = False,
) -> None:
    """Find out why an Oracle database grinds on its dictionary cache, and what to do."""


@cli.command()
def demo(
    port: Annotated[int, typer.Option(min=0, max=65535, help="port on 127.0.0.1")] = 8000,
    interval: Annotated[float, typer.Option(min=0.2, help="seconds between polls")] = 2.0,
) -> None:
    """Serve scripted databases: an undo storm, a busy but healthy one, a parse storm."""
    with tempfile.TemporaryDirectory(prefix="latchscope-") as folder:
        chosen = sources.demo(list(scenarios()), port, f"sqlite:///{folder}/demo.db", interval)
        serve_until_told(chosen, DEMO.replace("STORE", chosen.store), tidy=lambda: shutil.rmtree(folder))


@cli.command()
def serve(
    config: ConfigOption = CONFIG,
    insecure: Annotated[bool, typer.Option(help="serve an address others can reach without any token")] = False,
) -> None:
    """Serve the databases of a configuration."""
    chosen = settings_of(config)
    if not chosen.loopback and chosen.auth.tokens_file is None and not insecure:
        fail(f"{chosen.listen} can be reached by others: set auth.tokens_file, or say --insecure")
    serve_until_told(chosen)


@cli.command()
def grants(
    user: Annotated[str, typer.Option(help="the user latchscope logs in as")] = "LATCHSCOPE",
    kind: Annotated[str, typer.Option("--for", metavar="KIND", help=KIND_HELP)] = "cdb",
    confirm: Annotated[bool, typer.Option("--confirm", help="also what the confirming queries of causes read")] = False,
) -> None:
    """Print the whole least-privilege script for a user."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_$#]{0,127}", user):
        fail(f"{user!r} is no Oracle user name; name the user that latchscope logs on as, such as LATCHSCOPE")
    chosen, causes = chosen_kind(kind), catalogue().values()
    typer.echo(grants_script(user, chosen), nl=False)
    if confirm:
        before, since = views_before_containers(causes), views_since_containers(causes)
        typer.echo(confirming_script(user, chosen, before, since), nl=False)


@cli.command()
def capture(
    database: Annotated[str, typer.Argument(help="name of the configuration")],
    output: Annotated[Path, typer.Option("--output", "-o", help="the capture file to write")],
    seconds: Annotated[float, typer.Option(min=0, help="time between two snapshots; 0 takes one only")] = 30.0,
    config: ConfigOption = CONFIG,
) -> None:
    """Write a capture of a database: two snapshots some seconds apart, to be diagnosed anywhere."""
    chosen = settings_of(config)
    (target,) = named_databases(chosen, [database])
    if seconds:
        typer.echo(f"{database}: two snapshots, {seconds:g} s apart …", err=True)
    try:
        taken = preflight.capture(target, chosen, seconds)
        output.write_text(dump(taken), encoding="utf-8")
    except CollectError as error:
        fail(str(error) if str(error).startswith(f"{database}:") else f"{database}: {error}")
    except OSError as error:
        fail(unwritten(output, error))
    typer.echo(f"{output}: {len(taken.snapshots)} snapshots of {database}", err=True)


cli.command()(check)
cli.command()(init)
cli.command()(diagnose)
cli.command()(script.script)
cli.command()(compare.compare)
cli.command()(compare.mark)
cli.command()(whatif.whatif)
cli.command()(top)
cli.command()(mcp)


@cli.command()
def holders(
    database: Annotated[str, typer.Argument(help="name of the configuration")],
    seconds: Annotated[float, typer.Option(min=0.1, max=MOST_SECONDS, help="how long to look at most")] = 2.0,
    looks: Annotated[int, typer.Option(min=1, max=MOST_LOOKS, help="how often to look at most")] = MOST_LOOKS,
    config: ConfigOption = CONFIG,
) -> None:
    """Profile who holds the row cache latch right now, and how long: many looks in one statement, on request only."""
    chosen = settings_of(config)
    (target,) = named_databases(chosen, [database])
    try:
        typer.echo(preflight.holders_as_text(preflight.holders(target, chosen, seconds, looks)))
    except CollectError as error:
        fail(str(error) if str(error).startswith(f"{database}:") else f"{database}: {error}")


cli.add_typer(causes_cli, name="causes")
cli.add_typer(config_cli, name="config")
cli.add_typer(dashboards_cli, name="dashboards")
cli.add_typer(store_cli, name="store")
cli.add_typer(study_cli, name="study")
cli.add_typer(notify_cli, name="notify")
