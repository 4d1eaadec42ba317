"""A running service takes its configuration anew: by SIGHUP and by POST /-/reload, and systemd is told."""

import hashlib
import json
import shutil
import signal
import socket
import ssl
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.oracle_standin.scripted import PASSWORD, USER
from tests.oracle_standin.server import Listener
from tests.repo.processes import need
from tests.service.running import ASK, Running, serve
from tests.service.standin import becomes, idle

WRONG = "not the password"


def test_reload_adds_removes_pauses_and_renews_and_a_wrong_file_changes_nothing(tmp_path: Path) -> None:
    password, wrong = tmp_path / "password", tmp_path / "wrong"
    password.write_text(PASSWORD, encoding="utf-8")
    wrong.write_text(WRONG, encoding="utf-8")
    names = ("stays", "leaves", "pauses", "comes", "refused")
    with ExitStack() as ends:
        listener = ends.enter_context(Listener({name: idle() for name in names}))
        manager = ends.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        manager.bind(str(tmp_path / "notify"))

        def database(name: str, **more: object) -> dict[str, object]:
            own = {"password_file": str(wrong)} if name == "refused" else {}
            return {"name": name, "dsn": listener.dsn(name), "user": USER, "interval": "10s"} | own | more

        def tokens(*named: str) -> None:
            lines = [f"{name} operate {hashlib.sha256(name.encode()).hexdigest()}\n" for name in named]
            (tmp_path / "tokens").write_text("".join(lines), encoding="utf-8")

        def logins() -> dict[str, int]:
            return {name: service.counters.logins for name, service in listener.services.items()}

        tokens("first")
        running: Running = ends.enter_context(
            serve(
                tmp_path,
                databases=[database(name) for name in names if name != "comes"],
                environment={"NOTIFY_SOCKET": str(tmp_path / "notify")},
                defaults={"password_file": str(password)},
                auth={"tokens_file": str(tmp_path / "tokens")},
                telemetry={"log_format": "json"},
            )
        )

        def asked(token: str, path: str = "/api/v1/databases", method: str = "GET") -> httpx.Response:
            return ASK.request(method, f"{running.url}{path}", headers={"Authorization": f"Bearer {token}"})

        def states(token: str) -> dict[str, Any]:
            return {row["name"]: row for row in asked(token).json()}

        assert manager.recv(99) == b"READY=1"
        becomes(lambda: all(row["up"] or row["failure"] for row in states("first").values()), "each was tried")
        before = logins()
        config = tmp_path / "latchscope.yaml"
        chosen = yaml.safe_load(config.read_text("utf-8"))
        databases = [database("stays", labels={"env": "prod"}), database("pauses", enabled=False)]
        chosen |= {"databases": [*databases, database("comes"), database("refused")], "history": {"polls": "1d"}}
        config.write_text(yaml.safe_dump(chosen), encoding="utf-8")
        tokens("second")
        running.process.send_signal(signal.SIGHUP)
        assert [manager.recv(99)[:10] for _ in range(2)] == [b"RELOADING=", b"READY=1"]
        assert asked("first").status_code == 401, "a token that left opens nothing"
        becomes(lambda: states("second")["comes"]["up"], "the new one is polled")
        assert states("second").keys() == {"stays", "comes", "refused"}
        assert logins() == before | {"comes": 1}, "nobody else logs in again, least of all with a refused password"
        page = asked("second", "/metrics").text
        assert "latchscope_config_last_reload_successful 1.0" in page and '{db="leaves"' not in page
        assert "latchscope_databases_owned 3.0" in page, "the workers of those that left have ended"

        config.write_text(config.read_text("utf-8").replace("stays", "comes"), encoding="utf-8")
        refused = asked("second", "/-/reload", "POST")
        assert refused.status_code == 422 and "two databases are named comes" in refused.json()["detail"]
        running.process.send_signal(signal.SIGHUP)
        assert [manager.recv(99)[:10] for _ in range(2)] == [b"RELOADING=", b"READY=1"]
        assert states("second").keys() == {"stays", "comes", "refused"}
        assert "latchscope_config_last_reload_successful 0.0" in asked("second", "/metrics").text
        running.stop()
        assert manager.recv(99) == b"STOPPING=1"
        lines = [json.loads(line) for line in running.log.read_text().splitlines()]
    said = "\n".join(line["message"] for line in lines)
    assert [line.get("event") for line in (lines[0], *lines[-2:])] == ["start", "stop", "end"], (
        "JSON from the first byte"
    )
    failed = [(line["db"], line["kind"]) for line in lines if line.get("event") == "failed"]
    assert failed == [("refused", "credential")], "once, and not again because a configuration was read"
    assert not [line for line in lines if "found: 0" in line["message"]]
    assert (
        "SIGHUP: configuration reloaded; databases: 3; added: comes; changed: stays; no longer watched: leaves; paused: pauses; "
        "needs a restart: history.polls; tokens changed" in said
    )
    assert said.count("configuration not reloaded, nothing changed: ") == 2 and not any(
        "trace" in line for line in lines
    )


def test_tls_takes_a_renewed_certificate_and_only_clients_of_its_authority(tmp_path: Path) -> None:
    def made(name: str) -> tuple[str, str]:
        pem, key = str(tmp_path / f"{name}.pem"), str(tmp_path / f"{name}.key")
        curve = ("-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}")
        more = ("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", pem)
        subprocess.run([need("openssl", "openssl"), "req", *curve, *more], check=True, capture_output=True)
        return pem, key

    certificate, key = made("first")
    client, other, second = made("client"), made("other"), made("second")
    tls = {"certificate": certificate, "key": key, "client_ca": client[0]}
    with serve(tmp_path, databases=[{"name": "a", "dsn": "demo:busy-but-fine"}], tls=tls, awaited=False) as running:
        url = running.url.replace("http:", "https:")

        def served(trusted: str, shown: tuple[str, str]) -> bool:
            context = ssl.create_default_context(cafile=trusted)
            context.load_cert_chain(*shown)
            try:
                return httpx.get(f"{url}/healthz", verify=context).status_code == 200
            except (httpx.TransportError, ssl.SSLError):
                return False

        becomes(lambda: served(certificate, client), "it serves TLS")
        assert not served(certificate, other), "another authority"
        old = tmp_path / "old.pem"
        shutil.copy(certificate, old)
        shutil.copy(second[0], certificate)
        running.process.send_signal(signal.SIGHUP)
        becomes(lambda: "tls: " in running.log.read_text(), "a certificate without its key is refused")
        assert served(str(old), client), "and the first one is served on"
        shutil.copy(second[1], key)
        running.process.send_signal(signal.SIGHUP)
        becomes(lambda: served(second[0], client), "the renewed one is served")
        assert not served(str(old), client)
