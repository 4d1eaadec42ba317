"""Which groups one statement reads on a database, and which groups have their views read one by one for a while."""

import logging
import time
from collections.abc import Callable

from collectors.groups.group import Group, groups

log = logging.getLogger("latchscope.poll")

ASIDE_SECONDS = 3600.0
"""How long the statement of a group is not sent after it was refused, failed or was slow."""
SLOW_SECONDS = 1.0
"""A group that takes longer is slow. On a healthy instance its views take a fraction of this one by one."""
SLOW_IN_A_ROW, REST_SECONDS = 3, 600.0
"""A view that was too slow this many times is read again only after this time. Otherwise each poll could cost a login."""


class Grouping:
    """The groups of one database, and its views that are too slow. It outlives the sessions."""

    def __init__(self, database: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._until: dict[str, float] = {}
        self._slow: dict[str, tuple[int, float, str]] = {}

    def usable(self) -> list[Group]:
        """The groups that one statement reads now, those of most views first: a view may be in several."""
        now = self._clock()
        usable = [group for name, group in groups().items() if self._until.get(name, now) <= now]
        return sorted(usable, key=lambda group: -len(group.views))

    def set_aside(self, group: Group, why: str) -> None:
        """Do without the statement of a group for an hour, so that a problem of one view costs only that view."""
        self._until[group.name] = self._clock() + ASIDE_SECONDS
        log.info(
            "%s: the views of the group %s are not asked for together for an hour: %s", self._database, group.name, why
        )

    def resting(self, view: str) -> str | None:
        """Why a view is not read now, in one line. None if it is."""
        times, until, why = self._slow.get(view, (0, 0.0, ""))
        if times < SLOW_IN_A_ROW or until <= self._clock():
            return None
        return f"{view} was too slow {times} times in a row and is read only every {REST_SECONDS / 60:g} minutes: {why}"

    def was_slow(self, view: str, why: str) -> None:
        """Note that a view did not answer in time. v$instance is read every time: without it nothing can be diagnosed."""
        times = self._slow.get(view, (0, 0.0, ""))[0] + 1
        if view != "v$instance":
            self._slow[view] = (times, self._clock() + REST_SECONDS, why)
        if times == SLOW_IN_A_ROW:
            log.warning("%s: %s", self._database, self.resting(view))

    def was_quick(self, view: str) -> None:
        """Note that it answered in time."""
        self._slow.pop(view, None)
