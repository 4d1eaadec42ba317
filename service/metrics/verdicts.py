"""The metric families of the verdict: what it says, what it costs, since when, and what became of it."""

from functools import partial

from service.metrics.family import Family

WAITING_SESSIONS = Family(
    "latchscope_waiting_sessions",
    "gauge",
    "Sessions waiting on average, as sampled in the last interval.",
    "verdict",
    labels=("event", "cache"),
    source=("v$session.event",),
    series="one per event and cache met",
    note="no sample where nobody looked",
)
HANGING_SESSIONS = Family(
    "latchscope_hanging_sessions",
    "gauge",
    "Sessions that have waited ten seconds or longer at the last poll, and still wait.",
    "verdict",
    labels=("event", "cache"),
    source=("waiting_sessions.wait_time_micro",),
    series="one per event and cache met",
    note="such waits stand in no counter until they end; 200 at most; no sample where nobody waits or nobody looked",
)
LONGEST_WAIT = Family(
    "latchscope_longest_wait_seconds",
    "gauge",
    "How long the longest wait has lasted that had not ended at the last poll.",
    "verdict",
    labels=("event", "cache"),
    source=("waiting_sessions.wait_time_micro",),
    series="one per event and cache met",
    note="no sample where nobody waits or nobody looked",
)
FINDING = Family(
    "latchscope_finding",
    "gauge",
    "1 while a cause is found; see the diagnosis for its evidence.",
    "verdict",
    labels=("cause", "cache", "severity"),
    source=("the diagnosis",),
    series="one per finding, at most one per cause",
    note="begins with the second poll in a row that shows it and ends with the third that does not, but a note of "
    "severity `info` follows each poll; `cache` is empty where the cause is about none",
)
IMPACT = Family(
    "latchscope_impact_ratio",
    "gauge",
    "Share of DB time lost over the last interval on the surfaces in trouble: row cache waits, those that have not ended "
    "included, and the latch of the result cache where a finding is about it.",
    "verdict",
    source=("the diagnosis",),
)
IMPACT_SESSIONS = Family(
    "latchscope_impact_sessions",
    "gauge",
    "Sessions that waited on average over the last interval on the surfaces in trouble, those of latchscope_impact_ratio.",
    "verdict",
    source=("the diagnosis",),
)
SURFACE_IMPACT = Family(
    "latchscope_surface_impact_ratio",
    "gauge",
    "Share of DB time lost in waits on one surface over the last interval.",
    "verdict",
    labels=("surface",),
    source=("the diagnosis",),
    series="one per surface of the release: latch or mutex, lock, result-cache",
)
SURFACE_SESSIONS = Family(
    "latchscope_surface_impact_sessions",
    "gauge",
    "Sessions that waited on one surface on average over the last interval.",
    "verdict",
    labels=("surface",),
    source=("the diagnosis",),
    series="one per surface of the release",
)
SEVERITY = Family(
    "latchscope_severity",
    "gauge",
    "Severity of the diagnosis: 0 fine, 1 notice, 2 warning, 3 critical.",
    "verdict",
    source=("the diagnosis",),
)
VERDICT = Family(
    "latchscope_verdict_info",
    "gauge",
    "What is wrong and what to do now; always 1.",
    "verdict",
    labels=("cause", "title", "cache", "severity", "action"),
    source=("the diagnosis",),
    series="one per episode that lasts; else one",
    note="`action` is the first sentence of the remedy; `cause` is empty where nothing is wrong or no known cause lasts",
)
EPISODE_BEGIN = Family(
    "latchscope_episode_begin_timestamp_seconds",
    "gauge",
    "Unix time at which an episode began that lasts.",
    "verdict",
    labels=("cause", "cache"),
    source=("the diagnosis",),
    series="one per episode that lasts",
    note="`changes()` of it over a range, and one more, is how many episodes of the cause there were",
)
_outcome = partial(Family, section="outcomes", source=("change marks and verdicts on them",))
LAST_MARK = _outcome(
    "latchscope_change_mark_timestamp_seconds",
    type="gauge",
    help="Unix time of the last change mark.",
    note="of every database with a mark, looked for every half minute",
)
VERIFIED = _outcome(
    "latchscope_verified_remedies_total",
    type="counter",
    help="Episodes that a change ended, as verified against the figures before it.",
    labels=("cause",),
    series="one per cause that was verified",
)
VERIFIED_SECONDS = _outcome(
    "latchscope_verified_remedy_seconds_total",
    type="counter",
    help="Time from the begin of those episodes to their end.",
    labels=("cause",),
    series="one per cause that was verified",
    note="over the former: the mean time to a verified remedy",
)
