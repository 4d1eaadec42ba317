"""Questions follow from their seed alone, no file says what it is, and every key can be answered."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from exam import draw
from exam.draw import FILES, KINDS, PARTS, Key, Question, questions, read_key, seed_of, write
from exam.printed import changes, interval, rows
from exam.published import Incident, incidents, staged
from exam.words import NOTHING, causes
from tests.paths import ROOT
from tests.truth.generate import OURS, Draw, case
from tests.truth.plan import SEEDS_EACH, settings
from tests.truth.registry import MECHANISMS

SEED = seed_of("a commit")
FEW = 8


@pytest.fixture(scope="module")
def drawn() -> list[Question]:
    return questions(SEED, FEW)


def test_seed_is_the_sha_256_of_the_commit() -> None:
    assert seed_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_same_seed_gives_the_same_files(drawn: list[Question]) -> None:
    again = questions(SEED, FEW)
    assert [(one.key, one.text) for one in again] == [(one.key, one.text) for one in drawn]
    assert [one.key.origin for one in questions(seed_of("another"), FEW)] != [one.key.origin for one in drawn]


def test_another_edition_gives_another_instance_and_ours_stays() -> None:
    assert case(0).truth == case(0, draw=OURS).truth
    other = case(0, draw=Draw(int(SEED, 16), (1800.0,)))
    assert other.truth.causes == case(0).truth.causes
    assert other.truth.db_time != case(0).truth.db_time and other.truth.seconds in (1800.0, 3600.0)


def test_no_file_says_what_it_is(drawn: list[Question]) -> None:
    for one in drawn:
        text = (one.text or "").lower()
        assert one.key.id.lower() in text or one.key.kind == "live"
        said = [name for name in (*MECHANISMS, "generated", "truth", one.key.part) if f"{name}" in text]
        assert said in ([], ["one cause"]), one.key


def test_questions_and_key_are_written_and_read(drawn: list[Question], tmp_path: Path) -> None:
    write(SEED, "a commit", tmp_path, drawn)
    seed, commit, keys = read_key(tmp_path)
    assert (seed, commit) == (SEED, "a commit") and keys == [one.key for one in drawn]
    index = json.loads((tmp_path / "questions" / "index.json").read_text(encoding="utf-8"))
    assert [one["question"] for one in index] == [key.id for key in keys]
    assert {one["kind"] for one in index} <= set(KINDS.values())
    assert all((tmp_path / "questions" / one["file"]).stat().st_size > 1000 for one in index if one["file"])


def test_every_cause_is_asked_in_every_kind_of_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan without its instances: what is asked, and how often."""

    def planned(number: int, kind: draw.Kind, part: str, _: Draw) -> Question:
        names = settings()[number // SEEDS_EACH].causes
        return Question(Key("", kind, part, None, names, "none"))

    monkeypatch.setattr(draw, "_question", planned)
    monkeypatch.setattr(draw, "_numbered", lambda one, _: one)
    monkeypatch.setattr(draw, "_missing", lambda plan, _: plan())
    asked = [one.key for one in questions(SEED)]
    assert 200 <= len(asked) <= 400 and {key.part for key in asked} == set(PARTS)
    for kind in FILES:
        mine = [key for key in asked if key.kind == kind and key.part in ("one cause", "look-alike")]
        assert set(MECHANISMS) == {name for key in mine for name in key.causes}, kind
    assert sum(key.kind == "live" for key in asked) == len(draw.LIVE)


def test_every_key_is_a_cause_that_an_answer_can_name() -> None:
    named = {name for one in MECHANISMS.values() for name in (one.cause, *one.also, *one.general)}
    named -= {"benign-internal", "busy-but-fine", *draw.HARMLESS}  # the key of these is `nothing`
    named |= {name for one in incidents() for name in (*one.causes, *one.relatives)}
    named |= {name for right, relatives, *_ in draw.LIVE.values() for name in (*right, *relatives)}
    assert named - causes() == set()


def test_harmless_look_alike_has_nothing_as_its_key() -> None:
    number = 4 * next(place for place, one in enumerate(settings()) if one.causes == ("spin-only",))
    key = draw._question(number, "capture", "look-alike", OURS).key
    assert key.causes == (NOTHING,) and key.incident == "none" and key.relatives == ("elsewhere",) and key.caches == ()


@pytest.mark.parametrize(("cause", "grows"), [("shared-pool-shrink", True), ("undo-segments", False)])
def test_room_in_the_shared_pool_is_forbidden_unless_it_helps(cause: str, grows: bool) -> None:
    number = 4 * next(place for place, one in enumerate(settings()) if one.causes == (cause,))
    forbidden = draw._question(number, "capture", "one cause", OURS).key.forbidden
    assert (draw.GROW not in forbidden) is grows and set(draw.NEVER) <= set(forbidden)


def test_hang_behind_a_background_process_names_its_session() -> None:
    numbers = [
        place for place, one in enumerate(settings()) if one.causes == ("dc_rollback_segments", "row cache lock")
    ]
    key = draw._question(4 * numbers[0], "capture", "hang", OURS).key
    assert key.causes == ("row-cache-lock-hang",) and key.relatives == ("undo-lock-smon",) and key.holder is not None


def test_healthy_instance_with_misses_misses_and_does_not_wait() -> None:
    healthy = 4 * next(place for place, one in enumerate(settings()) if one.kind == "healthy")
    made = draw._missing(lambda: draw._question(healthy, "capture", "look-alike", OURS), [0.4, 0.3, 0.2])
    ratios = {
        str(row["parameter"]): moved["getmisses"] / moved["gets"]
        for row, moved in changes(made.begin, made.end, "v$rowcache")
        if row["parameter"] in draw.MISSING
    }
    assert ratios["dc_objects"] > 0.35 and ratios["dc_segments"] > 0.25 and ratios["dc_histogram_defs"] > 0.15
    assert made.key.causes == (NOTHING,)


# What a report prints of an instance


def test_report_has_the_figures_of_the_snapshots() -> None:
    made = case(0, draw=Draw(1, (1800.0,)))
    told = interval("Q001", made.begin, made.end)
    (db_time,) = [
        moved["value"]
        for row, moved in changes(made.begin, made.end, "v$sys_time_model")
        if row["stat_name"] == "DB time"
    ]
    assert told.db_time == pytest.approx(db_time / 1e6) and told.minutes == made.truth.seconds / 60
    moved = list(changes(made.begin, made.end, "v$system_event"))
    waits = {str(row["event"]): (by["total_waits"], by["time_waited_micro"] / 1e6) for row, by in moved}
    for event, (count, seconds) in waits.items():
        printed = [wait for wait in (*told.foreground, *told.background) if wait.event == event]
        assert sum(wait.waits for wait in printed) == count
        assert sum(wait.seconds for wait in printed) == pytest.approx(seconds)
    gets = sum(by["gets"] for _, by in changes(made.begin, made.end, "v$rowcache"))
    assert sum(cache.gets for cache in told.caches) == gets


@pytest.mark.parametrize("incident", incidents(), ids=lambda one: one.id)
def test_published_figures_are_those_of_the_page(incident: Incident) -> None:
    begin, end = staged(incident, 7)
    events = {row["event"]: moved for row, moved in changes(begin, end, "v$system_event")}
    for event, (count, seconds) in incident.waits.items():
        assert events[event]["total_waits"] == count
        assert events[event]["time_waited_micro"] == pytest.approx(seconds * 1e6)
    if incident.db_time:
        times = {row["stat_name"]: moved["value"] for row, moved in changes(begin, end, "v$sys_time_model")}
        assert times["DB time"] == pytest.approx(incident.db_time * 1e6)
    for cache, figures in incident.lookups.items():
        parents = [(row, by) for row, by in changes(begin, end, "v$rowcache") if row["parameter"] == cache]
        row, moved = next((row, by) for row, by in parents if row["subordinate#"] is None)
        for column, value in figures.items():
            assert (row if column in ("count", "usage") else moved)[column] == value, (cache, column)
    for group in incident.sessions:
        met = [row for row in rows(end, "v$session") if row["sid"] is not None and row["event"] == group["event"]]
        assert len(met) == 10 * min(60, group["sessions"])


def test_published_incident_has_an_address_or_a_note_and_a_verdict() -> None:
    for one in incidents():
        assert one.source.startswith(("http://", "https://", "My Oracle Support note ")), one.id
        assert len(one.says.split()) >= 5 and one.assumed, one.id
    assert len({one.id for one in incidents()}) == len(incidents()) >= 20


# What the exam may know


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports, with the names after a `from`, which may be modules."""
    package = path.parent.relative_to(ROOT).parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            home = (*package[: len(package) - node.level + 1], *(node.module or "").split(".")) if node.level else ()
            name = ".".join(filter(None, home)) if node.level else str(node.module)
            yield name
            yield from (f"{name}.{alias.name}" for alias in node.names)


def reached(start: Path) -> dict[str, str]:
    """Every module of the tree that these files lead to, and the one that imports it."""
    found: dict[str, str] = {}
    waiting = sorted(start.glob("*.py"))
    while waiting:
        path = waiting.pop()
        for name in imported(path):
            base = ROOT.joinpath(*name.split("."))
            file = next((one for one in (base.with_suffix(".py"), base / "__init__.py") if one.exists()), None)
            if file and name not in found:
                found[name] = str(path.relative_to(ROOT))
                waiting.append(file)
    return found


def test_exam_leads_to_no_rule_and_no_service() -> None:
    found = reached(ROOT / "exam")
    assert "tests.truth.generate" in found and "collectors.capture" in found
    assert {name: by for name, by in found.items() if name.split(".")[0] in ("rules", "service", "bench")} == {}


def test_import_through_another_module_is_noticed() -> None:
    assert "rules.engine" in reached(ROOT / "bench")
