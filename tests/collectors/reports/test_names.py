"""A name that is asked for and not found is unknown, never zero, if a strange name of its section may stand for it."""

import re
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.model import Delta, Missing, number
from collectors.reports.read import read
from collectors.reports.tables import in_doubt, plain
from collectors.views.system_event import ORDINARY_WAITS
from rules.engine import diagnose
from tests.collectors.reports.test_read import head
from tests.paths import REPORTS

PAGE, PRINT = "awr-19.0.0.0.0-cluster-users-mutex.html", "awr-12.2.0.1.0-users-mutex.txt"
OLD_PAGE, OLD_PRINT = "awr-11.2.0.4.0-undo-storm.html", "awr-11.2.0.4.0-undo-storm.txt"
NAMES = (
    *("parse time elapsed", "hard parse elapsed time", "DB CPU", "row cache mutex", "row cache lock"),
    *("row cache objects", "latch: row cache objects", "shared pool", "cache buffers chains", "dc_users"),
    *("dc_rollback_segments", "dc_objects", "parse count (total)", "execute count", "BUSY_TIME"),
    *("IDLE_TIME", "Row Cache", "kqrpre: find obj", "kqreqd: reget"),
)


def read_text(content: str) -> Delta:
    (delta,) = read(content.encode(), "case")
    assert isinstance(delta, Delta)
    return delta


def kept(name: str) -> str:
    return (REPORTS / name).read_text(encoding="utf-8")


def is_told_zero(delta: Delta, view: str, key: str, name: str, column: str) -> bool:
    """Whether the figure is 0, or its row is left out of a view where that means 0."""
    if isinstance(delta.read(view), Missing):
        return False
    rows = [row for row in delta.rows(view) if row.get(key) == name]
    if any(number(row.get(column)) == 0 for row in rows):
        return True
    return not rows and view in ("v$system_event", "v$mutex_sleep", "v$rowcache", "v$latch_misses")


@pytest.mark.parametrize("mark", ["&#160;&#160;<a class='awr' href='#1'>[1]</a>", " [2]", "*", "†", " [1] [2]"])
def test_footnote_marks_behind_names_change_no_figure(mark: str) -> None:
    content = kept(PAGE)
    marked = re.sub(
        rf"(<td[^>]*>)({'|'.join(map(re.escape, sorted(NAMES, key=len, reverse=True)))})</td>",
        rf"\g<1>\g<2>{mark}</td>",
        content,
    )
    assert marked != content
    before, after = read_text(content), read_text(marked)
    for view in ("v$sys_time_model", "v$system_event", "v$latch", "v$rowcache", "v$mutex_sleep", "v$osstat"):
        assert before.rows(view) == after.rows(view), view


def damages() -> st.SearchStrategy[Callable[[str], str]]:
    """Ways in which a copy or another release may change a name and keep it recognisable to a person."""
    places = st.integers(0, 60)
    return st.one_of(
        places.map(lambda at: lambda name: name[: at % len(name)] + "x" + name[at % len(name) + 1 :]),
        places.map(lambda at: lambda name: name[: at % len(name)] + "#" + name[at % len(name) :]),
        places.map(lambda at: lambda name: name[: at % len(name)] + name[at % len(name) + 1 :]),
        st.sampled_from(["+", " 1", " (a)", " [1]", "*", "?", "é"]).map(lambda end: lambda name: name + end),
        st.just(str.upper),
        st.just(lambda name: "".join(chr(ord(sign) + 0x0430 - 97) if sign.islower() else sign for sign in name)),
    )


KEYS = (
    ("v$latch", "name"),
    ("v$latch_misses", "location"),
    ("v$mutex_sleep", "mutex_type"),
    ("v$rowcache", "parameter"),
    ("v$system_event", "event"),
    ("v$sys_time_model", "stat_name"),
    ("v$sysstat", "name"),
    ("v$osstat", "stat_name"),
    ("v$parameter", "name"),
)
FILES = (PAGE, PRINT, OLD_PAGE, OLD_PRINT, "awr-11.2.0.4.0-cluster-sequence.html", "awr-12.1.0.2.0-parse-storm.txt",
         "statspack-11.2.0.3.0-undo-storm.txt", "statspack-9.2.0.6.0-undo-storm.txt",
         "statspack-19.0.0.0.0-users-mutex.txt")  # fmt: skip


