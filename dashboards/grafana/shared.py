"""What the dashboards share: the labels every query is narrowed by, rates and ratios, variables and links."""

from panels import Json, label, link, override, textbox

S = 'rac=~"$rac",db=~"$db"'
"""What every query of a database is narrowed by."""
WAITS = 'event=~"latch: row cache objects|row cache mutex|row cache lock"'
LATCH = 'latch="row cache objects"'
RESULT_CACHE = 'latch="Result Cache: RC Latch"'
LOCK = 'event="row cache lock"'
PAGE = "${latchscope:raw}"
FOUND = {"1": {"text": "found", "color": "orange", "index": 0}}


def per_second(metric: str, by: str, *narrower: str) -> str:
    """The rate of a counter, added up by these labels."""
    return f"sum by ({by}) (rate({metric}{{{','.join([S, *narrower])}}}[$__rate_interval]))"


def ratio(above: str, below: str, by: str, *narrower: str) -> str:
    """One rate over another."""
    return f"{per_second(above, by, *narrower)} / {per_second(below, by, *narrower)}"


def chosen(*, several: bool, address: str) -> list[Json]:
    """The variables of a dashboard over databases."""
    every = {"every": ".+"} if several else {}
    return [
        # `rac` is only there where the configuration names one, so `all` must match its absence too.
        label("rac", "RAC", "latchscope_up", every=".*"),
        label("db", "Database", 'latchscope_up{rac=~"$rac"}', **every),
        textbox("latchscope", "latchscope", "where latchscope's own pages are", address),
    ]


def finding_links() -> list[Json]:
    """Clicks from a table of findings to the evidence and to the cause."""
    evidence = link("Evidence and remedy in latchscope", f"{PAGE}/db/${{__data.fields.db}}")
    cause = link("What this cause is", f"{PAGE}/causes/${{__data.fields.cause}}")
    return [override("db", {"links": [evidence]}), override("cause", {"links": [cause]})]
