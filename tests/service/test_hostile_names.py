"""Names from a hostile database, file or caller, in every output: visible as they are, and without effect."""

import csv
import html
import io
import json
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from collectors.model import Snapshot
from rules.cache_map import CacheMap
from rules.comparison.changes import Comparison
from rules.comparison.compare import compare
from rules.engine import Examination
from rules.model import Diagnosis, WaiterGroup, WaiterTotal, WaiterTotals
from service import escape
from service.cli.common import Format
from service.cli.diagnose import _printed
from service.cli.messages import say
from service.config.logs import OneLine
from service.escape import UNSEEN, fenced, in_chat, in_header, in_label, inline, plain_cell, visible, visible_json
from service.intake.inputs import InputResults, diagnose_data
from service.metrics.exposition import render
from service.render import comparison
from service.render.text import MOST_LINES
from service.store.repository import Repository
from tests.paths import HANG, INCIDENT
from tests.service.stage import BEGAN, Client, Stage

NASTY = (
    "\x1b[2J", "\x1b]0;t\x07", "\u202e", "\u2066", "\x9b31m", "\u2028", "\ufeff", "\u3164", "\r", "\n## forged", "\x00", "\x7f",
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "![p](http://x/y.png)", "[a](javascript:b)", "|", "`", "\\", '"',
    "\n```\n", "[Grafana](http://evil.example/login)", "<!channel>", "@everyone", "www.evil.example", "mailto:a@evil.example",
    "=cmd|' /C calc'!A0", "~town", "日本",
)  # fmt: skip
NAMES = st.lists(st.one_of(st.sampled_from(NASTY), st.text(max_size=3)), min_size=1, max_size=5).map("".join)
WORST = "".join(NASTY)
FILE = WORST.translate(dict.fromkeys(map(ord, '\x00\r\n/\\"')))
"""As much of it as a form can send as the name of a file."""
READER = MarkdownIt("commonmark", {"html": True}).enable("table")
BARRED = {"html_inline", "html_block", "link_open", "image"}


def harmless(text: str) -> bool:
    """Whether a terminal only shows it. The hard space between a number and its unit counts as a space."""
    plain = text.replace("\n", "").replace("\N{NO-BREAK SPACE}", " ")
    return plain.isprintable() and UNSEEN.search(plain) is None


def kinds(markdown: str) -> set[str]:
    tokens = READER.parse(markdown)
    return {each.type for token in tokens for each in (token, *(token.children or ()))}


def diagnosed(name: str) -> InputResults:
    """The incident from a database whose code locations and name an enemy chose."""
    document = json.loads(INCIDENT.read_text(encoding="utf-8"))
    document["database"] = f"db{''.join(filter(str.isprintable, name))}"  # others are refused
    (snapshot,) = document["snapshots"]
    for row in snapshot["views"]["v$latch_misses"]["rows"]:
        row[1] += name
    return diagnose_data(json.dumps(document).encode(), f"file{name}.json")


def hung(name: str, job: str = "NIGHTLY") -> InputResults:
    """A hang behind a job that can be stopped. An enemy chose the names of the sessions, and perhaps that of the job."""
    document = json.loads(HANG.read_text(encoding="utf-8"))
    views = document["snapshots"][-1]["views"]
    for table in (views["waiting_sessions"], views["row_cache_blockers"]) if name else ():
        for row, column in product(table["rows"], ("module", "username", "machine", "sql_id", "program")):
            if column in table["columns"]:
                row[table["columns"].index(column)] = name
    table = views["row_cache_blockers"]
    for column, value in (("program", "oracle@db1 (J004)"), ("state", "WAITED SHORT TIME")):
        table["rows"][0][table["columns"].index(column)] = value
    jobs = ["owner", "job_name", "con_id", "session_id", "running_instance"]
    views["running_jobs"] = {"columns": jobs, "rows": [["APP", job, 0, 300, 1]]}
    return diagnose_data(json.dumps(document).encode(), "hang.json")


