"""Writes the rules of dashboards/prometheus for the operator: `python dashboards/kubernetes/build.py [FOLDER]`.

The base has them as a resource, the chart as a file that its template takes in; a chart can read nothing outside its own
folder. The rules themselves stay in one place. A test compares.
"""

import os
import sys
from pathlib import Path

HOME = Path(__file__).parent
CHART = HOME.parent / "helm" / "latchscope" / "files" / "rules.yaml"
WRITTEN = "# Written by dashboards/kubernetes/build.py from dashboards/prometheus/{names}; change it there.\n"
RESOURCE = """\
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: latchscope
spec:
  groups:
"""
FILES = ("recording.yml", "fleet.yml", "alerts.yml")


def groups(path: Path, indent: str) -> str:
    """What stands below `groups:` in a rule file, indented as where it goes."""
    _, _, below = path.read_text(encoding="utf-8").partition("\ngroups:\n")
    return "".join(f"{indent}{line}" if line.strip() else line for line in below.splitlines(keepends=True))


def main(folder: Path | None) -> None:
    """Write both files, and print the name of each that changes: into a folder, or where they belong."""
    head = WRITTEN.format(names=", ".join(FILES))
    for target, above, indent in ((HOME / "prometheusrule.yaml", RESOURCE, "  "), (CHART, "groups:\n", "")):
        text = head + above + "".join(groups(HOME.parent / "prometheus" / name, indent) for name in FILES)
        path = folder / target.name if folder else target
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(os.path.relpath(path))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
