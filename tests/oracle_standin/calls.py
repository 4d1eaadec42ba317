"""A session after its login: one call after another until the client leaves or something breaks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from .backend import Answer, OracleError, ResultColumn, UnknownStatementError
from .databases import Problems, Service, SessionRecord
from .faults import Stage
from .handshake import Dialect
from .packets import BreakError, ClosedError, Link
from .replies import misbehave, send_error, send_reply
from .requests import BindType, Execute, Piggybacks, bind_names, read_binds, read_execute
from .results import IN_TRANSACTION, NO_DATA_FOUND, describe, outcome, query_parameters, release, rows, status
from .wire import Reader

_KILLED = 28
_CANCELLED = 1013


@dataclass
class Cursor:
    """A parsed statement, the types of its binds, and the remaining rows of its last execution."""

    number: int
    sql: str
    bind_types: tuple[BindType, ...] = ()
    columns: Sequence[ResultColumn] = ()
    waiting: Sequence[Sequence[object]] = ()


@dataclass(frozen=True)
class Reply:
    """An answer to a call, before its end is marked."""

    body: bytes
    has_rows: bool = False


class Session:
    """One logged-in connection."""

    def __init__(
        self, link: Link, service: Service, name: str, dialect: Dialect, record: SessionRecord, problems: Problems
    ) -> None:
        self._link = link
        self._service = service
        self._name = name
        self._dialect = dialect
        self._record = record
        self._problems = problems
        self._cursors: dict[int, Cursor] = {}
        self._numbers = count(1)
        self._piggybacks = Piggybacks(record, self._close_cursor, dialect.has_tokens)
        self._calls: dict[int, Callable[[Reader], Reply]] = {
            4: self._reexecute,
            5: self._fetch,
            9: self._end_transaction,  # logging off commits
            14: self._end_transaction,
            15: self._end_transaction,
            59: self._version,
            78: self._reexecute_and_fetch,
            94: self._execute,
            147: self._ping,
        }

    def serve(self) -> None:
        """Answers calls until the connection ends, which raises `ClosedError`."""
        self._link.heeds_breaks = True
        try:
            while True:
                self._serve_one()
        finally:
            self._record.ended = True

    def _serve_one(self) -> None:
        try:
            self._answer(self._link.request())
        except BreakError:
            self._link.resynchronise()
            error = outcome(self._dialect.field_version, _CANCELLED, OracleError(_CANCELLED).text)
            send_reply(self._link, self._service, self._dialect, error)

    def _answer(self, request: Reader) -> None:
        function = self._piggybacks.function(request)
        try:
            self._refuse_if_killed()
            reply = self._call(function, request)
        except OracleError as error:
            self._fail(error)
            return
        if request.left_over:
            self._report(f"{request.left_over} bytes after call {function} were not understood")
        if not misbehave(self._link, self._service, self._dialect, reply.body, has_rows=reply.has_rows):
            send_reply(self._link, self._service, self._dialect, reply.body)

    def _call(self, function: int, request: Reader) -> Reply:
        if function in self._calls:
            return self._calls[function](request)
        self._report(f"call {function} is not served")
        self._link.skip_request()
        raise OracleError(3001, f"the stand-in does not serve call {function}")

    def _fail(self, error: OracleError) -> None:
        if isinstance(error, UnknownStatementError):
            self._report(error.text)
        plain = outcome(self._dialect.field_version, error.code, error.text)
        if not misbehave(self._link, self._service, self._dialect, plain, has_rows=False):
            send_error(self._link, self._service, self._dialect, error)
        if error.code == _KILLED:
            raise ClosedError

    def _refuse_if_killed(self) -> None:
        if self._record.generation < self._service.faults.generation:
            raise OracleError(_KILLED)

    def _report(self, what: str) -> None:
        self._problems.report(self._name, what)

    # Calls without a statement

    def _ping(self, _: Reader) -> Reply:
        return Reply(status(self._call_status()))

    def _version(self, request: Reader) -> Reply:
        """go-ora asks after a login."""
        request.skip("pnpp" + ("n" if self._dialect.field_version >= 11 else ""))
        return Reply(release(self._dialect.profile) + status())

    def _end_transaction(self, _: Reader) -> Reply:
        self._record.in_transaction = False
        return Reply(status())

    def _call_status(self) -> int:
        return IN_TRANSACTION if self._record.in_transaction else 0

    # Statements

    def _execute(self, request: Reader) -> Reply:
        call = read_execute(request, self._dialect.field_version)
        cursor = self._parse(call.sql) if call.sql else self._cursor(call.cursor)
        cursor.bind_types = call.binds
        values = read_binds(request, call.binds, self._dialect.profile.longest_string)
        if call.options & Execute.DEFINE or not call.options & Execute.EXECUTE:
            self._report(f"only plain executions are served, not options {call.options:#x} for: {cursor.sql}")
            raise OracleError(3001, "the stand-in serves plain executions only")
        return self._run(cursor, values, call.is_query, call.asked, commits=bool(call.options & Execute.COMMIT))

    def _parse(self, sql: str) -> Cursor:
        self._service.counters.add("parses")
        self._service.texts.add(sql)
        return Cursor(next(self._numbers), sql)

    def _reexecute(self, request: Reader) -> Reply:
        return self._again(request, fetches=False)

    def _reexecute_and_fetch(self, request: Reader) -> Reply:
        return self._again(request, fetches=True)

    def _again(self, request: Reader, *, fetches: bool) -> Reply:
        cursor, asked = self._cursor(request.ub()), request.ub()
        request.skip("n")
        commits = bool(request.ub() & 1)
        values = read_binds(request, cursor.bind_types, self._dialect.profile.longest_string)
        return self._run(cursor, values, bool(cursor.columns), asked if fetches else 0, commits=commits)

    def _fetch(self, request: Reader) -> Reply:
        cursor, asked = self._cursor(request.ub()), request.ub()
        return Reply(self._page(cursor, asked), has_rows=True)

    def _run(self, cursor: Cursor, values: list[object], is_query: bool, asked: int, *, commits: bool) -> Reply:
        answer = self._ask(cursor.sql, values)
        if bool(answer.columns) != is_query:
            self._report(f"the answer's columns do not fit the statement: {cursor.sql}")
            raise OracleError(3001, "the answer's columns do not fit the statement")
        self._cursors[cursor.number] = cursor
        self._record.open_cursors = len(self._cursors)
        if is_query:
            return self._first_page(cursor, answer, asked)
        self._record.in_transaction = not commits
        field_version, call_status = self._dialect.field_version, self._call_status()
        return Reply(outcome(field_version, cursor=cursor.number, affected=answer.affected, call_status=call_status))

    def _ask(self, sql: str, values: list[object]) -> Answer:
        self._service.counters.add("statements")
        plan = self._service.faults.now()
        if plan.hang is Stage.EXECUTE:
            self._link.hang()
        code = plan.error_for(sql)
        if code is not None:
            raise OracleError(code)
        answer = self._ask_backend(sql, self._named(sql, values))
        self._link.pause(answer.delay)
        return answer

    def _ask_backend(self, sql: str, binds: Mapping[str, object]) -> Answer:
        try:
            return self._service.backend.answer(self._name, sql, binds)
        except OracleError:
            raise
        except Exception as error:
            self._report(f"the backend raised {error!r} for: {sql}")
            raise OracleError(3001, f"the backend raised {error!r}") from error

    def _named(self, sql: str, values: list[object]) -> dict[str, object]:
        names = bind_names(sql)
        if len(names) != len(values):
            self._report(f"{len(values)} values for the binds {names} of: {sql}")
            raise OracleError(1008)
        return dict(zip(names, values, strict=True))

    def _first_page(self, cursor: Cursor, answer: Answer, asked: int) -> Reply:
        described, dialect = b"", self._dialect
        if answer.columns != cursor.columns:
            described = describe(answer.columns, dialect.field_version, sized_scales=dialect.sized_scales)
        cursor.columns, cursor.waiting = answer.columns, answer.rows
        if not asked:
            return Reply(described + outcome(self._dialect.field_version, cursor=cursor.number))
        return Reply(described + self._page(cursor, asked), has_rows=True)

    def _page(self, cursor: Cursor, asked: int) -> bytes:
        """Up to `asked` rows. The answer says that there are no more only if fewer were left than `asked`."""
        page, cursor.waiting = cursor.waiting[:asked], cursor.waiting[asked:]
        code, text = (1403, NO_DATA_FOUND) if len(page) < asked else (0, "")
        end = outcome(self._dialect.field_version, code, text, cursor=cursor.number, affected=len(page))
        return self._rows(cursor, page) + query_parameters() + end

    def _rows(self, cursor: Cursor, page: Sequence[Sequence[object]]) -> bytes:
        try:
            return rows(cursor.columns, page)
        except (ValueError, TypeError, AttributeError, ArithmeticError) as error:
            self._report(f"a row does not fit its columns ({error!r}): {cursor.sql}")
            raise OracleError(3001, f"a row does not fit its columns: {error!r}") from error

    def _cursor(self, number: int) -> Cursor:
        if number not in self._cursors:
            self._report(f"cursor {number} is not open")
            raise OracleError(1001, "invalid cursor")
        return self._cursors[number]

    def _close_cursor(self, number: int) -> None:
        self._cursors.pop(number, None)
        self._record.open_cursors = len(self._cursors)
