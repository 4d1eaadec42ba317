"""Prometheus' data from the demo, at simulated times: the scripted databases on the real main path, as promtool series."""

import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from service.metrics.exposition import exposition
from service.state.board import Failure
from tests.repo.grafana.dashboards import RECORDING
from tests.service.stage import Stage

STEP = 15
"""Seconds between two scrapes, and between two polls."""
STOPS = 6
"""The scrape after which something goes wrong: 90 seconds after the begin, in the middle of the storm."""
SAMPLE = re.compile(r"^([a-z_:]+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
GOT = re.compile(r'^    expr: ("(?:[^"\\]|\\.)*"), time: (\S+),\n        exp: .*\n        got: (.*)$', re.MULTILINE)
SERIES = re.compile(r'\{((?:[^"{}]|"(?:[^"\\]|\\.)*")*)\} (\S+?)(?:, |$)')
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
OF_THE_PROCESS = {
    "latchscope_databases_owned": 3,
    "latchscope_databases_unowned": 0,
    "latchscope_store_up": 1,
    "latchscope_memory_polls": 0,
    "latchscope_thread_up": 1,
    "latchscope_thread_deaths_total": 0,
    "latchscope_spool_polls": 0,
    "latchscope_spool_lost_polls_total": 0,
    "latchscope_poll_queue_seconds": 0,
    "latchscope_exposition_bytes": 250_000,
    "process_cpu_seconds_total": 3,
    "process_resident_memory_bytes": 9e7,
    "process_open_fds": 20,
    "python_gc_collections_total": 4,
    "scrape_duration_seconds": 0.01,
    "scrape_samples_scraped": 1500,
    "up": 1,
}
"""What a process that is well says of itself, and what Prometheus adds."""
Series = dict[str, list[str]]


@dataclass
class Scrapes:
    """What Prometheus kept: series → its samples, one a scrape, as promtool writes them."""

    series: Series = field(default_factory=dict)
    taken: int = 0

    def add(self, text: Iterable[tuple[str, str, str]]) -> None:
        """One scrape. A series that it lacks is stale, as Prometheus marks it."""
        now = {f"{name}{{{labels}}}": value for name, labels, value in text}
        for name in now.keys() - self.series.keys():
            self.series[name] = ["_"] * self.taken
        for name, values in self.series.items():
            values.append(now.get(name) or ("stale" if values and values[-1] not in ("_", "stale") else "_"))
        self.taken += 1


def scraped(stage: Stage, instances: Mapping[str, str], gone: str = "") -> Iterator[tuple[str, str, str]]:
    """The samples of every process that is not gone. `instances`: database → the process that watches it."""
    for instance in sorted(set(instances.values())):
        labels = f'job="latchscope",instance="{instance}"'
        if instance == gone:
            yield "up", labels, "0"
            continue
        for name, value in OF_THE_PROCESS.items():
            yield name, labels, str(value)
        watched = [one for one in stage.board if instances.get(one.name) == instance]
        text = exposition(watched, None)[0].decode()
        yield from ((name, f"{own},{labels}", value) for name, own, value in SAMPLE.findall(text))


SITUATIONS = ("service stopped", "database down", "view refused", "replica gone")
WATCHED = {"undo-storm": "a:8000", "users-mutex": "a:8000", "healthy-19c": "a:8000"}
ON_TWO = {**WATCHED, "undo-storm": "b:8000"}


def recorded(stage: Stage, situation: str) -> Series:
    """The demo for a minute and a half, then the situation for a minute."""
    kept = Scrapes()
    instances = ON_TWO if situation == "replica gone" else WATCHED
    for number in range(STOPS + 5):
        after = number > STOPS
        for name in instances:
            if after and situation == "database down" and name == "undo-storm":
                stage[name].failure = Failure("network", "ORA-12541: no listener", since=0.0, next_attempt=9e9)
            elif not (after and instances[name] == "b:8000"):
                stage.refused = {"undo-storm": ("v$latch_children",)} if after and situation == "view refused" else {}
                stage.poll(name, float(STEP * number))
        everybody = after and situation == "service stopped"
        lost = "a:8000" if everybody else "b:8000" if after else ""
        kept.add(list(scraped(stage, instances, gone=lost)))
    for name, values in kept.series.items():
        if name.startswith("up{"):
            values.append(f"{values[-1]}x60")  # Prometheus goes on asking
    return kept.series


@dataclass(frozen=True)
class Answer:
    """One series of an answer."""

    labels: Mapping[str, str]
    value: float | None
    """None for NaN, as on the way to Grafana."""


def answers(
    series: Series, exprs: Sequence[str], moments: Sequence[int], folder: Path, step: int = STEP
) -> dict[tuple[str, int], list[Answer]]:
    """What each query answers so many seconds after the begin: promtool's word, with the shipped recording rules.

    The test that promtool runs expects nothing, so it fails wherever there is something, and says what it got.
    """
    wanted = sorted({*exprs})
    cases = [{"expr": expr, "eval_time": f"{moment}s", "exp_samples": []} for expr in wanted for moment in moments]
    given = [{"series": name, "values": " ".join(values)} for name, values in series.items()]
    test = {"interval": f"{step}s", "input_series": given, "promql_expr_test": cases}
    (folder / "absence.test.yml").write_text(
        json.dumps({"rule_files": [*map(str, RECORDING)], "evaluation_interval": f"{step}s", "tests": [test]}), "utf-8"
    )
    done = subprocess.run(
        ["promtool", "test", "rules", "absence.test.yml"], cwd=folder, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    found: dict[tuple[str, int], list[Answer]] = {(expr, moment): [] for expr in wanted for moment in moments}
    for quoted, at, got in GOT.findall(said):
        key = (json.loads(quoted), _seconds(at))
        assert key in found, f"{key} was not asked"
        found[key] = [
            Answer({name: json.loads(f'"{text}"') for name, text in LABEL.findall(labels)}, _number(value))
            for labels, value in SERIES.findall(got)
        ]
    left = GOT.sub("", said)
    assert "expr" not in left and "error" not in left.lower(), left[:2000]
    return found


def _number(text: str) -> float | None:
    return None if text == "NaN" else float(text)


def _seconds(text: str) -> int:
    units = {"d": 86400, "h": 3600, "m": 60, "s": 1}
    return sum(int(number) * units[unit] for number, unit in re.findall(r"(\d+)([dhms])", text))


def displayed(asked: Sequence[Mapping[str, Any]], folder: Path) -> list[list[dict[str, str]]]:
    """Text and colour of each request, by Grafana's own code."""
    done = subprocess.run(
        ["node", "show.cjs"], cwd=folder, input=json.dumps(asked), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told: list[list[dict[str, str]]] = json.loads(done.stdout)
    return told
