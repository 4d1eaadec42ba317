"""A marked password must not appear in anything that a running service shows: log, pages, REST, metrics, store, process
list.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from collectors.oracle import ConnectTarget, OracleConnection
from service.config.settings import DatabaseSettings
from service.state.board import MonitoredDatabase
from service.watch.connect import Connector, target_of
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.deadline import HANGS, within
from tests.oracle_standin.scripted import USER
from tests.oracle_standin.server import Listener
from tests.ports import free_port
from tests.service.standin import QUICK, becomes, idle

MARK = "zx9mark"
RIGHT, WRONG, FROM_COMMAND = f"right-{MARK}!", f"wrong-{MARK}?", f"said-{MARK}%"


def configuration(folder: Path, listener: Listener, port: int) -> dict[str, Any]:
    """One database for each source of a password, one with a wrong password, one with it in the descriptor."""
    for name, word in (("right", RIGHT), ("wrong", WRONG)):
        (folder / name).write_text(word + "\n", encoding="utf-8")
    say = [sys.executable, "-c", f"print(open({str(folder / 'right')!r}).read())"]
    sources = {
        "by-file": {"password_file": str(folder / "right")},
        "by-command": {"password_command": say},
        "by-environment": {"password_env": "MARKED"},
        "wrong": {"password_file": str(folder / "wrong")},
        "unreadable": {"password_file": str(folder / "none")},
    }
    databases = [{"name": name, "dsn": listener.dsn("erp"), "user": USER, **source} for name, source in sources.items()]
    return {
        "listen": f"127.0.0.1:{port}",
        "store": f"sqlite:///{folder}/store.db",
        "auth": {"audit_file": str(folder / "audit.jsonl")},
        "databases": databases,
    }


def everything(port: int) -> str:
    """Every documented GET, every page, the metrics, and an action."""
    shown = []
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=HANGS) as client:
        document = client.get("/api/v1/openapi.json").json()
        names = [one["name"] for one in client.get("/api/v1/databases").json()]
        places = {"/", "/causes", *(f"/db/{name}" for name in names)}
        for path, operations in document["paths"].items():
            if "get" in operations and "stream" not in path:
                places |= {path.replace("{db}", name).replace("{id}", "undo-segments") for name in names}
        for place in sorted(places):
            answer = client.get(place)
            shown.append(f"{place} {answer.status_code}\n{answer.headers}\n{answer.text}")
        shown.append(client.post("/api/v1/databases/wrong/login/resume").text)
    return "\n".join(shown)


@pytest.mark.slow
def test_standin_password_appears_nowhere(tmp_path: Path) -> None:
    port, service = free_port(), idle()
    service.accounts[USER] = Account(RIGHT)
    environment = os.environ | {"MARKED": RIGHT, "PYTHONFAULTHANDLER": "1"}
    with Listener({"erp": service}) as listener:
        config = tmp_path / "latchscope.yaml"
        config.write_text(yaml.safe_dump(configuration(tmp_path, listener, port)), encoding="utf-8")
        command = [sys.executable, "-m", "service", "serve", "--config", str(config)]
        with (
            (tmp_path / "log").open("wb") as log,
            subprocess.Popen(command, stderr=log, stdout=log, env=environment) as process,
        ):
            try:
                becomes(lambda: _settled(port), "three databases are up and two are not")
                shown = within(HANGS, lambda: everything(port))
                arguments = Path(f"/proc/{process.pid}/cmdline").read_bytes().decode()
            finally:
                process.terminate()
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name not in ("right", "wrong")}
    assert MARK not in shown + arguments
    assert [name for name, content in written.items() if MARK.encode() in content] == []
    assert "ORA-01017" in shown and b"ORA-01017" in written["log"], "the failures themselves are missing"
    assert {"store.db", "audit.jsonl", "log"} <= set(written)


def _settled(port: int) -> bool:
    try:
        page = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=HANGS).text
    except httpx.TransportError:
        return False
    return len(re.findall(r"^latchscope_up\{.*\} 1$", page, re.MULTILINE)) == 3 and "latchscope_login_stopped" in page


def test_password_is_in_no_repr_of_its_holders(tmp_path: Path) -> None:
    (tmp_path / "p").write_text(WRONG, encoding="utf-8")
    service = idle()
    with Listener({"erp": service}) as listener:
        database = DatabaseSettings(name="erp", dsn=listener.dsn("erp"), user=USER, password_file=tmp_path / "p")
        watched, connector = MonitoredDatabase(database, 15.0), Connector(QUICK)
        target = target_of(database)
        assert isinstance(target, ConnectTarget) and target.password == WRONG
        try:
            within(HANGS, lambda: OracleConnection("erp", target))
        except Exception as error:  # noqa: BLE001  whatever it is, it must not tell
            told = f"{error!r} {error} {error.__cause__!r} {error.__context__!r}"
        shown = f"{target!r} {target} {database!r} {watched!r} {connector!r} {connector.credential(watched)} {told}"
    assert "ORA-01017" in told and MARK not in shown
