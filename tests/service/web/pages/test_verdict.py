"""The first card: what it says not to do begins with the words that the page sets in bold."""

from service.web.pages import verdict


def test_what_not_to_do_is_a_prohibition_in_every_state() -> None:
    said = {name: text for name, text in vars(verdict).items() if name.startswith("NOT_")}
    assert len(said) > 6
    for name, text in said.items():
        assert text.startswith("Do not "), f"{name}: {text}"
