"""A remedy as lines and as Markdown: every step with its statement, its risk and the way back, or that it is unknown."""

from rules.cause import catalogue
from rules.remedy import RemedyStep
from service.render.remedy import asides, step_lines, steps_as_markdown, steps_of_every_release, variants

UNDO = catalogue()["undo-segments"].remedy_steps
KEYED = RemedyStep(
    do="Switch it off.", sql={"12.1": "alter session set a = false", "12.2": "alter session set b = false"}
)
POOL = RemedyStep(do="Fix the pool.", setting="least = POOL_SIZE\nmost = POOL_SIZE", fill_in=("POOL_SIZE",))


def test_lines_tell_each_step_its_statement_and_its_risk() -> None:
    lines = list(step_lines(UNDO, "11.2.0.4.0", "  ", whole=True))
    assert [line[2] for line in lines if line[2:5].strip().endswith(".") and line[2].isdigit()] == list("123456")
    assert "     alter system set undo_tablespace = UNDO_NEW" in [line[2:] for line in lines]
    text = " ".join(" ".join(lines).split())
    for step in UNDO:
        for words in filter(None, (step.do, step.reading, step.risk, step.way_back, *step.texts())):
            assert " ".join(words.split()) in text, words


def test_short_lines_say_how_to_judge_a_check_and_leave_out_the_way_back() -> None:
    text = " ".join(" ".join(step_lines(UNDO, "11.2.0.4.0", whole=False)).split())
    assert "Risk: " in text and "undo_tablespace = UNDO_NEW" in text
    for step in UNDO:
        assert not step.reading or f"Read: {' '.join(step.reading.split())}" in text
    assert not any(f"{name}: " in text for name in ("Online", "To reverse it"))
    assert "Fill in: UNDO_NEW, 8g, 32767m." in text, "a statement that does not run as it is says so"
    assert "In a cluster: end it with `sid = 'INSTANCE_NAME'`, once per instance" in text
    single = " ".join(" ".join(step_lines([step.on(False) for step in UNDO], "11.2.0.4.0", whole=True)).split())
    assert "In a cluster: end" not in single and "INSTANCE_NAME" not in single


def test_statement_is_that_of_the_release() -> None:
    for release, name in (("12.1.0.2.0", "a"), ("19.0.0.0.0", "b"), (None, "a")):
        assert f"alter session set {name} = false" in " ".join(step_lines((KEYED,), release, whole=False))
    assert not any("alter" in line for line in step_lines((KEYED,), "11.2.0.4.0", whole=False))
    assert [line.strip() for line in steps_of_every_release((KEYED,)) if "from" in line] == [
        "from 12.1 on:",
        "from 12.2 on:",
    ]
    assert variants(None) == [] and variants("select 1 from dual") == [(None, "select 1 from dual")]


def test_what_no_source_tells_of_a_change_is_not_known() -> None:
    assert dict(asides(POOL)) == {"Fill in": "POOL_SIZE.", "Risk": "not known.", "To reverse it": "not known."}
    look = RemedyStep(do="Look.", sql="select count(*) from v$latch", online=True)
    assert dict(asides(look)) == {}, "a step that only reads needs neither"
    assert dict(asides(RemedyStep(do="Move it.", online=False))) == {"Online": "no, plan a window."}


def test_each_statement_says_in_which_container_to_run_it() -> None:
    here = "Run in: the container that has the problem"
    with_sql = sum(1 for step in UNDO if step.sql and step.run_in == "container")
    assert with_sql >= 4
    for release, said in (("11.2.0.4.0", 0), ("19.0.0.0.0", with_sql)):
        for lines in (
            step_lines(UNDO, release, whole=True),
            step_lines(UNDO, release, whole=False),
            steps_as_markdown(UNDO, release),
        ):
            assert " ".join(" ".join(lines).split()).count(here) == said
    assert " ".join(" ".join(steps_of_every_release(UNDO)).split()).count(here) == with_sql


def test_a_platform_is_shown_with_its_own_step_and_the_catalogue_with_all() -> None:
    steps = catalogue()["shared-pool-shrink"].remedy_steps
    group = "Set shared_pool_size in the DB parameter group of the instance"
    whole = " ".join(" ".join(steps_of_every_release(steps)).split())
    assert f"On Amazon RDS: {group}" in whole and "On Autonomous Database: not possible. This is memory" in whole
    for lines in (step_lines, steps_as_markdown):
        options = {"whole": False} if lines is step_lines else {}
        rds, autonomous, other = (
            " ".join(" ".join(lines([step.at(name) for step in steps], "19.0.0.0.0", **options)).split())
            for name in ("rds", "autonomous", None)
        )
        assert group in rds and "alter system" not in rds
        assert (
            "Not possible here: This is memory of the whole instance" in autonomous and "alter system" not in autonomous
        )
        assert "alter system set shared_pool_size = POOL_SIZE" in other and "Amazon RDS" not in other
        assert "Run in: CDB$ROOT" in other and "CDB$ROOT, in a container database" not in rds


def test_markdown_has_a_list_with_blocks_of_code() -> None:
    text = "\n".join(steps_as_markdown((*UNDO, POOL), "11.2.0.4.0"))
    assert (
        "1. Check that free undo segment numbers remain.\n\n   ```sql\n   select count(*), max(us#) from sys.undo$\n   ```"
        in text
    )
    assert "7. Fix the pool.\n\n   ```\n   least = POOL_SIZE\n   most = POOL_SIZE\n   ```\n" in text
    assert text.count("```") % 2 == 0 and "   - To reverse it: Not possible. Dropped undo is gone." in text


def test_every_cause_of_the_catalogue_is_told_whole() -> None:
    for cause in catalogue().values():
        text = " ".join(" ".join(steps_of_every_release(cause.remedy_steps)).split())
        for step in cause.remedy_steps:
            assert all(" ".join(words.split()) in text for words in (step.do, *step.texts(), step.setting or "")), (
                cause.id
            )
