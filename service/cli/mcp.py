"""`latchscope mcp`: assistants read a running service through the Model Context Protocol."""

import ipaddress
import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from service.cli.messages import fail, say
from service.client import TOKEN_VARIABLE, ServiceClient, ServiceRefused, token_of
from service.extras import MissingExtra, require

SERVICE = "http://127.0.0.1:8000"
MOST_PORT = 65535
SKILL = Path(__file__).resolve().parents[1] / "SKILL.md"


def mcp(
    url: Annotated[str, typer.Option(help="address of the running service")] = SERVICE,
    token_file: Annotated[Path | None, typer.Option(help=f"file with a token for it; else {TOKEN_VARIABLE}")] = None,
    files: Annotated[Path, typer.Option(help="the folder of files to diagnose")] = Path(),
    http: Annotated[
        str | None, typer.Option(metavar="ADDRESS:PORT", help="serve streamable HTTP at /mcp there, in place of stdio")
    ] = None,
    skill: Annotated[
        bool, typer.Option("--skill", help="print SKILL.md, which tells an assistant what to ask and what to believe")
    ] = False,
) -> None:
    """Let an assistant read databases, diagnoses, history, comparisons, causes and files."""
    if skill:
        typer.echo(SKILL.read_text(encoding="utf-8"), nl=False)
        return
    try:
        require("mcp", "mcp", "assistants")
        if http is not None:
            _serve(http, url, token_file)
            return
        if not files.is_dir():
            fail(f"--files {files} is not a folder; make it, or name the folder of your reports")
        _speak(ServiceClient(url, token_of(token_file)), files)
    except (MissingExtra, ServiceRefused) as error:
        fail(str(error))


def _speak(client: ServiceClient, files: Path) -> None:
    """Over stdin and stdout, until the assistant closes them."""
    from service.assistants import assistant_server  # loads the protocol's library, which no other command needs

    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    assistant_server(lambda token: client, files).run("stdio")


def _serve(address: str, url: str, token_file: Path | None) -> None:
    """Over HTTP, each caller with their own token."""
    import uvicorn

    from service.assistants import assistant_server, http_app
    from service.web.server import guarded, provide_descriptors

    if token_file is not None:
        fail("over HTTP each caller sends their own token; --token-file is for stdio")
    host, _, port = address.rpartition(":")
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
        number = int(port) if port.isascii() else -1
    except ValueError:
        fail(f"{address} is not an address; write 127.0.0.1:8765")
    if not 0 <= number <= MOST_PORT:
        fail(f"{address} has no port from 0 to {MOST_PORT}; write 127.0.0.1:8765")
    if not loopback and _open_to_all(url):
        fail(f"{url} needs no token, so everybody who reaches {address} could read; set auth.tokens_file there first")

    def client_of(token: str | None) -> ServiceClient:
        return ServiceClient(url, token)

    say(f"latchscope mcp: http://{address}/mcp, asking {url}")
    app = http_app(assistant_server(client_of), client_of, host.strip("[]"))
    provide_descriptors(0)
    uvicorn.Server(guarded(app, host=host.strip("[]"), port=number, log_level="warning")).run()


def _open_to_all(url: str) -> bool:
    """Whether the service answers without a token. Raises ServiceRefused if it does not answer at all."""
    try:
        ServiceClient(url).get("/causes/undo-segments")
    except ServiceRefused as error:
        if error.status in (401, 403):
            return False
        raise
    return True
