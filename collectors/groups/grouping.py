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
SLOW_IN_A_ROW, REST_SECONDS = 3, 600.0
"""A view that was too slow so often is asked for again only after this time; else each poll might cost a login."""


class Grouping:
    """The groups of one database, and its views that are too slow. It outlives its sessions."""

    def __init__(self, database: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._until: dict[str, float] = {}
        self._slow: dict[str, tuple[int, float, str]] = {}

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

    def resting(self, view: str) -> str | None:
        """Why a view is not asked for now, in one line; None where it is."""
        times, until, why = self._slow.get(view, (0, 0.0, ""))
        if times < SLOW_IN_A_ROW or until <= self._clock():
            return None
        return f"{view} was too slow {times} times in a row and is asked for every {REST_SECONDS / 60:g} minutes only: {why}"

    def was_slow(self, view: str, why: str) -> None:
        """Note that a view did not answer in time. v$instance is asked for all the same, for nothing is known without it."""
        times = self._slow.get(view, (0, 0.0, ""))[0] + 1
        if view != "v$instance":
            self._slow[view] = (times, self._clock() + REST_SECONDS, why)
        if times == SLOW_IN_A_ROW:
            log.warning("%s: %s", self._database, self.resting(view))

    def was_quick(self, view: str) -> None:
        """Note that it did."""
        self._slow.pop(view, None)