@cache
def judged(file: str) -> tuple[Delta, frozenset[str]]:
    delta = read_text(kept(file))
    return delta, firm(delta)


def firm(delta: Delta) -> frozenset[str]:
    """The causes that are found with more than low confidence."""
    return frozenset(found.cause for found in diagnose(delta).findings if found.confidence != "low")


@settings(derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(FILES), st.sampled_from(KEYS), st.data())
def test_damaged_name_of_any_section_gives_no_zero_and_no_new_cause(
    file: str, section: tuple[str, str], data: st.DataObject
) -> None:
    view, key = section
    before, causes = judged(file)
    # No rule asks for an ordinary wait by name: what is not read of them is told as unread.
    rows = [row for row in before.rows(view) if len(str(row.get(key))) > 2 and row.get(key) not in ORDINARY_WAITS]
    if not rows:
        return
    row = data.draw(st.sampled_from(rows))
    name, damage = str(row[key]), data.draw(damages())
    after = read_text(with_name(kept(file), name, damage(name), page=file.endswith(".html")))
    for column, value in row.items():
        # Another row of that name may be 0 as printed: the mutexes have a row for each location.
        if number(value) and not is_told_zero(before, view, key, name, column):
            assert not is_told_zero(after, view, key, name, column), (file, view, name, damage(name))
    assert firm(after) <= causes, (file, view, name, damage(name))


def with_name(content: str, name: str, damaged: str, *, page: bool) -> str:
    """The report with another name. In text a longer name takes of the blanks behind it, a shorter one leaves some."""
    if page:
        return content.replace(f">{name}<", f">{damaged}<")
    return re.sub(
        rf"^{re.escape(name)} *(?= )|(?<= ){re.escape(name)} *(?= )",
        lambda found: damaged.ljust(len(found[0]))[: max(len(found[0]), len(name))],
        content,
        flags=re.MULTILINE,
    )


PARSED = "v$sys_time_model", "stat_name", "parse time elapsed", "value"


@pytest.mark.parametrize("name", ["emit despale esrap", "Parse-Zeit", "time of another release"])
def test_time_model_with_any_strange_name_makes_those_that_lack_unknown(name: str) -> None:
    delta = read_text(kept(PAGE).replace(">parse time elapsed<", f">{name}<"))
    assert delta.cell(*PARSED) is None and any("Time Model Statistics: a name like" in note for note in delta.notes)


def test_mutex_of_the_row_cache_under_another_type_is_unread_and_other_types_are_not() -> None:
    renamed = read_text(kept(PAGE).replace(">Row Cache<", ">ehcaC woR<"))
    assert isinstance(renamed.read("v$mutex_sleep"), Missing)
    other = read_text(kept(PAGE).replace(">Cursor Pin<", ">Some Other<"))
    assert other.rows("v$mutex_sleep") == read_text(kept(PAGE)).rows("v$mutex_sleep")


@pytest.mark.parametrize("damaged", ["_rollback_segment_cuont", "_скрытый_параметр"])
def test_hidden_parameter_under_a_strange_name_is_unknown_not_unset(damaged: str) -> None:
    row = "<tr><td>{}</td><td>2500</td><td></td></tr></table>"
    begin, middle, end = kept(OLD_PAGE).partition("init.ora Parameters</h3>")
    assert middle
    set_so, spelt_so = (
        read_text(begin + middle + end.replace("</table>", row.format(name), 1))
        for name in ("_rollback_segment_count", damaged)
    )
    assert "2500" in [row.get("value") for row in set_so.rows("v$parameter")]
    assert {"name": "_rollback_segment_count"} in [dict(row) for row in spelt_so.rows("v$parameter")]


def test_cache_whose_name_no_cache_has_makes_those_that_lack_unknown() -> None:
    delta = read_text(kept(PAGE).replace(">dc_users<", ">sresu_cd<"))
    assert {"parameter": "dc_users"} in [dict(row) for row in delta.rows("v$rowcache")]


