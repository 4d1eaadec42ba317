"""The Fleet board over many databases:

what Grafana waits for each of its panels, on a VictoriaMetrics with vmalert that hold the series which the board and its
rules read. Everything listens on this machine only. A panel's time is that of all its queries, one after the other.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from rich.console import Group
from rich.table import Table

from bench._options import parser
from bench.capacity import at
from tests.ports import free_port

TINY = "--databases 200 --hours 0.1 --rounds 1 --interval 1"
PROGRAMS = ("victoria-metrics", "vmalert")
"""Both are in Debian's package victoria-metrics."""
HOME = Path(__file__).parents[1] / "dashboards"
RULES = HOME / "prometheus" / "fleet.yml"
"""Those of recording.yml are evaluated beside each latchscope; what they give is loaded."""
BOARD = HOME / "grafana" / "dashboards" / "latchscope-fleet.json"
EVERY, STEP, RANGE = 60, 15, 3600
"""Seconds between samples; Grafana's step and time range, as the board and its data source set them."""
FILLED = {"$rac": ".*", "$db": ".+", "$__range": f"{RANGE}s", "$__rate_interval": f"{4 * STEP}s"}
FILLED |= {f"${name}": ".*" for name in ("cluster", "env", "region")}
CAUSES = ("undo-segments", "hard-parse-storm", "sequence-nocache", "result-cache-flood")
WAYS = 97
"""How many courses over time a figure has."""
AT_ONCE = 20_000
"""Lines of an import."""


def figures(options: Sequence[str] = ()) -> Group:
    """Seconds a panel and an evaluation of the rules, and what both programs need."""
    asked = parser("fleet", __doc__)
    asked.add_argument("--databases", type=int, default=100_000, help="a tenth has a problem, a fifth is in a RAC")
    asked.add_argument("--hours", type=float, default=2.0, help="of samples, one a minute")
    asked.add_argument("--rounds", type=int, default=20, help="times the whole board is asked")
    asked.add_argument("--interval", type=int, default=30, help="seconds between evaluations of the rules")
    given = asked.parse_args(options)
    panels = Table("panel", "queries", "p50 s", "p95 s", "most s", "processor s", "series")
    panels.title = f"Fleet, {given.databases:,} databases"
    costs = Table("what", "figure", title="The rules and the programs")
    if missing := [program for program in PROGRAMS if not shutil.which(program)]:
        panels.add_row(f"{' and '.join(missing)}: not installed", *["–"] * 6)
        costs.add_row("nothing was measured", "–")
        return Group(panels, costs)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="latchscope-bench-")))
        url, alerting = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        words = [f"-storageDataPath={folder}/data", "-search.latencyOffset=0s", "-retentionPeriod=1y"]
        engine = stack.enter_context(_running(["victoria-metrics", *words], url, folder))
        loaded = _load(url, given.databases, given.hours * 3600)
        (rules := folder / RULES.name).write_text(
            RULES.read_text().replace("interval: 30s", f"interval: {given.interval}s")
        )
        words = [
            f"-rule={rules}",
            f"-datasource.url={url}",
            f"-remoteWrite.url={url}",
            "-remoteWrite.flushInterval=200ms",
        ]
        _replayed(words, min(given.hours * 3600, RANGE))
        evaluating = stack.enter_context(_running(["vmalert", *words], alerting, folder))
        _evaluated(alerting, 1)
        asking = board()
        taken = [
            {title: _took(url, queries, engine.pid) for title, queries in asking.items()} for _ in range(given.rounds)
        ]
        for title, queries in asking.items():
            clock, processor, series = zip(*(each[title] for each in taken), strict=True)
            shares = (f"{at(clock, share):.2f}" for share in (0.5, 0.95, 1.0))
            panels.add_row(title, str(len(queries)), *shares, f"{at(processor, 0.5):.2f}", f"{max(series):,}")
        mean, most = _evaluated(alerting, 1)
        costs.add_row("an evaluation of fleet.yml, mean and most", f"{mean:.1f} and {most:.1f} s")
        costs.add_row("series loaded", f"{loaded:,}")
        for name, process in (("VictoriaMetrics", engine), ("vmalert", evaluating)):
            costs.add_row(f"memory of {name}, most", f"{_most_memory(process.pid):,.0f} MB")
        size = sum(path.stat().st_size for path in (folder / "data").rglob("*") if path.is_file())
        costs.add_row("disk", f"{size / 1e6:,.0f} MB")
    return Group(panels, costs)


