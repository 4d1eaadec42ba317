"""The confirming query of a cause: its text for this release, its result and the container of that, and what prevents it."""

from collections.abc import Mapping
from datetime import UTC, datetime

from collectors.model import ConfirmationResult, Delta, Missing, number, text
from rules.base import meets
from rules.cause import Cause
from rules.formatting import number as spelled
from rules.model import Finding, Step
from rules.remedy import Confirmation, Query

GRANTS = "`latchscope grants --confirm` prints the grant"
ROOT = "CDB$ROOT"
ONLY_THEN = "Run it while the problem lasts. It shows the present, not the time of the report."
"""Printed with a query about the present, beside a report."""


def confirmation_of(cause: Cause, delta: Delta) -> Confirmation | None:
    """The confirming query of a cause on the instance of a Delta. None if the cause has none."""
    query = cause.confirm
    if query is None:
        return None
    result = delta.confirmations.get(cause.id)
    too_late = delta.source == "report" and not query.lasts(delta.release)
    place = _place(result, delta)
    return Confirmation(
        sql=query.text(delta.release) or query.text(None) or "",
        names_sql=query.naming(delta.release),
        reading=f"{ONLY_THEN} {query.scale}" if too_late else query.scale,
        bands=query.bands,
        needs=query.needs,
        decides=query.decides,
        obstacle=None if result and result.value is not None else obstacle(cause, query, delta),
        result=result.value if result else None,
        asked_at=datetime.fromtimestamp(result.at, UTC) if result and result.at is not None else None,
        seen=None if result is None or result.value is None else seen(query, delta.release, *place),
        names=result.names if result else (),
        unnamed=result.unnamed if result else None,
        confirms=confirms(query, delta.release, result, place[1]) if result else None,
    )


def confirmed(cause: Cause, delta: Delta) -> bool | None:
    """Whether the record confirms a cause, see `confirms`. None as well without a record."""
    result = delta.confirmations.get(cause.id)
    if result is None or cause.confirm is None:
        return None
    return confirms(cause.confirm, delta.release, result, _place(result, delta)[1])


def confirms(query: Query, release: str | None, result: ConfirmationResult, con_id: int | None) -> bool | None:
    """Whether a result meets the bound. None if that side of it decides nothing, or a number that misses it did not see all."""
    if query.needs is None or result.value is None:
        return None
    if meets(result.value, query.needs):
        return None if query.decides == "against" else True
    return False if query.decides != "for" and query.sees_all(release, con_id) else None


def seen(query: Query, release: str | None, container: str | None, con_id: int | None) -> str | None:
    """Where a number was read: "in CDB$ROOT, over all containers", "in PDB ERP1 only". None without containers."""
    if not con_id or container is None:
        return None
    whole = query.sees_all(release, con_id)
    if con_id == 1:
        return f"in {container}, over all containers" if whole else f"in {container} only"
    return f"in PDB {container}, of the whole instance" if whole else f"in PDB {container} only"


def obstacle(cause: Cause, query: Query, delta: Delta) -> str | None:
    """Why the query cannot run where this Delta is from, and the way out. None if nothing is known against it."""
    release = delta.release
    if release is not None and not cause.releases.include(release):
        return f"{cause.id} is unknown on {release}, and its query may not fit"
    if query.text(release) is None:
        return f"it is written for {query.since} and newer, and this is {release}"
    container, con_id = _place(None, delta)
    if query.root and con_id is not None and con_id > 1:
        return f"inside the PDB {container} its number means nothing; run it in {ROOT}"
    # Oracle does not say which of several views it refused. A view that another cause's query read with it may be open.
    views = query.views(delta.release)
    closed = {view for view in views if isinstance(missing := delta.read(view), Missing) and missing.kind == "refused"}
    for name, result in delta.confirmations.items():
        if name == cause.id or len(result.refused) == 1:
            closed |= set(result.refused)
    refused = tuple(view for view in views if view in closed)
    return missing_grant(refused) if refused else None


def missing_grant(views: tuple[str, ...]) -> str:
    """What to do if the user may not read views that a confirming query reads."""
    return f"needs read or select on {', '.join(views)}; {GRANTS}"


def _place(result: ConfirmationResult | None, delta: Delta) -> tuple[str | None, int | None]:
    """Name and number of the container of a result. If the result has none, of the container that was polled."""
    if result is not None and result.con_id is not None:
        return result.container, result.con_id
    polled = next(iter(delta.rows("sys_context")), {})
    con_id = number(polled.get("con_id"))
    return text(polled.get("con_name")), None if con_id is None else int(con_id)


# The same in words.


def confirming_step(query: Confirmation) -> Step:
    """The confirming query of the first finding."""
    result = f"; the record has {record_of(query)}" if query.result is not None else ""
    closed = f" It cannot run here: {query.obstacle}." if query.obstacle else ""
    return Step(step="confirming query", statement=f"{query.sql}{result}.{closed} {query.reading}")


def record_of(query: Confirmation) -> str:
    """The result of the query, its container, and what it counted. A number that did not cover everything says so."""
    names = f": {'; '.join(map(named, query.names))}" if query.names else ""
    return f"{number_of(query)}{names}"


def number_of(query: Confirmation) -> str:
    """The result of the query and its container; why names are missing; and what an incomplete number does not prove."""
    assert query.result is not None
    seen = f" ({query.seen})" if query.seen else ""
    unnamed = f", without names ({query.unnamed})" if query.unnamed else ""
    undecided = query.needs is not None and query.confirms is None and query.decides != "for"
    missed = undecided and not meets(query.result, query.needs or "")
    blind = "; that it misses the bound proves nothing, as other containers were not seen" if missed else ""
    return f"{spelled(query.result)}{seen}{unnamed}{blind}"


AGAINST = "the confirming query speaks against it"


def speaks_against(finding: Finding) -> str | None:
    """That the confirming query speaks against a finding, with its number. None if it does not."""
    query = finding.confirm
    if query is None or query.result is None or query.confirms is not False:
        return None
    return f"{AGAINST}: {number_of(query)}"


def named(row: Mapping[str, str | float | None]) -> str:
    """A row of names: "APP ORDERS_SEQ cache_size 0, last_number 4,711". A number has the name of its column."""
    words = [str(cell) for cell in row.values() if isinstance(cell, str)]
    figures = [f"{name} {spelled(cell)}" for name, cell in row.items() if isinstance(cell, int | float)]
    return " ".join([*words, ", ".join(figures)]).strip()
