"""What a database does per second, and the dictionary look-ups of each kind of work.

Look-ups per unit of work have the published size: a statement with literals on a table of few columns asks dc_segments and
dc_objects four times, dc_users three times and dc_histogram_defs per column (Lewis, Oracle Core, 11g).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.truth.dice import Dice
from tests.truth.releases import Key, Release

PROPERTIES = "(properties)"
"""Stands for the cache of database properties, whose name depends on the release."""

SIZES = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128)
LEVELS = {"idle": (0.001, 0.02), "light": (0.02, 0.15), "medium": (0.15, 0.45), "heavy": (0.45, 0.78)}
"""Share of the processors that foreground sessions keep busy."""


@dataclass(frozen=True, slots=True)
class Driver:
    """One kind of work: processor seconds per unit, and look-ups per unit."""

    cpu: float
    gets: Mapping[Key, float]
    modifications: Mapping[Key, float] = field(default_factory=dict)


DRIVERS: dict[str, Driver] = {
    "execution": Driver(0.0, {("dc_users", None): 0.03, ("dc_tablespaces", None): 0.02}),
    "soft parse": Driver(
        6e-5,
        {
            ("dc_users", None): 0.5,
            ("dc_users", 0): 0.2,
            ("dc_objects", None): 0.1,
            ("dc_object_grants", 0): 0.06,
        },
    ),
    "hard parse": Driver(
        2.5e-3,
        {
            ("dc_objects", None): 8,
            ("dc_object_grants", 0): 2,
            ("dc_segments", None): 4,
            ("dc_users", None): 4,
            ("dc_users", 0): 1.5,
            ("dc_tablespaces", None): 2,
            ("dc_histogram_defs", None): 12,
            ("dc_histogram_data", 0): 6,
            ("dc_histogram_data", 1): 2,
            ("dc_constraints", None): 0.02,
        },
    ),
    "failed parse": Driver(6e-4, {("dc_objects", None): 6, ("dc_users", None): 3, ("dc_users", 0): 0.5}),
    "logon": Driver(
        8e-3,
        {
            ("dc_users", None): 12,
            ("dc_users", 0): 4,
            ("dc_profiles", None): 3,
            (PROPERTIES, None): 8,
            ("dc_tablespaces", None): 1,
            ("dc_objects", None): 2,
        },
    ),
    "commit": Driver(3e-5, {("dc_rollback_segments", None): 0.3}),
    "ddl": Driver(
        2e-2,
        {
            ("dc_objects", None): 20,
            ("dc_object_grants", 0): 4,
            ("dc_segments", None): 6,
            ("dc_users", None): 10,
            ("dc_tablespaces", None): 5,
            ("dc_tablespace_quotas", None): 1,
            ("dc_files", None): 1,
            ("dc_constraints", None): 1,
            ("dc_histogram_defs", None): 20,
        },
        {("dc_objects", None): 6, ("dc_segments", None): 2, ("dc_histogram_defs", None): 4},
    ),
    "sequence": Driver(3e-4, {("dc_sequences", None): 1}, {("dc_sequences", None): 1}),
    "temporary": Driver(1e-4, {("dc_tablespaces", None): 1, ("dc_users", None): 1}),
    "second": Driver(
        0.0,
        {
            ("outstanding_alerts", None): 0.3,
            ("dc_awr_control", None): 0.1,
            ("dc_rollback_segments", None): 6,
            ("dc_tablespaces", None): 2,
            ("dc_files", None): 0.1,
            ("dc_users", None): 2,
            ("dc_objects", None): 1,
            ("dc_segments", None): 0.5,
            (PROPERTIES, None): 5,
            ("SMO rowcache", None): 0.1,
            ("sch_lj_oids", None): 0.05,
            ("sch_lj_objs", None): 0.02,
            ("dc_global_oids", None): 0.5,
            ("dc_profiles", None): 0.05,
            ("dc_sequences", None): 0.02,
        },
        {("dc_sequences", None): 0.02},
    ),
}
"""The background of every instance is "second": the look-ups of MMON, SMON, the scheduler and the agents in a second."""


@dataclass(slots=True)
class Workload:
    """Work per second, and the time that foreground sessions spend on I/O and on waits for each other."""

    rates: dict[str, float]
    cpu: float
    io: float
    other: float
    background_cpu: float
    hard_parse_cpu: float
    soft_parse_cpu: float
    logon_cpu: float
    calls_per_execution: float
    recursive_per_hard: float


def drawn(dice: Dice, cpus: int, level: str) -> Workload:
    """The ordinary work of a machine: processor time first, and the work that fits into it."""
    low, high = LEVELS[level]
    cpu = cpus * dice.between(low, high)
    executions = cpu / dice.scale(0.0004, 0.006)
    soft = executions * dice.scale(0.03, 0.5)
    hard_cpu, logon_cpu = dice.about(0.0025, 0.4), dice.about(0.009, 0.3)
    rates = {
        "second": dice.about(1.0, 0.4) * (1 + cpus / 32),
        "execution": executions,
        "soft parse": soft,
        "hard parse": min(soft * dice.scale(0.0005, 0.02), 0.06 * cpu / hard_cpu),
        "failed parse": soft * dice.scale(0.00001, 0.001),
        "logon": min(dice.scale(0.02, 0.3) * cpus**0.5, 0.02 * cpu / logon_cpu),
        "commit": executions * dice.scale(0.005, 0.15),
        "ddl": dice.scale(0.0002, 0.02),
        "temporary": executions * dice.scale(0.001, 0.05),
    }
    rates["sequence"] = min(rates["commit"] * dice.scale(0.002, 0.03), 40.0)
    return Workload(
        rates=rates,
        cpu=cpu,
        io=cpu * dice.about(0.6, 0.8),
        other=cpu * dice.about(0.12, 0.6),
        background_cpu=cpus * dice.about(0.008, 0.4),
        hard_parse_cpu=hard_cpu,
        soft_parse_cpu=dice.about(6e-5, 0.3),
        logon_cpu=logon_cpu,
        calls_per_execution=dice.between(0.3, 1.1),
        recursive_per_hard=dice.about(12, 0.4),
    )


def named(release: Release, key: Key) -> Key:
    """The cache as this release calls it."""
    return (release.properties, key[1]) if key[0] == PROPERTIES else key


def tastes(dice: Dice) -> dict[tuple[str, Key], float]:
    """How this application differs from the average: a factor per kind of work and cache."""
    return {(driver, key): dice.about(1.0, 0.4) for driver, work in DRIVERS.items() for key in work.gets}


ENTRIES: dict[str, tuple[float, float]] = {
    "dc_rollback_segments": (22, 400),
    "dc_tablespaces": (8, 60),
    "dc_users": (40, 900),
    "dc_objects": (1500, 20000),
    "dc_segments": (800, 15000),
    "dc_object_grants": (100, 4000),
    "dc_histogram_defs": (3000, 50000),
    "dc_histogram_data": (1500, 30000),
    "dc_files": (5, 120),
    "dc_profiles": (1, 6),
    "dc_sequences": (10, 300),
    "dc_props": (58, 90),
    "global database name": (1, 2),
    "dc_global_oids": (20, 300),
    "dc_constraints": (1, 30),
    "outstanding_alerts": (3, 60),
    "dc_awr_control": (1, 2),
}
"""Entries of a cache in ordinary databases, lowest and highest."""

MISSES: dict[str, tuple[float, float]] = {
    "outstanding_alerts": (0.3, 1.0),
    "dc_awr_control": (0.01, 0.1),
    "dc_objects": (0.0005, 0.015),
    "dc_segments": (0.0005, 0.018),
    "dc_histogram_defs": (0.001, 0.018),
    "dc_histogram_data": (0.001, 0.018),
    "dc_files": (0.0, 0.1),
    "dc_sequences": (0.001, 0.05),
    "dc_constraints": (0.3, 0.6),
    "dc_users": (0.0, 0.0005),
}
"""Share of look-ups that must load, in ordinary databases."""
OTHERWISE_MISSED = (0.0, 0.002)

OPTIMISTIC = ("dc_users", "dc_tablespaces", "dc_segments", "dc_objects", "dc_rollback_segments", "dc_props")
"""Caches that are mostly read without their mutex from 18c on, unlike histograms."""
