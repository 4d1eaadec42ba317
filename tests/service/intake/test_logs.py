"""Logs among the inputs: recognised by content, read as a stream whatever their size, cut by time, bounded when packed."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from collectors.errors import InputError
from collectors.logs import alert
from service.intake import inputs, logs
from service.intake.archives import LIMITS, TooLarge
from service.intake.logs import HEAD_BYTES, gunzipped_log, log_reader, window_of
from service.render.text import as_markdown, as_text
from tests.service.intake.test_archives import zipped

ENTRY = "2026-03-01T{:02}:00:00.000000+01:00\n>>> WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK! pid={}\n"
LOG = "".join(ENTRY.format(hour, hour) for hour in range(10, 14)).encode()


def times(outcome: inputs.InputResults) -> list[int]:
    assert outcome.errors == []
    (one,) = outcome.diagnosed
    assert one.source == "alert log"
    return [event.at.hour for event in one.diagnosis.events if event.at]


@pytest.mark.parametrize(
    "pack",
    [
        bytes,
        gzip.compress,
        lambda data: zipped(("alert.log", data)),
        lambda data: zipped(("a.gz", gzip.compress(data))),
    ],
    ids=["plain", "gz", "zip", "gz in zip"],
)
def test_log_is_read_from_a_file_standard_input_and_memory(
    pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = pack(LOG)
    (tmp_path / "some.trc").write_bytes(data)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    for outcome in (
        inputs.diagnose_all([str(tmp_path / "some.trc")]),
        inputs.diagnose_all([str(tmp_path)]),
        inputs.diagnose_all(["-"]),
        inputs.diagnose_data(data, "upload"),
    ):
        assert times(outcome) == [10, 11, 12, 13]


def test_window_holds_for_every_way_in(tmp_path: Path) -> None:
    window = window_of("2026-03-01T10:30", "2026-03-01T12:00+01:00")
    (tmp_path / "a.log").write_bytes(LOG)
    assert times(inputs.diagnose_all([str(tmp_path / "a.log")], window=window)) == [11, 12]
    assert times(inputs.diagnose_data(zipped(("a", LOG)), "upload", window=window)) == [11, 12]


@pytest.mark.parametrize(
    ("since", "until", "why"),
    [
        ("yesterday", None, "--since 'yesterday' is not a time; write it as 2026-03-01T14:00"),
        (None, "14:00", "--until '14:00' is not a time"),
        ("2026-03-02", "2026-03-01", "is not before --until 2026-03-01"),
    ],
)
def test_window_that_is_none_says_how_to_write_one(since: str | None, until: str | None, why: str) -> None:
    with pytest.raises(ValueError, match="--") as refused:
        window_of(since, until)
    assert why in str(refused.value)


def test_large_log_is_read_in_pieces_and_beyond_the_limit_of_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "LIMITS", LIMITS.__class__(per_input=HEAD_BYTES))
    log = LOG + b"2026-03-01T15:00:00.000000+01:00\nThread 1 advanced to log sequence 5\n" * 3000
    assert len(log) > 2 * HEAD_BYTES
    (tmp_path / "alert.log").write_bytes(log)
    (tmp_path / "alert.gz").write_bytes(gzip.compress(log))
    for name in ("alert.log", "alert.gz"):
        assert times(inputs.diagnose_all([str(tmp_path / name)])) == [10, 11, 12, 13]


def test_packed_log_that_swells_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_UNASKED", 2**20)
    bomb = gzip.compress(LOG + bytes(20 * 2**20))
    found = gunzipped_log(bomb[:HEAD_BYTES], io.BytesIO(bomb[HEAD_BYTES:]), "bomb.gz")
    assert found is not None
    reader, stream = found
    with pytest.raises(TooLarge, match=r"bomb\.gz unpacks to more than 200 times its size"):
        logs.read_log(reader, stream, "bomb.gz")


def test_packed_log_that_is_cut_is_one_error() -> None:
    packed = gzip.compress(LOG + bytes(str(list(range(30_000))), "ascii"))
    outcome = inputs.diagnose_data(packed[: len(packed) // 2], "half.gz")
    (error,) = outcome.errors
    assert isinstance(error, InputError) and "half.gz is damaged" in str(error)


def test_each_reader_knows_only_its_own_files(incident: Path) -> None:
    found = log_reader(LOG)
    assert found is not None and found.read is alert.read
    assert log_reader(incident.read_bytes()[:HEAD_BYTES]) is None


def test_every_form_shows_the_events() -> None:
    diagnosed = inputs.diagnose_data(LOG, "alert.log").diagnosed
    text, whole, markdown = as_text(diagnosed), as_text(diagnosed, verbose=True), as_markdown(diagnosed)
    for form in (text, whole, markdown):
        assert "2026-03-01 10:00:00" in form and "process number 13 waited too long" in " ".join(form.split())
    assert "lines of 2026-03-01 10:00:00 to 2026-03-01 13:00:00" in " ".join(text.split())
    assert "WARNING: 2026-03-01 10:00:00: the first of 4 timeouts" in text
