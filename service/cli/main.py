"""The `latchscope` command. JSON on stdout only, messages on stderr; bad input is one line and exit code 2."""

import gc
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command, get_group

from service.cli.messages import say

# What the command answers to a line it does not understand: one line on standard error, as for any bad input.


class OneLineGroup(TyperGroup):
    """The command with its groups. A mistake gives one line that names it and the help, and exit code 2."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command line and exit with its code, unless `standalone_mode` is off."""
        if not options.get("standalone_mode", True):
            return super().main(*args, **options)
        try:
            code = super().main(*args, **{**options, "standalone_mode": False})
        except TyperException as error:
            given = args[0] if args else options.get("args")
            if not _told_of_what_left(sys.argv[1:] if given is None else given):
                _tell(error)
            code = 2
        except typer.Abort:
            say("latchscope: stopped; nothing was written")
            code = 1
        except BrokenPipeError:  # `latchscope … | head` has read enough
            sys.stderr.close()
            code = 1
        sys.exit(code if isinstance(code, int) else 0)


def _told_of_what_left(given: Sequence[str]) -> bool:
    """Whether the line has a command or an option that left, and so was answered with what does its job."""
    from service.successors import successors  # reads a file, which only a line that is not understood needs

    named = {word.partition("=")[0] for word in given}
    for name, instead in successors().commands.items():
        command = [word for word in name.split() if not word.startswith("-")]
        if list(given[: len(command)]) == command and named.issuperset(name.split()):
            say(f"latchscope: {name} has left. {instead}")
            return True
    return False


def _tell(error: TyperException) -> None:
    """The library's sentence in our form. Help for a missing command is printed unchanged."""
    context = getattr(error, "ctx", None)
    command = " ".join(context.command_path.split()[1:]) if context is not None else ""
    words = re.sub(r"\s+", " ", error.format_message()).strip()
    if context is not None and not words.startswith(_SAID):
        typer.echo(error.format_message(), err=True)
        return
    for said, plain in _PLAIN:
        words = re.sub(said, plain, words)
    place = f"{command}: " if command else ""
    stop = "" if words.endswith("?") else ";"
    say(f"latchscope: {place}{words}{stop} `{f'latchscope {command}'.strip()} --help` has the rest")


_SAID = ("Missing", "No such", "Invalid", "Got", "Option", "Could")
_PLAIN = (
    (r"\.$", ""),
    (r"\.? Did you mean '?([^?']*)'?\?", r"; did you mean \1?"),
    (r"^Missing (argument|option) '?([^'.]*)'?(?: / '-\w')?", r"\2 is missing"),
    (r"^No such (command|option):? ?'?([^;' ]*)'? ?", r"there is no \1 \2"),
    (r"^Got unexpected extra argument(?:s|\(s\))? \((.*)\)", r"\1 is an extra argument"),
    (r"^Invalid value for '?([^']*?)'?: ", r"\1: "),
    (r" is not a valid (integer|int|float)( range)?\b", " is not a number"),
    (r" is not one of (.*)", r" is not one of \1"),
    (r"\(Possible options: (.*)\)", r"; did you mean \1?"),
    (r"is not in the range ([\d.]+)<=x<=([\d.]+)", r"is out of range: \1 to \2"),
    (r"[Pp]ath ('.*') is not readable", r"\1 cannot be read; give the right to read it, or name another file"),
    (r"is not in the range x>=([\d.]+)", r"is too small: at least \1"),
)
"""The library's words → ours."""


# Sub-commands whose modules are imported on first use: `latchscope --version` needs none of them.


class LazyGroup(OneLineGroup):
    """A group that imports a command when it is used. `places` says where each one is, as `module:name`."""

    places: Mapping[str, str] = {}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        names: dict[str, Any] = dict.fromkeys(self.places)  # a misspelt name is compared with the keys
        self.commands = names

    def list_commands(self, ctx: Any) -> list[str]:
        """Only the names, which import nothing."""
        return list(self.places)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name, a function or a Typer, or None."""
        if cmd_name in self.places and self.commands[cmd_name] is None:
            self.commands[cmd_name] = _made(cmd_name, *self.places[cmd_name].split(":"))
        return self.commands.get(cmd_name)


def _made(name: str, module: str, attribute: str) -> Any:
    # Imported modules live as long as the process. Garbage collection during import would take a fifth of the start.
    gc.disable()
    try:
        found = getattr(import_module(module), attribute)
    finally:
        gc.enable()
    if isinstance(found, typer.Typer):
        command: Any = get_group(found)
    else:
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(name)(found)
        command = get_command(alone)
    command.name = name
    return command


class LatchscopeGroup(LazyGroup):
    """Every command, in the order of `--help`."""

    places = {  # noqa: RUF012
        "demo": "service.cli.serve:demo",
        "serve": "service.cli.serve:serve",
        "grants": "service.cli.scripts:grants",
        "capture": "service.cli.check:capture",
        "check": "service.cli.check:check",
        "init": "service.cli.config:init",
        "diagnose": "service.cli.diagnose:diagnose",
        "script": "service.cli.scripts:script",
        "compare": "service.cli.compare:compare",
        "mark": "service.cli.compare:mark",
        "top": "service.cli.top:top",
        "mcp": "service.cli.mcp:mcp",
        "holders": "service.cli.check:holders",
        "causes": "service.cli.diagnose:causes_cli",
        "sql": "service.cli.sql:sql_cli",
        "config": "service.cli.config:config_cli",
        "dashboards": "service.cli.dashboards:dashboards_cli",
        "store": "service.cli.store:store_cli",
        "study": "service.cli.study:study_cli",
        "notify": "service.cli.config:notify_cli",
        "help": "service.cli.help:help_cli",
    }


cli = typer.Typer(
    no_args_is_help=True,
    cls=LatchscopeGroup,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from service.extras import release  # reads the distribution's metadata, which only this function needs

        typer.echo(f"latchscope {release()}, Python {platform.python_version()}")
        raise typer.Exit


@cli.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version and end")
    ] = False,
) -> None:
    """Find out why an Oracle database grinds on its dictionary cache, and what to do."""
