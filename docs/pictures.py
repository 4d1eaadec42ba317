"""Draws the dashboards from live answers: `make pictures`, which is `python -m docs.pictures [--seconds N] [--output DIR]`.

latchscope with scripted databases and a Prometheus with the shipped rules run on loopback until the storms are in full swing;
then every panel's own queries are asked. The layout is Grafana's, the drawing is ours: Grafana itself is not needed. It also
prints which panel has data for which database.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from docs.drawing import FASTER, WIDTH, Live, page

ROOT = Path(__file__).resolve().parents[1]
DASHBOARDS = ROOT / "dashboards" / "grafana" / "dashboards"
RULES = ROOT / "dashboards" / "prometheus"
OUTPUT = ROOT / "docs" / "images"
MECHANISMS = (
    "undo-storm",
    "users-mutex",
    "nocache-sequence-1",
    "nocache-sequence-2",
    "ads-result-cache",
    "ddl-hang",
    "healthy-19c",
)
"""A latch of 11.2, mutexes of 19c, a RAC, the result cache, waits without an end, and nothing at all."""
WINDOW = re.compile(r"\[(\d+)([mhd])\]")
Json = dict[str, Any]


@contextmanager
def running(command: Sequence[str], log: Path) -> Iterator[None]:
    """A program for the length of the block, ended by its own handle."""
    with log.open("wb") as said, subprocess.Popen(command, stdout=said, stderr=said) as one:
        try:
            yield
        finally:
            one.terminate()
            one.wait(60)


def table(live: Live, dashboard: Json) -> int:
    """Print which panel has data for which database; how many visible ones have none."""
    print(f"{'panel':44}" + "".join(f"{db[:18]:>20}" for db in MECHANISMS))
    lacking = 0
    for outer in dashboard["panels"]:
        for panel in outer["panels"] if outer["type"] == "row" else [outer]:
            cells = []
            for db in MECHANISMS:
                data = any(live.ask(target["expr"], db, over_time=False) for target in panel["targets"])
                folded = outer["type"] == "row"
                lacking += not data and not folded
                cells.append(("data" if data else "EMPTY") if not folded else ("folded, data" if data else "folded"))
            print(f"{panel['title'][:43]:44}" + "".join(f"{cell:>20}" for cell in cells))
    print(f"empty and visible: {lacking}")
    return lacking


def shorter(window: re.Match[str]) -> str:
    """A window of a rule, as much shorter as the scripts are."""
    return f"[{int(window[1]) * {'m': 60, 'h': 3600, 'd': 86400}[window[2]] // FASTER}s]"


def configured(folder: Path, port: int) -> None:
    """latchscope with the scripted databases, and a Prometheus with the shipped rules."""
    rac = {"cluster": "nocache-sequence"}
    fleet = [{"name": db, "dsn": f"demo:{db}", "interval": 2, **(rac if "sequence" in db else {})} for db in MECHANISMS]
    ours = {"listen": f"127.0.0.1:{port}", "store": f"sqlite:///{folder}/store.db", "databases": fleet}
    (folder / "latchscope.yaml").write_text(yaml.safe_dump(ours), "utf-8")
    rules = WINDOW.sub(shorter, (RULES / "recording.yml").read_text("utf-8"))
    (folder / "recording.yml").write_text(rules, "utf-8")
    theirs = {
        "global": {"scrape_interval": "2s", "evaluation_interval": "2s"},
        "rule_files": [str(folder / "recording.yml")],
        "scrape_configs": [{"job_name": "latchscope", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(theirs), "utf-8")


def answers(url: str) -> bool:
    """Whether somebody is there."""
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def main() -> None:
    """Run, ask, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=128, help="how long the scripts run before they are drawn")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder of the pictures")
    parser.add_argument("--dashboards", type=Path, default=DASHBOARDS, help="folder of the dashboards")
    given = parser.parse_args()
    port, own = 18973, 18974
    needed = {name: shutil.which(name) for name in ("prometheus", "chromium")}
    if missing := [name for name, path in needed.items() if path is None]:
        sys.exit(f"{' and '.join(missing)} must be installed to draw pictures (Debian packages of the same names)")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        configured(folder, port)
        latchscope = [
            str(Path(sys.executable).with_name("latchscope")),
            "serve",
            "--config",
            str(folder / "latchscope.yaml"),
        ]
        prometheus = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
        prometheus += [f"--web.listen-address=127.0.0.1:{own}"]
        with running(latchscope, folder / "latchscope.log"), running(prometheus, folder / "prometheus.log"):
            begin = time.time()
            time.sleep(given.seconds)
            if not answers(f"http://127.0.0.1:{port}/healthz"):
                sys.exit(
                    f"latchscope does not answer on port {port}; it said:\n{(folder / 'latchscope.log').read_text()}"
                )
            live = Live(f"http://127.0.0.1:{own}", begin + 6, time.time())
            given.output.mkdir(parents=True, exist_ok=True)
            for path in sorted(given.dashboards.glob("*.json")):
                dashboard = json.loads(path.read_text("utf-8"))
                text, tall = page(dashboard, live, "undo-storm" if "database" in path.stem else ".+")
                (folder / "page.html").write_text(text, "utf-8")
                picture = given.output / f"{path.stem}.png"
                options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={WIDTH},{tall}"]
                subprocess.run(
                    ["chromium", *options, f"--screenshot={picture}", f"file://{folder}/page.html"],
                    check=True,
                    capture_output=True,
                )
                if "database" in path.stem:
                    table(live, dashboard)


if __name__ == "__main__":
    main()
