"""`latchscope diagnose`: inputs in, one report out. An unreadable input gives a line on stderr and exit code 2."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Annotated

import typer
from pydantic import TypeAdapter
from rich.console import Console
from rich.text import Text

from rules.cause import Cause, catalogue
from rules.model import CANNOT_TELL, Diagnosis, Severity
from rules.remedy import PLATFORMS, Platform, RemedyStep
from service.cli.common import Force, Format, OutputOption, fit_to_terminal, form_of, written
from service.cli.messages import Answer, fail, say
from service.escape import visible_json
from service.intake import inputs
from service.intake.incident import incident, story, under_one_name
from service.intake.inputs import DEEPEST, MOST_FILES, InputResults, Window, short_names, window_of
from service.render import text as text_
from service.render.incident import incident_as_markdown, incident_as_text

# `latchscope causes …`: the knowledge base, by id or by its number.

causes_cli = typer.Typer(no_args_is_help=True)


@causes_cli.command("list")
def list_causes() -> Answer:
    """Every cause, one line each."""
    lines = []
    for cause in catalogue().values():
        how = "handbook" if cause.handbook else ", ".join(cause.surfaces)
        lines.append(f"{cause.kb:6} {cause.id:28} {cause.name} ({how}; {cause.status})")
    return Answer(list(catalogue().values()), "\n".join(lines))


@causes_cli.command("show")
def show_cause(
    id: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="id of the cause, or its number such as KB-01", autocompletion=lambda: list(catalogue())
        ),
    ],
) -> Answer:
    """One cause with its conditions, confirming query, remedy and references."""
    cause = _named(id)
    return Answer(cause, text_.cause_as_text(cause))


@causes_cli.command("steps")
def list_steps() -> Answer:
    """Where each step of each remedy runs, and what becomes of it on Amazon RDS and on Autonomous Database."""
    lines, steps = [f"{'cause':28} step  {'runs in':10} {'Amazon RDS':13} Autonomous Database"], []
    for cause in catalogue().values():
        for number, step in enumerate(cause.remedy_steps, 1):
            rds, autonomous = (_there(step, platform) for platform in PLATFORMS)
            lines.append(f"{cause.id:28} {number:4}  {step.run_in or '-':10} {rds:13} {autonomous}")
            steps.append(
                {"cause": cause.id, "step": number, "run_in": step.run_in, "rds": rds, "autonomous": autonomous}
            )
    return Answer(steps, "\n".join(lines))


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


def diagnose(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE…",
            help="reports, alert logs, script output, captures, archives, - for stdin, or directories: their files, and where "
            f"they hold directories alone, the files in those, down to {DEEPEST} levels and {MOST_FILES:,} files",
        ),
    ],
    format: Annotated[Format | None, typer.Option(help="how to print it; default: as -o FILE ends, or text")] = None,
    output: OutputOption = None,
    force: Force = False,
    fail_on: Annotated[Severity | None, typer.Option(help="exit 1 if a finding has at least this severity")] = None,
    fail_on_unknown: Annotated[
        bool, typer.Option("--fail-on-unknown", help="exit 3 when an input could not be judged")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="in text, all of it: steps, risks, evidence, and what was ruled out")
    ] = False,
    as_story: Annotated[
        bool,
        typer.Option(
            "--story", help="print one JSON object: the incident that the inputs tell together, and all diagnoses"
        ),
    ] = False,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="of logs: only lines from then on, such as 2026-03-01T14:00")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="of logs: only lines up to then")] = None,
) -> None:
    """Diagnose without a connection. Exit 0 if all inputs were read, 2 if one was not; 1 and 3 only with --fail-on…"""
    form = form_of(output, "json" if as_story else format)
    if output is None and form == "text":
        fit_to_terminal()
    window = _window(since, until)
    if "" in files:
        fail("FILE is empty; does a variable of your shell have no value?")
    with _progress() as step:
        outcome = inputs.diagnose_all(files, step, window)
    outcome.diagnosed = under_one_name(outcome.diagnosed)
    if as_story:
        text: str | None = visible_json(story(short_names(outcome.diagnosed)).model_dump_json(indent=2))
    else:
        text = _printed(outcome, form, single=len(files) == 1, verbose=verbose)
    for note in outcome.notes:
        say(f"latchscope: {note}")
    for skipped in outcome.skipped:
        say(f"latchscope: skipped: {skipped}")
    for error in outcome.errors:
        say(f"latchscope: {error}")
    if text is not None and not written(text, output, form, force=force):
        raise typer.Exit(2)
    if outcome.errors:
        raise typer.Exit(2)
    diagnoses = [each.diagnosis for each in outcome.diagnosed]
    if fail_on and any(severity.rank >= fail_on.rank for each in diagnoses for severity in _found(each)):
        raise typer.Exit(1)
    if fail_on_unknown and any(each.standing == CANNOT_TELL for each in diagnoses):
        raise typer.Exit(3)


def _window(since: str | None, until: str | None) -> Window:
    """The two options as a window. Ends the command if they are no times, or the wrong way round."""
    try:
        return window_of(since, until)
    except ValueError as error:
        fail(str(error))


def _found(diagnosis: Diagnosis) -> Iterator[Severity]:
    """The severities of the findings. Unexplained waits count too if they cost something."""
    yield from (finding.severity for finding in diagnosis.findings)
    if diagnosis.severity is not Severity.INFO:
        yield diagnosis.severity


def _printed(outcome: InputResults, format: Format, *, single: bool, verbose: bool) -> str | None:
    """The report in its form. None if the only input gave nothing."""
    diagnoses = [diagnosed.diagnosis for diagnosed in outcome.diagnosed]
    if format == "json":
        if single and outcome.read <= 1 and len(diagnoses) <= 1:
            return visible_json(diagnoses[0].model_dump_json(indent=2)) if diagnoses else None
        return visible_json(TypeAdapter(list[Diagnosis]).dump_json(diagnoses, indent=2).decode())
    if not diagnoses:
        return None
    if format == "html":
        from service.web.pages.export import as_html  # loads the pages, which no other form needs

        return as_html(outcome)
    told = incident(short_names(outcome.diagnosed))
    joined = told if told is not None and told.mixed else None
    if format == "text":
        first = f"{incident_as_text(joined)}\n" if joined else ""
        return first + text_.as_text(outcome.diagnosed, verbose=verbose)
    first = f"{incident_as_markdown(joined)}\n" if joined else ""
    return first + text_.as_markdown(outcome.diagnosed)


@contextmanager
def _progress() -> Iterator[Callable[[str], object]]:
    """The file that is being read, on a terminal's stderr. It disappears at the end."""
    if not sys.stderr.isatty():
        yield bool
        return
    with Console(stderr=True).status("reading") as status:
        yield lambda name: status.update(Text(f"reading {name}"))
