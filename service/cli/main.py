"""What the command answers to a line it does not understand: one line on standard error, as for any bad input."""

import re
import sys
from typing import Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from service.cli.messages import say


class OneLineGroup(TyperGroup):
    """The command with its groups. A mistake gives one line that names it and the help, and exit code 2."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command line and exit with its code, unless `standalone_mode` is off."""
        if not options.get("standalone_mode", True):
            return super().main(*args, **options)
        try:
            code = super().main(*args, **{**options, "standalone_mode": False})
        except TyperException as error:
            _tell(error)
            code = 2
        except typer.Abort:
            say("latchscope: stopped; nothing was written")
            code = 1
        except BrokenPipeError:  # `latchscope … | head` has read enough
            sys.stderr.close()
            code = 1
        sys.exit(code if isinstance(code, int) else 0)


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
