"""The documents say what is there: an undocumented setting, metric, path, view or command is a failing test."""

import hashlib
import hmac
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from collectors.capture import delta_of, load
from collectors.model import ColumnKind, Delta
from collectors.registry import collectors
from rules.catalogue import catalogue
from rules.engine import diagnose
from service.cli.main import cli
from service.config import settings, sources, units
from service.config.settings import Settings
from service.config.webhooks import WebhookSettings
from service.intake.inputs import diagnose_all
from service.metrics.families import FAMILIES
from service.notify import http
from service.notify.http import signature
from service.render.diagnosis import as_text
from service.state.episodes import Episode
from service.store.queries.episode_log import LoggedChange
from tests.service.stage import Stage

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


# captures.md


def test_the_capture_of_the_document_is_one_and_is_diagnosed() -> None:
    (text,) = fenced("docs/captures.md", "json")
    capture = load(text, "docs/captures.md")
    delta = delta_of(capture)
    assert isinstance(delta, Delta)
    assert delta.basis.seconds == 30
    told = diagnose(delta)
    assert (told.findings[0].cause, told.findings[0].child) == ("undo-segments", 1)
    assert told.findings[0].confirm is not None
    assert told.findings[0].confirm.result == 14838
    absent = next(row for row in delta.rows("v$rowcache") if row["parameter"] == "dc_users")
    assert "usage" not in absent


def test_every_member_of_a_capture_is_described() -> None:
    (text,) = fenced("docs/captures.md", "json")
    told = json.loads(text)
    first, last = told["snapshots"]
    members = {*told, *last, *first["views"]["v$latch_children"], *told["confirmations"][0]}
    described = {row[0].strip("`") for row in table("docs/captures.md")}
    assert members <= described


def test_every_view_and_column_of_a_capture_is_listed() -> None:
    listed = {row[0].strip("`"): row[1] for row in table("docs/captures.md") if row[0].strip("`") in collectors()}
    for view, collector in collectors().items():
        columns = [one for one in collector.columns if one.unit != "date"]
        told = ", ".join(f"**{one.name}**" if one.kind is ColumnKind.KEY else one.name for one in columns)
        assert listed.get(view, "").rstrip(" |") == told, f"docs/captures.md on {view}"


# configuration.md


ENTRIES: dict[str, type[BaseModel]] = {"databases": settings.DatabaseSettings, "webhooks": WebhookSettings}


