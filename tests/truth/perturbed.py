"""Small changes of an instance that leave its truth as it is: the verdict on it should stay."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone

from collectors.model import ColumnKind, Reading, Row, Rows, Snapshot, Value
from collectors.registry import collectors
from tests.truth.dice import Dice

Pair = tuple[Snapshot, Snapshot]
NOISE = (0.97, 1.03)
INTERVALS = (10.0, 60.0, 600.0)
TIMES = 5
"""Draws of the noise."""
ZONE = timezone(timedelta(hours=5, minutes=30))
SHIFT = timedelta(hours=7)
LOCAL = "%Y-%m-%d %H:%M:%S"
CHILDREN = "v$latch_children"
FIRST_IDLE = 1000
"""Numbers of the idle children that are added; no instance has as many."""


@dataclass(frozen=True, slots=True)
class Perturbed:
    """One changed instance, and the kind of change."""

    kind: str
    begin: Snapshot
    end: Snapshot
    lasting: bool = False
    """Whether the interval has another length."""


def perturbed(seed: int, begin: Snapshot, end: Snapshot) -> Iterator[Perturbed]:
    """Every change of one instance. The seed draws noise and orders."""
    pair = begin, end
    for number in range(TIMES):
        yield Perturbed("counters × 0.97–1.03", *_noisy(pair, Dice(seed, number)))
    for seconds in INTERVALS:
        yield Perturbed(f"interval {seconds:.0f} s", *_lasting(pair, seconds), lasting=True)
    yield Perturbed("clock in another time zone", *(replace(one, taken_at=_at(one).astimezone(ZONE)) for one in pair))
    yield Perturbed("all times 7 h later", *map(_later, pair))
    for number in range(2):
        yield Perturbed("rows and columns permuted", *(_permuted(one, Dice(seed, number)) for one in pair))
    if isinstance(end.readings.get(CHILDREN), Rows):
        yield Perturbed("idle children doubled", *map(_more_children, pair))


def _noisy(pair: Pair, dice: Dice) -> Pair:
    """Every change of a counter by a factor of its own."""
    return _counted(pair, lambda: dice.between(*NOISE))


def _lasting(pair: Pair, seconds: float) -> Pair:
    """As many events per second, for so many seconds."""
    begin, end = pair
    factor = seconds / (_at(end) - _at(begin)).total_seconds()
    (up,) = (row["uptime_seconds"] for row in end.rows("v$instance"))
    started = _each_view(
        begin,
        lambda reading: replace(
            reading,
            rows=tuple(
                row | {"uptime_seconds": up - seconds} if "uptime_seconds" in row else row for row in reading.rows
            ),
        ),
    )
    return _counted((replace(started, taken_at=_at(end) - timedelta(seconds=seconds)), end), lambda: factor)


def _counted(pair: Pair, factor: Callable[[], float]) -> Pair:
    """Counters begin as they are, and end after another change."""
    begin, end = pair
    return begin, _each_view(end, lambda reading: _scaled(begin, reading, factor))


def _scaled(begin: Snapshot, end: Rows, factor: Callable[[], float]) -> Rows:
    columns = collectors()[end.view].columns
    keys = [column.name for column in columns if column.kind is ColumnKind.KEY]
    counters = [column.name for column in columns if column.kind is ColumnKind.COUNTER]
    first = {_key(row, keys): row for row in begin.rows(end.view)}
    rows: list[Row] = []
    for row in end.rows:
        before = first.get(_key(row, keys), {})
        rows.append(
            {**row, **{name: _moved(before.get(name), row[name], factor()) for name in counters if name in row}}
        )
    return replace(end, rows=tuple(rows))


def _key(row: Row, keys: list[str]) -> tuple[Value, ...]:
    return tuple(row.get(name) for name in keys)


def _moved(begin: Value, end: Value, factor: float) -> Value:
    if not isinstance(end, int):
        return end
    first = begin if isinstance(begin, int) else 0
    return first + round((end - first) * factor)


def _later(snapshot: Snapshot) -> Snapshot:
    """Every time of the instance and of its clock."""
    return replace(
        _each_row(snapshot, lambda row: {name: _moved_time(value) for name, value in row.items()}),
        taken_at=_at(snapshot) + SHIFT,
    )


def _moved_time(value: Value) -> Value:
    if not isinstance(value, str):
        return value
    try:
        return (datetime.strptime(value, LOCAL).replace(tzinfo=UTC) + SHIFT).strftime(LOCAL)
    except ValueError:
        return value


def _permuted(snapshot: Snapshot, dice: Dice) -> Snapshot:
    """Rows in another order, and the columns of each as well."""

    def shuffled(rows: tuple[Row, ...]) -> tuple[Row, ...]:
        return tuple(_reordered(rows[place], dice) for place in dice.sample(len(rows), len(rows)))

    return _each_view(snapshot, lambda reading: replace(reading, rows=shuffled(reading.rows)))


def _reordered(row: Row, dice: Dice) -> Row:
    names = list(row)
    return {names[place]: row[names[place]] for place in dice.sample(len(names), len(names))}


def _more_children(snapshot: Snapshot) -> Snapshot:
    """As many children again that nobody asks for."""
    reading = snapshot.readings[CHILDREN]
    assert isinstance(reading, Rows)
    counters = {column.name for column in collectors()[CHILDREN].columns if column.kind is ColumnKind.COUNTER}
    idle: list[Row] = [
        {
            **{name: 0 if name in counters else value for name, value in row.items()},
            "child#": FIRST_IDLE + number,
            "addr": f"{FIRST_IDLE + number:016X}",
        }
        for number, row in enumerate(reading.rows)
    ]
    return replace(snapshot, readings={**snapshot.readings, CHILDREN: replace(reading, rows=(*reading.rows, *idle))})


def _each_row(snapshot: Snapshot, changed: Callable[[Row], Row]) -> Snapshot:
    return _each_view(snapshot, lambda reading: replace(reading, rows=tuple(map(changed, reading.rows))))


def _each_view(snapshot: Snapshot, changed: Callable[[Rows], Rows]) -> Snapshot:
    readings: Mapping[str, Reading] = {
        view: changed(reading) if isinstance(reading, Rows) else reading for view, reading in snapshot.readings.items()
    }
    return replace(snapshot, readings=readings)


def _at(snapshot: Snapshot) -> datetime:
    assert snapshot.taken_at is not None
    return snapshot.taken_at
