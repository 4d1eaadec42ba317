"""Runs the listener by hand: `python -m tests.oracle_standin --backend module:attribute`."""

import argparse
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from threading import Event

from .accounts import Account
from .backend import Answer, Backend, DictBackend, OracleType, ResultColumn
from .databases import Service
from .profiles import PROFILES, Profile
from .server import Listener

Backends = Mapping[str, Backend | Service]


def example() -> Backends:
    """The default service without `--backend`: one statement, on a service named example."""
    column = ResultColumn("DUMMY", OracleType.VARCHAR2, 1)
    return {"example": DictBackend({"select dummy from dual": Answer([column], [("X",)])})}


def backends(path: str) -> Backends:
    """Loads `module:attribute`:

    a backend or a whole service per service name, or a function that returns those. Raises ImportError or AttributeError if
    it does not exist, ValueError if the colon is missing.
    """
    module, colon, attribute = path.partition(":")
    if not colon:
        raise ValueError(f"{path!r} is not of the form module:attribute")
    found: Backends | Callable[[], Backends] = getattr(import_module(module), attribute)
    return found() if callable(found) else found


def services(chosen: Backends, account: Mapping[str, Account], profile: Profile) -> dict[str, Service]:
    """Gives an account and a profile to each backend without its own."""
    return {
        name: backend if isinstance(backend, Service) else Service(backend, dict(account), profile)
        for name, backend in chosen.items()
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle_standin", description=__doc__)
    parser.add_argument("--backend", metavar="MODULE:ATTRIBUTE", help="what answers, by service name")
    parser.add_argument("--port", type=int, default=1521, help="port on 127.0.0.1, 0 for a free one (%(default)s)")
    parser.add_argument("--profile", choices=PROFILES, default="19c", help="release to speak as (%(default)s)")
    parser.add_argument("--user", default="latchscope", help="who may log in (%(default)s)")
    parser.add_argument("--password", default="latchscope", help="with which password (%(default)s)")
    return parser.parse_args()


def main() -> None:
    """Serves until interrupted, then prints the problems."""
    given = _arguments()
    chosen = backends(given.backend) if given.backend else example()
    account = {given.user: Account(given.password)}
    with Listener(services(chosen, account, PROFILES[given.profile]), given.port) as listener:
        for name in listener.services:
            print(f"{given.user}@{listener.dsn(name)}", flush=True)
        with suppress(KeyboardInterrupt):
            Event().wait()
    for problem in listener.problems:
        print(f"{problem.service}: {problem.what}")


if __name__ == "__main__":
    main()
