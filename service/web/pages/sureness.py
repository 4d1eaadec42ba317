"""How sure a cause is, why, what is missing for high confidence, and what its entry is founded on."""

from rules.base import FOUNDED_ON
from rules.explain.headline import speaks_against
from rules.miss_locations import merely_fits
from rules.model import Confidence, Finding
from service.web.pages import words

SURE = {Confidence.HIGH: "High", Confidence.MEDIUM: "Medium", Confidence.LOW: "Low"}
NOT_NAMED = "For high confidence, the instance's own map or waiting sessions must name the cache."
NOT_APART = "For high confidence, a figure must set this cause apart from others."
NOT_RUN = "For high confidence, run the confirming query."


def sureness(finding: Finding) -> str:
    """How sure the cause is, in a few sentences."""
    fitting = [sign for sign in finding.evidence if merely_fits(finding, sign)]
    met, open_ = len(finding.evidence) - len(fitting), len(finding.unknown)
    signs = f"all {met} signs met" if not open_ and met > 1 else f"{words.plural(met, 'sign')} met"
    unknown = f", {open_} unknown" if open_ else ""
    place = ", and the place of the sleeps fits" if fitting else ""
    query = finding.confirm
    counted = query is not None and query.result is not None
    also = (
        ""
        if not counted
        else ", but the count speaks against it"
        if speaks_against(finding)
        else ", and the count confirms it"
    )
    sentences = [
        f"{SURE[finding.confidence]} confidence in the cause: {signs}{unknown}{place}{also}.",
        _for_high(finding),
    ]
    if finding.status:
        sentences.append(f"The entry of this cause is {finding.status} ({FOUNDED_ON[finding.status]}).")
    return " ".join(filter(None, sentences))


def _for_high(finding: Finding) -> str:
    """The first thing that is missing for high confidence. Empty if nothing is, or if a count or a figure says it already."""
    if finding.confidence is Confidence.HIGH or finding.identity is None or speaks_against(finding):
        return ""
    if finding.identity not in ("read", "sampled"):
        return NOT_NAMED
    roles = {sign.role for sign in finding.evidence}
    if not roles & {"discriminating", "supporting"}:
        return NOT_APART
    query = finding.confirm
    can_confirm = query is not None and query.needs is not None and query.confirms is None and not query.obstacle
    return NOT_RUN if "shape" not in roles and can_confirm else ""
