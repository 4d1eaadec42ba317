"""What can go wrong between latchscope and a database: a small tree of errors, ordered by their cure."""


class CollectError(Exception):
    """Anything that prevented a read of a database. The text says what, where and the way out."""


class StatementError(CollectError):
    """One statement failed. The session is good, and the other views can be read."""


class ViewRefused(StatementError):
    """The user may not read the view (ORA-00942, ORA-01031, ORA-02030). A grant cures it."""


class UnlistedStatement(StatementError):
    """The text is not on the bill of SQL, so it was not sent. Only latchscope itself can send texts: this is a defect of it."""


class NotApplicable(StatementError):
    """The thing asked for does not exist on this instance. Nothing is wrong, and nothing cures it."""


class SessionError(CollectError):
    """The session is lost or could not be opened, so this poll is over. Without a subclass: the network, cured by a retry."""


class SessionKept(SessionError):
    """This poll is over, but its session is good or may recover. A retry on the same session cures it."""


class CredentialError(SessionError):
    """The database refused the login. A second try could lock the account. Only a new password or an operator cures it."""


class StartingError(SessionError):
    """The instance is starting or stopping, or the listener does not know it yet. It passes in seconds."""


class SetupError(SessionError):
    """The configuration does not fit this database (descriptor, driver mode, wallet). A change of the configuration cures it."""


class InputError(CollectError):
    """A file that is not what it claims to be. One line: what, where, way out."""
