"""A store that an older release has to upgrade first is refused in one line that says so, and stays as it is."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from service.cli.main import cli
from service.store.engine import StoreError, look_at_store, masked
from service.store.repository import Repository
from tests.paths import ROOT
from tests.ports import free_port
from tests.upgrade.old import FIRST, OldStore

STEP = "was written by 0.1.0: start latchscope 0.2.0 once on it, then this version"
COMMANDS = (
    ("store", "check"),
    ("store", "prune"),
    ("store", "figures", "undo-storm"),
    ("store", "export", "new.gz"),
    ("store", "import", str(FIRST / "export.jsonl.gz")),
)


def test_store_of_0_1_0_is_refused_with_the_step_between_and_unchanged(first: OldStore) -> None:
    before = first.content()
    with pytest.raises(StoreError) as refused:
        Repository(first.url)
    assert str(refused.value).startswith(f"store {masked(first.url)} {STEP}") and "\n" not in str(refused.value)
    look = look_at_store(first.url)
    assert (look.usable, look.said.startswith(STEP)) == (False, True)
    assert first.content() == before


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command[1]))
def test_command_on_a_store_of_0_1_0_ends_with_2_and_one_line(
    first: OldStore, command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = {"store": first.url, "databases": [{"name": "undo-storm", "dsn": "demo:undo-storm"}]}
    Path("latchscope.yaml").write_text(yaml.safe_dump(config))
    before = first.content()
    told = CliRunner().invoke(cli, command)
    assert (told.exit_code, told.stdout) == (2, "")
    assert STEP in told.stderr and len(told.stderr.splitlines()) == 1
    assert first.content() == before and not Path("new.gz").exists()


def test_service_does_not_start_on_a_store_of_0_1_0(first: OldStore, tmp_path: Path) -> None:
    databases = [{"name": "undo-storm", "dsn": "demo:undo-storm"}]
    config = {"store": first.url, "listen": f"127.0.0.1:{free_port()}", "databases": databases}
    (tmp_path / "latchscope.yaml").write_text(yaml.safe_dump(config))
    before = first.content()
    words = [sys.executable, "-m", "service", "serve", "--config", str(tmp_path / "latchscope.yaml")]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 2, ended.stderr
    assert STEP in ended.stderr.splitlines()[-1]
    assert first.content() == before


@pytest.mark.parametrize("table", ["old_deltas", "old_five_minutes", "old_hours"])
def test_store_of_0_2_0_that_still_has_figures_of_0_1_0_is_refused(old: OldStore, table: str) -> None:
    at = 1_772_366_400_000
    if old.kind == "postgresql":
        days = f"for values from ({at}) to ({at + 86_400_000})"
        old.query(f"create table left_20260301 partition of {table} {days}")
    values = "(database_id, item_id, at, value) values (1, 1, {}, 1)"
    if table != "old_deltas":
        values = "(database_id, item_id, at, total, most) values (1, 1, {}, 1, 1)"
    old.query(f"insert into {table} {values.format(at)}")
    before = old.content()
    with pytest.raises(StoreError, match=f"still has figures of 0.1.0 in {table}: let latchscope 0.2.0 run on it"):
        Repository(old.url)
    assert not look_at_store(old.url).usable
    assert old.content() == before
    old.query(f"delete from {table}")
    Repository(old.url).close()
