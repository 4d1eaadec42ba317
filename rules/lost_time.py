"""Time lost in waits for the row cache and the result cache, surface by surface. Unknown if it was not captured."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LOCK_EVENT, ROW_CACHE_MUTEX_EVENT, Delta, Row, number
from rules.hangs import WaitingLook
from rules.model import Surface
from rules.waited import LATCH_EVENT, FinishedWaits, finished_waits

SURFACE_EVENTS: Mapping[Surface, str] = {
    "latch": LATCH_EVENT,
    "mutex": ROW_CACHE_MUTEX_EVENT,
    "lock": ROW_CACHE_LOCK_EVENT,
}
ROW_CACHE_SURFACES: tuple[Surface, ...] = ("latch", "mutex", "lock")


@dataclass(frozen=True)
class LostTime:
    """Seconds by event and by surface, each computed once.

    `finished`: waits that ended. `slept`: what surfaces count of their own waits, None if unknown. `background`: events
    with waiters, background processes included.
    """

    finished: FinishedWaits | None
    slept: Mapping[Surface, float | None]
    background: Set[str]
    look: WaitingLook | None
    surfaces: tuple[Surface, ...]
    printed: bool

    @cached_property
    def by_surface(self) -> Mapping[Surface, float | None]:
        """Seconds lost on each surface: by its wait event, else by the wait time of its own view. None if unknown."""
        every: tuple[Surface, ...] = (*ROW_CACHE_SURFACES, "result-cache")
        return {surface: self._on(surface) for surface in every}

    def on(self, surfaces: Iterable[Surface]) -> float | None:
        """Seconds lost on those of some surfaces that this instance has and that are known. None if there is none."""
        waits = [self.by_surface[surface] for surface in surfaces if surface in self.surfaces]
        known = [seconds for seconds in waits if seconds is not None]
        return sum(known) if known else None

    def untold(self, surfaces: Iterable[Surface]) -> tuple[Surface, ...]:
        """Those of some surfaces whose time was not captured, or not for every waiter.

        Always empty for a report, which prints whatever had activity.
        """
        if self.printed:
            return ()
        met = {surface for perhaps in self.look.untold for surface in perhaps} if self.look else set[Surface]()
        return tuple(
            surface
            for surface in surfaces
            if surface in self.surfaces and (self.by_surface[surface] is None or surface in met)
        )

    def waited(self, events: Iterable[str]) -> float | None:
        """Seconds that foreground sessions waited in some events together, open waits included.

        None if one of them was not captured and no session is known to wait.
        """
        waits = [self._waited(event) for event in dict.fromkeys(events)]
        known = [waited for waited in waits if waited is not None]
        return sum(known) if len(known) == len(waits) else None

    def _waited(self, event: str) -> float | None:
        finished = None if self.finished is None else self.finished.get(event, 0.0)
        waited = finished if self.look is None else self.look.seconds(event, finished or 0.0)
        return None if finished is None and not waited else waited

    def _on(self, surface: Surface) -> float | None:
        if surface == "result-cache":
            return self._on_result_cache()
        by_event = self.waited((SURFACE_EVENTS[surface],))
        # If a report does not print an event, the latch or mutex itself has the time, unless background processes waited for it.
        by_all = SURFACE_EVENTS[surface] in self.background
        if surface == "lock" or (by_event is not None and (by_event or by_all or not self.printed)):
            return by_event
        slept = self.slept[surface]
        return by_event if slept is None else slept

    def _on_result_cache(self) -> float | None:
        slept = self.slept["result-cache"]
        still = sum(waiter.inside for waiter in self.look.of(["result-cache"])) if self.look else 0.0
        return slept if not still else (slept or 0.0) + still


def lost_time(delta: Delta, look: WaitingLook | None, latch: Row, surfaces: tuple[Surface, ...]) -> LostTime:
    """The lost time in a Delta and the look at its end. `latch`: the row of the row cache latch, or its children's sums."""
    background = {
        event for event in SURFACE_EVENTS.values() if delta.cell("v$system_event", "event", event, "time_waited_micro")
    }
    slept: dict[Surface, float | None] = {
        "latch": _slept([number(latch.get("wait_time"))]),
        "mutex": _slept([number(row.get("wait_time")) for row in delta.rows("v$mutex_sleep")]),
        "result-cache": _slept([delta.cell("v$latch", "name", RESULT_CACHE_LATCH, "wait_time")]),
    }
    return LostTime(finished_waits(delta), slept, background, look, surfaces, delta.source == "report")


def _slept(micro: Sequence[float | None]) -> float | None:
    """Seconds together. None if there are none or one is unknown."""
    known = [each for each in micro if each is not None]
    return sum(known) / 1e6 if known and len(known) == len(micro) else None
