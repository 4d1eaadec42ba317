"""What `serve` refuses although each setting by itself is right; `config validate` says the same in the same words."""

from collections.abc import Iterator

from service.config.audit import unwritable
from service.config.mistakes import NO_DATABASES, ConfigMistake, variable_of
from service.config.settings import Settings
from service.config.store_url import holds_password

PASSWORD_IN_STORE = (
    "store has a password in clear text; leave it out, and write it into ~/.pgpass of the account of latchscope, or name "
    "a file of that form as ?passfile=FILE"
)


def refusals(chosen: Settings, *, insecure: bool = False) -> Iterator[ConfigMistake]:
    """What must be put right before these settings can be served."""
    if not chosen.watches_something:
        yield ConfigMistake(None, "", NO_DATABASES)
    if not chosen.loopback and chosen.auth.tokens_file is None and not insecure:
        what = f"others can reach {chosen.listen}: set auth.tokens_file, or use --insecure"
        yield ConfigMistake(None, "listen", what)


def warnings(chosen: Settings) -> Iterator[str]:
    """What is served, and ought to be otherwise. In the environment a password of the store is as good as anywhere there."""
    audit_file = chosen.auth.audit_file
    if audit_file is not None and (why := unwritable(audit_file)):
        yield f"auth.audit_file {audit_file} cannot be written: {why}; until then only the log has the actions"
    if holds_password(chosen.store) and variable_of("store") is None:
        yield PASSWORD_IN_STORE