def _told(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _courses(length: int) -> Mapping[str, Sequence[str]]:
    """Figure → its courses over time, as the text of a JSON list."""
    draw = random.Random(1)
    made: dict[str, list[list[float]]] = {}
    for _ in range(WAYS):
        level = draw.uniform(0.02, 0.4)
        ratio = [round(level * draw.uniform(0.7, 1.3), 4) for _ in range(length)]
        busy = [round(40 * each, 2) for each in ratio]
        made.setdefault("ratio", []).append(ratio)
        made.setdefault("busy", []).append(busy)
        made.setdefault("waiting", []).append([round(20 * each, 2) for each in ratio])
        made.setdefault("idle", []).append([round(draw.expovariate(2000), 5) for _ in range(length)])
        made.setdefault("age", []).append([round(draw.uniform(0.5, 15.5), 3) for _ in range(length)])
    fixed = {str(value): [json.dumps([value] * length)] for value in (0, 1, 2, 3)}
    return {name: [json.dumps(each) for each in ways] for name, ways in made.items()} | fixed


def _series(number: int) -> Iterator[tuple[str, Mapping[str, str], str]]:
    """Name, labels and course of every series of a database that the board and its rules read."""
    trouble = number % 10 == 0
    own = {"db": f"db{number:06}", "env": "prod" if number % 4 else "test", "region": f"r{number % 5}"}
    if number % 5 == 1:
        own["rac"] = f"rac{number // 10:05}"
    severity = 0 if not trouble else 3 if number % 50 == 0 else 2
    cause = CAUSES[number // 10 % len(CAUSES)] if trouble else ""
    scraped = {**own, "job": "latchscope", "instance": f"site{number % 20}:8000", "site": f"site{number % 20}"}
    ratio, waiting = ("ratio", "waiting") if trouble else ("idle", "idle")
    yield "latchscope_up", scraped, str(int(number % 997 > 0))
    yield "latchscope_severity", scraped, str(severity)
    yield "latchscope_impact_ratio", scraped, ratio
    yield "latchscope_impact_sessions", scraped, waiting
    yield "latchscope_data_age_seconds", scraped, "age"
    yield "db:latchscope_seen:timestamp", own, "1"
    yield "db:latchscope_impact:sessions", own, waiting
    yield "db:latchscope_db_time_seconds:rate5m", own, "busy"
    begun = {"cause": cause, "cache": "dc_users" if trouble else ""}
    words = {**begun, "severity": ("info", "", "warning", "critical")[severity]}
    said = dict.fromkeys(("title", "action", "check", "do_not"), f"What the page says here of {cause or 'nothing'}.")
    yield "latchscope_verdict_info", {**scraped, **words, **said}, "1"
    if trouble:
        yield "latchscope_finding", {**scraped, **words}, "1"
        yield "latchscope_episode_begin_timestamp_seconds", {**scraped, **begun}, "1"
        firing = {"alertname": "LatchscopeFindingActive", "alertstate": "firing"}
        yield "ALERTS", {**own, **words, **firing}, "1"
    if number % 100 == 0:
        yield "latchscope_verified_remedies_total", {**scraped, "cause": cause}, "1"
        yield "latchscope_verified_remedy_seconds_total", {**scraped, "cause": cause}, "1"


def _load(url: str, databases: int, seconds: float) -> int:
    """Import every series, and some minutes of the future, so that the panels ask about the present. Their number."""
    began = time.monotonic()
    end = int(time.time() + 600 + 2400 * databases / 100_000) // EVERY * EVERY
    times = list(range(int(time.time() - seconds), end, EVERY))
    courses, stamps = _courses(len(times)), json.dumps([1000 * each for each in times])
    lines, count = list[str](), 0
    for number in range(databases):
        for name, labels, course in _series(number):
            ways = courses[course]
            metric = json.dumps({"__name__": name, **{key: value for key, value in labels.items() if value}})
            lines.append(f'{{"metric":{metric},"values":{ways[number % len(ways)]},"timestamps":{stamps}}}')
        if len(lines) > AT_ONCE or number == databases - 1:
            urlopen(Request(f"{url}/api/v1/import", "\n".join(lines).encode()), timeout=600).close()
            count += len(lines)
            lines.clear()
    urlopen(f"{url}/internal/force_flush", timeout=600).close()
    _told(f"{count:,} series of {databases:,} databases loaded in {time.monotonic() - began:.0f} s")
    return count


def _replayed(words: Sequence[str], seconds: float) -> None:
    """Evaluate the rules over the past, so that the graphs have their ranks."""
    began = time.monotonic()
    first, last = (time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago)) for ago in (seconds, 0))
    more = [f"-replay.timeFrom={first}", f"-replay.timeTo={last}", "-replay.rulesDelay=500ms"]
    more.append("-replay.disableProgressBar")
    done = subprocess.run(["vmalert", *words, *more], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    _told(f"rules evaluated over the past in {time.monotonic() - began:.0f} s")


def board() -> Mapping[str, Sequence[tuple[str, bool]]]:
    """Title of a panel → its queries: the text, and whether it is about one moment."""
    made = json.loads(BOARD.read_text(encoding="utf-8"))
    every = [each for one in made["panels"] for each in (one, *one.get("panels", []))]
    return {
        panel["title"]: [(_filled(target["expr"]), target["instant"]) for target in panel["targets"]]
        for panel in every
        if "targets" in panel
    }


def _filled(expr: str) -> str:
    for name, value in FILLED.items():
        expr = expr.replace(name, value)
    return expr


def _took(url: str, queries: Sequence[tuple[str, bool]], engine: int) -> tuple[float, float, int]:
    """Seconds of the clock and of the engine's processor for the queries of a panel, and how many series they give."""
    began, worked, series = time.perf_counter(), _processor(engine), 0
    for expr, instant in queries:
        now = int(time.time()) // STEP * STEP
        when = {"time": now} if instant else {"start": now - RANGE, "end": now, "step": STEP}
        asked = Request(f"{url}/api/v1/query{'' if instant else '_range'}", urlencode({"query": expr, **when}).encode())
        with urlopen(asked, timeout=120) as answer:
            series += len(json.load(answer)["data"]["result"])
    return time.perf_counter() - began, _processor(engine) - worked, series


def _processor(pid: int) -> float:
    """Seconds of all threads of a process."""
    counted = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(counted[11]) + int(counted[12])) / os.sysconf("SC_CLK_TCK")


