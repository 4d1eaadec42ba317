"""Groups of settings that belong to the configuration as a whole: access, uploads, the spool, the name of a replica."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from service.config.units import Bytes


class Strict(BaseModel):
    """A group of settings. A misspelt name is an error, not a silent default."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class AuthSettings(Strict):
    """Who may do what. Without tokens only loopback is served, and everybody there may do everything."""

    tokens_file: Path | None = None
    """Lines of name, role (`read` or `operate`) and sha256 of a token. Without it every reader is admitted, and an
    address that others can reach is refused unless you give `serve --insecure`."""
    audit_file: Path | None = None
    """File of JSON lines for actions that change state or load a database. The log has them in any case."""


class ReportSettings(Strict):
    """Limits for uploads."""

    max_bytes: Bytes = Field(16 * 2**20, gt=0, le=64 * 2**20)
    """Largest uploaded file, as sent; at most 64 MiB. An AWR report is one or two MiB. An archive may
    unpack to eight times this in total, each of its files to four times, 64 MiB at most, and have 200 files."""


class SpoolSettings(Strict):
    """Where polls wait on disk while the store does not take them."""

    directory: Path | None = None
    """Folder for polls while the store does not take them. Default: next to a SQLite store, else
    `latchscope-spool` where latchscope runs."""
    max_bytes: Bytes = Field(256 * 2**20, ge=2**20)
    """Largest size of the spool. Beyond it the oldest polls are dropped, and the log says so. The default is four days of one
    busy database, or six minutes of a thousand."""


class ReplicaSettings(Strict):
    """Which of several processes this one is. They share the databases of one PostgreSQL store, see docs/scale.md."""

    name: str | None = Field(None, min_length=1)
    """The name of this process for others on the same PostgreSQL; default: host and port. See
    [scale.md](scale.md)."""
    url: str | None = None
    """Where people reach this process, for readers of the table `replicas`."""
