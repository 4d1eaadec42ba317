"""`latchscope whatif`: what a change of gets, children, batch, processes or timer does to a child latch."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from collectors.errors import InputError
from rules.contention.holds import NotPredictable
from rules.formatting import rough
from service.cli.common import CONFIG, ConfigOption, StoreOption
from service.cli.compare import change_of, opened_store
from service.cli.messages import fail
from service.history.comparison import CannotCompare
from service.history.whatif import WINDOW, EstimateOut, Observed, WhatIfIn, WhatIfOut, answer, of_change, of_store
from service.render.parts import wrapped
from service.state.window import BadWindow, parse_duration

MILLISECONDS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


def whatif(
    subject: Annotated[str, typer.Argument(metavar="DB|FILE", help="a database of the store, or a capture")],
    cache: Annotated[
        str | None, typer.Option(help="cache of the child latch; default: the child with most sleeps")
    ] = None,
    gets: Annotated[
        str | None, typer.Option(metavar="FACTOR", help="multiply gets by this: 0.2 or 20% for 80 % fewer")
    ] = None,
    children: Annotated[str | None, typer.Option(metavar="NUMBER", help="latches instead of one")] = None,
    batch: Annotated[str | None, typer.Option(metavar="NUMBER", help="units of work per get; needs --hold")] = None,
    hold: Annotated[str | None, typer.Option(metavar="FACTOR", help="hold time: 0.5 or 50% is half of it")] = None,
    processes: Annotated[str | None, typer.Option(metavar="FACTOR", help="active sessions, such as 2x")] = None,
    timer: Annotated[str | None, typer.Option(help="grain of the timer waiters sleep on, such as 1ms")] = None,
    timer_now: Annotated[str | None, typer.Option(help="its current grain, if waiters sleep on one")] = None,
    window: Annotated[
        str | None, typer.Option(help="with a database: how much of the past to model, such as 30m")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    store: StoreOption = None,
    config: ConfigOption = CONFIG,
) -> None:
    """Try a change on paper: misses, work and sleeps of a child latch, each with its interval, or why there is no prediction."""
    try:
        observed = _observed(subject, cache, window, store, config)
        found = answer(observed, _asked(cache, gets, children, batch, hold, processes, timer, timer_now))
    except (NotPredictable, InputError, CannotCompare, BadWindow) as error:
        fail(str(error))
    typer.echo(found.model_dump_json(indent=2) if as_json else as_text(found))


def _asked(
    cache: str | None,
    gets: str | None,
    children: str | None,
    batch: str | None,
    hold: str | None,
    processes: str | None,
    timer: str | None,
    timer_now: str | None,
) -> WhatIfIn:
    given = {
        "gets": _read(_factor, "--gets", gets),
        "children": _read(_whole, "--children", children),
        "batch": _read(_batch, "--batch", batch),
        "hold": _read(_factor, "--hold", hold),
        "processes": _read(_times, "--processes", processes),
        "timer_ms": _read(_milliseconds, "--timer", timer),
        "timer_now_ms": _read(_milliseconds, "--timer-now", timer_now),
    }
    asked = WhatIfIn.model_validate({"cache": cache} | {name: each for name, each in given.items() if each is not None})
    if (problem := asked.problem(_option)) is not None:
        fail(problem)
    return asked


def _option(field: str) -> str:
    return f"--{field.removesuffix('_ms').replace('_', '-')}"


def _read(reader: Callable[[str, str], float], name: str, text: str | None) -> float | None:
    return None if text is None else reader(name, text)


def _factor(name: str, text: str) -> float:
    found = re.fullmatch(r"(\d*\.?\d+)(%|x?)", text.replace(" ", ""))
    if found is None or not float(found[1]):
        fail(f"{name} {text} is not a factor above 0, such as 0.5 or 50%")
    return float(found[1]) / (100 if found[2] == "%" else 1)


def _whole(name: str, text: str) -> int:
    if re.fullmatch(r"[1-9]\d{0,2}|10[01]\d|102[0-4]", text) is None:
        fail(f"{name} {text} is not a whole number from 1 to 1024")
    return int(text)


def _batch(name: str, text: str) -> float:
    if re.fullmatch(r"\d{1,6}(\.\d+)?", text) is None or float(text) < 1:
        fail(f"{name} {text} is not a number of units of work per get, 1 or more")
    return float(text)


def _times(name: str, text: str) -> float:
    found = re.fullmatch(r"(\d*\.?\d+)x", text)
    if found is None or not float(found[1]):
        fail(f"{name} {text} is not a factor of the sessions active now: write 2x for twice as many")
    return float(found[1])


def _milliseconds(name: str, text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms|s)", text)
    if found is None or float(found[1]) <= 0:
        fail(f"{name} {text} is not a time, such as 1ms or 100us")
    return float(found[1]) * MILLISECONDS[found[2]]


def _observed(subject: str, cache: str | None, window: str | None, store: str | None, config: Path) -> Observed:
    if Path(subject).exists():
        if window is not None:
            fail("--window chooses from the store; a file holds one interval")
        return of_change(subject, change_of(subject), cache)
    if store is None and not config.exists():
        fail(
            f"{subject} is not a file, and there is no configuration {config} with databases; name a capture, or "
            "give --config FILE or --store URL"
        )
    length: timedelta = WINDOW if window is None else parse_duration("--window", window)
    with opened_store(store, config, subject) as opened:
        return of_store(opened, subject, cache, datetime.now(UTC), length)


def as_text(found: WhatIfOut) -> str:
    """The sentence, its basis, the figures, and the notes."""
    cache = "cache unknown" if found.cache == "unknown" else found.cache
    intervals = "1 interval" if found.intervals == 1 else f"{found.intervals} intervals"
    lines = [
        *wrapped(f"{found.database}, child {found.child} ({cache}): {found.statement}"),
        *wrapped(
            f"calibrated on {intervals}, confidence {found.confidence}: {found.active_sessions:.1f} active sessions, "
            f"latch occupied {_time(found.hold_seconds)} a get, {_time(found.think_seconds)} between gets of a session"
        ),
        "",
    ]
    figures: list[tuple[str, EstimateOut | None]] = [
        ("work done (factor)", found.work),
        ("misses per get", found.miss_ratio),
        ("misses (factor)", found.misses),
        ("utilisation", found.utilisation),
        ("sleeps per second", found.sleeps_per_second),
    ]
    lines.append(f"{'':20}{'now':>12}{'then':>12}{'at least':>12}{'at most':>12}")
    lines += [f"{name:20}{_cells(figure)}" for name, figure in figures if figure is not None]
    if (spun := found.spinning) is not None:
        lines += wrapped(
            f"Spinning costs {rough(spun.value)} [{rough(spun.low)}..{rough(spun.high)}] processors now, "
            "which wait_time does not count."
        )
    return "\n".join([*lines, *(line for note in found.notes for line in wrapped(f"Note: {note}"))])


def _time(seconds: float) -> str:
    """0.0000033 → 3.3 µs."""
    if seconds < 1e-6:
        return f"{rough(seconds * 1e9)} ns"
    return f"{rough(seconds * 1e6)} µs" if seconds < 1e-3 else f"{rough(seconds * 1e3)} ms"


def _cells(figure: EstimateOut) -> str:
    return "".join(
        f"{'–' if value is None else rough(value) if abs(value) >= 1000 else f'{value:.4g}':>12}"
        for value in (figure.now, figure.value, figure.low, figure.high)
    )
