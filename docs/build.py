"""Writes what the documents repeat from code: `make docs`, which is `python -m docs.build`.

A part begins with `<!-- made: NAME -->` and ends with `<!-- end -->`; what stands between the two is written anew from the
collectors, the grants, the settings, the metric families, the signals, the studies and the interface. The rest of a page is
written by hand. The grants that tests/live hands to its containers are written whole. A test holds the tree to this.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml
from prometheus_client import Metric
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from typer.main import get_command

from collectors.grants import (
    KINDS,
    TRAITS,
    DatabaseKind,
    grant,
    granted_for_polls,
    grantee,
    grants_script,
    owned_by_sys,
)
from collectors.model import Collector, ColumnKind
from collectors.registry import collectors
from collectors.sqlplus.script import sqlplus_script
from docs import groups, interface
from rules.cause import Cause, Fix, TextSpan, catalogue, text_spans
from rules.remedy import CONTAINERS_SINCE, Query
from rules.signals import SIGNALS
from rules.studies import parallel, partitions, scaling
from rules.studies.table import StudyColumn
from service.cli.help import EXIT_CODES, READ_HERE
from service.cli.main import LatchscopeGroup, cli
from service.config.settings import every_setting, seconds, size
from service.metrics.families import FAMILIES, Family

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("*.md", "docs/*.md", "rules/causes/*.md")
USER = "LATCHSCOPE"
PART = re.compile(r"(?<=<!-- made: )([\w: -]+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)
UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
SIZES = {"MiB": 2**20, "KiB": 2**10}


def texts(root: Path = ROOT) -> dict[Path, str]:
    """Every file that holds something made, as it should be."""
    pages = {page: page.read_text(encoding="utf-8") for pattern in PAGES for page in sorted(root.glob(pattern))}
    made = {
        page: PART.sub(lambda part: f"{part[1]}{part[2]}\n{PARTS[part[1]]()}\n\n", text) for page, text in pages.items()
    }
    setup = root / "tests" / "live" / "setup"
    scripts = {"latchscope.sql": sqlplus_script(), "latchscope-hang.sql": sqlplus_script(hang=True)}
    sums = (f"{sha256(text.encode()).hexdigest()}  {name}\n" for name, text in scripts.items())
    kept = {root / "examples" / "sqlplus" / name: text for name, text in scripts.items()}
    return (
        made
        | kept
        | {
            root / "examples" / "sqlplus" / "SHA256SUMS": "".join(sums),
            root / "constraints.txt": constraints(),
            root / "docs" / "latchscope.1": man_page(),
            **groups.statements(root),
            setup / "grants-11.2.sql": grants_script(USER, "11.2", asks=False, release="11.2"),
            setup / "grants-cdb.sql": grants_script(f"C##{USER}", "cdb", asks=False),
        }
    )


def constraints(root: Path = ROOT) -> str:
    """The versions of uv.lock for pip, which would take the newest: those of latchscope and of all its extras."""
    lock = tomllib.loads((root / "uv.lock").read_text(encoding="utf-8"))["package"]
    wanted, found = ["latchscope"], set[str]()
    while wanted:
        found.add(name := wanted.pop())
        for package in (each for each in lock if each["name"] == name):
            extras = package.get("optional-dependencies", {}).values()
            needed = [*package.get("dependencies", ()), *(each for extra in extras for each in extra)]
            wanted += [each["name"] for each in needed if each["name"] not in found]
    lines = ["# Made from uv.lock by `make docs`: pip install --constraint constraints.txt ."]
    for package in (each for each in lock if each["name"] in found - {"latchscope"}):
        where = " or ".join(f"({each})" for each in package.get("resolution-markers", ()))
        lines.append(f"{package['name']}=={package['version']}" + (f" ; {where}" if where else ""))
    return "\n".join(lines) + "\n"


def man_page() -> str:
    """latchscope(1) in the macros of man(7): each command with its options, from the command line itself."""
    top: Any = get_command(cli)
    lines = [".TH LATCHSCOPE 1", ".SH NAME", "latchscope \\- why an Oracle database grinds on its dictionary cache"]
    lines += [".SH SYNOPSIS", ".B latchscope", ".I COMMAND", "[OPTIONS]", ".SH COMMANDS"]
    for panel, commands in LatchscopeGroup.panels.items():
        lines.append(f".SS {panel}")
        for name in commands:
            lines += _man_of(top.get_command(None, name), name)
    lines += [".SH EXIT STATUS", *(part for code, said, _ in EXIT_CODES for part in (".TP", f"{code}", _roff(said)))]
    lines += [".SH ENVIRONMENT", *(part for name, said in READ_HERE for part in (".TP", f".B {name}", _roff(said)))]
    return "\n".join([*lines, ".SH SEE ALSO", "The documentation of a running service, below /docs/."]) + "\n"


def _man_of(command: Any, path: str) -> Iterator[str]:
    below = getattr(command, "commands", {})
    for name in below:
        yield from _man_of(command.get_command(None, name), f"{path} {name}")
    if below:
        return
    options = [each for each in command.params if each.opts[0].startswith("-") and each.name != "help"]
    named = [each.metavar or each.name.upper() for each in command.params if not each.opts[0].startswith("-")]
    yield from (".TP", f".B {path}", _roff(" ".join([*named, "\u2013"] if named else [])), _roff(command.help or ""))
    if options:
        yield from (
            ".RS",
            *(part for each in options for part in (".TP", f".B {_roff(', '.join(each.opts))}", _roff(each.help))),
            ".RE",
        )


def _roff(words: str | None) -> str:
    """Words of a line that groff prints as they are."""
    told = (
        " ".join((words or "").split())
        .replace("\\", "\\e")
        .replace("-", "\\-")
        .replace("\u2013", "\\(en")
        .replace("\u2026", "...")
    )
    return f"\\&{told}" if told[:1] in (".", "'") else told


def table(heads: str, rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown; `heads` are parted by bars."""
    every = [heads.split(" | "), *map(list, rows)]
    lines = ["| " + " | ".join(cells) + " |" for cells in every]
    return "\n".join([lines[0], "|" + "---|" * len(every[0]), *lines[1:]])


