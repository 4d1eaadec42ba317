"""Groups of settings that only the configuration as a whole puts to use: access, uploads, the spool, the name of a replica."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from service.config.units import Bytes


class Strict(BaseModel):
    """A group of settings; a misspelt name is an error, not a silent default."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class AuthSettings(Strict):
    """Who may do what. Without tokens only loopback is served, and everybody there may do everything."""

    tokens_file: Path | None = None
    """Lines of name, role (`read` or `operate`) and sha256 of a token. Without it every reader is let in, and an
    address others can reach is refused unless `serve --insecure` is given."""
    audit_file: Path | None = None
    """File of JSON lines for actions that change state or load a database; the log has them in any case."""


class ReportSettings(Strict):
    """What may be uploaded."""

    max_bytes: Bytes = Field(16 * 2**20, gt=0, le=64 * 2**20)
    """Size of one uploaded file, as it is sent; at most 64 MiB. An AWR report is one or two MiB. An archive may
    unpack to eight times this in all, each of its files to four times, 64 MiB at most, and hold 200 files."""


class SpoolSettings(Strict):
    """Where polls wait on disk while the store cannot take them."""

    directory: Path | None = None
    """Folder in which polls wait while the store takes none. Without it: next to a SQLite store, else
    `latchscope-spool` where latchscope runs."""
    max_bytes: Bytes = Field(256 * 2**20, ge=2**20)
    """Size of the spool; beyond it the oldest polls are dropped, loudly. That is four days of one busy database,
    or six minutes of a thousand."""


class ReplicaSettings(Strict):
    """Which of several processes this one is; they share the databases of one PostgreSQL store, see docs/scale.md."""

    name: str | None = Field(None, min_length=1)
    """How other processes on the same PostgreSQL know this one; host and port when not set. See
    [scale.md](scale.md)."""
    url: str | None = None
    """Where people reach this one, for whoever looks at the table `replicas`."""
