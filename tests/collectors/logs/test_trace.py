"""What a trace file says, on the published layouts: events, sessions, and the diagnosis."""

import io
from datetime import datetime

import pytest

from collectors.errors import InputError
from collectors.logs import dumps
from collectors.logs.trace import MOST_EVENTS, looks_like_trace, read
from collectors.model import Delta
from rules.engine import diagnose
from tests.collectors.logs.published_traces import HANG, LOCK, PUBLISHED, TIMEOUT, Published, chained


def traced(text: str) -> Delta:
    return read(io.BytesIO(text.encode()), "mill1_ora_4417.trc")


@pytest.mark.parametrize("one", PUBLISHED, ids=lambda one: one.name)
def test_a_published_trace_is_known_and_read(one: Published) -> None:
    assert looks_like_trace(one.text.encode())
    delta = traced(one.text)
    assert tuple(event.kind for event in delta.events) == one.kinds
    for words in one.said:
        assert any(words in event.text for event in delta.events), [event.text for event in delta.events]


@pytest.mark.parametrize("one", PUBLISHED, ids=lambda one: one.name)
def test_a_published_chain_is_drawn_and_gives_no_command(one: Published) -> None:
    told = diagnose(traced(one.text))
    chains = told.blockers.chains if told.blockers else ()
    assert tuple(chain.end.sid for chain in chains if chain.end) == one.ends
    assert all(chain.action is None for chain in chains)
    if one.cache:
        assert {session.cache for chain in chains for session in chain.waiters} == {one.cache}


def test_a_time_out_says_which_cache_in_which_mode_and_of_whom() -> None:
    (event,) = traced(TIMEOUT).events
    assert event.line == 20 and event.at is not None and event.at.isoformat() == "2011-02-03T06:41:09.118000"
    assert event.facts == {
        "sid": 208,
        "serial#": 4411,
        "ospid": "4417",
        "lock_mode": 0,
        "lock_request": 3,
        "cache_id": 0,
        "cache": "dc_tablespaces",
    }


def test_the_head_names_instance_release_and_host_and_on_26ai_number_and_id() -> None:
    delta = traced(TIMEOUT)
    assert (delta.database, delta.release, delta.source) == ("MILL1", "10.2.0.4.0", "trace")
    assert delta.rows("v$instance") == ({"instance_name": "MILL1", "host_name": "db7", "version": "10.2.0.4.0"},)
    one = next(one for one in PUBLISHED if one.name.startswith("26ai"))
    delta = traced(one.text)
    assert (delta.dbid, delta.release) == ("1501112213", "23.26.3.0.0")
    assert delta.rows("v$instance")[0]["instance_number"] == 1
    assert delta.basis.end is not None and delta.basis.end.isoformat() == "2026-09-22T11:50:18.016504+00:00"


def test_a_row_lock_is_no_matter_of_the_row_cache_and_one_line_alone_finds_no_cause() -> None:
    lock = next(one for one in PUBLISHED if one.name == "11.2.0.1 row lock")
    for one in (lock, *PUBLISHED[:3]):
        told = diagnose(traced(one.text))
        assert told.findings == () and told.blockers is None
        assert one is not lock or told.severity.value == "info"


def test_a_background_process_at_the_end_is_left_alone() -> None:
    text = HANG + chained(41, "row cache lock", LOCK.format("0x3"), 35, "not in a wait:").replace(
        "process id: 42, oracle@db7 (TNS V1-V3)", "process id: 42, oracle@db7 (SMON)"
    )
    told = diagnose(traced(text))
    assert told.blockers is not None
    (chain,) = told.blockers.chains
    assert chain.end is not None and (chain.end.kind, chain.end.name) == ("background", "SMON")
    assert chain.why_no_action is not None and chain.why_no_action.startswith("never kill SMON")


def test_a_known_id_names_its_cache_and_another_one_stays_a_number() -> None:
    for cache_id, name in (("0xd", "dc_sequences"), ("0xb", "cache id 11, not listed in v$rowcache")):
        told = diagnose(traced(HANG + chained(41, "row cache lock", LOCK.format(cache_id), 35, "not in a wait:")))
        assert told.blockers is not None
        assert told.blockers.chains[0].waiters[0].cache == name


def test_the_dump_that_says_most_counts_and_the_last_of_those() -> None:
    first = HANG + chained(41, "row cache lock", LOCK.format("0xd"), 35, "not in a wait:")
    second = first.replace("10:20:30", "10:22:30").replace("session id: 35", "session id: 36")
    nothing = "*** 2016-08-19 10:30:00.000\nHANG ANALYSIS:\nNon-intersecting chains:\n"
    delta = traced(first + second + nothing)
    assert {row["sid"] for row in delta.rows("chain_sessions")} == {41, 36}
    assert delta.notes == (
        "sessions are those of the hang analysis of 2016-08-19 10:22:30, line 43, which says most of 2 dumps in the file; they "
        "may have gone on since",
    )


def test_a_trace_without_anything_says_what_to_bring() -> None:
    delta = traced("Trace file /a/b.trc\n*** 2020-01-01 10:00:00.000\nPARSING IN CURSOR #1\n")
    assert delta.events == () and len(delta.notes) == 1 and "bring the one that the alert log names" in delta.notes[0]


