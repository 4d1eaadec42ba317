"""Counts how often findings on each kind of evidence are right, on the tuned half, and writes `rules/confidence.yaml`."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType

from bench._truth_scores import Score
from bench._truth_tables import share, table
from rules.grade import HOME, KINDS, measured

HEAD = """\
# Kind of evidence → findings above info that were right, of how many. Written by `python -m bench truth --calibrate` on the
# tuned half of the generated instances, all parts but the open world. Right: the staged cause; also: or true as well.
"""


def calibrate(found: Sequence[Score]) -> RenderableType:
    """Write the counts, and show them beside the labels."""
    right, true, of = Counter[str](), Counter[str](), Counter[str]()
    for finding in (finding for one in found if not one.held_back for finding in one.findings):
        of[finding.evidence] += 1
        right[finding.evidence] += finding.staged
        true[finding.evidence] += finding.true
    lines = [f'- {{evidence: "{kind}", right: {right[kind]}, also: {true[kind]}, of: {of[kind]}}}' for kind in KINDS]
    HOME.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    measured.cache_clear()
    shown = table("Kinds of evidence, tuned half (even seeds)", "evidence", "right", "or true as well", "label")
    for kind, (label, _) in KINDS.items():
        shown.add_row(kind, share(right[kind], of[kind]), share(true[kind], of[kind]), str(label))
    return Group(shown, f"{HOME.name} is written.")
