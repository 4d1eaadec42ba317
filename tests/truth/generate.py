"""case(): the instance of a seed, its interval as two snapshots, and its truth. The same seed always gives the same."""

from dataclasses import dataclass, replace

from collectors.capture import Capture
from collectors.model import Snapshot
from tests.truth.dice import Dice
from tests.truth.instance import Instance, ordinary
from tests.truth.outcome import ROW_CACHE_EVENTS, Outcome, come_out
from tests.truth.parts import Hang, Who
from tests.truth.plan import Setting, setting_of
from tests.truth.recording import DATABASE, FULL, snapshots
from tests.truth.registry import MECHANISMS, Mechanism
from tests.truth.releases import EVERY, Release, releases
from tests.truth.sessions import LONGEST_BURST
from tests.truth.truth import STRENGTHS, Trouble, Truth

INTERVALS = (15.0, 15.0, 15.0, 30.0, 60.0, 60.0, 300.0, 900.0, 1800.0, 3600.0)
LONGEST = 3600.0
FEWEST_WAITS = 25
"""If a trouble made fewer waits than this, the interval shows nothing, and a longer one is drawn."""
LEAST_SESSIONS = 1.5
"""Sessions that must be active before they can block each other."""
TRIES, MOST_TIMES_BASE = 4, 4.0
IN_A_PAIR = (0.09, 0.28)
IN_A_CROWD, LONG_ENOUGH = (0.5, 0.7), 60.0
"""Share of DB time, and seconds that 60 looks take at least."""
EDITION = 3
"""Part of every seed. A new edition of the generator gives new instances, which nobody has looked at."""
BESIDE = (0.008, 0.12)
"""Seconds a second that a look-alike costs in row cache waits, per active session."""


@dataclass(frozen=True, slots=True)
class Draw:
    """What the seeds give: another edition gives other instances. `intervals` are the seconds that an interval may last."""

    edition: int = EDITION
    intervals: tuple[float, ...] = INTERVALS


OURS = Draw()
"""The draw that the rules are measured on."""


@dataclass(frozen=True, slots=True)
class Case:
    """One generated instance."""

    begin: Snapshot
    end: Snapshot
    truth: Truth
    outcome: Outcome

    @property
    def capture(self) -> Capture:
        """As a file of captures holds it."""
        return Capture(DATABASE, (self.begin, self.end), source=f"generated, seed {self.truth.seed}")


def case(seed: int, *, full_sight: bool = False, draw: Draw = OURS) -> Case:
    """The case of a seed. With `full_sight` nothing is hidden from the reader."""
    setting = setting_of(seed)
    if setting.kind == "healthy":
        outcome = come_out(_ordinary(Dice(draw.edition, seed), setting, draw))
    elif setting.kind == "hang":
        outcome = come_out(_hanging(Dice(draw.edition, seed), setting, draw))
    else:
        outcome = _troubled(seed, setting, draw)
    sight = FULL if full_sight else setting.sight
    begin, end = snapshots(outcome, sight)
    return Case(begin, end, replace(_truth(seed, setting, outcome), sight=sight), outcome)


def _ordinary(dice: Dice, setting: Setting, draw: Draw) -> Instance:
    release, cluster, seconds = releases()[dice.pick(EVERY)], dice.chance(0.25), dice.pick(draw.intervals)
    return ordinary(dice, release, setting.size, setting.level, cluster=cluster, seconds=seconds)


def _troubled(seed: int, setting: Setting, draw: Draw) -> Outcome:
    """Find the stakes at which the troubles reach their target cost."""
    known = [MECHANISMS[cause] for cause in setting.causes]
    dice = Dice(draw.edition, seed, 1)
    wanted = [_wanted(dice, setting) for _ in known]
    seconds = max(dice.pick(draw.intervals), LONG_ENOUGH if setting.kind == "crowd" else 0.0)
    stakes = [share / (1 - sum(wanted)) for share in wanted]  # per session that is active in any case
    if setting.kind == "look-alike":
        return _staged(Dice(draw.edition, seed, 2), setting, known, [dice.scale(*BESIDE)], seconds)
    for _ in range(TRIES):
        outcome = _staged(Dice(draw.edition, seed, 2), setting, known, stakes, seconds)
        reached = [outcome.share(mechanism.cause) for mechanism in known]
        waits = [sum(c.waits for c in outcome.counted if c.stream.cause == mechanism.cause) for mechanism in known]
        if min(waits) < FEWEST_WAITS and seconds < LONGEST:
            seconds = min(LONGEST, seconds * 4)
        elif all(abs(got / share - 1) < 0.12 for got, share in zip(reached, wanted, strict=True)):
            return outcome
        stakes = [
            min(MOST_TIMES_BASE, stake * (share * (1 - got)) / (max(got, share / 5) * (1 - share)))
            for stake, share, got in zip(stakes, wanted, reached, strict=True)
        ]
    return _staged(Dice(draw.edition, seed, 2), setting, known, stakes, seconds)