def test_errors_keep_neither_statements_nor_owners_of_them() -> None:
    delta = traced(
        '*** 2020-01-01 10:00:00.000\nORA-04031: unable to allocate 4160 bytes of shared memory ("shared pool","select hidden '
        'from x","sga heap(1,0)","KGLH0")\nORA-00600: internal error code, arguments: [kqrpre1], [0x7F], [], []\n'
        "ORA-04020: deadlock detected while trying to lock object MILL.WEIGH\n"
    )
    assert [event.text for event in delta.events] == [
        "no piece of 4,160 bytes was free in the shared pool (ORA-04031)",
        "internal error ORA-00600 of the row cache, kqrpre1",
        "a cycle of waits for a lock on MILL.WEIGH (ORA-04020)",
    ]
    assert "hidden" not in str(delta)


@pytest.mark.parametrize(
    "text",
    [
        "Tue Nov 24 14:02:20 2009\nThread 1 advanced to log sequence 8\nStarting ORACLE instance (normal)\n",
        ">>> WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK! pid=37\nSystem State dumped to trace file /a/b.trc\n",
        "Oracle Database 11g Enterprise Edition Release 11.2.0.4.0 - 64bit Production\n",
        "WORKLOAD REPOSITORY report for\n",
        "",
    ],
)
def test_an_alert_log_or_a_report_is_no_trace(text: str) -> None:
    assert not looks_like_trace(text.encode())


def test_the_headline_names_cache_and_holder_of_a_trace_that_proves_no_cause() -> None:
    one = next(one for one in PUBLISHED if one.name == "time-out with holder")
    told = diagnose(traced(one.text))
    assert told.headline == (
        "1 session waits for dc_sequences behind session 341 (batch@app2 (TNS V1-V3)), as the trace file shows; it does not "
        "prove why"
    )
    assert told.state == "Warning" and told.findings == ()


def test_a_chain_without_times_is_a_notice() -> None:
    """Before 11.2 a hang analysis does not say for how long anybody waits."""
    chain = (
        "Chain 1 : <cnode/sid/sess_srno/proc_ptr/ospid/wait_event> :\n<0/5/1/0xa1/9/No Wait>\n"
        " -- <0/6/1/0xa2/8/row cache lock>\n"
    )
    told = diagnose(traced(f"HANG ANALYSIS:\nOpen chains found:\n{chain}"))
    assert told.severity.value == "notice" and told.state != "No data"
    assert told.headline.startswith("1 session waits for an entry of the row cache behind session 5,1")


def test_a_binary_file_and_an_empty_one_are_refused_with_the_way_out() -> None:
    with pytest.raises(InputError, match=r"^case is empty; copy the trace file again$"):
        read(io.BytesIO(b""), "case")
    with pytest.raises(
        InputError, match=r"^case is no trace file but binary data; give the file with the ending \.trc, unpacked$"
    ):
        read(io.BytesIO(b"PK\0\0\n"), "case")


def test_a_hole_in_a_file_costs_no_more_than_its_line() -> None:
    data = b"\n".join(
        [*[b"*** 2020-01-01 10:00:00.000"] * 30, b"\0\0\0ORA-04021: timeout occurred while waiting to lock object A.B"]
    )
    (event,) = read(io.BytesIO(data), "case").events
    assert event.text == "the wait for a lock on A.B ran out of time (ORA-04021)"


def test_what_is_kept_of_a_large_dump_has_a_bound_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumps, "MOST_SESSIONS", 50)
    state = b"*** 2020-01-01 10:00:00.000\nSYSTEM STATE (level=10)\n" + b"".join(
        b"PROCESS %d:\n(session) sid: %d ser: 1 trans: 0x0\n"
        b" 0: waiting for 'row cache lock'\n cache id=0x3, mode=0x0, request=0x3\n" % (n, n)
        for n in range(1, 151)
    )
    delta = read(io.BytesIO(state), "case")
    assert len(delta.rows("waiting_sessions")) == 50
    assert "100 sessions and locks are left out: a dump is read up to a bound" in delta.notes
    assert delta.lost and any("ends inside a system state" in note for note in delta.notes)


def test_events_have_a_bound_that_is_named() -> None:
    delta = traced("".join(f"ORA-00600: internal error code, arguments: [kqr{n}]\n" for n in range(MOST_EVENTS + 50)))
    assert len(delta.events) == MOST_EVENTS and delta.notes == ("50 events more are left out",)


def test_only_the_time_that_is_asked_for_is_read() -> None:
    data = b"".join(
        b"*** 2020-01-01 %02d:00:00.000\nORA-04021: timeout occurred while waiting to lock object A.B%d\n"
        % (hour, hour)
        for hour in range(5, 12)
    )
    undated = b'ORA-04031: unable to allocate 32 bytes of shared memory ("shared pool","select 1","a","b")\n'
    since, until = datetime(2020, 1, 1, 7), datetime(2020, 1, 1, 9)  # noqa: DTZ001 - as a trace of 11g prints it
    said = [event.text for event in read(io.BytesIO(undated + data), "case", since, until).events]
    assert said == [
        "no piece of 32 bytes was free in the shared pool (ORA-04031)",
        *(f"the wait for a lock on A.B{hour} ran out of time (ORA-04021)" for hour in (7, 8, 9)),
    ]
