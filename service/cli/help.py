"""`latchscope help …`: what no single `--help` has. Exit codes, variables of the environment, formats of input and output."""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

import typer

from service.cli.common import fit_to_terminal, show
from service.client import TOKEN_VARIABLE
from service.config.load import PREFIX
from service.config.settings import every_setting
from service.intake.archives import OTHERS
from service.render.parts import LINE_WIDTH

help_cli = typer.Typer(no_args_is_help=True)

EXIT_CODES: Sequence[tuple[int, str, Sequence[str]]] = (
    (0, "done. `diagnose` found what it found: without --fail-on… even a critical finding is 0", ()),
    (
        1,
        "done, and the answer is bad: a view cannot be read (`check`), the store is damaged (`store check`), a finding is as "
        "severe as --fail-on says (`diagnose`), a receiver did not accept its message (`notify test`). Also a question that you "
        "answered with no, and output into a program that reads no more",
        ("check", "config", "diagnose", "store"),
    ),
    (2, "not done: an input, an option or the configuration is wrong. One line on standard error says which", ()),
    (
        3,
        "an input could not be judged; only `diagnose --fail-on-unknown`, and only if nothing else fails",
        ("diagnose",),
    ),
    (130, "stopped with Ctrl-C. `serve` and `demo`, which run until told to end, give 0", ()),
)
"""Code, meaning, and the modules of commands that end with it by themselves. 0, 2 and 130 are of every command."""

READ_HERE: Sequence[tuple[str, str]] = (
    (TOKEN_VARIABLE, "the token for --url, if there is no --token-file"),
    ("LATCHSCOPE_CONFIG", "the configuration file, where no --config names one"),
    ("NOTIFY_SOCKET", "where systemd hears that `serve` is ready, reloads or stops (Type=notify)"),
    ("NO_COLOR", "if it is not empty, text in a terminal has no colour"),
    (
        "TNS_ADMIN",
        "folder of tnsnames.ora; `config validate` looks whether it is set, the Oracle driver reads it",
    ),
    ("OPENBLAS_NUM_THREADS", "threads of numpy's algebra; latchscope sets it to 1 if it is not set"),
)
READ_BY_LIBRARIES: Sequence[tuple[str, str]] = (
    ("FORCE_COLOR", "if it is not empty, text has colour and the terminal's width in a pipe too"),
    ("COLUMNS", "width of the terminal, if it does not say so itself"),
    ("TERM", "`dumb` and `unknown` are terminals without colour"),
)

INPUTS: Sequence[tuple[str, str]] = (
    ("AWR report", "HTML or text; also a compare-periods report of one instance"),
    ("Statspack report", "text"),
    ("output of `latchscope script`", "the file that SQL*Plus or SQLcl spools"),
    ("capture", "JSON that `latchscope capture` writes, form 1"),
    ("alert log", "text or log.xml, any size"),
    ("trace file", "text: waits for a row cache lock, hang analyses, system states"),
    (".gz, .zip, .tar, .eml, .mht", "with any of these inside; a directory means its files, and - standard input"),
)
"""What `diagnose` reads. It goes by the content of a file, never by its name."""


@help_cli.command("exit-codes")
def exit_codes() -> None:
    """What each exit code means, for scripts and pipelines."""
    _print(("Exit codes", [(str(code), meaning) for code, meaning, _ in EXIT_CODES]))


@help_cli.command("environment")
def environment() -> None:
    """Every variable of the environment that latchscope reads."""
    settings = f"Settings of latchscope.yaml, which a variable overrides; {_LISTS}"
    _print(
        ("Read by latchscope", READ_HERE),
        ("Read by the libraries for terminals", READ_BY_LIBRARIES),
        ("Named by you", [("password_env of a database", "any name: the variable holds the password")]),
        (settings, [(name, "") for name in setting_variables()]),
    )


_LISTS = "a list is one variable that holds JSON, and so are groups that may be left out"


def setting_variables() -> list[str]:
    """The variable of each setting, in their order. The entries of a list have none of their own."""
    return [PREFIX + name.replace(".", "__").upper() for name, _ in every_setting() if "[]" not in name]


@help_cli.command("formats")
def formats(context: typer.Context) -> None:
    """What latchscope reads, and the forms of its answers."""
    top = context.find_root().command
    _print(
        ("Read by `latchscope diagnose`, by content", INPUTS),
        ("Unpack these first", [(", ".join(sorted({*OTHERS.values(), "tar"})), "")]),
        ("Written, as --format says", [(name, ", ".join(forms)) for name, forms in output_formats(top)]),
    )


def output_formats(command: Any, path: str = "") -> Iterator[tuple[str, Sequence[str]]]:
    """Each command with an option --format, and the forms it writes."""
    for name in getattr(command, "commands", {}):
        below = command.get_command(None, name)
        yield from output_formats(below, f"{path} {name}".strip())
    for parameter in command.params:
        if "--format" in parameter.opts:
            yield path, parameter.type.choices


def _print(*tables: tuple[str, Sequence[tuple[str, str]]]) -> None:
    """A heading and a table of two columns, for each pair of them. The second column wraps within itself."""
    fit_to_terminal()
    lines: list[str] = []
    for heading, rows in tables:
        wide = max(len(name) for name, _ in rows) + 4
        lines += wrap(f"{heading}:", LINE_WIDTH.get())
        for name, words in rows:
            body = wrap(words, max(30, LINE_WIDTH.get() - wide), break_on_hyphens=False) or [""]
            lines += [f"  {name.ljust(wide - 2)}{body[0]}".rstrip(), *(" " * wide + line for line in body[1:])]
        lines.append("")
    show("\n".join(lines).rstrip())
