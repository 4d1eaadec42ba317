"""What can go wrong between us and a database, drawn as a small tree by its cure."""


class CollectError(Exception):
    """Anything that kept us from reading a database. Its text says what, where and the way out."""


class StatementError(CollectError):
    """One statement failed; the session is good and the other views can be read."""


class ViewRefused(StatementError):
    """The user may not read the view (ORA-00942, ORA-01031, ORA-02030): a grant cures it."""


class SessionError(CollectError):
    """The session is gone or was never made; this poll is over."""


class InputError(CollectError):
    """A file that cannot be read as what it claims to be. One line: what, where, way out."""
