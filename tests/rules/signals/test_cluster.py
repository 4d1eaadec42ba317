"""The share of the locks between instances, on numbers that are easy to reckon with."""

from collectors.model import Row
from rules.context import Known, SignalValue, Unknown
from rules.signals import SIGNALS, Subject
from tests.rules.contexts import context_of, with_rows


def read(*rows: Row, cache: str = "dc_sequences") -> SignalValue:
    return SIGNALS["share_of_cluster_requests"].read(context_of(with_rows("v$rowcache", *rows)), Subject((cache,)))


def test_share_of_cluster_requests_is_a_share_of_all_caches() -> None:
    rows: list[Row] = [
        {"parameter": "dc_sequences", "dlm_requests": 300},
        {"parameter": "dc_objects", "dlm_requests": 80},
        {"parameter": "dc_objects", "dlm_requests": 20},
    ]
    assert read(*rows) == Known(0.75, "300 of 400")
    assert read(*rows, cache="dc_objects") == Known(0.25, "100 of 400")
    assert read(*rows, cache="dc_users") == Known(0.0, "0 of 400")


def test_share_of_cluster_requests_is_unknown_without_enough_requests() -> None:
    few = read({"parameter": "dc_sequences", "dlm_requests": 19})
    assert isinstance(few, Unknown)
    assert "19 cluster lock requests" in few.why
    assert isinstance(read({"parameter": "dc_sequences", "gets": 19}), Unknown)
