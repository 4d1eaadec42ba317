"""Which seed is what: every kind of instance has its seeds, four for each of its settings, half of them odd."""

from dataclasses import dataclass
from functools import cache

from tests.truth.causes import lookalikes, objects, parsing, results, storage, undo, users
from tests.truth.recording import FULL, Sight
from tests.truth.registry import MECHANISMS
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
DEGRADED = (
    ("undo-segments", Sight(refused=("x$kqrst",))),
    ("undo-segments", Sight(refused=("x$kqrst",), unsampled=True)),
    ("undo-segments", Sight(refused=("v$latch_misses",))),
    ("undo-segments", Sight(refused=("v$latch_children",))),
    ("undo-segments", Sight(refused=("v$rowcache",))),
    ("undo-segments", Sight(columns=(("v$rowcache", "usage"),))),
    ("undo-segment-floor", Sight(refused=("v$parameter", "v$system_parameter"))),
    ("undo-retention-runaway", Sight(refused=("v$undostat",))),
    ("undo-online-storm", Sight(columns=(("v$rowcache", "modifications"),))),
    ("undo-online-storm", Sight(refused=("v$system_event",))),
    ("logon-storm", Sight(refused=("v$sysstat",))),
    ("logon-storm", Sight(unsampled=True)),
    ("roles-per-parse", Sight(refused=("v$sys_time_model",))),
    ("roles-per-parse", Sight(late=("v$sysstat",))),
    ("dc-users-mutex-bug", Sight(unsampled=True)),
    ("dc-users-mutex-bug", Sight(refused=("v$mutex_sleep",))),
    ("row-cache-clones", Sight(refused=("v$sgastat",))),
    ("sequence-nocache", Sight(unsampled=True)),
    ("sequence-nocache", Sight(refused=("v$rowcache",))),
    ("sequence-nocache", Sight(refused=("v$system_event",))),
    ("sequence-conflicts", Sight(columns=(("v$rowcache", "dlm_requests"), ("v$rowcache", "dlm_conflicts")))),
    ("ddl-invalidation", Sight(unsampled=True, refused=("waiting_sessions",))),
    ("database-properties", Sight(refused=("v$event_name",))),
    ("database-properties", Sight(late=("v$rowcache",))),
    ("object-types", Sight(refused=("x$kqrst",))),
    ("histogram-hard-parse", Sight(refused=("v$sys_time_model",))),
    ("shared-pool-shrink", Sight(refused=("v$sga_resize_ops",))),
    ("dynamic-sampling", Sight(refused=("v$parameter", "v$system_parameter"))),
    ("result-cache-latch", Sight(refused=("v$latch",))),
    ("starved-host", Sight(refused=("v$osstat",))),
)
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
LOOK_ALIKE_SETTINGS, HANG_SETTINGS = 3, 2


@dataclass(frozen=True, slots=True)
class Setting:
    """What four seeds have in common. For a hang, `causes` has the cache and the event."""

    kind: Kind
    causes: tuple[str, ...] = ()
    strength: Strength | None = None
    sight: Sight = FULL
    size: int = 0
    level: str = ""

    @property
    def name(self) -> str:
        """Its subject, as people name it."""
        return " + ".join(self.causes) or f"{self.size} CPUs, {self.level}"


@cache
def settings() -> tuple[Setting, ...]:
    """All settings in order; the setting of a seed is number seed // 4."""
    causes = sorted(name for name, known in MECHANISMS.items() if known.role == "cause")
    look_alikes = sorted(name for name, known in MECHANISMS.items() if known.role == "look-alike")
    return (
        *(Setting("single", (cause,), strength) for cause in causes for strength in STRENGTHS),
        *(Setting("pair", pair) for pair in PAIRS),
        *(Setting("look-alike", (cause,)) for cause in look_alikes for _ in range(LOOK_ALIKE_SETTINGS)),
        *(Setting("healthy", size=size, level=level) for size in SIZES for level in LEVELS),
        *(
            Setting("degraded", (cause,), ("medium", "strong")[number % 2], sight)
            for number, (cause, sight) in enumerate(DEGRADED)
        ),
        *(Setting("hang", hang) for hang in HANGS for _ in range(HANG_SETTINGS)),
    )


def setting_of(seed: int) -> Setting:
    """The plan of a seed; IndexError beyond the last."""
    return settings()[seed // SEEDS_EACH]


def seeds() -> range:
    """Every seed of the plan."""
    return range(len(settings()) * SEEDS_EACH)
