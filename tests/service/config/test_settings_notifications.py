"""The settings of notifications: quiet hours over midnight and in any zone, and one line for each mistake."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from rules.model import Severity
from service.config import load
from service.config.settings import BadSettings, NotificationSettings

NIGHT = {"name": "n", "url_file": "f", "quiet_hours": "22:00-07:00", "quiet_zone": "Europe/Berlin"}


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-{text}+00:00").astimezone(UTC)


def test_quiet_hours_hold_until_their_end_by_the_clock_of_the_zone() -> None:
    night = NotificationSettings.model_validate(NIGHT)
    expected = {
        "01-15T20:59": "01-15T20:59",  # 21:59 in Berlin
        "01-15T21:00": "01-16T06:00",
        "01-15T23:30": "01-16T06:00",  # half past midnight
        "01-16T05:59": "01-16T06:00",
        "01-16T06:00": "01-16T06:00",
        "07-15T20:00": "07-16T05:00",  # summer time
        "03-28T22:00": "03-29T05:00",  # the night that loses an hour
        "10-24T22:00": "10-25T06:00",  # and the one that gains it
    }
    assert {when: night.held_until(at(when), Severity.WARNING).strftime("%m-%dT%H:%M") for when in expected} == expected


def test_quiet_hours_of_one_day_hold_and_the_worst_passes_them() -> None:
    noon = NotificationSettings.model_validate({**NIGHT, "quiet_hours": "12:00-14:00", "quiet_zone": "UTC"})
    assert noon.held_until(at("01-15T12:00"), Severity.WARNING) == at("01-15T14:00")
    assert noon.held_until(at("01-15T11:59"), Severity.WARNING) == at("01-15T11:59")
    assert noon.held_until(at("01-15T12:00"), Severity.CRITICAL) == at("01-15T12:00")
    never = NotificationSettings.model_validate({"name": "n", "url_file": "f"})
    assert never.held_until(at("01-15T12:00"), Severity.NOTICE) == at("01-15T12:00")


def test_notification_mistake_is_one_line(tmp_path: Path) -> None:
    mistakes = {
        "url_file: f": "notifications[0].name",
        "name: n": "notifications[0].url_file",
        "name: 'a b', url_file: f": "notifications[0].name",
        "name: n, url_file: f, url: 'slack://secret'": "notifications[0].url: no such setting",
        "name: n, url_file: f, quiet_hours: night": "'night' is not a span of a day; write two different times",
        "name: n, url_file: f, quiet_hours: '07:00-07:00'": "is not a span of a day",
        "name: n, url_file: f, quiet_hours: '25:00-07:00'": "is not a span of a day",
        "name: n, url_file: f, quiet_zone: Mars/Base": "'Mars/Base' is not a time zone of this machine",
        "name: n, url_file: f, quiet_zone: ../etc": "'../etc' is not a time zone of this machine",
        "name: n, url_file: f, group: 2h": "notifications[0].group",
        "name: n, url_file: f, on: [sometimes]": "notifications[0].on[0]",
    }
    path = tmp_path / "latchscope.yaml"
    for written, said in mistakes.items():
        path.write_text(f"notifications: [{{{written}}}]", encoding="utf-8")
        with pytest.raises(BadSettings) as error:
            load.read(path)
        assert said in str(error.value), written
        assert "\n" not in str(error.value) and "secret" not in str(error.value), written


def test_notification_setting_on_may_be_written_bare(tmp_path: Path) -> None:
    path = tmp_path / "latchscope.yaml"
    path.write_text("notifications: [{name: n, url_file: f, on: [end]}]", encoding="utf-8")
    assert load.read(path).notifications[0].on == ["end"]
