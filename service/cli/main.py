"""The `latchscope` command. JSON on stdout only, messages on stderr; bad input is one line and exit code 2."""

import platform
from typing import Annotated

import typer

from service.cli.lazy import LazyGroup


class LatchscopeGroup(LazyGroup):
    """Every command, in the order of `--help`."""

    places = {  # noqa: RUF012
        "demo": "service.cli.serving:demo",
        "serve": "service.cli.serving:serve",
        "grants": "service.cli.grants:grants",
        "capture": "service.cli.capture:capture",
        "check": "service.cli.check:check",
        "init": "service.cli.init:init",
        "diagnose": "service.cli.diagnose:diagnose",
        "script": "service.cli.script:script",
        "compare": "service.cli.compare:compare",
        "mark": "service.cli.compare:mark",
        "whatif": "service.cli.whatif:whatif",
        "top": "service.cli.top:top",
        "mcp": "service.cli.mcp:mcp",
        "holders": "service.cli.capture:holders",
        "causes": "service.cli.causes:causes_cli",
        "sql": "service.cli.sql:sql_cli",
        "config": "service.cli.config:config_cli",
        "dashboards": "service.cli.dashboards:dashboards_cli",
        "store": "service.cli.store:store_cli",
        "study": "service.cli.study:study_cli",
        "notify": "service.cli.notify:notify_cli",
    }


cli = typer.Typer(
    no_args_is_help=True,
    cls=LatchscopeGroup,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version  # reads the distribution's metadata, which only this function needs

        typer.echo(f"latchscope {version('latchscope')}, Python {platform.python_version()}")
        raise typer.Exit


@cli.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version and end")
    ] = False,
) -> None:
    """Find out why an Oracle database grinds on its dictionary cache, and what to do."""
