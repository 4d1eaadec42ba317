"""What latchscope takes up again at a start: the last poll of each database, open episodes, confirmations that still count."""

import logging
from datetime import UTC, datetime
from functools import partial

from service.board import Board
from service.store.engine import STORE_ERRORS, brief
from service.store.repository import Repository
from service.store.writer import Writer

log = logging.getLogger("latchscope.store")


def resume(board: Board, store: Repository, writer: Writer) -> None:
    """Give every watched database what was known of it. The last poll is read when the first one needs it."""
    try:
        lasting = store.episodes.open()
        confirmed = store.confirmations.live(datetime.now(UTC))
    except STORE_ERRORS as error:
        log.warning("store: open episodes cannot be read, so they begin anew: %s", brief(error))
        lasting, confirmed = (), {}
    for watched in board:
        watched.resume = partial(writer.last_snapshot, watched.name)
        watched.episodes.restore(one for one in lasting if one.database == watched.name)
        watched.confirmed |= confirmed.get(watched.name, {})
