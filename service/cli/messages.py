"""Messages of a command to people: on standard error, in one line, with exit code 2 on failure.

It imports nothing that costs time, because `latchscope --version` needs it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import typer

from service.escape import visible


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command returns that can print text and JSON, and its exit code. It has --format and --json by that alone."""

    value: object
    text: str
    code: int = 0


def say(message: str) -> None:
    """A message on stderr, with every character visible: names in it may come from anywhere."""
    typer.echo(visible(message, keep="\n"), err=True)


def fail(message: str) -> NoReturn:
    """One line on stderr, and exit code 2."""
    say(f"latchscope: {message}")
    raise typer.Exit(2)


def unwritten(path: Path, error: OSError) -> str:
    """Why a file cannot be written, and the way out."""
    why = f"{path} cannot be written: {error.strerror}"
    if isinstance(error, FileNotFoundError):
        return f"{why}; make the folder {path.parent} first, or name another file"
    if isinstance(error, IsADirectoryError):
        return f"{why}; name a file in it"
    return f"{why}; name a file in a folder of yours"
