"""The runbooks: one for each alert, complete, and every query, call and command in them exists."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from rules.base import LOADER
from service.app import create_app
from service.cli.main import cli
from service.config.settings import DatabaseSettings, Settings
from service.metrics.families import FAMILIES
from tests.repo.known_metrics import of_the_process
from tests.repo.processes import need
from tests.service.stage import Client

ROOT = Path(__file__).resolve().parents[2]
PROMETHEUS = ROOT / "dashboards" / "prometheus"
PAGES = sorted((ROOT / "dashboards" / "runbooks").glob("*.md"))
GUIDE = ROOT / "docs" / "dashboards.md"
HEADINGS = ["Meaning", "Impact", "Diagnosis", "Mitigation"]
FENCE = re.compile(r"^ *```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
METRIC = re.compile(r"\b(?:[a-z_]+:)?latchscope_[a-z0-9_]+(?::[a-z0-9_]+)?\b")
URL = re.compile(r"(-X POST )?(?:-H \"[^\"]*\" )?http://127.0.0.1:8000(/[\w/.{}-]*)")
LICENSED = re.compile(r"dba_hist_|active_session_history|dba_addm_|sql_monitor", re.IGNORECASE)
NEVER_READ = re.compile(
    r"v\$rowcache_parent|v\$rowcache_subordinate|\bgv\$|v\$sql\b|v\$sqlarea|aud\$|audit_session|audit_trail",
    re.IGNORECASE,
)
HIDDEN = re.compile(r"`_[a-z]\w+`|[Hh]idden parameters")

each_page = pytest.mark.parametrize("page", PAGES)


def rules(name: str) -> list[dict[str, str]]:
    loaded = yaml.load((PROMETHEUS / name).read_text(encoding="utf-8"), Loader=LOADER)
    return [rule for group in loaded["groups"] for rule in group["rules"]]


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path, language: str) -> list[str]:
    return [body.strip() for kind, body in FENCE.findall(text(page)) if kind == language]


def statements(page: Path) -> list[str]:
    inline = re.findall(r"`(select [^`]+)`", text(page))
    return [*(block.removesuffix(";") for block in blocks(page, "sql")), *inline]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Client:
    """The real app, watching the database of the examples."""
    store = f"sqlite:///{tmp_path_factory.mktemp('store')}/store.db"
    return Client(create_app(Settings(store=store, databases=[DatabaseSettings(name="erp1", dsn="demo:undo-storm")])))


def test_runbooks_and_alerts_match_one_to_one() -> None:
    differing = {page.stem for page in PAGES} ^ {rule["alert"] for rule in rules("alerts.yml")}
    assert not differing, f"dashboards/runbooks/ or alerts.yml lacks {differing}; write both, and run `make docs`"


@each_page
def test_runbook_is_complete_and_leads_to_our_page_our_rest_and_prometheus(page: Path) -> None:
    lines = text(page).splitlines()
    assert lines[0] == f"# {page.stem}"
    assert [line[3:] for line in lines if line.startswith("## ")] == HEADINGS
    parts = re.split(r"^## .*$", text(page), flags=re.MULTILINE)
    assert all(len(part.split()) >= 10 for part in parts[1:]), "a part has hardly any text"
    assert "http://127.0.0.1:8000/api/v1/databases" in text(page)
    assert re.search(r"http://127.0.0.1:8000/(?!api)", text(page))
    assert blocks(page, "promql")


def test_runbook_queries_name_existing_metrics_and_are_valid(tmp_path: Path) -> None:
    known = of_the_process() | set(FAMILIES) | {rule["record"] for rule in rules("recording.yml") if "record" in rule}
    queries = [line.strip() for page in PAGES for block in blocks(page, "promql") for line in block.splitlines()]
    for query in queries:
        named = METRIC.findall(query)
        assert named or query.startswith(("up{", "increase(prometheus_")), query
        assert set(named) <= known, query
    as_rules = [{"record": f"q{place}", "expr": query} for place, query in enumerate(queries)]
    (tmp_path / "q.yml").write_text(yaml.safe_dump({"groups": [{"name": "q", "rules": as_rules}]}), encoding="utf-8")
    command = [need("promtool", "prometheus"), "check", "rules", f"{tmp_path}/q.yml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@each_page
def test_runbook_statements_only_read_and_its_addresses_and_commands_exist(page: Path, served: Client) -> None:
    assert all(block.endswith(";") for block in blocks(page, "sql")), "SQL*Plus runs nothing before it"
    for statement in statements(page):
        assert statement.lower().startswith("select ") and ";" not in statement, statement
        assert not LICENSED.search(statement) and not NEVER_READ.search(statement), statement
        assert "fetch first" not in statement.lower(), "needs 12.1"
    for post, path in URL.findall(text(page)):
        answer = served.get(path.rstrip("."), method="POST" if post else "GET")
        assert answer.status_code not in (404, 405), f"{path} gives {answer.status_code}"
    known = set(get_command(cli).commands)  # type: ignore[attr-defined]
    shown = re.findall(r"`(latchscope [^`]+)`", text(page)) + "\n".join(blocks(page, "sh")).splitlines()
    for command in re.findall(r"^ *latchscope ([a-z]+)", "\n".join(shown), re.MULTILINE):
        assert command in known, f"latchscope {command}"


@each_page
def test_runbook_leaves_hidden_parameters_and_bugs_to_oracle_support(page: Path) -> None:
    for whole, pattern, words in (
        (FENCE.sub("", text(page)), HIDDEN, "under Oracle Support guidance"),
        (text(page), re.compile(r"\bbug \d{6,}", re.IGNORECASE), "verify on My Oracle Support"),
    ):
        for paragraph in re.split(r"\n(?:\s*\n|(?= *(?:[-*]|\d+\.) ))", whole):
            assert not pattern.search(paragraph) or words in " ".join(paragraph.split()), paragraph


@pytest.mark.parametrize("page", [*PAGES, GUIDE])
def test_runbook_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", text(page)):
        assert target.startswith("https://") or (page.parent / target).is_file(), target


def test_guide_lists_every_alert_with_its_severities_and_wait() -> None:
    listed = {}
    for name, severities, wait in re.findall(
        r"^\| \[(\w+)\]\([^)]+\) \| ([\w, ]+) \| .* \| (\d+) min \|$", text(GUIDE), re.M
    ):
        listed[name] = (set(severities.split(", ")), f"{wait}m")
    shipped: dict[str, tuple[set[str], str]] = {}
    for rule in rules("alerts.yml"):
        severities, _ = shipped.setdefault(rule["alert"], (set(), rule["for"]))
        severities.add(rule["labels"]["severity"])  # type: ignore[index]
    wrong = {name for name in listed | shipped if listed.get(name) != shipped.get(name)}
    assert not wrong, (
        f"docs/dashboards.md: the table of alerts needs name, severities and `for` as in alerts.yml: {wrong}"
    )


def test_guide_command_changes_the_address_everywhere(tmp_path: Path) -> None:
    (command,) = re.findall(
        r"^uv run python (dashboards/prometheus/build\.py --address .+)$", text(GUIDE), re.MULTILINE
    )
    subprocess.run([sys.executable, "-B", *command.split(), "--output", str(tmp_path)], cwd=ROOT, check=True)
    changed = (tmp_path / "alerts.yml").read_text(encoding="utf-8")
    assert "http://127.0.0.1:8000" not in changed
    ours = changed.count("https://latchscope.example.com") + changed.count("https://wiki.example.com/latchscope")
    assert ours >= 2 * len(rules("alerts.yml"))
