"""An instance of `tests.second.instances` as the product reads it: a session that answers the product's own statements.

`capture` polls that session with the collectors, bursts and looks for blockers included, as `latchscope capture` would, and
goes through the text of a capture file, so that what comes out is what a file of a site would give.
"""

from collections.abc import Sequence
from dataclasses import replace

from collectors.capture import Capture, dump, load
from collectors.errors import NotApplicable, ViewRefused
from collectors.model import Binds, Snapshot, Value
from collectors.ondemand.blockers import look_for_blockers
from collectors.ondemand.sampling import VIEW, Burst, not_sampled
from collectors.poll import Answer, poll
from collectors.registry import group_text_of, view_of
from tests.second.instances import Instance, Poll
from tests.second.shown import Row


class Session:
    """A session on an instance at one of its polls. What it does not have is refused, as Oracle refuses it."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.now: Poll = instance.polls[0]
        self.look: Sequence[Row] = ()

    def query(self, sql: str, binds: Binds) -> Answer:
        """The rows that the instance has now for one of the product's statements."""
        if (text := group_text_of(sql)) is not None:
            return Answer(text.columns, text.united({view: self._rows(view) for view in text.views}))
        view = view_of(sql)
        if view is None:
            raise NotApplicable("no statement of the collectors")
        rows = self._rows(view)
        columns = tuple(rows[0]) if rows else ()
        cells: list[tuple[Value, ...]] = [tuple(row[name] for name in columns) for row in rows]
        return Answer(columns, cells)

    def _rows(self, view: str) -> Sequence[Row]:
        if view in self._instance.refused or (view != VIEW and view not in self.now.views):
            raise ViewRefused("ORA-00942: table or view does not exist")
        return self.look if view == VIEW else self.now.views[view]

    def close(self) -> None:
        """Nothing to release."""


def snapshots(instance: Instance) -> tuple[Snapshot, ...]:
    """What the collectors read, poll by poll."""
    session, read = Session(instance), list[Snapshot]()
    for each in instance.polls:
        burst = Burst(instance.release)
        for session.look in each.looks:
            burst.look(session)
        session.now = each
        snapshot = poll("db", session, read[-1] if read else None)
        more = {VIEW: burst.taken() if each.looks else not_sampled()}
        if instance.hangs and each is instance.polls[-1]:
            more |= look_for_blockers(session, snapshot.release)
        read.append(replace(snapshot, readings={**snapshot.readings, **more}))
    return tuple(read)


def capture(instance: Instance) -> Capture:
    """An instance as a capture file holds it."""
    return load(dump(Capture("db", snapshots(instance), (), "generated")), f"seed {instance.seed}")