@pytest.mark.parametrize("made", [diagnosed, hung])
def test_diagnosis_of_the_worst_name_is_harmless_in_every_form(made: Callable[[str], InputResults]) -> None:
    outcome = made(WORST)
    (found,) = outcome.diagnosed
    blockers = found.diagnosis.blockers
    assert made is diagnosed or (blockers and blockers.chains[0].action), "it has a command"
    for form in get_args(Format):
        text = _printed(outcome, form, single=True, verbose=True) or ""
        assert harmless(text), form
        if form == "markdown":
            assert not kinds(text) & BARRED
            assert "## forged" not in text.splitlines()
        if form == "html":
            assert "<script" not in text and "<img src=x" not in text
        if form == "json":
            assert json.loads(text)["database"] == found.diagnosis.database


def blocks(markdown: str) -> list[str]:
    return [token.content for token in READER.parse(markdown) if token.type == "fence"]


def read_csv(cell: str) -> str:
    file = io.StringIO()
    csv.writer(file).writerow((cell, "end"))
    ((first, _),) = csv.reader(io.StringIO(file.getvalue()))
    return first


CHATTED = re.compile(r"[<>@*`~\[\]]|://|www\.|mailto:", re.IGNORECASE)
SAFE: Mapping[str, tuple[Callable[[str], str], Callable[[str, str], bool]]] = {
    "terminal and log": (visible, lambda name, text: harmless(text) and "\n" not in text),
    "markdown": (inline, lambda name, text: harmless(text) and not kinds(f"x {text}") & BARRED),
    "markdown table": (
        lambda name: escape.row([name]),
        lambda name, text: not kinds(f"| a |\n| --- |\n{text}\n") & BARRED and "\n" not in text,
    ),
    "markdown code": (
        fenced,
        lambda name, text: blocks(text) == [f"{name}\n"] if name.isprintable() else len(blocks(text)) == 1,
    ),
    "chat and mail": (in_chat, lambda name, text: harmless(text) and "\n" not in text and not CHATTED.search(text)),
    "csv": (
        plain_cell,
        lambda name, text: not read_csv(text).startswith(("=", "+", "-", "@")) and text.isprintable(),
    ),
    "json": (visible_json, lambda name, text: text.replace("\n", "").isprintable()),
    "label": (
        in_label,
        lambda name, text: harmless(text) and re.fullmatch(r'(?:[^"\\\n]|\\["\\n])*', text) is not None,
    ),
    "header": (in_header, lambda name, text: re.fullmatch(r"[\w.-]*", text, re.ASCII) is not None),
}
"""Output → its escape, and whether what that made of a name is safe there."""


@pytest.mark.parametrize("output", SAFE)
@given(NAMES)
@example(WORST)
def test_the_same_names_are_harmless_in_every_output(output: str, name: str) -> None:
    escaped, safe = SAFE[output]
    for each in (name, *NASTY):
        assert safe(each, escaped(each)), (output, each)


@pytest.fixture(scope="module")
def compared(still: Stage) -> Comparison:
    deltas = [still.poll("undo-storm", moment).delta for moment in (40, 42, 44)]
    assert deltas[1] and deltas[2]
    return compare(deltas[1], deltas[2])


@given(NAMES)
@example(WORST)
def test_comparison_of_hostile_names_is_harmless(compared: Comparison, name: str) -> None:
    changes = tuple(each.model_copy(update={"title": name}) for each in compared.changes)
    side = compared.before.model_copy(update={"database": name, "release": name})
    told = compared.model_copy(
        update={"sentence": name, "notes": (name,), "mark": name, "changes": changes, "before": side}
    )
    assert harmless(comparison.as_text(told))
    assert harmless(markdown := comparison.as_markdown(told))
    assert not kinds(markdown) & BARRED


@pytest.fixture(scope="module")
def snapshot(still: Stage) -> Snapshot:
    return still.poll("undo-storm", 40).snapshot


@given(NAMES)
@example(WORST)
def test_metrics_of_hostile_names_are_harmless(still: Stage, snapshot: Snapshot, name: str) -> None:
    rows = tuple({**row, "location": name, "parent_name": name} for row in snapshot.rows("v$latch_misses"))
    reading = replace(snapshot.read("v$latch_misses"), rows=rows)  # type: ignore[type-var]
    hostile = replace(snapshot, readings={**snapshot.readings, "v$latch_misses": reading})
    published = still["undo-storm"].published
    assert published is not None
    blocks = render(still["undo-storm"].settings, hostile, CacheMap(), published.diagnosis)
    assert harmless(b"".join(blocks.values()).decode())


