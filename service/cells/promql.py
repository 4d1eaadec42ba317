"""Every PromQL expression that is sent to the engine. Each gives few rows, however many databases there are."""

import re
from collections.abc import Iterable

WORST = 50
"""Databases that are listed."""
FOUND = 'latchscope_finding{severity!="info"} == 1'

DATABASES = 'count_values("up", latchscope_up)'
"""How many there are by whether their last poll succeeded: one pass over all series, which is what costs."""
CAUSES = f"count by (cause, severity) ({FOUND})"
COSTLIEST = f"topk({WORST}, latchscope_impact_ratio > 0)"


def troubled(severity: str) -> str:
    """Some databases with a finding of this severity: cost alone does not see those without DB time."""
    return f'topk({WORST}, max without (cause, cache, severity) (latchscope_finding{{severity="{severity}"}} == 1))'


def silent() -> str:
    """Some databases whose last poll failed."""
    return f"bottomk({WORST}, latchscope_up == 0)"


def of(family: str, databases: Iterable[str]) -> str:
    """A family of these databases alone."""
    names = "|".join(re.escape(name) for name in sorted(set(databases))).replace("\\", "\\\\").replace('"', '\\"')
    return f'{family}{{db=~"{names}"}}'