# From the collectors


def views() -> list[Collector]:
    """Every collector by its view; v$instance first, without which there is nothing."""
    return sorted(collectors().values(), key=lambda one: (one.view != "v$instance", one.view))


def columns() -> str:
    """Each view with its columns, as captures hold them."""

    def cells(one: Collector) -> Iterator[str]:
        yield f"`{one.view}`"
        yield ", ".join(
            f"**{column.name}**" if column.kind is ColumnKind.KEY else column.name
            for column in one.columns
            if column.unit != "date"
        )

    return table("view | columns; those that name a row in bold", map(cells, views()))


def read() -> str:
    """Each view with its grant, what is read of it, and how often."""

    def cells(one: Collector) -> tuple[str, ...]:
        how_often = (
            "in bursts"
            if one.sampled
            else "once an hour and once per problem"
            if one.for_changes
            else "once an hour"
            if one.on_request and one.every_seconds
            else "in a hang: at its begin, when a wait ends, each 5 min"
            if one.on_request
            else "once per start"
            if one.once
            else "every poll"
        )
        if one.every_seconds and not one.on_request:
            minutes = one.every_seconds / 60
            how_often = "once a minute" if minutes == 1 else f"every {minutes:g} minutes"
        return (
            f"`{one.view}`",
            f"`{one.granted_on}`" if one.granted_on else "nothing",
            one.about,
            one.without,
            how_often,
        )

    return table("view | granted on | what is read | lost without it | how often", map(cells, views()))


def granted(view: str) -> str:
    """The SQL that opens one view."""
    return f"```sql\n{grant(collectors()[view], USER)}\n```"


def kinds() -> str:
    """Each kind of database: where it is, who runs the grants, whom they make, what stays hidden."""

    def cells(kind: DatabaseKind) -> tuple[str, ...]:
        traits = TRAITS[kind]
        return (
            f"`{kind}`{', `non-cdb`' * (kind == '11.2')}",
            traits.where,
            traits.run_as,
            f"`{grantee(USER, kind)}`",
            traits.beyond or "nothing",
        )

    return table("`--for` | where | run as | user | what stays hidden", map(cells, KINDS))


# From the confirming queries of causes


