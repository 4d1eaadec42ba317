"""The `latchscope` command. JSON on stdout only, messages on stderr; bad input is one line and exit code 2."""

import gc
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any

import typer
from typer._types import TyperChoice
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.exceptions import TyperException
from typer.main import get_command, get_group

from service.cli.messages import Answer, say

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
            if not _answered_what_left(sys.argv[1:] if given is None else given):
                _tell(error)
            code = 2
        except typer.Abort as stopped:  # a question that was answered with no, with the end of input, or with Ctrl-C
            code = 130 if isinstance(stopped.__context__, KeyboardInterrupt) else 1
            say("latchscope: stopped; nothing was written")
        except BrokenPipeError:  # `latchscope … | head` has read enough
            sys.stderr.close()
            code = 1
        sys.exit(code if isinstance(code, int) else 0)


def _answered_what_left(given: Sequence[str]) -> bool:
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
    if context is not None and hasattr(error, "possibilities"):  # the library would name three
        options = [option for parameter in context.command.params for option in parameter.opts]
        error.possibilities = get_close_matches(getattr(error, "option_name", ""), options, 1)
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


# Sub-commands whose modules are imported on first use: `latchscope --version` and `--help` need none of them.


class OneCommand(TyperCommand):
    """A command. If it returns an Answer, it has --format; wherever --format is, --json is --format json."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.answers = self.callback is not None and self.callback.__annotations__["return"] is Answer
        if self.answers:
            forms: Any = TyperChoice(["text", "json"])
            self.params.append(
                TyperOption(param_decls=["--format"], type=forms, default="text", help="how to print it")
            )
        if any(each.name == "format" for each in self.params):
            self.params.append(TyperOption(param_decls=["--json"], is_flag=True, help="the same as --format json"))

    def invoke(self, ctx: Any) -> Any:
        """Run it, and print its Answer."""
        if ctx.params.pop("json", False):
            ctx.params["format"] = "json"
        if not self.answers:
            return super().invoke(ctx)
        as_json = ctx.params.pop("format") == "json"
        from service.cli.common import give  # the command imports it anyway

        return give(super().invoke(ctx), as_json=as_json)


def _made(name: str, line: str, module: str, attribute: str) -> Any:
    # Imported modules live as long as the process. Garbage collection during import would take a fifth of the start.
    gc.disable()
    try:
        found = getattr(import_module(module), attribute)
    finally:
        gc.enable()
    if isinstance(found, typer.Typer):
        for each in found.registered_commands:
            each.cls = OneCommand
        command: Any = get_group(found)
        command.help = f"{line}."
    else:
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(name, cls=OneCommand)(found)
        command = get_command(alone)
    command.name = name
    return command


class LatchscopeGroup(OneLineGroup):
    """Every command, in the order of `--help`."""

    panels: Mapping[str, Mapping[str, tuple[str, str]]] = {
        "From files, without a connection": {
            "diagnose": ("service.cli.diagnose:diagnose", "Find the cause in reports, logs, traces and captures"),
            "compare": ("service.cli.compare:compare", "Compare before with after: two files, or a database's history"),
            "script": ("service.cli.scripts:script", "Print a read-only SQL*Plus script whose output can be diagnosed"),
            "study": ("service.cli.study:study_cli", "Study your own table: how it scales, what a setting would do"),
        },
        "Databases": {
            "demo": ("service.cli.serve:demo", "Serve scripted databases, to try it out"),
            "serve": ("service.cli.serve:serve", "Serve the databases of a configuration"),
            "top": ("service.cli.top:top", "Watch in the terminal"),
            "month": ("service.cli.compare:month", "What a month cost and what ended it, to print or mail"),
            "mark": ("service.cli.compare:mark", "Mark a change, to compare before with after"),
            "mcp": ("service.cli.mcp:mcp", "Let an assistant read what REST answers"),
            "check": ("service.cli.check:check", "Try every view, and print the SQL for those that cannot be read"),
            "capture": ("service.cli.check:capture", "Write two snapshots to a file, to be diagnosed anywhere"),
        },
        "Set up": {
            "grants": ("service.cli.scripts:grants", "Print the least-privilege script for a user"),
            "init": ("service.cli.config:init", "Write a commented latchscope.yaml"),
            "config": ("service.cli.config:config_cli", "Find the mistakes of a configuration"),
            "notify": ("service.cli.config:notify_cli", "Try the receivers of notifications"),
            "dashboards": ("service.cli.dashboards:dashboards_cli", "Write dashboards, alert rules and runbooks"),
            "store": ("service.cli.store:store_cli", "Check the store, look into it, export and import it"),
        },
        "Look up": {
            "causes": ("service.cli.diagnose:causes_cli", "What latchscope can find, and what to do about it"),
            "sql": ("service.cli.scripts:sql_cli", "Every statement that latchscope can send to a database"),
            "help": ("service.cli.help:help_cli", "A command's help; exit codes, environment, formats"),
        },
    }
    places: Mapping[str, tuple[str, str]] = {name: place for panel in panels.values() for name, place in panel.items()}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        names: dict[str, Any] = dict.fromkeys(self.places)  # a misspelt name is compared with the keys
        self.commands = names

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name, a function or a Typer, or None."""
        if cmd_name in self.places and self.commands[cmd_name] is None:
            place, line = self.places[cmd_name]
            self.commands[cmd_name] = _made(cmd_name, line, *place.split(":"))
        return self.commands.get(cmd_name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read a line in which `help COMMAND` is `COMMAND --help`."""
        if args == ["help"]:
            args = ["help", "--help"]
        elif args[:1] == ["help"] and args[1] not in self.get_command(ctx, "help").commands:
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help of all commands, and import none of them."""
        self._only_lines()
        super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """The commands that begin so, and import none of them."""
        self._only_lines()
        return super().shell_complete(ctx, incomplete)

    def _only_lines(self) -> None:
        """Put its name and line in place of each command: what follows ends the process."""
        for panel, commands in self.panels.items():
            for name, (_, line) in commands.items():
                self.commands[name] = TyperCommand(name, help=line, rich_help_panel=panel)


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