def test_events_in_another_language_are_unread() -> None:
    content = kept(PAGE)
    events = re.compile(
        r"(<td scope='row' class='[a-z]+'>|<td[^>]*>)([A-Za-z][^<]*)(</td><td align='right'|</td><td[^>]*right)"
    )
    begin = content.index("Foreground Wait Events</h3>")
    end = content.index("<h3", begin)
    strange = events.sub(lambda found: f"{found[1]}{'ж' * len(found[2])}{found[3]}", content[begin:end])
    delta = read_text(content[:begin] + strange + content[end:])
    waited = delta.cell("v$system_event", "event", "row cache mutex", "time_waited_micro_fg")
    assert isinstance(delta.read("v$system_event"), Missing) or waited is None


def test_zero_stays_zero_where_all_names_are_known() -> None:
    content = re.sub(r"<tr><td[^>]*>sequence load elapsed time</td>.*?</tr>", "", kept(PAGE), flags=re.DOTALL)
    assert read_text(content).cell("v$sys_time_model", "stat_name", "sequence load elapsed time", "value") == 0


@pytest.mark.parametrize(
    ("known", "printed", "doubtful"),
    [
        ("parse time elapsed", "parse tme elapsed", True),
        ("enq: US - contention", "enq: TX - contention", False),
        ("row cache lock", "library cache lock", False),
        ("row cache lock", "行缓存锁", True),
        ("row cache lock", "log file sync", False),
    ],
)
def test_in_doubt_tells_a_strange_name_from_another(known: str, printed: str, doubtful: bool) -> None:
    assert (known in in_doubt([known], [printed])) is doubtful
    assert not in_doubt([known], [printed, known])


def test_plain_keeps_what_is_no_footnote() -> None:
    assert [plain(name) for name in ("[19] kqrpre", "parse time elapsed [1]", "PL/SQL execution *")] == [
        "[19] kqrpre",
        "parse time elapsed",
        "PL/SQL execution",
    ]


EMPTY_SECTIONS = (
    *("Time Model Statistics", "Operating System Statistics", "Foreground Wait Events"),
    *("Background Wait Events", "Instance Activity Stats", "Latch Activity"),
    *("Latch Sleep Breakdown", "Latch Miss Sources", "Mutex Sleep Summary", "Dictionary Cache Stats"),
)
NO_DATA = "No data exists for this section of the report."
HEAD = head().replace("-Apr-14", "-4月 -14").replace("106.74", "  0.00")


def empty_text() -> str:
    return HEAD + "".join(
        f"\n{title}   DB/Inst: ERP/erp1  Snaps: 1822-1823\n\n       {NO_DATA}\n       ------------------------\n"
        for title in EMPTY_SECTIONS
    )


def empty_page() -> str:
    blocks = """<table><tr><th>DB Name</th><th>DB Id</th><th>Instance</th><th>Inst num</th><th>Startup Time</th><th>Release</th>
<th>RAC</th></tr><tr><td>ERP</td><td>1234567890</td><td>erp1</td><td>1</td><td>23-4月 -14 16:33</td><td>11.2.0.2.0</td><td>NO</td>
</tr></table><table><tr><th></th><th>Snap Id</th><th>Snap Time</th></tr>
<tr><td>Begin Snap:</td><td>1822</td><td>23-4月 -14 18:30:05</td></tr>
<tr><td>End Snap:</td><td>1823</td><td>23-4月 -14 18:45:06</td></tr>
<tr><td>Elapsed:</td><td></td><td>15.02 (mins)</td></tr></table>"""
    sections = "".join(f"<h3>{title}</h3><p />{NO_DATA}<p />\n" for title in EMPTY_SECTIONS)
    title = "<title>AWR Report for DB: ERP</title>"
    return f"<html><head>{title}</head><body><h1>WORKLOAD REPOSITORY report for</h1>{blocks}{sections}</body></html>"


@pytest.mark.parametrize("content", [empty_text(), empty_page()], ids=["text", "page"])
def test_report_whose_sections_are_all_empty_cannot_be_judged(content: str) -> None:
    delta = read_text(content)
    diagnosis = diagnose(delta)
    assert diagnosis.headline.startswith("Cannot tell"), diagnosis.headline
    assert diagnosis.state == "No data"
    assert isinstance(delta.read("v$mutex_sleep"), Missing)