@given(NAMES)
@example(WORST)
def test_messages_and_logs_of_hostile_names_are_harmless(name: str) -> None:
    told: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.echo", lambda text, **_: told.append(text))
        say(f"latchscope: {name} cannot be read")
    assert harmless(told[0])
    record = logging.LogRecord("x", logging.ERROR, "", 0, "%s", (name,), None)
    assert OneLine("%(message)s").format(record).isprintable()


PAGES = {
    "/": 2,
    "/db/undo-storm": 14,
    "/db/undo-storm/history?begin=2026-03-01T11:59Z&end=2026-03-01T12:10Z": 1,
    "/db/undo-storm/compare?mark={mark}": 0,
    "/causes": 0,
    "/runbooks": 0,
    "/reports": 1,
    "/reports/{report}": 1,
    "/db/undo-storm/export.html": 6,
    "/db/undo-storm/export.md": 6,
}
"""How many times a page shows the worst name, at least."""


def hostile(told: Diagnosis) -> Diagnosis:
    """The same, with the worst name wherever a page shows the words of a database or a person."""
    first = told.findings[0].model_copy(update={"title": WORST, "lede": WORST, "do_now": WORST, "cache": WORST})
    total = WaiterTotal(name=WORST, waiters=3, share=0.5, sessions=1.0)
    group = WaiterGroup(
        event=WORST, cache=WORST, sessions=1.0, share=1.0, sql_id=WORST, module=WORST, program=WORST,
        container=WORST, blocker=WORST,
    )  # fmt: skip
    return told.model_copy(
        update={
            "headline": WORST,
            "notes": (WORST,),
            "findings": (first, *told.findings[1:]),
            "chain": tuple(link.model_copy(update={"name": WORST, "measured": WORST}) for link in told.chain),
            "troubles": tuple(each.model_copy(update={"cache": WORST}) for each in told.troubles),
            "who": (group,),
            "who_totals": WaiterTotals(looks=3, waiters=3, by_sql_id=(total,), by_module=(total,)),
        }
    )


@pytest.fixture
def pages(stage: Stage) -> Client:
    """Every page, over a diagnosis that carries the worst name."""
    stage.poll_all(40, 42)
    watched = stage["undo-storm"]
    assert watched.published is not None
    watched.published = replace(watched.published, examined=Examination(hostile(watched.published.diagnosis)))
    return stage.app()


def test_pages_of_hostile_names_are_harmless(pages: Client, stage: Stage) -> None:
    """Names from the database, and those that people give: the text of a mark and the name of a file."""
    sent = pages.get("/api/v1/reports", "POST", files=[("file", (f"{FILE}.json", INCIDENT.read_bytes()))])
    assert sent.status_code == 201, sent.text
    store = Repository(f"sqlite:///{stage.folder}/store.db")
    store.marks.add(
        "undo-storm", BEGAN + timedelta(seconds=41), WORST, WORST
    )  # REST refuses it, but an older release did not
    (mark,) = store.marks.between("undo-storm", BEGAN, BEGAN + timedelta(hours=1)).items
    store.close()
    for path, least in PAGES.items():
        answer = pages.get(path.format(mark=mark.id, report=sent.json()[0]["id"]))
        assert answer.status_code == 200, path
        text = answer.text
        assert harmless(text), path
        if path.endswith(".md"):
            assert not kinds(text) & BARRED and "## forged" not in text.splitlines()
        else:
            assert "<script>alert" not in text and "<img src=x" not in text, path
        # The name of a file loses its invisible characters before it is kept.
        shows = max(text.count("[U+202E]"), text.count("onerror=alert"))
        assert shows >= least, f"{path} shows the names {shows} times"


# The name of a job, chosen by whoever may create one, in the command that stops it: right, or no command, in every output

RIGHT = {
    "NIGHTLY": "NIGHTLY",
    "N1$_#": "N1$_#",
    "Nightly": '"Nightly"',
    "A B": '"A B"',
    "ORDER": '"ORDER"',
    "1A": '"1A"',
    "A;B": '"A;B"',
    "A```B": '"A```B"',
    "<b>x</b>": '"<b>x</b>"',
}
WITHHELD = (
    "A'B", 'A"B', "A&B", "A\n/\nhost id\n", "A\r\nB", "A\n```\n\n<img src=x onerror=alert(1)>\n\n[Runbook](http://x)", "A\x00B",
    "A\x1b[2JB", "A\u2028B", "A\u202eB",
)  # fmt: skip


