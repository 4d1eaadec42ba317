"""Which database has a problem, and how large is it?"""

from panels import (
    ALARM,
    BY_SESSIONS,
    BY_SHARE,
    Json,
    dashboard,
    link,
    override,
    query,
    stat,
    states,
    table,
    timeseries,
    web_link,
)
from shared import FOUND, LATCH, PAGE, WAITS, S, chosen, finding_links, per_second


def fleet(address: str) -> Json:
    """Which database has a problem, and how large is it?"""
    walk = link(
        "The walk through this database", "/d/latchscope-database?var-db=${__data.fields.db}&${__url_time_range}"
    )
    sleeps = per_second("latchscope_latch_sleeps_total", "rac, db", LATCH)
    waiting = per_second("latchscope_wait_event_seconds_total", "rac, db", WAITS)
    impact = f"max by (rac, db) (latchscope_impact_ratio{{{S}}})"
    panels = [
        stat("Answering", "Databases whose last poll succeeded and is recent.", "none", f"sum(latchscope_up{{{S}}})"),
        stat(
            "Not answering",
            "Databases that give no data; the health dashboard says why.",
            "none",
            f"sum(1 - latchscope_up{{{S}}})",
            ALARM,
        ),
        stat(
            "Databases with a finding",
            "Databases in which a cause of severity warning or critical is active.",
            "none",
            f'count(count by (rac, db) (latchscope_finding{{{S},severity=~"warning|critical"}})) or vector(0)',
            ALARM,
        ),
        stat(
            "Largest share lost",
            "The largest share of DB time that any database loses in row cache waits.",
            "percentunit",
            f"max(latchscope_impact_ratio{{{S}}})",
            BY_SHARE,
        ),
        stat(
            "Sessions waiting",
            "Sessions that wait for the row cache on average, over the whole fleet.",
            "short",
            f"sum({waiting})",
            BY_SESSIONS,
        ),
        stat("Sleeps per second", "Sleeps on row cache latches, over the whole fleet.", "cps", f"sum({sleeps})"),
        table(
            "Databases",
            "One line per database. A click on its name opens the walk.",
            ("Up", "bool_yes_no", f"max by (rac, db) (latchscope_up{{{S}}})"),
            ("DB time lost", "percentunit", impact),
            ("Sessions waiting", "short", waiting),
            ("Sleeps per second", "cps", sleeps),
            ("Data age", "s", f"max by (rac, db) (latchscope_data_age_seconds{{{S}}})"),
            overrides=[override("db", {"links": [walk]})],
            sort=[{"displayName": "DB time lost", "desc": True}],
        ),
        table(
            "Active findings",
            "Causes that are active in each database. The name of the database leads to the evidence.",
            ("Active", "bool_yes_no", f"max by (rac, db, cause, cache, severity) (latchscope_finding{{{S}}})"),
            overrides=finding_links(),
        ),
        timeseries(
            "DB time lost in row cache waits",
            "Share of DB time. From 0.5 % it is worth a note, from 2 % a warning, from 10 % it is critical.",
            "percentunit",
            query(impact, "{{db}}"),
        ),
        timeseries(
            "Sessions waiting for the row cache",
            "Seconds waited per second in the row cache latch, mutex and lock events: sessions waiting on average.",
            "short",
            query(waiting, "{{db}}"),
        ),
        timeseries(
            "Sleeps on row cache latches",
            "Sleeps on all child latches of `row cache objects`. Alone they cost little: read them beside the time waited.",
            "cps",
            query(sleeps, "{{db}}"),
        ),
        states(
            "Findings over time",
            "When which cause was active in which database.",
            FOUND,
            f"max by (rac, db, cause) (latchscope_finding{{{S}}})",
            "{{db}} · {{cause}}",
        ),
    ]
    return dashboard(
        "latchscope-fleet",
        "latchscope / Fleet",
        "Which Oracle database waits for its dictionary cache, and how much that costs.",
        chosen(several=True, address=address),
        panels,
        links=[web_link("latchscope", f"{PAGE}/", "latchscope's own pages")],
    )
