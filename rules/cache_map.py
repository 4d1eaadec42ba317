"""Which dictionary caches each child latch guards: read from x$kqrst, else inferred from gets, else unknown.

A child guards one parent cache and its subordinates. The load model (three latch gets per parent get, one per
subordinate get) checks a map that was read, and replaces one that could not be read.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from collectors.model import Delta, Row, Value, cells, number, text
from rules.model import CacheRef, Identity

PARENT_LATCH_GETS = 3
SUBORDINATE_LATCH_GETS = 1
DISAGREEMENT = 0.15
"""A child's gets and those its caches predict may differ by this share. Above it the map is in doubt."""
INFERENCE_TOLERANCE = 0.02
Identifier = tuple[int, str, int | None]
"""cache#, type, subordinate#. The last one matters only for a subordinate."""
MINIMUM_GETS = 1000
"""With fewer gets in the interval, they neither infer nor check a map."""


@dataclass(frozen=True)
class GuardedCaches:
    """The caches behind one child, and their rows of v$rowcache (empty when unreadable)."""

    child: int
    caches: tuple[CacheRef, ...]
    rows: tuple[Row, ...]
    identity: Identity

    @cached_property
    def name(self) -> str | None:
        """Names of the parent caches, joined by + if there are several. None if no name could be read."""
        parents = [cache.parameter for cache in self.caches if cache.type == "PARENT" and cache.parameter]
        return "+".join(sorted(set(parents))) or None

    @property
    def predicted_gets(self) -> float | None:
        """Latch gets that the dictionary gets of these caches should take."""
        return predicted_latch_gets(self.rows)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A child whose latch gets do not fit the caches that the map gives it."""

    child: int
    name: str | None
    gets: float
    predicted: float

    def __str__(self) -> str:
        off = self.gets / self.predicted - 1 if self.predicted else float("inf")
        return (
            f"child {self.child} had {self.gets:,.0f} latch gets where {self.name or 'its caches'} predict "
            f"{self.predicted:,.0f} ({off:+.0%}): the map is wrong, or the views were read at different moments"
        )


@dataclass(frozen=True, slots=True)
class HotSpot:
    """The place of most sleeps, as far as it is known. Headline, steps and findings all use it.

    A child of None: the hottest child is unknown. A cache of None: its name is unknown, or the map is in doubt.
    """

    child: int | None
    cache: str | None
    doubt: str | None

    @property
    def words(self) -> str:
        """`child 1 (dc_rollback_segments)`. A cache in doubt has no name here."""
        named = "its cache is in doubt" if self.doubt else self.cache
        return f"child {self.child}" + (f" ({named})" if named else "")


@dataclass(frozen=True)
class CacheMap:
    """Child number → what it guards. A child that is absent is unknown."""

    children: Mapping[int, GuardedCaches] = field(default_factory=dict)
    disagreements: tuple[Disagreement, ...] = ()
    idle: Mapping[int, GuardedCaches] = field(default_factory=dict)
    """Children that this interval does not name, as an earlier one of the same instance start named them."""

    @property
    def lasts(self) -> bool:
        """Whether the instance itself named all of it, so that it stays until the instance restarts."""
        return bool(self.children) and all(each.identity is Identity.READ for each in self.children.values())

    @property
    def bare(self) -> "CacheMap":
        """This map without the rows of its interval, to be kept."""
        return replace(self, children={child: replace(each, rows=()) for child, each in self.children.items()})

    def name(self, child: int) -> str:
        """The label of a child's cache: its parent caches' names, or `unknown`."""
        guarded = self.children.get(child)
        return (guarded.name if guarded else None) or "unknown"

    def after(self, earlier: "CacheMap") -> "CacheMap":
        """This map with the names that idle children had. An idle child infers nothing, so its series would lose its name."""
        if earlier.children.keys() <= self.children.keys() and earlier.idle.keys() <= self.children.keys():
            return self
        taken = {guarded.name for guarded in self.children.values()}
        known = {**earlier.idle, **earlier.children}
        idle = {c: guarded for c, guarded in known.items() if c not in self.children and guarded.name not in taken}
        return replace(self, idle=idle)

    def series_name(self, child: int) -> str:
        """The cache's name in series: it stays while the instance runs. `unknown` if it never had one."""
        guarded = self.children.get(child) or self.idle.get(child)
        return (guarded.name if guarded else None) or "unknown"

    @property
    def series_names(self) -> dict[int, str]:
        """Child → its name in series."""
        return {child: self.series_name(child) for child in (*self.idle, *self.children)}

    def hot_spot(self, child: int | None) -> "HotSpot":
        """The hottest child as this map knows it. None if the hottest child is unknown."""
        guarded = self.children.get(child) if child is not None else None
        doubt = next((str(disagreement) for disagreement in self.disagreements if disagreement.child == child), None)
        return HotSpot(child, guarded.name if guarded and doubt is None else None, doubt)

    def guarding(self, names: Iterable[str]) -> tuple[int, ...]:
        """Children that guard any cache of these names, lowest first."""
        return tuple(sorted({child for name in names for child in self._by_name.get(name, ())}))

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[int]]:
        found: dict[str, list[int]] = {}
        for child, guarded in self.children.items():
            for cache in guarded.caches:
                if cache.parameter is not None:
                    found.setdefault(cache.parameter, []).append(child)
        return found


