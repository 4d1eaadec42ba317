"""Draws the questions of an exam and their key from a seed: the same seed always gives the same files."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, Literal

from collectors.capture import Capture, dump
from collectors.model import Rows, Snapshot
from exam.printed import changes, printed, rows
from exam.published import Incident, incidents, staged
from exam.words import ELSEWHERE, NOTHING
from tests.truth.generate import Case, Draw, case
from tests.truth.plan import SEEDS_EACH, settings
from tests.truth.registry import MECHANISMS
from tests.truth.truth import Kind as Staged
from tests.truth.truth import Truth

Kind = Literal["capture", "awr-html", "awr-text", "statspack", "live"]
Where = Literal["row cache", "elsewhere", "none"]
"""Where the trouble is. Whoever names a cause of the row cache in the last two kinds of question raises a false alarm."""
KINDS: dict[Kind, str] = {
    "capture": "capture of the views",
    "awr-html": "AWR report, HTML",
    "awr-text": "AWR report, text",
    "statspack": "Statspack report",
    "live": "live database",
}
FILES: tuple[Kind, ...] = ("capture", "awr-html", "awr-text", "statspack")
PARTS = {
    "one cause": "one staged cause",
    "two causes": "two staged causes at once",
    "hang": "sessions whose wait does not end",
    "less sight": "captures of a reader who may not read everything",
    "look-alike": "looks like trouble of the row cache and is none, or has its cause elsewhere",
    "healthy": "nothing is wrong",
    "published": "incidents that others published",
    "live": "scripted databases behind a listener",
}
ENDINGS: dict[str, str] = {"capture": "json", "awr-html": "html", "awr-text": "txt", "statspack": "txt"}
SHORT, LONG = (15.0, 30.0, 60.0, 300.0, 900.0), (1800.0, 3600.0)
"""Seconds between the snapshots of a capture and of a report."""
HARMLESS = ("spin-only", "benign-internal", "result-cache-spin-only")
OTHER_GROUPS = ("result cache", "host", "library cache")
"""Groups of the generator whose trouble is not in the row cache."""
NEVER = ("kill-background", "kill-waiter", "restart")
GROW = "grow-shared-pool"
POOL_HELPS = ("shared-pool-shrink", "many-partitions")
"""Causes whose remedy is room in the shared pool."""
MISSING, MISSED = ("dc_objects", "dc_segments", "dc_histogram_defs"), (0.05, 0.5)
"""Caches of a healthy instance that miss a share of their gets, while nobody sleeps."""
LIVE: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], str | None, Where]] = {
    "undo-storm": (
        ("undo-segments",),
        ("undo-segment-floor", "undo-retention-runaway"),
        ("dc_rollback_segments",),
        "latch",
        "row cache",
    ),
    "users-mutex": (("logon-storm",), ("profile-lookups",), ("dc_users",), "mutex", "row cache"),
    "nocache-sequence-1": (
        ("sequence-nocache", "sequence-conflicts"),
        ("cluster-conflicts",),
        ("dc_sequences",),
        "lock",
        "row cache",
    ),
    "parse-storm": (("hard-parse-storm",), ("downstream-of-library-cache", "elsewhere"), (), "latch", "elsewhere"),
    "ads-result-cache": (
        ("result-cache-adaptive",),
        ("result-cache-latch", "elsewhere"),
        (),
        "result cache",
        "elsewhere",
    ),
    "healthy-19c": (("nothing",), ("elsewhere",), (), None, "none"),
    "busy-but-fine": (("nothing",), ("elsewhere",), (), None, "none"),
}
"""Scripted database → causes, relatives, caches, wait, and where the trouble is."""


@dataclass(frozen=True, slots=True)
class Key:
    """The right answers to one question."""

    id: str
    kind: Kind
    part: str
    file: str | None
    """Its file in the folder of questions; None of a live database."""
    causes: tuple[str, ...]
    """Any of these is right. Of two causes at once, the first may be either."""
    incident: Where
    relatives: tuple[str, ...] = ()
    """True as well: they contain the cause, or say it less exactly."""
    caches: tuple[str, ...] = ()
    wait: str | None = None
    forbidden: tuple[str, ...] = ()
    holder: int | None = None
    """The session that nobody may kill, because it is a background process."""
    origin: str = ""
    """Where the question comes from: a seed of the generator, a page, a script."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question: its key, and what its file holds. Before it has its number, `text` is the release that a report prints."""

    key: Key
    text: str | None = None
    begin: Snapshot | None = field(default=None, repr=False)
    end: Snapshot | None = field(default=None, repr=False)


