"""What tests/live brings for real databases fits what we ship, as far as that shows without a database."""

from pathlib import Path

import pytest

from collectors.grants import grants_script

LIVE = Path(__file__).parents[1] / "live"


@pytest.mark.parametrize(("user", "kind", "release"), [("LATCHSCOPE", "11.2", "11.2"), ("C##LATCHSCOPE", "cdb", None)])
def test_grants_of_the_containers_are_the_ones_printed(user: str, kind: str, release: str | None) -> None:
    kept = (LIVE / "setup" / f"grants-{kind}.sql").read_text(encoding="utf-8")
    assert kept == grants_script(user, kind, asks=False, release=release), "run `make docs`"  # type: ignore[arg-type]


@pytest.mark.parametrize(("file", "grants"), [("free.sql", "grants-cdb.sql"), ("xe11.sql", "grants-11.2.sql")])
def test_container_runs_its_grants_with_the_password_made_for_it(file: str, grants: str) -> None:
    text = (LIVE / "setup" / file).read_text(encoding="utf-8")
    assert text.index("@/run/generated/latchscope.sql") < text.index(f"@/opt/latchscope/{grants}")
    assert "identified" not in text and "define" not in text, "a password in the checkout"
    assert "accept" not in (LIVE / "setup" / grants).read_text(encoding="utf-8"), "nobody is there to answer a prompt"


def test_workload_leaves_nothing_behind() -> None:
    text = (LIVE / "workload.sql").read_text(encoding="utf-8").lower()
    for thing in ("sequence latchscope_numbers", "table latchscope_rows", "procedure latchscope_heat"):
        kind, name = thing.split()
        assert f"\ncreate {thing}" in text or f"\ncreate or replace {thing}" in text
        assert f"\ndrop {kind} {name}" in text
    assert "alter system" not in text
