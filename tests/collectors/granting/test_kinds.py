"""The kinds of database: each has a name, aliases that people type, and words for what it opens."""

import pytest

from collectors.granting.kinds import ALIASES, KINDS, TRAITS, UnknownKind, grantee, has_row_cache_latch, kind_named
from tests.each import each


def test_kind_has_traits_and_is_named_by_its_own_name() -> None:
    assert set(TRAITS) == set(KINDS) >= set(ALIASES.values())
    for kind in KINDS:
        assert kind_named(kind) == kind_named(f" {kind.upper()} ") == kind
        assert TRAITS[kind].where and TRAITS[kind].run_as


@each(
    ("word", "kind"),
    [
        *((word, "11.2") for word in ("11g", "11", "11.2.0.4", "11gR2", "10.2", "non-cdb")),
        *((word, "cdb") for word in ("12c", "12.1", "12.2.0.1", "18c", "19c", "19", "21c", "23ai", "26ai")),
        *(("ADB", "autonomous"), ("adg", "standby"), ("rds_cdb", "rds-cdb")),
    ],
)
def test_kind_can_be_named_by_a_release_or_an_alias(word: str, kind: str) -> None:
    assert kind_named(word) == kind


@pytest.mark.parametrize(
    ("word", "meant"),
    [("cbd", "did you mean cdb?"), ("rdscdb", "did you mean rds-cdb?"), ("autonomus", "did you mean autonomous?")],
)
def test_unknown_kind_lists_the_kinds_and_the_nearest(word: str, meant: str) -> None:
    with pytest.raises(UnknownKind) as error:
        kind_named(word)
    assert repr(word) in str(error.value) and meant in str(error.value)
    assert all(kind in str(error.value) for kind in KINDS)


def test_only_releases_from_12_2_on_are_known_to_have_no_row_cache_latch() -> None:
    later = ("12.2", "12.2.0.1", "18c", "19C", " 21c", "23ai")
    assert [word for word in (*KINDS, *ALIASES, "11g", "12c", "12.1", *later) if not has_row_cache_latch(word)] == [
        *later
    ]


def test_unknown_kind_like_no_other_is_not_guessed_at() -> None:
    with pytest.raises(UnknownKind) as error:
        kind_named("xyzzy")
    assert "did you mean" not in str(error.value)


def test_user_is_a_common_one_where_the_root_is_watched() -> None:
    for given in ("LATCHSCOPE", "C##LATCHSCOPE"):
        assert grantee(given, "cdb") == grantee(given, "standby") == "C##LATCHSCOPE"
    assert grantee("c##latchscope", "cdb") == "c##latchscope"
    assert {grantee("LATCHSCOPE", kind) for kind in ("11.2", "pdb", "rds", "rds-cdb", "autonomous")} == {"LATCHSCOPE"}
