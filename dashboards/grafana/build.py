"""Writes the three dashboards: `python dashboards/grafana/build.py [--address URL] [--output DIR]`.

fleet.py, database.py and health.py hold one dashboard each, its panels in the order they are read; shared.py holds the
queries they have in common, panels.py turns all of it into Grafana's JSON. `--address` is where people reach
latchscope's own pages, for the links. A test holds the files in the tree to this.
"""

import argparse
import json
from pathlib import Path

from database import database
from fleet import fleet
from health import health

ADDRESS = "http://127.0.0.1:8000"
OUTPUT = Path(__file__).parent / "dashboards"


def texts(address: str = ADDRESS) -> dict[str, str]:
    """File name → its text, for every dashboard."""
    made = (fleet(address), database(address), health(address))
    return {
        f"{dashboard['uid']}.json": json.dumps(dashboard, indent=1, ensure_ascii=False) + "\n" for dashboard in made
    }


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", default=ADDRESS, help="where people reach latchscope's own pages")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder for the JSON files")
    given = parser.parse_args()
    for name, text in texts(given.address.rstrip("/")).items():
        (given.output / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
