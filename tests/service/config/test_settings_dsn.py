"""The form of a dsn: latchscope refuses one that no driver can use before anybody connects, without repeating a password."""

import pytest

from service.config.settings import is_alias, plain_dsn

GOOD = (
    "host:1521/svc",
    "host/svc",
    "h/s",
    "//host:1521/svc",
    "tcps://host:2484/svc?wallet_location=/w",
    "[::1]:1521/svc",
    "erp.world",
    "host1,host2:1521/svc",
    "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=h)(PORT=1521))(CONNECT_DATA=(SERVICE_NAME=s)))",
)
BAD = {
    " ": "is empty",
    "jdbc:oracle:thin:@h:1521/s": "is an address for JDBC",
    "scott/tiger@h/s": "has a user or a password in it",
    "h : 1521": "holds a space",
    "h:1521:ORCL": "names a SID",
    "h:1521": "names no service; write h:1521/service",
    "h:99999/s": "has the port 99999",
    "(DESCRIPTION=(ADDRESS=": "parentheses do not match",
}


def test_form_of_a_dsn_is_held_to_what_drivers_take() -> None:
    for dsn in GOOD:
        assert plain_dsn(dsn) == dsn
    for dsn, said in BAD.items():
        with pytest.raises(ValueError, match=said) as error:
            plain_dsn(dsn)
        assert "tiger" not in str(error.value)


def test_alias_is_a_name_without_host_and_service() -> None:
    assert [is_alias(dsn) for dsn in ("erp1", "erp.world", "h/s", "h:1", "(DESCRIPTION=)")] == [True, True] + 3 * [
        False
    ]
