"""The optional extras of the distribution. Each is checked before its import."""

from importlib.util import find_spec


class MissingExtra(Exception):
    """A part needs a package that is not installed: one sentence that names the extra."""


def require(package: str, extra: str, what: str) -> None:
    """Raise MissingExtra if a package cannot be found. Nothing is imported. `what` needs it, in words."""
    if find_spec(package) is None:
        raise MissingExtra(
            f"{what} need the package {package}, which is not installed: install the extra `{extra}`; "
            f"in the checkout run `pip install -e '.[{extra}]'`, or `uv tool install '.[{extra}]'` for a tool of its own"
        )
