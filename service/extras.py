"""The distribution: which release and commit it is, and its optional extras, each checked before its import."""

from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

_HERE = Path(__file__).parent


def release() -> str:
    """The release, and the commit in short where that is known: from the build, or of the checkout."""
    built, git = _HERE / "COMMIT", _HERE.parent / ".git"
    try:
        commit = built.read_text("utf-8") if built.exists() else (git / "HEAD").read_text("utf-8")
        if name := commit.strip().partition("ref: ")[2]:
            packed = (git / "packed-refs").read_text("utf-8") if (git / "packed-refs").exists() else ""
            loose = git / name
            found = [line.partition(" ")[0] for line in packed.splitlines() if line.endswith(f" {name}")]
            commit = loose.read_text("utf-8") if loose.exists() else found[0]
    except (OSError, IndexError):
        return version("latchscope")
    return f"{version('latchscope')}+{commit[:8]}"


class MissingExtra(Exception):
    """A part needs a package that is not installed: one sentence that names the extra."""


def require(package: str, extra: str, what: str) -> None:
    """Raise MissingExtra if a package cannot be found. Nothing is imported. `what` needs it, in words."""
    if find_spec(package) is None:
        raise MissingExtra(
            f"{what} need the package {package}, which is not installed: install the extra `{extra}`; "
            f"in the checkout run `pip install -e '.[{extra}]'`, or `uv tool install '.[{extra}]'` for a tool of its own"
        )
