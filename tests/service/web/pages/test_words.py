"""How pages speak of amounts: no figure that a tired reader has to decode."""

from service.web.pages import words


def test_sessions_are_told_as_numbers_that_a_person_writes() -> None:
    said = {value: words.sessions(value) for value in (None, 0.0, 0.00007, 0.004, 0.02, 9.93)}
    assert list(said.values()) == [words.NOT_KNOWN, "0", "< 0.01", "< 0.01", "0.02", "9.9"]
