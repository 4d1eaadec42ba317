"""`make test-live-load`: makes known problems on a database that nobody needs, and checks that latchscope names them. IT WRITES.

The environment says where: LATCHSCOPE_TEST_DSN, _WRITER and _WRITER_PASSWORD for the user that writes,
LATCHSCOPE_TEST_USER and _PASSWORD for the monitoring user, LATCHSCOPE_TEST_MONITOR_DSN if that one logs on elsewhere, and
ON_A_DISPOSABLE_DATABASE=yes. Exit code 1: a load was not diagnosed as expected. 2: refused, stopped, or not undone.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from collectors.errors import CollectError
from service.config.settings import BadSettings, DatabaseSettings
from tests.live.load import safety
from tests.live.load.result import result_of
from tests.live.load.run import POLLS_IN_A_LOAD, NotUndone, Watch, clean, run_load, stopping
from tests.live.load.session import WritingSession
from tests.live.load.statements import LOADS, Load, dry_run

CONFIG = Path("latchscope.yaml")


def main(words: Sequence[str] | None = None) -> int:
    """Run it. Returns the exit code."""
    names = [load.name for load in LOADS]
    parser = argparse.ArgumentParser("make test-live-load")
    parser.add_argument("--dry-run", action="store_true", help="print each statement with its undo; connect nowhere")
    parser.add_argument("--clean", action="store_true", help="only drop what an earlier run left")
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="loads; default: all")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each load runs")
    parser.add_argument("--output", type=Path, default=Path("test-live-load.json"), help="the file to write")
    parser.add_argument("--config", type=Path, help=f"a database in it is refused; default: {CONFIG}, if it is there")
    given = parser.parse_args(words)
    if not 0 < given.seconds <= 3600:
        parser.error("--seconds is above 0 and at most 3600")
    loads = tuple(load for load in LOADS if load.name in given.only)
    if given.dry_run:
        sys.stdout.write("\n".join([*dry_run(loads), ""]))
        return 0
    try:
        place = safety.place_of(os.environ)
        settings = safety.configured(given.config or CONFIG, given=given.config is not None)
        safety.refuse_users(place, settings)
        safety.refuse_watched(place, settings)
        if given.clean:
            _clean(place)
            return 0
        result = _run(place, loads, given.seconds)
        given.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    except (safety.Refused, NotUndone, BadSettings, CollectError, OSError) as error:
        _say(str(error))
        return 2
    _say(f"{given.output}: written; it names no user, host or object, so you can send it")
    return int(any(seen["outcome"] != "as expected" for seen in result["loads"].values()))


def _say(line: str) -> None:
    sys.stderr.write(f"test-live-load: {line}\n")


def _clean(place: safety.Place) -> None:
    session = WritingSession(place.writer)
    try:
        safety.refuse_place(session, place)
        for one in clean(session):
            _say(f"dropped {one}")
    finally:
        session.close()
    _say("nothing of a load is left")


def _run(place: safety.Place, loads: tuple[Load, ...], seconds: float) -> dict[str, Any]:
    """Every load, one after the other. Raises Refused if somebody stops it; by then everything is undone."""
    monitor = place.monitor
    database = DatabaseSettings(
        name="load", dsn=monitor.dsn, user=monitor.user, password_env="LATCHSCOPE_TEST_PASSWORD"
    )
    seen: dict[str, dict[str, object]] = {}
    with stopping() as stop:
        _check(place)
        with Watch(database, seconds / POLLS_IN_A_LOAD) as watch:
            watch.wait_for_first(stop)
            for load in loads:
                if not stop.is_set():
                    _say(f"{load.name}: {load.about}, {seconds:g} s …")
                    seen[load.name] = run_load(load, place.writer, watch, seconds, stop)
                    _say(f"{load.name}: {seen[load.name]['outcome']}")
            last = watch.polls[-1] if watch.polls else None
        if stop.is_set():
            raise safety.Refused("stopped; everything is undone, and no file was written")
    return result_of(version("latchscope"), last, seen)


def _check(place: safety.Place) -> None:
    """Raises Refused unless nobody needs this database."""
    session = WritingSession(place.writer)
    try:
        safety.refuse_place(session, place)
        safety.refuse_leftovers(session)
        safety.refuse_use(session, place)
    finally:
        session.close()


if __name__ == "__main__":
    sys.exit(main())
