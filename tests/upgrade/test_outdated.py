"""A store that an older release has to upgrade first is refused in one line that says so, and stays as it is."""

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from service.cli.main import cli
from service.store.engine import StoreError, look_at_store, masked
from service.store.repository import Repository
from tests.upgrade.old import OldStore

STEP = "was written by 0.1.0: start latchscope 0.2.0 once on it, then this version"


def test_store_of_0_1_0_is_refused_with_the_step_between_and_unchanged(
    first: OldStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = first.content()
    with pytest.raises(StoreError) as refused:
        Repository(first.url)
    assert str(refused.value).startswith(f"store {masked(first.url)} {STEP}") and "\n" not in str(refused.value)
    look = look_at_store(first.url)
    assert (look.usable, look.said.startswith(STEP)) == (False, True)
    monkeypatch.chdir(tmp_path)
    config = {"store": first.url, "databases": [{"name": "undo-storm", "dsn": "demo:undo-storm"}]}
    Path("latchscope.yaml").write_text(yaml.safe_dump(config))
    for command in (["store", "check"], ["store", "prune"], ["store", "export", "new.gz"]):
        ended = CliRunner().invoke(cli, command)
        assert (ended.exit_code, ended.stdout) == (2, ""), command
        assert STEP in ended.stderr and len(ended.stderr.splitlines()) == 1, command
    assert first.content() == before and not Path("new.gz").exists()


@pytest.mark.slow
def test_store_of_0_2_0_that_still_has_figures_of_0_1_0_is_refused(old: OldStore) -> None:
    at = 1_772_366_400_000
    for table in ("old_deltas", "old_five_minutes", "old_hours"):
        if old.kind == "postgresql":
            days = f"for values from ({at}) to ({at + 86_400_000})"
            old.query(f"create table left_{table} partition of {table} {days}")
        columns = "value" if table == "old_deltas" else "total, most"
        values = ", ".join("1" for _ in columns.split())
        old.query(f"insert into {table} (database_id, item_id, at, {columns}) values (1, 1, {at}, {values})")
        before = old.content()
        with pytest.raises(StoreError, match=f"still has figures of 0.1.0 in {table}: let latchscope 0.2.0 run on it"):
            Repository(old.url)
        assert not look_at_store(old.url).usable
        assert old.content() == before
        old.query(f"delete from {table}")
    Repository(old.url).close()
