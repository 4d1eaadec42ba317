"""Writes fresh secrets for docker-compose.yml: `python3 dashboards/compose/make_secrets.py FOLDER`.

The folder is made for its owner alone; its files can be read by any user, because each container has a user of its own.
Then: `LATCHSCOPE_SECRETS=FOLDER docker compose up`. Needs nothing but Python; a file that is there stays as it is.
"""

import hashlib
import os
import sys
from pathlib import Path
from secrets import token_urlsafe


def write(path: Path, text: str) -> str:
    """Write a file unless it is there; its text either way."""
    if not path.exists():
        path.write_text(text, encoding="utf-8")
        os.chmod(path, 0o444)
    return path.read_text(encoding="utf-8")


def main(folder: Path) -> None:
    """All five: the token of Prometheus and of people who read, the list latchscope knows it by, and three passwords."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    token = write(folder / "latchscope_token", token_urlsafe(32))
    write(folder / "latchscope_tokens", f"prometheus read {hashlib.sha256(token.encode()).hexdigest()}\n")
    write(folder / "grafana_admin_password", token_urlsafe(24))
    write(folder / "postgres_password", token_urlsafe(24))
    write(folder / "oracle_password", token_urlsafe(24))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
