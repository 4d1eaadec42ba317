"""Writes the three dashboards: `python dashboards/grafana/build.py [--address URL] [--labels A,B] [--output DIR]`.

fleet.py, database.py and health.py hold one dashboard each, its panels in the order they are read; shared.py holds the
queries they have in common, panels.py turns all of it into Grafana's JSON. `--address` is where people reach
latchscope's own pages, for the links; `--labels` are the target labels, as the rules keep them. A test holds the files in the
tree to this, and the labels to the list of dashboards/prometheus/build.py.
"""

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

from database import database
from fleet import fleet
from health import health
from panels import Json, label

ADDRESS = "http://127.0.0.1:8000"
TARGET_LABELS = ("cluster", "env", "region")
OUTPUT = Path(__file__).parent / "dashboards"
FORMS = {
    "<by>": "{0}, ",
    "<narrow>": '{0}=~\\"${0}\\",',
    "<legend>": " {{{{{0}}}}}",
    "<kept>": "&${{{0}:queryparam}}",
    "<row>": "&var-{0}=${{__data.fields.{0}}}",
}
"""What a mark stands for, a label. A series without one of them shows an empty name there and matches All."""


def texts(address: str = ADDRESS, labels: Sequence[str] = TARGET_LABELS) -> dict[str, str]:
    """File name → its text, for every dashboard."""
    return {
        f"{made['uid']}.json": _written(made, labels) for made in (fleet(address), database(address), health(address))
    }


def _written(dashboard: Json, labels: Sequence[str]) -> str:
    variables = dashboard["templating"]["list"]
    several = next(one["multi"] for one in variables if one["name"] == "db")
    variables[1:1] = [label(name, name, "db:latchscope_seen:timestamp", every=".*") for name in labels]
    text = json.dumps(dashboard, indent=1, ensure_ascii=False) + "\n"
    for mark, form in FORMS.items():
        text = text.replace(mark, "".join(form.format(name) for name in labels))
    return text.replace("<targets>", ", ".join(labels)).replace("<is>", "=~" if several else "=")


def main() -> None:
    """Write each file that is not as it should be, and print its name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", default=ADDRESS, help="where people reach latchscope's own pages")
    parser.add_argument("--labels", default=",".join(TARGET_LABELS), help="target labels that the rules keep")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder for the JSON files")
    given = parser.parse_args()
    labels = [name.strip() for name in given.labels.split(",") if name.strip()]
    for name, text in texts(given.address.rstrip("/"), labels).items():
        path = given.output / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(os.path.relpath(path))


if __name__ == "__main__":
    main()
