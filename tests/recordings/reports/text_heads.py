"""The first page of the text reports: database, host, snapshots and a load profile."""

from .interval import Interval

STAMP = "%d-%b-%y %H:%M:%S"
STARTED = "%d-%b-%y %H:%M"


def _yes(value: bool) -> str:
    return "YES" if value else "NO"


def awr_head(told: Interval) -> list[str]:
    """The first page of an AWR report. Host and start time moved in 11g; the database's role came with 12.2."""
    host = ["Host Name        Platform                         CPUs Cores Sockets Memory(GB)"]
    host += ["---------------- -------------------------------- ---- ----- ------- ----------"]
    host += [f"{'db-node-a':<16} {'Linux x86 64-bit':<32} {told.cpus:>4} {told.cpus // 2:>5} {2:>7} {'126.00':>10}", ""]
    name, started = f"{told.database:<12}  3141592653", told.startup.strftime(STARTED)
    if told.version >= (12, 2):
        own = ["DB Name         DB Id    Unique Name DB Role          Edition Release    RAC CDB"]
        own += ["------------ ----------- ----------- ---------------- ------- ---------- --- ---"]
        own += [f"{name} {told.database:<11} {'PRIMARY':<16} {'EE':<7} {told.release:<10} {_yes(told.cluster):<3} "]
        own[-1] += f"{_yes(told.container):<3}"
        own += ["", "Instance     Inst Num Startup Time", "------------ -------- ---------------"]
        own += [f"{told.instance:<12} {1:>8} {started}", "", *host]
    elif told.version >= (11,):
        own = ["DB Name         DB Id    Instance     Inst Num Startup Time    Release     RAC"]
        own += ["------------ ----------- ------------ -------- --------------- ----------- ---"]
        own += [f"{name} {told.instance:<12} {1:>8} {started} {told.release:<11} {_yes(told.cluster)}", "", *host]
    else:
        own = ["DB Name         DB Id    Instance     Inst Num Release     RAC Host"]
        own += ["------------ ----------- ------------ -------- ----------- --- ------------"]
        own += [f"{name} {told.instance:<12} {1:>8} {told.release:<11} {_yes(told.cluster):<3} db-node-a", ""]
    snaps = ["              Snap Id      Snap Time      Sessions Curs/Sess"]
    snaps += ["            --------- ------------------- -------- ---------"]
    snaps += [f"Begin Snap: {told.snaps[0]:>9} {told.begin.strftime(STAMP):<19} {212:>8} {3.1:>9}"]
    snaps += [f"  End Snap: {told.snaps[1]:>9} {told.end.strftime(STAMP):<19} {219:>8} {3.2:>9}"]
    snaps += [f"   Elapsed: {told.minutes:>20,.2f} (mins)", f"   DB Time: {told.db_time / 60:>20,.2f} (mins)", ""]
    return ["", "WORKLOAD REPOSITORY report for", "", *own, *snaps, *_load(told)]


def statspack_head(told: Interval) -> list[str]:
    """The first page of a Statspack report, after a warning if it spans a restart."""
    invalid = "ERROR: Snapshots chosen span an instance shutdown: RESULTS ARE INVALID"
    warning = [invalid, ""] if told.restarted else []
    first, last = told.snaps
    if told.version < (10,):
        own = ["DB Name         DB Id    Instance     Inst Num Release     Cluster Host"]
        own += ["------------ ----------- ------------ -------- ----------- ------- ------------"]
        cluster = _yes(told.cluster)
        own += [f"{told.database:<12}  3141592653 {told.instance:<12} {1:>8} {told.release:<11} {cluster:<7} db-node-a"]
        own += ["", "            Snap Id     Snap Time      Sessions Curs/Sess Comment"]
        own += ["            ------- ------------------ -------- --------- -------------------"]
        own += [f"Begin Snap: {first:>7} {told.begin.strftime(STAMP)} {212:>8} {3.1:>9}"]
        own += [f"  End Snap: {last:>7} {told.end.strftime(STAMP)} {219:>8} {3.2:>9}"]
        own += [f"   Elapsed: {told.minutes:>20,.2f} (mins)"]
    else:
        own = ["Database    DB Id    Instance     Inst Num  Startup Time   Release     RAC"]
        own += ["~~~~~~~~ ----------- ------------ -------- --------------- ----------- ---"]
        started = told.startup.strftime(STARTED)
        own += [
            f"          3141592653 {told.instance:<12} {1:>8} {started} {told.release:<11} {_yes(told.cluster)}",
            "",
        ]
        own += ["Host Name             Platform                CPUs Cores Sockets   Memory (G)"]
        own += ["~~~~ ---------------- ---------------------- ----- ----- ------- ------------"]
        own += [
            f"     {'db-node-a':<16} {'Linux x86 64-bit':<22} {told.cpus:>5} {told.cpus // 2:>5} {2:>7} {126.0:>12}"
        ]
        own += ["", "Snapshot       Snap Id     Snap Time      Sessions Curs/Sess Comment"]
        own += ["~~~~~~~~    ---------- ------------------ -------- --------- ------------------"]
        own += [f"Begin Snap: {first:>10} {told.begin.strftime(STAMP)} {212:>8} {3.1:>9}"]
        own += [f"  End Snap: {last:>10} {told.end.strftime(STAMP)} {219:>8} {3.2:>9}"]
        own += _spans(told)
    return ["", "STATSPACK report for", "", *warning, *own, "", *_load(told)]


def _spans(told: Interval) -> list[str]:
    average = told.db_time / told.seconds
    if told.version < (11,):
        return [f"   Elapsed: {told.minutes:>20,.2f} (mins)"]
    cpu = told.time_model["DB CPU"] / 60
    return [
        f"   Elapsed: {told.minutes:>10,.2f} (mins) Av Act Sess: {average:>9,.1f}",
        f"   DB time: {told.db_time / 60:>10,.2f} (mins)      DB CPU: {cpu:>10,.2f} (mins)",
    ]


def _load(told: Interval) -> list[str]:
    executes = told.activity["execute count"] / told.seconds
    lines = ["Load Profile              Per Second    Per Transaction   Per Exec   Per Call"]
    lines += ["~~~~~~~~~~~~         ---------------    --------------- ---------- ----------"]
    if told.time_model:
        lines += [f"      DB Time(s): {told.db_time / told.seconds:>18,.1f}                0.0       0.01       0.00"]
    return [*lines, f"        Executes: {executes:>18,.1f}               11.2", ""]
