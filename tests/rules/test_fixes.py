"""Whether the fix of a bug is installed, on three staged databases: before it, with it, and with unreadable patches."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from collectors.model import Changes, Delta, Missing, Row
from rules.cause import catalogue
from rules.engine import diagnose
from rules.fixes import PATCHES, ended_by, fix_line
from rules.model import Diagnosis
from service.intake.inputs import DiagnosedInput
from service.render.text import as_markdown, as_text
from tests.rules.case_files import all_cases, delta_of_case

GRANT = "grant read on sys.dba_registry_sqlpatch to <user>;"
REFUSED = Missing(PATCHES, "refused", f"{PATCHES}: ORA-00942", GRANT)


def staged(cause: str, patches: Sequence[Row] | Missing, **instance: str) -> Delta:
    """The first case of a cause that is found, on an instance with these patches."""
    told = next(one for one in all_cases() if one.cause == cause and one.case.expect.verdict == "found")
    delta = delta_of_case(str(told))
    reading = patches if isinstance(patches, Missing) else Changes(PATCHES, tuple(patches))
    (row,) = delta.rows("v$instance")
    readings = {**delta.readings, PATCHES: reading, "v$instance": Changes("v$instance", ({**row, **instance},))}
    return replace(delta, readings=readings)


def patch(number: int, action: str = "APPLY", status: str = "SUCCESS", at: str = "2024-03-02 21:14:09") -> Row:
    return {
        "patch_id": number,
        "action": action,
        "status": status,
        "action_time": at,
        "description": "an interim patch",
    }


RELEASE_UPDATE = {
    **patch(30_869_156, at="2020-05-02 10:00:00"),
    "description": "Database Release Update : 19.7.0.0.200414",
}
BEFORE, NOT_READABLE = staged("dc-users-mutex-bug", [RELEASE_UPDATE]), staged("dc-users-mutex-bug", REFUSED)
WITH = staged("dc-users-mutex-bug", [], version_full="19.8.0.0.0")


def written(delta: Delta, got: Diagnosis) -> tuple[str, str]:
    inputs = [DiagnosedInput("one", delta, got)]
    return " ".join(as_text(inputs, verbose=True).split()), as_markdown(inputs)


def finding(got: Diagnosis, cause: str) -> str:
    """What a finding says of its fix."""
    (one,) = (one for one in got.findings if one.cause == cause)
    assert one.fix is not None
    return one.fix


def test_before_the_fix_the_finding_names_the_update_that_has_it() -> None:
    got = diagnose(BEFORE)
    fix = finding(got, "dc-users-mutex-bug")
    assert fix.startswith("This is 19.7.0.0.0; bug 30623138 is fixed in 19.8.")
    assert "proves nothing" in fix and "opatch lspatches" in fix
    assert all("bug 30623138 is fixed in 19.8" in form for form in written(BEFORE, got))


def test_with_the_fix_the_cause_is_ruled_out_and_says_to_look_elsewhere() -> None:
    got = diagnose(WITH)
    (out,) = (one for one in got.ruled_out if one.cause == "dc-users-mutex-bug")
    assert (out.signal, out.value) == ("fix_missing", None)
    assert "it is in 19.8, and this is 19.8.0.0.0" in out.because and "look elsewhere" in out.because
    assert all("the fix of bug 30623138 is installed" in form for form in written(WITH, got))


def test_patches_that_are_not_readable_are_told_with_the_grant() -> None:
    assert f"Patches not readable: {GRANT}" in finding(diagnose(NOT_READABLE), "dc-users-mutex-bug")


def test_patch_of_its_own_that_is_listed_rules_out_the_bug_it_fixes() -> None:
    before = diagnose(staged("row-cache-clones", []))
    assert "row-cache-clones" in {one.cause for one in before.findings}
    with_patch = diagnose(staged("row-cache-clones", [patch(31_933_451)]))
    (out,) = (one for one in with_patch.ruled_out if one.cause == "row-cache-clones")
    assert out.signal == "fix_missing" and "2024-03-02" in out.because


@pytest.mark.parametrize(
    "rows",
    [
        [patch(31_933_451, status="WITH ERRORS")],
        [patch(31_933_451), patch(31_933_451, "ROLLBACK", at="2024-05-01 00:00:00")],
        [patch(31_933_452)],
    ],
)
def test_patch_that_failed_or_was_taken_out_or_is_another_rules_out_nothing(rows: Sequence[Row]) -> None:
    assert ended_by(catalogue()["row-cache-clones"], staged("row-cache-clones", rows)) is None


def test_last_action_on_a_patch_counts_whatever_the_order_of_rows() -> None:
    back, again = patch(31_933_451, "ROLLBACK"), patch(31_933_451, at="2024-05-01 00:00:00")
    for rows in ([back, again], [again, back]):
        assert ended_by(catalogue()["row-cache-clones"], staged("row-cache-clones", rows)) is not None


def test_fix_that_acts_only_with_a_setting_rules_nothing_out_and_says_so() -> None:
    fix = finding(diagnose(staged("last-login-update", [patch(33_121_934)])), "last-login-update")
    assert "is installed" in fix and "_disable_last_successful_login_time" in fix and "look elsewhere" not in fix


def test_release_update_that_is_not_known_is_said() -> None:
    cause = catalogue()["dc-users-mutex-bug"]
    delta = staged("dc-users-mutex-bug", REFUSED)
    (row,) = delta.rows("v$instance")
    bare = {name: value for name, value in row.items() if name != "version_full"}
    told = fix_line(cause, replace(delta, readings={**delta.readings, "v$instance": Changes("v$instance", (bare,))}))
    assert told is not None and "whose release update is unknown" in told


def test_patch_set_update_of_11g_is_not_shown_by_its_version() -> None:
    told = fix_line(catalogue()["vpd-policy-check"], staged("vpd-policy-check", [], version="11.2.0.3.0"))
    assert (
        told is not None and "whose release update is unknown; bug 12772404 is fixed in 11.2.0.3.9 or earlier" in told
    )


def test_every_fix_names_a_source_and_a_release_or_a_patch() -> None:
    for cause in catalogue().values():
        for fix in cause.fixes:
            assert fix.bug in cause.explanation or any(fix.bug in one.title for one in cause.references)
            assert fix.fixed_in or fix.one_off
            assert all(one.url or "verify on My Oracle Support" in one.title for one in fix.sources)
