"""What latchscope restores at a start: the last poll of each database, open episodes, valid confirmations."""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from service.state.board import MonitoredDatabase
from service.state.confirmations import Confirmed
from service.state.episodes import Episode
from service.store.repository import Repository
from service.store.schema.engine import STORE_ERRORS, brief
from service.store.writer import Writer

log = logging.getLogger("latchscope.store")


def resume(databases: Sequence[MonitoredDatabase], store: Repository, writer: Writer) -> None:
    """Restore the known state of these databases. The last poll is read when the first poll needs it."""
    episodes: dict[str, Sequence[Episode]] = {}
    confirmed: dict[str, dict[str, Confirmed]] = {}
    try:
        episodes = {watched.name: store.episodes.recent(watched.name) for watched in databases}
        confirmed = store.confirmations.live(datetime.now(UTC))
    except STORE_ERRORS as error:
        log.warning("store: open episodes cannot be read, so they start again: %s", brief(error))
    for watched in databases:
        watched.resume = partial(writer.last_snapshot, watched.name)
        watched.episodes.restore(episodes.get(watched.name, ()))
        watched.confirmed |= confirmed.get(watched.name, {})
