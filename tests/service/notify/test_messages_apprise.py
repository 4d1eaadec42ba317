"""Slack, Teams, PagerDuty and mail in Apprise's own code, each sent to a receiver on loopback. Nothing else is replaced."""

import email
import email.policy
import json
import logging
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
import requests
from typer.testing import CliRunner

from rules.model import Severity
from service.cli.main import cli
from service.config.settings import NotificationSettings
from service.notify.delivery import DeliveryRefused
from service.notify.messages import Message, send
from tests.service.receiver import Receiver, receiver

SECRET = "zx9markofthekey0123456789"
TITLE = "erp1: Too many undo segments on dc_rollback_segments"
SENTENCE = "CRITICAL, since 12:00 UTC: Too many undo segments on dc_rollback_segments; 31.0 % of DB time (critical)"
LINK = "https://latchscope.example.com/db/erp1"
BEGUN = Message(TITLE, f"{SENTENCE}\n{LINK}", Severity.CRITICAL)
OVER = Message(TITLE, f"Resolved after 12 min. It was CRITICAL, 31.0 % of DB time.\n{LINK}", None)
CHATS = {
    f"slack://T1JJ3T3L2/A1BRTD4JD/{SECRET[:24]}/#databases": "https://hooks.slack.com/services/T1JJ3T3L2",
    f"workflows://flows.example.com/{SECRET}/{SECRET}/": "https://flows.example.com",
    f"pagerduty://{SECRET}@ApiKey0123456789/latchscope/databases?action=map": "https://events.pagerduty.com/v2/enqueue",
}
"""Address in the file → the start of Apprise's request for it."""


@contextmanager
def chat(monkeypatch: pytest.MonkeyPatch, *answers: int) -> Iterator[tuple[Receiver, list[str]]]:
    """A receiver for every request of Apprise, and the intended addresses."""
    asked: list[str] = []
    real = requests.Session.request
    with receiver(*answers or (200,) * 9) as to:
        to.said = b"ok"  # without it Slack accepted nothing

        def led(session: requests.Session, method: str, url: str, **more: Any) -> requests.Response:
            asked.append(url)
            return real(session, method, f"{to.url}{urlsplit(url).path}", **more)

        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setattr(requests.Session, "request", led)
        yield to, asked


def channel(folder: Path, address: str) -> NotificationSettings:
    (folder / "address").write_text(address + "\n", encoding="utf-8")
    return NotificationSettings(name="night", url_file=folder / "address")


def texts(document: object) -> str:
    """Every text of a document."""
    if isinstance(document, dict):
        return " ".join(map(texts, document.values()))
    return " ".join(map(texts, document)) if isinstance(document, list) else str(document)


def test_chats_get_title_sentence_and_link_and_hear_of_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with chat(monkeypatch) as (to, asked):
        for address, expected in CHATS.items():
            for message in (BEGUN, OVER):
                send(channel(tmp_path, address), message)
            assert all(url.startswith(expected) for url in asked[-2:]), asked
            begun, over = (json.loads(body) for _, body in to.asked[-2:])
            for part in (TITLE, SENTENCE, LINK):
                assert part in texts(begun).replace("\\", ""), (address, part, begun)
            if "pagerduty" in address:
                assert (begun["event_action"], begun["payload"]["severity"]) == ("trigger", "critical")
                assert (over["event_action"], over["dedup_key"]) == ("resolve", begun["dedup_key"])
            else:
                assert "Resolved after 12 min" in texts(over) and TITLE in texts(over), (address, over)


def test_refused_key_is_masked_in_log_and_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, root = StringIO(), logging.getLogger()
    handler = logging.StreamHandler(log)
    monkeypatch.setattr(root, "handlers", [*root.handlers, handler])
    monkeypatch.setattr(root, "level", logging.DEBUG)
    with chat(monkeypatch, *(403,) * 9):
        for address in CHATS:
            config = tmp_path / "latchscope.yaml"
            with pytest.raises(DeliveryRefused) as caught:
                send(channel(tmp_path, address), BEGUN)
            config.write_text(
                f"auth: {{audit_file: {tmp_path}/audit}}\ndatabases: [{{name: a, dsn: 'demo:undo-storm'}}]\n"
                f"notifications: [{{name: night, url_file: {tmp_path}/address}}]\n",
                encoding="utf-8",
            )
            told = CliRunner().invoke(cli, ["notify", "test", "--config", str(config)])
            assert told.exit_code == 1 and told.stdout.startswith("night: not sent: "), told.output
            if address == next(iter(CHATS)):
                (as_json,) = json.loads(
                    CliRunner().invoke(cli, ["notify", "test", "--json", "--config", str(config)]).stdout
                )
                assert as_json["target"] == "night" and as_json["why"] in told.stdout
            written = f"{caught.value}{told.output}{log.getvalue()}{(tmp_path / 'audit').read_text(encoding='utf-8')}"
            assert SECRET[:24] not in written, address
    assert '"notify test"' in written


def test_mail_has_subject_sentence_and_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with mail() as server:
        port = server.server_address[1]
        address = f"mailto://dba:{SECRET}@127.0.0.1:{port}?to=night@example.com&from=latchscope@example.com"
        for message in (BEGUN, OVER):
            send(channel(tmp_path, address), message)
    begun, over = (email.message_from_bytes(one, policy=email.policy.default) for one in server.taken)
    assert (begun["Subject"], over["Subject"]) == (TITLE, TITLE) and "night@example.com" in begun["To"]
    plain = [cast(Any, one).get_body(("plain",)).get_content().split() for one in (begun, over)]
    assert plain == [f"{SENTENCE} {LINK}".split(), OVER.body.split()]
    with pytest.raises(DeliveryRefused) as caught:
        send(channel(tmp_path, address), BEGUN)
    assert SECRET not in str(caught.value)


class MailServer(socketserver.ThreadingTCPServer):
    """Takes every mail."""

    daemon_threads = True

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.taken: list[bytes] = []


class MailSession(socketserver.StreamRequestHandler):
    """One conversation of RFC 5321, with a login that accepts everybody."""

    def handle(self) -> None:
        answers: dict[bytes, bytes] = {b"EHLO": b"250-here\r\n250 AUTH PLAIN", b"AUTH": b"235 in", b"QUIT": b"221 bye"}
        self.wfile.write(b"220 here\r\n")
        for line in self.rfile:
            verb = line[:4].upper()
            if verb == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                cast(MailServer, self.server).taken.append(b"".join(iter(self.rfile.readline, b".\r\n")))
            self.wfile.write(answers.get(verb, b"250 ok") + b"\r\n")
            if verb == b"QUIT":
                return


@contextmanager
def mail() -> Iterator[MailServer]:
    with MailServer(("127.0.0.1", 0), MailSession) as server:
        run: Callable[[], None] = lambda: server.serve_forever(poll_interval=0.02)  # noqa: E731
        threading.Thread(target=run, daemon=True).start()
        yield server
        server.shutdown()
