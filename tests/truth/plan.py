"""Which seed is what: every kind of instance has its seeds, four for each of its settings, half of them odd."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from collectors.registry import collectors
from tests.truth.causes import lookalikes, objects, parsing, results, storage, undo, users
from tests.truth.recording import FULL, Sight
from tests.truth.registry import MECHANISMS
from tests.truth.releases import EVERY, LATCHED, MUTEXED
from tests.truth.truth import STRENGTHS, Kind, Strength
from tests.truth.workload import LEVELS, SIZES

STAGED = (undo, users, objects, parsing, storage, results, lookalikes)
"""Importing them registers the mechanisms."""
SEEDS_EACH = 4

PAIRS = (
    ("undo-segments", "sequence-nocache"),
    ("undo-segments", "database-properties"),
    ("undo-segments", "object-types"),
    ("undo-segments", "hard-parse-storm"),
    ("undo-segments", "starved-host"),
    ("undo-segments", "result-cache-latch"),
    ("undo-segment-floor", "logon-storm"),
    ("undo-retention-runaway", "segment-churn"),
    ("undo-online-storm", "logon-storm"),
    ("undo-online-storm", "database-properties"),
    ("transaction-rate", "sequence-nocache"),
    ("logon-storm", "sequence-nocache"),
    ("logon-storm", "database-properties"),
    ("roles-per-parse", "ddl-invalidation"),
    ("roles-per-parse", "sequence-nocache"),
    ("ddl-invalidation", "sequence-nocache"),
    ("ddl-invalidation", "object-types"),
    ("metadata-queries", "sequence-nocache"),
    ("metadata-queries", "database-properties"),
    ("histogram-hard-parse", "sequence-nocache"),
    ("histogram-hard-parse", "grants-while-logging-on"),
    ("sequence-nocache", "hard-parse-storm"),
    ("sequence-nocache", "starved-host"),
    ("dc-users-mutex-bug", "sequence-nocache"),
    ("dc-users-mutex-bug", "ddl-invalidation"),
    ("constraint-creation", "database-properties"),
    ("statistics-gathering", "logon-storm"),
    ("result-cache-force", "sequence-nocache"),
    ("px-hash-joins", "undo-segments"),
    ("database-properties", "hard-parse-storm"),
)
LOOKS_ALONE = tuple(view for view in collectors() if view not in ("v$instance", "v$session"))
USAGE = (("v$rowcache", "usage"), ("v$rowcache", "modifications"))
FOREGROUND = (("v$system_event", "total_waits_fg"), ("v$system_event", "time_waited_micro_fg"))
CLUSTER = tuple(("v$rowcache", f"dlm_{what}") for what in ("requests", "conflicts", "releases"))


@dataclass(frozen=True, slots=True)
class Degraded:
    """Less sight, and where it matters: on these releases, for these causes (empty: for any)."""

    sight: Sight
    releases: tuple[str, ...] = EVERY
    causes: tuple[str, ...] = ()


DEGRADED = (
    Degraded(Sight(refused=("v$system_event",))),
    Degraded(Sight(refused=("v$sys_time_model",))),
    Degraded(Sight(refused=("v$rowcache",))),
    Degraded(Sight(refused=("v$sysstat",))),
    Degraded(Sight(refused=("v$osstat",))),
    Degraded(Sight(refused=("v$event_name",))),
    Degraded(Sight(refused=("v$sgastat",))),
    Degraded(Sight(refused=("v$parameter",), called="no settings")),
    Degraded(Sight(refused=("v$latch",)), LATCHED),
    Degraded(Sight(refused=("v$latch_children",)), LATCHED),
    Degraded(Sight(refused=("v$latch_misses",)), LATCHED),
    Degraded(Sight(refused=("x$kqrst",)), LATCHED),
    Degraded(Sight(refused=("x$kqrst",), unsampled=True, called="x$kqrst and no samples"), LATCHED),
    Degraded(Sight(refused=("v$mutex_sleep",)), MUTEXED),
    Degraded(Sight(unsampled=True)),
    Degraded(Sight(refused=("waiting_sessions",), unsampled=True, called="nobody looked at sessions")),
    Degraded(Sight(refused=("waiting_sessions",))),
    Degraded(Sight(refused=LOOKS_ALONE, called="v$session alone")),
    Degraded(Sight(columns=USAGE, called="no usage, no modifications")),
    Degraded(Sight(columns=FOREGROUND, called="no foreground waits")),
    Degraded(Sight(late=("v$rowcache",))),
    Degraded(Sight(late=("v$sysstat",))),
    Degraded(Sight(late=("v$system_event",))),
    Degraded(Sight(zeros_cut=True, called="rows of zero cut")),
    Degraded(Sight(refused=("v$undostat",)), causes=("undo-retention-runaway", "undo-segments", "undo-online-storm")),
    Degraded(Sight(columns=CLUSTER, called="no dlm columns"), LATCHED, ("cluster-conflicts", "sequence-conflicts")),
    Degraded(
        Sight(refused=("v$sga_resize_ops",)), causes=("shared-pool-shrink", "many-partitions", "histogram-hard-parse")
    ),
    Degraded(
        Sight(refused=("v$latchname",)), causes=("result-cache-latch", "result-cache-force", "result-cache-adaptive")
    ),
)
SETTINGS_EACH, OF_FEW_CAUSES = 14, 4
"""Settings of each sight: with different causes, or with the few for which it matters."""
HANGS = (
    ("dc_objects", "row cache lock"),
    ("dc_sequences", "row cache lock"),
    ("dc_users", "row cache lock"),
    ("dc_rollback_segments", "row cache lock"),
    ("dc_tablespaces", "row cache lock"),
    ("dc_segments", "row cache lock"),
    ("dc_constraints", "row cache lock"),
    ("dc_histogram_defs", "row cache lock"),
    ("dc_users", "row cache mutex"),
    ("dc_objects", "row cache mutex"),
)
CROWDS = (
    "undo-segments", "undo-online-storm", "roles-per-parse", "sequence-nocache", "ddl-invalidation",
    "histogram-hard-parse", "dc-users-mutex-bug", "result-cache-latch",
)  # fmt: skip
"""Troubles of a large machine, with hundreds of waiting sessions, looked at 60 times in a burst."""
AGAIN: dict[Kind, int] = {"single": 3, "pair": 3, "look-alike": 18, "healthy": 3, "hang": 4, "crowd": 1}
"""Settings alike, so that there are enough seeds of each kind."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What four seeds have in common. For a hang, `causes` has the cache and the event."""

    kind: Kind
    causes: tuple[str, ...] = ()
    strength: Strength | None = None
    sight: Sight = FULL
    size: int = 0
    level: str = ""
    releases: tuple[str, ...] = EVERY

    @property
    def name(self) -> str:
        """Its subject, as people name it."""
        return " + ".join(self.causes) or f"{self.size} CPUs, {self.level}"


