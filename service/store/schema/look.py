"""A look at a store that changes nothing: whether it answers, which schema it has, and whether latchscope may write there."""

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import create_engine, text
from sqlalchemy.exc import SQLAlchemyError

from service.extras import MissingExtra
from service.store.schema.engine import brief, make_engine, masked, sqlite_file
from service.store.schema.migrate import HOME, newest, stands_at


@dataclass(frozen=True, slots=True)
class StoreLook:
    """What one look showed; `usable` if the service could start with it."""

    store: str
    said: str
    usable: bool


def look_at_store(url: str) -> StoreLook:
    """One look at the store of this URL. It says what is wrong and raises nothing."""
    try:
        file = sqlite_file(url)
        usable, said = _file(file) if file is not None else _server(url)
    except (SQLAlchemyError, MissingExtra, ModuleNotFoundError, ValueError) as error:
        usable, said = False, f"cannot be opened: {brief(error)}; correct `store`, or start what it names"
    return StoreLook(masked(url), said, usable)


def _file(file: Path) -> tuple[bool, str]:
    folder = file.absolute().parent
    if not folder.is_dir():
        return False, f"cannot be created: there is no folder {folder}; create it, or correct `store`"
    if not os.access(folder, os.W_OK):
        return False, f"cannot be written: this account may not write in {folder}; change its owner, or correct `store`"
    if not file.exists():
        return True, "does not exist yet; the first start creates it"
    if not os.access(file, os.R_OK | os.W_OK):
        return False, "cannot be written by this account; change the owner of the file, or correct `store`"
    engine = create_engine(f"sqlite:///file:{quote(str(file))}?mode=ro&uri=true")
    try:
        with engine.connect() as connection:
            return _schema(stands_at(connection))
    finally:
        engine.dispose()


def _server(url: str) -> tuple[bool, str]:
    engine = make_engine(url)
    try:
        with engine.connect() as connection:
            if engine.dialect.name != "postgresql":
                return True, "lives in memory, and ends with the process"
            asked = "select has_schema_privilege(current_schema(), 'create') and not pg_is_in_recovery()"
            if not connection.execute(text(asked)).scalar():
                return False, "answers, but its role may not create tables; see docs/history.md for the rights it needs"
            return _schema(stands_at(connection))
    finally:
        engine.dispose()


def _schema(found: list[str]) -> tuple[bool, str]:
    if not found:
        return True, "answers and is empty; the first start creates its tables"
    if found == [newest()]:
        return True, f"answers, can be written, schema {found[0]}"
    if all(any(HOME.glob(f"versions/{each}_*.py")) for each in found):
        return True, f"answers, can be written, schema {', '.join(found)}; the next start upgrades it to {newest()}"
    return (
        False,
        f"has schema {', '.join(found)}, which this latchscope does not know; use the newer one, or a new store",
    )
