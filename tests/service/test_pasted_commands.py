"""The name of a job, chosen by whoever may create one, in the command that stops it: right, or no command, in every output."""

import html
import json
import re
from typing import get_args

import pytest
from markdown_it import MarkdownIt

from service.cli.common import Format
from service.cli.diagnose import _printed
from service.escape import fenced
from service.intake.inputs import diagnose_data
from service.render.text import MOST_LINES
from tests.paths import HANG

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


def printed(name: str) -> dict[Format, str]:
    """What `diagnose` makes of a hang behind a job of that name, in every form."""
    document = json.loads(HANG.read_text(encoding="utf-8"))
    views = document["snapshots"][-1]["views"]
    table = views["row_cache_blockers"]
    (row,) = table["rows"]
    for column, value in (("program", "oracle@db1 (J004)"), ("state", "WAITED SHORT TIME")):
        row[table["columns"].index(column)] = value
    columns = ["owner", "job_name", "con_id", "session_id", "running_instance"]
    views["running_jobs"] = {"columns": columns, "rows": [["APP", name, 0, 300, 1]]}
    outcome = diagnose_data(json.dumps(document).encode(), "hang.json")
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
    blocks = [token.content for token in MarkdownIt().parse(outputs["markdown"]) if token.type == "fence"]
    assert f"{right}\n/\n" in blocks
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
    tokens = MarkdownIt("commonmark", {"html": True}).parse(outputs["markdown"])
    inside = [each for token in tokens for each in (token, *(token.children or ()))]
    assert not [
        each for each in inside if each.type in ("html_inline", "html_block", "link_open") and "x" in each.content
    ]


@pytest.mark.parametrize("text", ["select 1;", "a ``` b", "````\n```"])
def test_fence_is_longer_than_any_in_its_text(text: str) -> None:
    (block,) = [token.content for token in MarkdownIt().parse(fenced(text)) if token.type == "fence"]
    assert block == f"{text}\n"
