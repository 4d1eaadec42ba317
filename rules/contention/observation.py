"""What an interval counted of a latch, as the model takes it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LatchCounts:
    """Changes of the counters of `latches` alike latches over one interval; one child latch is one latch."""

    processes: float
    """Sessions that use the latch at once, on average."""
    seconds: float
    gets: float
    misses: float
    sleeps: float = 0.0
    spin_gets: float | None = None
    wait_seconds: float = 0.0
    """Time spent asleep; full spins before a sleep are not in it."""
    latches: int = 1
    speed: float = 1.0
    """h(N): speed of one process at N processes without contention, as a share of its speed alone."""
    works: float | None = None
    """Units of application work done; without it a get is a unit of work."""

    @property
    def population(self) -> int:
        """Processes as a whole number of customers of the queue."""
        return max(round(self.processes), 1)

    @property
    def gets_per_second(self) -> float:
        """λ."""
        return self.gets / self.seconds

    @property
    def miss_ratio(self) -> float:
        """p: misses per get; 0 without gets."""
        return self.misses / self.gets if self.gets else 0.0

    @property
    def sleep_ratio(self) -> float:
        """k: sleeps per miss; 0 without misses."""
        return self.sleeps / self.misses if self.misses else 0.0

    @property
    def sleeps_per_get(self) -> float:
        """Sleeps per get; 0 without gets."""
        return self.sleeps / self.gets if self.gets else 0.0

    @property
    def wait_per_sleep(self) -> float:
        """Seconds of one sleep; 0 without sleeps."""
        return self.wait_seconds / self.sleeps if self.sleeps else 0.0
