"""Mistakes of a configuration: the probably meant name, even for a setting in the wrong group."""

from service.config.lines import yaml_text
from service.config.mistakes import meant, own_mistakes, settings_below


def test_near_name_is_offered_and_else_all_there_are() -> None:
    assert meant("lisen", ["listen", "store"]) == "; did you mean listen?"
    assert meant("xyz", ["listen", "store"]) == "; the names are: listen, store"
    assert meant("x", []) == "; the names are: none"


def test_settings_of_a_group_and_of_entries_of_a_list_are_found() -> None:
    assert "listen" in settings_below(()) and "mode" in settings_below(("oracle",))
    assert "dsn" in settings_below(("databases", 0)) and "url" in settings_below(("webhooks", 3))
    assert settings_below(("listen",)) == {} and settings_below(("nothing", "below")) == {}


def test_names_are_held_together_whatever_else_is_wrong() -> None:
    text = yaml_text("lisen: x\ndatabases:\n- {name: a, dsn: 'demo:healthy'}\n- {name: a}\n- 7\n")
    assert [(each.line, each.where) for each in own_mistakes(text)] == [
        (3, "databases[0].dsn"),
        (4, "databases[1].name"),
    ]
    assert list(own_mistakes(yaml_text("[]"))) == []