def _wanted(dice: Dice, setting: Setting) -> float:
    if setting.kind == "crowd":
        return dice.between(*IN_A_CROWD)
    if setting.strength:
        return dice.scale(*STRENGTHS[setting.strength])
    return dice.scale(*IN_A_PAIR)


def _staged(dice: Dice, setting: Setting, known: list[Mechanism], stakes: list[float], seconds: float) -> Outcome:
    """The instance with its troubles, from the first draw on."""
    it = _host_of(dice, setting, known, seconds)
    it.looks = LONGEST_BURST if setting.kind == "crowd" else None
    base = it.sessions
    for mechanism, stake in zip(known, stakes, strict=True):
        mechanism.stage(it, stake * base)
    return come_out(it)


def _host_of(dice: Dice, setting: Setting, known: list[Mechanism], seconds: float) -> Instance:
    """An ordinary instance of a release that has all of these, busy enough for trouble."""
    fitting = [name for name in setting.releases if all(name in mechanism.releases for mechanism in known)]
    release: Release = releases()[dice.pick(fitting)]
    cluster = any(mechanism.cluster for mechanism in known) or dice.chance(0.2)
    cpus = setting.size or dice.pick((4, 8, 16, 24, 32, 48, 64, 96, 128))
    level = setting.level or dice.pick(("light", "medium", "medium"))
    while True:
        it = ordinary(dice, release, cpus, level, cluster=cluster, seconds=seconds)
        if it.sessions >= LEAST_SESSIONS:
            return it
        level = "medium"


def _hanging(dice: Dice, setting: Setting, draw: Draw) -> Instance:
    """An instance where a session holds an entry and keeps it. The waits do not end."""
    name, event = setting.causes
    release = releases()[dice.pick(EVERY[3:] if event == "row cache mutex" else EVERY)]
    cpus, level = dice.pick((2, 4, 8, 16, 32, 64)), dice.pick(("idle", "light", "medium"))
    it = ordinary(dice, release, cpus, level, cluster=dice.chance(0.3), seconds=dice.pick(draw.intervals))
    background = name == "dc_rollback_segments" or dice.chance(0.15)
    requested = dice.pick((3, 5))
    it.hangs.append(
        Hang(
            "row-cache-lock-hang" if event == "row cache lock" else "",
            event,
            release.cache(name),
            round(dice.scale(3, 300)),
            max(25.0, dice.scale(20, 3600)),
            0,
            requested,
            dice.whole(5, 19) if background else dice.whole(20, 3000),
            background,
            Who(sql_id="7ng34ruy5awxq"),
        )
    )
    return it


def _truth(seed: int, setting: Setting, outcome: Outcome) -> Truth:
    it = outcome.instance
    hang = next(iter(it.hangs), None)
    troubles: tuple[Trouble, ...]
    if hang:
        event = "lock" if hang.event == "row cache lock" else "mutex"
        also = frozenset({"undo-lock-smon"} if hang.cache.name == "dc_rollback_segments" else ())
        troubles = (Trouble(hang.cause, "hangs", (event,), (hang.cache.name,), 0.0, also),) if hang.cause else ()
    else:
        known = [MECHANISMS[cause] for cause in setting.causes if cause != "busy-but-fine"]
        troubles = tuple(_trouble(mechanism, outcome) for mechanism in known)
    return Truth(
        seed=seed,
        kind=setting.kind,
        strength=setting.strength,
        troubles=troubles,
        release=it.full or it.release.version,
        cpus=it.cpus,
        seconds=it.seconds,
        db_time=outcome.times["DB time"] / 1e6,
        share=max(_share(outcome, in_row_cache=True), _share(outcome, in_row_cache=False)),
        hanging=hang.sessions if hang else 0,
    )


def _trouble(mechanism: Mechanism, outcome: Outcome) -> Trouble:
    streams = [c.stream for c in outcome.counted if c.stream.cause == mechanism.cause and c.stream.surface]
    named = {stream.cache.name for stream in streams if stream.cache}
    surfaces = sorted({str(stream.surface) for stream in streams})
    caches = tuple(name for name in mechanism.caches if name in named) or mechanism.caches
    return Trouble(
        mechanism.cause, mechanism.group, tuple(surfaces), caches, outcome.share(mechanism.cause), mechanism.also
    )


def _share(outcome: Outcome, *, in_row_cache: bool) -> float:
    """Share of DB time lost in row cache waits, or at the result cache latch."""
    lost = sum(
        c.micros_fg
        for c in outcome.counted
        if (c.stream.event in ROW_CACHE_EVENTS if in_row_cache else c.stream.surface == "result-cache")
    )
    return lost / max(outcome.times["DB time"], 1)
