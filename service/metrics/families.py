"""The metric families of databases and replicas, each with name, type and labels. `make docs` writes docs/metrics.md from them.

Parts of the service that count their own work name those metrics themselves: spool, threads, webhooks, notifications.

Names, types and labels are a contract with dashboards and alerts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

# One metric family: its part of /metrics and of docs/metrics.md.


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """One metric: its name, type and help, and its place in the document."""

    name: str
    type: Literal["counter", "gauge"]
    help: str
    section: Literal["polls", "replicas", "instance", "latch", "mutex", "caches", "verdict", "outcomes"]
    """Its table in docs/metrics.md."""
    labels: tuple[str, ...] = ()
    """Labels beside `db` and `rac`, which every sample has."""
    source: tuple[str, ...] = ("latchscope",)
    """Columns of ours as `view.column`, or another source."""
    series: str = "1"
    """How many series of one database."""
    note: str = ""
    """Further text for the document."""
    stays: bool = False
    """Whether it is exported while the database does not answer."""


Labels = Mapping[str, str]
FamilySample = tuple[Family, float | None, Labels]
"""A sample that is not rendered yet. Absent if its value is None."""

_poll = partial(Family, type="gauge", section="polls")
_collector = partial(Family, type="gauge", section="polls", labels=("collector",), series="one per view read")
_replica = partial(Family, type="gauge", section="replicas", series="none; one per replica")
_child = partial(
    Family, type="counter", section="latch", labels=("latch", "child", "cache"), series="one per child, under 80"
)
_mutex = partial(Family, type="counter", section="mutex", labels=("location",), series="one per location, under 40")
_cache = partial(
    Family, section="caches", labels=("cache", "cache_id", "type", "subordinate"), series="one per row, under 80"
)
_event = partial(Family, type="counter", section="instance", labels=("event",), series="one per event read, under 30")

UP = _poll("latchscope_up", help="1 while the last poll of the database succeeded and is recent.", stays=True)
DATA_AGE = _poll("latchscope_data_age_seconds", help="Seconds since the last good poll.", stays=True)
LAST_POLL = _poll("latchscope_last_poll_timestamp_seconds", help="Unix time of the last good poll.", stays=True)
POLLS = _poll(
    "latchscope_polls_total",
    type="counter",
    help="Polls since the start, by outcome: ok, or the kind of failure.",
    labels=("outcome",),
    series="one per outcome met",
    stays=True,
)
LOGINS = _poll(
    "latchscope_logins_total",
    type="counter",
    help="Logins since the start, by outcome: ok, refused or failed. While logins are stopped it stands still.",
    labels=("outcome",),
    series="one per outcome met",
    stays=True,
)
INFO = Family(
    "latchscope_info",
    "gauge",
    "Release and mechanism (latch or mutex) of the instance; always 1.",
    "instance",
    labels=("release", "mechanism"),
    source=("v$instance.version", "v$event_name.name"),
    note="an unknown mechanism is `unknown`",
)
INSTANCE_START = Family(
    "latchscope_instance_start_timestamp_seconds",
    "gauge",
    "Unix time of the instance start; counters began then.",
    "instance",
    source=("v$instance.uptime_seconds",),
)
LATCH_GETS = _child(
    "latchscope_latch_gets_total",
    help="Willing-to-wait gets of a child latch (v$latch_children.gets).",
    source=("v$latch_children.gets",),
)
LATCH_MISSES = _child(
    "latchscope_latch_misses_total",
    help="Gets that missed at the first try (v$latch_children.misses).",
    source=("v$latch_children.misses",),
)
LATCH_SLEEPS = _child(
    "latchscope_latch_sleeps_total",
    help="Sleeps while waiting for a child latch (v$latch_children.sleeps).",
    source=("v$latch_children.sleeps",),
)
LATCH_SPIN_GETS = _child(
    "latchscope_latch_spin_gets_total",
    help="Misses that succeeded by spinning (v$latch_children.spin_gets).",
    source=("v$latch_children.spin_gets",),
)
LATCH_WAIT = _child(
    "latchscope_latch_wait_seconds_total",
    help="Time slept for a child latch (v$latch_children.wait_time).",
    source=("v$latch_children.wait_time",),
)
LOCATION_SLEEPS = Family(
    "latchscope_latch_location_sleeps_total",
    "counter",
    "Sleeps by the code location that held or waited; every sleep is on both sides (v$latch_misses).",
    "latch",
    labels=("latch", "location", "side"),
    source=("v$latch_misses.sleep_count", "v$latch_misses.wtr_slp_count"),
    series="two per location, under 100",
    note="`side` is `holder` or `waiter`: never add the two",
)
ROWCACHE_GETS = _cache(
    "latchscope_rowcache_gets_total",
    type="counter",
    help="Requests to a dictionary cache (v$rowcache.gets).",
    source=("v$rowcache.gets",),
)
ROWCACHE_FASTGETS = _cache(
    "latchscope_rowcache_fastgets_total",
    type="counter",
    help="Requests to a dictionary cache by the fast way, which are not in its gets (v$rowcache.fastgets).",
    source=("v$rowcache.fastgets",),
    note="12.1 and later; gets and fastgets together are the work, gets alone the load on latches and mutexes",
)
ROWCACHE_GETMISSES = _cache(
    "latchscope_rowcache_getmisses_total",
    type="counter",
    help="Requests that had to load the entry (v$rowcache.getmisses).",
    source=("v$rowcache.getmisses",),
)
ROWCACHE_MODIFICATIONS = _cache(
    "latchscope_rowcache_modifications_total",
    type="counter",
    help="Changes of entries (v$rowcache.modifications).",
    source=("v$rowcache.modifications",),
)
ROWCACHE_ENTRIES = _cache(
    "latchscope_rowcache_entries",
    type="gauge",
    help="Entries in a dictionary cache (v$rowcache.count).",
    source=("v$rowcache.count",),
)
ROWCACHE_USED = _cache(
    "latchscope_rowcache_entries_used",
    type="gauge",
    help="Entries that hold valid data (v$rowcache.usage).",
    source=("v$rowcache.usage",),
    note="for `dc_rollback_segments` it shows the growth of undo segments",
)
MUTEX_SLEEPS = _mutex(
    "latchscope_mutex_sleeps_total",
    help="Sleeps for row cache mutexes by code location (v$mutex_sleep).",
    source=("v$mutex_sleep.sleeps",),
)
MUTEX_WAIT = _mutex(
    "latchscope_mutex_wait_seconds_total",
    help="Time waited for row cache mutexes (v$mutex_sleep).",
    source=("v$mutex_sleep.wait_time",),
)
WAITS = _event(
    "latchscope_wait_events_total",
    help="Waits for an event (v$system_event.total_waits).",
    source=("v$system_event.total_waits",),
)
WAITED = _event(
    "latchscope_wait_event_seconds_total",
    help="Time waited for an event (v$system_event.time_waited_micro).",
    source=("v$system_event.time_waited_micro",),
)
DB_TIME = Family(
    "latchscope_db_time_seconds_total",
    "counter",
    "DB time (v$sys_time_model).",
    "instance",
    source=("v$sys_time_model.value",),
)
DB_CPU = Family(
    "latchscope_db_cpu_seconds_total",
    "counter",
    "DB CPU (v$sys_time_model).",
    "instance",
    source=("v$sys_time_model.value",),
)
LOGIN_STOPPED = _poll(
    "latchscope_login_stopped",
    help="1 while logins are stopped to protect the account.",
    labels=("reason",),
    note="the reason is Oracle's code",
    stays=True,
)
NEXT_ATTEMPT = _poll(
    "latchscope_next_attempt_timestamp_seconds",
    help="Unix time of the next try after a failure.",
    labels=("reason",),
    stays=True,
)
POLL_DURATION = _poll("latchscope_poll_duration_seconds", help="Total time of a poll, as a mean of about a minute.")
POLL_INTERVAL = _poll(
    "latchscope_poll_interval_seconds",
    help="Current time between polls, longer when they are costly.",
    stays=True,
)
COLLECTOR_SUCCESS = _collector(
    "latchscope_collector_success",
    help="1 if the view was read in the last poll or carried over from an earlier one.",
    note="0 if it could not be read; not exported on releases without this view",
)
COLLECTOR_DURATION = _collector(
    "latchscope_collector_duration_seconds",
    help="Time a statement took in the last poll, by its view.",
    note="`counters`, `counters_and_levels`, `sessions` and `waits` are groups of views that one statement reads",
)
COLLECTOR_ROWS = _collector("latchscope_collector_rows", help="Rows the view gave in the last poll.")
COLLECTOR_ROUND_TRIPS = _collector(
    "latchscope_collector_round_trips",
    help="Network round trips a statement took in the last poll, by its view.",
    note="groups as above",
)
DATABASES_OWNED = _replica("latchscope_databases_owned", help="Databases that this replica polls.")
EXPOSITION_BYTES = _replica(
    "latchscope_exposition_bytes", help="Size of the last answer of /metrics, before it was compressed."
)
DATABASES_UNOWNED = _replica(
    "latchscope_databases_unowned",
    help="Databases that no replica has polled for two intervals; every replica reports the same.",
)
POLL_QUEUE = _replica(
    "latchscope_poll_queue_seconds",
    help="Longest wait of a due poll for its turn in the last minute.",
    note="more than a few seconds mean that the process has more databases than it can poll",
)


# The metric families of the verdict: what it says, what it costs, since when, and its result.

_verdict = partial(Family, type="gauge", section="verdict")
_diagnosis = partial(_verdict, source=("the diagnosis",))
_waits = partial(_verdict, labels=("event", "cache"), series="one per event and cache met")
WAITING_SESSIONS = _waits(
    "latchscope_waiting_sessions",
    help="Sessions waiting on average, as sampled in the last interval.",
    source=("v$session.event",),
    note="absent where waiting sessions were not read",
)
HANGING_SESSIONS = _waits(
    "latchscope_hanging_sessions",
    help="Sessions that at the last poll have waited ten seconds or longer, and still wait.",
    source=("waiting_sessions.wait_time_micro",),
    note="no counter has such waits until they end; at most 200; absent without waiters and where they were not read",
)
LONGEST_WAIT = _waits(
    "latchscope_longest_wait_seconds",
    help="Length of the longest wait that had not ended at the last poll.",
    source=("waiting_sessions.wait_time_micro",),
    note="absent without waiters and where they were not read",
)
FINDING = _diagnosis(
    "latchscope_finding",
    help="1 while a cause is found; see the diagnosis for its evidence.",
    labels=("cause", "cache", "severity"),
    series="one per finding, at most one per cause",
    note="starts with the second poll in a row that shows it, ends with the third that does not, and is absent while polls "
    "cannot tell; a note of severity `info` follows each poll; `cache` is empty if the cause is about none",
)
IMPACT = _diagnosis(
    "latchscope_impact_ratio",
    help="Share of DB time lost over the last interval in the kinds of wait with a problem: row cache waits, open waits "
    "included, and the latch of the result cache if a finding is about it.",
)
IMPACT_SESSIONS = _diagnosis(
    "latchscope_impact_sessions",
    help="Sessions that waited on average over the last interval in the kinds of wait with a problem, as in "
    "latchscope_impact_ratio.",
)
SURFACE_IMPACT = _diagnosis(
    "latchscope_surface_impact_ratio",
    help="Share of DB time lost in one kind of wait over the last interval.",
    labels=("surface",),
    series="one per kind of wait of the release: latch or mutex, lock, result-cache",
)
SURFACE_SESSIONS = _diagnosis(
    "latchscope_surface_impact_sessions",
    help="Sessions in one kind of wait, on average over the last interval.",
    labels=("surface",),
    series="one per kind of wait of the release",
)
SEVERITY = _diagnosis(
    "latchscope_severity",
    help="Severity of the diagnosis: -1 quiet, 0 fine, 1 notice, 2 warning, 3 critical.",
    note="quiet: nobody looked at the sessions; no sample before the second poll: nothing is known then; a problem that cannot "
    "be judged any more counts as bad as its waits",
)
VERDICT = _diagnosis(
    "latchscope_verdict_info",
    help="What is wrong and what to do now; always 1.",
    labels=("cause", "title", "cache", "severity", "action", "check", "do_not"),
    series="one per open episode, and one for waits that none of them explains; else one",
    note="`title`, `action` (do now), `check` (check first) and `do_not` are the page's words without its figures; `cause` is "
    "empty if nothing is wrong or no known cause explains it; `severity` of an episode that is recovering, or cannot be judged "
    "any more, is that of its waits, `info` or `quiet` if they are gone",
)
EPISODE_BEGIN = _diagnosis(
    "latchscope_episode_begin_timestamp_seconds",
    help="Unix time of the begin of an open episode.",
    labels=("cause", "cache"),
    series="one per open episode",
    note="episodes of a cause over a range, also where its latchscope changed: `sum by (cause) (changes(max by (rac, db, cause, "
    "cache) (latchscope_episode_begin_timestamp_seconds)[1d:15s]) + 1)`",
)
TROUBLE_SINCE = _diagnosis(
    "latchscope_trouble_since_timestamp_seconds",
    help="Unix time since when an open episode hurts, as on the page.",
    labels=("cause", "cache"),
    series="one per open episode",
    note="the begin of the episode, or of the longest open wait if that is earlier",
)
_outcome = partial(Family, section="outcomes", source=("change marks and verdicts on them",))
LAST_MARK = _outcome(
    "latchscope_change_mark_timestamp_seconds",
    type="gauge",
    help="Unix time of the last change mark.",
    note="of every database with a mark, updated every half minute",
)
BUILD_INFO = _replica(
    "latchscope_build_info", help="Which latchscope this is; always 1.", labels=("version", "revision")
)
RELOAD_SUCCESSFUL = _replica(
    "latchscope_config_last_reload_successful", help="1 if the configuration was right when it was last read."
)
RELOADED_AT = _replica(
    "latchscope_config_last_reload_success_timestamp_seconds",
    help="Unix time at which the configuration was last taken.",
)
RETIRED = _outcome(
    "latchscope_database_retired",
    type="gauge",
    help="1 for 8 days after a database was taken out of the configuration.",
    source=("the store",),
    series="one, while nothing else is exported of it",
    note="so that its missing figures alert nobody; it has no `rac`",
)
MARKS_VERIFIED = _outcome(
    "latchscope_verified_remedies_total",
    type="counter",
    help="Episodes that a change ended, as verified against the figures before it.",
    labels=("cause",),
    series="one per cause with an episode",
    note="0 from the begin of the first episode on, so that `increase()` knows all of them",
)
VERIFIED_SECONDS = _outcome(
    "latchscope_verified_remedy_seconds_total",
    type="counter",
    help="Time from the begin of those episodes to their end.",
    labels=("cause",),
    series="one per cause with an episode",
    note="divided by the former: the mean time to a verified remedy",
)


# Every family.

FAMILIES: Mapping[str, Family] = {family.name: family for family in globals().values() if isinstance(family, Family)}
"""Name → family, in the order in which they are exported."""
