"""Why a database is fine: the funnel from requests to sleeps, and how far its figures are from their bounds."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from rules.model import Diagnosis
from rules.waits import NOTICEABLE_SHARE
from service.web.charts import small
from service.web.pages import words

ROOMS = 2


@dataclass(frozen=True, slots=True)
class FunnelView:
    """Requests, misses and sleeps as a picture."""

    title: str
    picture: Markup
    words: str


@dataclass(frozen=True, slots=True)
class RoomView:
    """How far a value is from its bound."""

    name: str
    value: str
    bound: str
    picture: Markup
    words: str


def funnel_view(diagnosis: Diagnosis) -> FunnelView | None:
    """Requests → missed → slept, if the requests are known."""
    found = diagnosis.funnel
    if found is None or not found.requests:
        return None
    rows = [(f"Requests for {found.of}" if len(found.of) < 18 else "Requests", found.requests, "")]
    if found.misses is not None:
        missed = found.misses / found.requests
        rows.append(
            (
                "missed at the first try",
                found.misses,
                f"{words.share(missed)}{': looks alarming' if missed >= 0.05 else ''}",
            )
        )
    if found.sleeps is not None:
        rows.append(
            (
                "slept, and so cost time",
                found.sleeps,
                f"{words.share(found.sleeps / found.requests)}: this is what counts",
            )
        )
    busy = found.misses is not None and found.misses / found.requests >= 0.05
    return FunnelView(
        title="Why the misses are harmless" if busy else "Requests, and what they cost",
        picture=small.funnel(rows),
        words="A miss costs microseconds of processor time. A sleep costs milliseconds and shows as a wait. "
        "Many misses say that a latch is used a lot. That is no trouble while no session sleeps."
        if busy
        else "Only sleeps cost time.",
    )


def room_views(diagnosis: Diagnosis) -> Sequence[RoomView]:
    """How far the figures are from what would change the verdict."""
    rooms = []
    share = diagnosis.impact.share_of_db_time if diagnosis.impact else None
    for sign in (sign for finding in diagnosis.findings[:1] for sign in finding.evidence):
        if sign.bound is not None and sign.bound.operator == "<=" and "share_of_db_time" not in sign.signal:
            rooms.append(_room(sign.name or sign.signal, sign.value, sign.bound.value, sign.unit, sign.derivation))
    if share is not None:
        rooms.insert(0, _room("DB time lost in waits for the dictionary", share, NOTICEABLE_SHARE, "ratio", ""))
    return rooms[:ROOMS]


def _room(name: str, value: float, bound: float, unit: str, derivation: str) -> RoomView:
    shown, held = words.whole(value, unit), words.whole(bound, unit)
    below = f"{words.amount(bound / value)} times below the bound" if value > 0 and bound / value >= 2 else ""
    picture = small.bullet(value, bound, (0.0, bound), f"{name}: {shown}, bound {held}", "fine", (held, ""), 570)
    return RoomView(
        name=f"{name[:1].upper()}{name[1:]}",
        value=shown,
        bound=f"above {held}",
        picture=picture,
        words=". ".join(part for part in (derivation, f"{below[:1].upper()}{below[1:]}") if part),
    )
