"""Which groups are asked for together on one database, and which have their views asked for one by one for a while."""

import logging
import time
from collections.abc import Callable

from collectors.groups.group import Group, groups

log = logging.getLogger("latchscope.poll")

ASIDE_SECONDS = 3600.0
"""For so long the views of a group that was refused, failed or was slow are asked for one by one."""
SLOW_SECONDS = 1.0
"""A group that takes longer is slow: one by one its views take a fraction of it, where the instance is well."""


class Grouping:
    """The groups of one database. It outlives its sessions."""

    def __init__(self, database: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._until: dict[str, float] = {}

    def usable(self) -> list[Group]:
        """The groups to be asked for together now."""
        now = self._clock()
        return [group for name, group in groups().items() if self._until.get(name, now) <= now]

    def set_aside(self, group: Group, why: str) -> None:
        """Have the views of a group asked for one by one for an hour, so that what ails one of them costs that one alone."""
        self._until[group.name] = self._clock() + ASIDE_SECONDS
        log.info(
            "%s: the views of the group %s are asked for one by one for an hour: %s", self._database, group.name, why
        )
