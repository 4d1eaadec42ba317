"""Whether the fix of the bug behind a cause is installed: by the release update, or by dba_registry_sqlpatch.

Only what is there proves something. The view lists patches with SQL, so a patch that it lacks may be installed as well.
"""

from dataclasses import dataclass

from collectors.model import Delta, Missing, Row, number, text
from collectors.release import at_least, parts
from rules.cause import Cause, Fix
from rules.context import full_release_of

PATCHES = "dba_registry_sqlpatch"
FIX_MISSING = "fix_missing"
"""The signal under which a cause is ruled out whose fix is installed."""
SHOWS_UPDATES = "18"
"""The first release in whose version v$instance shows the release update."""
LISTS = "`opatch lspatches` lists the patches that are installed"


@dataclass(frozen=True, slots=True)
class FixStanding:
    """What is known about one fix on one instance."""

    fix: Fix
    installed: bool
    """Whether it is there for certain. False says nothing of patches that no view lists."""
    own_line: bool
    """Whether a patch or an update of the instance's own release brought it, and not a later release."""
    sentence: str


def fix_line(cause: Cause, delta: Delta) -> str | None:
    """What is known about the fixes of a cause, as sentences in one line. None for a cause that is no bug."""
    return " ".join(f"{one.sentence}." for one in (_standing(fix, delta) for fix in cause.fixes)) or None


def ended_by(cause: Cause, delta: Delta) -> FixStanding | None:
    """The installed fix without whose absence the cause cannot be. None if it may still be."""
    if not cause.fixes:
        return None  # as nearly all causes, each of which every poll asks
    ending = (_standing(fix, delta) for fix in cause.fixes if fix.ends_the_cause)
    return next((one for one in ending if one.installed and one.own_line), None)


def _standing(fix: Fix, delta: Delta) -> FixStanding:
    release, row = full_release_of(delta), _patch_of(fix.bug, delta)
    acts = f", but it acts only with {fix.needs_setting}" if fix.needs_setting else ""
    elsewhere = "" if fix.needs_setting else ", so look elsewhere"
    if row is not None and (row.get("action"), row.get("status")) == ("APPLY", "SUCCESS"):
        when = f"{PATCHES} has its patch {row.get('patch_id')} since {row.get('action_time')}"
        return FixStanding(fix, True, True, f"The fix of bug {fix.bug} is installed ({when}){acts or elsewhere}")
    if fix.fixed_in is not None and release is not None and at_least(release, fix.fixed_in):
        known = f"it is in {fix.first_fixed}, and this is {release}"
        sentence = f"The fix of bug {fix.bug} is installed ({known}){acts or elsewhere}"
        return FixStanding(fix, True, _line(release) == _line(fix.fixed_in), sentence)
    return FixStanding(fix, False, False, f"{_where(fix, release)}. {_patches(row, delta)}")


def _line(release: str) -> tuple[int, ...]:
    """What the updates of a release have in common: 19, or 11.2.0.3 before 18c."""
    numbers = parts(release)
    return numbers[:1] if at_least(release, SHOWS_UPDATES) else numbers[:4]


def _where(fix: Fix, release: str | None) -> str:
    """Which release has the fix, and which one this is."""
    if release is None:
        return f"Bug {fix.bug} is fixed in {fix.comes_in}; the release of this instance is unknown"
    shown = at_least(release, SHOWS_UPDATES) and any(parts(release)[1:])
    same = fix.fixed_in is not None and _line(release) == _line(fix.fixed_in)
    untold = ", whose release update is unknown" if same and not shown else ""
    return f"This is {release}{untold}; bug {fix.bug} is fixed in {fix.comes_in}"


def _patches(row: Row | None, delta: Delta) -> str:
    """What the list of patches says of a fix that is not known to be there."""
    reading = delta.read(PATCHES)
    if isinstance(reading, Missing):
        if reading.kind == "refused":
            return f"Patches not readable: {reading.way_out} {LISTS}"
        return f"Only {LISTS}"
    if row is not None:
        what = f"{row.get('action')} {row.get('status')} at {row.get('action_time')}"
        return f"{PATCHES} has its patch {row.get('patch_id')} with {what}"
    return f"{PATCHES} does not have it, which proves nothing: it lists patches with SQL; {LISTS}"


def _patch_of(bug: str, delta: Delta) -> Row | None:
    """The last action on the patch of a bug. None if none is listed."""
    rows = [
        row
        for row in delta.rows(PATCHES)
        if number(row.get("patch_id")) == float(bug) or bug in (text(row.get("description")) or "")
    ]
    return max(rows, key=lambda row: text(row.get("action_time")) or "", default=None)