def confirmations() -> str:
    """Each text of each confirming query: its releases, its views with their grants, what it sees from where."""
    return table(
        "cause | releases | views | grant | from CDB$ROOT | inside a PDB",
        (
            _confirmation(cause, span)
            for cause in sorted(catalogue().values(), key=lambda cause: cause.id)
            for span in text_spans(cause)
        ),
    )


def _confirmation(cause: Cause, span: TextSpan) -> tuple[str, ...]:
    query = cause.confirm
    assert query is not None
    since = f"from {span.since}" if query.since or cause.releases.since else None
    until = f"before {span.before}" if span.before else f"to {span.until}" if span.until else None
    releases = ", ".join(end for end in (since, until) if end) or "all"
    grants = ", ".join(
        "with the polls'" if granted_for_polls(view) else f"`{owned_by_sys(view)}`" for view in span.views
    )
    read = ", ".join(f"`{view}`" for view in span.views)
    return f"`{cause.id}`", releases, read, grants, _sees(query, span, 1), _sees(query, span, 3)


def _sees(query: Query, span: TextSpan, con_id: int) -> str:
    """What the number counts where it is asked in a container."""
    if not span.newer:
        return "–"
    if query.root and con_id > 1:
        return "nothing"
    release = CONTAINERS_SINCE if span.older else span.since
    if query.sees_all(release, con_id):
        return "all containers" if con_id == 1 else "the whole instance"
    return "the root only" if con_id == 1 else "the PDB only"


# From docs/unproven.md and docs/settled.yaml


def unproven(page: str) -> dict[str, str]:
    """Id of each statement of docs/unproven.md → what it rests on."""
    return dict(re.findall(r"^\| ([A-Z]\d+) \| .+? \| (public source|our stand-in|assumption) \| ", page, re.M))


def settled(page: str, ledger: str) -> str:
    """How many statements a real database has settled, and each of them with its file."""
    rests_on, rows = unproven(page), yaml.safe_load(ledger)
    ids = {row["id"] for row in rows}
    of = Counter(rests_on.values())
    said = (
        f"**A real database has settled {len(ids)} of {len(rests_on)} statements.** {of['public source']} of them rest on a "
        f"public source, {of['our stand-in']} on our stand-in, and {of['assumption']} are assumptions."
    )
    if not rows:
        return said
    cells = ((row["id"], str(row["release"]), str(row["date"]), row["sent"], row["showed"]) for row in rows)
    return f"{said}\n\n{table('settled | release | date | by | what it showed', cells)}"


def _settled() -> str:
    page, ledger = (ROOT / "docs" / name for name in ("unproven.md", "settled.yaml"))
    return settled(page.read_text(encoding="utf-8"), ledger.read_text(encoding="utf-8"))


# From the settings


def default_of(field: FieldInfo) -> str:
    """A default as people write it; empty where there is none."""
    value = field.default
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(value)
    for reads, units in ((seconds, UNITS), (size, SIZES)):
        if any(getattr(one, "func", None) is reads for one in field.metadata):
            return next(f"{value / many:g}{unit}" for unit, many in units.items() if value % many == 0)
    return str(value)


def settings() -> str:
    """Each setting with its default and its reason."""

    def cells(name: str, field: FieldInfo) -> tuple[str, ...]:
        default = "required" if field.default is PydanticUndefined else default_of(field)
        shown = default if default in ("", "required") else f"`{default}`"
        return f"`{name}`", shown or "none", " ".join((field.description or "").split())

    return table("setting | default | what it is, and why", (cells(*one) for one in every_setting()))


# From the metric families and the signals


def metrics(section: str) -> str:
    """The metrics of one section."""

    def cells(one: Family) -> tuple[str, ...]:
        said = re.sub(r" \(v\$[\w.]+\)$", "", one.help.removesuffix("."))
        source = ", ".join(f"`{place}`" if "$" in place else place for place in one.source)
        meaning = "; ".join(filter(None, (said, one.note, "*stays*" if one.stays else "")))
        return f"`{one.name}`", one.type, ", ".join(one.labels) or "–", meaning, source, one.series

    heads = "metric | type | labels | meaning | source | series per database"
    return table(heads, (cells(one) for one in FAMILIES.values() if one.section == section))


