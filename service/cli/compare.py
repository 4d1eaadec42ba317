"""`latchscope compare` and `latchscope mark`: before against after, and the mark between them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from getpass import getuser
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote

import typer
from pydantic import TypeAdapter, ValidationError

from collectors.errors import InputError
from collectors.model import Delta, NotComparable
from rules.comparison.changes import Comparison
from rules.comparison.compare import compare as compared
from service.cli.common import (
    CONFIG,
    ENDINGS,
    ConfigOption,
    Force,
    Form,
    OutputOption,
    StoreOption,
    TokenFileOption,
    UrlOption,
    form_of,
    settings_of,
    show,
    written,
)
from service.cli.messages import fail, say
from service.client import ServiceClient, ServiceRefused, token_of
from service.config.load import variable_of
from service.escape import visible, visible_json
from service.history.comparison import SETTLE, CannotCompare, ComparedWindows, NoMark, at_mark, comparison
from service.history.marks import BadMark, set_mark
from service.history.month import Month, hours, month_named
from service.history.month import month as month_of
from service.intake import inputs
from service.render.comparison import as_markdown, as_text
from service.state.time_window import BadWindow, iso, moment, parse_duration, parse_window
from service.store.engine import STORE_ERRORS, StoreError, brief, sqlite_file
from service.store.episodes import Mark
from service.store.repository import Repository

OTHER_RELEASE = "{url} answers as another release does; ask it with the latchscope of that release"


def compare(
    files: Annotated[list[str] | None, typer.Argument(help="BEFORE and AFTER: two captures or reports")] = None,
    db: Annotated[str | None, typer.Option(help="a database of the store, instead of two files")] = None,
    mark: Annotated[str | None, typer.Option(help="with --db: last, or the id of a mark")] = None,
    before: Annotated[str | None, typer.Option(help="with --db: a window begin/end, such as -2h/-1h")] = None,
    after: Annotated[str | None, typer.Option(help="with --db: a window begin/end, such as -1h/now")] = None,
    span: Annotated[str | None, typer.Option(help="with --mark: how long the windows are, such as 10m")] = None,
    settle: Annotated[str | None, typer.Option(help="with --mark: time after it to leave out")] = None,
    format: Annotated[Form, typer.Option(help="how to print it")] = "text",
    url: UrlOption = None,
    token_file: TokenFileOption = None,
    store: StoreOption = None,
    config: ConfigOption = CONFIG,
) -> None:
    """Compare before with after, per unit of work: two files, two windows of a database, or both sides of a mark."""
    sides = {"mark": mark, "before": before, "after": after, "span": span, "settle": settle}
    try:
        if db is None:
            found = _of_files(files or [], (*sides.values(), url))
        elif files:
            fail("name two files, or --db with --mark or --before and --after, not both")
        elif url is not None:
            named = {name: side for name, side in sides.items() if side is not None}
            told = ServiceClient(url, token_of(token_file)).get(f"/databases/{quote(db, safe='')}/compare", named)
            found = Comparison.model_validate(told)
        else:
            found = _of_store(db, sides, store, config)
    except ValidationError:
        fail(OTHER_RELEASE.format(url=url))
    except (InputError, BadWindow, NoMark, CannotCompare, ServiceRefused) as error:
        fail(str(error))
    if format == "text":
        show(as_text(found))
    else:
        typer.echo(visible_json(found.model_dump_json(indent=2)) if format == "json" else as_markdown(found))


def mark(
    database: Annotated[str, typer.Argument(help="name in the configuration")],
    text: Annotated[str, typer.Argument(help="what was changed, in short")],
    at: Annotated[str, typer.Option(help="when: RFC 3339 or relative, such as -10m; default: now")] = "now",
    url: UrlOption = None,
    token_file: TokenFileOption = None,
    store: StoreOption = None,
    config: ConfigOption = CONFIG,
) -> None:
    """Mark a change on a database, so that you can compare before with after."""
    now = datetime.now(UTC)
    try:
        if url is not None:
            body = {"text": text, "at": moment(at, now).isoformat()}
            told = ServiceClient(url, token_of(token_file)).post(f"/databases/{quote(database, safe='')}/marks", body)
            kept = TypeAdapter(Mark).validate_python(told)
        else:
            with opened_store(store, config, database) as opened:
                kept = set_mark(opened, database, text, moment(at, now), getuser(), now)
    except ValidationError:
        fail(OTHER_RELEASE.format(url=url))
    except (BadMark, BadWindow, ServiceRefused) as error:
        fail(str(error))
    say(f"{database}: marked at {iso(kept.at)}: {kept.text} ({kept.id})")


def month(
    which: Annotated[str, typer.Argument(metavar="[MONTH]", help="YYYY-MM, this or last")] = "this",
    format: Annotated[
        Literal["text", "json", "html"] | None, typer.Option(help="how to print it; default: as -o FILE ends, or text")
    ] = None,
    output: OutputOption = None,
    force: Force = False,
    store: StoreOption = None,
    config: ConfigOption = CONFIG,
) -> None:
    """What a month cost on all databases, by cause and database, what remedied it and what is still open."""
    form = form_of(output, format, {end: each for end, each in ENDINGS.items() if each != "markdown"})
    try:
        window = month_named(which, datetime.now(UTC))
    except BadWindow as error:
        fail(str(error))
    with opened_store(store, config) as opened:
        told = month_of(opened, window)
    if form == "html":
        from service.web.pages.export import month_as_html  # loads the pages, which no other form needs

        text = month_as_html(told)
    else:
        text = visible_json(told.model_dump_json(indent=2)) if form == "json" else visible(_month_as_text(told), "\n")
    if not written(text, output, form, force=force):
        raise typer.Exit(2)


def _month_as_text(month: Month) -> str:
    """The sums by cause and by database, then each problem that was remedied or is open."""
    lines = [month.title, month.sentence]
    for heading, sums in (("cause", month.causes), ("database", month.databases)):
        if sums:
            lines += ["", f"Hours of DB time lost by {heading}"]
            lines += [f"{hours(one.hours_lost):>8}  {one.title}" for one in sums]
    for each in (each for each in month.troubles if each.outcome != "over"):
        lost = f"{hours(each.hours_lost)} h"
        lines += ["", f"{each.begin:%d %b %H:%M}  {each.database}: {each.title}, {each.outcome}, {lost}"]
        if each.remedy:
            sides = f"hours lost in an hour: {hours(each.lost_before)} before, {hours(each.lost_after)} after"
            lines.append(f"    {each.remedy}; {sides}")
    return "\n".join(lines)


def _of_files(files: list[str], of_the_store: tuple[str | None, ...]) -> Comparison:
    if any(option is not None for option in of_the_store):
        fail("--mark, --before, --after, --span, --settle and --url need a database of the store; name it with --db")
    if len(files) != 2:
        fail("name two files, BEFORE and AFTER, or a database with --db")
    if files == [inputs.STDIN, inputs.STDIN]:
        fail("standard input can be one side only")
    before, after = (change_of(file) for file in files)
    return compared(before, after)


def change_of(name: str) -> Delta:
    """The one change in an input. Raises InputError; CannotCompare if there is none or more than one."""
    outcome = inputs.diagnose_all([name])
    if outcome.errors:
        raise outcome.errors[0]
    if len(outcome.diagnosed) != 1:
        raise CannotCompare(
            f"{name} has {len(outcome.diagnosed)} intervals; a side needs exactly one: name a file with one"
        )
    change = outcome.diagnosed[0].change
    if isinstance(change, NotComparable):
        raise CannotCompare(f"{name}: {change.why}; {change.way_out}")
    return change


def _of_store(db: str, sides: Mapping[str, str | None], store: str | None, config: Path) -> Comparison:
    mark, before, after, span, settle = sides.values()
    now = datetime.now(UTC)
    windows = None if before is None or after is None else (parse_window(before, now), parse_window(after, now))
    if (windows is None) == (mark is None) or (mark is not None and (before or after)):
        fail("give --mark last, --mark ID, or both --before and --after")
    if mark is None and (span or settle):
        fail("--span and --settle choose the windows around a mark; name it with --mark")
    length = None if span is None else parse_duration("--span", span)
    left_out = SETTLE if settle is None else parse_duration("--settle", settle)
    with opened_store(store, config, db) as opened:
        if windows is not None:
            return comparison(opened, db, ComparedWindows(*windows))
        return at_mark(opened, db, mark or "last", length, left_out)


@contextmanager
def opened_store(url: str | None, config: Path, database: str | None = None) -> Iterator[Repository]:
    """The named store, or the one of the configuration. The store and the database, if one is named, must exist."""
    if url is None and not config.exists() and not variable_of("databases"):
        fail(f"{config} does not exist; name it with --config, or its store alone with --store URL")
    chosen = None if url is not None else settings_of(config)
    try:
        address = url if chosen is None else chosen.store
        path = sqlite_file(str(address))
        if path is not None and not path.exists():
            fail(f"there is no store {path}; `latchscope serve` creates it")
        opened = Repository(str(address), chosen.history if chosen else None)
    except StoreError as error:
        fail(str(error))
    except STORE_ERRORS as error:
        fail(f"--store: {brief(error)}")
    try:
        names = {*opened.names.all(), *(each.name for each in (chosen.databases if chosen else ()))}
        if database is not None and database not in names:
            fail(f"no database named {database}; the names are: {', '.join(sorted(names)) or 'none'}")
        yield opened
    except STORE_ERRORS as error:
        fail(f"store: {brief(error)}")
    finally:
        opened.close()