OURS_NAMED = ("TRUTH", "truth")
"""How the names of the generator's databases, instances and containers begin."""
Plan = Callable[[], Question]
"""Makes a question, which takes a moment."""


def seed_of(commit: str) -> str:
    """The seed that a commit gives: the SHA-256 of its hash in hex digits."""
    return sha256(commit.encode()).hexdigest()


def questions(seed: str, most: int | None = None) -> list[Question]:
    """Every question of a seed, in an order that says nothing about them. `most` keeps only so many."""
    dice = Random(seed)
    plans = [*_generated(seed, dice), *_misses(seed, dice), *_published(seed), *_live()]
    dice.shuffle(plans)
    return [_numbered(plan(), f"Q{number:03}") for number, plan in enumerate(plans[:most], 1)]


def write(seed: str, commit: str | None, folder: Path, drawn: Sequence[Question]) -> None:
    """Write questions/, their index, and key.json into a folder."""
    home = folder / "questions"
    home.mkdir(parents=True, exist_ok=True)
    for one in drawn:
        if one.key.file and one.text is not None:
            (home / one.key.file).write_text(one.text, encoding="utf-8", newline="")
    index = [{"question": one.key.id, "file": one.key.file, "kind": KINDS[one.key.kind]} for one in drawn]
    (home / "index.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    key = {"seed": seed, "commit": commit, "questions": [asdict(one.key) for one in drawn]}
    (folder / "key.json").write_text(json.dumps(key, indent=1) + "\n", encoding="utf-8")


def read_key(folder: Path) -> tuple[str, str | None, list[Key]]:
    """Seed, commit and keys of a folder. Raises FileNotFoundError if there is no key."""
    told = json.loads((folder / "key.json").read_text(encoding="utf-8"))
    members: list[dict[str, Any]] = [
        {name: tuple(value) if isinstance(value, list) else value for name, value in one.items()}
        for one in told["questions"]
    ]
    keys = [Key(**one) for one in members]
    return told["seed"], told["commit"], keys


def _numbered(one: Question, name: str) -> Question:
    """The question under its name, which is also the name of its database; so no file says what it is."""
    kind, begin, end = one.key.kind, one.begin, one.end
    if kind == "live":
        return replace(one, key=replace(one.key, id=name))
    assert begin is not None and end is not None
    if kind == "capture":
        begin, end = _renamed(begin, name), _renamed(end, name)
        text = dump(Capture(name, (begin, end)))
    else:
        text = printed(kind, name, begin, end, one.text)
    return Question(replace(one.key, id=name, file=f"{name}.{ENDINGS[kind]}"), text)


def _renamed(snapshot: Snapshot, name: str) -> Snapshot:
    readings = dict(snapshot.readings)
    for view in ("sys_context", "v$instance"):
        given = rows(snapshot, view)
        if given:
            own = {column: name for row in given for column, cell in row.items() if str(cell).startswith(OURS_NAMED)}
            readings[view] = Rows(view, tuple({**row, **own} for row in given))  # type: ignore[dict-item]
    return replace(snapshot, database=name, readings=readings)


def _generated(seed: str, dice: Random) -> Iterator[Plan]:
    """Each cause and look-alike once in each kind of file, and fewer of the rest."""
    by_kind: dict[Staged, list[int]] = {}
    for number, setting in enumerate(settings()):
        by_kind.setdefault(setting.kind, []).append(number)
    for kind in FILES:
        draw = Draw(int(seed, 16), SHORT if kind == "capture" else LONG)
        for staged_kind, part in (("single", "one cause"), ("look-alike", "look-alike")):
            numbers = by_kind[staged_kind]  # type: ignore[index]
            for cause in sorted({settings()[number].causes for number in numbers}):
                mine = [number for number in numbers if settings()[number].causes == cause]
                yield _plan(dice, mine, kind, part, draw)
        for staged_kind, part, count in (("pair", "two causes", 3), ("healthy", "healthy", 6)):
            for _ in range(count):
                yield _plan(dice, by_kind[staged_kind], kind, part, draw)  # type: ignore[index]
    draw = Draw(int(seed, 16), SHORT)
    for _ in range(8):
        yield _plan(dice, by_kind["hang"], "capture", "hang", draw)
    for _ in range(12):
        yield _plan(dice, by_kind["degraded"], "capture", "less sight", draw)


def _plan(dice: Random, settings_of: Sequence[int], kind: Kind, part: str, draw: Draw) -> Plan:
    """One of these settings, with an instance of it."""
    return partial(_question, SEEDS_EACH * dice.choice(settings_of) + dice.randrange(SEEDS_EACH), kind, part, draw)


def _question(number: int, kind: Kind, part: str, draw: Draw) -> Question:
    made = case(number, draw=draw)
    return Question(_key(made, number, kind, part), None, made.begin, made.end)


def _key(made: Case, number: int, kind: Kind, part: str) -> Key:
    truth = made.truth
    names, where = truth.causes, _where(truth)
    relatives = sorted(
        truth.also | {name for cause in names if cause in MECHANISMS for name in MECHANISMS[cause].general}
    )
    waits = sorted({surface for trouble in truth.troubles for surface in trouble.surfaces})
    holder = next((hang.holder for hang in made.outcome.instance.hangs if hang.background), None)
    if where == "none":
        names, relatives = (NOTHING,), [ELSEWHERE]
    elif where == "elsewhere":
        relatives = [*relatives, ELSEWHERE]
    if truth.hanging:
        names, relatives = ("row-cache-lock-hang",), sorted({*relatives, *truth.causes} - {"row-cache-lock-hang"})
    return Key(
        id="",
        kind=kind,
        part=part,
        file=None,
        causes=names,
        incident=where,
        relatives=tuple(relatives),
        caches=tuple(sorted({name for trouble in truth.troubles for name in trouble.caches}))
        if where != "none"
        else (),
        wait=" and ".join(waits).replace("-", " ") if waits and where != "none" else None,
        forbidden=_forbidden(names),
        holder=holder,
        origin=f"generator, instance {number}",
    )


def _where(truth: Truth) -> Where:
    if truth.hanging:
        return "row cache"
    real = [trouble for trouble in truth.troubles if trouble.cause not in HARMLESS]
    if not real:
        return "none"
    victims = all(trouble.group in OTHER_GROUPS or trouble.cause == "hard-parse-storm" for trouble in real)
    return "elsewhere" if victims else "row cache"


def _forbidden(causes: Sequence[str]) -> tuple[str, ...]:
    return NEVER if set(causes) & set(POOL_HELPS) else (*NEVER, GROW)


def _misses(seed: str, dice: Random) -> Iterator[Plan]:
    """Healthy instances in which a large share of the look-ups miss, and nobody waits for it."""
    healthy = [number for number, setting in enumerate(settings()) if setting.kind == "healthy"]
    for kind in FILES:
        shares = [dice.uniform(*MISSED) for _ in MISSING]
        yield partial(_missing, _plan(dice, healthy, kind, "look-alike", Draw(int(seed, 16), LONG)), shares)


def _missing(plan: Plan, shares: Sequence[float]) -> Question:
    made = plan()
    assert made.begin is not None and made.end is not None
    share_of = dict(zip(MISSING, shares, strict=True))
    grown = []
    for row, moved in changes(made.begin, made.end, "v$rowcache"):
        misses = round(share_of.get(str(row["parameter"]), 0.0) * moved["gets"])
        grown.append({**row, "getmisses": int(str(row["getmisses"])) + misses})
    end = replace(made.end, readings={**made.end.readings, "v$rowcache": Rows("v$rowcache", tuple(grown))})  # type: ignore[arg-type]
    return replace(made, end=end, key=replace(made.key, origin=f"{made.key.origin}, with misses"))


def _published(seed: str) -> Iterator[Plan]:
    for incident in incidents():
        for kind in incident.kinds:
            yield partial(_staged, incident, kind, int(seed, 16))


def _staged(incident: Incident, kind: str, edition: int) -> Question:
    begin, end = staged(incident, edition)
    key = Key(
        id="",
        kind=kind,  # type: ignore[arg-type]
        part="published",
        file=None,
        causes=incident.causes,
        incident=incident.incident,  # type: ignore[arg-type]
        relatives=incident.relatives,
        caches=incident.caches,
        wait=incident.wait,
        forbidden=_forbidden(incident.causes),
        origin=incident.source,
    )
    return Question(key, None if kind == "capture" else incident.prints, begin, end)


def _live() -> Iterator[Plan]:
    for script, (causes, relatives, caches, wait, where) in LIVE.items():
        key = Key("", "live", "live", None, causes, where, relatives, caches, wait, _forbidden(causes), origin=script)
        yield partial(Question, key)