def process_metrics() -> str:
    """What a whole service says of itself, as its own registry has it."""
    with interface.whole_service() as app:
        families = list(app.state.registry.collect())
    labels = dict.fromkeys(
        ("latchscope_webhook_attempts", "latchscope_notification_attempts"),
        "outcome, target",
    )

    def cells(one: Metric) -> tuple[str, ...]:
        name = f"{one.name}_total" if one.type == "counter" else one.name
        named = ", ".join(sorted({label for sample in one.samples for label in sample.labels}))
        return f"`{name}`", one.type, named or labels.get(one.name, "–"), one.documentation.removesuffix(".")

    return table("metric | type | labels | meaning", (cells(one) for one in families if one.name not in _TOLD))


_TOLD = {name.removesuffix("_total") for name in FAMILIES}
"""What stands in another table."""


def signals() -> str:
    """Each signal with its unit and its views, by name."""
    every = sorted(SIGNALS.values(), key=lambda one: one.name)
    return table("signal | unit | from | what it is", ((f"`{one.name}`", one.unit, one.of, one.about) for one in every))


def study_columns(columns: Iterable[StudyColumn]) -> str:
    """What a study reads from a table, and the names its columns may have."""
    return table(
        "quantity | names of its column | needed",
        (
            (f"`{c.field}`", ", ".join(f"`{name}`" for name in c.accepted), "no" if c.optional else "yes")
            for c in columns
        ),
    )


def fixes() -> str:
    """Every bug that a cause may be, with the first release that has its fix and the page that says so."""

    def cells(cause: Cause, fix: Fix) -> Iterator[str]:
        yield f"`{cause.id}`"
        yield fix.bug
        yield fix.affects.in_words
        yield fix.first_fixed or "none named"
        yield "yes" if fix.one_off else "not told"
        yield (
            f"only with {fix.needs_setting}"
            if fix.needs_setting
            else "yes"
            if fix.ends_the_cause
            else "of this bug alone"
        )
        yield "; ".join(f"[{one.title}]({one.url})" if one.url else one.title for one in fix.sources)

    heads = "cause | bug | releases affected | first release or update with the fix | patch of its own | ends the cause | source"
    return table(heads, (cells(cause, fix) for cause in catalogue().values() for fix in cause.fixes))


def stable() -> str:
    """What of the interface stays from one release to the next, with the number of names of each kind."""
    count = interface.counted(interface.interface())
    codes = ", ".join(str(code) for code, _, _ in EXIT_CODES)
    rows = (
        (
            f"{count['metric']} metrics with {count['label']} labels",
            "[metrics.md](metrics.md)",
            "name, type, names of labels",
        ),
        (
            f"{count['path']} paths of REST, {count['parameter']} parameters, {count['field']} members of answers",
            "[rest.md](rest.md)",
            "path, parameters, members and their types; a member that is never null stays so",
        ),
        (f"{count['setting']} settings", "[configuration.md](configuration.md#every-setting)", "name and meaning"),
        (
            f"{count['command']} commands with {count['option']} options",
            "`latchscope COMMAND --help`",
            "names",
        ),
        (f"exit codes {codes}", "`latchscope help exit-codes`", "number and meaning"),
        (
            f"captures, {count['capture column']} columns",
            "[reports.md](reports.md#capture-files)",
            "every later release reads form 1",
        ),
    )
    return table("what | listed in | what stays", rows)


PARTS: Mapping[str, Callable[[], str]] = {
    "columns": columns,
    "what is read": read,
    "kinds": kinds,
    "confirmations": confirmations,
    "grant of x-kqrst": partial(granted, "x$kqrst"),
    "settled": _settled,
    "settings": settings,
    "signals": signals,
    "stable": stable,
    "fixes": fixes,
    "metrics of the process": process_metrics,
    "study scaling": partial(study_columns, scaling.COLUMNS),
    "study partitions": partial(study_columns, partitions.COLUMNS),
    "study parallel": partial(study_columns, parallel.COLUMNS),
    **{f"metrics: {section}": partial(metrics, section) for section in {one.section for one in FAMILIES.values()}},
}
"""Name of a part → what makes it."""


def main() -> None:
    """Write every file that is not as it should be."""
    for path, text in texts().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