@cache
def settings() -> tuple[Setting, ...]:
    """All settings in order; the setting of a seed is number seed // 4."""
    causes = sorted(name for name, known in MECHANISMS.items() if known.role == "cause")
    look_alikes = sorted(name for name, known in MECHANISMS.items() if known.role == "look-alike")
    kinds = (
        *(Setting("single", (cause,), strength) for cause in causes for strength in STRENGTHS),
        *(Setting("pair", pair) for pair in PAIRS),
        *(Setting("look-alike", (cause,)) for cause in look_alikes),
        *(Setting("healthy", size=size, level=level) for size in SIZES for level in LEVELS),
        *(Setting("hang", hang) for hang in HANGS),
        *(Setting("crowd", (cause,), "strong", size=SIZES[-1], level="heavy") for cause in CROWDS),
    )
    alike = (setting for setting in kinds for _ in range(AGAIN[setting.kind]))
    return (*alike, *(one for number, degraded in enumerate(DEGRADED) for one in _degraded(number, degraded, causes)))


def _degraded(number: int, degraded: Degraded, causes: Sequence[str]) -> Iterator[Setting]:
    """The settings of a sight. Each sight begins with another cause, so that every cause meets many of them."""
    fitting = [name for name in degraded.causes or causes if set(MECHANISMS[name].releases) & set(degraded.releases)]
    count = OF_FEW_CAUSES if degraded.causes else SETTINGS_EACH
    for place in range(count):
        cause = fitting[(number * SETTINGS_EACH + place) % len(fitting)]
        strength: Strength = "medium" if (place + place // len(fitting)) % 2 else "strong"
        yield Setting("degraded", (cause,), strength, degraded.sight, releases=degraded.releases)


def setting_of(seed: int) -> Setting:
    """The plan of a seed; IndexError beyond the last."""
    return settings()[seed // SEEDS_EACH]


def seeds() -> range:
    """Every seed of the plan."""
    return range(len(settings()) * SEEDS_EACH)
