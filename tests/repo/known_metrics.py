"""The metrics that exist: those of a database, and those of a whole service."""

from functools import cache

from docs.interface import whole_service
from service.metrics.families import FAMILIES


@cache
def of_the_process() -> frozenset[str]:
    """The metrics of the registry of a whole service, without those of a database."""
    with whole_service() as app:
        families = list(app.state.registry.collect())
    named = {f"{one.name}_total" if one.type == "counter" else one.name for one in families}
    return frozenset(named - {one.name for one in FAMILIES.values() if one.section == "outcomes"})
