"""Signals of the dictionary caches themselves: gets, misses, changes and entries of the caches a cause is about."""

from collectors.model import Missing, Row
from rules.scene import MINIMUM_CACHE_GETS, Known, Reading, Scene, Unknown
from rules.signals import Subject, share, signal
from rules.words import count


def _cache_rows(scene: Scene, subject: Subject) -> tuple[Row, ...]:
    return tuple(row for row in scene.delta.rows("v$rowcache") if row.get("parameter") in subject.caches)


def _cache_sum(scene: Scene, subject: Subject, column: str) -> Reading:
    """A column of v$rowcache summed over the subject's caches; zero when the instance has no such cache."""
    if isinstance(scene.delta.read("v$rowcache"), Missing):
        return scene.why_unknown("v$rowcache", column)
    rows = _cache_rows(scene, subject)
    if not rows:
        return Known(0.0, f"no cache named {' or '.join(subject.caches)} here")
    total = scene.sum_of(rows, column)
    return scene.why_unknown("v$rowcache", column) if total is None else Known(total)


def all_dictionary_gets(scene: Scene) -> Reading:
    """Gets of all dictionary caches together, or Unknown: not readable, or fewer than a share can be made of."""
    gets = scene.sum_of(scene.delta.rows("v$rowcache"), "gets")
    if gets is None:
        return scene.why_unknown("v$rowcache", "gets")
    if gets < MINIMUM_CACHE_GETS:
        why = f"too few events: {count(gets)} dictionary gets, at least {count(MINIMUM_CACHE_GETS)} are needed"
        return Unknown("v$rowcache", why, "wait for a busier interval")
    return Known(gets)


@signal(unit="ratio", of="v$rowcache")
def share_of_dictionary_gets(scene: Scene, subject: Subject) -> Reading:
    """Share of all dictionary gets that went to the cause's caches."""
    return share(_cache_sum(scene, subject, "gets"), all_dictionary_gets(scene))


@signal(unit="ratio", of="v$rowcache")
def modification_ratio(scene: Scene, subject: Subject) -> Reading:
    """Modifications per get of the cause's caches: DDL, sequences, undo segments going online."""
    gets = _cache_sum(scene, subject, "gets")
    if isinstance(gets, Known) and gets.value == 0:
        return Known(0.0, "no gets")
    return share(_cache_sum(scene, subject, "modifications"), gets)


@signal(unit="ratio", of="v$rowcache")
def getmiss_ratio(scene: Scene, subject: Subject) -> Reading:
    """Gets of the cause's caches that had to load the entry, per get."""
    gets = _cache_sum(scene, subject, "gets")
    if isinstance(gets, Known) and gets.value == 0:
        return Known(0.0, "no gets")
    return share(_cache_sum(scene, subject, "getmisses"), gets)


@signal(unit="entries", of="v$rowcache")
def entries_used(scene: Scene, subject: Subject) -> Reading:
    """Entries with valid data in the cause's caches; for dc_rollback_segments about the number of undo segments."""
    return _cache_sum(scene, subject, "usage")


@signal(unit="gets per execution", of="v$rowcache, v$sysstat")
def gets_per_execution(scene: Scene, subject: Subject) -> Reading:
    """Gets of the cause's caches per SQL execution."""
    gets = _cache_sum(scene, subject, "gets")
    executions = scene.work("execute count")
    if isinstance(gets, Unknown):
        return gets
    if not executions:
        return scene.why_unknown("v$sysstat", "execute count")
    return Known(gets.value / executions, f"{count(gets.value)} gets in {count(executions)} executions")
