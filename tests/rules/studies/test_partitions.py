"""Partitions and batches: terms found again from a made table, the published one within its bounds, and what is refused."""

import pytest

from rules.contention.queue import DemandTerms, table_throughput
from rules.studies.partitions import PartitionSetting, PartitionStudy, RefusedSetting, partition_study, setting_of
from rules.studies.table import BadStudy
from tests.paths import TABLES

TERMS = DemandTerms(think=0.010, think_per_batch=0.008, per_item=0.0002, per_batch=0.002, growing=0.0)
PROCESSES = 20


def made(partitions: tuple[int, ...] = (1, 2, 4), batches: tuple[int, ...] = (1, 2, 4, 8, 16)) -> str:
    lines = [f"{p},{b},{table_throughput(TERMS, PROCESSES, p, b)}" for p in partitions for b in batches]
    return "\n".join(["partitions,batch,throughput", *lines])


@pytest.fixture(scope="module")
def study() -> PartitionStudy:
    return partition_study(made(), "t.csv", processes=PROCESSES, asked=[(2, 16), (3, 5), (2, 32), (21, 4)])


def test_corners_predict_a_table_that_follows_the_model(study: PartitionStudy) -> None:
    assert study.corners.fitted == ((1, 1), (1, 16), (4, 1), (4, 16)) and study.corners.predicted == 11
    assert study.corners.most is not None and study.corners.most < 1e-3
    assert study.columns is not None and study.columns.fitted[:4] == ((1, 1), (1, 4), (1, 16), (4, 1))


def test_asked_settings_within_the_measured_batches_have_an_interval(study: PartitionStudy) -> None:
    known, between, *_ = study.asked
    assert isinstance(known, PartitionSetting) and known.measured is not None
    assert known.low <= known.throughput <= known.high
    assert isinstance(between, PartitionSetting) and between.measured is None
    assert between.throughput == pytest.approx(table_throughput(TERMS, PROCESSES, 3, 5), rel=1e-3)


def test_settings_beyond_what_was_measured_are_refused(study: PartitionStudy) -> None:
    beyond, many = study.asked[2:]
    assert isinstance(beyond, RefusedSetting) and "a batch of 32 was not measured (1 to 16 were)" in beyond.why
    assert isinstance(many, RefusedSetting) and "21 partitions are more than 5 times the measured 4" in many.why


def test_recommended_setting_is_as_good_as_the_best_and_keeps_less_aside(study: PartitionStudy) -> None:
    best = max(cell.throughput for cell in study.cells)
    chosen = study.recommended
    assert chosen.measured is not None and chosen.measured >= 0.97 * best
    cheaper = [cell for cell in study.cells if cell.partitions * cell.batch < chosen.partitions * chosen.batch]
    assert all(cell.throughput < 0.97 * best or cell.from_all < 0.97 * study.best.throughput for cell in cheaper)


def test_repeats_are_averaged_and_their_scatter_told() -> None:
    text = made((1, 2), (1, 8)) + "\n1,1,1000\n"
    first = partition_study(text, "t.csv", processes=PROCESSES).cells[0]
    alone = table_throughput(TERMS, PROCESSES, 1, 1)
    assert first.throughput == pytest.approx((1000 + alone) / 2)
    assert first.spread == pytest.approx(abs(1000 - alone) / 2**0.5 / first.throughput)


def test_four_cells_leave_nothing_to_hold_the_model_against() -> None:
    found = partition_study(made((1, 2), (1, 8)), "t.csv", processes=PROCESSES)
    assert found.corners.predicted == 0 and found.corners.median is None and found.columns is None
    assert found.recommended.low < found.recommended.throughput < found.recommended.high


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (made((1,), (1, 8)), "t.csv measures partitions 1 only; the model needs at least two: measure another"),
        (made((1, 2), (4,)), "t.csv measures batch 4 only"),
        (made((1, 2), (1, 8)).rpartition("\n")[0] + "\n4,1,900\n", "t.csv lacks 1 partitions with a batch of 8"),
        ("partitions,batch,throughput\n1,1.5,9\n2,2,9\n", "t.csv line 2, batch: 1.5 is not a whole number"),
    ],
)
def test_table_without_the_four_corners_is_refused(text: str, told: str) -> None:
    text = text if not told.startswith("t.csv lacks") else made((1, 2), (1, 8)).replace("\n1,8,", "\n3,8,")
    with pytest.raises(BadStudy) as refused:
        partition_study(text, "t.csv")
    assert str(refused.value).startswith(told)


@pytest.mark.parametrize("words", ["", "8", "8:", "0:4", "8:16:2", "a:b"])
def test_what_is_no_setting_is_refused(words: str) -> None:
    with pytest.raises(BadStudy, match="is not a setting; write PARTITIONS:BATCH, such as 8:16"):
        setting_of(words)
    assert setting_of("8:16") == setting_of("8x16") == (8, 16)


def test_published_table_is_predicted_within_its_bounds() -> None:
    text = (TABLES / "dynahash-freelist.csv").read_text(encoding="utf-8")
    found = partition_study(text, "dynahash.csv")
    corners, columns = found.corners, found.columns
    assert corners.predicted == 26 and columns is not None and columns.predicted == 22
    for errors, bounds in ((corners, (0.03, 0.08, 0.25)), (columns, (0.03, 0.08, 0.08))):
        told = (errors.median, errors.p90, errors.most)
        assert all(value is not None and value <= bound for value, bound in zip(told, bounds, strict=True)), told
    inside = [cell for cell in found.cells if abs(cell.from_all / cell.throughput - 1) <= 2 * found.error]
    assert len(inside) >= 28
