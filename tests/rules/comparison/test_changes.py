"""From two readings to a Change: the unit, the verdict, and the sentence in each of its forms."""

import pytest

from rules.comparison.figures import ComparedFigure, ComparedSides, counted, known, level, untold
from rules.comparison.units import DB_TIME, EXECUTIONS, OF_WORK, SECONDS
from rules.context import Known, SignalContext, Unknown
from tests.each import each
from tests.rules.contexts import TOTALS, context_of, delta_of, with_rows

PAIR = ComparedSides(context_of(), context_of())
ITEM = ComparedFigure("sleeps", "sleeps on dc_users", of="dc_users")
UNKNOWN = Unknown("v$latch", "v$latch: ORA-00942", "grant it")


def sentence(before: float, after: float) -> str:
    return counted(ITEM, PAIR, (Known(before), Known(after)), OF_WORK).sentence


@each(
    ("before", "after", "said"),
    [
        (32_840, 800, "Sleeps on dc_users fell 41-fold per execution (8,210 → 200 per 1,000 executions)."),
        (4_000, 8_000, "Sleeps on dc_users rose 2-fold per execution (1,000 → 2,000 per 1,000 executions)."),
        (4_000, 6_000, "Sleeps on dc_users rose by 50 % per execution (1,000 → 1,500 per 1,000 executions)."),
        (4_000, 0, "Sleeps on dc_users fell to none per execution (1,000 → 0 per 1,000 executions)."),
        (0, 4_000, "Sleeps on dc_users rose from none per execution (0 → 1,000 per 1,000 executions)."),
        (4_000, 3_900, "Sleeps on dc_users changed within noise (1,000 → 975 per 1,000 executions)."),
        (4, 0, "Sleeps on dc_users changed within noise (1 → 0 per 1,000 executions)."),
        (40, 40, "Sleeps on dc_users did not change (10 → 10 per 1,000 executions)."),
        (0, 0, "Sleeps on dc_users stayed at zero."),
    ],
)
def test_counted_writes_each_form_of_the_sentence(before: float, after: float, said: str) -> None:
    assert sentence(before, after) == said


def test_due_after_is_the_count_expected_at_the_rate_before() -> None:
    assert counted(ITEM, PAIR, (Known(4_000), Known(10)), (EXECUTIONS,)).due_after == 4_000


def test_counted_judges_the_noise_of_seconds_by_the_size_of_each_wait() -> None:
    many = counted(ITEM, PAIR, (Known(10.0), Known(2.0)), (SECONDS,), size=0.01)
    few = counted(ITEM, PAIR, (Known(10.0), Known(2.0)), (SECONDS,), size=5.0)
    assert (many.verdict, few.verdict) == ("changed", "within noise")


def test_counted_without_work_falls_back_to_a_share_then_to_cannot_tell() -> None:
    bare = context_of(basis=TOTALS, refused=["v$sysstat"])
    pair = ComparedSides(bare, bare)
    part = counted(ITEM, pair, (Known(10), Known(900)), OF_WORK, (Known(1_000), Known(1_000), "all sleeps"))
    assert part.sentence == "Sleeps on dc_users rose 90-fold as a share of all sleeps (1.0 % → 90.0 % of all sleeps)."
    for whole in (None, (Known(0.0), Known(9.0), "all"), (UNKNOWN, Known(9.0), "all")):
        none = counted(ITEM, pair, (Known(10), Known(900)), OF_WORK, whole)
        assert (none.verdict, none.counted_before, none.before) == ("cannot tell", 10, None)


def test_level_changes_only_beyond_a_minimum_factor() -> None:
    item = ComparedFigure("entries", "entries of dc_users")
    assert level(item, PAIR, (Known(14_600), Known(112)), "entries", 1.1).sentence == (
        "Entries of dc_users fell 130-fold (14,600 → 112 entries)."
    )
    assert level(item, PAIR, (Known(100), Known(109)), "entries", 1.1).verdict == "within noise"
    assert level(item, PAIR, (Known(5), Known(10)), "entries", 1.1, apart=20).verdict == "within noise"
    assert level(item, PAIR, (Known(5), UNKNOWN), "entries", 1.1).verdict == "cannot tell"


def test_untold_says_which_side_is_unknown_and_why() -> None:
    got = untold(ITEM, UNKNOWN, Known(3.0))
    assert (got.counted_before, got.counted_after, got.outside_usual) == (None, 3.0, None)
    assert got.sentence == ("Sleeps on dc_users cannot be compared: not known before: v$latch: ORA-00942.")
    assert "; not known after: " in untold(ITEM, UNKNOWN, UNKNOWN).why
    assert known(context_of(), None, "v$latch", "misses_of_old") == context_of().why_unknown("v$latch", "misses_of_old")


def test_side_that_is_too_small_is_said_to_be_so_and_never_called_noise() -> None:
    def db_time(seconds: float) -> SignalContext:
        return SignalContext(delta_of(with_rows("v$sys_time_model", {"stat_name": "DB time", "value": seconds * 1e6})))

    item = ComparedFigure("row_cache_wait_share", "row cache waits")
    for before, after in ((31, 31), (31, 4_000)):
        pair = ComparedSides(db_time(before), db_time(after))
        share = counted(item, pair, (Known(0.0), Known(0.145 * after)), (DB_TIME,), size=after / 20)
        assert (share.verdict, share.before, share.after) == ("cannot tell", 0.0, pytest.approx(0.145)), before
        assert share.why == "31 s of DB time before: too little to compare"
        assert share.model_dump().get("too_little") is True
        assert "noise" not in share.sentence
    like = counted(item, ComparedSides(db_time(31), db_time(31)), (Known(5.0), Known(5.1)), (DB_TIME,))
    assert (like.verdict, like.too_little) == ("within noise", False)
