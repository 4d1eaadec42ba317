"""`latchscope dashboards export`: writes this version's Grafana dashboards, Prometheus rules and runbooks as files."""

import re
from pathlib import Path
from typing import Annotated

import typer

from service.cli.messages import fail, say
from service.successors import successors

_HERE = Path(__file__).parents[1]
PLACES = (_HERE / "dashboards", _HERE.parent / "dashboards")
"""In an installed package, in a checkout."""
EXPORTED = ("grafana/dashboards", "grafana/provisioning", "prometheus", "mixin", "runbooks")
LEFT_OUT = ("__pycache__", "templates", "*.py", "*.test.yml")
"""Files that only generate or test the others."""
ADDRESS = "http://127.0.0.1:8000"
"""The address of latchscope's pages in every shipped file."""
_OTHER = re.compile(r"https?://[A-Za-z0-9._~:/\[\]-]+")
"""An address without characters that mean something in YAML, JSON, a template of Prometheus or a shell."""

dashboards_cli = typer.Typer(no_args_is_help=True)


@dashboards_cli.command("export")
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="the folder to write to; created if needed")],
    force: Annotated[bool, typer.Option("--force", help="replace existing files")] = False,
    address: Annotated[
        str, typer.Option(metavar="URL", help="where people reach the pages of your latchscope, for every link")
    ] = ADDRESS,
    runbooks: Annotated[
        str, typer.Option(metavar="URL", help="where people read the runbooks, also while latchscope is down")
    ] = "",
) -> None:
    """Write the dashboards, rules and runbooks of this version into a folder."""
    for option, given in (("--address", address), ("--runbooks", runbooks or address)):
        if not _OTHER.fullmatch(given):
            fail(f"{option} {given!r} is not an address; write https://latchscope.example.com")
    places = {f"runbook_url: {ADDRESS}/runbooks/": f"runbook_url: {runbooks.rstrip('/')}/"} if runbooks else {}
    places[ADDRESS] = address.rstrip("/")
    if folder.exists() and not folder.is_dir():
        fail(f"{folder} is a file; name a folder; it is created if needed")
    home = next(place for place in PLACES if (place / EXPORTED[0]).is_dir())
    wanted = [path for part in EXPORTED for path in sorted((home / part).rglob("*")) if _is_exported(path, home)]
    targets = {path: folder / path.relative_to(home) for path in wanted}
    if not force and (there := next((to for to in targets.values() if to.exists()), None)):
        fail(f"{there} exists already; name another folder, or replace it with --force")
    try:
        for path, to in targets.items():
            to.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_bytes()
            for ours, theirs in places.items():
                text = text.replace(ours.encode(), theirs.encode())
            to.write_bytes(text)
    except OSError as error:
        fail(f"{folder} cannot be written: {error.strerror}; name a folder that this account can write to")
    say(f"{folder}: {len(targets)} files written; docs/dashboards.md says where they go")
    for old, new in successors().files.items():
        if (folder / old).exists():
            say(f"{folder / old} is of an earlier version; load {folder / new} in its place, then delete {old}")


def _is_exported(path: Path, home: Path) -> bool:
    inside = path.relative_to(home)
    return path.is_file() and not any(Path(part).match(pattern) for part in inside.parts for pattern in LEFT_OUT)
