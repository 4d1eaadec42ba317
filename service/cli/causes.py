"""`latchscope causes …`: the knowledge base, by id or by its number."""

from difflib import get_close_matches
from typing import Annotated

import typer

from rules.cause import Cause, catalogue
from rules.remedy import PLATFORMS, Platform, RemedyStep
from service.cli.messages import fail
from service.cli.terminal import show
from service.render import diagnosis

causes_cli = typer.Typer(
    no_args_is_help=True, help="The knowledge base: what latchscope can find, and what to do about it."
)


def _ids() -> list[str]:
    return list(catalogue())


@causes_cli.command("list")
def list_causes() -> None:
    """Every cause, one line each."""
    for cause in catalogue().values():
        how = "handbook" if cause.handbook else ", ".join(cause.surfaces)
        typer.echo(f"{cause.kb:6} {cause.id:28} {cause.name} ({how}; {cause.status})")


@causes_cli.command("show")
def show_cause(
    id: Annotated[
        str, typer.Argument(metavar="ID", help="id of the cause, or its number such as KB-01", autocompletion=_ids)
    ],
) -> None:
    """One cause with its conditions, confirming query, remedy and references."""
    show(diagnosis.cause_as_text(_named(id)))


@causes_cli.command("steps")
def list_steps() -> None:
    """Where each step of each remedy runs, and what becomes of it on Amazon RDS and on Autonomous Database."""
    typer.echo(f"{'cause':28} step  {'runs in':10} {'Amazon RDS':13} Autonomous Database")
    for cause in catalogue().values():
        for number, step in enumerate(cause.remedy_steps, 1):
            rds, autonomous = (_there(step, platform) for platform in PLATFORMS)
            typer.echo(f"{cause.id:28} {number:4}  {step.run_in or '-':10} {rds:13} {autonomous}")


def _there(step: RemedyStep, platform: Platform) -> str:
    """What becomes of a step on a platform, in a word or two."""
    other = step.elsewhere.get(platform)
    return "same" if other is None else "not possible" if other.not_possible else "replaced"


def _named(word: str) -> Cause:
    """The cause with that id or number, however the number is written: KB-01, kb1, 1."""
    by_number = (cause for cause in catalogue().values() if _number(word) == _number(cause.kb))
    found = catalogue().get(word) or next(by_number, None)
    if found is None:
        close = get_close_matches(word.lower(), catalogue(), n=1, cutoff=0.4)
        near = f"; did you mean {close[0]}?" if close else ";"
        fail(f"there is no cause {word}{near} `latchscope causes list` shows them")
    return found


def _number(word: str) -> str:
    return word.upper().removeprefix("KB").lstrip("-_ ").lstrip("0")