def printed(job: str) -> dict[Format, str]:
    """What `diagnose` makes of a hang behind a job of that name, in every form."""
    outcome = hung("", job)
    assert outcome.diagnosed, outcome.errors
    brief = _printed(outcome, "text", single=True, verbose=False) or ""
    assert len(brief.rstrip().splitlines()) <= MOST_LINES
    return {form: _printed(outcome, form, single=True, verbose=True) or "" for form in get_args(Format)}


def command(name: str) -> str:
    return f"begin dbms_scheduler.stop_job(job_name => 'APP.{name}'); end;"


@pytest.mark.parametrize("name", RIGHT)
def test_name_that_can_be_pasted_is_the_same_in_every_output(name: str) -> None:
    outputs, right = printed(name), command(RIGHT[name])
    assert re.search(rf"^ +{re.escape(right)}\n +/$", outputs["text"], re.M)
    assert f"{right}\n/\n" in blocks(outputs["markdown"])
    assert right in html.unescape(outputs["html"])
    (chain,) = json.loads(outputs["json"])["blockers"]["chains"]
    assert chain["action"]["command"] == right and chain["action"]["kind"] == "stop_job"


@pytest.mark.parametrize("name", WITHHELD)
def test_name_that_would_change_the_command_gives_none_and_the_reason(name: str) -> None:
    outputs = printed(name)
    (chain,) = json.loads(outputs["json"])["blockers"]["chains"]
    assert chain["action"] is None and "its job name has a sign that changes a command" in chain["why_no_action"]
    for form, text in outputs.items():
        assert "stop_job" not in html.unescape(text), form
        assert not re.search(r"^\s*(/|host id)\s*$", text, re.MULTILINE), form
    assert "<img src=x" not in outputs["html"]
    inside = [each for token in READER.parse(outputs["markdown"]) for each in (token, *(token.children or ()))]
    assert not [each for each in inside if each.type in BARRED and "x" in each.content]


# Invisible characters become visible, and visible ones stay the same


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("kqrpre: find obj", "kqrpre: find obj"),
        ("Überprüfung 数据库 ≥ 1 µs", "Überprüfung 数据库 ≥ 1 µs"),
        ("\x1b[2Jgone\x07", "[U+001B][2Jgone[U+0007]"),
        ("exe.\u202etxt", "exe.[U+202E]txt"),
        ("two\nlines\r", "two[U+000A]lines[U+000D]"),
        ("\x9b31m", "[U+009B]31m"),
        ("a\u00a0b\u2028c", "a b[U+2028]c"),
        ("a\ufe01\U000e0100\u3164b", "a[U+FE01][U+E0100][U+3164]b"),
        ("\udcff\U000e0041", "[U+DCFF][U+E0041]"),
    ],
)
def test_what_cannot_be_seen_is_shown_by_its_number(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(shown) == shown


@given(st.text(st.characters()))
def test_visible_json_says_the_same(text: str) -> None:
    shown = visible_json(json.dumps({"name": text}, ensure_ascii=False, indent=2))
    assert shown.replace("\n", "").isprintable()
    assert json.loads(shown) == {"name": text}


def test_log_record_is_one_line_that_drives_no_terminal() -> None:
    def line(trace: object = None) -> str:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "%s failed", ("a\x1b[2J\n2026 ERROR forged",), trace)  # type: ignore[arg-type]
        return OneLine("%(levelname)s %(message)s").format(record)

    assert line() == "ERROR a[U+001B][2J[U+000A]2026 ERROR forged failed"
    error = ValueError("\x1b]0;title\x07")
    text = line((ValueError, error, None))
    try:
        raise ValueError("a\n2026 ERROR forged") from KeyError("b\n2026 ERROR forged")
    except ValueError as forged:
        lines = line((ValueError, forged, forged.__traceback__)).splitlines()
    assert len(lines) > 4 and not any(each.startswith("2026") for each in lines)
    assert text.endswith("\n  ValueError: [U+001B]]0;title[U+0007]")
