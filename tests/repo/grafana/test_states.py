"""Every panel in every state: nothing is green and nothing is 0 where it speaks of what is not known to be good.

Beside the database in the state stand a healthy one with the same name in another environment, and a healthy one of another
name. A real promtool evaluates the shipped rules and every query; Grafana's own code says the text and the colour.
"""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

import pytest

from tests.repo.grafana.dashboards import DASHBOARDS, HOME, panels
from tests.repo.grafana.display import OVER_FIVE_MINUTES, defaults
from tests.repo.grafana.figures import LOST, OF_THE_PROCESS, STEP, Look, Series, look, with_color
from tests.repo.processes import need

pytestmark = pytest.mark.slow

BEGINS = 1800
"""Seconds of health before the state: a name that began within 15 minutes may be one that moved there."""
HEALTHY = {
    "latchscope_up": "1",
    "latchscope_severity": "0",
    "latchscope_impact_ratio": "0.001",
    "latchscope_impact_sessions": "0.02",
    "latchscope_data_age_seconds": "5",
    "latchscope_last_poll_timestamp_seconds": "5",
    'latchscope_wait_event_seconds_total{event="row cache lock"}': "7",
    "latchscope_db_time_seconds_total": "9",
    "latchscope_poll_duration_seconds": "0.05",
    "latchscope_poll_interval_seconds": "15",
    'latchscope_collector_success{collector="v$rowcache"}': "1",
    'latchscope_collector_success{collector="x$kqrst"}': "0",
    'latchscope_verdict_info{severity="info",title="Nothing to do"}': "1",
}
GONE = dict.fromkeys(HEALTHY)
STORM = {
    **HEALTHY,
    "latchscope_severity": "3",
    "latchscope_impact_ratio": "0.23",
    "latchscope_impact_sessions": "8.9",
    'latchscope_verdict_info{severity="info",title="Nothing to do"}': None,
}
NAMED = 'latchscope_finding{cause="logon-storm",cache="dc_users",severity="critical"}'
UNREACHABLE = {
    **GONE,
    "latchscope_up": "0",
    "latchscope_data_age_seconds": "900",
    "latchscope_last_poll_timestamp_seconds": "5",
    "latchscope_poll_interval_seconds": "15",
    'latchscope_next_attempt_timestamp_seconds{reason="network"}': "2000",
}
REFUSED = {**UNREACHABLE, 'latchscope_login_stopped{reason="ORA-01017"}': "1"}
del REFUSED['latchscope_next_attempt_timestamp_seconds{reason="network"}']
NEVER = {name: value for name, value in UNREACHABLE.items() if "age" not in name and "last_poll" not in name}
SILENT = frozenset({"severity", "answers", "views"})
UNWATCHED = SILENT | {"age", "login", "process"}
MINUTE, HOUR = 60, 3600
STATES: Mapping[str, tuple[Mapping[str, str | None], str | None, frozenset[str], tuple[int, ...]]] = {
    "healthy": (HEALTHY, "1", frozenset(), (MINUTE, 20 * MINUTE)),
    "storm": ({**STORM, NAMED: "1", 'latchscope_verdict_info{severity="critical",cause="logon-storm"}': "1"}, "1",
              frozenset({"severity"}), (MINUTE,)),
    "warning": ({**STORM, "latchscope_severity": "2", 'latchscope_verdict_info{severity="warning"}': "1"}, "1",
                frozenset({"severity"}), (MINUTE,)),
    "no cause": ({**STORM, 'latchscope_verdict_info{severity="critical"}': "1"}, "1", frozenset({"severity"}), (MINUTE,)),
    "lost grants in a storm": (
        {**STORM, 'latchscope_verdict_info{severity="critical",title="Cannot be judged any more"}': "1",
         'latchscope_collector_success{collector="v$rowcache"}': "0"}, "1", frozenset({"severity", "views"}), (MINUTE,)),
    "quiet": ({**HEALTHY, "latchscope_severity": "-1", 'latchscope_verdict_info{severity="info",title="Nothing to do"}': None,
               'latchscope_verdict_info{severity="quiet"}': "1"}, "1", frozenset({"severity"}), (MINUTE, 20 * MINUTE)),
    "unreachable": (UNREACHABLE, "1", SILENT, (MINUTE, 20 * MINUTE)),
    "refused login": (REFUSED, "1", SILENT | {"login"}, (MINUTE, 20 * MINUTE)),
    "never reached": (NEVER, "1", SILENT | {"age"}, (MINUTE,)),
    "latchscope dead": (GONE, "0", UNWATCHED, (MINUTE, 20 * MINUTE, 26 * HOUR, 144 * HOUR)),
    "latchscope no target any more": (GONE, None, UNWATCHED, (MINUTE, 20 * MINUTE, 26 * HOUR)),
    "taken out": ({**GONE, "latchscope_database_retired": "1"}, "1", frozenset(), (20 * MINUTE,)),
}  # fmt: skip
"""What is scraped of the database, `up` of its latchscope, what is not known to be good then, and after how many seconds."""
SPEAKS = {
    "Down": "answers", "Problems": "severity", "Oldest": "age", "Logins off": "login", "Views lost": "views",
    "Worst loss": "severity", "Waiting": "severity", "Poll share": "views", "Severity": "severity", "Time lost": "severity",
    "Data age": "age", "Up for": "answers", "Release": "answers",
    **dict.fromkeys(("Unowned", "Store off", "Polls kept", "Polls lost", "Gone", "Stalled", "Not sent", "Queue"), "process"),
    "Answering": "",
    "Databases": "severity", "Verdicts": "severity", "Verdict": "severity", "Databases that do not answer": "",
    "Severity over time": "severity", "Verdict over time": "severity", "Databases that answer": "answers",
    "Views that can be read": "views",
}  # fmt: skip
"""Panel → what it vouches for with green or 0. Few that answer are nothing good."""
ANSWERS = {"fleet": {"Down", "Databases"}, "health": {"Down", "Databases that answer"}}
ALARMS = {
    "unreachable": ANSWERS,
    "latchscope dead": ANSWERS | {"health": {"Down", "Databases that answer", "Gone"}},
    "lost grants in a storm": {"health": {"Views lost", "Views that can be read"}},
}
"""State → the panels that are red in its first minute."""
COLUMNS = {"Up": "answers"}
"""Column that speaks of something else than its table."""
OTHER = "healthy-19c"


