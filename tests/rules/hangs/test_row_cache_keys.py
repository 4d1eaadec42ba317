"""The decoded key of a row cache entry: only if a published rule and the bytes agree, never a guess."""

import pytest

from rules.row_cache_keys import NUMBERED, read_key


def hexed(*parts: bytes) -> str:
    return b"".join(parts).hex().upper()


ORDERS = b"ORDERS"
OWNER = (93).to_bytes(4, "little")


@pytest.mark.parametrize(
    ("key", "owner"),
    [
        (hexed(OWNER, b"\x06\0", ORDERS), 93),
        (hexed(OWNER, b"\x06\0", ORDERS, bytes(40)), 93),
        (hexed((93).to_bytes(4, "big"), b"\0\x06", ORDERS), 93),
        (hexed(OWNER, b"\x06", ORDERS, bytes(24), b"\0\x01"), 93),
        (hexed((93).to_bytes(4, "big"), b"\x06", ORDERS, bytes(26)), 93),
    ],
)
def test_key_of_an_object_reads_as_its_name_and_owner(key: str, owner: int) -> None:
    found = read_key("dc_objects", key)
    assert found is not None and found.object == f"ORDERS of user number {owner}"
    assert "raw bytes" in found.rule and "not documented" in found.rule
    assert found.query is not None and f"user_id = {owner}" in found.query and "rownum <= 20" in found.query


NUMBER = (74_000).to_bytes(4, "little")
COLUMN = "internal_column_id = 3"


@pytest.mark.parametrize(
    ("cache", "key", "read", "query"),
    [
        ("dc_objects", hexed(b"\0\x01\0\0", b"\x06", ORDERS), "ORDERS", ""),  # without a plain owner its name alone
        ("dc_users", hexed(b"\x05\0", b"SCOTT"), "user or role SCOTT", "dba_roles where role = 'SCOTT'"),
        ("dc_histogram_defs", hexed(NUMBER, b"\x03\0\0\0"), "column 3 of object number 74000", COLUMN),
        ("dc_realtime_colst", hexed(NUMBER, b"\x03\0\0\0"), "column 3 of object number 74000", COLUMN),
        ("dc_histogram_defs", hexed(NUMBER, b"\x03\0\0\0"), "column 3 of object number 74000", "object_id = 74000"),
    ],
)
def test_key_reads_as_what_its_rule_says(cache: str, key: str, read: str, query: str) -> None:
    found = read_key(cache, key)
    assert found is not None and found.object == read and query in (found.query or "")


def test_name_with_a_quote_makes_no_other_query() -> None:
    found = read_key("dc_objects", hexed(OWNER, b"\x04\0", b"a'b;"))
    assert found is not None and found.query is None
    assert "there is no query to check it, because its name has a sign" in found.rule


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("cache", sorted(NUMBERED))
def test_key_that_begins_with_a_number_reads_as_it(cache: str, order: str) -> None:
    key = hexed((74_000).to_bytes(4, order), bytes(4))  # type: ignore[arg-type]
    found = read_key(cache, key)
    assert found is not None and found.object == f"{NUMBERED[cache].what} number 74000"
    assert found.rule.endswith(f"{order}-endian") and found.query is not None and "74000" in found.query


@pytest.mark.parametrize(
    ("cache", "key", "why"),
    [
        ("dc_objects", "5D000000010006004F5244455253", "does not fit"),
        ("dc_objects", hexed(OWNER, b"\x07\0", ORDERS), "does not fit"),
        ("dc_objects", hexed(OWNER, b"\x06\0", b"ORD\x01RS"), "does not fit"),
        ("dc_objects", hexed(OWNER, b"\x03\0", ORDERS), "does not fit"),
        ("dc_objects", "5D", "does not fit"),
        ("dc_users", hexed((93).to_bytes(4, "little")), "does not fit"),
        ("dc_sequences", hexed(b"\0\x01\0\0"), "byte order"),
        ("dc_sequences", hexed(b"\xff\xff\xff\xff"[:3]), "byte order"),
        ("dc_segments", hexed(bytes(20)), "does not agree"),
        ("dc_rollback_segments", hexed((3).to_bytes(4, "little")), "no rule is published"),
        ("dc_objects", "not hex", "not hex"),
    ],
)
def test_key_that_fits_no_published_rule_stays_raw_and_says_so(cache: str, key: str, why: str) -> None:
    found = read_key(cache, key)
    assert found is not None and (found.object, found.query) == (None, None)
    assert why in found.rule


def test_no_key_reads_as_nothing() -> None:
    assert read_key("dc_objects", None) is None
