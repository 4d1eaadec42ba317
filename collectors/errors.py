"""What can go wrong between us and a database, drawn as a small tree by its cure."""


class CollectError(Exception):
    """Anything that kept us from reading a database. Its text says what, where and the way out."""


class StatementError(CollectError):
    """One statement failed; the session is good and the other views can be read."""


class ViewRefused(StatementError):
    """The user may not read the view (ORA-00942, ORA-01031, ORA-02030): a grant cures it."""


class NotApplicable(StatementError):
    """What was asked for does not exist on this instance: nothing is wrong, and nothing cures it."""


class SessionError(CollectError):
    """The session is gone or was never made; this poll is over. On its own: the network, cured by trying again."""


class SessionKept(SessionError):
    """This poll is over, but its session is good or may become so: cured by trying again on it."""


class CredentialError(SessionError):
    """The database refused the login. A second try could lock the account: only a new credential or an operator cures it."""


class StartingError(SessionError):
    """The instance is starting or stopping, or the listener does not know it yet: cured in seconds."""


class SetupError(SessionError):
    """We are set up wrong for this database (descriptor, driver mode, wallet): cured by the configuration."""


class InputError(CollectError):
    """A file that cannot be read as what it claims to be. One line: what, where, way out."""
