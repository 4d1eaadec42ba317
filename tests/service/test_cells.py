"""All cells in one view, from a real Prometheus and a real VictoriaMetrics, and one sentence if there is no answer."""

import asyncio
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx
import pytest
import yaml
from pydantic import ValidationError

from service import cells
from service.app import create_app
from service.cells import Engine, EngineAway, FleetOverview, overview
from service.config.settings import DatabaseSettings, FleetSettings, Settings
from tests.service.engines import PROGRAMS, RULES, Answer, WithoutRules, engine, serving

FINDING = 'latchscope_finding{{db="{}",cause="{}",cache="",severity="{}"}} 1\n'
EAST = (
    'latchscope_up{db="erp1"} 1\nlatchscope_up{db="quiet"} 1\nlatchscope_up{db="gone"} 0\n'
    'latchscope_impact_ratio{db="erp1"} 0.31\nlatchscope_impact_ratio{db="quiet"} 0\n'
    + FINDING.format("erp1", "undo-segments", "critical")
    + FINDING.format("erp1", "benign-internal", "info")
)
WEST = (
    'latchscope_up{db="erp1"} 1\nlatchscope_up{db="crm.2"} 1\nlatchscope_up{db="crmx2"} 1\n'
    'latchscope_impact_ratio{db="erp1"} 0.04\nlatchscope_impact_ratio{db="crmx2"} 0.0\n'
    + FINDING.format("erp1", "undo-segments", "warning")
    + FINDING.format("crm.2", "hard-parse-storm", "critical")
)


@dataclass(frozen=True, slots=True)
class Asked:
    """The answers of a real engine with the shipped rules: as overviews, and through the application."""

    found: FleetOverview
    unruled: FleetOverview
    rest: httpx.Response
    shown: httpx.Response
    first_page: httpx.Response


@pytest.fixture(scope="module", params=PROGRAMS)
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    folder = tmp_path_factory.mktemp("engine")
    with engine(request.param, folder, {"east": EAST, "west": WEST}, ruled=True) as url:
        settings = FleetSettings(prometheus=url)
        answers = answered(folder, settings, "/api/v1/fleet", "/fleet", "/")
        return Asked(overview(Engine(settings), 30.0), overview(WithoutRules(settings), 30.0), *answers)


@pytest.fixture
def found(asked: Asked) -> FleetOverview:
    return asked.found


def answered(folder: Path, fleet: FleetSettings, *paths: str) -> list[httpx.Response]:
    """The answer of an application with this engine."""
    databases = [DatabaseSettings(name="erp1", dsn="demo:undo-storm")]
    app = create_app(Settings(store=f"sqlite:///{folder}/store.db", databases=databases, fleet=fleet))

    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
            return [await client.get(path) for path in paths]

    try:
        return asyncio.run(ask())
    finally:
        app.state.close()


def test_rules_give_the_same_view_as_all_series_read(asked: Asked) -> None:
    now = asked.found.asked_at
    assert asked.found.counted_at is not None and abs(now - asked.found.counted_at) < timedelta(minutes=1)
    assert asked.unruled.counted_at is None
    assert replace(asked.found, counted_at=None, asked_at=now) == replace(asked.unruled, asked_at=now)


def test_shipped_rules_are_the_expressions_that_are_asked_without_them() -> None:
    (group,) = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    shipped = {(rule["record"], rule.get("labels", {}).get("why", "")): rule["expr"] for rule in group["rules"]}
    assert list(shipped.items()) == list(cells.RULES.items()), "the time is counted last"


def test_worst_databases_of_all_cells_come_first(found: FleetOverview) -> None:
    assert [(one.cell, one.name, one.severity, one.up) for one in found.worst] == [
        ("east", "erp1", "critical", True),
        ("west", "crm.2", "critical", True),
        ("west", "erp1", "warning", True),
        ("east", "gone", "info", False),
    ]
    first, without_db_time, *_ = found.worst
    assert first.causes == ("undo-segments",) and first.impact == pytest.approx(0.31)
    assert without_db_time.impact is None, "an unknown value is not zero"


