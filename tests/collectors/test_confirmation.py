"""ConfirmationResult: a plain number has no container and is no refusal."""

from collectors.confirmation import ConfirmationResult


def test_result_of_a_number_alone_names_nothing() -> None:
    result = ConfirmationResult(14838.0)
    assert (result.value, result.container, result.con_id) == (14838.0, None, None)
    assert (result.names, result.unnamed, result.refused) == ((), None, ())
