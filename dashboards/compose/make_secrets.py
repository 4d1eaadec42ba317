"""Makes up the passwords and tokens of docker-compose.yml: `python3 dashboards/compose/make_secrets.py FOLDER`.

The service `secrets` runs it before all others. Each service that reads a secret has a folder below FOLDER, which is a volume
that nobody else mounts. Their users differ, so any user who gets there may read a file; a FOLDER that is new is closed to others.
What is there stays as it is. Needs nothing but Python.
"""

import hashlib
import os
import sys
from pathlib import Path
from secrets import token_hex, token_urlsafe


def write(path: Path, text: str, mode: int = 0o444) -> str:
    """Write a file unless it is there; its text either way. It is there whole or not at all, whenever we are killed."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.draft")
        draft.unlink(missing_ok=True)
        draft.write_text(text, encoding="utf-8")
        draft.chmod(mode)
        draft.rename(path)
    return path.read_text(encoding="utf-8")


def for_oracle() -> str:
    """A password that every release takes: 11.2 wants no more than 30 bytes, and a letter at first."""
    return f"L{token_hex(14)}"


def main(folder: Path) -> None:
    """Everything by the service that reads it. What two of them share is made from what the first was given."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    token = write(folder / "prometheus/latchscope_token", token_urlsafe(32))
    known = f"prometheus read {hashlib.sha256(token.encode()).hexdigest()}\n"
    write(folder / "latchscope/latchscope_tokens", known)
    write(folder / "grafana/grafana_admin_password", token_urlsafe(24))
    password = write(folder / "postgres/postgres_password", token_urlsafe(24))
    # libpq takes no password from a file that others may read.
    write(folder / "latchscope/pgpass", f"postgres:5432:latchscope:latchscope:{password}\n", 0o400)
    write(folder / "oracle/oracle_password", for_oracle())
    user = write(folder / "latchscope/oracle_user_password", for_oracle(), 0o400)
    write(folder / "oracle/latchscope.sql", f"define latchscope_password = {user}\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.umask(0o022)
    main(Path(sys.argv[1]))