def test_databases_and_causes_are_counted(found: FleetOverview) -> None:
    assert (found.databases, found.answering) == (6, 5)
    assert [(one.cause, one.severity, one.databases) for one in found.causes] == [
        ("hard-parse-storm", "critical", 1),
        ("undo-segments", "critical", 1),
        ("undo-segments", "warning", 1),
    ]


def test_link_leads_to_the_cell(found: FleetOverview) -> None:
    assert [one.url is not None and one.url.startswith("http://127.0.0.1:") for one in found.worst] == [True] * 4
    assert found.worst[1].url is not None and found.worst[1].url.endswith("/db/crm.2")


def refusing(status: int, body: bytes = b"") -> object:
    return lambda asked: (status, body)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((401, b""), "refuses the token (HTTP 401); check fleet.token_file"),
        ((302, b""), "redirects (HTTP 302)"),
        ((404, b""), "has no /api/v1/query below this address"),
        ((500, b""), "answers HTTP 500"),
        ((200, b"<html>"), "does not answer as Prometheus does"),
        ((200, b"[]"), "does not answer as Prometheus does"),
        ((200, b'{"status":"error","error":"too many series"}'), "refuses the query: too many series"),
    ],
)
def test_engine_that_refuses_is_told_in_one_sentence(answer: Answer, said: str) -> None:
    with serving(lambda asked: answer) as url, pytest.raises(EngineAway) as told:
        overview(Engine(FleetSettings(prometheus=url)), 10.0)
    assert said in str(told.value) and str(told.value).startswith(url)
    assert "\n" not in str(told.value)


def test_engine_that_does_not_answer_is_left_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(asked: BaseHTTPRequestHandler) -> Answer:
        time.sleep(1.0)
        return 200, b"{}"

    with serving(slow) as url, pytest.raises(EngineAway, match="did not answer in time"):
        overview(Engine(FleetSettings(prometheus=url)), 0.2)


def test_token_is_sent_and_never_shown(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("s3cret-token\n")
    seen: list[str | None] = []

    def answer(asked: BaseHTTPRequestHandler) -> Answer:
        seen.append(asked.headers["Authorization"])
        return 403, b"s3cret-token is not welcome"

    with serving(answer) as url, pytest.raises(EngineAway) as told:
        overview(Engine(FleetSettings(prometheus=f"{url}/below", token_file=secret)), 10.0)
    assert seen == ["Bearer s3cret-token"]
    assert "s3cret" not in str(told.value) and "below" not in str(told.value)
    secret.unlink()
    with pytest.raises(EngineAway, match=r"fleet\.token_file .* cannot be read"):
        overview(Engine(FleetSettings(prometheus="http://127.0.0.1:1", token_file=secret)), 10.0)


def test_password_in_the_address_is_refused() -> None:
    with pytest.raises(ValidationError):
        FleetSettings(prometheus="http://me:s3cret@engine:9090")


def test_page_and_rest_say_why_there_is_no_fleet(tmp_path: Path) -> None:
    away = FleetSettings(prometheus="http://127.0.0.1:1")
    rest, shown, first_page = answered(tmp_path, away, "/api/v1/fleet", "/fleet", "/")
    assert rest.status_code == shown.status_code == 503
    assert rest.json()["detail"].startswith("the fleet is not available: http://127.0.0.1:1 cannot be reached")
    assert "The fleet is not available" in shown.text
    assert 'href="/fleet"' in first_page.text, "the first page links there, whether or not the engine answers"


def test_page_of_a_real_engine(asked: Asked) -> None:
    assert (asked.rest.status_code, asked.shown.status_code) == (200, 200)
    assert asked.rest.json()["worst"][0]["name"] == "erp1" and asked.rest.json()["databases"] == 6
    shown = asked.shown.text
    assert "6 databases, 1 of them without data" in shown and "counted and ranked at" in shown
    assert "no rules" not in shown
    assert shown.index("crm.2") < shown.index("gone")
    assert 'href="/fleet"' in asked.first_page.text and 'href="/"' in shown
