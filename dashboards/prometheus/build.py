"""Writes the rules and the routing: `python dashboards/prometheus/build.py [--address URL] [--labels A,B] [--output DIR]`.

templates/ holds what is written; this file holds what stands in many places of it: the address of latchscope's pages and
the labels that every rule keeps. A test holds the files in the tree to this.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2

from rules.cause import catalogue

HOME = Path(__file__).parent
ADDRESS = "http://127.0.0.1:8000"
"""Where people reach latchscope's pages; docker-compose.yml publishes it there."""
TARGET_LABELS = ("cluster", "env", "region")
"""THE LIST of labels that people add to targets, or outside as external labels, and that every rule keeps."""
GATES = (("critical", 0.1, 5), ("warning", 0.02, 0.5))
"""Severity, share of DB time, and sessions waiting where DB time cannot be read, as rules/waits.py has them."""
RANKED = 200
"""Databases in a rank of the fleet. Tables have three ranks; VictoriaMetrics looks up a thousand databases by name at most."""
LISTED = (
    ("fleet:latchscope_severity:max", "latchscope_severity"),
    ("fleet:latchscope_impact:ratio", "latchscope_impact_ratio"),
    ("fleet:latchscope_impact:sessions", "latchscope_impact_sessions"),
    ("fleet:latchscope_data_age_seconds:max", "latchscope_data_age_seconds"),
)
"""Rule and figure: what the tables of the fleet show of a database."""
FILES = ("recording.yml", "fleet.yml", "alerts.yml", "alertmanager.yml")
HELD_BACK = (
    ("", "RowCacheObjectsSleepsHigh|RowCacheObjectsOneChildDominates|RowCacheMutexWaits"),
    ("result-cache-.*", "ResultCacheLatchWaits"),
)
"""Causes (none: all of them) and the symptoms of the same database that they hold back."""
OF_THE_LOCK = "RowCacheLockWaits|RowCacheHang"
"""Symptoms that only a cause which can show in waits for the row cache lock holds back, of a RAC on all its instances."""


def lock_causes() -> str:
    """The causes that can show there, as a regular expression."""
    return "|".join(cause.id for cause in catalogue().values() if "lock" in cause.surfaces and not cause.handbook)


def texts(address: str = ADDRESS, target_labels: Sequence[str] = TARGET_LABELS) -> Mapping[str, str]:
    """File name → its text."""
    environment = jinja2.Environment(
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        comment_start_string="<#",
        comment_end_string="#>",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FileSystemLoader(HOME / "templates"),
    )
    labels = [*target_labels, "rac", "db"]
    environment.globals.update(
        address=address.rstrip("/"),
        by=", ".join(labels),
        targets=", ".join(target_labels),
        of_rac=", ".join(labels[:-1]),
        same=",".join(f"{label}=%q" for label in labels),
        these=" ".join(f"$labels.{label}" for label in labels),
        ranked=RANKED,
        all=f"sum by ({', '.join(target_labels)})" if target_labels else "sum",
        listed=LISTED,
        gates=GATES,
        held=HELD_BACK,
        of_the_lock=OF_THE_LOCK,
        lock_causes=lock_causes(),
    )
    macros = vars(environment.get_template("macros").module)
    said = {name: macros[name] for name in ("gate", "cost", "told", "lasts")}
    return {name: environment.get_template(name).render(said) for name in FILES}


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", default=ADDRESS, help="where people reach latchscope's own pages")
    parser.add_argument("--labels", default=",".join(TARGET_LABELS), help="target labels that the rules keep")
    parser.add_argument("--output", type=Path, default=HOME, help="folder for the files")
    given = parser.parse_args()
    labels = [label.strip() for label in given.labels.split(",") if label.strip()]
    for name, text in texts(given.address, labels).items():
        (given.output / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
