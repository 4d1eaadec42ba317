"""A figure of a view that an earlier poll read says how old it is."""

from datetime import timedelta

from collectors.model import Changes
from rules.ages import age_of, aged
from rules.context import SignalContext
from rules.model import Known
from rules.signals import SIGNALS, Subject
from tests.rules.contexts import BEGIN, delta_of


def test_figure_of_an_earlier_poll_says_its_age() -> None:
    rows = ({"pool": "shared pool", "name": "KQR PO", "bytes": 2**20},)
    delta = delta_of({"v$sgastat": rows})
    assert (age_of(delta, "v$sgastat"), age_of(delta, "v$undostat")) == (0.0, 0.0)
    old = Changes("v$sgastat", rows, read_at=BEGIN - timedelta(seconds=15))
    later = delta_of({}, readings={"v$sgastat": old})
    assert age_of(later, "v$sgastat") == 45.0 and aged(later, "v$sgastat", "") == "read 45.0 s before the end"
    figure = SIGNALS["row_cache_memory"].read(SignalContext(later), Subject())
    assert figure == Known(2.0**20, "1 MiB, read 45.0 s before the end")


def test_resizes_read_earlier_are_not_told_as_those_of_now() -> None:
    old = Changes("v$sga_resize_ops", (), read_at=BEGIN)
    later = delta_of({}, readings={"v$sga_resize_ops": old})
    figure = SIGNALS["shared_pool_shrinks"].read(SignalContext(later), Subject())
    assert isinstance(figure, Known) and figure.derivation == "read 30.0 s before the end"
