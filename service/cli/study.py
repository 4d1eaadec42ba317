"""`latchscope study …`: the mathematics of latches on tables that you supply. Bad input is one line and exit 2."""

import re
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from rules.studies.cpu import CpuStudy, cpu_study
from rules.studies.parallel import parallel_study, timer_study
from rules.studies.partitions import partition_study, setting_of
from rules.studies.scaling import claim_of, scaling_study
from rules.studies.table import BadStudy
from service.cli.messages import fail
from service.render.study import Study, StudyPage, as_text, page_of

MOST_BYTES = 8 * 2**20
_SECONDS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}

study_cli = typer.Typer(no_args_is_help=True)

StudyFormat = Literal["text", "json", "html"]
TableArgument = Annotated[str, typer.Argument(metavar="FILE", help="a CSV file with a header; - reads standard input")]
FormatOption = Annotated[StudyFormat, typer.Option("--format", help="how to print it")]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="FIELD=NAME", help="the column of a quantity; repeat for more"),
]


@study_cli.command("scaling")
def study_scaling(
    file: TableArgument,
    column: ColumnOption = None,
    claim: Annotated[
        list[str] | None,
        typer.Option(metavar="N:MISSES:SLEEPS", help="a claim for N processes, in percent, to check: 8:50.33:0.04"),
    ] = None,
    format: FormatOption = "text",
) -> None:
    """Processes that share one latch: does spinning absorb the collisions, and where does the curve bend?"""
    _answer(
        format, file, lambda: scaling_study(_read(file), _name(file), _chosen(column), [*map(claim_of, claim or ())])
    )


@study_cli.command("partitions")
def study_partitions(
    file: TableArgument,
    processes: Annotated[int | None, typer.Option(min=2, max=1_000, help="how many processes ran")] = None,
    ask: Annotated[
        list[str] | None, typer.Option(metavar="PARTITIONS:BATCH", help="a setting to predict; repeat for more")
    ] = None,
    column: ColumnOption = None,
    format: FormatOption = "text",
) -> None:
    """A structure split into partitions and refilled in batches: which setting is enough, and what do few cells show?"""
    _answer(
        format,
        file,
        lambda: partition_study(_read(file), _name(file), _chosen(column), processes, [*map(setting_of, ask or ())]),
    )


@study_cli.command("parallel")
def study_parallel(file: TableArgument, column: ColumnOption = None, format: FormatOption = "text") -> None:
    """One worker against many (vmtasks and the like): speed-ups, and the serial share they imply."""
    _answer(format, file, lambda: parallel_study(_read(file), _name(file), _chosen(column)))


@study_cli.command("cpu")
def study_cpu(
    file: Annotated[str, typer.Argument(metavar="FILE", help="what `perf stat` printed; - reads standard input")],
    against: Annotated[
        str | None, typer.Option(metavar="FILE", help="second counter file, to compare hold times with")
    ] = None,
    holder: Annotated[
        bool, typer.Option("--holder", help="the counters are those of the code that holds the latch")
    ] = False,
    format: FormatOption = "text",
) -> None:
    """Processor counters: instructions per cycle, stalls, and their effect on the time a latch is held."""

    def make() -> CpuStudy:
        other = None if against is None else (_read(against), _name(against))
        return cpu_study(_read(file), _name(file), holder, other)

    _answer(format, file, make)


@study_cli.command("timer")
def study_timer(
    granularity: Annotated[str, typer.Option(metavar="TIME", help="of the new timer, such as 1ms or 100us")],
    need: Annotated[str, typer.Option(metavar="TIME", help="mean wait that a waiter needs")],
    before: Annotated[str, typer.Option(metavar="TIME", help="granularity of the current timer")] = "10ms",
    format: FormatOption = "text",
) -> None:
    """Another timer granularity: its effect on waiters that sleep on a timer, and on those that are posted."""
    times = (("granularity", granularity), ("need", need), ("before", before))
    _answer(format, f"a need of {need}", lambda: timer_study(*(_seconds(name, each) for name, each in times)))


def _answer(how: StudyFormat, source: str, make: Callable[[], Study]) -> None:
    """Study and print. Bad input is one line and exit code 2."""
    try:
        study = make()
    except BadStudy as error:
        fail(str(error))
    page = page_of(study)
    if how == "json":
        typer.echo(study.model_dump_json(indent=2))
    elif how == "html":
        typer.echo(as_html(page, _name(source)), nl=False)
    else:
        text = "".join(each if each.isprintable() or each == "\n" else "?" for each in as_text(page))
        answer, _, rest = text.partition("\n\n")
        typer.echo(f"{typer.style(answer, bold=True)}\n\n{rest}")  # the style is left out if stdout is not a terminal


def as_html(page: StudyPage, source: str) -> str:
    """One page that you can mail. Every text in it is escaped. `source` names its table."""
    from service.web.pages.layout import alone  # loads the pages, which no other format needs

    return alone("study.html", datetime.now(UTC), title=f"{page.title}, {source}", page=page, source=source)


def _read(name: str) -> str:
    """The text of a file or of standard input. Raises BadStudy."""
    try:
        if name == "-":
            content = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                content = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise BadStudy(f"there is no file {name}; name a table") from None
    except IsADirectoryError:
        raise BadStudy(f"{name} is a directory; name a file within it") from None
    except OSError as error:
        raise BadStudy(
            f"{name} cannot be read: {error.strerror}; give the right to read it, or name another file"
        ) from None
    if len(content) > MOST_BYTES:
        raise BadStudy(f"{name} is larger than {MOST_BYTES // 2**20} MiB; give the measurements, not a log")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadStudy(f"{name} is not text in UTF-8; save it as CSV in UTF-8") from None


def _name(name: str) -> str:
    return "standard input" if name == "-" else Path(name).name


def _chosen(column: list[str] | None) -> Mapping[str, str]:
    """Field → column, as given. Raises BadStudy."""
    chosen = {}
    for each in column or ():
        field, found, name = each.partition("=")
        if not (field and found and name):
            raise BadStudy(f"{each!r} has no column; write FIELD=NAME, such as misses=latch_misses")
        chosen[field.strip()] = name.strip().lower()
    return chosen


def _seconds(name: str, words: str) -> float:
    """A time in seconds. Raises BadStudy."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(us|µs|ms|s)\s*", words)
    if found is None:
        raise BadStudy(f"--{name} {words!r} is not a time; write 100us, 1ms or 2s")
    return float(found[1]) * _SECONDS[found[2]]
