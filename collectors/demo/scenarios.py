"""Scripted databases for the demo and for tests, as scenarios.yaml has them, with the loads and row caches they are made of."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from collectors import data_beside
from collectors.demo.load import (
    Cache,
    Child,
    Phase,
    Scenario,
    ScriptedBlocker,
    ScriptedChange,
    ScriptedHang,
    ScriptedHolder,
    ScriptedLoad,
    ScriptedWaiters,
    ramp,
)

Members = Mapping[str, Any]


@cache
def scenarios() -> Mapping[str, Scenario]:
    """Name → scenario, by name."""
    every = sorted(_written()["scenarios"].items())
    return {name: Scenario(name=name, **_made(members, _OF_SCENARIO)) for name, members in every}


BY_NAME = ("gets", "events", "seconds", "statistics", "latches")
"""The rates that a load takes over from the one it is like, but for those it names."""


@cache
def loads() -> Mapping[str, ScriptedLoad]:
    """Name → load."""
    found: dict[str, dict[str, Any]] = {}
    for name, own in _written()["loads"].items():
        like = found.get(own.get("like"), {})
        load = found[name] = {**like, **own} | {each: {**like.get(each, {}), **own.get(each, {})} for each in BY_NAME}
        load.pop("like", None)
        if fast := load.pop("fast", {}):
            load["fastgets"] = {each: load["gets"][each] * share for each, share in fast.items()}
            load["gets"] = {each: rate * (1 - fast.get(each, 0.0)) for each, rate in load["gets"].items()}
    return {name: ScriptedLoad(**_made(members, _OF_LOAD)) for name, members in found.items()}


@cache
def row_caches() -> Mapping[str, tuple[Cache, ...]]:
    """Release → the row caches of an instance."""
    found: dict[str, tuple[Cache, ...]] = {}
    for release, own in _written()["caches"].items():
        like = (row for row in found.get(own.get("like"), ()) if row.name != own["without"])
        found[release] = (*like, *(_cache(*row) for row in own["rows"]))
    return found


# From the members of the file to those of the classes.


@cache
def _written() -> Members:
    members: Members = data_beside(__file__)
    return members


def _made(members: Members, kinds: Mapping[str, Callable[[Any], object]]) -> dict[str, Any]:
    """The members of a class from those of the file: as they are, or as its kind makes them."""
    return {name: kinds[name](value) if name in kinds else value for name, value in members.items()}


def _each(kind: Callable[..., object]) -> Callable[[Sequence[Members]], tuple[object, ...]]:
    return lambda every: tuple(kind(**members) for members in every)


def _texts(by_name: Members) -> Members:
    """Answers by the text of their statement."""
    return {_written()["statements"][name]: answer for name, answer in by_name.items()}


def _phases(listed: Sequence[tuple[float, *tuple[str, ...]]]) -> Iterator[Phase]:
    for seconds, *names in listed:
        first, last = loads()[names[0]], loads()[names[-1]]
        yield from ramp(first, last, seconds) if first is not last else [(seconds, first)]


def _cache(child: int, number: int, name: str, entries: int, extra: float, subordinate: int | None = None) -> Cache:
    if subordinate is None:
        return Cache(child, number, name, entries=entries, extra_gets=extra)
    return Cache(child, number, name, "SUBORDINATE", subordinate, entries, extra)


def _hang(holder: Members, **members: Any) -> ScriptedHang:
    return ScriptedHang(holder=ScriptedBlocker(**holder), **members)


def _tuples(listed: Sequence[Sequence[object]]) -> tuple[tuple[object, ...], ...]:
    return tuple(map(tuple, listed))


_OF_LOAD: Mapping[str, Callable[[Any], object]] = {
    "children": lambda children: {child: Child(**rates) for child, rates in children.items()},
    "waiting": _each(ScriptedWaiters),
    "holding": _each(ScriptedHolder),
    "answers": _texts,
    "names": lambda names: {text: tuple(rows) for text, rows in _texts(names).items()},
}
_OF_SCENARIO: Mapping[str, Callable[[Any], object]] = {
    "caches": lambda release: row_caches()[release],
    "ordinary": lambda name: loads()[name],
    "loop": lambda listed: tuple(_phases(listed)),
    "past": lambda listed: tuple(_phases(listed)),
    "events": tuple,
    "container": tuple,
    "marks": _tuples,
    "past_marks": _tuples,
    "hangs": _each(_hang),
    "changes": _each(ScriptedChange),
}