def cache_map(delta: Delta) -> CacheMap:
    """The map of this instance, with its self-check."""
    read = delta.rows("x$kqrst")
    if not read and not delta.rows("v$latch_children"):
        return CacheMap()
    # A report sums a parent and its subordinates into a row without a type, which the load model cannot use.
    rows = delta.rows("v$rowcache")
    rowcache = {key: row for key, row in zip(identifiers(rows), rows, strict=True) if row.get("type") is not None}
    children = _read(read, rowcache) if read else _inferred(delta, list(rowcache.values()))
    return CacheMap(children, tuple(_disagreements(delta, children)))


def look_up(child: int) -> str:
    """How to name the cache of a child by hand, as the beginning of a sentence. A report has the child, never the map."""
    return (
        f"ask the instance as SYS, at any hour until it restarts: "
        f"`select kqrstcid, kqrsttxt from x$kqrst where kqrstcln = {child}`"
    )


def why_not_inferred(delta: Delta) -> str:
    """Why the gets of a child do not show its cache, as the end of a sentence."""
    if any(row.get("type") is None for row in delta.rows("v$rowcache")):
        return "the report prints sums of a parent and its subordinates, which do not give the gets of a child"
    return "its gets fit no cache, or several"


def predicted_latch_gets(rows: Iterable[Row]) -> float | None:
    """3 × parent gets + 1 × subordinate gets. None if a row's gets are unknown or there is no row.

    Only gets count: where child latches guard the caches there is no fast way, and gets take the latch.
    """
    predicted, any_row = 0.0, False
    for row in rows:
        gets = number(row.get("gets"))
        if gets is None:
            return None
        any_row = True
        predicted += gets * (PARENT_LATCH_GETS if row.get("type") == "PARENT" else SUBORDINATE_LATCH_GETS)
    return predicted if any_row else None


def cache_ref(row: Row, parameter: str | None) -> CacheRef:
    """A row of x$kqrst or v$rowcache as a reference to its cache."""
    return _cache_ref(identifiers([row])[0], parameter)


@lru_cache(4096)
def _cache_ref(named: Identifier, parameter: str | None) -> CacheRef:
    """Created once, because the same caches come with every poll of every database."""
    cache, kind, subordinate = named
    return CacheRef(cache_id=cache, parameter=parameter, type=kind, subordinate=subordinate)


def identifiers(rows: Sequence[Row]) -> list[Identifier]:
    """The keys of caches in x$kqrst and v$rowcache."""
    return [_identifier(*named) for named in cells(rows, ("cache#", "type", "subordinate#"))]


