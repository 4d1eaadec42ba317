"""The whole bill of SQL: each statement of it only reads, and a session lets nothing else through to the database."""

import random
import re
from collections.abc import Iterator

import pytest

from collectors.errors import UnlistedStatement
from collectors.ondemand.check import MOST_NAMES, limited
from collectors.oracle import ConnectTarget, OracleConnection, prepare
from rules.cause import catalogue
from service.bill import LOGIN, statements, texts
from tests.collectors.shipped_sql import VERSIONS
from tests.collectors.sql_proof import faults, known_view, views_of_tree
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.backend import Answer, DictBackend, ResultColumn
from tests.oracle_standin.databases import Service
from tests.oracle_standin.deadline import HANGS, within
from tests.oracle_standin.server import Listener

OURS = [one for one in statements() if one is not LOGIN]
AT_LEAST = 2000
RELEASES = (None, *(version for patched in VERSIONS.values() for version in patched))


@pytest.mark.parametrize("number", range(len(OURS)))
def test_each_statement_is_one_query_over_listed_views_with_listed_functions(number: int) -> None:
    one = OURS[number]
    assert [view for view in one.reads if not known_view(view)] == []
    assert faults(one.text, one.reads) == [] and views_of_tree(one.text) == set(one.reads), one.name


@pytest.mark.parametrize("release", RELEASES)
def test_bill_has_every_confirming_query_as_it_is_sent(release: str | None) -> None:
    sent = set()
    for cause in catalogue().values():
        if cause.confirm and (release is None or cause.releases.include(release)):
            number, names = cause.confirm.text(release), cause.confirm.naming(release)
            sent |= {limited(number, release)} if number else set()
            sent |= {limited(names, rows=MOST_NAMES)} if names else set()
    assert sent and sent <= texts()


def test_each_confirming_query_has_a_row_limit_and_the_name_of_its_cause() -> None:
    confirming = [one for one in OURS if one.kind == "confirm"]
    assert {name for one in confirming for name in one.name.split(", ")} == {
        cause.id for cause in catalogue().values() if cause.confirm
    }
    assert {one.most_rows for one in confirming} == {1, MOST_NAMES}
    assert len({one.text for one in statements()}) == len(statements())


def test_releases_of_a_text_are_told_without_repeats() -> None:
    told = {one.releases for one in OURS if one.name == "undo-online-storm"}
    assert told == {"10.2 to below 12.1, an unknown release", "12.1 and later"}
    assert "12.1" in {one.releases for one in OURS if one.name == "result-cache-adaptive"}


def mutated(text: str) -> Iterator[str]:
    """Texts that nearly are this one."""
    chance = random.Random(text)
    for _ in range(6):
        place = chance.randrange(len(text))
        other = chance.choice([sign for sign in "abcxyz019_$# ,()'\n;@\0\x7f" if sign != text[place]])
        yield text[:place] + other + text[place + 1 :]
        yield text[:place] + text[place + 1 :]
        yield text[:place] + other + text[place:]
    for end in (len(text) - 1, len(text) // 2, text.rindex(" "), 6):
        yield text[:end]
    tails = (
        " for update",
        "\nfor update nowait",
        ";",
        " ",
        "\n",
        "\0",
        " --",
        "--",
        " /* */",
        "/**/",
        "@remote",
        "\ufeff",
    )
    yield from (text + tail for tail in tails)
    block = "with function f return number is begin return 1; end;\n"
    yield from (head + text for head in (" ", "\n", "/**/ ", "explain plan for ", block, "\ufeff"))
    for pattern, instead in (
        (r"/\* latchscope", "/*latchscope"),
        (r"/\* latchscope", "/*+ latchscope"),
        (r"/\*.*?\*/ ?", ""),
        (r"\*/", "*//**/"),
        (r" ", "  "),
        (r" ", "\t"),
        (r" ", "\u00a0"),
        (r" ", "/**/"),
        (r"e", "\u0435"),
        (r"select", "SELECT"),
        (r"from", "FROM"),
        (r"from ", "from sys."),
    ):
        yield re.sub(pattern, instead, text, count=1)
    yield from (text.upper(), text.swapcase(), text.replace("\n", "\r\n"), text.replace("\n", " "), text[::-1])
    yield f"{text};{text}"


def test_mutated_texts_are_refused_before_the_socket() -> None:
    prepare("thin")
    first = OURS[0].text
    service = Service(DictBackend({first: Answer([ResultColumn("ONE")], [(1,)])}), {"LATCHSCOPE": Account("secret")})
    with Listener({"erp": service}) as listener:
        target = ConnectTarget(listener.dsn("erp"), "LATCHSCOPE", "secret")
        connection = within(HANGS, lambda: OracleConnection("erp", target, accepted=texts()))
        trips, at_login, refused = service.counters.round_trips, set(service.texts), 0
        for one in OURS:
            for text in {*mutated(one.text), LOGIN.text} - {one.text}:
                assert text not in texts(), "a mutation of one statement is another; this is no test of it"
                with pytest.raises(UnlistedStatement):
                    connection.query(text, {})
                refused += 1
        seen = service.counters.round_trips - trips, service.counters.statements, service.texts - at_login
        assert within(HANGS, lambda: connection.query(first, {})).rows == [(1,)], "the session is as good as before"
        connection.close()
    assert seen == (0, 0, set()), "something reached the stand-in"
    assert refused >= AT_LEAST
    assert not listener.problems
    print(f"{refused} mutated texts of {len(OURS)} statements refused")  # noqa: T201  the figure is there to be read


def test_driver_sends_at_login_what_the_bill_says_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORA_SDTZ", "+00:00")
    prepare("thin")
    service = Service(DictBackend({}), {"LATCHSCOPE": Account("secret")})
    with Listener({"erp": service}) as listener:
        target = ConnectTarget(listener.dsn("erp"), "LATCHSCOPE", "secret")
        connection = within(HANGS, lambda: OracleConnection("erp", target, accepted=texts()))
        connection.close()
    assert service.texts == {LOGIN.text} and service.counters.statements == 0
