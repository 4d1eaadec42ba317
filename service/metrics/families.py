"""Every metric family of a database: name, type and help. The names are a contract with dashboards and alerts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Family:
    """One metric: its full name, type and help."""

    name: str
    type: Literal["counter", "gauge"]
    help: str


FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        Family("latchscope_up", "gauge", "1 while the last poll of the database succeeded and is recent."),
        Family("latchscope_data_age_seconds", "gauge", "Seconds since the last good poll."),
        Family("latchscope_last_poll_timestamp_seconds", "gauge", "Unix time of the last good poll."),
        Family("latchscope_info", "gauge", "Release and mechanism (latch or mutex) of the instance; always 1."),
        Family(
            "latchscope_instance_start_timestamp_seconds",
            "gauge",
            "Unix time of the instance start; counters began then.",
        ),
        Family(
            "latchscope_latch_gets_total", "counter", "Willing-to-wait gets of a child latch (v$latch_children.gets)."
        ),
        Family(
            "latchscope_latch_misses_total", "counter", "Gets that missed at the first try (v$latch_children.misses)."
        ),
        Family(
            "latchscope_latch_sleeps_total",
            "counter",
            "Sleeps while waiting for a child latch (v$latch_children.sleeps).",
        ),
        Family(
            "latchscope_latch_spin_gets_total",
            "counter",
            "Misses that succeeded by spinning (v$latch_children.spin_gets).",
        ),
        Family(
            "latchscope_latch_wait_seconds_total",
            "counter",
            "Time slept for a child latch (v$latch_children.wait_time).",
        ),
        Family(
            "latchscope_latch_location_sleeps_total",
            "counter",
            "Sleeps by the code location that held or waited; every sleep is on both sides (v$latch_misses).",
        ),
        Family("latchscope_rowcache_gets_total", "counter", "Requests to a dictionary cache (v$rowcache.gets)."),
        Family(
            "latchscope_rowcache_getmisses_total",
            "counter",
            "Requests that had to load the entry (v$rowcache.getmisses).",
        ),
        Family("latchscope_rowcache_modifications_total", "counter", "Changes of entries (v$rowcache.modifications)."),
        Family("latchscope_rowcache_entries", "gauge", "Entries in a dictionary cache (v$rowcache.count)."),
        Family("latchscope_rowcache_entries_used", "gauge", "Entries that hold valid data (v$rowcache.usage)."),
        Family(
            "latchscope_mutex_sleeps_total", "counter", "Sleeps for row cache mutexes by code location (v$mutex_sleep)."
        ),
        Family("latchscope_mutex_wait_seconds_total", "counter", "Time waited for row cache mutexes (v$mutex_sleep)."),
        Family("latchscope_waiting_sessions", "gauge", "Sessions waiting on average, as sampled in the last interval."),
        Family("latchscope_wait_events_total", "counter", "Waits for an event (v$system_event.total_waits)."),
        Family(
            "latchscope_wait_event_seconds_total",
            "counter",
            "Time waited for an event (v$system_event.time_waited_micro).",
        ),
        Family("latchscope_db_time_seconds_total", "counter", "DB time (v$sys_time_model)."),
        Family("latchscope_db_cpu_seconds_total", "counter", "DB CPU (v$sys_time_model)."),
        Family("latchscope_finding", "gauge", "1 while a cause is found; see the diagnosis for its evidence."),
        Family("latchscope_impact_ratio", "gauge", "Share of DB time lost in row cache waits over the last interval."),
        Family("latchscope_login_stopped", "gauge", "1 while logins are stopped to protect the account."),
        Family("latchscope_next_attempt_timestamp_seconds", "gauge", "Unix time of the next try after a failure."),
        Family("latchscope_poll_duration_seconds", "gauge", "Time the last poll took, all of it."),
        Family(
            "latchscope_poll_interval_seconds", "gauge", "Time between polls in force, longer when they are costly."
        ),
        Family(
            "latchscope_collector_success",
            "gauge",
            "1 when the view was read in the last poll or carried over from start.",
        ),
        Family("latchscope_collector_duration_seconds", "gauge", "Time reading the view took in the last poll."),
        Family("latchscope_collector_rows", "gauge", "Rows the view gave in the last poll."),
        Family(
            "latchscope_collector_round_trips", "gauge", "Network round trips reading the view took in the last poll."
        ),
        Family("latchscope_databases_owned", "gauge", "Databases that this replica polls."),
        Family(
            "latchscope_databases_unowned",
            "gauge",
            "Databases no replica has polled for two intervals, as this one sees it; every replica says the same.",
        ),
    )
}