def scraped(state: str, step: int, *, labelled: bool, at_once: bool) -> Series:
    """What Prometheus has: series → its samples. The database is in its state from `BEGINS` on, or from the beginning."""
    of, up, _, after = STATES[state]
    before, then = BEGINS // step, max(after) // step + 2
    env = {name: f',env="{name}"' if labelled else "" for name in ("test", "prod")}
    made: Series = {}

    def add(name: str, labels: str, value: str | None, former: str | None) -> None:
        metric, _, own = name.partition("{")
        samples = [f"{former}x{before - 1}"] if former else [f"_x{before}"]
        samples.append(f"{value}x{then}" if value else "stale" if former else "_")
        made[f"{metric}{{{','.join(each for each in (own.removesuffix('}'), labels) if each)}}}"] = samples

    for db, place, figures in (
        (LOST, "test", of),
        *([(LOST, "prod", HEALTHY)] if labelled else []),
        (OTHER, "prod", HEALTHY),
    ):
        labels = f'db="{db}",job="latchscope",instance="{place}:8000"{env[place]}'
        for name in {**HEALTHY, **figures}:
            former = None if at_once and place == "test" else HEALTHY.get(name)
            add(name, labels, figures.get(name), former)
    for place, alive in (("test", up), ("prod", "1")):
        for name, value in OF_THE_PROCESS.items():
            labels = f'job="latchscope",instance="{place}:8000"{env[place]}'
            add(name, labels, alive if name == "up" else str(value) if alive == "1" else None, str(value))
    return made


def seen_wrongly(seen: Look, bad: frozenset[str], after: int) -> Iterator[str]:
    """What vouches for something that is not known to be good so many seconds after the begin."""
    for (board, title), shown in seen.items():
        for one in shown:
            _, _, of = one.of.partition(" of ")
            column = one.of.split(" of ")[0]
            if of and of != LOST and board != "database":
                continue
            # A mean over five minutes goes on for five minutes.
            line = "answers" if board == "database" and after > 5 * MINUTE else ""
            about = line if one.of == "line" else COLUMNS.get(column, SPEAKS.get(title))
            if about in bad and (one.color == "green" or one.text == "0"):
                yield f"{board} / {title}: {one.of} says {one.text!r} in {one.color}"


