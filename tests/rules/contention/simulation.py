"""A latch simulated event by event: the check of the formulas, without any of their code."""

import heapq
import random
from dataclasses import dataclass


@dataclass
class Simulated:
    """The counters of a simulated latch."""

    gets: int
    misses: int
    seconds: float
    outlasted: int
    held: float


def simulate(
    processes: int, hold: float, think: float, latches: int, seconds: float, budget: float, seed: int = 7
) -> Simulated:
    """Processes that think, request one of the latches, wait for it in random order, and hold it."""
    dice = random.Random(seed)
    waiting: list[list[float]] = [[] for _ in range(latches)]
    busy = [False] * latches
    events = [(dice.expovariate(1 / think), 0, 0) for _ in range(processes)]  # (when, 0 asks / 1 releases, latch)
    heapq.heapify(events)
    seen = Simulated(0, 0, seconds, 0, 0.0)

    def take(latch: int, now: float) -> None:
        length = dice.expovariate(1 / hold)
        busy[latch] = True
        seen.held += length
        heapq.heappush(events, (now + length, 1, latch))

    while events[0][0] < seconds:
        now, what, latch = heapq.heappop(events)
        if what == 0:
            latch = dice.randrange(latches)
            seen.gets += 1
            if busy[latch]:
                seen.misses += 1
                waiting[latch].append(now)
            else:
                take(latch, now)
            continue
        busy[latch] = False
        heapq.heappush(events, (now + dice.expovariate(1 / think), 0, 0))
        if queue := waiting[latch]:
            since = queue.pop(dice.randrange(len(queue)))
            seen.outlasted += now - since > budget
            take(latch, now)
    return seen
