"""Sets the marks of a script like any user's marks: in the store, at the moment the script reaches them."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from collectors.demo.load import Scenario
from service.store.repository import Repository

WHO = "the script"


class DemoMarks:
    """Marks of scripted databases. `do` is a round of the job that sets them."""

    def __init__(self, store: Repository, scripts: Mapping[str, Scenario], began: datetime) -> None:
        self._store = store
        self._scripts = {name: script for name, script in scripts.items() if script.marks}
        self._began = began
        self._until = dict.fromkeys(self._scripts, began)

    def do(self, now: datetime) -> None:
        """Set every mark since the last round. Raises what the store does."""
        for name, script in self._scripts.items():
            for at, text in sorted(self._passed(script, self._until[name], now)):
                self._store.marks.add(name, at, text, WHO)
                self._until[name] = at
            self._until[name] = max(self._until[name], now)

    def _passed(self, script: Scenario, since: datetime, now: datetime) -> Iterator[tuple[datetime, str]]:
        first = int((since - self._began).total_seconds() // script.length)
        last = int((now - self._began).total_seconds() // script.length)
        for loop in range(first, last + 1):
            for second, text in script.marks:
                at = self._began + timedelta(seconds=loop * script.length + second)
                if since < at <= now:
                    yield at, text
