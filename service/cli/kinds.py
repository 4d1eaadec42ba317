"""How commands name the kind of a database."""

from collectors.grants import KINDS, DatabaseKind, UnknownKind, kind_named
from service.cli.messages import fail

KIND_HELP = f"kind of database: {', '.join(KINDS)}; non-cdb, the same as 11.2; or a release, such as 11g or 19c"


def chosen_kind(word: str) -> DatabaseKind:
    """The kind of that name or release. Another word gives one line and exit code 2."""
    try:
        return kind_named(word)
    except UnknownKind as error:
        fail(str(error))
