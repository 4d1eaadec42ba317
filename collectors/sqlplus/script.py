"""The SQL*Plus script for an instance that latchscope cannot connect to; `collectors.sqlplus.spool` reads its spool file.

Plain SELECTs, so that rows reach the file as they come and a DBA can read them. Each prints records without
blanks, `{ls|part|view|row/rows|length|cells}`, which survive any wrapping; a last record `end` with the names of the
columns proves that the statement ran to its end. See docs/reports.md.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from collectors import template_beside
from collectors.model import Collector, Column, ColumnKind
from collectors.registry import BadCollector, collectors, marker, under_older_name
from collectors.release import as_sent, parts
from collectors.views.latchname import LATCHES

# Which text of a statement a release runs: SQL*Plus variables at the start of each line comment out all others.


def switch(which: str, floor: str) -> str:
    """The variable that comments out a line below a release (`from`), or from it on (`below`)."""
    return f"ls_{which}_{floor.replace('.', '_')}"


FORMAT = 1
INSTANCE = "v$instance"
SAMPLED = "v$session"
LATEST = ("v$latch_children",)
"""Read last in each snapshot: the one view whose cost grows with the SGA, so the one most likely to hang."""
NOT_READ_FROM = {"v$latch_children": "12.2"}
"""Where mutexes guard the row cache there are no children to list, but the database may still search the view for them."""
BINDS = {bind: f"(select latch# from v$latchname where name = '{name}')" for bind, name in LATCHES.items()}
"""The expression in place of a bind, because a script cannot bind."""
PART = "' || :ls_part || '"
OTHERS = 3
"""SELECTs of the template itself: the release, the name of the file, the way to wait."""
IN_A_HANG = (INSTANCE, "v$rowcache", "waiting_sessions", "row_cache_blockers", "chain_sessions")
"""What names the holder: all that the short script reads, in the oldest text, so that a DBA reads one text of each."""
READ = re.compile(r"\b(?:from|join|,) +(?:sys\.)?([vx]_?\$\w+|latchscope_\w+)")
WIDEST_LINE, NEXT_LINE = 360, "\n" + " " * 23
LONGEST_TEXT = 200
"""Characters kept of a text. A record must fit into the 4,000 bytes of a string."""

NUMBER = "to_char(q.{0}, 'TM9', 'nls_numeric_characters=''.,''')"
DATE = "to_char(q.{0}, 'YYYY-MM-DD\"T\"HH24:MI:SS.FF3')"
# dump() tells a number from a text, which the reader could not: 0 may be a container or the name of one.
EITHER = "decode(substr(dump(q.{0}, 10, 1, 1), 1, 6), 'Typ=2 ', null, '\"') || substr(q.{0}, 1, {1})"
ENCODED = """translate(replace(replace(asciistr(cells), '~', '\\007E'), '|', '\\007C'), \
' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|')"""
"""A row of cells joined by chr(1) as one word of ASCII: blanks become ~, the separator becomes |, chr(0) is dropped."""


@dataclass(frozen=True, slots=True)
class ScriptQuery:
    """A confirming query: the causes it answers for, its texts by lowest release, and its releases, both ends included.

    The first text also serves every older release.
    """

    ids: tuple[str, ...]
    texts: tuple[tuple[str | None, str], ...]
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True)
class _Section:
    """One statement of the script: part and view as its records name them, and its text by lowest release."""

    part: str
    view: str
    texts: Mapping[str, str]

    @property
    def mark(self) -> str:
        """The SQL that starts each record. Binds number the looks and the two snapshots, so that their texts stay the same."""
        part = {"look": "look' || :n || '", "1": PART, "2": PART}.get(self.part, self.part)
        return f"'{{ls|{part}|{self.view}|'"

    @property
    def text(self) -> str:
        """Its SELECTs, of which the release leaves one."""
        return "\n".join(_variants(self))


def sqlplus_script(
    seconds: int | None = None,
    looks: int = 30,
    questions: Iterable[ScriptQuery] = (),
    *,
    leave: bool = False,
    hang: bool = False,
) -> str:
    """The whole script: two snapshots `seconds` apart, `looks` at who waits in between, and the confirming queries last.

    `leave`: it ends SQL*Plus at the end. `hang`: it is the short one, without looks, of `IN_A_HANG` alone.
    """
    seconds = seconds or (10 if hang else 30)
    looks = 0 if hang else min(looks, seconds)
    look = _Section("look", SAMPLED, collectors()[SAMPLED].statements)
    before, after = [*_snapshot("1")], [*_snapshot("2"), *_once()]
    confirming = [] if hang else [*_confirming(questions)]
    if hang:
        before, after = ([_oldest(each) for each in part if each.view in IN_A_HANG] for part in (before, after))
    every = (*before, *([look] if looks else ()), *after, *confirming)
    floors = sorted({floor for section in every for floor in _floors(section)[1:]}, key=parts)
    read = set(READ.findall("\n".join(section.text for section in (*before, *after))))
    others = OTHERS - 2 * hang
    return template_beside(__file__).render(
        name="latchscope-hang" if hang else "latchscope",
        format=FORMAT,
        hang=hang,
        leave=leave,
        seconds=seconds,
        looks=looks,
        look=look,
        pause=f"{seconds / looks:g}" if looks else "",
        before=before,
        after=after,
        confirming=confirming,
        views=_listed(sorted(read), len(confirming)),
        statements=len(before) + len(after) + looks + others,
        # A text that `after` repeats from `before` counts once.
        parsed=len(after) + bool(looks) + len(confirming) + others,
        floors=[
            (floor, sum(part * 100 ** (3 - rank) for rank, part in enumerate(parts(floor)[:4]))) for floor in floors
        ],
        switch=switch,
    )


def _oldest(section: _Section) -> _Section:
    """The section with its oldest text alone."""
    floor = _floors(section)[0]
    return _Section(section.part, section.view, {floor: section.texts[floor]})


def _listed(views: list[str], confirming: int) -> str:
    views = [*views, *(["what the confirming queries at the end count"] if confirming else [])]
    lines = [", ".join(views[at : at + 6]) for at in range(0, len(views), 6)]
    return (",\n--" + " " * 16).join(lines)


# Which statements it has, and how each becomes a SELECT that prints records.


def _snapshot(part: str) -> Iterator[_Section]:
    """What is read twice: the clock, then every view with counters, the most expensive last. Optional views are left out."""
    twice = [one for one in collectors().values() if _counts(one) and not (one.sampled or one.optional)]
    for collector in sorted(twice, key=lambda collector: (collector.view != INSTANCE, collector.view in LATEST)):
        texts = {floor: _bound(collector, text) for floor, text in collector.statements.items()}
        if collector.view in NOT_READ_FROM:
            # A statement with the columns of a collector that returns no rows.
            cells = (("0" if _numeric(column) else "'-'") + f" as {column.name}" for column in collector.columns)
            texts[NOT_READ_FROM[collector.view]] = (
                f"select {marker(collector.view)} {', '.join(cells)}\n  from dual\n where 1 = 0"
            )
        yield _Section(part, collector.view, texts)


def _counts(collector: Collector) -> bool:
    return collector.view == INSTANCE or any(column.kind is ColumnKind.COUNTER for column in collector.columns)


def _once() -> Iterator[_Section]:
    """What is read once, after both snapshots: levels, settings, the map. X$ through our view, as SYS, and by its older name."""
    for collector in collectors().values():
        if _counts(collector) or collector.sampled or collector.optional:
            continue
        view, texts = collector.view, collector.statements
        yield _Section("once", view, {floor: _bound(collector, text) for floor, text in texts.items()})
        if view.startswith("x$"):
            yield _Section(
                "sys", view, {floor: text.replace(collector.granted_on, view) for floor, text in texts.items()}
            )
        if collector.formerly:
            yield _Section("old", view, {floor: under_older_name(collector, text) for floor, text in texts.items()})


def _bound(collector: Collector, text: str) -> str:
    if collector.binds is None:
        return text
    try:
        return re.sub(r"(?<!\w):(\w+)", lambda found: BINDS[found[1]], text)
    except KeyError as unknown:
        raise BadCollector(
            f"{collector.view} binds {unknown}, for which collectors/sqlplus/script.py has no query"
        ) from None


def _confirming(questions: Iterable[ScriptQuery]) -> Iterator[_Section]:
    nothing = "select null as answer from dual"
    for question in questions:
        since, texts = question.since or "0", {"0": nothing}
        for place, (floor, sql) in enumerate(question.texts):
            begins = max(floor, since, key=parts) if floor and place else since
            texts[begins] = f"select /* latchscope confirm */ ({sql}) as answer from dual"
        if question.until:
            *head, last = parts(question.until)
            end = ".".join(map(str, (*head, last + 1)))
            texts = {floor: text for floor, text in texts.items() if parts(floor) < parts(end)} | {end: nothing}
        yield _Section("confirm", ",".join(question.ids), texts)


def _floors(section: _Section) -> list[str]:
    return sorted(section.texts, key=parts)


def _variants(section: _Section) -> Iterator[str]:
    """The lines of each text. If there are several texts, switches at the start of each line comment out all but one."""
    floors = _floors(section)
    for floor, above in pairwise([*floors, ""]):
        front = "" if floor == floors[0] else f"&{switch('from', floor)} "
        front += f"&{switch('below', above)} " if above else ""
        yield from (front + line for line in _records(section, section.texts[floor]).splitlines())


def _records(section: _Section, text: str) -> str:
    """The SELECT around one of our statements that prints its rows as records, and the end record."""
    columns = _columns(section, text)
    cells = ""
    for cell in columns.values():
        full = len(cells.rpartition("\n")[2]) + len(cell) > WIDEST_LINE
        cells += f"{NEXT_LINE if full else ' '}|| chr(1) || {cell}" if cells else cell
    names = "|".join(columns)
    inner = as_sent(text).replace("\n", "\n" + " " * 24)
    return f"""\
select {section.mark} || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}}' as ls_line
  from (select n, total, {ENCODED} as body
          from (select rownum as n, count(*) over () as total,
                       {cells} as cells
                  from ({inner}) q))
union all
select {section.mark} || 'end|{len(names)}|{names}}}' from dual"""


def _columns(section: _Section, text: str) -> dict[str, str]:
    """Column of this text → the expression that prints it."""
    if section.part == "confirm":
        return {"answer": NUMBER.format("answer")}
    asked = text.partition(" from ")[0]
    found = {}
    for column in collectors()[section.view].columns:
        if not re.search(rf"(?<![\w$#]){re.escape(column.name)}(?![\w$#])", asked.replace(section.view, "")):
            continue
        how = DATE if column.unit == "date" else NUMBER if _numeric(column) else EITHER
        found[column.name] = how.format(column.name, LONGEST_TEXT)
    return found


def _numeric(column: Column) -> bool:
    return column.kind in (ColumnKind.COUNTER, ColumnKind.GAUGE) or column.name.endswith("#")
