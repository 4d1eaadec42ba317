"""The confirming step in words: the text, the record with its container and names, or the obstacle."""

import pytest

from rules.explanation.confirmation import confirming_step, named, record_of
from rules.query import Confirmation

ASKED = Confirmation(sql="select count(*) from cdb_sequences", reading="Sequences.", needs=">= 1")


def test_step_of_a_query_nobody_ran_is_its_text_and_reading() -> None:
    assert confirming_step(ASKED).statement == "select count(*) from cdb_sequences. Sequences."


def test_step_tells_what_keeps_the_query_from_running() -> None:
    closed = ASKED.model_copy(update={"obstacle": "needs select on cdb_sequences; so"})
    assert confirming_step(closed).statement == (
        "select count(*) from cdb_sequences. It cannot run here: needs select on cdb_sequences; so. Sequences."
    )


def test_step_tells_the_record_its_place_and_names() -> None:
    rows = ({"con_id": 3.0, "owner": "APP", "name": "S1", "last_number": 4711.0}, {"owner": "APP", "name": "S2"})
    done = ASKED.model_copy(
        update={"result": 37.0, "seen": "in CDB$ROOT, over all containers", "names": rows, "confirms": True}
    )
    assert confirming_step(done).statement == (
        "select count(*) from cdb_sequences; the record has 37 (in CDB$ROOT, over all containers): "
        "APP S1 con_id 3, last_number 4,711; APP S2. Sequences."
    )


@pytest.mark.parametrize(("needs", "blind"), [(">= 1", True), (None, False)])
def test_record_says_that_a_number_too_small_proves_nothing_where_others_were_not_seen(
    needs: str | None, blind: bool
) -> None:
    done = ASKED.model_copy(update={"result": 0.0, "seen": "in PDB ERP1 only", "needs": needs})
    assert ("proves nothing, as other containers were not seen" in record_of(done)) is blind


def test_record_says_why_names_did_not_come() -> None:
    done = ASKED.model_copy(update={"result": 2.0, "unnamed": "ORA-01013", "confirms": True})
    assert record_of(done) == "2, without names (ORA-01013)"


def test_named_leaves_out_what_is_null() -> None:
    assert named({"final_blocking_session": None, "sessions": 3.0}) == "sessions 3"
