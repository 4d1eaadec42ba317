"""Where passwords come from: a file, the environment or a command. They are read at each login and kept nowhere."""

import hashlib
import os
import subprocess
from pathlib import Path

from collectors.errors import SetupError
from service.config.settings import DatabaseSettings

COMMAND_SECONDS = 10.0
_BY_HAND = "run it by hand as the account of latchscope; it prints the password and nothing else"


def password_of(database: DatabaseSettings) -> str:
    """The current password. Raises SetupError, which never contains any of it."""
    if database.password_file is not None:
        return read_secret(database.password_file, f"{database.name}: password_file")
    if database.password_env is not None:
        if database.password_env not in os.environ:
            way_out = "set it where latchscope starts, or set password_file"
            raise SetupError(f"{database.name}: the environment has no {database.password_env}; {way_out}")
        return os.environ[database.password_env]
    if database.password_command is not None:
        return _from_command(database)
    raise SetupError(f"{database.name}: no password; set password_file, password_env or password_command")


def fingerprint(user: str, password: str) -> str:
    """A mark that distinguishes credentials without keeping one."""
    return hashlib.sha256(f"{user}\0{password}".encode()).hexdigest()


def read_secret(path: Path, what: str) -> str:
    """The content of a secret file without its line end. Raises SetupError."""
    try:
        return path.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise SetupError(
            f"{what} {path} cannot be read: {why}; correct the path, or give the right to read it"
        ) from None


def _from_command(database: DatabaseSettings) -> str:
    assert database.password_command is not None
    try:
        done = subprocess.run(
            database.password_command, capture_output=True, timeout=COMMAND_SECONDS, check=True, text=True
        )
    except subprocess.CalledProcessError as error:
        raise SetupError(
            f"{database.name}: password_command ended with exit code {error.returncode}; {_BY_HAND}"
        ) from None
    except subprocess.TimeoutExpired:
        raise SetupError(
            f"{database.name}: password_command took longer than {COMMAND_SECONDS:g} s; {_BY_HAND}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "its output is not text"
        raise SetupError(f"{database.name}: password_command cannot be run: {why}; {_BY_HAND}") from None
    return done.stdout.rstrip("\r\n")
