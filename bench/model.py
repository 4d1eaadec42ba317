"""The contention model and its acceptance table: published tables, and a latch emulated on 16 real cores."""

from collections.abc import Callable, Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table

from bench._options import parser
from tests.rules.contention import acceptance
from tests.rules.contention.acceptance import Judged

TINY = "--first 1"
EVERY_FIGURE: tuple[Callable[[], Iterable[Judged]], ...] = (
    acceptance.result_cache_throughput,
    lambda: acceptance.result_cache_misses(1),
    lambda: acceptance.itanium_sleeps(1),
    lambda: acceptance.spun_sleeps(1),
    acceptance.partition_tables,
    acceptance.gets_at_fixed_n,
    acceptance.emulated_sleeps,
    lambda: acceptance.one_row(1),
    acceptance.saturated_rows,
    acceptance.more_processes,
    lambda: acceptance.simulated_latches(340),
    lambda: acceptance.remedied_instances(False),
    lambda: acceptance.remedied_instances(True),
    acceptance.one_fit_and_prediction,
)


def figures(options: Sequence[str] = ()) -> RenderableType:
    """Each figure beside its bound."""
    asked = parser("model", __doc__)
    asked.add_argument("--first", type=int, default=len(EVERY_FIGURE), help="only so many tests, in their order")
    given = asked.parse_args(options)
    table = Table("test", "figure", "measured", "bound", "cases", "")
    for each in EVERY_FIGURE[: given.first]:
        for judged in each():
            sign = "≥" if judged.at_least else "≤"
            verdict = "holds" if judged.holds else "MISSED"
            measured = f"{judged.value:.3f}"
            table.add_row(judged.test, judged.figure, measured, f"{sign} {judged.bound:g}", str(judged.cases), verdict)
    return table
