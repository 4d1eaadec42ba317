"""Writes the rules and the routing: `python dashboards/prometheus/build.py`, whose `--help` names its options.

templates/ holds what is written; this file holds what stands in many places of it: the address of latchscope's pages and
the labels that every rule keeps. A test holds the files in the tree to this.
"""

import argparse
import os
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
SYMPTOMS = {
    "latch": "RowCacheObjectsSleepsHigh|RowCacheObjectsOneChildDominates",
    "mutex": "RowCacheMutexWaits",
    "lock": "RowCacheLockWaits|RowCacheHang",
    "result-cache": "ResultCacheLatchWaits",
}
"""Surface → the alerts on its waits, which only a cause that can show there holds back."""
WITHOUT_FIGURES = (
    "LatchscopeDatabaseDown|LatchscopeMostDatabasesDown|LatchscopeDataStale|LatchscopeLoginStopped|LatchscopeDatabaseUnwatched|"
    "LatchscopeReplicaDown"
)
"""The alerts that have their reason where all latchscopes of an environment are gone."""


def held_back() -> Sequence[tuple[str, str, str, bool]]:
    """Surface, the causes that can show there as a regular expression, its symptoms, and whether a RAC shares its waits."""
    known = [cause for cause in catalogue().values() if not cause.handbook]
    return [
        (surface, "|".join(cause.id for cause in known if surface in cause.surfaces), symptoms, surface == "lock")
        for surface, symptoms in SYMPTOMS.items()
    ]


def texts(
    address: str = ADDRESS, target_labels: Sequence[str] = TARGET_LABELS, runbooks: str | None = None
) -> Mapping[str, str]:
    """File name → its text. `runbooks`: where people read the runbooks, else on latchscope's own pages."""
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
        runbooks=(runbooks or f"{address.rstrip('/')}/runbooks").rstrip("/"),
        by=", ".join(labels),
        targets=", ".join(target_labels),
        of_rac=", ".join(labels[:-1]),
        target_db=", ".join([*target_labels, "db"]),
        instance=", ".join([*target_labels, "job", "instance"]),
        same=",".join(f"{label}=%q" for label in labels),
        these=" ".join(f"$labels.{label}" for label in labels),
        ranked=RANKED,
        all=f"sum by ({', '.join(target_labels)})" if target_labels else "sum",
        listed=LISTED,
        gates=GATES,
        held=held_back(),
        of_latchscope=WITHOUT_FIGURES,
    )
    macros = vars(environment.get_template("macros").module)
    said = {name: macros[name] for name in ("gate", "cost", "told", "lasts", "bridged", "alone")}
    return {name: environment.get_template(name).render(said) for name in FILES}


def main() -> None:
    """Write each file that is not as it should be, and print its name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", default=ADDRESS, help="where people reach latchscope's own pages")
    parser.add_argument("--runbooks", help="where people read the runbooks, also while latchscope is down")
    parser.add_argument("--labels", default=",".join(TARGET_LABELS), help="target labels that the rules keep")
    parser.add_argument("--output", type=Path, default=HOME, help="folder for the files")
    given = parser.parse_args()
    labels = [label.strip() for label in given.labels.split(",") if label.strip()]
    for name, text in texts(given.address, labels, given.runbooks).items():
        path = given.output / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(os.path.relpath(path))


if __name__ == "__main__":
    main()
