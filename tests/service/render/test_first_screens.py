"""Eight diagnoses in every layout: the first screens side by side, and each figure of the JSON in each whole layout."""

import html
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest

from rules.explain.story import LABELS, story
from service.intake.inputs import InputResults, diagnose_all
from service.render.text import as_markdown, as_text, first_list
from service.web.pages.export import as_html
from service.web.pages.verdict import BESIDE
from tests.paths import HANG, INCIDENT_FOLDER, PROBES, REPORTS, STORM

SCENES = {
    "undo-storm": STORM,
    "hang": HANG,
    "trace-of-a-folder": INCIDENT_FOLDER / "ORDERS1_ora_4242.trc",
    "awr-19c": REPORTS / "awr-19.0.0.0.0-users-mutex.txt",
    "idle": REPORTS / "awr-19.0.0.0.0-idle.html",
    "cannot-tell": REPORTS / "awr-11.2.0.4.0-restart.txt",
    "cluster": REPORTS / "awr-11.2.0.4.0-cluster-sequence.html",
    "starved-host": PROBES / "P29_starved_and_undo.json",
}
NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)


@cache
def scene(name: str) -> InputResults:
    outcome = diagnose_all([str(SCENES[name])])
    (one,) = outcome.diagnosed
    return InputResults([type(one)(SCENES[name].name, one.change, one.diagnosis)], [], [], 1)


@pytest.mark.parametrize("name", SCENES)
def test_first_screens_side_by_side(name: str, golden: Callable[[str, str], None]) -> None:
    """Words are told here and nowhere else: a better word is one line of words.yaml or of a cause, and these files."""
    (one,) = scene(name).diagnosed
    page = as_html(scene(name), NOW)
    card = page[page.index('<section class="card verdict') :].partition("</section>")[0]
    card = re.sub(r"<dt>(.*?)</dt><dd>(.*?)</dd>", r"\2 \1", card)  # a large number stands above what it is of
    said = html.unescape(re.sub(r"<[^>]*>", "\n", re.sub(r"</?(?:b|code)>", " ", card)))
    parts = {
        "terminal": as_text([one]).rstrip(),
        "Markdown": "\n".join(first_list(story(one.diagnosis, one.source))),
        "page": "\n".join(" ".join(line.split()) for line in said.splitlines() if line.strip()),
    }
    same = [each for each in story(one.diagnosis, one.source) if each.kind in ("do", "check", "do not", *BESIDE)]
    assert [each.kind for each in same if each.words.replace("`", "") not in parts["page"]] == []
    golden(f"first-screen-{name}.txt", "\n".join(f"== {part} ==\n{text}\n" for part, text in parts.items()))


def strings(value: Any) -> Iterator[str]:
    """Every text of a JSON document that is for people, without statements, ids, and times in ISO format."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name not in (
                "sql",
                "names_sql",
                "query",
                "check",
                "url",
                "elsewhere",
                "bands",
                "false_positives",
                "needs",
            ):
                yield from strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)
    elif isinstance(value, str) and not re.match(r"\d{4}-\d\d-\d\dT", value):
        yield value


NUMBER = re.compile(r"(?<![\w.,-])\d{1,3}(?:,\d{3})*(?:\.\d+)?(?![\w])")
PARTS = ("headline", "findings", "steps", "undetermined", "events", "notes")


def numbers(value: Any) -> set[str]:
    """The numbers in the texts of a part of a JSON document. Those of an address are none."""
    return {number for words in strings(value) for number in NUMBER.findall(re.sub(r"https?://\S+", "", words))}


@pytest.mark.parametrize("name", SCENES)
def test_every_figure_of_the_json_is_in_each_layout(name: str) -> None:
    """A page links to the remedies of further causes; text and Markdown have them whole."""
    (one,) = scene(name).diagnosed
    document = json.loads(one.diagnosis.model_dump_json())
    told = {number for part in PARTS for number in numbers(document[part])}
    assert told or name == "cannot-tell"
    page = html.unescape(re.sub(r"<[^>]*>", " ", as_html(scene(name), NOW)))
    linked = numbers(document["findings"][1:])
    for text, beside in ((as_text([one], verbose=True), set[str]()), (as_markdown([one]), set[str]()), (page, linked)):
        assert told - beside - {*NUMBER.findall(text)} == set(), text[:20]


def test_labels_and_kinds_belong_together() -> None:
    kinds = {paragraph.kind for name in SCENES for paragraph in story(scene(name).diagnosed[0].diagnosis)}
    assert kinds - {"what", "why"} <= set(LABELS)
