"""The form of `store`: latchscope refuses an address that no store can have before anybody connects, without repeating a
password.
"""

import pytest

from service.config.settings import holds_password, plain_store

GOOD = {
    "sqlite:///latchscope.db": False,
    "sqlite://": False,
    "sqlite:////var/lib/a:b@c/x.db": False,
    "postgresql://latchscope@pg.example/latchscope": False,
    "postgresql://h:5432/d": False,
    "postgresql://u@[::1]:5432/d": False,
    "postgresql://u@/d?host=/run/postgresql&passfile=/etc/p@ss": False,
    "postgresql+psycopg://u:tiger@h:5432/d": True,
    "postgresql://u:ti/ger@h/d": True,
    "postgresql://u@h/d?password=tiger": True,
}
BAD = {
    "": "is not the address of a store; write sqlite:///FILE or postgresql://",
    "latchscope.db": "is not the address of a store",
    "postgres://u:tiger@h/d": "begins with postgres://, which no driver answers to; write postgresql://",
    "mysql://u:tiger@h/d": "'mysql' is not a kind of store",
    "postgresql+asyncpg://h/d": r"'postgresql\+asyncpg' is not a kind of store",
    "postgresql://u:tiger@h:x/d": "has a port that is not a number; write special characters of a password as %XX",
}


def test_form_of_a_store_is_held_to_what_serve_opens() -> None:
    for url, secret in GOOD.items():
        assert (plain_store(url), holds_password(url)) == (url, secret), url
    for url, said in BAD.items():
        with pytest.raises(ValueError, match=said) as error:
            plain_store(url)
        assert "tiger" not in str(error.value)
