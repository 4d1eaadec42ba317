"""What was stable in the last release is still there, or docs/upgrade.md names it."""

from pathlib import Path

import pytest

from docs.interface import KINDS, counted, interface, lost, read, written

ROOT = Path(__file__).parents[2]
LAST, LISTED = max(
    ((path.parent.name, path) for path in Path(__file__).parent.glob("*/interface.txt")),
    key=lambda found: [int(part) for part in found[0].split(".")],
)
"""The last release, and the names that it had."""
HEADING = f"## From {LAST} to the next release\n"


def test_stable_names_of_the_last_release_are_there_or_on_the_page() -> None:
    page = (ROOT / "docs" / "upgrade.md").read_text(encoding="utf-8")
    assert HEADING in page, "the page has no section for the next upgrade"
    assert lost(read(LISTED.read_text(encoding="utf-8")), interface(), LAST, page) == []


def test_list_of_the_last_release_has_every_kind_and_is_read_as_it_was_written() -> None:
    text = LISTED.read_text(encoding="utf-8")
    assert written(read(text)) == text
    assert all(counted(read(text))[kind] for kind in KINDS)


@pytest.mark.slow
def test_interface_of_this_checkout_misses_what_is_taken_out_of_a_copy() -> None:
    now = interface()
    metric, field, code = (
        next(name for name in now if name.kind == kind and name.name == known)
        for kind, known in (("metric", "latchscope_severity"), ("field", "findings[].confidence"), ("exit code", "3"))
    )
    fewer = {name: type for name, type in now.items() if name not in (metric, code) and name.name != field.name}
    told = lost(now, fewer, LAST, "")
    assert [one.partition(",")[0].partition(" of ")[0] for one in told] == [
        "the metric latchscope_severity",
        "the field findings[].confidence",
        "the exit code 3",
    ]
