"""Readers are found by scanning, and a wrong module fails loudly."""

from pathlib import Path

import pytest

from collectors.registry import collectors
from collectors.reports import readers as module
from collectors.reports import sections
from collectors.reports.readers import BadReader, readers

ONE = """
from collectors.model import Missing
from collectors.reports.reader import Reader

ONE = Reader("{view}", lambda printed: Missing("{view}", "unread", "", ""))
"""


def test_readers_all_read_a_known_view() -> None:
    assert set(readers()) < set(collectors())
    assert {"v$latch", "v$latch_misses", "v$mutex_sleep", "v$rowcache", "v$system_event"} < set(readers())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds 0 readers"),
        (ONE.format(view="v$latch") + ONE.format(view="v$latch").replace("ONE =", "TWO ="), "holds 2 readers"),
        (ONE.format(view="v$nothing"), "which no collector declares"),
        (ONE.format(view="v$latch"), "a second time"),
    ],
)
def test_readers_reject_a_wrong_module_and_say_why(
    text: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its name sorts last, so the module that it repeats is found first.
    name = f"zz_planted_{abs(hash(text))}"
    (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(sections, "__path__", [*sections.__path__, str(tmp_path)])
    readers.cache_clear()
    with pytest.raises(BadReader, match=words):
        module.readers()
    readers.cache_clear()
