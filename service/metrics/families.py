"""The metric families of databases and replicas, as families.yaml describes them, and names for those that a line of code fills.

Parts of the service that count their own work name those metrics themselves: spool, threads, webhooks, notifications.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import yaml

from collectors.registry import collectors
from rules.base import LOADER, Frozen

HOME = Path(__file__).parent / "families.yaml"


# One family, as the file has it.


class Family(Frozen):
    """One metric: its part of /metrics and of docs/metrics.md. families.yaml says what each member means."""

    name: str
    type: Literal["counter", "gauge"]
    help: str
    section: Literal["polls", "replicas", "instance", "latch", "mutex", "caches", "verdict", "outcomes"]
    labels: tuple[str, ...] = ()
    source: tuple[str, ...] = ("latchscope",)
    series: str = "1"
    note: str = ""
    stays: bool = False
    row: str = ""

    @property
    def column(self) -> tuple[str, float]:
        """The column of its row, and how many of the column's unit are one of the family's: times are in microseconds."""
        return self.source[0].rpartition(".")[2], 1e6 if self.name.endswith("_seconds_total") else 1.0


Labels = Mapping[str, str]
FamilySample = tuple[Family, float | None, Labels]
"""A sample that is not rendered yet. Absent if its value is None."""


def load(home: Path = HOME) -> Iterator[Family]:
    """Every family of a file, checked: its rows and columns are read, its name is its own."""
    groups: list[dict[str, Any]] = yaml.load(home.read_text(encoding="utf-8"), Loader=LOADER)
    names = set[str]()
    for group in groups:
        for name, members in group.pop("families").items():
            family = Family(name=name, **{**group, **members})
            view = collectors().get(family.row)
            if name in names or (family.row and not (view and family.column[0] in {one.name for one in view.columns})):
                why = f"{family.row} has no column {family.column[0]}" if name not in names else "it is there twice"
                raise ValueError(f"{home.name}: {name}: {why}")
            names.add(name)
            yield family


FAMILIES: Mapping[str, Family] = {family.name: family for family in load()}
"""Name → family, in the order in which they are exported."""


def of_rows(view: str) -> Mapping[Family, tuple[str, float]]:
    """The families with a sample for each row of a view, and what they make of it."""
    return {family: family.column for family in FAMILIES.values() if family.row == view}


# Those that a line of code fills. A family of a row needs no name here.

UP = FAMILIES["latchscope_up"]
DATA_AGE = FAMILIES["latchscope_data_age_seconds"]
LAST_POLL = FAMILIES["latchscope_last_poll_timestamp_seconds"]
POLLS = FAMILIES["latchscope_polls_total"]
LOGINS = FAMILIES["latchscope_logins_total"]
INFO = FAMILIES["latchscope_info"]
INSTANCE_START = FAMILIES["latchscope_instance_start_timestamp_seconds"]
LOCATION_SLEEPS = FAMILIES["latchscope_latch_location_sleeps_total"]
DB_TIME = FAMILIES["latchscope_db_time_seconds_total"]
DB_CPU = FAMILIES["latchscope_db_cpu_seconds_total"]
LOGIN_STOPPED = FAMILIES["latchscope_login_stopped"]
NEXT_ATTEMPT = FAMILIES["latchscope_next_attempt_timestamp_seconds"]
POLL_DURATION = FAMILIES["latchscope_poll_duration_seconds"]
POLL_INTERVAL = FAMILIES["latchscope_poll_interval_seconds"]
COLLECTOR_SUCCESS = FAMILIES["latchscope_collector_success"]
COLLECTOR_DURATION = FAMILIES["latchscope_collector_duration_seconds"]
COLLECTOR_ROWS = FAMILIES["latchscope_collector_rows"]
COLLECTOR_ROUND_TRIPS = FAMILIES["latchscope_collector_round_trips"]
LEFT_OUT = FAMILIES["latchscope_series_left_out"]
DATABASES_OWNED = FAMILIES["latchscope_databases_owned"]
EXPOSITION_BYTES = FAMILIES["latchscope_exposition_bytes"]
DATABASES_UNOWNED = FAMILIES["latchscope_databases_unowned"]
POLL_QUEUE = FAMILIES["latchscope_poll_queue_seconds"]
WAITING_SESSIONS = FAMILIES["latchscope_waiting_sessions"]
HANGING_SESSIONS = FAMILIES["latchscope_hanging_sessions"]
LONGEST_WAIT = FAMILIES["latchscope_longest_wait_seconds"]
FINDING = FAMILIES["latchscope_finding"]
IMPACT = FAMILIES["latchscope_impact_ratio"]
IMPACT_SESSIONS = FAMILIES["latchscope_impact_sessions"]
SURFACE_IMPACT = FAMILIES["latchscope_surface_impact_ratio"]
SURFACE_SESSIONS = FAMILIES["latchscope_surface_impact_sessions"]
SEVERITY = FAMILIES["latchscope_severity"]
VERDICT = FAMILIES["latchscope_verdict_info"]
EPISODE_BEGIN = FAMILIES["latchscope_episode_begin_timestamp_seconds"]
TROUBLE_SINCE = FAMILIES["latchscope_trouble_since_timestamp_seconds"]
BUILD_INFO = FAMILIES["latchscope_build_info"]
RELOAD_SUCCESSFUL = FAMILIES["latchscope_config_last_reload_successful"]
RELOADED_AT = FAMILIES["latchscope_config_last_reload_success_timestamp_seconds"]
LAST_MARK = FAMILIES["latchscope_change_mark_timestamp_seconds"]
RETIRED = FAMILIES["latchscope_database_retired"]
MARKS_VERIFIED = FAMILIES["latchscope_verified_remedies_total"]
VERIFIED_SECONDS = FAMILIES["latchscope_verified_remedy_seconds_total"]
