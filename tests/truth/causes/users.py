"""Troubles around dc_users and dc_profiles (KB-08 to KB-19, KB-43)."""

from tests.truth import shapes
from tests.truth.instance import Instance
from tests.truth.parts import Who
from tests.truth.registry import stages
from tests.truth.releases import LATCHED

USERS = "dc_users"


@stages(
    "vpd-policy-check",
    "users",
    caches=[USERS],
    releases=("11.2.0.3",),
    also=["roles-per-parse"],
    general=["upgrade-parse-volume"],
)
def policies_checked(it: Instance, stake: float) -> None:
    """Each soft parse of a protected table asks for every role once more."""
    it.drive("soft parse", it.work.rates["execution"] * it.dice.between(0.4, 1.0))  # soft parses dominate (KB-08)
    _roles(it, "vpd-policy-check", stake, it.dice.between(25, 120), it.dice.scale(3e-6, 1e-5))
    for subordinate in (0, 1):
        it.look_up(USERS, it.extra[USERS, None] * it.dice.between(0.1, 0.4), subordinate)


@stages("roles-per-parse", "users", caches=[USERS], general=["upgrade-parse-volume"])
def many_roles(it: Instance, stake: float) -> None:
    """Sessions with many roles parse softly, and every parse checks them."""
    _roles(it, "roles-per-parse", stake, it.dice.between(15, 60), it.dice.scale(3e-6, 1.2e-5))


def _roles(it: Instance, cause: str, stake: float, roles: float, hold: float) -> None:
    look_ups = it.contend(
        cause, USERS, stake, hold, shape=shapes.volume(it.dice), during="soft parse", who=Who(sql_id="7k3mvq2d9x0ab")
    )
    it.drive("soft parse", look_ups / roles)
    it.drive("execution", look_ups / roles * it.dice.between(1.0, 1.5))


@stages("logon-storm", "users", caches=[USERS, "dc_profiles"])
def logons(it: Instance, stake: float) -> None:
    """No pool: every request logs on, sets its roles and leaves."""
    look_ups = it.contend(
        "logon-storm",
        USERS,
        stake,
        it.dice.scale(8e-6, 3e-5),
        shape=it.dice.pick((shapes.volume, shapes.normal))(it.dice),
        during="logon",
        who=Who("w3wp.exe", "w3wp.exe", "WEB"),
    )
    each = it.dice.between(60, 250)
    rate = look_ups / each
    it.drive("logon", rate)
    it.drive("soft parse", rate * it.dice.between(5, 25))
    it.neighbour("logon-storm", "library cache: mutex X", stake * it.dice.between(0.02, 0.2), 5e-4, "logon")


@stages("profile-lookups", "users", caches=["dc_profiles"], also=["logon-storm"])
def profiles(it: Instance, stake: float) -> None:
    """Limits of the profile are read again and again while sessions log on."""
    look_ups = it.contend(
        "profile-lookups",
        "dc_profiles",
        stake,
        it.dice.scale(1e-5, 4e-5),
        shape=shapes.volume(it.dice),
        during="logon",
        who=Who("php", "php-fpm", "WEB"),
    )
    it.drive("logon", look_ups / it.dice.between(40, 150))


@stages("dc-users-mutex-bug", "users", caches=[USERS], releases=("19",))
def slow_under_the_mutex(it: Instance, stake: float) -> None:
    """Ordinary look-ups, each of which holds the mutex too long (fixed with 19.8)."""
    if it.full:
        it.full = it.release.full.format(it.dice.whole(3, 7))
    hold = it.dice.scale(2e-5, 2e-4)
    look_ups = it.contend("dc-users-mutex-bug", USERS, stake, hold, shape=shapes.normal(it.dice), during="soft parse")
    it.drive("soft parse", look_ups * it.dice.between(0.3, 1.0))
    it.drive("execution", look_ups * it.dice.between(0.5, 1.5))


@stages("row-cache-clones", "users", caches=[USERS, "dc_objects", "dc_histogram_defs"], releases=("19",))
def copies_of_hot_objects(it: Instance, stake: float) -> None:
    """Copies of hot entries are made and not returned, so the pool of the row cache grows and searches lengthen."""
    it.full = it.release.full.format(it.dice.whole(3, 14))
    name = it.dice.pick((USERS, "dc_objects", "dc_histogram_defs"))
    it.contend(
        "row-cache-clones",
        name,
        stake,
        it.dice.scale(5e-6, 4e-5),
        shape=shapes.normal(it.dice),
        during="hard parse" if name == "dc_histogram_defs" else "soft parse",
    )
    it.memory["KQR X PO"] = it.dice.scale(8e8, 8e9)
    it.memory["KQR L PO"] = it.dice.scale(2e8, 2e9)
    it.memory["free memory"] = it.dice.scale(3e7, 4e8)
    it.entries[name, None] = it.dice.scale(2e5, 2e6)


@stages("grants-while-logging-on", "users", caches=[USERS])
def grants(it: Instance, stake: float) -> None:
    """A job grants and revokes while sessions log on. It holds the user's entry exclusively in the meantime."""
    it.convoy(
        "grants-while-logging-on",
        USERS,
        stake,
        it.dice.scale(0.02, 0.8),
        held=0,
        exclusive=it.dice.between(0.02, 0.6),
        during="logon",
        who=Who("deploy", "sqlplus", "ADMIN") if it.dice.chance(0.2) else None,
    )
    it.modified[USERS, None] += it.dice.scale(0.3, 15)
    it.drive("ddl", it.dice.scale(0.2, 3))
    it.drive("logon", it.dice.scale(1, 12))


@stages("px-hash-joins", "users", caches=[USERS, "dc_tablespaces"], releases=LATCHED)
def hash_joins(it: Instance, stake: float) -> None:
    """Every short hash join asks for the user and its temporary tablespace, without any parse."""
    part, hold = it.dice.between(0.4, 0.6), it.dice.scale(3e-6, 1e-5)
    who = Who("Report", "rwserver", "DWH", "4fzq8h1n2m7kc")
    first = it.contend("px-hash-joins", USERS, stake * part, hold, shape=shapes.volume(it.dice), who=who)
    second = it.contend(
        "px-hash-joins", "dc_tablespaces", stake * (1 - part), hold, shape=shapes.volume(it.dice), who=who
    )
    fewer = min(first, second)  # the same joins look up both, so the caches have equal gets
    it.extra[USERS, None] += (second - first) * (first == fewer)
    it.extra["dc_tablespaces", None] += (first - second) * (second == fewer)
    it.drive("execution", fewer * it.dice.between(0.02, 0.3))


@stages("upgrade-parse-volume", "users", releases=("11.2.0.3", "11.2.0.4"), caches=[USERS, "dc_objects"])
def volume_after_an_upgrade(it: Instance, stake: float) -> None:
    """After an upgrade every soft parse asks more often: the three places of a look-up share the sleeps alike."""
    name = it.dice.pick((USERS, "dc_objects"))
    look_ups = it.contend(
        "upgrade-parse-volume",
        name,
        stake,
        it.dice.scale(2e-6, 7e-6),
        shape=shapes.volume(it.dice),
        during="soft parse",
    )
    it.drive("soft parse", look_ups / it.dice.between(6, 16))
    it.drive("execution", look_ups / it.dice.between(6, 16))
