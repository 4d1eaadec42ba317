"""Names in commands that people paste: plain, quoted, or the command is withheld."""

import pytest

from collectors.commands import RESERVED, WithheldError, command, command_or_none


def test_names_are_plain_or_quoted_or_the_command_is_withheld() -> None:
    assert command("alter user {user:name};", user="APP") == "alter user APP;"
    assert command("alter user {user:name};", user="App x") == 'alter user "App x";'
    assert {command("{word:name}", word=word) for word in RESERVED} == {f'"{word}"' for word in RESERVED}
    assert command("{sids} {names:text}", sids=[1, 2], names=["a", "b"]) == "1, 2 'a', 'b'"
    for name in ("", 'A"B', "A'B", "A&B", "A\nB", "A\rB", "A\x00B", "Ä", "A\u2028B", "x" * 129):
        with pytest.raises(WithheldError):
            command("alter user {user:name};", user=name)
        assert command_or_none("select {user:text} from dual", user=name) is None
    for slot, value in (("number", "1"), ("code", "a'b"), ("own", "a b")):
        assert command_or_none(f"{{it:{slot}}}", it=value) is None
