"""/metrics: Oracle's own totals and our findings, as text made at the first scrape after a poll and joined per family.

prometheus_client keeps a Python object per series and holds the interpreter for seconds at fleet size. So it serves
only our own few process metrics. The contract fixes the names. A sample that could not be read is absent, never zero.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from operator import itemgetter

from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.exposition import choose_encoder

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LATCH, Missing, Row, Snapshot, Value, cells, number
from collectors.registry import groups
from rules.cache_map import CacheMap
from rules.cause import Cause, catalogue, hedged
from rules.confirmation import AGAINST, speaks_against
from rules.explain.story import FirstScreen, as_sure, eased, first_screen, screen
from rules.model import Confidence, Diagnosis, Finding, Severity, worst
from rules.waits import severity_of
from service.config.settings import DatabaseSettings
from service.escape import in_label
from service.metrics.families import FAMILIES, Family, FamilySample, Labels, of_rows
from service.state import board
from service.state.board import MonitoredDatabase, Published
from service.state.episodes import Episode

log = logging.getLogger("latchscope.metrics")

# The samples of a verdict: what is active, what it costs, since when, and what to do now.


def verdict_samples(diagnosis: Diagnosis, episodes: Sequence[Episode]) -> Iterator[FamilySample]:
    """What is active: troubles while their episode lasts, so that they do not flap, and findings that are only a note."""
    lasting = {episode.cause for episode in episodes}
    notes = [each for each in diagnosis.findings if each.severity is Severity.INFO and each.cause not in lasting]
    told: list[Episode | Finding] = [*(episode for episode in episodes if episode.missing is None), *notes]
    for active in told:
        of = {"cause": active.cause, "cache": active.cache or "", "severity": active.severity}
        yield "latchscope_finding", 1, of
    yield from _first_screen(diagnosis, episodes)
    if diagnosis.impact:
        yield "latchscope_impact_ratio", diagnosis.impact.share_of_db_time, {}
        yield "latchscope_impact_sessions", diagnosis.impact.waiting_sessions, {}
    for impact in diagnosis.surfaces:
        yield "latchscope_surface_impact_ratio", impact.share_of_db_time, {"surface": impact.surface}
        yield "latchscope_surface_impact_sessions", impact.waiting_sessions, {"surface": impact.surface}
    for trouble in diagnosis.troubles[:5]:  # the dearest
        of = {"surface": trouble.surface, "cache": trouble.cache or ""}
        yield "latchscope_trouble_impact_ratio", trouble.share_of_db_time, of
    yield from _waiters(diagnosis)


def _waiters(diagnosis: Diagnosis) -> Iterator[FamilySample]:
    for still in diagnosis.waiting:
        labels = {"event": still.event, "cache": still.cache}
        yield "latchscope_hanging_sessions", still.hanging, labels
        yield "latchscope_longest_wait_seconds", still.longest_seconds, labels
    waiting: dict[tuple[str, str], float] = {}
    for group in diagnosis.who:
        waiting[group.event, group.cache] = waiting.get((group.event, group.cache), 0.0) + group.sessions
    for (event, name), sessions in waiting.items():
        yield "latchscope_waiting_sessions", sessions, {"event": event, "cache": name}


def _first_screen(diagnosis: Diagnosis, episodes: Sequence[Episode]) -> Iterator[FamilySample]:
    """The first lines of a dashboard, in the words of the page: every open episode, else the last poll."""
    unjudged = [episode.severity for episode in episodes if episode.missing]
    quiet, rank = diagnosis.state == "Quiet", worst((diagnosis.severity, *unjudged)).rank
    yield "latchscope_severity", (rank or -quiet) if diagnosis.basis else None, {}
    shown = {finding.cause: finding for finding in diagnosis.findings}
    told = []
    for episode in sorted(episodes, key=lambda episode: -episode.severity.rank):
        told.append(_lasting(episode, shown.get(episode.cause), diagnosis))
        about = {"cause": episode.cause, "cache": episode.cache or ""}
        yield "latchscope_episode_begin_timestamp_seconds", episode.begin.timestamp(), about
        taken_at = diagnosis.basis.end if diagnosis.basis else None
        began = board.since_when(episode, shown.get(episode.cause), diagnosis.waiting, taken_at)
        yield "latchscope_trouble_since_timestamp_seconds", round(began.timestamp()), about
    told += _beside(diagnosis, episodes) if episodes else [_of_the_poll(diagnosis)]
    worse = max(Severity(labels["severity"]).rank for labels in told) < diagnosis.severity.rank
    told += [_unexplained(diagnosis.severity)] if worse else []
    for labels in told:
        calm = {"severity": "quiet"} if quiet and labels["severity"] == "info" else {}
        yield "latchscope_verdict_info", 1, {**labels, **calm}


def _beside(diagnosis: Diagnosis, episodes: Sequence[Episode]) -> Iterator[Labels]:
    """What the last poll shows that no open episode is about: causes found once so far, and waits without any."""
    lasting = {episode.cause for episode in episodes}
    for finding in diagnosis.findings:
        known = catalogue().get(finding.cause)
        if known and finding.severity is not Severity.INFO and finding.cause not in lasting:
            yield _of_cause(known, finding, finding.cache, finding.severity)
    strange = worst(severity_of(trouble) or Severity.INFO for trouble in board.strange(diagnosis, episodes))
    if strange is not Severity.INFO:
        yield _unexplained(strange)


def _lasting(episode: Episode, finding: Finding | None, diagnosis: Diagnosis) -> Labels:
    """An episode. It is easing if a poll with figures no longer shows it, with the severity of the waits that it left."""
    easing = board.easing_of(diagnosis, (episode,))
    if easing is not None and (finding is None or finding.severity is Severity.INFO):
        told = eased(easing.model_copy(update={"waits": episode.waits, "change": None}))
        gone = not easing.missing and not episode.waits
        return _told(told, Severity.INFO if gone else episode.severity, episode.cause, episode.cache)
    known = catalogue().get(episode.cause)
    if known is None:
        return _words(episode.cause, episode.cache, episode.severity, episode.title, "")
    return _of_cause(known, finding, episode.cache, episode.severity)


def _of_the_poll(diagnosis: Diagnosis) -> Labels:
    """Without episodes: the first finding of the poll, that nothing is wrong, or that nothing is known."""
    finding = diagnosis.findings[0] if diagnosis.findings else None
    if finding is not None and (known := catalogue().get(finding.cause)):
        return _of_cause(known, finding, finding.cache, finding.severity)
    return _told(first_screen(diagnosis), diagnosis.severity)


def _unexplained(severity: Severity) -> Labels:
    return _told(screen("unexplained"), severity)


def _told(told: FirstScreen, severity: Severity, cause: str = "", cache: str | None = None) -> Labels:
    """The words where no cause is found."""
    return _words(cause, cache, severity, told.title, told.do, told.check, told.do_not)


def _of_cause(known: Cause, finding: Finding | None, cache: str | None, severity: Severity) -> Labels:
    """The words of a cause, as sure as the finding. Without figures, because they would start new series."""
    title, action = known.title, known.do_now
    if finding is not None:
        against = speaks_against(finding)
        title = hedged(known.title, known.hedge_after, finding.confidence, against is not None)
        unsure, asked = finding.confidence is Confidence.LOW, known.confirm is not None
        action = as_sure(action, unsure=unsure, asked=asked, against=AGAINST if against else None)
    return _words(known.id, cache, severity, title, action, known.check_first or "", known.do_not)


def _words(
    cause: str, cache: str | None, severity: Severity, title: str, action: str, check: str = "", do_not: str = ""
) -> Labels:
    return {
        "cause": cause,
        "title": title,
        "cache": cache or "",
        "severity": severity,
        "action": action,
        "check": check,
        "do_not": do_not,
    }


_CHILD_COLUMNS, _CACHE_COLUMNS = of_rows("v$latch_children"), of_rows("v$rowcache")
_LABEL_OF = {"v$system_event": "event", "v$mutex_sleep": "location"}
_COLUMNS = {view: of_rows(view) for view in _LABEL_OF}
_ALWAYS = (
    "latchscope_up",
    "latchscope_data_age_seconds",
    "latchscope_last_poll_timestamp_seconds",
    "latchscope_poll_interval_seconds",
    "latchscope_poll_duration_seconds",
)
_NUMBERS = (int, float)
"""The types of a cell with a figure. A tuple, because a poll checks them hundreds of times."""
_UNITS = ("seconds", "bytes", "ratio")
"""What OpenMetrics calls a unit: the last part of the name."""
MOST_SERIES = 300
"""Of a family and a database, the largest: several times as many as a large instance has."""


class Block:
    """Samples of one database by family and labels, which no two have. Cells that are absent or NULL add none."""

    def __init__(self, database: DatabaseSettings) -> None:
        self._common = _common_of(database)
        self._samples: dict[str, dict[str, float]] = {}

    def add(self, family: str, value: float | None, labels: Labels = {}) -> None:  # noqa: B006  never changed
        """One sample, unless there is no value. KeyError for a family that families.yaml does not have."""
        is_total = FAMILIES[family].type == "counter"
        if value is not None and (value >= 0 or not is_total):
            self._samples.setdefault(family, {})[_labels(tuple(labels), *labels.values())] = value

    def add_each(self, family: str, labels: Iterable[str], values: Iterable[Value], unit: float = 1.0) -> None:
        """A sample for each value that is a number, in parts of this unit, with its labels as `_labels` writes them."""
        # A total below zero is corrupt, and readers refuse the page.
        least = 0 if FAMILIES[family].type == "counter" else float("-inf")
        self._samples.setdefault(family, {}).update(
            {
                text: value if unit == 1.0 else value / unit
                for text, value in zip(labels, values, strict=True)
                if isinstance(value, _NUMBERS) and value >= least
            }
        )

    def add_rows(self, columns: Mapping[str, tuple[str, float]], rows: Sequence[Row], labels: Sequence[str]) -> None:
        """A family per column, a sample per row, which has these labels."""
        for family, (column, unit) in columns.items() if rows else ():
            self.add_each(family, labels, [row.get(column) for row in rows], unit)

    def text(self) -> dict[str, bytes]:
        """Family → its lines, encoded once."""
        for family, told in [*self._samples.items()]:
            if (more := len(told) - MOST_SERIES) > 0:
                self._samples[family] = dict(sorted(told.items(), key=itemgetter(1), reverse=True)[:MOST_SERIES])
                self.add("latchscope_series_left_out", more, {"family": family})
        return {
            # Nearly all are small whole numbers, which need no call of a function.
            family: "".join(
                [
                    f"{family}{{{self._common}{own}}} {value if type(value) is int and 0 <= value < 10**15 else _number(value)}\n"
                    for own, value in told.items()
                ]
            ).encode()
            for family, told in self._samples.items()
            if told
        }


def _common_of(database: DatabaseSettings) -> str:
    return _common_labels(database.name, database.cluster, tuple(database.labels.items()))


@cache
def _common_labels(db: str, rac: str | None, own: tuple[tuple[str, str], ...]) -> str:
    """The labels of every sample of a database. Built once, because a scrape needs them a thousand times."""
    named = [("db", db), *([("rac", rac)] if rac else []), *own]
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in named)


def _number(value: float) -> str:
    if type(value) is int and -(10**15) < value < 10**15:
        return str(value)
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


@lru_cache(16384, typed=True)  # 1.0 equals 1, but is written differently
def _labels(names: tuple[str, ...], *values: object) -> str:
    """Built once, because the same caches, children and events come with every poll of every database."""
    return "".join([f',{name}="{_escaped(str(value))}"' for name, value in zip(names, values, strict=True)])


_escaped = lru_cache(4096)(in_label)


def render(
    database: DatabaseSettings,
    snapshot: Snapshot,
    caches: CacheMap,
    diagnosis: Diagnosis,
    episodes: Sequence[Episode] = (),
) -> Mapping[str, bytes]:
    """Every sample of one database that stays true until its next poll."""
    block = Block(database)
    block.add(
        "latchscope_info", 1, {"release": snapshot.release or "unknown", "mechanism": diagnosis.mechanism or "unknown"}
    )
    if snapshot.taken_at is not None and snapshot.uptime_seconds is not None:
        started = snapshot.taken_at.timestamp() - snapshot.uptime_seconds
        block.add("latchscope_instance_start_timestamp_seconds", round(started))
    _latches(block, snapshot, caches)
    caches_read = snapshot.rows("v$rowcache")
    labels = [_cache_labels(*named) for named in cells(caches_read, ("parameter", "cache#", "type", "subordinate#"))]
    block.add_rows(_CACHE_COLUMNS, caches_read, labels)
    for view, label in _LABEL_OF.items():
        rows = snapshot.rows(view)
        block.add_rows(_COLUMNS[view], rows, [_labels((label,), row.get(label)) for row in rows])
    _time(block, snapshot)
    for sample in verdict_samples(diagnosis, episodes):
        block.add(*sample)
    _collectors(block, snapshot)
    return block.text()


def _latches(block: Block, snapshot: Snapshot, caches: CacheMap) -> None:
    children = snapshot.rows("v$latch_children")
    numbers = [int(number(row.get("child#")) or 0) for row in children]
    names = ("latch", "child", "cache")
    labels = [_labels(names, ROW_CACHE_LATCH, child, caches.series_name(child)) for child in numbers]
    block.add_rows(_CHILD_COLUMNS, children, labels)
    # Latches without interesting children, as totals. `row cache objects` is exported by child, so that sums do not double.
    alone = [row for row in snapshot.rows("v$latch") if row.get("name") == RESULT_CACHE_LATCH]
    block.add_rows(_CHILD_COLUMNS, alone, [_labels(("latch",), row.get("name")) for row in alone])
    misses = cells(snapshot.rows("v$latch_misses"), ("parent_name", "location", "sleep_count", "wtr_slp_count"))
    for side, place in (("holder", 2), ("waiter", 3)):
        labels = [_labels(("latch", "location", "side"), *row[:2], side) for row in misses]
        block.add_each("latchscope_latch_location_sleeps_total", labels, [row[place] for row in misses])


@lru_cache(4096, typed=True)
def _cache_labels(parameter: object, number_of: object, kind: object, subordinate: object) -> str:
    if subordinate is None or kind == "PARENT":
        subordinate = ""
    return _labels(("cache", "cache_id", "type", "subordinate"), parameter, number_of, kind, subordinate)


def _time(block: Block, snapshot: Snapshot) -> None:
    by_name = {"DB time": "latchscope_db_time_seconds_total", "DB CPU": "latchscope_db_cpu_seconds_total"}
    for row in snapshot.rows("v$sys_time_model"):
        family, micro = by_name.get(str(row.get("stat_name"))), number(row.get("value"))
        if family and micro is not None:
            block.add(family, micro / 1e6)


def _collectors(block: Block, snapshot: Snapshot) -> None:
    together = {view for name, group in groups().items() if name in snapshot.costs for view in group.views}
    labels, success, rows = [], [], []
    for view in sorted(snapshot.readings):
        reading = snapshot.readings[view]
        if isinstance(reading, Missing) and reading.kind == "not_asked":
            continue
        asked = view in snapshot.costs or view in together
        labels.append(f',collector="{view}"')
        success.append(0 if isinstance(reading, Missing) else 1)
        rows.append(len(reading.rows) if asked and not isinstance(reading, Missing) else None)
    block.add_each("latchscope_collector_success", labels, success)
    block.add_each("latchscope_collector_rows", labels, rows)
    costs = sorted(snapshot.costs.items())
    labels = [f',collector="{name}"' for name, _ in costs]
    block.add_each("latchscope_collector_duration_seconds", labels, [cost.seconds for _, cost in costs])
    block.add_each("latchscope_collector_round_trips", labels, [cost.round_trips for _, cost in costs])


def exposition(
    watched: Iterable[MonitoredDatabase], own: CollectorRegistry | None, accept: str = ""
) -> tuple[bytes, str]:
    """The page and its content type: our process (`own`), then every database. A stale database has only up and age.

    Text 0.0.4, or OpenMetrics where `accept` prefers it.
    """
    parts, content_type = in_parts(watched, own, accept)
    return b"".join(chain.from_iterable(parts)), content_type


def in_parts(
    watched: Iterable[MonitoredDatabase], own: CollectorRegistry | None, accept: str = ""
) -> tuple[list[list[bytes]], str]:
    """The page of `exposition` in pieces, by family. A thousand databases make 40 MB, which take long to be joined."""
    encode, content_type = choose_encoder(accept)
    openmetrics = content_type.startswith("application/openmetrics-text")
    parts: dict[str, list[bytes]] = {name: [] for name in FAMILIES}
    liveness: dict[str, list[str]] = {family: [] for family in _ALWAYS}
    for database in watched:
        age = database.age
        up = database.up_at(age)
        current = database.published if up else None
        _add_liveness(liveness, database, age, up)
        for family, text in _attempts(database):
            parts[family].append(text)
        for family, text in _blocks(current) if current else ():
            parts[family].append(text)
    for family, lines in liveness.items():
        if lines:
            parts[family].append("".join(lines).encode())
    page = [[encode(own).removesuffix(b"# EOF\n")]] if own is not None else []
    page += [[_heading(FAMILIES[name], openmetrics), *texts] for name, texts in parts.items() if texts]
    if openmetrics:
        page.append([b"# EOF\n"])
    return page, content_type


def _blocks(published: Published) -> Iterable[tuple[str, bytes]]:
    """Family and lines of a poll. A bug of ours must not end the page of all databases."""
    try:
        return published.blocks.items()
    except Exception:
        log.exception("%s: its metrics were not made", published.snapshot.database)
        return ()


def _heading(family: Family, openmetrics: bool) -> bytes:
    name = family.name.removesuffix("_total") if openmetrics and family.type == "counter" else family.name
    unit = next((unit for unit in _UNITS if name.endswith(f"_{unit}")), None) if openmetrics else None
    of_unit = f"# UNIT {name} {unit}\n" if unit else ""
    return f"# HELP {name} {family.help}\n# TYPE {name} {family.type}\n{of_unit}".encode()


def probe(watched: MonitoredDatabase, accept: str = "") -> tuple[bytes, str]:
    """The metrics of one database only, with probe_success, for a scraper that asks target by target."""
    page, content_type = exposition([watched], None, accept)
    success = f"# HELP probe_success 1 while the database answers.\n# TYPE probe_success gauge\nprobe_success {int(watched.up)}\n"
    return success.encode() + page, content_type


def _add_liveness(lines: Mapping[str, list[str]], watched: MonitoredDatabase, age: float | None, up: bool) -> None:
    """Lines of what depends on the moment of the scrape, by family."""
    last = watched.published
    values = (
        1 if up else 0,
        None if age is None else round(age, 3),
        last.clock if last else None,
        watched.pace or watched.interval,
        last.poll_seconds if last and up else None,
    )
    for (family, head), value in zip(_heads(_common_of(watched.settings)), values, strict=True):
        if value is not None:
            lines[family].append(f"{head}{_number(value)}\n")


def _attempts(watched: MonitoredDatabase) -> Iterable[tuple[str, bytes]]:
    """Family and lines of what was tried: polls and logins by outcome, and the failure of the last poll."""
    failure, block = watched.failure, Block(watched.settings)
    for family, tried in (("latchscope_polls_total", watched.polls), ("latchscope_logins_total", watched.login.tried)):
        for outcome, times in tried.copy().items():
            block.add(family, times, {"outcome": outcome})
    if failure is not None and failure.kind == "credential":
        block.add("latchscope_login_stopped", 1, {"reason": failure.code})
    if failure is not None:
        block.add("latchscope_next_attempt_timestamp_seconds", failure.next_attempt, {"reason": failure.kind})
    return block.text().items()


@cache
def _heads(common: str) -> tuple[tuple[str, str], ...]:
    """Families of what every database has, with how their line begins."""
    return tuple((family, f"{family}{{{common}}} ") for family in _ALWAYS)


def own_registry() -> CollectorRegistry:
    """Metrics of the latchscope process itself, through prometheus_client."""
    disable_created_metrics()  # type: ignore[no-untyped-call]  # in text they are gauges beside every counter, which nobody asked for
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return registry
