"""Writes prometheusrule.yaml from dashboards/prometheus: `python dashboards/kubernetes/build.py [FILE]`.

The operator wants the rules inside a resource of its own; the rules themselves stay in one place. A test compares.
"""

import sys
from pathlib import Path

HOME = Path(__file__).parent
RULES = HOME.parent / "prometheus"
HEAD = """\
# Written by dashboards/kubernetes/build.py from dashboards/prometheus/{names}; change it there.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: latchscope
spec:
  groups:
"""
FILES = ("recording.yml", "alerts.yml")


def groups(path: Path) -> str:
    """What stands below `groups:` in a rule file, indented as it must be below `spec:`."""
    _, _, below = path.read_text(encoding="utf-8").partition("\ngroups:\n")
    return "".join(f"  {line}" if line.strip() else line for line in below.splitlines(keepends=True))


def main(target: Path) -> None:
    """Write the file."""
    text = HEAD.format(names=" and ".join(FILES)) + "".join(groups(RULES / name) for name in FILES)
    target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HOME / "prometheusrule.yaml")
