"""The demo over the wire: `latchscope serve` polls the scripted databases through the real driver and a real socket.

`python -m tests.oracle_standin.demo_wire --port 8000`; Ctrl-C or SIGTERM ends both the service and the listener.
"""

import argparse
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

import yaml

from .scripted import PASSWORD, USER, demo_services
from .server import Listener

STOP_SECONDS = 8.0


def write_configuration(folder: Path, listener: Listener, port: int) -> Path:
    """The configuration of a service that watches everything behind the listener."""
    password = folder / "password"
    password.touch(mode=0o600)
    password.write_text(PASSWORD, encoding="utf-8")
    databases = [
        {"name": name, "dsn": listener.dsn(name), "user": USER, "password_file": str(password)}
        for name in listener.services
    ]
    config = {
        "listen": f"127.0.0.1:{port}",
        "store": f"sqlite:///{folder}/latchscope.db",
        "defaults": {"interval": "10s"},
        "databases": databases,
    }
    file = folder / "latchscope.yaml"
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    return file


def serve(config: Path, stop: Event) -> int:
    """Run the service until it ends or a signal asks for that. Returns its exit code, or 0 if we ended it."""
    command = [sys.executable, "-m", "service", "serve", "--config", str(config)]
    with subprocess.Popen(command, start_new_session=True) as service:  # we handle Ctrl-C, and pass it on
        while service.poll() is None and not stop.wait(0.1):
            pass
        if service.poll() is not None:
            return int(service.returncode)
        service.terminate()
        with suppress(subprocess.TimeoutExpired):
            service.wait(STOP_SECONDS)
            return 0
        service.kill()
        return 1


def main() -> int:
    """Run both until a signal, then print the problems of the listener. There should be none."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle_standin.demo_wire", description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="port of the service on 127.0.0.1 (%(default)s)")
    port = parser.parse_args().port
    stop = Event()
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, lambda *_: stop.set())
    with TemporaryDirectory(prefix="latchscope-wire-") as folder, Listener(demo_services()) as listener:
        names = ", ".join(listener.services)
        print(f"listener on 127.0.0.1:{listener.port} ({names}), service on http://127.0.0.1:{port}/", flush=True)  # noqa: T201
        code = serve(write_configuration(Path(folder), listener, port), stop)
    for problem in listener.problems:
        print(f"{problem.service}: {problem.what}")  # noqa: T201
    return code or bool(listener.problems)


if __name__ == "__main__":
    sys.exit(main())
