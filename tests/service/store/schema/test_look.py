"""A look at a store says whether the service could start with it, and changes nothing."""

from pathlib import Path

from sqlalchemy import text

from service.store.schema.engine import make_engine
from service.store.schema.look import look_at_store
from service.store.schema.migrate import newest, upgrade


def test_look_tells_how_a_file_stands(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    file = tmp_path / "store.db"
    assert (look_at_store(url).usable, "the first start creates it" in look_at_store(url).said) == (True, True)
    assert not file.exists()
    engine = make_engine(url)
    upgrade(engine)
    steps = {
        newest(): (True, f"answers, can be written, schema {newest()}"),
        "0001": (True, f"schema 0001; the next start upgrades it to {newest()}"),
        "9999": (False, "has schema 9999, which this latchscope does not know"),
    }
    for revision, (usable, said) in steps.items():
        with engine.begin() as connection:
            connection.execute(text("update alembic_version set version_num = :to"), {"to": revision})
        look = look_at_store(url)
        assert (look.usable, said in look.said) == (usable, True), look
    engine.dispose()
    file.write_bytes(b"no database" * 100)
    assert not look_at_store(url).usable and "file is not a database" in look_at_store(url).said


def test_look_tells_what_stops_a_start_without_the_password(tmp_path: Path) -> None:
    for url, said in {
        f"sqlite:///{tmp_path}/none/s.db": f"there is no folder {tmp_path}/none; create it",
        "postgresql://u:tiger@127.0.0.1:1/d": "Connection refused; correct `store`, or start what it names",
    }.items():
        look = look_at_store(url)
        assert not look.usable and said in look.said and "tiger" not in f"{look}"
    assert look_at_store("sqlite://").usable
