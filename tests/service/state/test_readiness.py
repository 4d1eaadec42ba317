"""What /readyz says."""

from service.state.readiness import LONG_QUEUE_SECONDS, readiness


def test_trouble_makes_unready_and_a_long_queue_does_not() -> None:
    assert (readiness(None, 0.0).ready, readiness(None, LONG_QUEUE_SECONDS).status) == (True, "ok")
    busy = readiness(None, 7.4)
    assert busy.ready, "polls go on"
    assert busy.status.startswith("ok, but polls wait up to 7 s for their turn")
    assert "another replica" in busy.status and "defaults.interval" in busy.status
    gone = readiness("the store does not answer", 7.4)
    assert (gone.ready, gone.status) == (False, "the store does not answer")
