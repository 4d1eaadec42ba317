"""The metric families of the verdict: what it says, what it costs, since when, and its result."""

from functools import partial

from service.metrics.family import Family

_verdict = partial(Family, type="gauge", section="verdict")
_diagnosis = partial(_verdict, source=("the diagnosis",))
_waits = partial(_verdict, labels=("event", "cache"), series="one per event and cache met")
WAITING_SESSIONS = _waits(
    "latchscope_waiting_sessions",
    help="Sessions waiting on average, as sampled in the last interval.",
    source=("v$session.event",),
    note="no sample without a look",
)
HANGING_SESSIONS = _waits(
    "latchscope_hanging_sessions",
    help="Sessions that at the last poll have waited ten seconds or longer, and still wait.",
    source=("waiting_sessions.wait_time_micro",),
    note="no counter has such waits until they end; at most 200; no sample without waiters or without a look",
)
LONGEST_WAIT = _waits(
    "latchscope_longest_wait_seconds",
    help="Length of the longest wait that had not ended at the last poll.",
    source=("waiting_sessions.wait_time_micro",),
    note="no sample without waiters or without a look",
)
FINDING = _diagnosis(
    "latchscope_finding",
    help="1 while a cause is found; see the diagnosis for its evidence.",
    labels=("cause", "cache", "severity"),
    series="one per finding, at most one per cause",
    note="starts with the second poll in a row that shows it and ends with the third that does not, but a note of "
    "severity `info` follows each poll; `cache` is empty if the cause is about none",
)
IMPACT = _diagnosis(
    "latchscope_impact_ratio",
    help="Share of DB time lost over the last interval on the surfaces in trouble: row cache waits, open waits "
    "included, and the latch of the result cache if a finding is about it.",
)
IMPACT_SESSIONS = _diagnosis(
    "latchscope_impact_sessions",
    help="Sessions that waited on average over the last interval on the surfaces in trouble, those of latchscope_impact_ratio.",
)
SURFACE_IMPACT = _diagnosis(
    "latchscope_surface_impact_ratio",
    help="Share of DB time lost in waits on one surface over the last interval.",
    labels=("surface",),
    series="one per surface of the release: latch or mutex, lock, result-cache",
)
SURFACE_SESSIONS = _diagnosis(
    "latchscope_surface_impact_sessions",
    help="Sessions that waited on one surface on average over the last interval.",
    labels=("surface",),
    series="one per surface of the release",
)
SEVERITY = _diagnosis(
    "latchscope_severity",
    help="Severity of the diagnosis: 0 fine, 1 notice, 2 warning, 3 critical.",
    note="no sample before the second poll: nothing is known then, which is not fine",
)
VERDICT = _diagnosis(
    "latchscope_verdict_info",
    help="What is wrong and what to do now; always 1.",
    labels=("cause", "title", "cache", "severity", "action", "check", "do_not"),
    series="one per open episode; else one",
    note="`title`, `action` (do now), `check` (check first) and `do_not` are the page's words without its figures; `cause` is "
    "empty if nothing is wrong or no known cause explains it; `severity` of an easing episode is that of the waits it left, "
    "`info` if they are gone",
)
EPISODE_BEGIN = _diagnosis(
    "latchscope_episode_begin_timestamp_seconds",
    help="Unix time of the begin of an open episode.",
    labels=("cause", "cache"),
    series="one per open episode",
    note="`changes()` of it over a range, plus one, is the number of episodes of the cause",
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
    note="divided by the former: the mean time to a verified remedy",
)
