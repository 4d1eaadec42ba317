"""`latchscope whatif`: what a change of gets, children, batch, processes or timer would make of a child latch."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from collectors.errors import InputError
from rules.contention.calibration import NotPredictable
from service.cli.compare import change_of, opened_store
from service.cli.options import CONFIG, ConfigOption, StoreOption, fail
from service.history.comparison import CannotCompare
from service.history.whatif import WINDOW, Observed, answer, of_change, of_store
from service.history.whatif_model import EstimateOut, WhatIfIn, WhatIfOut
from service.state.window import BadWindow, parse_duration

MILLISECONDS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


def whatif(
    subject: Annotated[str, typer.Argument(metavar="DB|FILE", help="a database of the store, or a capture")],
    cache: Annotated[
        str | None, typer.Option(help="cache whose child latch is meant; the one with most sleeps")
    ] = None,
    gets: Annotated[
        float | None, typer.Option(help="gets per unit of work, as a factor: 0.2 is a fall of 80 %")
    ] = None,
    children: Annotated[int | None, typer.Option(help="latches in place of one")] = None,
    batch: Annotated[float | None, typer.Option(help="units of work per get; needs --hold")] = None,
    hold: Annotated[float | None, typer.Option(help="hold time, as a factor")] = None,
    processes: Annotated[str | None, typer.Option(help="active sessions as a factor, such as 2x")] = None,
    timer: Annotated[str | None, typer.Option(help="grain of the timer waiters sleep on, such as 1ms")] = None,
    timer_now: Annotated[str | None, typer.Option(help="its grain now, where waiters do sleep on one")] = None,
    window: Annotated[
        str | None, typer.Option(help="with a database: how much of the past to model, such as 30m")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    store: StoreOption = None,
    config: ConfigOption = CONFIG,
) -> None:
    """Try a change on paper: misses, work and sleeps of a child latch, each with its interval, or why nothing can be said."""
    asked = _asked(cache, gets, children, batch, hold, processes, timer, timer_now)
    try:
        found = answer(_observed(subject, asked.cache, window, store, config), asked)
    except (NotPredictable, InputError, CannotCompare, BadWindow) as error:
        fail(str(error))
    typer.echo(found.model_dump_json(indent=2) if as_json else as_text(found))


def _asked(
    cache: str | None,
    gets: float | None,
    children: int | None,
    batch: float | None,
    hold: float | None,
    processes: str | None,
    timer: str | None,
    timer_now: str | None,
) -> WhatIfIn:
    changes = (gets, children, batch, hold, processes, timer)
    if all(change is None for change in changes):
        fail("say what is to change: --gets, --children, --batch with --hold, --hold, --processes or --timer")
    if timer is not None and any(change is not None for change in changes[:-1]):
        fail("--timer is tried by itself; ask for the other changes without it")
    for name, value in (("--gets", gets), ("--children", children), ("--batch", batch), ("--hold", hold)):
        if value is not None and not 0 < value < 1e6:
            fail(f"{name} {value:g} is not above 0")
    return WhatIfIn(
        cache=cache,
        gets=gets,
        children=children,
        batch=batch,
        hold=hold,
        processes=None if processes is None else _factor(processes),
        timer_ms=None if timer is None else _milliseconds("--timer", timer),
        timer_now_ms=None if timer_now is None else _milliseconds("--timer-now", timer_now),
    )


def _factor(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)x?", text)
    if found is None or float(found[1]) <= 0:
        fail(f"--processes {text} is not a factor such as 2x or 0.5x")
    return float(found[1])


def _milliseconds(name: str, text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms|s)", text)
    if found is None or float(found[1]) <= 0:
        fail(f"{name} {text} is not a time such as 1ms or 100us")
    return float(found[1]) * MILLISECONDS[found[2]]


def _observed(subject: str, cache: str | None, window: str | None, store: str | None, config: Path) -> Observed:
    if Path(subject).exists():
        if window is not None:
            fail("--window chooses from the store; a file holds one interval")
        return of_change(subject, change_of(subject), cache)
    if store is None and not config.exists():
        fail(f"{subject} is no file, and there is no configuration {config} to look a database up in")
    length: timedelta = WINDOW if window is None else parse_duration("--window", window)
    with opened_store(store, config, subject) as opened:
        return of_store(opened, subject, cache, datetime.now(UTC), length)


def as_text(found: WhatIfOut) -> str:
    """The sentence, what it rests on, the figures, and what to remember."""
    lines = [
        f"{found.database}, child {found.child} ({found.cache}): {found.statement}",
        f"calibrated on {found.intervals} interval(s), confidence {found.confidence}: "
        f"{found.active_sessions:.1f} active sessions, latch occupied {found.hold_seconds * 1e6:.2f} µs a get, "
        f"{found.think_seconds * 1e6:.1f} µs between gets of a session",
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
    return "\n".join([*lines, *(f"Note: {note}" for note in found.notes)])


def _cells(figure: EstimateOut) -> str:
    return "".join(
        f"{'–' if value is None else f'{value:.4g}':>12}"
        for value in (figure.now, figure.value, figure.low, figure.high)
    )