def every_setting(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from every_setting(kind, f"{prefix}{name}.")
            continue
        yield f"{prefix}{name}", field
        if prefix == "" and name in ENTRIES:
            yield from every_setting(ENTRIES[name], f"{name}[].")


def test_every_setting_is_documented_with_its_default() -> None:
    documented = {row[0].strip("`"): row[1].strip("`") for row in table("docs/configuration.md")}
    known = dict(every_setting(Settings))
    assert set(documented) == set(known)
    for name, field in known.items():
        written = documented[name]
        if field.default is PydanticUndefined:
            assert written == "required", name
        elif field.default is None or field.default == []:
            assert written == ("defaults.interval" if name == "databases[].interval" else "none"), name
        else:
            default = ", ".join(field.default) if isinstance(field.default, list) else field.default
            read = {float: units.seconds, int: units.size}.get(type(default), str)
            assert read(written) == default, name


def test_the_complete_configuration_is_complete_and_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (text,) = fenced("docs/configuration.md", "yaml")
    path = tmp_path / "latchscope.yaml"
    path.write_text(text, encoding="utf-8")
    told = sources.read(path)
    assert [one.name for one in told.databases] == ["erp1", "erp2", "billing", "example"]
    assert told.model_fields_set == set(Settings.model_fields)
    assert set().union(*(one.model_fields_set for one in told.databases)) == set(settings.DatabaseSettings.model_fields)
    assert all(one.model_fields_set == set(WebhookSettings.model_fields) for one in told.webhooks)
    for group in ("oracle", "defaults", "auth", "reports", "history", "spool"):
        one = getattr(told, group)
        assert one.model_fields_set == set(type(one).model_fields)
        assert one == type(one)(), f"{group} of the example shows the defaults"


def test_the_receiver_of_the_document_knows_our_signature() -> None:
    (code,) = fenced("docs/configuration.md", "python")
    scope: dict[str, Any] = {"hmac": hmac, "hashlib": hashlib}
    exec(code, scope)
    body = '{"event": "begin", "of": "…"}'.encode()
    headers = {"X-Latchscope-Timestamp": "1772366442", "X-Latchscope-Signature": signature("key", "1772366442", body)}
    assert scope["genuine"]("key", headers, body)
    assert not scope["genuine"]("key", headers, body + b" ")
    assert not scope["genuine"]("other", headers, body)
    assert not scope["genuine"]("key", headers | {"X-Latchscope-Timestamp": "1772366443"}, body)


def test_the_body_of_the_document_has_the_members_of_the_real_one() -> None:
    (shown,) = (json.loads(text) for text in fenced("docs/configuration.md", "json"))
    assert set(shown["episode"]) == {field.name for field in fields(Episode)}
    change = LoggedChange(17, datetime.now(UTC), "erp1", "begin", shown["episode"])
    assert set(shown) == set(http.document(change, "https://latchscope.example.com"))


# metrics.md


def test_every_metric_is_documented_with_its_type() -> None:
    documented = {row[0].strip("`"): row[1] for row in table("docs/metrics.md")}
    assert documented == {one.name: one.type for one in FAMILIES.values()}


def test_labels_of_the_document_are_those_of_a_scrape(stage: Stage) -> None:
    stage.poll_all(40, 42)
    text = stage.app().get("/metrics").text
    for row in table("docs/metrics.md"):
        name, labels = row[0].strip("`"), {one.strip() for one in row[2].split(",")} - {"–"}
        found = re.findall(rf"^{name}\{{(.*)\}} ", text, re.M)
        for sample in found:
            if 'latch="row cache objects"' in sample or "latch=" not in sample:
                assert set(re.findall(r'([a-z_]+)="', sample)) == {"db"} | labels, name


def test_sources_of_the_document_are_columns_we_read() -> None:
    for row in table("docs/metrics.md"):
        for view, column in re.findall(r"`([vx]\$\w+)\.(\w+)`", row[4]):
            collectors()[view].column(column)


# rest.md


def test_every_path_is_documented(stage: Stage) -> None:
    documented = set(re.findall(r"^### ([A-Z]+ \S+)$", document("docs/rest.md"), re.M))
    paths = stage.app().get("/api/v1/openapi.json").json()["paths"]
    assert documented == {f"{method.upper()} {path}" for path, each in paths.items() for method in each}


def test_examples_of_the_document_answer(stage: Stage) -> None:
    stage.poll_all(40, 42)
    app = stage.app()
    asked = re.findall(r"^\$ curl -s (-X POST )?'?127\.0\.0\.1:8000(/[^\s']*)'?$", document("docs/rest.md"), re.M)
    assert len(asked) >= 10
    for post, path in asked:
        answer = app.get(path, "POST" if post else "GET")
        assert answer.status_code == (404 if path.endswith("/nobody") else 200), path


def test_the_problem_of_the_document_is_the_real_one(stage: Stage) -> None:
    shown = next(line for line in document("docs/rest.md").splitlines() if line.startswith('{"type"'))
    assert stage.app().get("/api/v1/databases/nobody").json() == json.loads(shown)


# README.md


def test_the_shortened_output_is_the_real_one(incident: Path) -> None:
    shown = next(block for block in fenced("README.md", "") if "WARNING" in block)
    real = as_text(diagnose_all([str(incident)]).told)
    place = 0
    for piece in re.split(r"…\n?|\n", shown):
        words = piece.strip()
        found = real.find(words, place)
        assert found >= 0, f"README shows {words!r}, latchscope does not say it, or not here"
        place = found


def test_commands_of_the_readme_exist() -> None:
    known = {one.name or one.callback.__name__ for one in cli.registered_commands if one.callback}
    known |= {one.name for one in cli.registered_groups if one.name}
    used = set(re.findall(r"(?:\.venv/bin/|`)latchscope ([a-z]+)", document("README.md")))
    assert "diagnose" in used
    assert used <= known
    mentioned = document("README.md") + document("docs/configuration.md") + document("CHANGELOG.md")
    for command in known:
        assert re.search(rf"\b{command}\b", mentioned), f"no page mentions `latchscope {command}`"


def test_views_of_the_readme_are_those_we_read() -> None:
    section = document("README.md").partition("## What it reads")[2].partition("\n## ")[0]
    assert set(re.findall(r"`([vx]\$\w+|sys_context)`", section)) == set(collectors())


def test_paths_of_the_readme_are_those_of_rest(stage: Stage) -> None:
    section = document("README.md").partition("## REST")[2].partition("\n## ")[0]
    known = set(stage.app().get("/api/v1/openapi.json").json()["paths"])
    used = {
        one.partition("?")[0]
        for one in re.findall(r"(/(?:api/v1/[^`,\s]+|healthz|readyz|metrics|probe)[^`,\s]*)", section)
    }
    short = {one.replace("/latches", "/caches") for one in used} | used | {"/api/v1/openapi.json"}
    assert used - {"/api/v1/openapi.json"} <= known
    assert known <= short


def test_the_changelog_counts_right() -> None:
    text = document("CHANGELOG.md")
    words = {9: "Nine", 10: "Ten", 11: "Eleven", 12: "Twelve", 14: "Fourteen", 15: "Fifteen", 16: "Sixteen"}
    for number, of in ((len(collectors()), "views"), (len(catalogue()), "causes")):
        assert f"{words.get(number, number)} {of}" in text


# every page


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} → {target}"


def test_pages_speak_of_the_project_alone() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for word in ("/work/", "/root", "/home/", "localhost:", "TODO", "FIXME"):
            assert word not in text, f"{page.name}: {word}"
        assert text.startswith("# "), page.name
