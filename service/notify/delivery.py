"""The common part of receivers: a thread each, the times of attempts, and a log line when one fails or works again."""

import logging
import random
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta

from prometheus_client import Counter

from service.store.queries.deliveries import Deliveries, Delivery
from service.store.schema.engine import StoreUnavailable
from service.threads import SupervisedThread

log = logging.getLogger("latchscope.notify")


class DeliveryRefused(Exception):
    """The receiver did not accept it: why, without the address. `final` if it wants no more attempts."""

    def __init__(self, why: str, final: bool = False) -> None:
        super().__init__(why)
        self.final = final


@dataclass(frozen=True, slots=True)
class DeliverySchedule:
    """When attempts run. Seconds, except `patience`."""

    first: float = 2.0
    """Pause after the first failure, doubled after each further one."""
    longest: float = 600.0
    lease: float = 60.0
    """An attempt without any result for this long died with its process. Another one is made."""
    look: float = 5.0
    """How often the store is read for what other processes left."""
    patience: timedelta = timedelta(hours=24)

    def due(self, delivery: Delivery) -> datetime:
        """The time of the next attempt. The same in every process, although it jitters."""
        if delivery.outcome == "sending":
            return delivery.at + timedelta(seconds=self.lease)
        if delivery.attempts == 0:
            return delivery.at
        jitter = random.Random(f"{delivery.target} {delivery.change.seq} {delivery.attempts}").uniform(0.75, 1.25)
        pause = min(self.longest, self.first * 2.0 ** min(delivery.attempts - 1, 30))
        return delivery.at + timedelta(seconds=pause * jitter)


class ReceiverThread:
    """Serves one receiver, in rounds of `step`, which a subclass defines."""

    def __init__(self, kind: str, name: str, deliveries: Deliveries, attempts: Counter, pace: DeliverySchedule) -> None:
        """`kind` in words; `name` as in log, metrics and store, never its address."""
        self.name = name
        self.deliveries = deliveries
        self.pace = pace
        self.stopping = False
        self.thread = SupervisedThread(f"{kind} {name}", self._run)
        self._kind = kind
        self._attempts = attempts
        for outcome in ("told", "failed", "gave_up"):
            attempts.labels(name, outcome)
        self._why: str | None = None
        self._news = threading.Event()

    def step(self) -> float:
        """Send what is due. Returns the seconds until there is something to do. Raises StoreUnavailable."""
        raise NotImplementedError

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        """Ask it to end. A receiver that hangs is not awaited."""
        self.thread.stop()
        self.stopping = True
        self._news.set()

    def join(self, timeout: float) -> None:
        """Wait for the thread, for at most this many seconds."""
        self.thread.join(timeout)

    def wake(self) -> None:
        self._news.set()

    def _run(self) -> None:
        while not self.stopping:
            self._news.clear()
            try:
                pause = self.step()
            except StoreUnavailable as error:
                self.failing(f"the store does not answer: {error}")
                pause = self.pace.look
            except Exception:
                log.exception("%s %s: an error in latchscope", self._kind, self.name)
                pause = self.pace.look
            self._news.wait(pause)

    def was_told(self, delivery: Delivery, now: datetime) -> None:
        """Record that the receiver accepted it. Log it after a failure."""
        self.deliveries.settle(delivery, "told", now)
        self._attempts.labels(self.name, "told").inc()
        if self._why is not None:
            log.info("%s %s: told again", self._kind, self.name)
        self._why = None

    def was_refused(self, delivery: Delivery, error: DeliveryRefused, now: datetime, since: datetime) -> bool:
        """Leave it for another attempt, or give it up: with a log line and a metric, and recorded in the store.

        `since`: the earliest time to send it. Returns whether it is given up.
        """
        dead = error.final or now - since >= self.pace.patience
        self.deliveries.settle(delivery, "gave up" if dead else "waiting", now)
        self._attempts.labels(self.name, "gave_up" if dead else "failed").inc()
        if dead:
            change = f"{delivery.change.what} of {delivery.change.episode.get('cause')} on {delivery.change.database}"
            log.error(
                "%s %s: gave up on %s after %d attempts: %s", self._kind, self.name, change, delivery.attempts, error
            )
        else:
            self.failing(f"not delivered, retrying: {error}")
        return dead

    def failing(self, why: str) -> None:
        """Log an error once, not at every attempt."""
        if why != self._why:
            log.warning("%s %s: %s", self._kind, self.name, why)
        self._why = why
