"""What guards the row cache: by the events that an instance has, else by its release."""

from collectors.mechanism import mechanism_in, mechanism_of, without_latch
from collectors.model import Missing, Reading, Rows
from tests.each import each

MUTEX, LATCH = "row cache mutex", "latch: row cache objects"


@each(
    ("events", "release", "mechanism"),
    [
        ({MUTEX}, "11.2.0.4.0", "mutex"),
        ({LATCH, MUTEX}, None, "mutex"),
        ({LATCH}, "19.0.0.0.0", "latch"),
        (set(), "12.2.0.1.0", "mutex"),
        (set(), "12.1.0.2.0", "latch"),
        (set(), None, None),
    ],
)
def test_mechanism_of_follows_the_events_then_the_release(
    events: set[str], release: str | None, mechanism: str | None
) -> None:
    assert mechanism_of(events, release) == mechanism


def test_mechanism_in_readings_takes_what_was_read() -> None:
    instance = Rows("v$instance", ({"version": "19.0.0.0.0"},))
    refused = Missing("v$event_name", "refused", "", "")
    readings: dict[str, Reading] = {"v$instance": instance, "v$event_name": refused}
    assert mechanism_in(readings) == "mutex"
    assert mechanism_in(readings | {"v$event_name": Rows("v$event_name", ({"name": LATCH},))}) == "latch"
    assert mechanism_in({}) is None


def test_without_latch_is_no_failure() -> None:
    assert without_latch("v$latch_children").kind == "not_asked"
