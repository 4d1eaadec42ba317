"""Forty-odd mistakes that people make: each answer is one line with what, where and the way out, in our own words."""

import re
import signal

from tests.service.cli.mistakes import MISTAKES, tell

LIBRARY = re.compile(r"Value error|Extra inputs|Input should|Field required|DPY-|pydantic|Errno|Traceback|Usage:|Error")
WAY_OUT = re.compile(r"; |did you mean|`latchscope |: set |: name |, such as ")


def handlers() -> list[object]:
    return [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]


def test_each_common_mistake_is_one_line_with_the_way_out() -> None:
    assert len(MISTAKES) >= 45
    before = handlers()
    for mistake in MISTAKES:
        told = tell(mistake)
        assert told.exit_code == 2 and told.stdout == "", (mistake.what, told.output)
        assert isinstance(told.exception, SystemExit), (mistake.what, told.exception)
        first, *more = told.stderr.splitlines()
        assert not LIBRARY.search(told.stderr) and "tiger" not in told.stderr, (mistake.what, told.stderr)
        closing = mistake.line.startswith("config validate")  # names the line of the file, and what is wrong there
        assert mistake.said in first and (closing or WAY_OUT.search(first)), (mistake.what, first)
        assert len(more) <= closing, (mistake.what, told.stderr)
    assert handlers() == before, "a service that does not start leaves no handler behind"
