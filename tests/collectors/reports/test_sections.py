"""Readers of a report are declared once each, and a wrong one fails loudly."""

import pytest

from collectors.registry import collectors
from collectors.reports.sections import READERS, BadReader, missing, section


def test_readers_all_read_a_known_view() -> None:
    assert set(READERS) < set(collectors())
    assert {"v$latch", "v$latch_misses", "v$mutex_sleep", "v$rowcache", "v$system_event"} < set(READERS)


@pytest.mark.parametrize(
    ("view", "words"), [("v$nothing", "which no collector declares"), ("v$latch", "a second time")]
)
def test_readers_reject_a_wrong_view_and_say_why(view: str, words: str) -> None:
    before = dict(READERS)
    with pytest.raises(BadReader, match=words):
        section(view)(lambda printed: missing(view, ""))
    assert before == READERS
