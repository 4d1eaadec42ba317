"""Every command that people paste is made here: statements with numbers and foreign names in them.

The name of a job, a user or an object is chosen by the one who creates it. A line end or a quote in it would end the command, and
an `&` makes SQL*Plus ask. So a name is plain, or stands between double quotes, or the command is withheld with the reason.
"""

import re
from collections.abc import Callable, Mapping, Sequence

Given = int | str | Sequence[int] | Sequence[str]

PLAIN = re.compile(r"[A-Z][A-Z0-9_$#]*")
PASTABLE = re.compile(r"""[^"'&\x00-\x1f\x7f-\U0010ffff]+""")
"""Printable ASCII without quotes and `&`."""
_RESERVED = """
ACCESS ADD ALL ALTER AND ANY AS ASC AUDIT BETWEEN BY CHAR CHECK CLUSTER COLUMN COLUMN_VALUE COMMENT COMPRESS CONNECT
CREATE CURRENT DATE DECIMAL DEFAULT DELETE DESC DISTINCT DROP ELSE EXCLUSIVE EXISTS FILE FLOAT FOR FROM GRANT GROUP
HAVING IDENTIFIED IMMEDIATE IN INCREMENT INDEX INITIAL INSERT INTEGER INTERSECT INTO IS LEVEL LIKE LOCK LONG MAXEXTENTS
MINUS MLSLABEL MODE MODIFY NESTED_TABLE_ID NOAUDIT NOCOMPRESS NOT NOWAIT NULL NUMBER OF OFFLINE ON ONLINE OPTION OR
ORDER PCTFREE PRIOR PUBLIC RAW RENAME RESOURCE REVOKE ROW ROWID ROWNUM ROWS SELECT SESSION SET SHARE SIZE SMALLINT START
SUCCESSFUL SYNONYM SYSDATE TABLE THEN TO TRIGGER UID UNION UNIQUE UPDATE USER VALIDATE VALUES VARCHAR VARCHAR2 VIEW
WHENEVER WHERE WITH"""
RESERVED = frozenset(_RESERVED.split())
"""Words that are no name without quotes, as V$RESERVED_WORDS lists them."""
LONGEST = 128
_SLOT = re.compile(r"\{(\w+)(?::(\w+))?\}")
_OWN = re.compile(r"[A-Za-z][A-Za-z0-9_$#.]*|<user>|<USER>")
_CODE = re.compile(r"[0-9A-Za-z]{1,32}")


class WithheldError(ValueError):
    """A command that must not be made. The text is the reason, for people."""


def command(text: str, **values: Given) -> str:
    """The text with its slots filled, on as many lines as it has itself. Raises WithheldError.

    `{sid}` is a whole number, `{owner:name}` a name of Oracle's, `{name:text}` a text between quotes, `{address:code}` letters
    and digits, and `{view:own}` a name that is our own. Of several numbers or texts each is filled in, with commas.
    """
    return _SLOT.sub(lambda slot: _filled(slot[1], _FORMS[slot[2] or "number"], values[slot[1]]), text)


def command_or_none(text: str, **values: Given) -> str | None:
    """The same; None where the command is withheld."""
    try:
        return command(text, **values)
    except WithheldError:
        return None


def _filled(what: str, form: Callable[[str, int | str], str], value: Given) -> str:
    each = [value] if isinstance(value, int | str) else value
    return ", ".join(form(what, one) for one in each)


def _number(what: str, value: int | str) -> str:
    if not isinstance(value, int):
        raise WithheldError(f"its {what} is not a whole number")
    return f"{value:d}"


def _name(what: str, value: int | str) -> str:
    name = _pastable(what, value)
    return name if PLAIN.fullmatch(name) and name not in RESERVED else f'"{name}"'


def _text(what: str, value: int | str) -> str:
    return f"'{_pastable(what, value)}'"


def _pastable(what: str, value: int | str) -> str:
    name = str(value)
    if not name or len(name) > LONGEST:
        raise WithheldError(f"its {_said(what)} is {'empty' if not name else 'too long'}")
    if not PASTABLE.fullmatch(name):
        raise WithheldError(
            f"its {_said(what)} has a sign that changes a command where it is pasted (a quote, an &, a line end, or one beyond "
            "printable ASCII)"
        )
    return name


def _code(what: str, value: int | str) -> str:
    if not _CODE.fullmatch(str(value)):
        raise WithheldError(f"its {_said(what)} has more than letters and digits")
    return str(value)


def _own(what: str, value: int | str) -> str:
    if not _OWN.fullmatch(str(value)):
        raise WithheldError(f"its {_said(what)} is not one of latchscope")
    return str(value)


def _said(what: str) -> str:
    return what.replace("_", " ")


_FORMS: Mapping[str, Callable[[str, int | str], str]] = {
    "number": _number,
    "name": _name,
    "text": _text,
    "code": _code,
    "own": _own,
}