@lru_cache(4096, typed=True)
def _identifier(cache: Value, kind: Value, subordinate: Value) -> Identifier:
    """Created once, because the same caches come with every poll of every database."""
    part = number(subordinate)
    alone = kind == "PARENT" or part is None
    return int(number(cache) or 0), str(kind), None if alone else int(part or 0)


def _read(kqrst: Sequence[Row], rowcache: Mapping[Identifier, Row]) -> dict[int, GuardedCaches]:
    named = zip(kqrst, identifiers(kqrst), strict=True)
    grouped = _grouped(tuple([(row.get("child#"), key, rowcache.get(key, {}).get("parameter")) for row, key in named]))
    return {
        child: GuardedCaches(child, caches, tuple([rowcache[key] for key in keys if key in rowcache]), Identity.READ)
        for child, keys, caches in grouped
    }


@lru_cache(256)
def _grouped(
    named: Sequence[tuple[Value, Identifier, Value]],
) -> Sequence[tuple[int, Sequence[Identifier], tuple[CacheRef, ...]]]:
    """Each child with its caches, in order. Made once, because an instance has the same ones until it restarts."""
    grouped: dict[int, dict[Identifier, CacheRef]] = defaultdict(dict)
    for told, key, parameter in named:
        child = number(told)
        if child is not None:
            grouped[int(child)][key] = _cache_ref(key, text(parameter))
    ordered = ((child, sorted(caches, key=str), caches) for child, caches in sorted(grouped.items()))
    return tuple((child, tuple(keys), tuple(caches[key] for key in keys)) for child, keys, caches in ordered)


def _inferred(delta: Delta, rowcache: list[Row]) -> dict[int, GuardedCaches]:
    """Children whose gets fit exactly one group of caches, if that group fits no other child."""
    groups = [(group, predicted_latch_gets(group)) for group in _groups(rowcache)]
    fits: dict[int, list[int]] = {}
    for child, gets in delta.by_number("v$latch_children", "child#", "gets").items():
        if gets >= MINIMUM_GETS:
            fits[child] = [group for group, (_, predicted) in enumerate(groups) if _close(gets, predicted)]
    claims = [index for places in fits.values() for index in places]
    return {
        child: GuardedCaches(
            child,
            tuple(cache_ref(row, text(row.get("parameter"))) for row in groups[places[0]][0]),
            tuple(groups[places[0]][0]),
            Identity.INFERRED,
        )
        for child, places in sorted(fits.items())
        if len(places) == 1 and claims.count(places[0]) == 1
    }


def _close(gets: float, predicted: float | None) -> bool:
    return predicted is not None and abs(gets - predicted) <= INFERENCE_TOLERANCE * gets


def _groups(rowcache: list[Row]) -> list[list[Row]]:
    """Each parent with its subordinates: those with its cache#, or with its name if their cache# has no parent (11.2)."""
    ordered = sorted(rowcache, key=lambda row: str(identifiers([row])[0]))
    parents = [row for row in ordered if row.get("type") == "PARENT"]
    parent_ids = {row.get("cache#") for row in parents}

    def belongs(row: Row, parent: Row) -> bool:
        if row.get("cache#") in parent_ids:
            return row.get("cache#") == parent.get("cache#")
        return row.get("parameter") == parent.get("parameter")

    subordinates = [row for row in ordered if row.get("type") != "PARENT"]
    return [[parent, *(row for row in subordinates if belongs(row, parent))] for parent in parents]


def _disagreements(delta: Delta, children: Mapping[int, GuardedCaches]) -> Iterable[Disagreement]:
    for child, gets in sorted(delta.by_number("v$latch_children", "child#", "gets").items()):
        guarded = children.get(child)
        predicted = guarded.predicted_gets if guarded else None
        if guarded is None or predicted is None or max(gets, predicted) < MINIMUM_GETS:
            continue
        if abs(gets - predicted) > DISAGREEMENT * max(gets, predicted):
            yield Disagreement(guarded.child, guarded.name, gets, predicted)
