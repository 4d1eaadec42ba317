"""The dashboards' queries against a real Prometheus that scrapes the real service: no panel is without data."""

import re
import urllib.parse
from collections.abc import Iterator

import pytest
import yaml

from tests.ports import free_port
from tests.repo.grafana.dashboards import DASHBOARDS, RECORDING, Json, filled, panels, variables, visible
from tests.repo.processes import eventually, fetch_json, monitor
from tests.started import Started

pytestmark = pytest.mark.slow

MECHANISMS = (
    "undo-storm", "users-mutex", "nocache-sequence-1", "nocache-sequence-2", "ads-result-cache", "ddl-hang",
    "healthy-19c",
)  # fmt: skip
"""A latch of 11.2, mutexes of 19c, a RAC, the result cache, waits without an end, and nothing at all."""
SCRIPTED = (*MECHANISMS, "parse-storm")
LATER = {
    "Sessions that hang": "the script of ddl-hang hangs after a minute",
    "Longest wait": "the script of ddl-hang hangs after a minute",
    "Mean time to a verified remedy": "a remedy is verified minutes after a mark",
}
"""Folded panel → why it has no data in the first seconds of the scripts."""
SHOWN_BY = {
    "Mutex sleeps by location": "users-mutex",
    "Sessions waiting for a mutex by location": "users-mutex",
    "Waiting for row cache lock": "nocache-sequence-1",
    "Sampled waiters by cache": "nocache-sequence-1",
    "Share of the sampled waiters by cache": "nocache-sequence-1",
    "Sessions asleep on the result cache latch": "ads-result-cache",
    "Result cache latch: misses and sleeps": "ads-result-cache",
}
"""Folded panel → the database whose trouble it shows. Every other panel has data of the parse storm."""


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Prometheus that scrapes latchscope with the scripted databases and one that cannot be reached."""
    folder = tmp_path_factory.mktemp("prometheus")
    port, closed = free_port(), free_port()
    fleet = [
        {"name": name, "dsn": f"demo:{name}", "interval": 2, **({"cluster": "shop"} if "sequence" in name else {})}
        for name in SCRIPTED
    ]
    fleet.append({"name": "gone", "dsn": f"127.0.0.1:{closed}/gone", "password_file": str(folder / "password")})
    (folder / "password").write_text("of no use", "utf-8")
    settings = {"listen": f"127.0.0.1:{port}", "store": f"sqlite:///{folder}/store.db", "databases": fleet}
    (folder / "latchscope.yaml").write_text(yaml.safe_dump(settings), "utf-8")
    scrape = {"job_name": "latchscope", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
    every = {"scrape_interval": "2s", "evaluation_interval": "2s"}
    for rules in RECORDING:
        text = re.sub(r"interval: (?:30s|1m)", "interval: 2s", rules.read_text("utf-8"))
        (folder / rules.name).write_text(text, "utf-8")
    configured = {"global": every, "scrape_configs": [scrape], "rule_files": [rules.name for rules in RECORDING]}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(configured), "utf-8")
    with monitor("prometheus", folder, free_port()) as address:
        config, log = folder / "latchscope.yaml", folder / "latchscope.log"
        serve = Started("-m", "service", "serve", "--config", str(config), errors=log)
        try:
            yield address
        finally:
            serve.terminate()
            serve.wait(60)


def answer(prometheus: str, expr: str) -> list[Json]:
    """The series that a query gives now, without those that are not a number."""
    told = fetch_json(f"{prometheus}/api/v1/query?{urllib.parse.urlencode({'query': expr})}")
    assert told["status"] == "success"
    return [one for one in told["data"]["result"] if one["value"][1] != "NaN"]


def empty(prometheus: str, panel: Json, db: str) -> bool:
    """Whether a panel shows nothing for a database."""
    return not any(answer(prometheus, filled(target["expr"], db)) for target in panel["targets"])


def wanted() -> list[tuple[str, Json, str]]:
    """Dashboard, panel and database:

    a visible panel has data for each database, a folded one for the database of its trouble.
    """
    found = []
    for name, dashboard in DASHBOARDS.items():
        shown = {one["id"] for one in visible(dashboard)}
        for panel in panels(dashboard):
            dbs: tuple[str, ...] = (".+",)
            if name == "latchscope-database":
                dbs = MECHANISMS if panel["id"] in shown else (SHOWN_BY.get(panel["title"], "parse-storm"),)
            found += [(name, panel, db) for db in dbs if panel["title"] not in LATER]
    return found


def test_shown_by_names_folded_panels() -> None:
    folded = {one["title"] for one in panels(DASHBOARDS["latchscope-database"])}
    folded -= {one["title"] for one in visible(DASHBOARDS["latchscope-database"])}
    assert SHOWN_BY.keys() <= folded
    everywhere = {one["title"] for dashboard in DASHBOARDS.values() for one in visible(dashboard)}
    assert not LATER.keys() & everywhere


def test_panels_have_data_or_are_folded_for_every_mechanism(prometheus: str) -> None:
    left = wanted()

    def all_answered() -> bool | None:
        left[:] = [one for one in left if empty(prometheus, one[1], one[2])]
        return not left or None

    eventually(all_answered, lambda: "\n".join(f"{name}: {panel['title']}: {db}" for name, panel, db in left))


def test_variables_all_offer_values(prometheus: str) -> None:
    offered: dict[str, list[str]] = {}

    def all_there() -> bool | None:
        for dashboard in DASHBOARDS.values():
            for name, one in variables(dashboard).items():
                metric, label = one["query"].removeprefix("label_values(").removesuffix(")").rsplit(",", 1)
                asked = urllib.parse.urlencode({"match[]": filled(metric)})
                offered[name] = fetch_json(f"{prometheus}/api/v1/label/{label}/values?{asked}")["data"]
        everyone = sorted([*SCRIPTED, "gone"])
        return (offered["db"] == everyone and offered["rac"] == ["shop"] and offered["job"] == ["latchscope"]) or None

    eventually(all_there, lambda: f"not all is offered: {offered}")
    assert len(offered["instance"]) == 1