def _evaluated(url: str, times: int) -> tuple[float, float]:
    """Mean and most seconds of an evaluation of the rules, once there are so many."""
    until = time.monotonic() + 600
    while True:
        with urlopen(f"{url}/metrics", timeout=10) as answer:
            lines = re.findall(r"^vmalert_iteration_duration_seconds(.*) (\S+)$", answer.read().decode(), re.MULTILINE)
        told = {re.sub(r'\{.*?(quantile="1")?\}', r"\1", labels): float(value) for labels, value in lines}
        if (count := told.get("_count", 0)) >= times:
            return told["_sum"] / count, told['quantile="1"']
        assert time.monotonic() < until, "vmalert evaluates nothing"
        time.sleep(1)


def _most_memory(pid: int) -> float:
    """The peak of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


@contextmanager
def _running(words: Sequence[str], url: str, folder: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """A program that listens there, as soon as it answers, until the block ends."""
    log = folder / f"{words[0]}.log"
    with log.open("wb") as file:
        process = subprocess.Popen([*words, f"-httpListenAddr={url.removeprefix('http://')}"], stdout=file, stderr=file)
    try:
        while True:
            assert process.poll() is None, log.read_text(encoding="utf-8")[-3000:]
            try:
                urlopen(f"{url}/health", timeout=10).close()
                break
            except OSError:
                time.sleep(0.1)
        yield process
    finally:
        process.terminate()
        process.wait(120)
