"""Every PromQL expression sent to the engine. Each returns few rows, however many databases there are.

Few rows may need many reads: an expression over `latchscope_up` reads a series per database. So the engine may evaluate
`RULES` in the background (dashboards/prometheus/cells.yml), and a view reads their results.
"""

import re
from collections.abc import Iterable, Mapping

WORST = 50
"""Most databases in the list."""
FOUND = 'latchscope_finding{severity!="info"} == 1'


def _troubled(severity: str) -> str:
    """Some databases with a finding of this severity. Cost alone misses those without DB time."""
    return f'topk({WORST}, max without (cause, cache, severity) (latchscope_finding{{severity="{severity}"}} == 1))'


COUNT, ANSWERING, CAUSES, LISTED, COUNTED_AT = (
    "cell:latchscope_up:count",
    "cell:latchscope_up:sum",
    "cell_cause_severity:latchscope_finding:count",
    "fleet:latchscope_worst:topk",
    "fleet:latchscope_counted:time",
)
RULES: Mapping[tuple[str, str], str] = {
    (COUNT, ""): "count by (cell) (latchscope_up)",
    (ANSWERING, ""): "sum by (cell) (latchscope_up)",
    (CAUSES, ""): f"count by (cell, cause, severity) ({FOUND})",
    (LISTED, "cost"): f"topk({WORST}, latchscope_impact_ratio > 0)",
    (LISTED, "critical"): _troubled("critical"),
    (LISTED, "warning"): _troubled("warning"),
    (LISTED, "silent"): f"bottomk({WORST}, latchscope_up == 0)",
    (COUNTED_AT, ""): "vector(time())",
}
"""Series, and the reason a database is in the list → the expression. Without rules the expressions run as queries."""
RECORDED = f'{{__name__=~"{"|".join(sorted({name for name, _ in RULES}))}"}}'
"""The results of all rules in one query."""


def of(families: Iterable[str], databases: Iterable[str]) -> str:
    """Families of these databases only."""
    names = "|".join(re.escape(name) for name in sorted(set(databases))).replace("\\", "\\\\").replace('"', '\\"')
    return f'{{__name__=~"{"|".join(families)}",db=~"{names}"}}'
