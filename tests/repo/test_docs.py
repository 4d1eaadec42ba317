"""The documents are true: generated parts are as `make docs` writes them, and the rest agrees with the code."""

import hashlib
import hmac
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from collectors.capture import delta_of, load
from collectors.model import Delta
from collectors.registry import collectors
from docs import build
from docs.interface import whole_service
from docs.page_pictures import FILM, IN_THE_STORM, VERIFIED
from docs.screenshots import DRAWN
from rules.engine import diagnose
from rules.explain.story import LABELS
from service.cli.main import LatchscopeGroup
from service.config import load as load_
from service.config.settings import Settings, every_setting
from service.intake.inputs import diagnose_all
from service.notify import delivery
from service.notify.delivery import signature
from service.render.text import as_text
from service.state.episodes import OF_ONE_POLL, Episode
from service.store.episodes import LoggedChange
from tests.paths import INCIDENT, STORM
from tests.service.stage import Stage
from tests.truth.by_sight import HEADS
from tests.truth.sights import KINDS

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def document(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def fenced(name: str, language: str) -> list[str]:
    return re.findall(rf"^ *```{language}\n(.*?)^ *```", document(name), re.S | re.M)


def table(name: str) -> Iterator[list[str]]:
    """Rows of every table whose first cell is code."""
    for line in document(name).splitlines():
        if line.startswith("| `"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Stage]:
    """The scripted databases of the demo, on a clock that only the test moves."""
    one = Stage(monkeypatch, tmp_path)
    yield one
    one.close()


# what `make docs` writes


def test_generated_parts_are_fresh() -> None:
    stale = [
        str(path.relative_to(ROOT))
        for path, text in build.texts().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert stale == [], f"{', '.join(stale)}: not as the code says; run `make docs`"


# reports.md


def test_reports_page_example_is_a_capture_and_is_diagnosed() -> None:
    (text,) = fenced("docs/reports.md", "json")
    capture = load(text, "docs/reports.md")
    delta = delta_of(capture)
    assert isinstance(delta, Delta)
    assert delta.basis.seconds == 30
    told = diagnose(delta)
    assert (told.findings[0].cause, told.findings[0].child) == ("undo-segments", 1)
    assert told.findings[0].confirm is not None
    assert told.findings[0].confirm.result == 14838
    absent = next(row for row in delta.rows("v$rowcache") if row["parameter"] == "dc_users")
    assert "usage" not in absent


def test_reports_page_describes_every_member() -> None:
    (text,) = fenced("docs/reports.md", "json")
    told = json.loads(text)
    first, last = told["snapshots"]
    members = {*told, *last, *first["views"]["v$latch_children"], *told["confirmations"][0]}
    described = {row[0].strip("`") for row in table("docs/reports.md")}
    assert members <= described


# configuration.md


def test_settings_all_say_what_they_are_and_why() -> None:
    assert [name for name, field in every_setting() if len(field.description or "") < 20] == []


def configured(text: str, path: Path) -> Settings:
    path.write_text(text, encoding="utf-8")
    return load_.read(path)


def test_configuration_example_can_be_read(tmp_path: Path) -> None:
    (example,) = fenced("docs/configuration.md", "yaml")
    told = configured(example, tmp_path / "latchscope.yaml")
    assert [one.name for one in told.databases] == ["erp1", "erp2", "billing", "example"]
    assert [one.target for one in told.webhooks] == ["night-shift"]


def test_webhook_receiver_example_accepts_only_our_signature() -> None:
    (code,) = fenced("docs/configuration.md", "python")
    scope: dict[str, Any] = {"hmac": hmac, "hashlib": hashlib}
    exec(code, scope)
    body = '{"event": "begin", "of": "…"}'.encode()
    headers = {"X-Latchscope-Timestamp": "1772366442", "X-Latchscope-Signature": signature("key", "1772366442", body)}
    assert scope["genuine"]("key", headers, body)
    assert not scope["genuine"]("key", headers, body + b" ")
    assert not scope["genuine"]("other", headers, body)
    assert not scope["genuine"]("key", headers | {"X-Latchscope-Timestamp": "1772366443"}, body)


def test_webhook_body_example_has_the_members_of_the_real_one() -> None:
    (shown,) = (json.loads(text) for text in fenced("docs/configuration.md", "json"))
    assert set(shown["episode"]) == {field.name for field in fields(Episode)} - OF_ONE_POLL
    change = LoggedChange(17, datetime.now(UTC), "erp1", "begin", shown["episode"])
    assert set(shown) == set(
        delivery.document(change, delivery.Sent("https://latchscope.example.com", {"erp1": {"env": "prod"}}))
    )


# metrics.md


def test_metrics_page_lists_the_labels_of_a_scrape(stage: Stage) -> None:
    stage.poll_all(40, 42)
    text = stage.app().get("/metrics").text
    for row in table("docs/metrics.md"):
        name, labels = row[0].strip("`"), {one.strip() for one in row[2].split(",")} - {"–"}
        found = re.findall(rf"^{name}\{{(.*)\}} ", text, re.M)
        for sample in found:
            if 'latch="row cache objects"' in sample or "latch=" not in sample:
                ours = (
                    {"db"} if len(row) > 4 and "replica" not in row[5] else set()
                )  # the process has no column of sources
                assert set(re.findall(r'([a-z_]+)="', sample)) == ours | labels, name


def test_metrics_page_names_sources_that_are_columns_we_read() -> None:
    for row in (each for each in table("docs/metrics.md") if len(each) > 4):
        for view, column in re.findall(r"`([vx]\$\w+)\.(\w+)`", row[4]):
            collectors()[view].column(column)


# rest.md


def test_rest_page_documents_every_path_and_lists_it() -> None:
    with whole_service() as app:
        paths = app.openapi()["paths"]
    documented = set(re.findall(r"^### ([A-Z]+ \S+)$", document("docs/rest.md"), re.M))
    differing = documented ^ {f"{method.upper()} {path}" for path, each in paths.items() for method in each}
    assert not differing, f"docs/rest.md: write a heading `### METHOD PATH` for a route, and no other: {differing}"
    section = document("docs/rest.md").partition("## All paths")[2].partition("\n## ")[0]
    listed = re.findall(r"(/(?:api/v1/[^`,\s]+|-/reload|healthz|readyz|metrics|probe)[^`,\s]*)", section)
    used = {one.partition("?")[0] for one in listed}
    assert used - {"/api/v1/openapi.json"} <= set(paths)
    unlisted = set(paths) - {one.replace("/latches", "/caches") for one in used} - used - {"/api/v1/openapi.json"}
    assert not unlisted, f"docs/rest.md: the table of All paths lacks {unlisted}; write a row"


def test_rest_page_problem_is_the_real_one(stage: Stage) -> None:
    shown = next(line for line in document("docs/rest.md").splitlines() if line.startswith('{"type"'))
    assert stage.app().get("/api/v1/databases/nobody").json() == json.loads(shown)


# README.md


def told_of(path: Path) -> str:
    """What `latchscope diagnose` says of a file, on one line."""
    return " ".join(as_text(diagnose_all([str(path)]).diagnosed, verbose=False).replace(f"{ROOT}/", "").split())


def test_readme_shows_the_real_output() -> None:
    shown = next(block for block in fenced("README.md", "") if "How bad: " in block)
    assert " ".join(shown.split()) in told_of(STORM) and "% of DB time" in shown, "the front page shows what it costs"


def quoted(name: str) -> list[str]:
    """The rows of the table that `python -m tests.truth` prints, as a page quotes it."""
    lines = document(name).splitlines()
    start = lines.index(f"| {' | '.join(HEADS)} |") + 2
    return list(takewhile(lambda line: line.startswith("| "), lines[start:]))


def test_readme_figures_are_those_of_the_benchmarks() -> None:
    shown, whole = quoted("README.md"), quoted("docs/benchmarks.md")
    assert shown == whole[:3] and [row.split(" | ")[0] for row in whole] == [f"| {name}" for name in KINDS.values()]
    front, page = (" ".join(document(name).split()) for name in ("README.md", "docs/benchmarks.md"))
    for of_page, of_front in (
        (r"warning or above: (\d+ of \d+ healthy) instances", "{} instances accused"),
        (r"(\d+ published incidents) are staged", "of {}, "),
        (r"(\d+ right), \d+ honest, none wrong or missed", "way, {}, "),
        (r"\d+ right, (\d+) honest, none wrong or missed", '{} "cannot tell", none wrong'),
    ):
        (figure,) = re.findall(of_page, page)
        assert of_front.format(figure) in front


def test_reading_page_shows_the_published_incident_as_it_is_and_has_a_line_for_each_answer() -> None:
    shown = next(block for block in fenced("docs/reading.md", "") if "Warning" in block)
    assert " ".join(shown.split()) == told_of(INCIDENT)
    answers = [
        label
        for kind, label in LABELS.items()
        if kind not in ("info", "notice", "warning", "critical", "look", "likely")
    ]
    assert [label for label in answers if f"`{label}: …`" not in document("docs/reading.md")] == []


def test_readme_commands_exist_and_every_command_is_documented() -> None:
    known = set(LatchscopeGroup.places)
    used = set(re.findall(r"(?:\.venv/bin/|`)latchscope ([a-z]+)", document("README.md")))
    assert "diagnose" in used
    assert used <= known
    mentioned = "".join(page.read_text(encoding="utf-8") for page in PAGES if page.parent.name == "docs")
    for command in known:
        assert re.search(rf"\b{command}\b", mentioned), f"no page mentions `latchscope {command}`"


# every page


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} → {target}"


# The pictures


def shown_on(page: str) -> list[Path]:
    """The pictures of a page."""
    return [(ROOT / page).parent / target for target in re.findall(r"!\[[^\]]+\]\(([^)#]+)\)", document(page))]


def test_pictures_are_all_shown_and_those_of_the_first_pages_can_be_renewed() -> None:
    renewed = {f"{shot.name}.png" for shot in (*IN_THE_STORM, *VERIFIED)} | {FILM, *DRAWN}
    guides = ("first-incident", "reading", "connect", "before-after", "integrations", "dashboards")
    for page in ("README.md", *(f"docs/{name}.md" for name in guides)):
        pictures = shown_on(page)
        assert pictures and all(one.is_file() for one in pictures), page
        assert {one.name for one in pictures} <= renewed, page
    shown = {one.name for page in PAGES for one in shown_on(str(page))}
    assert {path.name for path in (ROOT / "docs/images").iterdir()} == shown