@pytest.fixture(scope="module")
def grafana(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Grafana's own `@grafana/data`, outside the checkout."""
    need("node", "nodejs")
    need("promtool", "prometheus")
    npm = need("npm", "npm")
    folder = tmp_path_factory.mktemp("display") / "display"
    shutil.copytree(HOME / "display", folder, ignore=shutil.ignore_patterns("node_modules"))
    command = [npm, "ci", "--prefer-offline", "--ignore-scripts", "--no-bin-links"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


WINDOWED = {
    (name.removeprefix("latchscope-"), panel["title"])
    for name, dashboard in DASHBOARDS.items()
    for panel in panels(dashboard)
    if any("[" in target["expr"] or OVER_FIVE_MINUTES.search(target["expr"]) for target in panel["targets"])
}
"""The graphs that look back: they go on for as long after the end of a service."""
CHOICES: Mapping[str, tuple[bool, Mapping[str, str]]] = {
    "no labels": (False, {"db": LOST}),
    "All": (True, {}),
    "one environment": (True, {"env": "test"}),
    "the other environment": (True, {"env": "prod"}),
}
"""Whether series have the label `env`, and what somebody chose."""


@pytest.mark.parametrize(
    ("state", "choice"), [*product(STATES, [*CHOICES][:3]), *product(("storm", "unreachable"), [*CHOICES][3:])]
)
def test_nothing_is_green_or_zero_where_it_is_not_known_to_be_good(
    grafana: Path, state: str, choice: str, tmp_path: Path
) -> None:
    labelled, chosen = CHOICES[choice]
    other = choice == "the other environment"
    bad, after = frozenset() if other else STATES[state][2], STATES[state][3]
    step = 5 * MINUTE if max(after) > HOUR else STEP
    series = scraped(state, step, labelled=labelled, at_once=state == "never reached")
    moments = [BEGINS + each for each in after]
    for moment, seen in look(DASHBOARDS, series, moments, grafana, tmp_path, chosen, step).items():
        if choice == "All":  # the same name in another environment is well, and stands beside it
            seen = {place: shown for place, shown in seen.items() if place[0] != "database"}
            seen = {place: shown for place, shown in seen.items() if not any(" of " in one.of for one in shown)}
        if problems := [one.color for one in seen["fleet", "Problems"] if one.text == "1"]:
            assert problems == ["orange" if state == "warning" else "red"]
        assert list(seen_wrongly(seen, bad, moment - BEGINS)) == [], f"{moment - BEGINS} s after the begin"
        if moment == BEGINS + MINUTE and choice in ("no labels", "one environment"):
            red = {board: {title for _, title in with_color(seen, "red", board)} for board in ("fleet", "health")}
            assert [board for board, titles in ALARMS.get(state, {}).items() if not titles <= red[board]] == [], red
        if state == "latchscope dead" and choice == "no labels":
            lines = {place for place, shown in seen.items() if any(one.of == "line" for one in shown)}
            assert lines <= WINDOWED, "a line goes on after the end of the service"
        if not bad:
            figures = {title for (_, title), shown in seen.items() if any(one.color == "green" for one in shown)}
            # Of a database that left the configuration nothing is known, and the others are not chosen.
            assert {
                "Gone",
                *(("Down", "Problems", "Views lost") if state != "taken out" or choice == "All" else ()),
            } <= figures
            assert not [title for (_, title), shown in seen.items() if any(one.color == "red" for one in shown)]


def test_every_panel_that_can_be_green_is_told_apart() -> None:
    for name, board in DASHBOARDS.items():
        for panel in panels(board):
            coloured = "green" in str(defaults(panel)) or any(
                "green" in str(one) for one in panel["fieldConfig"]["overrides"]
            )
            if panel["type"] in ("stat", "table", "state-timeline") and coloured:
                assert panel["title"] in SPEAKS, name
